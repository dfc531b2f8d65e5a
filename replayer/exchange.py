"""The other processes as the trace remembers them: the exchange that replay gives the machine
(``runtime/exchange.py``).

Answers come from the effects of the present step. A question that can be answered by "no" without leaving anything
takes the next effect only if it is its yes.
"""

from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Any

from cannery.recorder import format
from cannery.recorder.codec import name_value
from cannery.runtime.exchange import DONE, MEMORY
from cannery.runtime.ports import DeviceStore

if TYPE_CHECKING:
    from cannery.replayer.port import ReplayPort
    from cannery.replayer.together import Seat


class ReplayExchange:
    """See runtime/exchange.py. ``make`` gives the bytes of memory of another process. ``held``: by device and budget,
    what other processes had of it last. ``seat``: where the process is replayed side by side with others."""

    def __init__(self, port: "ReplayPort", make: Callable[[int], DeviceStore]) -> None:
        self._port = port
        self.make = make
        self.held: dict[tuple[int, int], int] = {}
        self.seat: Seat | None = None
        self._invented = 1 << 40  # entries that a what-if run asks for and the trace does not have

    def _answer(self, topic: int) -> tuple[int, ...] | None:
        """The answer that was recorded; None, and a difference, if the next effect is no such answer."""
        effect = self._port.take("peer", format.TOPICS[topic], lambda found: found.topic == topic)
        return None if effect is None else effect.values

    def _yes(self, topic: int, *values: int) -> bool:
        """Whether the next effect is that answer; then it is taken."""
        effect = self._port.peek()
        if effect is None or effect.kind != "peer" or effect.topic != topic:
            return False
        if effect.values[: len(values)] != values:
            return False
        self._answer(topic)
        return True

    def process_id(self) -> int:
        found = self._answer(format.PROCESS_ID)
        return name_value(found[0]) if found else 1

    def hold(self, device: int, budget: int, amount: int, limit: int) -> int:
        effect = self._port.peek()
        if effect is not None and self._yes(format.HELD, device, budget):
            self.held[device, budget] = effect.values[2]
        return self.held.get((device, budget), 0)

    def share(self, kind: int, device: int, offset: int, size: int, listed: bool) -> tuple[int, Any]:
        found = self._answer(format.SHARE)
        if found and self.seat is not None and kind >= MEMORY:
            self.seat.share(found[0], device, offset)
        if found:
            return found[0], name_value(found[1])
        self._invented += 1
        return self._invented, name_value(self._invented)

    def allow(self, kind: int, key: Any, processes: Sequence[int]) -> int:
        found = self._answer(format.ALLOW)
        return found[0] if found else DONE

    def open(self, kind: int, key: Any) -> tuple[int, int, int, int]:
        found = self._answer(format.OPEN)
        if found and len(found) == 4:
            return found[0], found[1], found[2], found[3]
        self._invented += 1
        return DONE, self._invented, 0, 1

    def close(self, entry: int) -> None:
        pass

    def revoke(self, kind: int, key: Any) -> tuple[int, int]:
        found = self._answer(format.REVOKE)
        return (found[0], found[1]) if found else (DONE, 0)

    def hasten(self, due: int) -> None:
        pass

    def signal(self, entry: int) -> None:
        self._answer(format.SIGNALLED)

    def take(self, entry: int) -> bool:
        return self._yes(format.TAKEN, entry)

    def clear(self, entry: int) -> None:
        self._answer(format.CLEARED)

    def record(self, entry: int) -> int:
        effect = self._port.peek()
        return effect.values[1] if effect is not None and self._yes(format.RECORD, entry) else 0

    def complete(self, entry: int, record: int) -> None:
        self._answer(format.COMPLETE)

    def latest(self, entry: int) -> int:
        found = self._answer(format.LATEST)
        return found[1] if found else 0

    def completed(self, entry: int, record: int) -> bool:
        return self._yes(format.COMPLETED, entry, record)

    def store(self, entry: int, size: int) -> DeviceStore | None:
        found = self._answer(format.STORE)
        if found is not None and not found[0]:
            return None
        shared = None if self.seat is None else self.seat.store(entry, size)
        return shared or self.make(size)

    def snapshot(self, view: memoryview) -> memoryview:
        if self.seat is None:
            self._port.shared(view)
            return view
        unknown = self._port.unknown_bytes
        recorded = memoryview(bytearray(len(view)))
        self._port.shared(recorded)
        self.seat.read(view, recorded, self._port.unknown_bytes == unknown)
        return recorded

    def touch(self, entry: int) -> None:
        if self.seat is not None:
            self.seat.touch(entry)

    def untouched(self, entry: int) -> None:
        pass
