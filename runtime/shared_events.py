"""Events with ACL_EVENT_IPC that several processes have (semantics.md 1.14).

A record, of whichever process, takes one of so many slots until it is done, and is the latest from the call on. Waits,
queries and synchronise calls look at the latest record when they are called; one that is done counts as none. A
record of another process is a :class:`ForeignRecord` here, as long as something waits for it.
"""

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

from cannery.runtime.errors import Again
from cannery.runtime.ids import HardwareId
from cannery.runtime.kept import Kept
from cannery.runtime.tasks import Record, SharedRecord, Task
from cannery.runtime.waits import Until

if TYPE_CHECKING:
    from cannery.runtime.exchange import Exchange
    from cannery.runtime.machine import Machine
    from cannery.runtime.objects import Event


class ForeignRecord(Record):
    """A record that another process queued. It is in no queue here, and done once that process says so."""

    __slots__ = ()


class Later(Until):
    """Time went on since ``asked``."""

    __slots__ = ("asked",)

    def __init__(self, asked: int) -> None:
        self.asked = asked

    def holds(self, machine: "Machine") -> bool:
        return machine.now != self.asked


class SharedEvent(Kept):
    """What an event shares. ``key`` opens it, ``own`` are the outstanding records of this process, and ``foreign``
    those of others that something here waits for, by the names that the exchange gave. ``gone``: the event is
    destroyed."""

    __slots__ = ("entry", "exchange", "foreign", "gone", "key", "own")

    def __init__(self, machine: "Machine", entry: int, key: Any) -> None:
        self.exchange: Exchange = machine.port.exchange
        self.entry = entry
        self.key = key
        self.own: dict[int, SharedRecord] = {}
        self.foreign: dict[int, ForeignRecord] = {}
        self.gone = False
        machine.shared[entry] = self

    def begin(self, machine: "Machine", record: SharedRecord) -> None:
        """A record of this process is queued.

        Raises:
            Again: all slots are taken.
        """
        name = self.exchange.record(self.entry)
        if not name:
            raise Again(until=Later(machine.now))
        record.name = name
        self.own[name] = record

    def complete(self, machine: "Machine", record: SharedRecord) -> None:
        """It is done."""
        del self.own[record.name]
        self.exchange.complete(self.entry, record.name)
        self._let_go(machine)

    def latest(self, event: "Event") -> Record | None:
        """The latest record, unless it is done."""
        name = self.exchange.latest(self.entry)
        if not name:
            return None
        own = self.own.get(name)
        if own is not None:
            return own
        record = self.foreign.get(name)
        if record is None:
            record = self.foreign[name] = _foreign(event)
        return record

    def look(self, machine: "Machine", at: int) -> None:
        """Records of other processes may be done: let who waits for them go."""
        for name, record in [*self.foreign.items()]:
            if self.exchange.completed(self.entry, name):
                del self.foreign[name]
                record.done = True
                record.finish = at
                record.effect(machine)

    def signals(self) -> Sequence[Task]:
        """The queued records."""
        return [*self.own.values()]

    def close(self, machine: "Machine") -> None:
        """The event is destroyed; its queued records are still to be done."""
        self.gone = True
        self._let_go(machine)

    def _let_go(self, machine: "Machine") -> None:
        if self.gone and not self.own:
            for record in self.foreign.values():  # who waits for them would wait for ever
                record.done = True
                record.finish = machine.now + machine.skip
                record.effect(machine)
            self.foreign.clear()
            self.exchange.close(self.entry)
            del machine.shared[self.entry]


def _foreign(event: "Event") -> ForeignRecord:
    record = ForeignRecord()
    record.id = HardwareId(0, None)
    record.id.kept = False
    record.inert = False
    record.cost = 0
    record.number = -1
    record.done = False
    record.stream = event.context.default
    return record


def share(machine: "Machine", event: "Event", entry: int, key: Any) -> None:
    """Make an event of this process one that others can open; its outstanding records take slots."""
    peers = event.peers = SharedEvent(machine, entry, key)
    outstanding = [
        task
        for context in machine.contexts.values()
        for stream in context.streams.values()
        for task in stream.queue
        if isinstance(task, SharedRecord) and task.event is event
    ]
    for record in sorted(outstanding, key=lambda task: task.number):
        peers.begin(machine, record)
