"""Counting notifies: a number on the device that records change, and that waits compare (reference documents).

A wait looks whenever the number changes while it is the head of its stream; of several that could go, the one that
waited first goes first, and one that clears the number does so as it goes.
"""

from collections.abc import Sequence
from copy import copy
from typing import TYPE_CHECKING, Final

from cannery.runtime.errors import Refused
from cannery.runtime.kept import Kept
from cannery.runtime.tasks import Gated, Record, Task

if TYPE_CHECKING:
    from cannery.runtime.machine import Machine
    from cannery.runtime.objects import Device
    from cannery.runtime.reach import Walk

# aclrtCntNotifyRecordMode
SET: Final = 0
ADD: Final = 1
OR: Final = 2
AND: Final = 4
RECORD_MODES: Final = (SET, ADD, OR, AND)
# aclrtCntNotifyWaitMode
LESS: Final = 0
EQUAL: Final = 1
GREATER: Final = 2
AT_LEAST: Final = 3
BITS: Final = 4
_MASK: Final = (1 << 32) - 1


class CountingNotify(Kept):
    """``value``: the number, of 32 bits. ``pending``: its queued records; ``waiters``: heads of streams that wait."""

    __slots__ = ("device", "handle", "number", "pending", "value", "waiters")

    def __init__(self, handle: int, device: "Device") -> None:
        self.handle = handle
        self.device = device
        self.number = device.counting_numbers.take()
        self.value = 0
        self.pending: list[CountRecord] = []
        self.waiters: list[CountWait] = []

    def look(self, machine: "Machine", at: int) -> None:
        """The number changed at that device time: let those go whom it lets go."""
        moved = True
        while moved:
            moved = False
            for waiter in self.waiters:
                if waiter.passes(self.value):
                    self.waiters.remove(waiter)
                    if waiter.clears:
                        self.value = 0
                    machine.schedule.opened(waiter, at)
                    moved = True
                    break


def make(machine: "Machine", device: "Device") -> CountingNotify:
    """A new counting notify on a device."""
    notify = CountingNotify(machine.new_handle(), device)
    machine.counting[notify.handle] = device.counting[notify.handle] = notify
    return notify


def close(machine: "Machine", notify: CountingNotify) -> None:
    """The handle dies at once; queued work that uses the notify goes on."""
    del machine.counting[notify.handle], notify.device.counting[notify.handle]
    notify.device.counting_numbers.give(notify.number)


class CountRecord(Task):
    """aclrtCntNotifyRecord, aclrtCntNotifyReset."""

    __slots__ = ("mode", "notify", "value")

    what = "record of a counting notify"

    mode: int
    notify: CountingNotify
    value: int

    def changed(self, number: int) -> int:
        """What it makes of a number. Addition wraps around (our choice: not stated)."""
        if self.mode == ADD:
            return (number + self.value) & _MASK
        if self.mode == OR:
            return number | self.value
        return number & self.value if self.mode == AND else self.value

    def effect(self, machine: "Machine") -> Refused | None:
        notify = self.notify
        notify.pending.remove(self)
        notify.value = self.changed(notify.value)
        notify.look(machine, self.finish)
        return None

    def happened(self, walk: "Walk") -> None:
        values = walk.counted(self.notify.handle, self.notify.value)
        values.append(self.changed(values[-1]))

    def dropped(self, machine: "Machine") -> None:
        self.notify.pending.remove(self)

    def again(self, machine: "Machine", records: "dict[Record, Record]") -> Task:
        made = copy(self)
        made.notify.pending.append(made)
        return made


class CountWait(Gated):
    """aclrtCntNotifyWaitWithTimeout: holds its stream until the number passes. ``clears``: the number is 0 then."""

    __slots__ = ("clears", "mode", "notify", "value")

    reported = True
    what = "wait for a counting notify"

    clears: bool
    mode: int
    notify: CountingNotify
    value: int

    def passes(self, number: int) -> bool:
        """Whether that number lets the wait go."""
        if self.mode == LESS:
            return number < self.value
        if self.mode == EQUAL:
            return number == self.value
        if self.mode == GREATER:
            return number > self.value
        return number >= self.value if self.mode == AT_LEAST else number & self.value == self.value

    def closed(self) -> bool:
        return not (self.open or self.passes(self.notify.value))

    def certain(self) -> bool:
        return self.open

    def admit(self, machine: "Machine") -> None:
        if not self.open:
            self.open = True
            if self.clears:
                self.notify.value = 0
                self.notify.look(machine, machine.now + machine.skip)

    def effect(self, machine: "Machine") -> Refused | None:
        self.admit(machine)  # where tasks run one at a time, nobody did that when it began
        return None

    def enrol(self) -> None:
        self.notify.waiters.append(self)

    def needs(self) -> Sequence[Task]:
        return self.notify.pending

    def may_open(self, walk: "Walk") -> bool:
        """A walk has every number that there could be, in any order."""
        for queued in self.notify.pending:
            walk.visit(queued.stream)
        return any(self.passes(number) for number in walk.counted(self.notify.handle, self.notify.value))

    def happened(self, walk: "Walk") -> None:
        if self.clears:
            walk.counted(self.notify.handle, self.notify.value).append(0)

    def dropped(self, machine: "Machine") -> None:
        if self in self.notify.waiters:
            self.notify.waiters.remove(self)
