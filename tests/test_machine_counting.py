"""Counting notifies (reference documents): records change a number, waits compare it."""

import pytest

from tests.fakes import OUT, Driver

SET, ADD, OR, AND = 0, 1, 2, 4
LESS, EQUAL, GREATER, AT_LEAST, BITS = 0, 1, 2, 3, 4
HIGHEST = 0xFFFF_FFFF
SCHEDULES = ["asap", "late", "seed:1"]


class CountingDriver(Driver):
    def __init__(self, schedule: str = "asap") -> None:
        super().__init__(product="950PR", schedule=schedule)
        self.opened()
        self.notify = int(self.ok("aclrtCntNotifyCreate", OUT, 0))

    def record(self, mode: int, value: int, stream: int = 0) -> None:
        self.ok("aclrtCntNotifyRecord", self.notify, stream, (mode, value))

    def waits(self, mode: int, value: int, timeout: int = 0, clears: bool = False) -> int:
        """A stream that waits."""
        stream = self.stream()
        self.ok("aclrtCntNotifyWaitWithTimeout", self.notify, stream, (mode, value, timeout, int(clears), b"\0\0\0"))
        return stream

    def goes(self, stream: int) -> bool:
        for _ in range(3):
            self.pace(200)
        return bool(self.ok("aclrtStreamQuery", stream, OUT) == 0)


@pytest.fixture(params=SCHEDULES)
def driver(request: pytest.FixtureRequest) -> CountingDriver:
    return CountingDriver(request.param)


@pytest.mark.parametrize(
    ("records", "number"),
    [
        ([], 0), ([(SET, 5)], 5), ([(SET, 5), (SET, 3)], 3), ([(ADD, 5), (ADD, 3)], 8), ([(OR, 5), (OR, 2)], 7),
        ([(SET, 6), (AND, 3)], 2), ([(SET, HIGHEST), (ADD, 2)], 1),
    ],
)  # fmt: skip
def test_what_records_do(driver: CountingDriver, records: list[tuple[int, int]], number: int) -> None:
    for mode, value in records:
        driver.record(mode, value)
    driver.ok("aclrtSynchronizeStream", 0)
    assert driver.goes(driver.waits(EQUAL, number))
    assert not driver.goes(driver.waits(EQUAL, number + 1))


@pytest.mark.parametrize(
    ("mode", "value", "lets_go"),
    [
        (LESS, 4, [3]), (EQUAL, 4, [4]), (GREATER, 4, [5, 6]), (AT_LEAST, 4, [4, 5, 6]), (BITS, 4, [4, 5, 6]),
        (BITS, 6, [6]),
    ],
)  # fmt: skip
def test_what_lets_a_wait_go(driver: CountingDriver, mode: int, value: int, lets_go: list[int]) -> None:
    for number in (3, 4, 5, 6):
        driver.record(SET, number)
        driver.ok("aclrtSynchronizeStream", 0)
        assert driver.goes(driver.waits(mode, value)) == (number in lets_go)


@pytest.mark.parametrize("schedule", SCHEDULES)
def test_a_record_of_another_stream_lets_a_wait_go(schedule: str) -> None:
    driver = CountingDriver(schedule)
    waiting = driver.waits(AT_LEAST, 2)
    driver.record(ADD, 1)
    assert not driver.goes(waiting)
    driver.record(ADD, 1)
    driver.ok("aclrtSynchronizeStream", waiting)


def test_one_record_lets_several_go() -> None:
    driver = CountingDriver()
    waiting = [driver.waits(EQUAL, 1) for _ in range(3)]
    driver.record(SET, 1)
    for stream in waiting:
        driver.ok("aclrtSynchronizeStream", stream)


def test_one_that_clears_goes_alone() -> None:
    """The one that waited first."""
    driver = CountingDriver()
    first, second = driver.waits(EQUAL, 1, clears=True), driver.waits(EQUAL, 1, clears=True)
    driver.record(SET, 1)
    assert [driver.goes(first), driver.goes(second)] == [True, False]
    driver.record(SET, 1)
    assert driver.goes(second)
    assert driver.goes(driver.waits(EQUAL, 0))


def test_clearing_lets_one_go_that_waits_for_less(driver: CountingDriver) -> None:
    driver.record(SET, 9)
    driver.ok("aclrtSynchronizeStream", 0)
    waiting = driver.waits(LESS, 5)
    assert not driver.goes(waiting)
    assert driver.goes(driver.waits(EQUAL, 9, clears=True))
    assert driver.goes(waiting)


def test_a_reset_is_work_of_a_stream(driver: CountingDriver) -> None:
    driver.record(SET, 9)
    held = driver.stream()
    gate = driver.gate(held)
    driver.ok("aclrtCntNotifyReset", driver.notify, held)
    assert driver.goes(driver.waits(EQUAL, 9))
    driver.ok("aclrtRecordEvent", gate, 0)
    driver.ok("aclrtSynchronizeStream", held)
    assert driver.goes(driver.waits(EQUAL, 0))


def test_a_limit_ends_a_wait(driver: CountingDriver) -> None:
    waiting = driver.waits(EQUAL, 1, timeout=1)
    driver.pace(1)
    assert driver.ok("aclrtStreamQuery", waiting, OUT) == 1
    driver.pace(2000)
    assert driver.call("aclrtSynchronizeStream", waiting) == 107020
    driver.record(SET, 1)
    driver.ok("aclrtSynchronizeStream", 0)


def test_a_destroyed_one_is_used_by_what_is_queued() -> None:
    driver = CountingDriver()
    held, waiting = driver.stream(), driver.waits(EQUAL, 1)
    gate = driver.gate(held)
    driver.record(SET, 1, held)
    driver.ok("aclrtCntNotifyDestroy", driver.notify)
    driver.ok("aclrtRecordEvent", gate, 0)
    driver.ok("aclrtSynchronizeStream", waiting)
    assert driver.call("aclrtCntNotifyDestroy", driver.notify) == 107017


def test_ids() -> None:
    driver = CountingDriver()
    second = driver.ok("aclrtCntNotifyCreate", OUT, 0)
    ids = [driver.ok("aclrtCntNotifyGetId", notify, OUT) for notify in (driver.notify, second)]
    assert len(set(ids)) == 2
    driver.ok("aclrtCntNotifyDestroy", second)
    third = driver.ok("aclrtCntNotifyCreate", OUT, 0)
    assert driver.ok("aclrtCntNotifyGetId", third, OUT) == ids[1]
    driver.ok("aclrtResetDevice", 0)
    assert driver.call("aclrtCntNotifyGetId", third, OUT) == 107017


def test_in_a_capture() -> None:
    driver = CountingDriver()
    stream = driver.stream()
    driver.ok("aclmdlRICaptureBegin", stream, 2)
    driver.record(ADD, 1, stream)
    driver.ok("aclrtCntNotifyWaitWithTimeout", driver.notify, stream, (AT_LEAST, 2, 0, 0, b"\0\0\0"))
    model = driver.ok("aclmdlRICaptureEnd", stream, OUT)
    driver.ok("aclmdlRIExecuteAsync", model, stream)
    assert not driver.goes(stream)
    driver.record(ADD, 1)
    driver.ok("aclrtSynchronizeStream", stream)
    driver.ok("aclmdlRIExecuteAsync", model, stream)
    driver.ok("aclrtSynchronizeStream", stream)
    assert driver.goes(driver.waits(EQUAL, 3))


@pytest.mark.parametrize("function", ["aclrtStreamAbort", "aclrtDestroyStreamForce"])
def test_queued_work_that_is_lost(driver: CountingDriver, function: str) -> None:
    held, waiting = driver.stream(), driver.waits(EQUAL, 1)
    driver.gate(held)
    driver.record(SET, 1, held)
    driver.ok(function, held)
    driver.ok(function, waiting)
    driver.record(SET, 1)
    assert driver.goes(driver.waits(EQUAL, 1))


def test_only_some_products_have_them() -> None:
    for product in ("A3", "A2", "310P"):
        assert Driver(product=product).opened().call("aclrtCntNotifyCreate", OUT, 0) == 207000
