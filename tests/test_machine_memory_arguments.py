"""Calls about memory with arguments that they refuse, as in ``test_machine_arguments.py``.

"3" is semantics.md, "golden" what the conformance programs show, "documents" the reference documents, and
"implementation" what the reference implementation does where those say nothing.
"""

from typing import Any

import pytest

from tests.fakes import OUT
from tests.test_machine_arguments import BIG, SIZE, A, R, Row, World, check_refused

MIB = 1 << 20
GIB = 1 << 30
DEVICE, HOST = 1, 0
HUGE = (0, 0, 4, (0, DEVICE), 0)
POOL = (0, 0, (0, DEVICE), 64 * MIB, bytes(32))
UP = ((0, DEVICE), (0, HOST), bytes(16))
DOWN = ((0, HOST), (0, DEVICE), bytes(16))


class MemoryWorld(World):
    """Names for more arguments: mappings, physical memory, registered memory, pools, memory of another device."""

    def __init__(self, behaviour: str) -> None:
        super().__init__(behaviour)
        driver, names = self.driver, self.names
        ok = driver.ok
        names["large"] = driver.device_memory(4096)
        names["large pinned"] = driver.pinned(bytes(4096))
        names["large pageable"] = driver.host.give(bytes(4096))
        ok("aclrtSetDevice", 1, thread=3)
        names["far memory"] = ok("aclrtMalloc", OUT, SIZE, 0, thread=3)
        names["range"] = ok("aclrtReserveMemAddress", OUT, 8 * MIB, 0, 0, 0)
        names["free range"] = ok("aclrtReserveMemAddress", OUT, 8 * MIB, 0, 0, 0)
        names["physical"], names["spare"] = (ok("aclrtMallocPhysical", OUT, 2 * MIB, HUGE, 0) for _ in range(2))
        names["far physical"] = ok("aclrtMallocPhysical", OUT, 2 * MIB, (0, 0, 4, (1, DEVICE), 0), 0)
        names["odd physical"] = ok("aclrtMallocPhysical", OUT, MIB, HUGE, 0)
        gone = ok("aclrtMallocPhysical", OUT, 2 * MIB, HUGE, 0)
        ok("aclrtFreePhysical", gone)
        names["gone physical"] = gone
        ok("aclrtMapMem", names["range"], 2 * MIB, 0, names["physical"], 0)
        names["in range"] = names["range"] + 2 * MIB
        ok("aclrtMemMapNoAccess", names["in range"], 2 * MIB, 0, names["spare"], 0)
        names["beyond"] = names["range"] + 4 * MIB
        names["registered"] = driver.host.give(bytes(8192))
        ok("aclrtHostRegister", names["registered"], 4096, 0, OUT)
        names["window"] = ok("aclrtHostGetDevicePointer", names["registered"], OUT, 0)
        names["behind"] = names["registered"] + 4096
        names["unaligned"] = driver.host.give(bytes(8192)) + 8
        names["pool"], names["busy pool"], gone = (ok("aclrtMemPoolCreate", OUT, POOL) for _ in range(3))
        ok("aclrtMemPoolDestroy", gone)
        names["gone pool"] = gone
        names["pooled"] = ok("aclrtMemPoolMallocAsync", OUT, SIZE, names["busy pool"], names["stream"])
        driver.pace(1)
        names["value"] = driver.host.give((1 << 40).to_bytes(8, "little"))
        names["freed"] = driver.device_memory(SIZE)
        ok("aclrtFree", names["freed"])

    def __call__(self, argument: Any) -> Any:
        return tuple(map(self, argument)) if isinstance(argument, tuple) else super().__call__(argument)


ROWS: list[Row] = []


def rows(section: str, function: str, *cases: tuple[Any, ...], thread: int = 1) -> None:
    for *arguments, number, layer in cases:
        ROWS.append((section, function, tuple(arguments), number, layer, thread))


# Allocation.

for function in ("aclrtMallocAlign32", "aclrtMallocCached"):
    rows(
        "golden", function,
        ("null", 33, 0, 100000, A), ("out", 0, 0, 100000, A), ("null", 0, 0, 100000, A), ("out", BIG, 0, 100000, A),
        ("out", 1 << 45, 0, 207001, R),
    )  # fmt: skip
    rows("3", function, ("out", SIZE, 0, 107002, R), ("out", 0, 0, 100000, A), thread=2)
for function in ("aclrtMallocWithCfg", "aclrtMallocForTaskScheduler"):
    rows(
        "golden", function,
        ("null", SIZE, 0, None, 100000, A), ("out", 0, 0, None, 100000, A),
    )  # fmt: skip
    rows(
        "implementation", function,
        ("null", 0, 0, (None, 1), 100000, A), ("out", 0, 0, (None, 1), 100000, A),
        ("out", SIZE, 0, (None, 1), 100000, A),
        ("out", SIZE, 0, ((), 70000), 100000, A), ("out", SIZE, 0, (None, 0), 107000, R),
        ("out", SIZE, 0, (((3, bytes(8)),), 1), 107000, R), ("out", SIZE, 0, (((4, bytes(8)),), 1), 107000, R),
        ("out", SIZE, 0, (((2, b"\1" + bytes(7)),), 1), 107000, R),
        ("out", SIZE, 0, (((1, bytes(8)), (2, b"\1" + bytes(7))), 2), 107000, R), ("out", 1 << 45, 0, None, 207001, R),
    )  # fmt: skip
    rows(
        "implementation", function, ("out", SIZE, 0, None, 107002, R), ("out", SIZE, 0, (None, 0), 107000, R), thread=2
    )
rows(
    "golden", "aclrtMallocHostWithCfg",
    ("null", SIZE, None, 100000, A), ("out", 0, None, 100000, A), ("null", 0, None, 100000, A),
)  # fmt: skip
rows(
    "implementation", "aclrtMallocHostWithCfg",
    ("out", SIZE, (None, 0), 107000, R), ("out", SIZE, (None, 1), 107000, R),
    ("out", SIZE, (((2, bytes(8)),), 1), 107000, R), ("out", SIZE, (((0, bytes(8)),), 1), 107000, R),
)  # fmt: skip
rows(
    "implementation", "aclrtMallocHostWithCfg",
    ("out", SIZE, None, 107002, R), ("out", SIZE, (None, 0), 107000, R),
    thread=2,
)  # fmt: skip
rows(
    "golden", "aclrtFreeWithDevSync",
    ("null", 100000, A),
)  # fmt: skip
rows("implementation", "aclrtFreeWithDevSync", ("memory", 107002, R), ("null", 100000, A), thread=2)
rows(
    "golden", "aclrtFreeHostWithDevSync",
    ("null", 100000, A),
)  # fmt: skip
rows("implementation", "aclrtFreeHostWithDevSync", ("pinned", 107002, R), thread=2)
rows("3", "aclrtFree", ("range", 507899, R), ("registered", 507899, R), ("window", 507899, R))

# Setting.

rows(
    "3", "aclrtMemsetAsync",
    ("null", SIZE, 0, SIZE, "stream", 100000, A), ("null", SIZE, 0, SIZE, "gone stream", 100000, A),
    ("memory", SIZE - 1, 0, SIZE, "stream", 107000, R), ("memory", 0, 0, SIZE, "stream", 107000, R),
    ("memory", SIZE, 0, SIZE, "gone stream", 107017, R), ("memory", SIZE - 1, 0, SIZE, "gone stream", 107017, R),
    ("memory", SIZE, 0, SIZE, "sync", 107017, R), ("memory", SIZE, 0, SIZE, "foreign", 107003, R),
    ("freed", SIZE, 0, SIZE, "stream", 507899, R), ("inside", BIG, 0, 4096, "stream", 507899, R),
)  # fmt: skip
rows(
    "golden", "aclrtMemsetAsync",
    ("memory", SIZE, 0, SIZE, "stream", 107002, R), ("memory", SIZE - 1, 0, SIZE, "stream", 107000, R),
    thread=2,
)  # fmt: skip
WORDS = (
    ("null", SIZE, 1, 4, 100000, A), (0x1001, SIZE, 1, 4, 100000, A), ("memory", 15, 1, 4, 100000, A),
    ("pageable", SIZE, 1, 4, 100000, A), ("freed", SIZE, 1, 4, 107000, R), ("in range", SIZE, 1, 4, 507899, R),
    ("memory", 1 << 20, 1, 1 << 10, 507899, R),
)  # fmt: skip
rows("implementation", "aclrtMemsetD32", *WORDS)
rows("implementation", "aclrtMemsetD32", ("memory", SIZE, 1, 4, 107002, R), ("null", 0, 1, 4, 100000, A), thread=2)
rows("implementation", "aclrtMemsetD32Async", *((*row[:4], "stream", *row[4:]) for row in WORDS))
rows(
    "implementation", "aclrtMemsetD32Async",
    ("memory", SIZE, 1, 4, "gone stream", 107017, R), ("pinned", SIZE, 1, 4, "gone stream", 107017, R),
    ("memory", SIZE, 1, 4, "foreign", 107003, R), ("null", SIZE, 1, 4, "gone stream", 100000, A),
)  # fmt: skip
rows(
    "implementation", "aclrtMemsetD32Async",
    ("memory", SIZE, 1, 4, "stream", 107002, R), ("pinned", SIZE, 1, 4, "stream", 107002, R),
    thread=2,
)  # fmt: skip

# Copies.

rows(
    "golden", "aclrtMemcpyAsyncWithCondition",
    ("null", SIZE, "pinned", SIZE, 1, "stream", 100000, A), ("memory", SIZE, "null", SIZE, 1, "stream", 100000, A),
    ("memory", SIZE, "pinned", SIZE, 9, "stream", 100000, A), ("pageable", SIZE, "other", SIZE, 5, "stream", 107000, R),
    ("pinned", SIZE, "large pinned", SIZE, 1, "stream", 207000, R),
    ("memory", SIZE, "pinned", SIZE, 1, "gone stream", 107017, R),
    ("memory", SIZE, "pinned", SIZE, 1, "foreign", 107003, R),
)  # fmt: skip
rows("3", "aclrtMemcpyAsyncWithCondition", ("memory", SIZE, "pinned", SIZE, 1, "stream", 107002, R), thread=2)
ROW_CASES = (
    ("null", 64, "large pinned", 32, 16, 4, 1, 100000, A), ("large", 64, "null", 32, 16, 4, 1, 100000, A),
    ("large", 15, "large pinned", 32, 16, 4, 1, 100000, A), ("large", 64, "large pinned", 15, 16, 4, 1, 100000, A),
    ("large", 64, "large pinned", 32, 16, 4, 0, 100000, A), ("large", 64, "large pinned", 32, 16, 4, 5, 100000, A),
    ("large", 64, "large pinned", 32, 16, 4, -1, 100000, A),
    ("large", 64, "large pinned", 64, 16, (5 << 20) + 1, 1, 107000, R),
    ("large", BIG, "large pinned", BIG, 5_000_001, 1, 1, 107000, R),
    ("large", 64, "large pageable", 32, 16, 4, 2, 107000, R), ("large pageable", 64, "large", 32, 16, 4, 1, 107000, R),
    ("large pinned", 64, "pinned", 16, 16, 4, 1, 107000, R),
    ("memory", 64, "large pinned", 32, 16, 4, 1, 507899, R), ("freed", 16, "large pinned", 32, 16, 4, 1, 507899, R),
)  # fmt: skip
rows("golden", "aclrtMemcpy2d", *ROW_CASES)
rows(
    "golden", "aclrtMemcpy2d",
    ("large", 64, "large pageable", 32, 16, 4, 3, 207000, R), ("large", 64, "large", 32, 16, 4, 3, 207000, R),
    ("large", 64, "large", 32, 16, 4, 4, 107000, R), ("large", 4096, "nowhere", 32, 16, 1, 1, 507899, R),
)  # fmt: skip
rows("golden", "aclrtMemcpy2d", ("large", 64, "large pageable", 32, 16, 4, 1, 107002, R), thread=2)
rows("golden", "aclrtMemcpy2dAsync", *((*row[:7], "stream", *row[7:]) for row in ROW_CASES))
rows(
    "golden", "aclrtMemcpy2dAsync",
    ("large", 64, "large pinned", 32, 16, 4, 1, "gone stream", 107017, R),
    ("large", 64, "large pinned", 32, 16, 4, 1, "foreign", 107003, R),
    ("large", 15, "large pinned", 32, 16, 4, 1, "gone stream", 100000, A),
)  # fmt: skip
rows("golden", "aclrtMemcpy2dAsync", ("large", 64, "large pinned", 32, 16, 4, 1, "stream", 107002, R), thread=2)

TO, OF, SIZES = ("large", "memory"), ("pinned", "pageable"), (SIZE, 16)


def batch(
    to: Any = TO, rooms: Any = SIZES, of: Any = OF, sizes: Any = SIZES, count: int = 2, attributes: Any = (UP,),
    indexes: Any = (0,), number: int = 1,
) -> tuple[Any, ...]:  # fmt: skip
    return (to, rooms, of, sizes, count, attributes, indexes, number)


BATCHES = (
    (batch(to=None), 100000, A), (batch(rooms=None), 100000, A), (batch(of=None), 100000, A),
    (batch(sizes=None), 100000, A), (batch(count=0, to=(), of=(), sizes=(), rooms=()), 100000, A),
    (batch(attributes=None), 100000, A), (batch(indexes=None), 100000, A), (batch(rooms=(SIZE, 15)), 100000, A),
    (batch(attributes=(UP,) * 3, indexes=(0, 1, 2), number=3), 100000, A),
    (batch(attributes=((*UP[:2], bytes(15) + b"\1"),)), 100000, A),
    (batch(attributes=(), indexes=(), number=0), 107000, R), (batch(indexes=(1,)), 107000, R),
    (batch(attributes=(UP, UP), indexes=(0, 2), number=2), 107000, R),
    (batch(attributes=(UP, UP), indexes=(0, 0), number=2), 107000, R),
    (batch(count=70000, to=(), of=(), sizes=(), rooms=()), 107000, R),
    (batch(attributes=(DOWN,)), 107000, R), (batch(attributes=(UP, DOWN), indexes=(0, 1), number=2), 107000, R),
    (batch(attributes=(((1, DEVICE), *UP[1:]),)), 107000, R), (batch(attributes=(((0, 9), *UP[1:]),)), 107000, R),
    (batch(to=("large", "pinned")), 107000, R), (batch(to=("freed", "memory")), 107000, R),
    (batch(rooms=(SIZE, 4096), sizes=(SIZE, 4096)), 507899, R),
)  # fmt: skip
for function, rest in (
    ("aclrtMemcpyBatch", ("out",)),
    ("aclrtMemcpyBatchV2", ()),
    ("aclrtMemcpyBatchAsync", ("out", "stream")),
    ("aclrtMemcpyBatchAsyncV2", ("stream",)),
):
    pageable = ("pinned", "large pinned") if "Async" in function else OF
    for arguments, number, layer in BATCHES:
        here = (*arguments[:2], pageable, *arguments[3:]) if arguments[2] == OF else arguments
        rows("golden", function, (*here, *rest, number, layer))
    rows("implementation", function, (*batch(), *rest, 107002, R), thread=2)
rows("golden", "aclrtMemcpyBatch", (*batch(), "null", 100000, A))
rows(
    "implementation", "aclrtMemcpyBatch",
    (*batch(TO * 2049, (4,) * 4098, ("pinned",) * 4098, (4,) * 4098, 4098), "out", 107000, R),
)  # fmt: skip
rows(
    "golden", "aclrtMemcpyBatchAsync",
    (*batch(), "null", "stream", 100000, A), (*batch(), "out", "gone stream", 107017, R),
    (*batch(of=("pinned", "pinned")), "out", "foreign", 107003, R),
    (*batch(sizes=(SIZE, 0)), "out", "stream", 107000, R),
)  # fmt: skip
rows("golden", "aclrtMemcpyBatchAsyncV2", (*batch(), "gone stream", 107017, R))

rows(
    "golden", "aclrtMemcpyAsyncWithOffset",
    ("null", SIZE, 0, "large", SIZE, 0, 3, "stream", 107000, R),
    ("null", SIZE, 0, "large", SIZE, 0, 6, "stream", 107000, R),
    ("memory", SIZE, 0, "null", SIZE, 0, 6, "stream", 107000, R),
    ("memory", 63, 0, "large", SIZE, 0, 6, "stream", 107000, R),
    ("memory", SIZE, 0, "large", SIZE, 0, 9, "stream", 107000, R),
    ("memory", SIZE, 0, "large", SIZE, 0, 1, "stream", 107000, R),
)  # fmt: skip
rows(
    "implementation", "aclrtMemcpyAsyncWithOffset",
    ("memory", SIZE, 1, "large", SIZE, 0, 6, "stream", 107000, R),
    ("memory", BIG, 1 << 48, "large", SIZE, 0, 6, "stream", 107000, R),
    ("memory", SIZE, 0, "large", SIZE, 1 << 48, 6, "stream", 107000, R),
    ("memory", BIG, 0, "large", (4 << 30) + 1, 0, 6, "stream", 107000, R),
    ("memory", SIZE, 0, "large", SIZE, 0, 6, "gone stream", 107017, R),
    ("null", SIZE, 0, "large", SIZE, 0, 6, "gone stream", 107017, R),
    ("memory", SIZE, 0, "large", SIZE, 0, 6, "foreign", 107003, R),
)  # fmt: skip
rows(
    "implementation", "aclrtMemcpyAsyncWithOffset", ("memory", SIZE, 0, "large", 8, 0, 6, "stream", 107002, R), thread=2
)
rows("implementation", "aclrtGetMemcpyDescSize", (6, "null", 100000, A), (8, "out", 100000, A), (3, "out", 207000, R))
rows(
    "implementation", "aclrtSetMemcpyDesc",
    ("null", 6, "memory", "large", SIZE, 0, 100000, A), ("large", 8, "memory", "large", SIZE, 0, 100000, A),
    ("large", 6, "null", "memory", SIZE, 0, 100000, A), ("large", 6, "memory", "null", SIZE, 0, 100000, A),
    ("large", 6, "memory", "memory", 0, 0, 100000, A), ("large", 6, "memory", "memory", SIZE, 1, 100000, A),
    ("large", 3, "memory", "memory", SIZE, 0, 207000, R), ("large", 6, "memory", "memory", (4 << 30) + 1, 0, 107000, R),
    ("inside", 6, "memory", "memory", SIZE, 0, 107000, R), ("pinned", 6, "memory", "memory", SIZE, 0, 107000, R),
    ("large", 6, "pinned", "memory", SIZE, 0, 107000, R), ("large", 6, "memory", "freed", SIZE, 0, 107000, R),
    ("large", 6, "memory", "far memory", SIZE, 0, 107000, R),
)  # fmt: skip
rows("implementation", "aclrtSetMemcpyDesc", ("large", 6, "memory", "memory", SIZE, 0, 107002, R), thread=2)
rows(
    "implementation", "aclrtMemcpyAsyncWithDesc",
    ("null", 6, "stream", 100000, A), ("large", 8, "stream", 100000, A), ("large", 6, "null", 100000, A),
    ("large", 6, "gone stream", 107017, R), ("large", 3, "stream", 207000, R), ("inside", 6, "stream", 107000, R),
    ("pinned", 6, "stream", 107000, R), ("large", 6, "foreign", 107003, R),
)  # fmt: skip
rows("implementation", "aclrtMemcpyAsyncWithDesc", ("large", 6, "stream", 107002, R), thread=2)
rows(
    "implementation", "aclrtGetSymbolAddress", ("null", "out", 100000, A), (1, "null", 100000, A), (1, "out", 107000, R)
)
rows("implementation", "aclrtGetSymbolSize", ("null", "out", 100000, A), (1, "null", 100000, A), (1, "out", 107000, R))
FROM_SYMBOL = (
    ("null", SIZE, 1, SIZE, 0, 2, 100000, A), ("pinned", SIZE, "null", SIZE, 0, 2, 100000, A),
    ("pinned", 63, 1, SIZE, 0, 2, 100000, A), ("pinned", SIZE, 1, SIZE, 0, 1, 100000, A),
    ("pinned", SIZE, 1, SIZE, 0, 4, 107000, R),
)  # fmt: skip
TO_SYMBOL = (
    ("null", "pinned", SIZE, 0, 1, 100000, A), (1, "null", SIZE, 0, 1, 100000, A), (1, "pinned", SIZE, 0, 2, 100000, A),
    (1, "pinned", SIZE, 0, 4, 107000, R),
)  # fmt: skip
rows("implementation", "aclrtMemcpyFromSymbol", *FROM_SYMBOL)
rows("implementation", "aclrtMemcpyToSymbol", *TO_SYMBOL)
rows("implementation", "aclrtMemcpyFromSymbolAsync", *((*row[:6], "stream", *row[6:]) for row in FROM_SYMBOL))
rows("implementation", "aclrtMemcpyToSymbolAsync", *((*row[:5], "stream", *row[5:]) for row in TO_SYMBOL))
rows("implementation", "aclrtMemcpyFromSymbolAsync", ("pinned", SIZE, 1, SIZE, 0, 2, "gone stream", 107017, R))
rows("implementation", "aclrtMemcpyToSymbolAsync", (1, "pinned", SIZE, 0, 1, "gone stream", 107017, R))

# In stream order.

rows(
    "implementation", "aclrtReduceAsync",
    ("null", "large", SIZE, 10, 0, "stream", 0, 100000, A), ("memory", "null", SIZE, 10, 0, "stream", 0, 100000, A),
    ("memory", "large", SIZE, 10, 0, "stream", 1, 100000, A), ("memory", "large", SIZE, 10, 9, "stream", 0, 100000, A),
    ("memory", "large", SIZE, 10, 0, "gone stream", 0, 107017, R),
    ("memory", "large", 0, 10, 0, "stream", 0, 107000, R),
    ("memory", "large", SIZE, 9, 0, "stream", 0, 107000, R), ("memory", "large", SIZE, 14, 0, "stream", 0, 107000, R),
    ("memory", "large", (4 << 30) + 4, 10, 0, "stream", 0, 107000, R),
    ("memory", "large", SIZE, 10, 0, "foreign", 0, 107003, R),
)  # fmt: skip
rows(
    "documents", "aclrtReduceAsync",
    ("memory", "large", SIZE, 10, 7, "stream", 0, 207000, R), ("memory", "large", SIZE, 10, 29, "stream", 0, 207000, R),
    ("memory", "large", SIZE, 13, 0, "stream", 0, 207000, R), ("memory", "large", 62, 10, 0, "stream", 0, 107000, R),
    ("memory", "far memory", SIZE, 10, 0, "stream", 0, 107000, R),
    ("memory", "pinned", SIZE, 10, 0, "stream", 0, 107000, R),
    ("memory", "large", 4096, 10, 0, "stream", 0, 507899, R),
)  # fmt: skip
rows("implementation", "aclrtReduceAsync", ("memory", "large", SIZE, 10, 0, "stream", 0, 107002, R), thread=2)
VALUES = (
    ("null", 1, 0, "stream", 100000, A), ("null", 1, 0, "gone stream", 100000, A),
    ("memory", 1, 0, "gone stream", 107017, R), ("memory", 1, 4, "gone stream", 107017, R),
    ("memory", 1, 4, "stream", 107000, R), ("pinned", 1, 0, "stream", 107000, R),
    ("pageable", 1, 0, "stream", 107000, R),
    ("freed", 1, 0, "stream", 507899, R), ("memory", 1, 0, "foreign", 107003, R),
)  # fmt: skip
for function in ("aclrtValueWrite", "aclrtValueWait"):
    rows("implementation", function, *VALUES)
    rows(
        "implementation", function, ("memory", 1, 0, "stream", 107002, R), ("null", 1, 0, "stream", 100000, A), thread=2
    )
rows("implementation", "aclrtValueWrite", ("memory", 1, 1, "stream", 107000, R))
for function in ("aclrtMemFlush", "aclrtMemInvalidate"):
    rows("implementation", function, ("null", SIZE, 100000, A), ("memory", 0, 100000, A))
rows(
    "implementation", "aclrtCmoAsync",
    ("null", SIZE, 0, "stream", 100000, A), ("memory", 0, 0, "stream", 100000, A),
    ("memory", SIZE, 4, "stream", 207000, R),
    ("memory", SIZE, -1, "stream", 207000, R), ("memory", SIZE, 4, "gone stream", 207000, R),
    ("memory", SIZE, 0, "gone stream", 107017, R), ("memory", SIZE, 0, "foreign", 107003, R),
)  # fmt: skip
rows("implementation", "aclrtCmoAsync", ("memory", SIZE, 0, "stream", 107002, R), thread=2)
rows("implementation", "aclrtCmoGetDescSize", ("null", 107000, R))
rows(
    "implementation", "aclrtCmoSetDesc",
    ("null", "memory", SIZE, 107000, R), ("large", "null", SIZE, 107000, R), ("large", "memory", 0, 107000, R),
    ("pinned", "memory", SIZE, 107000, R), ("freed", "memory", SIZE, 507899, R),
)  # fmt: skip
rows("implementation", "aclrtCmoSetDesc", ("large", "memory", SIZE, 107002, R), thread=2)
rows(
    "implementation", "aclrtCmoAsyncWithDesc",
    ("large", 0, "stream", 1, 107000, R), ("null", 0, "stream", 0, 107000, R), ("large", 4, "stream", 0, 107000, R),
    ("large", 0, "gone stream", 0, 107017, R), ("large", 0, "foreign", 0, 107003, R),
)  # fmt: skip
rows("implementation", "aclrtCmoAsyncWithDesc", ("large", 0, "stream", 0, 107002, R), thread=2)
rows("documents", "aclrtCmoAsyncWithBarrier", ("null", SIZE, 2, 1, "stream", 207000, R))  # of 310B only
rows("documents", "aclrtCmoWaitBarrier", (None, "stream", 0, 207000, R))  # of 310B only


@pytest.mark.parametrize("behaviour", ["default", "observed"])
def test_refused_calls(behaviour: str) -> None:
    check_refused(MemoryWorld(behaviour), ROWS)
