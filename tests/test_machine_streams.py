"""Streams: waiting, asking, ending, failing, and what they are limited by (semantics.md 0.3, 0.4, 5)."""

import pytest

from cannery.runtime.machine import FAR, Wait
from tests.fakes import MILLISECOND, OUT, Driver

SYNC_TIMEOUT = 507046
DMA_FAULT = 507013


@pytest.fixture
def driver() -> Driver:
    return Driver().opened()


def status(driver: Driver, stream: int) -> int:
    return int(driver.ok("aclrtStreamQuery", stream, OUT))


class TestWaiting:
    def test_an_idle_stream_is_complete_and_synchronises_at_once(self, driver: Driver) -> None:
        for stream in (driver.stream(), 0):
            assert status(driver, stream) == 0
            driver.ok("aclrtSynchronizeStream", stream)
            for limit in (-1, 1, 2147483647):
                driver.ok("aclrtSynchronizeStreamWithTimeout", stream, limit)
        driver.ok("aclrtSynchronizeDevice")

    def test_work_that_needs_nothing_of_the_host_is_not_waited_for_in_real_time(self, driver: Driver) -> None:
        stream, event = driver.stream(), driver.event()
        for _ in range(1000):
            driver.ok("aclrtRecordEvent", event, stream)
        assert status(driver, stream) == 1
        before = driver.machine.skip
        driver.ok("aclrtSynchronizeStream", stream)
        assert status(driver, stream) == 0
        assert driver.machine.skip > before

    def test_a_stream_completes_by_itself(self, driver: Driver) -> None:
        stream = driver.stream()
        driver.ok("aclrtRecordEvent", driver.event(), stream)
        assert status(driver, stream) == 1
        driver.pace(1)
        assert status(driver, stream) == 0
        assert driver.machine.due == FAR

    def test_a_held_stream_makes_its_synchronise_wait_until_another_thread_lets_it_go(self, driver: Driver) -> None:
        stream, opener = driver.stream(), driver.stream()
        gate = driver.gate(stream)
        assert status(driver, stream) == 1
        wait = driver.call("aclrtSynchronizeStream", stream)
        assert isinstance(wait, Wait) and wait.reply is None and wait.deadline is None and wait.thread == 1
        driver.ok("aclrtSetDevice", 0, thread=2)
        assert driver.ended == []
        driver.ok("aclrtRecordEvent", gate, opener, thread=2)
        assert driver.ended == [wait]
        assert wait.reply == 0
        assert driver.machine.waits == []

    def test_limits_run_in_real_time(self, driver: Driver) -> None:
        stream = driver.stream()
        driver.ok("aclrtRecordEvent", driver.event(), stream)
        driver.ok("aclrtSynchronizeStream", stream)
        assert driver.machine.skip
        driver.gate(stream)
        wait = driver.call("aclrtSynchronizeStreamWithTimeout", stream, 60)
        assert wait.deadline == driver.now + 60 * MILLISECOND
        driver.pace(59)
        assert wait.reply is None
        driver.expire(wait)
        assert wait.reply == SYNC_TIMEOUT
        assert driver.ended == [wait]
        assert driver.call("aclrtGetLastError", 0) == SYNC_TIMEOUT
        assert "event wait" in driver.message()
        assert status(driver, stream) == 1

    def test_a_wait_that_ends_in_the_step_of_its_expiry_ends_well(self, driver: Driver) -> None:
        stream, opener = driver.stream(), driver.stream()
        gate = driver.gate(stream)
        wait = driver.call("aclrtSynchronizeStreamWithTimeout", stream, 60)
        driver.now += 1_000
        driver.machine.begin(driver.now)
        driver.handlers["aclrtRecordEvent"](driver.machine.thread(1), gate, opener)  # take_ended is still to come
        driver.expire(wait)
        assert wait.reply == 0
        assert driver.ended == [wait]

    def test_only_the_streams_of_the_current_context_are_waited_for(self, driver: Driver) -> None:
        primary = driver.ok("aclrtGetCurrentContext", OUT)
        driver.ok("aclrtCreateContext", OUT, 0)
        held = driver.stream()
        driver.gate(held)
        wait = driver.call("aclrtSynchronizeDevice")
        assert isinstance(wait, Wait)
        driver.ok("aclrtSetCurrentContext", primary)
        driver.ok("aclrtSynchronizeDevice")
        assert isinstance(driver.call("aclrtSynchronizeStream", held), Wait)  # no 107003

    def test_several_waits_end_in_the_order_in_which_they_began(self, driver: Driver) -> None:
        stream, opener = driver.stream(), driver.stream()
        gate = driver.gate(stream)
        driver.ok("aclrtSetDevice", 0, thread=2)
        waits = [
            driver.call("aclrtSynchronizeStream", stream, thread=2),
            driver.call("aclrtSynchronizeDevice"),
        ]
        driver.ok("aclrtRecordEvent", gate, opener)
        assert driver.ended == waits

    def test_waiting_does_not_run_other_streams_ahead_while_it_is_held_up(self, driver: Driver) -> None:
        held, busy = driver.stream(), driver.stream()
        driver.gate(held)
        memory = driver.device_memory(1 << 28)
        driver.ok("aclrtMemcpyAsync", memory, 1 << 27, memory + (1 << 27), 1 << 27, 3, busy)
        skip = driver.machine.skip
        assert isinstance(driver.call("aclrtSynchronizeDevice"), Wait)
        assert driver.machine.skip == skip
        assert status(driver, busy) == 1


class TestEnding:
    def test_a_stream_with_work_is_destroyed_when_the_work_is_done(self, driver: Driver) -> None:
        stream, opener = driver.stream(), driver.stream()
        gate = driver.gate(stream)
        wait = driver.call("aclrtDestroyStream", stream)
        assert isinstance(wait, Wait)
        assert driver.call("aclrtStreamQuery", stream, OUT) == 107017
        driver.ok("aclrtRecordEvent", gate, opener)
        assert wait.reply == 0
        assert len(driver.machine.streams) == 2  # the default stream and the opener

    def test_the_default_stream_cannot_be_destroyed(self, driver: Driver) -> None:
        handle = driver.machine.contexts[driver.ok("aclrtGetCurrentContext", OUT)].default.handle
        assert driver.call("aclrtDestroyStream", handle) == 107000
        driver.ok("aclrtSynchronizeStream", handle)

    def test_a_context_that_goes_ends_the_waits_for_its_streams(self, driver: Driver) -> None:
        primary = driver.ok("aclrtGetCurrentContext", OUT)
        context = driver.ok("aclrtCreateContext", OUT, 0)
        stream = driver.stream()
        driver.gate(stream)
        driver.ok("aclrtSetCurrentContext", context, thread=2)
        wait = driver.call("aclrtSynchronizeStream", stream, thread=2)
        driver.ok("aclrtDestroyContext", context)
        assert wait.reply == 0 and driver.ended == [wait]
        driver.ok("aclrtSetCurrentContext", primary)
        driver.ok("aclrtSynchronizeDevice")

    def test_a_context_that_goes_lets_those_go_who_wait_for_its_records(self, driver: Driver) -> None:
        mine = driver.stream()
        primary, event = driver.ok("aclrtGetCurrentContext", OUT), driver.event(1, ex=True)
        context = driver.ok("aclrtCreateContext", OUT, 0)
        theirs = driver.stream()
        driver.gate(theirs)
        driver.ok("aclrtRecordEvent", event, theirs)
        driver.ok("aclrtSetCurrentContext", primary)
        driver.ok("aclrtStreamWaitEvent", mine, event)
        assert status(driver, mine) == 1
        driver.ok("aclrtDestroyContext", context)
        driver.pace(1)
        assert status(driver, mine) == 0

    @pytest.mark.parametrize(("schedule", "content"), [("asap", b"new"), ("late", b"old")])
    def test_work_that_is_queued_when_its_context_goes(self, schedule: str, content: bytes) -> None:
        driver = Driver(schedule=schedule).opened()
        pinned, memory = driver.pinned(b"new"), driver.device_memory(3)
        driver.ok("aclrtMemcpy", memory, 3, pinned, 3, 1)
        driver.host.poke(pinned, b"old")
        driver.ok("aclrtCreateContext", OUT, 0)
        driver.ok("aclrtMemcpyAsync", pinned, 3, memory, 3, 2, 0)
        driver.ok("aclrtDestroyContext", driver.ok("aclrtGetCurrentContext", OUT))
        assert driver.host.peek(pinned, 3) == content


class TestFailures:
    def fail(self, driver: Driver, stream: int) -> None:
        """Queue a copy whose host memory goes away."""
        pinned, memory = driver.pinned(b"x" * 64), driver.device_memory(64)
        gate = driver.gate(stream)
        driver.ok("aclrtMemcpyAsync", memory, 64, pinned, 64, 1, stream)
        driver.ok("aclrtFreeHost", pinned)
        driver.ok("aclrtRecordEvent", gate, 0)

    def test_the_first_synchronise_answers_the_failure_and_the_next_one_0(self, driver: Driver) -> None:
        stream = driver.stream()
        self.fail(driver, stream)
        assert driver.call("aclrtSynchronizeStream", stream) == DMA_FAULT
        assert "freed" in driver.message()
        assert driver.call("aclrtGetLastError", 0) == DMA_FAULT
        assert driver.call("aclrtSynchronizeStream", stream) == 0

    def test_the_stream_goes_on_after_a_failure_and_submissions_do_not_answer_it(self, driver: Driver) -> None:
        stream, event = driver.stream(), driver.event()
        self.fail(driver, stream)
        driver.pace(1)
        driver.ok("aclrtRecordEvent", event, stream)
        driver.ok("aclrtSynchronizeEvent", event)
        assert status(driver, stream) == 0
        assert driver.call("aclrtSynchronizeStream", stream) == DMA_FAULT

    def test_a_device_synchronise_answers_and_takes_all_failures(self, driver: Driver) -> None:
        streams = [driver.stream(), driver.stream()]
        for stream in streams:
            self.fail(driver, stream)
        assert driver.call("aclrtSynchronizeDevice") == DMA_FAULT
        assert [driver.call("aclrtSynchronizeStream", stream) for stream in streams] == [0, 0]
        assert driver.call("aclrtSynchronizeDevice") == 0

    def fail_otherwise(self, driver: Driver, stream: int) -> None:
        """Queue a copy from host to host, which fails with another number."""
        driver.ok("aclrtMemcpyAsync", driver.host.give(b"a"), 1, driver.host.give(b"b"), 1, 0, stream)

    def test_the_first_failure_of_a_stream_counts(self, driver: Driver) -> None:
        stream = driver.stream()
        self.fail_otherwise(driver, stream)
        self.fail(driver, stream)
        assert driver.call("aclrtSynchronizeStream", stream) == 507000
        assert driver.call("aclrtSynchronizeStream", stream) == 0

    def test_a_device_synchronise_looks_at_the_default_stream_last(self, driver: Driver) -> None:
        self.fail_otherwise(driver, 0)
        self.fail(driver, driver.stream())
        assert driver.call("aclrtSynchronizeDevice") == DMA_FAULT

    def test_a_failure_of_a_waiting_call_is_its_reply(self, driver: Driver) -> None:
        stream, opener = driver.stream(), driver.stream()
        pinned, memory = driver.pinned(b"x" * 64), driver.device_memory(64)
        gate = driver.gate(stream)
        driver.ok("aclrtMemcpyAsync", memory, 64, pinned, 64, 1, stream)
        driver.ok("aclrtFreeHost", pinned)
        wait = driver.call("aclrtSynchronizeStream", stream)
        driver.ok("aclrtRecordEvent", gate, opener)
        assert wait.reply == DMA_FAULT
        assert driver.call("aclrtGetLastError", 0) == DMA_FAULT

    def test_a_stop_mode_context_answers_its_failure_until_it_is_destroyed(self, driver: Driver) -> None:
        driver.ok("aclrtCreateContext", OUT, 0)
        stream, other, event = driver.stream(), driver.stream(), driver.event()
        context = driver.machine.contexts[driver.ok("aclrtGetCurrentContext", OUT)]
        context.stop_mode = True  # by aclrtSetStreamFailureMode, once there is that call
        driver.ok("aclrtRecordEvent", event, stream)
        self.fail(driver, stream)
        replies = [
            driver.call("aclrtSynchronizeStream", stream),
            driver.call("aclrtSynchronizeStream", stream),
            driver.call("aclrtRecordEvent", event, other),
            driver.call("aclrtStreamQuery", other, OUT),
            driver.call("aclrtQueryEventStatus", event, OUT),
            driver.call("aclrtSynchronizeEvent", event),
            driver.call("aclrtSynchronizeDevice"),
            driver.call("aclrtStreamWaitEvent", other, driver.event(1)),
        ]
        assert replies == [DMA_FAULT] * 8
        driver.ok("aclrtCreateStream", OUT)
        driver.ok("aclrtDestroyContext", context.handle)

    def test_a_stop_mode_stream_does_not_go_on(self, driver: Driver) -> None:
        stream, event = driver.stream(), driver.event()
        driver.machine.contexts[driver.ok("aclrtGetCurrentContext", OUT)].stop_mode = True
        pinned, memory = driver.pinned(b"old"), driver.device_memory(3)
        gate = driver.gate(stream)
        self.fail_otherwise(driver, stream)
        driver.ok("aclrtMemcpyAsync", pinned, 3, memory, 3, 2, stream)
        driver.ok("aclrtRecordEvent", event, stream)
        wait = driver.call("aclrtSynchronizeEvent", event)
        driver.ok("aclrtRecordEvent", gate, 0)
        assert wait.reply == 507000
        assert driver.host.peek(pinned, 3) == b"old"

    def test_the_first_failure_sticks_to_a_stop_mode_context(self, driver: Driver) -> None:
        first, second = driver.stream(), driver.stream()
        driver.machine.contexts[driver.ok("aclrtGetCurrentContext", OUT)].stop_mode = True
        gates = driver.gate(first), driver.gate(second)
        pinned, memory = driver.pinned(b"x"), driver.device_memory(1)
        self.fail_otherwise(driver, first)
        driver.ok("aclrtMemcpyAsync", memory, 1, pinned, 1, 1, second)
        driver.ok("aclrtFreeHost", pinned)
        for gate in gates:
            driver.ok("aclrtRecordEvent", gate, 0)
        driver.pace(10)
        assert driver.call("aclrtSynchronizeStream", second) == 507000


class TestLimits:
    @pytest.mark.parametrize(
        ("settings", "limit"), [({}, 2038), ({"behaviour": "documented"}, 1984), ({"product": "310P"}, 992)]
    )
    def test_streams_per_device(self, settings: dict[str, str], limit: int) -> None:
        driver = Driver(**settings).opened()
        streams = [driver.stream() for _ in range(limit - 1)]  # and the default stream
        assert driver.call("aclrtCreateStream", OUT) == 207008
        driver.ok("aclrtSetDevice", 1)
        driver.stream()
        driver.ok("aclrtSetDevice", 0)
        driver.ok("aclrtDestroyStream", streams[0])
        driver.stream()

    def test_a_full_stream_makes_submissions_wait(self, driver: Driver) -> None:
        stream, opener, event = driver.stream(), driver.stream(), driver.event(1, ex=True)
        gate = driver.gate(stream)
        for _ in range(2012):
            driver.ok("aclrtRecordEvent", event, stream)
        wait = driver.call("aclrtRecordEvent", event, stream)
        assert isinstance(wait, Wait)
        driver.ok("aclrtRecordEvent", gate, opener)
        assert wait.reply == 0
        driver.ok("aclrtSynchronizeEvent", event)

    def test_a_full_stream_that_moves_is_not_waited_for_in_real_time(self) -> None:
        driver = Driver(schedule="late").opened()
        stream, event = driver.stream(), driver.event()
        for _ in range(5000):
            driver.ok("aclrtRecordEvent", event, stream)
        assert len(driver.machine.streams[stream].queue) == 2013

    def test_a_product_without_streams(self) -> None:
        driver = Driver(product="IPV350").opened()
        assert driver.call("aclrtCreateStream", OUT) == 207000
        assert driver.call("aclGetRecentErrMsg") is None  # not there either
        driver.ok("aclrtSynchronizeStream", 0)


class TestSnapshotLock:
    """Calls that wait for it (semantics.md 10.6)."""

    def test_calls_that_wait_for_the_lock_start_again_when_it_is_released(self, driver: Driver) -> None:
        event = driver.event()
        driver.machine.locked = True
        assert driver.call("aclrtRecordEvent", 0, 0) == 100000  # the acl layer refuses at once
        wait = driver.call("aclrtRecordEvent", event, 1)
        assert isinstance(wait, Wait) and wait.deadline is None
        assert driver.call("aclrtSynchronizeStream", 0) == 0  # not held
        driver.machine.locked = False
        driver.pace()
        assert wait.reply == 107017  # the runtime layer's checks come after the wait

    def test_a_call_that_was_held_may_go_on_to_wait_for_work(self, driver: Driver) -> None:
        stream, opener = driver.stream(), driver.stream()
        gate = driver.gate(stream)
        driver.machine.locked = True
        wait = driver.call("aclrtDestroyStream", stream)
        driver.machine.locked = False
        driver.pace()
        assert wait.reply is None and driver.machine.waits == [wait]
        driver.ok("aclrtRecordEvent", gate, opener)
        assert wait.reply == 0 and driver.ended == [wait]
