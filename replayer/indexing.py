"""Writes keyframes into a bundle, by replaying it."""

from collections.abc import Callable, Iterator
from typing import NamedTuple

from cannery.recorder.bundle import Bundle
from cannery.recorder.codec import WireError
from cannery.recorder.format import TraceError
from cannery.recorder.keyframes import KeyframeWriter
from cannery.recorder.process import ProcessStream
from cannery.recorder.records import Record
from cannery.replayer.keyframe import is_possible, save
from cannery.replayer.process import new_replay
from cannery.replayer.replay import Replay, ReplayError, Stop
from cannery.replayer.seek import Trail, is_step
from cannery.runtime.version import VERSION


class Indexed(NamedTuple):
    """``frames`` keyframes of ``size`` bytes were written, up to call ``calls``. ``problem``: why not further."""

    frames: int
    size: int
    calls: int
    problem: str | None


def index_process(
    bundle: Bundle, stream: ProcessStream, every: int, progress: Callable[[int], None] | None = None
) -> Indexed:
    """Write a keyframe about every so many calls, in place of those that there were.

    Raises:
        ReplayError: the stream cannot be replayed.
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
        except (WireError, TraceError, ReplayError, TypeError, ValueError, AttributeError, OverflowError) as error:
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
    due = stream.first_head.call + every
    for record in trail:
        if trail.position.call >= due and is_step(record) and is_possible(replay):
            save(replay, writer, trail.position)
            due = trail.position.call + every
            if progress is not None:
                progress(trail.position.call)
        yield record
