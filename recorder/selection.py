"""Recording of some calls only: ``0-999,aclrtMemcpy*`` (section 5 of the format, SKIPPED).

What is left out is counted, so that the calls that are recorded keep their numbers. Imported only where a selection is
asked for: such a recording is for reading, and is slower than one of everything.
"""

import re
from collections.abc import Sequence
from fnmatch import fnmatchcase
from typing import Any, Final, NamedTuple

from cannery.recorder.codec import FunctionCodec
from cannery.recorder.encoders import Effects, Encoder
from cannery.recorder.format import TraceError
from cannery.recorder.writer import StreamWriter
from cannery.runtime.invoke import Invoke

DONE: Final = "all calls that were asked for are recorded"
_FUNCTION: Final = re.compile(r"[A-Za-z_*?\[][\w*?\[\]!-]*")
_FORMS: Final = "expected numbers (12, 0-999, 5000-, 0-999/2) and names of functions (aclrtMalloc, aclrtMemcpy*)"


class SelectionError(TraceError):
    """The text is no selection; the message says what is."""


class Selection(NamedTuple):
    """Calls by number, as ranges, and by function, as patterns; a call is recorded if it is in any."""

    ranges: tuple[range, ...]
    patterns: tuple[str, ...]

    def has(self, function: str) -> bool:
        """Whether all calls of that function are in it."""
        return any(fnmatchcase(function, pattern) for pattern in self.patterns)

    def covers(self, number: int) -> bool:
        """Whether the call of that number is in it, whatever its function."""
        return any(number in each for each in self.ranges)

    def ended(self, number: int) -> bool:
        """Whether no call from that number on can be in it."""
        return not self.patterns and all(number >= each.stop for each in self.ranges)


def parse_selection(text: str) -> Selection:
    """Raises SelectionError."""
    ranges, patterns = [], []
    for part in (part.strip() for part in text.split(",")):
        if _FUNCTION.fullmatch(part):
            patterns.append(part)
        else:
            ranges.append(_range(part))
    return Selection(tuple(ranges), tuple(patterns))


def _range(part: str) -> range:
    bounds, _, step = part.partition("/")
    first, dash, last = bounds.partition("-")
    numbers = [first or "0", (last if dash else first) or str(1 << 62), step or "1"]
    if not bounds or not all(number.isascii() and number.isdigit() for number in numbers) or not int(numbers[2]):
        raise SelectionError(f"calls {part!r}: {_FORMS}")
    return range(int(numbers[0]), int(numbers[1]) + 1, int(numbers[2]))


class SelectiveWriter:
    """Has a :class:`StreamWriter` write the calls of a selection, and what belongs to them. Its methods are those of
    that class. Steps that belong to no call are recorded while the number of the next call is in a range."""

    def __init__(self, writer: StreamWriter, selection: Selection, names: Sequence[str]) -> None:
        self.writer = writer
        self.selection = selection
        self.calls = 0
        self.stop = writer.stop
        self.close = writer.close
        self.codec = writer.codec
        self.note = writer.note
        self._wanted = [selection.has(name) for name in names]
        self._names = dict(zip(names, self._wanted, strict=True))
        self._open: dict[int, list[bool]] = {}  # by thread: whether calls that did not end are recorded, innermost last
        self._errands: set[int] = set()  # workers whose function is recorded

    def wants(self, function: str) -> bool:
        """Whether the call that is being made, of that function, will be recorded."""
        return self._names.get(function, False) or self.selection.covers(self.calls)

    def encoder(self, function: int) -> Encoder:
        encode = self.writer.encoder(function)
        wanted, covers = self._wanted[function], self.selection.covers

        def encode_selected(thread: int, now: int, args: Sequence[Any], reply: Any, effects: Effects) -> None:
            if wanted or covers(self.calls):
                self._catch_up()
                encode(thread, now, args, reply, effects)
            self._count()

        return encode_selected

    def enter(self, codec: FunctionCodec, thread: int, now: int, args: Sequence[Any], effects: Effects) -> int:
        number = self.calls
        wanted = self._wanted[codec.form.number] or self.selection.covers(number)
        if wanted:
            self._catch_up()
            self.writer.enter(codec, thread, now, args, effects)
        self._open.setdefault(thread, []).append(wanted)
        self._count()
        return number

    def exit(self, codec: FunctionCodec, number: int, thread: int, reply: Any) -> None:
        if self._open[thread].pop():
            self.writer.exit(codec, number, thread, reply)

    def unsupported(
        self, codec: FunctionCodec, thread: int, now: int, args: Sequence[Any], ret: Any, effects: Effects = ()
    ) -> None:
        if self._wanted[codec.form.number] or self.selection.covers(self.calls):
            self._catch_up()
            self.writer.unsupported(codec, thread, now, args, ret, effects)
        self._count()

    def pace(self, now: int, effects: Effects) -> None:
        if self.selection.covers(self.calls):
            self._catch_up()
            self.writer.pace(now, effects)

    def signal(self, now: int, effects: Effects) -> None:
        if self.selection.covers(self.calls):
            self._catch_up()
            self.writer.signal(now, effects)

    def expire(self, thread: int, now: int, effects: Effects) -> None:
        if self._innermost(thread):
            self.writer.expire(thread, now, effects)

    def invoke(self, thread: int, worker: int, invoke: Invoke) -> None:
        if worker and self.selection.covers(self.calls):
            self._errands.add(worker)
            self._catch_up()
            self.writer.invoke(thread, worker, invoke)
        elif not worker and self._innermost(thread):
            self.writer.invoke(thread, worker, invoke)

    def returned(self, thread: int, now: int, value: int, effects: Effects) -> None:
        if self._innermost(thread):
            self.writer.returned(thread, now, value, effects)

    def errand(self, worker: int, now: int, value: int, effects: Effects) -> None:
        if worker in self._errands:
            self._errands.discard(worker)
            self.writer.errand(worker, now, value, effects)

    def thread_end(self, thread: int, now: int) -> None:
        self._open.pop(thread, None)
        if self.selection.covers(self.calls):
            self.writer.thread_end(thread, now)

    def _innermost(self, thread: int) -> bool:
        """Whether the call that a thread is in is recorded."""
        calls = self._open.get(thread)
        return calls is not None and bool(calls) and calls[-1]

    def _catch_up(self) -> None:
        """A record follows: say how many calls were left out since the last."""
        if self.writer.calls < self.calls:
            self.writer.skip(self.calls - self.writer.calls)

    def _count(self) -> None:
        self.calls += 1
        if self.selection.ended(self.calls) and not any(map(any, self._open.values())):
            self.stop(DONE)
