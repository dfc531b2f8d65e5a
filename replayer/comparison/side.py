"""One trace of a comparison: its calls in the order in which they returned."""

from collections.abc import Callable, Iterable, Iterator
from typing import Any, Final

from cannery.recorder.format import TraceError
from cannery.recorder.records import Call, Enter, Errand, Exit, Invoke, Note, Record, Returned
from cannery.recorder.stream import STOPPED_TOPIC
from cannery.recorder.tail import COMPLETE
from cannery.replayer.comparison.deliveries import Deliveries
from cannery.replayer.comparison.objects import Allocations
from cannery.replayer.comparison.shapes import FUNCTION, POLLED, Relayout, Shapes, Value, is_placed
from cannery.replayer.comparison.spool import IN_FLIGHT, Placed

Wanted = Callable[[int, str], bool]
"""Whether a call, by its number and function, takes part in the comparison."""

_REMEMBERED: Final = 16384
_WORD: Final = 8  # bytes


class Side:
    """Reads the records of one process.

    ``incomplete`` says, at the end, why the trace ends before the process did; ``calls`` counts what was read.
    ``skipped`` takes the calls that do not take part. ``allocations`` is the device memory so far. ``devices``: where
    device memory begins, and its size.
    """

    def __init__(
        self,
        records: Iterable[Record],
        shapes: Shapes,
        deliveries: Deliveries | None = None,
        layouts: dict[str, Relayout] | None = None,
        wanted: Wanted | None = None,
        skipped: Callable[[Call], None] = lambda call: None,
        devices: tuple[int, int] = (0, 0),
    ) -> None:
        self.calls = 0
        self.incomplete: str | None = None
        self._records = iter(records)
        self._deliveries = deliveries
        self._layouts = layouts or {}
        self._wanted = wanted
        self.skipped = skipped
        self._base, self._span = devices
        self._addressing = frozenset(name for name, shape in shapes.items() if shape.addresses is not None)
        self._waiting: dict[int, list[Enter]] = {}  # by thread: a function of the program may call while a call waits
        self._running: dict[int, list[Invoke]] = {}  # functions of the program, by thread; workers are negative
        self._shapes = shapes
        self.allocations = Allocations()
        self._placed: dict[Any, tuple[Any, ...]] = {}  # arguments with their addresses as places
        self._held: dict[int, Call] = {}  # by thread: a question that may be repeated

    def state_from(self, other: "Side") -> None:
        """Go on where another side is whose trace was the same so far."""
        self.calls = other.calls
        self._waiting = {thread: list(enters) for thread, enters in other._waiting.items()}
        self._running = {runner: list(invokes) for runner, invokes in other._running.items()}
        self._held = dict(other._held)
        self.allocations = other.allocations.copy()
        if self._deliveries is not None and other._deliveries is not None:
            self._deliveries.pending_from(other._deliveries)

    def items(self) -> Iterator[Placed]:
        """The calls that take part, each with its place in the order. At the end come those that never returned."""
        return enumerate(self._calls() if self._wanted is not None else self._all_calls())

    def _calls(self) -> Iterator[Call]:
        for call in self._all_calls():
            if self._wanted is None or self._wanted(call.number, call.function):
                yield call
            else:
                self.skipped(call)

    def _all_calls(self) -> Iterator[Call]:
        yield from self.advance(self._records)
        yield from self._held.values()
        for enters in self._waiting.values():
            for enter in enters:
                number, thread, time, function, ins, _ = enter
                yield self._place(Call(number, thread, time, function, IN_FLIGHT, ins, (), ()))

    def advance(self, records: Iterable[Record]) -> Iterator[Call]:
        """The calls of some records; what is not over at their end is kept."""
        deliveries, held, waiting = self._deliveries, self._held, self._waiting
        copies = () if deliveries is None else frozenset(deliveries.copies) | frozenset(deliveries.drains)
        layouts, addressing = self._layouts, self._addressing
        try:
            for record in records:
                if layouts and isinstance(record, Call | Enter | Exit) and record.function in layouts:
                    record = _laid_out(record, layouts[record.function])
                if record.__class__ is Call:
                    assert isinstance(record, Call)  # for the type checker; the test above is the fast one
                    call = record
                    function = call.function
                    self.calls += 1
                    if deliveries is not None and (call.effects or function in copies):
                        deliveries.returned(call)
                elif isinstance(record, Exit):
                    enter = _entry(waiting, record)
                    if enter is None:
                        continue
                    call = Call(
                        enter.number, enter.thread, enter.time, enter.function, record.ret, enter.ins, record.outs, ()
                    )
                    function = call.function
                else:
                    run = self._other(record)
                    if run is None:
                        continue
                    call, function = run, run.function
                if function in addressing:
                    call = self._place(call)
                if held and call.thread in held:
                    before = held.pop(call.thread)
                    if before.function != function or before.ins != call.ins:
                        yield before
                if function in POLLED and (call.ret == 0) == POLLED[function]:
                    held[call.thread] = call
                    continue
                yield call
        except TraceError as error:
            self.incomplete = str(error)

    def _other(self, record: Record) -> Call | None:
        """What else there is; a function of the program that was run counts as a call."""
        if isinstance(record, Enter):
            self.calls += 1
            self._waiting.setdefault(record.thread, []).append(record)
            if self._deliveries is not None:
                self._deliveries.entered(record)
        elif isinstance(record, Note):
            if record.topic == STOPPED_TOPIC and not f"{record.value}".startswith(COMPLETE):
                self.incomplete = f"the recording stopped: {record.value}"
        elif isinstance(record, Invoke):
            runner = -record.worker if record.thread is None else record.thread
            self._running.setdefault(runner, []).append(record)
        else:
            if self._deliveries is not None:
                self._deliveries.passed(getattr(record, "effects", ()))
            if isinstance(record, Returned | Errand):
                return self._run(record)
        return None

    def _place(self, call: Call) -> Call:
        """The call with device addresses as places in allocations. An address means what it did when the call was made,
        which is why this is done in the order of this trace."""
        addresses = self._shapes[call.function].addresses
        if addresses is None:
            return call
        ins, outs = call.ins, call.outs
        if addresses.outs and outs:
            changed = list(outs)
            for value in addresses.outs:
                address = outs[value.at]
                if value.created and address.__class__ is int:
                    size = None if addresses.size is None else ins[addresses.size]
                    self.allocations.add(address, size if isinstance(size, int) else 1)
                    self._placed.clear()
                changed[value.at] = self._place_of(value, address)
            outs = tuple(changed)
        if addresses.ins:
            known = self._placed.get((call.function, ins))
            if known is None:
                changed = list(ins)
                for value in addresses.ins:
                    changed[value.at] = self._place_of(value, ins[value.at])
                if len(self._placed) >= _REMEMBERED:
                    self._placed.clear()
                known = self._placed[call.function, ins] = tuple(changed)
            ins = known
        number, thread, time, function, ret, _, _, effects, supported = call
        return Call(number, thread, time, function, ret, ins, outs, effects, supported)

    def _place_of(self, value: Value, address: Any) -> Any:
        if value.many and address.__class__ is tuple:
            return tuple(self._place_one(part) for part in address)
        if value.many and address.__class__ is bytes:
            return tuple(self._place_word(address[at : at + _WORD]) for at in range(0, len(address), _WORD))
        return self._place_one(address)

    def _place_word(self, word: bytes) -> Any:
        """A word of a kernel's arguments, which is an address if it can be one."""
        offset = int.from_bytes(word, "little") - self._base
        return self._place_one(offset) if len(word) == _WORD and 0 <= offset < self._span else word

    def _place_one(self, address: Any) -> Any:
        if address.__class__ is int:
            found = self.allocations.find(address)
            return address if found is None else (*found, address)
        return repr(address) if is_placed(address) else address  # no trace has such an address

    def _run(self, record: Returned | Errand) -> Call | None:
        """The call of the function that returned: of those that its thread runs, the innermost."""
        runner = record.thread if isinstance(record, Returned) else -record.worker
        running = self._running.get(runner)
        if not running:
            return None
        number, _, _, function, signature, args = running.pop()
        name = FUNCTION + signature
        ins = (function, *args, *(None for _ in self._shapes[name].ins))[: len(self._shapes[name].ins)]
        return Call(number or 0, runner, record.time, name, record.value, ins, (), ())


def _entry(waiting: dict[int, list[Enter]], record: Exit) -> Enter | None:
    """The entry of the call whose wait ended."""
    enters = waiting.get(record.thread, [])
    for index, enter in enumerate(enters):
        if enter.number == record.number:
            del enters[index]
            if not enters:
                del waiting[record.thread]
            return enter
    return None


def _laid_out(record: Call | Enter | Exit, layout: Relayout) -> Call | Enter | Exit:
    """The record with its values where the first trace's function table has them."""
    if not isinstance(record, Exit):
        record = record._replace(ins=tuple(None if index is None else record.ins[index] for index in layout.ins))
    if not isinstance(record, Enter):
        record = record._replace(outs=tuple(None if index is None else record.outs[index] for index in layout.outs))
    return record
