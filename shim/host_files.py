"""Files that are mapped, without keeping a descriptor of theirs."""

import os

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
