"""Reads the records of one window (sections 5 to 7 of the format). :mod:`cannery.recorder.rows` is the inverse."""

from collections.abc import Generator, Sequence
from typing import Any, Final, NamedTuple

from cannery.recorder import format
from cannery.recorder.format import EFFECT_KINDS, MAX_TIME, DamagedTrace
from cannery.recorder.packing import UNPACK_ERRORS, Malformed, damage_text, unpacker
from cannery.recorder.records import (
    Call,
    Effect,
    Enter,
    Errand,
    Exit,
    Expire,
    Invoke,
    Note,
    Pace,
    Payload,
    Record,
    Returned,
    Signal,
    ThreadEnd,
)
from cannery.recorder.schema import Schema

REGION_TOPIC: Final = "region"
STOPPED_TOPIC: Final = "stopped"
SKIPPED_TOPIC: Final = "skipped"
RESERVED_TOPICS: Final = (REGION_TOPIC, STOPPED_TOPIC, SKIPPED_TOPIC)
"""Topics of the notes that stand for REGION, STOPPED and SKIPPED records: no other note may use them."""

_NO_TIME: Final = "a time that no clock shows"

_as: Final = tuple.__new__  # makes a NamedTuple of a tuple in a third of the time that its own constructor takes


class Layout(NamedTuple):
    """Where things stand in the records of one function."""

    name: str
    ins_end: int  # of a call and an UNSUPPORTED record; one less in an ENTER record
    outs_end: int  # of a call
    blank: tuple[None, ...]


class Head(NamedTuple):
    """A WINDOW record: the window's number, that of the next call, and the time before its first step."""

    window: int
    call: int
    time: int


class Position(NamedTuple):
    """A place between two records of a stream: the window and the offset in its bytes, the number of the next call, and
    the time of the step before."""

    window: int
    offset: int
    call: int
    time: int


class Cursor:
    """Where a reader of windows is: the place behind the record that it yielded last."""

    def __init__(self) -> None:
        self.window = 0
        self._begin = 0
        self._reader: Any = None

    def follow(self, window: int, reader: Any, begin: int) -> None:
        """``reader`` reads that window from the offset ``begin`` on."""
        self.window = window
        self._reader = reader
        self._begin = begin

    @property
    def offset(self) -> int:
        """In the bytes of the window."""
        return self._begin + int(self._reader.tell())


def layouts_of(schema: Schema) -> list[Layout]:
    """One per function, by index."""
    found = []
    for form in schema.functions:
        ins_end, outs = 4 + len(form.params), len(form.outputs)
        found.append(Layout(form.name, ins_end, ins_end + outs, (None,) * outs))
    return found


def read_head(content: bytes, path: str, *, journal: bool) -> Head | None:
    """The head of a window, of which ``content`` may be only the beginning; None when nothing was written yet.

    Raises:
        DamagedTrace: something else stands there.
    """
    if journal and content[:1] in (b"", b"\0"):
        return None
    try:
        return _head(unpacker(content).unpack())
    except UNPACK_ERRORS as error:
        raise DamagedTrace(path, 0, damage_text(error)) from None


def head_size(content: bytes) -> int:
    """How many bytes the head of a window takes. Raises one of UNPACK_ERRORS."""
    reader = unpacker(content)
    reader.skip()
    return int(reader.tell())


def read_window(
    content: bytes,
    head: Head,
    layouts: Sequence[Layout],
    path: str,
    *,
    journal: bool,
    start_call: int = 0,
    begin: int = 0,
    cursor: Cursor | None = None,
) -> Generator[Record, None, Head]:
    """The records of a window after its head; at the end, the head that the next window has to have.

    ``journal``: a zero byte ends the records, not the end of the bytes alone. Calls before number ``start_call`` that
    ended at once are passed over, which takes a fifth of the time. ``begin``: the offset to begin at, where the call
    and the time are those of ``head``; 0: after the window's own head. ``cursor`` is kept at the last record.

    Raises:
        DamagedTrace: with the offset in the window's bytes; what stands before it was yielded.
    """
    count = len(layouts)
    number, time = head.call, head.time
    ahead: tuple[Effect, ...] = ()
    count_read, row = 0, None  # row: None between two records, so that an error is known to be in the next
    reader = unpacker(content[begin:] if begin else content)
    if cursor is not None:
        cursor.follow(head.window, reader, begin)
    try:
        if not begin:
            reader.skip()
        for count_read, row in enumerate(reader, 1):  # noqa: B007
            if row.__class__ is not tuple:
                if row.__class__ is int and row == 0 and journal:
                    return Head(head.window + 1, number, time)
                raise Malformed("no record begins here")
            kind = row[0]
            if kind.__class__ is not int:
                raise Malformed("a record without a kind")
            if kind >= 0:
                if kind >= count:
                    raise Malformed(f"a call of function {kind}, which is not in the schema")
                if number < start_call and row[2].__class__ is int:
                    time += row[2]
                    number += 1
                    ahead, row = (), None
                    continue
                name, ins_end, outs_end, _ = layouts[kind]
                values: tuple[Any, ...] = row
                if len(values) < outs_end:
                    raise Malformed(f"no call of {name}")
                thread, elapsed = values[1], values[2]
                if thread.__class__ is not int or elapsed.__class__ is not int:
                    raise Malformed(f"no call of {name}")
                time += elapsed
                if not -MAX_TIME < time < MAX_TIME:
                    raise Malformed(_NO_TIME)
                effects = tuple(map(read_effect, values[outs_end:])) if len(values) > outs_end else ()
                if ahead:
                    effects, ahead = ahead + effects, ()
                ins, outs = values[4:ins_end], values[ins_end:outs_end]
                yield _as(Call, (number, thread, time, name, values[3], ins, outs, effects, True))
                number += 1
            elif kind in (format.ENTER, format.UNSUPPORTED):
                _, function, thread, elapsed = _numbers(row[:4])
                name, ins_end, _, blank = layouts[_below(function, count)]
                time = _later(time, elapsed)
                if kind == format.ENTER:
                    if len(row) < ins_end:
                        raise Malformed(f"no entry of a call of {name}")
                    effects, ahead = ahead + tuple(map(read_effect, row[ins_end:])), ()
                    yield Enter(number, thread, time, name, row[4:ins_end], effects)
                else:
                    if len(row) < ins_end + 1:
                        raise Malformed(f"no call of {name}")
                    effects, ahead = ahead + tuple(map(read_effect, row[ins_end + 1 :])), ()
                    yield Call(number, thread, time, name, row[4], row[5 : ins_end + 1], blank, effects, False)
                number += 1
            elif kind == format.EXIT:
                _, call, thread, function = _numbers(row[:4])
                name, _, _, blank = layouts[_below(function, count)]
                if len(row) != 5 + len(blank):
                    raise Malformed(f"no end of a wait in {name}")
                yield Exit(call, thread, name, row[4], row[5:])
            elif kind == format.PACE:
                time = _later(time, _numbers(row[:2])[1])
                effects, ahead = ahead + tuple(map(read_effect, row[2:])), ()
                yield Pace(time, effects)
            elif kind == format.SIGNAL:
                time += _numbers(row[:2])[1]
                effects, ahead = ahead + tuple(map(read_effect, row[2:])), ()
                yield Signal(time, effects)
            elif kind == format.EXPIRE:
                _, thread, elapsed = _numbers(row[:3])
                time = _later(time, elapsed)
                effects, ahead = ahead + tuple(map(read_effect, row[3:])), ()
                yield Expire(thread, time, effects)
            elif kind == format.INVOKE:
                yield _invoke(row)
            elif kind == format.RETURNED:
                _, call, thread, elapsed = _numbers(row[:4])
                time = _later(time, elapsed)
                effects, ahead = ahead + tuple(map(read_effect, row[5:])), ()
                yield Returned(call, thread, time, row[4], effects)
            elif kind == format.ERRAND:
                _, worker, elapsed = _numbers(row[:3])
                time = _later(time, elapsed)
                effects, ahead = ahead + tuple(map(read_effect, row[4:])), ()
                yield Errand(worker, time, row[3], effects)
            elif kind == format.THREAD_END:
                _, thread, elapsed = _numbers(row)
                time = _later(time, elapsed)
                yield ThreadEnd(thread, time)
            elif kind == format.SKIPPED:
                _, skipped = _numbers(row)
                if skipped < 1:
                    raise Malformed("no SKIPPED record")
                yield Note(SKIPPED_TOPIC, skipped)
                number += skipped
            elif kind == format.EFFECTS:
                ahead += tuple(map(read_effect, row[1:]))
            elif (note := _note(row)) is not None:
                yield note
            row = None
        reader.feed(b"\0")  # read as 0 after the last record, but swallowed by one that was cut off
        if next(reader, None) != 0:
            raise Malformed("the record is not complete")
        return Head(head.window + 1, number, time)
    except UNPACK_ERRORS as error:
        offset = _offset(content, begin, count_read if row is None else count_read - 1)
        raise DamagedTrace(path, offset, damage_text(error)) from None


def committed(content: bytes, path: str) -> int:
    """Where the records of a journal end.

    Raises:
        DamagedTrace: no record begins at some place before that.
    """
    reader = unpacker(content + b"\0")
    offset = 0
    try:
        while content[offset : offset + 1] not in (b"", b"\0"):
            reader.skip()
            offset = reader.tell()
    except UNPACK_ERRORS as error:
        raise DamagedTrace(path, offset, damage_text(error)) from None
    if offset > len(content):
        raise DamagedTrace(path, len(content), "the last record is not complete")
    return offset


def read_effect(wire: Any) -> Effect:
    """An effect of a record. Raises ValueError for what is none."""
    if wire.__class__ is not tuple or not wire or wire[0].__class__ is not int:
        raise Malformed("no effect")
    code, *rest = wire
    kind = EFFECT_KINDS.get(abs(code))
    if kind is None:
        raise Malformed(f"an effect of kind {code}, which this version does not know")
    if code == -format.KERNEL:
        (text,) = rest
        return Effect(kind, False, text=_text(text))
    if code < 0:
        return Effect(kind, False)
    if code == format.FILL:
        return Effect(kind, True)
    if code == format.THREAD:
        thread, worker = _numbers(tuple(rest))
        return Effect(kind, True, None, 0, thread, worker)
    if code == format.TID:
        (thread,) = _numbers(tuple(rest))
        return Effect(kind, True, None, 0, thread)
    if code == format.PEER:
        topic, *values = _numbers(tuple(rest))
        if topic not in format.TOPICS:
            raise Malformed(f"an answer of other processes about {topic}, which this version does not know")
        return Effect(kind, True, topic=topic, values=tuple(values))
    if format.MODEL <= code <= format.SAW:
        return _kernel_effect(code, kind, rest)
    (second,) = rest
    if code == format.ALLOC:
        return Effect(kind, True, None, _numbers((second,))[0])
    return Effect(kind, True, read_payload(second))


def _kernel_effect(code: int, kind: str, rest: list[Any]) -> Effect:
    if code == format.MODEL:
        name, source = rest
        return Effect(kind, True, read_payload(source), text=_text(name))
    if code == format.KERNEL:
        (parts,) = rest
        return Effect(kind, True, parts=_numbers((parts,))[0])
    place, offset, payload = rest
    place, offset = _numbers((place, offset))
    return Effect(kind, True, read_payload(payload), place=place, offset=offset)


def read_payload(wire: Any) -> Payload:
    """A payload of an effect. Raises ValueError for what is none."""
    if isinstance(wire, bytes) and len(wire) <= format.SHORT:
        return Payload(len(wire), None, wire)
    size, digest = wire
    if size.__class__ is not int or size < 0 or not (digest is None or _is_digest(digest)):
        raise Malformed("no payload")
    return Payload(size, digest, None)


def _head(row: Any) -> Head:
    if row.__class__ is not tuple or row[:1] != (format.WINDOW,):
        raise Malformed("the window does not begin with its WINDOW record")
    _, window, call, time = _numbers(row)
    if window < 1 or call < 0 or not -MAX_TIME < time < MAX_TIME:
        raise Malformed("no WINDOW record")
    return Head(window, call, time)


def _invoke(row: Any) -> Invoke:
    _, call, runner, function, signature, *args = row
    _numbers((0 if call is None else call, runner, function))
    if not isinstance(signature, str):
        raise Malformed("no INVOKE record")
    if call is None:
        return Invoke(None, None, runner, function, signature, tuple(args))
    return Invoke(call, runner, 0, function, signature, tuple(args))


def _note(row: Any) -> Note | None:
    kind = row[0]
    if kind == format.NOTE:
        _, topic, value = row
        if not isinstance(topic, str) or topic in RESERVED_TOPICS:
            raise Malformed("no note")
        return Note(topic, value)
    if kind == format.REGION:
        _, region, address, size = _numbers(row)
        return Note(REGION_TOPIC, (region, address, size))
    if kind == format.STOPPED:
        _, reason = row
        if not isinstance(reason, str):
            raise Malformed("no STOPPED record")
        return Note(STOPPED_TOPIC, reason)
    if kind <= format.OPTIONAL:
        return None
    raise Malformed(f"a record of kind {kind}, which this version does not know and must not skip")


def _numbers(row: Any) -> Any:
    """``row``, if all of it are whole numbers."""
    for value in row:
        if value.__class__ is not int:
            raise Malformed(f"{value!r} where a whole number belongs")
    return row


def _later(time: int, elapsed: int) -> int:
    time += elapsed
    if not -MAX_TIME < time < MAX_TIME:
        raise Malformed(_NO_TIME)
    return time


def _text(value: Any) -> str:
    """``value``, if it is a text."""
    if value.__class__ is not str:
        raise Malformed(f"{value!r} where a text belongs")
    return str(value)


def _below(function: int, count: int) -> int:
    if not 0 <= function < count:
        raise Malformed(f"a call of function {function}, which is not in the schema")
    return function


def _is_digest(value: Any) -> bool:
    return isinstance(value, bytes) and len(value) == format.DIGEST


def _offset(content: bytes, begin: int, records: int) -> int:
    """Where the record after that many records from ``begin`` begins; from 0, the head comes first."""
    reader = unpacker(content[begin:])
    for _ in range(records if begin else records + 1):
        reader.skip()
    return begin + int(reader.tell())
