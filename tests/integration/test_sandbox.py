"""Processes that may do less than others: no address space, no process_vm calls, an old kernel, closed descriptors."""

import os
import resource
from pathlib import Path

import pytest

from cannery.recorder.bundle import Bundle
from cannery.replayer.process import replay_process

from .conftest import Build, Run


def test_without_address_space_one_line_says_why_and_every_call_fails(build: Build, run: Run) -> None:
    def limit() -> None:
        resource.setrlimit(resource.RLIMIT_AS, (2 << 30, 2 << 30))

    done = run(build("threads.c"), "1", preexec_fn=limit)
    assert done.returncode == 3
    first, *rest = done.stderr.splitlines()
    assert first.startswith("cannery: no devices in this process: no room in this process's address space")
    assert [line for line in rest if line.startswith("cannery:")] == []
    assert "= 500000" in rest[0]


@pytest.mark.parametrize("forbidden", ["v", "i", "vi"])  # process_vm calls, the query for mappings
@pytest.mark.parametrize("host", ["arguments.c", "mixed.c", "ranges.c"])
def test_a_sandbox_that_forbids_ways_to_reach_memory_changes_nothing(
    build: Build, run: Run, tmp_path: Path, host: str, forbidden: str
) -> None:
    trace = tmp_path / "t.cann"
    done = run(build("forbid.c", plain=True), forbidden, str(build(host)), env={"CANNERY_TRACE": str(trace)})
    assert (done.returncode, done.stderr) == (0, "")
    bundle = Bundle.open(trace)
    assert replay_process(bundle, bundle.processes[0]).same


def test_a_copy_is_refused_where_a_part_of_the_host_range_is_not_accessible(
    build: Build, run: Run, tmp_path: Path
) -> None:
    trace = tmp_path / "t.cann"
    done = run(build("ranges.c"), env={"CANNERY_TRACE": str(trace)})
    assert (done.returncode, done.stderr) == (0, "")
    bundle = Bundle.open(trace)
    assert replay_process(bundle, bundle.processes[0]).same


def test_a_program_that_closes_every_descriptor_goes_on_and_is_recorded(build: Build, run: Run, tmp_path: Path) -> None:
    trace, mine = tmp_path / "t.cann", tmp_path / "mine"
    done = run(build("close_all.c"), str(mine), env={"CANNERY_TRACE": str(trace)})
    assert (done.returncode, done.stderr) == (0, "")
    assert mine.read_bytes() == b"mine" * 512  # nothing of ours went into the program's files
    bundle = Bundle.open(trace)
    assert replay_process(bundle, bundle.processes[0]).same


@pytest.mark.parametrize("arguments", [("16384",), ("32768",), ("0", "alone")])
def test_a_first_call_may_come_from_a_small_stack_or_after_the_first_thread_ended(
    build: Build, run: Run, arguments: tuple[str, ...]
) -> None:
    done = run(build("stacks.c"), *arguments)
    assert (done.returncode, done.stderr) == (0, "")


def test_a_file_size_limit_of_the_program_is_not_that_of_device_memory(build: Build, run: Run) -> None:
    def limit() -> None:
        resource.setrlimit(resource.RLIMIT_FSIZE, (4096, resource.RLIM_INFINITY))

    done = run(build("stacks.c"), "1048576", preexec_fn=limit)
    assert (done.returncode, done.stderr) == (0, "")


def test_a_program_that_clears_its_environment_is_recorded(build: Build, run: Run, tmp_path: Path) -> None:
    trace = tmp_path / "t.cann"
    done = run(build("cleared.c"), env={"CANNERY_TRACE": str(trace), "CANNERY_DEVICES": "3"})
    assert (done.returncode, done.stderr) == (0, "")
    assert Bundle.open(trace).processes[0].counts().calls == 1


def test_a_wrong_variable_does_not_take_the_others_with_it(build: Build, run: Run) -> None:
    done = run(build("cleared.c"), env={"CANNERY_PRODUCT": "A7", "CANNERY_DEVICES": "3"})
    assert done.returncode == 0
    assert "running without CANNERY_PRODUCT=A7" in done.stderr


@pytest.mark.parametrize(
    ("limit", "words"),
    [("files", "ulimit -n"), ("space", "ulimit -v"), ("size", "the file size limit of this process is 0 bytes")],
)
def test_an_allocation_that_a_limit_forbids_fails_with_one_line_and_leaves_nothing_behind(
    build: Build, run: Run, tmp_path: Path, limit: str, words: str
) -> None:
    trace = tmp_path / "t.cann"
    done = run(build("limited.c"), limit, env={"CANNERY_TRACE": str(trace)})
    last = 500000 if limit == "size" else 0  # that one cannot be raised again
    assert (done.returncode, done.stdout) == (0, f"0: 500000 500000 {last}\n")
    line = done.stderr.splitlines()[0]
    assert line.startswith("cannery: aclrtMalloc: there is no memory of device 0: ") and words in line
    assert done.stderr.count("\n") == 1
    with Bundle.open(trace) as bundle:
        result = replay_process(bundle, bundle.processes[0])
    assert (result.differences, result.damage) == ((), None)


@pytest.mark.parametrize("size", [0, 1, 100])
def test_a_file_size_limit_ends_the_recording_and_not_the_program(
    build: Build, run: Run, tmp_path: Path, size: int
) -> None:
    def limit() -> None:
        resource.setrlimit(resource.RLIMIT_FSIZE, (size, resource.RLIM_INFINITY))

    done = run(build("stacks.c"), "1048576", env={"CANNERY_TRACE": str(tmp_path / "t.cann")}, preexec_fn=limit)
    assert done.returncode == 0
    assert done.stderr.count("\n") == 1
    assert f"the file size limit of this process is {size} bytes" in done.stderr


@pytest.mark.parametrize("room", [0, 5, 1000])
def test_lines_that_a_log_file_has_no_room_for_are_left_out(build: Build, run: Run, tmp_path: Path, room: int) -> None:
    log = tmp_path / "log"
    log.write_bytes(b"x" * 50)

    def limit() -> None:
        os.dup2(os.open(log, os.O_WRONLY | os.O_APPEND), 2)
        resource.setrlimit(resource.RLIMIT_FSIZE, (50 + room, resource.RLIM_INFINITY))

    done = run(build("cleared.c"), env={"CANNERY_PRODUCT": "A7", "CANNERY_DEVICES": "3"}, preexec_fn=limit)
    assert done.returncode == 0
    assert ("CANNERY_PRODUCT=A7" in log.read_text()) is (room == 1000)
