"""Policies of real programs: what is kept, by the function for which bytes pass, and what replay makes of it."""

from pathlib import Path

import pytest

from cannery.recorder.bundle import Bundle
from cannery.recorder.records import Effect
from cannery.replayer.process import replay_process

from .conftest import Build, Run

SIZE = 8192


def effects(trace: Path, kind: str) -> list[Effect]:
    with Bundle.open(trace) as bundle:
        (stream,) = bundle.processes
        found = [effect for record in stream.records() for effect in getattr(record, "effects", ())]
    return [effect for effect in found if effect.kind == kind]


@pytest.mark.parametrize("schedule", ["asap", "late"])
def test_copies_of_streams_are_kept_as_the_call_that_queued_them_says(
    build: Build, cannery: Run, tmp_path: Path, schedule: str
) -> None:
    trace = tmp_path / "t.cann"
    policy = f"full,aclrtMemcpyAsync=hash,aclrtMemcpyAsync>{SIZE - 1}=none"
    done = cannery("run", "--schedule", schedule, "--payload", policy, "-o", trace, "--", build("mixed.c"), "5")
    assert done.returncode == 0, done.stderr
    given = [effect.payload for effect in effects(trace, "read")]
    assert len(given) >= 20
    assert {(payload.size, payload.digest, payload.content) for payload in given if payload} == {(SIZE, None, None)}
    with Bundle.open(trace) as bundle:
        (stream,) = bundle.processes
        assert stream.header["payload"] == policy
        result = replay_process(bundle, stream)
    assert result.same
    assert result.unknown_bytes == SIZE * len(given)


def test_a_policy_that_is_none_is_one_line(build: Build, run: Run, tmp_path: Path) -> None:
    done = run(build("mixed.c"), "1", env={"CANNERY_TRACE": str(tmp_path / "t.cann"), "CANNERY_PAYLOAD": "half"})
    assert done.returncode == 0
    (line,) = done.stderr.splitlines()
    assert line.startswith("cannery: payload policy 'half': 'half' is none of input, full, hash, none")
    assert line.endswith("; running without a trace")
    assert not (tmp_path / "t.cann").exists()


def run_of(calls: str, build: Build, cannery: Run, trace: Path) -> str:
    done = cannery("run", "--calls", calls, "--payload", "full", "-o", trace, "--", build("mixed.c"), "5")
    assert done.returncode == 0, done.stderr
    return done.stderr


def test_the_first_calls_replay_and_the_program_goes_on(build: Build, cannery: Run, tmp_path: Path) -> None:
    trace = tmp_path / "t.cann"
    assert "all calls that were asked for are recorded; the program goes on" in run_of("-59", build, cannery, trace)
    replay = cannery("replay", trace)
    assert (replay.returncode, "60 calls replayed, all the same" in replay.stdout) == (0, True)
    with Bundle.open(trace) as bundle:
        assert bundle.processes[0].header["calls"] == "0-59"


def test_calls_of_some_functions_can_be_read_and_not_replayed(build: Build, cannery: Run, tmp_path: Path) -> None:
    trace = tmp_path / "t.cann"
    run_of("aclrtMemcpyAsync", build, cannery, trace)
    shown = cannery("show", trace, "--bare").stdout.splitlines()
    assert len(shown) >= 20
    assert all("aclrtMemcpyAsync(" in line for line in shown)
    replay = cannery("replay", trace)
    assert replay.returncode == 2
    assert "were not recorded, and what follows depends on them" in replay.stderr


def test_a_selection_that_is_none_is_one_line(build: Build, cannery: Run, run: Run, tmp_path: Path) -> None:
    done = cannery("run", "--calls", "aclrtMemcpyAsink", "--", "true")
    assert (done.returncode, "did you mean 'aclrtMemcpyAsync'?" in done.stderr) == (2, True)
    done = run(build("mixed.c"), "1", env={"CANNERY_TRACE": str(tmp_path / "t.cann"), "CANNERY_CALLS": "1-x"})
    assert done.returncode == 0
    assert done.stderr.startswith("cannery: calls '1-x': expected numbers")
