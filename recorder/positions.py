"""Where streams begin, and readers that begin in the middle of one."""

from typing import Any

from cannery.recorder import format
from cannery.recorder.files import Folder
from cannery.recorder.format import DamagedTrace
from cannery.recorder.stream import Head, Position


def origin_of(header: dict[str, Any], folder: Folder) -> tuple[int, int]:
    """The call and the time that a stream begins with. Raises DamagedTrace."""
    origin = header.get("origin")
    if origin is None:
        return 0, 0
    if not isinstance(origin, dict) or not all(isinstance(origin.get(key), int) for key in ("call", "time")):
        raise DamagedTrace(folder.label + format.PROCESS, 0, "the sheet has no origin")
    return origin["call"], origin["time"]


def begin_at(position: Position, head: Head, size: int, path: str) -> tuple[int, Head]:
    """Where to begin in a window, and with which call and time. Raises DamagedTrace: the position is none there."""
    if not 0 < position.offset <= size or position.call < head.call:
        raise DamagedTrace(path, 0, f"has no call #{position.call} at byte {position.offset}")
    return position.offset, Head(head.window, position.call, position.time)
