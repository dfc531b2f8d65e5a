"""Functions of the program under the shim: run on the right threads, with nothing held, recorded and replayed."""

from pathlib import Path

import pytest

from cannery.recorder.bundle import Bundle
from cannery.recorder.records import Call, Enter, Errand, Exit, Invoke, Record, Returned
from cannery.replayer.process import replay_process

from .conftest import Build, Run

CASES = {
    "calls": "2",
    "releases": "11",
    "nested": "304",
    "many": "640",
    "leave": "left",
    "contexts": "15",
    "forked": "11",
    "exceptions": "11",
    "states": "30436922",
}


def records(trace: Path) -> list[list[Record]]:
    return [list(stream.records()) for stream in Bundle.open(trace).processes]


def check_replay(trace: Path) -> None:
    bundle = Bundle.open(trace)
    for stream in bundle.processes:
        result = replay_process(bundle, stream)
        assert result.same, (result.differences, result.damage, result.explanation)
        assert result.calls == stream.counts().calls


@pytest.mark.parametrize("schedule", ["asap", "late", "seed:4"])
@pytest.mark.parametrize("case", CASES)
def test_functions_run_and_replay(build: Build, run: Run, tmp_path: Path, case: str, schedule: str) -> None:
    trace = tmp_path / "t.cann"
    done = run(build("callbacks.c"), case, env={"CANNERY_TRACE": str(trace), "CANNERY_SCHEDULE": schedule})
    assert (done.returncode, done.stdout.split("\n")[0], done.stderr) == (0, CASES[case], "")
    check_replay(trace)


@pytest.mark.parametrize("encoder", ["", "python"])
def test_both_encoders_write_the_same(build: Build, run: Run, tmp_path: Path, encoder: str) -> None:
    trace = tmp_path / "t.cann"
    done = run(build("callbacks.c"), "nested", env={"CANNERY_TRACE": str(trace), "CANNERY_ENCODER": encoder})
    assert done.returncode == 0
    (stream,) = records(trace)
    kinds = [record for record in stream if isinstance(record, Enter | Invoke | Returned | Exit)]
    depth = [1 if isinstance(record, Enter | Invoke) else -1 for record in kinds]
    assert max(sum(depth[:place]) for place in range(len(depth))) == 8  # four calls inside one another, each with one
    assert sum(depth) == 0


def test_calls_of_a_function_are_records_of_the_thread_that_runs_it(build: Build, run: Run, tmp_path: Path) -> None:
    trace = tmp_path / "t.cann"
    assert run(build("callbacks.c"), "calls", env={"CANNERY_TRACE": str(trace)}).returncode == 0
    (stream,) = records(trace)
    begin = next(place for place, record in enumerate(stream) if isinstance(record, Invoke))
    end = next(place for place, record in enumerate(stream) if isinstance(record, Returned))
    invoke = stream[begin]
    assert isinstance(invoke, Invoke)
    made = [r.function for r in stream[begin:end] if isinstance(r, Call | Enter) and r.thread == invoke.thread]
    assert made == [
        "aclrtSetCurrentContext", "aclrtMalloc", "aclrtMemset", "aclrtStreamQuery", "aclrtRecordEvent",
        "aclrtSynchronizeStream", "aclrtFree",
    ]  # fmt: skip
    errand = next(record for record in stream if isinstance(record, Invoke) and record.number is None)
    assert errand.function == invoke.function  # the same function, the same token
    assert any(isinstance(record, Errand) and record.worker == errand.worker for record in stream)


def test_a_function_that_was_running_when_the_process_ended_is_named(
    build: Build, run: Run, cannery: Run, tmp_path: Path
) -> None:
    trace = tmp_path / "t.cann"
    assert run(build("callbacks.c"), "leave", env={"CANNERY_TRACE": str(trace)}).returncode == 0
    for verb in ("info", "show"):
        shown = cannery(verb, str(trace)).stdout
        assert any("had not returned" in line and "W1 runs function#1(null)" in line for line in shown.splitlines()), (
            shown
        )


def test_the_thread_of_a_failed_task_is_the_same_in_two_runs(
    build: Build, run: Run, cannery: Run, tmp_path: Path
) -> None:
    """The system gives it another number each time."""
    traces = [str(tmp_path / "a.cann"), str(tmp_path / "b.cann")]
    for trace in traces:
        assert run(build("callbacks.c"), "exceptions", env={"CANNERY_TRACE": trace}).returncode == 0
    done = cannery("diff", *traces)
    assert (done.returncode, done.stderr) == (0, ""), done.stdout
    told = [line for line in cannery("show", traces[0]).stdout.splitlines() if "aclrtGetThreadIdFromException" in line]
    assert [line.rpartition(" = ")[2] for line in told] == ["id#1 [tid id#1]", "null"]


def test_threads_for_functions_of_loaded_models(build: Build, run: Run, tmp_path: Path) -> None:
    trace = tmp_path / "t.cann"
    done = run(build("host_threads.c"), env={"CANNERY_TRACE": str(trace), "CANNERY_PRODUCT": "IPV350"})
    assert (done.returncode, done.stdout, done.stderr) == (0, "", "")
    check_replay(trace)
