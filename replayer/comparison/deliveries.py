"""Which call each payload belongs to.

A trace says in which step bytes passed, not for which call: an asynchronous copy takes effect in the step of some later
call, and in which one depends on time. But the tasks of a stream run one after the other, so the payloads of a
stream's copies come in the order of the copies. An effect belongs to the first copy that is pending on a stream and
has its kind and size. Where several streams have such a copy, the oldest is taken and the answer is not *sure*. A wrong
guess shows when a stream was synchronised and a copy on it still seems to be pending: its effect was taken for that of
another. From then on, until the other's effect came, no answer about that kind and size is sure.
"""

from collections import deque
from collections.abc import Callable, Mapping, Sequence
from typing import Any, Final, NamedTuple

from cannery.recorder.records import Call, Effect, Enter, Payload
from cannery.replayer.comparison.shapes import Copy, Shape, is_host

_LOOK: Final = 64  # copies of a stream that are looked at when none of the first fits: some had no effect
_QUEUE: Final = 65536  # copies of a stream that may be pending
_BUFFERED: Final = 5  # ACL_MEMCPY_HOST_TO_BUF_TO_DEVICE: the source is read by the call itself

CARRIES: Final = frozenset({"read", "write", "move", "file"})
"""Kinds of effect that have a payload."""


class Expected:
    """A payload that a copy will have. ``sure``: no other pending copy could take its place so far."""

    __slots__ = ("kind", "number", "size", "sure")

    def __init__(self, number: int, kind: str, size: int) -> None:
        self.number = number
        self.kind = kind
        self.size = size
        self.sure = True


class Delivery(NamedTuple):
    """A payload and the call it belongs to, None where no copy fits. ``sure``: no other copy fitted as well. Without a
    payload: none will come for that call."""

    number: int | None
    kind: str
    payload: Payload | None
    sure: bool


class Deliveries:
    """Finds the calls of one process's payloads. ``sink`` takes each :class:`Delivery`, in order of effect."""

    def __init__(self, shapes: Mapping[str, Shape], sink: Callable[[Delivery], None] = lambda delivery: None) -> None:
        self.sink = sink
        self.copies = {name: shape.copy for name, shape in shapes.items() if shape.copy is not None}
        self.drains = {name: shape.drains for name, shape in shapes.items() if shape.drains is not None}
        self._pending: dict[Any, deque[Expected]] = {}  # by stream
        self._owed: dict[tuple[str, int], int] = {}  # effects to come of copies that seem to have had theirs

    def pending_from(self, other: "Deliveries") -> None:
        """Take over what is pending in another trace that was the same so far."""
        self._pending = {stream: deque(queue, _QUEUE) for stream, queue in other._pending.items()}
        self._owed = dict(other._owed)

    def entered(self, record: Enter) -> None:
        """A call begins to wait: a copy waits for its stream before it copies."""
        copy = self.copies.get(record.function)
        expected = None if copy is None else expect(copy, record.number, record.ins)
        if copy is not None and expected is not None:
            self._queue(copy, record.ins, expected)
        if record.effects:
            self.passed(record.effects)

    def returned(self, record: Call) -> None:
        """A call that did not wait. What was pending took effect before what it did itself."""
        effects = record.effects
        copy = self.copies.get(record.function)
        own: Sequence[Effect] = ()
        if copy is not None and record.ret == 0:
            expected = expect(copy, record.number, record.ins)
            if expected is not None:
                if self._at_once(copy, record.ins):
                    effects, own = effects[:-1], effects[-1:]
                else:
                    self._queue(copy, record.ins, expected)
        elif copy is not None and effects and not effects[-1].ok:
            effects = effects[:-1]  # why the call failed
        elif copy is None and effects and effects[-1].kind == "file":
            effects, own = effects[:-1], effects[-1:]
        if effects:
            self.passed(effects)
        for effect in own:
            if effect.payload is not None:
                self.sink(Delivery(record.number, effect.kind, effect.payload, True))
        if record.ret == 0:
            drained = self.drains.get(record.function)
            if drained is not None:
                for expected in self._pending.pop(record.ins[drained], ()):
                    if not expected.sure:
                        key = expected.kind, expected.size
                        self._owed[key] = self._owed.get(key, 0) + 1
                    self.sink(Delivery(expected.number, expected.kind, None, False))

    def passed(self, effects: Sequence[Effect]) -> None:
        """Effects of pending copies."""
        for effect in effects:
            if effect.kind not in CARRIES:
                continue
            if effect.payload is None:
                self._take(effect.kind, None)  # it failed: there is nothing to compare, but it is no longer pending
                continue
            number, sure = self._take(effect.kind, effect.payload.size)
            self.sink(Delivery(number, effect.kind, effect.payload, sure))

    def _at_once(self, copy: Copy, ins: tuple[Any, ...]) -> bool:
        return copy.stream is None or (copy.kind is not None and ins[copy.kind] == _BUFFERED)

    def _queue(self, copy: Copy, ins: tuple[Any, ...], expected: Expected) -> None:
        stream = None if copy.stream is None else ins[copy.stream]
        queue = self._pending.get(stream)
        if queue is None:
            queue = self._pending[stream] = deque(maxlen=_QUEUE)
        queue.append(expected)

    def _take(self, kind: str, size: int | None) -> tuple[int | None, bool]:
        """The call number of the copy that fits, and whether it is the only one."""
        best: Any = None
        others = False
        for stream, queue in self._pending.items():
            head = queue[0]
            if head.kind == kind and (size is None or head.size == size):
                if best is None:
                    best, where = head, stream
                    continue
                others = True
                head.sure = best.sure = False
                if head.number < best.number:
                    best, where = head, stream
        owed = self._owed.get((kind, size), 0) if size is not None and self._owed else 0
        if best is None:
            where = None if owed else self._skip_to(kind, size)
            if where is None:
                if owed:
                    self._pay(kind, size, owed)
                return None, False
            best = self._pending[where][0]
        queue = self._pending[where]
        queue.popleft()
        if not queue:
            del self._pending[where]
        return best.number, best.sure and not others and not owed

    def _pay(self, kind: str, size: int | None, owed: int) -> None:
        assert size is not None
        if owed > 1:
            self._owed[kind, size] = owed - 1
        else:
            del self._owed[kind, size]

    def _skip_to(self, kind: str, size: int | None) -> Any:
        """The stream with the oldest copy that fits behind the first; those before it, without effect, are dropped."""
        found: tuple[int, Any, int] | None = None
        for stream, queue in self._pending.items():
            for place, expected in enumerate(queue):
                if place > _LOOK:
                    break
                if expected.kind == kind and size in (expected.size, None):
                    if found is None or expected.number < found[0]:
                        found = expected.number, stream, place
                    break
        if found is None:
            return None
        _, stream, place = found
        for _ in range(place):
            dropped = self._pending[stream].popleft()
            self.sink(Delivery(dropped.number, dropped.kind, None, False))
        return stream


def expect(copy: Copy, number: int, ins: tuple[Any, ...]) -> Expected | None:
    """The payload that a copy with these arguments has when it succeeds; None for one inside a device."""
    destination, source, size = ins[copy.destination], ins[copy.source], ins[copy.size]
    if not size or size.__class__ is not int or destination == source:
        return None
    if is_host(source):
        return Expected(number, "move" if is_host(destination) else "read", size)
    return Expected(number, "write", size) if is_host(destination) else None
