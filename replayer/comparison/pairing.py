"""Which thread of one process is which of the other, and which process of one trace is which of the other.

Numbers say nothing: threads and processes are numbered in the order of their first calls, which is often a matter of
chance. What they do says more. Those that do all the same are paired first, then those that begin alike; among
equals those that move the same bytes, and after that in the order of their numbers.
"""

from collections import Counter
from collections.abc import Mapping, Sequence
from typing import Any, Final

from cannery.recorder.records import Call
from cannery.replayer.comparison.deliveries import Delivery
from cannery.replayer.comparison.objects import A, B
from cannery.replayer.comparison.shapes import EXACT, POLLED, Shape

_BEGINNING: Final = 256  # calls of a thread that are compared one by one
_BYTES: Final = 64  # payloads of a thread that are looked at
_MASK: Final = (1 << 64) - 1
_REMEMBERED: Final = 65536
_COMPARED: Final = 4096  # pairs of beginnings; beyond that the order of the numbers decides


class Profile:
    """What one thread does: a hash of all its calls, its first calls, and hashes of the first bytes that it moved.
    Objects and addresses are left out."""

    __slots__ = ("beginning", "calls", "payloads", "whole")

    def __init__(self) -> None:
        self.calls = 0
        self.whole = 0
        self.beginning: list[int] = []
        self.payloads: list[int] = []

    def add(self, key: int) -> None:
        self.calls += 1
        self.whole = (self.whole * 0x1E35A7BD1E35A7BD + key) & _MASK
        if len(self.beginning) < _BEGINNING:
            self.beginning.append(key)

    def move(self, payload: int) -> None:
        """A hash of bytes that passed because of a call of the thread."""
        if len(self.payloads) < _BYTES:
            self.payloads.append(payload)

    @property
    def identity(self) -> tuple[int, int]:
        return self.calls, self.whole


class Profiler:
    """Makes the profiles of all threads of a process: ``profiles``, by thread."""

    def __init__(self, shapes: Mapping[str, Shape]) -> None:
        self.profiles: dict[int, Profile] = {}
        self._shapes = shapes
        self._keys: dict[Any, int] = {}
        self._copies = {name for name, shape in shapes.items() if shape.copy is not None}
        self._threads: dict[int, int] = {}  # of copies whose bytes did not pass yet, by number
        self._early: dict[int, int] = {}  # hashes of bytes that passed before the call returned, by its number

    def call(self, call: Call) -> None:
        """One more call."""
        if call.function in POLLED:
            return
        key = self._keys.get((call.function, call.ins))
        if key is None:
            if len(self._keys) >= _REMEMBERED:
                self._keys.clear()
            shape = self._shapes[call.function]
            exact = tuple(call.ins[value.at] for value in shape.ins if value.manner == EXACT)
            key = self._keys[call.function, call.ins] = hash((call.function, exact))
        profile = self.profiles.get(call.thread)
        if profile is None:
            profile = self.profiles[call.thread] = Profile()
        profile.add(key)
        if call.function in self._copies and len(profile.payloads) < _BYTES:
            early = self._early.pop(call.number, None)
            if early is not None:
                profile.move(early)
            elif len(self._threads) < _REMEMBERED:
                self._threads[call.number] = call.thread

    def payload(self, delivery: Delivery) -> None:
        """Bytes passed."""
        if delivery.number is None:
            return
        thread = self._threads.pop(delivery.number, None)
        payload = delivery.payload
        if payload is None or not delivery.sure or (payload.content or payload.digest) is None:
            return
        known = hash(payload.content or payload.digest)
        if thread is not None:
            self.profiles[thread].move(known)
        elif len(self._early) < _REMEMBERED:
            self._early[delivery.number] = known


def pair(first: Mapping[int, Profile], second: Mapping[int, Profile]) -> list[tuple[int | None, int | None]]:
    """Pairs of numbers, in the order of the first side's; then what only the second side has."""
    left = dict(first), dict(second)
    partners: dict[int, int] = {}

    def settle(a: int, b: int) -> None:
        partners[a] = b
        del left[A][a], left[B][b]

    if len(left[A]) * len(left[B]) > _COMPARED:
        by_identity: dict[tuple[int, int], list[int]] = {}
        for number in sorted(left[B], reverse=True):
            by_identity.setdefault(left[B][number].identity, []).append(number)
        for number in sorted(left[A]):
            same = by_identity.get(left[A][number].identity)
            if same:
                settle(number, same.pop())
        for a, b in zip(sorted(left[A]), sorted(left[B]), strict=False):
            settle(a, b)
    ranked = sorted(
        (*_likeness(left[A][a], left[B][b]), abs(place_a - place_b), a, b)
        for place_a, a in enumerate(sorted(left[A]))
        for place_b, b in enumerate(sorted(left[B]))
    )
    for other, unlike, _, _, a, b in ranked:
        if (unlike or not other) and a in left[A] and b in left[B]:
            settle(a, b)
    return [*((number, partners.get(number)) for number in sorted(first)), *((None, b) for b in sorted(left[B]))]


def _likeness(first: Profile, second: Profile) -> tuple[bool, float, int]:
    """How alike two threads are, lower is more: whether they do not do the same, then how their beginnings and their
    bytes agree. A beginning has the calls in common, and twice those before the first difference."""
    same = 0
    for mine, theirs in zip(first.beginning, second.beginning, strict=False):
        if mine != theirs:
            break
        same += 1
    begin = same + _common(first.beginning, second.beginning)
    longest = max(len(first.beginning), len(second.beginning), 1)
    return first.identity != second.identity, -begin / longest, -_common(first.payloads, second.payloads)


def _common(first: Sequence[int], second: Sequence[int]) -> int:
    return (Counter(first) & Counter(second)).total()
