"""Hardware ids of events: who takes one when, when it goes back, what happens without (semantics.md 0.4, 1.1 to 1.4,
1.13, 1.14)."""

from typing import Any

import pytest

from cannery.runtime.machine import Wait
from tests.fakes import OUT, Driver

SYNC, PROGRESS, AT_RECORD, TIME_LINE, DEVICE_USE_ONLY, EXTERNAL, IPC = 0x01, 0x02, 0x04, 0x08, 0x10, 0x20, 0x40
EVENTS = {
    "950PR": 65536, "950DT": 65536, "A3": 65536, "A2": 65536, "310B": 65536, "310P": 1023, "910": 65535,
}  # fmt: skip
FEW = "310P"
NO_ID = 507000


@pytest.fixture
def driver() -> Driver:
    return Driver().opened()


def available(driver: Driver) -> int:
    return int(driver.ok("aclrtGetEventAvailNum", OUT))


def event_id(driver: Driver, event: int) -> int:
    reply = driver.call("aclrtGetEventId", event, OUT)
    return int(reply[1]) if isinstance(reply, tuple) else NO_ID


def leave(driver: Driver, count: int) -> list[int]:
    """Take ids until ``count`` are left: the events that keep them."""
    return [driver.event(SYNC) for _ in range(available(driver) - count)]


class TestWhoTakesOne:
    @pytest.mark.parametrize(("product", "count"), EVENTS.items())
    def test_a_device_has_so_many(self, product: str, count: int) -> None:
        assert available(Driver(product=product).opened()) == count

    @pytest.mark.parametrize(
        ("flag", "ids"),
        [
            (SYNC, 1), (SYNC | TIME_LINE, 1), (EXTERNAL, 1), (DEVICE_USE_ONLY, 1), (AT_RECORD, 1),
            (SYNC | PROGRESS | AT_RECORD | TIME_LINE, 1), (TIME_LINE, 0), (PROGRESS, 0), (PROGRESS | TIME_LINE, 0),
            (PROGRESS | AT_RECORD | TIME_LINE, 0),
        ],
    )  # fmt: skip
    def test_events_with_flags_take_one_when_they_are_made(self, driver: Driver, flag: int, ids: int) -> None:
        """Observed: all with a wait bit do, but for the flags of aclrtCreateEvent."""
        before = available(driver)
        event = driver.event(flag)
        assert available(driver) == before - ids
        assert (event_id(driver, event) != NO_ID) == bool(ids)
        driver.ok("aclrtDestroyEvent", event)
        assert available(driver) == before

    def test_other_events_take_one_when_they_are_recorded(self, driver: Driver) -> None:
        before = available(driver)
        default, ex, timed = driver.event(), driver.event(SYNC, ex=True), driver.event(TIME_LINE, ex=True)
        assert available(driver) == before
        held = driver.stream()
        gate = driver.gate(held)
        before -= 1
        for event in (default, ex, timed):
            driver.ok("aclrtRecordEvent", event, held)
        assert available(driver) == before - 2
        assert event_id(driver, default) != event_id(driver, ex) != NO_ID
        assert event_id(driver, timed) == NO_ID
        driver.ok("aclrtRecordEvent", gate, 0)
        driver.ok("aclrtSynchronizeStream", held)
        assert event_id(driver, default) != NO_ID == event_id(driver, ex), "a default event keeps it"
        assert available(driver) == before - 1

    def test_a_default_event_has_a_new_id_with_each_record_and_one_at_a_time(self, driver: Driver) -> None:
        """1.2: the earlier id stays alive until what uses it is done."""
        before, event, held, waiting = available(driver), driver.event(), driver.stream(), driver.stream()
        gate = driver.gate(held)
        driver.ok("aclrtRecordEvent", event, held)
        first = event_id(driver, event)
        driver.ok("aclrtStreamWaitEvent", waiting, event)
        driver.ok("aclrtRecordEvent", event, 0)
        assert event_id(driver, event) != first
        assert available(driver) == before - 3, "the gate's, that of the wait, the new one"
        driver.ok("aclrtRecordEvent", gate, 0)
        driver.ok("aclrtSynchronizeDevice")
        assert available(driver) == before - 2
        driver.ok("aclrtDestroyEvent", event)
        assert available(driver) == before - 1

    def test_the_id_of_a_destroyed_event_goes_back_when_nothing_needs_it(self, driver: Driver) -> None:
        """1.6: the object is freed when the last queued work that uses it is done."""
        before, held, stream = available(driver), driver.stream(), driver.stream()
        events = [driver.gate(held), driver.event(), driver.event(SYNC, ex=True), driver.event(SYNC)]
        for event in events[1:]:
            driver.ok("aclrtRecordEvent", event, held)
            driver.ok("aclrtStreamWaitEvent", stream, event)
        opener = driver.event(SYNC)
        driver.ok("aclrtStreamWaitEvent", held, opener)
        for event in events[1:]:
            driver.ok("aclrtDestroyEvent", event)
        assert available(driver) == before - 5
        driver.ok("aclrtRecordEvent", events[0], 0)
        driver.pace(1)
        assert available(driver) == before - 2
        driver.ok("aclrtRecordEvent", opener, 0)
        driver.ok("aclrtSynchronizeDevice")
        for event in (events[0], opener):
            driver.ok("aclrtDestroyEvent", event)
        assert available(driver) == before

    def test_ids_are_used_again(self, driver: Driver) -> None:
        kept = driver.event(SYNC)
        used = driver.event(SYNC)
        number = event_id(driver, used)
        driver.ok("aclrtDestroyEvent", used)
        assert event_id(driver, driver.event(SYNC)) == number != event_id(driver, kept)

    def test_ids_belong_to_a_device(self, driver: Driver) -> None:
        driver.event(SYNC)
        here = available(driver)
        driver.ok("aclrtSetDevice", 1)
        assert available(driver) == here + 1
        there = driver.event(SYNC)
        driver.ok("aclrtSetDevice", 0)
        assert available(driver) == here
        driver.ok("aclrtDestroyEvent", there)
        assert available(driver) == here

    def test_a_device_that_is_closed_has_all_of_them_again(self, driver: Driver) -> None:
        held = driver.stream()
        driver.gate(held)
        for event in (driver.event(), driver.event(SYNC, ex=True), driver.event(SYNC)):
            driver.ok("aclrtRecordEvent", event, held)
        driver.ok("aclrtResetDevice", 0)
        assert available(driver.opened()) == EVENTS["A2"]


class TestNoneLeft:
    """Products differ only in how many there are."""

    def test_making_fails_at_once(self) -> None:
        driver = Driver(product=FEW).opened()
        events = leave(driver, 0)
        for flag in (SYNC, EXTERNAL, DEVICE_USE_ONLY, AT_RECORD):
            assert driver.call("aclrtCreateEventWithFlag", OUT, flag) == 207007
        driver.event(TIME_LINE)
        driver.event()
        driver.event(SYNC, ex=True)
        driver.ok("aclrtDestroyEvent", events.pop())
        driver.event(SYNC)

    @pytest.mark.parametrize("ex", [False, True])
    def test_a_record_fails_where_no_queued_work_gives_one_back(self, ex: bool) -> None:
        driver = Driver(product=FEW).opened()
        event = driver.event(SYNC, ex=True) if ex else driver.event()
        events = leave(driver, 0)
        assert driver.call("aclrtRecordEvent", event, 0) == 207007
        assert driver.call("aclrtRecordEventWithFlag", event, 0, 0) == (207000 if FEW == "310P" else 207007)
        driver.ok("aclrtDestroyEvent", events.pop())
        driver.ok("aclrtRecordEvent", event, 0)

    @pytest.mark.parametrize("schedule", ["asap", "late", "seed:1"])
    def test_a_record_lets_work_run_that_gives_one_back(self, schedule: str) -> None:
        driver = Driver(product=FEW, schedule=schedule).opened()
        first, second = driver.event(SYNC, ex=True), driver.event(SYNC, ex=True)
        leave(driver, 1)
        driver.ok("aclrtRecordEvent", first, 0)
        driver.ok("aclrtRecordEvent", second, 0)
        driver.ok("aclrtSynchronizeEvent", second)

    @pytest.mark.parametrize(
        ("behaviour", "waits"),
        [("default", True), ("documented", True), ("observed", False), ("observed,record-waits-for-id=wait", True)],
    )
    def test_a_record_while_the_host_could_let_work_run(self, behaviour: str, waits: bool) -> None:
        driver = Driver(product=FEW, behaviour=behaviour).opened()
        held, first, second = driver.stream(), driver.event(SYNC, ex=True), driver.event(SYNC, ex=True)
        gate = driver.gate(held)
        leave(driver, 1)
        driver.ok("aclrtRecordEvent", first, held)
        reply = driver.call("aclrtRecordEvent", second, 0)
        assert isinstance(reply, Wait) == waits
        if waits:
            driver.ok("aclrtSetDevice", 0, thread=2)
            driver.ok("aclrtRecordEvent", gate, 0, thread=2)
            driver.pace(1)
            assert reply.reply == 0
        else:
            assert reply == 207007

    @pytest.mark.parametrize(("behaviour", "second"), [("default", 207007), ("documented", None)])
    def test_two_records_wait_for_the_only_id_that_comes_back(self, behaviour: str, second: int | None) -> None:
        driver = Driver(product=FEW, behaviour=behaviour).opened()
        held, ex = driver.stream(), driver.event(SYNC, ex=True)
        gate = driver.gate(held)
        leave(driver, 1)
        driver.ok("aclrtRecordEvent", ex, held)
        waits = []
        for thread in (2, 3):
            driver.ok("aclrtSetDevice", 0, thread=thread)
            waits.append(driver.call("aclrtRecordEvent", driver.event(), 0, thread=thread))
        driver.ok("aclrtRecordEvent", gate, 0)
        driver.pace(1)
        assert [wait.reply for wait in waits] == [0, second], "a default event keeps its id"

    def test_records_that_are_done_do_not_hold_up_others(self) -> None:
        driver = Driver(product=FEW).opened()
        event = driver.event(SYNC, ex=True)
        leave(driver, 1)
        for _ in range(20):
            driver.ok("aclrtRecordEvent", event, 0)


class TestShared:
    """1.14: each record takes one of the event's slots, and no id."""

    def test_no_id_and_no_limit_of_their_own(self, driver: Driver) -> None:
        before, event, held = available(driver), driver.event(IPC, ex=True), driver.stream()
        assert driver.call("aclrtGetEventId", event, OUT) == 207000
        driver.ok("aclrtStreamWaitEventWithTimeout", held, event, 1)
        assert driver.ok("aclrtStreamQuery", held, OUT) == 0, "never recorded: nothing is queued"
        driver.ok("aclrtRecordEvent", event, held)
        assert available(driver) == before
        assert driver.ok("aclrtQueryEventStatus", event, OUT) in (0, 1)
        driver.ok("aclrtSynchronizeEvent", event)
        assert driver.ok("aclrtQueryEventStatus", event, OUT) == 1

    def test_limits_of_waits_are_ignored(self, driver: Driver) -> None:
        event, held, waiting = driver.event(IPC, ex=True), driver.stream(), driver.stream()
        gate = driver.gate(held)
        driver.ok("aclrtRecordEvent", event, held)
        driver.ok("aclrtStreamWaitEventWithTimeout", waiting, event, 1)
        driver.pace(10_000)
        assert driver.ok("aclrtStreamQuery", waiting, OUT) == 1
        driver.ok("aclrtRecordEvent", gate, 0)
        driver.ok("aclrtSynchronizeStream", waiting)

    def test_a_record_waits_while_all_slots_are_taken(self, driver: Driver) -> None:
        event = driver.event(IPC, ex=True)
        streams = [driver.stream() for _ in range(5)]
        gates = [driver.gate(stream) for stream in streams]
        for index in range(8192):
            driver.ok("aclrtRecordEvent", event, streams[index // 2000])
        wait = driver.call("aclrtRecordEvent", event, 0)
        assert isinstance(wait, Wait)
        driver.ok("aclrtSetDevice", 0, thread=2)
        driver.ok("aclrtRecordEvent", gates[0], streams[4], thread=2)
        driver.pace(1)
        assert wait.reply is None, "that record is behind the gate of its stream"
        driver.ok("aclrtRecordEvent", gates[4], 0, thread=2)
        driver.pace(1)
        assert wait.reply == 0

    def test_a_wait_takes_the_latest_record(self, driver: Driver) -> None:
        event, held, waiting = driver.event(IPC, ex=True), driver.stream(), driver.stream()
        gate = driver.gate(held)
        driver.ok("aclrtRecordEvent", event, held)
        driver.ok("aclrtStreamWaitEvent", waiting, event)
        driver.ok("aclrtRecordEvent", event, 0)
        driver.pace(1)
        assert driver.ok("aclrtStreamQuery", waiting, OUT) == 1
        driver.ok("aclrtRecordEvent", gate, 0)
        driver.ok("aclrtSynchronizeStream", waiting)


def test_events_without_a_wait_bit_never_need_an_id() -> None:
    driver = Driver(product=FEW).opened()
    events: list[Any] = [driver.event(TIME_LINE), driver.event(PROGRESS, ex=True)]
    leave(driver, 0)
    for event in events:
        driver.ok("aclrtRecordEvent", event, 0)
        driver.ok("aclrtSynchronizeEvent", event)
