"""The C++ forms of acl_rt_api.h: overloads that stand for another function, or for the same one with typed pointers.

An overload has the parameters of the function it calls, except: those in ``fixed`` get a value instead, those in
``defaults`` may be left out, and with ``typed`` each ``void`` pointer becomes a template parameter of its own.
``single`` names an array, the array of the places where its elements begin to count, and how many there are: the
overload takes one element, which counts for all. ``symbol`` takes the variable itself instead of its address.
``unused`` are parameters of its own that are not passed on.
"""

from collections.abc import Mapping
from typing import Final, NamedTuple

from cannery.runtime.api import MODEL, Param

CONFIG: Final[Mapping[str, str]] = {"cfg": "nullptr"}
FAILED: Final[Mapping[str, str]] = {"size_t * /* failIndex */": "nullptr"}  # the function behind it has none
ATTRIBUTE: Final = ("attrs", "attrsIndexes", "numAttrs")
LOCATION: Final = ("prefetchLocs", "prefetchLocIdxs", "numPrefetchLocs")


class Overload(NamedTuple):
    name: str
    target: str
    typed: bool = False
    fixed: Mapping[str, str] = {}
    defaults: Mapping[str, str] = {}
    single: tuple[str, str, str] | None = None
    symbol: bool = False
    unused: Mapping[str, str] = {}


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
    Overload("aclrtMemcpyBatch", "aclrtMemcpyBatchV2", True, single=ATTRIBUTE, unused=FAILED),
    Overload("aclrtMemcpyBatch", "aclrtMemcpyBatchV2", True, unused=FAILED),
    Overload("aclrtMemcpyBatchAsync", "aclrtMemcpyBatchAsyncV2", True, single=ATTRIBUTE),
    Overload("aclrtMemcpyBatchAsync", "aclrtMemcpyBatchAsyncV2", True),
    Overload("aclrtMemcpyBatchAsync", "aclrtMemcpyBatchAsync", True, single=ATTRIBUTE),
    Overload("aclrtMemcpyBatchAsync", "aclrtMemcpyBatchAsync", True),
    Overload("aclrtPointerGetAttributes", "aclrtPointerGetAttributes", True),
    Overload("aclrtHostRegister", "aclrtHostRegister", True),
    Overload("aclrtHostRegister", "aclrtHostRegisterV2", True),
    Overload("aclrtHostGetDevicePointer", "aclrtHostGetDevicePointer", True),
    Overload("aclrtHostUnregister", "aclrtHostUnregister", True),
    Overload("aclrtMemManagedPrefetchAsync", "aclrtMemManagedPrefetchAsync", True),
    Overload("aclrtMemManagedPrefetchBatchAsync", "aclrtMemManagedPrefetchBatchAsync", True, single=LOCATION),
    Overload("aclrtMemManagedPrefetchBatchAsync", "aclrtMemManagedPrefetchBatchAsync", True),
    Overload("aclrtGetSymbolAddress", "aclrtGetSymbolAddress", symbol=True),
    Overload("aclrtGetSymbolSize", "aclrtGetSymbolSize", symbol=True),
    Overload("aclrtMemcpyFromSymbol", "aclrtMemcpyFromSymbol", symbol=True),
    Overload("aclrtMemcpyFromSymbolAsync", "aclrtMemcpyFromSymbolAsync", symbol=True),
    Overload("aclrtMemcpyToSymbol", "aclrtMemcpyToSymbol", symbol=True),
    Overload("aclrtMemcpyToSymbolAsync", "aclrtMemcpyToSymbolAsync", symbol=True),
)


def overloads() -> str:
    return "\n\n".join(["#ifdef __cplusplus", *(function(overload) for overload in OVERLOADS), "#endif"])


def function(overload: Overload) -> str:
    target = MODEL[overload.target]
    declared: list[str] = []
    passed: list[str] = []
    letters: list[str] = []
    array, places, count = overload.single or ("", "", "")
    fixed = {**overload.fixed, **({places: places, count: "1"} if overload.single else {})}
    for param in target.params:
        name = param.name
        if name in fixed:
            passed.append(fixed[name])
            continue
        letter = f"T{len(letters)}"
        if overload.typed and untyped(param):
            letters.append(f"typename {letter}")
            declared.append(f"{param.ctype.replace('void', letter)}{name}")
            cast = "reinterpret_cast" if param.ctype.endswith("**") else "static_cast"
            passed.append(f"{cast}<{param.ctype}>({name})")
        elif overload.symbol and name == "symbol":
            letters.append(f"typename {letter}")
            declared.append(f"const {letter} &{name}")
            passed.append(f"static_cast<{param.ctype}>(&{name})")
        elif name == array:
            declared.append(f"{param.ctype.removesuffix('*')}{name.removesuffix('s')}")
            passed.append(f"&{name.removesuffix('s')}")
        else:
            declared.append(f"{param.ctype} {name}".replace("* ", "*"))
            passed.append(name)
        if name in overload.defaults:
            declared[-1] += f" = {overload.defaults[name]}"
    declared += [f"{param} = {value}" for param, value in overload.unused.items()]
    template = [f"template <{', '.join(letters)}>"] if letters else []
    head = f"static inline {target.returns} {overload.name}({', '.join(declared)})"
    first = [f"    size_t {places}[1] = {{0}};"] if overload.single else []
    return "\n".join([*template, head, "{", *first, f"    return {target.name}({', '.join(passed)});", "}"])


def untyped(param: Param) -> bool:
    return param.ctype in ("void *", "const void *", "void **", "const void **")
