"""Which thread of one process is which of the other, and which process of one trace is which of the other.

Numbers say nothing: threads and processes are numbered in the order of their first calls, which is often a matter of
chance. What they do says more. Those that do all the same are paired first, then those that begin alike, each time in
the order of their numbers.
"""

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from typing import Any, Final

from cannery.recorder.records import Call
from cannery.replayer.comparison.objects import A, B
from cannery.replayer.comparison.shapes import EXACT, POLLED, Shape

_BEGINNING: Final = 256  # calls of a thread that are compared one by one
_MASK: Final = (1 << 64) - 1
_REMEMBERED: Final = 65536
_COMPARED: Final = 4096  # pairs of beginnings; beyond that the order of the numbers decides


class Profile:
    """What one thread does: a hash of all its calls, and its first calls. Objects and addresses are left out."""

    __slots__ = ("beginning", "calls", "whole")

    def __init__(self) -> None:
        self.calls = 0
        self.whole = 0
        self.beginning: list[int] = []

    def add(self, key: int) -> None:
        self.calls += 1
        self.whole = (self.whole * 0x1E35A7BD1E35A7BD + key) & _MASK
        if len(self.beginning) < _BEGINNING:
            self.beginning.append(key)

    @property
    def identity(self) -> tuple[int, int]:
        return self.calls, self.whole


def profiles_of(calls: Iterable[Call], shapes: Mapping[str, Shape]) -> dict[int, Profile]:
    """The profiles of all threads, by thread."""
    found: dict[int, Profile] = {}
    keys: dict[Any, int] = {}
    for call in calls:
        if call.function in POLLED:
            continue
        key = keys.get((call.function, call.ins))
        if key is None:
            if len(keys) >= _REMEMBERED:
                keys.clear()
            shape = shapes[call.function]
            exact = tuple(call.ins[value.at] for value in shape.ins if value.manner == EXACT)
            key = keys[call.function, call.ins] = hash((call.function, exact))
        profile = found.get(call.thread)
        if profile is None:
            profile = found[call.thread] = Profile()
        profile.add(key)
    return found


def pair(first: Mapping[int, Profile], second: Mapping[int, Profile]) -> list[tuple[int | None, int | None]]:
    """Pairs of numbers, in the order of the first side's; then what only the second side has."""
    left = dict(first), dict(second)
    partners: dict[int, int] = {}

    def settle(a: int, b: int) -> None:
        partners[a] = b
        del left[A][a], left[B][b]

    for number in sorted(left[A].keys() & left[B].keys()):
        if left[A][number].identity == left[B][number].identity:
            settle(number, number)
    by_identity: dict[tuple[int, int], list[int]] = {}
    for number in sorted(left[B], reverse=True):
        by_identity.setdefault(left[B][number].identity, []).append(number)
    for number in sorted(left[A]):
        same = by_identity.get(left[A][number].identity)
        if same:
            settle(number, same.pop())
    if len(left[A]) * len(left[B]) > _COMPARED:
        for a, b in zip(sorted(left[A]), sorted(left[B]), strict=False):
            settle(a, b)
    alike = sorted(
        (-_likeness(left[A][a].beginning, left[B][b].beginning), abs(a - b), a, b) for a in left[A] for b in left[B]
    )
    for likeness, _, a, b in alike:
        if likeness and a in left[A] and b in left[B]:
            settle(a, b)
    return [*((number, partners.get(number)) for number in sorted(first)), *((None, b) for b in sorted(left[B]))]


def _likeness(first: Sequence[int], second: Sequence[int]) -> float:
    """How alike two beginnings are: calls in common, and those before the first difference twice."""
    same = 0
    for mine, theirs in zip(first, second, strict=False):
        if mine != theirs:
            break
        same += 1
    common = (Counter(first) & Counter(second)).total()
    return (same + common) / max(len(first), len(second))
