"""Which object of one trace is which of the other.

Numbers, addresses and keys are no identity: one object more, and all that follow have other ones. Two objects are the
same when calls that were aligned made them, or, for what no call visibly made, when they first appeared in the same
place of aligned calls.

Where several calls in a row make objects with the same arguments and one trace has one call more, nothing says which
of them is the additional one. The first use does: objects that were not used yet may then change partners
(:meth:`Bindings.matches`).
"""

from bisect import bisect_left, bisect_right
from collections import deque
from collections.abc import Callable
from typing import Final, NamedTuple

from cannery.recorder.records import Call

A: Final = 0
B: Final = 1

_REMEMBERED: Final = 4096  # released objects that are still known, for calls that use them after that


class Birth(NamedTuple):
    """``call`` made the object. Equal ``signature``: nothing but the order tells two such calls apart."""

    signature: int
    call: Call


class Bindings:
    """The objects of one sort: which of the first trace is which of the second.

    ``births`` has, for each side, the calls that made objects. ``moved(side, instead, call)`` is told that not
    ``instead`` but ``call`` is the call without a partner. ``version`` counts changes of mind: what was found
    equal before may not be now.
    """

    __slots__ = ("_born_alone", "_gone", "_loose", "_moved", "_partners", "births", "used", "version")

    def __init__(self, moved: Callable[[int, Call, Call], None]) -> None:
        self._partners: tuple[dict[int, int], dict[int, int]] = ({}, {})
        self.births: tuple[dict[int, Birth], dict[int, Birth]] = ({}, {})
        self.used: set[int] = set()  # of the first trace
        self.version = 0
        self._loose: set[int] = set()  # signatures of calls without a partner
        self._born_alone: tuple[dict[int, Birth], dict[int, Birth]] = ({}, {})
        self._gone: deque[tuple[int | None, int | None]] = deque()
        self._moved = moved

    def partner(self, side: int, number: int) -> int | None:
        """The other trace's object, None while there is none."""
        return self._partners[side].get(number)

    def confirmed(self, side: int, number: int) -> bool:
        """Whether the object has a partner and a use showed that it is the right one."""
        first = number if side == A else self._partners[B].get(number)
        return first in self.used

    def make(self, numbers: tuple[int, int], signatures: tuple[int, int], calls: tuple[Call, Call]) -> None:
        """Two aligned calls made these objects."""
        for side, number in enumerate(numbers):
            self.births[side][number] = Birth(signatures[side], calls[side])
            self._forget_partner(side, number)
        self._bind(*numbers)

    def make_alone(self, side: int, number: int, signature: int, call: Call) -> None:
        """A call without a partner made this object."""
        self._forget_partner(side, number)
        birth = self.births[side][number] = self._born_alone[side][number] = Birth(signature, call)
        self._loose.add(birth.signature)

    def matches(self, a: int, b: int) -> bool:
        """Whether both are, or may be, one object. Nothing is kept: see :meth:`use`."""
        partner = self._partners[A].get(a)
        if partner == b:
            return True
        if partner is None and b not in self._partners[B]:
            return True
        return self._may_change(a, b)

    def use(self, a: int, b: int) -> None:
        """Aligned calls use these two objects, which match."""
        first, second = self._partners
        partner = first.get(a)
        if partner != b:
            other = second.get(b)
            if partner is not None or other is not None:
                self._change(a, b, partner, other)
            self._bind(a, b)
        self.used.add(a)

    def release(self, a: int | None, b: int | None) -> None:
        """The objects are gone. They are remembered for a while: programs use what they released."""
        if a is None and b is None:
            return
        self._gone.append((a, b))
        if len(self._gone) > _REMEMBERED:
            for side, number in enumerate(self._gone.popleft()):
                if number is not None:
                    self._forget(side, number)  # what was found equal stays so: the version is the same
                    self.births[side].pop(number, None)
                    self._born_alone[side].pop(number, None)

    def _bind(self, a: int, b: int) -> None:
        self._partners[A][a] = b
        self._partners[B][b] = a

    def _forget_partner(self, side: int, number: int) -> None:
        """The number is another object's from now on."""
        if self._forget(side, number):
            self.version += 1

    def _forget(self, side: int, number: int) -> bool:
        """Whether it had a partner."""
        partner = self._partners[side].pop(number, None)
        if partner is None:
            return False
        self._partners[1 - side].pop(partner, None)
        self.used.discard(number if side == A else partner)
        return True

    def _may_change(self, a: int, b: int) -> bool:
        birth_a, birth_b = self.births[A].get(a), self.births[B].get(b)
        if birth_a is None or birth_b is None or birth_a.signature != birth_b.signature:
            return False
        return birth_a.signature in self._loose and a not in self.used and self._partners[B].get(b) not in self.used

    def _change(self, a: int, b: int, partner: int | None, other: int | None) -> None:
        """``a`` had ``partner``, ``b`` had ``other``; now they have each other, and so have those two."""
        self.version += 1
        if partner is not None and other is not None:
            self._bind(other, partner)
        elif partner is not None:
            del self._partners[B][partner]
            self._swap_alone(B, b, partner)
        elif other is not None:
            del self._partners[A][other]
            self._swap_alone(A, a, other)

    def _swap_alone(self, side: int, instead: int, unpaired: int) -> None:
        alone = self._born_alone[side]
        known = alone.pop(instead, None)
        if known is not None:
            birth = alone[unpaired] = self.births[side][unpaired]
            self._moved(side, known.call, birth.call)


class Allocations:
    """Device memory of one trace: which allocation an address lies in. Each gets a number, from 1.

    Freed ones stay until another takes their place, so that the use of freed memory is still one of the same memory.
    ``replaced`` are the numbers of those whose place the last one took.
    """

    __slots__ = ("_ends", "_numbers", "_starts", "count", "replaced")

    def __init__(self) -> None:
        self._starts: list[int] = []
        self._ends: dict[int, int] = {}
        self._numbers: dict[int, int] = {}
        self.count = 0
        self.replaced: list[int] = []

    def add(self, start: int, size: int) -> int:
        """The number of a new allocation."""
        end = start + max(size, 1)
        first, last = bisect_left(self._starts, start), bisect_left(self._starts, end)
        if first and self._ends[self._starts[first - 1]] > start:
            self._ends[self._starts[first - 1]] = start
        if last > first:
            self.replaced = [self._numbers.pop(old) for old in self._starts[first:last]]
            for old in self._starts[first:last]:
                del self._ends[old]
        elif self.replaced:
            self.replaced = []
        self._starts[first:last] = [start]
        self._ends[start] = end
        self.count += 1
        self._numbers[start] = self.count
        return self.count

    def copy(self) -> "Allocations":
        """Another table with the same allocations."""
        found = Allocations()
        found._starts, found.count = self._starts.copy(), self.count
        found._ends, found._numbers = self._ends.copy(), self._numbers.copy()
        return found

    def starts(self) -> dict[int, int]:
        """Where each of them begins, by number."""
        return {number: start for start, number in self._numbers.items()}

    def find(self, address: int) -> tuple[int, int] | None:
        """Number of the allocation and offset in it. The end belongs to it, unless another begins there."""
        index = bisect_right(self._starts, address)
        if not index:
            return None
        start = self._starts[index - 1]
        return None if address > self._ends[start] else (self._numbers[start], address - start)
