"""What is left when a program, its disk or its folder gives out: every call that returned, and a trace that opens,
replays, and can be repaired; the program goes on where only its trace is gone."""

import os
import random
import time
from pathlib import Path

import pytest
from click.testing import CliRunner

from cannery.recorder.bundle import Bundle
from cannery.recorder.records import Enter, Record
from cannery.tools.main import main

from .conftest import Build
from .survival import FAULTS, IN_FLIGHT, LIMIT, Program, attempt, deleted, outcome, read_only

KILLS = 10
TRIES = 3


@pytest.mark.parametrize("seed", range(10))
def test_a_kill_loses_no_completed_call(build: Build, tmp_path: Path, seed: int) -> None:
    chance = random.Random(seed)
    for number in range(KILLS):
        ended, found = attempt("SIGKILL at a random moment", build("faults.c"), tmp_path / str(number), chance)
        assert found[:3] == (0, "", ""), ended
        assert len(found.in_flight) <= 1
        assert set(found.in_flight) <= IN_FLIGHT


@pytest.mark.parametrize("name", [name for name in FAULTS if name != "SIGKILL at a random moment"])
def test_no_fault_loses_a_completed_call(build: Build, tmp_path: Path, name: str) -> None:
    if name == "full disk" and os.getuid() != 0:
        pytest.skip("only root can make a small file system")
    chance = random.Random(name)
    for number in range(TRIES):
        ended, found = attempt(name, build("faults.c"), tmp_path / str(number), chance)
        assert ended.status == FAULTS[name][1], ended
        assert found[:3] == (0, "", ""), ended
        if name == "SIGKILL in a call that waits":
            assert set(found.in_flight) <= {"aclrtSynchronizeStream"}
        if "disk" in name or "limit" in name:
            assert found.stopped is not None
            assert ended.stdout == "done\n"
            (line,) = ended.stderr.splitlines()
            assert line.startswith("cannery: recording to ")
            assert line.endswith("; the program goes on")


def test_a_trace_that_is_deleted_while_it_is_open_ends_with_one_line(build: Build, tmp_path: Path) -> None:
    ended = deleted(build("faults.c"), tmp_path, tmp_path / "t.cann", random.Random(1))
    assert (ended.status, ended.stdout, ended.completed) == (0, "done\n", 300_000)
    (line,) = ended.stderr.splitlines()
    assert line == f"cannery: recording to {tmp_path}/t.cann ended: No such file or directory; the program goes on"
    assert not (tmp_path / "t.cann").exists()


def test_a_folder_that_cannot_be_written_is_one_line(build: Build, tmp_path: Path) -> None:
    (tmp_path / "place").mkdir()
    ended = read_only(build("faults.c"), tmp_path, tmp_path / "place" / "t.cann", random.Random(1))
    assert (ended.status, ended.stdout, ended.completed) == (0, "done\n", 100)
    (line,) = ended.stderr.splitlines()
    reason = "Read-only file system" if os.getuid() == 0 else "Permission denied"
    assert line == f"cannery: cannot record to {tmp_path}/place/t.cann: {reason}; running without a trace"


def test_a_call_that_waits_is_named_when_its_process_is_killed(build: Build, tmp_path: Path) -> None:
    trace = tmp_path / "t.cann"
    program = Program(build("faults.c"), tmp_path, trace, "waits", 10)
    program.wait_for(13)
    deadline = time.monotonic() + LIMIT
    while not isinstance(last_record(trace), Enter):
        assert time.monotonic() < deadline
    program.child.kill()
    program.end()
    result = CliRunner().invoke(main, ["repair", str(trace)])
    (line,) = [line for line in result.stdout.splitlines() if "had not returned" in line]
    assert line.startswith("process 1: had not returned: #13 T1 ")
    assert "aclrtSynchronizeStream(stream=stream#" in line
    assert (result.exit_code, outcome(trace, 13, stops=False).unfaithful) == (0, "")


def last_record(trace: Path) -> Record:
    with Bundle.open(trace) as bundle:
        return [*bundle.processes[0].records()][-1]
