"""Tasks: what sits in a stream.

A task has a cost in nanoseconds and takes effect when it completes. Two flags spare the schedule most calls:
``gated`` tasks (:class:`Gated`) may have to wait for a task of another stream, ``inert`` ones have no effect. What uses
an object that was destroyed meanwhile keeps it until it is done (semantics.md 1.6).
"""

from collections.abc import Callable
from copy import copy
from typing import TYPE_CHECKING, ClassVar

from cannery.runtime.errors import (
    ACL_ERROR_RT_INTERNAL_ERROR,
    ACL_ERROR_RT_SYS_DMA,
    ACL_ERROR_RT_TASK_TIMEOUT,
    Refused,
)

if TYPE_CHECKING:
    from cannery.runtime.machine import Machine
    from cannery.runtime.memory import Place
    from cannery.runtime.objects import Event, Stream


class Task:
    """``number``: order of submission over all streams. ``finish``: device time of completion, valid once ``done``."""

    __slots__ = ("cost", "done", "finish", "number", "stream")

    gated: ClassVar[bool] = False
    grouped: ClassVar[bool] = False  # can be in a task group
    inert: bool = False
    what: ClassVar[str] = "task"

    cost: int
    done: bool
    finish: int
    number: int
    stream: "Stream"

    def closed(self) -> bool:
        """For a gated task at the head of its stream: whether it has to wait."""
        return False

    def effect(self, machine: "Machine") -> Refused | None:
        """Do what the task does; the failure that the next synchronise of the stream answers (semantics.md 5)."""
        return None

    def dropped(self, machine: "Machine") -> None:
        """The task will never run: let go of what it holds, and let those go who wait for it."""

    def again(self, machine: "Machine", records: "dict[Record, Record]") -> "Task | None":
        """A task like this one, which a model instance keeps and which was never queued, for one run; None if the run
        can do without. ``records`` has, for each record before it in the instance, that of the run."""
        return copy(self)


class Gated(Task):
    """A task that holds its stream until something else happened: its gate opens. From then on it runs as others do.

    ``limit``: so many nanoseconds after it came to the head of its stream, in real time, it fails with 107020 if its
    gate is still closed (0: never). What has one takes a slot for it.
    """

    __slots__ = ()

    gated = True
    limit: int = 0

    def certain(self) -> bool:
        """Whether the gate is open, and nothing can close it before the task comes to it."""
        return not self.closed()

    def admit(self, machine: "Machine") -> None:
        """The gate is open, and the task begins: take what only one can have."""

    def enrol(self) -> None:
        """Ask to be told (``Schedule.opened``) when the gate opens."""
        raise NotImplementedError

    def opener(self, reachable: Callable[[Task], bool]) -> Task | None:
        """For a closed gate: a queued task that opens it, and that completes without a further action of the host."""
        raise NotImplementedError

    def expired(self) -> Refused:
        """The failure that the limit means (semantics.md 1.9, 2)."""
        return Refused(
            ACL_ERROR_RT_TASK_TIMEOUT,
            "the {} on the stream {:#x} ended by its limit of {} s, in which nothing released it",
            self.what, self.stream.handle, self.limit // 1_000_000_000,
        )  # fmt: skip

    def before(self) -> Task | None:
        """For a closed gate that only the host can open: what has to run first, so that the host can."""
        return None


class Record(Task):
    """aclrtRecordEvent: when it completes, everything queued before it on its stream is done.

    ``waiters`` are heads of other streams that wait for this very record; there are none while it is inert.
    """

    __slots__ = ("inert", "waiters")
    __deletable__ = ("waiters",)  # for the compiled form

    what = "event record"

    waiters: "list[Gated]"

    def effect(self, machine: "Machine") -> Refused | None:
        waiters = self.waiters
        self.inert = True
        del self.waiters  # they refer to this record
        for waiter in waiters:
            machine.schedule.opened(waiter, self.finish)
        return None

    def dropped(self, machine: "Machine") -> None:
        if not self.inert:
            self.effect(machine)

    def again(self, machine: "Machine", records: "dict[Record, Record]") -> "Record":
        made = records[self] = Record()
        made.inert = True
        made.cost = self.cost
        return made

    def enrol(self, waiter: "Gated") -> None:
        """Tell ``waiter`` when this record is done."""
        if self.inert:
            self.inert = False
            self.waiters = []
        self.waiters.append(waiter)


class SignalRecord(Record):
    """A record of an event with a permanent id: sets its bit, which lets every waiting stream go."""

    __slots__ = ("event",)

    event: "Event"

    def effect(self, machine: "Machine") -> Refused | None:
        event = self.event
        event.signalled = True
        event.pending.remove(self)
        waiters, event.waiters = event.waiters, []
        for waiter in waiters:
            machine.schedule.opened(waiter, self.finish)
        return None

    def dropped(self, machine: "Machine") -> None:
        self.event.pending.remove(self)

    def again(self, machine: "Machine", records: "dict[Record, Record]") -> "SignalRecord":
        made = records[self] = SignalRecord()
        made.inert = False
        made.event = self.event
        made.cost = self.cost
        made.event.pending.append(made)
        if made.event.handle in machine.events:  # else it would refer to itself for good
            made.event.record = made
        return made


class EventWait(Gated):
    """aclrtStreamWaitEvent: holds its stream until ``record`` is done; without one, until the event's bit is set."""

    __slots__ = ("event", "record")

    inert = True
    what = "event wait"

    event: "Event"
    record: Record | None

    def closed(self) -> bool:
        record = self.record
        return not (self.event.signalled if record is None else record.done)

    def again(self, machine: "Machine", records: "dict[Record, Record]") -> "EventWait | None":
        made = copy(self)
        if self.record is not None:
            made.record = records[self.record]
        return made

    def enrol(self) -> None:
        if self.record is None:
            self.event.waiters.append(self)
        else:
            self.record.enrol(self)

    def opener(self, reachable: Callable[[Task], bool]) -> Task | None:
        if self.record is not None:
            return self.record
        for record in self.event.pending:
            if reachable(record):
                return record
        return None

    def dropped(self, machine: "Machine") -> None:
        record = self.record
        waiters = self.event.waiters if record is None else [] if record.inert else record.waiters
        if self in waiters:
            waiters.remove(self)


class LimitedEventWait(EventWait):
    """A wait for an event that has a limit."""

    __slots__ = ("limit",)


class Copy(Task):
    """aclrtMemcpyAsync between places that need no help of the host: reads and writes when it completes."""

    __slots__ = ("destination", "size", "source")

    what = "memory copy"

    destination: "Place"
    source: "Place"
    size: int

    def effect(self, machine: "Machine") -> Refused | None:
        destination, source, size = self.destination, self.source, self.size
        if not destination.holds(size):
            return self._gone("destination", destination)
        if not source.holds(size):
            return self._gone("source", source)
        if machine.memory.copy(destination, source, size):
            return None
        return Refused(
            ACL_ERROR_RT_SYS_DMA,
            "an asynchronous copy of {} bytes from {:#x} to {:#x} found its host memory not accessible when it ran; "
            "keep host memory mapped until the stream is synchronised",
            size, source.address, destination.address,
        )  # fmt: skip

    def _gone(self, role: str, place: "Place") -> Refused:
        return Refused(
            ACL_ERROR_RT_SYS_DMA,
            "an asynchronous copy of {} bytes found its {} ({:#x}, {}) freed, or shorter, when it ran; synchronise the "
            "stream before freeing memory that it uses",
            self.size, role, place.address, place.kind,
        )  # fmt: skip


class BufferedCopy(Task):
    """A copy to the device whose source was read when it was submitted (kind ACL_MEMCPY_HOST_TO_BUF_TO_DEVICE)."""

    __slots__ = ("content", "destination")

    what = "memory copy"

    content: memoryview
    destination: "Place"

    def effect(self, machine: "Machine") -> Refused | None:
        size = len(self.content)
        if not self.destination.holds(size):
            return Refused(
                ACL_ERROR_RT_SYS_DMA,
                "an asynchronous copy of {} bytes found its destination ({:#x}) freed, or shorter, when it ran",
                size, self.destination.address,
            )  # fmt: skip
        machine.memory.view(self.destination, size)[:] = self.content
        return None


class HostToHost(Task):
    """A copy from host to host, as the documents have it: accepted at the call, failing when it runs (section 11)."""

    __slots__ = ()

    what = "memory copy from host to host"

    def effect(self, machine: "Machine") -> Refused | None:
        return Refused(
            ACL_ERROR_RT_INTERNAL_ERROR,
            "an asynchronous copy from host to host was submitted; use aclrtMemcpy or memcpy for that",
        )
