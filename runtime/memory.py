"""Memory: device memory of every device, mapped virtual memory, pinned host memory, and copies between places
(semantics.md 3).

All device addresses lie in one range that the port reserved, ``DEVICE_SPAN`` bytes for each device and then
``VIRTUAL_SPAN`` for addresses that the program reserves and maps itself (``virtual.py``). The part of a device's range
below ``SMALL_SPAN`` holds allocations under 2 MiB in steps of 512 bytes, the rest larger ones in steps of 2 MiB. Host
memory is pinned or registered, which the model knows, or pageable, which is everything else.
"""

from typing import TYPE_CHECKING, Final

from cannery.runtime.budgets import Budget
from cannery.runtime.exchange import MEMORY_BYTES
from cannery.runtime.kept import Kept
from cannery.runtime.places import DEVICE, PAGEABLE, PINNED, Allocation, Imported, MappedPlace, Place, Registration
from cannery.runtime.ranges import AddressMap, Arena
from cannery.runtime.shared_memory import SharedMemory
from cannery.runtime.virtual import Mapped, VirtualMemory

if TYPE_CHECKING:
    from cannery.runtime.objects import Device
    from cannery.runtime.pools import Pool, Segment
    from cannery.runtime.ports import DeviceStore, HostPort
    from cannery.runtime.values import ValueWait

DEVICE_SPAN: Final = 1 << 39
VIRTUAL_SPAN: Final = 1 << 42
SMALL_SPAN: Final = 1 << 37
SMALL_GRANULE: Final = 512
LARGE_GRANULE: Final = 2 << 20
_FILL_STEP: Final = 1 << 20

# Which copies between devices need access enabled (aclrtDeviceEnablePeerAccess): none, those between devices that have
# it in neither direction, those that the device of the copy has none for.
FREE: Final = "free"
EITHER: Final = "either"
ONE_WAY: Final = "one-way"


class DeviceMemory(Kept):
    """The memory of one device. The store is made with the first allocation. ``peak``: the most that was in use."""

    __slots__ = ("base", "budget", "capacity", "large", "peak", "small", "store", "used")

    def __init__(self, base: int, capacity: int, budget: Budget) -> None:
        self.base = base
        self.budget = budget
        self.capacity = capacity
        self.used = 0
        self.peak = 0
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


class Memory(Kept):
    """All memory of one process's machine.

    ``registered`` is host memory that aclrtHostRegister made known, ``pools`` has the memory pools by handle and
    ``pooled`` by address what is allocated from them, ``reach`` says which copies need access between devices,
    ``watchers`` the heads of streams that wait for a value in device memory, ``sharing`` what other processes have too.
    """

    __slots__ = (
        "base", "device_allocations", "devices", "end", "limit", "pinned", "pooled", "pools", "port", "reach",
        "registered", "sharing", "virtual", "watchers",
    )  # fmt: skip

    def __init__(self, port: "HostPort", devices: int, capacity: int, reach: str = EITHER) -> None:
        self.port = port
        self.reach = reach
        self.base = port.device_base(devices * DEVICE_SPAN + VIRTUAL_SPAN) if devices else 0
        self.end = self.base + devices * DEVICE_SPAN
        self.limit = self.end + (VIRTUAL_SPAN if devices else 0)
        self.devices = [
            DeviceMemory(
                self.base + index * DEVICE_SPAN, capacity, Budget(port.exchange, index, MEMORY_BYTES, capacity)
            )
            for index in range(devices)
        ]
        self.device_allocations: AddressMap[Allocation] = AddressMap()
        self.virtual = VirtualMemory(self.end, self.limit)
        self.pinned: AddressMap[Allocation] = AddressMap()
        self.registered: AddressMap[Registration] = AddressMap()
        self.pools: dict[int, Pool] = {}
        self.pooled: dict[int, tuple[Pool, Segment]] = {}
        self.watchers: list[ValueWait] = []
        self.sharing = SharedMemory(port.exchange, self.virtual)

    # Allocation.

    def allocate(self, device: "Device", size: int) -> Allocation | None:
        """``size`` usable bytes of a device; None when it has not that much left."""
        allocation = self.take(device, size)
        if allocation is not None:
            self.device_allocations.insert(allocation.address, allocation)
        return allocation

    def take(self, device: "Device", size: int) -> Allocation | None:
        """Like :meth:`allocate`, for memory that no address of the program leads to."""
        memory = self.devices[device.index]
        if memory.store is None:  # first of all: where the host has none, nothing has changed
            memory.store = self.port.device_store(device.index, DEVICE_SPAN)
        granule = SMALL_GRANULE if size < LARGE_GRANULE else LARGE_GRANULE
        granules = -(-size // granule)
        reserved = granules * granule
        if memory.used + reserved > memory.capacity or not memory.budget.claim(reserved):
            return None
        if granule == SMALL_GRANULE:
            block = memory.small.allocate(granules)
            start = memory.base
        else:
            block = memory.large.allocate(granules)
            start = memory.base + SMALL_SPAN
        if block is None:
            memory.budget.release(reserved)
            return None
        memory.used += reserved
        if memory.used > memory.peak:
            memory.peak = memory.used
        return Allocation(start + block.start * granule, size, reserved, device, block)

    def free(self, allocation: Allocation) -> None:
        """Free device memory at once. Allocated again, large ranges read as zero and small ones as they were left."""
        self.device_allocations.remove(allocation.address)
        if allocation.shared:
            self.sharing.end(allocation)
        pooled = self.pooled.pop(allocation.address, None) if self.pooled else None
        if pooled is None:
            self.give_back(allocation)
        else:
            allocation.live = False
            pooled[0].free_now(self, pooled[1])
        if self.watchers:
            self.notice()

    def give_back(self, allocation: Allocation) -> None:
        """The opposite of :meth:`take`; also for memory of another process."""
        if allocation.shared:
            self.sharing.end(allocation)
            if isinstance(allocation, Imported):
                return
        assert allocation.device is not None
        memory = self.devices[allocation.device.index]
        large = memory.release(allocation)
        memory.budget.release(allocation.reserved)
        if large:
            assert memory.store is not None
            memory.store.discard(allocation.address - memory.base, allocation.reserved)

    def clear(self, device: "Device") -> None:
        """Free everything on a device that is closed; its memory reads as zero afterwards, and what was registered with
        it is registered no more."""
        for registration in [*self.registered]:
            if registration.owner is device:
                self.unregister(registration)
        self.sharing.close_device(device)
        memory = self.devices[device.index]
        if memory.store is None:
            return
        before = memory.used
        for physical in self.virtual.clear(device):
            if physical.shared:
                self.sharing.end(physical)
            if not isinstance(physical, Imported):
                memory.release(physical)
        for allocation in [*self.device_allocations]:
            if allocation.device is device:
                self.device_allocations.remove(allocation.address)
                pooled = self.pooled.pop(allocation.address, None)
                allocation.live = False
                if allocation.shared:
                    self.sharing.end(allocation)
                memory.release(allocation if pooled is None else pooled[1].base)
        for pool in [*self.pools.values()]:
            if pool.device is device:
                del self.pools[pool.handle]
                for segment in pool.kept:
                    memory.release(segment.base)
        small = -(-memory.small.high * SMALL_GRANULE // LARGE_GRANULE) * LARGE_GRANULE
        for offset, size in ((0, small), (SMALL_SPAN, memory.large.high * LARGE_GRANULE)):
            if size:
                memory.store.discard(offset, size)
        memory.small.high = memory.large.high = 0
        memory.budget.release(before - memory.used)

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

    def register(self, address: int, size: int, owner: "Device", mapped: bool) -> Registration | None:
        """Make a range of host memory known, ``mapped``: with device addresses; None when there are none left."""
        window = self.virtual.open_window(address, size) if mapped else None
        if mapped and window is None:
            return None
        registration = Registration(address, size, owner, window)
        self.registered.insert(address, registration)
        return registration

    def unregister(self, registration: Registration) -> None:
        registration.live = False
        self.registered.remove(registration.address)
        if registration.window is not None:
            self.virtual.close_window(registration.window)

    # Looking addresses up.

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
        if self.end <= address < self.limit or self.virtual.hinted:
            mapped = self.virtual.mapped(address)
            if mapped is not None:
                return MappedPlace(address, mapped, self.virtual)
            if self.virtual.reserved(address) is not None:
                return Place(address, DEVICE, None)
            imported = self.sharing.at(address)
            if imported is not None:
                return Place(address, DEVICE, imported, address - imported.address)
            if self.end <= address < self.limit:  # the device address of registered memory is none for copies either
                return Place(address, DEVICE, None)
        allocation = self.registered.below(address)
        if allocation is not None and address < allocation.address + allocation.size:
            return Place(address, PINNED, allocation)
        return Place(address, PAGEABLE, None)

    def unreachable(self, own: "Device", one: Place, two: Place) -> "tuple[Device, Device] | None":
        """The devices between which access has to be enabled before ``own`` may copy between two places, and is not."""
        first, second = one.device, two.device
        if first is None or second is None or first is second or self.reach == FREE:
            return None
        if self.reach == EITHER:
            enabled = second.index in first.peers or first.index in second.peers
            return None if enabled else (first, second)
        for device in (first, second):
            if device is not own and device.index not in own.peers:
                return own, device
        return None

    def beyond(self, place: Place, distance: int) -> Place:
        """The place so many bytes behind one, within what that :meth:`Place.holds`."""
        if place.mapped:
            return self.place(place.address + distance)
        return Place(place.address + distance, place.kind, place.allocation, place.offset + distance)

    def _store(self, allocation: "Allocation | Mapped") -> "DeviceStore":
        """The bytes that a place with that allocation is in."""
        if isinstance(allocation, Imported):
            return allocation.store
        device = allocation.device
        assert device is not None
        store = self.devices[device.index].store
        assert store is not None
        return store

    def view(self, place: Place, size: int) -> memoryview:
        """The bytes of a range of device memory that :meth:`Place.holds`, and that is no mapped one."""
        assert place.allocation is not None
        return self._store(place.allocation).view[place.offset : place.offset + size]

    def pieces(self, place: Place, size: int) -> list[memoryview]:
        """The bytes of any range of device memory that :meth:`Place.holds`, in order, to be written; a mapped one may
        be in pieces."""
        if not place.mapped:
            return [self.view(place, size)]
        return [
            self._store(physical).view[offset : offset + length]
            for physical, offset, length in self.virtual.pieces(place.address, size)
        ]

    def contents(self, place: Place, size: int) -> list[memoryview]:
        """Likewise, to be read: what other processes may write is as it is at this moment."""
        views = self.pieces(place, size)
        if not self.sharing.any:
            return views
        snapshot = self.port.exchange.snapshot
        shared = self._shared(place, size)
        return [view if each is None else snapshot(view) for view, each in zip(views, shared, strict=True)]

    def _shared(self, place: Place, size: int) -> list[Allocation | None]:
        """For each of :meth:`pieces`, the memory that it is of, if other processes have it too."""
        if place.mapped:
            found = [physical for physical, _, _ in self.virtual.pieces(place.address, size)]
            return [physical if physical.shared else None for physical in found]
        allocation = place.allocation
        return [allocation if isinstance(allocation, Allocation) and allocation.shared else None]

    # Moving bytes.

    def copy(self, destination: Place, source: Place, size: int) -> bool:
        """Copy at once. False, with the destination undefined: a host range is not accessible."""
        if destination.kind is DEVICE:
            if source.kind is DEVICE:
                self._copy_inside(destination, source, size)
                done = True
            elif not (destination.mapped or self.sharing.any):
                done = self.port.read(source.address, self.view(destination, size))
            else:
                done = self._copy_in(destination, source.address, size)
            self._wrote(destination, size)
            return done
        if source.kind is DEVICE:
            address = destination.address
            for piece in self.contents(source, size):
                if not self.port.write(address, piece):
                    return False
                address += len(piece)
            return True
        return self.port.move(destination.address, source.address, size)

    def _copy_in(self, destination: Place, address: int, size: int) -> bool:
        for piece, shared in zip(self.pieces(destination, size), self._shared(destination, size), strict=True):
            if shared is None:
                done = self.port.read(address, piece)
            else:  # others may write it, while the port reads again what it has put there
                content = self.port.copied(address, len(piece))
                done = content is not None
                if content is not None:
                    piece[:] = content
            if not done:
                return False
            address += len(piece)
        return True

    def _copy_inside(self, destination: Place, source: Place, size: int) -> None:
        if not (destination.mapped or source.mapped or self.sharing.any):
            self.view(destination, size)[:] = self.view(source, size)
            return
        steps = list(_aligned(self.pieces(destination, size), self.contents(source, size)))
        if destination.address > source.address:  # where they overlap, what is read last must be written first
            steps.reverse()
        for to, origin in steps:
            to[:] = origin

    def fill(self, place: Place, pattern: bytes, size: int) -> bool:
        """Repeat one byte, or four, at once. False: a host range is not accessible."""
        if place.kind is DEVICE:
            self._repeat(place, pattern, size)
            return True
        if len(pattern) == 1:
            return self.port.fill(place.address, pattern[0], size)
        for start in range(0, size, _FILL_STEP):
            part = pattern * (min(size - start, _FILL_STEP) // len(pattern))
            if not self.port.write(place.address + start, memoryview(part)):
                return False
        return True

    def _repeat(self, place: Place, pattern: bytes, size: int) -> None:
        repeated = pattern * (min(size, _FILL_STEP) // len(pattern))
        for view in self.pieces(place, size):
            for start in range(0, len(view), _FILL_STEP):
                part = view[start : start + _FILL_STEP]
                part[:] = repeated[: len(part)]
        self._wrote(place, size)

    def load(self, place: Place, size: int) -> bytes | None:
        """A short range of any kind; None where it is not readable."""
        if place.kind is DEVICE:
            return b"".join(self.contents(place, size)) if place.holds(size) else None
        content = self.port.copied(place.address, size)
        return None if content is None else bytes(content)

    def store(self, place: Place, content: "bytes | memoryview") -> None:
        """Write to device memory that :meth:`Place.holds` it."""
        start = 0
        for view in self.pieces(place, len(content)):
            view[:] = content[start : start + len(view)]
            start += len(view)
        self._wrote(place, len(content))

    def _wrote(self, place: Place, size: int) -> None:
        """Device memory was written."""
        if self.watchers:
            self.notice()
        if self.sharing.any:
            for allocation in self._shared(place, size):
                self.sharing.touch(allocation)

    def notice(self) -> None:
        """Device memory was written, or freed: streams that wait for a value there may go on."""
        for waiter in [*self.watchers]:
            waiter.look()


def _aligned(one: list[memoryview], two: list[memoryview]) -> "list[tuple[memoryview, memoryview]]":
    """Two sequences of pieces of the same length altogether, cut where either begins a new piece."""
    pairs = []
    first, second = iter(one), iter(two)
    left, right = next(first), next(second)
    while True:
        size = min(len(left), len(right))
        pairs.append((left[:size], right[:size]))
        left, right = left[size:], right[size:]
        if not left:
            found = next(first, None)
            if found is None:
                return pairs
            left = found
        if not right:
            right = next(second)
