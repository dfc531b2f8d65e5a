"""Schedules: every policy keeps the order that the API promises; what differs is when work runs."""

from itertools import pairwise
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from cannery.runtime.machine import FAR, Wait
from cannery.runtime.schedule_serial import Seeded
from cannery.runtime.tasks import EventWait, Task
from tests.fakes import MILLISECOND, OUT, Driver

SIZE = 64
SCHEDULES = ("asap", "late", "seed:1", "seed:2", "seed:12345678901234567890")


class Flag:
    """Pinned memory that the device sets to b"1", and a program that looks at it."""

    def __init__(self, schedule: str) -> None:
        self.driver = driver = Driver(schedule=schedule).opened()
        self.pinned, one = driver.pinned(b"0"), driver.device_memory(1)
        driver.ok("aclrtMemcpy", one, 1, driver.host.give(b"1"), 1, 1)
        self.one = one
        self.stream = driver.stream()

    def raise_it(self) -> None:
        self.driver.ok("aclrtMemcpyAsync", self.pinned, 1, self.one, 1, 2, self.stream)

    @property
    def value(self) -> bytes:
        return self.driver.host.peek(self.pinned, 1)


class TestPacer:
    """What runs while no call is made."""

    def test_asap_raises_a_flag_that_the_program_spins_on(self) -> None:
        flag = Flag("asap")
        flag.raise_it()
        machine = flag.driver.machine
        assert flag.value == b"0" and machine.due < FAR
        flag.driver.now = machine.due - 1
        flag.driver.pace()
        assert flag.value == b"0"
        flag.driver.now = machine.due
        flag.driver.pace()
        assert flag.value == b"1" and machine.due == FAR

    @pytest.mark.parametrize("schedule", ["late", "seed:3"])
    def test_work_that_nobody_forced_runs_after_100_ms(self, schedule: str) -> None:
        flag = Flag(schedule)
        gate = flag.driver.gate(flag.stream)
        flag.raise_it()
        machine = flag.driver.machine
        flag.driver.ok("aclrtRecordEvent", gate, 0)
        submitted = flag.driver.now
        if flag.value == b"0":
            assert submitted + 99 * MILLISECOND < machine.due <= submitted + 100 * MILLISECOND
        flag.driver.now = machine.due
        flag.driver.pace(1)
        assert flag.value == b"1" and machine.due == FAR

    def test_each_task_has_its_own_100_ms(self) -> None:
        driver = Driver(schedule="late").opened()
        stream, first, second = driver.stream(), driver.event(), driver.event()
        driver.ok("aclrtRecordEvent", first, stream)
        driver.pace(50)
        driver.ok("aclrtRecordEvent", second, stream)
        driver.pace(50)
        assert len(driver.machine.streams[stream].queue) == 1
        driver.pace(50)
        assert len(driver.machine.streams[stream].queue) == 0

    def test_any_call_runs_what_is_overdue(self) -> None:
        flag = Flag("late")
        flag.raise_it()
        flag.driver.now += 101 * MILLISECOND
        flag.driver.ok("aclrtGetDevice", OUT)
        assert flag.value == b"1"

    def test_what_was_forced_needs_no_pacer(self) -> None:
        flag = Flag("late")
        flag.raise_it()
        flag.driver.ok("aclrtSynchronizeStream", flag.stream)
        assert flag.driver.machine.due == FAR

    def test_an_overdue_stream_goes_on_when_its_gate_opens(self) -> None:
        flag = Flag("late")
        gate = flag.driver.gate(flag.stream)
        flag.raise_it()
        flag.driver.pace(200)
        assert flag.value == b"0" and flag.driver.machine.due == FAR
        flag.driver.ok("aclrtRecordEvent", gate, 0)
        flag.driver.pace(100)
        assert flag.value == b"1"

    def test_a_wait_ends_when_only_time_is_in_its_way(self) -> None:
        """Once the record is queued, nothing but time is in its way, so nobody sleeps for it."""
        driver = Driver().opened()
        held, opener, memory = driver.stream(), driver.stream(), driver.device_memory(1 << 28)
        gate = driver.gate(held)
        wait = driver.call("aclrtSynchronizeStream", held)
        assert isinstance(wait, Wait)
        driver.ok("aclrtMemcpyAsync", memory, 1 << 27, memory + (1 << 27), 1 << 27, 3, opener)
        assert wait.reply is None
        driver.ok("aclrtRecordEvent", gate, opener)
        assert wait.reply == 0


def test_dropped_work_never_runs() -> None:
    for schedule in SCHEDULES:
        flag = Flag(schedule)
        driver = flag.driver
        driver.ok("aclrtRecordEvent", driver.event(), flag.stream)
        driver.machine.schedule.drop(driver.machine.streams[flag.stream])
        driver.pace(1000)
        flag.raise_it()
        driver.machine.schedule.drop(driver.machine.streams[flag.stream])
        driver.pace(1000)
        assert flag.value == b"0" or schedule.startswith("seed")
        driver.ok("aclrtSynchronizeDevice")


class TestLate:
    def test_a_missing_synchronisation_shows(self) -> None:
        for schedule, unsynchronised in (("late", b"0"), ("asap", b"1")):
            flag = Flag(schedule)
            flag.raise_it()
            flag.driver.pace(50)
            assert flag.value == unsynchronised, schedule
            flag.driver.ok("aclrtSynchronizeStream", flag.stream)
            assert flag.value == b"1"

    def test_a_query_forces_one_step(self) -> None:
        driver = Driver(schedule="late").opened()
        stream = driver.stream()
        for _ in range(3):
            driver.ok("aclrtRecordEvent", driver.event(), stream)
        statuses = [driver.ok("aclrtStreamQuery", stream, OUT) for _ in range(3)]
        assert statuses == [1, 1, 0]

    def test_a_query_goes_through_the_streams_that_are_needed(self) -> None:
        driver = Driver(schedule="late").opened()
        first, second, event, last = driver.stream(), driver.stream(), driver.event(), driver.event()
        driver.ok("aclrtRecordEvent", driver.event(), first)
        driver.ok("aclrtRecordEvent", event, first)
        driver.ok("aclrtStreamWaitEvent", second, event)
        driver.ok("aclrtRecordEvent", last, second)
        statuses = [driver.ok("aclrtQueryEventStatus", last, OUT) for _ in range(4)]
        assert statuses == [0, 0, 0, 1]

    def test_a_wait_forces_what_it_needs_and_nothing_else(self) -> None:
        flag = Flag("late")
        driver, other, event = flag.driver, flag.driver.stream(), flag.driver.event()
        flag.raise_it()
        driver.ok("aclrtRecordEvent", event, other)
        driver.ok("aclrtSynchronizeStream", other)
        assert flag.value == b"0"
        driver.ok("aclrtRecordEvent", event, flag.stream)
        driver.ok("aclrtStreamWaitEvent", other, event)
        driver.ok("aclrtSynchronizeStream", other)
        assert flag.value == b"1"

    def test_a_wait_takes_the_record_that_can_be_reached(self) -> None:
        driver = Driver(schedule="late").opened()
        waiting, held, free, event = driver.stream(), driver.stream(), driver.stream(), driver.event(1)
        driver.gate(held)
        driver.ok("aclrtStreamWaitEvent", waiting, event)
        driver.ok("aclrtRecordEvent", event, held)
        driver.ok("aclrtRecordEvent", event, free)
        driver.ok("aclrtSynchronizeStream", waiting)


Op = tuple[Any, ...]
STREAMS = 3
EVENTS = 4

operations = st.lists(
    st.one_of(
        st.tuples(st.just("record"), st.integers(0, EVENTS - 1), st.integers(0, STREAMS - 1)),
        st.tuples(st.just("wait"), st.integers(0, EVENTS - 1), st.integers(0, STREAMS - 1)),
        st.tuples(st.just("copy"), st.integers(0, 3), st.integers(0, STREAMS - 1)),
        st.tuples(st.just("query"), st.integers(0, STREAMS - 1)),
        st.tuples(st.just("synchronise"), st.integers(0, STREAMS - 1)),
        st.tuples(st.just("pass"), st.integers(0, 300)),
    ),
    max_size=40,
)


def run(schedule: str, program: list[Op]) -> tuple[list[Any], list[list[Task]], list[tuple[EventWait, Any]]]:
    """The replies, the tasks of each stream, and what each wait waited for, after everything that can run has run."""
    driver = Driver(schedule=schedule).opened()
    streams = [driver.stream() for _ in range(STREAMS)]
    events = [driver.event(1, ex=True) for _ in range(EVENTS)]
    cells = driver.device_memory(SIZE * 8)
    replies: list[Any] = []
    tasks: list[list[Task]] = [[] for _ in streams]
    waits: list[tuple[EventWait, Any]] = []
    submit = driver.machine.schedule.submit

    def spy(task: Task) -> None:
        tasks[streams.index(task.stream.handle)].append(task)
        if isinstance(task, EventWait):
            waits.append((task, task.record))
        submit(task)

    class Spy:
        """The schedule, with submissions seen."""

        def __getattr__(self, name: str) -> Any:
            return spy if name in ("submit", "queue") else getattr(schedule_object, name)

    schedule_object = driver.machine.schedule
    driver.machine.schedule = Spy()  # type: ignore[assignment]
    for name, *values in program:
        if name == "record":
            replies.append(driver.call("aclrtRecordEvent", events[values[0]], streams[values[1]]))
        elif name == "wait":
            replies.append(driver.call("aclrtStreamWaitEvent", streams[values[1]], events[values[0]]))
        elif name == "copy":
            cell = cells + values[0] * 2 * SIZE
            replies.append(driver.call("aclrtMemcpyAsync", cell, SIZE, cell + SIZE, SIZE, 3, streams[values[1]]))
        elif name == "query":
            replies.append(driver.call("aclrtStreamQuery", streams[values[0]], OUT))
        elif name == "synchronise":
            replies.append(driver.call("aclrtSynchronizeStream", streams[values[0]]))
            assert all(task.done for task in tasks[values[0]])
        else:
            driver.pace(values[0])
    driver.pace(1000)
    return [*replies, driver.machine.skip], tasks, waits


@pytest.mark.parametrize("schedule", SCHEDULES)
@settings(max_examples=60, deadline=None)
@given(program=operations)
def test_every_schedule_keeps_the_promised_order(schedule: str, program: list[Op]) -> None:
    replies, tasks, waits = run(schedule, program)
    for lane in tasks:
        assert all(task.done for task in lane)
        assert all(one.finish < two.finish for one, two in pairwise(lane))
    for wait, record in waits:
        assert record.finish <= wait.finish
    assert all(reply in (0, (0, 0), (0, 1)) for reply in replies[:-1])


@pytest.mark.parametrize("schedule", SCHEDULES)
@settings(max_examples=20, deadline=None)
@given(program=operations)
def test_the_same_schedule_gives_the_same_run(schedule: str, program: list[Op]) -> None:
    def result() -> Any:
        replies, tasks, _ = run(schedule, program)
        return replies, [[(task.number, task.finish) for task in lane] for lane in tasks]

    assert result() == result()


def test_seeds_differ_and_are_the_same_whatever_the_python() -> None:
    program: list[Op] = [("copy", index % 4, index % 3) for index in range(12)]

    def order(seed: int) -> list[int]:
        _, tasks, _ = run(f"seed:{seed}", program)
        done = sorted((task for lane in tasks for task in lane), key=lambda task: task.finish)
        return [task.number for task in done]

    orders = {tuple(order(seed)) for seed in range(20)}
    assert len(orders) > 10
    assert order(7) == [1, 2, 5, 3, 8, 6, 4, 7, 9, 10, 11, 12]  # a trace with a seed means these choices


def test_the_random_numbers_are_splitmix64() -> None:
    schedule = Driver(schedule="seed:1234567").machine.schedule
    assert isinstance(schedule, Seeded)
    assert [schedule._below(1 << 64) for _ in range(2)] == [6457827717110365317, 3203168211198807973]


def test_asap_completes_in_the_order_of_finish_and_number() -> None:
    driver = Driver().opened()
    slow, fast = driver.stream(), driver.stream()
    memory, flags = driver.device_memory(1 << 28), [driver.pinned(b"-") for _ in range(3)]
    seen: list[int] = []
    write = driver.host.write

    def spy(address: int, data: memoryview) -> bool:
        seen.append(flags.index(address))
        return write(address, data)

    driver.host.write = spy  # type: ignore[method-assign]
    driver.ok("aclrtMemcpyAsync", memory, 1 << 27, memory + (1 << 27), 1 << 27, 3, slow)
    driver.ok("aclrtMemcpyAsync", flags[0], 1, memory, 1, 2, slow)
    driver.ok("aclrtMemcpyAsync", flags[1], 1, memory, 1, 2, fast)
    driver.ok("aclrtMemcpyAsync", flags[2], 1, memory, 1, 2, fast)
    driver.ok("aclrtSynchronizeDevice")
    assert seen == [1, 2, 0]
