"""Hardware ids: numbers of which a device has only so many (semantics.md 0.4, 1.1)."""

from typing import TYPE_CHECKING

from cannery.runtime.kept import Kept

if TYPE_CHECKING:
    from cannery.runtime.budgets import Budget
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
            pool.give(self)


class IdPool(Kept):
    """``limit`` ids from 0. The one that was given back last is taken first.

    ``budget`` is what all processes share. ``exact``: it counts what is taken; else what was ever made, until the
    device is closed, since asking at each record would cost as much as the record.
    """

    __slots__ = ("budget", "exact", "free", "limit", "made")

    def __init__(self, budget: "Budget", exact: bool) -> None:
        self.budget = budget
        self.exact = exact
        self.limit = budget.limit
        self.made = 0
        self.free: list[HardwareId] = []

    def take(self) -> HardwareId | None:
        """An id; None when all are taken."""
        free = self.free
        if free and not self.exact:
            return free.pop()
        if not self.budget.claim(1):
            return None
        if free:
            return free.pop()
        self.made += 1
        return HardwareId(self.made - 1, self)

    def give(self, hardware_id: HardwareId) -> None:
        """An id is not needed any longer."""
        self.free.append(hardware_id)
        if self.exact:
            self.budget.release(1)

    def clear(self) -> None:
        """The device is closed: what is not in use is held no longer."""
        if not self.exact and len(self.free) == self.made and self.made:
            self.budget.release(self.made)
            self.free.clear()
            self.made = 0

    @property
    def available(self) -> int:
        """How many can still be taken."""
        left = self.budget.left()
        return left if self.exact else left + len(self.free)
