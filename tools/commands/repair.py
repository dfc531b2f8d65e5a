"""``cannery repair``: finish a trace that a kill, a full disk or damage left unfinished."""

from typing import TYPE_CHECKING, Any

import click

from cannery.tools import traces
from cannery.tools.errors import DIVERGED, OK, Failure

if TYPE_CHECKING:
    from cannery.recorder.repair import Repaired


@click.command(name="repair")
@click.argument("trace", type=click.Path())
@click.option("--json", "as_json", is_flag=True, help="Print one JSON object; docs/commands.md has its keys.")
@click.pass_context
def command(context: click.Context, /, trace: str, as_json: bool) -> None:
    """Finish a trace whose program, launcher or disk gave out, and say what was found and what is lost.

    \b
    Examples:
      cannery repair a.cann
      cannery repair a.cann --json | jq .lost

    Open windows are sealed, half-written files removed, the index is written. An end that cannot be read is cut off,
    and what was cut is kept in the trace as NAME.lost. A trace that is whole is left as it is.

    Exit status: 0 the trace is whole now, 1 something is lost (each loss is a line), 2 it could not be done: no trace,
    still being written, or not writable.
    """
    from cannery.recorder.format import TraceError
    from cannery.recorder.repair import repair

    try:
        found = repair(trace)
    except TraceError as error:
        text = str(error)
        raise Failure(text if text.startswith(trace) else f"{trace}: {text}") from None
    except OSError as error:
        raise Failure(f"{trace} cannot be repaired: {error.strerror}; repair a copy of it in another place") from None
    in_flight = _in_flight(trace)
    status = DIVERGED if found.lost else OK
    if as_json:
        traces.print_json({"trace": trace, "status": status, **found._asdict(), "in_flight": in_flight})
    else:
        _print(trace, found, in_flight)
    context.exit(status)


def _print(trace: str, found: "Repaired", in_flight: list[dict[str, Any]]) -> None:
    for line in found.done:
        click.echo(line)
    for note in found.notes:
        click.echo(note)
    for each in in_flight:
        click.echo(f"process {each['process']}: had not returned: {each['call']}")
    for line in found.lost:
        click.echo(f"lost: {line}")
    if found.lost:
        click.echo(f"{trace}: what is left can be read")
    else:
        click.echo(f"{trace}: {'whole now' if found.done else 'whole, nothing to do'}")


def _in_flight(trace: str) -> list[dict[str, Any]]:
    """The calls and functions of the program that had not returned when each process ended."""
    from cannery.replayer.printer import Printer
    from cannery.replayer.unfinished import Unfinished

    found = []
    with traces.opened(trace) as bundle:
        printer = Printer(bundle.schema)
        for stream in bundle.processes:
            unfinished = Unfinished()
            for record in stream.records(tolerant=True):
                unfinished.note(record)
            found += [
                {"process": stream.ordinal, "call": line} for line in unfinished.lines(printer, stream.inflight())
            ]
    return found
