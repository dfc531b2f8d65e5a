"""Kernel binaries: what is in the file, and what is loaded of it.

A binary is an ELF file of the device's compiler, of which the model reads the names and places of functions, as the
public implementation does (``elf.cc``, ``program.cc``): what the file's ``.ascend.meta`` sections say about them is
not read. Layouts are those of elf(5).
"""

import struct
from struct import unpack_from
from typing import TYPE_CHECKING, Final, NamedTuple

from cannery.runtime.kept import Kept

if TYPE_CHECKING:
    from cannery.runtime.machine import Machine
    from cannery.runtime.objects import Device
    from cannery.runtime.places import Allocation

_MAGIC: Final = b"\x7fELF\x02\x01"  # 64 bits, little-endian
_RELOCATABLE: Final = 1  # e_type
_SYMBOLS: Final = (2, 11)  # sh_type: SHT_SYMTAB, SHT_DYNSYM
_FUNCTION: Final = 2  # st_info, lower half
_LOCAL: Final = 0  # st_info, upper half
_RESERVED: Final = 0xFF00  # section numbers from here up are none
_MOST: Final = 1 << 20  # symbols that are looked at: a file can announce more than it has
_CORE_SUFFIXES: Final = (b"_mix_aic", b"_mix_aiv")  # one kernel, compiled for each kind of core


class Symbol(NamedTuple):
    """A function in a binary: ``offset`` in the file, and ``size``."""

    offset: int
    size: int


Symbols = dict[bytes, Symbol | None]
"""By kernel name; None for what has no place in the file."""


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


def functions(content: bytes) -> Symbols | None:
    """The functions that an ELF file defines for others, by name; None for what is no ELF file, or a damaged one."""
    if not content.startswith(_MAGIC):
        return None
    try:
        return _functions(content)
    except (struct.error, ValueError, OverflowError):
        return None


def _functions(content: bytes) -> Symbols:
    (kind,) = unpack_from("<H", content, 16)
    (table,) = unpack_from("<Q", content, 40)
    size, count = unpack_from("<HH", content, 58)
    # of each section: type, address, offset, size, link to its names, size of an entry
    sections = [unpack_from("<4xI8xQQQI12xQ", content, table + index * size) for index in range(count)]
    found: Symbols = {}
    left = _MOST
    for section_kind, _, offset, length, link, entry in sections:
        if section_kind not in _SYMBOLS or not entry or link >= count:
            continue
        left -= -(-length // entry)
        if left < 0:
            raise ValueError("too many symbols")
        names = sections[link][2]
        for at in range(offset, offset + length, entry):
            name, info, home, value, extent = unpack_from("<IBxHQQ", content, at)
            if info & 15 != _FUNCTION or info >> 4 == _LOCAL or not 0 < home < _RESERVED or home >= count:
                continue
            _, address, start, _, _, _ = sections[home]
            inside = value if kind == _RELOCATABLE else value - address
            found.setdefault(_kernel_name(content, names + name), Symbol(start + inside, extent))
    return found


def _kernel_name(content: bytes, start: int) -> bytes:
    """A name in a string table, without what tells cores apart. Raises ValueError."""
    name = content[start : content.index(b"\0", start)]
    for suffix in _CORE_SUFFIXES:
        if name.endswith(suffix):
            return name[: -len(suffix)]
    return name


def entry_of(name: bytes) -> int:
    """The number by which aclrtBinaryGetFunctionByEntry finds a kernel, at the end of its name; -1 if it has none."""
    digits = name[name.rfind(b"_") + 1 :]
    return int(digits) if digits.isdigit() and len(digits) < 19 else -1
