"""Events: families, states, waits, times (semantics.md 1)."""

from collections.abc import Callable
from typing import Any

import pytest

from cannery.runtime.machine import Wait
from tests.fakes import OUT, Driver

NOT_READY, COMPLETE = 0, 1

Family = tuple[Any, ...]  # the arguments of Driver.event: none, flags, or flags and that it is an ex event
DEFAULT: Family = ()
FLAG_SYNC = (0x01,)
FLAG_TIMED_SYNC = (0x09,)
FLAG_TIMED = (0x08,)
EXTERNAL = (0x20,)
EX_SYNC = (0x01, True)
EX_TIMED_SYNC = (0x09, True)
EX_TIMED = (0x08, True)
FAMILIES = (DEFAULT, FLAG_SYNC, FLAG_TIMED_SYNC, FLAG_TIMED, EXTERNAL, EX_SYNC, EX_TIMED_SYNC, EX_TIMED)


@pytest.fixture
def driver() -> Driver:
    return Driver().opened()


def status(driver: Driver, event: int) -> Any:
    reply = driver.call("aclrtQueryEventStatus", event, OUT)
    return reply[1] if isinstance(reply, tuple) else reply


def stream_status(driver: Driver, stream: int) -> int:
    driver.pace(1)
    return int(driver.ok("aclrtStreamQuery", stream, OUT))


class TestMaking:
    def test_flags_that_are_accepted(self, driver: Driver) -> None:
        for function, lone in (("aclrtCreateEventWithFlag", (0x10, 0x20)), ("aclrtCreateEventExWithFlag", ())):
            for flag in range(0x80):
                if function == "aclrtCreateEventExWithFlag" and flag == 0x40:
                    continue
                reply = driver.call(function, OUT, flag)
                accepted = 0 < flag < 0x10 or flag in lone
                number = reply[0] if isinstance(reply, tuple) else reply
                assert number == (0 if accepted else 107000), (function, flag)

    @pytest.mark.parametrize(
        ("product", "number"), [("A2", 0), ("950DT", 0), ("310P", 0), ("310B", 207000), ("910", 207000)]
    )
    def test_products_with_events_for_the_device_only(self, product: str, number: int) -> None:
        reply = Driver(product=product).opened().call("aclrtCreateEventWithFlag", OUT, 0x10)
        assert (reply[0] if isinstance(reply, tuple) else reply) == number

    @pytest.mark.parametrize(("product", "number"), [("A2", 0), ("310P", 207000), ("310B", 207000), ("910", 207000)])
    def test_products_with_shared_events(self, product: str, number: int) -> None:
        reply = Driver(product=product).opened().call("aclrtCreateEventExWithFlag", OUT, 0x40)
        assert (reply[0] if isinstance(reply, tuple) else reply) == number

    @pytest.mark.parametrize("flag", [0x01, 0x20, 0x10])
    def test_ids_are_taken_at_creation_by_events_that_keep_them(self, flag: int) -> None:
        driver = Driver(product="310P").opened()
        events = [driver.event(flag) for _ in range(1023)]
        assert driver.call("aclrtCreateEventWithFlag", OUT, flag) == 207007
        driver.event()
        driver.event(2)
        driver.event(1, ex=True)
        driver.ok("aclrtDestroyEvent", events.pop())
        driver.event(flag)

    def test_destruction_does_not_wait_and_queued_work_goes_on(self, driver: Driver) -> None:
        held, other = driver.stream(), driver.stream()
        gate = driver.gate(held)
        event = driver.event()
        driver.ok("aclrtRecordEvent", event, held)
        driver.ok("aclrtStreamWaitEvent", other, event)
        driver.ok("aclrtDestroyEvent", event)
        assert driver.call("aclrtDestroyEvent", event) == 107017
        assert stream_status(driver, other) == 1
        driver.ok("aclrtRecordEvent", gate, 0)
        driver.ok("aclrtDestroyEvent", gate)
        assert stream_status(driver, other) == 0


class TestNeverRecorded:
    """The table of semantics.md 1.2."""

    @pytest.mark.parametrize("family", FAMILIES)
    def test_query(self, driver: Driver, family: Family) -> None:
        expected = 207000 if family == EXTERNAL else COMPLETE if family[1:] else NOT_READY
        assert status(driver, driver.event(*family)) == expected

    @pytest.mark.parametrize("family", FAMILIES)
    def test_synchronise(self, driver: Driver, family: Family) -> None:
        assert driver.call("aclrtSynchronizeEvent", driver.event(*family)) == (207000 if family == EXTERNAL else 0)

    @pytest.mark.parametrize(
        ("family", "number", "held"),
        [
            (DEFAULT, 107000, 0), (FLAG_SYNC, 0, 1), (FLAG_TIMED, 207000, 0), (EXTERNAL, 0, 1), (EX_SYNC, 0, 0),
            (EX_TIMED, 207000, 0), ((0x04,), 107000, 0), ((0x04, True), 0, 0),
        ],
    )  # fmt: skip
    def test_wait(self, driver: Driver, family: Family, number: int, held: int) -> None:
        stream, event = driver.stream(), driver.event(*family)
        assert driver.call("aclrtStreamWaitEvent", stream, event) == number
        assert stream_status(driver, stream) == held
        if held:
            driver.ok("aclrtRecordEvent", event, 0)
            assert stream_status(driver, stream) == 0

    @pytest.mark.parametrize("family", FAMILIES)
    def test_elapsed_time(self, driver: Driver, family: Family) -> None:
        event = driver.event(*family)
        assert driver.call("aclrtEventElapsedTime", OUT, event, event) == (207000 if family == EXTERNAL else 507000)


class TestRecorded:
    @pytest.mark.parametrize("family", [family for family in FAMILIES if family != EXTERNAL])
    def test_a_record_is_done_when_everything_before_it_is(self, driver: Driver, family: Family) -> None:
        held, event = driver.stream(), driver.event(*family)
        gate = driver.gate(held)
        driver.ok("aclrtRecordEvent", event, held)
        driver.pace(10)
        assert status(driver, event) == NOT_READY
        assert driver.call("aclrtEventElapsedTime", OUT, event, event) == 107006
        wait = driver.call("aclrtSynchronizeEvent", event)
        assert isinstance(wait, Wait)
        driver.ok("aclrtRecordEvent", gate, 0)
        assert wait.reply == 0
        assert status(driver, event) == COMPLETE
        driver.ok("aclrtSynchronizeEvent", event)
        assert driver.ok("aclrtEventElapsedTime", OUT, event, event) == 0.0

    def test_later_work_on_the_stream_does_not_matter(self, driver: Driver) -> None:
        stream, event = driver.stream(), driver.event()
        driver.ok("aclrtRecordEvent", event, stream)
        driver.gate(stream)
        driver.ok("aclrtSynchronizeEvent", event)

    def test_queries_look_at_the_latest_record(self, driver: Driver) -> None:
        held, event = driver.stream(), driver.event()
        driver.ok("aclrtRecordEvent", event, 0)
        driver.ok("aclrtSynchronizeEvent", event)
        driver.gate(held)
        driver.ok("aclrtRecordEvent", event, held)
        assert status(driver, event) == NOT_READY
        driver.ok("aclrtRecordEvent", event, 0)
        driver.pace(1)
        assert status(driver, event) == COMPLETE

    @pytest.mark.parametrize("family", [DEFAULT, EX_SYNC])
    def test_a_wait_takes_the_latest_record_and_later_ones_do_not_disturb_it(
        self, driver: Driver, family: Family
    ) -> None:
        first, second, waiting, event = driver.stream(), driver.stream(), driver.stream(), driver.event(*family)
        gate_one, gate_two = driver.gate(first), driver.gate(second)
        driver.ok("aclrtRecordEvent", event, first)
        driver.ok("aclrtStreamWaitEvent", waiting, event)
        driver.ok("aclrtRecordEvent", event, second)
        driver.ok("aclrtRecordEvent", gate_two, 0)
        assert stream_status(driver, waiting) == 1
        driver.ok("aclrtRecordEvent", gate_one, 0)
        assert stream_status(driver, waiting) == 0

    @pytest.mark.parametrize("family", [DEFAULT, EX_SYNC])
    def test_a_wait_on_the_same_stream_or_after_the_record_is_not_queued(self, driver: Driver, family: Family) -> None:
        held, event = driver.stream(), driver.event(*family)
        driver.gate(held)
        driver.ok("aclrtRecordEvent", event, held)
        queued = len(driver.machine.streams[held].queue)
        driver.ok("aclrtStreamWaitEvent", held, event)
        assert len(driver.machine.streams[held].queue) == queued
        other = driver.stream()
        driver.ok("aclrtRecordEvent", event, other)
        driver.ok("aclrtSynchronizeStream", other)
        driver.ok("aclrtStreamWaitEvent", held, event)
        assert len(driver.machine.streams[held].queue) == queued

    def test_the_bit_of_a_permanent_id_stays_set(self, driver: Driver) -> None:
        stream, held, event = driver.stream(), driver.stream(), driver.event(*FLAG_SYNC)
        driver.ok("aclrtRecordEvent", event, 0)
        driver.pace(1)
        driver.gate(held)
        driver.ok("aclrtRecordEvent", event, held)
        driver.ok("aclrtStreamWaitEvent", stream, event)
        assert stream_status(driver, stream) == 0

    def test_one_record_lets_every_waiting_stream_go(self, driver: Driver) -> None:
        event = driver.event(*FLAG_SYNC)
        streams = [driver.stream() for _ in range(3)]
        for stream in streams:
            driver.ok("aclrtStreamWaitEvent", stream, event)
        assert [stream_status(driver, stream) for stream in streams] == [1, 1, 1]
        driver.ok("aclrtRecordEvent", event, 0)
        assert [stream_status(driver, stream) for stream in streams] == [0, 0, 0]

    @pytest.mark.parametrize(("product", "held"), [("A2", 1), ("A3", 1), ("310P", 0)])
    def test_waits_between_devices(self, product: str, held: int) -> None:
        driver = Driver(product=product).opened()
        here, event = driver.stream(), driver.event(*EX_SYNC)
        gate = driver.gate(here)
        driver.ok("aclrtRecordEvent", event, here)
        driver.ok("aclrtSetDevice", 1)
        there = driver.stream()
        driver.ok("aclrtStreamWaitEvent", there, event)
        assert stream_status(driver, there) == held
        driver.ok("aclrtSetDevice", 0)
        driver.ok("aclrtRecordEvent", gate, 0)
        driver.ok("aclrtSynchronizeStream", there)

    def test_waits_for_each_other_in_a_ring_hold_the_host_for_ever(self, driver: Driver) -> None:
        one, two = driver.stream(), driver.stream()
        first, second = driver.event(*FLAG_SYNC), driver.event(*FLAG_SYNC)
        driver.ok("aclrtStreamWaitEvent", one, second)
        driver.ok("aclrtRecordEvent", first, one)
        driver.ok("aclrtStreamWaitEvent", two, first)
        driver.ok("aclrtRecordEvent", second, two)
        assert isinstance(driver.call("aclrtSynchronizeDevice"), Wait)

    def test_a_steady_loop_of_records_keeps_nothing(self, driver: Driver) -> None:
        stream, event = driver.stream(), driver.event()
        queue = driver.machine.streams[stream].queue
        longest = 0
        for _ in range(5000):
            driver.now += 2_000
            driver.ok("aclrtRecordEvent", event, stream)
            longest = max(longest, len(queue))
        assert longest < 10


class TestTimes:
    def elapsed(self, driver: Driver, start: Family, end: Family, between: Callable[[], None]) -> float:
        first, last = driver.event(*start), driver.event(*end)
        driver.ok("aclrtRecordEvent", first, 0)
        driver.ok("aclrtSynchronizeStream", 0)
        between()
        driver.ok("aclrtRecordEvent", last, 0)
        driver.ok("aclrtSynchronizeStream", 0)
        return float(driver.ok("aclrtEventElapsedTime", OUT, first, last))

    def test_elapsed_time_follows_device_time(self, driver: Driver) -> None:
        def between() -> None:
            driver.now += 5_000_000

        assert self.elapsed(driver, DEFAULT, EX_TIMED, between) == pytest.approx(5.0, abs=0.1)

    def test_copies_take_the_time_that_the_cost_model_gives(self, driver: Driver) -> None:
        memory = driver.device_memory(1 << 28)
        size = 80_000_000

        def between() -> None:
            driver.ok("aclrtMemcpyAsync", memory, size, memory + (1 << 27), size, 3, 0)

        assert self.elapsed(driver, DEFAULT, DEFAULT, between) == pytest.approx(0.1, abs=0.02)

    def test_time_that_was_jumped_over_does_not_come_back(self, driver: Driver) -> None:
        memory, size = driver.device_memory(1 << 28), 80_000_000

        def between() -> None:
            driver.ok("aclrtMemcpyAsync", memory, size, memory + (1 << 27), size, 3, 0)
            driver.ok("aclrtSynchronizeStream", 0)

        assert self.elapsed(driver, DEFAULT, DEFAULT, between) == pytest.approx(0.1, abs=0.02)

    @pytest.mark.parametrize(("product", "sign"), [("A2", -1), ("310P", -1), ("950PR", 1)])
    def test_reversed_events(self, product: str, sign: int) -> None:
        driver = Driver(product=product).opened()
        first, last = driver.event(), driver.event()
        driver.ok("aclrtRecordEvent", first, 0)
        driver.ok("aclrtRecordEvent", last, 0)
        driver.ok("aclrtSynchronizeStream", 0)
        milliseconds = driver.ok("aclrtEventElapsedTime", OUT, last, first)
        assert milliseconds * sign > 0
        assert milliseconds < 0 or milliseconds > 1e9

    @pytest.mark.parametrize("untimed", [FLAG_SYNC, EX_SYNC])
    def test_an_event_without_time_line_counts_as_stamp_0(self, driver: Driver, untimed: Family) -> None:
        assert self.elapsed(driver, DEFAULT, untimed, lambda: None) < -900  # the host began at one second
        assert self.elapsed(driver, untimed, DEFAULT, lambda: None) > 900
        assert self.elapsed(driver, untimed, untimed, lambda: None) == 0

    def test_950_does_not_check_that_events_are_done(self) -> None:
        driver = Driver(product="950PR").opened()
        held, event = driver.stream(), driver.event()
        driver.gate(held)
        driver.ok("aclrtRecordEvent", event, held)
        assert driver.ok("aclrtEventElapsedTime", OUT, event, event) == 0.0
