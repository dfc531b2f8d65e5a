"""Files of a bundle, opened as untrusted input: relative to their folder, regular files only, links not followed,
sizes checked before anything is read."""

import contextlib
import errno
import fcntl
import os
import stat
import sys
from types import TracebackType
from typing import Final, Self

from cannery.recorder.format import LOST, UNFINISHED, DamagedTrace

_READ: Final = os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_CLOEXEC


def try_lock(descriptor: int) -> bool:
    """Lock a file until it is closed. False: somebody else has. True also where the file system has no locks."""
    try:
        fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except BlockingIOError:
        return False
    except OSError:
        return True
    return True


def write_all(descriptor: int, data: "bytes | memoryview") -> None:
    """Write at the file's position, however often it takes. Raises OSError."""
    left = memoryview(data)
    while left:
        left = left[os.write(descriptor, left) :]


class Folder:
    """An open folder. ``label`` is its path within the bundle, for messages: empty, or ``p0001/``."""

    __slots__ = ("descriptor", "label")

    def __init__(self, path: str, label: str = "", inside: int | None = None) -> None:
        """Raises OSError; also for a link, when it lies inside of another folder."""
        flags = os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC | (0 if inside is None else os.O_NOFOLLOW)
        self.descriptor = os.open(path, flags, dir_fd=inside)
        self.label = label

    def folder(self, name: str) -> "Folder":
        """Raises OSError."""
        return Folder(name, f"{self.label}{name}/", self.descriptor)

    def names(self) -> list[str]:
        if self.descriptor < 0:
            raise ValueError("the bundle is closed")
        return sorted(os.listdir(self.descriptor))  # noqa: PTH208 - by descriptor

    def size(self, name: str) -> int | None:
        """Size of a regular file, None when there is none of that name."""
        try:
            status = os.stat(name, dir_fd=self.descriptor, follow_symlinks=False)
        except OSError:
            return None
        return status.st_size if stat.S_ISREG(status.st_mode) else None

    def open(self, name: str) -> int:
        """A descriptor of a regular file.

        Raises:
            FileNotFoundError: there is none.
            DamagedTrace: it is a link or something else, or cannot be read.
        """
        path = self.label + name
        try:
            descriptor = os.open(name, _READ, dir_fd=self.descriptor)
        except FileNotFoundError:
            raise
        except OSError as error:
            raise DamagedTrace(path, 0, f"cannot be opened ({error.strerror})") from None
        if not stat.S_ISREG(os.fstat(descriptor).st_mode):
            os.close(descriptor)
            raise DamagedTrace(path, 0, "is no file")
        return descriptor

    def read(self, name: str, limit: int, start: int = 0, size: int | None = None) -> bytes:
        """``size`` bytes from ``start``, or as many as there are; all of it by default.

        Raises:
            FileNotFoundError: there is no such file.
            DamagedTrace: it is larger than ``limit`` bytes, or cannot be read.
        """
        descriptor = self.open(name)
        try:
            there = os.fstat(descriptor).st_size
            if there > limit:
                raise DamagedTrace(self.label + name, 0, f"{there} bytes, where at most {limit} may be")
            wanted = there - start if size is None else min(size, there - start)
            parts = []
            while wanted > 0:
                part = os.pread(descriptor, wanted, start)
                if not part:
                    break
                parts.append(part)
                start += len(part)
                wanted -= len(part)
        except OSError as error:
            raise DamagedTrace(self.label + name, start, f"cannot be read ({error.strerror})") from None
        finally:
            os.close(descriptor)
        return parts[0] if len(parts) == 1 else b"".join(parts)

    def replace(self, name: str, data: bytes) -> None:
        """Write a file under another name and rename it. Raises OSError; nothing of it is left then."""
        unfinished = name + UNFINISHED
        self.remove(unfinished)
        flags = os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_NOFOLLOW | os.O_CLOEXEC
        descriptor = os.open(unfinished, flags, 0o666, dir_fd=self.descriptor)
        try:
            try:
                write_all(descriptor, data)
            finally:
                os.close(descriptor)
            os.rename(unfinished, name, src_dir_fd=self.descriptor, dst_dir_fd=self.descriptor)
        except BaseException:
            self.remove(unfinished)
            raise

    def keep_aside(self, name: str, other: str) -> None:
        """Give a file a second name, from which it can be had when the first is replaced; what has that name goes.

        Raises:
            OSError: it cannot be done. Where the file system has no links, the file is copied.
        """
        self.remove(other)
        try:
            os.link(name, other, src_dir_fd=self.descriptor, dst_dir_fd=self.descriptor, follow_symlinks=False)
        except OSError as error:
            if error.errno not in (errno.EPERM, errno.EOPNOTSUPP, errno.ENOSYS, errno.EMLINK):
                raise
            self.replace(other, self.read(name, sys.maxsize))

    def set_aside(self, name: str) -> None:
        """Give a file its name with ``.lost``; what has that name goes. Raises OSError."""
        os.rename(name, name + LOST, src_dir_fd=self.descriptor, dst_dir_fd=self.descriptor)

    def remove(self, name: str) -> None:
        """Remove a file, if there is one. Raises OSError."""
        with contextlib.suppress(FileNotFoundError):
            os.unlink(name, dir_fd=self.descriptor)

    def begin(self, name: str) -> int | None:
        """A descriptor of a new file that is to be written for long. Its lock tells others of the writer until it is
        closed, also after a rename. None: another writer has that name.

        Raises OSError.
        """
        flags = os.O_WRONLY | os.O_CREAT | os.O_NOFOLLOW | os.O_CLOEXEC
        while True:
            descriptor = os.open(name, flags, 0o666, dir_fd=self.descriptor)
            try:
                if not try_lock(descriptor):
                    os.close(descriptor)
                    return None
                if self._is(name, descriptor):
                    os.ftruncate(descriptor, 0)  # what a kill left
                    return descriptor
            except BaseException:
                os.close(descriptor)
                raise
            os.close(descriptor)  # renamed or removed before it was locked

    def is_held(self, name: str) -> bool:
        """Whether a writer of :meth:`begin` still has that file. Raises OSError, DamagedTrace."""
        try:
            descriptor = self.open(name)
        except FileNotFoundError:
            return False
        try:
            return not try_lock(descriptor)
        finally:
            os.close(descriptor)

    def remove_unheld(self, name: str) -> bool:
        """Remove a file, if there is one. False: a writer of :meth:`begin` has it. Raises OSError."""
        try:
            descriptor = self.open(name)
        except (FileNotFoundError, DamagedTrace):
            self.remove(name)
            return True
        try:
            free = try_lock(descriptor)
            if free and self._is(name, descriptor):
                self.remove(name)
            return free
        finally:
            os.close(descriptor)

    def _is(self, name: str, descriptor: int) -> bool:
        """Whether the open file still has that name."""
        try:
            return os.path.samestat(os.stat(name, dir_fd=self.descriptor, follow_symlinks=False), os.fstat(descriptor))
        except FileNotFoundError:
            return False

    def close(self) -> None:
        if self.descriptor >= 0:
            os.close(self.descriptor)
            self.descriptor = -1

    def __del__(self) -> None:
        if hasattr(self, "descriptor"):
            self.close()

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()
