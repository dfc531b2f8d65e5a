"""``cannery info``: what a trace holds."""

from contextlib import suppress
from typing import TYPE_CHECKING, Any

import click

from cannery.tools import traces
from cannery.tools.errors import FAILED, OK

if TYPE_CHECKING:
    from cannery.recorder.bundle import Bundle
    from cannery.recorder.process import ProcessStream


@click.command(name="info")
@click.argument("trace", type=click.Path())
@click.option("--json", "as_json", is_flag=True, help="Print one JSON object; docs/commands.md has its keys.")
@click.pass_context
def command(context: click.Context, /, trace: str, as_json: bool) -> None:
    """Say what a trace holds: settings, processes, sizes, how it ended, and what was in flight.

    \b
    Examples:
      cannery info a.cann
      cannery info a.cann --json | jq .calls

    Exit status: 0 fine, 2 the trace could not be read, or not all of it: what can be said is printed first.
    """
    with traces.opened(trace) as bundle:
        found = _describe(bundle)
        if as_json:
            traces.print_json(found)
        else:
            _print(found)
        for problem in found["problems"]:
            click.echo(f"cannery: {trace}: {problem}", err=True)
        context.exit(FAILED if found["damaged"] else OK)


def _describe(bundle: "Bundle") -> dict[str, Any]:
    from cannery.recorder.format import DamagedTrace

    processes = [_describe_process(bundle, stream) for stream in bundle.processes]
    damage = bundle.damage_beside()
    for stream in bundle.processes:
        damage += [*stream.verify(), *stream.problems]
    end = None
    with suppress(DamagedTrace):
        end = bundle.end
    return {
        "trace": str(bundle.path),
        "version": bundle.version,
        "session": bundle.session,
        "tool": bundle.tool,
        "created": bundle.created,
        "end": end,
        "calls": sum(process["calls"] for process in processes),
        "failures": sum(process["failures"] for process in processes),
        "threads": sum(process["threads"] for process in processes),
        "bytes": traces.stored(bundle.path),
        "processes": processes,
        "problems": [*dict.fromkeys(map(str, [*bundle.problems, *damage]))],
        "damaged": bool(damage),
    }


def _describe_process(bundle: "Bundle", stream: "ProcessStream") -> dict[str, Any]:
    """What there is to say about a process, as far as it can be read."""
    from cannery.recorder.format import DamagedTrace

    header = stream.header
    found: dict[str, Any] = {
        "process": stream.ordinal,
        "parent": header.get("parent"),
        "host": header.get("host"),
        "settings": stream.settings,
        "payload": header["payload"],
        "payload_limit": header.get("payload_limit"),
        "selection": header.get("calls"),
        "tail": header.get("tail"),
        "first_call": stream.first_head.call,
        "redacted": header.get("redacted") is True,
        "calls": 0,
        "failures": 0,
        "threads": 0,
        "bytes": 0,
        "nanoseconds": 0,
        "stopped": None,
        "end": None,
        "alive": stream.alive,
        "sealed": stream.finished,
        "in_flight": [],
    }
    with suppress(DamagedTrace):
        found["end"] = stream.end
    found["in_flight"] = _in_flight(bundle, stream)
    try:
        counts = stream.counts()
    except DamagedTrace:
        found |= _counted(stream)
    else:
        found |= {
            "calls": counts.calls,
            "failures": counts.failures,
            "threads": len(counts.threads),
            "bytes": counts.size,
            "nanoseconds": counts.last_time,
            "stopped": counts.stopped,
        }
        if counts.running:
            found["in_flight"] = _in_flight(bundle, stream, running=True)
    return found


def _counted(stream: "ProcessStream") -> dict[str, Any]:
    """Totals of what can be read of a damaged stream."""
    from cannery.recorder.records import Call, Enter

    calls, threads = 0, set()
    for record in stream.records(tolerant=True):
        if isinstance(record, Call | Enter):
            calls += 1
            threads.add(record.thread)
    return {"calls": calls, "threads": len(threads)}


def _in_flight(bundle: "Bundle", stream: "ProcessStream", running: bool = False) -> list[str]:
    """The calls that have not returned, from their slots, and the functions of the program that were running: only a
    process that died, or still runs, has any. The records are read for the latter alone."""
    from cannery.replayer.printer import Printer
    from cannery.replayer.unfinished import Unfinished

    unfinished = Unfinished()
    if running:
        for record in stream.records(tolerant=True):
            unfinished.note(record)
    return unfinished.lines(Printer(bundle.schema), stream.inflight(tolerant=True))


def _print(found: dict[str, Any]) -> None:
    click.echo(f"{found['trace']}: format {found['version']}, made by Cannery {found['tool']} on {found['created']}")
    click.echo(f"  session   {found['session']}")
    click.echo(f"  ended     {_end(found['end'])}")
    click.echo(
        f"  holds     {traces.count(found['calls'], 'call')} ({found['failures']:,} failed), "
        f"{traces.count(found['threads'], 'thread')}, {traces.size(found['bytes'])}"
    )
    for process in found["processes"]:
        _print_process(process)


def _print_process(process: dict[str, Any]) -> None:
    host = process["host"] if isinstance(process["host"], dict) else {}
    words = host.get("arguments") or ()
    born = "" if process["parent"] is None else f", forked from process {process['parent']}"
    click.echo(f"  process {process['process']}{born}: {' '.join(map(str, words))}".rstrip(": "))
    given = {name: value for name, value in process["settings"].items() if value not in (None, "", "default")}
    click.echo(f"    settings  {', '.join(f'{name} {value}' for name, value in given.items())}")
    limit = "" if process["payload_limit"] is None else f", up to {traces.size(process['payload_limit'])}"
    redacted = ", redacted: texts stand for others of their length" if process["redacted"] else ""
    click.echo(f"    payloads  {process['payload']}{limit}{redacted}")
    if process["selection"] is not None:
        click.echo(f"    calls     {process['selection']}; others were not recorded")
    if process["tail"] is not None:
        click.echo(f"    keeps     {process['tail']}, from call #{process['first_call']} on")
    elif process["first_call"]:
        click.echo(f"    begins    with call #{process['first_call']}, as a part of a longer trace")
    click.echo(
        f"    holds     {traces.count(process['calls'], 'call')} ({process['failures']:,} failed), "
        f"{traces.count(process['threads'], 'thread')}, {process['nanoseconds'] / 1e9:.3f} s"
    )
    click.echo(f"    ended     {'still running' if process['alive'] else _end(process['end'])}")
    if process["stopped"] is not None:
        click.echo(f"    recording ended before the process did: {process['stopped']}")
    for line in process["in_flight"]:
        click.echo(f"    {'is in' if process['alive'] else 'had not returned'}: {line}")


def _end(end: dict[str, Any] | None) -> str:
    if end is None:
        return "not noted"
    return f"by signal {end['signal']}" if "signal" in end else f"with status {end.get('status')}"
