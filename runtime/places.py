"""Where an address lies: allocations and places."""

from typing import TYPE_CHECKING, Any, ClassVar, Final

from cannery.runtime.kept import Kept
from cannery.runtime.ranges import Block
from cannery.runtime.virtual import Mapped, VirtualMemory, Window

if TYPE_CHECKING:
    from cannery.runtime.objects import Device
    from cannery.runtime.ports import DeviceStore

PAGEABLE: Final = "pageable host memory"
PINNED: Final = "pinned host memory"
DEVICE: Final = "device memory"


class Allocation(Kept):
    """Memory that an allocation call gave. ``size`` is usable, ``reserved`` counts against the device's capacity.

    ``device`` and ``block`` are None for pinned host memory. ``live`` is False once it was freed. ``shared``: other
    processes may write it.
    """

    __slots__ = ("address", "block", "device", "live", "reserved", "shared", "size")

    def __init__(self, address: int, size: int, reserved: int, device: "Device | None", block: Block | None) -> None:
        self.address = address
        self.size = size
        self.reserved = reserved
        self.device = device
        self.block = block
        self.live = True
        self.shared = False


class Imported(Allocation):
    """Memory that another process shares: the whole of ``store``. ``entry`` is that of the exchange, ``key`` opened it.
    Physical memory has no address, and no block of addresses."""

    __slots__ = ("entry", "key", "store")

    def __init__(self, entry: int, key: Any, size: int, device: "Device", store: "DeviceStore") -> None:
        super().__init__(0, size, 0, device, None)
        self.entry = entry
        self.key = key
        self.store = store
        self.shared = True


class Registration(Allocation):
    """Host memory that was registered. ``window`` has its device addresses, ``owner`` is the device that has them."""

    __slots__ = ("owner", "window")

    def __init__(self, address: int, size: int, owner: "Device", window: Window | None) -> None:
        super().__init__(address, size, size, None, None)
        self.owner = owner
        self.window = window


class Place(Kept):
    """Where an address lies. ``allocation`` is None for pageable memory, and for device memory that is not allocated;
    ``offset`` is that in the store of the allocation's device."""

    __slots__ = ("address", "allocation", "kind", "offset")

    mapped: ClassVar[bool] = False

    def __init__(self, address: int, kind: str, allocation: "Allocation | Mapped | None", offset: int = 0) -> None:
        self.address = address
        self.kind = kind
        self.allocation = allocation
        self.offset = offset

    def holds(self, size: int) -> bool:
        """Whether ``size`` bytes from here are still allocated. Pageable memory is only known when it is touched. Less
        than none, which only an altered trace asks for, no place holds."""
        allocation = self.allocation
        if allocation is None:
            return self.kind is PAGEABLE and size >= 0
        return allocation.live and 0 <= size <= allocation.address + allocation.size - self.address

    @property
    def device(self) -> "Device | None":
        """The device whose memory it is."""
        return None if self.allocation is None else self.allocation.device


class MappedPlace(Place):
    """A place in mapped virtual memory, whose neighbouring mappings make one range with it."""

    __slots__ = ("mapping", "space")

    mapped = True

    def __init__(self, address: int, allocation: Mapped, space: VirtualMemory) -> None:
        super().__init__(address, DEVICE, allocation, allocation.offset + address - allocation.address)
        self.mapping = allocation
        self.space = space

    def holds(self, size: int) -> bool:
        mapping = self.mapping
        if not mapping.live or not mapping.accessible or size < 0:
            return False
        if self.address + size <= mapping.address + mapping.size:
            return True
        return bool(self.space.pieces(self.address, size))
