"""The pack: frames of payload content, one after the other (section 8 of the format)."""

import os
import struct
from collections.abc import Iterator
from typing import Final, NamedTuple

from xxhash import xxh3_64_intdigest, xxh3_128_digest

from cannery.recorder.format import DIGEST, DamagedTrace

FRAME_MAGIC: Final = b"\x89CP\n"
_HEADER: Final = struct.Struct("<4sIQ16s")
_BODY: Final = struct.Struct("<Q16s")
HEADER_SIZE: Final = _HEADER.size
_BLOCK: Final = 1 << 20


class Stored(NamedTuple):
    """Where content lies in a pack."""

    offset: int
    size: int


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
        yield digest, Stored(content, size)
        offset = content + size


def read_content(descriptor: int, path: str, digest: bytes, stored: Stored) -> bytes:
    """The content of a frame, checked.

    Raises:
        DamagedTrace: the file is shorter than that, or the content is not what its digest says.
    """
    if stored.offset < 0 or stored.size < 0 or stored.offset + stored.size > os.fstat(descriptor).st_size:
        raise DamagedTrace(path, max(stored.offset, 0), f"a payload of {stored.size} bytes does not fit the file")
    content = bytearray(stored.size)
    view = memoryview(content)
    done = 0
    while done < stored.size:
        got = os.preadv(descriptor, [view[done:]], stored.offset + done)
        if got == 0:
            raise DamagedTrace(path, stored.offset + done, "the file ends inside a payload")
        done += got
    if xxh3_128_digest(content) != digest:
        raise DamagedTrace(path, stored.offset, f"a payload's bytes are not those of its digest {digest.hex()}")
    return bytes(content) if stored.size <= _BLOCK else view.toreadonly()  # type: ignore[return-value]


def _check(body: bytes) -> int:
    return xxh3_64_intdigest(body) & 0xFFFF_FFFF


assert HEADER_SIZE == 32 and DIGEST == 16
