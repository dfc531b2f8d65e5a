"""The C++ forms of acl_rt_api.h: overloads that stand for another function, or for the same one with typed pointers.

An overload has the parameters of the function it calls, except: those in ``fixed`` get a value instead, those in
``defaults`` may be left out, and with ``typed`` each ``void`` pointer becomes a template parameter of its own.
"""

from collections.abc import Mapping
from typing import Final, NamedTuple

from cannery.runtime.api import MODEL, Param

CONFIG: Final[Mapping[str, str]] = {"cfg": "nullptr"}


class Overload(NamedTuple):
    name: str
    target: str
    typed: bool = False
    fixed: Mapping[str, str] = {}
    defaults: Mapping[str, str] = {}


OVERLOADS: Final = (
    Overload("aclrtSynchronizeDevice", "aclrtSynchronizeDeviceWithTimeout"),
    Overload("aclrtSynchronizeStream", "aclrtSynchronizeStreamWithTimeout"),
    Overload("aclrtSynchronizeEvent", "aclrtSynchronizeEventWithTimeout"),
    Overload("aclrtStreamWaitEvent", "aclrtStreamWaitEventWithTimeout"),
    Overload("aclrtCreateStream", "aclrtCreateStreamWithConfig"),
    Overload("aclrtCreateEvent", "aclrtCreateEventExWithFlag"),
    Overload("aclrtSetOpExecuteTimeOut", "aclrtSetOpExecuteTimeOutV2"),
    Overload("aclrtMalloc", "aclrtMallocWithCfg", True, {"policy": "ACL_MEM_MALLOC_HUGE_FIRST"}, CONFIG),
    Overload("aclrtMalloc", "aclrtMallocWithCfg", True, {}, CONFIG),
    Overload("aclrtMallocHost", "aclrtMallocHostWithCfg", True, {}, CONFIG),
    Overload("aclrtMemAllocManaged", "aclrtMemAllocManaged", True, {}, {"flag": "ACL_RT_MEM_ATTACH_GLOBAL"}),
    Overload("aclrtMemcpy", "aclrtMemcpy", True),
    Overload("aclrtMemcpyAsync", "aclrtMemcpyAsync", True),
    Overload("aclrtMemcpy2d", "aclrtMemcpy2d", True),
    Overload("aclrtMemcpy2dAsync", "aclrtMemcpy2dAsync", True),
    Overload("aclrtMemcpyBatch", "aclrtMemcpyBatchV2", True),
    Overload("aclrtMemcpyBatchAsync", "aclrtMemcpyBatchAsyncV2", True),
    Overload("aclrtMemcpyBatchAsync", "aclrtMemcpyBatchAsync", True),
    Overload("aclrtPointerGetAttributes", "aclrtPointerGetAttributes", True),
    Overload("aclrtHostRegister", "aclrtHostRegister", True),
    Overload("aclrtHostRegister", "aclrtHostRegisterV2", True),
    Overload("aclrtHostGetDevicePointer", "aclrtHostGetDevicePointer", True),
    Overload("aclrtHostUnregister", "aclrtHostUnregister", True),
    Overload("aclrtMemManagedPrefetchAsync", "aclrtMemManagedPrefetchAsync", True),
    Overload("aclrtMemManagedPrefetchBatchAsync", "aclrtMemManagedPrefetchBatchAsync", True),
)


def overloads() -> str:
    return "\n\n".join(["#ifdef __cplusplus", *(function(overload) for overload in OVERLOADS), "#endif"])


def function(overload: Overload) -> str:
    target = MODEL[overload.target]
    declared: list[str] = []
    passed: list[str] = []
    letters: list[str] = []
    for param in target.params:
        if param.name in overload.fixed:
            passed.append(overload.fixed[param.name])
            continue
        letter = f"T{len(letters)}"
        if overload.typed and untyped(param):
            letters.append(f"typename {letter}")
            declared.append(f"{param.ctype.replace('void', letter)}{param.name}")
            cast = "reinterpret_cast" if param.ctype.endswith("**") else "static_cast"
            passed.append(f"{cast}<{param.ctype}>({param.name})")
        else:
            declared.append(f"{param.ctype} {param.name}".replace("* ", "*"))
            passed.append(param.name)
        if param.name in overload.defaults:
            declared[-1] += f" = {overload.defaults[param.name]}"
    template = [f"template <{', '.join(letters)}>"] if letters else []
    head = f"static inline {target.returns} {overload.name}({', '.join(declared)})"
    return "\n".join([*template, head, "{", f"    return {target.name}({', '.join(passed)});", "}"])


def untyped(param: Param) -> bool:
    return param.ctype in ("void *", "const void *", "void **", "const void **")
