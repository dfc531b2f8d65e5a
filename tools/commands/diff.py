"""``cannery diff``: what differs between two traces, and what caused it."""

import os
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from cannery.tools import callset, options, state_at, terminal, traces
from cannery.tools.callset import CallSet
from cannery.tools.errors import Failure

if TYPE_CHECKING:
    from cannery.recorder.bundle import Bundle
    from cannery.replayer.comparison.side import Wanted


@click.command(name="diff")
@click.argument("first", type=click.Path(), metavar="A")
@click.argument("second", type=click.Path(), metavar="B")
@click.option("--json", "as_json", is_flag=True, help="Print one JSON object; docs/diff.md has its keys.")
@click.option("--junit", type=click.Path(dir_okay=False), metavar="FILE", help="Also write a JUnit XML report.")
@callset.option
@click.option(
    "--ignore",
    multiple=True,
    metavar="FUNCTION[,...]",
    help="Leave out calls of these functions; * and ? stand for anything. May be repeated.",
)
@click.option("--payloads/--no-payloads", default=True, help="Compare the bytes that were copied, or not.")
@click.option(
    "--limit",
    type=options.Whole(),
    default=10,
    show_default=True,
    metavar="N",
    help="Causes to describe for each process; the others are counted. 0: all.",
)
@click.option("--unfold", is_flag=True, help="Describe each difference by itself, also those that seem to follow.")
@click.option("--process", type=options.Whole(1), metavar="N", help="Only this process of A (see 'cannery info').")
@click.pass_context
def command(context: click.Context, /, first: str, second: str, as_json: bool, junit: str | None,
            calls: CallSet | None, ignore: tuple[str, ...], payloads: bool, limit: int, unfold: bool,
            process: int | None) -> None:  # fmt: skip
    """Compare two traces call by call, and name the first cause of a difference; or, as A@N and B@M, the states of two
    processes as their calls N and M met them.

    \b
    Examples:
      cannery diff before.cann after.cann
      cannery diff a.cann b.cann --ignore 'aclrtGetMemInfo,aclAppLog*'
      cannery diff a.cann b.cann --junit report.xml --no-payloads
      cannery diff a.cann@1200 b.cann@1210

    Each thread's calls are aligned with those of its counterpart. What counts is which object a call names and which
    bytes it moves, not numbers, addresses, times or the order of threads that have nothing to do with each other
    (docs/diff.md). Differences that seem to follow from an earlier one are told with it.

    Exit status: 0 the same, 1 different, 2 a trace could not be read, or not to its end.
    """
    states = state_at.parse(first), state_at.parse(second)
    if any(states):
        if None in states or junit is not None or calls is not None or ignore:
            raise click.UsageError("compare A@N with B@M, and without --junit, --calls and --ignore")
        context.exit(state_at.diff((first, second), process, as_json))
    from cannery.shim.compiled import prefer_compiled

    prefer_compiled()
    from cannery.replayer.comparison.process import Options
    from cannery.replayer.diff import diff

    with traces.opened(first) as a, traces.opened(second) as b:
        with terminal.progress("comparing", _total(a)) as progress:
            try:
                chosen = Options(_wanted(a, b, calls, ignore), payloads, not unfold, progress)
                found = diff((a, b), chosen, limit or None, process)
            except KeyError:
                traces.processes(a, process)
                raise
        for path, bundle in ((first, a), (second, b)):
            if not bundle.processes:
                found.notes.append(f"{path}: no runtime call was recorded")
            traces.report(bundle, path)
        if junit is not None:
            _write_junit(junit, found, (first, second))
        if as_json:
            traces.print_json({"a": first, "b": second, **found.to_json()})
        else:
            from cannery.tools.diff_text import lines

            for line in lines(found, (first, second)):
                click.echo(line)
    context.exit(found.status)


def _total(bundle: "Bundle") -> int | None:
    """How many calls there are, where that is known without reading them all."""
    counts = [traces.calls(stream) for stream in bundle.processes]
    return None if None in counts else sum(number or 0 for number in counts)


def _wanted(a: "Bundle", b: "Bundle", calls: CallSet | None, ignore: tuple[str, ...]) -> "Wanted | None":
    """Which calls take part. Raises Failure: a function's name fits none."""
    known = {form.name for bundle in (a, b) for form in bundle.schema.functions}
    chosen = callset.chooser(calls, known)
    patterns = [name.strip() for names in ignore for name in names.split(",") if name.strip()]
    try:
        ignored = callset.matching(patterns, known)
    except callset.CallSetError as error:
        raise Failure(f"--ignore: {error}") from None
    if not ignored:
        return chosen
    return lambda number, function: function not in ignored and (chosen is None or chosen(number, function))


def _write_junit(path: str, found: Any, names: tuple[str, str]) -> None:
    from cannery.recorder.create import check_outside
    from cannery.recorder.format import BundleExists
    from cannery.tools.diff_text import junit

    try:
        check_outside(os.path.realpath(path))
        Path(path).write_bytes(junit(found, names))
    except BundleExists as error:
        raise Failure(str(error)) from None
    except OSError as error:
        raise Failure(f"cannot write {path}: {error.strerror}") from None
