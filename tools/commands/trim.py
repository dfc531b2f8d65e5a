"""``cannery trim``: cut calls out of a trace."""

import re
from typing import Final

import click

from cannery.tools import options, state_at, traces
from cannery.tools.errors import Failure

_CALLS: Final = re.compile(r"(\d{1,18})?[:-](\d{1,18})?")


@click.command(name="trim")
@click.argument("trace", type=click.Path())
@click.option("--calls", required=True, metavar="A:B", help="The first and the last call; either may be left out.")
@click.option("-o", "--output", required=True, type=options.Target(), metavar="OUT", help="The trace to write.")
@click.option("--force", is_flag=True, help="Replace OUT if it is a trace.")
@click.option("--process", type=int, metavar="N", help="The process, if the trace has several (see 'cannery info').")
def command(trace: str, calls: str, output: str, force: bool, process: int | None) -> None:
    """Cut calls A to B, both included, out of a trace. OUT begins with the state in which call A met the machine; calls
    keep their numbers, objects theirs, and everything else works with it as with any trace.

    \b
    Examples:
      cannery trim a.cann --calls 120000:120400 -o small.cann
      cannery trim a.cann --calls 120000: -o rest.cann

    OUT is replayed before it gets its name. 'cannery index' makes trimming long traces faster.

    Exit status: 0 fine, 2 the trace cannot be read or does not replay up to B, or OUT cannot be written.
    """
    first, last = _range(calls)
    with state_at.opened(trace) as bundle:
        from cannery.recorder.format import BundleExists
        from cannery.replayer.trimming import trim

        stream = state_at.only_process(bundle, process)

        def say(text: str) -> None:
            click.echo(f"cannery: {trace}: {text}", err=True)

        try:
            made = trim(bundle, stream, (max(first, stream.first_head.call), last), output, force, say)
        except BundleExists as error:
            raise Failure(str(error)) from None
        except OSError as error:
            raise Failure(f"{output}: cannot be written: {error.strerror or error}") from None
    what = f"{traces.count(made.calls, 'call')} from #{made.first} on, {traces.size(made.size)}"
    click.echo(f"{output}: {what}; replays the same")


def _range(text: str) -> tuple[int, int | None]:
    """Raises UsageError: that is no range of calls."""
    found = _CALLS.fullmatch(text)
    if found is None:
        raise click.UsageError(f"--calls {text}: expected A:B, the numbers of the first and the last call")
    first, last = int(found[1] or 0), None if found[2] is None else int(found[2])
    if last is not None and last < first:
        raise click.UsageError(f"--calls {text}: ends before it begins")
    return first, last
