"""msgpack, typed and bounded: the one place that imports it."""

from collections.abc import Callable
from typing import Any, Final

import msgpack  # type: ignore[import-untyped]

from cannery.recorder.format import MAX_ELEMENTS, MAX_INDEX

UNPACK_ERRORS: Final = (ValueError, TypeError, LookupError, RecursionError, msgpack.UnpackException)
"""What msgpack raises on bytes that are not well-formed (its FormatError, StackError and ExtraData are ValueErrors)."""


class Malformed(ValueError):  # noqa: N818
    """Well-formed bytes, but not what belongs there: the text says so in words for people."""


def damage_text(error: BaseException) -> str:
    """What is wrong with bytes, in words for people. Those of libraries and of Python itself are not."""
    if isinstance(error, Malformed):
        return str(error)
    if isinstance(error, msgpack.OutOfData) or "incomplete" in str(error):
        return "the data ends in the middle of a value"
    if isinstance(error, RecursionError | msgpack.StackError):
        return "values are nested too deep"
    if isinstance(error, msgpack.BufferFull) or "exceeds" in str(error):
        return "a value announces more than the file has"
    return "what stands there is no trace data"


def packer() -> Callable[[Any], bytes]:
    """A function that packs one object with a buffer that it reuses."""
    pack: Callable[[Any], bytes] = msgpack.Packer(use_bin_type=True).pack
    return pack


pack: Final = packer()


class Map(dict[Any, Any]):
    """A map from untrusted bytes. Tables are looked up in by values of records, and there is no knowing where somebody
    put a map."""

    def __hash__(self) -> int:  # type: ignore[override]
        return len(self)


def unpacker(data: bytes, elements: int = MAX_ELEMENTS) -> Any:
    """A ``msgpack.Unpacker`` over untrusted bytes. Arrays become tuples; no announced size is believed beyond what the
    bytes could hold. ``elements``: the most that an array or a map may have."""
    size = max(len(data), 1)
    reader = msgpack.Unpacker(
        use_list=False,
        object_pairs_hook=Map,
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
        raise Malformed(f"{len(data) - reader.tell()} bytes too many")
    return content
