"""What aclrtRandomNumAsync writes: numbers that depend on the seed, the counter and the request, and on nothing else.

Cards use Philox 4x32-10 (Salmon et al., "Parallel random numbers: as easy as 1, 2, 3", 2011), and so does this. How a
card makes numbers of its 32-bit words is not published: these have the distribution that was asked for, and other bits.
No function of the C library takes part, since those round differently from one version to the next.
"""

from collections.abc import Iterator
from struct import pack, unpack
from typing import Final, NamedTuple

from cannery.runtime.reduction import BFLOAT16, FLOAT, FLOAT16, to_bytes

DROPOUT: Final = 0
UNIFORM: Final = 1
NORMAL: Final = 2
TRUNCATED_NORMAL: Final = 3

INT32: Final = 3
UINT32: Final = 8
INT64: Final = 9
UINT64: Final = 10
WHOLE_CODES: Final = {INT32: "i", UINT32: "I", INT64: "q", UINT64: "Q"}
FLOATING: Final = (FLOAT, FLOAT16, BFLOAT16)
SIZES: Final = {FLOAT: 4, FLOAT16: 2, BFLOAT16: 2, INT32: 4, UINT32: 4, INT64: 8, UINT64: 8}

_MULTIPLIERS: Final = (0xD2511F53, 0xCD9E8D57)
_WEYL: Final = (0x9E3779B9, 0xBB67AE85)
_ROUNDS: Final = 10
_WORD: Final = 0xFFFF_FFFF
_STEPS: Final = 1 << 32  # values of a word
_SUMMED: Final = 12  # uniform numbers whose sum, minus 6, is close to normal with deviation 1
_CUT: Final = 2.0  # deviations at which a truncated normal distribution ends


class Request(NamedTuple):
    """``length`` numbers of a type. ``first`` and ``second`` are the bytes of numbers of that type: ratio of what is
    dropped and nothing; bounds; or mean and deviation."""

    function: int
    element: int
    length: int
    seed: int
    counter: bytes  # 16 bytes
    first: bytes
    second: bytes


def size_of(function: int, element: int, count: int) -> int:
    """How many bytes the result has."""
    return -(-count // 8) if function == DROPOUT else count * SIZES[element]


def generate(request: Request) -> bytes:
    """The result."""
    words = _words(request.seed, request.counter)
    if request.function == DROPOUT:
        return _bits(words, request.length, _number(request.element, request.first))
    if request.element in WHOLE_CODES:
        return _whole(words, request)
    first, second = _number(request.element, request.first), _number(request.element, request.second)
    if request.function == UNIFORM:
        numbers = [first + (second - first) * (next(words) / _STEPS) for _ in range(request.length)]
    else:
        cut = _CUT if request.function == TRUNCATED_NORMAL else float(_SUMMED)
        numbers = [first + second * _normal(words, cut) for _ in range(request.length)]
    return to_bytes(request.element, numbers)


def _number(element: int, content: bytes) -> float:
    if element == FLOAT16:
        return float(unpack("<e", content)[0])
    return float(unpack("<f", content if element == FLOAT else b"\0\0" + content)[0])


def philox(key: tuple[int, int], counter: tuple[int, int, int, int]) -> tuple[int, int, int, int]:
    """Four words for a counter of four words and a key of two."""
    one, two, three, four = counter
    left, right = key
    for _ in range(_ROUNDS):
        high, low = divmod(_MULTIPLIERS[0] * one, _STEPS)
        other_high, other_low = divmod(_MULTIPLIERS[1] * three, _STEPS)
        one, two, three, four = other_high ^ two ^ left, other_low, high ^ four ^ right, low
        left, right = left + _WEYL[0] & _WORD, right + _WEYL[1] & _WORD
    return one, two, three, four


def _words(seed: int, counter: bytes) -> Iterator[int]:
    key = seed & _WORD, seed >> 32 & _WORD
    position = int.from_bytes(counter, "little")
    while True:
        content = (position & (1 << 128) - 1).to_bytes(16, "little")
        one, two, three, four = unpack("<4I", content)
        yield from philox(key, (one, two, three, four))
        position += 1


def _bits(words: Iterator[int], count: int, dropped: float) -> bytes:
    """One bit for each element, the lowest of a byte first: set if it stays."""
    limit = min(max(dropped, 0.0), 1.0) * _STEPS
    bits = 0
    for place in range(count):
        if next(words) >= limit:
            bits |= 1 << place
    return bits.to_bytes(-(-count // 8), "little")


def _whole(words: Iterator[int], request: Request) -> bytes:
    """From the first bound, which can be, to the second, which cannot."""
    code = WHOLE_CODES[request.element]
    low, high = int(unpack(f"<{code}", request.first)[0]), int(unpack(f"<{code}", request.second)[0])
    span = max(high - low, 1)
    wide = SIZES[request.element] == 8
    numbers = []
    for _ in range(request.length):
        word = next(words)
        if wide:
            word |= next(words) << 32
        numbers.append(low + word % span)
    return pack(f"<{request.length}{code}", *numbers)


def _normal(words: Iterator[int], cut: float) -> float:
    while True:
        total = 0
        for _ in range(_SUMMED):
            total += next(words)
        number = total / _STEPS - _SUMMED / 2
        if -cut < number < cut:
            return number
