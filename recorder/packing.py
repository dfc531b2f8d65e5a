"""msgpack, typed and bounded: the one place that imports it."""

from collections.abc import Callable
from typing import Any, Final

import msgpack  # type: ignore[import-untyped]

from cannery.recorder.format import MAX_ELEMENTS, MAX_INDEX

UNPACK_ERRORS: Final = (ValueError, TypeError, LookupError, RecursionError, msgpack.UnpackException)
"""What msgpack raises on bytes that are not well-formed (its FormatError, StackError and ExtraData are ValueErrors)."""


def packer() -> Callable[[Any], bytes]:
    """A function that packs one object with a buffer that it reuses."""
    pack: Callable[[Any], bytes] = msgpack.Packer(use_bin_type=True).pack
    return pack


pack: Final = packer()


def unpacker(data: bytes, elements: int = MAX_ELEMENTS) -> Any:
    """A ``msgpack.Unpacker`` over untrusted bytes. Arrays become tuples; no announced size is believed beyond what the
    bytes could hold. ``elements``: the most that an array or a map may have."""
    size = max(len(data), 1)
    reader = msgpack.Unpacker(
        use_list=False,
        max_buffer_size=size + 1,
        max_str_len=min(size, MAX_INDEX),
        max_bin_len=min(size, MAX_INDEX),
        max_array_len=min(size, elements),
        max_map_len=min(size, elements),
        max_ext_len=0,
    )
    reader.feed(data)
    return reader


def unpack(data: bytes, elements: int = MAX_ELEMENTS) -> Any:
    """One object that is all of ``data``. Raises one of :data:`UNPACK_ERRORS`."""
    reader = unpacker(data, elements)
    content = reader.unpack()
    if reader.tell() != len(data):
        raise ValueError(f"{len(data) - reader.tell()} bytes too many")
    return content
