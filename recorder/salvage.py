"""What a repair saves of a damaged pack, and which contents are lost (section 14 of the format)."""

import os
from collections.abc import Iterator
from typing import Final, NamedTuple

from cannery.recorder import format
from cannery.recorder.files import Folder, write_all
from cannery.recorder.format import DamagedTrace
from cannery.recorder.pack import FRAME_MAGIC, HEADER_SIZE, Pack, Stored, frame_header, read_content, scan

_BLOCK: Final = 1 << 20


class Salvage(NamedTuple):
    """Frames that are whole, in order; the digests of those whose content was altered; and places where no frame could
    be found, as ``(offset, bytes)``."""

    frames: tuple[tuple[bytes, Stored], ...]
    altered: tuple[bytes, ...]
    gaps: tuple[tuple[int, int], ...]
    torn: int  # bytes after the last frame: one that was being written

    @property
    def whole(self) -> bool:
        return not self.altered and not self.gaps


def survey(folder: Folder, name: str) -> Salvage | None:
    """Read a pack through; None when there is none. Raises DamagedTrace: it cannot be opened."""
    path = folder.label + name
    try:
        descriptor = folder.open(name)
    except FileNotFoundError:
        return None
    try:
        size = os.fstat(descriptor).st_size
        frames: list[tuple[bytes, Stored]] = []
        altered: list[bytes] = []
        gaps: list[tuple[int, int]] = []
        start = 0
        while True:
            try:
                for digest, stored in scan(descriptor, path, start):
                    start = sum(stored)
                    try:
                        read_content(descriptor, path, digest, stored, size)
                        frames.append((digest, stored))
                    except DamagedTrace:
                        altered.append(digest)
                return Salvage(tuple(frames), tuple(altered), tuple(gaps), size - start)
            except DamagedTrace as damage:
                following = _next_frame(descriptor, damage.offset + 1, size)
                end = size if following is None else following
                gaps.append((damage.offset, end - damage.offset))
                if following is None:
                    return Salvage(tuple(frames), tuple(altered), tuple(gaps), 0)
                start = following
    finally:
        os.close(descriptor)


def rewrite(folder: Folder, salvage: Salvage, name: str) -> None:
    """Replace the pack by one with the whole frames; the old one is kept aside.

    Raises:
        OSError: it cannot be written; the old pack is in its place.
    """
    unfinished, lost = name + format.UNFINISHED, name + format.LOST
    folder.remove(unfinished)
    flags = os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_NOFOLLOW | os.O_CLOEXEC
    target = os.open(unfinished, flags, 0o666, dir_fd=folder.descriptor)
    try:
        for part in _parts(folder, salvage, name):
            write_all(target, part)
    except BaseException:
        folder.remove(unfinished)
        raise
    finally:
        os.close(target)
    folder.keep_aside(name, lost)
    os.rename(unfinished, name, src_dir_fd=folder.descriptor, dst_dir_fd=folder.descriptor)


def cut(folder: Folder, salvage: Salvage, name: str) -> None:
    """Take off the frame that was being written. Raises OSError."""
    end = max((sum(stored) for _, stored in salvage.frames), default=0)
    descriptor = os.open(name, os.O_WRONLY | os.O_NOFOLLOW | os.O_CLOEXEC, dir_fd=folder.descriptor)
    try:
        os.ftruncate(descriptor, end)
    finally:
        os.close(descriptor)


def _parts(folder: Folder, salvage: Salvage, name: str) -> Iterator[bytes]:
    pack = Pack(folder, dict(salvage.frames), 1 << 62, name)
    try:
        for digest, _ in salvage.frames:
            content = pack.content(digest)
            assert content is not None
            yield frame_header(len(content), digest)
            yield content
    finally:
        pack.close()


def _next_frame(descriptor: int, start: int, end: int) -> int | None:
    """Where the next header that fits the file stands."""
    offset = start
    while offset + HEADER_SIZE <= end:
        block = os.pread(descriptor, _BLOCK, offset)
        place = block.find(FRAME_MAGIC)
        if place < 0:
            offset += max(len(block) - len(FRAME_MAGIC) + 1, 1)
            continue
        offset += place
        try:
            if next(scan(descriptor, "", offset), None) is not None:
                return offset
        except DamagedTrace:
            pass
        offset += 1
    return None
