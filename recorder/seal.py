"""Seals windows: compresses them and indexes the stream (section 9 of the format).

Done outside of the recording process: by the launcher while the program runs and when it ended, else by ``cannery
repair``. A kill between any two steps leaves a bundle that reads the same.
"""

import contextlib
import fcntl
import os
from collections.abc import Iterator
from pathlib import Path
from typing import NamedTuple

from cannery.recorder import format
from cannery.recorder.bundle import Bundle
from cannery.recorder.chunk import Summary, failing_functions, pack_chunk, read_summary, summarise
from cannery.recorder.claim import lives
from cannery.recorder.files import Folder, try_lock
from cannery.recorder.format import DamagedTrace, TraceError
from cannery.recorder.index import Index, pack_payloads, read_index, write_index
from cannery.recorder.pack import Pack
from cannery.recorder.schema import Schema
from cannery.recorder.sheet import pack_sheet, read_sheet
from cannery.recorder.stream import committed, layouts_of
from cannery.recorder.tail_files import first_window


class Sealed(NamedTuple):
    """What :func:`finish` did. ``open_streams`` are the ordinals of processes that still run: their last window and
    their index are left; ``problems`` are windows that cannot be sealed because they are damaged."""

    windows: int
    open_streams: tuple[int, ...]
    problems: tuple[str, ...]


class Sealer:
    """Seals the streams of one bundle; keep it while the program runs, since it remembers the function table."""

    def __init__(self, path: str | Path) -> None:
        """Raises TraceError: there is no bundle that can be read."""
        with Bundle.open(path) as bundle:
            self.schema: Schema = bundle.schema
        self._path = Path(path)
        self._layouts = layouts_of(self.schema)
        self._failing = failing_functions(self.schema)
        self.problems: list[str] = []

    def seal_full_windows(self) -> int:
        """Seal, in every stream, the windows below the highest, which nobody writes any more. Return how many."""
        with Folder(str(self._path)) as bundle:
            return sum(self._seal_full(folder) for folder in process_folders(bundle))

    def finish(self) -> Sealed:
        """Seal everything of the processes that ended, and index their streams.

        Raises:
            OSError: it cannot be written. What was sealed so far stays.
        """
        windows = 0
        still_open = []
        with Folder(str(self._path)) as bundle:
            for folder in process_folders(bundle):
                if folder.size(format.PROCESS) is None:
                    continue  # it died before its first record, or is about to begin
                if is_alive(folder):
                    windows += self._seal_full(folder)
                    still_open.append(format.process_ordinal(folder.label.rstrip("/")) or 0)
                else:
                    windows += self._finish(folder)
        return Sealed(windows, tuple(still_open), tuple(self.problems))

    def _seal_full(self, folder: Folder) -> int:
        with locked(folder) as mine:
            return sum(self._seal(folder, number) for number in journals(folder)[:-1]) if mine else 0

    def _finish(self, folder: Folder) -> int:
        with locked(folder) as mine:
            if not mine:
                return 0
            windows = sum(self._seal(folder, number) for number in journals(folder))
            if not journals(folder):
                rebuild_index(folder)
            for name in folder.names():
                if name.endswith(format.UNFINISHED):
                    folder.remove_unheld(name)
            return windows

    def _seal(self, folder: Folder, number: int) -> bool:
        """Seal one window. False: it was sealed before, is empty, or is damaged and stays as it is."""
        journal, chunk = format.window_name(number, format.JOURNAL), format.window_name(number, format.CHUNK)
        path = folder.label + journal
        if folder.size(chunk) is not None:  # a kill came before the journal was removed
            folder.remove(journal)
            return False
        try:
            content = folder.read(journal, format.MAX_WINDOW)
            content = content[: committed(content, path)]
            read = summarise(content, self._layouts, self._failing, path, journal=True)
        except FileNotFoundError:
            return False
        except DamagedTrace as damage:
            if str(damage) not in self.problems:
                self.problems.append(str(damage))
            return False
        if read is not None:
            folder.replace(chunk, pack_chunk(content, read[1]))
        folder.remove(journal)
        return read is not None


def seal_full_windows(path: str | Path) -> int:
    """See :meth:`Sealer.seal_full_windows`."""
    return Sealer(path).seal_full_windows()


def finish(path: str | Path) -> Sealed:
    """See :meth:`Sealer.finish`."""
    return Sealer(path).finish()


def note_end(path: str | Path, pid: int, wait_status: int) -> None:
    """Write how the launched command ended, for the bundle and for the last process with that id.

    ``wait_status`` is what ``os.waitpid`` gave. Raises OSError.
    """
    code = os.waitstatus_to_exitcode(wait_status)
    sheet = pack_sheet({"status": code} if code >= 0 else {"signal": -code})
    with Folder(str(path)) as bundle:
        bundle.replace(format.END, sheet)
        last = None
        for folder in process_folders(bundle):
            with contextlib.suppress(TraceError, OSError):
                host = read_sheet(folder, format.PROCESS).get("host")
                if isinstance(host, dict) and host.get("pid") == pid:
                    last = folder.label.rstrip("/")
        if last is not None:
            with bundle.folder(last) as folder:
                folder.replace(format.END, sheet)


def process_folders(bundle: Folder) -> Iterator[Folder]:
    for name in bundle.names():
        if format.process_ordinal(name) is not None:
            with contextlib.suppress(NotADirectoryError), bundle.folder(name) as folder:
                yield folder


def journals(folder: Folder) -> list[int]:
    """Numbers of the windows that are not sealed, ascending."""
    numbers = (format.window_number(name, format.JOURNAL) for name in folder.names())
    return sorted(number for number in numbers if number is not None)


def is_alive(folder: Folder) -> bool:
    """Whether the process may still write."""
    try:
        descriptor = folder.open(format.PROCESS)
    except (FileNotFoundError, DamagedTrace):
        return False
    try:
        return lives(read_sheet(folder, format.PROCESS), descriptor)
    except (FileNotFoundError, DamagedTrace):
        return False
    finally:
        os.close(descriptor)


@contextlib.contextmanager
def locked(folder: Folder) -> Iterator[bool]:
    """Hold the folder against other sealers. False: another one is at it, and will do the work."""
    if not try_lock(folder.descriptor):
        yield False
        return
    try:
        yield True
    finally:
        with contextlib.suppress(OSError):  # a file system without locks
            fcntl.flock(folder.descriptor, fcntl.LOCK_UN)


def rebuild_index(folder: Folder) -> bool:
    """Write the index of a stream, unless there is one that says the same. False: that, or none can be made of what is
    damaged.

    Raises:
        OSError: it cannot be written.
    """
    chunks: dict[int, tuple[Summary, int]] = {}
    try:
        first = first_window(folder)
        for name in folder.names():
            number = format.window_number(name, format.CHUNK)
            if number is not None and number >= first:
                chunks[number] = read_summary(folder, name), folder.size(name) or 0
        pack = Pack(folder)
    except (DamagedTrace, FileNotFoundError):
        return False
    pack.close()
    if pack.damage is not None:
        return False
    index = Index(dict(sorted(chunks.items())), pack_payloads(pack.stored), pack.end)
    if read_index(folder) == index:
        return False
    write_index(folder, index)
    return True
