"""Chunks: sealed windows, and what their sheets say (section 9 of the format)."""

from collections.abc import Sequence
from typing import Any, Final, NamedTuple, Self

from xxhash import xxh3_64_digest

from cannery.recorder import format
from cannery.recorder.compression import compress, decompress
from cannery.recorder.files import Folder
from cannery.recorder.format import DamagedTrace
from cannery.recorder.packing import UNPACK_ERRORS, damage_text, pack, unpack
from cannery.recorder.records import Call, Enter, Errand, Exit, Expire, Invoke, Note, Pace, Returned, ThreadEnd
from cannery.recorder.schema import Schema
from cannery.recorder.sheet import pack_sheet, unpack_sheet
from cannery.recorder.stream import STOPPED_TOPIC, Head, Layout, read_head, read_window

MAX_CHUNK: Final = format.MAX_WINDOW + format.MAX_SHEET
_FIRST_READ: Final = 4096  # bytes that hold nearly every sheet
_MAX_THREADS: Final = 4096


class Summary(NamedTuple):
    """What a window has. ``threads`` is None where there are too many to list. ``running``: how many functions of the
    program were asked for in it, less those that returned in it."""

    records: int
    calls: int
    failures: int
    first_call: int
    time: int
    last_time: int
    running: int
    threads: tuple[int, ...] | None
    stopped: str | None = None

    @classmethod
    def from_sheet(cls, sheet: dict[str, Any], path: str) -> Self:
        """Raises DamagedTrace."""
        try:
            summary = cls(**{name: sheet.get(name) for name in cls._fields})  # type: ignore[arg-type]
            numbers = (*summary[:7], *(summary.threads or ()))
            fits = all(isinstance(value, int) for value in numbers) and isinstance(summary.stopped, str | None)
        except TypeError:
            fits = False
        if not fits:
            raise DamagedTrace(path, 0, "it does not say what a chunk has to say")
        return summary


def failing_functions(schema: Schema) -> frozenset[str]:
    """Names of the functions whose return value says whether they failed."""
    return frozenset(form.name for form in schema.functions if form.can_fail)


def summarise(
    content: bytes, layouts: Sequence[Layout], failing: frozenset[str], path: str, *, journal: bool
) -> tuple[Head, Summary, Head] | None:
    """Read a window through: its head, what it has, and the head of the next; None when nothing was written to it.

    Raises:
        DamagedTrace: it cannot be read to its end.
    """
    head = read_head(content, path, journal=journal)
    if head is None:
        return None
    records = calls = failures = running = 0
    threads: set[int] = set()
    stopped: str | None = None
    steps = read_window(content, head, layouts, path, journal=journal)
    while True:
        try:
            record = next(steps)
        except StopIteration as end:
            following: Head = end.value
            break
        records += 1
        if isinstance(record, Call | Enter):
            calls += 1
        if isinstance(record, Call | Exit) and record.ret != 0 and record.function in failing:
            failures += 1
        running += isinstance(record, Invoke) - isinstance(record, Returned | Errand)
        if isinstance(record, Call | Enter | Exit | Expire | Returned | ThreadEnd):
            threads.add(record.thread)
        elif isinstance(record, Note) and record.topic == STOPPED_TOPIC:
            stopped = record.value
        else:
            assert isinstance(record, Pace | Invoke | Errand | Note)
    listed = tuple(sorted(threads)) if len(threads) <= _MAX_THREADS else None
    times = head.time, following.time
    return head, Summary(records, calls, failures, head.call, *times, running, listed, stopped), following


def pack_chunk(content: bytes, summary: Summary) -> bytes:
    """The bytes of a chunk file with the records ``content``."""
    sheet = {"size": len(content), "check": xxh3_64_digest(content), **summary._asdict()}
    return pack_sheet(sheet) + pack(compress(content))


def unpack_chunk(data: bytes, path: str) -> tuple[Summary, bytes]:
    """What its sheet says, and the records of a chunk file.

    Raises:
        DamagedTrace: any byte of it was altered, or some are missing.
    """
    sheet, end = unpack_sheet(data, path)
    summary = Summary.from_sheet(sheet, path)
    try:
        frame = unpack(data[end:])
    except UNPACK_ERRORS as error:
        raise DamagedTrace(path, end, damage_text(error)) from None
    if not isinstance(frame, bytes):
        raise DamagedTrace(path, end, "no compressed records")
    content = decompress(frame, format.MAX_WINDOW, path, end)
    if len(content) != sheet.get("size") or xxh3_64_digest(content) != sheet.get("check"):
        raise DamagedTrace(path, end, "the records' checksum does not match: bytes were altered")
    return summary, content


def read_summary(folder: Folder, name: str) -> Summary:
    """What the sheet of a chunk file says; nothing else is read.

    Raises:
        FileNotFoundError: there is no such file.
        DamagedTrace: the sheet cannot be read.
    """
    path = folder.label + name
    beginning = folder.read(name, MAX_CHUNK, 0, _FIRST_READ)
    try:
        sheet, _ = unpack_sheet(beginning, path)
    except DamagedTrace:
        sheet, _ = unpack_sheet(folder.read(name, MAX_CHUNK, 0, format.MAX_SHEET), path)
    return Summary.from_sheet(sheet, path)
