"""Conditional tasks of captures: what the calls refuse, as tables as in ``test_machine_arguments.py``; which child
runs, and when."""

from typing import Any

import pytest

from cannery.replayer.printer import Printer
from cannery.runtime.machine import Wait
from tests.fakes import OUT
from tests.graph_tools import EXTERNAL, RELAXED, SYNC, GraphDriver
from tests.live import SCHEMA, Live
from tests.test_machine_arguments import A, R, Row, check_refused
from tests.test_machine_capture_arguments import GraphWorld

CODE = "reference implementation"
IF, WHILE, SWITCH = range(3)
ASSIGN = 1
SCHEDULES = ["asap", "late", "seed:1", "seed:5"]

ROWS: list[Row] = []


def rows(function: str, *cases: tuple[object, ...], thread: int = 1) -> None:
    for *arguments, number, layer in cases:
        ROWS.append((CODE, function, tuple(arguments), int(str(number)), bool(layer), thread))


rows(
    "aclmdlRICondHandleCreate",
    ("null", 0, 2, "null", 100000, A), ("gone model", 0, 2, "null", 100000, A), ("null", 0, 2, "out", 100000, A),
    ("gone model", 0, 2, "out", 107017, R), ("stream", 0, 0, "out", 107017, R), ("hand model", 0, 2, "out", 107000, R),
    ("model in capture", 0, -1, "out", 107000, R), ("hand model", 0, 1, "out", 107000, R),
    ("model", 0, 1, "out", 107000, R), ("foreign model in capture", 0, 1, "out", 107004, R),
)  # fmt: skip
rows("aclmdlRICondHandleCreate", ("model in capture", 0, 0, "out", 107002, R), thread=2)
rows("aclmdlRICondHandleCreate", ("model", 0, 0, "out", 107000, R), thread=2)
rows(
    "aclmdlRICondHandleGetCondPtr",
    ("null", "null", 100000, A), ("gone condition", "null", 100000, A), ("gone condition", "out", 107017, R),
    ("model in capture", "out", 107017, R),
)  # fmt: skip
rows("aclmdlRICondHandleGetCondPtr", ("condition", "out", 107002, R), ("gone condition", "out", 107017, R), thread=2)
FIRST, GONE, USED, OTHER = "condition", "gone condition", "used condition", "other condition"
rows(
    "aclmdlRIAddCondTask",
    ((GONE, 9, 0, False), "null", 9, 100000, A), ((GONE, 9, 0, False), "gone stream", 9, 107017, R),
    ((FIRST, 9, 0, False), "gone stream", 9, 107017, R), (("stream", IF, 1, True), "captured", 0, 107017, R),
    ((FIRST, 3, 1, True), "captured", 0, 107000, R), ((FIRST, -1, 1, True), "captured", 0, 107000, R),
    ((FIRST, IF, 1, True), "captured", 1, 107000, R), (("null", IF, 1, True), "captured", 0, 107000, R),
    ((FIRST, IF, 1, False), "stream", 0, 107000, R), ((USED, IF, 1, True), "foreign", 0, 107000, R),
    ((FIRST, IF, 9, True), "foreign", 0, 107003, R), ((FIRST, IF, 9, True), "stream", 0, 107029, R),
    ((OTHER, IF, 9, True), "captured", 0, 107000, R), ((FIRST, IF, 0, True), "captured", 0, 107000, R),
    ((FIRST, IF, 3, True), "captured", 0, 107000, R), ((FIRST, WHILE, 2, True), "captured", 0, 107000, R),
    ((FIRST, SWITCH, 0, True), "captured", 0, 107000, R), ((FIRST, SWITCH, 65536, True), "captured", 0, 107000, R),
)  # fmt: skip
rows(
    "aclmdlRIAddCondTask",
    ((FIRST, IF, 1, True), "captured", 0, 107002, R), ((USED, IF, 1, True), "captured", 0, 107000, R),
    thread=2,
)  # fmt: skip
rows(
    "aclmdlRICaptureToModelRIBegin",
    ("stream", "captured child", 3, 107000, R), ("foreign", "child", RELAXED, 107003, R),
    ("own default", "child", RELAXED, 207000, R), ("bound", "child", RELAXED, 107005, R),
    ("stream", "captured child", RELAXED, 107026, R), ("captured", "child", RELAXED, 107027, R),
)  # fmt: skip
rows("aclmdlRICaptureToModelRIBegin", ("stream", "child", RELAXED, 107002, R), thread=2)
rows("aclmdlRIExecuteAsync", ("child", "stream", 207000, R), ("captured child", "gone stream", 207000, R))
rows("aclmdlRIDestroy", ("captured child", 207000, R))


class ConditionWorld(GraphWorld):
    """Names for conditions: without and with a task, of another capture, of an instance that is gone; for children, one
    of them captured."""

    def __init__(self, behaviour: str) -> None:
        super().__init__(behaviour)
        driver, names = self.driver, self.names
        ok = driver.ok
        names["own default"] = ok("aclrtCtxGetCurrentDefaultStream", OUT)
        create = "aclmdlRICondHandleCreate"
        names["condition"], names["used condition"] = (ok(create, names["model in capture"], 0, 0, OUT) for _ in "12")
        parameters = (names["used condition"], IF, 2, True)
        names["child"], names["captured child"] = ok("aclmdlRIAddCondTask", parameters, names["captured"], 0)
        child = driver.stream()
        ok("aclmdlRICaptureToModelRIBegin", child, names["captured child"], RELAXED)
        ok("aclmdlRICaptureEnd", child, 0)
        grouping = ok("aclmdlRICaptureGetInfo", names["grouping"], 0, OUT)[1]
        names["other condition"] = ok(create, grouping, 0, 0, OUT)
        names["foreign model in capture"] = ok("aclmdlRICaptureGetInfo", names["foreign captured"], 0, OUT)[1]
        assert isinstance(driver, GraphDriver)
        driver.begin(child)
        names["gone condition"] = ok(create, driver.model_of(child), 0, 0, OUT)
        ok("aclmdlRIDestroy", driver.end(child))

    def __call__(self, argument: Any) -> Any:
        if isinstance(argument, tuple):
            return tuple(self(part) for part in argument)
        return super().__call__(argument)


@pytest.mark.parametrize("behaviour", ["default", "observed"])
def test_refused_calls(behaviour: str) -> None:
    check_refused(ConditionWorld(behaviour), ROWS)


class Branching(GraphDriver):
    """A capture on ``s`` with conditions; children note that they ran in a byte each, by number."""

    def __init__(self, schedule: str = "asap") -> None:
        super().__init__(schedule=schedule)
        self.opened()
        self.s, self.child_stream = self.stream(), self.stream()
        self.notes, self.source = self.device_memory(64), self.device_memory(64)
        self.put(self.source, bytes(range(64)))
        self.begin(self.s)
        self.parent = self.model_of(self.s)

    def put(self, address: int, content: bytes) -> None:
        self.ok("aclrtMemcpy", address, len(content), self.host.give(content), len(content), 1)

    def get(self, address: int, size: int) -> bytes:
        host = self.host.give(bytes(size))
        self.ok("aclrtMemcpy", host, size, address, size, 2)
        return self.host.peek(host, size)

    def condition(self, default: int = 0, flag: int = 0, parent: int | None = None) -> tuple[int, int]:
        """A condition, and its address."""
        handle = self.ok("aclmdlRICondHandleCreate", parent or self.parent, default, flag, OUT)
        return handle, self.ok("aclmdlRICondHandleGetCondPtr", handle, OUT)

    def add(self, condition: int, kind: int, count: int, stream: int | None = None) -> tuple[int, ...]:
        children = self.ok("aclmdlRIAddCondTask", (condition, kind, count, True), stream or self.s, 0)
        return tuple(children)

    def note(self, number: int, stream: int) -> None:
        self.copy(self.notes + number, self.source + number, 1, stream)

    def children(self, condition: int, kind: int, count: int) -> tuple[int, ...]:
        """A task whose children note 1, 2 and so on, and so does the stream behind it with 50."""
        made = self.add(condition, kind, count)
        for number, child in enumerate(made, 1):
            self.ok("aclmdlRICaptureToModelRIBegin", self.child_stream, child, RELAXED)
            self.note(number, self.child_stream)
            assert self.ok("aclmdlRICaptureEnd", self.child_stream, OUT) == child
        self.note(50, self.s)
        return made

    def ran(self, model: int) -> list[int]:
        """Execute; what was noted."""
        self.put(self.notes, bytes(64))
        self.run(model)
        return [number for number in self.get(self.notes, 64) if number]


@pytest.mark.parametrize("schedule", SCHEDULES)
@pytest.mark.parametrize(
    ("kind", "count", "value", "noted"),
    [
        (IF, 1, 0, [50]), (IF, 1, 1, [1, 50]), (IF, 1, 1 << 63, [1, 50]), (IF, 2, 0, [2, 50]), (IF, 2, 7, [1, 50]),
        (SWITCH, 3, 0, [1, 50]), (SWITCH, 3, 2, [3, 50]), (SWITCH, 3, 3, [50]), (SWITCH, 3, (1 << 64) - 1, [50]),
        (WHILE, 1, 0, [50]),
    ],
)  # fmt: skip
def test_the_number_decides_which_child_runs(
    kind: int, count: int, value: int, noted: list[int], schedule: str
) -> None:
    driver = Branching(schedule)
    condition, address = driver.condition()
    driver.children(condition, kind, count)
    model = driver.end(driver.s)
    driver.put(address, value.to_bytes(8, "little"))
    assert driver.ran(model) == driver.ran(model) == noted


@pytest.mark.parametrize("schedule", SCHEDULES)
def test_a_loop_goes_round_until_its_body_makes_the_number_0(schedule: str) -> None:
    """The body moves a row of numbers on by one: 3 rounds."""
    driver = Branching(schedule)
    condition, address = driver.condition()
    (body,) = driver.add(condition, WHILE, 1)
    driver.ok("aclmdlRICaptureToModelRIBegin", driver.child_stream, body, RELAXED)
    row = driver.device_memory(64)
    for _ in range(1):
        driver.copy(driver.notes, driver.notes + 1, 32, driver.child_stream)
        driver.copy(row, row + 8, 48, driver.child_stream)
        driver.copy(address, row, 8, driver.child_stream)
    driver.ok("aclmdlRICaptureEnd", driver.child_stream, 0)
    model = driver.end(driver.s)
    driver.put(row, b"".join(number.to_bytes(8, "little") for number in (9, 5, 6, 0, 0, 0, 0, 0)))
    driver.put(driver.notes, bytes(range(64)))
    driver.put(address, b"\1".ljust(8, b"\0"))
    driver.run(model)
    assert driver.get(driver.notes, 4) == bytes([3, 4, 5, 6])


def test_a_loop_without_end_fails_the_run() -> None:
    driver = Branching()
    condition, _ = driver.condition(default=1, flag=ASSIGN)
    driver.children(condition, WHILE, 1)
    model = driver.end(driver.s)
    driver.ok("aclmdlRIExecuteAsync", model, 0)
    reply = driver.call("aclrtSynchronizeStream", 0)
    assert (reply.reply if isinstance(reply, Wait) else reply) == 507011


@pytest.mark.parametrize("schedule", SCHEDULES)
def test_a_default_is_set_when_a_run_begins(schedule: str) -> None:
    driver = Branching(schedule)
    condition, address = driver.condition(default=1, flag=ASSIGN)
    driver.children(condition, SWITCH, 3)
    model = driver.end(driver.s)
    driver.put(address, bytes(8))
    assert driver.ran(model) == [2, 50]
    assert driver.get(address, 8) == b"\1".ljust(8, b"\0")


def test_without_the_flag_the_memory_begins_as_0() -> None:
    driver = Branching()
    _, address = driver.condition(default=7)
    assert driver.get(address, 8) == bytes(8)


@pytest.mark.parametrize("schedule", SCHEDULES)
def test_children_can_have_conditional_tasks_and_streams_of_their_own(schedule: str) -> None:
    driver = Branching(schedule)
    outer, _ = driver.condition(default=1, flag=ASSIGN)
    (child,) = driver.add(outer, IF, 1)
    inside, other = driver.child_stream, driver.stream()
    driver.ok("aclmdlRICaptureToModelRIBegin", inside, child, RELAXED)
    inner, _ = driver.condition(default=1, flag=ASSIGN, parent=child)
    first, second = driver.add(inner, SWITCH, 2, inside)
    for number, grandchild in ((1, first), (2, second)):
        stream = driver.stream()
        driver.ok("aclmdlRICaptureToModelRIBegin", stream, grandchild, RELAXED)
        driver.note(number, stream)
        driver.ok("aclmdlRICaptureEnd", stream, 0)
    driver.crossing(inside, other)
    driver.note(3, other)
    driver.crossing(other, inside)
    driver.note(4, inside)
    driver.ok("aclmdlRICaptureEnd", inside, 0)
    model = driver.end(driver.s)
    assert driver.ran(model) == driver.ran(model) == [2, 3, 4]


def test_what_is_behind_waits_for_the_child() -> None:
    """The child is held by an event; the stream behind the task goes on when that is recorded."""
    driver = Branching()
    condition, _ = driver.condition(default=1, flag=ASSIGN)
    (child,) = driver.add(condition, IF, 1)
    driver.note(50, driver.s)
    driver.ok("aclmdlRICaptureToModelRIBegin", driver.child_stream, child, RELAXED)
    driver.ok("aclrtLaunchHostFunc", driver.child_stream, 0x5000, 0)
    driver.ok("aclmdlRICaptureEnd", driver.child_stream, 0)
    model = driver.end(driver.s)
    driver.put(driver.notes, bytes(64))
    driver.ok("aclmdlRIExecuteAsync", model, driver.s)
    driver.pace(1000)
    (errand,) = driver.errands
    assert driver.get(driver.notes + 50, 1) == b"\0"
    driver.errand_done(errand.worker)
    driver.pace(1000)
    assert driver.get(driver.notes + 50, 1) == bytes([50])
    assert driver.ok("aclrtStreamQuery", driver.s, OUT) == 0


@pytest.mark.parametrize("schedule", SCHEDULES)
def test_a_failure_in_a_child_is_one_of_the_run(schedule: str) -> None:
    driver = Branching(schedule)
    condition, _ = driver.condition(default=1, flag=ASSIGN)
    (child,) = driver.add(condition, IF, 1)
    driver.ok("aclmdlRICaptureToModelRIBegin", driver.child_stream, child, RELAXED)
    lost = driver.device_memory(64)
    driver.copy(driver.notes, lost, 1, driver.child_stream)
    driver.ok("aclmdlRICaptureEnd", driver.child_stream, 0)
    model = driver.end(driver.s)
    driver.ok("aclrtFree", lost)
    driver.ok("aclmdlRIExecuteAsync", model, 0)
    assert driver.call("aclrtSynchronizeStream", 0) == 507011


class TestCapturing:
    def test_a_capture_with_a_child_that_was_not_captured_is_lost(self) -> None:
        driver = Branching()
        condition, _ = driver.condition()
        (child,) = driver.add(condition, IF, 1)
        driver.fails(driver.s, 107045)
        assert driver.call("aclmdlRIGetId", child, OUT) == 107017
        assert driver.call("aclmdlRICondHandleGetCondPtr", condition, OUT) == 107017

    def test_a_capture_with_a_child_that_is_open_is_lost_with_it(self) -> None:
        driver = Branching()
        condition, _ = driver.condition()
        (child,) = driver.add(condition, IF, 1)
        driver.ok("aclmdlRICaptureToModelRIBegin", driver.child_stream, child, RELAXED)
        driver.fails(driver.s, 107045)
        assert driver.status(driver.child_stream) == 0

    def test_a_child_whose_capture_failed_cannot_be_captured_again(self) -> None:
        driver = Branching()
        condition, _ = driver.condition()
        (child,) = driver.add(condition, IF, 1)
        other = driver.stream()
        driver.ok("aclmdlRICaptureToModelRIBegin", driver.child_stream, child, RELAXED)
        driver.crossing(driver.child_stream, other)
        assert driver.call("aclmdlRICaptureEnd", driver.child_stream, OUT) == (107025, None)
        assert driver.call("aclmdlRICaptureToModelRIBegin", driver.child_stream, child, RELAXED) == 107026
        driver.fails(driver.s, 107045)

    def test_events_do_not_cross_the_border_of_a_child(self) -> None:
        """semantics.md 1.7, 1.9: before the check for a context."""
        driver = Branching()
        condition, _ = driver.condition()
        (child,) = driver.add(condition, IF, 1)
        driver.ok("aclmdlRICaptureToModelRIBegin", driver.child_stream, child, RELAXED)
        first, second = (driver.event(SYNC, ex=True) for _ in range(2))
        assert driver.call("aclrtRecordEventWithFlag", first, driver.child_stream, 1, thread=2) == 207000
        assert driver.call("aclrtStreamWaitEventWithFlag", driver.child_stream, second, 0, 1, thread=2) == 207000
        assert EXTERNAL == 0x20

    def test_everything_goes_with_the_instance(self) -> None:
        driver = Branching()
        before = len(driver.machine.streams)
        free = driver.ok("aclrtGetMemInfo", 1, OUT, OUT)[0]
        condition, _ = driver.condition()
        children = driver.children(condition, SWITCH, 2)
        driver.ok("aclmdlRIDestroy", driver.end(driver.s))
        assert not driver.machine.graphs and not driver.machine.conditions
        assert len(driver.machine.streams) == before - 1  # the instance's own, which the capture made
        assert driver.ok("aclrtGetMemInfo", 1, OUT, OUT)[0] == free
        assert {driver.call("aclmdlRIGetId", child, OUT) for child in children} == {107017}

    def test_a_context_that_ends_takes_them_along(self) -> None:
        driver = Branching()
        condition, _ = driver.condition()
        driver.children(condition, IF, 1)
        driver.end(driver.s)
        driver.ok("aclrtResetDevice", 0)
        assert not driver.machine.graphs and not driver.machine.conditions


def test_a_record_replays_the_same_and_shows_the_children() -> None:
    live = Live()
    live.ok("aclrtSetDevice", 0)
    stream = live.create("aclrtCreateStream")
    live.ok("aclmdlRICaptureBegin", stream, RELAXED)
    model = live.call("aclmdlRICaptureGetInfo", stream, 0, OUT)[2]
    condition = live.create_last("aclmdlRICondHandleCreate", model, 1, ASSIGN)
    live.ok("aclmdlRICondHandleGetCondPtr", condition, OUT)
    number, children = live.call("aclmdlRIAddCondTask", (condition, IF, 2, True), stream, 0)
    assert number == 0 and len(children) == 2
    printer = Printer(SCHEMA)
    shown = [printer.line(record) for record in live.records][-1]
    assert "model" in shown and "aclmdlRIAddCondTask" in shown
    assert live.replay().compared.differences == []
