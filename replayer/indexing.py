"""Writes keyframes into a bundle, by replaying it."""

import time
from collections.abc import Callable, Iterator
from typing import Final, NamedTuple

from cannery.recorder.bundle import Bundle
from cannery.recorder.format import TraceError
from cannery.recorder.keyframes import KeyframeWriter
from cannery.recorder.process import ProcessStream
from cannery.recorder.records import Record
from cannery.replayer.keyframe import is_possible, save
from cannery.replayer.process import new_replay
from cannery.replayer.replay import ENDS, Replay, ReplayError, Stop
from cannery.replayer.seek import Trail, is_step
from cannery.runtime.version import VERSION

_LONG: Final = 60_000_000
"""After so much processor time of replay, in ns, another keyframe is due: a state has to be there within 300 ms."""
_DEAR: Final = 4
"""But not before the last one has been made up for by so many times the time that it took."""
_LOOK: Final = 64  # records between two looks at the clock


class Indexed(NamedTuple):
    """``frames`` keyframes of ``size`` bytes were written, up to call ``calls``. ``problem``: why not further."""

    frames: int
    size: int
    calls: int
    problem: str | None


def index_process(
    bundle: Bundle, stream: ProcessStream, every: int, progress: Callable[[int], None] | None = None
) -> Indexed:
    """Write a keyframe about every so many calls, or sooner, where they take long to replay; in place of those that
    there were.

    Raises:
        ReplayError: the stream cannot be replayed.
        InUse: another command is writing keyframes of it.
        OSError: they cannot be written.
    """
    replay = new_replay(bundle, stream)
    writer = stream.keyframe_writer(VERSION)
    problem: str | None = None
    try:
        try:
            replay.run(_taking(replay, stream, writer, every, progress))
        except Stop:
            first = replay.compared.differences[0]
            problem = f"the replay differs from the trace at call #{first.number}"
        except ENDS as error:
            problem = f"the trace cannot be replayed further: {replay.why(error)}"
        except (TraceError, ReplayError) as error:
            problem = f"the trace cannot be replayed beyond call #{replay.calls} ({error})"
        writer.finish()
    finally:
        writer.abandon()
    return Indexed(len(writer.frames), writer.size, replay.calls, problem)


def _taking(
    replay: Replay, stream: ProcessStream, writer: KeyframeWriter, every: int, progress: Callable[[int], None] | None
) -> Iterator[Record]:
    """The records of the stream. In between, when the replay has done what it was given, take keyframes."""
    trail = Trail(stream, None)
    due = _Due(every, trail.call)
    for place, record in enumerate(trail):
        if due.has_come(trail.call, place) and is_step(record) and is_possible(replay):
            due.begin()
            save(replay, writer, trail.position)
            due.end(trail.call)
            if progress is not None:
                progress(trail.call)
        yield record


class _Due:
    """When the next keyframe is due."""

    def __init__(self, every: int, call: int) -> None:
        self._every = every
        self._last = self._begun = time.process_time_ns()
        self._pause = _LONG
        self._long = False
        self._call = call + every

    def has_come(self, call: int, place: int) -> bool:
        """``place``: how many records there were."""
        if not place % _LOOK:
            self._long = time.process_time_ns() - self._last > self._pause
        return self._long or call >= self._call

    def begin(self) -> None:
        """One is being taken,"""
        self._begun = time.process_time_ns()

    def end(self, call: int) -> None:
        """and was taken."""
        self._last = time.process_time_ns()
        self._pause = max(_LONG, _DEAR * (self._last - self._begun))
        self._long = False
        self._call = call + self._every
