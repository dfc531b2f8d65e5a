"""Keeps the tail of a stream while it grows: replays what lies before, keeps the state, and drops it.

The replay lags behind the program by as much as has to be kept, so there is one state at a time, and each call is
replayed once. States are taken where a window begins, and at the end where the tail is to begin.
"""

import os
import time
from collections.abc import Iterator
from typing import Final

from cannery.recorder import format
from cannery.recorder.bundle import Bundle
from cannery.recorder.files import Folder
from cannery.recorder.format import TraceError
from cannery.recorder.keyframes import KeyframeWriter
from cannery.recorder.process import ProcessStream
from cannery.recorder.records import Call, Enter, Record
from cannery.recorder.stream import Position
from cannery.recorder.tail import Keep
from cannery.recorder.tail_files import NUMBERED, drop_before
from cannery.replayer.keyframe import is_possible, save
from cannery.replayer.process import new_replay
from cannery.replayer.replay import ENDS, ReplayError, Stop
from cannery.replayer.seek import Trail, is_step
from cannery.runtime.version import VERSION

_REST: Final = 4  # times as long as a state took to keep, no other is taken: devices may have a lot of memory


class TailKeeper:
    """Keeps the tail of one process's stream, in a bundle that nothing was dropped from yet.

    ``problem`` is why nothing more can be dropped; None while all is well. ``dropped``: the number of the first call
    that is kept.
    """

    def __init__(self, bundle: Bundle, stream: ProcessStream, keep: Keep) -> None:
        """Raises ReplayError: the stream cannot be replayed."""
        self.problem: str | None = None
        self.first_call = 0
        self._bundle = bundle
        self._stream = stream
        self._keep = keep
        self._replay = new_replay(bundle, stream)
        self._window = 1  # the replay is where this one begins
        self._places: dict[int, Position] = {}
        self._states = 0
        self._rest = 0.0

    def advance(self, deadline: float) -> bool:
        """Drop what can be dropped by now, until a moment of the monotonic clock. Whether there is more to do.

        Raises:
            OSError: the state cannot be written; nothing was dropped.
        """
        if self.problem is not None:
            return False
        self._look()
        end = max(self._places.values(), default=Position(1, 0, 0, 0))
        self._hold(end)
        more = time.monotonic() >= self._rest and self._go_on(end, deadline)
        self._hold(end)
        return more

    def finish(self, end: Position) -> None:
        """Drop what can be dropped of a stream that ends at ``end``. Raises OSError."""
        if self.problem is not None:
            return
        self._look()
        self._go_on(end, None)
        place = None
        if self.problem is None:
            place = self._beginning(end)
        if place is not None:
            self._keep_state(place)

    def _hold(self, end: Position) -> None:
        """Have the program wait as long as it is too far ahead: it may make calls faster than they can be replayed, and
        the disk is not to fill up."""
        numbers = (n - 1 for n, place in self._places.items() if n > 1 and self._keep.leaves_enough(place, end))
        with self.folder() as folder:
            sizes = (folder.size(format.window_name(number, suffix)) for number in numbers for suffix in NUMBERED)
            behind = sum(size or 0 for size in sizes)
            name = format.HOLD + format.UNFINISHED
            if behind <= format.TAIL_BEHIND or self.problem is not None:
                folder.remove(name)
            elif folder.size(name) is None:
                os.close(os.open(name, os.O_WRONLY | os.O_CREAT | os.O_CLOEXEC, 0o666, dir_fd=folder.descriptor))

    def _look(self) -> None:
        """Find the windows that were added."""
        try:
            self._stream.look_again()
            for number in self._stream.window_numbers():
                if number >= self._window and number not in self._places:
                    place = self._stream.place_of(number)
                    if place is not None:
                        self._places[number] = place
        except TraceError as error:
            self.problem = str(error)

    def _go_on(self, end: Position, deadline: float | None) -> bool:
        """Replay window by window as long as enough is left, and drop them."""
        reached: Position | None = None
        while self.problem is None:
            following = self._places.get(self._window + 1)
            if following is None or not self._keep.leaves_enough(following, end):
                break
            if deadline is not None and time.monotonic() >= deadline:
                self._settle(reached)
                return True
            if self._run(self._stream.records_of(self._window, self._window + 1)):
                self._places.pop(self._window, None)
                self._window += 1
                reached = following
        self._settle(reached)
        return False

    def _settle(self, reached: Position | None) -> None:
        """Keep the state where the replay is now, if it has come anywhere, and one is possible there."""
        if reached is None or self.problem is not None:
            return
        if is_possible(self._replay):
            self._keep_state(reached)

    def _run(self, records: Iterator[Record]) -> bool:
        try:
            self._replay.run(records)
        except Stop:
            where = self._replay.compared.differences[0].where()
            self.problem = f"the replay differs from the trace at {where}"
        except ENDS as error:
            self.problem = self._replay.why(error)
        except (ReplayError, TraceError) as error:
            self.problem = f"call #{self._replay.calls}: {error}"
        if self.problem is not None:
            self.problem += f"; everything is kept from call #{self.first_call} on"
        return self.problem is None

    def _keep_state(self, place: Position) -> None:
        begun = time.monotonic()
        with self.folder() as folder:
            self._states += 1
            writer = KeyframeWriter(folder, format.ORIGIN, VERSION, self._states)
            try:
                save(self._replay, writer, place)
                writer.finish()
            except ReplayError as error:
                self.problem = str(error)
                return
            finally:
                writer.abandon()
            drop_before(folder)
        self.first_call = place.call
        self._rest = time.monotonic() + _REST * (time.monotonic() - begun)

    def folder(self) -> Folder:
        """Where the stream lies, to change it."""
        return Folder(f"{self._bundle.path}/{format.process_name(self._stream.ordinal)}")

    def _beginning(self, end: Position) -> Position | None:
        """Replay to the last place that leaves enough; None where the state there cannot be kept."""
        start = self._places.get(self._window)
        if start is None or not self._keep.leaves_enough(start, end):
            return None
        trail = Trail(self._stream, start)
        found: list[Position] = []

        def before() -> Iterator[Record]:
            for record in trail:
                if is_step(record) and not self._keep.leaves_enough(_after(record, trail.position), end):
                    if trail.position.call > self.first_call and is_possible(self._replay):
                        found.append(trail.position)
                    return
                yield record

        return found[0] if self._run(before()) and found else None


def _after(record: Record, place: Position) -> Position:
    """Where a tail would begin without that record."""
    number = record.number + 1 if isinstance(record, Call | Enter) else place.call
    return place._replace(call=number, time=getattr(record, "time", place.time) + 1)
