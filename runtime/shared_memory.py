"""Memory that several processes have (docs/sessions.md): what this one shares, and what it opened of others.

What other processes may write is read by way of the exchange, so that the bytes of that moment are recorded. Memory of
another process lives until it is closed here, whatever becomes of that process.
"""

from typing import TYPE_CHECKING, Any

from cannery.runtime.kept import Kept
from cannery.runtime.places import Allocation, Imported
from cannery.runtime.ranges import AddressMap
from cannery.runtime.virtual import Mapped, VirtualMemory

if TYPE_CHECKING:
    from cannery.runtime.exchange import Exchange
    from cannery.runtime.objects import Device


class SharedMemory(Kept):
    """``any``: there is something at all. ``links`` has the attributes that were set for keys, ``physical`` the
    entries of opened physical memory."""

    __slots__ = ("_addresses", "_imports", "_own", "_virtual", "any", "exchange", "links", "physical")

    def __init__(self, exchange: "Exchange", virtual: VirtualMemory) -> None:
        self.any = False
        self.links: dict[Any, int] = {}
        self.physical: set[int] = set()
        self.exchange = exchange
        self._virtual = virtual
        self._own: dict[int, Allocation] = {}  # by entry
        self._imports: dict[Any, list[Imported]] = {}  # by key
        self._addresses: AddressMap[Imported] = AddressMap()

    # What this process shares.

    def share(self, entry: int, allocation: Allocation) -> None:
        """Other processes can open memory of this one."""
        self._own[entry] = allocation
        allocation.shared = True
        self.any = True

    def revoked(self, entry: int) -> None:
        """Nobody can open it any more; who did may still write it."""
        self._own.pop(entry, None)

    def end(self, allocation: Allocation) -> None:
        """Shared memory is freed."""
        if isinstance(allocation, Imported):
            allocation.live = False
            self.physical.discard(allocation.entry)
            self.exchange.close(allocation.entry)
            return
        for entry, own in [*self._own.items()]:
            if own is allocation:
                del self._own[entry]
                self.exchange.close(entry)

    # What it opened.

    def open(self, imported: Imported) -> bool:
        """Give addresses to memory of another process. False: there are none left."""
        found = self._virtual.take(imported.size)
        if found is None:
            return False
        imported.address, imported.block = found
        self._addresses.insert(imported.address, imported)
        self._imports.setdefault(imported.key, []).append(imported)
        self.any = True
        return True

    def at(self, address: int) -> Imported | None:
        """The memory of another process that an address lies in."""
        found = self._addresses.below(address)
        return found if found is not None and address < found.address + found.size else None

    def opened(self, key: Any) -> Imported | None:
        """What was opened by that key, and is to be closed first."""
        found = self._imports.get(key)
        return found[0] if found else None

    def close(self, imported: Imported) -> None:
        """The addresses are no memory any longer."""
        same = self._imports[imported.key]
        same.remove(imported)
        self._addresses.remove(imported.address)
        assert imported.block is not None
        self._virtual.give(imported.block)
        imported.live = False
        if not same:
            del self._imports[imported.key]
            self.exchange.close(imported.entry)

    def close_device(self, device: "Device") -> None:
        """A device is closed: what was opened on it goes."""
        for imported in [*self._addresses]:
            if imported.device is device:
                self.close(imported)

    # Writing, and waiting for others to write.

    def touch(self, allocation: Allocation | None) -> None:
        """Memory was written that others may watch."""
        if isinstance(allocation, Imported):
            self.exchange.touch(allocation.entry)
        elif allocation is not None:
            for entry, own in self._own.items():
                if own is allocation:
                    self.exchange.touch(entry)

    def touch_all(self) -> None:
        """A kernel wrote memory: any of it may be watched."""
        opened = [imported.entry for imported in self._addresses]
        for entry in {*self._own, *opened, *self.physical}:
            self.exchange.touch(entry)

    def expect(self, allocation: "Allocation | Mapped | None") -> None:
        """Something waits for others to write there."""
        if isinstance(allocation, Mapped):
            allocation = allocation.physical.allocation
        if isinstance(allocation, Imported):
            self.exchange.untouched(allocation.entry)
        elif allocation is not None and allocation.shared:
            for entry, own in self._own.items():
                if own is allocation:
                    self.exchange.untouched(entry)
