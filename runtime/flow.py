"""Flow: what tasks of an instance that is built by hand decide in a run (reference documents).

A run begins with the streams that are bound as heads. A task can start another stream of the instance beside its own,
or go on elsewhere, at the begin of another stream or at a label; then what is behind it on its own stream is left out.
Where the run ends is a task too (:class:`graphs.RunEnd`), which may be on any stream.
"""

from typing import TYPE_CHECKING, Final

from cannery.runtime import graphs
from cannery.runtime.errors import ACL_ERROR_RT_MODEL_EXECUTE, Refused
from cannery.runtime.graphs import Flow
from cannery.runtime.kept import Kept
from cannery.runtime.lanes import BoundLane
from cannery.runtime.memory_tasks import gone
from cannery.runtime.tasks import Record, Task

if TYPE_CHECKING:
    from cannery.runtime.machine import Machine
    from cannery.runtime.objects import Context, Stream
    from cannery.runtime.places import Place

# aclrtCondition
EQUAL: Final = 0
NOT_EQUAL: Final = 1
GREATER: Final = 2
GREATER_OR_EQUAL: Final = 3
LESS: Final = 4
LESS_OR_EQUAL: Final = 5
SIZES: Final = (4, 8)  # of the numbers that are compared, by aclrtCompareDataType

INDEX: Final = 4  # bytes of the index of a label
MOST_JUMPS: Final = 100_000  # of one run (our number): an endless loop ends there


class Label(Kept):
    """A place to go on at: ``task`` marks it on the stream of ``lane``, None as long as it is not set. ``listed``: it
    is in a list."""

    __slots__ = ("context", "handle", "lane", "listed", "task")

    def __init__(self, handle: int, context: "Context") -> None:
        self.handle = handle
        self.context = context
        self.lane: BoundLane | None = None
        self.listed = False
        self.task: Task | None = None

    def unset(self) -> None:
        """It marks no place any more."""
        self.lane = self.task = None


class LabelList(Kept):
    """Labels to choose from by index."""

    __slots__ = ("context", "handle", "labels")

    def __init__(self, handle: int, context: "Context", labels: tuple[Label, ...]) -> None:
        self.handle = handle
        self.context = context
        self.labels = labels


def close(machine: "Machine", context: "Context") -> None:
    """A context ends, and its labels with it."""
    for label in [label for label in machine.labels.values() if label.context is context]:
        label.unset()
        del machine.labels[label.handle]
    for one in [one for one in machine.label_lists.values() if one.context is context]:
        del machine.label_lists[one.handle]


class Mark(Task):
    """aclrtSetLabel: where a label is."""

    __slots__ = ()

    inert = True
    what = "label"


def _start(machine: "Machine", task: Flow, lane: BoundLane, first: int) -> None:
    """Queue what a stream of the instance has from that place on. A run that has ended, after which other streams go
    on, has nothing to do with it any more."""
    run = task.run
    if not run.done:
        lane.stream.serves = run
    records: dict[Record, Record] = {}
    for kept in lane.tasks[first:]:
        made = graphs.again(machine, run, kept, records)
        if made is not None:
            made.stream = lane.stream
            if not run.done:
                run.tasks.append(made)
            machine.schedule.follow(made, task)


class Activate(Flow):
    """aclrtActiveStream: starts the stream of ``lane`` beside its own."""

    __slots__ = ("lane",)

    what = "activation of a stream"

    lane: BoundLane

    def effect(self, machine: "Machine") -> Refused | None:
        _start(machine, self, self.lane, 0)
        return None


class Jump(Flow):
    """Base of what goes on elsewhere."""

    __slots__ = ()

    def leave(self, machine: "Machine", lane: BoundLane, first: int) -> Refused | None:
        """Go on there, and leave out the rest of this stream."""
        run = self.run
        run.jumps += 1
        machine.schedule.skip(_rest(self.stream))
        run.tasks = [task for task in run.tasks if not task.done]
        if run.jumps > MOST_JUMPS:
            graphs.RunEnd.effect(_end_of(self), machine)
            return Refused(
                ACL_ERROR_RT_MODEL_EXECUTE,
                "a run of the model instance {:#x} jumped {} times; Cannery ends it there",
                run.graph.handle, MOST_JUMPS,
            )  # fmt: skip
        _start(machine, self, lane, first)
        return None


def _rest(stream: "Stream") -> list[Task]:
    """What a run still has on a stream of its instance: all before the next run begins there."""
    rest = []
    for task in stream.queue:
        if isinstance(task, graphs.Gate):
            break
        rest.append(task)
    return rest


def _end_of(task: Jump) -> graphs.RunEnd:
    end = graphs.RunEnd()
    end.run = task.run
    end.finish = task.finish
    return end


class SwitchStream(Jump):
    """aclrtSwitchStream: goes on at the begin of the stream of ``lane``, if the two numbers compare so."""

    __slots__ = ("condition", "lane", "left", "right", "size")

    what = "switch between streams"

    condition: int
    lane: BoundLane
    left: "Place"
    right: "Place"
    size: int

    def effect(self, machine: "Machine") -> Refused | None:
        numbers = []
        for place in (self.left, self.right):
            if not place.holds(self.size):
                return gone(self.what, self.size, place)
            content = machine.memory.load(place, self.size)
            assert content is not None, "device memory that is there is readable"
            numbers.append(int.from_bytes(content, "little", signed=True))
        if not self._holds(*numbers):
            return None
        return self.leave(machine, self.lane, 0)

    def _holds(self, left: int, right: int) -> bool:
        if self.condition in (EQUAL, NOT_EQUAL):
            return (left == right) == (self.condition == EQUAL)
        if self.condition in (GREATER, LESS_OR_EQUAL):
            return (left > right) == (self.condition == GREATER)
        return (left < right) == (self.condition == LESS)


class SwitchLabel(Jump):
    """aclrtSwitchLabelByIndex: goes on at the label with the index at ``place``; at the last one, if there is none."""

    __slots__ = ("labels", "most", "place")

    what = "switch to a label"

    labels: LabelList
    most: int
    place: "Place"

    def effect(self, machine: "Machine") -> Refused | None:
        if not self.place.holds(INDEX):
            return gone(self.what, INDEX, self.place)
        content = machine.memory.load(self.place, INDEX)
        assert content is not None, "device memory that is there is readable"
        index = min(int.from_bytes(content, "little"), self.most - 1)
        label = self.labels.labels[index]
        lane, task = label.lane, label.task
        if lane is None or task not in lane.tasks:
            return Refused(
                ACL_ERROR_RT_MODEL_EXECUTE,
                "a run of the model instance {:#x} was to go on at the label {:#x}; set that first (aclrtSetLabel)",
                self.run.graph.handle, label.handle,
            )  # fmt: skip
        return self.leave(machine, lane, lane.tasks.index(task))
