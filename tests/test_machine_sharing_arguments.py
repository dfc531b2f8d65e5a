"""Calls that share events and memory with other processes, with arguments that they refuse: reference implementation
for the order of checks, and what its driver would have to say (507899)."""

from typing import Any

import pytest

from tests.fakes import Driver
from tests.test_machine_arguments import A, R, Row, check_refused
from tests.test_machine_memory_arguments import MemoryWorld

ROWS: list[Row] = []
KEY = b"no such key"
HANDLE = (bytes(64),)
LIST = (1, 2)
SERVER = (0, (1,), 1)
BIG = (1 << 64) - 1


def rows(function: str, *cases: tuple[Any, ...], thread: int = 1) -> None:
    for *arguments, number, layer in cases:
        ROWS.append(("implementation", function, tuple(arguments), number, layer, thread))


# Events.

rows(
    "aclrtIpcGetEventHandle",
    ("null", "out", 100000, A), ("ipc event", "null", 100000, A), ("null", "null", 100000, A),
    ("sync", "out", 107000, R), ("stream", "out", 107017, R), ("gone ipc event", "out", 107017, R),
)  # fmt: skip
rows(
    "aclrtIpcOpenEventHandle",
    (HANDLE, "null", 100000, A), (HANDLE, "out", 507899, R), ((b"x" * 64,), "out", 507899, R),
)  # fmt: skip
rows("aclrtIpcOpenEventHandle", (HANDLE, "null", 100000, A), (HANDLE, "out", 107002, R), thread=2)

# Memory by keys.

rows(
    "aclrtIpcMemGetExportKey",
    ("null", 16, "out", 65, 0, 100000, A), ("memory", 16, "null", 65, 0, 100000, A),
    ("null", 0, "null", 0, 9, 100000, A), ("memory", 0, "out", 65, 0, 107000, R),
    ("memory", 16, "out", 0, 0, 107000, R), ("memory", 16, "out", 64, 0, 107000, R),
    ("memory", 16, "out", 65, 2, 107000, R), ("memory", 16, "out", 65, BIG, 107000, R),
    ("memory", BIG, "out", 65, 0, 107000, R), ("pinned", 16, "out", 65, 0, 107000, R),
    ("pageable", 16, "out", 65, 0, 107000, R), ("freed", 16, "out", 65, 0, 107000, R),
    ("beyond", 16, "out", 65, 0, 107000, R),
)  # fmt: skip
rows(
    "aclrtIpcMemGetExportKey",
    ("memory", 16, "out", 65, 0, 107002, R), ("memory", 16, "out", 65, 2, 107000, R),
    thread=2,
)  # fmt: skip
rows(
    "aclrtIpcMemSetImportPid",
    (None, LIST, 2, 100000, A), (KEY, None, 2, 100000, A), (KEY, (), 0, 107000, R), (KEY, LIST, 2, 507899, R),
)  # fmt: skip
rows("aclrtIpcMemSetImportPid", (KEY, LIST, 2, 107002, R), (KEY, (), 0, 107000, R), thread=2)
rows(
    "aclrtIpcMemImportByKey",
    ("null", KEY, 0, 100000, A), ("out", None, 0, 100000, A), ("out", KEY, 2, 107000, R), ("out", KEY, BIG, 107000, R),
    *(("out", key, 0, 507899, R) for key in (b"", b"0", KEY, b"0" * 55, b"0" * 56, b"0" * 57, b"g" * 56, b"\xff" * 64)),
    ("out", KEY, 1, 507899, R),
)  # fmt: skip
rows("aclrtIpcMemImportByKey", ("out", KEY, 0, 107002, R), ("out", KEY, 9, 107000, R), thread=2)
rows("aclrtIpcMemClose", (None, 100000, A), (KEY, 507899, R), (b"", 507899, R))
rows("aclrtIpcMemClose", (KEY, 107002, R), thread=2)

# Physical memory by handles.

rows(
    "aclrtMemExportToShareableHandle",
    ("null", 0, 0, "out", 100000, A), ("physical", 0, 0, "null", 100000, A), ("physical", 0, 2, "out", 107000, R),
    ("physical", 9, 0, "out", 100000, A), ("gone physical", 0, 0, "out", 107017, R),
    ("gone physical", 0, 2, "out", 107000, R),
)  # fmt: skip
rows(
    "aclrtMemExportToShareableHandleV2",
    ("null", 0, 1, "out", 100000, A), ("physical", 0, 1, "null", 100000, A), ("physical", 0, 0, "out", 107000, R),
    ("physical", 0, 3, "out", 107000, R), ("physical", 9, 3, "out", 107000, R), ("physical", 2, 1, "out", 107000, R),
    ("physical", 0, 2, "out", 207000, R), ("gone physical", 0, 1, "out", 107017, R),
)  # fmt: skip
rows(
    "aclrtMemImportFromShareableHandle",
    (5, 0, "null", 100000, A), (5, 99, "out", 107001, R), (5, -1, "out", 107001, R), (0, 0, "out", 507899, R),
    (5, 0, "out", 507899, R), (BIG, 0, "out", 507899, R),
)  # fmt: skip
rows("aclrtMemImportFromShareableHandle", (5, 0, "out", 107002, R), (5, 99, "out", 107001, R), thread=2)
rows(
    "aclrtMemImportFromShareableHandleV2",
    (None, 1, 0, "out", 100000, A), (bytes(8), 1, 0, "null", 100000, A), (bytes(8), 1, 1, "out", 100000, A),
    (b"", 3, 0, "out", 107000, R), (bytes(128), 2, 0, "out", 207000, R), (bytes(8), 1, 0, "out", 507899, R),
)  # fmt: skip
rows(
    "aclrtMemImportFromShareableHandleV2",
    (bytes(8), 1, 0, "out", 107002, R), (bytes(8), 1, 1, "out", 100000, A), (b"", 3, 0, "out", 107002, R),
    thread=2,
)  # fmt: skip
rows(
    "aclrtMemSetPidToShareableHandle",
    (5, None, 2, 100000, A), (5, (), 0, 100000, A), (5, LIST, 2, 507899, R),
)  # fmt: skip
rows(
    "aclrtMemSetPidToShareableHandleV2",
    (None, 1, LIST, 2, 100000, A), (bytes(8), 1, None, 2, 100000, A), (bytes(8), 1, (), 0, 100000, A),
    (b"", 0, LIST, 2, 107000, R), (bytes(128), 2, LIST, 2, 207000, R), (bytes(8), 1, LIST, 2, 507899, R),
)  # fmt: skip


rows("aclrtIpcMemSetAttr", (KEY, 0, 0, 207000, R))
rows("aclrtIpcMemImportPidInterServer", (KEY, (SERVER,), 1, 207000, R))


class SharingWorld(MemoryWorld):
    def __init__(self, behaviour: str) -> None:
        super().__init__(behaviour)
        driver = self.driver
        events = [driver.event(0x40, ex=True) for _ in range(2)]
        driver.ok("aclrtDestroyEvent", events[1])
        self.names |= dict(zip(("ipc event", "gone ipc event"), events, strict=True))


class World3(SharingWorld):
    """Of a product that can share with other servers."""

    def __init__(self) -> None:
        self.driver = Driver(product="A3").opened()
        self.names = {}


@pytest.mark.parametrize("behaviour", ["default", "observed"])
def test_refused_calls(behaviour: str) -> None:
    check_refused(SharingWorld(behaviour), ROWS)


#: Calls that only one product has.
A3_ROWS: list[Row] = [
    ("implementation", function, tuple(arguments), number, R, thread)
    for function, *arguments, number, thread in [
        ("aclrtIpcMemSetAttr", None, 0, 0, 107000, 1), ("aclrtIpcMemSetAttr", KEY, 1, 0, 107000, 1),
        ("aclrtIpcMemSetAttr", KEY, -1, 0, 107000, 1), ("aclrtIpcMemSetAttr", KEY, 0, 4, 107000, 1),
        ("aclrtIpcMemSetAttr", KEY, 0, 0, 107002, 2), ("aclrtIpcMemSetAttr", KEY, 0, 4, 107000, 2),
        ("aclrtIpcMemImportPidInterServer", None, (SERVER,), 1, 107000, 1),
        ("aclrtIpcMemImportPidInterServer", KEY, None, 1, 107000, 1),
        ("aclrtIpcMemImportPidInterServer", KEY, (), 0, 107000, 1),
        ("aclrtIpcMemImportPidInterServer", KEY, ((0, None, 1),), 1, 107000, 1),
        ("aclrtIpcMemImportPidInterServer", KEY, (SERVER,), 1, 507899, 1),
        ("aclrtIpcMemImportPidInterServer", KEY, (SERVER,), 1, 107002, 2),
    ]
]  # fmt: skip


def test_refused_calls_of_a3() -> None:
    check_refused(World3(), A3_ROWS)


@pytest.mark.parametrize("function", ["aclrtIpcMemSetAttr", "aclrtIpcMemImportPidInterServer"])
@pytest.mark.parametrize("product", ["A2", "950PR", "310P"])
def test_which_other_products_have_not(product: str, function: str) -> None:
    arguments = (KEY, 0, 0) if function == "aclrtIpcMemSetAttr" else (KEY, (SERVER,), 1)
    assert Driver(product=product).opened().call(function, *arguments) == 207000
