"""The state of a process at a call: reaching it, and printing it (``cannery show --at``)."""

import os
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from cannery.tools import traces
from cannery.tools.errors import DIVERGED, OK, Failure

if TYPE_CHECKING:
    from cannery.recorder.bundle import Bundle
    from cannery.recorder.process import ProcessStream
    from cannery.replayer.seek import Reached


@contextmanager
def opened(trace: str) -> "Iterator[Bundle]":
    """The bundle at a path, to be replayed.

    Raises:
        Failure: it cannot be read, or not be replayed.
    """
    from cannery.shim.compiled import prefer_compiled

    prefer_compiled()
    from cannery.replayer.replay import ReplayError

    with traces.opened(trace) as bundle:
        try:
            yield bundle
        except ReplayError as error:
            raise Failure(f"{trace}: {error}") from None


def only_process(bundle: "Bundle", process: int | None) -> "ProcessStream":
    """The process that is meant. Raises Failure: there are several, and none was named."""
    streams = traces.processes(bundle, process)
    if len(streams) > 1:
        known = ", ".join(str(stream.ordinal) for stream in streams)
        raise Failure(f"{bundle.path}: has the processes {known}; choose one with --process")
    return streams[0]


def reached(bundle: "Bundle", stream: "ProcessStream", call: int) -> "Reached":
    """A replay up to a call; what is not as it should be is told on standard error. Raises ReplayError."""
    from cannery.replayer.seek import reach

    def say(text: str) -> None:
        click.echo(f"cannery: {bundle.path}: {text}", err=True)

    found = reach(bundle, stream, call, say)
    if found.replay.compared.count:
        first = found.replay.compared.differences[0]
        say(f"the replay differs from the trace at {first.where()} already; what is shown is the state of the replay")
    return found


def show(
    trace: str, process: int | None, call: int, as_json: bool, memory: str | None, dtype: str | None, shape: str | None
) -> None:
    """Print the objects, or bytes of device memory. Raises Failure."""
    if (dtype and not memory) or (shape and not dtype):
        raise click.UsageError("--dtype belongs to --memory ADDR:LEN, and --shape to --dtype")
    with opened(trace) as bundle:
        found = reached(bundle, only_process(bundle, process), call)
        if memory is None:
            _show_objects(trace, call, found, as_json)
        else:
            _show_memory(bundle, call, found, as_json, (memory, dtype, shape))


def parse(text: str) -> tuple[str, int] | None:
    """``TRACE@N``; None for any other text, and for the path of something that is there."""
    path, at, call = text.rpartition("@")
    if not at or not (call.isascii() and call.isdigit()) or os.path.lexists(text):
        return None
    return path, int(call)


def diff(names: tuple[str, str], process: int | None, as_json: bool) -> int:
    """Compare two states, ``TRACE@N`` both, and print what differs; the exit status.

    Raises:
        Failure: one cannot be reached.
    """
    (first, call_a), (second, call_b) = (parse(name) or (name, 0) for name in names)
    with opened(first) as a, opened(second) as b:
        from cannery.replayer.state_diff import diff_states, names_of
        from cannery.replayer.state_view import view

        streams = only_process(a, process), only_process(b, process)
        views = [view(reached(*each).replay) for each in ((a, streams[0], call_a), (b, streams[1], call_b))]
        same_trace = Path(first).samefile(second)
        known = None if same_trace else names_of((a, b), streams, (call_a, call_b))
        found = diff_states(views[0], views[1], known)
    if as_json:
        traces.print_json({"a": names[0], "b": names[1], "differences": [each._asdict() for each in found]})
    else:
        from cannery.tools.state_text import difference_lines

        for line in difference_lines(found, names):
            click.echo(line)
    return DIVERGED if found else OK


def _show_objects(trace: str, call: int, found: "Reached", as_json: bool) -> None:
    from cannery.replayer.state_view import view
    from cannery.tools.state_text import lines

    objects = view(found.replay)
    if as_json:
        traces.print_json({"trace": trace, "call": call, **objects})
        return
    for line in lines(objects):
        click.echo(line)


def _show_memory(
    bundle: "Bundle", call: int, found: "Reached", as_json: bool, what: tuple[str, str | None, str | None]
) -> None:
    from cannery.tools import state_text

    memory, dtype, shape = what
    offset, content = state_text.device_bytes(found.replay.machine, memory)
    unknown = found.replay.port.unknown_bytes
    if unknown:
        click.echo(
            f"cannery: {bundle.path}: {traces.size(unknown)} that the program copied are not in the trace; zeros stand"
            " for them",
            err=True,
        )
    values: Any = None if dtype is None else state_text.array(content, dtype, shape)
    if as_json:
        shown = {"hex": content.hex()} if values is None else {"dtype": dtype, "values": values.tolist()}
        traces.print_json({"call": call, "address": f"d+{offset:#x}", "size": len(content), **shown})
    elif values is not None:
        click.echo(str(values))
    else:
        for line in state_text.hex_dump(offset, content):
            click.echo(line)
