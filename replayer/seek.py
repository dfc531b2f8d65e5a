"""Reaches any call of a stream: from the nearest keyframe before it, or from the beginning."""

from collections.abc import Callable, Iterator
from typing import NamedTuple

from cannery.recorder.bundle import Bundle
from cannery.recorder.format import DamagedTrace
from cannery.recorder.process import ProcessStream
from cannery.recorder.records import Call, Enter, Exit, Invoke, Note, Record
from cannery.recorder.stream import Cursor, Position
from cannery.replayer.keyframe import KeyframeError, restore
from cannery.replayer.process import NO_MEMORY, new_replay
from cannery.replayer.replay import ENDS, Replay, ReplayError
from cannery.runtime.version import VERSION


class Reached(NamedTuple):
    """A replay that has come to ``position``."""

    replay: Replay
    position: Position


class Trail:
    """Passes records on and remembers where it is between two of them. ``call``: the number of the next call."""

    def __init__(self, stream: ProcessStream, position: Position | None) -> None:
        self._window, self._offset, self.call, self._time = stream.beginning() if position is None else position
        self._cursor = Cursor()
        self._records = stream.records_from(position, self._cursor)

    @property
    def position(self) -> Position:
        """Behind the record that was passed on last, once the next was asked for."""
        return Position(self._window, self._offset, self.call, self._time)

    def __iter__(self) -> Iterator[Record]:
        cursor = self._cursor
        for record in self._records:
            yield record
            if isinstance(record, Call | Enter):
                self.call = record.number + 1
                self._time = record.time
            else:
                self._time = getattr(record, "time", self._time)
            self._window, self._offset = cursor.window, cursor.offset

    def until(self, call: int) -> Iterator[Record]:
        """The records before that call."""
        for record in self:
            if isinstance(record, Call | Enter) and record.number >= call:
                return
            yield record


def is_step(record: Record) -> bool:
    """Whether a record begins a step, and is neither brought about by one nor a note."""
    return not isinstance(record, Exit | Invoke | Note)


def reach(
    bundle: Bundle, stream: ProcessStream, call: int, say: Callable[[str], None], *, keyframes: bool = True
) -> Reached:
    """Replay up to the entry of a call: the state in which the machine met it. ``call`` may be the number of calls that
    there are: the state at the end. ``say`` is told of keyframes that cannot be used.

    Raises:
        ReplayError: there is no such call, or the stream cannot be replayed so far.
        DamagedTrace: nor can it be read.
    """
    first = stream.first_head.call
    if call < first:
        raise ReplayError(f"process {stream.ordinal}: the trace begins with call #{first}")
    found = _from_keyframe(bundle, stream, call, say) if keyframes else None
    replay, position = found or (new_replay(bundle, stream, keep_going=True), None)
    trail = Trail(stream, position)
    try:
        replay.run(trail.until(call))
    except ENDS as error:
        if found is not None:  # its keyframe may have been altered
            say(f"{replay.why(error)}, from a keyframe; replaying from the beginning")
            return reach(bundle, stream, call, say, keyframes=False)
        raise ReplayError(f"process {stream.ordinal}: {replay.why(error)}") from None
    except OSError as error:
        raise ReplayError(f"process {stream.ordinal}: {NO_MEMORY} ({error.strerror})") from None
    if trail.call < call:
        raise ReplayError(f"process {stream.ordinal}: there is no call #{call}; the trace has {trail.call}")
    return Reached(replay, trail.position)


def _from_keyframe(
    bundle: Bundle, stream: ProcessStream, call: int, say: Callable[[str], None]
) -> tuple[Replay, Position] | None:
    try:
        frames = stream.keyframes()
    except DamagedTrace as damage:
        say(f"{damage}; replaying from the beginning")
        return None
    if frames is None:
        return None
    if frames.tool != VERSION:
        say(f"the keyframes are of version {frames.tool}; replaying from the beginning ('cannery index' renews them)")
        return None
    for frame in frames.before(call):
        replay = new_replay(bundle, stream, keep_going=True)
        try:
            restore(replay, frames, frame)
        except (DamagedTrace, KeyframeError) as error:
            say(f"the keyframe at call #{frame.position.call} is damaged ({error}); using the one before")
        else:
            return replay, frame.position
    return None
