"""Runs the workload with and without Cannery, in turns, and keeps what came of it."""

import os
import resource
import subprocess
import sys
import time
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Final, NamedTuple, TypeAlias

import click

from cannery.shim import sdk
from cannery.tools.bench.programs import compile_workload
from cannery.tools.bench.rows import Limit, Row, shown
from cannery.tools.bench.samples import Samples

MAIN: Final = "cannery.tools.main"
Ways: TypeAlias = Mapping[str, Callable[[], Mapping[str, float]]]
"""What is measured in turns: by name, what gives the figures of one round."""


class Run(NamedTuple):
    """A process that ended: the figures that it printed; how long it took as a whole, and the processor time that it
    and its children took, in milliseconds."""

    figures: dict[str, float]
    milliseconds: float
    processor: float


def base_environment() -> dict[str, str]:
    """That of the bench, without what would change how a program is run."""
    return {key: value for key, value in os.environ.items() if not key.startswith(("CANNERY_", "LD_", "LTTNG_"))}


def run(command: Sequence[str], environment: Mapping[str, str] | None = None) -> Run:
    """Run a workload to its end.

    Raises:
        ClickException: it failed; with what it said.
    """
    chosen = base_environment() if environment is None else environment
    used = children_ms()
    start = time.perf_counter()
    done = subprocess.run(command, capture_output=True, text=True, env=chosen, check=False)
    elapsed = (time.perf_counter() - start) * 1e3
    if done.returncode != 0:
        raise click.ClickException(f"{' '.join(command)}: status {done.returncode}\n{done.stderr[-2000:]}")
    figures = {}
    for line in done.stdout.splitlines():
        name, _, value = line.partition(" ")
        try:
            figures[name] = float(value)
        except ValueError:  # a tool's own line
            continue
    return Run(figures, elapsed, children_ms() - used)


class Bench:
    """What the groups of measurements share. ``notes`` says what was left out, and why;
    ``versions`` are those of the other tools."""

    def __init__(self, folder: Path, rounds: int) -> None:
        self.folder = folder
        self.rounds = rounds
        self.samples = Samples()
        self.rows: list[Row] = []
        self.notes: list[str] = []
        self.versions: dict[str, str] = {}
        self.program = compile_workload(folder)
        self.group = ""
        self._traces = 0

    def trace(self) -> Path:
        """A name for a new trace."""
        self._traces += 1
        return self.folder / f"{self._traces}.cann"

    def recorded(self, *args: str, trace: Path | None = None, options: Sequence[str] = ()) -> list[str]:
        """The command line that records the workload."""
        where = trace or self.trace()
        return [sys.executable, "-m", MAIN, "run", "-o", str(where), *options, "--", str(self.program), *args]

    def unrecorded(self, *args: str) -> list[str]:
        """The command line that runs the workload on the machine without recording it."""
        return [sys.executable, "-m", MAIN, "run", "--no-record", "--", str(self.program), *args]

    def preloaded(self, **variables: str) -> dict[str, str]:
        """The environment in which a program finds Cannery without the launcher."""
        found = {"LD_PRELOAD": str(sdk.preload()), "LD_LIBRARY_PATH": str(sdk.library_folder())}
        return base_environment() | found | variables

    def in_turns(self, ways: Ways, unit: str, rounds: int = 0) -> None:
        """Measure each way once a round; the figure ``f`` of way ``w`` becomes the sample ``w/f``."""
        for _ in range(rounds or self.rounds):
            for way, measure in ways.items():
                for name, value in measure().items():
                    self.samples.add(f"{self.group}/{way}/{name}", value, "B" if name.startswith("memory") else unit)

    def median(self, name: str) -> float:
        """Of a sample of the present group."""
        return self.samples.median(f"{self.group}/{name}")

    def least(self, name: str) -> float:
        return self.samples.least(f"{self.group}/{name}")

    def ratio(self, name: str, to: str) -> float:
        return self.samples.ratio(f"{self.group}/{name}", f"{self.group}/{to}")

    def difference(self, name: str, other: str) -> float:
        return self.samples.difference(f"{self.group}/{name}", f"{self.group}/{other}")

    def add(
        self, what: str, figure: float, unit: str, *, most: float | None = None, least: float | None = None
    ) -> None:
        """Add a row and show it."""
        limit = Limit(most, least) if most is not None or least is not None else None
        row = Row(self.group, what, figure, unit, limit)
        self.rows.append(row)
        click.echo(f"  {what:<70} {shown(figure, unit):>14}  {limit or ''} {row.verdict}".rstrip())

    def note(self, text: str) -> None:
        """Say that something was left out."""
        self.notes.append(text)
        click.echo(f"  {text}")


def children_ms() -> float:
    """The processor time of all children that ended so far, in milliseconds."""
    used = resource.getrusage(resource.RUSAGE_CHILDREN)
    return (used.ru_utime + used.ru_stime) * 1e3


def processor_ms(work: Callable[[], object]) -> float:
    """The processor time that this process takes for some work, in milliseconds: what it would take on a machine that
    has nothing else to do."""
    start = time.process_time()
    work()
    return (time.process_time() - start) * 1e3
