"""What tasks of an instance that is built by hand decide in a run: other streams, labels (reference documents)."""

from typing import Any

import pytest

from cannery.runtime.machine import Wait
from tests.fakes import OUT
from tests.graph_tools import GraphDriver

HEAD, ACTIVATED = 0, 0x7FFF_FFFF
EQUAL, NOT_EQUAL, GREATER, GREATER_OR_EQUAL, LESS, LESS_OR_EQUAL = range(6)
INT32, INT64 = 0, 1
SCHEDULES = ["asap", "late", "seed:1", "seed:5"]


class FlowDriver(GraphDriver):
    """Streams of an instance write numbers, in the order in which they come to them: ``trail`` is that order."""

    def __init__(self, schedule: str = "asap") -> None:
        super().__init__(product="A2", schedule=schedule)
        self.opened()
        self.pinned_trail = self.pinned(bytes(8))
        self.memory = self.device_memory(4096)
        self.put(self.memory, bytes(4096))
        self.model = 0
        self.noted: list[int] = []

    def bound(self, *flags: int) -> list[int]:
        """Streams of an instance, each with that flag."""
        self.model = self.by_hand()
        streams = [self.persistent() for _ in flags]
        for stream, flag in zip(streams, flags, strict=True):
            self.ok("aclmdlRIBindStream", self.model, stream, flag)
        return streams

    def note(self, stream: int, number: int) -> None:
        """The stream writes that the number was here, one more each time: it adds 1 to a byte by copying a table."""
        self.ok("aclrtMemcpyAsync", self.memory + 8 * number, 8, self.memory + 2048, 8, 3, stream)

    def number(self, value: int, at: int, size: int = 4) -> int:
        """A number in device memory; its address."""
        address = self.memory + 3072 + 8 * at
        self.put(address, value.to_bytes(size, "little", signed=True))
        return address

    def finish(self, end: int) -> None:
        self.put(self.memory + 2048, b"noted..." )
        self.built(self.model, end)

    def execute(self) -> Any:
        self.put(self.memory, bytes(2048))
        self.ok("aclmdlRIExecuteAsync", self.model, 0)
        reply = self.call("aclrtSynchronizeStream", 0)
        for _ in range(5):
            if isinstance(reply, Wait) and reply.reply is None:
                self.pace(200)
        return reply.reply if isinstance(reply, Wait) else reply

    def trail(self) -> set[int]:
        """Who was there in the last run."""
        content = self.get(self.memory, 2048)
        return {number for number in range(256) if content[8 * number : 8 * number + 8] == b"noted..."}


@pytest.fixture(params=SCHEDULES)
def driver(request: pytest.FixtureRequest) -> FlowDriver:
    return FlowDriver(request.param)


class TestStreams:
    def test_a_stream_that_is_activated_runs_beside_the_other(self, driver: FlowDriver) -> None:
        first, second = driver.bound(HEAD, ACTIVATED)
        driver.note(first, 1)
        driver.ok("aclrtActiveStream", second, first)
        driver.note(first, 2)
        driver.note(second, 3)
        driver.finish(second)
        for _ in range(3):
            assert driver.execute() == 0
            driver.pace(200)  # the first stream may be behind
            driver.pace(200)
            assert driver.trail() == {1, 2, 3}

    def test_one_that_nobody_activates_does_not_run(self, driver: FlowDriver) -> None:
        first, second = driver.bound(HEAD, ACTIVATED)
        driver.note(first, 1)
        driver.note(second, 2)
        driver.finish(first)
        assert driver.execute() == 0
        assert driver.trail() == {1}

    @pytest.mark.parametrize(
        ("condition", "holds_for"),
        [
            (EQUAL, [7]), (NOT_EQUAL, [-6, 8]), (GREATER, [8]), (GREATER_OR_EQUAL, [7, 8]), (LESS, [-6]),
            (LESS_OR_EQUAL, [-6, 7]),
        ],
    )  # fmt: skip
    @pytest.mark.parametrize("kind", [INT32, INT64])
    def test_a_switch_goes_on_on_the_other_stream_if_the_numbers_compare_so(
        self, condition: int, holds_for: list[int], kind: int
    ) -> None:
        driver = FlowDriver()
        first, second = driver.bound(HEAD, ACTIVATED)
        left, right = driver.number(0, 0, 8), driver.number(7, 1, 8)
        driver.ok("aclrtSwitchStream", left, condition, right, kind, second, 0, first)
        driver.note(first, 1)
        driver.ok("aclrtActiveStream", second, first)
        driver.note(second, 2)
        driver.finish(second)
        for value in (-6, 7, 8):
            driver.number(value, 0, 8)
            assert driver.execute() == 0
            assert driver.trail() == ({2} if value in holds_for else {1, 2})

    def test_a_run_whose_end_is_left_out_does_not_end(self) -> None:
        driver = FlowDriver()
        first, second = driver.bound(HEAD, ACTIVATED)
        number = driver.number(1, 0)
        driver.ok("aclrtSwitchStream", number, EQUAL, number, INT32, second, 0, first)
        driver.note(second, 2)
        driver.finish(first)
        assert driver.execute() is None
        assert driver.trail() == {2}
        driver.ok("aclmdlRIAbort", driver.model, thread=1)
        driver.pace(1)
        assert driver.ended[-1].reply == 507023

    def test_numbers_that_are_gone_fail_the_run(self) -> None:
        driver = FlowDriver()
        first, second = driver.bound(HEAD, ACTIVATED)
        gone = driver.device_memory(64)
        driver.ok("aclrtSwitchStream", gone, EQUAL, gone, INT32, second, 0, first)
        driver.finish(first)
        driver.ok("aclrtFree", gone)
        assert driver.execute() == 507011


    def test_streams_that_go_on_after_the_end_are_no_part_of_the_run(self, driver: FlowDriver) -> None:
        first, second, third = driver.bound(HEAD, HEAD, ACTIVATED)
        gate = driver.event(1)
        number = driver.number(1, 0)
        driver.ok("aclrtStreamWaitEvent", second, gate)
        driver.ok("aclrtActiveStream", third, second)
        driver.ok("aclrtSwitchStream", number, EQUAL, number, INT32, third, 0, second)
        driver.note(second, 1)
        driver.note(third, 2)
        driver.finish(first)
        for _ in range(2):
            assert driver.execute() == 0
            assert driver.trail() == set()
        driver.ok("aclrtRecordEvent", gate, 0)
        for _ in range(6):
            driver.pace(200)
        assert driver.trail() == {2}
        assert all(stream.serves is None and not stream.queue for stream in driver.machine.streams.values())

    def test_a_failure_on_a_stream_that_was_activated_is_the_run_s(self, driver: FlowDriver) -> None:
        first, second = driver.bound(HEAD, ACTIVATED)
        gone = driver.device_memory(64)
        driver.ok("aclrtActiveStream", second, first)
        driver.copy(driver.memory, gone, 64, second)
        driver.finish(second)
        driver.ok("aclrtFree", gone)
        assert driver.execute() == 507011


class TestLabels:
    def labels(self, driver: FlowDriver, count: int) -> tuple[list[int], int]:
        labels = [int(driver.ok("aclrtCreateLabel", OUT)) for _ in range(count)]
        return labels, int(driver.ok("aclrtCreateLabelList", tuple(labels), count, OUT))

    def switch(self, driver: FlowDriver, count: int = 3) -> int:
        """A stream that goes on at one of its labels, each with a number behind it; where the index is."""
        (stream,) = driver.bound(HEAD)
        labels, listed = self.labels(driver, count)
        index = driver.number(0, 0)
        driver.ok("aclrtSwitchLabelByIndex", index, count, listed, stream)
        driver.note(stream, 100)
        for number, label in enumerate(labels):
            driver.ok("aclrtSetLabel", label, stream)
            driver.note(stream, number)
        driver.finish(stream)
        return index

    @pytest.mark.parametrize(("index", "trail"), [(0, {0, 1, 2}), (1, {1, 2}), (2, {2}), (3, {2}), (-1, {2})])
    def test_a_run_goes_on_at_the_label_with_the_index(
        self, driver: FlowDriver, index: int, trail: set[int]
    ) -> None:
        """Above the highest index it is the last label."""
        self.switch(driver)
        driver.number(index, 0)
        for _ in range(2):
            assert driver.execute() == 0
            assert driver.trail() == trail

    def test_labels_on_another_stream(self, driver: FlowDriver) -> None:
        first, second = driver.bound(HEAD, ACTIVATED)
        labels, listed = self.labels(driver, 2)
        driver.ok("aclrtSwitchLabelByIndex", driver.number(1, 0), 2, listed, first)
        driver.note(first, 1)
        driver.ok("aclrtSetLabel", labels[0], second)
        driver.note(second, 2)
        driver.ok("aclrtSetLabel", labels[1], second)
        driver.note(second, 3)
        driver.finish(second)
        assert driver.execute() == 0
        assert driver.trail() == {3}

    def test_a_loop(self, driver: FlowDriver) -> None:
        """Back to the first label until the index, which the stream changes itself, leads out."""
        (stream,) = driver.bound(HEAD)
        labels, listed = self.labels(driver, 2)
        index, one, zero = driver.number(0, 0), driver.number(1, 1), driver.number(0, 2)
        driver.note(stream, 1)
        driver.ok("aclrtSetLabel", labels[0], stream)
        driver.copy(index, one, 4, stream)
        driver.note(stream, 2)
        driver.ok("aclrtSwitchLabelByIndex", index, 2, listed, stream)
        driver.note(stream, 3)
        driver.ok("aclrtSetLabel", labels[1], stream)
        driver.copy(index, zero, 4, stream)
        driver.finish(stream)
        assert driver.execute() == 0
        assert driver.trail() == {1, 2}

    def test_an_endless_loop_ends_with_a_failure(self, monkeypatch: pytest.MonkeyPatch) -> None:
        monkeypatch.setattr("cannery.runtime.flow.MOST_JUMPS", 50)
        driver = FlowDriver()
        (stream,) = driver.bound(HEAD)
        labels, listed = self.labels(driver, 1)
        driver.ok("aclrtSetLabel", labels[0], stream)
        driver.ok("aclrtSwitchLabelByIndex", driver.number(0, 0), 1, listed, stream)
        driver.finish(stream)
        assert driver.execute() == 507011
        assert "jumped 50 times" in driver.message()

    def test_a_label_that_is_set_nowhere_fails_the_run(self) -> None:
        driver = FlowDriver()
        (stream,) = driver.bound(HEAD)
        _, listed = self.labels(driver, 1)
        driver.ok("aclrtSwitchLabelByIndex", driver.number(0, 0), 1, listed, stream)
        driver.finish(stream)
        assert driver.execute() == 507011

    def test_destroyed_labels_and_lists_go_on_in_what_was_built(self) -> None:
        driver = FlowDriver()
        self.switch(driver)
        for handle in [*driver.machine.label_lists]:
            driver.ok("aclrtDestroyLabelList", handle)
            assert driver.call("aclrtDestroyLabelList", handle) == 107017
        for handle in [*driver.machine.labels]:
            driver.ok("aclrtDestroyLabel", handle)
        driver.number(2, 0)
        assert driver.execute() == 0
        assert driver.trail() == {2}

    def test_a_process_has_so_many(self) -> None:
        driver = FlowDriver()
        first = driver.ok("aclrtCreateLabel", OUT)
        for _ in range(65534):
            driver.ok("aclrtCreateLabel", OUT)
        assert driver.call("aclrtCreateLabel", OUT) == 507000
        driver.ok("aclrtDestroyLabel", first)
        driver.ok("aclrtCreateLabel", OUT)


class TestCleaning:
    def test_a_stream_takes_other_tasks_for_its_instance(self) -> None:
        driver = FlowDriver()
        first, second = driver.bound(HEAD, HEAD)
        driver.note(first, 1)
        driver.note(second, 2)
        driver.finish(second)
        assert driver.execute() == 0
        assert driver.call("aclrtMemsetAsync", driver.memory, 8, 0, 8, first) == 107000
        driver.ok("aclrtPersistentTaskClean", first)
        assert driver.execute() == 0
        assert driver.trail() == {2}
        driver.note(first, 3)
        assert driver.execute() == 0
        driver.ok("aclrtSynchronizeDevice")
        assert driver.trail() == {2, 3}

    def test_with_the_end_of_the_instance(self) -> None:
        driver = FlowDriver()
        (stream,) = driver.bound(HEAD)
        driver.note(stream, 1)
        driver.finish(stream)
        driver.ok("aclrtPersistentTaskClean", stream)
        assert driver.call("aclmdlRIExecuteAsync", driver.model, 0) == 507011
        driver.note(stream, 2)
        driver.ok("aclmdlRIEndTask", driver.model, stream)
        assert driver.execute() == 0
        assert driver.trail() == {2}

    def test_a_label_can_be_set_again(self) -> None:
        driver = FlowDriver()
        (stream,) = driver.bound(HEAD)
        label = driver.ok("aclrtCreateLabel", OUT)
        driver.ok("aclrtCreateLabelList", (label,), 1, OUT)
        driver.ok("aclrtSetLabel", label, stream)
        driver.finish(stream)
        assert driver.call("aclrtSetLabel", label, stream) == 507000
        driver.ok("aclrtPersistentTaskClean", stream)
        driver.ok("aclrtSetLabel", label, stream)


def test_what_belongs_to_a_context_ends_with_it() -> None:
    driver = FlowDriver()
    context = driver.ok("aclrtCreateContext", OUT, 0)
    label = driver.ok("aclrtCreateLabel", OUT)
    driver.ok("aclrtCreateLabelList", (label,), 1, OUT)
    driver.ok("aclrtDestroyContext", context)
    assert not driver.machine.labels and not driver.machine.label_lists
