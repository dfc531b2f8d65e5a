"""The trace of ``cannery run``: made before the program starts, sealed while it runs, summed up after it."""

import contextlib
import os
from itertools import count
from pathlib import Path
from typing import TYPE_CHECKING, Self

import click
from xxhash import xxh3_128_digest, xxh3_128_intdigest

from cannery.recorder import format
from cannery.recorder.claim import hold_lock, read_bundle_sheet
from cannery.recorder.create import create_bundle
from cannery.recorder.format import BundleExists, TraceError
from cannery.runtime import version
from cannery.tools.errors import Failure

if TYPE_CHECKING:
    from cannery.recorder.seal import Sealer
    from cannery.recorder.tail import Keep
    from cannery.replayer.triggers import Triggers
    from cannery.tools.flight import FlightRecorder

SUFFIX = ".cann"


class Recording:
    """A bundle that programs of one session record into. ``path`` is absolute, ``shown`` as the user knows it."""

    def __init__(self, path: Path) -> None:
        self.path = path.absolute()
        self.shown = str(path)
        self._sealer: Sealer | None = None
        self._flight: FlightRecorder | None = None
        self._lock = -1

    @classmethod
    def begin(cls, path: str | None, program: str, session: str, *, force: bool, join: bool) -> Self:
        """Make the bundle. Without a path it is named after ``program``, with a number when that name is taken.

        ``join``: a bundle of this very session is not made anew, but continued.

        Raises:
            Failure: it cannot be made there.
        """
        if path is not None:
            wanted = Path(path.rstrip("/") or path)
            if not (join and _is_of(wanted, session)):
                _create(wanted, session, force)
            return cls(wanted)
        stem = session if join else Path(program).name
        for number in count(1):
            wanted = Path(f"{stem}{SUFFIX}" if number == 1 else f"{stem}-{number}{SUFFIX}")
            if join and _is_of(wanted, session):
                return cls(wanted)
            if force or not os.path.lexists(wanted):
                _create(wanted, session, force)
                return cls(wanted)
        raise AssertionError

    def keep_tail(self, keep: "Keep", triggers: "Triggers") -> "FlightRecorder":
        """Keep only the tail of each process's stream."""
        from cannery.tools.flight import FlightRecorder

        self._lock = hold_lock(f"{self.path}/{format.BUNDLE}")  # processes that are held go on without a launcher
        self._flight = FlightRecorder(self.path, keep, triggers, lambda text: click.echo(f"cannery: {text}", err=True))
        return self._flight

    def tick(self) -> bool:
        """Seal what is full, so that the end has little to do, and drop what is not kept. What cannot be done now can
        be at the end. Whether there is more to do at once.

        The first call, when the program has just begun, only loads what the end needs.
        """
        try:
            more = self._flight is not None and self._flight.turn()
            if self._sealer is None:
                from cannery.recorder.seal import Sealer

                self._sealer = Sealer(self.path)
            if not more:  # what is about to be dropped is not worth it
                self._sealer.seal_full_windows()
        except (TraceError, OSError):
            return False
        return more

    def finish(self, pid: int, wait_status: int) -> str:
        """Seal and index what is there; one line about it for people. Never fails: the program's status comes first."""
        from cannery.recorder.bundle import Bundle
        from cannery.recorder.seal import Sealer, note_end
        from cannery.tools import traces

        open_streams = 0
        try:
            note_end(self.path, pid, wait_status)
            if self._flight is not None:
                self._flight.turn()
            sealer = self._sealer or Sealer(self.path)
            open_streams = len(sealer.finish().open_streams)
            with Bundle.open(self.path) as bundle:
                counts = [stream.counts() for stream in bundle.processes]
                unborn = len(bundle.problems)
        except (TraceError, OSError) as error:
            reason = error.strerror if isinstance(error, OSError) else str(error)
            return f"the trace {self.shown} could not be finished: {reason}; 'cannery info' says what can be read"
        if not counts and unborn:
            return f"the program ended in its first runtime call, before a record; the trace {self.shown} is empty"
        if not counts:
            return f"no runtime call was recorded; the trace {self.shown} is empty"
        calls = sum(each.calls for each in counts)
        threads = sum(len(each.threads) for each in counts)
        parts = [traces.count(calls, "call"), traces.count(threads, "thread")]
        if len(counts) > 1:
            parts.append(f"{len(counts)} processes")
        parts.append(traces.size(traces.stored(self.path)))
        if open_streams:
            parts.append(f"{open_streams} still running")
        if self._flight is not None:
            parts.append("the tail only")
        return f"{', '.join(parts)}, trace {self.shown}"


def _create(path: Path, session: str, force: bool) -> None:
    try:
        os.close(create_bundle(str(path), session, _schema(), force=force, tool=version.VERSION))
    except BundleExists as error:
        raise Failure(str(error)) from None
    except OSError as error:
        raise Failure(f"cannot record into {path}: {error.strerror}; choose another place with -o") from None


def _is_of(path: Path, session: str) -> bool:
    try:
        return read_bundle_sheet(str(path)).get("session") == session
    except TraceError:
        return False


def _schema() -> bytes:
    """The function table, compressed. Kept in the user's cache: making it takes as long as starting a program."""
    from cannery.shim.pruning import TABLES, prune, used
    from cannery.shim.sdk import SdkError, cache_folder

    kept: Path | None = None
    try:
        kept = cache_folder() / f"schema-{_fingerprint():032x}"
        stored = kept.read_bytes()
        if xxh3_128_digest(stored[16:]) == stored[:16]:
            used(kept)
            return stored[16:]
    except (SdkError, OSError):
        pass
    from cannery.recorder.compression import compress
    from cannery.recorder.forms import schema_of
    from cannery.runtime.api import MODEL

    packed = compress(schema_of(MODEL).pack())
    if kept is not None:
        with contextlib.suppress(OSError):
            unfinished = kept.with_name(f"{kept.name}.{os.getpid()}")
            unfinished.write_bytes(xxh3_128_digest(packed) + packed)
            unfinished.replace(kept)
            prune(kept, TABLES)
    return packed


def _fingerprint() -> int:
    """What the function table is made from: names, sizes and times of the files of the API model and its forms."""
    folders = Path(version.__file__).parent / "api", Path(format.__file__).parent
    files = sorted(path for folder in folders for pattern in ("*.py", "abi/*.json") for path in folder.glob(pattern))
    facts = [(str(path), status.st_size, status.st_mtime_ns) for path in files for status in (path.stat(),)]
    return xxh3_128_intdigest(repr(facts).encode())
