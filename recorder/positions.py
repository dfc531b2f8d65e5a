"""Where streams begin, and readers that begin in the middle of one."""

from typing import Any

from cannery.recorder import format
from cannery.recorder.files import Folder
from cannery.recorder.format import DamagedTrace
from cannery.recorder.keyframes import Keyframes
from cannery.recorder.packing import pack
from cannery.recorder.stream import Head, Position


def origin_of(header: dict[str, Any], folder: Folder) -> Head | None:
    """The head of the first window of a stream that was cut out of another. Raises DamagedTrace."""
    origin = header.get("origin")
    if origin is None:
        return None
    if not isinstance(origin, dict) or not all(isinstance(origin.get(key), int) for key in ("call", "time")):
        raise DamagedTrace(folder.label + format.PROCESS, 0, "the sheet has no origin")
    return Head(1, origin["call"], origin["time"])


def tail_of(header: dict[str, Any], folder: Folder) -> Position | None:
    """The place from which on a stream is kept of which only the tail is; None: from its beginning.

    Raises:
        DamagedTrace: it cannot be told.
    """
    if header.get("tail") is None:
        return None
    kept = Keyframes.read(folder, format.ORIGIN)
    if kept is None:
        return None
    if not kept.frames:
        raise DamagedTrace(folder.label + format.ORIGIN, 0, "it has no state")
    return kept.frames[0].position


def behead(content: bytes, begin: Position, path: str) -> bytes:
    """A window as if it began at a place in it. Raises DamagedTrace: there is no such place."""
    if not 0 < begin.offset <= len(content):
        raise DamagedTrace(path, 0, f"has no call #{begin.call} at byte {begin.offset}")
    return pack((format.WINDOW, begin.window, begin.call, begin.time)) + content[begin.offset :]


def begin_at(position: Position, head: Head, size: int, path: str) -> tuple[int, Head]:
    """Where to begin in a window, and with which call and time. Raises DamagedTrace: the position is none there."""
    if not 0 < position.offset <= size or position.call < head.call:
        raise DamagedTrace(path, 0, f"has no call #{position.call} at byte {position.offset}")
    return position.offset, Head(head.window, position.call, position.time)
