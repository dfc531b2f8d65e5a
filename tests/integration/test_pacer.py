"""Work that becomes due while the program makes no call: the pacer runs it, and its steps replay."""

from pathlib import Path

import pytest

from cannery.recorder.bundle import Bundle
from cannery.recorder.records import Pace
from cannery.replayer.process import replay_process

from .conftest import Build, Run


def replays(trace: Path) -> list[Pace]:
    """Check that the trace replays; its steps of the pacer."""
    bundle = Bundle.open(trace)
    (stream,) = bundle.processes
    assert replay_process(bundle, stream).same
    return [record for record in stream.records() if isinstance(record, Pace)]


@pytest.mark.parametrize("schedule", ["asap", "late", "seed:7"])
def test_a_host_that_spins_on_a_pinned_flag_goes_on(build: Build, run: Run, tmp_path: Path, schedule: str) -> None:
    trace = tmp_path / "t.cann"
    rounds = 5
    done = run(build("spin.c"), str(rounds), env={"CANNERY_TRACE": str(trace), "CANNERY_SCHEDULE": schedule})
    assert (done.returncode, done.stdout, done.stderr) == (0, f"{rounds} rounds\n", "")
    paces = replays(trace)
    run_by_pacer = sum(len(pace.effects) for pace in paces)
    # nobody else calls; only a random schedule may choose to run a copy within the call that queues it
    assert run_by_pacer <= rounds if schedule.startswith("seed") else run_by_pacer == rounds


def test_a_spinning_host_goes_on_under_the_virtual_clock(build: Build, run: Run, tmp_path: Path) -> None:
    trace = tmp_path / "t.cann"
    done = run(build("spin.c"), "2", env={"CANNERY_TRACE": str(trace), "CANNERY_CLOCK": "virtual"})
    assert (done.returncode, done.stdout) == (0, "2 rounds\n")
    assert replays(trace)


def test_the_virtual_clock_does_not_jump_while_a_program_calls_now_and_then(
    build: Build, run: Run, tmp_path: Path
) -> None:
    """Its pauses are far below what a program gets, together they are twice that."""
    trace = tmp_path / "t.cann"
    variables = {"CANNERY_TRACE": str(trace), "CANNERY_CLOCK": "virtual", "CANNERY_SCHEDULE": "late"}
    assert run(build("pauses.c"), env=variables).returncode == 0
    assert replays(trace) == []


@pytest.mark.parametrize("schedule", ["asap", "late", "seed:7"])
def test_a_waiting_thread_is_released_though_nobody_calls(
    build: Build, run: Run, tmp_path: Path, schedule: str
) -> None:
    trace = tmp_path / "t.cann"
    done = run(build("released.c"), env={"CANNERY_TRACE": str(trace), "CANNERY_SCHEDULE": schedule})
    assert (done.returncode, done.stdout, done.stderr) == (0, "released\n", "")
    replays(trace)
