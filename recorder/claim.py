"""Joins a bundle: claims a folder in it for this process (section 2 of the format)."""
# ruff: noqa: PTH102, PTH106, PTH108, PTH116, PTH208 - importing pathlib would cost every preloaded process milliseconds

import contextlib
import errno
import fcntl
import os
from collections.abc import Mapping
from typing import Any, Final, NamedTuple

from cannery.recorder import format
from cannery.recorder.format import DamagedTrace, NotABundle, TraceError
from cannery.recorder.schema import schema_digest
from cannery.recorder.sheet import pack_sheet, replace_file, unpack_sheet
from cannery.recorder.window import Mapper, make_mapped, map_shared, raise_descriptor
from cannery.runtime.version import VERSION

_BIRTH_FIELD: Final = 19  # of /proc/PID/stat, counted after the command's closing bracket


class ProcessFolder(NamedTuple):
    """A claimed folder. ``lock`` is a descriptor that says the process lives; ``inflight`` its mapped slots,
    None where there was no room for them."""

    path: str
    ordinal: int
    lock: int
    inflight: Any

    @property
    def pack(self) -> str:
        """Path of the process's pack."""
        return f"{self.path}/{format.PACK}"


def join_bundle(
    path: str,
    session: str,
    schema: bytes,
    *,
    settings: Mapping[str, Any],
    start: int,
    device_base: int,
    device_span: int,
    payload: str,
    payload_limit: int | None = None,
    calls: str | None = None,
    tail: str | None = None,
    tool: str = VERSION,
    parent: int | None = None,
    first_ordinal: int = 0,
    host: Mapping[str, Any] | None = None,
    mapper: Mapper = map_shared,
) -> ProcessFolder:
    """Claim a folder for this process. The keywords go into its ``process`` sheet; ``host`` may have anything that a
    reader of the trace wants to know and no result depends on.

    Raises:
        NotABundle: there is none at ``path``.
        TraceError: it is another session's, or was made with another function table.
        DamagedTrace: its ``bundle`` sheet cannot be read.
        OSError: it cannot be written.
    """
    sheet = read_bundle_sheet(path)
    if sheet.get("session") != session:
        raise TraceError(f"{path} belongs to another session; nothing is recorded")
    if sheet.get("version") != format.VERSION or sheet.get("schema") != schema_digest(schema):
        raise TraceError(f"{path} was made by another version of Cannery; nothing is recorded")
    ordinal, folder = _claim(path)
    content = {
        "ordinal": ordinal,
        "settings": dict(settings),
        "start": start,
        "device_base": device_base,
        "device_span": device_span,
        "payload": payload,
        "payload_limit": payload_limit,
        "calls": calls,
        "tail": tail,
        "tool": tool,
        "parent": parent,
        "first_ordinal": first_ordinal,
        "host": {"pid": os.getpid(), "born": birth(os.getpid()), **(host or {})},
    }
    try:
        replace_file(f"{folder}/{format.PROCESS}", pack_sheet(content))
    except OSError:  # nobody could tell what the folder is
        _give_back(folder)
        raise
    inflight = None
    with contextlib.suppress(OSError):  # the disk is full: the stream will say so
        inflight = make_mapped(f"{folder}/{format.INFLIGHT}", format.SLOTS * format.SLOT_SIZE, mapper)
    return ProcessFolder(folder, ordinal, raise_descriptor(hold_lock(f"{folder}/{format.PROCESS}")), inflight)


def let_go(claimed: ProcessFolder) -> None:
    """In a forked child: the claim is its parent's, and is to end with that one. The parent's lock is not released by
    closing its descriptor here. The program may have closed it before, and opened another file under its number."""
    with contextlib.suppress(OSError):
        if os.path.samestat(os.fstat(claimed.lock), os.stat(f"{claimed.path}/{format.PROCESS}")):
            os.close(claimed.lock)


def read_bundle_sheet(path: str) -> dict[str, Any]:
    """The ``bundle`` sheet of the bundle at ``path``, of any version.

    Raises:
        NotABundle: there is none, or something else.
        DamagedTrace: it cannot be read.
    """
    try:
        descriptor = os.open(f"{path}/{format.BUNDLE}", os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_CLOEXEC)
    except FileNotFoundError:
        there = os.path.lexists(path)
        raise NotABundle(f"{path} is not a Cannery bundle" if there else f"{path}: no such bundle") from None
    except OSError as error:
        raise NotABundle(f"{path} is not a Cannery bundle ({error.strerror})") from None
    try:
        data = os.read(descriptor, format.MAX_SHEET + 1)
    except OSError as error:
        raise NotABundle(f"{path} is not a Cannery bundle ({error.strerror})") from None
    finally:
        os.close(descriptor)
    sheet, end = unpack_sheet(data, format.BUNDLE)
    if end != len(data):
        raise DamagedTrace(format.BUNDLE, end, "bytes after its end")
    if sheet.get("magic") != format.MAGIC:
        raise NotABundle(f"{path} is not a Cannery bundle")
    return sheet


def birth(pid: int) -> int | None:
    """When the process started, in clock ticks since the system did; None when there is no such process, also when it
    ended and nobody asked for its status yet."""
    try:
        descriptor = os.open(f"/proc/{pid}/stat", os.O_RDONLY | os.O_CLOEXEC)
    except OSError:
        return None
    try:
        fields = os.read(descriptor, 4096).rpartition(b")")[2].split()
        return None if fields[0] in (b"Z", b"X") else int(fields[_BIRTH_FIELD])
    except (OSError, IndexError, ValueError):
        return None
    finally:
        os.close(descriptor)


def is_locked(descriptor: int) -> bool:
    """Whether somebody else holds the lock of that file."""
    try:
        fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except OSError as error:
        return error.errno in (errno.EWOULDBLOCK, errno.EACCES)
    fcntl.flock(descriptor, fcntl.LOCK_UN)
    return False


def lives(process: Mapping[str, Any], descriptor: int) -> bool:
    """Whether the process of a ``process`` sheet, open as ``descriptor``, is still there."""
    host = process.get("host")
    pid, born = (host.get("pid"), host.get("born")) if isinstance(host, dict) else (None, None)
    if isinstance(pid, int) and 0 < pid < 1 << 31 and born is not None and birth(pid) == born:
        return True
    return is_locked(descriptor)


def _claim(path: str) -> tuple[int, str]:
    taken = [format.process_ordinal(name) or 0 for name in os.listdir(path)]
    ordinal = max(taken, default=0)
    while True:
        ordinal += 1
        folder = f"{path}/{format.process_name(ordinal)}"
        try:
            os.mkdir(folder)
        except FileExistsError:
            continue
        return ordinal, folder


def _give_back(folder: str) -> None:
    """Remove a folder that was just claimed, with what may lie in it unfinished."""
    with contextlib.suppress(OSError):
        for name in os.listdir(folder):
            os.unlink(f"{folder}/{name}")
        os.rmdir(folder)


def hold_lock(path: str) -> int:
    """A descriptor that marks the file's owner as alive until it is closed."""
    descriptor = os.open(path, os.O_RDONLY | os.O_NOFOLLOW | os.O_CLOEXEC)
    with contextlib.suppress(OSError):  # a file system without locks: the process id must do
        fcntl.flock(descriptor, fcntl.LOCK_SH | fcntl.LOCK_NB)
    return descriptor
