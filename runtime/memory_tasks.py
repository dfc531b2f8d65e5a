"""Tasks on memory other than the plain copies of ``tasks.py``.

Each looks at its memory when it runs. What was freed by then is a failure of the stream, which the next synchronise
answers (semantics.md 5): the number is the one of plain copies.
"""

from typing import TYPE_CHECKING, Final

from cannery.runtime.errors import ACL_ERROR_RT_SYS_DMA, Refused
from cannery.runtime.places import DEVICE
from cannery.runtime.reduction import reduce
from cannery.runtime.tasks import Copy, Task

if TYPE_CHECKING:
    from cannery.runtime.machine import Machine
    from cannery.runtime.objects import Device
    from cannery.runtime.places import Allocation, Place

_TOGETHER: Final = 64 << 20  # rows of host memory up to this size move at once


def gone(what: str, size: int, place: "Place") -> Refused:
    """507013: memory that a task needs is not there when it runs."""
    return Refused(
        ACL_ERROR_RT_SYS_DMA,
        "a {} found its {} bytes at {:#x} ({}) freed, or fewer, when it ran; synchronise the stream before freeing "
        "memory that it uses",
        what, size, place.address, place.kind,
    )  # fmt: skip


def unreachable(apart: "tuple[Device, Device]") -> Refused:
    """507013: a task needs memory of a device that its own may not access."""
    return Refused(
        ACL_ERROR_RT_SYS_DMA,
        "a copy between devices {} and {} ran while access between them was not enabled; call "
        "aclrtDeviceEnablePeerAccess first",
        apart[0].user, apart[1].user,
    )  # fmt: skip


class PeerCopy(Copy):
    """A copy between two devices that need access to each other."""

    __slots__ = ()

    def effect(self, machine: "Machine") -> Refused | None:
        apart = machine.memory.unreachable(self.stream.device, self.destination, self.source)
        return super().effect(machine) if apart is None else unreachable(apart)


class BatchCopy(Task):
    """The copies of a batch: destination, source and size of each. It stops at the first that fails."""

    __slots__ = ("pieces",)

    writes = True
    reported = True
    what = "batch of memory copies"

    pieces: "list[tuple[Place, Place, int]]"

    def effect(self, machine: "Machine") -> Refused | None:
        for destination, source, size in self.pieces:
            for place in (destination, source):
                if not place.holds(size):
                    return gone("memory copy of a batch", size, place)
            if not machine.memory.copy(destination, source, size):
                return Refused(
                    ACL_ERROR_RT_SYS_DMA,
                    "a copy of a batch ({} bytes from {:#x} to {:#x}) found its host memory not accessible when it ran",
                    size, source.address, destination.address,
                )  # fmt: skip
        return None


class CopyRows(Task):
    """A two-dimensional copy: ``height`` rows of ``width`` bytes, whose starts are a pitch apart."""

    __slots__ = ("destination", "destination_pitch", "height", "source", "source_pitch", "width")

    writes = True
    reported = True
    what = "two-dimensional memory copy"

    destination: "Place"
    destination_pitch: int
    source: "Place"
    source_pitch: int
    width: int
    height: int

    def effect(self, machine: "Machine") -> Refused | None:
        rows = self.height - 1
        for place, pitch in ((self.destination, self.destination_pitch), (self.source, self.source_pitch)):
            size = rows * pitch + self.width
            if not place.holds(size):
                return gone(self.what, size, place)
        apart = machine.memory.unreachable(self.stream.device, self.destination, self.source)
        if apart is not None:
            return unreachable(apart)
        destination, source = self.destination, self.source
        if copy_rows(machine, destination, self.destination_pitch, source, self.source_pitch, self.width, self.height):
            return None
        return Refused(
            ACL_ERROR_RT_SYS_DMA,
            "a two-dimensional copy from {:#x} to {:#x} found its host memory not accessible when it ran; keep host "
            "memory mapped until the stream is synchronised",
            self.source.address, self.destination.address,
        )  # fmt: skip


def copy_rows(
    machine: "Machine", destination: "Place", dpitch: int, source: "Place", spitch: int, width: int, height: int
) -> bool:
    """Copy rows between places that hold them. False: host memory is not accessible."""
    memory = machine.memory
    if dpitch == width and spitch == width:
        return memory.copy(destination, source, width * height)
    rows = range(height)
    if destination.kind is DEVICE and source.kind is not DEVICE and spitch * height <= _TOGETHER:
        content = machine.port.copied(source.address, spitch * (height - 1) + width)
        if content is None:
            return False
        for row in rows:
            memory.store(memory.beyond(destination, row * dpitch), content[row * spitch : row * spitch + width])
        return True
    if source.kind is DEVICE and destination.kind is not DEVICE and dpitch == width and width * height <= _TOGETHER:
        parts = [piece for row in rows for piece in memory.contents(memory.beyond(source, row * spitch), width)]
        return machine.port.write(destination.address, memoryview(b"".join(parts)))
    return all(
        memory.copy(memory.beyond(destination, row * dpitch), memory.beyond(source, row * spitch), width)
        for row in rows
    )


class Fill(Task):
    """aclrtMemsetAsync and aclrtMemsetD32Async: repeats ``pattern``, which is one byte or four."""

    __slots__ = ("pattern", "place", "size")

    writes = True
    reported = True
    what = "memory set"

    pattern: bytes
    place: "Place"
    size: int

    def effect(self, machine: "Machine") -> Refused | None:
        if not self.place.holds(self.size):
            return gone(self.what, self.size, self.place)
        if machine.memory.fill(self.place, self.pattern, self.size):
            return None
        return Refused(
            ACL_ERROR_RT_SYS_DMA,
            "a memory set found the {} bytes of host memory at {:#x} not accessible when it ran",
            self.size, self.place.address,
        )  # fmt: skip


class OffsetCopy(Task):
    """aclrtMemcpyAsyncWithOffset: ``destination`` and ``source`` hold the addresses, to which the offsets are added."""

    __slots__ = ("destination", "destination_offset", "size", "source", "source_offset")

    writes = True
    reported = True
    what = "memory copy with offsets"

    destination: "Place"
    destination_offset: int
    source: "Place"
    source_offset: int
    size: int

    def effect(self, machine: "Machine") -> Refused | None:
        memory = machine.memory
        bases = []
        for place in (self.destination, self.source):
            content = memory.load(place, 8) if place.holds(8) else None
            if content is None:
                return gone(self.what, 8, place)
            bases.append(int.from_bytes(content, "little"))
        return copy_inside(
            machine, self.what, bases[0] + self.destination_offset, bases[1] + self.source_offset, self.size
        )


class DescriptorCopy(Task):
    """aclrtMemcpyAsyncWithDesc: length and addresses lie in device memory, where aclrtSetMemcpyDesc put them."""

    __slots__ = ("descriptor",)

    writes = True
    reported = True
    what = "memory copy with a descriptor"

    descriptor: "Place"

    def effect(self, machine: "Machine") -> Refused | None:
        if not self.descriptor.holds(32):
            return gone(self.what, 32, self.descriptor)
        content = machine.memory.load(self.descriptor, 32)
        assert content is not None, "device memory that is there is readable"
        size, source, destination = (
            int.from_bytes(content[start:end], "little") for start, end in ((12, 16), (16, 24), (24, 32))
        )
        return copy_inside(machine, self.what, destination, source, size or 1 << 32)


def copy_inside(machine: "Machine", what: str, destination: int, source: int, size: int) -> Refused | None:
    """Copy between addresses that were only known when the task ran, both of device memory."""
    memory = machine.memory
    places = memory.place(destination), memory.place(source)
    for place in places:
        if place.device is None or not place.holds(size):
            return gone(what, size, place)
    memory.copy(*places, size)
    return None


class Turn(Task):
    """Takes its turn and has no effect: cache maintenance, since the model has no caches, allocation in stream order,
    whose memory is there from the call, and marks for a profiler."""

    __slots__ = ()

    inert = True
    what = "memory maintenance"


class FreeLater(Task):
    """aclrtMemPoolFreeAsync of memory that is of no pool."""

    __slots__ = ("allocation",)

    what = "memory release"

    allocation: "Allocation"

    def effect(self, machine: "Machine") -> Refused | None:
        if self.allocation.live:
            machine.memory.free(self.allocation)
        return None


class Reduce(Task):
    """aclrtReduceAsync: combines source and destination into the destination."""

    __slots__ = ("destination", "element", "kind", "size", "source")

    writes = True
    reported = True
    what = "reduction"

    destination: "Place"
    source: "Place"
    size: int
    kind: int
    element: int

    def effect(self, machine: "Machine") -> Refused | None:
        contents = []
        for place in (self.destination, self.source):
            content = machine.memory.load(place, self.size) if place.holds(self.size) else None
            if content is None:
                return gone(self.what, self.size, place)
            contents.append(content)
        machine.memory.store(self.destination, reduce(self.kind, self.element, *contents))
        return None
