"""Sealing: the same trace before, during and after, wherever a kill comes."""

import os
import shutil
from pathlib import Path
from typing import Any

import pytest

from cannery.recorder import format
from cannery.recorder.bundle import Bundle
from cannery.recorder.records import Call, Note, Record
from cannery.recorder.seal import Sealer, finish, note_end, seal_full_windows
from cannery.runtime.handles import handle_of

from .trace_tools import Recording


class Killed(BaseException):
    """The sealer died here."""


def record(path: Path, calls: int = 900) -> Recording:
    recording = Recording(path, window_size=4096)
    for number in range(calls):
        effects = [(format.READ, recording.store.keep(bytes([number % 251]) * 100, True))] if number % 50 == 0 else []
        recording.call("pair", (handle_of(number + 1), handle_of(5)), number % 4, effects, thread=number % 3)
    return recording


def content(path: Path) -> Any:
    """All that a reader finds, but for the sizes of files."""
    bundle = Bundle.open(path)
    streams: list[list[Record]] = [list(stream.records()) for stream in bundle.processes]
    counts = [stream.counts()._replace(size=0) for stream in bundle.processes]
    payloads = [stream.payload_sizes() for stream in bundle.processes]
    return streams, counts, payloads


def names(recording: Recording, pattern: str) -> list[str]:
    return sorted(file.name for file in Path(recording.folder.path).glob(pattern))


def test_only_full_windows_are_sealed_while_the_program_runs(tmp_path: Path) -> None:
    recording = record(tmp_path / "a.cann")
    before = content(recording.path)
    last = names(recording, "*.journal")[-1]
    assert seal_full_windows(recording.path) == len(names(recording, "*.chunk")) >= 2
    assert names(recording, "*.journal") == [last]
    assert content(recording.path) == before
    recording.call("use", (handle_of(9),))
    *others, new = Bundle.open(recording.path).processes[0].records()
    assert (others, new) == (before[0][0], Call(900, 1, 90100, "use", 0, (9,), (), ()))
    assert seal_full_windows(recording.path) == 0


def test_a_process_that_lives_is_not_finished(tmp_path: Path) -> None:
    living, dead = record(tmp_path / "a.cann"), record(tmp_path / "a.cann", 10)
    dead.die()
    sealed = finish(living.path)
    assert (sealed.open_streams, sealed.problems) == ((1,), ())
    assert (len(names(living, "*.journal")), names(dead, "*.journal")) == (1, [])
    living.call("use", (handle_of(9),))
    assert [len(list(stream.records())) for stream in Bundle.open(living.path).processes] == [901, 10]
    assert [stream.finished for stream in Bundle.open(living.path).processes] == [False, True]


def test_what_is_finished_reads_the_same_and_is_smaller(tmp_path: Path) -> None:
    recording = record(tmp_path / "a.cann")
    before = content(recording.path)
    size = Bundle.open(recording.path).processes[0].counts().size
    recording.die()
    sealed = finish(recording.path)
    assert sealed.windows > 2
    assert names(recording, "*") == [
        *[f"{n:06d}.chunk" for n in range(1, sealed.windows + 1)],
        "index",
        "inflight",
        "payloads.pack",
        "process",
    ]
    assert content(recording.path) == before
    (stream,) = Bundle.open(recording.path).processes
    assert stream.finished
    assert stream.counts().size < size
    assert finish(recording.path).windows == 0
    assert content(recording.path) == before


def test_the_index_is_only_a_copy(tmp_path: Path) -> None:
    recording = record(tmp_path / "a.cann")
    recording.die()
    finish(recording.path)
    before = content(recording.path)
    tails = [list(Bundle.open(recording.path).processes[0].records(start)) for start in (0, 1, 450, 899)]
    index = Path(recording.folder.path, "index")
    for damage in (lambda data: b"", lambda data: data[:-1], lambda data: b"\0" + data[1:], None):
        whole = index.read_bytes()
        if damage is None:
            index.unlink()
        else:
            index.write_bytes(damage(whole))
        assert content(recording.path) == before
        stream = Bundle.open(recording.path).processes[0]
        assert [list(stream.records(start)) for start in (0, 1, 450, 899)] == tails
        index.write_bytes(whole)


def test_an_index_of_other_files_is_not_used(tmp_path: Path) -> None:
    recording = record(tmp_path / "a.cann")
    recording.die()
    finish(recording.path)
    other = record(tmp_path / "b.cann", 1200)
    other.die()
    finish(other.path)
    shutil.copy(Path(other.folder.path, "index"), Path(recording.folder.path, "index"))
    assert content(recording.path)[1][0].calls == 900


def test_opening_a_sealed_trace_reads_no_window(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    recording = record(tmp_path / "a.cann")
    recording.die()
    finish(recording.path)
    (stream,) = Bundle.open(recording.path).processes
    monkeypatch.setattr("cannery.recorder.process.unpack_chunk", None)
    monkeypatch.setattr("cannery.recorder.process.read_summary", None)
    monkeypatch.setattr("cannery.recorder.pack.scan", lambda *_: ())
    assert stream.counts().calls == 900
    assert len(stream.payload_sizes()) == 18


OPERATIONS = ("open", "write", "rename", "unlink")


def kill_after(monkeypatch: pytest.MonkeyPatch, count: int) -> None:
    """Die instead of the file operation number ``count``; a write leaves half of its bytes."""
    left = count

    def wrap(name: str, real: Any) -> Any:
        def operation(*args: Any, **more: Any) -> Any:
            nonlocal left
            if name == "open" and not args[1] & os.O_CREAT:
                return real(*args, **more)
            if left == 0:
                if name == "write":
                    real(args[0], args[1][: len(args[1]) // 2])
                raise Killed
            left -= 1
            return real(*args, **more)

        return operation

    for name in OPERATIONS:
        monkeypatch.setattr(os, name, wrap(name, getattr(os, name)))


def test_a_kill_between_any_two_steps_leaves_a_bundle_that_reads_the_same(tmp_path: Path) -> None:
    recording = record(tmp_path / "a.cann")
    recording.die()
    before = content(recording.path)
    finished = tmp_path / "finished.cann"
    shutil.copytree(recording.path, finished)
    finish(finished)
    steps = 0
    while True:
        path = tmp_path / f"{steps}.cann"
        shutil.copytree(recording.path, path)
        with pytest.MonkeyPatch.context() as patch:
            kill_after(patch, steps)
            try:
                finish(path)
                break
            except Killed:
                pass
        assert content(path) == before, f"after {steps} operations"
        finish(path)
        assert content(path) == before
        assert sorted(p.name for p in (path / "p0001").iterdir()) == sorted(
            p.name for p in (finished / "p0001").iterdir()
        )
        steps += 1
    assert steps > 15


def test_two_sealers_do_not_disturb_each_other(tmp_path: Path) -> None:
    import fcntl

    recording = record(tmp_path / "a.cann")
    recording.die()
    other = os.open(recording.folder.path, os.O_RDONLY)
    fcntl.flock(other, fcntl.LOCK_EX)
    assert finish(recording.path).windows == 0
    assert Sealer(recording.path).seal_full_windows() == 0
    os.close(other)
    assert finish(recording.path).windows > 2


def test_a_reader_may_have_found_a_journal_that_is_then_sealed(tmp_path: Path) -> None:
    recording = record(tmp_path / "a.cann")
    recording.die()
    (stream,) = Bundle.open(recording.path).processes
    records = stream.records()
    first = next(records)
    finish(recording.path)
    assert [first, *records] == content(recording.path)[0][0]


def test_a_damaged_window_stays_and_is_named(tmp_path: Path) -> None:
    recording = record(tmp_path / "a.cann")
    recording.die()
    journal = Path(recording.folder.path, "000002.journal")
    data = bytearray(journal.read_bytes())
    data[100:] = b"\xc1" * (len(data) - 100)
    journal.write_bytes(data)
    sealed = finish(recording.path)
    assert len(sealed.problems) == 1
    assert sealed.problems[0].startswith("p0001/000002.journal: damaged at byte ")
    assert names(recording, "*.journal") == ["000002.journal"]
    assert names(recording, "index") == []
    (stream,) = Bundle.open(recording.path).processes
    got = [record.number for record in stream.records(tolerant=True) if isinstance(record, Call)]
    assert got[0] == 0
    assert got[-1] == 899
    assert 400 < len(got) < 900
    assert [problem.path for problem in stream.problems] == ["p0001/000002.journal"]


def test_a_window_that_was_never_written_to_is_removed(tmp_path: Path) -> None:
    recording = record(tmp_path / "a.cann")
    recording.die()
    last = int(names(recording, "*.journal")[-1][:6])
    Path(recording.folder.path, format.window_name(last + 1, format.JOURNAL)).write_bytes(bytes(4096))
    before = content(recording.path)
    assert finish(recording.path).windows == last
    assert names(recording, "*.journal") == []
    assert content(recording.path) == before


def test_a_process_that_is_about_to_begin_is_left_alone(tmp_path: Path) -> None:
    record(tmp_path / "a.cann").die()
    beginning = tmp_path / "a.cann" / "p0002"
    beginning.mkdir()
    (beginning / "inflight.new").write_bytes(bytes(65536))
    finish(tmp_path / "a.cann")
    assert [file.name for file in beginning.iterdir()] == ["inflight.new"]


@pytest.mark.parametrize(("status", "expected"), [(0, {"status": 0}), (3 << 8, {"status": 3}), (9, {"signal": 9})])
def test_how_it_ended(tmp_path: Path, status: int, expected: dict[str, int]) -> None:
    first, second = Recording(tmp_path / "a.cann"), Recording(tmp_path / "a.cann")
    note_end(first.path, os.getpid(), status)
    bundle = Bundle.open(first.path)
    assert bundle.end == expected
    assert [stream.end for stream in bundle.processes] == [None, expected]  # the last image that this process ran
    note_end(first.path, 1 << 22, 0)
    assert Bundle.open(first.path).end == {"status": 0}
    assert second.folder.ordinal == 2


def test_why_recording_stopped_survives_sealing(tmp_path: Path) -> None:
    recording = record(tmp_path / "a.cann")
    recording.writer.stop("the disk is full")
    recording.die()
    finish(recording.path)
    (stream,) = Bundle.open(recording.path).processes
    assert stream.counts().stopped == "the disk is full"
    assert list(stream.records())[-1] == Note("stopped", "the disk is full")


def test_threads_are_counted_where_they_are_too_many_to_list(tmp_path: Path) -> None:
    recording = Recording(tmp_path / "a.cann")
    for number in range(5000):
        recording.call("use", (0,), thread=number)
    recording.die()
    finish(recording.path)
    assert len(Bundle.open(recording.path).processes[0].counts().threads) == 5000
