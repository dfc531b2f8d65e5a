"""Virtual memory that the program manages itself: reserved addresses, physical memory, and mappings between them.

Reserved addresses lie in a range of their own; with an address hint they may lie elsewhere (``hinted``), and are then
numbers that the model knows and the host must not use. Physical memory is memory of a device that no address leads to
until it is mapped. Mappings that are neighbours make one range, whose bytes are in as many pieces.

Sources: reference documentation of the virtual memory calls (chapter 11-04) for what they do, the public implementation
for the order of checks and the numbers; what its driver decides is our choice where nothing else is said.
"""

from collections.abc import Iterator
from typing import TYPE_CHECKING, Final

from cannery.runtime.kept import Kept
from cannery.runtime.ranges import AddressMap, Arena, Block

if TYPE_CHECKING:
    from cannery.runtime.objects import Device
    from cannery.runtime.places import Allocation

GRANULE: Final = 2 << 20  # of addresses and mappings: the size of a huge page

ACCESS_NONE: Final = 0
ACCESS_READ: Final = 1
ACCESS_READWRITE: Final = 3


class Reservation(Kept):
    """Addresses that aclrtReserveMemAddress gave. ``block`` is None for a hinted one. ``mappings`` counts what is
    mapped in it, all memory of ``device``."""

    __slots__ = ("address", "block", "device", "mappings", "size")

    def __init__(self, address: int, size: int, block: Block | None) -> None:
        self.address = address
        self.size = size
        self.block = block
        self.mappings = 0
        self.device: Device | None = None


class Window(Kept):
    """Device addresses of ``size`` bytes of registered host memory at ``host``."""

    __slots__ = ("address", "block", "host", "size")

    def __init__(self, address: int, size: int, host: int, block: Block) -> None:
        self.address = address
        self.size = size
        self.host = host
        self.block = block


class Physical(Kept):
    """Physical memory, of a device or of another process. ``references`` counts its handle: once for its creation,
    once for each time it was retained.

    It lives until the handle is gone and nothing maps it. ``attribute``, ``location`` and ``reserve`` are what it was
    asked for with. ``exported``: other processes can open it.
    """

    __slots__ = (
        "allocation", "attribute", "exported", "handle", "location", "mappings", "references", "reserve", "size",
    )  # fmt: skip

    def __init__(self, handle: int, allocation: "Allocation", size: int) -> None:
        self.handle = handle
        self.allocation = allocation
        self.size = size
        self.attribute = 0
        self.location = (0, 0)
        self.reserve = 0
        self.references = 1
        self.exported = False
        self.mappings = 0


class Mapped(Kept):
    """A mapping, which takes the part of an allocation: ``offset`` is that in the store of the device.

    ``access`` has the rights that were set by location (id, type). A mapping whose device has none is no memory yet.
    """

    __slots__ = ("access", "address", "device", "live", "offset", "physical", "reservation", "size")

    def __init__(self, address: int, size: int, physical: Physical, offset: int, reservation: Reservation) -> None:
        device = physical.allocation.device
        assert device is not None
        self.address = address
        self.size = size
        self.physical = physical
        self.device: Device = device
        self.offset = offset
        self.reservation = reservation
        self.access: dict[tuple[int, int], int] = {}
        self.live = True

    @property
    def accessible(self) -> bool:
        """Whether anything may touch it."""
        return any(self.access.values())


class VirtualMemory(Kept):
    """Reservations, mappings and physical memory of a process. Addresses from ``base`` to ``end`` are ours to give."""

    __slots__ = ("_arena", "_mapped", "_reserved", "_windows", "base", "end", "hinted", "physical")

    def __init__(self, base: int, end: int) -> None:
        self.base = base
        self.end = end
        self.hinted = 0  # how many reservations lie outside
        self.physical: dict[int, Physical] = {}
        self._arena = Arena(max((end - base) // GRANULE, 1))
        self._reserved: AddressMap[Reservation] = AddressMap()
        self._mapped: AddressMap[Mapped] = AddressMap()
        self._windows: AddressMap[Window] = AddressMap()

    # Addresses.

    def reserve(self, size: int) -> Reservation | None:
        """Addresses of the model's choice; None when there are not as many left."""
        granules = -(-size // GRANULE)
        block = self._arena.allocate(granules)
        if block is None:
            return None
        reservation = Reservation(self.base + block.start * GRANULE, granules * GRANULE, block)
        self._reserved.insert(reservation.address, reservation)
        return reservation

    def reserve_at(self, address: int, size: int) -> Reservation | None:
        """Addresses of the program's choice; None when they are not free."""
        size = -(-size // GRANULE) * GRANULE
        before = self._reserved.below(address + size - 1)
        if before is not None and before.address + before.size > address:
            return None
        block = None
        if address < self.end and address + size > self.base:
            if address < self.base or address + size > self.end:
                return None
            block = self._arena.allocate_at((address - self.base) // GRANULE, size // GRANULE)
            if block is None:
                return None
        else:
            self.hinted += 1
        reservation = Reservation(address, size, block)
        self._reserved.insert(address, reservation)
        return reservation

    def release(self, reservation: Reservation) -> None:
        """Give addresses back, in which nothing is mapped."""
        self._reserved.remove(reservation.address)
        if reservation.block is None:
            self.hinted -= 1
        else:
            self._arena.release(reservation.block)

    def reservation_at(self, address: int) -> Reservation | None:
        """The reservation that begins exactly there."""
        return self._reserved.at(address)

    def reserved(self, address: int) -> Reservation | None:
        """The reservation that an address lies in."""
        found = self._reserved.below(address)
        return found if found is not None and address < found.address + found.size else None

    # Addresses of memory that other processes share.

    def take(self, size: int) -> "tuple[int, Block] | None":
        """Addresses for it; None when there are not as many left."""
        block = self._arena.allocate(-(-size // GRANULE))
        return None if block is None else (self.base + block.start * GRANULE, block)

    def give(self, block: Block) -> None:
        """They are not needed any longer."""
        self._arena.release(block)
    def all_reserved(self) -> Iterator[Reservation]:
        """By address."""
        return iter(self._reserved)

    def all_mapped(self) -> Iterator[Mapped]:
        """By address."""
        return iter(self._mapped)

    # Device addresses of registered host memory: nothing can be mapped to them.

    def open_window(self, host: int, size: int) -> Window | None:
        """Device addresses for registered host memory; None when there are no more."""
        granules = -(-size // GRANULE)
        block = self._arena.allocate(granules)
        if block is None:
            return None
        window = Window(self.base + block.start * GRANULE, size, host, block)
        self._windows.insert(window.address, window)
        return window

    def close_window(self, window: Window) -> None:
        """The host memory is registered no more."""
        self._windows.remove(window.address)
        self._arena.release(window.block)

    def window(self, address: int) -> Window | None:
        """The window that an address lies in."""
        found = self._windows.below(address)
        return found if found is not None and address < found.address + found.size else None

    # Mappings.

    def map(self, mapping: Mapped) -> None:
        """The mapping, which overlaps no other, begins."""
        self._mapped.insert(mapping.address, mapping)
        mapping.physical.mappings += 1
        mapping.reservation.mappings += 1
        mapping.reservation.device = mapping.device

    def unmap(self, mapping: Mapped) -> None:
        """The mapping ends; its physical memory may be free now."""
        mapping.live = False
        self._mapped.remove(mapping.address)
        mapping.physical.mappings -= 1
        mapping.reservation.mappings -= 1
        if not mapping.reservation.mappings:
            mapping.reservation.device = None

    def mapping_at(self, address: int) -> Mapped | None:
        """The mapping that begins exactly there."""
        return self._mapped.at(address)

    def mapped(self, address: int) -> Mapped | None:
        """The mapping that an address lies in."""
        found = self._mapped.below(address)
        return found if found is not None and address < found.address + found.size else None

    def overlaps(self, address: int, size: int) -> bool:
        """Whether anything is mapped in a range."""
        found = self._mapped.below(address + size - 1)
        return found is not None and found.address + found.size > address

    def pieces(self, address: int, size: int) -> "list[tuple[Allocation, int, int]]":
        """Where the bytes of a range are: physical memory, offset in the store that has it, length. Empty if not all of
        it is mapped, or nobody may touch a part."""
        found = []
        while size > 0:
            mapping = self.mapped(address)
            if mapping is None or not mapping.accessible:
                return []
            inside = address - mapping.address
            length = min(mapping.size - inside, size)
            found.append((mapping.physical.allocation, mapping.offset + inside, length))
            address += length
            size -= length
        return found

    # Devices.

    def clear(self, device: "Device") -> "list[Allocation]":
        """A device is closed: its physical memory is gone, and what maps it. Handles and mappings stay until they are
        freed, as memory that is there no more."""
        gone = []
        for physical in [*self.physical.values()]:
            if physical.allocation.device is device:
                gone.append(physical.allocation)
                del self.physical[physical.handle]
        for mapping in [*self._mapped]:
            if mapping.device is device:
                if mapping.physical.references == 0 and mapping.physical.allocation.live:
                    gone.append(mapping.physical.allocation)
                    mapping.physical.allocation.live = False
                self.unmap(mapping)
        return gone
