"""Damage: a bundle is untrusted input. An altered or missing byte gives an error that names its place, and what lies
before it stays readable; nothing else is ever raised, and memory stays bounded."""

import os
import random
import resource
import shutil
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest
import zstandard
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from cannery.recorder import format
from cannery.recorder.addresses import AddressBook
from cannery.recorder.bundle import Bundle
from cannery.recorder.codec import Wire, WireError
from cannery.recorder.format import DamagedTrace, TraceError
from cannery.recorder.packing import pack
from cannery.recorder.records import Call, Enter, Exit, Record
from cannery.recorder.seal import finish
from cannery.recorder.sheet import pack_sheet, unpack_sheet
from cannery.runtime.handles import handle_of
from cannery.runtime.invoke import Invoke

from .trace_tools import BASE, LAYOUTS, SCHEMA, SPAN, Recording

FILES = (
    "bundle",
    "schema",
    "p0001/process",
    "p0001/index",
    "p0001/000001.chunk",
    "p0001/000002.chunk",
    "p0001/payloads.pack",
)


def small(path: Path, sealed: bool = True) -> Path:
    """A bundle of a few kilobytes with three windows."""
    recording = Recording(path, window_size=4096)
    codec = recording.writer.codec(SCHEMA["use"].number)
    for number in range(12):
        recording.call("copy", (BASE, 40, 0x7000_0000 + 4096 * (number // 4), handle_of(2)), effects=[
            (format.READ, recording.store.keep(bytes([number // 3]) * 40, True))
        ])  # fmt: skip
        recording.call("make", (16, number), (0, handle_of(number + 1)))
        recording.call("sizes", (number, 0, bytes([number]) * 1000))
    number = recording.writer.enter(codec, 2, recording.now, (handle_of(1),), ())
    recording.writer.pace(recording.now + 5, [(format.WRITE, (100, bytes(16)))])
    recording.writer.exit(codec, number, 2, 107000)
    number = recording.writer.enter(codec, 2, recording.now + 6, (handle_of(1),), [(format.THREAD, 1, 2)])
    recording.writer.invoke(2, 0, Invoke(0x4000, (0x5000,), "void(ptr)"))
    recording.writer.invoke(0, 1, Invoke(0x6000, (7, 0), "u32(i32,ptr)"))
    recording.writer.returned(2, recording.now + 7, 0, [(format.FILL,)])
    recording.writer.exit(codec, number, 2, 0)
    recording.writer.errand(1, recording.now + 8, 5, ())
    recording.die()
    if sealed:
        finish(path)
    return path


def everything(path: Path) -> tuple[list[list[Record]], list[Any]]:
    """All that a reader can ask for. Raises TraceError."""
    bundle = Bundle.open(path)
    records = [list(stream.records()) for stream in bundle.processes]
    rest: list[Any] = [
        (stream.counts()._replace(size=0), stream.inflight(), stream.settings) for stream in bundle.processes
    ]
    for stream in records:
        for record in stream:
            for effect in getattr(record, "effects", ()):
                if effect.payload is not None:
                    rest.append(bundle.content(effect.payload))
    return records, rest


def readable(path: Path) -> list[Record]:
    """The records of the first process up to the damage."""
    found: list[Record] = []
    try:
        for record in Bundle.open(path).processes[0].records():
            found.append(record)
    except (TraceError, IndexError):
        pass
    return found


def check(path: Path, whole: tuple[list[list[Record]], list[Any]], label: str) -> None:
    """Equal data, or an error that names the place, and the records before it."""
    try:
        assert everything(path) == whole, label
    except TraceError as error:
        assert str(error), label
        if isinstance(error, DamagedTrace):
            assert error.offset >= 0
            assert not error.path.startswith("/")
    before = readable(path)
    assert before == whole[0][0][: len(before)], label


def alterations(data: bytes) -> list[tuple[str, bytes]]:
    found = []
    for offset in range(len(data)):
        for bit in (1, 0x80, 0xFF):
            found.append(
                (f"byte {offset} ^ {bit:#x}", data[:offset] + bytes([data[offset] ^ bit]) + data[offset + 1 :])
            )
        found.append((f"cut at {offset}", data[:offset]))
    return random.Random(5).sample(found, min(len(found), 3000))


@pytest.mark.parametrize("name", FILES)
def test_every_altered_byte_of_a_sealed_bundle_is_noticed_or_harmless(tmp_path: Path, name: str) -> None:
    path = small(tmp_path / "a.cann")
    whole = everything(path)
    victim = path / name
    data = victim.read_bytes()
    for label, altered in alterations(data):
        victim.write_bytes(altered)
        check(path, whole, f"{name}: {label}")


@pytest.mark.parametrize("name", FILES)
def test_a_missing_file_is_noticed_or_harmless(tmp_path: Path, name: str) -> None:
    path = small(tmp_path / "a.cann")
    whole = everything(path)
    (path / name).unlink()
    if name.endswith("process"):
        assert Bundle.open(path).processes == []
    else:
        check(path, whole, name)


def test_a_missing_window_is_damage_where_it_is_missing(tmp_path: Path) -> None:
    path = small(tmp_path / "a.cann")
    whole = everything(path)[0][0]
    count = len(list((path / "p0001").glob("*.chunk")))
    (path / "p0001" / "000002.chunk").unlink()
    (stream,) = Bundle.open(path).processes
    found = []
    with pytest.raises(DamagedTrace, match=r"p0001/000002.chunk is missing"):
        for record in stream.records():
            found.append(record)
    assert found == whole[: len(found)] != []
    tolerant = list(stream.records(tolerant=True))
    assert [problem.path for problem in stream.problems] == ["p0001/000002.chunk"]
    assert tolerant[: len(found)] == found
    assert count >= 3
    assert tolerant[-1] == whole[-1]


def test_no_altered_byte_of_a_journal_raises_anything_else(tmp_path: Path) -> None:
    """Journals have no check, so a value may differ unnoticed; a reader must survive all the same."""
    path = small(tmp_path / "a.cann", sealed=False)
    victim = path / "p0001" / "000001.journal"
    for _, altered in alterations(victim.read_bytes().rstrip(b"\0"))[:1000]:
        victim.write_bytes(altered)
        for tolerant in (False, True):
            try:
                (stream,) = Bundle.open(path).processes
                list(stream.records(tolerant=tolerant))
                stream.counts()
            except DamagedTrace as damage:
                assert damage.path.startswith("p0001/00000")
        try:
            decode(readable(path))
        except WireError as error:
            assert str(error)


def decode(records: list[Record]) -> None:
    """What a replayer does with values."""
    wire = Wire(AddressBook(BASE, SPAN))
    for record in records:
        if isinstance(record, Call | Enter):
            wire.function(SCHEMA[record.function]).decode_ins(record.ins)
        if isinstance(record, Call | Exit):
            wire.function(SCHEMA[record.function]).decode_outs(record.outs)
            wire.function(SCHEMA[record.function]).decode_result(record.ret)


@given(st.binary(max_size=200), st.booleans())
@settings(suppress_health_check=[HealthCheck.too_slow])
def test_any_bytes_are_records_or_damage(junk: bytes, journal: bool) -> None:
    from cannery.recorder.stream import Head, read_window

    try:
        records = list(read_window(pack((-1, 1, 0, 0)) + junk, Head(1, 0, 0), LAYOUTS, "w", journal=journal))
        decode(records)
    except (DamagedTrace, WireError):
        pass


@given(st.binary(max_size=200))
def test_any_bytes_are_a_sheet_or_damage(junk: bytes) -> None:
    try:
        content, end = unpack_sheet(junk, "x")
    except DamagedTrace:
        return
    assert isinstance(content, dict)
    assert end <= len(junk)


@given(
    st.dictionaries(
        st.text(max_size=8),
        st.one_of(st.none(), st.integers(-9, 9), st.text(max_size=5), st.binary(max_size=5)),
        max_size=4,
    )
)
@settings(suppress_health_check=[HealthCheck.function_scoped_fixture], max_examples=40)
def test_a_sheet_with_other_content_is_refused_in_words(tmp_path: Path, content: dict[str, Any]) -> None:
    path = tmp_path / "a.cann"
    if not path.exists():
        small(path)
    for name in ("bundle", "p0001/process", "p0001/index", "p0001/000001.chunk"):
        victim = path / name
        data = victim.read_bytes()
        original, end = unpack_sheet(data, "")
        for sheet in (content, {**original, **{key: content.get("") for key in original if len(key) % 2}}):
            victim.write_bytes(pack_sheet(sheet) + data[end:])
            try:
                everything(path)
            except TraceError as error:
                assert str(error)
        victim.write_bytes(data)


BOMBS = {
    "an array of 4 billion": b"\xdd\xff\xff\xff\xff" * 200,
    "a text of 4 GB": b"\xdb\xff\xff\xff\xff",
    "a map of 4 billion": b"\xdf\xff\xff\xff\xff",
    "arrays in arrays": b"\xdc\xff\xff" * 20000,
    "an extension": b"\xc9\xff\xff\xff\xff\x05",
    "deep": b"\x91" * 100_000,
}


@pytest.mark.parametrize("bomb", [*BOMBS, "zstd of 1 GB", "zstd of unknown size", "a schema of 1 GB"])
def test_a_small_file_cannot_make_the_reader_take_much_memory(tmp_path: Path, bomb: str) -> None:
    path = small(tmp_path / "a.cann")
    chunk = path / "p0001" / "000001.chunk"
    if bomb == "a schema of 1 GB":
        (path / "schema").write_bytes(zstandard.ZstdCompressor().compress(bytes(1 << 30)))
    elif bomb.startswith("zstd"):
        _, end = unpack_sheet(chunk.read_bytes(), "")
        compressor = zstandard.ZstdCompressor(write_content_size=bomb == "zstd of 1 GB")
        if bomb == "zstd of 1 GB":
            frame = compressor.compress(bytes(1 << 30))
        else:
            stream = compressor.compressobj()
            frame = stream.compress(bytes(1 << 30)) + stream.flush()
        chunk.write_bytes(chunk.read_bytes()[:end] + pack(frame))
    else:
        chunk.unlink()
        (path / "p0001" / "000001.journal").write_bytes(pack((-1, 1, 0, 0)) + BOMBS[bomb])
    program = (
        "import resource, sys\n"
        "from cannery.recorder.bundle import Bundle\n"
        "from cannery.recorder.format import DamagedTrace\n"
        "import cannery.recorder.compression\n"
        "used = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss\n"
        "try:\n"
        "    for stream in Bundle.open(sys.argv[1]).processes: list(stream.records())\n"
        "except DamagedTrace as damage: print(damage.path)\n"
        "print((resource.getrusage(resource.RUSAGE_SELF).ru_maxrss - used) >> 10)\n"
    )
    done = subprocess.run([sys.executable, "-c", program, str(path)], capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    damaged, mebibytes = done.stdout.split()
    assert damaged in ("schema", "p0001/000001.chunk", "p0001/000001.journal")
    assert int(mebibytes) < 700  # a thousand nested arrays of 65535: the worst that the limits allow


def test_a_file_larger_than_it_may_be_is_not_read(tmp_path: Path) -> None:
    path = small(tmp_path / "a.cann", sealed=False)
    journal = path / "p0001" / "000001.journal"
    os.truncate(journal, 1 << 40)  # sparse
    with pytest.raises(DamagedTrace, match="at most"):
        list(Bundle.open(path).processes[0].records())
    shutil.rmtree(path)
    assert resource.getrusage(resource.RUSAGE_SELF).ru_maxrss < 4 << 20
