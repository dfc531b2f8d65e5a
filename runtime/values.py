"""Values of 64 bits in device memory that tasks write, and that streams wait for (reference documents).

A wait looks at the value whenever device memory is written while it is the head of its stream.
"""

from collections.abc import Sequence
from copy import copy
from typing import TYPE_CHECKING, Final

from cannery.runtime.errors import Refused
from cannery.runtime.memory_tasks import gone
from cannery.runtime.tasks import Gated, Record, Task

if TYPE_CHECKING:
    from cannery.runtime.machine import Machine
    from cannery.runtime.places import Place
    from cannery.runtime.reach import Walk

SIZE: Final = 8
_MASK: Final = (1 << 64) - 1

# flags of aclrtValueWait
AT_LEAST: Final = 0
EQUAL: Final = 1
AND: Final = 2
NOR: Final = 3


def passes(found: int, flag: int, value: int) -> bool:
    """Whether what was found lets a wait go."""
    if flag == AT_LEAST:
        return (found - value) & _MASK < 1 << 63
    if flag == EQUAL:
        return found == value
    if flag == AND:
        return found & value != 0
    return ~(found | value) & _MASK != 0


class ValueWrite(Task):
    """aclrtValueWrite."""

    __slots__ = ("place", "value")

    writes = True
    what = "value write"

    place: "Place"
    value: int

    def happened(self, walk: "Walk") -> None:
        walk.values[self.place.address] = self.value

    def effect(self, machine: "Machine") -> Refused | None:
        if not self.place.holds(SIZE):
            return gone(self.what, SIZE, self.place)
        machine.memory.store(self.place, self.value.to_bytes(SIZE, "little"))
        return None


class ValueWait(Gated):
    """aclrtValueWait: holds its stream until the value at ``place`` passes. When the memory is freed, it goes on and
    fails."""

    __slots__ = ("flag", "machine", "place", "value")

    cheap = False
    what = "wait for a value"

    flag: int
    machine: "Machine"
    place: "Place"
    value: int

    def closed(self) -> bool:
        if self.open or not self.place.holds(SIZE):
            return False
        content = self.machine.memory.load(self.place, SIZE)
        assert content is not None, "device memory that is there is readable"
        return not self._passes(int.from_bytes(content, "little"))

    def _passes(self, found: int) -> bool:
        return passes(found, self.flag, self.value)

    def certain(self) -> bool:
        return self.open

    def admit(self, machine: "Machine") -> None:
        self.open = True

    def enrol(self) -> None:
        self.machine.memory.watchers.append(self)

    def look(self) -> None:
        """Device memory was written, or freed."""
        if not self.closed():
            machine = self.machine
            machine.memory.watchers.remove(self)
            machine.schedule.opened(self, machine.now + machine.skip)

    def needs(self) -> Sequence[Task]:
        streams = self.machine.streams.values()
        return [task for stream in streams for task in stream.queue if task.writes and self._could(task)]

    def _could(self, task: Task) -> bool:
        """What a value write puts there is known; anything else could be what it takes."""
        if not isinstance(task, ValueWrite):
            return True
        return task.place.address == self.place.address and self._passes(task.value)

    def may_open(self, walk: "Walk") -> bool:
        for stream in self.machine.streams.values():
            walk.visit(stream)
        found = walk.values.get(self.place.address)
        return walk.blurred or not self.closed() or (found is not None and self._passes(found))

    def effect(self, machine: "Machine") -> Refused | None:
        return None if self.place.holds(SIZE) else gone(self.what, SIZE, self.place)

    def dropped(self, machine: "Machine") -> None:
        watchers = machine.memory.watchers
        if self in watchers:
            watchers.remove(self)

    def again(self, machine: "Machine", records: "dict[Record, Record]") -> Task:
        made = copy(self)
        made.open = False
        return made
