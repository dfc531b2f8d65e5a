"""Every call about notifies with arguments that it refuses (semantics.md 0.2, 0.3, 2): numbers, layers, no change."""

from typing import Any

import pytest

from tests.fakes import OUT, Driver
from tests.snapshots import state
from tests.test_machine_arguments import World

A = False  # the acl layer refuses: the last error stays
R = True  # the runtime layer refuses: the number becomes the last error

NOTIFY = ("null", 100000, A), ("gone notify", 107017, R), ("stream", 107017, R), ("sync", 107017, R)


class NotifyWorld(World):
    def __init__(self, behaviour: str) -> None:
        super().__init__(behaviour)
        driver = self.driver
        handles = [driver.ok("aclrtCreateNotify", OUT, 0) for _ in range(3)]
        driver.ok("aclrtDestroyNotify", handles[2])
        driver.ok("aclrtNotifyGetExportKey", handles[1], OUT, 65, 0)
        self.names.update(zip(("notify", "exported", "gone notify"), handles, strict=True))

    def __call__(self, argument: Any) -> Any:
        return tuple(map(self, argument)) if isinstance(argument, tuple) else super().__call__(argument)


Row = tuple[str, str, tuple[Any, ...], int, bool, int]
ROWS: list[Row] = []


def rows(function: str, *cases: tuple[Any, ...], thread: int = 1) -> None:
    for *arguments, number, layer in cases:
        ROWS.append(("2", function, tuple(arguments), number, layer, thread))


def bad_notify(function: str, *rest: Any) -> None:
    """The notify is looked at first."""
    rows(function, *((handle, *rest, number, layer) for handle, number, layer in NOTIFY))


rows(
    "aclrtCreateNotify",
    ("null", 0, 100000, A), ("null", 9, 100000, A), ("out", 2, 107000, R), ("out", 3, 107000, R),
    ("out", 0x100000000, 107000, R), ("out", 0x100000001, 107000, R), ("out", (1 << 64) - 1, 107000, R),
)  # fmt: skip
rows("aclrtCreateNotify", ("out", 0, 107002, R), ("out", 9, 107000, R), ("null", 0, 100000, A), thread=2)
bad_notify("aclrtDestroyNotify")
rows("aclrtDestroyNotify", ("notify", 107002, R), ("gone notify", 107017, R), thread=2)
for stream in ("stream", "gone stream"):
    bad_notify("aclrtRecordNotify", stream)
    bad_notify("aclrtWaitAndResetNotify", stream, 1)
for stream, number in (("gone stream", 107017), ("sync", 107017), ("foreign", 107003)):
    rows("aclrtRecordNotify", ("notify", stream, number, R))
    rows("aclrtWaitAndResetNotify", ("notify", stream, 1, number, R))
for stream in ("stream", "null"):
    rows("aclrtRecordNotify", ("notify", stream, 107002, R), thread=2)
    rows("aclrtWaitAndResetNotify", ("notify", stream, 1, 107002, R), thread=2)
bad_notify("aclrtGetNotifyId", "out")
rows("aclrtGetNotifyId", ("notify", "null", 100000, A), ("gone notify", "null", 100000, A))
rows("aclrtGetNotifyId", ("notify", "out", 107002, R), thread=2)
rows(
    "aclrtNotifyBatchReset",
    (None, 1, 100000, A), (None, 0, 100000, A), ((), 0, 107000, R), (("null",), 1, 107000, R),
    (("gone notify",), 1, 107017, R), (("stream",), 1, 107017, R), (("notify", "null"), 2, 107000, R),
)  # fmt: skip
rows("aclrtNotifyBatchReset", (("notify",), 1, 107002, R), ((), 0, 107000, R), thread=2)
bad_notify("aclrtNotifyGetExportKey", "out", 65, 2)
rows(
    "aclrtNotifyGetExportKey",
    ("notify", "null", 65, 0, 100000, A), ("gone notify", "null", 65, 2, 100000, A), ("notify", "out", 0, 0, 107000, R),
    ("notify", "out", 1, 0, 107000, R), ("notify", "out", 64, 2, 107000, R), ("exported", "out", 65, 2, 507000, R),
    ("exported", "out", 128, 0, 507000, R), ("exported", "out", 0, 0, 107000, R),
    *(("notify", "out", 65, flags, 107000, R) for flags in (1, 3, 4, 8, 0x100, (1 << 64) - 1)),
)  # fmt: skip
rows("aclrtNotifyGetExportKey", ("notify", "out", 0, 0, 107000, R), thread=2)
bad_notify("aclrtNotifySetImportPid", (1,), 1)
rows(
    "aclrtNotifySetImportPid",
    ("null", None, 1, 100000, A), ("exported", None, 1, 100000, A), ("gone notify", None, 1, 100000, A),
    ("exported", (), 0, 107000, R), ("notify", (1,), 1, 107000, R),
)  # fmt: skip
rows("aclrtNotifySetImportPid", ("exported", (), 0, 107000, R), thread=2)
rows(
    "aclrtNotifySetImportPidInterServer",
    ("null", ((0, (1,), 1),), 1, 107000, R), ("null", None, 1, 107000, R), ("exported", None, 1, 107000, R),
    ("gone notify", ((0, (1,), 1),), 1, 107017, R), ("exported", (), 0, 107000, R),
    ("exported", ((0, None, 1),), 1, 107000, R), ("exported", ((0, (1, 2), 2),), 1, 107000, R),
    ("exported", ((0, (1,), 1), (0, (), 0)), 2, 107000, R), ("exported", ((0, (1,), 1),), 1, 207000, R),
)  # fmt: skip
rows(
    "aclrtNotifyImportByKey",
    ("null", b"key", 0, 100000, A), ("out", None, 0, 100000, A), ("null", None, 9, 100000, A),
    *(("out", b"key", flags, 107000, R) for flags in (4, 5, 8, (1 << 64) - 1)),
    *(("out", b"key", flags, 507899, R) for flags in (0, 1, 2, 3)),
)  # fmt: skip
rows("aclrtNotifyImportByKey", ("out", b"key", 0, 107002, R), ("out", b"key", 4, 107000, R), thread=2)


@pytest.mark.parametrize("behaviour", ["default", "observed"])
def test_refused_calls(behaviour: str) -> None:
    world = NotifyWorld(behaviour)
    driver = world.driver
    for section, function, arguments, number, layer, thread in ROWS:
        row = f"{section}: {function}{arguments} on thread {thread}"
        driver.call("aclrtGetLastError", 0, thread=thread)
        driver.pace(1)
        before = state(driver.machine)
        assert driver.call(function, *map(world, arguments), thread=thread) == number, row
        assert state(driver.machine) == before, row
        assert driver.call("aclrtGetLastError", 0, thread=thread) == (number if layer else 0), row
        assert f"{function}: " in driver.message(thread=thread), row


def test_rows_name_every_call() -> None:
    calls = {name for name in Driver().handlers if "Notify" in name and "CntNotify" not in name}
    assert {row[1] for row in ROWS} == calls
