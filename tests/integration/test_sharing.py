"""Processes of one session in real processes: what they share, who gets in, and what a kill leaves."""

import os
import signal
import subprocess
import sys
import time
from collections.abc import Iterator
from pathlib import Path

import pytest

from cannery.recorder.bundle import Bundle
from cannery.shim import commons, members
from cannery.tools.doctor import sessions
from cannery.tools.doctor.findings import NOTE, OK
from tests.integration.conftest import LIMIT, Build, Run, environment

NOBODY = 65534


@pytest.fixture
def runtime(tmp_path: Path) -> dict[str, str]:
    """A runtime folder of the test's own."""
    return {commons.VARIABLE: str(tmp_path / "runtime")}


def processes(trace: Path) -> int:
    with Bundle.open(trace) as bundle:
        return len(bundle.processes)


def replays(cannery: Run, trace: Path) -> None:
    replay = cannery("replay", trace)
    assert replay.returncode == 0, replay.stdout


@pytest.mark.parametrize("kind", ["notify", "event", "slots", "memory", "physical", "turns"])
def test_two_processes_share(kind: str, build: Build, cannery: Run, runtime: dict[str, str], tmp_path: Path) -> None:
    trace = tmp_path / "trace.cann"
    done = cannery("run", "-o", trace, "--", build("shares.c"), kind, env=runtime)
    assert done.returncode == 0, done.stderr
    assert processes(trace) == 2
    shown = cannery("replay", trace)
    assert shown.returncode == 0, shown.stdout
    reads = {"memory": 2, "physical": 2, "turns": 600}.get(kind)
    if reads is not None:
        assert f"{trace}: {reads} reads of memory that processes share, as it was written" in shown.stdout
        assert "not compared" not in shown.stdout
    assert list(Path(runtime[commons.VARIABLE]).iterdir()) == []


def test_what_two_processes_write_at_the_same_time_is_kept_as_it_was_read(
    build: Build, cannery: Run, runtime: dict[str, str], tmp_path: Path
) -> None:
    trace = tmp_path / "trace.cann"
    done = cannery("run", "-o", trace, "--", build("shares.c"), "race", env=runtime)
    assert done.returncode == 0, done.stderr
    replays(cannery, trace)


@pytest.mark.parametrize("kind", ["notify", "event", "memory", "physical"])
def test_the_states_of_processes_that_share(
    kind: str, build: Build, cannery: Run, runtime: dict[str, str], tmp_path: Path
) -> None:
    trace, part = tmp_path / "trace.cann", tmp_path / "part.cann"
    done = cannery("run", "-o", trace, "--", build("shares.c"), kind, env=runtime)
    assert done.returncode == 0, done.stderr
    with Bundle.open(trace) as bundle:
        calls = [stream.counts().calls for stream in bundle.processes]

    def states() -> list[str]:
        places = [(process, call) for process in (1, 2) for call in range(3, calls[process - 1], 7)]
        shown = [cannery("show", trace, "--process", str(which), "--at", str(call)) for which, call in places]
        assert all(each.stderr == "" for each in shown)
        return [each.stdout for each in shown]

    before = states()
    assert cannery("index", trace, "--every", "1").returncode == 0
    assert states() == before
    for process in (1, 2):
        middle = f"{calls[process - 1] // 2}:"
        cut = cannery("trim", trace, "--process", str(process), "--calls", middle, "-o", part, "--force")
        assert cut.returncode == 0, cut.stderr
        replays(cannery, part)


@pytest.mark.parametrize("kind", ["notify", "memory"])
def test_the_reference_encoder_records_the_same_kinds(
    kind: str, build: Build, cannery: Run, runtime: dict[str, str], tmp_path: Path
) -> None:
    trace = tmp_path / "trace.cann"
    done = cannery("run", "-o", trace, "--", build("shares.c"), kind, env=runtime | {"CANNERY_ENCODER": "python"})
    assert done.returncode == 0, done.stderr
    replays(cannery, trace)


def test_processes_without_a_launcher_share_if_one_is_the_parent(
    build: Build, run: Run, runtime: dict[str, str]
) -> None:
    # the parent calls before it forks: so it names the session
    done = run(build("forks.c"), env=runtime)
    assert done.returncode == 0, done.stderr
    assert len(list(Path(runtime[commons.VARIABLE]).iterdir())) == 1


class TestHandOvers:
    def test_none_is_lost(self, build: Build, cannery: Run, runtime: dict[str, str], tmp_path: Path) -> None:
        trace = tmp_path / "trace.cann"
        done = cannery("run", "-o", trace, "--", build("ring.c"), "4", "150", env=runtime)
        assert (done.returncode, done.stdout) == (0, "600 of 600 hand-overs, 0 processes failed\n"), done.stderr
        replay = cannery("replay", trace)
        assert replay.returncode == 0, replay.stdout
        assert replay.stdout.splitlines()[-1] == f"{trace}: 600 hand-overs between processes, in order"

    @pytest.mark.parametrize("microseconds", ["0", "4000", "25000"])
    def test_the_others_go_on_when_one_is_killed(
        self, microseconds: str, build: Build, cannery: Run, runtime: dict[str, str], tmp_path: Path
    ) -> None:
        trace = tmp_path / "trace.cann"
        ring = build("ring.c")
        done = cannery("run", "-o", trace, "--", ring, "3", "200", "1", microseconds, env=runtime)
        assert (done.returncode, done.stdout) == (0, "400 of 400 hand-overs, 0 processes failed\n"), done.stderr
        replays(cannery, trace)


@pytest.fixture
def holder(build: Build, runtime: dict[str, str]) -> Iterator[subprocess.Popen[str]]:
    """A process that holds half of a device's memory, and a notify that is waited for, until it is told to end."""
    program = build("holds.c")
    variables = environment(runtime | {"CANNERY_SESSION": "held"})
    process = subprocess.Popen([program], env=variables, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)
    assert process.stdout is not None
    assert process.stdout.readline() == "holding\n"
    yield process
    process.kill()
    process.communicate()


class TestKills:
    def test_what_a_process_held_is_taken_back(
        self, holder: subprocess.Popen[str], build: Build, run: Run, runtime: dict[str, str]
    ) -> None:
        variables = runtime | {"CANNERY_SESSION": "held"}
        program = build("holds.c")
        assert run(program, "once", env=variables).stdout == "no memory\n"
        os.kill(holder.pid, signal.SIGKILL)  # not waited for: it stays in the table of processes
        deadline = time.monotonic() + LIMIT
        while commons.born(holder.pid) and time.monotonic() < deadline:
            time.sleep(0.001)
        assert run(program, "once", env=variables).stdout == "holding\n"

    def test_doctor_lists_and_removes_what_is_left(
        self, holder: subprocess.Popen[str], runtime: dict[str, str]
    ) -> None:
        assert sessions.check(False, runtime).text.endswith("1 in use, nothing left over")
        holder.kill()
        holder.wait()
        finding = sessions.check(False, runtime)
        assert finding.state == NOTE and finding.items == ("held: none of its processes lives",)
        assert sessions.check(True, runtime).state == OK
        assert list(Path(runtime[commons.VARIABLE]).iterdir()) == []

    def test_the_next_session_removes_what_is_left(
        self, holder: subprocess.Popen[str], build: Build, run: Run, runtime: dict[str, str]
    ) -> None:
        holder.kill()
        holder.wait()
        run(build("holds.c"), "once", env=runtime | {"CANNERY_SESSION": "other"})
        assert [path.name for path in Path(runtime[commons.VARIABLE]).iterdir()] == ["other"]

    def test_a_lock_whose_owner_died_is_taken_over(
        self, holder: subprocess.Popen[str], build: Build, run: Run, runtime: dict[str, str]
    ) -> None:
        dead = subprocess.Popen(["true"])
        pid, born = dead.pid, commons.born(dead.pid) & 0xFFFF_FFFF
        dead.wait()
        control = Path(runtime[commons.VARIABLE]) / "held" / commons.CONTROL
        with control.open("r+b") as file:
            file.seek(members.HEAD.size - 128 + 16)  # the lock
            file.write((born << 32 | pid).to_bytes(8, "little"))
        assert run(build("holds.c"), "once", env=runtime | {"CANNERY_SESSION": "held"}).stdout == "no memory\n"


def test_a_process_that_waits_for_another_uses_no_processor(holder: subprocess.Popen[str]) -> None:
    def used() -> int:
        fields = Path(f"/proc/{holder.pid}/stat").read_bytes().rpartition(b")")[2].split()
        return int(fields[11]) + int(fields[12])

    time.sleep(0.2)
    before = used()
    time.sleep(1)
    assert used() - before <= 1  # clock ticks, of a hundredth of a second


class TestOthers:
    """Another user account, and folders that are not the user's own."""

    @pytest.mark.skipif(os.geteuid() != 0, reason="needs to become another user")
    @pytest.mark.skipif(not Path("/usr/bin/python3").exists(), reason="needs a Python that another user can run")
    def test_a_second_user_gets_in_nowhere(self, holder: subprocess.Popen[str], runtime: dict[str, str]) -> None:
        folder = Path(runtime[commons.VARIABLE])
        for parent in (folder.parent, *folder.parents):  # so that only the folder itself keeps the other user out
            if parent.stat().st_mode & 0o001 == 0 and parent.owner() == "root" and "pytest" in parent.name:
                parent.chmod(0o755)
        files = [str(folder), str(folder / "held"), *map(str, (folder / "held").iterdir())]
        descriptors = [f"/proc/{holder.pid}/fd", f"/proc/{holder.pid}/mem"]
        descriptors += [str(path) for path in Path(f"/proc/{holder.pid}/fd").iterdir()]
        assert len(files) >= 4 and len(descriptors) >= 3
        script = (
            "import os, sys\n"
            "for path in sys.argv[1:]:\n"
            "    for attempt in (os.listdir, lambda p: os.open(p, os.O_RDONLY), lambda p: os.open(p, os.O_RDWR)):\n"
            "        try:\n"
            "            attempt(path)\n"
            "        except (PermissionError, NotADirectoryError, IsADirectoryError):\n"
            "            continue\n"
            "        print(path)\n"
        )
        done = subprocess.run(
            ["/usr/bin/python3", "-I", "-c", script, *files, *descriptors],
            user=NOBODY, group=NOBODY, extra_groups=[], capture_output=True, text=True, timeout=LIMIT, check=False,
        )  # fmt: skip
        assert (done.returncode, done.stdout) == (0, ""), done.stderr

    @pytest.mark.parametrize("what", ["open to others", "a link", "a file"])
    def test_a_folder_that_is_not_safe_is_not_used(
        self, what: str, build: Build, run: Run, runtime: dict[str, str], tmp_path: Path
    ) -> None:
        folder = Path(runtime[commons.VARIABLE])
        if what == "open to others":
            folder.mkdir(mode=0o755)
            folder.chmod(0o755)
        elif what == "a link":
            (tmp_path / "target").mkdir(mode=0o700)
            folder.symlink_to(tmp_path / "target")
        else:
            folder.touch()
        done = run(build("holds.c"), "once", env=runtime)
        assert done.stdout == "holding\n"
        assert done.stderr.count("cannery: this process shares nothing with others") == 1
        assert not (tmp_path / "target").exists() or list((tmp_path / "target").iterdir()) == []

    def test_a_damaged_session_is_not_used(
        self, holder: subprocess.Popen[str], build: Build, run: Run, runtime: dict[str, str]
    ) -> None:
        control = Path(runtime[commons.VARIABLE]) / "held" / commons.CONTROL
        with control.open("r+b") as file:
            file.write(b"something")
        done = run(build("holds.c"), "once", env=runtime | {"CANNERY_SESSION": "held"})
        assert done.stdout == "holding\n" and "another version" in done.stderr


class TestNames:
    @pytest.mark.parametrize("name", ["plain", "with space", "../up", ".hidden", "ü" * 200, "a" * 65])
    def test_a_session_has_a_folder_in_the_users_whatever_its_name(self, name: str, runtime: dict[str, str]) -> None:
        folder = commons.session_name(name)
        assert "/" not in folder and folder not in (".", "..") and len(folder.encode()) <= 64
        opened = commons.open_runtime(runtime)
        try:
            with commons.locked_session(opened, folder):
                assert [path.name for path in Path(runtime[commons.VARIABLE]).iterdir()] == [folder]
        finally:
            os.close(opened)

    def test_different_names_have_different_folders(self) -> None:
        names = ["a b", "a  b", "a/b", "é", "a" * 65, "a" * 66]
        assert len({commons.session_name(name) for name in names}) == len(names)


CHILDREN = {
    "fork": "pid = os.fork()\nif pid == 0:\n    use()\n    os._exit(0)\nassert os.waitpid(pid, 0)[1] == 0\nuse()",
    "posix_spawn": (
        "pid = os.posix_spawn(sys.executable, [sys.executable, __file__, 'child'], os.environ)\n"
        "assert os.waitpid(pid, 0)[1] == 0\nuse()"
    ),
    "exec": "use()\nos.execv(sys.executable, [sys.executable, __file__, 'child'])",
    "multiprocessing spawn": "context('spawn')",
    "multiprocessing fork": "context('fork')",
    "subprocess": "subprocess.run([sys.executable, __file__, 'child'], check=True)\nuse()",
}
PROGRAM = """
import ctypes, multiprocessing, os, subprocess, sys

def use():
    library = ctypes.CDLL("libascendcl.so")
    size = ctypes.c_size_t()
    pointer = ctypes.c_void_p()
    assert library.aclrtSetDevice(0) == 0
    assert library.aclrtMalloc(ctypes.byref(pointer), ctypes.c_size_t(4096), 0) == 0
    assert library.aclrtResetDevice(0) == 0

def context(method):
    process = multiprocessing.get_context(method).Process(target=use)
    process.start()
    process.join()
    assert process.exitcode == 0
    use()

if __name__ == "__main__":
    if sys.argv[1:] == ["child"]:
        use()
    else:
        BODY
"""


class TestChildren:
    """Every process that calls has a stream of its own in the bundle, and all are of one session."""

    @pytest.mark.parametrize("way", CHILDREN)
    def test_of_a_python_program(self, way: str, cannery: Run, runtime: dict[str, str], tmp_path: Path) -> None:
        program, trace = tmp_path / "program.py", tmp_path / "trace.cann"
        program.write_text(PROGRAM.replace("BODY", CHILDREN[way].replace("\n", "\n        ")))
        done = cannery("run", "-o", trace, "--", sys.executable, program, env=runtime)
        assert done.returncode == 0, done.stderr
        assert processes(trace) == 2
        replays(cannery, trace)

    def test_ranks_that_a_script_starts(
        self, build: Build, cannery: Run, runtime: dict[str, str], tmp_path: Path
    ) -> None:
        script, trace = tmp_path / "ranks.sh", tmp_path / "trace.cann"
        script.write_text('#!/bin/sh\nfor rank in 1 2 3; do RANK=$rank "$1" notify & done\nwait\n')
        script.chmod(0o755)
        done = cannery("run", "-o", trace, "--", script, build("shares.c"), env=runtime)
        assert done.returncode == 0, done.stderr
        assert processes(trace) == 6
        replays(cannery, trace)
