"""Comparisons of traces that stay Python values, so that a test can alter any of them."""

import itertools
from collections.abc import Callable, Iterable, Iterator, Sequence
from typing import Any

from cannery.recorder.packing import pack
from cannery.recorder.process import Counts
from cannery.recorder.records import Call, Enter, Payload, Record
from cannery.recorder.rows import RowMaker
from cannery.recorder.schema import Schema
from cannery.replayer.comparison.findings import Finding
from cannery.replayer.comparison.process import Compared, Options, compare
from cannery.runtime.memory import DEVICE_SPAN
from tests.live import DEVICE_BASE, SCHEMA, Live


class Stream:
    """What the comparison reads of a recorded process, made of records. ``window``: records in each window."""

    finished = True
    alive = False

    def __init__(self, records: Sequence[Record], schema: Schema = SCHEMA, window: int = 1 << 30) -> None:
        self.schema = schema
        self.header: dict[str, Any] = {"device_base": DEVICE_BASE, "device_span": 4 * DEVICE_SPAN}
        self._windows = [records[start : start + window] for start in range(0, len(records), window)]

    def windows(self) -> Iterator[tuple[int, bytes]]:
        for number, records in enumerate(self._windows, 1):
            maker = RowMaker(self.schema)
            yield number, b"".join(pack(row) for record in records for row in maker.rows(record))

    def records_of(self, first: int, end: int | None = None) -> Iterator[Record]:
        return itertools.chain(*self._windows[first - 1 : None if end is None else end - 1])

    def counts(self) -> Counts:
        calls = [record for window in self._windows for record in window if isinstance(record, Call | Enter)]
        threads = tuple(sorted({call.thread for call in calls}))
        nothing: dict[str, Any] = dict.fromkeys(Counts._fields, 0)
        return Counts(**nothing | {"calls": len(calls), "threads": threads, "stopped": None})


def compared(
    a: Live | Sequence[Record],
    b: Live | Sequence[Record],
    options: Options = Options(),  # noqa: B008 - immutable
    contents: Callable[[Payload], bytes | None] = lambda payload: payload.content,
    window: int = 1 << 30,
) -> Compared:
    """The comparison of two streams."""
    streams = tuple(Stream(side.records if isinstance(side, Live) else side, window=window) for side in (a, b))
    return compare((streams[0], streams[1]), (contents, contents), options)


def causes(found: Compared) -> list[Finding]:
    return [group.cause for group in found.findings.ordered()]


def first_cause(a: Live | Sequence[Record], b: Live | Sequence[Record], **more: Any) -> Finding:
    """What the difference of two traces is put down to."""
    found = causes(compared(a, b, **more))
    assert found, "the traces count as the same"
    return found[0]


def assert_same(a: Live | Sequence[Record], b: Live | Sequence[Record], **more: Any) -> Compared:
    found = compared(a, b, **more)
    told = [(cause.kind, cause.facets, cause.calls) for cause in causes(found)]
    assert not found.findings.total, told
    return found


def renumbered(records: Iterable[Record]) -> list[Record]:
    """Records with the call numbers and times that they have where they stand."""
    found: list[Record] = []
    numbers: dict[int, int] = {}
    calls = itertools.count()
    for time, record in enumerate(records):
        if isinstance(record, Call | Enter):
            number = numbers[record.number] = next(calls)
            record = record._replace(number=number)
        elif hasattr(record, "number"):
            record = record._replace(number=numbers.get(record.number, record.number))  # type: ignore[call-arg,union-attr]
        found.append(record._replace(time=time) if hasattr(record, "time") else record)  # type: ignore[call-arg]
    return found
