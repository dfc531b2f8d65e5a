"""Tails that are damaged where they begin: named, by repair with status 1 however often it runs, and never a crash."""

import shutil
import subprocess
import sys
from pathlib import Path

import pytest
from click.testing import CliRunner

from cannery.recorder.claim import birth
from cannery.tools.main import main

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
