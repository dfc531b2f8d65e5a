"""Journal windows: files that are allocated in full, then mapped, then get their name (section 4 of the format)."""
# ruff: noqa: PTH104, PTH108 - importing pathlib would cost every preloaded process milliseconds

import contextlib
import mmap
import os
import resource
import stat
import sys
from collections.abc import Callable
from typing import Any, Final, TypeAlias

from cannery.recorder.format import JOURNAL, PAGE, UNFINISHED, window_name

Mapper: TypeAlias = Callable[[int, int], Any]
"""Map ``size`` bytes of a descriptor shared and writable: ``(descriptor, size) -> object with slice assignment``."""

_HIGH: Final = 900  # descriptors from here up: a program may count on getting the lowest free numbers


def map_shared(descriptor: int, size: int) -> Any:
    """The mapper of the standard library.

    Before Python 3.13 it keeps a duplicate of the descriptor and closes that *number* with the map. In a process where
    the program may have closed it and opened something else there, use a mapper that keeps none.
    """
    if sys.version_info >= (3, 13):
        return mmap.mmap(descriptor, size, trackfd=False)
    return mmap.mmap(descriptor, size)


def check_file_size(size: int) -> None:
    """Raises OSError where the system would send SIGXFSZ, whose default is to end the program."""
    limit = resource.getrlimit(resource.RLIMIT_FSIZE)[0]
    if limit != resource.RLIM_INFINITY and size > limit:
        raise OSError(f"the file size limit of this process is {limit} bytes")


def fits(descriptor: int, size: int) -> bool:
    """Whether so many bytes can be appended, or written where the file is, without SIGXFSZ. What is no regular file
    has no limit."""
    limit = resource.getrlimit(resource.RLIMIT_FSIZE)[0]
    if limit == resource.RLIM_INFINITY:
        return True
    status = os.fstat(descriptor)
    if not stat.S_ISREG(status.st_mode):
        return True
    return max(status.st_size, os.lseek(descriptor, 0, os.SEEK_CUR)) + size <= limit


def raise_descriptor(descriptor: int) -> int:
    """The same open file under a high number, where that is possible."""
    import fcntl

    try:
        high = fcntl.fcntl(descriptor, fcntl.F_DUPFD_CLOEXEC, _HIGH)
    except OSError:  # the limit is lower than that
        return descriptor
    os.close(descriptor)
    return high


def make_mapped(path: str, size: int, mapper: Mapper) -> Any:
    """Allocate a file of zeros, map it, give it its name, and return the map.

    Raises:
        OSError: there is no room, or the folder is gone. Nothing of that name exists then.
    """
    check_file_size(size)
    unfinished = path + UNFINISHED
    descriptor = os.open(unfinished, os.O_RDWR | os.O_CREAT | os.O_TRUNC | os.O_NOFOLLOW | os.O_CLOEXEC, 0o666)
    try:
        try:
            os.posix_fallocate(descriptor, 0, size)
            mapped = mapper(descriptor, size)
        finally:
            os.close(descriptor)
        os.rename(unfinished, path)
    except OSError:
        with contextlib.suppress(OSError):
            os.unlink(unfinished)
        raise
    return mapped


def make_window(folder: str, number: int, size: int, mapper: Mapper) -> Any:
    """The mapped window ``number`` of a process folder. Raises OSError."""
    return make_mapped(f"{folder}/{window_name(number, JOURNAL)}", size, mapper)


def round_to_page(size: int) -> int:
    return -(-size // PAGE) * PAGE


def reason(error: BaseException) -> str:
    """An error as the reason why recording ended."""
    if isinstance(error, OSError) and error.strerror:
        return error.strerror
    return str(error) or type(error).__name__
