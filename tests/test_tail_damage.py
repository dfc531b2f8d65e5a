"""Tails that are damaged where they begin, and traces that lack payloads: named, by repair with status 1 however often
it runs, and never a crash or a replay that is none."""

import shutil
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import pytest
from click.testing import CliRunner

from cannery.recorder import format
from cannery.recorder.bundle import Bundle
from cannery.recorder.claim import birth
from cannery.recorder.seal import finish
from cannery.recorder.tail import Keep
from cannery.replayer.redaction import redact
from cannery.replayer.seek import Trail
from cannery.replayer.tail import TailKeeper
from cannery.tools.main import main
from tests import scenarios

from .trace_tools import Recording

TAIL = Path(__file__).with_name("data") / "traces" / "v1-tail"
CHUNK, STATE, SHEET = "p0001/000001.chunk", "p0001/000001.origin", "p0001/origin"


def altered(path: Path, how: str) -> None:
    content = bytearray(path.read_bytes())
    if how == "missing":
        path.unlink()
    elif how == "short":
        path.write_bytes(content[: len(content) // 2])
    else:
        content[len(content) // 2] ^= 0xFF
        path.write_bytes(content)


@pytest.mark.parametrize("how", ["missing", "short", "altered"])
@pytest.mark.parametrize(
    ("name", "says"), [(CHUNK, "the trace begins there"), (STATE, "not be replayed"), (SHEET, "not be replayed")]
)
def test_what_a_tail_lacks_at_its_beginning_is_named_each_time(name: str, says: str, how: str, tmp_path: Path) -> None:
    if (name, how) == (SHEET, "missing"):
        pytest.skip("the sample has its whole first window, and begins with call 0 then")
    trace = tmp_path / "a.cann"
    shutil.copytree(TAIL, trace)
    altered(trace / name, how)
    for _ in range(2):
        result = CliRunner().invoke(main, ["repair", str(trace)])
        assert result.exit_code == 1, result.output
        assert says in result.output
    assert CliRunner().invoke(main, ["info", str(trace)]).exit_code == 2
    assert CliRunner().invoke(main, ["replay", str(trace)]).exit_code == 2


def status(verb: str, trace: Path) -> tuple[int, str]:
    result = CliRunner().invoke(main, [verb, str(trace)])
    return result.exit_code, result.output


def tail(path: Path) -> Path:
    """A tail whose records name payloads; its pack."""
    scenarios.ALL["memory"]().save(path, tail="30 calls")
    pack = path / "p0001" / "000001.pack"
    (path / "p0001" / format.PACK).rename(pack)
    with Bundle.open(path) as bundle:
        (stream,) = bundle.processes
        trail = Trail(stream, None)
        for _ in trail:
            pass
        TailKeeper(bundle, stream, Keep(30, 0)).finish(trail.position)
    finish(path)
    assert status("replay", path)[0] == status("info", path)[0] == 0
    return pack


def whole(path: Path) -> Path:
    """A trace that nobody sealed: no index tells what its pack should have."""
    return scenarios.ALL["memory"]().save(path) / "p0001" / format.PACK


@pytest.mark.parametrize("how", ["missing", "short"])
@pytest.mark.parametrize("make", [tail, whole])
def test_payloads_that_are_needed_and_missing_are_named(
    make: Callable[[Path], Path], how: str, tmp_path: Path
) -> None:
    trace = tmp_path / "a.cann"
    altered(make(trace), how)
    code, output = status("replay", trace)
    assert code == 2
    assert "up to the damage: p0001" in output
    assert "p0001/payloads.pack is missing" in output or ": it is lost" in output
    code, output = status("info", trace)
    assert code == 2
    assert "p0001 is not whole: payloads of " in output
    for _ in range(2):
        code, output = status("repair", trace)
        assert code == 1
        assert "lost: p0001: payloads of " in output
    assert status("info", trace)[0] == status("replay", trace)[0] == 2


def test_an_altered_payload_of_a_tail_is_named_each_time(tmp_path: Path) -> None:
    trace = tmp_path / "a.cann"
    shutil.copytree(TAIL, trace)  # none of its records needs that payload
    altered(trace / "p0001/000001.pack", "altered")
    for _ in range(2):
        code, output = status("repair", trace)
        assert (code, "lost: p0001/000001.pack: " in output) == (1, True), output


@pytest.mark.parametrize("policy", ["hash", "none", "input", "full"])
def test_payloads_that_were_not_to_be_kept_are_not_missing(policy: str, tmp_path: Path) -> None:
    source, trace = tmp_path / "a.cann", tmp_path / "b.cann"
    scenarios.memory(policy=policy).save(source)
    redact(source, trace)
    for path in (source, trace) if policy in ("hash", "none") else (trace,):
        (path / "p0001" / format.PACK).unlink(missing_ok=True)
        assert [status(verb, path)[0] for verb in ("replay", "info", "repair")] == [0, 0, 0]


def test_what_another_process_wrote_is_a_payload_too(tmp_path: Path) -> None:
    trace = tmp_path / "a.cann"
    recording = Recording(trace)
    recording.call("use", (0,), 0, [(format.SHARED, recording.store.keep(bytes(100), True))])
    recording.die()
    (trace / "p0001" / format.PACK).unlink()
    assert "call #0 is the first that has one" in status("repair", trace)[1]


def test_a_process_that_ended_and_was_not_waited_for_is_none() -> None:
    child = subprocess.Popen([sys.executable, "-c", "input()"], stdin=subprocess.PIPE)
    assert birth(child.pid) is not None
    assert child.stdin is not None
    child.stdin.write(b"\n")
    child.stdin.close()
    while Path(f"/proc/{child.pid}/stat").read_text().rpartition(")")[2].split()[0] != "Z":
        pass
    assert birth(child.pid) is None
    child.wait()


def test_payloads_of_a_process_that_still_runs_are_not_missing(tmp_path: Path) -> None:
    trace = tmp_path / "a.cann"
    recording = Recording(trace)
    with Bundle.open(trace) as bundle:
        (stream,) = bundle.processes
        assert stream.verify() == []
        recording.call("use", (0,), 0, [(format.READ, recording.store.keep(bytes(100), True))])
        assert stream.verify() == []
        recording.die()
        assert stream.verify() == []
