"""Lanes: where the tasks of a stream go instead of its queue, while it is captured, bound to a model instance, or
updates a task group. Calls submit tasks as ever (:meth:`Schedule.submit`); ``graphs.py`` has what becomes of them.
"""

from typing import TYPE_CHECKING, ClassVar, Final

from cannery.runtime.errors import (
    ACL_ERROR_RT_INTERNAL_ERROR,
    ACL_ERROR_RT_STREAM_MODEL,
    ACL_ERROR_RT_TASK_TYPE_NOT_SUPPORT,
    ACL_ERROR_STREAM_TASK_GROUP_INTR,
    Refused,
    out_of_range,
)
from cannery.runtime.kept import Kept
from cannery.runtime.tasks import Record, Task

if TYPE_CHECKING:
    from cannery.runtime.graphs import Graph
    from cannery.runtime.machine import Machine
    from cannery.runtime.objects import Event, Stream

RESERVED: Final = 8  # tasks of a captured stream that are kept for the runtime's own (our number)


class Lane(Kept):
    """``capturing``: the stream is in capture. ``bound``: it belongs to a model instance."""

    __slots__ = ()

    capturing: ClassVar[bool] = False

    @property
    def bound(self) -> bool:
        return False

    def check(self, machine: "Machine", task: Task) -> None:
        """Whether a task can be taken.

        Raises:
            Refused: it cannot. Nothing changed then, but for a capture that broke.
        """
        raise NotImplementedError

    def take(self, task: Task) -> int:
        """Take a task that passed the check; its number among those that this lane, or its instance, has."""
        raise NotImplementedError


class InnerLane(Lane):
    """Of the streams that an instance made for itself: nobody else submits to them."""

    __slots__ = ()

    @property
    def bound(self) -> bool:
        return True

    def check(self, machine: "Machine", task: Task) -> None:
        raise Refused(
            ACL_ERROR_RT_STREAM_MODEL,
            "the stream {:#x} belongs to a model instance and takes no {}; use a stream of your own",
            task.stream.handle, task.what,
        )  # fmt: skip


INNER: Final = InnerLane()


class CaptureLane(Lane):
    """Of a stream in capture, ``source``. ``stream`` is the one that will run its tasks.

    ``origin``: the capture began here. ``last`` is the latest task. ``room``: so many more tasks fit before another
    stream is needed. ``broken``: it was needed, and there was none. ``group``: the open task group.
    """

    __slots__ = ("broken", "graph", "group", "last", "origin", "room", "source", "stream")

    capturing = True

    def __init__(self, machine: "Machine", graph: "Graph", source: "Stream", origin: bool) -> None:
        self.graph = graph
        self.source = source
        self.stream = graph.new_stream(machine)
        self.origin = origin
        self.last: Task | None = None
        self.room = machine.depth - RESERVED
        self.broken = False
        self.group: TaskGroup | None = None

    def check(self, machine: "Machine", task: Task) -> None:
        graph = self.graph
        self._check_uninterrupted(task)
        if self.group is not None and not task.grouped:
            raise not_grouped(task)
        if not self.room:
            try:
                graph.new_stream(machine)
            except Refused:
                self.broken = graph.broken = True
                raise
            self.room = machine.depth - RESERVED

    def take(self, task: Task) -> int:
        task.stream = self.stream
        self.graph.tasks.append(task)
        if self.group is not None:
            self.group.tasks.append(task)
        self.last = task
        self.room -= 1
        return len(self.graph.tasks)

    def _check_uninterrupted(self, task: Task) -> None:
        graph = self.graph
        if graph.grouping is None or graph.grouping is self:
            return
        # reference implementation: this breaks the group and the capture
        graph.broken = True
        graph.interrupted = Refused(
            ACL_ERROR_STREAM_TASK_GROUP_INTR,
            "work ({}) went to the stream {:#x} while the stream {:#x} of the same capture has a task group open; "
            "close that first (aclmdlRICaptureTaskGrpEnd)",
            task.what, self.source.handle, graph.grouping.source.handle,
        )  # fmt: skip
        raise graph.interrupted.again()


class BoundLane(Lane):
    """Of a stream made with ACL_STREAM_PERSISTENT: its tasks are for the model instance that it is bound to by hand.
    ``head``: they run as soon as the instance does. ``cleaned``: it takes tasks although building has ended."""

    __slots__ = ("cleaned", "graph", "head", "stream", "tasks")

    def __init__(self, stream: "Stream") -> None:
        self.stream = stream
        self.graph: Graph | None = None
        self.head = True
        self.cleaned = False
        self.tasks: list[Task] = []

    @property
    def bound(self) -> bool:
        return self.graph is not None

    def check(self, machine: "Machine", task: Task) -> None:
        graph = self.graph
        if graph is not None and graph.built and not self.cleaned:
            # the reference documents forbid it (aclmdlRIBuildEnd) and do not say what happens
            raise out_of_range(
                "the stream {:#x} belongs to the model instance {:#x}, whose building has ended (aclmdlRIBuildEnd); it "
                "takes no more tasks",
                self.stream.handle, graph.handle,
            )  # fmt: skip

    def take(self, task: Task) -> int:
        self.tasks.append(task)
        graph = self.graph
        if graph is not None and graph.built and self.head:
            graph.tasks.append(task)
        return len(self.tasks)


class UpdateLane(Lane):
    """Of a stream between aclmdlRICaptureTaskUpdateBegin and End, where tasks take the place of those of ``group``,
    which belongs to ``graph``; ``updated`` of them did. ``behind`` is the lane that the stream had."""

    __slots__ = ("behind", "graph", "group", "updated")

    def __init__(self, graph: "Graph", group: "TaskGroup", behind: Lane | None) -> None:
        self.graph = graph
        self.group = group
        self.behind = behind
        self.updated = 0

    def check(self, machine: "Machine", task: Task) -> None:
        if not task.grouped:
            raise not_grouped(task)
        count = len(self.group.tasks)
        if self.updated >= count:
            raise Refused(
                ACL_ERROR_RT_INTERNAL_ERROR,
                "the task group {:#x} has {} tasks, all updated; end the update (aclmdlRICaptureTaskUpdateEnd)",
                self.group.handle, count,
            )  # fmt: skip

    def take(self, task: Task) -> int:
        old = self.group.tasks[self.updated]
        task.stream = old.stream
        tasks = self.graph.tasks
        place = tasks.index(old)
        tasks[place] = self.group.tasks[self.updated] = task
        self.graph.replaced(old, task)
        self.updated += 1
        return place + 1


class TaskGroup(Kept):
    """Tasks of a capture that can be updated later, all kernels; it has a handle once it is closed. ``updating``: a
    stream updates it now."""

    __slots__ = ("handle", "tasks", "updating")

    def __init__(self) -> None:
        self.handle = 0
        self.tasks: list[Task] = []
        self.updating = False


def not_grouped(task: Task) -> Refused:
    """507009 (reference documents, aclmdlRICaptureTaskGrpBegin): the task is no kernel."""
    return Refused(
        ACL_ERROR_RT_TASK_TYPE_NOT_SUPPORT,
        "only kernels can be in a task group, and this is none ({}); submit it before the group begins or after it",
        task.what,
    )


class CapturedRecord(Record):
    """A record in a capture. ``waited``: a stream waits for it; ``joins``: the stream where the capture began does."""

    __slots__ = ("event", "joins", "waited")

    event: "Event"
    joins: bool
    waited: bool


class Captured(Kept):
    """What an event in capture has: its latest record there, and the lane with it."""

    __slots__ = ("lane", "record")

    def __init__(self, lane: CaptureLane, record: CapturedRecord) -> None:
        self.lane = lane
        self.record = record
