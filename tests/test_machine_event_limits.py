"""Limits of waits: those of streams, which run on the device and fail later, and those of the host (semantics.md 0.4,
1.9 to 1.11, 5)."""

from typing import Any

import pytest

from cannery.runtime.machine import Wait
from tests.fakes import OUT, Driver

SYNC, EXTERNAL = 0x01, 0x20
SECOND = 1000  # ms, as Driver.pace takes them
EXPIRED = 107020
PROCESS = 0xFFFF_FFFF
PLAIN, TIMEOUT, FLAG = "aclrtStreamWaitEvent", "aclrtStreamWaitEventWithTimeout", "aclrtStreamWaitEventWithFlag"
SCHEDULES = ["asap", "late", "seed:1", "seed:9"]


@pytest.fixture(params=SCHEDULES)
def driver(request: pytest.FixtureRequest) -> Driver:
    return Driver(schedule=request.param).opened()


def wait(driver: Driver, stream: int, event: int, seconds: int | None) -> None:
    """``seconds``: None for the call without a limit of its own."""
    if seconds is None:
        driver.ok(PLAIN, stream, event)
    elif seconds == PROCESS:
        driver.ok(FLAG, stream, event, seconds, 0)
    else:
        driver.ok(TIMEOUT, stream, event, seconds)


def busy(driver: Driver, stream: int) -> bool:
    return bool(driver.machine.streams[stream].queue)


class TestOnTheDevice:
    @pytest.mark.parametrize("family", [(SYNC,), (EXTERNAL,)])
    def test_the_next_synchronise_answers_an_expired_wait(self, driver: Driver, family: tuple[Any, ...]) -> None:
        """1.9: the wait call returned 0; continue mode: consumed by the first synchronise."""
        stream, event, behind = driver.stream(), driver.event(*family), driver.event(SYNC)
        wait(driver, stream, event, 2)
        driver.ok("aclrtRecordEvent", behind, stream)
        driver.pace(2 * SECOND - 1)
        assert busy(driver, stream)
        driver.pace(2)
        assert driver.call("aclrtSynchronizeStream", stream) == EXPIRED
        assert "limit" in driver.message()
        assert driver.call("aclrtSynchronizeStream", stream) == 0
        assert driver.ok("aclrtQueryEventStatus", behind, OUT) == 1, "the stream went on"

    def test_a_thread_that_waits_is_told(self, driver: Driver) -> None:
        stream, event = driver.stream(), driver.event(SYNC)
        wait(driver, stream, event, 1)
        synchronise = driver.call("aclrtSynchronizeStream", stream)
        assert isinstance(synchronise, Wait)
        driver.pace(1 * SECOND + 1)
        assert synchronise.reply == EXPIRED

    def test_the_pacer_is_told_when(self, driver: Driver) -> None:
        """Time passes for limits while nobody calls, and time that is jumped over does not count."""
        stream, other, event = driver.stream(), driver.stream(), driver.event(SYNC)
        memory, pinned = driver.device_memory(1 << 28), driver.pinned(b"p")
        wait(driver, stream, event, 3)
        begun = driver.now
        driver.pace(SECOND)
        for _ in range(5):
            driver.ok("aclrtMemcpyAsync", memory, 1 << 27, memory + (1 << 27), 1 << 27, 3, other)
        driver.ok("aclrtMemcpyAsync", pinned, 1, memory, 1, 2, other)
        driver.ok("aclrtSynchronizeStream", other)
        assert driver.machine.skip > 500_000
        assert begun + 3_000_000_000 <= driver.machine.due <= begun + 3_001_000_000
        driver.pace(2.1 * SECOND)
        assert not busy(driver, stream)
        assert driver.machine.due > driver.now + 10**15

    def test_the_limit_runs_from_when_the_wait_heads_its_stream(self, driver: Driver) -> None:
        stream, gate, event = driver.stream(), driver.event(SYNC), driver.event(SYNC)
        wait(driver, stream, gate, None)
        wait(driver, stream, event, 1)
        driver.pace(5 * SECOND)
        driver.ok("aclrtRecordEvent", gate, 0)
        driver.ok("aclrtSynchronizeStream", 0)
        driver.pace(0.9 * SECOND)
        assert busy(driver, stream)
        driver.pace(0.3 * SECOND)
        assert driver.call("aclrtSynchronizeStream", stream) == EXPIRED

    def test_one_after_the_other(self, driver: Driver) -> None:
        stream, event = driver.stream(), driver.event(SYNC)
        for _ in range(3):
            wait(driver, stream, event, 1)
        driver.pace(1.1 * SECOND)
        driver.pace(1.1 * SECOND)
        assert busy(driver, stream)
        driver.pace(1.1 * SECOND)
        assert driver.call("aclrtSynchronizeStream", stream) == EXPIRED
        assert driver.call("aclrtSynchronizeStream", stream) == 0, "the first failure counts"

    @pytest.mark.parametrize("family", [(SYNC,), (SYNC, True), ()])
    def test_a_release_in_time(self, driver: Driver, family: tuple[Any, ...]) -> None:
        held, stream, event = driver.stream(), driver.stream(), driver.event(*family)
        gate = driver.gate(held)
        driver.ok("aclrtRecordEvent", event, held)
        wait(driver, stream, event, 1)
        driver.pace(0.9 * SECOND)
        driver.ok("aclrtRecordEvent", gate, 0)
        driver.pace(0.2 * SECOND)
        driver.pace(SECOND)
        assert driver.call("aclrtSynchronizeStream", stream) == 0

    def test_a_wait_for_a_record_that_is_queued(self, driver: Driver) -> None:
        """Late schedules are no reason to expire."""
        other, stream, event = driver.stream(), driver.stream(), driver.event(SYNC)
        wait(driver, stream, event, 1)
        driver.ok("aclrtRecordEvent", event, other)
        driver.pace(1.1 * SECOND)
        driver.pace(SECOND)
        assert driver.call("aclrtSynchronizeStream", stream) == 0

    def test_an_expired_wait_holds_nothing(self, driver: Driver) -> None:
        """The bit that comes later is not its own, and the event is free to go."""
        stream, event = driver.stream(), driver.event(SYNC)
        before = driver.ok("aclrtGetEventAvailNum", OUT)
        wait(driver, stream, event, 1)
        driver.ok("aclrtDestroyEvent", event)
        assert driver.ok("aclrtGetEventAvailNum", OUT) == before
        driver.pace(1.1 * SECOND)
        assert driver.ok("aclrtGetEventAvailNum", OUT) == before + 1
        assert driver.call("aclrtSynchronizeStream", stream) == EXPIRED

    def test_stop_mode(self, driver: Driver) -> None:
        """5: the failure sticks to the context, and what was queued is lost."""
        stream, other, event = driver.stream(), driver.stream(), driver.event(SYNC)
        driver.ok("aclrtSetStreamFailureMode", stream, 1)
        wait(driver, stream, event, 1)
        wait(driver, other, event, None)
        driver.pace(1.1 * SECOND)
        for call in (
            ("aclrtSynchronizeStream", stream), ("aclrtSynchronizeStream", other), ("aclrtStreamQuery", other, OUT),
            ("aclrtQueryEventStatus", event, OUT), ("aclrtSynchronizeEvent", event), ("aclrtRecordEvent", event, other),
            ("aclrtStreamWaitEvent", other, event), ("aclrtSynchronizeDevice",), ("aclrtQueryEvent", event, OUT),
            ("aclrtQueryEventWaitStatus", event, OUT), ("aclrtSynchronizeEventWithTimeout", event, 5),
        ):  # fmt: skip
            assert driver.call(*call) == EXPIRED, call
        driver.ok("aclrtDestroyEvent", event)
        driver.ok("aclrtResetDevice", 0)
        driver.opened()
        driver.ok("aclrtSynchronizeDevice")

    def test_limits_that_never_ended_are_forgotten(self, driver: Driver) -> None:
        """A loop of waits with long limits keeps no list of them."""
        stream, other = driver.stream(), driver.stream()
        event = driver.event(SYNC)
        for _ in range(1000):
            wait(driver, stream, event, 3600)
            driver.ok("aclrtRecordEvent", event, other)
            driver.ok("aclrtSynchronizeStream", stream)
            driver.ok("aclrtResetEvent", event, stream)
            driver.ok("aclrtSynchronizeStream", stream)
        assert len(driver.machine.schedule.limits) < 200


class TestOfTheProcess:
    """1.11: seconds, 0 for none; waits that are queued later have it, unless they have one of their own."""

    @pytest.mark.parametrize(("seconds", "expires"), [(None, True), (PROCESS, True), (0, False), (5, False), (1, True)])
    def test_which_waits_have_it(self, seconds: int | None, expires: bool) -> None:
        driver = Driver().opened()
        stream, event = driver.stream(), driver.event(SYNC)
        driver.ok("aclrtSetOpWaitTimeout", 2)
        wait(driver, stream, event, seconds)
        driver.ok("aclrtSetOpWaitTimeout", 0)
        driver.pace(2.1 * SECOND)
        assert busy(driver, stream) != expires

    def test_it_does_not_count_for_what_is_queued(self) -> None:
        driver = Driver().opened()
        stream, event = driver.stream(), driver.event(SYNC)
        wait(driver, stream, event, None)
        driver.ok("aclrtSetOpWaitTimeout", 1)
        driver.pace(10 * SECOND)
        assert busy(driver, stream)

    def test_a_repeated_value_is_the_last(self) -> None:
        driver = Driver().opened()
        stream, event = driver.stream(), driver.event(SYNC)
        for seconds in (1, 0, 7):
            driver.ok("aclrtSetOpWaitTimeout", seconds)
        wait(driver, stream, event, None)
        driver.pace(6.9 * SECOND)
        assert busy(driver, stream)
        driver.pace(0.2 * SECOND)
        assert not busy(driver, stream)


class TestProducts:
    """0.4: some products ignore the limits of calls, one has a single limit, which no wait has for itself."""

    @pytest.mark.parametrize(
        ("product", "own"),
        [("A2", True), ("A3", True), ("950PR", True), ("950DT", True), ("310B", True), ("310P", False), ("910", False)],
    )
    def test_limits_of_calls(self, product: str, own: bool) -> None:
        driver = Driver(product=product).opened()
        stream, event = driver.stream(), driver.event(SYNC)
        wait(driver, stream, event, 1)
        driver.pace(60 * SECOND)
        assert busy(driver, stream) != own

    def test_910_has_one_limit_that_counts_when_a_wait_begins(self) -> None:
        driver = Driver(product="910").opened()
        first, second, gate, event = driver.stream(), driver.stream(), driver.event(SYNC), driver.event(SYNC)
        wait(driver, first, gate, None)
        wait(driver, first, event, 50)
        wait(driver, second, event, None)
        driver.ok("aclrtSetOpWaitTimeout", 2)
        driver.ok("aclrtRecordEvent", gate, 0)
        driver.ok("aclrtSynchronizeStream", 0)
        driver.pace(2.1 * SECOND)
        assert not busy(driver, first) and busy(driver, second)
        assert driver.call("aclrtSynchronizeStream", first) == EXPIRED

    @pytest.mark.parametrize("product", ["A2", "A3"])
    def test_waits_between_devices_have_none(self, product: str) -> None:
        """1.9: they look at memory, where nothing limits them."""
        driver = Driver(product=product).opened()
        held, event = driver.stream(), driver.event(SYNC, ex=True)
        gate = driver.gate(held)
        driver.ok("aclrtRecordEvent", event, held)
        driver.ok("aclrtSetDevice", 1)
        there = driver.stream()
        wait(driver, there, event, 1)
        driver.pace(5 * SECOND)
        assert busy(driver, there)
        driver.ok("aclrtSetDevice", 0)
        driver.ok("aclrtRecordEvent", gate, 0)
        driver.ok("aclrtSynchronizeStream", there)


class TestOnTheHost:
    """1.10, 5: milliseconds of real time; the work goes on."""

    @pytest.mark.parametrize(
        ("function", "number"),
        [
            ("aclrtSynchronizeEventWithTimeout", 507047), ("aclrtSynchronizeStreamWithTimeout", 507046),
            ("aclrtSynchronizeDeviceWithTimeout", 507046),
        ],
    )  # fmt: skip
    def test_a_limit_passes(self, driver: Driver, function: str, number: int) -> None:
        stream, event = driver.stream(), driver.event(SYNC, ex=True)
        gate = driver.gate(stream)
        driver.ok("aclrtRecordEvent", event, stream)
        subject = {"Event": (event,), "Stream": (stream,)}.get(function[16:].split("With")[0], ())
        begun = driver.now
        waiting = driver.call(function, *subject, 30)
        assert isinstance(waiting, Wait) and waiting.deadline is not None
        assert begun + 30_000_000 <= waiting.deadline <= begun + 30_010_000
        driver.expire(waiting)
        assert waiting.reply == number
        assert driver.call("aclrtGetLastError", 0) == number
        again = driver.call(function, *subject, -1)
        assert isinstance(again, Wait) and again.deadline is None
        driver.ok("aclrtSetDevice", 0, thread=2)
        driver.ok("aclrtRecordEvent", gate, 0, thread=2)
        driver.pace(1)
        driver.pace(200)
        assert again.reply == 0

    def test_limits_of_the_host_do_not_take_failures(self, driver: Driver) -> None:
        stream, event = driver.stream(), driver.event(SYNC)
        wait(driver, stream, event, 1)
        waiting = driver.call("aclrtSynchronizeStreamWithTimeout", stream, 500)
        driver.expire(waiting)
        assert waiting.reply == 507046
        driver.pace(SECOND)
        assert driver.call("aclrtSynchronizeStream", stream) == EXPIRED
