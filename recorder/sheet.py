"""Sheets: a msgpack map and its check (section 3 of the format)."""
# ruff: noqa: PTH104 - importing pathlib would cost every preloaded process milliseconds

import os
from collections.abc import Mapping
from typing import Any

from xxhash import xxh3_64_digest

from cannery.recorder.files import Folder, write_all
from cannery.recorder.format import MAX_SHEET, UNFINISHED, DamagedTrace
from cannery.recorder.packing import UNPACK_ERRORS, damage_text, pack, unpacker
from cannery.recorder.window import check_file_size


def pack_sheet(content: Mapping[str, Any]) -> bytes:
    data = pack(content)
    return data + pack(xxh3_64_digest(data))


def unpack_sheet(data: bytes, path: str) -> tuple[dict[str, Any], int]:
    """The map, and the offset of what follows the sheet.

    Raises:
        DamagedTrace: it is no sheet, or its check differs.
    """
    reader = unpacker(data)
    try:
        content = reader.unpack()
        end = reader.tell()
        check = reader.unpack()
    except UNPACK_ERRORS as error:
        raise DamagedTrace(path, reader.tell(), damage_text(error)) from None
    if not isinstance(content, dict) or not all(isinstance(key, str) for key in content):
        raise DamagedTrace(path, 0, "what stands there is no trace data")
    if check != xxh3_64_digest(data[:end]):
        raise DamagedTrace(path, 0, "the checksum does not match: bytes were altered")
    return content, reader.tell()


def replace_file(path: str, data: bytes) -> None:
    """Write a file under another name and rename it, so that no reader meets half of it. Raises OSError."""
    check_file_size(len(data))
    unfinished = path + UNFINISHED
    handle = os.open(unfinished, os.O_WRONLY | os.O_CREAT | os.O_TRUNC | os.O_NOFOLLOW | os.O_CLOEXEC, 0o666)
    try:
        write_all(handle, data)
    finally:
        os.close(handle)
    os.rename(unfinished, path)


def read_sheet(folder: Folder, name: str) -> dict[str, Any]:
    """The sheet that is all of a file.

    Raises:
        FileNotFoundError: there is no such file.
        DamagedTrace: it is no sheet.
    """
    data = folder.read(name, MAX_SHEET)
    sheet, end = unpack_sheet(data, folder.label + name)
    if end != len(data):
        raise DamagedTrace(folder.label + name, end, "bytes after its end")
    return sheet


def read_optional_sheet(folder: Folder, name: str) -> dict[str, Any] | None:
    """None when there is no such file. Raises DamagedTrace."""
    try:
        return read_sheet(folder, name)
    except FileNotFoundError:
        return None
