"""Tasks: what sits in a stream.

A task has a cost in nanoseconds and takes effect when it completes. Two flags spare the schedule most calls:
``gated`` tasks may have to wait for a task of another stream, ``inert`` ones have no effect.
"""

from typing import TYPE_CHECKING, ClassVar

if TYPE_CHECKING:
    from cannery.runtime.machine import Machine
    from cannery.runtime.objects import Event, Stream


class Task:
    """``number``: order of submission over all streams. ``finish``: device time of completion, valid once ``done``."""

    __slots__ = ("cost", "done", "finish", "number", "stream")

    gated: ClassVar[bool] = False
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

    def effect(self, machine: "Machine") -> int:
        """Do what the task does. 0, or the number of its failure (semantics.md 5)."""
        return 0


class Record(Task):
    """aclrtRecordEvent: when it completes, everything queued before it on its stream is done.

    ``waiters`` are heads of other streams that wait for this very record; there are none while it is inert.
    """

    __slots__ = ("inert", "waiters")

    what = "event record"

    waiters: "list[EventWait]"

    def effect(self, machine: "Machine") -> int:
        self.inert = True
        for waiter in self.waiters:
            machine.schedule.opened(waiter, self.finish)
        return 0

    def enrol(self, waiter: "EventWait") -> None:
        """Tell ``waiter`` when this record is done."""
        if self.inert:
            self.inert = False
            self.waiters = []
        self.waiters.append(waiter)


class SignalRecord(Record):
    """A record of an event with a permanent id: sets its bit, which lets every waiting stream go."""

    __slots__ = ("event",)

    event: "Event"

    def effect(self, machine: "Machine") -> int:
        event = self.event
        event.signalled = True
        event.pending.remove(self)
        waiters, event.waiters = event.waiters, []
        for waiter in waiters:
            machine.schedule.opened(waiter, self.finish)
        return 0


class EventWait(Task):
    """aclrtStreamWaitEvent: holds its stream until ``record`` is done; without one, until the event's bit is set."""

    __slots__ = ("event", "record")

    gated = True
    inert = True
    what = "event wait"

    event: "Event"
    record: Record | None

    def closed(self) -> bool:
        record = self.record
        return not (self.event.signalled if record is None else record.done)

    def enrol(self) -> None:
        """Ask to be told when the gate opens."""
        if self.record is None:
            self.event.waiters.append(self)
        else:
            self.record.enrol(self)

    def withdraw(self) -> None:
        """No longer wait."""
        record = self.record
        waiters = self.event.waiters if record is None else [] if record.inert else record.waiters
        if self in waiters:
            waiters.remove(self)
