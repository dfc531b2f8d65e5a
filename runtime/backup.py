"""What aclrtSnapShotProcessBackup keeps, and how aclrtSnapShotProcessRestore brings it back (semantics.md 10.4).

Kept is what belongs to the devices: their memory, and the contexts, streams with their queued work, events, notifies
and model instances, as one state of the machine (:mod:`cannery.runtime.state`). What belongs to the host goes on as it
is: threads and calls that wait, what aclInit set, callbacks, time, the numbers of handles. A restore puts the very same
objects back, so that handles, and those who wait for something, keep their meaning.
"""

import mmap
from typing import TYPE_CHECKING, Final

from cannery.runtime.host_functions import HostFunction, Job, Worker
from cannery.runtime.invoke import Errand
from cannery.runtime.memory import LARGE_GRANULE, SMALL_GRANULE, SMALL_SPAN, DeviceMemory
from cannery.runtime.objects import Stream
from cannery.runtime.places import Allocation
from cannery.runtime.state import State, capture
from cannery.runtime.state_install import install

if TYPE_CHECKING:
    from cannery.runtime.machine import Machine

OF_THE_HOST: Final = (
    "allocators", "arguments", "caller", "calling", "descriptions", "dismissed", "due", "errands", "exceptions",
    "hosted", "last_worker", "locked", "now", "ordinal", "process", "profiler", "skip", "small_objects", "snapshot",
    "spare_blocks", "threads", "told", "waits", "workers",
)  # fmt: skip
"""Attributes of the machine that a backup leaves out."""

_PAGE: Final = 4 << 10


class Saved:
    """``state`` without :data:`OF_THE_HOST`, made at monotonic time ``now`` and device time ``now + skip``, when
    ``devices`` were open. ``content`` has the bytes of ``ranges`` of device memory (device, offset, size), one after
    the other, None if there are none."""

    __slots__ = ("content", "devices", "now", "ranges", "skip", "state")

    def __init__(self, machine: "Machine", before: "Saved | None") -> None:
        """``before`` is a backup that does not count any more."""
        self.now = machine.now
        self.skip = machine.skip
        self.devices = [device for device in machine.devices if device.contexts]
        self.state: State = capture(machine, OF_THE_HOST)
        self.ranges = [
            (index, offset, size)
            for index, memory in enumerate(machine.memory.devices)
            for offset, size in _used(memory)
        ]
        self.content: memoryview | None = _keep(machine, self.ranges, None if before is None else before.content)

    def restore(self, machine: "Machine") -> None:
        """Bring everything back. Work that was queued since is lost; who waits for it no longer does."""
        known = {id(each) for each in self.state.originals or ()}
        machine.schedule.cancel([
            task for stream in machine.streams.values() for task in stream.queue if id(task) not in known
        ])  # fmt: skip
        running = {worker.number: worker.running for worker in machine.workers.values()}
        for worker in [*machine.workers.values()]:
            if id(worker) not in known and worker is not machine.exceptions.worker:
                _part(machine, worker)
        count, pinned = machine.schedule.count, [*machine.memory.pinned]
        install(machine, self.state)
        machine.schedule.count = max(count, machine.schedule.count)
        _keep_pinned(machine, pinned)
        for wait in machine.waits:
            wait.held = None  # what it was held by may be as it was before
        for worker in machine.workers.values():
            _go_on(machine, worker, running[worker.number])
        for thread in machine.threads.values():
            if thread.context is not None and thread.context.handle not in machine.contexts:
                thread.context = thread.follows = None
        self._bring_back(machine)
        machine.schedule.resume(machine.now + machine.skip - self.now - self.skip, machine.now - self.now)

    def _bring_back(self, machine: "Machine") -> None:
        at = 0
        for index, memory in enumerate(machine.memory.devices):
            kept = [(offset, size) for device, offset, size in self.ranges if device == index]
            for offset, size in _outside(_used(memory), kept):
                assert memory.store is not None
                memory.store.discard(offset, size)
            for offset, size in kept:
                assert memory.store is not None and self.content is not None
                memory.store.view[offset : offset + size][:] = self.content[at : at + size]
                at += size


# Memory.


def _keep_pinned(machine: "Machine", pinned: list[Allocation]) -> None:
    """Pinned memory is the host's: what was allocated or freed since stays so."""
    known = machine.memory.pinned
    for address in {each.address for each in known} - {each.address for each in pinned}:
        known.remove(address)
    for allocation in pinned:
        if known.at(allocation.address) is None:
            known.insert(allocation.address, allocation)


def _used(memory: DeviceMemory) -> list[tuple[int, int]]:
    """The ranges of a device that may have other bytes than zeros."""
    if memory.store is None:
        return []
    small = -(-memory.small.high * SMALL_GRANULE // _PAGE) * _PAGE
    ends = ((0, small), (SMALL_SPAN, SMALL_SPAN + memory.large.high * LARGE_GRANULE))
    found = []
    for offset, size in memory.store.written():
        for first, end in ends:
            start, stop = max(offset, first), min(offset + size, end)
            if start < stop:
                found.append((start, stop - start))
    return found


def _keep(machine: "Machine", ranges: list[tuple[int, int, int]], room: memoryview | None) -> memoryview | None:
    """A copy of the ranges, in memory that children do not inherit: in ``room``, if that is as large."""
    total = sum(size for _, _, size in ranges)
    if not total:
        return None
    if room is None or len(room) != total:
        room = None  # before there is another
        mapped = mmap.mmap(-1, total, flags=mmap.MAP_PRIVATE | mmap.MAP_ANONYMOUS)
        mapped.madvise(mmap.MADV_DONTFORK)
        room = memoryview(mapped)
    content = room
    at = 0
    for device, offset, size in ranges:
        store = machine.memory.devices[device].store
        assert store is not None
        content[at : at + size] = store.view[offset : offset + size]
        at += size
    return content


def _outside(ranges: list[tuple[int, int]], kept: list[tuple[int, int]]) -> list[tuple[int, int]]:
    """The parts of some ranges that lie in none of the others; all are ascending."""
    found = []
    first = 0
    for offset, size in ranges:
        end = offset + size
        while first < len(kept) and sum(kept[first]) <= offset:
            first += 1
        place = first
        while offset < end and place < len(kept) and kept[place][0] < end:
            start = kept[place][0]
            if start > offset:
                found.append((offset, start - offset))
            offset = max(offset, sum(kept[place]))
            place += 1
        if offset < end:
            found.append((offset, end - offset))
    return found


# Workers: threads of the driver, which run on whatever the model is put back to.


def _part(machine: "Machine", worker: Worker) -> None:
    """A worker came since, and goes when it has run what it runs."""
    for context in machine.contexts.values():
        if context.worker is worker:
            context.worker = None
            _forget(context.streams, worker)
    worker.retire(machine)


def _forget(streams: dict[int, Stream], worker: Worker) -> None:
    for stream in streams.values():
        if stream.runner is worker:
            stream.runner = None


def _go_on(machine: "Machine", worker: Worker, running: HostFunction | Job | None) -> None:
    """``running`` is what a worker runs in fact. What it ran at the backup it runs again."""
    due = worker.running
    if due is running or worker.retired:
        return
    if running is None:
        assert due is not None
        machine.errands.append(Errand(worker.number, due.invoke))
        return
    worker.running = Job()  # nobody waits for its return any more
    if due is not None:
        worker.queue.appendleft(due)
