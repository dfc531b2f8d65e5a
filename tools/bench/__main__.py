"""``python -m cannery.tools.bench``: measures what Cannery costs and prints one table.

Every figure that decides something is a ratio of two measurements of the same run on the same machine, taken in turn;
absolute times are printed for orientation. Nothing here is asserted by tests.
"""

import json
import os
import platform
import shlex
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any, NamedTuple

import click

from cannery.shim import sdk

WORKLOAD = Path(__file__).with_name("workload.c")
COPY_SIZE = 64 << 20


class Row(NamedTuple):
    """One line of the table: what was measured, the figure with its unit, and what it should be."""

    what: str
    figure: float
    unit: str
    wanted: str = ""


class Bench:
    """Runs the workload program with and without Cannery and collects rows."""

    def __init__(self, folder: Path, rounds: int) -> None:
        self.folder = folder
        self.rounds = rounds
        self.rows: list[Row] = []
        self.program = folder / "workload"
        self.traces = 0
        compiler = shlex.split(os.environ.get("CC", "cc"))
        libraries = sdk.library_folder()
        options = [
            "-O2",
            "-Wall",
            "-Wextra",
            "-Werror",
            f"-I{sdk.include_folder()}",
            str(WORKLOAD),
            "-o",
            str(self.program),
        ]
        link = [f"-L{libraries}", f"-Wl,-rpath,{libraries}", "-lascendcl", "-lpthread"]
        subprocess.run([*compiler, *options, *link], check=True)

    def trace(self) -> Path:
        """A name for a new trace."""
        self.traces += 1
        return self.folder / f"{self.traces}.cann"

    def command(self, *args: str, options: Sequence[str] = ()) -> list[str]:
        """The command line that records the workload."""
        trace = ["-o", str(self.trace())] if "--no-record" not in options else []
        return [sys.executable, "-m", "cannery.tools.main", "run", *trace, *options, "--", str(self.program), *args]

    def measure(self, *args: str, options: Sequence[str] = ()) -> dict[str, float]:
        """The figures that the workload prints: the median of each over the rounds."""
        seen: dict[str, list[float]] = {}
        for _ in range(self.rounds):
            done = subprocess.run(self.command(*args, options=options), check=True, capture_output=True, text=True)
            for line in done.stdout.splitlines():
                name, value = line.split()
                seen.setdefault(name, []).append(float(value))
        return {name: statistics.median(values) for name, values in seen.items()}

    def add(self, what: str, figure: float, unit: str, wanted: str = "") -> None:
        """Add a row and show it."""
        self.rows.append(Row(what, figure, unit, wanted))
        click.echo(f"  {what:<58} {figure:>10.2f} {unit:<6} {wanted}")


def whole_process(command: Sequence[str], rounds: int, environment: dict[str, str] | None = None) -> float:
    """Median wall milliseconds of a whole process."""
    times = []
    for _ in range(rounds):
        start = time.perf_counter()
        subprocess.run(command, check=True, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL, env=environment)
        times.append((time.perf_counter() - start) * 1e3)
    return statistics.median(times)


def bench_calls(bench: Bench) -> None:
    """Cost of one call, recorded and not, on the main and on a foreign thread."""
    recorded = bench.measure("calls", "400")
    plain = bench.measure("calls", "400", options=["--no-record"])
    wanted = {"aclrtGetDevice": "<= 1500", "aclrtRecordEvent": "<= 2500"}
    for name, cost in recorded.items():
        bench.add(f"{name}, recorded", cost, "ns", wanted.get(name.partition("/")[0], ""))
    for name, cost in plain.items():
        bench.add(f"{name}, not recorded", cost, "ns")


def bench_threads(bench: Bench) -> None:
    """Throughput of several threads that call at once, against one."""
    one = bench.measure("threads", "1", "200000")["threads/1"]
    for count in (2, 4, 8):
        many = bench.measure("threads", str(count), "100000")[f"threads/{count}"]
        bench.add(f"throughput of {count} threads / of one", one / many, "", ">= 0.60" if count == 4 else "")


def bench_copies(bench: Bench) -> None:
    """Synchronous copies against memcpy in the same process."""
    for options, wanted in (
        ([], {"new": ">= 0.25", "stored": ">= 0.50"}),
        (["--payload", "none"], {"new": ">= 0.60"}),
        (["--no-record"], {}),
    ):
        name = " ".join(options) or "recorded"
        figures = bench.measure("copies", str(COPY_SIZE), "9", options=options)
        for kind in ("new", "stored", "to_host"):
            ratio = figures["copy/memcpy"] / figures[f"copy/{kind}"]
            bench.add(f"64 MB copy, {kind}, {name}: speed / memcpy", ratio, "", wanted.get(kind, ""))
        bench.add(f"64 MB copy, first touch, {name}", figures["copy/first_touch"] / 1e6, "ms")


def bench_start(bench: Bench) -> None:
    """Whole processes: what the first call, the launcher and a preload cost."""
    libraries = str(sdk.library_folder())
    base = {key: value for key, value in os.environ.items() if not key.startswith(("CANNERY_", "LD_"))}
    loaded = base | {"LD_PRELOAD": str(sdk.preload()), "LD_LIBRARY_PATH": libraries}
    rounds = max(9, bench.rounds * 5)
    nothing = whole_process([str(bench.program), "nothing"], rounds, base)
    once = whole_process([str(bench.program), "once"], rounds, loaded)
    bench.add("a program that makes one call, not recorded: later than the bare one", once - nothing, "ms")
    for_trace: list[float] = []
    for _ in range(rounds):
        for_trace.append(whole_process([str(bench.program), "once"], 1, loaded | {"CANNERY_TRACE": str(bench.trace())}))
    bench.add(
        "a program that makes one call, recorded: later than the bare one",
        statistics.median(for_trace) - nothing,
        "ms",
        "<= 120",
    )
    for command in (["sh", "-c", ":"], ["ls", "/"], ["cc", "--version"]):
        plain = whole_process(command, rounds, base)
        preloaded = whole_process(command, rounds, loaded)
        bench.add(f"preloaded {' '.join(command)}: later than without", preloaded - plain, "ms", "< 2")
    launcher = whole_process(
        [sys.executable, "-m", "cannery.tools.main", "run", "--no-record", "--", "true"], rounds, base
    )
    bench.add("cannery run -- true", launcher, "ms")


def bench_replay(bench: Bench) -> None:
    """Calls replayed in a second, start of the replayer excluded."""
    from cannery.recorder.bundle import Bundle
    from cannery.replayer.process import replay_process

    path = bench.trace()
    subprocess.run(
        [sys.executable, "-m", "cannery.tools.main", "run", "-o", str(path), "--", str(bench.program), "calls", "400"],
        check=True,
        capture_output=True,
    )
    best = 0.0
    calls = 0
    for _ in range(bench.rounds):
        bundle = Bundle.open(path)
        start = time.perf_counter()
        outcome = replay_process(bundle, bundle.processes[0])
        seconds = time.perf_counter() - start
        if not outcome.same:
            raise click.ClickException("the recorded workload does not replay")
        calls = outcome.calls
        best = max(best, calls / seconds)
    bench.add(f"replay of {calls} calls", best / 1e3, "k/s", ">= 200")
    size = sum(file.stat().st_size for file in path.rglob("*") if file.is_file())
    bench.add("bytes per call, sealed", size / calls, "B")


GROUPS: dict[str, Callable[[Bench], None]] = {
    "calls": bench_calls,
    "threads": bench_threads,
    "copies": bench_copies,
    "start": bench_start,
    "replay": bench_replay,
}


@click.command()
@click.argument("groups", nargs=-1, type=click.Choice(sorted(GROUPS)))
@click.option("--rounds", default=5, show_default=True, help="Runs of each workload; the median counts.")
@click.option(
    "--json",
    "output",
    type=click.Path(dir_okay=False, path_type=Path),
    help="Write the figures with the machine's data there.",
)
def main(groups: tuple[str, ...], rounds: int, output: Path | None) -> None:
    """Measure Cannery on this machine. Without GROUPS, everything."""
    with tempfile.TemporaryDirectory(prefix="cannery-bench-") as folder:
        bench = Bench(Path(folder), rounds)
        for name in groups or GROUPS:
            click.echo(f"{name}:")
            GROUPS[name](bench)
    if output is not None:
        machine: dict[str, Any] = {
            "python": platform.python_version(),
            "machine": platform.platform(),
            "cpus": os.cpu_count(),
        }
        output.write_text(json.dumps({"machine": machine, "rows": [row._asdict() for row in bench.rows]}, indent=1))


if __name__ == "__main__":
    main()
