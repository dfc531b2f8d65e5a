"""Mutations of bundles, most of them where no check catches them: on decoded records, sheets, tables, frames and
states, whose checks are then made right again."""

import random
import struct
from functools import reduce
from typing import Any

from xxhash import xxh3_128_digest

from cannery.recorder import format
from cannery.recorder.chunk import Summary, failing_functions, pack_chunk, summarise
from cannery.recorder.compression import compress, decompress
from cannery.recorder.format import DamagedTrace, TraceError
from cannery.recorder.pack import HEADER_SIZE, frame_header
from cannery.recorder.packing import UNPACK_ERRORS, pack, unpack, unpacker
from cannery.recorder.schema import Schema, schema_digest
from cannery.recorder.sheet import pack_sheet, unpack_sheet
from cannery.recorder.stream import committed, layouts_of
from cannery.runtime.state import (
    BYTES,
    DEQUE,
    DICT,
    EXCHANGE,
    LARGE,
    LIST,
    NAMED,
    REFERENCE,
    SET,
    TUPLE,
    UNSET,
    VIEW,
)

Files = dict[str, bytes]

NUMBERS = (0, 1, 2, 5, -1, -33, 127, 128, 255, 4096, 65535, 1 << 31, (1 << 32) - 1, 1 << 40, 1 << 62, (1 << 64) - 1)
OTHERS = (None, True, False, 2.5, float("nan"), float("inf"), b"", bytes(8), bytes(16), bytes(33), "", "text", ())
HEADS = (b"\xdd\xff\xff\xff\xff", b"\xdc\xff\xff", b"\xdf\xff\xff\xff\xff", b"\xc6\x7f\xff\xff\xff")  # huge lengths
DEEP = reduce(lambda inside, _: (inside,), range(1000), None)
NESTED = (DEEP, (1, 2), (1 << 40, 5), (40, bytes(16)), (40, None), ((1,), (2,)), {"key": 1}, {b"k": ()}, (-1,) * 9)
PLAIN = (None, True, False, -1, 0, 1, 2, 64, 1 << 20, 1 << 40, (1 << 63) - 1, 2.5, float("nan"), b"", "", "text")
WIRE = (  # of a state
    *((LIST,), (LIST, 1, 1), (TUPLE, 1, 2), (DEQUE, None), (DEQUE, 1, 5), (DICT,), (DICT, 1, 2), (SET,), (SET, 1, 2)),
    *((VIEW, b"12"), (LARGE, bytes(range(9))), (UNSET,), (BYTES, bytes(9)), (EXCHANGE,), (REFERENCE, 0)),
)
_ENTRY = struct.Struct("<16sQI")  # of content in a pack of states: digest, offset, bytes in the pack


class Mutator:
    """Mutations of one random sequence."""

    def __init__(self, chance: random.Random) -> None:
        self.chance = chance

    def mutate(self, files: Files) -> Files:
        """The files that change; None deletes one."""
        name = self._pick(files)
        changed = self._structured(name, files) if self.chance.random() < 0.8 else None
        return changed if changed is not None else {name: self._bytes(files[name])}

    def _pick(self, files: Files) -> str:
        names = list(files)
        return self.chance.choices(names, [_weight(name) for name in names])[0]

    def _structured(self, name: str, files: Files) -> Files | None:
        folder, _, base = name.rpartition("/")
        data = files[name]
        try:
            if base.endswith(format.JOURNAL):
                return {name: self._records(data[: committed(data, name)])}
            if base.endswith(format.CHUNK):
                return {name: self._chunk(data, files)}
            if base == format.SCHEMA:
                return self._schema(data, files)
            if has_states(base) and self.chance.random() < 0.9:
                return self._states(f"{folder}/{format.ORIGIN if format.ORIGIN in base else format.KEYFRAMES}", files)
            if base.endswith(format.PACKED):
                return {name: self._frames(data)}
            if base == format.INFLIGHT:
                return {name: self._slots(data)}
            sheet, end = unpack_sheet(data, name)
            return {name: pack_sheet(self._map(sheet)) + data[end:]}
        except (TraceError, OverflowError, *UNPACK_ERRORS):
            return None

    def value(self) -> Any:
        draw = self.chance.random()
        if draw < 0.5:
            return self.chance.choice(NUMBERS)
        if draw < 0.6:
            return self.chance.getrandbits(self.chance.randrange(1, 64))
        return self.chance.choice(OTHERS if draw < 0.9 else NESTED)

    def _inside(self, value: Any) -> Any:
        """The value with one part, of any depth, replaced, left out, doubled or moved."""
        if isinstance(value, dict) and value and self.chance.random() < 0.9:
            return self._map(value)
        if not isinstance(value, tuple | list) or not value or self.chance.random() < 0.1:
            return self._near(value) if self.chance.random() < 0.4 else self.value()
        what = self.chance.random()
        if what < 0.7:
            parts, place = list(value), self.chance.randrange(len(value))
            parts[place] = self._inside(parts[place])
            return tuple(parts)
        return self._moved(tuple(value))

    def _moved(self, parts: tuple[Any, ...]) -> tuple[Any, ...]:
        """With one part left out, doubled or in another's place."""
        changed = [*parts]
        place, what = self.chance.randrange(len(parts)), self.chance.randrange(3)
        if what == 0:
            del changed[place]
        elif what == 1:
            changed.insert(place, self.chance.choice(parts))
        else:
            other = self.chance.randrange(len(parts))
            changed[place], changed[other] = changed[other], changed[place]
        return tuple(changed)

    def _near(self, value: Any) -> Any:
        if isinstance(value, bool) or value is None:
            return not value
        if isinstance(value, int):
            return value + self.chance.choice((-1, 1, 8, 1 << 20, -value, 1 << 33))
        if isinstance(value, bytes):
            return value[: len(value) // 2] if self.chance.random() < 0.5 else value + bytes(5)
        return self.value()

    def _map(self, content: dict[Any, Any]) -> dict[Any, Any]:
        changed = dict(content)
        key = self.chance.choice([*changed])
        if self.chance.random() < 0.15:
            del changed[key]
        else:
            changed[key] = self._inside(changed[key])
        return changed

    # Records

    def _records(self, content: bytes) -> bytes:
        reader = unpacker(content)
        rows = [*reader]
        for _ in range(self.chance.choice((1, 1, 1, 2, 5))):
            place = self.chance.randrange(len(rows))
            what = self.chance.random()
            if what < 0.75:
                rows[place] = self._inside(rows[place])
            elif what < 0.8:
                del rows[place]
            elif what < 0.87:
                rows.insert(place, self.chance.choice(rows))
            elif what < 0.94:
                rows.insert(place, self._row())
            else:
                other = self.chance.randrange(len(rows))
                rows[place], rows[other] = rows[other], rows[place]
            if not rows:
                break
        return b"".join(map(pack, rows))

    def _row(self) -> tuple[Any, ...]:
        kind = self.chance.choice((*range(-16, 4), -64, -65, -66, 600))
        return (kind, *(self.value() for _ in range(self.chance.randrange(9))))

    def _chunk(self, data: bytes, files: Files) -> bytes:
        sheet, end = unpack_sheet(data, "")
        if self.chance.random() < 0.25:
            return pack_sheet(self._map(sheet)) + data[end:]
        content = self._records(decompress(unpack(data[end:]), format.MAX_WINDOW, ""))
        schema = Schema.unpack(files[format.SCHEMA])
        try:
            read = summarise(content, layouts_of(schema), failing_functions(schema), "", journal=False)
        except DamagedTrace:
            read = None
        return pack_chunk(content, Summary.from_sheet(sheet, "") if read is None else read[1])

    def _schema(self, data: bytes, files: Files) -> Files:
        content = pack(self._map(unpack(data)))
        sheet, _ = unpack_sheet(files[format.BUNDLE], "")
        return {format.SCHEMA: content, format.BUNDLE: pack_sheet(sheet | {"schema": schema_digest(content)})}

    # States

    def _states(self, name: str, files: Files) -> Files:
        """One state, or a page of memory, of those that the sheet ``name`` lists."""
        sheet, contents = read_states(files, name)
        frames = [*sheet["frames"]]
        place = self.chance.randrange(len(frames))
        *position, digest = frames[place]
        content = unpack(contents[digest], format.MAX_STATE)
        pages = [each for each in contents if all(each != frame[4] for frame in frames)]
        if pages and self.chance.random() < 0.05:
            page = self.chance.choice(pages)
            altered = self._bytes(contents[page])
            contents[xxh3_128_digest(altered)] = altered
            content = content | {"pages": content["pages"].replace(page, xxh3_128_digest(altered))}
        elif self.chance.random() < 0.05:
            position = [*self._inside(tuple(position))]
            content = content | {"position": tuple(position)}
        else:
            for _ in range(self.chance.choice((1, 1, 2, 4))):
                content = self._state(content)
        data = pack(content)
        frames[place] = (*position, xxh3_128_digest(data))
        contents[frames[place][-1]] = data
        return write_states(name, sheet | {"frames": frames}, contents)

    def _state(self, content: dict[str, Any]) -> dict[str, Any]:
        if self.chance.random() < 0.15:
            return self._map(content)
        machine = content["machine"]
        if self.chance.random() < 0.03:
            return content | {"machine": self._map(machine)}
        rows = [*machine["objects"]]
        # the machine itself has most of what there is
        place = 0 if self.chance.random() < 0.3 else self.chance.randrange(len(rows))
        row = [*rows[place]]
        if len(row) > 1:
            at = self.chance.randrange(1, len(row))
            row[at] = self._held(row[at], at, row[0], rows)
        rows[place] = tuple(row)
        return content | {"machine": machine | {"objects": rows}}

    def _held(self, value: Any, at: int, cls: int, rows: list[Any]) -> Any:
        """What an object of a state holds, otherwise: mostly something that a state can have there, or elsewhere. It is
        of attribute ``at`` of an object of that class."""
        draw = self.chance.random()
        if draw < 0.03:
            return self.value() if self.chance.random() < 0.5 else self._inside(value)
        if draw < 0.2:
            return self.chance.choice([row[at] for row in rows if row[0] == cls])
        if draw < 0.3:
            return self.chance.choice(self.chance.choice([row for row in rows if len(row) > 1])[1:])
        if draw < 0.35:
            return self.chance.choice(WIRE)
        if not isinstance(value, tuple):
            return self._near(value) if isinstance(value, int) and draw < 0.7 else self.chance.choice(PLAIN)
        kind, *parts = value
        if kind == REFERENCE:
            return self._reference(parts[0], rows)
        if not parts or kind in (LARGE, VIEW, BYTES):
            return self.chance.choice(WIRE)
        first = int(kind in (DEQUE, NAMED) and self.chance.random() < 0.95)  # its limit, its class
        if len(parts) == first or draw < 0.5:
            return (kind, *parts[:first], *self._moved(tuple(parts[first:]))) if len(parts) > first else (LIST,)
        place = self.chance.randrange(first, len(parts))
        parts[place] = self._held(parts[place], at, cls, rows)
        return (kind, *parts)

    def _reference(self, number: int, rows: list[Any]) -> Any:
        """To another object, mostly one of the same class."""
        same = [at for at, row in enumerate(rows) if row[0] == rows[number][0]]
        draw = self.chance.random()
        return None if draw < 0.1 else (REFERENCE, self.chance.choice(same if draw < 0.7 else range(len(rows))))

    # Bytes

    def _frames(self, data: bytes) -> bytes:
        size = struct.unpack_from("<Q", data, 8)[0] if len(data) >= HEADER_SIZE else 0
        wrong = self.chance.choice((0, 1, size - 1, size + 1, 1 << 40, (1 << 64) - 1))
        header = frame_header(max(wrong, 0), data[16:32].ljust(16, b"\0"))
        return header + data[HEADER_SIZE:] if self.chance.random() < 0.6 else data + header

    def _slots(self, data: bytes) -> bytes:
        place = self.chance.randrange(max(len(data) - 8, 1))
        return data[:place] + self.chance.randbytes(8) + data[place + 8 :]

    def _bytes(self, data: bytes) -> bytes:
        used = len(data.rstrip(b"\0")) or 1
        place = self.chance.randrange(used)
        what = self.chance.randrange(6)
        if what == 0:
            return data[:place]
        if what == 1:
            return data[:place] + self.chance.randbytes(self.chance.randrange(1, 9)) + data[place:]
        if what == 2:
            start = self.chance.randrange(used)
            return data[:place] + data[start : start + self.chance.randrange(64)] + data[place:]
        if what == 3:
            return data[:place] + bytes(self.chance.randrange(1, 64)) + data[place + 1 :]
        if what == 4:
            return data[:place] + self.chance.choice(HEADS) + data[place + 1 :]
        return data[:place] + bytes([data[place] ^ 1 << self.chance.randrange(8)] if data else b"") + data[place + 1 :]


def read_states(files: Files, name: str) -> tuple[dict[str, Any], dict[bytes, bytes]]:
    """A sheet that lists states, and what its pack has, by digest."""
    sheet, _ = unpack_sheet(files[name], name)
    packed = files[_pack_of(name, sheet)]
    contents = {
        digest: decompress(packed[offset : offset + size], format.MAX_STATE, "")
        for digest, offset, size in _ENTRY.iter_unpack(sheet["blobs"])
    }
    return sheet, contents


def write_states(name: str, sheet: dict[str, Any], contents: dict[bytes, bytes]) -> Files:
    """The inverse: both files."""
    blobs = packed = b""
    for digest, content in contents.items():
        stored = compress(content)
        blobs += _ENTRY.pack(digest, len(packed), len(stored))
        packed += stored
    return {name: pack_sheet(sheet | {"blobs": blobs}), _pack_of(name, sheet): packed}


def _pack_of(name: str, sheet: dict[str, Any]) -> str:
    apart = sheet.get("apart")
    folder = name.rpartition("/")[0]
    return name + format.PACKED if apart is None else f"{folder}/{format.window_name(apart, format.STATE)}"


def has_states(name: str) -> bool:
    """Whether a file has states, or lists some."""
    base = name.rpartition("/")[2]
    return base.removesuffix(format.PACKED) in (format.ORIGIN, format.KEYFRAMES) or base.endswith(format.STATE)


def _weight(name: str) -> int:
    base = name.rpartition("/")[2]
    if base in (format.ORIGIN, format.KEYFRAMES):
        return 40
    return 12 if name.endswith((format.JOURNAL, format.CHUNK)) else 1
