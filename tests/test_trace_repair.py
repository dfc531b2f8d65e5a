"""Repair: an unfinished or damaged bundle is finished, what it cannot give back is named, and nothing gets worse."""

import fcntl
import json
import os
import shutil
import subprocess
import sys
import tempfile
from pathlib import Path
from typing import Any

import pytest
from click.testing import CliRunner

from cannery.recorder import format
from cannery.recorder.bundle import Bundle
from cannery.recorder.create import create_bundle
from cannery.recorder.format import DamagedTrace, InUse
from cannery.recorder.pack import HEADER_SIZE
from cannery.recorder.records import Call, Enter, Note, Record
from cannery.recorder.repair import Repaired, repair
from cannery.recorder.seal import finish
from cannery.runtime.handles import handle_of
from cannery.tools.main import main
from tests import scenarios

from .trace_tools import SCHEMA, SESSION, Recording


def record(path: Path, calls: int = 1500) -> Recording:
    """A stream of several windows, with three payloads."""
    recording = Recording(path, window_size=4096)
    for number in range(calls):
        kept = recording.store.keep(bytes([number % 251]) * 100, True) if number in (0, 300, 600) else None
        effects = [] if kept is None else [(format.READ, kept)]
        recording.call("pair", (handle_of(number + 1), handle_of(5)), number % 4, effects, thread=number % 3)
    return recording


def killed(path: Path) -> Recording:
    recording = record(path)
    recording.die()
    return recording


def records(path: Path) -> list[Record]:
    with Bundle.open(path) as bundle:
        return [record for stream in bundle.processes for record in stream.records()]


def files(path: Path) -> dict[str, bytes]:
    return {str(file.relative_to(path)): file.read_bytes() for file in path.rglob("*") if file.is_file()}


def again_changes_nothing(path: Path, first: Repaired) -> None:
    before = files(path)
    second = repair(path)
    assert (second.done, second.lost) == ((), first.lost)
    assert files(path) == before


def test_a_killed_bundle_is_finished(tmp_path: Path) -> None:
    recording = killed(tmp_path / "a.cann")
    before = records(recording.path)
    (Path(recording.folder.path) / "000099.journal.new").write_bytes(bytes(4096))
    found = repair(recording.path)
    windows = len(list(Path(recording.folder.path).glob("*.chunk")))
    assert found.lost == ()
    assert [*found.done] == [
        "p0001/000099.journal.new: removed, half written",
        f"p0001: {windows} windows sealed",
        "p0001: index written",
    ]
    assert records(recording.path) == before
    with Bundle.open(recording.path) as bundle:
        assert bundle.processes[0].finished
    again_changes_nothing(recording.path, found)


def test_what_a_repair_makes_is_what_the_launcher_makes(tmp_path: Path) -> None:
    recording = killed(tmp_path / "a.cann")
    shutil.copytree(recording.path, tmp_path / "b.cann")
    finish(recording.path)
    repair(tmp_path / "b.cann")
    assert files(recording.path) == files(tmp_path / "b.cann")
    assert repair(recording.path).done == ()


def test_a_bundle_that_is_being_written_is_refused(tmp_path: Path) -> None:
    recording = record(tmp_path / "a.cann", 10)
    before = files(recording.path)
    with pytest.raises(InUse, match=rf"p0001 \(process id {os.getpid()}\) still runs"):
        repair(recording.path)
    assert files(recording.path) == before
    recording.die()
    assert repair(recording.path).done != ()


def test_a_bundle_whose_launcher_lives_is_refused(tmp_path: Path) -> None:
    lock = create_bundle(str(tmp_path / "a.cann"), SESSION, SCHEMA.pack())
    with pytest.raises(InUse, match="the command that records it still runs"):
        repair(tmp_path / "a.cann")
    os.close(lock)
    assert repair(tmp_path / "a.cann").lost == ()


def test_an_end_that_cannot_be_read_is_cut_off_and_said_so(tmp_path: Path) -> None:
    recording = killed(tmp_path / "a.cann")
    before = records(recording.path)
    last = sorted(Path(recording.folder.path).glob("*.journal"))[-1]
    data = bytearray(last.read_bytes())
    place = len(data.rstrip(b"\0")) - 40
    data[place] = 0xC1  # which msgpack never writes
    last.write_bytes(data)
    found = repair(recording.path)
    (lost,) = found.lost
    assert lost.startswith(f"p0001: p0001/{last.name}: damaged at byte ")
    assert lost.endswith("the records from there on are lost")
    left = records(recording.path)
    assert left[:-1] == before[: len(left) - 1]
    assert len(before) - 10 < len(left) - 1 < len(before)
    assert isinstance(left[-1], Note) and left[-1].topic == "stopped"
    assert Path(recording.folder.path, f"{last.name}.lost").read_bytes() == data
    again_changes_nothing(recording.path, found)


@pytest.mark.parametrize("sealed", [False, True])
@pytest.mark.parametrize("gone", [1, 2])
def test_lost_windows_at_the_end_of_a_sealed_stream(tmp_path: Path, sealed: bool, gone: int) -> None:
    """``sealed``: they are there, altered; else they are missing, which the index says."""
    recording = killed(tmp_path / "a.cann")
    before = records(recording.path)
    finish(recording.path)
    chunks = sorted(Path(recording.folder.path).glob("*.chunk"))
    for chunk in chunks[-gone:]:
        data = bytearray(chunk.read_bytes())
        data[-1] ^= 1
        chunk.write_bytes(data) if sealed else chunk.unlink()
    with pytest.raises(DamagedTrace):
        records(recording.path)
    found = repair(recording.path)
    left = records(recording.path)
    assert left[:-1] == before[: len(left) - 1]
    assert len(found.lost) == 1 and str(len(chunks) - gone + 1) in found.lost[0]
    assert len(list(Path(recording.folder.path).glob("*.lost"))) == (gone if sealed else 0)
    again_changes_nothing(recording.path, found)


def test_what_is_lost_in_the_middle_is_named_and_the_rest_stays(tmp_path: Path) -> None:
    recording = killed(tmp_path / "a.cann")
    before = [record for record in records(recording.path) if isinstance(record, Call)]
    with Bundle.open(recording.path) as bundle:
        second, third = (next(bundle.processes[0].records_of(number)) for number in (2, 3))
    assert isinstance(second, Call) and isinstance(third, Call)
    middle = Path(recording.folder.path, "000002.journal")
    middle.unlink()
    found = repair(recording.path)
    assert found.lost[0] == (
        f"p0001/000002.journal: damaged at byte 0: is missing; calls #{second.number} to #{third.number - 1} are lost"
    )
    with Bundle.open(recording.path) as bundle:
        left = [record for record in bundle.processes[0].records(tolerant=True) if isinstance(record, Call)]
    assert left == before[: second.number] + before[third.number :]
    again_changes_nothing(recording.path, found)


def test_a_first_window_that_is_missing_is_a_loss_in_the_middle(tmp_path: Path) -> None:
    recording = killed(tmp_path / "a.cann")
    Path(recording.folder.path, "000001.journal").unlink()
    assert "calls #0 to #" in repair(recording.path).lost[0]


def test_a_payload_with_other_bytes_is_named_with_its_call(tmp_path: Path) -> None:
    recording = killed(tmp_path / "a.cann")
    pack = Path(recording.folder.path, format.PACK)
    data = bytearray(pack.read_bytes())
    data[HEADER_SIZE + 100 + HEADER_SIZE + 7] ^= 1  # in the second
    pack.write_bytes(data)
    found = repair(recording.path)
    assert found.lost == (
        "p0001/payloads.pack: 1 payloads with other bytes than their digest says",
        "p0001: payloads of 1 records are lost; call #300 is the first that has one",
    )
    with Bundle.open(recording.path) as bundle:
        assert len(bundle.processes[0].payload_sizes()) == 2
        assert all(bundle.payload(digest) for digest in bundle.processes[0].payload_sizes())
    assert Path(recording.folder.path, "payloads.pack.lost").read_bytes() == data
    again_changes_nothing(recording.path, found)


def test_payloads_behind_bytes_that_are_none_are_found_again(tmp_path: Path) -> None:
    recording = killed(tmp_path / "a.cann")
    pack = Path(recording.folder.path, format.PACK)
    data = bytearray(pack.read_bytes())
    size = HEADER_SIZE + 100
    data[size : size + HEADER_SIZE] = b"x" * HEADER_SIZE
    pack.write_bytes(data)
    found = repair(recording.path)
    assert found.lost[0] == f"p0001/payloads.pack: {size} bytes at byte {size} are no payload"
    with Bundle.open(recording.path) as bundle:
        assert len(bundle.processes[0].payload_sizes()) == 2
        assert bundle.processes[0].problems == []
    again_changes_nothing(recording.path, found)


def test_a_payload_that_was_being_written_is_taken_off(tmp_path: Path) -> None:
    recording = killed(tmp_path / "a.cann")
    pack = Path(recording.folder.path, format.PACK)
    whole = pack.read_bytes()
    pack.write_bytes(whole + whole[: HEADER_SIZE + 50])
    found = repair(recording.path)
    assert found.lost == ()
    assert "p0001/payloads.pack: 82 bytes of a payload that was being written removed" in found.done
    assert pack.read_bytes() == whole


def test_sheets_that_cannot_be_read_are_kept_aside(tmp_path: Path) -> None:
    recording = killed(tmp_path / "a.cann")
    for name in ("end", "p0001/end", "p0001/inflight"):
        (recording.path / name).write_bytes(b"\xff" * 64)
    found = repair(recording.path)
    assert found.lost == ()
    assert {str(path.relative_to(recording.path)) for path in recording.path.rglob("*.lost")} == {
        "end.lost",
        "p0001/end.lost",
        "p0001/inflight.lost",
    }
    with Bundle.open(recording.path) as bundle:
        assert (bundle.end, bundle.processes[0].end, bundle.processes[0].inflight()) == (None, None, [])


def test_a_process_whose_sheet_is_damaged_does_not_keep_the_others_from_being_read(tmp_path: Path) -> None:
    first, second = killed(tmp_path / "a.cann"), record(tmp_path / "a.cann", 5)
    second.die()
    Path(first.folder.path, format.PROCESS).write_bytes(b"\xff")
    with pytest.raises(DamagedTrace):
        Bundle.open(first.path)
    found = repair(first.path)
    assert found.lost == ("p0001: all records, since nothing can be read without the process sheet",)
    assert len(records(first.path)) == 5
    again_changes_nothing(first.path, found)
    Path(first.folder.path, format.PROCESS + format.LOST).unlink()
    assert repair(first.path).lost == found.lost


def test_a_function_table_of_this_version_is_written_anew(tmp_path: Path) -> None:
    path = scenarios.ALL["objects"]().save(tmp_path / "a.cann")
    before = records(path)
    (path / "schema").write_bytes(b"")
    assert "schema: written anew, from the function table of this version" in repair(path).done
    assert records(path) == before


def test_what_was_set_aside_does_not_keep_the_bundle_from_being_replaced(tmp_path: Path) -> None:
    recording = killed(tmp_path / "a.cann")
    Path(recording.folder.path, "inflight").write_bytes(b"\xff" * 64)
    repair(recording.path)
    os.close(create_bundle(str(recording.path), "next", SCHEMA.pack(), force=True))
    with Bundle.open(recording.path) as bundle:
        assert (bundle.session, bundle.processes) == ("next", [])


def test_a_second_repair_at_the_same_time_says_so(tmp_path: Path) -> None:
    recording = killed(tmp_path / "a.cann")
    other = os.open(recording.path, os.O_RDONLY)
    fcntl.flock(other, fcntl.LOCK_EX)
    with pytest.raises(InUse, match="another command is repairing it"):
        repair(recording.path)
    os.close(other)
    assert repair(recording.path).done


class Killed(BaseException):
    """The repair died here."""


@pytest.mark.parametrize("fault", ["none", "tail", "pack"])
def test_a_repair_that_is_killed_anywhere_is_finished_by_the_next(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, fault: str
) -> None:
    recording = killed(tmp_path / "a.cann")
    folder = Path(recording.folder.path)
    if fault == "tail":
        finish(recording.path)
        for chunk in sorted(folder.glob("*.chunk"))[-2:]:
            chunk.write_bytes(chunk.read_bytes()[:-1])
    elif fault == "pack":
        pack = folder / format.PACK
        pack.write_bytes(pack.read_bytes().replace(b"\0" * 100, b"\1" * 100))
    shutil.copytree(recording.path, tmp_path / "whole.cann")
    repair(tmp_path / "whole.cann")
    expected = records(tmp_path / "whole.cann")
    for count in range(200):
        path = tmp_path / f"{count}.cann"
        shutil.copytree(recording.path, path)
        with monkeypatch.context() as patch:
            kill_after(patch, count)
            try:
                repair(path)
                done = True
            except Killed:
                done = False
        repair(path)
        assert records(path) == expected
        if done:
            assert count > 3
            return
    raise AssertionError("it never came to an end")


def kill_after(monkeypatch: pytest.MonkeyPatch, count: int) -> None:
    """Die instead of the operation number ``count`` that changes a file."""
    left = count

    def wrap(real: Any) -> Any:
        def operation(*args: Any, **more: Any) -> Any:
            nonlocal left
            if left == 0:
                raise Killed
            left -= 1
            return real(*args, **more)

        return operation

    for name in ("write", "rename", "unlink", "link", "ftruncate"):
        monkeypatch.setattr(os, name, wrap(getattr(os, name)))


# The command


def invoke(*args: str) -> Any:
    return CliRunner().invoke(main, ["repair", *args])


def test_the_command_says_what_it_did_and_what_was_in_flight(tmp_path: Path) -> None:
    path = scenarios.ALL["waits"]().save(tmp_path / "a.cann")
    place = 1 + next(n for n, record in enumerate(records(path)) if isinstance(record, Enter))
    journal = path / "p0001" / "000001.journal"
    live = scenarios.ALL["waits"]()
    shutil.rmtree(path)
    live.save(path, live.records[:place])
    result = invoke(str(path))
    assert result.exit_code == 0
    assert result.stdout.splitlines()[0] == "p0001: 1 window sealed"
    assert "process 1: had not returned: #" in result.stdout
    assert result.stdout.splitlines()[-1] == f"{path}: whole now"
    assert not journal.exists()
    assert invoke(str(path)).stdout.splitlines()[-1] == f"{path}: whole, nothing to do"
    assert CliRunner().invoke(main, ["replay", str(path)]).exit_code == 0


def test_the_command_ends_with_1_when_something_is_lost(tmp_path: Path) -> None:
    path = scenarios.ALL["objects"]().save(tmp_path / "a.cann")
    journal = path / "p0001" / "000001.journal"
    data = journal.read_bytes().rstrip(b"\0")
    journal.write_bytes(data[:-3] + b"\xc1")
    for _ in range(2):
        result = invoke(str(path))
        assert result.exit_code == 1
        assert "lost: p0001: p0001/000001.journal: damaged at byte" in result.stdout
    shown = json.loads(invoke(str(path), "--json").stdout)
    assert (shown["status"], shown["done"], len(shown["lost"])) == (1, [], 1)
    replay = CliRunner().invoke(main, ["replay", str(path)])
    assert replay.exit_code == 0
    assert "recording ended before the program did: records lost: p0001/000001.journal" in replay.stdout


def test_what_is_no_trace_is_one_line(tmp_path: Path) -> None:
    for name, text in (("none", "no such bundle"), (".", "not a Cannery bundle")):
        result = invoke(str(tmp_path / name))
        assert (result.exit_code, result.stdout) == (2, "")
        assert text in result.stderr
        assert result.stderr.count("\n") == 1


@pytest.mark.skipif(os.getuid() != 0, reason="only root can take rights away and be another user")
def test_a_read_only_bundle_is_one_line() -> None:
    with tempfile.TemporaryDirectory() as folder:
        Path(folder).chmod(0o755)
        read_only(killed(Path(folder, "a.cann")))


def read_only(recording: Recording) -> None:
    before = files(recording.path)
    program = (
        "import os, sys\n"
        "from cannery.recorder import bundle, compression, forms, repair\n"  # the other user may not read the source
        "from cannery.tools.commands import repair\n"
        "from cannery.tools.main import main\n"
        "os.setuid(65534)\n"
        "main(['repair', sys.argv[1]])\n"
    )
    command = [sys.executable, "-c", program, str(recording.path)]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    assert done.returncode == 2
    assert done.stderr == (
        f"cannery: {recording.path} cannot be repaired: Permission denied; repair a copy of it in another place\n"
    )
    assert files(recording.path) == before
