"""The repair of one process's stream (section 14 of the format)."""

import contextlib
from collections.abc import Iterator
from typing import Final, NamedTuple

from cannery.recorder import format, salvage
from cannery.recorder.chunk import MAX_CHUNK, Summary, failing_functions, pack_chunk, summarise, unpack_chunk
from cannery.recorder.files import Folder
from cannery.recorder.format import DamagedTrace
from cannery.recorder.index import read_index
from cannery.recorder.lacking import told
from cannery.recorder.pack import pack_names
from cannery.recorder.packing import pack
from cannery.recorder.positions import tail_of
from cannery.recorder.process import ProcessStream
from cannery.recorder.schema import Schema
from cannery.recorder.seal import rebuild_index
from cannery.recorder.stream import Head, committed, layouts_of, read_head
from cannery.recorder.tail_files import drop_before

LOST_RECORDS: Final = "records lost: "
"""How the STOPPED record begins that a repair puts where the readable part of a stream ends."""


class _Window(NamedTuple):
    """``content`` is what can be read of a window, up to the ``damage``, if there is some; ``head`` is None where
    nothing can. ``following`` is the head that the next window has to have."""

    number: int
    is_journal: bool
    head: Head | None
    content: bytes
    summary: Summary | None
    following: Head | None
    damage: DamagedTrace | None


class StreamRepair:
    """Seals what can be sealed, cuts off an end that cannot be read, and rebuilds the index. The folder is locked."""

    def __init__(self, folder: Folder, stream: ProcessStream, schema: Schema) -> None:
        self._folder = folder
        self._stream = stream
        self._layouts = layouts_of(schema)
        self._failing = failing_functions(schema)

    def run(self, done: list[str], lost: list[str]) -> None:
        """Add what was done and what is lost. Raises OSError."""
        self._slots(done)
        if self._stream.header.get("tail") is not None and drop_before(self._folder):
            done.append(f"{self._name}: what lies before the tail removed")
        origin = self._stream.origin_damage()
        if origin is not None:
            lost.append(f"{origin}; what is kept can be read, and not be replayed")
        windows = self._windows(done, lost)
        if windows and origin is None and self._begins_in(windows[0]):
            lost.append(f"{windows[0].damage}; the trace begins there, and nothing of it can be read")
            return
        self._cut_end(windows, done)
        self._payloads(done, lost)
        if rebuild_index(self._folder):
            done.append(f"{self._name}: index written")
        stopped = self._stopped()
        if stopped is not None and stopped.startswith(LOST_RECORDS):
            lost.append(f"{self._name}: {stopped.removeprefix(LOST_RECORDS)}; the records from there on are lost")

    @property
    def _name(self) -> str:
        return self._folder.label.rstrip("/")

    # Windows

    def _windows(self, done: list[str], lost: list[str]) -> list[_Window]:
        """Read every window, seal those that are whole, and return what is wrong at the end of the stream."""
        present, indexed = self._numbers()
        highest = max(present | indexed, default=0)
        ends: list[_Window] = []
        first = self._stream.first_head
        # A tail may begin in the middle of a window, whose head is that of what is not kept any more.
        expected: Head | None = first if self._stream.header.get("tail") is None else None
        sealed = 0
        for number in range(first.window, highest + 1):
            window = self._read(number, expected, number == highest)
            if window.damage is None:
                for gap in ends:
                    lost.append(self._gap(gap, window))
                ends = []
                sealed += self._seal(window)
                expected = window.following or expected
                if window.summary is not None and _is_cut(window.summary) and number >= max(present):
                    break  # by an earlier repair, which did not come to write the index
                continue
            # where its own cannot be read; the first of a tail may have had another, of which nothing is kept
            head = window.head or expected or (first if number == first.window else None)
            ends.append(window._replace(head=head, following=window.following or head))
            expected = None
        if sealed:
            done.append(f"{self._name}: {sealed} {'window' if sealed == 1 else 'windows'} sealed")
        return ends

    def _begins_in(self, window: _Window) -> bool:
        """Whether the stream begins in that window, behind what can be read of it: then there is nothing to keep."""
        begin = tail_of(self._stream.header, self._folder)
        return begin is not None and begin.window == window.number and len(window.content) < begin.offset

    def _numbers(self) -> tuple[set[int], set[int]]:
        """Numbers of the windows that are there, and of those that the index has."""
        found = set()
        for name in self._folder.names():
            for suffix in (format.CHUNK, format.JOURNAL):
                number = format.window_number(name, suffix)
                if number is not None:
                    found.add(number)
        index = read_index(self._folder)
        return found, set(index.chunks) if index is not None else set()

    def _read(self, number: int, expected: Head | None, last: bool) -> _Window:
        chunk, journal = format.window_name(number, format.CHUNK), format.window_name(number, format.JOURNAL)
        is_journal = self._folder.size(chunk) is None
        path = self._folder.label + (journal if is_journal else chunk)
        content, head = b"", None
        try:
            if is_journal:
                content = self._folder.read(journal, format.MAX_WINDOW)
            else:
                content = unpack_chunk(self._folder.read(chunk, MAX_CHUNK), path)[1]
            head = read_head(content, path, journal=is_journal)
            if head is None and last:
                return _Window(number, is_journal, None, b"", None, None, None)
            if head is None:
                raise DamagedTrace(path, 0, "is empty, and others follow")
            if head.window != number or expected not in (head, None):
                head = None
                raise DamagedTrace(path, 0, f"begins otherwise than with {expected or number}: it belongs elsewhere")
            content = content[: committed(content, path)] if is_journal else content
            read = summarise(content, self._layouts, self._failing, path, journal=is_journal)
            assert read is not None
            return _Window(number, is_journal, head, content, read[1], read[2], None)
        except FileNotFoundError:
            return _Window(number, is_journal, None, b"", None, None, DamagedTrace(path, 0, "is missing"))
        except DamagedTrace as damage:
            readable = b"" if head is None else content[: damage.offset]
            read = self._summary(readable)
            return _Window(number, is_journal, head, readable, None, head if read is None else read[2], damage)

    def _summary(self, content: bytes) -> tuple[Head, Summary, Head] | None:
        return summarise(content, self._layouts, self._failing, "", journal=False) if content else None

    def _seal(self, window: _Window) -> int:
        """Seal a journal, and remove one that has nothing, or has a chunk already; 1 if there is one chunk more."""
        journal = format.window_name(window.number, format.JOURNAL)
        if window.is_journal and window.summary is not None:
            chunk = format.window_name(window.number, format.CHUNK)
            self._folder.replace(chunk, pack_chunk(window.content, window.summary))
        self._folder.remove(journal)
        return int(window.is_journal and window.summary is not None)

    def _gap(self, window: _Window, following: _Window) -> str:
        """What is lost of a window with others behind it, which stay as they are."""
        first, next_ = window.following, following.head
        if first is None or next_ is None or next_.window != window.number + 1:
            return f"{window.damage}; what it had is lost"
        if first.call == next_.call:
            return f"{window.damage}; steps before call #{next_.call} are lost"
        return f"{window.damage}; calls #{first.call} to #{next_.call - 1} are lost"

    def _cut_end(self, windows: list[_Window], done: list[str]) -> None:
        """Let the stream end where it can be read no further, and say so in a STOPPED record. What could not be read is
        kept aside, the last window first: as long as the first is there, a second repair comes here again."""
        if not windows:
            return
        first = windows[0]
        assert first.damage is not None
        assert first.head is not None
        content = first.content or pack((format.WINDOW, *first.head))
        content += pack((format.STOPPED, f"{LOST_RECORDS}{first.damage}"))
        read = self._summary(content)
        assert read is not None
        for window in reversed(windows):
            for suffix in (format.JOURNAL, format.CHUNK):
                name = format.window_name(window.number, suffix)
                if self._folder.size(name) is not None:
                    self._folder.keep_aside(name, name + format.LOST)
                    done.append(f"{self._folder.label}{name}: cannot be read, kept aside as {name}{format.LOST}")
                    if window is not first:
                        self._folder.remove(name)
        self._folder.replace(format.window_name(first.number, format.CHUNK), pack_chunk(content, read[1]))
        self._folder.remove(format.window_name(first.number, format.JOURNAL))
        done.append(f"{self._name}: window {first.number} sealed up to the damage")

    def _stopped(self) -> str | None:
        try:
            return self._stream.counts().stopped
        except DamagedTrace:
            return None

    # The rest

    def _slots(self, done: list[str]) -> None:
        try:
            self._stream.inflight()
        except DamagedTrace as damage:
            self._folder.set_aside(format.INFLIGHT)
            done.append(f"{damage}; kept aside as {format.INFLIGHT}{format.LOST}")

    def _payloads(self, done: list[str], lost: list[str]) -> None:
        """Make packs ones that can be read to their end, and name the calls whose payload they do not have."""
        stored: set[bytes] = set()
        for name in pack_names(self._folder, self._stream.header):
            try:
                found = salvage.survey(self._folder, name)
            except DamagedTrace as damage:
                lost.append(str(damage))
                return
            if found is not None:
                self._mend_pack(name, found, done, lost)
                stored.update(digest for digest, _ in found.frames)
        lacking = self._stream.lacking(stored)
        if lacking:
            lost.append(f"{self._name}: {told(lacking)}")

    def _mend_pack(self, name: str, found: salvage.Salvage, done: list[str], lost: list[str]) -> None:
        path = self._folder.label + name
        if not found.whole:
            lost += _pack_losses(path, found)
            salvage.rewrite(self._folder, found, name)
            done.append(f"{path}: written anew with what can be read, the old one kept aside")
            return
        if found.torn:
            salvage.cut(self._folder, found, name)
            done.append(f"{path}: {found.torn} bytes of a payload that was being written removed")
        with contextlib.suppress(DamagedTrace):  # of the pack that is left there is nothing to say
            before = salvage.survey(self._folder, name + format.LOST)
            if before is not None:
                lost += _pack_losses(path, before)


def _pack_losses(path: str, found: salvage.Salvage) -> Iterator[str]:
    """What is lost of a pack: also of the one that an earlier repair kept aside, whose losses are told again."""
    for offset, size in found.gaps:
        yield f"{path}: {size} bytes at byte {offset} are no payload"
    if found.altered:
        yield f"{path}: {len(found.altered)} payloads with other bytes than their digest says"


def _is_cut(summary: Summary) -> bool:
    return summary.stopped is not None and summary.stopped.startswith(LOST_RECORDS)
