"""Memory: device memory of every device, pinned host memory, and copies between places (semantics.md 3).

All device addresses lie in one range that the port reserved, ``DEVICE_SPAN`` bytes for each device. The part of a
device's range below ``SMALL_SPAN`` holds allocations under 2 MiB in steps of 512 bytes, the rest larger ones in steps
of 2 MiB. Host memory is pinned, which the model knows, or pageable, which is everything else.
"""

from typing import TYPE_CHECKING, Final

from cannery.runtime.ranges import AddressMap, Arena, Block

if TYPE_CHECKING:
    from cannery.runtime.objects import Device
    from cannery.runtime.ports import DeviceStore, HostPort

DEVICE_SPAN: Final = 1 << 39
SMALL_SPAN: Final = 1 << 37
SMALL_GRANULE: Final = 512
LARGE_GRANULE: Final = 2 << 20
_FILL_STEP: Final = 1 << 20

PAGEABLE: Final = "pageable host memory"
PINNED: Final = "pinned host memory"
DEVICE: Final = "device memory"


class Allocation:
    """Memory that an allocation call gave. ``size`` is usable, ``reserved`` counts against the device's capacity.

    ``device`` and ``block`` are None for pinned host memory. ``live`` is False once it was freed.
    """

    __slots__ = ("address", "block", "device", "live", "reserved", "size")

    def __init__(self, address: int, size: int, reserved: int, device: "Device | None", block: Block | None) -> None:
        self.address = address
        self.size = size
        self.reserved = reserved
        self.device = device
        self.block = block
        self.live = True


class Place:
    """Where an address lies. ``allocation`` is None for pageable memory; ``offset`` is that in the device's range."""

    __slots__ = ("address", "allocation", "kind", "offset")

    def __init__(self, address: int, kind: str, allocation: Allocation | None, offset: int = 0) -> None:
        self.address = address
        self.kind = kind
        self.allocation = allocation
        self.offset = offset

    def holds(self, size: int) -> bool:
        """Whether ``size`` bytes from here are still allocated. Pageable memory is only known when it is touched."""
        allocation = self.allocation
        if allocation is None:
            return self.kind is PAGEABLE
        return allocation.live and self.address + size <= allocation.address + allocation.size


class DeviceMemory:
    """The memory of one device. The store is made with the first allocation."""

    __slots__ = ("base", "capacity", "large", "small", "store", "used")

    def __init__(self, base: int, capacity: int) -> None:
        self.base = base
        self.capacity = capacity
        self.used = 0
        self.store: DeviceStore | None = None
        self.small = Arena(SMALL_SPAN // SMALL_GRANULE)
        self.large = Arena((DEVICE_SPAN - SMALL_SPAN) // LARGE_GRANULE)

    def release(self, allocation: Allocation) -> bool:
        """Take an allocation's range back; whether it was a large one."""
        assert allocation.block is not None
        allocation.live = False
        self.used -= allocation.reserved
        large = allocation.address >= self.base + SMALL_SPAN
        (self.large if large else self.small).release(allocation.block)
        return large


class Memory:
    """All memory of one process's machine."""

    __slots__ = ("base", "device_allocations", "devices", "end", "pinned", "port")

    def __init__(self, port: "HostPort", devices: int, capacity: int) -> None:
        self.port = port
        self.base = port.device_base(devices * DEVICE_SPAN) if devices else 0
        self.end = self.base + devices * DEVICE_SPAN
        self.devices = [DeviceMemory(self.base + index * DEVICE_SPAN, capacity) for index in range(devices)]
        self.device_allocations: AddressMap[Allocation] = AddressMap()
        self.pinned: AddressMap[Allocation] = AddressMap()

    # Allocation.

    def allocate(self, device: "Device", size: int) -> Allocation | None:
        """``size`` usable bytes of a device; None when it has not that much left."""
        memory = self.devices[device.index]
        granule = SMALL_GRANULE if size < LARGE_GRANULE else LARGE_GRANULE
        granules = -(-size // granule)
        reserved = granules * granule
        if memory.used + reserved > memory.capacity:
            return None
        if granule == SMALL_GRANULE:
            block = memory.small.allocate(granules)
            start = memory.base
        else:
            block = memory.large.allocate(granules)
            start = memory.base + SMALL_SPAN
        if block is None:
            return None
        if memory.store is None:
            memory.store = self.port.device_store(device.index, DEVICE_SPAN)
        memory.used += reserved
        allocation = Allocation(start + block.start * granule, size, reserved, device, block)
        self.device_allocations.insert(allocation.address, allocation)
        return allocation

    def free(self, allocation: Allocation) -> None:
        """Free device memory at once. Allocated again, large ranges read as zero and small ones as they were left."""
        assert allocation.device is not None
        memory = self.devices[allocation.device.index]
        self.device_allocations.remove(allocation.address)
        if memory.release(allocation):
            assert memory.store is not None
            memory.store.discard(allocation.address - memory.base, allocation.reserved)

    def clear(self, device: "Device") -> None:
        """Free everything on a device that is closed; its memory reads as zero afterwards."""
        memory = self.devices[device.index]
        if memory.store is None:
            return
        for allocation in [*self.device_allocations]:
            if allocation.device is device:
                self.device_allocations.remove(allocation.address)
                memory.release(allocation)
        small = -(-memory.small.high * SMALL_GRANULE // LARGE_GRANULE) * LARGE_GRANULE
        for offset, size in ((0, small), (SMALL_SPAN, memory.large.high * LARGE_GRANULE)):
            if size:
                memory.store.discard(offset, size)
        memory.small.high = memory.large.high = 0

    def pin(self, size: int) -> Allocation | None:
        """Pinned host memory; None when the host has none."""
        address = self.port.pinned_alloc(size)
        if not address:
            return None
        allocation = Allocation(address, size, size, None, None)
        self.pinned.insert(address, allocation)
        return allocation

    def unpin(self, allocation: Allocation) -> None:
        allocation.live = False
        self.pinned.remove(allocation.address)
        self.port.pinned_free(allocation.address)

    # Looking addresses up, and moving bytes.

    def place(self, address: int) -> Place:
        """Where an address lies. A device address outside every allocation has no allocation."""
        if self.base <= address < self.end:
            offset = (address - self.base) % DEVICE_SPAN
            allocation = self.device_allocations.below(address)
            if allocation is not None and address < allocation.address + allocation.size:
                return Place(address, DEVICE, allocation, offset)
            return Place(address, DEVICE, None, offset)
        allocation = self.pinned.below(address)
        if allocation is not None and address < allocation.address + allocation.size:
            return Place(address, PINNED, allocation)
        return Place(address, PAGEABLE, None)

    def view(self, place: Place, size: int) -> memoryview:
        """The bytes of a range of device memory that :meth:`Place.holds`."""
        assert place.allocation is not None and place.allocation.device is not None
        store = self.devices[place.allocation.device.index].store
        assert store is not None
        return store.view[place.offset : place.offset + size]

    def copy(self, destination: Place, source: Place, size: int) -> bool:
        """Copy at once. False, with the destination undefined: a host range is not accessible."""
        if destination.kind is DEVICE:
            if source.kind is DEVICE:
                self.view(destination, size)[:] = self.view(source, size)
                return True
            return self.port.read(source.address, self.view(destination, size))
        if source.kind is DEVICE:
            return self.port.write(destination.address, self.view(source, size))
        return self.port.move(destination.address, source.address, size)

    def fill(self, place: Place, value: int, size: int) -> bool:
        """Set bytes at once. False: a host range is not accessible."""
        if place.kind is not DEVICE:
            return self.port.fill(place.address, value, size)
        view = self.view(place, size)
        pattern = bytes((value,)) * min(size, _FILL_STEP)
        for start in range(0, size, _FILL_STEP):
            part = view[start : start + _FILL_STEP]
            part[:] = pattern[: len(part)]
        return True
