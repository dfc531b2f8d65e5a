"""The flight recorder in real processes: the tail that was asked for, triggers, bounds, kills, and wrong use."""

import ctypes
import os
import random
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest

from cannery.recorder.bundle import Bundle
from cannery.recorder.repair import repair
from cannery.replayer.process import replay_process
from tests.integration.conftest import LIMIT, Build, Run

PR_SET_CHILD_SUBREAPER = 36
SETUP = 5  # calls of the host beside those that its argument counts


def size(trace: Path) -> int:
    total = 0
    for path in trace.rglob("*"):
        try:
            total += path.stat().st_blocks * 512
        except FileNotFoundError:  # dropped meanwhile
            continue
    return total


def launched(*args: "str | Path", **options: object) -> "subprocess.Popen[str]":
    clean = {key: value for key, value in os.environ.items() if not key.startswith(("CANNERY_", "ASCEND_", "LD_"))}
    command = [sys.executable, "-m", "cannery.tools.main", "run", *map(str, args)]
    return subprocess.Popen(
        command, env=clean, stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True
    )


def replays(trace: Path) -> list[tuple[int, int]]:
    """The first call and the number of calls of each process, all of which replay."""
    with Bundle.open(trace) as bundle:
        for stream in bundle.processes:
            result = replay_process(bundle, stream)
            assert (result.same, result.damage) == (True, None)
            assert result.calls == stream.counts().calls
        return [(stream.first_head.call, stream.counts().calls) for stream in bundle.processes]


@pytest.mark.parametrize("encoder", ["", "python"])
def test_the_last_calls_are_kept(build: Build, cannery: Run, tmp_path: Path, encoder: str) -> None:
    trace = tmp_path / "t.cann"
    total = 2 * (20000 + SETUP)
    done = cannery(
        "run", "-o", trace, "--keep", "300 calls", "--", build("flight.c"), "20000", "plain",
        env={"CANNERY_ENCODER": encoder},
    )  # fmt: skip
    assert (done.returncode, done.stdout) == (0, "done\n"), done.stderr
    assert done.stderr.startswith("cannery: 300 calls, 1 thread, ")
    assert "the tail only" in done.stderr
    assert replays(trace) == [(total - 300, 300)]
    shown = [line for line in cannery("show", trace).stdout.splitlines() if line.startswith("#")]  # not the pacer
    assert shown[0].startswith(f"#{total - 300} T1 ")
    assert shown[-1].startswith(f"#{total - 1} T1 ")
    told = cannery("info", trace).stdout
    assert f"keeps     300 calls, from call #{total - 300} on" in told


def test_a_time_is_kept(build: Build, cannery: Run, tmp_path: Path) -> None:
    trace = tmp_path / "t.cann"
    done = cannery("run", "-o", trace, "--keep", "5ms", "--", build("flight.c"), "20000", "plain")
    assert (done.returncode, done.stdout) == (0, "done\n"), done.stderr
    replays(trace)
    with Bundle.open(trace) as bundle:
        (stream,) = bundle.processes
        times = [record.time for record in stream.records() if hasattr(record, "time")]
        assert stream.first_head.call > 0
        assert times[-1] - times[1] < 5_000_000 <= times[-1] - stream.first_head.time


@pytest.mark.parametrize(
    ("mode", "options", "line"),
    [
        ("error", ["--until-error", "507899"], r"aclrtFree (call #5006) returned 507899"),
        ("named", ["--until-call", "aclrtGetDevice"], r"aclrtGetDevice was called (call #5006)"),
        ("named", ["--until-error", "9", "--until-call", "aclrtGetDev*"], r"aclrtGetDevice was called (call #5006)"),
    ],
)
def test_a_trigger_ends_the_recording_and_not_the_program(
    build: Build, cannery: Run, tmp_path: Path, mode: str, options: list[str], line: str
) -> None:
    trace = tmp_path / "t.cann"
    done = cannery("run", "-o", trace, "--keep", "100", *options, "--", build("flight.c"), "5001", mode)
    assert (done.returncode, done.stdout) == (0, "done\n"), done.stderr
    *_, first, _ = done.stderr.splitlines()
    assert first == f"cannery: process 1: {line}; recording ends here, the program goes on"
    assert replays(trace) == [(4907, 100)]
    told = cannery("info", trace).stdout
    assert f"recording ended before the process did: the tail is complete: {line}" in told
    assert "had not returned" not in told


def test_a_signal_ends_the_recording(build: Build, tmp_path: Path) -> None:
    trace = tmp_path / "t.cann"
    child = launched("-o", trace, "--keep", "200", "--until-signal", "usr1", "--", build("flight.c"), "3000", "signal")
    assert child.stdout is not None and child.stderr is not None
    assert child.stdout.readline() == "ready\n"
    child.send_signal(signal.SIGUSR1)
    assert child.stderr.readline() == "cannery: SIGUSR1 came; recording ends here, the program goes on\n"
    stdout, _ = child.communicate("\n", timeout=LIMIT)
    assert (child.returncode, stdout) == (0, "done\n")
    assert replays(trace) == [(3000 + SETUP - 200, 200)]


def test_each_process_has_its_tail_and_one_trigger_ends_all(build: Build, cannery: Run, tmp_path: Path) -> None:
    trace = tmp_path / "t.cann"
    done = cannery("run", "-o", trace, "--keep", "150", "--", build("flight.c"), "3000", "fork")
    assert (done.returncode, done.stdout) == (0, "done\n"), done.stderr
    parent, child = replays(trace)
    assert parent == (2 * (3000 + SETUP) - 150, 150)
    assert child == (3000 + SETUP - 150, 150)


def test_a_child_that_lives_on_does_not_keep_its_parent_from_having_a_tail(build: Build, tmp_path: Path) -> None:
    trace = tmp_path / "t.cann"
    run = launched("-o", trace, "--keep", "150", "--", build("flight.c"), "3000", "outlived")
    assert run.wait(LIMIT) == 0
    assert replays(trace) == [(2 * (3000 + SETUP) - 150, 150)]
    with Bundle.open(trace) as bundle:
        assert (bundle.processes[0].alive, bundle.processes[0].finished) == (False, True)
    stdout, _ = run.communicate("\n", timeout=LIMIT)
    assert stdout == "done\n"


@pytest.mark.parametrize("kind", ["notify", "memory"])
def test_processes_that_share_have_tails_too(build: Build, cannery: Run, tmp_path: Path, kind: str) -> None:
    trace = tmp_path / "t.cann"
    done = cannery("run", "-o", trace, "--keep", "5", "--", build("shares.c"), kind)
    assert done.returncode == 0, done.stderr
    assert "cannot be kept" not in done.stderr
    assert [calls for _, calls in replays(trace)] == [5, 5]


def test_the_trace_stays_small_however_long_the_program_runs(build: Build, tmp_path: Path) -> None:
    sizes = []
    for calls in (20_000, 400_000):
        trace = tmp_path / f"{calls}.cann"
        child = launched("-o", trace, "--keep", "1000", "--", build("flight.c"), str(calls), "plain")
        most = 0
        while child.poll() is None:
            most = max(most, size(trace))
            time.sleep(0.02)
        assert child.returncode == 0, child.communicate()
        child.communicate()
        assert replays(trace) == [(2 * (calls + SETUP) - 1000, 1000)]
        sizes.append((size(trace), most))
    (short, _), (long, _) = sizes
    assert long < 2 * short + (4 << 20)
    whole = 2 * 400_000 // 8 * 2048  # bytes of payload alone
    assert sizes[1][1] < 0.8 * whole  # while it ran: the program was held when the launcher was too far behind


@pytest.mark.parametrize("whom", ["program", "launcher"])
def test_a_kill_at_any_moment_leaves_a_trace_that_replays(build: Build, tmp_path: Path, whom: str) -> None:
    chance = random.Random(whom)
    inherit_children()
    for number in range(6):
        trace = tmp_path / f"{number}.cann"
        child = launched("-o", trace, "--keep", "500", "--", build("flight.c"), "100000000", "plain")
        deadline = time.monotonic() + LIMIT
        while not list(trace.glob("p0001/00000[2-9].*")):
            assert time.monotonic() < deadline
        time.sleep(chance.random() * 0.6)
        pid = program_of(child.pid)
        os.kill(pid if whom == "program" else child.pid, signal.SIGKILL)
        if whom == "launcher":
            child.wait(LIMIT)
            os.kill(pid, signal.SIGKILL)
            os.waitpid(pid, 0)
        child.communicate(timeout=LIMIT)
        ((_, calls),) = replays(trace)
        assert calls >= 500
        assert repair(trace).lost == ()
        assert replays(trace)[0][1] == calls


def inherit_children() -> None:
    """Have this process wait for programs whose launcher was killed: who else does, or does not, is not our subject."""
    assert ctypes.CDLL(None).prctl(PR_SET_CHILD_SUBREAPER, 1, 0, 0, 0) == 0


def program_of(launcher: int) -> int:
    return int(Path(f"/proc/{launcher}/task/{launcher}/children").read_text().split()[0])


def test_without_the_launcher_everything_is_recorded_and_that_is_said(build: Build, run: Run, tmp_path: Path) -> None:
    trace = tmp_path / "t.cann"
    done = run(build("flight.c"), "100", "plain", env={"CANNERY_TRACE": str(trace), "CANNERY_KEEP": "10"})
    assert done.stdout == "done\n"
    assert done.stderr == (
        "cannery: CANNERY_KEEP needs 'cannery run', which drops what is not to be kept; everything is recorded\n"
    )
    assert replays(trace) == [(0, 2 * (100 + SETUP))]


@pytest.mark.parametrize(
    ("options", "words"),
    [
        (["--keep", "0"], "at least one call"),
        (["--keep", "-5"], "'-5' is no length: write a number of calls"),
        (["--keep", "30 parsecs"], "unknown unit 'parsecs'; there are calls, ms, s, m, min, h"),
        (["--until-error", "507899"], "belong to --keep LENGTH"),
        (["--until-signal", "USR1"], "belong to --keep LENGTH"),
        (["--keep", "5", "--no-record"], "there is nothing to keep"),
        (["--keep", "5", "--calls", "0-9"], "--keep and --calls"),
        (["--keep", "5", "--session", "s"], "--keep and --session"),
        (["--keep", "5", "--until-call", "aclrtMaloc"], "did you mean 'aclrtMalloc'?"),
        (["--keep", "5", "--until-error", "many"], "'many' is no whole number"),
        (["--keep", "5", "--until-signal", "KILL"], "none of USR1, USR2"),
    ],
)
def test_wrong_use_is_one_line_and_nothing_is_started(
    cannery: Run, tmp_path: Path, options: list[str], words: str
) -> None:
    done = cannery("run", "-o", tmp_path / "t.cann", *options, "--", "touch", tmp_path / "started")
    assert done.returncode == 2
    (line,) = done.stderr.splitlines()
    assert words in line
    assert list(tmp_path.iterdir()) == []


def test_an_error_that_no_call_returns_is_a_warning(cannery: Run, tmp_path: Path) -> None:
    done = cannery("run", "-o", tmp_path / "t.cann", "--keep", "5", "--until-error", "123456", "--", "true")
    assert done.returncode == 0
    assert done.stderr.startswith("cannery: --until-error 123456: no call of the API is known to return that\n")
