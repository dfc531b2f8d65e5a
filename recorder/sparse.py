"""Which parts of a sparse file were ever written."""

import errno
import os
from collections.abc import Iterator


def written_ranges(descriptor: int, size: int) -> Iterator[tuple[int, int]]:
    """Offset and size of the ranges of a file outside of which it reads as zero. Moves the file's position.

    Raises:
        OSError: the file cannot tell.
    """
    offset = 0
    while offset < size:
        try:
            start = os.lseek(descriptor, offset, os.SEEK_DATA)
        except OSError as error:
            if error.errno == errno.ENXIO:  # nothing from there on
                return
            raise
        end = os.lseek(descriptor, start, os.SEEK_HOLE)
        yield start, end - start
        offset = end
