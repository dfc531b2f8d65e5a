"""``python -m cannery.tools.bench``: measures what Cannery costs, beside other tracers, and prints one table.

Every figure that decides something is a ratio, a difference or a median of measurements of one run on one machine,
taken in turns; absolute times are for orientation. Nothing here is asserted by tests.
"""

import tempfile
from collections.abc import Callable
from pathlib import Path
from typing import Final

import click

from cannery.tools.bench import costs, field, offline, profile, report, scale, states
from cannery.tools.bench.bench import Bench

GROUPS: Final[dict[str, Callable[[Bench], None]]] = {
    "field": field.measure,
    "calls": costs.calls,
    "flight": costs.flight,
    "threads": costs.threads,
    "copies": costs.copies,
    "start": costs.start,
    "offline": offline.measure,
    "states": states.measure,
    "snapshots": states.snapshots,
    "many": scale.many,
    "live": scale.live,
    "waiting": scale.waiting,
    "sharing": scale.sharing,
    "profile": profile.measure,
}


@click.command()
@click.argument("groups", nargs=-1, type=click.Choice(list(GROUPS)))
@click.option("--rounds", default=5, show_default=True, help="Times that each thing is measured; the median counts.")
@click.option(
    "--json",
    "output",
    type=click.Path(dir_okay=False, path_type=Path),
    help="Write the figures there, as pyperf has them, with the machine's data.",
)
@click.option(
    "--docs",
    type=click.Path(file_okay=False, exists=True, path_type=Path),
    help="Write the table and the plot to benchmarks.md and benchmarks.svg in that folder.",
)
def main(groups: tuple[str, ...], rounds: int, output: Path | None, docs: Path | None) -> None:
    """Measure Cannery on this machine. Without GROUPS, everything."""
    with tempfile.TemporaryDirectory(prefix="cannery-bench-") as folder:
        bench = Bench(Path(folder), rounds)
        for name in groups or GROUPS:
            click.echo(f"{name}:")
            bench.group = name
            GROUPS[name](bench)
    machine = report.machine()
    if output is not None:
        output.unlink(missing_ok=True)
        bench.samples.suite(machine).dump(str(output))
    if docs is not None:
        report.write(docs, bench, machine)
    missed = [row.what for row in bench.rows if row.verdict == "MISSED"]
    if missed:
        click.echo(f"{len(missed)} of {sum(row.limit is not None for row in bench.rows)} limits missed:")
        for what in missed:
            click.echo(f"  {what}")


if __name__ == "__main__":
    main()
