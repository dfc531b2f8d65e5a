"""Queues of calls that were read before they are needed, in bounded memory.

A thread of one trace may run far ahead of its counterpart, and around a long inserted block many calls have to be
looked at. What exceeds a few thousand calls is packed, to some tens of bytes per call, and beyond some megabytes of
that put into a temporary file.
"""

from tempfile import TemporaryFile
from typing import IO, Any, Final

from cannery.recorder.packing import pack, unpack
from cannery.recorder.records import Call

OPEN: Final = 4096  # calls of a queue that are kept as they are
_BLOCK: Final = 512  # calls that are packed together
_IN_MEMORY: Final = 64 << 20  # bytes of packed calls, over all queues of a comparison

IN_FLIGHT: Final = ...
"""The return value of a call that had not returned when its trace ended."""

Placed = tuple[int, Call]
"""A call, and its place in the order in which its trace's calls returned."""


class Store:
    """Where packed blocks lie: in memory, then in a file without a name."""

    def __init__(self) -> None:
        self._free = _IN_MEMORY
        self._file: IO[bytes] | None = None

    def put(self, block: bytes) -> bytes | tuple[int, int]:
        if len(block) <= self._free:
            self._free -= len(block)
            return block
        if self._file is None:
            self._file = TemporaryFile()  # noqa: SIM115 - closed with the store
        offset = self._file.seek(0, 2)
        self._file.write(block)
        return offset, len(block)

    def get(self, token: bytes | tuple[int, int]) -> bytes:
        if isinstance(token, bytes):
            return token
        assert self._file is not None
        self._file.seek(token[0])
        return self._file.read(token[1])

    def done(self, token: bytes | tuple[int, int]) -> None:
        """The block is not needed any more."""
        if isinstance(token, bytes):
            self._free += len(token)

    def close(self) -> None:
        if self._file is not None:
            self._file.close()


class Spool:
    """A queue of calls with access by index, from 0 for the first."""

    __slots__ = ("_block", "_blocks", "_head", "_index", "_start", "_store", "_tail")

    def __init__(self, store: Store) -> None:
        self._store = store
        self._head: list[Placed | None] = []
        self._start = 0  # of the head, what lies before was taken
        self._blocks: list[bytes | tuple[int, int]] = []
        self._tail: list[Placed] = []
        self._index = -1  # block that was read last, by its place among the blocks
        self._block: list[Placed] = []

    def __len__(self) -> int:
        return len(self._head) - self._start + len(self._blocks) * _BLOCK + len(self._tail)

    def append(self, item: Placed) -> None:
        if not self._blocks and not self._tail and len(self._head) - self._start < OPEN:
            if self._start > OPEN:
                del self._head[: self._start]
                self._start = 0
            self._head.append(item)
            return
        self._tail.append(item)
        if len(self._tail) == _BLOCK:
            self._index, self._block = len(self._blocks), self._tail  # whoever reads ahead asks for the last ones next
            self._blocks.append(self._store.put(pack([_packable(entry) for entry in self._tail])))
            self._tail = []

    def put_back(self, item: Placed) -> None:
        """Make it the first again."""
        if self._start:
            self._start -= 1
            self._head[self._start] = item
        else:
            self._head.insert(0, item)

    def first(self) -> Placed:
        """Raises IndexError when it is empty."""
        return self[0]

    def take(self) -> Placed:
        """Remove the first. Raises IndexError when it is empty."""
        if self._start == len(self._head):
            self._refill()
        item = self._head[self._start]
        assert item is not None
        self._head[self._start] = None
        self._start += 1
        if self._start == len(self._head):
            self._head.clear()
            self._start = 0
        return item

    def __getitem__(self, index: int) -> Placed:
        held = len(self._head) - self._start
        if index < held:
            item = self._head[self._start + index]
            assert item is not None
            return item
        place, rest = divmod(index - held, _BLOCK)
        if place < len(self._blocks):
            if place != self._index:
                self._block = _calls(self._store.get(self._blocks[place]))
                self._index = place
            return self._block[rest]
        return self._tail[index - held - len(self._blocks) * _BLOCK]

    def _refill(self) -> None:
        self._start = 0
        if self._blocks:
            token = self._blocks.pop(0)
            self._head = list(_calls(self._store.get(token)))
            self._store.done(token)
            self._index = -1
        else:
            self._head, self._tail = list(self._tail), []


def _packable(item: Placed) -> tuple[Any, ...]:
    """Without its effects: they were looked at when the call was read."""
    place, call = item
    returned = call.ret is not IN_FLIGHT
    ret = call.ret if returned else None
    return place, call.number, call.thread, call.time, call.function, ret, call.ins, call.outs, call.supported, returned


def _calls(block: bytes) -> list[Placed]:
    found = []
    names: dict[str, str] = {}
    for place, number, thread, time, function, ret, ins, outs, supported, returned in unpack(block):
        name = names.setdefault(function, function)  # one text for all calls of a function
        value = ret if returned else IN_FLIGHT
        found.append((place, Call(number, thread, time, name, value, ins, outs, (), supported)))
    return found
