"""Writes a stream of records into a process folder as sealed windows: for tools that make a bundle from another."""

from typing import Final

from cannery.recorder import format
from cannery.recorder.chunk import failing_functions, pack_chunk, summarise
from cannery.recorder.files import Folder
from cannery.recorder.packing import pack
from cannery.recorder.records import Call, Enter, Note, Record
from cannery.recorder.rows import RowMaker
from cannery.recorder.schema import Schema
from cannery.recorder.stream import SKIPPED_TOPIC, Head, layouts_of

_FULL: Final = format.WINDOW_SIZE - format.WINDOW_RESERVE


class ChunkWriter:
    """Takes the records of one stream in order; :meth:`close` writes what is left. ``begin`` is the head of the first
    window."""

    def __init__(self, folder: Folder, schema: Schema, begin: Head) -> None:
        self._folder = folder
        self._layouts = layouts_of(schema)
        self._failing = failing_functions(schema)
        self._rows = RowMaker(schema)
        self._number = begin.window - 1
        self._call = begin.call
        self._parts: list[bytes] = []
        self._size = 0
        self._rows.time = begin.time
        self._begin()

    def add(self, record: Record) -> None:
        """Raises OSError."""
        time = self._rows.time
        parts = [pack(row) for row in self._rows.rows(record)]
        if self._size + sum(map(len, parts)) > _FULL and len(self._parts) > 1:
            after, self._rows.time = self._rows.time, time
            self._end()
            self._begin()
            self._rows.time = after
        self._parts += parts  # those of one record stay in one window
        self._size += sum(map(len, parts))
        if isinstance(record, Call | Enter):
            self._call = record.number + 1
        elif isinstance(record, Note) and record.topic == SKIPPED_TOPIC:
            self._call += record.value

    def close(self) -> None:
        """Raises OSError."""
        if len(self._parts) > 1:
            self._end()

    def _begin(self) -> None:
        self._number += 1
        head = pack((format.WINDOW, *Head(self._number, self._call, self._rows.time)))
        self._parts, self._size = [head], len(head)

    def _end(self) -> None:
        content = b"".join(self._parts)
        read = summarise(content, self._layouts, self._failing, self._folder.label, journal=False)
        assert read is not None
        self._folder.replace(format.window_name(self._number, format.CHUNK), pack_chunk(content, read[1]))
