"""``cannery replay``: execute a trace again on a fresh machine and compare every result."""

from contextlib import suppress
from typing import TYPE_CHECKING, Any

import click

from cannery.tools import options, terminal, traces
from cannery.tools.errors import DIVERGED, FAILED, OK

if TYPE_CHECKING:
    from cannery.recorder.bundle import Bundle
    from cannery.replayer.handovers import HandOvers
    from cannery.replayer.report import Result
    from cannery.replayer.together import Together


@click.command(name="replay")
@click.argument("trace", type=click.Path())
@click.option("--json", "as_json", is_flag=True, help="Print the result as one JSON object.")
@options.process
@click.option("--keep-going", is_flag=True, help="Go on after the first difference and list up to 100.")
@options.kernels(
    "Python file with kernel models: what kernels wrote is computed again, and has to be within the"
    " tolerance of the model. May be repeated."
)
@options.what_if
@click.pass_context
def command(context: click.Context, /, trace: str, as_json: bool, process: int | None, keep_going: bool,
            kernels: tuple[str, ...], **changes: Any) -> None:  # fmt: skip
    """Execute a trace again, without the program, and compare every return value, output, byte and wait.

    \b
    Examples:
      cannery replay a.cann
      cannery replay a.cann --product 310P      what would that product have answered?
      cannery replay a.cann --schedule late     what if the device had been slower?
      cannery replay a.cann --kernels models.py do these models still give the recorded results?

    Without --kernels, what kernels wrote is taken from the trace. With --product, --schedule or --behaviour the report
    lists what changes.

    Exit status: 0 all the same, 1 something differs (the report names the call, the objects involved and the calls
    before), 2 the trace could not be replayed.
    """
    from cannery.shim.compiled import prefer_compiled

    prefer_compiled()
    from cannery.recorder.format import TraceError
    from cannery.replayer.handovers import HandOvers
    from cannery.replayer.process import replay_process
    from cannery.replayer.replay import ReplayError
    from cannery.tools.errors import Failure

    changed = {name: value for name, value in changes.items() if value is not None}
    models = options.load_models(kernels, False) if kernels else None
    with traces.opened(trace) as bundle:
        results = []
        ended_early = {}
        together = HandOvers() if len(bundle.processes) > 1 and process is None and not changed else None
        for stream in traces.processes(bundle, process):
            try:
                with terminal.progress("replaying", traces.calls(stream)) as progress:
                    results.append(
                        replay_process(bundle, stream, changed, keep_going, progress, models, handed=together)
                    )
                with suppress(TraceError):  # damage, which the result tells
                    ended_early[results[-1].process] = stream.counts().stopped
            except ReplayError as error:
                raise Failure(f"{trace}: {error}") from None
        status = max(_status(result) for result in results)
        if traces.report(bundle, trace):
            status = status or FAILED
        shared = None
        if together is not None and status == OK:
            together.check()
            if together.problem is None and together.reads:
                shared = _side_by_side(bundle, trace)
            problem = together.problem or (None if shared is None else shared.problem)
            status = OK if problem is None else DIVERGED
        if as_json:
            found: dict[str, Any] = {"trace": trace, "status": status}
            found["processes"] = [result.to_json() for result in results]
            if together is not None:
                found |= {"hand_overs": together.passed, "order": together.problem}
            if shared is not None:
                found["shared_memory"] = shared._asdict()
            traces.print_json(found)
        else:
            for result in results:
                name = f"{trace}, process {result.process}" if len(bundle.processes) > 1 else trace
                _print(result, name)
                if ended_early.get(result.process):
                    click.echo(f"{name}: recording ended before the program did: {ended_early[result.process]}")
            if together is not None and (together.passed or together.problem):
                _print_together(together, trace)
            if shared is not None:
                _print_shared(shared, trace)
    context.exit(status)


def _print_together(together: "HandOvers", trace: str) -> None:
    if together.problem is not None:
        click.echo(f"{trace}: the processes do not fit together: {together.problem}")
    else:
        click.echo(f"{trace}: {traces.count(together.passed, 'hand-over')} between processes, in order")


def _side_by_side(bundle: "Bundle", trace: str) -> "Together | None":
    """Replay the processes together, each of which replays alone; None, after a line of why, where that cannot be."""
    from cannery.replayer.replay import ReplayError
    from cannery.replayer.together import replay_together

    try:
        found = replay_together(bundle)
        reason = "the processes had clocks of their own (--clock virtual)"
    except ReplayError as error:
        found, reason = None, str(error)
    if found is None:
        click.echo(f"{trace}: not compared: what one process wrote with what another read; {reason}", err=True)
    return found


def _print_shared(shared: "Together", trace: str) -> None:
    if shared.problem is not None:
        click.echo(f"{trace}: the processes do not fit together: {shared.problem}")
        return
    click.echo(f"{trace}: {traces.count(shared.compared, 'read')} of memory that processes share, as it was written")
    if shared.undecided:
        click.echo(
            f"{trace}: {traces.count(shared.undecided, 'read')} of it not compared: another process may have been "
            "writing, or the bytes or their sharing are not in the trace"
        )


def _status(result: "Result") -> int:
    if result.total:
        return DIVERGED
    return OK if result.damage is None else FAILED


def _print(result: "Result", trace: str) -> None:
    calls = traces.count(result.calls, "call")
    if result.explanation is not None:
        _print_differences(result, trace)
    elif result.damage is None:
        click.echo(f"{trace}: {calls} replayed, all the same")
    if result.unverified:
        click.echo(
            f"{trace}: {traces.count(result.unverified, 'result')} not compared: the trace was recorded without the "
            "bytes they follow from (--payload)"
        )
    if result.rerun:
        click.echo(f"{trace}: {traces.count(result.rerun, 'kernel launch', 'kernel launches')} computed again")
    for name, times in result.not_rerun.items():
        click.echo(
            f"{trace}: no model given for {name}: what {traces.count(times, 'launch', 'launches')} wrote was taken "
            "from the trace"
        )
    for name, times in result.supported_now.items():
        click.echo(f"{trace}: {name} was unsupported, is implemented now: {traces.count(times, 'call')} skipped")
    for line in result.in_flight if result.complete else ():
        click.echo(f"{trace}: had not returned when the recording ended: {line}")
    if result.damage is not None:
        click.echo(f"cannery: {trace}: replayed {calls} up to the damage: {result.damage}", err=True)


def _print_differences(result: "Result", trace: str) -> None:
    assert result.explanation is not None
    first = result.differences[0]
    click.echo(f"{trace}: {first.where()}: {first.what} differs")
    click.echo(f"  expected  {first.expected}\n  actual    {first.actual}")
    click.echo(f"  recorded  {result.explanation.record}")
    if result.explanation.objects:
        click.echo("  objects involved:")
        for line in result.explanation.objects:
            click.echo(f"    {line}")
    if result.explanation.before:
        click.echo("  just before:")
        for line in result.explanation.before:
            click.echo(f"    {line}")
    for other in result.differences[1:]:
        click.echo(f"{trace}: {other.where()}: {other.what} differs: expected {other.expected}, actual {other.actual}")
    unlisted = result.total - len(result.differences)
    if unlisted:
        click.echo(f"{trace}: and {traces.count(unlisted, 'more difference')}")
