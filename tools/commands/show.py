"""``cannery show``: print a trace, one record per line."""

import os
import sys
from collections.abc import Callable, Iterator
from typing import TYPE_CHECKING, Any, NamedTuple

import click

from cannery.tools import callset, options, state_at, traces
from cannery.tools.callset import CallSet
from cannery.tools.errors import FAILED, Failure

if TYPE_CHECKING:
    from cannery.recorder.bundle import Bundle
    from cannery.recorder.process import ProcessStream
    from cannery.recorder.records import Call, Enter, Exit, Record


class Filter(NamedTuple):
    """Which records to print. ``chosen`` tells by number and function whether a call is in ``calls``."""

    calls: CallSet | None
    chosen: Callable[[int, str], bool] | None
    functions: frozenset[str]
    threads: tuple[int, ...]
    failed: bool
    notes: bool

    @property
    def chooses(self) -> bool:
        """Whether it picks calls; then steps that are no calls are left out."""
        return bool(self.calls or self.functions or self.threads or self.failed)


@click.command(name="show")
@click.argument("trace", type=click.Path())
@callset.option
@click.option(
    "--function",
    "functions",
    multiple=True,
    metavar="PATTERN",
    help="Only functions of that name; * and ? stand for anything. May be repeated.",
)
@click.option(
    "--thread", "threads", multiple=True, type=options.Whole(), metavar="N", help="Only that thread. May be repeated."
)
@click.option("--failed", is_flag=True, help="Only calls that returned an error, also at the end of a wait.")
@options.process
@click.option("--bare", is_flag=True, help="Leave out call numbers and times, so that two listings can be compared.")
@click.option("--notes", is_flag=True, help="Also print what was noted about the host.")
@click.option("--json", "as_json", is_flag=True, help="One JSON object per record; docs/commands.md has its keys.")
@click.option("--at", "at", type=click.IntRange(min=0), metavar="N",
              help="Print the objects as call N met them: streams with their tasks, events, memory, who waits.")
@click.option("--memory", metavar="ADDR:LEN", help="With --at: print bytes of device memory, as in d+0x200:64.")
@click.option("--dtype", metavar="TYPE", help="With --memory: as numbers of this numpy type, such as float32.")
@click.option("--shape", metavar="N,...", help="With --dtype: as an array of this shape.")
@click.pass_context
def command(context: click.Context, /, trace: str, process: int | None, bare: bool, as_json: bool,
            at: int | None, memory: str | None, dtype: str | None, shape: str | None,
            **choice: Any) -> None:  # fmt: skip
    """Print a trace, one call per line; with --at, the state of a process at a call.

    \b
    Examples:
      cannery show a.cann
      cannery show a.cann --calls 100-200
      cannery show a.cann --function 'aclrtMemcpy*' --failed
      cannery show a.cann --json | jq 'select(.ret != 0) | .function'
      cannery show a.cann --at 1200
      cannery show a.cann --at 1200 --memory d+0x200:64 --dtype float32 --shape 4,4

    \b
    A line:   #12 T1 +1.234ms aclrtMalloc(devPtr=-> d+0x200, size=4096, policy=ACL_MEM_MALLOC_HUGE_FIRST) = 0
      #12       number of the call        -> value  what an output received
      T1        thread                    stream#5  an object: kind and number, the same in every run
      +1.234ms  time since the beginning  d+0x200   device address, from the start of device memory
      [...]     bytes that passed between host and device: size, and content or start of the hash

    Exit status: 0 fine, 2 the trace could not be read, or not to its end: what can be read is printed first.
    """
    if at is not None:
        state_at.show(trace, process, at, as_json, memory, dtype, shape)
        return
    if memory or dtype or shape:
        raise click.UsageError("--memory, --dtype and --shape belong to --at N")
    from cannery.shim.compiled import prefer_compiled

    prefer_compiled()
    with traces.opened(trace) as bundle:
        wanted = _filter(bundle, **choice)
        streams = traces.processes(bundle, process)
        line = None
        for stream in streams:
            if len(streams) > 1 and not as_json:
                click.echo(f"process {stream.ordinal}:")
            lines = _json_lines(bundle, stream, wanted) if as_json else _lines(bundle, stream, wanted, bare)
            for line in lines:
                sys.stdout.write(line)
                sys.stdout.write("\n")
        sys.stdout.flush()
        if line is None:
            click.echo(f"cannery: {trace}: nothing fits what was asked for", err=True)
        damaged = traces.report(bundle, trace, *(problem for stream in streams for problem in stream.problems))
    context.exit(FAILED if damaged else 0)


def _filter(bundle: "Bundle", calls: CallSet | None, functions: tuple[str, ...], **choice: Any) -> Filter:
    """Raises Failure: there is no such function."""
    known = [form.name for form in bundle.schema.functions]
    try:
        names = callset.matching(functions, known)
    except callset.CallSetError as error:
        raise Failure(f"--function: {error}") from None
    return Filter(calls, callset.chooser(calls, known), frozenset(names), **choice)


def _chosen(
    stream: "ProcessStream", wanted: Filter, seen: "Callable[[Record], None]" = lambda record: None
) -> "Iterator[Record]":
    """The records to print, in order. With a call comes the end of its wait. ``seen`` gets all that were read.

    Whether a call that waits failed is known at its end: where only failures are wanted, its beginning comes then too.
    A part of a trace may have ends of waits that began before it.
    """
    from cannery.recorder.chunk import failing_functions
    from cannery.recorder.records import Call, Enter, Exit, Invoke, Note, Returned
    from cannery.recorder.stream import STOPPED_TOPIC

    first = wanted.calls.first if wanted.calls else 0
    last = wanted.calls.last if wanted.calls else None
    failing = failing_functions(stream.schema)
    waiting: dict[int, list[Record]] = {}  # calls that have not ended -> what to print if they fail
    for record in stream.records(first, tolerant=True):
        seen(record)
        if isinstance(record, Call | Enter):
            if last is not None and record.number > last and not waiting:
                return
            if not _matches(record, wanted):
                continue
            if isinstance(record, Enter):
                waiting[record.number] = [record] if wanted.failed else []
            if not wanted.failed or _failed(record, failing):
                yield record
        elif isinstance(record, Exit):
            began_before = record.number < stream.first_head.call and _matches(record, wanted)
            held = waiting.pop(record.number, [] if began_before else None)
            if held is not None and (not wanted.failed or _failed(record, failing)):
                yield from held
                yield record
        elif isinstance(record, Invoke | Returned):
            if wanted.failed and record.number in waiting:
                waiting[record.number].append(record)
            elif record.number in waiting or not wanted.chooses:
                yield record
        elif isinstance(record, Note):
            if record.topic == STOPPED_TOPIC or (wanted.notes and not wanted.chooses):
                yield record
        elif not wanted.chooses:
            yield record


def _matches(record: "Call | Enter | Exit", wanted: Filter) -> bool:
    if wanted.chosen is not None and not wanted.chosen(record.number, record.function):
        return False
    if wanted.functions and record.function not in wanted.functions:
        return False
    return not wanted.threads or record.thread in wanted.threads


def _failed(record: "Call | Enter | Exit", failing: frozenset[str]) -> bool:
    """``failing``: functions whose return value says whether they failed. Of a wait the end says it."""
    ret = getattr(record, "ret", None)
    return isinstance(ret, int) and ret != 0 and record.function in failing


def _lines(bundle: "Bundle", stream: "ProcessStream", wanted: Filter, bare: bool) -> Iterator[str]:
    from cannery.recorder.chunk import failing_functions
    from cannery.recorder.records import Call, Exit
    from cannery.replayer.printer import Printer
    from cannery.replayer.unfinished import Unfinished

    failing = failing_functions(bundle.schema)
    printer = Printer(bundle.schema, bare)
    mark = _marker()
    unfinished = Unfinished()
    for record in _chosen(stream, wanted, printer.see):
        line = printer.line(record)
        unfinished.note(record)
        if isinstance(record, Call | Exit) and _failed(record, failing):
            line = mark(line)
        yield line
    if not wanted.chooses:
        state = "is in" if stream.alive else "had not returned when the process ended"
        for line in unfinished.lines(printer, stream.inflight(tolerant=True)):
            yield f"{state}: {line}"


def _marker() -> Callable[[str], str]:
    """How to write the line of a failed call: in red on a terminal, unless NO_COLOR is set."""
    if sys.stdout.isatty() and not os.environ.get("NO_COLOR"):
        return lambda line: click.style(line, fg="red")
    return lambda line: line


def _json_lines(bundle: "Bundle", stream: "ProcessStream", wanted: Filter) -> Iterator[str]:
    """Records as ``recorder.jsonl`` writes them, with the process, and with values under their parameter's name."""
    from cannery.recorder.jsonl import line_of, to_json
    from cannery.recorder.records import Call, Enter, Exit

    names = {
        form.name: (tuple(param.name for param in form.params), tuple(param.name for param in form.outputs))
        for form in bundle.schema.functions
    }
    for record in _chosen(stream, wanted):
        found: dict[str, Any] = {"process": stream.ordinal, **to_json(record)}
        if isinstance(record, Call | Enter | Exit):
            ins, outs = names[record.function]
            if "ins" in found:
                found["in"] = dict(zip(ins, found.pop("ins"), strict=False))
            if "outs" in found:
                found["out"] = dict(zip(outs, found.pop("outs"), strict=False))
        yield line_of(found)
