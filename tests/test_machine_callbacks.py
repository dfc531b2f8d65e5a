"""Functions of the program in streams: who runs them, when, and what waits for them (semantics.md 6)."""

from typing import Any

import pytest

from cannery.runtime.invoke import Invoke
from cannery.runtime.machine import Wait
from tests.fakes import OUT, Driver, ident

NO_BLOCK, BLOCK = 0, 1
SYNC = 1
SCHEDULES = ["asap", "late", "seed:3"]


class World(Driver):
    """Thread 1 launches on ``stream``, thread 2 processes what is launched there. Functions are numbers from 1."""

    def __init__(self, **settings: Any) -> None:
        super().__init__(**settings)
        self.opened()
        self.ok("aclrtSetDevice", 0, thread=2)
        self.s, self.t = self.stream(), self.stream()
        self.ok("aclrtSubscribeReport", ident(2), self.s)

    def launch(self, function: int, block: int = BLOCK, stream: int | None = None) -> Any:
        return self.call("aclrtLaunchCallback", function, function << 8, block, self.s if stream is None else stream)

    def process(self, timeout: int = 1000, thread: int = 2) -> Any:
        return self.call("aclrtProcessReport", timeout, thread=thread)

    def status(self, *streams: int) -> list[int]:
        return [self.ok("aclrtStreamQuery", stream, OUT) for stream in streams]

    def launch_host(self, function: int, stream: int) -> Any:
        return self.call("aclrtLaunchHostFunc", stream, function, function << 8)

    def tasks(self) -> list[tuple[int, int]]:
        """Worker and function of the errands since the last call."""
        found = [(errand.worker, errand.invoke.function) for errand in self.errands]
        self.errands.clear()
        return found


def runs(reply: Any) -> int:
    """Which function a call has its thread run."""
    if isinstance(reply, Wait):
        reply = reply.reply
    assert isinstance(reply, Invoke), reply
    assert (reply.arguments, reply.signature) == ((reply.function << 8,), "void(ptr)")
    return reply.function


class TestProcessing:
    @pytest.mark.parametrize("schedule", SCHEDULES)
    def test_a_function_is_run_by_the_thread_that_the_stream_is_subscribed_for(self, schedule: str) -> None:
        world = World(schedule=schedule)
        assert world.launch(1) == 0
        assert runs(world.process()) == 1
        assert world.returned(2) == 0
        assert world.call("aclrtSynchronizeStream", world.s) == 0
        assert world.status(world.s) == [0]

    @pytest.mark.parametrize("schedule", SCHEDULES)
    def test_a_function_ends_the_wait_of_its_thread(self, schedule: str) -> None:
        world = World(schedule=schedule)
        wait = world.process()
        assert isinstance(wait, Wait)
        world.launch(1)
        assert world.ended == [wait]
        assert runs(wait) == 1

    def test_nothing_in_time_is_507012(self) -> None:
        world = World()
        wait = world.process(20)
        assert wait.deadline == world.now + 20_000_000
        world.expire(wait)
        assert wait.reply == 507012
        assert "nothing was to be run within 20 ms" in world.message(2)

    def test_a_wait_may_have_no_limit(self) -> None:
        assert World().process(-1).deadline is None

    @pytest.mark.parametrize("block", [BLOCK, NO_BLOCK])
    def test_functions_of_a_stream_run_in_order(self, block: int) -> None:
        world = World()
        for function in (1, 2, 3):
            world.launch(function, block)
        order = []
        while len(order) < 3:
            reply = world.process()
            while reply != 0:
                order.append(runs(reply))
                reply = world.returned(2)
        assert order == [1, 2, 3]

    def test_what_is_due_is_run_by_one_call_and_what_becomes_due_meanwhile_by_the_next(self) -> None:
        """The reference implementation takes all reports that are there."""
        world = World()
        for function in (1, 2):
            world.launch(function, NO_BLOCK)
        world.pace(1)
        first = world.process()
        world.launch(3, NO_BLOCK)
        world.pace(1)
        assert [runs(first), runs(world.returned(2)), world.returned(2)] == [1, 2, 0]
        assert runs(world.process()) == 3

    def test_a_blocking_function_lets_the_next_of_its_stream_become_due_when_it_returns(self) -> None:
        world = World()
        world.launch(1)
        world.launch(2)
        assert runs(world.process()) == 1
        assert world.returned(2) == 0
        assert runs(world.process()) == 2

    def test_one_thread_runs_the_functions_of_several_streams(self) -> None:
        world = World()
        world.ok("aclrtSubscribeReport", ident(2), world.t)
        world.launch(1)
        world.launch(2, stream=world.t)
        world.pace(1)
        assert [runs(world.process()), runs(world.returned(2)), world.returned(2)] == [1, 2, 0]
        assert world.status(world.s, world.t) == [0, 0]

    def test_threads_run_the_functions_of_their_own_streams(self) -> None:
        world = World()
        world.ok("aclrtSubscribeReport", ident(1), world.t)
        world.launch(1)
        world.launch(2, stream=world.t)
        assert runs(world.process(thread=1)) == 2
        assert runs(world.process(thread=2)) == 1

    def test_the_launching_thread_may_process_itself(self) -> None:
        world = World()
        world.ok("aclrtSubscribeReport", ident(1), world.t)
        world.launch(1, stream=world.t)
        assert world.status(world.t) == [1]
        assert runs(world.process(thread=1)) == 1
        assert world.returned(1) == 0
        assert world.status(world.t) == [0]

    def test_a_function_may_process_reports_itself(self) -> None:
        world = World()
        world.ok("aclrtSubscribeReport", ident(2), world.t)
        world.launch(1)
        outer = world.process()
        world.launch(2, stream=world.t)
        inner = world.process()
        assert [runs(outer), runs(inner)] == [1, 2]
        assert [world.returned(2), world.returned(2)] == [0, 0]
        assert world.status(world.s, world.t) == [0, 0]

    def test_a_thread_that_ends_in_a_function_leaves_its_stream_held(self) -> None:
        world = World()
        world.launch(1)
        world.process()
        world.machine.end_thread(2)
        assert world.status(world.s) == [1]
        assert isinstance(world.call("aclrtSynchronizeStream", world.s), Wait)

    def test_a_new_thread_with_the_same_id_takes_the_place_of_one_that_ended(self) -> None:
        world = World()
        world.machine.end_thread(2)
        world.host.ids[9] = ident(2)
        world.launch(1)
        assert runs(world.process(thread=9)) == 1


class TestBlocking:
    @pytest.mark.parametrize("schedule", SCHEDULES)
    def test_a_blocking_function_holds_its_stream_and_what_waits_for_it(self, schedule: str) -> None:
        world = World(schedule=schedule)
        after = world.event(SYNC, ex=True)
        world.launch(1)
        world.ok("aclrtRecordEvent", after, world.s)
        world.ok("aclrtStreamWaitEvent", world.t, after)
        world.process()
        waits = [world.call("aclrtSynchronizeStreamWithTimeout", stream, 60) for stream in (world.s, world.t)]
        assert [world.machine.streams[stream].queue[-1].done for stream in (world.s, world.t)] == [False, False]
        world.expire(waits[0])
        assert waits[0].reply == 507046
        assert world.returned(2) == 0
        assert waits[1].reply == 0
        assert world.call("aclrtSynchronizeStream", world.s) == 0

    def test_a_non_blocking_function_does_not(self) -> None:
        world = World()
        world.launch(1, NO_BLOCK)
        assert world.call("aclrtSynchronizeStreamWithTimeout", world.s, 1000) == 0
        assert world.status(world.s) == [0]
        assert runs(world.process()) == 1

    @pytest.mark.parametrize("schedule", SCHEDULES)
    @pytest.mark.parametrize("block", [BLOCK, NO_BLOCK])
    def test_functions_wait_for_the_work_before_them(self, schedule: str, block: int) -> None:
        world = World(schedule=schedule)
        gate = world.gate(world.s)
        world.launch(1, block)
        wait = world.process()
        world.pace(1000)
        assert isinstance(wait, Wait)
        assert wait.reply is None
        world.ok("aclrtRecordEvent", gate, world.t)
        world.ok("aclrtSynchronizeStream", world.t)
        assert runs(wait) == 1

    def test_a_synchronise_ends_in_the_step_in_which_the_function_returns(self) -> None:
        world = World()
        world.launch(1)
        world.process()
        wait = world.call("aclrtSynchronizeStream", world.s)
        world.ended.clear()
        world.returned(2)
        assert world.ended == [wait]

    def test_time_passes_at_once_for_work_before_a_function(self) -> None:
        """Nobody sleeps for simulated time, also where the host has to act at its end."""
        world = World()
        memory, pinned = world.device_memory(1 << 24), world.pinned(b"x" * (1 << 24))
        world.ok("aclrtMemcpyAsync", memory, 1 << 24, pinned, 1 << 24, 1, world.t)
        world.launch_host(1, world.t)
        assert isinstance(world.call("aclrtSynchronizeStream", world.t), Wait)
        assert world.tasks() == [(1, 1)]

    def test_a_launch_waits_while_its_stream_is_full(self) -> None:
        world = World()
        world.gate(world.s)
        world.machine.depth = 3
        assert world.launch(1) == 0
        assert isinstance(world.launch(2), Wait)


class TestSubscriptions:
    def test_the_end_of_a_subscription_waits_for_blocking_functions(self) -> None:
        """Reference implementation."""
        world = World()
        world.launch(1)
        wait = world.call("aclrtUnSubscribeReport", ident(2), world.s)
        assert isinstance(wait, Wait)
        world.process()
        world.returned(2)
        assert wait.reply == 0
        assert world.process(20) == 107012
        assert world.launch(2) == 107015

    def test_a_non_blocking_function_is_lost_with_the_last_subscription_of_its_thread(self) -> None:
        world = World()
        world.launch(1, NO_BLOCK)
        world.pace(1)
        world.ok("aclrtUnSubscribeReport", ident(2), world.s)
        assert world.process(20) == 107012
        world.ok("aclrtSubscribeReport", ident(2), world.s)
        assert isinstance(world.process(20), Wait)

    def test_a_non_blocking_function_stays_due_while_its_thread_has_a_subscription(self) -> None:
        world = World()
        world.ok("aclrtSubscribeReport", ident(2), world.t)
        world.launch(1, NO_BLOCK)
        world.pace(1)
        world.ok("aclrtUnSubscribeReport", ident(2), world.s)
        assert runs(world.process()) == 1

    def test_a_thread_that_waits_goes_on_waiting_when_its_subscription_ends(self) -> None:
        world = World()
        wait = world.process(50)
        world.ok("aclrtUnSubscribeReport", ident(2), world.s)
        assert wait.reply is None
        world.ok("aclrtSubscribeReport", ident(2), world.t)
        world.launch(1, stream=world.t)
        assert runs(wait) == 1

    def test_a_subscription_ends_with_its_stream(self) -> None:
        world = World()
        world.ok("aclrtDestroyStream", world.s)
        assert world.process(20) == 107012
        assert world.call("aclrtUnSubscribeReport", ident(2), world.s) == 107017

    def test_destroying_a_stream_waits_for_its_functions(self) -> None:
        world = World()
        world.launch(1)
        wait = world.call("aclrtDestroyStream", world.s)
        assert isinstance(wait, Wait)
        assert runs(world.process()) == 1
        world.returned(2)
        assert wait.reply == 0

    def test_subscriptions_end_with_their_context_and_device(self) -> None:
        world = World()
        world.launch(1)
        world.ok("aclrtResetDevice", 0)
        world.ok("aclrtResetDevice", 0)
        assert world.process(20) == 107012
        assert world.machine.reports == {}

    def test_a_function_whose_context_went_away_returns_to_nothing(self) -> None:
        world = World()
        world.launch(1)
        world.process()
        world.ok("aclrtResetDevice", 0)
        world.ok("aclrtResetDevice", 0)
        assert world.returned(2) == 0

    def test_a_stream_of_another_context_can_be_subscribed_but_not_launched_on(self) -> None:
        """Golden lines "other context, other device"."""
        world = World()
        world.ok("aclrtCreateContext", OUT, 0)
        world.ok("aclrtSubscribeReport", ident(1), world.t)
        assert world.launch(1, stream=world.t) == 107003
        assert world.call("aclrtUnSubscribeReport", ident(1), world.t) == 0


class TestHostFunctions:
    @pytest.mark.parametrize("schedule", SCHEDULES)
    def test_a_host_function_is_run_by_a_worker_and_holds_its_stream(self, schedule: str) -> None:
        world = World(schedule=schedule)
        assert world.launch_host(1, world.t) == 0
        wait = world.call("aclrtSynchronizeStream", world.t)
        assert world.tasks() == [(1, 1)]
        assert wait.reply is None
        world.errand_done(1)
        assert wait.reply == 0

    @pytest.mark.parametrize("schedule", ["late", "seed:1", "seed:2"])
    def test_a_query_or_a_tenth_of_a_second_forces_a_host_function_that_nobody_waits_for(self, schedule: str) -> None:
        world = World(schedule=schedule)
        world.launch_host(1, world.t)
        world.pace(101)
        assert world.tasks() == [(1, 1)]
        world.errand_done(1)
        world.launch_host(2, world.t)
        for _ in range(40):
            world.status(world.t)
        assert world.tasks() == [(1, 2)]

    def test_a_worker_runs_one_function_at_a_time_in_order(self) -> None:
        world = World()
        other = world.stream()
        for function in (1, 2, 3):
            world.launch_host(function, world.t)
            world.launch_host(function + 10, other)
        world.pace(1)
        order = []
        while tasks := world.tasks():
            assert len(tasks) == 1
            order.append(tasks[0][1])
            world.errand_done(1)
            world.pace(1)
        assert sorted(order) == [1, 2, 3, 11, 12, 13]
        assert [function for function in order if function < 10] == [1, 2, 3]
        assert [function for function in order if function > 10] == [11, 12, 13]

    def test_each_context_has_a_worker_of_its_own(self) -> None:
        world = World()
        world.launch_host(1, world.t)
        world.ok("aclrtCreateContext", OUT, 0)
        world.launch_host(2, world.stream())
        world.pace(1)
        assert world.tasks() == [(1, 1), (2, 2)]

    def test_a_stream_has_either_callbacks_or_host_functions(self) -> None:
        """Golden lines "host functions"."""
        world = World()
        world.launch_host(1, world.t)
        assert world.launch(2, stream=world.t) == 107011
        assert world.call("aclrtSubscribeReport", ident(1), world.t) == 107011
        assert world.call("aclrtUnSubscribeReport", ident(1), world.t) == 107011
        assert world.launch_host(3, world.s) == 107011
        world.ok("aclrtUnSubscribeReport", ident(2), world.s)
        assert world.launch_host(3, world.s) == 0

    def test_a_host_function_on_the_subscribed_default_stream_runs_in_the_subscribed_thread(self) -> None:
        """Observed."""
        world = World()
        world.ok("aclrtSubscribeReport", ident(1), 0)
        assert world.launch_host(1, 0) == 0
        assert runs(world.process(thread=1)) == 1
        assert world.returned(1) == 0
        assert world.call("aclrtUnSubscribeReport", ident(1), 0) == 0
        assert world.errands == []

    def test_a_callback_on_the_default_stream_with_host_functions_runs_in_the_worker(self) -> None:
        """Reference implementation."""
        world = World()
        world.launch_host(1, 0)
        assert world.launch(2, stream=0) == 0
        world.pace(1)
        world.errand_done(1)
        world.pace(1)
        assert world.tasks() == [(1, 1), (1, 2)]

    def test_it_is_not_held_by_a_snapshot_lock_and_the_other_calls_are(self) -> None:
        """semantics.md 10.6"""
        world = World()
        world.machine.locked = True
        assert world.launch_host(1, world.t) == 0
        assert isinstance(world.launch(2), Wait)
        assert isinstance(world.process(thread=2), Wait)
        assert isinstance(world.call("aclrtSubscribeReport", ident(3), world.t, thread=3), Wait)
        assert isinstance(world.call("aclrtUnSubscribeReport", ident(3), world.s, thread=4), Wait)
        assert world.call("aclrtProcessReport", 0, thread=5) == 100000
        assert world.call("aclrtLaunchCallback", 0, 0, 2, 0, thread=5) == 100000


class TestEnds:
    def test_destroying_a_context_waits_for_the_function_that_its_worker_runs(self) -> None:
        """Reference implementation: it joins its thread."""
        world = World()
        context = world.ok("aclrtCreateContext", OUT, 0)
        stream = world.stream()
        world.launch_host(1, stream)
        world.launch_host(2, stream)
        world.pace(1)
        wait = world.call("aclrtDestroyContext", context)
        assert isinstance(wait, Wait)
        world.errands.clear()
        world.errand_done(1)
        assert wait.reply == 0
        assert world.tasks() == []
        assert world.dismissed == [1]
        assert world.machine.workers == {}

    def test_resetting_a_device_waits_too(self) -> None:
        world = World()
        world.launch_host(1, world.t)
        world.pace(1)
        world.ok("aclrtResetDevice", 0)
        wait = world.call("aclrtResetDevice", 0)
        assert isinstance(wait, Wait)
        world.errand_done(1)
        assert wait.reply == 0
        assert world.dismissed == [1]

    @pytest.mark.parametrize("call", ["context", "device"])
    def test_a_host_function_may_end_its_own_context(self, call: str) -> None:
        world = World()
        context = world.ok("aclrtCreateContext", OUT, 1)
        world.ok("aclrtSetDevice", 1)
        world.ok("aclrtSetCurrentContext", context if call == "context" else world.machine.devices[1].primary.handle)
        world.launch_host(1, 0)
        world.pace(1)
        world.host.worker_threads[7] = 1
        if call == "context":
            assert world.call("aclrtDestroyContext", context, thread=7) == 0
        else:
            assert world.call("aclrtResetDevice", 1, thread=7) == 0
        assert world.dismissed == []
        world.errand_done(1)
        assert world.dismissed == [1]

    def test_functions_that_were_not_begun_are_lost_with_their_context(self) -> None:
        world = World()
        context = world.ok("aclrtCreateContext", OUT, 0)
        stream = world.stream()
        world.gate(stream)
        world.launch_host(1, stream)
        world.ok("aclrtDestroyContext", context)
        world.pace(1000)
        assert world.tasks() == []
        assert world.dismissed == [1]

    def test_a_worker_that_is_idle_is_dismissed_at_once(self) -> None:
        world = World()
        world.launch_host(1, world.t)
        world.pace(1)
        world.errand_done(1)
        world.ok("aclrtResetDevice", 0)
        assert world.dismissed == []
        world.ok("aclrtResetDevice", 0)
        assert world.dismissed == [1]
        world.opened()
        world.launch_host(2, 0)
        world.pace(1)
        assert world.tasks() == [(1, 1), (2, 2)]

    def test_a_value_for_a_worker_that_runs_nothing_has_no_effect(self) -> None:
        world = World()
        world.errand_done(5)
        world.launch_host(1, world.t)
        world.errand_done(1)
        world.pace(1)
        assert world.tasks() == [(1, 1)]


class TestStopMode:
    def failed(self) -> World:
        """A context that stopped after a failure, with a function running on one stream and one queued on another."""
        world = World()
        world.ok("aclrtSubscribeReport", ident(2), world.t)
        context = world.machine.streams[world.s].context
        context.stop_mode = True
        world.launch(1)
        world.process()
        memory, pinned = world.device_memory(64), world.pinned(b"x" * 64)
        world.gate(world.t)
        world.ok("aclrtMemcpyAsync", memory, 64, pinned, 64, 1, 0)
        world.ok("aclrtFreeHost", pinned)
        assert world.call("aclrtSynchronizeStream", 0) == 507013
        return world

    def test_a_launch_answers_what_stopped_the_context(self) -> None:
        world = self.failed()
        assert world.launch(2) == 507013
        assert world.call("aclrtLaunchHostFunc", 0, 3, 0) == 507013

    def test_a_function_that_runs_meanwhile_returns_to_nothing(self) -> None:
        world = self.failed()
        assert world.returned(2) == 0
        assert world.call("aclrtSynchronizeStream", world.s) == 507013
