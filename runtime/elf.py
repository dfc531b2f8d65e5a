"""Which functions a kernel binary has: the names and places of functions in an ELF file.

A binary is an ELF file of the device's compiler, which is read as the public implementation does (``elf.cc``,
``program.cc``): what the file's ``.ascend.meta`` sections say about functions is not read. Layouts are those of elf(5).
"""

import struct
from struct import unpack_from
from typing import Final, NamedTuple

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
