"""The tools that the same program is run under: none, Cannery, and other tracers, each as its package has it.

The others have no semantics, so they trace calls into a stub library that does nothing; Cannery also does what the
calls ask for. Each is asked for what a record of Cannery has: function, thread, time, arguments and result.
"""

import contextlib
import importlib.util
import os
import shutil
import subprocess
import sys
import tempfile
import time
from abc import ABC, abstractmethod
from collections.abc import Sequence
from pathlib import Path
from typing import ClassVar, Final

from cannery.tools.bench import frida_host
from cannery.tools.bench.bench import Bench, Run, base_environment, run
from cannery.tools.bench.programs import called_functions, compile_provider

_PATTERN: Final = "^aclrt"
_LOSSLESS: Final = ("--blocking-timeout=inf", "--subbuf-size=4M", "--num-subbuf=4")
"""Options of an LTTng channel. Blocking alone loses half of what eight threads send through buffers of usual size."""


class Tool(ABC):
    """One way to run the workload. ``share``: how many of the calls are enough, where a call takes long."""

    name: ClassVar[str]
    share: ClassVar[float] = 1.0
    launches: ClassVar[str] = ""
    """What of the tool's own start is in its start-up figure."""

    def __init__(self, bench: Bench, stub: Path) -> None:
        self.bench = bench
        self.stub = stub

    def missing(self) -> str | None:
        """Why it cannot be measured here, with the package that brings it; None when it can."""
        return None

    @property
    def version(self) -> str:
        return ""

    @abstractmethod
    def run(self, args: Sequence[str], trace: Path) -> Run:
        """Run the workload to its end, with its trace at ``trace``."""

    def close(self) -> None:  # noqa: B027 - most have nothing to end
        """End what was started for all runs."""

    def _stubbed(self, **more: str) -> dict[str, str]:
        return base_environment() | {"LD_LIBRARY_PATH": str(self.stub)} | more

    def _workload(self, args: Sequence[str]) -> list[str]:
        return [str(self.bench.program), *args]


class Nothing(Tool):
    name = "no tool"

    def run(self, args: Sequence[str], trace: Path) -> Run:
        return run(self._workload(args), self._stubbed())


class Unrecorded(Tool):
    name = "Cannery, not recording"
    launches = "first call"

    def run(self, args: Sequence[str], trace: Path) -> Run:
        if args == ["once"]:
            return run(self._workload(args), self.bench.preloaded())
        return run(self.bench.unrecorded(*args))


class Cannery(Tool):
    """The start-up figure is that of a preloaded program; the launcher has a row of its own."""

    name = "Cannery"
    launches = "first call"

    def run(self, args: Sequence[str], trace: Path) -> Run:
        if args == ["once"]:
            return run(self._workload(args), self.bench.preloaded(CANNERY_TRACE=str(trace)))
        return run(self.bench.recorded(*args, trace=trace))


class Uftrace(Tool):
    name = "uftrace"
    launches = "its launcher"

    def missing(self) -> str | None:
        return None if shutil.which("uftrace") else "uftrace is not installed (apt-get install uftrace)"

    @property
    def version(self) -> str:
        return _first_line(["uftrace", "--version"]).split()[1].lstrip("v")

    def run(self, args: Sequence[str], trace: Path) -> Run:
        arguments = ",".join(f"arg{number}" for number in range(1, 7))
        options = ["--force", "--no-event", "-F", _PATTERN, "-R", f"{_PATTERN}@retval", "-d", str(trace)]
        for function in called_functions():
            if function.params:
                listed = arguments[: 5 * len(function.params) - 1]
                options += ["-A", f"^{function.name}$@{listed}"]
        return run(["uftrace", "record", *options, *self._workload(args)], self._stubbed())


class Ltrace(Tool):
    name = "ltrace"
    share = 0.01
    launches = "its launcher"

    def missing(self) -> str | None:
        return None if shutil.which("ltrace") else "ltrace is not installed (apt-get install ltrace)"

    @property
    def version(self) -> str:
        return _first_line(["ltrace", "--version"]).split()[-1].rstrip(".")

    def run(self, args: Sequence[str], trace: Path) -> Run:
        options = ["-f", "-ttt", "-e", "aclrt*", "-o", str(trace)]
        return run(["ltrace", *options, *self._workload(args)], self._stubbed())


class Lttng(Tool):
    """One event per call, behind it, in a channel that loses nothing, as Cannery does not."""

    name = "LTTng-UST"
    launches = "its library; the daemons run already"
    _session: Final = f"cannery-bench-{os.getpid()}"

    def __init__(self, bench: Bench, stub: Path) -> None:
        super().__init__(bench, stub)
        self._daemon: int | None = None
        self._provider: Path | None = None

    def missing(self) -> str | None:
        if not (shutil.which("lttng") and shutil.which("lttng-sessiond")):
            return "LTTng-UST is not installed (apt-get install lttng-tools liblttng-ust-dev)"
        try:
            self._provider = compile_provider(self.bench.folder)
        except subprocess.CalledProcessError:
            return "LTTng-UST has no headers here (apt-get install liblttng-ust-dev)"
        return self._start_daemon()

    @property
    def version(self) -> str:
        return _first_line(["lttng", "--version"]).partition(")")[2].split()[0]

    def _start_daemon(self) -> str | None:
        if _succeeds(["lttng", "list"]):
            return None
        pid_file = Path(tempfile.mkstemp(dir=self.bench.folder)[1])
        pid_file.unlink()
        subprocess.run(
            ["lttng-sessiond", "--daemonize", "--no-kernel", f"--pidfile={pid_file}"], check=False, capture_output=True
        )
        for _ in range(50):
            if _succeeds(["lttng", "list"]) and pid_file.exists():
                self._daemon = int(pid_file.read_text())
                return None
            time.sleep(0.1)
        return "LTTng-UST was not measured: its session daemon does not start"

    def run(self, args: Sequence[str], trace: Path) -> Run:
        def lttng(*command: str) -> None:
            subprocess.run(["lttng", *command], check=True, capture_output=True, timeout=60)

        lttng("create", self._session, f"--output={trace}")
        try:
            lttng("enable-channel", "-u", *_LOSSLESS, "calls")
            lttng("enable-event", "-u", "-c", "calls", "ascend:*")
            lttng("start")
            environment = self._stubbed(LD_PRELOAD=str(self._provider), LTTNG_UST_ALLOW_BLOCKING="1")
            done = run(self._workload(args), environment)
            lttng("stop")
        finally:
            lttng("destroy", self._session)
        return done

    def close(self) -> None:
        if self._daemon is not None:
            with contextlib.suppress(ProcessLookupError):
                os.kill(self._daemon, 15)


class Frida(Tool):
    """Its JavaScript engine with one hook per function, which keeps the calls and sends them in batches."""

    name = "Frida"
    share = 0.1
    launches = "its launcher"

    def missing(self) -> str | None:
        found = importlib.util.find_spec("frida")
        return None if found is not None else "Frida is not installed (pip install frida)"

    @property
    def version(self) -> str:
        from importlib.metadata import version

        return version("frida")

    def run(self, args: Sequence[str], trace: Path) -> Run:
        host = [sys.executable, str(Path(frida_host.__file__)), str(trace), *self._workload(args)]
        hooks = ",".join(f"{function.name}:{len(function.params)}" for function in called_functions())
        return run(host, self._stubbed(**{frida_host.HOOKS: hooks}))


TOOLS: Final[tuple[type[Tool], ...]] = (Nothing, Uftrace, Lttng, Ltrace, Frida, Unrecorded, Cannery)


def stored(trace: Path) -> int:
    """Bytes of a trace: a file or a folder. What Cannery keeps of payloads is not counted."""
    if trace.is_file():
        return trace.stat().st_size
    files = (file for file in trace.rglob("*") if file.is_file() and file.name != "payloads.pack")
    return sum(file.stat().st_size for file in files)


def _first_line(command: Sequence[str]) -> str:
    done = subprocess.run(command, check=False, capture_output=True, text=True)
    return (done.stdout or done.stderr).partition("\n")[0]


def _succeeds(command: Sequence[str]) -> bool:
    return subprocess.run(command, check=False, capture_output=True).returncode == 0
