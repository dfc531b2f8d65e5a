"""The pack: frames of payload content, one after the other (section 8 of the format)."""

import os
import struct
from collections.abc import Iterator, Mapping
from typing import Any, Final, TypeAlias

from xxhash import xxh3_64_intdigest, xxh3_128_digest

from cannery.recorder.files import Folder
from cannery.recorder.format import PACK, PACKED, DamagedTrace, MissingFile, window_number

FRAME_MAGIC: Final = b"\x89CP\n"
_HEADER: Final = struct.Struct("<4sIQ16s")
_BODY: Final = struct.Struct("<Q16s")
HEADER_SIZE: Final = _HEADER.size
_BLOCK: Final = 1 << 20


def pack_names(folder: Folder, header: Mapping[str, Any]) -> list[str]:
    """The files that have a process's payloads: one, or where only the tail of its stream is kept, one a window."""
    if header.get("tail") is None:
        return [PACK]
    return [name for name in folder.names() if window_number(name, PACKED) is not None]


Stored: TypeAlias = tuple[int, int]
"""Where content lies in a pack: its offset and size. (No class: making one of each of a million rows takes longer than
all else that reaching a call does.)"""


def frame_header(size: int, digest: bytes) -> bytes:
    return _HEADER.pack(FRAME_MAGIC, _check(_BODY.pack(size, digest)), size, digest)


def scan(descriptor: int, path: str, start: int = 0) -> Iterator[tuple[bytes, Stored]]:
    """The committed frames from offset ``start``, in order.

    Raises:
        DamagedTrace: something else than a frame or the end stands where a frame would begin.
    """
    end = os.fstat(descriptor).st_size
    offset = start
    block, first = b"", 0  # bytes of the file from offset `first`
    while offset + HEADER_SIZE <= end:
        if not first <= offset <= first + len(block) - HEADER_SIZE:
            block, first = os.pread(descriptor, _BLOCK, offset), offset
        header = block[offset - first : offset - first + HEADER_SIZE]
        if len(header) < HEADER_SIZE or not any(header):
            return
        magic, check, size, digest = _HEADER.unpack(header)
        if magic != FRAME_MAGIC or check != _check(header[8:]):
            raise DamagedTrace(path, offset, "no payload frame begins here")
        content = offset + HEADER_SIZE
        if content + size > end:
            return
        yield digest, (content, size)
        offset = content + size


class Pack:
    """The pack of a process, to read. ``stored`` says where the content of a digest lies; ``end`` is where the last
    frame ends, and ``damage`` what stands there instead of the end of the pack, if something does."""

    def __init__(
        self, folder: Folder, known: dict[bytes, Stored] | None = None, known_end: int = 0, name: str = PACK
    ) -> None:
        """``known`` are the frames of the first ``known_end`` bytes, from an index; the others are added to it.

        Raises:
            DamagedTrace: the file cannot be opened.
        """
        self.stored: dict[bytes, Stored] = {} if known is None else known
        self.end = known_end if known is not None else 0
        self.damage: DamagedTrace | None = None
        self._path = folder.label + name
        self._size = 0
        try:
            self._descriptor = folder.open(name)
        except FileNotFoundError:
            self._descriptor = -1
            if self.stored:
                self.damage = MissingFile(self._path)
            return
        self._size = os.fstat(self._descriptor).st_size
        if self.end > self._size:
            self.damage = DamagedTrace(self._path, self._size, f"the file ends here, and not at byte {self.end}")
        self.read_on()

    def read_on(self) -> None:
        """Take in the frames that were added since."""
        if self._descriptor < 0:
            return
        try:
            for digest, stored in scan(self._descriptor, self._path, self.end):
                self.stored.setdefault(digest, stored)
                self.end = sum(stored)
        except DamagedTrace as damage:  # what lies before it can still be read
            self.damage = damage

    def content(self, digest: bytes) -> bytes | None:
        """The content with that digest, None when it is not here.

        Raises:
            DamagedTrace: it was altered, or its end is missing.
        """
        stored = self.stored.get(digest)
        if stored is not None and self._descriptor < 0:
            raise MissingFile(self._path)
        if stored is None:
            return None
        if sum(stored) > self._size:  # it may have grown since
            self._size = os.fstat(self._descriptor).st_size
        return read_content(self._descriptor, self._path, digest, stored, self._size)

    def close(self) -> None:
        if self._descriptor >= 0:
            os.close(self._descriptor)
            self._descriptor = -1

    def __del__(self) -> None:
        if hasattr(self, "_descriptor"):
            self.close()


def read_content(descriptor: int, path: str, digest: bytes, stored: Stored, end: int) -> bytes:
    """The content of a frame, checked. ``end``: the size of the file.

    Raises:
        DamagedTrace: the file is shorter than that, or the content is not what its digest says.
    """
    offset, size = stored
    if offset < 0 or size < 0 or offset + size > end:
        raise DamagedTrace(path, max(offset, 0), f"a payload of {size} bytes does not fit the file")
    parts = []
    done = 0
    while done < size:
        part = os.pread(descriptor, size - done, offset + done)
        if not part:
            raise DamagedTrace(path, offset + done, "the file ends inside a payload")
        parts.append(part)
        done += len(part)
    content = parts[0] if len(parts) == 1 else b"".join(parts)
    if xxh3_128_digest(content) != digest:
        raise DamagedTrace(path, offset, f"a payload's bytes are not those of its digest {digest.hex()}")
    return content


def _check(body: bytes) -> int:
    return xxh3_64_intdigest(body) & 0xFFFF_FFFF
