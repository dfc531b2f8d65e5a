"""Calls about kernels with arguments that they refuse, as in ``test_machine_arguments.py``.

"documents" are the reference documents, "implementation" is what the public implementation does where those say
nothing.
"""

from typing import Any

import pytest

from tests.fakes import OUT
from tests.kernel_tools import block, elf
from tests.test_machine_arguments import BIG, A, R, Row, World, check_refused

EIGHT = b"12345678"


def options(*chosen: tuple[int, int]) -> tuple[tuple[tuple[int, bytes], ...], int]:
    """Load options, or a launch configuration: kinds and numbers."""
    return tuple((kind, number.to_bytes(16, "little")) for kind, number in chosen), len(chosen)


class KernelWorld(World):
    """Names for more arguments: binaries, kernels, argument lists. The kernel ``far`` is on device 1 only."""

    def __init__(self, behaviour: str) -> None:
        super().__init__(behaviour)
        driver, names = self.driver, self.names
        ok = driver.ok
        code = elf("add", "tiled_7")
        driver.host.files |= {
            b"/k.o": code,
            b"/text.o": b"no binary at all",
            b"/cpu.json": b'{"Abs": {"opInfo": {}}}',
            b"/bad.json": b"[",
        }
        names |= {"code": driver.host.give(code), "size": len(code), "text": driver.host.give(b"no binary at all")}
        for name, size in (("described", len(code)), ("empty", 0), ("gone description", 8)):
            names[name] = driver.call("aclrtCreateBinary", names["code"], size)
        names["described text"] = driver.call("aclrtCreateBinary", names["text"], 16)
        names["described nowhere"] = driver.call("aclrtCreateBinary", names["nowhere"], 16)
        ok("aclrtDestroyBinary", names["gone description"])
        names["binary"], names["gone binary"] = (ok("aclrtBinaryLoadFromFile", b"/k.o", None, OUT) for _ in range(2))
        names["kernel"] = ok("aclrtBinaryGetFunction", names["binary"], b"add", OUT)
        names["gone kernel"] = ok("aclrtBinaryGetFunction", names["gone binary"], b"add", OUT)
        names["gone list"] = ok("aclrtKernelArgsInit", names["kernel"], OUT, thread=3)
        ok("aclrtBinaryUnLoad", names["gone binary"])
        names["far"] = ok("aclrtBinaryGetFunction", self._load(), b"add", OUT, thread=3)
        names["cpu binary"] = ok("aclrtBinaryLoadFromData", names["text"], 5, options((3, 2)), OUT)
        names["cpu kernel"] = ok("aclrtRegisterCpuFunc", names["cpu binary"], b"RunAbs", b"Abs", OUT)
        names["list"] = ok("aclrtKernelArgsInit", names["kernel"], OUT, thread=3)
        names["value"] = ok("aclrtKernelArgsAppend", names["list"], EIGHT, 8, OUT)
        names["placeholder"] = ok("aclrtKernelArgsAppendPlaceHolder", names["list"], OUT)
        names["closed"] = ok("aclrtKernelArgsInit", names["kernel"], OUT)
        names["closed placeholder"] = ok("aclrtKernelArgsAppendPlaceHolder", names["closed"], OUT)
        ok("aclrtKernelArgsGetPlaceHolderBuffer", names["closed"], names["closed placeholder"], 8, OUT)
        names["final"] = ok("aclrtKernelArgsInit", names["kernel"], OUT, thread=4)
        names["final value"] = ok("aclrtKernelArgsAppend", names["final"], EIGHT, 8, OUT)
        names["final placeholder"] = ok("aclrtKernelArgsAppendPlaceHolder", names["final"], OUT)
        ok("aclrtKernelArgsFinalize", names["final"])
        names["nothing"] = ok("aclrtKernelArgsInit", names["kernel"], OUT, thread=5)
        ok("aclrtKernelArgsFinalize", names["nothing"])
        names["changed"] = ok("aclrtKernelArgsInit", names["kernel"], OUT, thread=6)
        value = ok("aclrtKernelArgsAppend", names["changed"], EIGHT, 8, OUT)
        ok("aclrtKernelArgsFinalize", names["changed"])
        ok("aclrtKernelArgsParaUpdate", names["changed"], value, EIGHT, 8)
        names["full"] = ok("aclrtKernelArgsInit", names["kernel"], OUT, thread=7)
        for _ in range(128):
            ok("aclrtKernelArgsAppend", names["full"], b"1", 1, OUT)
        names["mine"], names["short mine"], names["lost mine"] = (driver.host.give(bytes(128)) for _ in range(3))
        buffer = driver.host.give(bytes(128))
        ok("aclrtKernelArgsInitByUserMem", names["kernel"], names["short mine"], buffer, 16)
        ok("aclrtKernelArgsInitByUserMem", names["kernel"], names["lost mine"], names["nowhere"], 64)

    def _load(self) -> int:
        return int(self.driver.ok("aclrtBinaryLoadFromFile", b"/k.o", None, OUT))


ROWS: list[Row] = []


def rows(section: str, function: str, *cases: tuple[Any, ...], thread: int = 1) -> None:
    for *arguments, number, layer in cases:
        ROWS.append((section, function, tuple(arguments), number, layer, thread))


# Binaries.

rows(
    "implementation", "aclrtDestroyBinary",
    ("null", 100000, A), ("gone description", 107017, R), ("binary", 107017, R),
)  # fmt: skip
rows(
    "implementation", "aclrtBinaryLoad",
    ("null", "out", 100000, A), ("described", "null", 100000, A), ("gone description", "out", 107017, R),
    ("binary", "out", 107017, R), ("empty", "out", 107000, R), ("described text", "out", 107000, R),
    ("described nowhere", "out", 107000, R),
)  # fmt: skip
rows("implementation", "aclrtBinaryLoad", ("described", "out", 107002, R), thread=2)
rows(
    "implementation", "aclrtBinaryLoadFromFile",
    (None, None, "out", 100000, A), (b"/k.o", None, "null", 100000, A), (b"/none.o", None, "out", 107000, R),
    (b"/text.o", None, "out", 107000, R), (b"/k.o", (None, 1), "out", 107000, R),
    (b"/k.o", options((1, 2)), "out", 107000, R), (b"/k.o", options((2, 0x43554245)), "out", 107000, R),
    (b"/k.o", options((3, 2)), "out", 107000, R), (b"/k.o", options((4, 0)), "out", 107000, R),
    (b"/cpu.o", options((3, 1)), "out", 107000, R), (b"/bad.o", options((3, 0)), "out", 107000, R),
    (b"/none", options((3, 0)), "out", 107000, R),
)  # fmt: skip
rows(
    "documents", "aclrtBinaryLoadFromData",
    ("null", 8, None, "out", 100000, A), ("code", "size", None, "null", 100000, A),
    ("code", 0, None, "out", 107000, R), ("text", 16, None, "out", 107000, R), ("nowhere", 8, None, "out", 107000, R),
    ("code", "size", options((3, 1)), "out", 107000, R), ("code", "size", options((2, 5)), "out", 107000, R),
)  # fmt: skip
rows("implementation", "aclrtBinaryUnLoad", ("null", 100000, A), ("gone binary", 107017, R), ("kernel", 107017, R))
rows(
    "implementation", "aclrtBinaryGetDevAddress",
    ("null", "out", "out", 100000, A), ("binary", "null", "out", 100000, A), ("binary", "out", "null", 100000, A),
    ("gone binary", "out", "out", 107017, R),
)  # fmt: skip
rows("implementation", "aclrtBinaryGetDevAddress", ("binary", "out", "out", 107002, R), thread=2)
rows(
    "implementation", "aclrtBinarySetExceptionCallback",
    ("null", "function", "null", 100000, A), ("binary", "null", "null", 100000, A),
    ("gone binary", "function", "null", 107017, R),
)  # fmt: skip

# Functions.

rows(
    "implementation", "aclrtBinaryGetFunction",
    ("null", b"add", "out", 100000, A), ("binary", None, "out", 100000, A), ("binary", b"add", "null", 100000, A),
    ("gone binary", b"add", "out", 107017, R), ("stream", b"add", "out", 107017, R),
    ("binary", b"sub", "out", 107000, R), ("cpu binary", b"Neg", "out", 107000, R),
)  # fmt: skip
rows("implementation", "aclrtBinaryGetFunction", ("binary", b"add", "out", 107002, R), thread=2)
rows(
    "implementation", "aclrtBinaryGetFunctionByEntry",
    ("null", 7, "out", 100000, A), ("binary", 7, "null", 100000, A), ("gone binary", 7, "out", 107017, R),
    ("cpu binary", 7, "out", 107000, R), ("binary", 8, "out", 107000, R),
)  # fmt: skip
rows("implementation", "aclrtBinaryGetFunctionByEntry", ("binary", 7, "out", 107002, R), thread=2)
rows(
    "documents", "aclrtRegisterCpuFunc",
    ("null", b"f", b"k", "out", 100000, A), ("cpu binary", None, b"k", "out", 100000, A),
    ("cpu binary", b"f", None, "out", 100000, A), ("cpu binary", b"f", b"k", "null", 100000, A),
    ("gone binary", b"f", b"k", "out", 107017, R), ("binary", b"f", b"k", "out", 107000, R),
)  # fmt: skip
rows("implementation", "aclrtRegisterCpuFunc", ("cpu binary", b"f", b"k", "out", 107002, R), thread=2)
rows(
    "implementation", "aclrtFunctionGetBinary",
    ("null", "out", 107000, R), ("gone kernel", "out", 107017, R), ("kernel", "null", 107000, R),
)  # fmt: skip
rows(
    "implementation", "aclrtGetFunctionAddr",
    ("null", "out", "out", 100000, A), ("kernel", "null", "out", 100000, A), ("kernel", "out", "null", 100000, A),
    ("gone kernel", "out", "out", 107017, R), ("cpu kernel", "out", "out", 107000, R), ("far", "out", "out", 107044, R),
)  # fmt: skip
rows("implementation", "aclrtGetFunctionAddr", ("kernel", "out", "out", 107002, R), thread=2)
rows(
    "implementation", "aclrtGetFunctionSize",
    ("null", "out", "out", 107017, R), ("gone kernel", "out", "out", 107017, R), ("kernel", "null", "out", 107000, R),
    ("kernel", "out", "null", 107000, R), ("cpu kernel", "out", "out", 107000, R),
)  # fmt: skip
rows(
    "implementation", "aclrtGetFunctionName",
    ("kernel", 64, "null", 100000, A), ("gone kernel", 64, "out", 107017, R), ("kernel", 3, "out", 107000, R),
)  # fmt: skip
rows(
    "implementation", "aclrtGetFunctionAttribute",
    ("null", 1, "out", 100000, A), ("kernel", 1, "null", 100000, A), ("gone kernel", 1, "out", 107017, R),
    ("kernel", 0, "out", 107000, R), ("kernel", 4, "out", 107000, R), ("cpu kernel", 2, "out", 107000, R),
)  # fmt: skip

# Argument lists.

for function, arguments in (("aclrtKernelArgsGetHandleMemSize", ()), ("aclrtKernelArgsInit", ())):
    rows(
        "implementation", function,
        ("null", *arguments, "out", 100000, A), ("kernel", *arguments, "null", 100000, A),
        ("gone kernel", *arguments, "out", 107017, R),
    )  # fmt: skip
rows(
    "implementation", "aclrtKernelArgsGetMemSize",
    ("null", 8, "out", 100000, A), ("kernel", 8, "null", 100000, A), ("gone kernel", 8, "out", 107017, R),
)  # fmt: skip
rows(
    "implementation", "aclrtKernelArgsInitByUserMem",
    ("null", "mine", "pageable", 64, 100000, A), ("kernel", "null", "pageable", 64, 100000, A),
    ("kernel", "mine", "null", 64, 100000, A), ("kernel", "mine", "pageable", 0, 100000, A),
    ("gone kernel", "mine", "pageable", 64, 107017, R), ("kernel", "list", "pageable", 64, 107000, R),
)  # fmt: skip
rows(
    "implementation", "aclrtKernelArgsAppend",
    ("null", EIGHT, 8, "out", 100000, A), ("list", None, 8, "out", 100000, A), ("list", EIGHT, 0, "out", 100000, A),
    ("list", EIGHT, 8, "null", 100000, A), ("gone list", EIGHT, 8, "out", 107017, R),
    ("kernel", EIGHT, 8, "out", 107017, R), ("final", EIGHT, 8, "out", 207000, R),
    ("closed", EIGHT, 8, "out", 207000, R), ("full", EIGHT, 8, "out", 107000, R),
    ("list", b"", 65_529, "out", 107000, R), ("short mine", bytes(17), 17, "out", 107000, R),
    ("lost mine", EIGHT, 8, "out", 107000, R), ("list", b"", BIG, "out", 107000, R),
)  # fmt: skip
rows(
    "implementation", "aclrtKernelArgsAppendPlaceHolder",
    ("null", "out", 100000, A), ("list", "null", 100000, A), ("gone list", "out", 107017, R),
    ("closed", "out", 207000, R), ("final", "out", 207000, R), ("full", "out", 107000, R),
)  # fmt: skip
rows(
    "implementation", "aclrtKernelArgsGetPlaceHolderBuffer",
    ("null", "placeholder", 8, "out", 100000, A), ("list", "null", 8, "out", 100000, A),
    ("list", "placeholder", 0, "out", 100000, A), ("list", "placeholder", 8, "null", 100000, A),
    ("gone list", "placeholder", 8, "out", 107017, R), ("list", "closed placeholder", 8, "out", 107017, R),
    ("list", "value", 8, "out", 107000, R), ("final", "final placeholder", 8, "out", 207000, R),
    ("list", "placeholder", 65_521, "out", 107000, R),
)  # fmt: skip
rows(
    "implementation", "aclrtKernelArgsParaUpdate",
    ("null", "value", EIGHT, 8, 100000, A), ("list", "null", EIGHT, 8, 100000, A),
    ("list", "value", None, 8, 100000, A), ("list", "value", EIGHT, 0, 100000, A),
    ("gone list", "value", EIGHT, 8, 107017, R),
    ("list", "final value", EIGHT, 8, 107017, R), ("list", "placeholder", EIGHT, 8, 107000, R),
    ("list", "value", b"1", 1, 107000, R),
)  # fmt: skip
rows("implementation", "aclrtKernelArgsFinalize", ("null", 107017, R), ("gone list", 107017, R))
rows("implementation", "aclrtKernelArgsFinalize", ("list", 107002, R), thread=2)

# Launches.

rows(
    "implementation", "aclrtLaunchKernel",
    ("null", 1, "memory", 8, "stream", 100000, A), ("kernel", 1, "null", 8, "stream", 100000, A),
    ("gone kernel", 0, "memory", 8, "stream", 107017, R), ("kernel", 0, "memory", 8, "gone stream", 107017, R),
    ("kernel", 0, "memory", 8, "stream", 107000, R), ("kernel", 1, "memory", 0, "stream", 107000, R),
    ("kernel", 1, "memory", 1 << 32, "stream", 107000, R), ("kernel", 1, "memory", 8, "foreign", 107003, R),
    ("far", 1, "memory", 8, "stream", 107017, R),
)  # fmt: skip
rows("implementation", "aclrtLaunchKernel", ("kernel", 1, "memory", 8, "stream", 107002, R), thread=2)
rows(
    "implementation", "aclrtLaunchKernelV2",
    ("null", 1, "memory", 8, None, "stream", 100000, A), ("kernel", 1, "null", 8, None, "stream", 100000, A),
    ("gone kernel", 1, "memory", 8, None, "stream", 107017, R),
    ("kernel", 1, "memory", 8, None, "gone stream", 107017, R), ("kernel", 1, "memory", 0, None, "stream", 107000, R),
    ("kernel", 0, "memory", 8, None, "stream", 107000, R), ("kernel", 1, "memory", 8, (None, 1), "stream", 107000, R),
    ("kernel", 1, "memory", 8, options((7, 1), (8, 1)), "stream", 107000, R),
    ("kernel", 1, "memory", 8, options((1, 3)), "stream", 107000, R),
    ("kernel", 1, "memory", 8, options((5, 2)), "stream", 107000, R),
    ("kernel", 1, "memory", 8, options((6, 2)), "stream", 107000, R),
    ("kernel", 1, "memory", 8, options((9, 2)), "stream", 107000, R),
    ("kernel", 1, "memory", 8, None, "foreign", 107003, R), ("far", 1, "memory", 8, None, "stream", 107017, R),
)  # fmt: skip
rows("implementation", "aclrtLaunchKernelV2", ("kernel", 1, "memory", 8, None, "stream", 107002, R), thread=2)
rows(
    "implementation", "aclrtLaunchKernelWithConfig",
    ("null", 1, "stream", None, "final", "null", 100000, A), ("kernel", 0, "stream", None, "final", "null", 100000, A),
    ("kernel", 1, "stream", None, "null", "null", 100000, A), ("kernel", 1, "stream", None, "final", "out", 100000, A),
    ("gone kernel", 1, "stream", None, "gone list", "null", 107017, R),
    ("kernel", 1, "stream", None, "gone list", "null", 107017, R),
    ("kernel", 1, "gone stream", None, "final", "null", 107017, R),
    ("kernel", 1, "stream", None, "list", "null", 107000, R),
    ("kernel", 1, "stream", None, "changed", "null", 107000, R),
    ("kernel", 1, "stream", None, "nothing", "null", 107000, R),
    ("kernel", 1, "stream", options((9, 2)), "final", "null", 107000, R),
    ("kernel", 1, "foreign", None, "final", "null", 107003, R),
    ("far", 1, "stream", None, "final", "null", 107017, R),
)  # fmt: skip
rows(
    "implementation", "aclrtLaunchKernelWithConfig",
    ("kernel", 1, "stream", None, "final", "null", 107002, R), thread=2,
)  # fmt: skip
ARGUMENTS = block(1, 2)
rows(
    "implementation", "aclrtLaunchKernelWithHostArgs",
    ("null", 1, "stream", None, ARGUMENTS, 16, None, 0, 100000, A),
    ("kernel", 1, "stream", None, None, 16, None, 0, 100000, A),
    ("gone kernel", 1, "stream", None, ARGUMENTS, 16, None, 0, 107017, R),
    ("kernel", 1, "gone stream", None, ARGUMENTS, 16, None, 0, 107017, R),
    ("kernel", 1, "stream", None, ARGUMENTS, 0, None, 0, 107000, R),
    ("kernel", 1, "stream", None, b"", (1 << 20) + 1, None, 0, 107000, R),
    ("kernel", 1, "stream", None, ARGUMENTS, 16, None, 1, 107000, R),
    ("kernel", 1, "stream", None, ARGUMENTS, 16, (), 70_000, 107000, R),
    ("kernel", 1, "stream", None, ARGUMENTS, 16, ((16, 8),), 1, 107000, R),
    ("kernel", 1, "stream", None, ARGUMENTS, 16, ((8, 16),), 1, 107000, R),
    ("kernel", 0, "stream", None, ARGUMENTS, 16, None, 0, 107000, R),
    ("kernel", 1, "stream", (None, 0), ARGUMENTS, 16, None, 0, 107000, R),
    ("kernel", 1, "foreign", None, ARGUMENTS, 16, None, 0, 107003, R),
    ("far", 1, "stream", None, ARGUMENTS, 16, None, 0, 107017, R),
)  # fmt: skip
rows(
    "implementation", "aclrtLaunchKernelWithHostArgs",
    ("kernel", 1, "stream", None, ARGUMENTS, 16, None, 0, 107002, R), thread=2,
)  # fmt: skip


@pytest.mark.parametrize("behaviour", ["default", "observed"])
def test_refused_calls(behaviour: str) -> None:
    check_refused(KernelWorld(behaviour), ROWS)
