"""Streams that are aborted, stopped, or destroyed at once (semantics.md 5, and the reference pages of these calls)."""

from typing import Any

import pytest

from cannery.runtime.machine import Wait
from tests.fakes import OUT, Driver

SIZE = 4096
HOST_TO_DEVICE, DEVICE_TO_HOST = 1, 2
ABORTED = 107023


@pytest.fixture(params=["asap", "late", "seed:2"])
def driver(request: pytest.FixtureRequest) -> Driver:
    opened = Driver(schedule=request.param).opened()
    opened.ok("aclrtSetDevice", 0, thread=2)
    return opened


class Held:
    """A stream that is held, with a copy behind the gate."""

    def __init__(self, driver: Driver) -> None:
        self.driver = driver
        self.stream = driver.stream()
        self.gate = driver.gate(self.stream)
        self.source, self.memory, self.target = (
            driver.pinned(b"x" * SIZE),
            driver.device_memory(SIZE),
            driver.pinned(b"-" * SIZE),
        )
        self.copy()

    def copy(self) -> None:
        call = self.driver.ok
        call("aclrtMemcpyAsync", self.memory, SIZE, self.source, SIZE, HOST_TO_DEVICE, self.stream)
        call("aclrtMemcpyAsync", self.target, SIZE, self.memory, SIZE, DEVICE_TO_HOST, self.stream)

    def seen(self) -> bytes:
        return self.driver.host.peek(self.target, 1)

    def queued(self) -> int:
        found = self.driver.machine.streams.get(self.stream)
        return -1 if found is None else len(found.queue)


class TestAbort:
    def test_what_is_queued_is_lost_and_the_next_synchronise_says_so(self, driver: Driver) -> None:
        held = Held(driver)
        driver.ok("aclrtStreamAbort", held.stream)
        assert held.queued() == 0
        assert driver.ok("aclrtStreamQuery", held.stream, OUT) == 0
        assert driver.call("aclrtSynchronizeStream", held.stream) == ABORTED
        assert driver.call("aclrtSynchronizeStream", held.stream) == 0
        driver.pace(500)
        assert held.seen() == b"-"

    def test_calls_that_wait_end_with_it(self, driver: Driver) -> None:
        held = Held(driver)
        waits = [driver.call("aclrtSynchronizeStream", held.stream), driver.call("aclrtSynchronizeDevice", thread=2)]
        driver.ok("aclrtSetDevice", 0, thread=3)
        driver.ok("aclrtStreamAbort", held.stream, thread=3)
        assert all(isinstance(wait, Wait) for wait in waits)
        assert sorted(wait.reply for wait in waits) == [0, ABORTED], "the first takes it"

    def test_the_stream_goes_on(self, driver: Driver) -> None:
        held = Held(driver)
        driver.ok("aclrtStreamAbort", held.stream)
        held.copy()
        assert driver.call("aclrtSynchronizeStream", held.stream) == ABORTED
        driver.ok("aclrtSynchronizeStream", held.stream)
        assert held.seen() == b"x"

    def test_an_idle_stream(self, driver: Driver) -> None:
        stream = driver.stream()
        driver.ok("aclrtStreamAbort", stream)
        assert driver.call("aclrtSynchronizeStream", stream) == ABORTED

    def test_null_is_the_default_stream(self, driver: Driver) -> None:
        driver.ok("aclrtStreamWaitEvent", 0, driver.event(1))
        driver.ok("aclrtStreamAbort", 0)
        assert driver.call("aclrtSynchronizeStream", 0) == ABORTED

    def test_the_gate_of_an_aborted_wait_can_be_destroyed(self, driver: Driver) -> None:
        held = Held(driver)
        before = driver.ok("aclrtGetEventAvailNum", OUT)
        driver.ok("aclrtStreamAbort", held.stream)
        driver.ok("aclrtDestroyEvent", held.gate)
        assert driver.ok("aclrtGetEventAvailNum", OUT) == before + 1

    @pytest.mark.parametrize("product", ["310P", "310B"])
    def test_products_without_it(self, product: str) -> None:
        driver = Driver(product=product).opened()
        assert driver.call("aclrtStreamAbort", driver.stream()) == 207000


class TestStop:
    def test_the_first_task_ends_and_the_rest_goes_on(self, driver: Driver) -> None:
        held = Held(driver)
        driver.ok("aclrtStreamStop", held.stream)
        assert driver.call("aclrtSynchronizeStream", held.stream) == ABORTED
        assert driver.call("aclrtSynchronizeStream", held.stream) == 0
        assert held.seen() == b"x"

    def test_a_record_that_was_stopped_is_never_done(self) -> None:
        driver = Driver(schedule="late").opened()
        stream, first, second = driver.stream(), driver.event(1, ex=True), driver.event(1, ex=True)
        for event in (first, second):
            driver.ok("aclrtRecordEvent", event, stream)
        driver.ok("aclrtStreamStop", stream)
        driver.pace(500)
        assert driver.ok("aclrtQueryEventStatus", first, OUT) == 0
        assert driver.ok("aclrtQueryEventStatus", second, OUT) == 1
        assert driver.call("aclrtSynchronizeEvent", first) == ABORTED

    def test_an_idle_stream(self, driver: Driver) -> None:
        stream = driver.stream()
        driver.ok("aclrtStreamStop", stream)
        driver.ok("aclrtSynchronizeStream", stream)


class TestForce:
    def test_it_does_not_wait(self, driver: Driver) -> None:
        held = Held(driver)
        driver.ok("aclrtDestroyStreamForce", held.stream)
        assert held.queued() == -1
        assert driver.call("aclrtStreamQuery", held.stream, OUT) == 107017
        driver.ok("aclrtRecordEvent", held.gate, 0)
        driver.pace(500)
        assert held.seen() == b"-"

    def test_calls_that_wait_for_it_end(self, driver: Driver) -> None:
        held = Held(driver)
        wait = driver.call("aclrtSynchronizeStream", held.stream)
        driver.ok("aclrtDestroyStreamForce", held.stream, thread=2)
        assert wait.reply == 0

    def test_while_another_thread_destroys_it(self, driver: Driver) -> None:
        held = Held(driver)
        wait = driver.call("aclrtDestroyStream", held.stream)
        assert isinstance(wait, Wait)
        assert driver.call("aclrtDestroyStreamForce", held.stream, thread=2) == 107017
        driver.ok("aclrtRecordEvent", held.gate, 0, thread=2)
        driver.pace(500)
        assert wait.reply == 0 and held.seen() == b"x"


class TestForcedReset:
    """4: aclrtResetDeviceForce releases at once, later resets then give 507007."""

    def test_counts_do_not_matter(self, driver: Driver) -> None:
        driver.ok("aclrtSetDevice", 0)
        held = Held(driver)
        wait = driver.call("aclrtSynchronizeStream", held.stream)
        driver.ok("aclrtResetDeviceForce", 0, thread=2)
        assert wait.reply == 0
        assert driver.call("aclrtResetDevice", 0) == 507007
        assert driver.call("aclrtResetDeviceForce", 0) == 507007
        assert driver.call("aclrtStreamQuery", held.stream, OUT) == 107017

    def test_a_context_that_was_made_stays(self, driver: Driver) -> None:
        context: Any = driver.ok("aclrtCreateContext", OUT, 0)
        stream = driver.stream()
        driver.ok("aclrtResetDeviceForce", 0)
        assert driver.ok("aclrtGetCurrentContext", OUT) == context
        driver.ok("aclrtSynchronizeStream", stream)


class TestDeviceSynchronise:
    def test_a_limit_counts_for_all_streams_together(self, driver: Driver) -> None:
        streams = [driver.stream() for _ in range(3)]
        gates = [driver.gate(stream) for stream in streams]
        wait = driver.call("aclrtSynchronizeDeviceWithTimeout", 100)
        assert isinstance(wait, Wait)
        deadline = wait.deadline
        driver.ok("aclrtRecordEvent", gates[0], 0, thread=2)
        driver.pace(60)
        driver.pace(1)
        assert wait.reply is None and wait.deadline == deadline
        driver.expire(wait)
        assert wait.reply == 507046
        assert driver.call("aclrtSynchronizeDeviceWithTimeout", -1).deadline is None
