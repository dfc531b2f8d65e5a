"""Programs of all kinds under the shim: C, C++ and Python hosts, threads, forks, late calls, signal handlers."""

import glob
import os
import shutil
import subprocess
import sys
from collections import Counter
from pathlib import Path

import pytest

from cannery.recorder.bundle import Bundle
from cannery.recorder.records import Call
from cannery.replayer.process import replay_process
from cannery.shim import sdk
from cannery.tools import traces

from .conftest import HOSTS, Build, Run


def interpreters() -> list[str]:
    """Every Python 3 that is installed here: those on the PATH and those of pyenv."""
    candidates = [sys.executable]
    candidates += [path for minor in range(6, 16) if (path := shutil.which(f"python3.{minor}"))]
    root = os.environ.get("PYENV_ROOT") or os.path.expanduser("~/.pyenv")
    candidates += sorted(glob.glob(os.path.join(root, "versions", "3.*", "bin", "python")))
    found: dict[str, str] = {}
    for path in candidates:
        probe = subprocess.run(
            [path, "-c", "import ctypes, sys; print(sys.version)"], capture_output=True, text=True, check=False
        )
        if probe.returncode == 0:
            found.setdefault(probe.stdout, path)
    return list(found.values())


@pytest.mark.parametrize("python", interpreters())
@pytest.mark.parametrize("soname", ["libascendcl.so", "libacl_rt.so"])
def test_a_python_of_any_version_can_be_the_host(run: Run, python: str, soname: str, tmp_path: Path) -> None:
    trace = tmp_path / "t.cann"
    # newer Pythons warn about any fork of a process that has a second thread, here the pacer
    done = run(
        python, "-W", "ignore::DeprecationWarning", str(HOSTS / "client.py"), soname, env={"CANNERY_TRACE": str(trace)}
    )
    assert (done.returncode, done.stdout, done.stderr) == (0, "fine\n", "")
    streams = Bundle.open(trace).processes
    assert [stream.counts().calls for stream in streams] == [4 + 4 * 205 + 1, 2]


def test_the_command_needs_a_new_python_and_says_so_to_an_older_one() -> None:
    main = Path(traces.__file__).with_name("main.py")
    for python in interpreters():
        version = subprocess.run([python, "-V"], capture_output=True, text=True, check=True).stdout.split()[1]
        if tuple(map(int, version.split(".")[:2])) >= (3, 11):
            continue
        done = subprocess.run([python, "-I", str(main)], capture_output=True, text=True, check=False)
        assert (done.returncode, done.stderr.count("\n")) == (1, 1)
        assert done.stderr.startswith(f"cannery: needs Python 3.11 or newer; this is {version}")


def test_dlopen_reaches_the_state_of_the_preload_and_works_without_one(run: Run) -> None:
    done = run(sys.executable, str(HOSTS / "client.py"), "libascendcl.so", preload=False)
    assert (done.returncode, done.stdout) == (0, "fine\n")


@pytest.mark.parametrize("situation", ["wait_for_blocked_thread", "want_mutex_of_calling_thread"])
def test_the_host_may_hold_its_gil_while_another_thread_calls(build: Build, run: Run, situation: str) -> None:
    library = build("gil.c", shared=True)
    done = run(sys.executable, str(HOSTS / "gil_host.py"), str(library), situation)
    assert (done.returncode, done.stderr) == (0, "")


def test_threads_that_come_and_go_leave_nothing_behind(build: Build, run: Run, tmp_path: Path) -> None:
    trace = tmp_path / "t.cann"
    done = run(build("threads.c"), "10000", env={"CANNERY_TRACE": str(trace)})
    assert done.returncode == 0, done.stderr
    # the journal window being written (4 MiB) counts as resident; a leak of 1 KiB a thread would be 7.5 MiB
    assert int(done.stdout) < 6000


def test_many_threads_call_at_once(build: Build, run: Run, tmp_path: Path) -> None:
    trace = tmp_path / "t.cann"
    done = run(build("hammer.c"), "12", "5000", env={"CANNERY_TRACE": str(trace)})
    assert (done.returncode, done.stdout, done.stderr) == (0, "60000\n", "")
    bundle = Bundle.open(trace)
    (stream,) = bundle.processes
    records = Counter(record.function for record in stream.records() if isinstance(record, Call))
    assert records["aclrtRecordEvent"] == 60000 + 12
    assert replay_process(bundle, stream).same


def test_fork_while_other_threads_call(build: Build, run: Run, tmp_path: Path) -> None:
    trace = tmp_path / "t.cann"
    done = run(build("forks.c"), env={"CANNERY_TRACE": str(trace)})
    assert (done.returncode, done.stdout, done.stderr) == (0, "20 children\n", "")
    bundle = Bundle.open(trace)
    assert len(bundle.processes) == 21
    assert [stream.counts().calls for stream in bundle.processes[1:]] == [10] * 20


def test_calls_after_exit_began_still_work(build: Build, run: Run, tmp_path: Path) -> None:
    trace = tmp_path / "t.cann"
    done = run(build("late_calls.cc"), env={"CANNERY_TRACE": str(trace)})
    assert done.returncode == 0, done.stderr
    assert done.stdout.split("\n")[:-1] == [
        "device",
        "stream",
        "thread",
        "thread value",
        "exit handler",
        "static destructor",
    ]
    functions = [record.function for record in Bundle.open(trace).processes[0].records() if hasattr(record, "function")]
    assert functions[-2:] == ["aclrtSynchronizeStream", "aclrtDestroyStream"]


def test_a_signal_handler_that_interrupts_a_call_is_refused(build: Build, run: Run) -> None:
    done = run(build("handler.c"))
    assert (done.returncode, done.stdout) == (0, "refused 1\n")
    first, last = done.stderr.splitlines()
    assert first.startswith("cannery: a signal handler called the runtime")
    told = "cannery: calls of the runtime from signal handlers that were refused: "
    assert last.startswith(told)
    assert int(last.removeprefix(told)) >= 5


def test_programs_that_make_no_call_load_no_python(run: Run, tmp_path: Path) -> None:
    maps = run("cat", "/proc/self/maps").stdout
    assert sdk.SHIM_NAME in maps
    assert "libpython" not in maps
    trace = tmp_path / "t.cann"
    assert run("true", env={"CANNERY_TRACE": str(trace)}).returncode == 0
    assert not trace.exists()


def test_an_engine_that_cannot_be_loaded_is_one_line_and_500000(build: Build, run: Run) -> None:
    done = run(build("threads.c"), "1", env={"CANNERY_ENGINE": "nowhere"})
    assert done.returncode == 3
    assert done.stderr.startswith("cannery: CANNERY_ENGINE=nowhere: expected private, inline or host")
    assert "= 500000" in done.stderr.splitlines()[1]
    assert len(done.stderr.splitlines()) == 2


@pytest.mark.parametrize(
    ("name", "value", "words"),
    [
        ("CANNERY_TRASE", "t.cann", "CANNERY_TRASE is not a variable of Cannery (did you mean CANNERY_TRACE?)"),
        ("CANNERY_RECORD", "perhaps", "CANNERY_RECORD='perhaps': expected 1 or 0; recording"),
        ("CANNERY_SESSION", "../x", "CANNERY_SESSION '../x': expected a name"),
        ("CANNERY_FORCE", "ja", "CANNERY_FORCE='ja': expected 1 or 0"),
    ],
)
def test_a_wrong_variable_is_one_line_and_the_program_goes_on(
    build: Build, run: Run, tmp_path: Path, name: str, value: str, words: str
) -> None:
    done = run(build("threads.c"), "1", env={"CANNERY_TRACE": str(tmp_path / "t.cann"), name: value})
    assert done.returncode == 0
    assert len(done.stderr.splitlines()) == 1
    assert done.stderr.startswith(f"cannery: {words}")


def test_inline_placement_serves_a_c_program(build: Build, run: Run) -> None:
    done = run(build("threads.c"), "100", env={"CANNERY_ENGINE": "inline"})
    assert done.returncode == 0, done.stderr


def test_host_placement_serves_the_same_python(run: Run) -> None:
    done = run(sys.executable, str(HOSTS / "client.py"), "libascendcl.so", env={"CANNERY_ENGINE": "host"})
    assert (done.returncode, done.stdout, done.stderr) == (0, "fine\n", "")


def test_a_thread_that_is_cancelled_takes_nothing_with_it(build: Build, run: Run, tmp_path: Path) -> None:
    trace = tmp_path / "t.cann"
    done = run(build("cancel.c", "-pthread"), env={"CANNERY_TRACE": str(trace)})
    assert (done.returncode, done.stderr) == (0, "")
    with Bundle.open(trace) as bundle:
        assert replay_process(bundle, bundle.processes[0]).same


@pytest.mark.parametrize(("placement", "answer"), [("private", 0), ("host", 500000)])
def test_threads_may_outlive_the_python_that_they_called_under(
    build: Build, run: Run, placement: str, answer: int
) -> None:
    library = build("ending.c", shared=True)
    program = f"import ctypes, sys; ctypes.CDLL({str(library)!r}).begin()"
    done = run(sys.executable, "-c", program, env={"CANNERY_ENGINE": placement})
    assert (done.returncode, done.stdout, done.stderr) == (0, f"main {answer}\nthread {answer}\n", "")


@pytest.mark.parametrize("placement", ["private", "host"])
def test_the_programs_garbage_collector_stays_as_it_is(run: Run, placement: str) -> None:
    call = "ctypes.CDLL('libascendcl.so').aclInit(None)"
    program = f"import ctypes, gc; {call}; print(gc.isenabled(), gc.get_freeze_count())"
    done = run(sys.executable, "-c", program, env={"CANNERY_ENGINE": placement})
    assert (done.returncode, done.stdout, done.stderr) == (0, "True 0\n", "")
