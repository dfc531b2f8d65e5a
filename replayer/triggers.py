"""What ends a flight recording: reads a stream as it grows, and tells which record meets a trigger."""

from collections.abc import Collection
from typing import NamedTuple

from cannery.recorder.chunk import failing_functions
from cannery.recorder.process import ProcessStream
from cannery.recorder.records import Call, Enter, Exit, Note, Record
from cannery.recorder.stream import STOPPED_TOPIC, Position
from cannery.replayer.seek import Trail, is_step


class Triggers(NamedTuple):
    """``errors`` are numbers that a call returns, ``functions`` names of calls; any of them is enough."""

    errors: frozenset[int]
    functions: frozenset[str]

    def __bool__(self) -> bool:
        return bool(self.errors or self.functions)

    def met(self, record: Record, failing: Collection[str]) -> str | None:
        """What meets one, in words; None if nothing does. ``failing``: functions that return error numbers."""
        if isinstance(record, Call | Exit) and record.ret in self.errors and record.function in failing:
            return f"{record.function} (call #{record.number}) returned {record.ret}"
        if isinstance(record, Call | Enter) and record.function in self.functions:
            return f"{record.function} was called (call #{record.number})"
        return None


class Watch:
    """Reads one stream to its present end, again and again.

    ``position`` is that end, ``met`` what met a trigger, and ``end`` where the stream is to end then: behind what the
    record that met it brought about. ``stopped``: nothing will be added.
    """

    def __init__(self, stream: ProcessStream, triggers: Triggers) -> None:
        self.position: Position | None = None
        self.met: str | None = None
        self.end: Position | None = None
        self.stopped = False
        self._stream = stream
        self._triggers = triggers
        self._failing = failing_functions(stream.schema)

    def read_on(self) -> None:
        """Raises DamagedTrace: the stream cannot be read further."""
        self._begin()
        if self.position is None:
            return
        trail = Trail(self._stream, self.position)
        for record in trail:
            stop = isinstance(record, Note) and record.topic == STOPPED_TOPIC
            self.stopped |= stop
            if self.met is None:
                self.met = self._triggers.met(record, self._failing)
            elif self.end is None and (stop or is_step(record)):
                self.end = trail.position
        self.position = trail.position

    def _begin(self) -> None:
        """Find where to read from: the beginning, or without triggers the last window, since nothing is looked for."""
        numbers = self._stream.window_numbers()
        if not numbers or (self.position is not None and (self._triggers or self.position.window == numbers[-1])):
            return
        place = self._stream.place_of(numbers[0] if self._triggers else numbers[-1])
        self.position = place or self.position

    def end_here(self, why: str) -> None:
        """Let the stream end where it is now, for what happened elsewhere."""
        self.met = why
        self.end = self.position
