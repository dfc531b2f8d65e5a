"""Random launches and processing against a small model that shares nothing with the machine.

The model has no time, and does not say in which order a thread runs functions of different streams: it takes the
machine's choice and checks that it was one. After each action the machine gets a second, so that both have done all
that can be done; then both have to agree on what is due, what runs, and which streams are idle.
"""

from typing import Any

from hypothesis import settings
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, initialize, invariant, precondition, rule

from cannery.runtime.invoke import Invoke
from cannery.runtime.machine import Wait
from tests.fakes import OUT, Driver, ident

# By stream: the thread that it is subscribed for, or 0: it has host functions.
SUBSCRIBED = (2, 2, 3, 0, 0)
THREADS = (2, 3)
STREAMS = st.integers(0, len(SUBSCRIBED) - 1)
EVENTS = st.integers(0, 2)


class Runner:
    """A thread, or the worker: what is due, and, innermost last, what runs with the rest of what its call took."""

    def __init__(self) -> None:
        self.due: list[tuple[int, int]] = []  # stream and function
        self.running: list[tuple[tuple[int, int], list[tuple[int, int]]]] = []

    def begin(self, function: int, batch: list[tuple[int, int]]) -> None:
        chosen = next((item for item in batch if item[1] == function), None)
        assert chosen is not None, (function, batch)
        assert chosen == next(item for item in batch if item[0] == chosen[0]), "out of the order of its stream"
        batch.remove(chosen)
        self.running.append((chosen, batch))


class Model:
    def __init__(self) -> None:
        self.queues: list[list[tuple[str, Any]]] = [[] for _ in SUBSCRIBED]
        self.runners = {number: Runner() for number in (0, *THREADS)}
        self.bits = [False] * 3

    def settle(self) -> None:
        moved = True
        while moved:
            moved = False
            for stream, queue in enumerate(self.queues):
                while queue:
                    what, item = queue[0]
                    if what == "hold" or (what == "wait" and not self.bits[item]):
                        break
                    if what == "function":
                        self.runners[SUBSCRIBED[stream]].due.append((stream, item))
                    elif what == "record":
                        self.bits[item] = True
                    queue.pop(0)
                    moved = True

    def returned(self, runner: Runner) -> list[tuple[int, int]]:
        """The innermost function of a runner returned; what is left of its call."""
        (stream, function), rest = runner.running.pop()
        if self.queues[stream] and self.queues[stream][0] == ("hold", function):
            self.queues[stream].pop(0)
        return rest


class Comparison(RuleBasedStateMachine):
    @initialize(schedule=st.sampled_from(["asap", "late", "seed:1", "seed:99"]))
    def begin(self, schedule: str) -> None:
        self.model = Model()
        self.driver = driver = Driver(schedule=schedule).opened()
        for thread in THREADS:
            driver.ok("aclrtSetDevice", 0, thread=thread)
        self.streams = [driver.stream() for _ in SUBSCRIBED]
        for stream, thread in zip(self.streams, SUBSCRIBED, strict=True):
            if thread:
                driver.ok("aclrtSubscribeReport", ident(thread), stream)
        self.events = [driver.event(1) for _ in range(3)]
        self.functions = 0
        self.waits: dict[int, Wait] = {}
        self.syncs: list[tuple[Wait, int, tuple[str, Any]]] = []

    def settle(self) -> None:
        self.model.settle()
        self.driver.pace(1000)
        self.model.settle()
        worker = self.model.runners[0]
        for errand in self.driver.errands:
            assert errand.worker == 1
            assert not worker.running
            worker.begin(errand.invoke.function, worker.due)
        self.driver.errands.clear()
        for thread, wait in list(self.waits.items()):
            if wait.reply is not None:
                del self.waits[thread]
                self.runs(thread, wait.reply)

    def runs(self, thread: int, reply: Any, batch: list[tuple[int, int]] | None = None) -> None:
        """The call of a thread has it run a function, of ``batch`` or of all that is due now."""
        runner = self.model.runners[thread]
        assert isinstance(reply, Invoke)
        if batch is None:
            batch, runner.due = runner.due, []
        runner.begin(reply.function, batch)

    @rule(stream=STREAMS, blocking=st.booleans())
    def launch(self, stream: int, blocking: bool) -> None:
        self.functions += 1
        function, host = self.functions, not SUBSCRIBED[stream]
        if host:
            self.driver.ok("aclrtLaunchHostFunc", self.streams[stream], function, 0)
        else:
            self.driver.ok("aclrtLaunchCallback", function, 0, int(blocking), self.streams[stream])
        self.model.queues[stream].append(("function", function))
        if blocking or host:
            self.model.queues[stream].append(("hold", function))
        self.settle()

    @rule(stream=STREAMS, event=EVENTS)
    def record(self, stream: int, event: int) -> None:
        self.driver.ok("aclrtRecordEvent", self.events[event], self.streams[stream])
        self.model.queues[stream].append(("record", event))
        self.settle()

    @rule(stream=STREAMS, event=EVENTS)
    def wait(self, stream: int, event: int) -> None:
        self.driver.ok("aclrtStreamWaitEvent", self.streams[stream], self.events[event])
        self.model.queues[stream].append(("wait", event))
        self.settle()

    @rule(thread=st.sampled_from(THREADS), limited=st.booleans())
    def process(self, thread: int, limited: bool) -> None:
        if thread in self.waits:
            return
        runner = self.model.runners[thread]
        reply = self.driver.call("aclrtProcessReport", 50 if limited else -1, thread=thread)
        if runner.due:
            self.runs(thread, reply)
        else:
            assert isinstance(reply, Wait)
            self.waits[thread] = reply
            if limited:
                self.driver.expire(reply)
                assert reply.reply == 507012
                del self.waits[thread]
        self.settle()

    @rule(thread=st.sampled_from(THREADS))
    def finish(self, thread: int) -> None:
        runner = self.model.runners[thread]
        if thread in self.waits or not runner.running:
            return
        rest = self.model.returned(runner)
        reply = self.driver.returned(thread)
        if rest:
            self.runs(thread, reply, rest)
        else:
            assert reply == 0
        self.settle()

    @precondition(lambda self: self.model.runners[0].running)
    @rule()
    def finish_errand(self) -> None:
        self.model.returned(self.model.runners[0])
        self.driver.errand_done(1)
        self.settle()

    @rule(stream=STREAMS)
    def synchronise(self, stream: int) -> None:
        """On a thread of its own, since it may wait."""
        thread = 10 + len(self.syncs)
        self.driver.ok("aclrtSetDevice", 0, thread=thread)
        reply = self.driver.call("aclrtSynchronizeStream", self.streams[stream], thread=thread)
        queue = self.model.queues[stream]
        if queue:
            assert isinstance(reply, Wait)
            self.syncs.append((reply, stream, queue[-1]))
        else:
            assert reply == 0

    @invariant()
    def both_agree(self) -> None:
        if not hasattr(self, "driver"):
            return
        for stream, queue in zip(self.streams, self.model.queues, strict=True):
            assert self.driver.call("aclrtStreamQuery", stream, OUT) == (0, int(bool(queue)))
        worker = self.model.runners[0]
        assert bool(worker.running) or not worker.due
        for thread in self.waits:
            assert not self.model.runners[thread].due
        for wait, stream, last in self.syncs:
            assert wait.reply == (None if any(item is last for item in self.model.queues[stream]) else 0)


TestComparison = Comparison.TestCase
TestComparison.settings = settings(max_examples=100, stateful_step_count=40, deadline=None)
