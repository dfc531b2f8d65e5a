"""Compares the bytes that aligned calls moved, whenever each trace gets to them."""

from collections import deque
from collections.abc import Callable
from functools import partial
from typing import Any, Final, NamedTuple

from xxhash import xxh3_128_digest

from cannery.recorder.records import Call, Payload
from cannery.replayer.comparison.deliveries import Deliveries, Delivery, expect
from cannery.replayer.comparison.objects import A, B

_POOLED: Final = 65536  # payloads whose calls are not sure and that differ so far
_PENDING: Final = 65536  # calls whose bytes did not pass yet, on one side or both; older ones are given up


class Pair(NamedTuple):
    """Two aligned calls, and their place in the order of the comparison."""

    place: int
    calls: tuple[Call, Call]


class Unequal(NamedTuple):
    """The bytes of two aligned calls differ. ``pair`` is None where no call is known."""

    pair: Pair | None
    kind: str
    payloads: tuple[Payload, Payload]


class Payloads:
    """``report`` takes each :class:`Unequal`. ``unverified`` counts pairs of payloads of which one trace kept neither
    bytes nor hash."""

    def __init__(
        self, deliveries: tuple[Deliveries, Deliveries], report: Callable[[Unequal], None] = lambda found: None
    ) -> None:
        self.unverified = 0
        self.compared = 0
        self._deliveries = deliveries
        self.report = report
        self._pairs: tuple[dict[int, Pair], dict[int, Pair]] = ({}, {})
        self._came: tuple[dict[int, deque[Delivery]], dict[int, deque[Delivery]]] = ({}, {})
        self._unwanted: tuple[dict[int, Any], dict[int, Any]] = ({}, {})
        self._pool: dict[tuple[str, int], dict[bytes, tuple[int, Payload, Pair | None]]] = {}
        self._pooled = 0
        self.mirror(False)

    def mirror(self, same: bool) -> None:
        """Whether what the first side delivers stands for both, because they are the same so far."""

        def both(delivery: Delivery) -> None:
            self._delivered(A, delivery)
            self._delivered(B, delivery)

        self._deliveries[A].sink = both if same else partial(self._delivered, A)
        self._deliveries[B].sink = partial(self._delivered, B)

    def expects(self, side: int, call: Call) -> bool:
        """Whether bytes pass between host and device because of that call."""
        copy = self._deliveries[side].copies.get(call.function)
        if copy is None:
            return bool(call.effects) and call.effects[-1].kind == "file"
        return call.ret == 0 and expect(copy, call.number, call.ins) is not None

    def aligned(self, place: int, a: Call, b: Call) -> None:
        """These calls stand for each other."""
        wanted_a, wanted_b = self.expects(A, a), self.expects(B, b)
        if wanted_a and wanted_b:
            pair = Pair(place, (a, b))
            self._pairs[A][a.number] = self._pairs[B][b.number] = pair
            self._match(pair)
            for side in (A, B):
                _bound(self._pairs[side])
        elif wanted_a:
            self.alone(A, a)
        elif wanted_b:
            self.alone(B, b)

    def alone(self, side: int, call: Call) -> None:
        """Nothing stands for this call in the other trace: its bytes are not compared."""
        if self.expects(side, call) and self._came[side].pop(call.number, None) is None:
            self._unwanted[side][call.number] = None
            _bound(self._unwanted[side])

    def finish(self) -> None:
        """Report what could be the payloads of several calls and is not in the other trace. What only one trace has is
        no difference of its own: a call is missing, or the trace ended before the copy took effect."""
        for side in (A, B):
            for deliveries in self._came[side].values():
                for delivery in deliveries:
                    self._cancel(side, delivery)
        for (kind, _), balance in self._pool.items():
            left: tuple[list[tuple[Payload, Pair | None]], list[tuple[Payload, Pair | None]]] = ([], [])
            for count, payload, of in balance.values():
                left[A if count > 0 else B].extend([(payload, of)] * abs(count))
            for (first, pair), (second, other) in zip(*left, strict=False):
                self.report(Unequal(pair or other, kind, (first, second)))
        self._pool.clear()

    def _cancel(self, side: int, delivery: Delivery) -> None:
        if delivery.payload is None:
            return
        digest = _digest(delivery.payload)
        balance = self._pool.get((delivery.kind, delivery.payload.size), {})
        count, payload, pair = balance.get(digest or b"", (0, delivery.payload, None))
        if (count > 0) == (side == B) and count:
            balance[digest or b""] = count + (1 if side == A else -1), payload, pair

    def _delivered(self, side: int, delivery: Delivery) -> None:
        number = delivery.number
        if number is None:
            self._put_aside(side, delivery, None)
            return
        if self._unwanted[side].pop(number, self) is None:
            return
        came = self._came[side].get(number)
        if came is None:
            came = self._came[side][number] = deque()
            _bound(self._came[side])
        came.append(delivery)
        pair = self._pairs[side].get(number)
        if pair is not None:
            self._match(pair)

    def _match(self, pair: Pair) -> None:
        a, b = (call.number for call in pair.calls)
        came_a, came_b = self._came[A].get(a), self._came[B].get(b)
        if came_a and came_b:
            del self._came[A][a], self._came[B][b], self._pairs[A][a], self._pairs[B][b]
            for first, second in zip(came_a, came_b, strict=False):
                self._compare(pair, first, second)

    def _compare(self, pair: Pair, first: Delivery, second: Delivery) -> None:
        p, q = first.payload, second.payload
        if p is None or q is None:
            self._put_aside(A, first, pair)
            self._put_aside(B, second, pair)
            return
        self.compared += 1
        if p.size != q.size:
            return  # an argument differs, and is told as such
        if (p.content is not None and p.content == q.content) or (p.digest is not None and p.digest == q.digest):
            return
        digests = _digest(p), _digest(q)
        if digests[0] is None or digests[1] is None:
            self.unverified += 1
        elif digests[0] != digests[1]:
            if first.sure and second.sure:
                self.report(Unequal(pair, first.kind, (p, q)))
            else:
                self._put_aside(A, first, pair)
                self._put_aside(B, second, pair)

    def _put_aside(self, side: int, delivery: Delivery, pair: Pair | None) -> None:
        """It may be the payload of another call: what counts is whether the other trace has the same somewhere."""
        payload = delivery.payload
        if payload is None:
            return
        digest = _digest(payload)
        if digest is None:
            self.unverified += 1
            return
        balance = self._pool.setdefault((delivery.kind, payload.size), {})
        count, known, of = balance.get(digest, (0, payload, pair))
        count += 1 if side == A else -1
        if count:
            if digest not in balance:
                self._pooled += 1
                if self._pooled > _POOLED:  # that many differ: it does not matter any more which
                    self._pooled -= 1
                    self.unverified += 1
                    return
            balance[digest] = count, known, of
        else:
            del balance[digest]
            self._pooled -= 1


def _bound(pending: dict[int, Any]) -> None:
    """Keep a table from growing when bytes do not pass that should."""
    if len(pending) > _PENDING:
        del pending[next(iter(pending))]


def _digest(payload: Payload) -> bytes | None:
    """Its hash; None where neither hash nor bytes were kept."""
    if payload.content is not None:
        return xxh3_128_digest(payload.content)
    return payload.digest


def first_difference(a: bytes, b: bytes) -> int | None:
    """Offset of the first byte that differs; None when they are equal."""
    if a == b:
        return None
    low, high = 0, min(len(a), len(b))
    while low < high:  # the first difference lies in the half whose beginning parts differ
        middle = (low + high + 1) // 2
        if a[low:middle] == b[low:middle]:
            low = middle
        else:
            high = middle - 1
    return low
