"""Device memory in a replay: sparse files in memory, of which only so much may be used."""

import gc
import mmap
import os
import resource
from pathlib import Path
from typing import Final

from cannery.recorder.sparse import written_ranges
from cannery.recorder.window import check_file_size

_MAP_NORESERVE: Final = 0x4000
_PAGE: Final = 4096
_BLOCK: Final = 2 << 20  # unit in which use of device memory is counted
_MEMINFO = "/proc/meminfo"  # where the system says how much memory it has


class OutOfMemory(Exception):  # noqa: N818 - a bound, not a defect
    """The trace makes the machine use more device memory than may be; the text says how much."""


class Budget:
    """How many bytes of device memory, of all devices, a replay may use: a few bytes of trace can ask for all of it."""

    def __init__(self, size: int) -> None:
        self.size = size
        self.left = size

    def take(self, size: int) -> None:
        """Raises OutOfMemory."""
        self.left -= size
        if self.left < 0:
            raise OutOfMemory(f"it uses more device memory than the {self.size >> 20} MiB that this machine has left")

    def check(self, size: int) -> None:
        """Whether there is room for a copy of so many bytes of host memory. Raises OutOfMemory."""
        if size > self.left:
            left = max(self.left, 0) >> 20
            raise OutOfMemory(f"it copies {size} bytes of host memory, and this machine has {left} MiB left")


def available() -> int:
    """Bytes of memory that the system can give away; a great many where it does not say."""
    try:
        for line in Path(_MEMINFO).read_text().splitlines():
            if line.startswith("MemAvailable:"):
                return int(line.split()[1]) << 10
    except (OSError, ValueError, IndexError):
        pass
    return 1 << 62


class _View:
    """The bytes of a store. A block of them counts against the budget from when it is first looked at."""

    def __init__(self, content: memoryview, budget: Budget) -> None:
        self._content = content
        self._size = len(content)
        self._budget = budget
        self._used: set[int] = set()

    def __getitem__(self, part: slice) -> memoryview:
        start: int = part.start
        stop: int = part.stop
        if not 0 <= start <= stop <= self._size:  # a slice would count from the end
            raise ValueError(f"the device has no bytes {start} to {stop}")
        first, last = start // _BLOCK, (stop - 1) // _BLOCK
        if first not in self._used or first != last:
            fresh = [block for block in range(first, last + 1) if block not in self._used]
            self._budget.take(len(fresh) * _BLOCK)
            self._used.update(fresh)
        return self._content[part]

    def forget(self, first: int, last: int) -> None:
        """The whole blocks of that range of bytes were given back to the system."""
        gone = self._used.intersection(range(-(-first // _BLOCK), last // _BLOCK))
        self._used -= gone
        self._budget.take(-len(gone) * _BLOCK)


def _mapped(file: int, span: int, flags: int) -> mmap.mmap:
    """The addresses of a process have room for some hundred devices: those of replays that are over stay until cycles
    are looked for, which the command line has done seldom."""
    try:
        return mmap.mmap(file, span, flags=flags)
    except OSError:
        gc.collect()
        return mmap.mmap(file, span, flags=flags)


class ReplayStore:
    """The bytes of one device: a sparse file in memory, so that pages cost nothing until the machine writes them. Where
    the system limits the size of files, anonymous memory, which does not know what was written."""

    def __init__(self, span: int, budget: Budget) -> None:
        self._span = span
        self._file = _memory_file(span)
        flags = mmap.MAP_SHARED if self._file >= 0 else mmap.MAP_PRIVATE | mmap.MAP_ANONYMOUS | _MAP_NORESERVE
        self._map = _mapped(self._file, span, flags)
        self.view = _View(memoryview(self._map), budget)

    def __del__(self) -> None:
        if getattr(self, "_file", -1) >= 0:
            os.close(self._file)

    def discard(self, offset: int, size: int) -> None:
        """Make the range read as zero; whole pages go back to the system."""
        first, last = -(-offset // _PAGE) * _PAGE, (offset + size) // _PAGE * _PAGE
        if first >= last:
            self.view[offset : offset + size][:] = bytes(size)
            return
        self.view[offset:first][:] = bytes(first - offset)
        self.view[last : offset + size][:] = bytes(offset + size - last)
        self._map.madvise(mmap.MADV_DONTNEED if self._file < 0 else mmap.MADV_REMOVE, first, last - first)
        self.view.forget(first, last)

    def written(self) -> list[tuple[int, int]]:
        return [(0, self._span)] if self._file < 0 else [*written_ranges(self._file, self._span)]


def _memory_file(size: int) -> int:
    """A file in memory that is all zeros, or -1."""
    file = os.memfd_create("cannery-replay", os.MFD_CLOEXEC)
    before = resource.getrlimit(resource.RLIMIT_FSIZE)
    try:
        resource.setrlimit(resource.RLIMIT_FSIZE, (before[1], before[1]))  # beyond it a signal ends the process
        check_file_size(size)
        os.ftruncate(file, size)
    except OSError:
        os.close(file)
        return -1
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, before)
    return file
