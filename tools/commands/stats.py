"""``cannery stats``: a trace in numbers."""

from collections.abc import Iterable, Iterator, Sequence
from typing import TYPE_CHECKING, Any, Final

import click

from cannery.tools import callset, options, terminal, traces
from cannery.tools.callset import CallSet
from cannery.tools.errors import FAILED, OK

if TYPE_CHECKING:
    from cannery.recorder.bundle import Bundle
    from cannery.recorder.process import ProcessStream
    from cannery.replayer.stats import Memory, Stats

_BARS: Final = "▁▂▃▄▅▆▇█"
_COLUMNS: Final = 48  # of a line that shows memory over time
_MOVED: Final = {
    "host_to_device": "host to device",
    "device_to_host": "device to host",
    "device_to_device": "device to device",
    "host_to_host": "host to host",
    "files": "from files",
    "kernel_writes": "written by kernel models",
    "kernel_reads": "of host memory read by kernel models",
}


@click.command(name="stats")
@click.argument("trace", type=click.Path())
@callset.option
@options.process
@click.option("--json", "as_json", is_flag=True, help="Print one JSON object; docs/commands.md has its keys.")
@click.pass_context
def command(context: click.Context, /, trace: str, calls: CallSet | None, process: int | None, as_json: bool) -> None:
    """Count what a trace holds: calls, failures, waits, bytes that moved, payloads, memory.

    \b
    Examples:
      cannery stats a.cann
      cannery stats a.cann --calls 'aclrtMemcpy*'
      cannery stats a.cann --json | jq '.processes[0].functions[] | select(.waits.count > 0)'

    With --calls only those calls count, and only bytes that passed in their steps.

    Exit status: 0 fine, 2 the trace could not be read, or not to its end: what can be read is counted.
    """
    with traces.opened(trace) as bundle:
        chosen = callset.chooser(calls, [form.name for form in bundle.schema.functions])
        streams = traces.processes(bundle, process)
        found = [_count(bundle, stream, chosen) for stream in streams]
        if as_json:
            traces.print_json({"trace": trace, "processes": found})
        else:
            for numbers in found:
                for line in _lines(numbers, len(found) > 1):
                    click.echo(line)
        damaged = traces.report(bundle, trace, *(problem for stream in streams for problem in stream.problems))
    context.exit(FAILED if damaged else OK)


def _count(bundle: "Bundle", stream: "ProcessStream", chosen: Any) -> dict[str, Any]:
    from cannery.recorder.format import DamagedTrace
    from cannery.replayer.stats import Stats
    from cannery.runtime.memory import DEVICE_SPAN

    devices = stream.settings.get("devices")
    span = stream.header["device_span"] // (devices if isinstance(devices, int) and devices > 0 else 1)
    span = min(span, DEVICE_SPAN)  # behind the devices come addresses that the program maps itself
    stats = Stats(bundle.schema, span, chosen)
    with terminal.progress("counting", traces.calls(stream)) as progress:
        stats.read(stream.records(tolerant=True), progress)
    try:
        stored = stream.payload_sizes()
    except DamagedTrace:
        stored = {}
    return _to_json(stream.ordinal, stats, stored)


def _to_json(process: int, stats: "Stats", stored: dict[bytes, int]) -> dict[str, Any]:
    from cannery.replayer.stats import HOST

    payloads = stats.payloads
    functions = sorted(stats.functions.values(), key=lambda function: (-function.calls, function.name))
    return {
        "process": process,
        "calls": stats.calls,
        "failures": stats.failures,
        "in_flight": stats.in_flight,
        "nanoseconds": stats.last_time,
        "functions": [
            {
                "function": function.name,
                "calls": function.calls,
                "unsupported": function.unsupported,
                "failures": {str(number): times for number, times in sorted(function.failures.items())},
                "waits": {
                    "count": function.waits.count,
                    "nanoseconds": function.waits.total,
                    "longest": function.waits.longest,
                    "longest_call": function.waits.call,
                },
            }
            for function in functions
        ],
        "threads": {str(thread): calls for thread, calls in sorted(stats.threads.items())},
        "streams": {_stream(handle): calls for handle, calls in stats.streams.most_common()},
        "bytes": {name: stats.bytes.get(name, 0) for name in _MOVED},
        "payloads": {
            "count": payloads.total,
            "distinct": payloads.distinct,
            "repeated": payloads.total - payloads.distinct - payloads.unknown,
            "unknown": payloads.unknown,
            "bytes": payloads.bytes,
            "distinct_bytes": payloads.distinct_bytes,
            "stored": len(stored),
            "stored_bytes": sum(stored.values()),
        },
        "kernels": [
            {"kernel": name, "modelled": modelled, "launches": times}
            for (name, modelled), times in stats.launches.most_common()
        ],
        "kernels_failed": stats.kernels_failed,
        "memory": [
            {"device": None if device == HOST else device, **_memory(memory)}
            for device, memory in sorted(stats.memory.items(), key=lambda entry: (entry[0] == HOST, entry[0]))
        ],
    }


def _memory(memory: "Memory") -> dict[str, Any]:
    return {
        "allocations": memory.allocations,
        "frees": memory.frees,
        "requested": memory.requested,
        "current": memory.current,
        "peak": memory.peak,
        "peak_call": memory.peak_call,
        "timeline": [list(point) for point in memory.timeline.points()],
    }


def _stream(handle: Any) -> str:
    if isinstance(handle, bytes):
        return f"0x{int.from_bytes(handle, 'little'):x}"
    return f"stream#{handle}" if handle else "null"


def _lines(found: dict[str, Any], several: bool) -> Iterator[str]:
    """The numbers for people."""
    from cannery.replayer.printer import error_names

    paint = terminal.painter()
    names = {str(number): name for number, name in error_names().items()}
    seconds = found["nanoseconds"] / 1e9
    head = f"process {found['process']}: " if several else ""
    yield paint(
        f"{head}{traces.count(found['calls'], 'call')} in {seconds:.3f} s, {found['failures']:,} failed", bold=True
    )
    if found["in_flight"]:
        yield f"{traces.count(found['in_flight'], 'call')} had not returned"
    yield ""
    yield from _table([*_function_rows(found["functions"])], paint)
    failures = [
        (f"{times:,}", f"{number} {names.get(number, '')}".rstrip(), function["function"])
        for function in found["functions"]
        for number, times in function["failures"].items()
    ]
    if failures:
        yield ""
        yield from _table([("failed", "with", "function"), *failures], paint)
    yield ""
    yield f"threads   {_list(found['threads'].items(), 'thread ')}"
    if found["streams"]:
        yield f"streams   {_list(found['streams'].items(), '')}"
    if found["kernels"]:
        shown = [
            (kernel["kernel"] + ("" if kernel["modelled"] else " (unmodelled)"), kernel["launches"])
            for kernel in found["kernels"]
        ]
        yield f"kernels   {_list(shown, '')}"
    if found["kernels_failed"]:
        yield f"          {traces.count(found['kernels_failed'], 'launch', 'launches')} failed"
    moved = [f"{traces.size(size)} {_MOVED[name]}" for name, size in found["bytes"].items() if size]
    yield f"moved     {', '.join(moved) or 'nothing'}"
    yield f"payloads  {_payloads(found['payloads'])}"
    for memory in found["memory"]:
        yield from _memory_lines(memory, found["nanoseconds"])


def _function_rows(functions: list[dict[str, Any]]) -> Iterator[tuple[str, ...]]:
    """A row for each function; the columns about waits only where some call had to wait."""
    waited = any(function["waits"]["count"] for function in functions)
    yield ("calls", "waits", "total", "longest", "", "function") if waited else ("calls", "function")
    for function in functions:
        waits = function["waits"]
        name = function["function"] + ("  (unsupported)" if function["unsupported"] else "")
        columns = [""] * 4
        if waits["count"]:
            longest = _time(waits["longest"]), f"#{waits['longest_call']}"
            columns = [f"{waits['count']:,}", _time(waits["nanoseconds"]), *longest]
        yield (f"{function['calls']:,}", *(columns if waited else ()), name)


def _payloads(payloads: dict[str, Any]) -> str:
    if not payloads["count"]:
        return "none"
    text = (
        f"{payloads['count']:,} ({traces.size(payloads['bytes'])}), {payloads['distinct']:,} different "
        f"({traces.size(payloads['distinct_bytes'])}), {payloads['repeated']:,} repeated"
    )
    if payloads["unknown"]:
        text += f", {payloads['unknown']:,} without a hash"
    return f"{text}; {payloads['stored']:,} stored ({traces.size(payloads['stored_bytes'])})"


def _memory_lines(memory: dict[str, Any], end: int) -> Iterator[str]:
    where = "pinned  " if memory["device"] is None else f"device {memory['device']}"
    yield (
        f"{where}  {traces.count(memory['allocations'], 'allocation')}, {memory['frees']:,} freed; "
        f"peak {traces.size(memory['peak'])} (#{memory['peak_call']}), {traces.size(memory['current'])} not freed"
    )
    if terminal.on_terminal() and memory["peak"]:
        yield f"          {sparkline(memory['timeline'], end)}"


def sparkline(timeline: Sequence[Sequence[int]], end: int, columns: int = _COLUMNS) -> str:
    """Memory over time as one line of bars: in each column the highest value in its stretch of time."""
    highest = max((value for _, value in timeline), default=0)
    if not highest:
        return ""
    width = max(end // columns, 1)
    values = []
    for column in range(columns):
        start = column * width
        held = [value for time, value in timeline if time <= start][-1:]
        values.append(max([*held, *(value for time, value in timeline if start < time < start + width)], default=0))
    return "".join(" " if not value else _BARS[(value * len(_BARS) - 1) // highest] for value in values)


def _table(rows: Iterable[Sequence[str]], paint: Any) -> Iterator[str]:
    """Aligned columns: numbers to the right, the last one to the left."""
    rows = list(rows)
    widths = [max(len(row[column]) for row in rows) for column in range(len(rows[0]))]
    for place, row in enumerate(rows):
        cells = [cell.rjust(width) for cell, width in zip(row[:-1], widths, strict=False)]
        line = "  ".join([*cells, row[-1]]).rstrip()
        yield paint(line, bold=True) if not place else line


def _list(counts: Iterable[tuple[str, int]], before: str, shown: int = 8) -> str:
    entries = [f"{before}{name}: {number:,}" for name, number in counts]
    more = f", and {len(entries) - shown} more" if len(entries) > shown else ""
    return ", ".join(entries[:shown]) + more


def _time(nanoseconds: int) -> str:
    """A duration for people."""
    for unit, size in (("s", 10**9), ("ms", 10**6), ("us", 10**3)):
        if abs(nanoseconds) >= size:
            return f"{nanoseconds / size:.3f} {unit}"
    return f"{nanoseconds} ns"
