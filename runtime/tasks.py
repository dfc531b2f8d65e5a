"""Tasks: what sits in a stream.

A task has a cost in nanoseconds and takes effect when it completes. Two flags spare the schedule most calls:
``gated`` tasks (:class:`Gated`) may have to wait for a task of another stream, ``inert`` ones have no effect. What uses
an object that was destroyed meanwhile keeps it until it is done (semantics.md 1.6).
"""

from collections.abc import Sequence
from copy import copy
from typing import TYPE_CHECKING, ClassVar, Final

from cannery.runtime.errors import (
    ACL_ERROR_RT_INTERNAL_ERROR,
    ACL_ERROR_RT_SYS_DMA,
    ACL_ERROR_RT_TASK_TIMEOUT,
    Refused,
)
from cannery.runtime.ids import HardwareId
from cannery.runtime.kept import Kept

if TYPE_CHECKING:
    from cannery.runtime.machine import Machine
    from cannery.runtime.objects import Event, Stream
    from cannery.runtime.places import Place
    from cannery.runtime.reach import Walk


LOST: Final = -1
"""``finish`` of a record that will never be done: its stream was aborted, or stopped after a failure."""

DEVICE_LIMIT: Final = -1
"""``limit`` of a wait on products where the device has the limit, and not the wait (semantics.md 0.4): what
aclrtSetOpWaitTimeout set last when the wait begins."""


class Task(Kept):
    """``number``: order of submission over all streams. ``finish``: device time of completion, valid once ``done``.
    ``caller``: the function whose call submitted it (Schedule.submit), ``thread``: the ordinal of the thread that did,
    or that started the run of which it is a part."""

    __slots__ = ("caller", "cost", "done", "finish", "number", "stream", "thread")

    gated: ClassVar[bool] = False
    grouped: ClassVar[bool] = False  # can be in a task group
    reported: ClassVar[bool] = False  # exception callbacks are told when it fails (reference implementation)
    writes: ClassVar[bool] = False  # device memory
    computes: ClassVar[bool] = False  # uses the cores of the device
    inert: bool = False
    what: ClassVar[str] = "task"

    caller: str
    cost: int
    done: bool
    finish: int
    number: int
    stream: "Stream"
    thread: int

    def closed(self) -> bool:
        """For a gated task at the head of its stream: whether it has to wait."""
        return False

    def effect(self, machine: "Machine") -> Refused | None:
        """Do what the task does; the failure that the next synchronise of the stream answers (semantics.md 5)."""
        return None

    def happened(self, walk: "Walk") -> None:
        """Note in a walk that looks ahead what would follow from the task's completion."""
        if self.writes:
            walk.blurred = True

    def dropped(self, machine: "Machine") -> None:
        """The task will never run: let go of what it holds, and let those go who wait for it."""

    def again(self, machine: "Machine", records: "dict[Record, Record]") -> "Task | None":
        """A task like this one, which a model instance keeps and which was never queued, for one run; None if the run
        can do without. ``records`` has, for each record before it in the instance, that of the run."""
        return copy(self)

    def lost(self, machine: "Machine") -> None:
        """The task will never run, and who waits for it goes on waiting (semantics.md 5: abort, stop mode)."""
        self.dropped(machine)


class Gated(Task):
    """A task that holds its stream until something else happened: its gate opens. From then on it runs as others do.

    ``open``: that happened while it was the head of its stream. ``limit``: so many nanoseconds after it came there, in
    real time, it fails with 107020 if its gate is still closed; or DEVICE_LIMIT; or 0, never.
    """

    __slots__ = ("limit", "open")

    gated = True
    cheap: ClassVar[bool] = True  # to ask, at any time

    limit: int
    open: bool

    def certain(self) -> bool:
        """Whether the gate is open, and nothing can close it before the task comes to it."""
        return not self.closed()

    def admit(self, machine: "Machine") -> None:
        """It is the head of its stream, the gate is open, and the task begins: take what only one can have."""

    def enrol(self) -> None:
        """It became the head of its stream and is closed: ask to be told (``Schedule.opened``) when the gate opens."""
        raise NotImplementedError

    def needs(self) -> Sequence[Task]:
        """For a closed gate: queued tasks, one of which would open it."""
        return ()

    def before(self) -> Task | None:
        """For a closed gate that only the host can open: what has to run first, so that the host can."""
        return None

    def may_open(self, walk: "Walk") -> bool:
        """Whether the gate is open after what happened in a walk that looks ahead; tell the walk where else to look."""
        return False

    def expired(self) -> Refused:
        """The failure that the limit means (semantics.md 1.9, 2)."""
        return Refused(
            ACL_ERROR_RT_TASK_TIMEOUT,
            "the {} on the stream {:#x} ended by its limit of {} s, in which nothing released it",
            self.what, self.stream.handle, self.limit // 1_000_000_000,
        )  # fmt: skip


class Record(Task):
    """aclrtRecordEvent: when it completes, everything queued before it on its stream is done.

    ``id`` is the hardware id that it signals, None for events that nobody can wait for. It is inert as long as no wait
    needs it and its event keeps the id.
    """

    __slots__ = ("id", "inert")

    what = "event record"

    id: "HardwareId | None"

    def effect(self, machine: "Machine") -> Refused | None:
        hardware_id = self.id
        if hardware_id is not None:
            waiters = hardware_id.waiters
            if waiters:
                hardware_id.waiters = []
                for waiter in waiters:
                    machine.schedule.opened(waiter, self.finish)
            if not hardware_id.kept and not hardware_id.uses:
                pool = hardware_id.pool
                if pool is not None:  # let_go, spelled out
                    hardware_id.kept = True
                    self.id = None
                    pool.free.append(hardware_id)
                else:
                    self.let_go()
        return None

    def happened(self, walk: "Walk") -> None:
        walk.done.add(self.number)

    def dropped(self, machine: "Machine") -> None:
        if not self.inert:
            self.effect(machine)

    def again(self, machine: "Machine", records: "dict[Record, Record]") -> "Record":
        made = records[self] = record_of_no_event(self.cost)
        return made

    def lost(self, machine: "Machine") -> None:
        self.finish = LOST
        if self.id is not None and not self.id.kept and not self.id.uses:
            self.let_go()

    def enrol(self, waiter: "RecordWait") -> None:
        """Tell ``waiter`` when this record is done. One that was lost never is."""
        self.inert = False
        if self.id is not None:
            self.id.waiters.append(waiter)

    def use(self) -> None:
        """A wait or reset that needs the id is queued."""
        if self.id is not None:
            self.id.uses += 1

    def supersede(self) -> None:
        """Its event has a newer record, or is gone: the id goes back once nothing queued needs it (1.2)."""
        hardware_id = self.id
        if hardware_id is not None and hardware_id.kept:
            if not self.done:
                hardware_id.kept = False
                self.inert = False
            elif hardware_id.uses:
                hardware_id.kept = False
            elif hardware_id.pool is not None:  # let_go, spelled out
                hardware_id.cleared = False
                self.id = None
                hardware_id.pool.free.append(hardware_id)

    def unuse(self) -> None:
        """A queued wait or reset that needed the id is over."""
        hardware_id = self.id
        if hardware_id is not None:
            hardware_id.uses -= 1
            if not hardware_id.uses and not hardware_id.kept and self.done:
                self.let_go()

    def let_go(self) -> None:
        """Give the id back."""
        assert self.id is not None
        self.id.give_back()
        self.id = None


def record_of_no_event(cost: int) -> Record:
    """A record that tasks can wait for which no event stands for."""
    record = Record()
    record.id = HardwareId(0, None)
    record.inert = True
    record.cost = cost
    return record


class SharedRecord(Record):
    """A record of an event with ACL_EVENT_IPC: takes a slot of the event instead of an id (semantics.md 1.14).
    ``name``: by which other processes know it, 0 if they do not."""

    __slots__ = ("event", "name")

    event: "Event"
    name: int

    def effect(self, machine: "Machine") -> Refused | None:
        super().effect(machine)
        peers = self.event.peers
        if peers is not None and self.name:
            peers.complete(machine, self)
        return None

    def let_go(self) -> None:
        super().let_go()
        self.event.slots -= 1


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
        event.unuse()
        return None

    def happened(self, walk: "Walk") -> None:
        walk.done.add(self.number)
        walk.signalled.add(self.event.handle)

    def dropped(self, machine: "Machine") -> None:
        self.event.pending.remove(self)
        self.event.unuse()

    def lost(self, machine: "Machine") -> None:
        self.finish = LOST
        self.dropped(machine)

    def again(self, machine: "Machine", records: "dict[Record, Record]") -> "SignalRecord":
        made = records[self] = SignalRecord()
        made.id = None
        made.inert = False
        made.event = self.event
        made.cost = self.cost
        made.event.pending.append(made)
        made.event.uses += 1
        if not made.event.gone:  # else it would refer to itself for good
            made.event.take(made)
        return made


class RecordWait(Gated):
    """Holds its stream until ``record`` is done."""

    __slots__ = ("record",)

    record: Record | None

    def closed(self) -> bool:
        record = self.record
        if self.open or record is None:
            return False
        return not record.done or record.finish == LOST or (record.id is not None and record.id.cleared)

    def enrol(self) -> None:
        assert self.record is not None
        self.record.enrol(self)

    def needs(self) -> Sequence[Task]:
        return () if self.record is None or self.record.done else (self.record,)

    def may_open(self, walk: "Walk") -> bool:
        record = self.record
        assert record is not None
        walk.visit(record.stream)
        return record.number in walk.done

    def dropped(self, machine: "Machine") -> None:
        record = self.record
        if record is not None and record.id is not None and self in record.id.waiters:
            record.id.waiters.remove(self)


class EventWait(RecordWait):
    """aclrtStreamWaitEvent: holds its stream until ``record`` is done; without one, until the event's bit is set."""

    __slots__ = ("event",)

    what = "event wait"

    event: "Event"

    def closed(self) -> bool:
        if self.record is not None:
            return super().closed()
        return not self.open and not self.event.signalled

    def use(self) -> None:
        """It is queued: what it waits for has to stay."""
        self.open = False
        self.event.waits += 1
        if self.record is None:
            self.event.uses += 1
        else:
            self.record.use()

    def effect(self, machine: "Machine") -> Refused | None:
        event = self.event
        event.waits -= 1
        if self.record is None:
            event.unuse()
        else:
            self.record.unuse()
        return None

    def enrol(self) -> None:
        if self.record is None:
            self.event.waiters.append(self)
        else:
            self.record.enrol(self)

    def needs(self) -> Sequence[Task]:
        return self.event.pending if self.record is None else super().needs()

    def may_open(self, walk: "Walk") -> bool:
        if self.record is not None:
            return super().may_open(walk)
        for pending in self.event.pending:
            walk.visit(pending.stream)
        return self.event.handle in walk.signalled

    def dropped(self, machine: "Machine") -> None:
        super().dropped(machine)
        if self.record is None and self in self.event.waiters:
            self.event.waiters.remove(self)
        self.effect(machine)

    def again(self, machine: "Machine", records: "dict[Record, Record]") -> "EventWait | None":
        made = copy(self)
        if self.record is not None:
            made.record = records[self.record]
        made.use()
        return made

    def expired(self) -> Refused:
        return Refused(
            ACL_ERROR_RT_TASK_TIMEOUT,
            "the stream {:#x} waited for the event {:#x} until the limit of the wait; record the event, or set a "
            "longer limit (aclrtStreamWaitEventWithTimeout, aclrtSetOpWaitTimeout)",
            self.stream.handle, self.event.handle,
        )  # fmt: skip


class EventReset(Task):
    """aclrtResetEvent: takes back what ``record`` signalled; without one, clears the event's bit (semantics.md 1.8)."""

    __slots__ = ("event", "record")

    what = "event reset"

    event: "Event"
    record: Record | None

    def effect(self, machine: "Machine") -> Refused | None:
        record = self.record
        if record is None:
            self.event.signalled = False
        elif record.done and record.id is not None:
            record.id.cleared = True
        self.dropped(machine)
        return None

    def use(self) -> None:
        """It is queued: what it clears has to stay."""
        if self.record is None:
            self.event.uses += 1
        else:
            self.record.use()

    def dropped(self, machine: "Machine") -> None:
        if self.record is None:
            self.event.unuse()
        else:
            self.record.unuse()

    def again(self, machine: "Machine", records: "dict[Record, Record]") -> "EventReset":
        made = copy(self)
        made.use()
        return made


class Copy(Task):
    """aclrtMemcpyAsync between places that need no help of the host: reads and writes when it completes."""

    __slots__ = ("destination", "size", "source")

    writes = True
    reported = True
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

    writes = True
    reported = True
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
        machine.memory.store(self.destination, self.content)
        return None


class HostToHost(Task):
    """A copy from host to host, as the documents have it: accepted at the call, failing when it runs (section 11)."""

    __slots__ = ()

    reported = True
    what = "memory copy from host to host"

    def effect(self, machine: "Machine") -> Refused | None:
        return Refused(
            ACL_ERROR_RT_INTERNAL_ERROR,
            "an asynchronous copy from host to host was submitted; use aclrtMemcpy or memcpy for that",
        )
