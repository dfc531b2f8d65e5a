"""Model instances (aclmdlRI): tasks that are kept instead of run, and run together each time the instance is executed.

An instance is made by capturing streams (``capture.py``) or built by hand (``calls/graphs.py``). It keeps tasks that
were never queued; a *run* queues one like each of them (:meth:`Task.again`):

    stream that executes:          start      run (waits for the end)
    each stream of the instance:              gate (waits for the start)  tasks ...  end

So a run is nothing but tasks of streams, and schedules and waits need to know nothing about it. A run begins when the
one before it has ended, since streams are first in, first out (our choice: documents and reference implementation do
not say what overlapping runs of one instance do).
"""

from collections.abc import Iterable, Sequence
from typing import TYPE_CHECKING

from cannery.runtime import kept
from cannery.runtime.errors import (
    ACL_ERROR_RT_MODEL_ABORT_NORMAL,
    ACL_ERROR_RT_MODEL_EXECUTE,
    ACL_ERROR_RT_NO_STREAM_RESOURCE,
    Refused,
)
from cannery.runtime.ids import HardwareId
from cannery.runtime.lanes import INNER, BoundLane, CaptureLane, TaskGroup
from cannery.runtime.objects import Context, Event, Stream
from cannery.runtime.tasks import EventWait, Record, RecordWait, Task, record_of_no_event

if TYPE_CHECKING:
    from cannery.runtime.conditions import Condition
    from cannery.runtime.machine import Machine
    from cannery.runtime.reach import Walk


class ExternalRecord(Record):
    """A record for work outside of the instance: each run makes the event's latest record."""

    __slots__ = ("event",)

    event: Event

    def again(self, machine: "Machine", records: dict[Record, Record]) -> Record:
        made = super().again(machine, records)
        self.event.take(made)
        return made


class ExternalWait(EventWait):
    """A wait for work outside of the instance: each run waits for the record that is the event's latest then, or passes
    while there is none (reference implementation)."""

    __slots__ = ()

    def again(self, machine: "Machine", records: dict[Record, Record]) -> EventWait | None:
        if self.event.record is None:
            return None
        made = EventWait()
        made.event = self.event
        made.record = self.event.record
        made.cost = self.cost
        made.limit = 0
        made.use()
        return made


class Kept(kept.Kept):
    """A task of an instance that the program has a handle of. ``number``: its place in the instance."""

    __slots__ = ("graph", "handle", "number", "task")

    def __init__(self, handle: int, graph: "Graph", task: Task, number: int) -> None:
        self.handle = handle
        self.graph = graph
        self.task = task
        self.number = number


class Graph(kept.Kept):
    """A model instance. ``by_hand``: built by hand, else captured; ``built``: it can be executed.

    ``tasks`` are in the order of submission, each with the stream that will run it; ``end`` is the record that ends a
    run. ``streams`` belong to it, newest first; ``heads`` of them begin with a run. ``runs`` are those not over.
    ``callbacks``: functions to run when it is destroyed, with their arguments. ``kept``: the tasks that have handles;
    ``changed``: what runs instead of a task, None if it is left out; ``updating``: that became different, and
    aclmdlRIUpdate was not called since. ``extended``: what aclrtCacheLastTaskExtendInfo said of tasks. ``conditions``
    of a capture (``conditions.py``); ``condition``: that of which it is a child; ``first``: tasks that begin each run
    and that nobody sees.

    Of a capture that is open: ``mode`` and the ordinal of its ``thread``; its ``lanes``, that where it began first;
    ``events`` with a record in it; ``external``, which way events cross its border; ``grouping``, the lane with an open
    task group; ``interrupted``: what went wrong with that; ``broken``: the capture cannot succeed any more.
    """

    __slots__ = (
        "broken", "built", "by_hand", "callbacks", "changed", "condition", "conditions", "context", "end", "events",
        "extended", "external", "first", "grouping", "groups", "handle", "heads", "interrupted", "kept", "lanes",
        "mode", "name", "number", "runs", "streams", "tasks", "thread", "updating",
    )  # fmt: skip

    def __init__(self, machine: "Machine", context: Context, by_hand: bool) -> None:
        self.handle = machine.new_handle()
        machine.graph_count += 1
        self.number = machine.graph_count
        self.context = context
        self.by_hand = by_hand
        self.built = False
        self.name = b""
        self.tasks: list[Task] = []
        self.end: Record | None = None
        self.streams: list[Stream] = []
        self.heads: list[Stream] = []
        self.runs: list[Run] = []
        self.callbacks: dict[int, int] = {}
        self.groups: list[TaskGroup] = []
        self.kept: dict[Task, Kept] = {}
        self.changed: dict[Task, Task | None] = {}
        self.updating = False
        self.extended: dict[Task, bytes] = {}
        self.condition: Condition | None = None
        self.conditions: list[Condition] = []
        self.first: list[Task] = []
        self.mode = 0
        self.thread = 0
        self.lanes: list[CaptureLane] = []
        self.events: list[Event] = []
        self.external: dict[Event, str] = {}
        self.grouping: CaptureLane | None = None
        self.interrupted: Refused | None = None
        self.broken = False
        machine.graphs[self.handle] = self
        context.graphs[self.handle] = self

    @property
    def capturing(self) -> bool:
        return bool(self.lanes)

    def keep(self, machine: "Machine", task: Task, number: int) -> Kept:
        """The handle of a task, which it has from the first time on that somebody asks."""
        kept = self.kept.get(task)
        if kept is None:
            kept = self.kept[task] = Kept(machine.new_handle(), self, task, number)
            machine.kept[kept.handle] = kept
        return kept

    def forget(self, machine: "Machine", tasks: Iterable[Task]) -> None:
        """These tasks belong to it no longer, and their handles are no longer valid."""
        for task in tasks:
            self.extended.pop(task, None)
            kept = self.kept.pop(task, None)
            if kept is not None:
                del machine.kept[kept.handle]

    def replaced(self, old: Task, new: Task) -> None:
        """``new`` took the place of ``old``, and has its handle; what was set of that one is over."""
        self.changed.pop(old, None)
        text = self.extended.pop(old, None)
        if text is not None:
            self.extended[new] = text
        kept = self.kept.pop(old, None)
        if kept is not None:
            kept.task = new
            self.kept[new] = kept

    def new_stream(self, machine: "Machine") -> Stream:
        """A stream for the instance itself, which counts like others (reference documents, aclmdlRICaptureBegin).

        Raises:
            Refused: 207008.
        """
        device = self.context.device
        hardware_id = device.stream_ids.take()
        if hardware_id is None:
            raise Refused(
                ACL_ERROR_RT_NO_STREAM_RESOURCE,
                "a capture needs a stream of its own for each stream in it, but device {} has {} streams, and this "
                "product no more; destroy streams or model instances",
                device.user, device.stream_ids.limit,
            )  # fmt: skip
        stream = Stream(machine.new_handle(), self.context, hardware_id, 0, 0)
        stream.lane = INNER
        machine.streams[stream.handle] = stream
        self.streams.insert(0, stream)
        return stream


class Gate(RecordWait):
    """Holds a stream of an instance until a run starts; then failures of the stream are the run's."""

    __slots__ = ("run",)

    what = "start of a model instance"

    run: "Run"

    def effect(self, machine: "Machine") -> Refused | None:
        self.stream.serves = None if self.run.done else self.run  # another stream may have ended it
        return None


class Start(Record):
    """Lets a run begin. Where aclrtStreamStop takes it, the run begins all the same: it is a task of its own."""

    __slots__ = ()

    what = "start of a model instance"

    def lost(self, machine: "Machine") -> None:
        self.dropped(machine)


class Run(RecordWait):
    """One execution of an instance, on the stream that executes it: over when ``record`` is done, its last task.
    ``tasks`` are those on the streams of the instance. ``aborted``: aclmdlRIAbort stopped it. ``jumps`` counts those
    to another place, in an instance that has such (``flow.py``); ``record`` is in no stream then."""

    __slots__ = ("aborted", "graph", "jumps", "tasks")

    what = "run of a model instance"

    aborted: bool
    graph: Graph
    jumps: int
    tasks: list[Task]

    def needs(self) -> Sequence[Task]:
        if self.jumps < 0:
            return super().needs()
        return [stream.queue[0] for stream in self.graph.streams if stream.queue]

    def may_open(self, walk: "Walk") -> bool:
        if self.jumps < 0:
            return super().may_open(walk)
        for stream in self.graph.streams:
            walk.visit(stream)
        return self.record is not None and self.record.number in walk.done

    def effect(self, machine: "Machine") -> Refused | None:
        self._over()
        if not self.aborted:
            return None
        return Refused(
            ACL_ERROR_RT_MODEL_ABORT_NORMAL,
            "the run of the model instance {:#x} was stopped by aclmdlRIAbort",
            self.graph.handle,
        )

    def dropped(self, machine: "Machine") -> None:
        super().dropped(machine)
        machine.schedule.cancel(self._over())

    def failure(self, cause: Refused) -> Refused:
        """What the stream that executes answers when a task of the run failed."""
        return Refused(
            ACL_ERROR_RT_MODEL_EXECUTE,
            "a task of the model instance {:#x} failed: {} [{}]",
            self.graph.handle, cause.reason(), cause.number,
        )  # fmt: skip

    def _over(self) -> list[Task]:
        tasks, self.tasks = self.tasks, []  # gates refer to this run, and it to them
        for stream in (*self.graph.streams, *[task.stream for task in tasks]):  # one may be unbound meanwhile
            if stream.serves is self:
                stream.serves = None
        self.graph.runs.remove(self)
        return tasks


class Flow(Task):
    """A task that decides in a run what comes next. ``run`` is that run; what an instance keeps has none."""

    __slots__ = ("run",)

    run: Run

    def happened(self, walk: "Walk") -> None:
        """The end may be next: a walk does not follow."""
        if self.run.record is not None:
            walk.done.add(self.run.record.number)


class RunEnd(Flow):
    """Ends a run of an instance that has a flow."""

    __slots__ = ()

    what = "end of a model instance"

    def effect(self, machine: "Machine") -> Refused | None:
        record = self.run.record
        if record is not None and not record.done:
            record.done = True
            record.finish = self.finish
            record.effect(machine)
        return None


def again(
    machine: "Machine", run: Run, task: Task, records: dict[Record, Record], child: Graph | None = None
) -> Task | None:
    """What a run does for a task of its instance, or of a ``child`` of that; None if it can do without."""
    if run.jumps >= 0 and task is run.graph.end:
        end = RunEnd()
        end.cost = task.cost
        end.run = run
        return end
    now = (child or run.graph).changed.get(task, task)
    if now is not task and isinstance(task, Record):
        records[task] = _never(run)
    made = None if now is None else now.again(machine, records)
    if isinstance(made, Flow):
        made.run = run
    return made


def _flows(graph: Graph) -> bool:
    lanes = [stream.lane for stream in graph.streams]
    return any(isinstance(task, Flow) for lane in lanes if isinstance(lane, BoundLane) for task in lane.tasks)


def launch(machine: "Machine", graph: Graph, stream: Stream) -> Run:
    """Queue a run of an instance that is built. ``stream`` executes it, and has no lane."""
    queue = machine.schedule.queue
    cost = machine.event_cost
    start = Start()
    start.id = HardwareId(0, None)
    start.inert = True
    start.cost = cost
    start.stream = stream
    run = Run()
    run.aborted = run.done = run.open = False
    run.limit = 0
    run.jumps = 0 if graph.by_hand and _flows(graph) else -1
    run.graph = graph
    run.cost = cost
    run.stream = stream
    run.tasks = []
    graph.runs.append(run)
    start.done = False
    if run.jumps < 0:
        queue(start)
    for head in graph.heads:
        gate = Gate()
        gate.run = run
        gate.record = start
        gate.cost = gate.limit = 0
        gate.open = False
        gate.stream = head
        run.tasks.append(gate)
        queue(gate)
    if run.jumps >= 0:
        run.record = _never(run)
        machine.schedule.count += 1
        run.record.number = machine.schedule.count  # it is in no stream
    records: dict[Record, Record] = {}
    for task in (*graph.first, *graph.tasks):
        made = again(machine, run, task, records)
        if made is not None:
            made.stream = task.stream
            run.tasks.append(made)
            queue(made)
    assert graph.end is not None, "checked before"
    if run.jumps < 0:
        run.record = records.get(graph.end) or _never(run)
    else:
        queue(start)  # after all that a jump may leave out
    queue(run)
    return run


def _never(run: Run) -> Record:
    """What never happens in a run: its end, if that is on a stream that does not run, and records that are left out.
    Only aclmdlRIAbort gets there."""
    end = record_of_no_event(0)
    end.number = 0
    end.done = False
    end.stream = run.stream
    run.tasks.append(end)
    return end


def leave(machine: "Machine", graph: Graph) -> None:
    """A capture is over, well or not: its streams and events are as others again."""
    for lane in graph.lanes:
        lane.source.lane = None
    for event in graph.events:
        event.captured = None
    graph.lanes = []
    graph.events = []
    graph.external = {}
    graph.grouping = None
    machine.captures.remove(graph)


def close(machine: "Machine", graph: Graph) -> None:
    """End an instance, which is not running; a capture that is open ends with it."""
    if graph.capturing:
        leave(machine, graph)
    for stream in graph.streams:
        if graph.by_hand:
            lane = stream.lane
            if isinstance(lane, BoundLane):  # else the stream ended before
                lane.graph = None
        else:
            machine.schedule.drop(stream)
            del machine.streams[stream.handle]
            stream.id.give_back()
    graph.streams = []
    graph.forget(machine, [*graph.kept])
    for group in graph.groups:
        machine.groups.pop(group.handle, None)
    del machine.graphs[graph.handle], graph.context.graphs[graph.handle]
