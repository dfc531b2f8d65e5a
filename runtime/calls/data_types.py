"""Data types: their sizes, and 16-bit floating-point numbers (reference pages of the functions named)."""

from math import isinf, isnan
from struct import pack, unpack
from typing import TYPE_CHECKING, Final

from cannery.runtime.calls.registry import call
from cannery.runtime.objects import Thread

if TYPE_CHECKING:
    from cannery.runtime.machine import Machine

# aclDataType: those whose size is not that of a 64-bit number. Two 4-bit numbers, or eight bits, count as one byte.
SIZES: Final = {
    -1: 0, 0: 4, 1: 2, 2: 1, 3: 4, 4: 1, 6: 2, 7: 2, 8: 4, 12: 1, 13: 0, 17: 16, 27: 2, 29: 1, 30: 1, 33: 4, 34: 1,
    35: 1, 36: 1, 37: 1,
}  # fmt: skip
ELSE: Final = 8

LARGEST: Final = 65504.0  # what 16 bits can hold
SIGN: Final = 0x8000
SPECIAL: Final = 0x7C00  # the exponent of infinities and of what is no number
SPECIAL_VALUE: Final = 65536.0  # what such bits are read as, plus what the lower ones say


@call("aclDataTypeSize")
def data_type_size(machine: "Machine", thread: Thread, data_type: int) -> int:
    """A number that is no type counts as one of 8 bytes (reference implementation)."""
    return SIZES.get(data_type, ELSE)


@call("aclFloat16ToFloat")
def float16_to_float(machine: "Machine", thread: Thread, bits: int) -> float:
    """Infinities and what is no number are read like larger numbers, from 65536 on (reference implementation)."""
    bits &= 0xFFFF
    if bits & SPECIAL == SPECIAL:
        value = SPECIAL_VALUE * (1.0 + (bits & 0x3FF) / 1024.0)
        return -value if bits & SIGN else value
    return float(unpack("<e", pack("<H", bits))[0])


@call("aclFloatToFloat16")
def float_to_float16(machine: "Machine", thread: Thread, value: float) -> int:
    """Rounds to the nearest, ties to even. What is too large becomes the largest number, and so does what is no number
    (reference implementation)."""
    number = float(value)
    negative = pack("<d", number)[7] & 0x80 != 0
    if isnan(number) or isinf(number) or abs(number) > LARGEST:
        bits = 0x7BFF
    else:
        bits = int(unpack("<H", pack("<e", abs(number)))[0])
    return bits | SIGN if negative else bits
