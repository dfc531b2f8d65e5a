"""``cannery index``: write keyframes into a trace."""

import click

from cannery.tools import state_at, terminal, traces
from cannery.tools.errors import DIVERGED, Failure


@click.command(name="index")
@click.argument("trace", type=click.Path())
@click.option("--every", type=click.IntRange(min=1), default=10_000, show_default=True, metavar="N",
              help="A keyframe about every N calls.")
@click.option("--process", type=int, metavar="N", help="Only this process of the trace (see 'cannery info').")
@click.pass_context
def command(context: click.Context, /, trace: str, every: int, process: int | None) -> None:
    """Write keyframes into a trace: states from which 'cannery show --at', 'diff A@N B@M' and 'trim' go on, instead of
    replaying from the beginning. Nothing else in the trace changes.

    \b
    Examples:
      cannery index a.cann
      cannery index a.cann --every 2000

    The trace is replayed once. Keyframes that it has are replaced.

    Exit status: 0 fine, 1 the replay differs from the trace, so that there are keyframes up to there only, 2 the trace
    could not be replayed or written to.
    """
    status = 0
    with state_at.opened(trace) as bundle:
        from cannery.replayer.indexing import index_process

        for stream in traces.processes(bundle, process):
            if stream.alive:
                raise Failure(f"{trace}: process {stream.ordinal} is still being recorded; wait until it has ended")
            total = stream.counts().calls if stream.finished else None
            try:
                with terminal.progress("replaying", total) as progress:
                    made = index_process(bundle, stream, every, progress)
            except OSError as error:
                raise Failure(f"{trace}: cannot be written to: {error.strerror}") from None
            click.echo(
                f"process {stream.ordinal}: {traces.count(made.frames, 'keyframe')}, {traces.size(made.size)}, "
                f"{traces.count(made.calls, 'call')}"
            )
            if made.problem is not None:
                click.echo(f"cannery: {trace}: process {stream.ordinal}: {made.problem}", err=True)
                status = DIVERGED
    context.exit(status)
