"""aclrtResetEvent, what old-mode queries say, and records that are never done (semantics.md 1.2, 1.8, 1.10, 5)."""

from typing import Any

import pytest

from cannery.runtime.machine import Wait
from tests.fakes import OUT, Driver

SYNC, TIME_LINE = 0x01, 0x08
SECOND = 1000
COMPLETE, NOT_READY = 0, 1  # of aclrtQueryEvent and aclrtQueryEventWaitStatus; aclrtQueryEventStatus counts otherwise
ABORTED = 107023


@pytest.fixture(params=["asap", "late", "seed:4"])
def driver(request: pytest.FixtureRequest) -> Driver:
    return Driver(schedule=request.param).opened()


def busy(driver: Driver, stream: int) -> bool:
    driver.pace(500)
    return bool(driver.machine.streams[stream].queue)


class TestResets:
    def test_a_reset_clears_the_bit_in_the_order_of_its_stream(self, driver: Driver) -> None:
        """1.8: a task; a second wait passes unless a reset was executed in between (1.2)."""
        first, second, event = driver.stream(), driver.stream(), driver.event(SYNC)
        driver.ok("aclrtRecordEvent", event, 0)
        driver.ok("aclrtSynchronizeStream", 0)
        driver.ok("aclrtStreamWaitEvent", first, event)
        driver.ok("aclrtResetEvent", event, first)
        driver.ok("aclrtSynchronizeStream", first)
        driver.ok("aclrtStreamWaitEvent", second, event)
        assert busy(driver, second)
        driver.ok("aclrtRecordEvent", event, 0)
        assert not busy(driver, second)

    def test_a_reset_behind_a_gate_clears_later(self, driver: Driver) -> None:
        held, stream, event = driver.stream(), driver.stream(), driver.event(SYNC)
        driver.ok("aclrtRecordEvent", event, 0)
        driver.ok("aclrtSynchronizeStream", 0)
        gate = driver.gate(held)
        driver.ok("aclrtResetEvent", event, held)
        driver.ok("aclrtStreamWaitEvent", stream, event)
        driver.ok("aclrtSynchronizeStream", stream)
        driver.ok("aclrtRecordEvent", gate, 0)
        driver.ok("aclrtSynchronizeStream", held)
        driver.ok("aclrtStreamWaitEvent", stream, event)
        assert busy(driver, stream)

    def test_queries_still_say_recorded(self, driver: Driver) -> None:
        """1.8, observed."""
        for event in (driver.event(SYNC), driver.event()):
            driver.ok("aclrtRecordEvent", event, 0)
            driver.ok("aclrtResetEvent", event, 0)
            driver.ok("aclrtSynchronizeStream", 0)
            assert driver.ok("aclrtQueryEvent", event, OUT) == COMPLETE
            assert driver.ok("aclrtQueryEventStatus", event, OUT) == 1
            driver.ok("aclrtSynchronizeEvent", event)

    def test_the_null_stream_is_the_default_one(self, driver: Driver) -> None:
        stream, event = driver.stream(), driver.event(SYNC)
        driver.ok("aclrtRecordEvent", event, 0)
        driver.ok("aclrtResetEvent", event, 0)
        driver.ok("aclrtSynchronizeDevice")
        driver.ok("aclrtStreamWaitEvent", stream, event)
        assert busy(driver, stream)

    def test_a_default_event_is_only_released_by_the_limit(self, driver: Driver) -> None:
        """1.8, observed; switch reset-default-event: the wait is for the id that was reset, a later record has a new
        one."""
        stream, event = driver.stream(), driver.event()
        driver.ok("aclrtRecordEvent", event, 0)
        driver.ok("aclrtResetEvent", event, 0)
        driver.ok("aclrtSynchronizeStream", 0)
        driver.ok("aclrtStreamWaitEventWithTimeout", stream, event, 2)
        driver.ok("aclrtRecordEvent", event, 0)
        assert busy(driver, stream)
        driver.pace(2 * SECOND)
        assert driver.call("aclrtSynchronizeStream", stream) == 107020
        driver.ok("aclrtStreamWaitEvent", stream, event)
        driver.ok("aclrtSynchronizeStream", stream)

    def test_a_default_event_that_was_never_recorded(self, driver: Driver) -> None:
        event = driver.event()
        driver.ok("aclrtResetEvent", event, 0)
        assert driver.call("aclrtStreamWaitEvent", driver.stream(), event) == 107000

    def test_a_reset_waits_for_room(self) -> None:
        driver = Driver().opened()
        held, event = driver.stream(), driver.event(SYNC)
        gate = driver.gate(held)
        while len(driver.machine.streams[held].queue) < driver.machine.depth:
            driver.ok("aclrtRecordEvent", event, held)
        wait = driver.call("aclrtResetEvent", event, held)
        assert isinstance(wait, Wait)
        driver.ok("aclrtSetDevice", 0, thread=2)
        driver.ok("aclrtRecordEvent", gate, 0, thread=2)
        driver.pace(1)
        assert wait.reply == 0


class TestOldQueries:
    """1.10."""

    @pytest.mark.parametrize("family", [(), (SYNC,), (TIME_LINE,), (0x02,)])
    def test_states(self, driver: Driver, family: tuple[Any, ...]) -> None:
        held, event = driver.stream(), driver.event(*family)
        assert driver.ok("aclrtQueryEvent", event, OUT) == COMPLETE
        gate = driver.gate(held)
        driver.ok("aclrtRecordEvent", event, held)
        assert driver.ok("aclrtQueryEvent", event, OUT) == NOT_READY
        driver.ok("aclrtRecordEvent", gate, 0)
        driver.pace(500)
        assert driver.ok("aclrtQueryEvent", event, OUT) == COMPLETE

    def test_states_of_waits(self, driver: Driver) -> None:
        stream, other, event = driver.stream(), driver.stream(), driver.event(SYNC)
        assert driver.ok("aclrtQueryEventWaitStatus", event, OUT) == COMPLETE
        driver.ok("aclrtStreamWaitEvent", stream, event)
        driver.ok("aclrtStreamWaitEvent", other, event)
        assert driver.ok("aclrtQueryEventWaitStatus", event, OUT) == NOT_READY
        driver.ok("aclrtDestroyStreamForce", other)
        assert driver.ok("aclrtQueryEventWaitStatus", event, OUT) == NOT_READY
        driver.ok("aclrtRecordEvent", event, 0)
        driver.pace(500)
        assert driver.ok("aclrtQueryEventWaitStatus", event, OUT) == COMPLETE

    def test_waits_that_were_not_queued_are_none(self, driver: Driver) -> None:
        event = driver.event()
        driver.ok("aclrtRecordEvent", event, 0)
        driver.ok("aclrtStreamWaitEvent", 0, event)
        assert driver.ok("aclrtQueryEventWaitStatus", event, OUT) == COMPLETE

    @pytest.mark.parametrize(("behaviour", "number"), [("observed", 0), ("default", 0), ("documented", 207000)])
    def test_waits_of_an_event_without_a_wait_bit(self, behaviour: str, number: int) -> None:
        """Switch waitstatus-without-sync."""
        driver = Driver(behaviour=behaviour).opened()
        reply = driver.call("aclrtQueryEventWaitStatus", driver.event(TIME_LINE), OUT)
        assert reply == (number or (0, COMPLETE))


class TestTimestamps:
    @pytest.mark.parametrize("product", ["A2", "310B", "310P", "950PR"])
    def test_microseconds(self, product: str) -> None:
        """1.12: ticks / (ticks_per_ms / 1000)."""
        driver = Driver(product=product).opened()
        first, last = driver.event(TIME_LINE), driver.event(TIME_LINE, ex=True)
        for event in (first, last):
            driver.ok("aclrtRecordEvent", event, 0)
            driver.ok("aclrtSynchronizeStream", 0)
            driver.now += 250_000_000
        begun, ended = (driver.ok("aclrtEventGetTimestamp", event, OUT) for event in (first, last))
        assert 250_000 <= ended - begun < 251_000

    def test_without_time_line(self, driver: Driver) -> None:
        event = driver.event(SYNC)
        driver.ok("aclrtRecordEvent", event, 0)
        driver.ok("aclrtSynchronizeStream", 0)
        assert driver.ok("aclrtEventGetTimestamp", event, OUT) == 0


class TestLost:
    """5: what is on a stream that is aborted, or stopped in stop mode, is never done; who waits for it goes on
    waiting."""

    @pytest.mark.parametrize("family", [(), (SYNC,), (SYNC, True), (TIME_LINE, True), (0x40, True)])
    def test_a_record_that_was_aborted(self, driver: Driver, family: tuple[Any, ...]) -> None:
        held, event = driver.stream(), driver.event(*family)
        driver.gate(held)
        driver.ok("aclrtRecordEvent", event, held)
        waiting = driver.call("aclrtSynchronizeEvent", event)
        assert isinstance(waiting, Wait)
        driver.ok("aclrtSetDevice", 0, thread=2)
        driver.ok("aclrtStreamAbort", held, thread=2)
        assert waiting.reply == ABORTED
        assert driver.call("aclrtSynchronizeEvent", event) == ABORTED
        assert driver.ok("aclrtQueryEventStatus", event, OUT) == 0
        if family != (0x40, True):
            assert driver.call("aclrtEventElapsedTime", OUT, event, event) == 107006
        driver.ok("aclrtRecordEvent", event, 0)
        driver.ok("aclrtSynchronizeEvent", event)
        driver.ok("aclrtDestroyEvent", event)

    @pytest.mark.parametrize("family", [(), (SYNC,), (SYNC, True), (0x40, True)])
    def test_streams_that_wait_for_it(self, driver: Driver, family: tuple[Any, ...]) -> None:
        held, other, later, event = driver.stream(), driver.stream(), driver.stream(), driver.event(*family)
        driver.gate(held)
        driver.ok("aclrtRecordEvent", event, held)
        driver.ok("aclrtStreamWaitEvent", other, event)
        driver.ok("aclrtStreamAbort", held)
        driver.ok("aclrtStreamWaitEvent", later, event)
        assert busy(driver, other) and busy(driver, later)
        driver.ok("aclrtRecordEvent", event, 0)
        released = family == (SYNC,)
        assert busy(driver, other) != released, "only a permanent id can be signalled again"
        driver.ok("aclrtDestroyEvent", event)
        driver.ok("aclrtStreamAbort", other)
        driver.ok("aclrtStreamAbort", later)
        assert driver.ok("aclrtGetEventAvailNum", OUT) == driver.machine.profile.events - 1, "that of the gate"

    def test_a_limit_ends_such_a_wait(self, driver: Driver) -> None:
        held, other, event = driver.stream(), driver.stream(), driver.event()
        driver.gate(held)
        driver.ok("aclrtRecordEvent", event, held)
        driver.ok("aclrtStreamWaitEventWithTimeout", other, event, 1)
        driver.ok("aclrtStreamAbort", held)
        driver.pace(1.2 * SECOND)
        driver.pace(1.2 * SECOND)
        assert driver.call("aclrtSynchronizeStream", other) == 107020

    def test_a_record_of_a_destroyed_stream_counts_as_done(self, driver: Driver) -> None:
        """Undefined on a card; here nobody is left to wait for it."""
        held, other, event = driver.stream(), driver.stream(), driver.event()
        driver.gate(held)
        driver.ok("aclrtRecordEvent", event, held)
        driver.ok("aclrtStreamWaitEvent", other, event)
        driver.ok("aclrtDestroyStreamForce", held)
        driver.ok("aclrtSynchronizeStream", other)
        driver.ok("aclrtSynchronizeEvent", event)
