"""Identity of objects and memory between a trace and a machine that may number them otherwise.

A replay under the recorded settings makes the same objects in the same order, so numbers are identity and are compared
as they are. A what-if replay may make fewer objects or place memory elsewhere. Then a recorded ordinal stands for the
object that the machine made where the trace made its own, and a recorded device offset for the same place in the
allocation that the machine made there.
"""

from bisect import bisect_right, insort
from typing import Any, Final

from cannery.recorder.addresses import AddressBook
from cannery.recorder.codec import TokensAgain, Wire, decode_handle
from cannery.runtime.handles import handle_of

_NEVER_MADE: Final = 1 << 35
"""Added to a recorded ordinal that has no counterpart: a number that no machine reaches, so that it counts as stale."""


class IdentityWire(Wire):
    """A :class:`Wire` whose handles and device addresses go through a table that is filled as objects are made."""

    __slots__ = ("_device", "_moved", "_objects", "_starts")

    def __init__(self, book: AddressBook, base: int) -> None:
        super().__init__(book, TokensAgain())
        self._objects: dict[int, int] = {}  # recorded ordinal -> handle
        self._starts: list[int] = []  # recorded offsets where allocations began, ascending
        self._moved: dict[int, int] = {}  # recorded offset -> what to add to get the machine's address
        self._device = base
        self._decoders["handle"] = self._handle
        self._decoders["address"] = self._place

    def same_handle(self, recorded: Any, actual: int) -> bool:
        """Whether both mean one object; a recorded ordinal that is new means the machine's from here on."""
        if not isinstance(recorded, int) or not recorded or not actual:
            return decode_handle(recorded) == actual
        return self._objects.setdefault(recorded, actual) == actual

    def same_address(self, recorded: Any, actual: int) -> bool:
        """Whether both are an address, or both none. A recorded allocation means the machine's from here on."""
        if isinstance(recorded, int) and actual:
            if recorded not in self._moved:
                insort(self._starts, recorded)
            self._moved[recorded] = actual - (self._device + recorded)
            return True
        return (recorded is None) == (not actual)

    def _handle(self, recorded: Any) -> int:
        handle = decode_handle(recorded)
        if isinstance(recorded, int) and recorded:
            return self._objects.get(recorded, handle_of(recorded + _NEVER_MADE))
        return handle

    def _place(self, recorded: Any) -> int:
        address = self._address(recorded)
        if isinstance(recorded, int):
            index = bisect_right(self._starts, recorded)
            if index:
                address += self._moved[self._starts[index - 1]]
        return address
