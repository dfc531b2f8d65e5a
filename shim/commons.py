"""The folder of a session: where its processes find what they share (docs/sessions.md). Only files; what is in them is
``exchange.py``'s.

    RUNTIME/             the user's: /dev/shm/cannery-UID, else /tmp/cannery-UID, or CANNERY_RUNTIME_DIR
        SESSION/         one session
            control      its processes, and what they hold of the devices
            entries-NN   what they share
            records-N    the outstanding records of one shared event

Folders are the user's own, closed to others, and no link is followed. No name comes from a key. Files are made in full
under another name and then given their own, so nobody meets a half-made one. Whoever joins, cleans or removes a session
holds a lock on its folder, which ends with the process that has it.
"""

import fcntl
import os
import re
import stat
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from typing import Final

from xxhash import xxh3_128_hexdigest

CONTROL: Final = "control"
VARIABLE: Final = "CANNERY_RUNTIME_DIR"
_PLACES: Final = ("/dev/shm", "/tmp")
_FOLDER: Final = os.O_RDONLY | os.O_DIRECTORY | os.O_NOFOLLOW | os.O_CLOEXEC
_FILE: Final = os.O_RDWR | os.O_NOFOLLOW | os.O_CLOEXEC
_PLAIN: Final = re.compile(r"[A-Za-z0-9_][A-Za-z0-9._-]{0,63}")


class NoCommons(OSError):  # noqa: N818
    """There is no folder to share things in; the text says why."""


def session_name(session: str) -> str:
    """The name of a session's folder."""
    if _PLAIN.fullmatch(session):
        return session
    return "." + xxh3_128_hexdigest(session.encode(errors="surrogateescape"))


def open_runtime(variables: Mapping[str, str], make: bool = True) -> int:
    """A descriptor of the user's folder.

    Raises:
        NoCommons: there is none, or none that is only the user's.
    """
    chosen = variables.get(VARIABLE)
    places = [chosen] if chosen else [f"{place}/cannery-{os.geteuid()}" for place in _PLACES]
    reason = ""
    for place in places:
        try:
            return _open_own(place, None, make)
        except OSError as error:
            reason = f"{place}: {error.strerror or error}"
    raise NoCommons(reason)


def _open_own(path: str, within: int | None, make: bool) -> int:
    """Open a folder that is ours alone, in the folder ``within``."""
    if make:
        try:
            os.mkdir(path, 0o700, dir_fd=within)
        except FileExistsError:
            pass
    folder = os.open(path, _FOLDER, dir_fd=within)
    status = os.fstat(folder)
    if status.st_uid != os.geteuid() or stat.S_IMODE(status.st_mode) & 0o077:
        os.close(folder)
        raise NoCommons("is not a folder that only this user can enter")
    return folder


@contextmanager
def locked_session(runtime: int, name: str, make: bool = True, wait: bool = True) -> Iterator[int]:
    """A descriptor of a session's folder, while this process holds its lock.

    Raises:
        FileNotFoundError: there is none, and none was to be made.
        BlockingIOError: somebody else has the lock, and it was not to be waited for.
        OSError: it cannot be made or opened.
    """
    while True:
        folder = _open_own(name, runtime, make)
        try:
            fcntl.flock(folder, fcntl.LOCK_EX if wait else fcntl.LOCK_EX | fcntl.LOCK_NB)
            if _is_there(runtime, name, folder):  # else it was removed while we waited
                yield folder
                return
        finally:
            os.close(folder)


def _is_there(runtime: int, name: str, folder: int) -> bool:
    try:
        found = os.stat(name, dir_fd=runtime, follow_symlinks=False)
    except FileNotFoundError:
        return False
    return (found.st_dev, found.st_ino) == (os.fstat(folder).st_dev, os.fstat(folder).st_ino)


def open_file(folder: int, name: str, size: int, fill: Callable[[int], None] | None = None) -> int:
    """A descriptor of a file of that size, all of which has its place on the file system. If there is none it is made,
    zero but for what ``fill`` writes.

    Raises:
        OSError: it cannot be made, or what is there is something else.
    """
    try:
        return _checked(os.open(name, _FILE, dir_fd=folder), size)
    except FileNotFoundError:
        pass
    unfinished = f"{name}.{os.urandom(6).hex()}.new"
    descriptor = os.open(unfinished, _FILE | os.O_CREAT | os.O_EXCL, 0o600, dir_fd=folder)
    try:
        os.posix_fallocate(descriptor, 0, size)
        if fill is not None:
            fill(descriptor)
        os.link(unfinished, name, src_dir_fd=folder, dst_dir_fd=folder)
    except FileExistsError:
        os.close(descriptor)
        return _checked(os.open(name, _FILE, dir_fd=folder), size)
    except OSError:
        os.close(descriptor)
        raise
    finally:
        os.unlink(unfinished, dir_fd=folder)
    return descriptor


def _checked(descriptor: int, size: int) -> int:
    status = os.fstat(descriptor)
    if status.st_uid != os.geteuid() or not stat.S_ISREG(status.st_mode) or status.st_size != size:
        os.close(descriptor)
        raise NoCommons("a file of the session is not what it has to be")
    return descriptor


def sessions(runtime: int) -> list[str]:
    """The names of the folders there."""
    return sorted(entry.name for entry in os.scandir(runtime) if entry.is_dir(follow_symlinks=False))


def remove_session(runtime: int, name: str, folder: int) -> None:
    """Remove a session's folder, whose lock is held and whose processes are gone. Raises OSError."""
    for file in os.listdir(folder):
        os.unlink(file, dir_fd=folder)
    os.rmdir(name, dir_fd=runtime)


def born(pid: int) -> int:
    """When a process started, in clock ticks since the system did; 0 if it does not live."""
    try:
        with open(f"/proc/{pid}/stat", "rb") as file:
            fields = file.read(4096).rpartition(b")")[2].split()
        return 0 if fields[0] in (b"Z", b"X") else int(fields[19])
    except (OSError, IndexError, ValueError):
        return 0
