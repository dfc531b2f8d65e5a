"""Budgets of devices: memory, streams, event ids and notifies, of which all processes of a session together have so
many (docs/sessions.md)."""

from typing import TYPE_CHECKING

from cannery.runtime.kept import Kept

if TYPE_CHECKING:
    from cannery.runtime.exchange import Exchange


class Budget(Kept):
    """What this process holds of one budget (``kind``) of a device, and what the ``others`` held when it last asked."""

    __slots__ = ("device", "exchange", "held", "kind", "limit", "others")

    def __init__(self, exchange: "Exchange", device: int, kind: int, limit: int) -> None:
        self.exchange = exchange
        self.device = device
        self.kind = kind
        self.limit = limit
        self.held = 0
        self.others = 0

    def claim(self, amount: int) -> bool:
        """Hold so much more. False: all processes together have not that much left."""
        self.others = self.exchange.hold(self.device, self.kind, amount, self.limit)
        if self.held + amount + self.others > self.limit:
            return False
        self.held += amount
        return True

    def release(self, amount: int) -> None:
        """Hold so much less."""
        self.held -= amount
        self.others = self.exchange.hold(self.device, self.kind, -amount, self.limit)

    def left(self) -> int:
        """How much nobody holds."""
        return max(self.limit - self.held - self.elsewhere(), 0)

    def elsewhere(self) -> int:
        """How much other processes hold."""
        self.others = self.exchange.hold(self.device, self.kind, 0, self.limit)
        return self.others
