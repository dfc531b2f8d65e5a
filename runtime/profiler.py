"""What is known of a profiler: whether it runs, and the marks that are under way."""

from typing import Final

from cannery.runtime.kept import Kept
from cannery.runtime.small_objects import SmallObject

MARKS: Final = 100  # that there can be at a time (reference implementation)


class Stamp(SmallObject):
    """A mark for stretches of time. ``number``: among all there are now; ``ranges``: one began with it."""

    __slots__ = ("number", "ranges")

    def __init__(self, number: int) -> None:
        super().__init__()
        self.number = number
        self.ranges = False


class Profiler(Kept):
    """``ready``: it is initialised, ``runs``: it was started. ``stamps``: those that there are, by number, and ``free``
    the numbers that are not used, that of the next one last. ``pushed``: stretches that began, innermost last."""

    __slots__ = ("free", "pushed", "ready", "runs", "stamps")

    def __init__(self) -> None:
        self.ready = False
        self.runs = False
        self.stamps: dict[int, Stamp] = {}
        self.free = list(range(MARKS - 1, -1, -1))
        self.pushed: list[Stamp] = []
