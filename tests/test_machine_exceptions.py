"""Exception callbacks: what the program is told of a task that failed, by whom, and what waits for it."""

from typing import Any

import pytest

from cannery.runtime.api import PRODUCTS
from cannery.runtime.machine import Wait
from cannery.runtime.notifies import NotifyWait
from cannery.runtime.tasks import BufferedCopy, Copy, EventWait, HostToHost
from tests.fakes import OUT, Driver

FIRST, SECOND, THIRD = 0x1000, 0x2000, 0x3000
NOTHING = 0xFFFF_FFFF


class World(Driver):
    def __init__(self, **settings: Any) -> None:
        super().__init__(**settings)
        self.opened(1)
        self.s = self.stream()
        self.memory = self.device_memory(64)

    def fail(self) -> None:
        """Queue a copy whose memory is gone when it runs."""
        pinned = self.pinned(b"x" * 64)
        self.ok("aclrtMemcpyAsync", self.memory, 64, pinned, 64, 1, self.s)
        self.ok("aclrtFreeHost", pinned)

    def told(self) -> list[tuple[int, int]]:
        """Worker and function of the errands since the last call."""
        found = [(errand.worker, errand.invoke.function) for errand in self.errands]
        self.info = self.errands[-1].invoke.arguments[0] if self.errands else 0
        self.errands.clear()
        return found

    def ask(self, what: str, info: int, thread: int = 5) -> int:
        return int(self.call(f"aclrtGet{what}FromExceptionInfo", info, thread=thread))


@pytest.mark.parametrize(
    ("product", "schedule"), [("A2", "late"), *((product, "asap") for product in PRODUCTS if product != "IPV350")]
)
def test_a_callback_is_told_of_a_failed_task_before_a_synchronise_answers_it(product: str, schedule: str) -> None:
    world = World(schedule=schedule, product=product)
    world.ok("aclrtSetExceptionInfoCallback", FIRST)
    world.fail()
    wait = world.call("aclrtSynchronizeStream", world.s)
    assert isinstance(wait, Wait)
    assert world.told() == [(1, FIRST)]
    assert world.ask("ErrorCode", world.info) == 507013
    assert world.ask("DeviceId", world.info) == 1
    assert world.ask("TaskId", world.info) == world.machine.schedule.count
    assert wait.reply is None
    world.errand_done(1)
    assert wait.reply == 507013
    assert world.call("aclrtGetLastError", 0) == 507013
    assert "freed, or shorter, when it ran" in world.message()
    assert world.call("aclrtSynchronizeStream", world.s) == 0


def test_without_callbacks_nobody_is_told() -> None:
    world = World()
    world.fail()
    assert world.call("aclrtSynchronizeStream", world.s) == 507013
    assert world.told() == []


def test_callbacks_run_one_after_the_other_each_once() -> None:
    world = World()
    world.ok("aclrtExceptionInfoCallbackRegister", SECOND)
    world.ok("aclrtExceptionInfoCallbackRegister", THIRD)
    world.ok("aclrtExceptionInfoCallbackRegister", SECOND)
    world.ok("aclrtSetExceptionInfoCallback", THIRD)
    world.ok("aclrtSetExceptionInfoCallback", FIRST)  # takes the place of the one before
    world.fail()
    wait = world.call("aclrtSynchronizeStream", world.s)
    order = []
    while tasks := world.told():
        order += tasks
        assert wait.reply is None
        world.errand_done(1)
    assert order == [(1, FIRST), (1, SECOND), (1, THIRD)]
    assert wait.reply == 507013


def test_callbacks_end() -> None:
    world = World()
    world.ok("aclrtSetExceptionInfoCallback", FIRST)
    world.ok("aclrtExceptionInfoCallbackRegister", SECOND)
    world.ok("aclrtSetExceptionInfoCallback", 0)
    world.ok("aclrtExceptionInfoCallbackUnregister", SECOND)
    world.ok("aclrtExceptionInfoCallbackUnregister", SECOND)  # no error (reference implementation)
    world.fail()
    assert world.call("aclrtSynchronizeStream", world.s) == 507013


def test_a_program_that_does_not_wait_is_told_too() -> None:
    world = World()
    world.ok("aclrtSetExceptionInfoCallback", FIRST)
    world.fail()
    world.pace(200)
    assert world.told() == [(1, FIRST)]
    assert world.call("aclrtStreamQuery", world.s, OUT) == (0, 0)
    world.errand_done(1)
    assert world.call("aclrtSynchronizeStream", world.s) == 507013


def test_what_a_callback_was_given_is_good_until_the_last_has_returned() -> None:
    world = World()
    world.ok("aclrtSetExceptionInfoCallback", FIRST)
    world.ok("aclrtExceptionInfoCallbackRegister", SECOND)
    world.fail()
    world.pace(200)
    world.told()
    info = world.info
    world.errand_done(1)
    assert world.ask("ErrorCode", info) == 507013
    world.errand_done(1)
    assert world.ask("ErrorCode", info) == NOTHING
    assert "good only until that callback has returned" in world.message(5)


def test_a_callback_is_told_which_thread_submitted_the_task() -> None:
    """By gettid; also of one that has ended."""
    world = World()
    world.ok("aclrtSetExceptionInfoCallback", FIRST)
    pinned = world.pinned(b"x" * 64)
    world.ok("aclrtSetDevice", 1, thread=3)
    world.ok("aclrtMemcpyAsync", world.memory, 64, pinned, 64, 1, world.s, thread=3)
    world.ok("aclrtFreeHost", pinned)
    world.machine.end_thread(3)
    world.call("aclrtSynchronizeStream", world.s)
    world.told()
    assert world.ask("ThreadId", world.info) == world.host.tid(3)


@pytest.mark.parametrize("schedule", ["asap", "late"])
def test_tasks_of_a_graph_are_of_the_thread_that_has_it_run(schedule: str) -> None:
    world = World(schedule=schedule)
    world.ok("aclrtSetExceptionInfoCallback", FIRST)
    pinned = world.pinned(b"x" * 64)
    world.ok("aclmdlRICaptureBegin", world.s, 0)
    world.ok("aclrtMemcpyAsync", world.memory, 64, pinned, 64, 1, world.s)
    graph = world.ok("aclmdlRICaptureEnd", world.s, OUT)
    world.ok("aclrtFreeHost", pinned)
    world.ok("aclrtSetDevice", 1, thread=3)
    world.ok("aclmdlRIExecuteAsync", graph, world.s, thread=3)
    world.pace(200)
    world.call("aclrtSynchronizeStream", world.s)
    world.told()
    assert world.ask("ThreadId", world.info) == world.host.tid(3)


@pytest.mark.parametrize("what", ["TaskId", "StreamId", "ThreadId", "DeviceId", "ErrorCode"])
def test_what_is_no_exception_has_no_numbers(what: str) -> None:
    world = World()
    for info in (0, world.s, 0x1234):
        assert world.ask(what, info) == NOTHING
        assert "[100000 " in world.message(5)
        assert world.call("aclrtGetLastError", 0, thread=5) == 0


def test_in_stop_mode_a_synchronise_waits_for_callbacks_and_a_submission_does_not() -> None:
    world = World()
    world.machine.streams[world.s].context.stop_mode = True
    world.ok("aclrtSetExceptionInfoCallback", FIRST)
    world.fail()
    world.pace(200)
    assert world.call("aclrtRecordEvent", world.event(), world.s) == 507013
    waits = [world.call("aclrtSynchronizeStream", world.s), world.call("aclrtSynchronizeDevice")]
    assert all(isinstance(wait, Wait) for wait in waits)
    world.errand_done(1)
    assert [wait.reply for wait in waits] == [507013, 507013]


def test_a_wait_for_an_event_that_expires_is_not_told() -> None:
    """Reference implementation: copies, kernels and notify waits are, event waits are not."""
    assert [kind.reported for kind in (Copy, BufferedCopy, HostToHost, NotifyWait)] == [True] * 4
    assert not EventWait.reported


def test_host_functions_and_callbacks_have_workers_of_their_own() -> None:
    world = World()
    world.ok("aclrtSetExceptionInfoCallback", FIRST)
    world.ok("aclrtLaunchHostFunc", 0, SECOND, 0)
    world.fail()
    world.pace(200)
    assert sorted(world.told()) == [(1, SECOND), (2, FIRST)]


def test_tasks_that_are_no_kernels_have_neither_arguments_nor_function() -> None:
    """Reference implementation: the getters refuse, and the function is null then."""
    world = World()
    world.ok("aclrtSetExceptionInfoCallback", FIRST)
    world.fail()
    world.call("aclrtSynchronizeStream", world.s)
    world.told()
    info = world.info
    assert world.call("aclrtGetArgsFromExceptionInfo", info, OUT, OUT) == -1
    assert world.call("aclrtGetFuncHandleFromExceptionInfo", info, OUT) == (107000, 0)
    for arguments in ((0, OUT), (OUT, 0)):
        assert world.call("aclrtGetArgsFromExceptionInfo", info, *arguments) == 100000
    assert world.call("aclrtGetFuncHandleFromExceptionInfo", info, 0) == 100000
    for wrong in (0, 0x1234):
        assert world.call("aclrtGetArgsFromExceptionInfo", wrong, 0, 0) == -1
        assert world.call("aclrtGetFuncHandleFromExceptionInfo", wrong, 0) == -1
