"""Sizes as people write them: ``65536``, ``64K``, ``1.5M``, ``2G``. Units are powers of 1024; a ``B`` may follow."""

from typing import Final

UNITS: Final = {"": 1, "K": 1 << 10, "M": 1 << 20, "G": 1 << 30, "T": 1 << 40}


class SizeError(ValueError):
    """The text is no size; the message says what is."""


def parse_size(text: str) -> int:
    """The number of bytes that ``text`` means.

    Raises:
        SizeError: it means none.
    """
    plain = text.strip().upper().removesuffix("B").removesuffix("I")
    number = plain.rstrip("KMGT")
    unit = UNITS.get(plain[len(number) :])
    try:
        size = float(number)
    except ValueError:
        size = -1.0
    if unit is None or not 0 <= size * unit < 1 << 62:
        raise SizeError(f"{text!r} is no size: expected a number of bytes, or one with K, M or G, such as 64K or 1.5M")
    return int(size * unit)
