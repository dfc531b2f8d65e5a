"""``cannery diff`` of real recordings: what races is no difference, what differs is found."""

import json
from pathlib import Path
from typing import Any

import pytest

from .conftest import Build, Run

ROUNDS = "100"


@pytest.fixture
def record(build: Build, cannery: Run, tmp_path: Path) -> Any:
    def start(name: str, *args: str, options: tuple[str, ...] = ()) -> Path:
        trace = tmp_path / f"{name}.cann"
        done = cannery("run", *options, "-o", trace, "--", build("racing.c"), ROUNDS, *args)
        assert done.returncode == 0, done.stdout + done.stderr
        return trace

    return start


def compared(cannery: Run, a: Path, b: Path) -> Any:
    done = cannery("diff", a, b, "--json")
    assert done.stderr == ""
    found = json.loads(done.stdout)
    assert done.returncode == found["status"]
    return found


def causes(found: Any) -> list[str]:
    return [cause["what"] for process in found["processes"] for cause in process["causes"]]


def test_two_runs_of_a_program_whose_threads_race_are_the_same(record: Any, cannery: Run) -> None:
    found = compared(cannery, record("a"), record("b"))
    assert found["same"], causes(found)
    assert [(process["a"] is None, process["b"] is None) for process in found["processes"]] == [(False, False)] * 3
    assert len(found["processes"][0]["threads"]) == 5


@pytest.mark.parametrize("schedule", ["late", "seed:7"])
def test_a_program_that_synchronises_does_the_same_under_another_schedule(
    record: Any, cannery: Run, schedule: str
) -> None:
    found = compared(cannery, record("a"), record("b", options=("--schedule", schedule)))
    assert found["same"], causes(found)
    assert found["notes"] == [f"the runs had different settings: schedule asap and {schedule}"]


def test_one_more_call_of_one_thread_is_the_only_difference(record: Any, cannery: Run) -> None:
    found = compared(cannery, record("a"), record("b", "50"))
    assert found["total"] == 1, causes(found)
    (cause,) = found["processes"][0]["causes"]
    (call,) = cause["calls"]["b"]
    assert (cause["kind"], call["function"]) == ("inserted", "aclrtRecordEvent")
