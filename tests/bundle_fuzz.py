"""Mutates small bundles and asks a reader and the replayer everything about them.

Most mutations are made where a check does not catch them: on decoded records, sheets, tables and frames, whose checks
are then made right again. The rest alters bytes. A test runs a few seconds of it; a long run is

    python -m tests.bundle_fuzz --count 1000000 --seed 1

which prints the figures of docs/trace-format.md, section 11, and every bundle that breaks a rule.
"""

import argparse
import random
import resource
import shutil
import signal
import struct
import sys
import tempfile
import time
import traceback
from collections import Counter
from collections.abc import Callable, Iterator
from functools import reduce
from itertools import islice
from operator import length_hint
from pathlib import Path
from typing import Any

from cannery.recorder import format
from cannery.recorder.bundle import Bundle
from cannery.recorder.chunk import Summary, failing_functions, pack_chunk, summarise
from cannery.recorder.compression import decompress
from cannery.recorder.format import DamagedTrace, TraceError
from cannery.recorder.inflight import InFlight
from cannery.recorder.jsonl import dump_lines, load_lines
from cannery.recorder.pack import HEADER_SIZE, frame_header
from cannery.recorder.packing import UNPACK_ERRORS, pack, unpack, unpacker
from cannery.recorder.rows import RowMaker
from cannery.recorder.schema import Schema, schema_digest
from cannery.recorder.seal import finish
from cannery.recorder.sheet import pack_sheet, unpack_sheet
from cannery.recorder.stream import committed, layouts_of
from cannery.replayer.printer import Printer
from cannery.replayer.process import replay_process
from cannery.replayer.replay import ReplayError
from tests import scenarios
from tests.live import Live

Files = dict[str, bytes]

MEMORY = 256 << 20  # bytes of device memory that a replay may use
SECONDS = 20  # a bundle that takes longer hangs
NUMBERS = (0, 1, 2, 5, -1, -33, 127, 128, 255, 4096, 65535, 1 << 31, (1 << 32) - 1, 1 << 40, 1 << 62, (1 << 64) - 1)
OTHERS = (None, True, False, 2.5, float("nan"), float("inf"), b"", bytes(8), bytes(16), bytes(33), "", "text", ())
HEADS = (b"\xdd\xff\xff\xff\xff", b"\xdc\xff\xff", b"\xdf\xff\xff\xff\xff", b"\xc6\x7f\xff\xff\xff")  # huge lengths
DEEP = reduce(lambda inside, _: (inside,), range(1000), None)
NESTED = (DEEP, (1, 2), (1 << 40, 5), (40, bytes(16)), (40, None), ((1,), (2,)), {"key": 1}, {b"k": ()}, (-1,) * 9)


class Found(Exception):  # noqa: N818 - what the fuzzer is for
    """A mutated bundle broke a rule; the text says which, and how to make it again."""


# Seeds


def small(live: Live, path: Path) -> Files:
    """A scenario as a bundle whose function table has what it calls, so that it opens in a millisecond."""
    live.save(path)
    with Bundle.open(path) as bundle:
        records = [*bundle.processes[0].records()]
        called = {record.function for record in records if isinstance(getattr(record, "function", None), str)}
        functions = [form for form in bundle.schema.functions if form.name in called]
    schema = Schema([form._replace(number=number) for number, form in enumerate(functions)], {})
    for folder in (path, path / "p0001"):
        for file in folder.iterdir():
            if file.suffix == format.JOURNAL or file.name == format.SCHEMA:
                file.unlink()
    maker = RowMaker(schema)
    rows = [row for record in records for row in maker.rows(record)]
    (path / format.SCHEMA).write_bytes(schema.pack())
    sheet, _ = unpack_sheet((path / format.BUNDLE).read_bytes(), "")
    (path / format.BUNDLE).write_bytes(pack_sheet(sheet | {"schema": schema_digest(schema.pack())}))
    journal = b"".join(map(pack, [(format.WINDOW, 1, 0, 0), *rows]))
    (path / "p0001" / "000001.journal").write_bytes(journal + bytes(format.WINDOW_RESERVE))
    slots = InFlight(1, schema.functions[0], (5, 6)).pack().ljust(format.SLOTS * format.SLOT_SIZE, b"\0")
    (path / "p0001" / format.INFLIGHT).write_bytes(slots)
    return load(path)


def load(path: Path) -> Files:
    return {str(file.relative_to(path)): file.read_bytes() for file in sorted(path.rglob("*")) if file.is_file()}


def seeds(folder: Path) -> list[Files]:
    """Every scenario, as the program left it and sealed."""
    found = []
    for number, scenario in enumerate(scenarios.ALL.values()):
        path = folder / f"seed-{number}.cann"
        found.append(small(scenario(), path))
        finish(path)
        found.append(load(path))
    return found


# Mutations


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
        weights = [12 if name.endswith((format.JOURNAL, format.CHUNK)) else 1 for name in names]
        return self.chance.choices(names, weights)[0]

    def _structured(self, name: str, files: Files) -> Files | None:
        base = name.rpartition("/")[2]
        data = files[name]
        try:
            if base.endswith(format.JOURNAL):
                return {name: self._records(data[: committed(data, name)])}
            if base.endswith(format.CHUNK):
                return {name: self._chunk(data, files)}
            if base == format.SCHEMA:
                return self._schema(data, files)
            if base == format.PACK:
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
        place = self.chance.randrange(len(value))
        parts = list(value)
        what = self.chance.random()
        if what < 0.7:
            parts[place] = self._inside(parts[place])
        elif what < 0.8:
            del parts[place]
        elif what < 0.9:
            parts.insert(place, self.chance.choice(parts))
        else:
            other = self.chance.randrange(len(parts))
            parts[place], parts[other] = parts[other], parts[place]
        return tuple(parts)

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


# What is asked of a bundle


def ask(path: Path, rest: bool = True) -> str:
    """What a reader and the replayer can be asked; with ``rest`` also what takes long. Return in a word how it went.

    Raises:
        TraceError, ReplayError: what is wrong with the bundle.
        Found: it broke a rule.
    """
    with Bundle.open(path) as bundle:
        printer = Printer(bundle.schema)
        words = [_ask_process(bundle, ordinal, printer, rest) for ordinal in range(len(bundle.processes))]
        _ = bundle.end
    return max(words, default="empty")


def _ask_process(bundle: Bundle, place: int, printer: Printer, rest: bool) -> str:
    stream = bundle.processes[place]
    records = [*stream.records(tolerant=True)]
    if rest:
        lines = [*dump_lines(records)]
        if repr([*load_lines(lines)]) != repr(records):
            raise Found("JSON lines lose something")
    for record in records:
        printer.line(record)
    exact = replay_process(bundle, stream, memory=MEMORY)
    for changes, keep_going in (({}, True), ({"schedule": "late"}, False)):
        if rest and (changes or not exact.same):
            replay_process(bundle, stream, changes, keep_going, memory=MEMORY).to_json()
    stream.inflight()
    stream.counts()
    [*stream.records(3)]
    _ = stream.settings, stream.end, stream.alive, stream.finished
    for record in records:
        for effect in getattr(record, "effects", ()):
            if effect.payload is not None:
                bundle.content(effect.payload)
    if exact.damage is not None:
        return "replayed to the damage"
    return "same" if exact.same else "differs"


class Fuzzer:
    """Writes mutated bundles into one folder and asks about each."""

    def __init__(self, folder: Path, seed: int) -> None:
        self.seed = seed
        self.seeds = seeds(folder)
        self.words: Counter[str] = Counter()
        self.worst_bytes = 0
        self.worst_seconds = 0.0
        self._places = [folder / f"m{number}.cann" for number in range(len(self.seeds))]
        for place, files in zip(self._places, self.seeds, strict=True):
            write(place, files)
            ask(place)

    def run(self, numbers: Iterator[int]) -> None:
        """Raises Found."""
        before = signal.signal(signal.SIGALRM, _hangs)
        try:
            for number in numbers:
                self.one(number)
        finally:
            signal.alarm(0)
            signal.signal(signal.SIGALRM, before)

    def one(self, number: int) -> None:
        """Mutation ``number``, the same each time. Raises Found."""
        chance = random.Random(f"{self.seed}:{number}")
        which = chance.randrange(len(self.seeds))
        changed = Mutator(chance).mutate(self.seeds[which])
        self._about(which, changed, number, lambda path: ask(path, number % 4 == 0))
        if number % 8 == 0:
            self._about(which, changed, number, _seal, spoils=True)

    def _about(
        self, which: int, changed: Files, number: int, question: Callable[[Path], str], spoils: bool = False
    ) -> None:
        path, files = self._places[which], self.seeds[which]
        write(path, changed)
        memory, start = _peak(), time.perf_counter()
        signal.alarm(SECONDS)
        try:
            word = question(path)
        except (TraceError, ReplayError) as error:
            word = "refused" if str(error) else "refused without a word"
        except BaseException as error:
            signal.alarm(0)
            shutil.rmtree(path)
            write(path, files)
            name = f"bundle {number} of seed {self.seed} ({which}: {', '.join(changed)})"
            raise Found(f"{name}: {traceback.format_exc()}") from error
        signal.alarm(0)
        self.words[word] += 1
        self.worst_seconds = max(self.worst_seconds, time.perf_counter() - start)
        self.worst_bytes = max(self.worst_bytes, _peak() - memory)
        if spoils:
            shutil.rmtree(path)
            write(path, files)
        else:
            write(path, {name: files[name] for name in changed})


def _seal(path: Path) -> str:
    finish(path)
    return "sealed"


def write(path: Path, files: Files) -> None:
    for name, data in files.items():
        target = path / name
        target.parent.mkdir(parents=True, exist_ok=True)
        target.write_bytes(data)


def _peak() -> int:
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss << 10


def _hangs(*_: object) -> None:
    raise Found(f"took more than {SECONDS} s")


def main() -> None:
    parser = argparse.ArgumentParser(description="Mutate bundles and ask about them.")
    parser.add_argument("--count", type=int, default=10_000)
    parser.add_argument("--first", type=int, default=0)
    parser.add_argument("--seed", type=int, default=1)
    chosen = parser.parse_args()
    shared = Path("/dev/shm")
    with tempfile.TemporaryDirectory(dir=shared if shared.is_dir() else None) as folder:
        fuzzer = Fuzzer(Path(folder), chosen.seed)
        start, found = time.monotonic(), 0
        numbers = iter(range(chosen.first, chosen.first + chosen.count))
        left = chosen.count
        while left:
            try:
                fuzzer.run(islice(numbers, left % 10_000 or 10_000))
            except Found as broken:
                found += 1
                print(broken, flush=True)
            left = length_hint(numbers)
            done = chosen.count - left
            rate = done / (time.monotonic() - start)
            worst = f"slowest {fuzzer.worst_seconds:.2f} s, most memory {fuzzer.worst_bytes >> 20} MiB"
            print(f"{done} bundles, {rate:.0f} a second, {worst}, {dict(fuzzer.words)}", flush=True)
        print(f"{chosen.count} bundles: {found} broke a rule; {dict(fuzzer.words)}", flush=True)
    sys.exit(found > 0)


if __name__ == "__main__":
    main()
