"""What an address is on the wire: an offset in device memory, or a region of the host (section 6 of the format)."""

from bisect import bisect_right
from typing import Final

from cannery.recorder.format import PAGE

_INVENTED_BASE: Final = 0x7000_0000_0000
_GAP: Final = 0x1_0000


class AddressBook:
    """Names addresses when recording, and gives them back in replay.

    Both sides may use one object: :meth:`wire` names an address, :meth:`address` is its inverse. ``fresh`` lists the
    regions ``(ordinal, address, size)`` that got their ordinal since it was last cleared.
    """

    __slots__ = (
        "_base",
        "_invented",
        "_next",
        "_ordinals",
        "_pages",
        "_places",
        "_span",
        "_starts",
        "fresh",
        "leaving",
    )

    def __init__(self, device_base: int, device_span: int) -> None:
        self._base = device_base
        self._span = device_span
        self._next = 1
        self._pages: dict[int, int] = {}  # page address -> ordinal
        self._starts: list[int] = []  # pinned regions, by address
        self._ordinals: dict[int, tuple[int, int]] = {}  # start -> (end, ordinal)
        self.leaving: list[int] = []
        self._places: dict[int, int] = {}  # ordinal -> address, in replay
        self._invented = _INVENTED_BASE
        self.fresh: list[tuple[int, int, int]] = []

    # Recording

    def add(self, address: int, size: int) -> int:
        """A pinned allocation is a region of its own; return its ordinal. What it overlaps was released unseen."""
        self.settle()
        end = address + max(size, 1)
        first = bisect_right(self._starts, address)
        if first and self._ordinals[self._starts[first - 1]][0] > address:
            first -= 1
        last = first
        while last < len(self._starts) and self._starts[last] < end:
            del self._ordinals[self._starts[last]]
            last += 1
        self._starts[first:last] = [address]
        ordinal = self._new(address, size)
        self._ordinals[address] = (end, ordinal)
        return ordinal

    def remove(self, address: int) -> None:
        """The pinned region that begins there was released. It keeps its addresses until :meth:`settle`, since the
        arguments of the call that released it are yet to be named."""
        self.leaving.append(address)

    def settle(self) -> None:
        """The step is recorded: forget what it released."""
        for address in self.leaving:
            if self._ordinals.pop(address, None) is not None:
                self._starts.remove(address)
        self.leaving.clear()

    def wire(self, address: int | None) -> int | tuple[int, int] | None:
        """The wire value of an address; a page that was never seen becomes a region."""
        if not address:
            return None
        offset = address - self._base
        if 0 <= offset < self._span:
            return offset
        if self._starts:
            index = bisect_right(self._starts, address)
            if index:
                start = self._starts[index - 1]
                end, ordinal = self._ordinals[start]
                if address < end:
                    return ordinal, address - start
        offset = address % PAGE
        ordinal = self._pages.get(address - offset, 0)
        if not ordinal:
            ordinal = self._pages[address - offset] = self._new(address - offset, PAGE)
        return ordinal, offset

    def _new(self, address: int, size: int) -> int:
        ordinal = self._next
        self._next = ordinal + 1
        self.fresh.append((ordinal, address, size))
        return ordinal

    # Replay

    def place(self, region: int, address: int) -> None:
        """The trace says where the region lay."""
        self._places[region] = address

    def region(self, region: int, size: int = PAGE) -> int:
        """The address of a region; one is made up, ``size`` bytes long, when the trace does not say."""
        address = self._places.get(region)
        if address is None:
            address = self._places[region] = self._invented
            self._invented += -(-max(size, 1) // PAGE) * PAGE + _GAP
        return address

    def placed(self) -> tuple[dict[int, int], int]:
        """The addresses of the regions so far, and where the next one would be made up: for :meth:`recall`."""
        return self._places, self._invented

    def recall(self, places: dict[int, int], invented: int) -> None:
        """Go on from what :meth:`placed` gave."""
        self._places = {**places}
        self._invented = invented

    def address(self, wire: int | tuple[int, int] | None) -> int:
        """The address that a wire value names; 0 for null."""
        if wire is None:
            return 0
        if isinstance(wire, int):
            return self._base + wire
        region, offset = wire
        return self.region(region) + offset if region else offset
