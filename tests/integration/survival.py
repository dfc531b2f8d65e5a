"""What is left of a trace when its program, its disk or its folder gives out: faults, and what became of the trace.

The tests try each fault a few times. The table of docs/trace-format.md, section 1, is made by

    python -m tests.integration.survival --tries 1000
"""

import argparse
import os
import random
import resource
import shutil
import signal
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any, Final, NamedTuple

from cannery.recorder.bundle import Bundle
from cannery.recorder.format import TraceError
from cannery.recorder.records import Call, Enter, Record
from cannery.recorder.repair import repair
from cannery.replayer.process import replay_process
from cannery.shim import sdk

from .conftest import HOSTS, environment

LIMIT: Final = 120.0
#: Calls after which a program is killed: in each phase of a recording, also while a window is full.
MOMENTS: Final = (1, 2, 3, 4, 5, 100, 500, 2000, 10000)
IN_FLIGHT: Final = {"aclrtCreateStream", "aclrtCreateEvent", "aclrtMalloc", "aclrtMemcpy", "aclrtRecordEvent"}


class Ended(NamedTuple):
    """How a program ended: its status as ``subprocess`` gives it, what it printed, how many calls had returned."""

    status: int
    stdout: str
    stderr: str
    completed: int


class Outcome(NamedTuple):
    """What became of one trace. ``lost`` counts calls that returned and are not in it; the texts are empty if all is
    well. ``in_flight`` are names of functions."""

    lost: int
    unreadable: str
    unfaithful: str
    in_flight: tuple[str, ...]
    stopped: str | None


class Program:
    """A run of ``faults.c``: ``fault`` is its second argument. ``folder`` is where its counter lies."""

    def __init__(self, binary: Path, folder: Path, trace: Path, fault: str, calls: int, **options: Any) -> None:
        self.counter = folder / "counter"
        self.counter.write_bytes(bytes(4096))
        self.trace = trace
        self.child = subprocess.Popen(
            [binary, self.counter, fault, str(calls)],
            env=environment({"CANNERY_TRACE": str(trace)}),
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            text=True,
            **options,
        )

    def completed(self) -> int:
        return int.from_bytes(self.counter.read_bytes()[:8], "little")

    def wait_for(self, calls: int) -> None:
        """Until that many calls have returned."""
        deadline = time.monotonic() + LIMIT
        while self.completed() < calls:
            assert self.child.poll() is None, self.child.communicate()
            assert time.monotonic() < deadline

    def go_on(self) -> None:
        """Let a program go on that waits for it."""
        with self.counter.open("r+b") as file:
            file.seek(8)
            file.write(b"\1")

    def end(self) -> Ended:
        stdout, stderr = self.child.communicate(timeout=LIMIT)
        return Ended(self.child.returncode, stdout, stderr, self.completed())


def killed(binary: Path, folder: Path, trace: Path, chance: random.Random) -> Ended:
    """Kill the program some time after one of the moments."""
    program = Program(binary, folder, trace, "kill", 1 << 60)
    program.wait_for(chance.choice(MOMENTS))
    for _ in range(chance.randrange(3000)):
        pass  # not at the same place after the counter each time
    program.child.send_signal(signal.SIGKILL)
    return program.end()


def killed_waiting(binary: Path, folder: Path, trace: Path, chance: random.Random) -> Ended:
    """Kill it while a call waits for ever."""
    program = Program(binary, folder, trace, "waits", 10)
    program.wait_for(13)
    time.sleep(chance.random() / 100)  # the wait may have begun or not: both are tried
    program.child.send_signal(signal.SIGKILL)
    return program.end()


def by_itself(fault: str) -> "Fault":
    """The program brings it about after some number of calls."""

    def run(binary: Path, folder: Path, trace: Path, chance: random.Random) -> Ended:
        return Program(binary, folder, trace, fault, chance.choice(MOMENTS[4:])).end()

    return run


def disk_limit(binary: Path, folder: Path, trace: Path, chance: random.Random) -> Ended:
    """No file may be larger than some size, so that windows or payloads cannot be written any more."""
    size = chance.choice((5 << 20, 6 << 20, 9 << 20))
    limit = lambda: resource.setrlimit(resource.RLIMIT_FSIZE, (size, resource.RLIM_INFINITY))  # noqa: E731
    return Program(binary, folder, trace, "disk", 8000, preexec_fn=limit).end()


def full_disk(binary: Path, folder: Path, trace: Path, chance: random.Random) -> Ended:
    """A file system that becomes full; to be used as root."""
    with small_disk(trace.parent, chance.choice((5, 6, 8))):
        ended = Program(binary, folder, trace, "disk", 8000).end()
        shutil.copytree(trace, folder / "copy.cann")
    shutil.copytree(folder / "copy.cann", trace)
    return ended


@contextmanager
def small_disk(place: Path, mebibytes: int, rights: str = "rw") -> Iterator[None]:
    subprocess.run(["mount", "-t", "tmpfs", "-o", f"{rights},size={mebibytes}m", "tmpfs", place], check=True)
    try:
        yield
    finally:
        subprocess.run(["umount", place], check=True)


def deleted(binary: Path, folder: Path, trace: Path, chance: random.Random) -> Ended:
    """The trace is deleted while the program records."""
    program = Program(binary, folder, trace, "deleted", 300_000)
    program.wait_for(5)
    shutil.rmtree(trace)
    program.go_on()
    return program.end()


def read_only(binary: Path, folder: Path, trace: Path, chance: random.Random) -> Ended:
    """The folder may not be written to."""
    if os.getuid() == 0:  # whom rights do not stop
        with small_disk(trace.parent, 1, "ro"):
            return Program(binary, folder, trace, "read-only", 100).end()
    trace.parent.chmod(0o555)
    try:
        return Program(binary, folder, trace, "read-only", 100).end()
    finally:
        trace.parent.chmod(0o755)


Fault = Callable[[Path, Path, Path, random.Random], Ended]

#: name -> the fault, and the status that the program ends with
FAULTS: Final[dict[str, tuple[Fault, int]]] = {
    "SIGKILL at a random moment": (killed, -signal.SIGKILL),
    "SIGKILL in a call that waits": (killed_waiting, -signal.SIGKILL),
    "SIGSEGV in the program": (by_itself("segv"), -signal.SIGSEGV),
    "abort": (by_itself("abort"), -signal.SIGABRT),
    "_exit": (by_itself("_exit"), 7),
    "exec": (by_itself("exec"), 0),
    "limit on file sizes": (disk_limit, 0),
    "full disk": (full_disk, 0),
}


def outcome(trace: Path, completed: int, *, stops: bool) -> Outcome:
    """Open, replay, repair and replay again. ``stops``: recording may end before the program."""
    try:
        with Bundle.open(trace) as bundle:
            (stream,) = bundle.processes
            records = [*stream.records()]
            in_flight = tuple(call.function.name for call in stream.inflight())
            stopped = stream.counts().stopped
    except (TraceError, ValueError) as error:
        return Outcome(completed, str(error) or "unreadable", "", (), None)
    lost = 0 if stops and stopped is not None else max(completed - _returned(records), 0)
    unfaithful = _replays(trace)
    found = repair(trace)
    if found.lost:
        unfaithful += f"repair: {found.lost}"
    elif not unfaithful:
        unfaithful = _replays(trace)
        if repair(trace).done:
            unfaithful += "repair: never done"
        with Bundle.open(trace) as bundle:
            if [*bundle.processes[0].records()] != records:
                unfaithful += "repair: other records"
    return Outcome(lost, "", unfaithful, in_flight, stopped)


def _returned(records: list[Record]) -> int:
    open_calls = sum(isinstance(record, Enter) for record in records) - sum(
        type(record).__name__ == "Exit" for record in records
    )
    return sum(isinstance(record, Call | Enter) for record in records) - open_calls


def _replays(trace: Path) -> str:
    with Bundle.open(trace) as bundle:
        result = replay_process(bundle, bundle.processes[0])
    return "" if result.same else f"{result.differences} {result.damage}"


def attempt(name: str, binary: Path, folder: Path, chance: random.Random) -> tuple[Ended, Outcome]:
    """One try of a fault in an empty folder."""
    place = folder / "place"
    place.mkdir(parents=True)
    ended = FAULTS[name][0](binary, folder, place / "t.cann", chance)
    return ended, outcome(place / "t.cann", ended.completed, stops="disk" in name or "limit" in name)


def _build(folder: Path) -> Path:
    target = folder / "faults"
    command = ["cc", "-O1", f"-I{sdk.include_folder()}", str(HOSTS / "faults.c"), "-o", str(target)]
    subprocess.run([*command, f"-L{sdk.library_folder()}", "-lascendcl", "-lpthread"], check=True)
    return target


def main() -> None:
    parser = argparse.ArgumentParser(description="Bring about faults and count what becomes of the traces.")
    parser.add_argument("--tries", type=int, default=1000, help="of kills at random moments")
    parser.add_argument("--others", type=int, default=50, help="tries of each other fault")
    parser.add_argument("--seed", type=int, default=1)
    chosen = parser.parse_args()
    print("| fault | tries | calls | lost | bundles unreadable | replays unfaithful |\n|---|---:|---:|---:|---:|---:|")
    with tempfile.TemporaryDirectory() as folder:
        binary = _build(Path(folder))
        for name in FAULTS:
            chance = random.Random(f"{chosen.seed}:{name}")
            tries = chosen.tries if name == next(iter(FAULTS)) else chosen.others
            calls = lost = unreadable = unfaithful = 0
            for number in range(tries):
                place = Path(folder, "try")
                ended, found = attempt(name, binary, place, chance)
                shutil.rmtree(place)
                calls += ended.completed
                lost += found.lost
                unreadable += bool(found.unreadable)
                unfaithful += bool(found.unfaithful)
                if number % 100 == 99:
                    print(f"{name}: {number + 1} tries, {calls} calls, {lost} lost", file=sys.stderr, flush=True)
                if found.lost or found.unreadable or found.unfaithful or ended.status != FAULTS[name][1]:
                    print(f"{name}, try {number}: {ended} {found}", file=sys.stderr, flush=True)
            print(f"| {name} | {tries:,} | {calls:,} | {lost} | {unreadable} | {unfaithful} |", flush=True)


if __name__ == "__main__":
    main()
