"""Alignment of two sequences of keys in time that grows with their length, also around a long inserted block.

A *key* stands for a call: equal keys, equal calls. The sequences are compared in step. Where they part, the nearest
place at which both agree again for a while is looked for: *cost* is the number of keys of the longer side that lie
before it, so that a changed call costs 1, as does an inserted one. Everything that is looked at is passed over in the
end, which keeps the work linear. Short gaps are then aligned with the greedy algorithm of Myers (1986), which finds
the fewest edits.
"""

from collections.abc import Callable, Iterator, Sequence
from typing import Final, NamedTuple

RUN: Final = 16  # calls that must agree before two streams count as in step again
_SHORT_RUN: Final = 4  # the same inside a gap, which is known to lie between calls that agree
_EDITS: Final = 256  # of a gap that is aligned for the fewest edits; the work grows with their square
_STEPS: Final = 1_000_000  # work that one gap may cost

_PRIME: Final = (1 << 61) - 1
_FACTOR: Final = 0x1E35A7BD1E35A7BD % _PRIME

END: Final = 0x5EED  # stands behind the last key of a sequence, as often as needed


class Block(NamedTuple):
    """``size`` keys from ``a`` on in the first sequence equal those from ``b`` on in the second."""

    a: int
    b: int
    size: int


class Grams:
    """Hashes of ``run`` consecutive keys, made as they are asked for; beyond the last key stands END.

    ``key`` gives the key at an index, or None behind the last. ``length`` is the number of keys, once it is known.
    """

    __slots__ = ("_hash", "_key", "_keys", "_out", "_run", "length")

    def __init__(self, key: Callable[[int], int | None], run: int) -> None:
        self._key = key
        self._run = run
        self._keys: list[int] = []
        self._hash = 0
        self._out = pow(_FACTOR, run, _PRIME)
        self.length: int | None = None

    def _next_key(self) -> int:
        if self.length is None:
            key = self._key(len(self._keys))
            if key is not None:
                return key
            self.length = len(self._keys)
        return END

    def at(self, index: int) -> int:
        """The hash of the keys from ``index`` on. ``index`` must count up from 0 in steps of 1."""
        keys, run = self._keys, self._run
        value = self._hash
        while len(keys) < index + run:
            key = self._next_key()
            value = (value * _FACTOR + key) % _PRIME
            if len(keys) >= run:
                value = (value - keys[-run] * self._out) % _PRIME
            keys.append(key)
        self._hash = value
        return value

    def keys(self, count: int) -> list[int]:
        """The first ``count`` keys, all of which were looked at."""
        return self._keys[:count]


class Meeting(NamedTuple):
    """The sequences agree from ``a`` and ``b`` on, if only because both have no more keys."""

    a: int
    b: int


class Search:
    """Looks for the nearest place where two sequences agree again, one step of cost at a time."""

    __slots__ = ("_a", "_b", "_cost", "_first_a", "_first_b")

    def __init__(self, a: Grams, b: Grams) -> None:
        self._a = a
        self._b = b
        self._first_a: dict[int, int] = {}
        self._first_b: dict[int, int] = {}
        self._cost = 0

    def step(self) -> list[Meeting]:
        """The meetings whose cost is the next higher one; empty when there are none."""
        cost = self._cost
        self._cost = cost + 1
        gram_a, gram_b = self._a.at(cost), self._b.at(cost)
        if cost:  # at the cost 0 lies the place itself, where the sequences part
            self._first_a.setdefault(gram_a, cost)
            self._first_b.setdefault(gram_b, cost)
        else:
            self._first_a[gram_a] = self._first_b[gram_b] = 0
        found = []
        if cost and gram_a == gram_b:
            found.append(self._within(cost, cost))
        i = self._first_a.get(gram_b)
        if i is not None and i < cost:
            found.append(self._within(i, cost))
        j = self._first_b.get(gram_a)
        if j is not None and j < cost:
            found.append(self._within(cost, j))
        return found

    def _within(self, a: int, b: int) -> Meeting:
        """What lies behind the last key is the end."""
        length_a, length_b = self._a.length, self._b.length
        return Meeting(a if length_a is None else min(a, length_a), b if length_b is None else min(b, length_b))


def choose(meetings: Sequence[Meeting], alike: bool) -> Meeting:
    """Of meetings that cost the same, the likeliest. ``alike``: the calls at which the sequences part are calls of one
    function, so that one was changed rather than put in."""
    if not alike:
        inserted = [m for m in meetings if (m.a == 0) != (m.b == 0)]
        if inserted:
            return inserted[0]
    return min(meetings, key=lambda m: abs(m.a - m.b))


def align(a: Sequence[int], b: Sequence[int]) -> list[Block]:
    """The blocks in which two sequences of keys agree, in order. Fewest edits for a gap with few, linear for others."""
    blocks: list[Block] = []
    start = 0
    shorter = min(len(a), len(b))
    while start < shorter and a[start] == b[start]:
        start += 1
    if start:
        blocks.append(Block(0, 0, start))
    end = 0
    while end < shorter - start and a[-1 - end] == b[-1 - end]:
        end += 1
    middle_a, middle_b = a[start : len(a) - end], b[start : len(b) - end]
    if middle_a and middle_b:
        edits = min(_EDITS, _STEPS // (len(middle_a) + len(middle_b)))
        found = _fewest_edits(middle_a, middle_b, edits)
        if found is None:
            found = _in_step(middle_a, middle_b)
        blocks += (Block(block.a + start, block.b + start, block.size) for block in found)
    if end:
        blocks.append(Block(len(a) - end, len(b) - end, end))
    return blocks


def gaps(blocks: Sequence[Block], length_a: int, length_b: int) -> Iterator[tuple[int, int, int, int]]:
    """What lies between blocks: ``(start in a, end in a, start in b, end in b)``."""
    i = j = 0
    for block in (*blocks, Block(length_a, length_b, 0)):
        if block.a > i or block.b > j:
            yield i, block.a, j, block.b
        i, j = block.a + block.size, block.b + block.size


def _in_step(a: Sequence[int], b: Sequence[int]) -> list[Block]:
    """Linear: compare in step, and where the sequences part go on at the nearest place where they agree again."""
    blocks = []
    i = j = 0
    while i < len(a) and j < len(b):
        size = 0
        while i + size < len(a) and j + size < len(b) and a[i + size] == b[j + size]:
            size += 1
        if size:
            blocks.append(Block(i, j, size))
            i, j = i + size, j + size
            continue
        search = Search(Grams(_reader(a, i), _SHORT_RUN), Grams(_reader(b, j), _SHORT_RUN))
        meetings: list[Meeting] = []
        while not meetings:
            meetings = search.step()
        meeting = choose(meetings, True)
        i, j = i + meeting.a, j + meeting.b
    return blocks


def _reader(keys: Sequence[int], start: int) -> Callable[[int], int | None]:
    return lambda index: keys[start + index] if start + index < len(keys) else None


def _fewest_edits(a: Sequence[int], b: Sequence[int], limit: int) -> list[Block] | None:
    """Myers' algorithm; None when more than ``limit`` edits are needed."""
    n, m = len(a), len(b)
    middle = limit + 1  # where the diagonal 0 stands
    furthest = [-1] * (2 * middle + 1)  # by diagonal: how far along `a` so many edits lead; -1: nowhere
    furthest[middle + 1] = 0
    passed: list[list[int]] = []
    for edits in range(limit + 1):
        passed.append(furthest[middle - edits - 1 : middle + edits + 2])
        for k in range(-edits + 2 * max(0, edits - m), edits - 2 * max(0, edits - n) + 1, 2):
            below, above = furthest[middle + k - 1], furthest[middle + k + 1]
            x = above if below < above else below + 1  # down from the diagonal above, or right from the one below
            y = x - k
            while x < n and y < m and a[x] == b[y]:
                x += 1
                y += 1
            furthest[middle + k] = x
            if x == n and y == m:
                return _way_back(passed, n, m)
    return None


def _way_back(passed: Sequence[Sequence[int]], x: int, y: int) -> list[Block]:
    """The blocks on the way to the end. ``passed``: for each number of edits, what led there."""
    blocks: list[Block] = []
    for edits in range(len(passed) - 1, -1, -1):
        k = x - y
        below, above = passed[edits][k + edits], passed[edits][k + edits + 2]
        start = above if below < above else below + 1
        if x > start:
            blocks.append(Block(start, start - k, x - start))
        x, y = (start, start - k - 1) if below < above else (start - 1, start - k)
    return blocks[::-1]
