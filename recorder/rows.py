"""The row of each record: what :mod:`cannery.recorder.stream` reads, made from a record.

For tools that write a trace from records (JSON lines, tests). A running program's calls are written by
:mod:`cannery.recorder.encoders`, which makes the same bytes from arguments.
"""

from collections.abc import Iterator
from typing import Any, Final

from cannery.recorder import format
from cannery.recorder.format import EFFECT_KINDS
from cannery.recorder.records import (
    Call,
    Effect,
    Enter,
    Errand,
    Exit,
    Expire,
    Invoke,
    Pace,
    Payload,
    Record,
    Returned,
    Signal,
    ThreadEnd,
)
from cannery.recorder.schema import Schema
from cannery.recorder.stream import REGION_TOPIC, SKIPPED_TOPIC, STOPPED_TOPIC

_CODES: Final = {kind: code for code, kind in EFFECT_KINDS.items()}


class RowMaker:
    """Rows of consecutive records; ``time`` is that of the step before."""

    def __init__(self, schema: Schema, time: int = 0) -> None:
        self._schema = schema
        self.time = time

    def rows(self, record: Record) -> Iterator[tuple[Any, ...]]:
        """The row of a record; before it, those of the effects that it has no place for."""
        if isinstance(record, Call | Enter | Pace | Signal | Expire | Returned | Errand):
            effects = record.effects
            while len(effects) > format.MAX_EFFECTS:
                yield (format.EFFECTS, *map(effect_row, effects[: format.MAX_EFFECTS]))
                effects = effects[format.MAX_EFFECTS :]
            yield (*self._step(record), *map(effect_row, effects))
        elif isinstance(record, Exit):
            yield (format.EXIT, record.number, record.thread, self._function(record), record.ret, *record.outs)
        elif isinstance(record, Invoke):
            runner = record.worker if record.thread is None else record.thread
            yield (format.INVOKE, record.number, runner, record.function, record.signature, *record.args)
        elif isinstance(record, ThreadEnd):
            yield (format.THREAD_END, record.thread, self._elapsed(record.time))
        elif record.topic == REGION_TOPIC:
            yield (format.REGION, *record.value)
        elif record.topic == STOPPED_TOPIC:
            yield (format.STOPPED, record.value)
        elif record.topic == SKIPPED_TOPIC:
            yield (format.SKIPPED, record.value)
        else:
            yield (format.NOTE, record.topic, record.value)

    def _step(self, record: Call | Enter | Pace | Signal | Expire | Returned | Errand) -> tuple[Any, ...]:
        elapsed = self._elapsed(record.time)
        if isinstance(record, Pace):
            return format.PACE, elapsed
        if isinstance(record, Signal):
            return format.SIGNAL, elapsed
        if isinstance(record, Expire):
            return format.EXPIRE, record.thread, elapsed
        if isinstance(record, Returned):
            return format.RETURNED, record.number, record.thread, elapsed, record.value
        if isinstance(record, Errand):
            return format.ERRAND, record.worker, elapsed, record.value
        function = self._function(record)
        if isinstance(record, Enter):
            return format.ENTER, function, record.thread, elapsed, *record.ins
        if record.supported:
            return function, record.thread, elapsed, record.ret, *record.ins, *record.outs
        return format.UNSUPPORTED, function, record.thread, elapsed, record.ret, *record.ins

    def _elapsed(self, time: int) -> int:
        elapsed = time - self.time
        self.time = time
        return elapsed

    def _function(self, record: Call | Enter | Exit) -> int:
        return self._schema[record.function].number


def effect_row(effect: Effect) -> tuple[Any, ...]:
    """An effect on the wire."""
    code = _CODES[effect.kind]
    if effect.kind == "kernel":
        return (code, effect.parts) if effect.ok else (-code, effect.text)
    if not effect.ok:
        return (-code,)
    if effect.kind == "alloc":
        return code, effect.region
    if effect.kind == "thread":
        return code, effect.thread, effect.worker
    if effect.kind == "tid":
        return code, effect.thread
    if effect.kind == "model":
        assert effect.payload is not None
        return code, effect.text, payload_wire(effect.payload)
    if effect.kind in ("wrote", "saw"):
        assert effect.payload is not None
        return code, effect.place, effect.offset, payload_wire(effect.payload)
    if effect.kind == "peer":
        return code, effect.topic, *effect.values
    return (code,) if effect.payload is None else (code, payload_wire(effect.payload))


def payload_wire(payload: Payload) -> bytes | tuple[int, bytes | None]:
    """A payload on the wire."""
    return payload.content if payload.content is not None else (payload.size, payload.digest)
