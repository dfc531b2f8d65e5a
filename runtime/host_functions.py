"""Functions of the program as work of a stream (semantics.md 6).

A stream hands a function over when everything before it is done (:class:`HostFunction`); a blocking one then holds the
stream until it has returned (:class:`HostReturn`). Either a thread of the program runs the functions of a stream, when
it calls aclrtProcessReport (:class:`Reports`), or a thread of the runtime does, of which a context has one
(:class:`Worker`). Which of the two is decided by what came first, a subscription or a host function.
"""

from collections import deque
from collections.abc import Callable
from typing import TYPE_CHECKING

from cannery.runtime.invoke import Errand, Invoke
from cannery.runtime.kept import Kept
from cannery.runtime.tasks import Gated, Task
from cannery.runtime.waits import Reply, Then, Until

if TYPE_CHECKING:
    from cannery.runtime.errors import Refused
    from cannery.runtime.machine import Machine
    from cannery.runtime.objects import Context, Device, Stream, Thread
    from cannery.runtime.tasks import Record


class HostFunction(Task):
    """Hands ``invoke`` over to ``runner``. ``gate`` is what holds the stream until it has returned, None if nothing."""

    __slots__ = ("gate", "invoke", "made", "runner")

    what = "function of the program"

    gate: "HostReturn | None"
    invoke: Invoke
    made: "HostFunction | None"
    runner: "Runner"

    def effect(self, machine: "Machine") -> "Refused | None":
        self.runner.take(machine, self)
        return None

    def dropped(self, machine: "Machine") -> None:
        self.gate = None

    def again(self, machine: "Machine", records: "dict[Record, Record]") -> "HostFunction":
        self.made = made = HostFunction()
        made.cost = self.cost
        made.invoke = self.invoke
        made.runner = self.runner
        made.gate = made.made = None
        return made

    def is_run_by(self, machine: "Machine", thread: "Thread") -> bool:
        """Whether a thread runs it now."""
        if isinstance(self.runner, Worker):
            return self.runner.running is self and thread.worker == self.runner.number
        return any(isinstance(then, Batch) and then.running is self for _, then in thread.running)

    def returned(self, machine: "Machine") -> None:
        """The function returned: its stream goes on, if it still waits for that."""
        gate = self.gate
        if gate is not None:
            self.gate = None
            gate.function = None
            machine.schedule.returned(gate)


class HostReturn(Gated):
    """Directly behind a blocking ``function``, which is None once it has returned."""

    __slots__ = ("function",)

    inert = True
    what = "function of the program that has to return"

    function: HostFunction | None

    def closed(self) -> bool:
        return self.function is not None

    def enrol(self) -> None:
        pass  # who runs the function says that it returned

    def opener(self, reachable: Callable[[Task], bool]) -> Task | None:
        return None

    def before(self) -> Task | None:
        return self.function

    def again(self, machine: "Machine", records: "dict[Record, Record]") -> "HostReturn":
        assert self.function is not None, "kept, and so never queued"
        function = self.function.made
        assert function is not None, "made before this"
        self.function.made = None
        made = function.gate = HostReturn()
        made.cost = self.cost
        made.open = False
        made.limit = 0
        made.function = function
        return made

    def dropped(self, machine: "Machine") -> None:
        if self.function is not None:
            self.function.gate = None
            self.function = None


class Runner(Kept):
    """Who runs the functions of some streams."""

    __slots__ = ()

    def take(self, machine: "Machine", function: HostFunction) -> None:
        """A stream hands a function over."""
        raise NotImplementedError


class Reports(Runner):
    """A thread of the program that streams are subscribed for, all of one device. ``due`` was handed over to it."""

    __slots__ = ("device", "due", "streams")

    def __init__(self, device: "Device") -> None:
        self.device = device
        self.due: deque[HostFunction] = deque()
        self.streams: dict[int, Stream] = {}

    def take(self, machine: "Machine", function: HostFunction) -> None:
        if self.streams:  # else nobody will ever ask for it
            self.due.append(function)

    def arrived(self, machine: "Machine") -> bool:
        """Whether there is something to run, at the latest when nothing but the device has to work for it."""
        if not self.due:
            heads = [head for head in map(_next_function, self.streams.values()) if head is not None]
            if heads:
                machine.schedule.first(heads)
        return bool(self.due)


def _next_function(stream: "Stream") -> Task | None:
    return next((task for task in stream.queue if isinstance(task, HostFunction)), None)


class Job(Kept):
    """A function of the program for a worker that belongs to no stream."""

    __slots__ = ("invoke",)

    invoke: Invoke

    def returned(self, machine: "Machine") -> None:
        """It returned."""


class Worker(Runner):
    """A thread of the runtime, which runs one function after the other. ``retired``: it gets no more."""

    __slots__ = ("number", "queue", "retired", "running")

    def __init__(self, number: int) -> None:
        self.number = number
        self.queue: deque[HostFunction | Job] = deque()
        self.running: HostFunction | Job | None = None
        self.retired = False

    def take(self, machine: "Machine", function: HostFunction) -> None:
        self.add(machine, function)

    def add(self, machine: "Machine", job: HostFunction | Job) -> None:
        """Run it, or have it wait for what runs."""
        if self.running is not None:
            self.queue.append(job)
        elif not self.retired:
            self._begin(machine, job)

    def done(self, machine: "Machine") -> None:
        """The function that it ran returned."""
        function = self.running
        assert function is not None
        self.running = None
        if self.queue:
            self._begin(machine, self.queue.popleft())
        function.returned(machine)  # which may bring the next
        if self.retired:
            self._leave(machine)

    def retire(self, machine: "Machine") -> None:
        """Its context is gone: what it has not begun will not be run."""
        self.queue.clear()
        self.retired = True
        if self.running is None:
            self._leave(machine)

    def _begin(self, machine: "Machine", job: HostFunction | Job) -> None:
        self.running = job
        machine.errands.append(Errand(self.number, job.invoke))

    def _leave(self, machine: "Machine") -> None:
        del machine.workers[self.number]
        machine.dismissed.append(self.number)


class Batch(Then):
    """What one aclrtProcessReport runs: everything that was due when it began (reference implementation)."""

    __slots__ = ("call", "functions", "running", "thread")

    def __init__(self, thread: "Thread", call: str, functions: list[HostFunction]) -> None:
        self.thread = thread
        self.call = call
        self.functions = deque(functions)
        self.running: HostFunction | None = None

    def take(self, machine: "Machine", value: int) -> Reply:
        if self.running is not None:
            self.running.returned(machine)
            self.running = None
        if not self.functions:
            return 0
        self.running = self.functions.popleft()
        return machine.invoke(self.thread, self.call, self.running.invoke, self)


def worker_of(machine: "Machine", context: "Context") -> Worker:
    """The worker of a context, which it has from its first host function on."""
    worker = context.worker
    if worker is None:
        worker = context.worker = new_worker(machine)
    return worker


def new_worker(machine: "Machine") -> Worker:
    """One more worker."""
    machine.last_worker += 1
    worker = machine.workers[machine.last_worker] = Worker(machine.last_worker)
    return worker


def unsubscribe(machine: "Machine", stream: "Stream") -> None:
    """End what decides who runs the functions of a stream. A thread without streams loses what it has not run."""
    reports = stream.runner
    stream.runner = None
    if isinstance(reports, Reports):
        del reports.streams[stream.handle]
        if not reports.streams:
            reports.due.clear()
            machine.reports = {name: other for name, other in machine.reports.items() if other is not reports}


def launch(machine: "Machine", stream: "Stream", invoke: Invoke, blocking: bool) -> None:
    """Queue a function on a stream. Who runs it is decided now, if it was not before: the worker of the context.

    Raises:
        Refused: what has the stream's tasks instead of its queue does not take this one.
    """
    function = HostFunction()
    function.stream = stream
    function.cost = machine.event_cost
    function.invoke = invoke
    function.gate = function.made = None
    machine.schedule.check(function)
    machine.hosted = True
    if stream.runner is None:
        stream.runner = worker_of(machine, stream.context)
    function.runner = stream.runner
    if not blocking:
        machine.schedule.submit(function)
        return
    gate = HostReturn()
    gate.stream = stream
    gate.cost = machine.event_cost
    gate.open = False
    gate.limit = 0
    gate.function = function
    if stream.lane is None:  # else it is never queued itself
        function.gate = gate
    machine.schedule.submit(function)
    machine.schedule.submit(gate)


class Idle(Until):
    """A worker runs nothing."""

    __slots__ = ("worker",)

    def __init__(self, worker: Worker) -> None:
        self.worker = worker

    def holds(self, machine: "Machine") -> bool:
        return self.worker.running is None
