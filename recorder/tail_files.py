"""Files of streams of which only the tail is kept (section 17 of the format): what is dropped, and where they end."""

from typing import Final

from cannery.recorder import format
from cannery.recorder.chunk import MAX_CHUNK, failing_functions, pack_chunk, summarise, unpack_chunk
from cannery.recorder.files import Folder
from cannery.recorder.format import DamagedTrace
from cannery.recorder.keyframes import Keyframes
from cannery.recorder.packing import pack
from cannery.recorder.schema import Schema
from cannery.recorder.stream import Position, layouts_of

NUMBERED: Final = (format.CHUNK, format.JOURNAL, format.PACKED)
"""Kinds of files that there is one of for each window."""


def _beginning(folder: Folder) -> Keyframes | None:
    """What has the state that a stream begins with; None where there is none, or it cannot be told."""
    try:
        kept = Keyframes.read(folder, format.ORIGIN)
    except DamagedTrace:
        return None
    return kept if kept is not None and kept.frames else None


def first_window(folder: Folder) -> int:
    """The number of the first window that is kept; 1 where that cannot be told."""
    kept = _beginning(folder)
    return 1 if kept is None else kept.frames[0].position.window


def drop_before(folder: Folder) -> int:
    """Remove what lies before the beginning of a tail; how many files. Raises OSError."""
    kept = _beginning(folder)
    if kept is None:
        return 0
    begin = kept.frames[0].position
    dropped = 0
    for name in folder.names():
        for suffix in NUMBERED:
            number = format.window_number(name, suffix)
            first = begin.window - (format.TAIL_PACKS if suffix == format.PACKED else 0)
            if number is not None and number < first:
                folder.remove(name)
                dropped += 1
        state = format.window_number(name, format.STATE)
        if state is not None and state != kept.apart:
            folder.remove(name)
            dropped += 1
    return dropped


def end_at(folder: Folder, schema: Schema, end: Position, reason: str) -> None:
    """Let a stream that nobody writes end at a place, with a STOPPED record; what lies behind is removed, the last
    window first, so that at any moment it can be read to its end. The calls in flight are not those of that moment.

    Raises:
        DamagedTrace: the window cannot be read.
        OSError: it cannot be written.
    """
    numbers = {format.window_number(name, suffix) for name in folder.names() for suffix in NUMBERED}
    later = [number for number in numbers if number is not None and number > end.window]
    for number in sorted(later, reverse=True):
        for suffix in NUMBERED:
            folder.remove(format.window_name(number, suffix))
    chunk, journal = (format.window_name(end.window, suffix) for suffix in (format.CHUNK, format.JOURNAL))
    try:
        content = unpack_chunk(folder.read(chunk, MAX_CHUNK), folder.label + chunk)[1]
    except FileNotFoundError:
        content = folder.read(journal, format.MAX_WINDOW)
    text = reason.encode()[: format.MAX_REASON].decode(errors="ignore")
    content = content[: end.offset] + pack((format.STOPPED, text))
    path = folder.label + chunk
    read = summarise(content, layouts_of(schema), failing_functions(schema), path, journal=False)
    assert read is not None
    folder.replace(chunk, pack_chunk(content, read[1]))
    folder.remove(journal)
    folder.remove(format.INFLIGHT)
