"""What aclrtReduceAsync computes: dst = dst op src, element by element.

Whole numbers wrap, as two's complement does (our choice); floating-point results are rounded to the nearest, ties to
even.
"""

from collections.abc import Callable, Sequence
from struct import pack, unpack
from typing import Any, Final

# aclDataType
FLOAT: Final = 0
FLOAT16: Final = 1
BFLOAT16: Final = 27

SUM: Final = 10
MAX: Final = 11
MIN: Final = 12

WHOLE_FORMATS: Final = {2: "b", 4: "B", 6: "h", 7: "H", 3: "i", 8: "I"}
SIZES: Final = {FLOAT: 4, FLOAT16: 2, BFLOAT16: 2, 2: 1, 4: 1, 6: 2, 7: 2, 3: 4, 8: 4}

_HALF_LIMIT: Final = 65520.0  # rounds to infinity
_INFINITY: Final = float("inf")


def reduce(kind: int, element: int, destination: bytes, source: bytes) -> bytes:
    """The new content of the destination."""
    if element in WHOLE_FORMATS:
        return _whole(kind, WHOLE_FORMATS[element], destination, source)
    pairs = zip(_floats(element, destination), _floats(element, source), strict=True)
    operation = _OPERATIONS[kind]
    return to_bytes(element, [operation(one, other) for one, other in pairs])


def _add(one: Any, other: Any) -> Any:
    return one + other


def _greater(one: Any, other: Any) -> Any:
    return one if one >= other else other


def _less(one: Any, other: Any) -> Any:
    return one if one <= other else other


_OPERATIONS: Final[dict[int, Callable[[Any, Any], Any]]] = {SUM: _add, MAX: _greater, MIN: _less}


def _whole(kind: int, code: str, destination: bytes, source: bytes) -> bytes:
    size = len(pack(f"<{code}", 0))
    layout = f"<{len(destination) // size}{code}"
    pairs = zip(unpack(layout, destination), unpack(layout, source), strict=True)
    operation = _OPERATIONS[kind]
    if kind != SUM:
        return pack(layout, *[operation(one, other) for one, other in pairs])
    mask = (1 << 8 * size) - 1
    return pack(layout.upper(), *[one + other & mask for one, other in pairs])


def _floats(element: int, content: bytes) -> Sequence[float]:
    if element == FLOAT:
        return unpack(f"<{len(content) // 4}f", content)
    count = len(content) // 2
    if element == FLOAT16:
        return unpack(f"<{count}e", content)
    return unpack(f"<{count}f", b"".join(b"\0\0" + content[at : at + 2] for at in range(0, len(content), 2)))


def to_bytes(element: int, values: "list[float]") -> bytes:
    if element == FLOAT16:
        return pack(f"<{len(values)}e", *[_half(value) for value in values])
    if element == FLOAT:
        return b"".join(map(_single, values))
    return b"".join(map(_brain, values))


def _half(value: float) -> float:
    if abs(value) < _HALF_LIMIT or value != value:
        return value
    return _INFINITY if value > 0 else -_INFINITY


def _single(value: float) -> bytes:
    try:
        return pack("<f", value)
    except OverflowError:
        return pack("<f", _INFINITY if value > 0 else -_INFINITY)


def _brain(value: float) -> bytes:
    bits = int.from_bytes(_single(value), "little")
    if value == value:
        bits += 0x7FFF + (bits >> 16 & 1)
    return (bits >> 16 & 0xFFFF).to_bytes(2, "little")
