"""The index of a sealed stream: copies of its chunks' sheets, and where payloads lie (section 9 of the format)."""

import struct
from collections.abc import Mapping
from typing import Any, Final, NamedTuple

from cannery.recorder import format
from cannery.recorder.chunk import Summary
from cannery.recorder.files import Folder
from cannery.recorder.format import DamagedTrace
from cannery.recorder.pack import Stored
from cannery.recorder.sheet import pack_sheet, unpack_sheet

_ENTRY: Final = struct.Struct("<16sQQ")


class Index(NamedTuple):
    """``chunks``: window number -> its summary and the size of its file. ``frames`` is the table of the payloads in the
    first ``pack_end`` bytes of the pack, None where there are too many."""

    chunks: Mapping[int, tuple[Summary, int]]
    frames: bytes | None
    pack_end: int

    def payloads(self) -> dict[bytes, Stored] | None:
        """The table, unpacked. Not before somebody asks: it may have a million rows, and most readers want none."""
        if self.frames is None:
            return None
        return {digest: (offset, size) for digest, offset, size in _ENTRY.iter_unpack(self.frames)}


def pack_payloads(payloads: Mapping[bytes, Stored]) -> bytes | None:
    """The table for an :class:`Index`."""
    if len(payloads) > format.MAX_INDEXED_PAYLOADS:
        return None
    return b"".join(_ENTRY.pack(digest, *stored) for digest, stored in payloads.items())


def write_index(folder: Folder, index: Index) -> None:
    """Raises OSError."""
    chunks = [{"window": n, "stored": stored, **summary._asdict()} for n, (summary, stored) in index.chunks.items()]
    sheet: dict[str, Any] = {"chunks": chunks, "pack": index.pack_end}
    if index.frames is not None:
        sheet["payloads"] = index.frames
    if len(chunks) > format.MAX_ELEMENTS:
        return  # a trace of that size is opened by reading its chunks' sheets
    data = pack_sheet(sheet)
    if len(data) <= format.MAX_INDEX:
        folder.replace(format.INDEX, data)


def read_index(folder: Folder) -> Index | None:
    """The index; None when there is none that can be read, since everything in it can be found elsewhere."""
    path = folder.label + format.INDEX
    try:
        data = folder.read(format.INDEX, format.MAX_INDEX)
        sheet, end = unpack_sheet(data, path)
        if end != len(data):
            return None
        chunks = {}
        for chunk in sheet["chunks"]:
            number, stored = chunk["window"], chunk["stored"]
            if not isinstance(number, int) or not isinstance(stored, int):
                return None
            chunks[number] = Summary.from_sheet(chunk, path), stored
        frames, pack_end = sheet.get("payloads"), sheet["pack"]
        whole = frames is None or (isinstance(frames, bytes) and len(frames) % _ENTRY.size == 0)
        return Index(chunks, frames, pack_end) if whole and isinstance(pack_end, int) and pack_end >= 0 else None
    except (DamagedTrace, FileNotFoundError, KeyError, TypeError, AttributeError):
        return None
