"""A session in the test's own process: several machines that share things, as the files of a real session would have
them. ``Session().join()`` is the exchange of one more process; a process that stays alone is the only one of its
own."""

from collections.abc import Sequence
from typing import Any, Final

from cannery.runtime import exchange

PROCESS: Final = 4242
"""The id of the first process."""


class Entry:
    """Something that is shared. ``flag`` is a notify's, ``records`` are an event's outstanding ones."""

    def __init__(self, kind: int, owner: "Member", device: int, offset: int, size: int, listed: bool) -> None:
        self.kind, self.owner, self.device, self.offset, self.size = kind, owner, device, offset, size
        self.list: list[int] | None = [] if listed else None
        self.gone = False
        self.flag = False
        self.records: set[int] = set()
        self.latest = 0


class Session:
    """``rung``: members that have to make a *signal* step. ``slots``: how many records of an event can be
    outstanding."""

    def __init__(self, slots: int = 8192) -> None:
        self.members: list[Member] = []
        self.entries: dict[int, Entry] = {}
        self.slots = slots
        self.count = 0

    def join(self) -> "Member":
        member = Member(self, len(self.members))
        self.members.append(member)
        return member

    def die(self, member: "Member") -> None:
        """A process is gone, and somebody looked."""
        self.members.remove(member)
        for entry in self.entries.values():
            entry.gone = entry.gone or entry.owner is member


def key_of(kind: int, number: int) -> Any:
    """The key of an entry, in the shape that the kind has."""
    text = b"%056x" % number
    shapes = {
        exchange.EVENT: (number.to_bytes(8, "little") + bytes(56),),
        exchange.PHYSICAL: number,
        exchange.PHYSICAL_BYTES: number.to_bytes(8, "little"),
        exchange.FABRIC: text.ljust(128, b"\0"),
    }
    return shapes.get(kind, text)


def number_of(kind: int, key: Any) -> int:
    """The entry that a key names, 0 if it is none."""
    for number in range(1, 200):
        if key == key_of(kind, number):
            return number
    return 0


class Member:
    """One process's exchange; see runtime/exchange.py. ``full``: it has no room for anything more."""

    def __init__(self, session: Session, index: int) -> None:
        self.session = session
        self.pid = PROCESS + index
        self.held: dict[tuple[int, int], int] = {}
        self.full = False
        self.due = 0  # when others wait for something, at the latest
        self.stores: dict[int, Any] = {}  # by device: this process's memory
        self.waits_for_writes: set[int] = set()
        self.touched: set[int] = set()

    def process_id(self) -> int:
        return self.pid

    def hold(self, device: int, budget: int, amount: int, limit: int) -> int:
        others = sum(member.held.get((device, budget), 0) for member in self.session.members if member is not self)
        own = self.held.get((device, budget), 0)
        if amount <= 0 or own + amount + others <= limit:
            self.held[device, budget] = own + amount
        return others

    def share(self, kind: int, device: int, offset: int, size: int, listed: bool) -> tuple[int, Any]:
        if self.full:
            return 0, b""
        self.session.count += 1
        number = self.session.count
        stored = min(kind, exchange.PHYSICAL)
        self.session.entries[number] = Entry(stored, self, device, offset, size, listed)
        return number, key_of(kind, number)

    def _find(self, kind: int, key: Any) -> tuple[int, Entry | None]:
        number = number_of(kind, key)
        entry = self.session.entries.get(number)
        return number, entry if entry is not None and entry.kind == min(kind, exchange.PHYSICAL) else None

    def allow(self, kind: int, key: Any, processes: Sequence[int]) -> int:
        _, entry = self._find(kind, key)
        if entry is None or entry.gone:
            return exchange.UNKNOWN
        if entry.owner is not self:
            return exchange.NOT_OWN
        if entry.list is not None:
            entry.list += processes
        return exchange.DONE

    def open(self, kind: int, key: Any) -> tuple[int, int, int, int]:
        number, entry = self._find(kind, key)
        if entry is None:
            return exchange.UNKNOWN, 0, 0, 0
        if entry.gone:
            return exchange.GONE, 0, 0, 0
        if entry.owner is self:
            return exchange.OWN, 0, 0, 0
        if entry.list is not None and self.pid not in entry.list:
            return exchange.UNLISTED, 0, 0, 0
        return exchange.DONE, number, entry.device, entry.size

    def close(self, entry: int) -> None:
        found = self.session.entries[entry]
        found.gone = found.gone or found.owner is self

    def revoke(self, kind: int, key: Any) -> tuple[int, int]:
        number, entry = self._find(kind, key)
        if entry is None or entry.gone:
            return exchange.UNKNOWN, 0
        if entry.owner is not self:
            return exchange.NOT_OWN, 0
        entry.gone = True
        return exchange.DONE, number

    def hasten(self, due: int) -> None:
        self.due = due

    def signal(self, entry: int) -> None:
        self.session.entries[entry].flag = True

    def take(self, entry: int) -> bool:
        found = self.session.entries[entry]
        taken, found.flag = found.flag, False
        return taken

    def clear(self, entry: int) -> None:
        self.session.entries[entry].flag = False

    def record(self, entry: int) -> int:
        found = self.session.entries[entry]
        if len(found.records) >= self.session.slots:
            return 0
        self.session.count += 1
        found.records.add(self.session.count)
        found.latest = self.session.count
        return found.latest

    def complete(self, entry: int, record: int) -> None:
        self.session.entries[entry].records.discard(record)

    def latest(self, entry: int) -> int:
        found = self.session.entries[entry]
        return found.latest if found.latest in found.records else 0

    def completed(self, entry: int, record: int) -> bool:
        return record not in self.session.entries[entry].records

    def store(self, entry: int, size: int) -> Any:
        found = self.session.entries[entry]
        if found.owner not in self.session.members:
            return None
        store = found.owner.stores[found.device]
        return Part(store.view[found.offset : found.offset + size])

    def snapshot(self, view: memoryview) -> memoryview:
        return memoryview(bytes(view))

    def touch(self, entry: int) -> None:
        self.touched.add(entry)

    def untouched(self, entry: int) -> None:
        self.waits_for_writes.add(entry)


class Part:
    """Memory of another process."""

    def __init__(self, view: memoryview) -> None:
        self.view = view

    def discard(self, offset: int, size: int) -> None:
        raise AssertionError("memory of another process")
