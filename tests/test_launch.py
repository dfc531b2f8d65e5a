"""The launcher stands in nobody's way: status, signals, standard streams and environment are the program's own."""

import os
import signal
import subprocess
import sys
from pathlib import Path

import pytest

from cannery.tools import launch
from cannery.tools.errors import Failure

SH = Path("/bin/sh")


def run(script: str, environment: dict[str, str] | None = None) -> int:
    return launch.run(SH, ["sh", "-c", script], {"PATH": os.defpath} | (environment or {}), None)[1]


@pytest.mark.parametrize("status", [0, 1, 2, 77, 255])
def test_the_exit_status_is_the_programs(status: int) -> None:
    assert os.waitstatus_to_exitcode(run(f"exit {status}")) == status


def test_a_signal_is_reported_as_such() -> None:
    assert os.waitstatus_to_exitcode(run("kill -KILL $$")) == -signal.SIGKILL


def test_the_environment_is_what_was_given() -> None:
    assert run('test "$CANNERY_X" = 1 -a -z "$HOME"', {"CANNERY_X": "1"}) == 0


def test_signals_that_python_ignores_end_the_program_as_usual() -> None:
    # SIGPIPE: the writer of a closed pipe must die of it, not see an error.
    assert os.waitstatus_to_exitcode(run("kill -PIPE $$")) == -signal.SIGPIPE


def test_tick_is_called_while_the_program_runs(tmp_path: Path) -> None:
    fifo = tmp_path / "fifo"
    os.mkfifo(fifo)
    ticks: list[int] = []

    def tick() -> None:
        ticks.append(1)
        if len(ticks) == 2:  # the program waits for this: it cannot end before the second tick
            os.close(os.open(fifo, os.O_WRONLY))

    launch.run(SH, ["sh", "-c", f"cat {fifo}"], {"PATH": os.defpath}, tick)
    assert len(ticks) >= 2


def test_a_script_without_a_first_line_goes_to_the_shell(tmp_path: Path) -> None:
    script = tmp_path / "script"
    script.write_text("exit 7\n")
    script.chmod(0o755)
    assert os.waitstatus_to_exitcode(launch.run(script, ["script"], {}, None)[1]) == 7


def test_a_file_that_is_no_program_is_refused(tmp_path: Path) -> None:
    program = tmp_path / "program"
    program.write_bytes(b"\x00\x01\x02")
    program.chmod(0o755)
    with pytest.raises(Failure) as failure:
        launch.run(program, ["program"], {}, None)
    assert failure.value.exit_code == 126


def test_handlers_are_as_before_afterwards() -> None:
    before = [signal.getsignal(number) for number in (signal.SIGINT, signal.SIGTERM)]
    run("exit 0")
    assert [signal.getsignal(number) for number in (signal.SIGINT, signal.SIGTERM)] == before


class TestFindProgram:
    def test_a_name_is_looked_up_on_path(self) -> None:
        assert launch.find_program("sh", {"PATH": "/nowhere:/bin"}) == Path("/bin/sh")

    def test_a_path_is_taken_as_it_is(self) -> None:
        assert launch.find_program("/bin/sh", {}) == SH

    @pytest.mark.parametrize("name", ["no-such-program", "/no/such/program"])
    def test_nothing_of_that_name_is_127(self, name: str) -> None:
        with pytest.raises(Failure, match=f"{name}: no such program") as failure:
            launch.find_program(name, {"PATH": "/bin"})
        assert failure.value.exit_code == 127

    def test_not_executable_is_126(self, tmp_path: Path) -> None:
        (tmp_path / "file").write_text("")
        for path, words in ((tmp_path / "file", r"chmod \+x"), (tmp_path, "is a folder")):
            with pytest.raises(Failure, match=words) as failure:
                launch.find_program(str(path), {})
            assert failure.value.exit_code == 126


LAUNCHER = """
import os, sys
from pathlib import Path
from cannery.tools import launch
_, status = launch.run(Path("/bin/sh"), ["sh", "-c", sys.argv[1]], dict(os.environ), None)
sys.exit(os.waitstatus_to_exitcode(status) % 256)
"""


def start(script: str) -> "subprocess.Popen[str]":
    process = subprocess.Popen(
        [sys.executable, "-c", LAUNCHER, script], stdout=subprocess.PIPE, text=True, start_new_session=True
    )
    assert process.stdout is not None
    assert process.stdout.readline() == "ready\n"
    return process


def test_a_signal_for_the_launcher_reaches_the_program() -> None:
    with start("trap 'echo got; exit 5' TERM; echo ready; while :; do sleep 0.01; done") as process:
        process.send_signal(signal.SIGTERM)
        assert process.wait() == 5


def test_the_program_decides_about_a_keyboard_interrupt() -> None:
    with start("trap 'exit 6' INT; echo ready; while :; do sleep 0.01; done") as process:
        os.killpg(process.pid, signal.SIGINT)  # as the terminal does
        assert process.wait() == 6


@pytest.mark.parametrize(
    ("words", "name"),
    [
        ("./build/app --x 1", "app"),
        ("python3 train.py --steps 3", "train"),
        ("/usr/bin/python3.11 -u -W ignore -X dev src/train.py", "train"),
        ("python -m torch.distributed.run app.py", "run"),
        ("python -m package.__main__", "package"),
        ("python3 -c pass train.py", "python3"),
        ("python3", "python3"),
        ("pypy3 tool.py", "tool"),
        ("sh -e run.sh train.py", "run"),
        ("bash -o errexit ./run.sh", "run"),
        ("bash -c ./run.sh", "bash"),
        ("pythonize in.py", "pythonize"),
    ],
)
def test_a_script_is_called_by_its_own_name(words: str, name: str) -> None:
    assert launch.script_name(words.split()) == name
