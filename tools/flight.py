"""The flight recorder of ``cannery run --keep``: follows the processes of a trace, and keeps the tail of each.

All of it is done by the launcher. The processes only write short windows, and look for the file ``stop`` before they
begin another.
"""

import time
from collections.abc import Callable
from pathlib import Path
from typing import Final

from cannery.recorder import format
from cannery.recorder.bundle import Bundle
from cannery.recorder.files import Folder
from cannery.recorder.process import ProcessStream
from cannery.recorder.seal import locked
from cannery.recorder.tail import COMPLETE, Keep
from cannery.recorder.tail_files import end_at
from cannery.replayer.replay import ReplayError
from cannery.replayer.tail import TailKeeper
from cannery.replayer.triggers import Triggers, Watch

_TURN: Final = 0.2  # seconds of one turn at most: the program's end is noticed between two


class _Process:
    """One process that is followed. ``told``: the user knows that its tail cannot be kept."""

    def __init__(self, bundle: Bundle, stream: ProcessStream, keep: Keep, triggers: Triggers) -> None:
        """Raises ReplayError."""
        self.bundle = bundle
        self.stream = stream
        self.keeper = TailKeeper(bundle, stream, keep)
        self.watch = Watch(stream, triggers)
        self.told = False


class FlightRecorder:
    """Follows the bundle at ``path``. ``say`` gets lines for the user."""

    def __init__(self, path: Path, keep: Keep, triggers: Triggers, say: Callable[[str], None]) -> None:
        self.keep = keep
        self._path = path
        self._triggers = triggers
        self._say = say
        self._processes: dict[int, _Process | None] = {}  # None: one that is not followed, or not any more
        self._complete = False
        self._asked: str | None = None

    def complete(self, why: str) -> None:
        """End the recording of every process at the next turn. May be called by a signal handler."""
        if self._asked is None:
            self._asked = why

    def turn(self) -> bool:
        """Look for triggers, and drop what is not to be kept. Whether there is more to do at once.

        Raises:
            TraceError: the bundle cannot be read.
            OSError: it cannot be read, or written to.
        """
        self._find()
        for process in self._followed():
            process.watch.read_on()
            if process.watch.met is not None and not self._complete:
                self._end_all(f"process {process.stream.ordinal}: {process.watch.met}")
        if self._asked is not None and not self._complete:
            self._end_all(self._asked)
        more = False
        followed = self._followed()
        for process in followed:
            if not process.stream.alive or (self._complete and process.watch.stopped):
                self._end(process)
                continue
            if not self._complete:
                more |= process.keeper.advance(time.monotonic() + _TURN / len(followed))
            self._tell(process)
        return more

    def _find(self) -> None:
        """Processes that made their first call since."""
        with Folder(str(self._path)) as folder:
            ordinals = [format.process_ordinal(name) for name in folder.names()]
        for ordinal in ordinals:
            if ordinal is None or ordinal in self._processes:
                continue
            bundle = Bundle.open(self._path)
            try:
                self._processes[ordinal] = self._follow(bundle, bundle.process(ordinal))
            except KeyError:  # it has written nothing yet
                bundle.close()
            except ReplayError as error:
                self._processes[ordinal] = None
                self._say(f"process {ordinal}: the tail cannot be kept: {error}; everything is kept")
                bundle.close()

    def _follow(self, bundle: Bundle, stream: ProcessStream) -> _Process | None:
        if stream.header.get("tail") is None:  # of a run inside of this one
            return None
        for other in bundle.processes:
            if other is not stream:
                other.close()
        bundle.processes[:] = [stream]  # payloads are in its own packs
        return _Process(bundle, stream, self.keep, self._triggers)

    def _followed(self) -> list[_Process]:
        return [process for process in self._processes.values() if process is not None]

    def _end_all(self, why: str) -> None:
        """A trigger is met: the tails of all processes end."""
        self._complete = True
        (self._path / format.STOP).touch()
        self._say(f"{why}; recording ends here, the program goes on")
        for process in self._followed():
            if process.watch.met is None and process.stream.alive:
                process.watch.end_here(why)

    def _end(self, process: _Process) -> None:
        """Nothing is added to a stream any more: let it end where it is to, and begin where it may."""
        watch = process.watch
        watch.read_on()
        end = watch.end or watch.position
        if end is not None:
            with process.keeper.folder() as folder, locked(folder):
                if watch.end is not None:
                    end_at(folder, process.stream.schema, end, f"{COMPLETE}: {watch.met}")
                process.keeper.finish(end)
        self._tell(process)
        self._processes[process.stream.ordinal] = None
        process.bundle.close()

    def _tell(self, process: _Process) -> None:
        if process.keeper.problem is not None and not process.told:
            process.told = True
            self._say(f"process {process.stream.ordinal}: the tail cannot be kept: {process.keeper.problem}")
