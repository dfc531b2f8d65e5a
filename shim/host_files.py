"""Files that are mapped, without keeping a descriptor of theirs."""

import os
import resource

from cannery.shim._engine import ffi, lib


def map_file(descriptor: int, size: int, offset: int = 0) -> memoryview:
    """Map a part of a file shared and writable, without keeping the descriptor: the program may close and reuse its
    number. ``offset`` is a multiple of the size of a page.

    The map goes when the last view of it does. Raises OSError.
    """
    address = lib.cannery_map_shared(descriptor, size, offset)
    if address == ffi.NULL:
        raise OSError(ffi.errno, os.strerror(ffi.errno))
    owner = ffi.gc(address, lambda pointer: lib.cannery_unmap(pointer, size))
    return memoryview(ffi.buffer(owner, size)).cast("B")


class no_file_size_limit:  # noqa: N801 - used like a function
    """Device memory, and what a session shares, are no files of the program: its limit (RLIMIT_FSIZE) is lifted as far
    as the system lets it."""

    def __enter__(self) -> None:
        self.before = resource.getrlimit(resource.RLIMIT_FSIZE)
        resource.setrlimit(resource.RLIMIT_FSIZE, (self.before[1], self.before[1]))

    def __exit__(self, *_: object) -> None:
        resource.setrlimit(resource.RLIMIT_FSIZE, self.before)
