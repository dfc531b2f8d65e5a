"""Hardware ids: numbers of which a device has only so many (semantics.md 0.4, 1.1)."""

from typing import TYPE_CHECKING

from cannery.runtime.kept import Kept

if TYPE_CHECKING:
    from cannery.runtime.tasks import RecordWait


class HardwareId(Kept):
    """A number that events take for their records.

    ``uses`` counts the queued waits and resets that need it, ``waiters`` are those of them that head their stream.
    ``kept``: the event keeps it after its record is done (semantics.md 1.1, family default). ``cleared``: a reset
    took back what the record had signalled (1.8). ``pool`` is where it goes when nothing needs it any longer; None: it
    is no id of a device.
    """

    __slots__ = ("cleared", "kept", "number", "pool", "uses", "waiters")

    def __init__(self, number: int, pool: "IdPool | None") -> None:
        self.number = number
        self.pool = pool
        self.uses = 0
        self.kept = True
        self.cleared = False
        self.waiters: list[RecordWait] = []

    def give_back(self) -> None:
        """Nothing needs it any longer."""
        pool = self.pool
        if pool is not None:
            self.kept = True
            self.cleared = False
            pool.free.append(self)


class IdPool(Kept):
    """``limit`` ids from 0. The one that was given back last is taken first."""

    __slots__ = ("free", "limit", "made")

    def __init__(self, limit: int) -> None:
        self.limit = limit
        self.made = 0
        self.free: list[HardwareId] = []

    def take(self) -> HardwareId | None:
        """An id; None when all are taken."""
        if self.free:
            return self.free.pop()
        if self.made >= self.limit:
            return None
        self.made += 1
        return HardwareId(self.made - 1, self)

    @property
    def available(self) -> int:
        """How many can still be taken."""
        return self.limit - self.made + len(self.free)
