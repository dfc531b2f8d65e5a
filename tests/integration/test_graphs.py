"""Captures and model instances under the shim: C programs that use them, recorded and replayed."""

import json
from pathlib import Path

import pytest

from cannery.recorder.bundle import Bundle
from cannery.replayer.process import replay_process

from .conftest import Build, Run

CASES = {
    "fork_and_join": "5", "borders": "3", "by_hand": "3", "refusals": "5", "labels": "2", "tasks": "2", "printed": "1",
    "conditions": "2",
}  # fmt: skip


@pytest.mark.parametrize("schedule", ["asap", "late", "seed:4"])
@pytest.mark.parametrize("case", CASES)
def test_programs_with_graphs(build: Build, run: Run, tmp_path: Path, case: str, schedule: str) -> None:
    trace = tmp_path / "t.cann"
    done = run(build("graph.c"), case, env={"CANNERY_TRACE": str(trace), "CANNERY_SCHEDULE": schedule}, cwd=tmp_path)
    assert (done.returncode, done.stdout, done.stderr) == (0, f"{CASES[case]}\n", "")
    bundle = Bundle.open(trace)
    (stream,) = bundle.processes
    result = replay_process(bundle, stream)
    assert result.same, (result.differences, result.damage, result.explanation)
    assert result.calls == stream.counts().calls


def test_tasks_of_an_instance_as_a_file(build: Build, run: Run, tmp_path: Path) -> None:
    assert run(build("graph.c"), "printed", cwd=tmp_path).returncode == 0
    events = json.loads((tmp_path / "model.json").read_text())
    assert [event["args"]["Task Type"] for event in events] == ["MEMORY_COPY", "EVENT_RECORD"]
    assert [path.name for path in tmp_path.iterdir()] == ["model.json"]
