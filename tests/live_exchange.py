"""The exchange of a live session in the test's own process: a member of a :class:`tests.fake_session.Session` whose
answers become effects, by the contract of runtime/exchange.py."""

from collections.abc import Callable, Sequence
from typing import Any

from cannery.recorder import format
from cannery.recorder.records import Effect
from tests.fake_session import Member


class LiveExchange:
    """``note`` keeps an effect, ``name`` is the recording's name of a value, ``now`` the time of the present step."""

    def __init__(self, member: Member, note: Callable[[Effect], None], snapshot: Callable[[bytes], None]) -> None:
        self.member = member
        self.name: Callable[[Any], int] = lambda value: 0
        self.now: Callable[[], int] = lambda: 0
        self._note = note
        self._snapshot = snapshot
        self._held: dict[tuple[int, int], int] = {}
        self._refused: dict[tuple[int, ...], int] = {}

    def _answer(self, topic: int, *values: int) -> None:
        self._note(Effect("peer", True, topic=topic, values=values))

    def _asked(self, *question: int) -> bool:
        """Whether that was asked in this step already, and answered with no."""
        return self._refused.get(question) == self.now()

    def process_id(self) -> int:
        found = self.member.process_id()
        self._answer(format.PROCESS_ID, self.name(found))
        return found

    def hold(self, device: int, budget: int, amount: int, limit: int) -> int:
        others = self.member.hold(device, budget, amount, limit)
        if others != self._held.get((device, budget), 0):
            self._held[device, budget] = others
            self._answer(format.HELD, device, budget, others)
        return others

    def share(self, kind: int, device: int, offset: int, size: int, listed: bool) -> tuple[int, Any]:
        entry, key = self.member.share(kind, device, offset, size, listed)
        self._answer(format.SHARE, entry, self.name(key))
        return entry, key

    def allow(self, kind: int, key: Any, processes: Sequence[int]) -> int:
        outcome = self.member.allow(kind, key, processes)
        self._answer(format.ALLOW, outcome)
        return outcome

    def open(self, kind: int, key: Any) -> tuple[int, int, int, int]:
        found = self.member.open(kind, key)
        self._answer(format.OPEN, *found)
        return found

    def close(self, entry: int) -> None:
        self.member.close(entry)

    def revoke(self, kind: int, key: Any) -> tuple[int, int]:
        found = self.member.revoke(kind, key)
        self._answer(format.REVOKE, *found)
        return found

    def hasten(self, due: int) -> None:
        self.member.hasten(due)

    def signal(self, entry: int) -> None:
        self.member.signal(entry)
        self._refused.pop((entry,), None)
        self._answer(format.SIGNALLED, entry, 1)

    def take(self, entry: int) -> bool:
        if self._asked(entry) or not self.member.take(entry):
            self._refused[entry,] = self.now()
            return False
        self._answer(format.TAKEN, entry, 1)
        return True

    def clear(self, entry: int) -> None:
        self.member.clear(entry)
        self._answer(format.CLEARED, entry, 1)

    def record(self, entry: int) -> int:
        record = self.member.record(entry)
        if record:
            self._answer(format.RECORD, entry, record)
        return record

    def complete(self, entry: int, record: int) -> None:
        self.member.complete(entry, record)
        self._answer(format.COMPLETE, entry, record)

    def latest(self, entry: int) -> int:
        record = self.member.latest(entry)
        self._answer(format.LATEST, entry, record)
        return record

    def completed(self, entry: int, record: int) -> bool:
        if self._asked(entry, record) or not self.member.completed(entry, record):
            self._refused[entry, record] = self.now()
            return False
        self._answer(format.COMPLETED, entry, record)
        return True

    def store(self, entry: int, size: int) -> Any:
        found = self.member.store(entry, size)
        self._answer(format.STORE, int(found is not None))
        return found

    def snapshot(self, view: memoryview) -> memoryview:
        content = bytes(view)
        self._snapshot(content)
        return memoryview(content)

    def touch(self, entry: int) -> None:
        self.member.touch(entry)

    def untouched(self, entry: int) -> None:
        self.member.untouched(entry)
