"""The stream of one process in a bundle: its records, counts, payloads, and what was in flight."""

import contextlib
import os
from bisect import bisect_right
from collections.abc import Collection, Iterator
from typing import Any, Final, NamedTuple

from cannery.recorder import format
from cannery.recorder.chunk import MAX_CHUNK, Summary, failing_functions, read_summary, summarise, unpack_chunk
from cannery.recorder.claim import lives
from cannery.recorder.files import Folder
from cannery.recorder.format import DamagedTrace, MissingFile
from cannery.recorder.index import Index, read_index
from cannery.recorder.inflight import InFlight, read_inflight
from cannery.recorder.keyframes import Keyframes, KeyframeWriter
from cannery.recorder.lacking import Kept, told
from cannery.recorder.pack import Pack, pack_names
from cannery.recorder.positions import begin_at, behead, origin_of, tail_of
from cannery.recorder.records import Call, Enter, Payload, Record
from cannery.recorder.schema import Schema
from cannery.recorder.sheet import read_optional_sheet
from cannery.recorder.stream import (
    Cursor,
    Head,
    Position,
    committed,
    head_size,
    layouts_of,
    read_head,
    read_window,
)

_HEADER_KEYS: Final = {"settings": dict, "payload": str, "tool": str}
_DIGEST: Final = bytes((0xC4, format.DIGEST))  # what a digest begins with in msgpack
_HEADER_NUMBERS: Final = ("start", "device_base", "device_span", "first_ordinal")


class Counts(NamedTuple):
    """Totals of a stream. Times are nanoseconds since it began, ``size`` the bytes of its files; ``running`` is how
    many functions of the program had not returned at its end; ``stopped`` the reason why recording ended before the
    process, if it did."""

    calls: int
    records: int
    failures: int
    threads: tuple[int, ...]
    size: int
    first_time: int
    last_time: int
    running: int
    stopped: str | None


class ProcessStream:
    """One process of a bundle. ``header`` is its ``process`` sheet; ``problems`` what tolerant reading left out."""

    def __init__(self, ordinal: int, folder: Folder, header: dict[str, Any], schema: Schema) -> None:
        """Raises DamagedTrace: the header does not have what it must."""
        for key, kind in _HEADER_KEYS.items():
            if not isinstance(header.get(key), kind):
                raise DamagedTrace(folder.label + format.PROCESS, 0, f"it has no {key}")
        for key in _HEADER_NUMBERS:
            number = header.get(key, 0 if key == "first_ordinal" else None)
            if number.__class__ is not int or not 0 <= number < format.MAX_TIME:
                raise DamagedTrace(folder.label + format.PROCESS, 0, f"{key} is {number!r}")
        self.ordinal = ordinal
        self.header = header
        self.schema = schema
        self.problems: list[DamagedTrace] = []
        self._folder = folder
        self._kept = Kept(header)
        self._layouts = layouts_of(schema)
        self._failing = failing_functions(schema)
        self._packs: dict[str, Pack] | None = None  # not looked for yet
        self._known_index: Index | None = None
        self._origin = origin_of(header, folder)
        self._begin: Position | None = None
        self._lost_origin: DamagedTrace | None = None
        try:
            self._begin = tail_of(header, folder)
        except DamagedTrace as damage:  # what is kept can be read all the same
            self._lost_origin = damage

    # What it is

    @property
    def settings(self) -> dict[str, Any]:
        """The map that runtime.settings reads."""
        return dict(self.header["settings"])

    @property
    def tool(self) -> str:
        """The version of Cannery that recorded."""
        return str(self.header["tool"])

    @property
    def end(self) -> dict[str, Any] | None:
        """How the process ended: ``{"status": N}`` or ``{"signal": N}``; None where nobody noted it.

        Raises:
            DamagedTrace: the sheet cannot be read.
        """
        return read_optional_sheet(self._folder, format.END)

    @property
    def alive(self) -> bool:
        """Whether the process still runs, and may go on writing."""
        descriptor = self._folder.open(format.PROCESS)
        try:
            return lives(self.header, descriptor)
        finally:
            os.close(descriptor)

    @property
    def finished(self) -> bool:
        """Whether nothing will be added: every window is sealed, and there is an index."""
        return not any(self._windows().values()) and self._folder.size(format.INDEX) is not None

    @property
    def first_head(self) -> Head:
        """The head of the first window: call 0 at time 0, unless the stream was cut out of another, or is the end of
        one."""
        if self._begin is not None:
            return Head(self._begin.window, self._begin.call, self._begin.time)
        if self._lost_origin is not None:
            return self._first_that_is_there()
        return self._origin or Head(1, 0, 0)

    @property
    def begins_with_a_state(self) -> bool:
        """Whether the stream has not all calls that its process made from the first on."""
        return self._origin is not None or self._begin is not None or self._lost_origin is not None

    # Records

    def records(self, start_call: int = 0, *, tolerant: bool = False) -> Iterator[Record]:
        """The records in order, from the one of call ``start_call`` on.

        ``tolerant``: go on with the next window after damage, which is then listed in ``problems``.

        Raises:
            DamagedTrace: what lies before the damage was yielded.
        """
        windows = self._windows()
        if start_call <= self.first_head.call:
            yield from self._read(windows, self.first_head, tolerant)
            return
        kept = self._from_call(windows, start_call, tolerant)
        records = self._read({number: windows[number] for number in kept}, None, tolerant, start_call)
        for record in records:
            if isinstance(record, Call | Enter) and record.number >= start_call:
                yield record
                break
        yield from records

    def records_from(self, position: Position | None, cursor: Cursor | None = None) -> Iterator[Record]:
        """The records from a position on, or from the beginning. ``cursor`` is kept at the record that came last.

        Raises:
            DamagedTrace: what lies before the damage was yielded.
        """
        windows = self._windows()
        if position is None:
            return self._read(windows, self.first_head, False, cursor=cursor)
        kept = {number: windows[number] for number in windows if number >= position.window}
        return self._read(kept, None, False, position=position, cursor=cursor)

    def parts(self, start: Position, end: Position) -> Iterator[tuple[Position, bytes]]:
        """What lies between two positions, by window: where it begins, and its bytes.

        Raises:
            DamagedTrace: a window cannot be read.
        """
        for number in self._windows():
            if start.window <= number <= end.window:
                content, journal = self._load(number)
                path = self._folder.label + format.window_name(number, format.JOURNAL if journal else format.CHUNK)
                head = read_head(content, path, journal=journal)
                if head is None:
                    return
                begin = Position(number, head_size(content), head.call, head.time) if number != start.window else start
                stop = end.offset if number == end.window else committed(content, path)
                yield begin, content[begin.offset : stop]

    def windows(self) -> Iterator[tuple[int, bytes]]:
        """Number and bytes of each window, sealed or not: equal bytes, equal records. Raises DamagedTrace."""
        for number in self._windows():
            yield number, self._load(number)[0]

    def records_of(self, first: int, end: int | None = None) -> Iterator[Record]:
        """The records of the windows from number ``first`` to before ``end``. Raises DamagedTrace."""
        windows = self._windows()
        kept = {number: windows[number] for number in windows if number >= first and (end is None or number < end)}
        return self._read(kept, self.first_head if first == self.first_head.window else None, tolerant=False)

    def counts(self) -> Counts:
        """Totals, from the index and the sheets where there are some.

        Raises:
            DamagedTrace: a window that has to be read cannot be.
        """
        summaries = list(self._summaries().values())
        threads: set[int] = set()
        for summary in summaries:
            threads.update(summary.threads or ())
        if any(summary.threads is None for summary in summaries):
            threads = {record.thread for record in self.records() if isinstance(record, Call | Enter)}
        return Counts(
            sum(summary.calls for summary in summaries),
            sum(summary.records for summary in summaries),
            sum(summary.failures for summary in summaries),
            tuple(sorted(threads)),
            sum(self._folder.size(name) or 0 for name in self._folder.names()),
            min((summary.time for summary in summaries), default=0),
            max((summary.last_time for summary in summaries), default=0),
            sum(summary.running for summary in summaries),
            next((summary.stopped for summary in summaries if summary.stopped is not None), None),
        )

    def inflight(self, *, tolerant: bool = False) -> list[InFlight]:
        """Which call each thread was in when the process ended, or is in now.

        ``tolerant``: leave out what is damaged.

        Raises:
            DamagedTrace: a slot, or the file, cannot be read.
        """
        return read_inflight(self._folder, self.schema, lambda: self.alive, tolerant)

    # Damage

    def damage_beside(self) -> list[DamagedTrace]:
        """What is damaged beside the records: how the process ended, which calls were in flight."""
        found: list[DamagedTrace] = [] if self._lost_origin is None else [self._lost_origin]
        for read in (lambda: self.end, self.inflight):
            try:
                read()
            except DamagedTrace as damage:
                found.append(damage)
        return found

    def origin_damage(self) -> DamagedTrace | None:
        """Why the state that the stream begins with cannot be read; None also where it begins with none."""
        if not self.begins_with_a_state:
            return None
        if self._lost_origin is not None:
            return self._lost_origin
        try:
            origin = self.keyframes(format.ORIGIN)
            if origin is None or not origin.frames:
                return DamagedTrace(self._folder.label + format.ORIGIN, 0, "is missing")
            origin.check()
        except DamagedTrace as damage:
            return damage
        return None

    def verify(self) -> list[DamagedTrace]:
        """Every damage that checksums show, in windows, payloads and the state at the beginning, and payloads that are
        missing: reads all of that."""
        origin = self.origin_damage() if self._lost_origin is None else None  # else damage_beside tells it
        found: list[DamagedTrace] = [] if origin is None else [origin]
        names_payloads = False
        expected = self.first_head.window
        for number in self._windows():
            if number != expected:
                found.append(self._missing(expected))
            expected = number + 1
            try:
                names_payloads = _DIGEST in self._load(number)[0] or names_payloads
            except DamagedTrace as damage:
                found.append(damage)
        try:
            packs = self._payloads()
        except DamagedTrace as damage:
            return [*found, damage]
        for pack in packs:
            if pack.damage is not None:
                found.append(pack.damage)
            for digest in pack.stored:
                try:
                    pack.content(digest)
                except DamagedTrace as damage:
                    found.append(damage)
        if not names_payloads or self.alive:  # whose packs grow with its records
            return found
        self.look_again()
        lacking = self.lacking(self.payload_sizes())
        if lacking:
            found.append(MissingFile(self._folder.label.rstrip("/"), what=f"is not whole: {told(lacking)}"))
        return found

    def lacking(self, stored: Collection[bytes]) -> list[int | None]:
        """The numbers of the calls with a payload that was stored once and is not among those that are ``stored``; None
        for another step. Of what can be read."""
        return self._kept.lacking(self.records(tolerant=True), stored)

    # States

    def keyframes(self, name: str = format.KEYFRAMES) -> Keyframes | None:
        """The states that are kept with the stream, None if there are none; those of ``format.ORIGIN``: the one that
        it begins with, if it was cut out of another.

        Raises:
            DamagedTrace: their table cannot be read.
        """
        return Keyframes.read(self._folder, name)

    def keyframe_writer(self, tool: str) -> KeyframeWriter:
        """To keep states with the stream. Raises OSError."""
        return KeyframeWriter(self._folder, format.KEYFRAMES, tool)

    def beginning(self) -> Position:
        """Where the first record stands. Raises DamagedTrace."""
        head = self.first_head
        place = self.place_of(head.window)
        return Position(head.window, 0 if place is None else place.offset, head.call, head.time)

    def place_of(self, number: int) -> Position | None:
        """Where the first record of a window stands; None where nothing was written yet. Raises DamagedTrace."""
        content, journal = self._load(number)
        path = self._folder.label + format.window_name(number, format.JOURNAL if journal else format.CHUNK)
        head = read_head(content, path, journal=journal)
        return None if head is None else Position(number, head_size(content), head.call, head.time)

    def window_numbers(self) -> list[int]:
        """Of the windows that there are, ascending."""
        return [*self._windows()]

    # Payloads

    def payload(self, digest: bytes) -> bytes | None:
        """Stored content by its digest; None when this process did not store it.

        Raises:
            DamagedTrace: the pack cannot be read, or the content was altered.
        """
        for pack in self._payloads():
            content = pack.content(digest)
            if content is not None:
                return content
        return None

    def stored(self, payload: Payload) -> bool:
        """Whether the bytes of a payload that was given (by the program or another process, a file, a kernel) have to
        be in a pack, by what was to be kept."""
        return self._kept.stores(payload, True)

    def lost(self, payload: Payload) -> MissingFile:
        """What is missing, where the packs have not a payload that is :meth:`stored`."""
        if self.header.get("tail") is None and self._folder.size(format.PACK) is None:
            return MissingFile(self._folder.label + format.PACK)
        digest = "" if payload.digest is None else payload.digest.hex()
        what = f"has no pack with a payload of {payload.size} bytes, digest {digest}: it is lost"
        return MissingFile(self._folder.label.rstrip("/"), what=what)

    def payload_sizes(self) -> dict[bytes, int]:
        """Digest and size of all that this process stored. Raises DamagedTrace."""
        return {digest: size for pack in self._payloads() for digest, (_, size) in pack.stored.items()}

    def look_again(self) -> None:
        """Take in the payloads that a process that still runs has stored since. Raises DamagedTrace."""
        if self._packs is None:
            return
        for name, pack in [*self._packs.items()]:
            if self._folder.size(name) is None:
                pack.close()
                del self._packs[name]
            else:
                pack.read_on()
        for name in pack_names(self._folder, self.header):
            if name not in self._packs:
                self._packs[name] = Pack(self._folder, name=name)

    def close(self) -> None:
        for pack in (self._packs or {}).values():
            pack.close()
        self._packs = None
        self._folder.close()

    # Windows

    def _windows(self) -> dict[int, bool]:
        """Numbers of the windows in order, and whether each is a journal still.

        One that the index has and the folder has not is listed too, as a journal that cannot be found: else the end of
        a stream could vanish unseen.
        """
        found: dict[int, bool] = {}
        for name in self._folder.names():
            for suffix in (format.CHUNK, format.JOURNAL):
                number = format.window_number(name, suffix)
                if number is not None:
                    found[number] = suffix == format.JOURNAL and found.get(number, True)
        index = self._read_index()
        if index is not None and all(index.chunks.get(n, (None, -1))[1] == self._stored(n) for n in found):
            found = dict.fromkeys(index.chunks, True) | found
        first = 1 if self._begin is None else self._begin.window  # those before it are about to be removed
        return dict(sorted((number, journal) for number, journal in found.items() if number >= first))

    def _first_that_is_there(self) -> Head:
        """The head of the first window that can be read."""
        for number in self._windows():
            with contextlib.suppress(DamagedTrace):
                place = self.place_of(number)
                if place is not None:
                    return Head(number, place.call, place.time)
        return Head(1, 0, 0)

    def _read(
        self,
        windows: dict[int, bool],
        expected: Head | None,
        tolerant: bool,
        start_call: int = 0,
        position: Position | None = None,
        cursor: Cursor | None = None,
    ) -> Iterator[Record]:
        """The records of these windows, but for calls before ``start_call``; ``expected`` is the head that the first
        must have, where that is known. In the first window begin at ``position``."""
        last = max(windows, default=0)
        for number, is_journal in windows.items():
            path = self._folder.label + format.window_name(number, format.JOURNAL if is_journal else format.CHUNK)
            try:
                if expected is not None and number != expected.window:
                    gap = self._missing(expected.window)
                    if not tolerant:
                        raise gap
                    self._add_problem(gap)
                    expected = None
                content, journal = self._load(number)
                head = read_head(content, path, journal=journal)
                if head is None:
                    if number != last:
                        raise DamagedTrace(path, 0, "is empty, and others follow")
                    return
                if head.window != number or expected not in (head, None):
                    raise DamagedTrace(path, 0, f"begins as {head}, not as {expected or number}: it belongs elsewhere")
                begin = 0
                if position is not None and position.window == number:
                    begin, head = begin_at(position, head, len(content), path)
                expected = yield from read_window(
                    content,
                    head,
                    self._layouts,
                    path,
                    journal=journal,
                    start_call=start_call,
                    begin=begin,
                    cursor=cursor,
                )
            except DamagedTrace as damage:
                if not tolerant:
                    raise
                self._add_problem(damage)
                expected = None

    def _load(self, number: int) -> tuple[bytes, bool]:
        """The bytes of a window, and whether they are a journal's; of the first, from where the stream begins."""
        content, journal = self._load_all(number)
        if self._is_beheaded(number):
            assert self._begin is not None
            content = behead(content, self._begin, self._folder.label + format.window_name(number, format.CHUNK))
        return content, journal

    def _is_beheaded(self, number: int) -> bool:
        return self._begin is not None and self._begin.window == number

    def _load_all(self, number: int) -> tuple[bytes, bool]:
        """All of a window. A journal may be sealed at any moment."""
        chunk, journal = format.window_name(number, format.CHUNK), format.window_name(number, format.JOURNAL)
        for _ in range(2):
            try:
                data = self._folder.read(chunk, MAX_CHUNK)
                return unpack_chunk(data, self._folder.label + chunk)[1], False
            except FileNotFoundError:
                pass
            try:
                return self._folder.read(journal, format.MAX_WINDOW), True
            except FileNotFoundError:
                pass
        raise self._missing(number)

    def _missing(self, number: int) -> MissingFile:
        """A window that is not there. Where a later one is sealed, or there is an index, it had been sealed too."""
        sealed = any((format.window_number(name, format.CHUNK) or 0) > number for name in self._folder.names())
        sealed = sealed or self._folder.size(format.INDEX) is not None
        return MissingFile(self._folder.label + format.window_name(number, format.CHUNK if sealed else format.JOURNAL))

    def _index(self, windows: dict[int, bool]) -> Index | None:
        """The index, if it says what is there."""
        if any(windows.values()):
            return None
        index = self._read_index()
        if index is None or [*index.chunks] != [*windows]:
            return None
        return index if all(stored == self._stored(n) for n, (_, stored) in index.chunks.items()) else None

    def _read_index(self) -> Index | None:
        if self._known_index is None:
            self._known_index = read_index(self._folder)
        return self._known_index

    def _stored(self, number: int) -> int | None:
        """The size of a chunk file."""
        return self._folder.size(format.window_name(number, format.CHUNK))

    def _summaries(self) -> dict[int, Summary]:
        windows = self._windows()
        index = self._index(windows)
        known = {} if index is None else {number: summary for number, (summary, _) in index.chunks.items()}
        found = {}
        for number, is_journal in windows.items():
            whole = None if self._is_beheaded(number) else known.get(number)
            summary = whole or self._summary(number, is_journal)
            if summary is not None:
                found[number] = summary
        return found

    def _summary(self, number: int, is_journal: bool) -> Summary | None:
        if not is_journal and not self._is_beheaded(number):
            return read_summary(self._folder, format.window_name(number, format.CHUNK))
        content, journal = self._load(number)
        path = self._folder.label + format.window_name(number, format.JOURNAL)
        read = summarise(content, self._layouts, self._failing, path, journal=journal)
        return None if read is None else read[1]

    def _from_call(self, windows: dict[int, bool], call: int, tolerant: bool) -> list[int]:
        """The numbers of the windows from the one with that call on."""
        numbers = list(windows)
        index = self._index(windows)
        if index is not None:
            firsts = [summary.first_call for summary, _ in index.chunks.values()]
        else:
            firsts = []
            for number in numbers:
                first = self._first_call(number, tolerant)
                firsts.append(firsts[-1] if first is None and firsts else first or 0)
        return numbers[max(bisect_right(firsts, call) - 1, 0) :]

    def _first_call(self, number: int, tolerant: bool) -> int | None:
        """That of a window; None when it is empty or cannot be read."""
        try:
            try:
                return read_summary(self._folder, format.window_name(number, format.CHUNK)).first_call
            except FileNotFoundError:
                content, journal = self._load(number)
                path = self._folder.label + format.window_name(number, format.JOURNAL)
                head = read_head(content, path, journal=journal)
                return None if head is None else head.call
        except DamagedTrace:
            if not tolerant:
                raise
            return None

    def _payloads(self) -> Collection[Pack]:
        if self._packs is None:
            packs: dict[str, Pack] = {}
            index = self._index(self._windows())
            known, start = (index.payloads(), index.pack_end) if index is not None else (None, 0)
            for name in pack_names(self._folder, self.header):
                pack = Pack(self._folder, known, start) if name == format.PACK else Pack(self._folder, name=name)
                packs[name] = pack
                if pack.damage is not None:
                    self._add_problem(pack.damage)
            self._packs = packs
        return self._packs.values()

    def _add_problem(self, damage: DamagedTrace) -> None:
        if str(damage) not in map(str, self.problems):
            self.problems.append(damage)
