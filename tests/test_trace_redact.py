"""Redaction: a copy that says what was done, replays, and holds none of the data."""

from pathlib import Path
from typing import Any

import pytest
import xxhash
from click.testing import CliRunner

from cannery.recorder import format
from cannery.recorder.bundle import Bundle
from cannery.recorder.inflight import InFlight
from cannery.recorder.jsonl import dump_lines
from cannery.recorder.packing import unpack
from cannery.recorder.records import Call, Note, Record
from cannery.recorder.redact import NUMBERS, Redactor
from cannery.recorder.repair import repair
from cannery.replayer.keyframe import is_possible
from cannery.replayer.process import replay_process
from cannery.replayer.redaction import KEPT, NotFinished, StateRedactor, redact
from cannery.replayer.replay import Replay, ReplayError
from cannery.replayer.trimming import trim
from cannery.runtime.state import LARGE, capture
from cannery.tools.main import main
from tests import scenarios
from tests.live import DEVICE_BASE, HOST_BASE, SCHEMA, START, Live

from .trace_tools import SCHEMA as SMALL
from .trace_tools import Recording

SECRET = b"the name of a secret model"
SHORT = b"a short secret 123"
LONG = bytes(range(256)) * 20


def secretive(path: Path) -> Live:
    """A program with strings and content that nobody else should see."""
    live = Live()
    live.host.put(0, LONG)
    live.host.put(8192, SHORT)
    live.ok("aclrtSetDevice", 0)
    device = live.create("aclrtMalloc", 1 << 20, 0)
    live.ok("aclrtMemcpy", device, len(LONG), HOST_BASE, len(LONG), 1)
    live.ok("aclrtMemcpy", device, len(SHORT), HOST_BASE + 8192, len(SHORT), 1)
    live.ok("aclrtMemcpy", HOST_BASE + 20000, 16, device, 16, 2)
    stream = live.create("aclrtCreateStream")
    live.ok("aclmdlRICaptureBegin", stream, 2)
    _, model = live.call("aclmdlRICaptureEnd", stream, 0x1000)
    for _ in range(2):
        live.ok("aclmdlRISetName", model, SECRET)
    live.call("aclmdlRIGetName", model, 64, 0x1000)
    live.save(path)
    return live


def records(path: Path) -> list[Record]:
    with Bundle.open(path) as bundle:
        return [record for stream in bundle.processes for record in stream.records()]


def everything(path: Path) -> bytes:
    """All bytes that somebody who has the bundle can see, compressed ones too."""
    raw = b"".join(file.read_bytes() for file in path.rglob("*") if file.is_file() and file.name != "schema")
    with Bundle.open(path) as bundle:
        raw += b"".join(content for stream in bundle.processes for _, content in stream.windows())
        headers = repr([stream.header for stream in bundle.processes])
    return raw + headers.encode() + "".join(dump_lines(records(path))).encode()


@pytest.mark.parametrize("payload", ["hash", "none"])
def test_nothing_of_the_data_is_left(tmp_path: Path, payload: str) -> None:
    secretive(tmp_path / "a.cann")
    assert SECRET in everything(tmp_path / "a.cann")
    redact(tmp_path / "a.cann", tmp_path / "b.cann", hashes=payload == "hash")
    left = everything(tmp_path / "b.cann")
    for secret in (SECRET, SHORT, SHORT.hex().encode(), LONG[:64], b"./app", b"argument", SECRET.hex().encode()):
        assert secret not in left
    assert not list((tmp_path / "b.cann").rglob("*.pack"))
    assert (xxhash.xxh3_128_digest(SHORT) in left) == (payload == "hash")
    assert (xxhash.xxh3_128_digest(LONG) in left) == (payload == "hash")


def test_what_was_done_is_left(tmp_path: Path) -> None:
    secretive(tmp_path / "a.cann")
    redact(tmp_path / "a.cann", tmp_path / "b.cann")
    before, after = (
        [record for record in records(tmp_path / name) if not isinstance(record, Note)] for name in ("a.cann", "b.cann")
    )
    assert [type(record) for record in after] == [type(record) for record in before]
    for old, new in zip(before, after, strict=True):
        assert isinstance(old, Call) and isinstance(new, Call)
        assert new[:4] == old[:4]
        assert [(effect.kind, effect.payload and effect.payload.size) for effect in new.effects] == [
            (effect.kind, effect.payload and effect.payload.size) for effect in old.effects
        ]
    names = [record.ins[1] for record in after if isinstance(record, Call) and record.function == "aclmdlRISetName"]
    assert names[0] == names[1]
    assert len(names[0]) == len(SECRET)


@pytest.mark.parametrize("hashes", [True, False])
@pytest.mark.parametrize("name", [*scenarios.ALL, "secretive"])
def test_a_redacted_trace_replays(tmp_path: Path, name: str, hashes: bool) -> None:
    if name == "secretive":
        secretive(tmp_path / "a.cann")
    else:
        scenarios.ALL[name]().save(tmp_path / "a.cann")
    redact(tmp_path / "a.cann", tmp_path / "b.cann", hashes=hashes)
    with Bundle.open(tmp_path / "b.cann") as bundle:
        (stream,) = bundle.processes
        assert stream.finished
        result = replay_process(bundle, stream)
    assert result.differences == ()
    if name in WHOLE:
        assert result.damage is None
    else:
        assert result.damage is None or "it may follow from bytes " in result.damage
    assert repair(tmp_path / "b.cann").done == ()


#: Scenarios in which no result follows from content or text; in others replay may come to one, and then says so.
WHOLE = ("objects", "memory", "waits", "copies_that_wait", "functions", "events", "streams", "notifies", "secretive")


def trimmed(trace: Path, first: int, part: Path) -> Path:
    def nothing(text: str) -> None:
        raise AssertionError(text)

    with Bundle.open(trace) as bundle:
        trim(bundle, bundle.processes[0], (first, None), str(part), True, nothing)
    return part


@pytest.mark.parametrize("name", [*scenarios.ALL, "secretive"])
def test_redacted_parts_replay(tmp_path: Path, name: str) -> None:
    """From a state without its data, and with the numbers of the whole trace."""
    trace, part, copy = (tmp_path / f"{name}.cann" for name in ("a", "b", "c"))
    live = secretive(trace) if name == "secretive" else scenarios.ALL[name]()
    if name != "secretive":
        live.save(trace)
    for first in range(1, live.calls, max(live.calls // 6, 1)):
        try:
            redact(trimmed(trace, first, part), copy, force=True)
        except ReplayError as error:
            assert "a backup is kept" in str(error)
            continue
        with Bundle.open(copy) as bundle:
            (stream,) = bundle.processes
            assert stream.finished
            assert stream.begins_with_a_state
            result = replay_process(bundle, stream)
            calls = stream.counts().calls
        assert result.differences == (), first
        assert result.damage is None or "it may follow from bytes " in result.damage
        if result.damage is None:
            assert result.calls == calls
        if name in WHOLE:
            assert result.damage is None
        assert repair(copy).done == ()


def test_nothing_of_the_data_is_left_in_the_state_of_a_part(tmp_path: Path) -> None:
    live = secretive(tmp_path / "a.cann")
    part, copy = trimmed(tmp_path / "a.cann", live.calls - 1, tmp_path / "b.cann"), tmp_path / "c.cann"
    redact(part, copy)
    states = []
    for path in (part, copy):
        with Bundle.open(path) as bundle:
            origin = bundle.processes[0].keyframes(format.ORIGIN)
            assert origin is not None
            states.append(origin.content(origin.frames[0].digest))
    before, after = (unpack(state, format.MAX_STATE) for state in states)
    assert SECRET in states[0]
    assert SECRET not in states[1]
    assert before["pages"]
    assert not after["pages"]
    assert not [secret for secret in (SECRET, SHORT, LONG[:64]) if secret in everything(copy)]


def contents(value: Any) -> set[bytes]:
    """All bytes in a value of a state, but for short ones and numbers."""
    if isinstance(value, bytes):
        return {value} if len(value) > 1 else set()
    if isinstance(value, tuple) and value[:1] != (LARGE,):
        return {found for each in value for found in contents(each)}
    return set()


@pytest.mark.parametrize("name", scenarios.ALL)
def test_bytes_of_a_state_are_left_only_where_they_are_numbers(name: str) -> None:
    """Of every class: what a new one keeps for the program is redacted without anybody's doing."""
    redactor = StateRedactor(Redactor(SCHEMA, True))
    live = scenarios.ALL[name]()
    replay = Replay(live.settings, SCHEMA, DEVICE_BASE, live.host.span, START, live.host.content)
    for record in live.records:
        replay.run([record])
        if not is_possible(replay):
            continue
        wire = capture(replay.machine).to_wire()
        left = redactor.machine(wire)
        assert left["classes"] == wire["classes"]
        for (number, *before), (_, *after) in zip(wire["objects"], left["objects"], strict=True):
            cls, *fields = wire["classes"][number]
            for field, old, new in zip(fields, before, after, strict=True):
                kept = contents(old) & contents(new)
                assert not kept or f"{cls}.{field}" in KEPT, (cls, field, kept)


def test_a_wrong_number_in_a_redacted_trace_is_a_difference(tmp_path: Path) -> None:
    live = secretive(tmp_path / "a.cann")
    redact(tmp_path / "a.cann", tmp_path / "b.cann")
    altered = records(tmp_path / "b.cann")
    place = next(n for n, each in enumerate(altered) if getattr(each, "function", "") == "aclmdlRIGetName")
    record: Any = altered[place]
    for change in ({"ret": 5}, {"outs": (record.outs[0][:-1],)}):
        replay = live.replay([*altered[:place], record._replace(**change)])
        assert replay.compared.differences


def test_windows_that_grow_are_divided(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("cannery.recorder.rewrite._FULL", 3000)
    recording = Recording(tmp_path / "a.cann")
    for number in range(300):
        recording.call("copy", (1, 2, 3, 0), 0, [(format.READ, bytes([number % 250]) * 5)] * (1 + number % 3))
    recording.writer.skip(7)
    recording.call("copy", (1, 2, 3, 0), 0, [(format.READ, b"x")] * 3000)
    recording.die()
    redact(recording.path, tmp_path / "b.cann")
    after = [record for record in records(tmp_path / "b.cann") if isinstance(record, Call)]
    before = [record for record in records(recording.path) if isinstance(record, Call)]
    assert [(r.number, r.time, len(r.effects)) for r in after] == [(r.number, r.time, len(r.effects)) for r in before]
    assert after[-1].number == 307
    assert len(list((tmp_path / "b.cann").rglob("*.chunk"))) > 5


def test_a_trace_that_is_being_written_is_refused(tmp_path: Path) -> None:
    recording = Recording(tmp_path / "a.cann")
    with pytest.raises(NotFinished, match="process 1 still runs"):
        redact(recording.path, tmp_path / "b.cann")
    assert not (tmp_path / "b.cann").exists()


def test_calls_in_flight_keep_their_names_and_lose_their_arguments(tmp_path: Path) -> None:
    recording = Recording(tmp_path / "a.cann")
    recording.call("use", (5,))
    recording.folder.inflight[64:128] = InFlight(2, SMALL["sizes"], (0xEEEEEEEE, 5)).pack()
    recording.die()
    redact(recording.path, tmp_path / "b.cann")
    with Bundle.open(tmp_path / "b.cann") as bundle:
        (call,) = bundle.processes[0].inflight()
    assert (call.function.name, call.thread, set(call.args)) == ("sizes", 2, {0})


def test_the_command(tmp_path: Path) -> None:
    trace, target = tmp_path / "a.cann", tmp_path / "b.cann"
    secretive(trace)
    command = ["redact", str(trace), "-o", str(target)]
    assert CliRunner().invoke(main, command).stdout == f"{target}: written\n"
    again = CliRunner().invoke(main, command)
    assert (again.exit_code, again.stderr) == (2, f"cannery: {target} exists; --force replaces it\n")
    assert CliRunner().invoke(main, [*command, "--force", "--payload", "none"]).exit_code == 0
    assert "not compared" in CliRunner().invoke(main, ["replay", str(target)]).stdout
    (trace / "p0001" / "000001.journal").write_bytes(b"\xc1")
    target.rename(tmp_path / "c.cann")
    damaged = CliRunner().invoke(main, command)
    assert (damaged.exit_code, "p0001/000001.journal: damaged" in damaged.stderr) == (2, True)
    assert sorted(path.name for path in tmp_path.iterdir()) == ["a.cann", "c.cann"]


def test_what_stays_as_it_was_is_there_and_no_text() -> None:
    bytes_of = {
        f"{form.name}({param.name})": param.ctype
        for form in SCHEMA.functions
        for param in form.params
        if "bytes" in (param.into, param.out)
    }
    assert bytes_of.keys() >= NUMBERS
    assert not [name for name in NUMBERS if "char" in bytes_of[name]]
