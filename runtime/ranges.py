"""Address ranges: an allocator whose cost does not depend on how much is allocated, and a map to look addresses up.

Both are deterministic: the same calls in the same order give the same addresses.
"""

from bisect import bisect_right, insort
from collections.abc import Iterator
from typing import Final, Generic, TypeVar

from cannery.runtime.kept import Kept

T = TypeVar("T")

_SUBDIVISIONS: Final = 16
_CHUNK: Final = 512


class Block(Kept):
    """A run of granules, in use or free; ``before`` and ``after`` are its neighbours in address order."""

    __slots__ = ("after", "before", "free", "newer", "older", "size", "start")

    def __init__(self, start: int, size: int) -> None:
        self.start = start
        self.size = size
        self.free = False
        self.before: Block | None = None
        self.after: Block | None = None
        self.newer: Block | None = None
        self.older: Block | None = None


class Arena(Kept):
    """Allocates runs of granules from ``size`` of them, numbered from 0.

    Free blocks lie in bins by size, sixteen per power of two, and a bitmap tells which bins have any (a segregated
    fit). Within a bin the block that was freed last is used first. Neighbouring free blocks merge at once.
    """

    __slots__ = ("_bins", "_filled", "high")

    def __init__(self, size: int) -> None:
        self._bins: dict[int, Block] = {}
        self._filled = 0
        self.high = 0  # first granule that was never in use
        self._put(Block(0, size))

    def allocate(self, size: int) -> Block | None:
        """A block of ``size`` granules; None when no free block is large enough."""
        exact = _bin(size)
        block = self._bins.get(exact)
        if block is None or block.size < size:
            block = self._larger(size, exact)
            if block is None:
                return None
        self._take(block)
        if block.size > size:
            self._put(self._split(block, size))
        self.high = max(self.high, block.start + size)
        return block

    def allocate_at(self, start: int, size: int) -> Block | None:
        """The block of ``size`` granules from ``start``; None when one of them is in use. Looks at every free block."""
        for first in self._bins.values():
            block: Block | None = first
            while block is not None:
                if block.start <= start and start + size <= block.start + block.size:
                    self._take(block)
                    if block.start < start:
                        before, block = block, self._split(block, start - block.start)
                        self._put(before)
                    if block.size > size:
                        self._put(self._split(block, size))
                    self.high = max(self.high, start + size)
                    return block
                block = block.older
        return None

    def _split(self, block: Block, size: int) -> Block:
        """Cut a block that is not free in two: it keeps ``size`` granules, and the rest is returned."""
        rest = Block(block.start + size, block.size - size)
        rest.before = block
        rest.after = block.after
        if rest.after is not None:
            rest.after.before = rest
        block.after = rest
        block.size = size
        return rest

    def release(self, block: Block) -> None:
        """Give a block back."""
        after = block.after
        if after is not None and after.free:
            self._take(after)
            block.size += after.size
            block.after = after.after
            if block.after is not None:
                block.after.before = block
        before = block.before
        if before is not None and before.free:
            self._take(before)
            before.size += block.size
            before.after = block.after
            if before.after is not None:
                before.after.before = before
            block = before
        self._put(block)

    def _larger(self, size: int, exact: int) -> Block | None:
        above = self._filled >> (exact + 1)
        if above:
            return self._bins[exact + (above & -above).bit_length()]
        block = self._bins.get(exact)  # nearly full: perhaps an older block of the same bin is large enough
        while block is not None and block.size < size:
            block = block.older
        return block

    def _put(self, block: Block) -> None:
        index = _bin(block.size)
        block.free = True
        block.newer = None
        block.older = self._bins.get(index)
        if block.older is not None:
            block.older.newer = block
        self._bins[index] = block
        self._filled |= 1 << index

    def _take(self, block: Block) -> None:
        block.free = False
        if block.older is not None:
            block.older.newer = block.newer
        if block.newer is not None:
            block.newer.older = block.older
            return
        index = _bin(block.size)
        if block.older is not None:
            self._bins[index] = block.older
        else:
            del self._bins[index]
            self._filled &= ~(1 << index)


def _bin(size: int) -> int:
    """Every block of a higher bin is larger than every block of a lower one."""
    if size < _SUBDIVISIONS:
        return size
    shift = size.bit_length() - 5
    return _SUBDIVISIONS * (shift + 1) + (size >> shift) - _SUBDIVISIONS


class AddressMap(Kept, Generic[T]):
    """Values by start address, with a look-up of the nearest start at or below an address."""

    __slots__ = ("_chunks", "_firsts", "_values")

    def __init__(self) -> None:
        self._values: dict[int, T] = {}
        self._chunks: list[list[int]] = []
        self._firsts: list[int] = []

    def __len__(self) -> int:
        return len(self._values)

    def __iter__(self) -> Iterator[T]:
        for chunk in self._chunks:
            for start in chunk:
                yield self._values[start]

    def insert(self, start: int, value: T) -> None:
        """Add a value under a start that is not taken."""
        self._values[start] = value
        if not self._chunks:
            self._chunks.append([start])
            self._firsts.append(start)
            return
        index = max(bisect_right(self._firsts, start) - 1, 0)
        chunk = self._chunks[index]
        insort(chunk, start)
        self._firsts[index] = chunk[0]
        if len(chunk) > _CHUNK:
            half = _CHUNK // 2
            self._chunks.insert(index + 1, chunk[half:])
            self._firsts.insert(index + 1, chunk[half])
            del chunk[half:]

    def remove(self, start: int) -> None:
        """Remove what starts there."""
        del self._values[start]
        index = bisect_right(self._firsts, start) - 1
        chunk = self._chunks[index]
        del chunk[bisect_right(chunk, start) - 1]
        if chunk:
            self._firsts[index] = chunk[0]
        else:
            del self._chunks[index]
            del self._firsts[index]

    def at(self, start: int) -> T | None:
        """What starts exactly there."""
        return self._values.get(start)

    def below(self, address: int) -> T | None:
        """What has the nearest start at or below the address."""
        value = self._values.get(address)
        if value is not None:
            return value
        index = bisect_right(self._firsts, address) - 1
        if index < 0:
            return None
        chunk = self._chunks[index]
        return self._values[chunk[bisect_right(chunk, address) - 1]]
