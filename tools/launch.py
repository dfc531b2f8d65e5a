"""Starts the program of ``cannery run`` and waits for it, without standing in its way.

The program gets the launcher's standard streams, process group and signal dispositions. A keyboard interrupt goes to
the whole group, so the launcher ignores it and lets the program decide; signals sent to the launcher are passed on.
"""

import contextlib
import errno
import os
import re
import select
import signal
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from types import FrameType
from typing import Final

from cannery.tools.errors import NOT_EXECUTABLE, NOT_FOUND, Failure

_PASSED_ON: Final = (signal.SIGTERM, signal.SIGHUP, signal.SIGUSR1, signal.SIGUSR2)
_KEYBOARD: Final = (signal.SIGINT, signal.SIGQUIT)
_PYTHON_IGNORES: Final = (signal.SIGPIPE, signal.SIGXFSZ)  # set by our interpreter, not by whoever started us
_ADDR_NO_RANDOMIZE: Final = 0x0040000  # personality(2)
_TICK_MS: Final = 200
_INTERPRETERS: Final = {  # names of programs that run a script, and their options that have a value of their own
    r"(python|pypy)[0-9.]*": ("-W", "-X", "--check-hash-based-pycs"),
    r"(ba|da|z|k)?sh": ("-o", "-O", "+O"),
}


def find_program(name: str, environment: Mapping[str, str]) -> Path:
    """Find the program as a shell does.

    Raises:
        Failure: status 127 when there is none, 126 when it may not be executed.
    """
    if "/" in name:
        candidates = [Path(name)]
    else:
        folders = environment.get("PATH", os.defpath).split(os.pathsep)
        candidates = [Path(folder or ".", name) for folder in folders]
    found = [path for path in candidates if path.exists()]
    for path in found:
        if path.is_file() and os.access(path, os.X_OK):
            return path
    if "/" in name and found:
        what = "is a folder" if found[0].is_dir() else "is not executable; chmod +x makes it so"
        raise Failure(f"{name}: {what}", NOT_EXECUTABLE)
    where = "" if "/" in name else " on PATH"
    raise Failure(f"{name}: no such program{where}", NOT_FOUND)


def script_name(words: Sequence[str]) -> str:
    """What people call the program of a command line: of an interpreter, the script or module that it runs."""
    program = Path(words[0]).name
    options = next((takes for name, takes in _INTERPRETERS.items() if re.fullmatch(name, program)), None)
    rest = list(words[1:])
    while options is not None and rest:
        word = rest.pop(0)
        if word == "-m" and rest:
            return rest[0].removesuffix(".__main__").rpartition(".")[2] or program
        if word in ("-c", "-", "--"):
            break
        if word in options:
            del rest[:1]
        elif not word.startswith(("-", "+")):
            return Path(word).stem or program
    return program


def fix_addresses() -> bool:
    """Switch address-space randomisation off for programs started from here on. False: the system refuses."""
    import ctypes  # only --clock virtual needs it

    personality = ctypes.CDLL(None, use_errno=True).personality
    personality.argtypes = [ctypes.c_ulong]
    present = personality(0xFFFFFFFF)
    return bool(present != -1 and personality(present | _ADDR_NO_RANDOMIZE) != -1)


def run(
    program: Path,
    argv: list[str],
    environment: Mapping[str, str],
    tick: Callable[[], bool] | None,
    ours_too: Mapping[int, Callable[[], None]] | None = None,
) -> tuple[int, int]:
    """Run ``program`` to its end; call ``tick`` at once and about five times a second, and again at once when it
    says that there is more to do. Signals in ``ours_too`` are not passed on: what is given for them is called instead.
    Return the program's id and wait status.

    Raises:
        Failure: the system cannot execute the file (status 126).
    """
    ours = {number: signal.getsignal(number) for number in (*_PASSED_ON, *_KEYBOARD)}
    # What our caller had set to be ignored (nohup) stays ignored in the program.
    default: list[int] = [number for number, handler in ours.items() if handler is not signal.SIG_IGN]
    for key in _KEYBOARD:
        signal.signal(key, signal.SIG_IGN)
    child = 0
    early: list[int] = []

    caught = ours_too or {}

    def pass_on(number: int, _frame: FrameType | None) -> None:
        if number in caught:
            caught[number]()
        elif child:
            with contextlib.suppress(ProcessLookupError):
                os.kill(child, number)
        else:
            early.append(number)

    try:
        for passed in _PASSED_ON:
            if passed in default or passed in caught:
                signal.signal(passed, pass_on)
        child = _spawn(program, argv, environment, [*default, *_PYTHON_IGNORES])
        for number in early:
            os.kill(child, number)
        if tick is not None:
            _tick_until_end(child, tick)
        return os.waitpid(child, 0)
    finally:
        child = 0
        for kept, handler in ours.items():
            signal.signal(kept, handler if handler is not None else signal.SIG_DFL)


def _spawn(program: Path, argv: list[str], environment: Mapping[str, str], default: list[int]) -> int:
    try:
        return os.posix_spawn(program, argv, environment, setsigdef=default)
    except OSError as error:
        with program.open("rb") as file:
            text = b"\0" not in file.read(256)
        if error.errno == errno.ENOEXEC and text:  # a script without a first line, which execvp gives to the shell
            return os.posix_spawn("/bin/sh", ["/bin/sh", str(program), *argv[1:]], environment, setsigdef=default)
        status = NOT_FOUND if isinstance(error, FileNotFoundError) else NOT_EXECUTABLE
        raise Failure(f"{argv[0]}: cannot be started: {error.strerror or error}", status) from None


def _tick_until_end(child: int, tick: Callable[[], bool]) -> None:
    try:
        end = os.pidfd_open(child)
    except OSError:  # a system without pidfd: what fills up meanwhile is worked off at the end
        return
    try:
        poll = select.poll()
        poll.register(end, select.POLLIN)
        more = tick()
        while not poll.poll(0 if more else _TICK_MS):
            more = tick()
    finally:
        os.close(end)
