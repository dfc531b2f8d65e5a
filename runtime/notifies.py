"""Notifies: a flag on the device that a record sets, and that one wait takes (semantics.md 2).

Records that find the flag set change nothing, so several before a wait count as one. A record that finds streams
waiting lets the one go that waited first; which one a card takes is not stated, and the schedules that look for missing
synchronisation take any.
"""

from collections.abc import Sequence
from copy import copy
from heapq import heappop, heappush
from typing import TYPE_CHECKING

from cannery.runtime.errors import Refused
from cannery.runtime.kept import Kept
from cannery.runtime.tasks import Gated, Record, Task

if TYPE_CHECKING:
    from cannery.runtime.machine import Machine
    from cannery.runtime.objects import Device
    from cannery.runtime.reach import Walk


class Numbers(Kept):
    """The ids of the notifies of a device: the lowest that is free goes to the next one (our choice)."""

    __slots__ = ("free", "used")

    def __init__(self) -> None:
        self.free: list[int] = []
        self.used = 0

    def take(self) -> int:
        if self.free:
            return heappop(self.free)
        self.used += 1
        return self.used - 1

    def give(self, number: int) -> None:
        heappush(self.free, number)


class Notify(Kept):
    """``recorded`` is the flag. ``pending`` are its queued records, ``waiters`` heads of streams that wait for it.

    ``key`` is the name under which it was exported, or empty; ``listed``: only the processes in ``allowed`` may import
    it, pairs of a server (None: this one) and a process id.
    """

    __slots__ = ("allowed", "device", "handle", "key", "listed", "number", "pending", "recorded", "waiters")

    def __init__(self, handle: int, device: "Device") -> None:
        self.handle = handle
        self.device = device
        self.number = device.notify_numbers.take()
        self.recorded = False
        self.pending: list[NotifyRecord] = []
        self.waiters: list[NotifyWait] = []
        self.key = b""
        self.listed = False
        self.allowed: list[tuple[int | None, int]] = []


def make(machine: "Machine", device: "Device") -> Notify:
    """A new notify on a device that has an id for it."""
    notify = Notify(machine.new_handle(), device)
    machine.notifies[notify.handle] = device.notifies[notify.handle] = notify
    return notify


def close(machine: "Machine", notify: Notify) -> None:
    """The handle dies at once; queued work that uses the notify goes on."""
    del machine.notifies[notify.handle], notify.device.notifies[notify.handle]
    notify.device.notify_numbers.give(notify.number)


class NotifyRecord(Task):
    """aclrtRecordNotify: sets the flag, or lets one wait go that found it clear."""

    __slots__ = ("notify",)

    what = "notify record"

    notify: Notify

    def effect(self, machine: "Machine") -> Refused | None:
        notify = self.notify
        notify.pending.remove(self)
        if notify.waiters:
            machine.schedule.opened(notify.waiters.pop(0), self.finish)
        else:
            notify.recorded = True
        return None

    def happened(self, walk: "Walk") -> None:
        walk.notified[self.notify.handle] = walk.notified.get(self.notify.handle, 0) + 1

    def dropped(self, machine: "Machine") -> None:
        self.notify.pending.remove(self)

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
        return not (self.open or self.notify.recorded)

    def certain(self) -> bool:
        return self.open

    def admit(self, machine: "Machine") -> None:
        if not self.open:
            self.open = True
            self.notify.recorded = False

    def effect(self, machine: "Machine") -> Refused | None:
        self.admit(machine)  # where tasks run one at a time, nobody did that when it began
        return None

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
