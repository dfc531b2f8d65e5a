"""What a replay found: differences, and the text that explains the first of them.

While calls are replayed nothing is kept about those that were the same. When one differs, the stream is read a second
time up to that call, for the calls before it and for those that made the objects involved.
"""

from collections import deque
from collections.abc import Iterable
from typing import Any, Final, NamedTuple

from cannery.recorder.records import Call, Enter, Exit, Note, Record
from cannery.recorder.schema import Schema
from cannery.replayer.printer import Printer

BEFORE: Final = 8
RETURNS: Final = "return value"


class Difference(NamedTuple):
    """One result that is not the recorded one.

    ``number`` is the call's, None for a step of the pacer; ``record`` the record being replayed; ``what`` names the
    result (``return value``, ``output free``, ``effect 0``, ``wait``, ``end of the wait``).
    ``handles`` are ordinals, and
    ``addresses`` wire values, that the explanation looks up.
    """

    number: int | None
    thread: int | None
    function: str | None
    record: Record | None
    what: str
    expected: str
    actual: str
    handles: tuple[int, ...] = ()
    addresses: tuple[Any, ...] = ()

    def to_json(self) -> dict[str, Any]:
        return {
            "call": self.number,
            "thread": self.thread,
            "function": self.function,
            "what": self.what,
            "expected": self.expected,
            "actual": self.actual,
        }

    def where(self) -> str:
        """``call #12, thread 1, aclrtMalloc``."""
        if self.number is None:
            return "a step of the pacer" if self.thread is None else f"thread {self.thread}"
        return f"call #{self.number}, thread {self.thread}, {self.function}"


class Explanation(NamedTuple):
    """Lines for people: the recorded call, the objects it involves with the calls that made them, the calls before."""

    record: str
    objects: tuple[str, ...]
    before: tuple[str, ...]

    def to_json(self) -> dict[str, Any]:
        return {"recorded": self.record, "objects": list(self.objects), "before": list(self.before)}


class Result(NamedTuple):
    """The replay of one process.

    ``differences`` are the first ones, ``total`` is how many there were. ``unverified`` counts results that were not
    compared because the trace does not have the bytes they follow from, ``unknown_bytes`` those bytes.
    ``supported_now`` counts calls that were recorded as unsupported and now have an implementation; they are not
    executed, since the recorded program went on without their effect. ``in_flight`` describes calls that had not
    returned when the recording ended. ``complete`` is False when the first difference ended the replay; ``damage``
    says why the rest of the stream could not be read. ``rerun`` counts kernel launches whose model was run again,
    ``not_rerun``, by kernel, those that had one in the recording and for which none was given.
    """

    process: int
    calls: int
    total: int
    differences: tuple[Difference, ...]
    explanation: Explanation | None
    unverified: int
    unknown_bytes: int
    supported_now: dict[str, int]
    in_flight: tuple[str, ...]
    complete: bool
    damage: str | None
    rerun: int
    not_rerun: dict[str, int]

    @property
    def same(self) -> bool:
        return self.total == 0 and self.damage is None

    def to_json(self) -> dict[str, Any]:
        return self._asdict() | {
            "same": self.same,
            "differences": [difference.to_json() for difference in self.differences],
            "explanation": None if self.explanation is None else self.explanation.to_json(),
        }


def explain(records: Iterable[Record], schema: Schema, printer: Printer, difference: Difference) -> Explanation:
    """Read the stream up to the record that differs. ``records`` start at its beginning."""
    before: deque[Record] = deque(maxlen=BEFORE)
    handles = dict.fromkeys(difference.handles)
    origins: dict[int, str] = {}
    ends: dict[int, str] = {}
    memory: dict[Any, str] = {}
    wanted = [address for address in difference.addresses if address is not None]
    for record in records:
        if record == difference.record:
            break
        if isinstance(record, Note):
            continue
        before.append(record)
        if isinstance(record, Call | Exit) and (handles or wanted):
            _note_objects(record, schema, printer, handles, origins, ends)
            _note_memory(record, schema, printer, wanted, memory)
    objects = []
    for ordinal in handles:
        if ordinal in origins:
            objects.append(origins[ordinal])
            if ordinal in ends:
                objects.append(ends[ordinal])
    objects += memory.values()
    shown = "" if difference.record is None else printer.line(difference.record)
    return Explanation(shown, tuple(objects), tuple(printer.line(record) for record in before))


def _note_objects(
    record: Call | Exit,
    schema: Schema,
    printer: Printer,
    wanted: dict[int, None],
    origins: dict[int, str],
    ends: dict[int, str],
) -> None:
    form = schema[record.function]
    for param, value in zip(form.outputs, record.outs, strict=False):
        if param.out == "handle" and value in wanted and value not in origins:
            origins[value] = f"{param.kind}#{value} was made by {printer.line(record)}"
    if isinstance(record, Call) and record.ret == 0:
        for param, value in zip(form.params, record.ins, strict=False):
            if param.role == "released_handle" and value in wanted:
                ends[value] = f"{param.kind}#{value} was released by {printer.line(record)}"


def _note_memory(
    record: Call | Exit, schema: Schema, printer: Printer, wanted: list[Any], memory: dict[Any, str]
) -> None:
    for param, value in zip(schema[record.function].outputs, record.outs, strict=False):
        if param.out != "address" or value is None:
            continue
        for address in wanted:
            # The allocation that begins nearest before the address is the one it lies in, if it lies in any.
            if isinstance(value, int) and isinstance(address, int) and value <= address:
                nearest = memory.get(("device", address))
                if nearest is None or _start(nearest) <= value:
                    memory[("device", address)] = f"d+{value:#x} was allocated by {printer.line(record)}"
            elif isinstance(value, tuple) and isinstance(address, tuple) and value[0] == address[0]:
                memory[("host", address)] = f"h{value[0]} was allocated by {printer.line(record)}"


def _start(text: str) -> int:
    return int(text[2 : text.index(" ")], 16)


def involved(schema: Schema, record: Record) -> tuple[tuple[int, ...], tuple[Any, ...]]:
    """Ordinals of the objects, and addresses, that a record names."""
    handles: list[int] = []
    addresses: list[Any] = []
    if isinstance(record, Call | Enter | Exit) and record.function in schema:
        form = schema[record.function]
        pairs: list[tuple[str | None, Any]] = []
        if not isinstance(record, Exit):
            pairs += zip((param.into for param in form.params), record.ins, strict=False)
        if not isinstance(record, Enter):
            pairs += zip((param.out for param in form.outputs), record.outs, strict=False)
        for shape, value in pairs:
            if shape == "handle" and isinstance(value, int) and value:
                handles.append(value)
            elif shape == "address" and value is not None:
                addresses.append(value)
    return tuple(dict.fromkeys(handles)), tuple(dict.fromkeys(addresses))
