"""``cannery run`` with real programs: status, streams, environment, the trace and the one line about it."""

import json
import os
import shutil
import signal
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import pytest

from cannery.recorder.bundle import Bundle
from cannery.recorder.files import Folder
from cannery.recorder.sheet import read_sheet
from cannery.runtime.variables import VARIABLES
from cannery.shim import layout, sdk

PROGRAM = """
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>
#include "acl/acl.h"

/* caller CALLS [exit N | kill N | wait]: makes calls, then ends as told */
int main(int argc, char **argv)
{
    int32_t device;
    aclrtStream stream;
    if (aclInit(NULL) || aclrtSetDevice(0) || aclrtCreateStream(&stream)) return 99;
    for (int i = 0; i < atoi(argv[1]); i++)
        if (aclrtGetDevice(&device)) return 98;
    if (argc > 2 && !strcmp(argv[2], "kill")) kill(getpid(), atoi(argv[3]));
    if (argc > 2 && !strcmp(argv[2], "wait")) { puts("ready"); fflush(stdout); pause(); }
    return argc > 2 && !strcmp(argv[2], "exit") ? atoi(argv[3]) : 0;
}
"""
LIMIT = 120

Run = Callable[..., "subprocess.CompletedProcess[str]"]


@pytest.fixture(scope="module")
def caller(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A program that makes calls."""
    folder = tmp_path_factory.mktemp("caller")
    (folder / "caller.c").write_text(PROGRAM)
    command = [os.environ.get("CC", "cc"), "-O1", f"-I{sdk.include_folder()}", "caller.c", "-o", "caller"]
    subprocess.run([*command, f"-L{sdk.library_folder()}", "-lascendcl"], check=True, cwd=folder, timeout=LIMIT)
    return folder / "caller"


def clean() -> dict[str, str]:
    """The environment of a user who has set nothing up."""
    return {key: value for key, value in os.environ.items() if not key.startswith(("CANNERY_", "ASCEND_", "LD_"))}


@pytest.fixture
def cannery(tmp_path: Path) -> Run:
    """``cannery("run", ...)`` runs the command in a fresh folder."""

    def run(*args: "str | Path", **variables: str) -> "subprocess.CompletedProcess[str]":
        command = [sys.executable, "-m", "cannery.tools.main", *map(str, args)]
        environment = clean() | variables
        return subprocess.run(command, capture_output=True, text=True, cwd=tmp_path, env=environment, timeout=LIMIT)

    return run


def test_a_run_ends_with_one_line_and_a_trace_that_replays(cannery: Run, caller: Path, tmp_path: Path) -> None:
    done = cannery("run", "-o", "a.cann", "--", caller, "1000")
    assert (done.returncode, done.stdout) == (0, "")
    assert done.stderr.startswith("cannery: 1,003 calls, 1 thread, ")
    assert done.stderr.endswith(", trace a.cann\n")
    assert done.stderr.count("\n") == 1
    found = json.loads(cannery("info", "--json", "a.cann").stdout)
    assert (found["calls"], found["threads"], found["end"]) == (1003, 1, {"status": 0})
    assert found["processes"][0]["sealed"]
    assert cannery("replay", "a.cann").stdout == "a.cann: 1,003 calls replayed, all the same\n"


@pytest.mark.parametrize("status", [0, 1, 2, 77, 255])
def test_the_status_is_the_programs(cannery: Run, caller: Path, status: int) -> None:
    assert cannery("run", "--", caller, "1", "exit", str(status)).returncode == status


@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGKILL, signal.SIGABRT, signal.SIGSEGV])
def test_a_signal_is_128_and_its_number(cannery: Run, caller: Path, number: int) -> None:
    done = cannery("run", "-o", "a.cann", "--", caller, "5", "kill", str(int(number)))
    assert done.returncode == 128 + number
    assert done.stderr.startswith("cannery: 8 calls, 1 thread")
    found = json.loads(cannery("info", "--json", "a.cann").stdout)
    assert found["processes"][0]["end"] == {"signal": number}
    assert cannery("replay", "a.cann").returncode == 0


def test_programs_that_are_not_there_or_no_programs(cannery: Run, tmp_path: Path) -> None:
    (tmp_path / "text").write_text("hello")
    for name, status in (("no-such-program", 127), ("./missing", 127), ("./text", 126), ("/tmp", 126)):
        done = cannery("run", "-o", "a.cann", "--", name)
        assert (done.returncode, done.stderr.count("\n")) == (status, 1)
        assert done.stderr.startswith(f"cannery: {name}: ")
        assert not (tmp_path / "a.cann").exists()


def test_an_existing_trace_is_kept_unless_forced(cannery: Run, caller: Path, tmp_path: Path) -> None:
    assert cannery("run", "-o", "a.cann", "--", caller, "1").returncode == 0
    done = cannery("run", "-o", "a.cann", "--", caller, "2", "exit", "5")
    assert (done.returncode, done.stderr) == (2, "cannery: a.cann exists; --force replaces it\n")
    assert json.loads(cannery("info", "--json", "a.cann").stdout)["calls"] == 4
    assert cannery("run", "--force", "-o", "a.cann", "--", caller, "2", "exit", "5").returncode == 5
    assert json.loads(cannery("info", "--json", "a.cann").stdout)["calls"] == 5


def test_what_is_no_trace_is_never_replaced(cannery: Run, tmp_path: Path) -> None:
    (tmp_path / "precious").mkdir()
    (tmp_path / "precious" / "file").write_text("data")
    for name in ("precious", "precious/file"):
        done = cannery("run", "--force", "-o", name, "--", "true")
        assert (done.returncode, done.stderr.count("\n")) == (2, 1)
        assert name in done.stderr
    assert (tmp_path / "precious" / "file").read_text() == "data"


def test_a_place_that_cannot_be_written_is_named(cannery: Run) -> None:
    done = cannery("run", "-o", "/proc/a.cann", "--", "true")
    assert (done.returncode, done.stderr.count("\n")) == (2, 1)
    assert done.stderr.startswith("cannery: cannot record into /proc/a.cann: ")


def test_without_a_name_the_trace_is_named_after_the_program(cannery: Run, caller: Path, tmp_path: Path) -> None:
    for name in ("caller.cann", "caller-2.cann", "caller-3.cann"):
        assert cannery("run", "--", caller, "1").stderr.endswith(f"trace {name}\n")
    assert sorted(path.name for path in tmp_path.iterdir()) == ["caller-2.cann", "caller-3.cann", "caller.cann"]


def test_a_trace_of_a_script_is_named_after_the_script(cannery: Run, tmp_path: Path) -> None:
    (tmp_path / "count.py").write_text("import ctypes; ctypes.CDLL('libascendcl.so').aclInit(None)\n")
    assert cannery("run", "--", sys.executable, "count.py").stderr.endswith("trace count.cann\n")


def test_the_size_is_that_of_info(cannery: Run, caller: Path) -> None:
    line = cannery("run", "-o", "a.cann", "--", caller, "3000").stderr
    holds = next(text for text in cannery("info", "a.cann").stdout.splitlines() if "holds" in text)
    assert holds.split(", ")[-1] == line.split(", ")[2]


def test_a_program_that_dies_in_its_first_call_is_not_said_to_have_made_none(cannery: Run, tmp_path: Path) -> None:
    (tmp_path / "p.c").write_text('#include "acl/acl.h"\nint main(void) { return aclInit((const char *)8); }\n')
    command = [os.environ.get("CC", "cc"), f"-I{sdk.include_folder()}", "p.c", "-o", "p"]
    subprocess.run([*command, f"-L{sdk.library_folder()}", "-lascendcl"], cwd=tmp_path, check=True)
    done = cannery("run", "-o", "a.cann", "--", "./p")
    assert done.returncode == 128 + signal.SIGSEGV
    assert done.stderr == "cannery: no runtime call was recorded; the trace a.cann is empty\n"


def test_an_engine_that_does_not_start_leaves_its_line_and_no_false_one(cannery: Run, caller: Path) -> None:
    done = cannery("run", "-o", "a.cann", "--engine", "host", "--", caller, "5")
    first, last = done.stderr.splitlines()
    assert "the program has no running Python" in first
    assert last == "cannery: no runtime call was recorded; the trace a.cann is empty"


def test_a_misspelt_variable_is_told_once_with_the_nearest(cannery: Run, caller: Path) -> None:
    done = cannery("run", "-o", "a.cann", "--", "sh", "-c", f"{caller} 1; {caller} 2", CANNERY_PRODUKT="310P")
    first, last = done.stderr.splitlines()
    assert first == (
        "cannery: CANNERY_PRODUKT is not a variable of Cannery (did you mean CANNERY_PRODUCT?); it has no effect"
    )
    assert "2 processes" in last


def test_variables_that_are_empty_are_not_set(cannery: Run, caller: Path, tmp_path: Path) -> None:
    empty = dict.fromkeys((*VARIABLES, "CANNERY_PRODUKT"), "")
    done = cannery("run", "--", caller, "5", **empty)
    assert (done.returncode, done.stderr.count("\n")) == (0, 1), done.stderr
    assert done.stderr.endswith(", trace caller.cann\n")
    assert cannery("replay", "caller.cann", **empty).returncode == 0
    preload = {"LD_PRELOAD": sdk.preloads("")}
    alone = subprocess.run([caller, "5"], env=clean() | empty | preload, capture_output=True, text=True, timeout=LIMIT)
    assert (alone.returncode, alone.stderr) == (0, "")
    assert [path.name for path in tmp_path.iterdir()] == ["caller.cann"]


def test_a_disk_that_is_too_small_is_named_in_the_trace(cannery: Run, caller: Path) -> None:
    script = f"ulimit -f 32; exec {caller} 5"  # 16 or 32 KiB: no window fits
    done = cannery("run", "-o", "a.cann", "--", "bash", "-c", script)
    assert done.returncode == 0
    assert "ended: the file size limit of this process is" in done.stderr
    assert "recording ended before the process did: the file size limit" in cannery("info", "a.cann").stdout


def test_no_record_only_simulates(cannery: Run, caller: Path, tmp_path: Path) -> None:
    done = cannery("run", "--no-record", "--", caller, "10", "exit", "3")
    assert (done.returncode, done.stderr) == (3, "")
    assert list(tmp_path.iterdir()) == []


def test_a_program_without_calls_is_said_to_have_made_none(cannery: Run) -> None:
    assert cannery("run", "-o", "a.cann", "--", "true").stderr == (
        "cannery: no runtime call was recorded; the trace a.cann is empty\n"
    )


def test_a_static_program_is_said_to_be_out_of_reach(cannery: Run, tmp_path: Path) -> None:
    (tmp_path / "p.c").write_text("int main(void) { return 4; }\n")
    made = subprocess.run(["cc", "-static", "p.c", "-o", "p"], cwd=tmp_path, capture_output=True)
    if made.returncode != 0:
        pytest.skip("no static C library")
    done = cannery("run", "--", "./p")
    assert done.returncode == 4
    assert "(./p: it is linked statically, so there is no loader to preload anything)" in done.stderr


def test_processes_that_a_command_starts_are_in_one_trace(cannery: Run, caller: Path, tmp_path: Path) -> None:
    done = cannery("run", "-o", "a.cann", "--", "sh", "-c", f"{caller} 10; {caller} 20; exit 3")
    assert done.returncode == 3
    assert done.stderr.startswith("cannery: 36 calls, 2 threads, 2 processes, ")
    with Bundle.open(tmp_path / "a.cann") as bundle:
        assert [stream.counts().calls for stream in bundle.processes] == [13, 23]
    assert cannery("replay", "a.cann").stdout.count("all the same") == 2


def test_a_run_inside_a_run_has_a_trace_of_its_own(cannery: Run, caller: Path, tmp_path: Path) -> None:
    inner = f"{sys.executable} -m cannery.tools.main run -- {caller} 5"
    done = cannery("run", "-o", "outer.cann", "--", "sh", "-c", f"{inner}; {caller} 7")
    assert done.stderr.splitlines()[0].endswith("trace caller.cann")
    assert done.stderr.splitlines()[1].startswith("cannery: 10 calls")
    assert json.loads(cannery("info", "--json", "caller.cann").stdout)["calls"] == 8


def test_programs_can_join_a_session_by_name(cannery: Run, caller: Path, tmp_path: Path) -> None:
    for calls in ("1", "2"):
        assert cannery("run", "--session", "mine", "-o", "a.cann", "--", caller, calls).returncode == 0
    found = json.loads(cannery("info", "--json", "a.cann").stdout)
    assert [process["calls"] for process in found["processes"]] == [4, 5]


def test_variables_do_what_options_do(cannery: Run, caller: Path) -> None:
    done = cannery("run", "--", caller, "1", CANNERY_TRACE="named.cann", CANNERY_PRODUCT="310P", CANNERY_DEVICES="3")
    assert done.stderr.endswith("trace named.cann\n")
    settings = json.loads(cannery("info", "--json", "named.cann").stdout)["processes"][0]["settings"]
    assert (settings["product"], settings["devices"]) == ("310P", 3)


def test_another_preloaded_library_stays_and_ours_is_last(cannery: Run, tmp_path: Path) -> None:
    (tmp_path / "other.c").write_text("int other_library;\n")
    subprocess.run(["cc", "-shared", "-fPIC", "other.c", "-o", "other.so"], cwd=tmp_path, check=True)
    other = tmp_path / "other.so"
    show = "import os; print(os.environ['LD_PRELOAD']); print(os.environ['LD_LIBRARY_PATH'])"
    done = cannery(
        "run", "--no-record", "--", sys.executable, "-c", show, LD_PRELOAD=str(other), LD_LIBRARY_PATH="/somewhere"
    )
    preloads, search_path = done.stdout.splitlines()
    first, ours = map(Path, preloads.split(" "))
    folder = ours.parents[1]  # the state of the installation decides which, and it may be built anew as tests run
    assert (first, ours.name) == (other, sdk.SHIM_NAME)
    assert search_path == f"{folder}/{layout.FIRST}:/somewhere:{folder}/{layout.LAST}"
    assert ours.samefile(sdk.library())


def test_standard_input_and_output_are_the_programs(tmp_path: Path) -> None:
    command = [sys.executable, "-m", "cannery.tools.main", "run", "--no-record", "--", "cat"]
    done = subprocess.run(command, input=b"a\0b\xff", capture_output=True, env=clean(), timeout=LIMIT)
    assert done.stdout == b"a\0b\xff"


def test_a_virtual_clock_makes_two_runs_equal(cannery: Run, caller: Path, tmp_path: Path) -> None:
    listings = []
    for name in ("a.cann", "b.cann"):
        cannery("run", "--clock", "virtual", "-o", name, "--", caller, "20")
        with Bundle.open(tmp_path / name) as bundle:
            listings.append(list(bundle.processes[0].records()))
    assert listings[0] == listings[1]
    assert len(listings[0]) >= 23
    files = [
        {str(file.relative_to(tmp_path / name)): file.read_bytes() for file in (tmp_path / name).rglob("*.*")}
        for name in ("a.cann", "b.cann")
    ]
    assert files[0] == files[1] and len(files[0]) >= 1
    bundle, process, told = (
        different(*(read_sheet(Folder(str(tmp_path / name / folder)), sheet) for name in ("a.cann", "b.cann")))
        for folder, sheet in (("", "bundle"), ("p0001", "process"), ("p0001", "end"))
    )
    assert bundle - {"created"} == {"session"}  # the rest is when it was made
    assert (process, told) == ({"host"}, set())


def different(one: dict[str, object], other: dict[str, object]) -> set[str]:
    """The keys whose values differ."""
    return {key for key in one.keys() | other.keys() if one.get(key) != other.get(key)}


def test_full_windows_are_sealed_and_indexed_at_the_end(cannery: Run, caller: Path, tmp_path: Path) -> None:
    cannery("run", "-o", "a.cann", "--", caller, "700000")
    names = sorted(path.name for path in (tmp_path / "a.cann" / "p0001").iterdir())
    assert "index" in names
    assert len([name for name in names if name.endswith(".chunk")]) >= 2
    assert not [name for name in names if name.endswith(".journal")]
    assert cannery("show", "a.cann", "--calls", "699999").stdout.startswith("#699999 T1 ")


def test_sdk_without_the_launcher(cannery: Run, caller: Path, tmp_path: Path) -> None:
    preload = cannery("sdk", "--preload").stdout.strip()
    environment = clean() | {"LD_PRELOAD": preload, "CANNERY_TRACE": "x.cann"}
    subprocess.run([caller, "5"], env=environment, cwd=tmp_path, check=True, timeout=LIMIT)
    assert cannery("replay", "x.cann").stdout == "x.cann: 8 calls replayed, all the same\n"
    folder = Path(cannery("sdk").stdout.strip())
    assert Path(cannery("sdk", "--include").stdout.strip()) == folder / "include"
    assert Path(cannery("sdk", "--lib").stdout.strip()) == folder / "lib64"


def test_ctrl_c_is_the_programs_and_the_trace_is_finished(caller: Path, tmp_path: Path) -> None:
    command = [sys.executable, "-m", "cannery.tools.main", "run", "-o", "a.cann", "--", str(caller), "5", "wait"]
    with subprocess.Popen(
        command, cwd=tmp_path, env=clean(), stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True,
        start_new_session=True,
    ) as process:  # fmt: skip
        assert process.stdout is not None
        assert process.stdout.readline() == "ready\n"
        os.killpg(process.pid, signal.SIGINT)  # as a terminal does
        _, errors = process.communicate(timeout=LIMIT)
    assert process.returncode == 128 + signal.SIGINT
    assert errors.startswith("cannery: 8 calls, 1 thread")


def test_a_listing_ends_quietly_when_nobody_reads_on(cannery: Run, caller: Path, tmp_path: Path) -> None:
    cannery("run", "-o", "a.cann", "--", caller, "20000")
    script = f"{sys.executable} -m cannery.tools.main show a.cann | head -n 2"
    done = subprocess.run(["sh", "-c", script], capture_output=True, text=True, cwd=tmp_path, env=clean())
    assert (done.stdout.count("\n"), done.stderr) == (2, "")


def test_the_demo_runs(tmp_path: Path) -> None:
    demo = Path(__file__).parents[2] / "tools" / "demo" / "demo.sh"
    if shutil.which("cannery") is None:
        pytest.skip("the command is not installed")
    done = subprocess.run(["sh", demo], capture_output=True, text=True, cwd=tmp_path, env=clean(), timeout=LIMIT)
    assert done.returncode == 0, done.stderr
    assert "all the same" in done.stdout
