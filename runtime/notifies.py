"""Notifies: a flag on the device that a record sets, and that one wait takes (semantics.md 2).

Records that find the flag set change nothing, so several before a wait count as one. A record that finds streams
waiting lets the one go that waited first; which one a card takes is not stated, and the schedules that look for missing
synchronisation take any.
"""

from collections.abc import Sequence
from copy import copy
from heapq import heappop, heappush
from typing import TYPE_CHECKING, Any

from cannery.runtime.budgets import Budget
from cannery.runtime.errors import Refused
from cannery.runtime.kept import Kept
from cannery.runtime.tasks import Gated, Record, Task

if TYPE_CHECKING:
    from cannery.runtime.exchange import Exchange
    from cannery.runtime.machine import Machine
    from cannery.runtime.objects import Device
    from cannery.runtime.reach import Walk


class Numbers(Kept):
    """The ids of the notifies of a device: the lowest that is free goes to the next one (our choice). ``budget``: what
    all processes share, None where each has its own."""

    __slots__ = ("budget", "free", "used")

    def __init__(self, budget: Budget | None) -> None:
        self.budget = budget
        self.free: list[int] = []
        self.used = 0

    def take(self) -> int:
        """A number, after a claim of the budget."""
        if self.free:
            return heappop(self.free)
        self.used += 1
        return self.used - 1

    def give(self, number: int) -> None:
        heappush(self.free, number)
        if self.budget is not None:
            self.budget.release(1)


class Notify(Kept):
    """``recorded`` is the flag. ``pending`` are its queued records, ``waiters`` heads of streams that wait for it, and
    ``waits`` counts all that are queued.

    One that other processes have too is an ``entry`` of the ``exchange``, which then has the flag. ``own``: this
    process made it. ``home`` is the index of the device that it is of, ``device`` the one it goes with. ``key`` is the
    name under which it was exported, or None; ``gone``: destroyed, though queued work may still use it.
    """

    __slots__ = (
        "device", "entry", "exchange", "gone", "handle", "home", "key", "number", "own", "pending", "recorded",
        "waiters", "waits",
    )  # fmt: skip

    def __init__(self, handle: int, device: "Device", number: int, home: int, own: bool) -> None:
        self.handle = handle
        self.device = device
        self.number = number
        self.home = home
        self.own = own
        self.recorded = False
        self.pending: list[NotifyRecord] = []
        self.waiters: list[NotifyWait] = []
        self.waits = 0
        self.entry = 0
        self.exchange: Exchange | None = None
        self.key: Any = None
        self.gone = False

    def become(self, machine: "Machine", entry: int) -> None:
        """Other processes have it too, as that entry."""
        self.entry = entry
        self.exchange = machine.port.exchange
        machine.shared[entry] = self
        if self.recorded:
            self.recorded = False
            self.exchange.signal(entry)

    def look(self, machine: "Machine", at: int) -> None:
        """The flag may be set: let who waits have it."""
        exchange = self.exchange
        while exchange is not None and self.waiters and exchange.take(self.entry):
            machine.schedule.opened(self.waiters.pop(0), at)

    def signals(self) -> Sequence[Task]:
        """The queued records."""
        return self.pending

    def unuse(self, machine: "Machine") -> None:
        """Something queued that used it is over."""
        if self.gone and not self.pending and not self.waits and self.exchange is not None:
            self.exchange.close(self.entry)
            self.exchange = None
            del machine.shared[self.entry]


def make(machine: "Machine", device: "Device") -> Notify:
    """A new notify on a device that has an id for it."""
    return _enter(machine, Notify(machine.new_handle(), device, device.notify_numbers.take(), device.index, True))


def opened(machine: "Machine", device: "Device", home: int, number: int, entry: int) -> Notify:
    """A notify that another process shares; it goes with ``device``, and is of the one with the index ``home``."""
    notify = _enter(machine, Notify(machine.new_handle(), device, number, home, False))
    notify.become(machine, entry)
    return notify


def _enter(machine: "Machine", notify: Notify) -> Notify:
    machine.notifies[notify.handle] = notify.device.notifies[notify.handle] = notify
    return notify


def close(machine: "Machine", notify: Notify) -> None:
    """The handle dies at once; queued work that uses the notify goes on."""
    del machine.notifies[notify.handle], notify.device.notifies[notify.handle]
    notify.gone = True
    if notify.own:
        notify.device.notify_numbers.give(notify.number)
    notify.unuse(machine)


class NotifyRecord(Task):
    """aclrtRecordNotify: sets the flag, or lets one wait go that found it clear."""

    __slots__ = ("notify",)

    what = "notify record"

    notify: Notify

    def effect(self, machine: "Machine") -> Refused | None:
        notify = self.notify
        notify.pending.remove(self)
        if notify.exchange is not None:
            notify.exchange.signal(notify.entry)
            notify.look(machine, self.finish)
            notify.unuse(machine)
        elif notify.waiters:
            machine.schedule.opened(notify.waiters.pop(0), self.finish)
        else:
            notify.recorded = True
        return None

    def happened(self, walk: "Walk") -> None:
        walk.notified[self.notify.handle] = walk.notified.get(self.notify.handle, 0) + 1

    def dropped(self, machine: "Machine") -> None:
        self.notify.pending.remove(self)
        self.notify.unuse(machine)

    def again(self, machine: "Machine", records: "dict[Record, Record]") -> Task:
        made = copy(self)
        made.notify.pending.append(made)
        return made


class NotifyWait(Gated):
    """aclrtWaitAndResetNotify: holds its stream until it has the flag, which is clear then."""

    __slots__ = ("notify",)

    reported = True
    what = "notify wait"

    notify: Notify

    def closed(self) -> bool:
        """A flag that other processes can take is taken as soon as it is seen: by the head of a stream only, and not
        where the schedule waits to be told, since it has to know of a gate that opens."""
        notify = self.notify
        if notify.exchange is None:
            return not (self.open or notify.recorded)
        if not self.open and self.stream.queue[0] is self and self not in notify.waiters:
            self.open = notify.exchange.take(notify.entry)
        return not self.open

    def certain(self) -> bool:
        return self.open or (self.notify.exchange is not None and not self.closed())

    def admit(self, machine: "Machine") -> None:
        if not self.open:
            self.open = True
            self.notify.recorded = False

    def effect(self, machine: "Machine") -> Refused | None:
        self.admit(machine)  # where tasks run one at a time, nobody did that when it began
        self._over(machine)
        return None

    def _over(self, machine: "Machine") -> None:
        self.notify.waits -= 1
        self.notify.unuse(machine)

    def enrol(self) -> None:
        self.notify.waiters.append(self)

    def needs(self) -> Sequence[Task]:
        return self.notify.pending

    def may_open(self, walk: "Walk") -> bool:
        """A walk has what each stream takes of the records, not what others take."""
        notify = self.notify
        for queued in notify.pending:
            walk.visit(queued.stream)
        name = (self.stream.handle, notify.handle)
        taken = walk.taken.get(name, 0)
        if taken >= walk.notified.get(notify.handle, 0) + notify.recorded:
            return False
        walk.taken[name] = taken + 1
        return True

    def dropped(self, machine: "Machine") -> None:
        if self in self.notify.waiters:
            self.notify.waiters.remove(self)
        self._over(machine)

    def again(self, machine: "Machine", records: "dict[Record, Record]") -> Task:
        made = copy(self)
        made.notify.waits += 1
        return made
