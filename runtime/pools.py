"""Memory pools: memory of a device that is allocated and freed in stream order, and kept for reuse.

What a pool has, busy or kept, are segments of whole multiples of 2 MiB. Memory that was freed in a stream is used again
by that stream at once, since the tasks in between come first; by other streams once that stream got there, where the
pool allows them to (reference documents; the public implementation takes more freedom, and reuses nothing). The closest
size is used, and it is not divided.
"""

from typing import TYPE_CHECKING, Final

from cannery.runtime.kept import Kept
from cannery.runtime.memory import Memory
from cannery.runtime.places import Allocation
from cannery.runtime.tasks import Task

if TYPE_CHECKING:
    from cannery.runtime.errors import Refused
    from cannery.runtime.machine import Machine
    from cannery.runtime.objects import Device, Stream

GRANULE: Final = 2 << 20

# aclrtMemPoolAttr
SHARING: Final = (1, 2, 3)  # with which other streams memory is used again
THRESHOLD: Final = 4
RESERVED: Final = 5
RESERVED_HIGH: Final = 6
USED: Final = 7
USED_HIGH: Final = 8


class Segment(Kept):
    """``base``: memory that was taken for it. ``stream``: handle of the stream that freed it, in the task ``freeing``,
    while it is kept."""

    __slots__ = ("base", "freeing", "stream")

    def __init__(self, base: Allocation) -> None:
        self.base = base
        self.stream = 0
        self.freeing: PoolFree | None = None


class PoolFree(Task):
    """aclrtMemPoolFreeAsync: from here on, ``allocation`` is memory no more."""

    __slots__ = ("allocation",)

    what = "memory release"

    allocation: Allocation

    def effect(self, machine: "Machine") -> "Refused | None":
        self.allocation.live = False
        return None


class Pool(Kept):
    """``size`` is the most that it may have, ``reserved`` what it has, ``used`` what of that is allocated.

    ``settings`` are the attributes that can be set.
    """

    __slots__ = ("device", "handle", "kept", "reserved", "reserved_high", "settings", "size", "used", "used_high")

    def __init__(self, handle: int, device: "Device", size: int) -> None:
        self.handle = handle
        self.device = device
        self.size = size
        self.reserved = 0
        self.reserved_high = 0
        self.used = 0
        self.used_high = 0
        self.kept: list[Segment] = []
        self.settings = dict.fromkeys((*SHARING, THRESHOLD), 0)

    def allocate(self, memory: Memory, size: int, stream: "Stream") -> Allocation | None:
        """Memory for a stream; None when the pool, or the device, has no more."""
        size = -(-size // GRANULE) * GRANULE
        segment = self._again(size, stream.handle)
        if segment is None:
            base = memory.take(self.device, size) if self.reserved + size <= self.size else None
            if base is None:
                return None
            segment = Segment(base)
            self.reserved += base.reserved
            self.reserved_high = max(self.reserved_high, self.reserved)
        self.used += segment.base.reserved
        self.used_high = max(self.used_high, self.used)
        allocation = Allocation(segment.base.address, segment.base.size, 0, self.device, None)
        memory.device_allocations.insert(allocation.address, allocation)
        memory.pooled[allocation.address] = self, segment
        return allocation

    def _again(self, size: int, stream: int) -> Segment | None:
        """A kept segment for ``size`` bytes, which is kept no more."""
        shared = any(self.settings[attribute] for attribute in SHARING)
        best: Segment | None = None
        for segment in self.kept:
            usable = segment.stream == stream or (shared and _is_over(segment))
            if usable and segment.base.size >= size and (best is None or segment.base.size < best.base.size):
                best = segment
        if best is not None:
            self.kept.remove(best)
            best.freeing = None
        return best

    def keep(self, segment: Segment, freeing: PoolFree) -> None:
        """What was allocated is free once ``freeing`` is done."""
        self.used -= segment.base.reserved
        segment.stream = freeing.stream.handle
        segment.freeing = freeing
        self.kept.append(segment)

    def trim(self, memory: Memory, least: int) -> None:
        """Give back what is kept and not needed by a task, smallest first, down to ``least`` bytes."""
        for segment in sorted(self.kept, key=_size):
            if self.reserved - segment.base.reserved >= least and _is_over(segment):
                self.kept.remove(segment)
                self.give_back(memory, segment)

    def give_back(self, memory: Memory, segment: Segment) -> None:
        """The segment, which is neither busy nor kept, belongs to the pool no more."""
        self.reserved -= segment.base.reserved
        memory.give_back(segment.base)

    def free_now(self, memory: Memory, segment: Segment) -> None:
        """Give back what is allocated, whatever is queued."""
        self.used -= segment.base.reserved
        self.give_back(memory, segment)


def _is_over(segment: Segment) -> bool:
    return segment.freeing is None or segment.freeing.done


def _size(segment: Segment) -> int:
    return segment.base.size
