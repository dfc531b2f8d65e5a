"""Kernel binaries as the machine has them: loaded, on devices, with the functions that were asked for."""

from typing import TYPE_CHECKING

from cannery.runtime.elf import Symbol, Symbols
from cannery.runtime.kept import Kept

if TYPE_CHECKING:
    from cannery.runtime.machine import Machine
    from cannery.runtime.objects import Device
    from cannery.runtime.places import Allocation


class Description(Kept):
    """What aclrtCreateBinary makes: where in host memory a binary is."""

    __slots__ = ("address", "handle", "size")

    def __init__(self, handle: int, address: int, size: int) -> None:
        self.handle = handle
        self.address = address
        self.size = size


class Binary(Kept):
    """A loaded binary. ``symbols`` by kernel name; None: any name will do, since a replay does not have the content.

    ``cpu``: its functions run on the control processor (AI CPU) of the device. ``lazy``: its bytes are not copied to
    device memory. ``ready``: the indices of devices that can run it, ``copies`` the bytes on each. ``kernels`` are the
    functions that were asked for. ``callback`` is told of launches that fail, with ``user_data``.
    """

    __slots__ = (
        "callback", "content", "copies", "cpu", "handle", "kernels", "lazy", "ready", "symbols", "user_data",
    )  # fmt: skip

    def __init__(self, content: bytes, symbols: Symbols | None, cpu: bool) -> None:
        self.handle = 0
        self.content = content
        self.symbols = symbols
        self.cpu = cpu
        self.lazy = False
        self.ready: set[int] = set()
        self.copies: dict[int, Allocation] = {}
        self.kernels: dict[bytes, Kernel] = {}
        self.callback = 0
        self.user_data = 0

    def place(self, machine: "Machine", device: "Device") -> bool:
        """Make it ready to run on a device. False: the device has no memory left for its bytes."""
        index = device.index
        if index in self.ready:
            return True
        if not self.lazy and not self.cpu and self.content:
            copy = machine.memory.allocate(device, len(self.content))
            if copy is None:
                return False
            machine.memory.store(machine.memory.place(copy.address), self.content)
            self.copies[index] = copy
        self.ready.add(index)
        return True

    def address(self, device: "Device") -> int:
        """Where its bytes are on a device; 0 where they are not."""
        copy = self.copies.get(device.index)
        return copy.address if copy is not None and copy.live else 0

    def close_device(self, device: "Device") -> None:
        """The device is closed, and its memory is free."""
        self.ready.discard(device.index)
        self.copies.pop(device.index, None)

    def unload(self, machine: "Machine") -> None:
        """Forget it and its functions; what is queued goes on."""
        for copy in self.copies.values():
            if copy.live:
                machine.memory.free(copy)
        for kernel in self.kernels.values():
            del machine.kernels[kernel.handle]
        self.kernels.clear()  # they refer back
        del machine.binaries[self.handle]


class Kernel(Kept):
    """A function of a binary. ``modelled``: there is a kernel model for its name. ``told``: the user was told that
    there is none. ``cpu`` and ``symbol`` as in :class:`Binary`."""

    __slots__ = ("binary", "cpu", "handle", "modelled", "name", "symbol", "told")

    def __init__(self, handle: int, name: bytes, binary: Binary, symbol: Symbol | None) -> None:
        self.handle = handle
        self.name = name
        self.binary = binary
        self.cpu = binary.cpu
        self.symbol = symbol
        self.modelled = False
        self.told = False
