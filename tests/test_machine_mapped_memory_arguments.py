"""Calls about memory information, peers, registered and virtual memory and pools with arguments that they refuse.

As in ``test_machine_memory_arguments.py``.
"""

from typing import Any

import pytest

from tests.fakes import OUT, Driver
from tests.test_machine_arguments import SIZE, A, R, Row, check_refused
from tests.test_machine_memory_arguments import DEVICE, GIB, HOST, HUGE, MIB, POOL, MemoryWorld

ROWS: list[Row] = []


def rows(section: str, function: str, *cases: tuple[Any, ...], thread: int = 1) -> None:
    for *arguments, number, layer in cases:
        ROWS.append((section, function, tuple(arguments), number, layer, thread))


def device(attribute: int = 4, location: tuple[int, int] = (0, DEVICE), handle: int = 0, kind: int = 0) -> Any:
    """aclrtPhysicalMemProp."""
    return (handle, kind, attribute, location, 0)


# What there is.

rows(
    "implementation", "aclrtGetMemUsageInfo",
    (0, "null", 1, "out", 100000, A), (0, "out", 1, "null", 100000, A), (0, "out", 0, "out", 107000, R),
    (2, "out", 0, "out", 107000, R), (2, "out", 1, "out", 107001, R), (-1, "out", 1, "out", 107001, R),
)  # fmt: skip
rows("implementation", "aclrtGetMemUsageInfo", (0, "out", 1, "out", 107002, R), thread=2)
rows(
    "golden", "aclrtPointerGetAttributes",
    ("null", "out", 100000, A), ("memory", "null", 100000, A), ("null", "null", 100000, A),
)  # fmt: skip
rows("golden", "aclrtPointerGetAttributes", ("null", "null", 100000, A), thread=2)
rows("implementation", "aclrtPointerGetAttributes", ("freed", "out", 107000, R), ("beyond", "out", 107000, R))
rows(
    "implementation", "aclrtMemGetAddressRange",
    ("null", "out", "out", 100000, A), ("memory", "null", "null", 107000, R), ("freed", "out", "out", 107000, R),
    ("pageable", "out", "out", 107000, R), ("beyond", "out", "null", 107000, R),
)  # fmt: skip
rows(
    "implementation", "aclrtCheckMemType",
    (None, 1, 2, "out", 0, 100000, A), (("memory",), 1, 2, "null", 0, 100000, A),
    (("memory",), 1, 2, "out", 1, 107000, R),
    ((), 0, 2, "out", 0, 107000, R), (("memory",), 1, 0, "out", 0, 107000, R), (("memory",), 1, 4, "out", 0, 107000, R),
    ((), 70000, 2, "out", 0, 107000, R),
)  # fmt: skip
rows("implementation", "aclrtCheckMemType", (("memory",), 1, 2, "out", 0, 107002, R), thread=2)
rows(
    "golden", "aclrtDeviceCanAccessPeer",
    ("null", 0, 1, 107000, R), ("null", 0, 0, 100000, A), ("out", 0, 0, 100000, A), ("out", 0, 63, 107001, R),
    ("out", 63, 0, 107001, R), ("out", 0, 64, 107001, R), ("out", 64, 0, 107000, R), ("out", -1, 0, 107000, R),
    ("out", 0, -1, 107001, R), ("out", -1, -1, 100000, A),
)  # fmt: skip
rows(
    "golden", "aclrtDeviceEnablePeerAccess",
    (1, 1, 200006, A), (63, 1, 200006, A), (0, 0, 100000, A), (63, 0, 107001, R), (64, 0, 107001, R),
    (-1, 0, 107001, R),
)  # fmt: skip
rows("golden", "aclrtDeviceEnablePeerAccess", (1, 0, 107002, R), (1, 1, 200006, A), thread=2)
rows("golden", "aclrtDeviceDisablePeerAccess", (0, 100000, A), (63, 107001, R), (64, 107001, R), (-1, 107001, R))
rows("golden", "aclrtDeviceDisablePeerAccess", (1, 107002, R), thread=2)
rows(
    "golden", "aclrtDevicePeerAccessStatus",
    (0, 1, "null", 100000, A), (0, 64, "out", 107000, R), (64, 0, "out", 107000, R), (-1, 0, "out", 107000, R),
)  # fmt: skip

# Registered memory.

rows(
    "implementation", "aclrtHostRegister",
    ("null", 4096, 0, "out", 100000, A), ("behind", 0, 0, "out", 100000, A), ("behind", 4096, 0, "null", 100000, A),
    ("behind", 4096, 4, "out", 207000, R), ("behind", 4096, 1, "out", 207000, R),
    ("registered", 4096, 0, "out", 507910, R),
    ("registered", 8192, 0, "out", 507910, R), ("unaligned", 4096, 0, "out", 107000, R),
)  # fmt: skip
rows("implementation", "aclrtHostRegister", ("behind", 4096, 0, "out", 107002, R), thread=2)
rows(
    "implementation", "aclrtHostRegisterV2",
    ("null", 4096, 2, 100000, A), ("behind", 0, 2, 100000, A), ("behind", 4096, 0, 107000, R),
    ("behind", 4096, 1, 107000, R),
    ("behind", 4096, 0x2000_0000, 107000, R), ("behind", 4096, 6, 207000, R), ("registered", 1, 2, 507910, R),
    ("large pinned", 4096, 0x1000_0000, 107000, R),
)  # fmt: skip
rows("implementation", "aclrtHostRegisterV2", ("behind", 4096, 2, 107002, R), thread=2)
rows(
    "implementation", "aclrtHostUnregister",
    ("null", 100000, A), ("behind", 507911, R), ("window", 507911, R), ("pinned", 507911, R),
)  # fmt: skip
rows("implementation", "aclrtHostUnregister", ("registered", 107002, R), thread=2)
rows(
    "implementation", "aclrtHostGetDevicePointer",
    ("null", "out", 0, 100000, A), ("registered", "null", 0, 100000, A), ("registered", "out", 1, 100000, A),
    ("behind", "out", 0, 107000, R),
)  # fmt: skip
rows("implementation", "aclrtHostGetDevicePointer", ("registered", "out", 0, 107002, R), thread=2)
rows(
    "implementation", "aclrtHostMemMapCapabilities",
    (0, 2, "null", 100000, A), (2, 2, "out", 107001, R), (0, 10, "out", 107000, R), (0, -1, "out", 107000, R),
)  # fmt: skip
rows("implementation", "aclrtHostMemMapCapabilities", (0, 2, "out", 107002, R), thread=2)

# Virtual memory. It needs no context.

rows(
    "golden", "aclrtReserveMemAddress",
    ("null", 2 * MIB, 0, 0, 1, 100000, A), ("out", 0, 0, 0, 1, 100000, A), ("out", 2 * MIB, 0, 0, 2, 100000, A),
)  # fmt: skip
rows(
    "documents", "aclrtReserveMemAddress",
    ("out", 2 * MIB, 1, 0, 0, 107000, R), ("out", 2 * MIB, 0, 1, 0, 107000, R),
    ("out", 2 * MIB, 0, (16 << 40) + MIB, 0, 107000, R), ("out", 2 * GIB, 0, (16 << 40) + 2 * MIB, 0, 107000, R),
    ("out", 2 * MIB, 0, 24 << 40, 0, 107000, R), ("out", 1 << 50, 0, 0, 0, 207001, R),
)  # fmt: skip
rows("documents", "aclrtReserveMemAddressNoUCMemory", ("out", GIB, 0, 40 << 40, 0, 207000, R))  # of A3 only
rows(
    "golden", "aclrtReleaseMemAddress",
    ("null", 100000, A), ("in range", 107000, R), ("memory", 107000, R), ("window", 107000, R),
)  # fmt: skip
rows("documents", "aclrtReleaseMemAddress", ("range", 107000, R))
rows(
    "golden", "aclrtMallocPhysical",
    ("null", 2 * MIB, HUGE, 0, 100000, A), ("out", 0, HUGE, 0, 100000, A), ("out", 2 * MIB, None, 0, 100000, A),
    ("out", 2 * MIB, HUGE, 1, 100000, A), ("out", 2 * MIB, device(99), 0, 100000, A),
    ("out", 2 * MIB, device(kind=9), 0, 100000, A), ("out", 2 * MIB, device(handle=9), 0, 100000, A),
)  # fmt: skip
rows(
    "implementation", "aclrtMallocPhysical",
    *(("out", 2 * MIB, device(attribute), 0, 100000, A) for attribute in (-1, 0, 1, 2, 3, 6, 7, 8, 9, 11, 18)),
    ("out", 2 * MIB, device(location=(0, 2)), 0, 100000, A), ("out", 2 * MIB, device(location=(0, 3)), 0, 100000, A),
    ("out", 2 * MIB, device(location=(2, 1)), 0, 107001, R), ("out", 1 << 45, HUGE, 0, 207001, R),
    ("out", 2 * MIB, device(2, (0, HOST)), 0, 207000, R), ("out", 2 * MIB, device(13, (0, 4)), 0, 207000, R),
)  # fmt: skip
rows("golden", "aclrtFreePhysical", ("null", 100000, A), ("gone physical", 107017, R), ("stream", 107017, R))
for function in ("aclrtMapMem", "aclrtMemMapNoAccess"):
    rows(
        "golden", function,
        ("null", 2 * MIB, 0, "far physical", 0, 100000, A), ("free range", 0, 0, "far physical", 0, 100000, A),
        ("free range", 2 * MIB, 0, "null", 0, 100000, A), ("free range", 2 * MIB, 0, "far physical", 1, 100000, A),
    )  # fmt: skip
    rows(
        "documents", function,
        ("free range", 2 * MIB, 0, "gone physical", 0, 107017, R),
        ("free range", 4 * MIB, 0, "far physical", 0, 107000, R),
        ("free range", 2 * MIB, 1, "far physical", 0, 107000, R), ("range", 2 * MIB, 0, "physical", 0, 107000, R),
        ("memory", 2 * MIB, 0, "physical", 0, 107000, R), ("beyond", 2 * MIB, 0, "far physical", 0, 107000, R),
        ("free range", MIB, 0, "odd physical", 0, 107000, R),
    )  # fmt: skip
rows("golden", "aclrtUnmapMem", ("null", 100000, A), ("beyond", 107000, R), ("memory", 107000, R))
ALL_RIGHTS = (3, (0, DEVICE), bytes(12))
rows(
    "implementation", "aclrtMemSetAccess",
    ("null", 2 * MIB, (ALL_RIGHTS,), 1, 107000, R), ("range", 2 * MIB, None, 1, 107000, R),
    ("range", 2 * MIB, (), 0, 107000, R),
    ("range", MIB, (ALL_RIGHTS,), 1, 107000, R), ("beyond", 2 * MIB, (ALL_RIGHTS,), 1, 107000, R),
    ("range", 2 * MIB, ((2, (0, DEVICE), bytes(12)),), 1, 107000, R),
    ("range", 2 * MIB, (ALL_RIGHTS, (3, (2, DEVICE), bytes(12))), 2, 107001, R),
    ("range", 2 * MIB, (ALL_RIGHTS, (3, (0, 2), bytes(12))), 2, 107000, R),
)  # fmt: skip
rows(
    "implementation", "aclrtMemGetAccess",
    ("null", (0, DEVICE), "out", 100000, A), ("range", None, "out", 100000, A),
    ("range", (0, DEVICE), "null", 100000, A),
    ("range", (0, 2), "out", 107000, R), ("beyond", (0, DEVICE), "out", 107000, R),
)  # fmt: skip
rows(
    "implementation", "aclrtMemRetainAllocationHandle",
    ("null", "out", 100000, A), ("range", "null", 100000, A), ("beyond", "out", 107000, R),
    ("memory", "out", 107000, R),
)  # fmt: skip
rows(
    "golden", "aclrtMemGetAllocationGranularity",
    (None, 0, "out", 100000, A), (HUGE, 0, "null", 100000, A),
)  # fmt: skip
rows(
    "implementation", "aclrtMemGetAllocationGranularity",
    (device(2), 0, "out", 100000, A), (device(99), 0, "out", 100000, A), (device(location=(2, 1)), 0, "out", 107001, R),
    (HUGE, 2, "out", 107000, R),
)  # fmt: skip
rows(
    "implementation", "aclrtMemGetAllocationPropertiesFromHandle",
    ("null", "out", 100000, A), ("physical", "null", 100000, A), ("gone physical", "out", 107017, R),
)  # fmt: skip

# Pools.

rows(
    "implementation", "aclrtMemPoolCreate",
    ("null", POOL, 100000, A), ("out", None, 100000, A), ("out", (1, *POOL[1:]), 100000, A),
    ("out", (0, 0, (0, HOST), 0, bytes(32)), 100000, A), ("out", (0, 0, (0, DEVICE), 0, b"\1" * 32), 100000, A),
    ("out", (0, 0, (2, DEVICE), 0, bytes(32)), 107001, R), ("out", (0, 0, (0, DEVICE), 1 << 50, bytes(32)), 107000, R),
)  # fmt: skip
rows("implementation", "aclrtMemPoolCreate", ("out", POOL, 107002, R), thread=2)
rows(
    "implementation", "aclrtMemPoolDestroy",
    ("null", 100000, A), ("gone pool", 507000, R), ("stream", 507000, R), ("busy pool", 507000, R),
)  # fmt: skip
for function in ("aclrtMemPoolSetAttr", "aclrtMemPoolGetAttr"):
    rows(
        "implementation", function,
        ("null", 4, "value", 100000, A), ("pool", 4, "null", 107000, R), ("gone pool", 4, "value", 107000, R),
        ("pool", 0, "value", 507000, R), ("pool", 9, "value", 507000, R), ("pool", 4, "nowhere", 507899, R),
    )  # fmt: skip
rows(
    "implementation", "aclrtMemPoolSetAttr",
    ("pool", 5, "value", 107000, R), ("pool", 7, "value", 107000, R), ("pool", 4, "value", 507000, R),
    ("pool", 6, "value", 507000, R), ("pool", 8, "value", 507000, R),
)  # fmt: skip
rows(
    "implementation", "aclrtMemPoolMallocAsync",
    ("null", SIZE, "pool", "stream", 100000, A), ("out", SIZE, "null", "stream", 100000, A),
    ("out", SIZE, "pool", "null", 100000, A), ("out", SIZE, "pool", "gone stream", 107017, R),
    ("out", SIZE, "gone pool", "stream", 507000, R), ("out", 128 * MIB, "pool", "stream", 507000, R),
    ("out", SIZE, "pool", "foreign", 107003, R),
)  # fmt: skip
rows("implementation", "aclrtMemPoolMallocAsync", ("out", SIZE, "pool", "stream", 107002, R), thread=2)
rows(
    "implementation", "aclrtMemPoolFreeAsync",
    ("null", "stream", 100000, A), ("memory", "null", 100000, A), ("memory", "gone stream", 107017, R),
    ("inside", "stream", 107000, R), ("freed", "stream", 107000, R), ("pinned", "stream", 107000, R),
    ("memory", "foreign", 107003, R),
)  # fmt: skip
rows("implementation", "aclrtMemPoolFreeAsync", ("memory", "stream", 107002, R), thread=2)
rows(
    "implementation", "aclrtMemPoolTrimTo",
    ("null", 0, 100000, A), ("gone pool", 0, 507000, R), ("pool", 65 * MIB, 507000, R), ("busy pool", 0, 507000, R),
)  # fmt: skip


@pytest.mark.parametrize("behaviour", ["default", "observed"])
def test_refused_calls(behaviour: str) -> None:
    check_refused(MemoryWorld(behaviour), ROWS)


def test_what_only_some_products_have() -> None:
    driver = Driver(product="A3").opened()
    for arguments in ((GIB - 1, 40 << 40), (GIB, 0), (GIB, (40 << 40) + 1)):
        assert driver.call("aclrtReserveMemAddressNoUCMemory", OUT, arguments[0], 0, arguments[1], 0) == 107000
    assert driver.call("aclrtReserveMemAddressNoUCMemory", OUT, GIB, 0, 40 << 40, 2) == 100000
    driver = Driver(product="310B").opened()
    memory = driver.device_memory(SIZE)
    none: Any = ((0, 0),) * 5
    for arguments, number in (
        ((0, SIZE, 2, 1, 0), 100000),
        ((memory, 0, 2, 1, 0), 107000),
        ((memory, SIZE, 4, 0, 0), 107000),
        ((memory, SIZE, 2, 0, 0), 107000),
        ((memory, SIZE, 0, 1, 0), 107000),
        ((memory, SIZE, 2, 1, 0x1234), 107017),
        ((memory, SIZE, 2, 1, 0), 107005),
    ):
        assert driver.call("aclrtCmoAsyncWithBarrier", *arguments) == number, arguments
    cases: Any = (
        (None, 0, 100000),
        ((1, ((2, 1), *none)), 1, 107000),
        ((0, ((2, 1), *none)), 0, 107000),
        ((7, ((2, 1), *none)), 0, 107000),
        ((2, ((2, 1), *none)), 0, 107000),
        ((1, ((0, 1), *none)), 0, 107000),
        ((1, ((2, 1), *none)), 0, 107005),
    )
    for task, flag, number in cases:
        assert driver.call("aclrtCmoWaitBarrier", task, 0, flag) == number, task
    driver = Driver(product="950PR").opened()
    assert driver.call("aclrtReserveMemAddress", OUT, 2 * MIB, 0, 16 << 40, 0) == 207000
    assert driver.call("aclrtMallocPhysical", OUT, 2 * MIB, device(location=(1, 1)), 0) == 507899  # not open
    driver = Driver(product="910").opened()
    assert driver.call("aclrtMallocPhysical", OUT, 2 * MIB, device(14), 0) == 207000
    assert driver.call("aclrtMemGetAllocationGranularity", device(14), 0, OUT) == 207000
    assert driver.call("aclrtMemcpy2dAsync", memory, 64, memory, 32, 16, 4, 3, 0) == 100000
