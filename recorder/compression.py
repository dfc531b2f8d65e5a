"""zstd with bounds. Never imported in a process that records: loading the compressor would cost it milliseconds."""

from typing import Final

import zstandard

from cannery.recorder.format import DamagedTrace

_LEVEL: Final = 3
_MAX_ZSTD_WINDOW: Final = 1 << 27


def compress(content: bytes) -> bytes:
    """One frame that declares its content's size."""
    return zstandard.ZstdCompressor(level=_LEVEL, write_content_size=True, write_checksum=False).compress(content)


def decompress(frame: bytes, limit: int, path: str, offset: int = 0) -> bytes:
    """The content of one frame, at most ``limit`` bytes.

    Raises:
        DamagedTrace: it is no such frame, ends early, or its content is larger than it may be.
    """
    try:
        size = zstandard.get_frame_parameters(frame).content_size
        if size > limit:  # also when it is not declared: that is a very large number
            raise DamagedTrace(path, offset, f"the content is larger than the {limit} bytes it may have")
        return zstandard.ZstdDecompressor(max_window_size=_MAX_ZSTD_WINDOW).decompress(
            frame, max_output_size=limit, allow_extra_data=False
        )
    except zstandard.ZstdError:
        raise DamagedTrace(
            path, offset, "the compressed records cannot be read: bytes were altered or are missing"
        ) from None
