"""Compares two recorded processes: from their files to what was found."""

from collections.abc import Callable, Iterator, Mapping
from contextlib import suppress
from itertools import zip_longest
from typing import Any, NamedTuple, Protocol

from cannery.recorder.codec import WireError
from cannery.recorder.format import TraceError
from cannery.recorder.process import Counts
from cannery.recorder.records import Payload, Record
from cannery.recorder.schema import Schema
from cannery.replayer.comparison.compare import Comparison, Progress
from cannery.replayer.comparison.deliveries import Deliveries
from cannery.replayer.comparison.findings import Findings
from cannery.replayer.comparison.identities import Identities
from cannery.replayer.comparison.objects import A, Allocations, B
from cannery.replayer.comparison.pairing import Profile, Profiler, pair
from cannery.replayer.comparison.payloads import Payloads
from cannery.replayer.comparison.shapes import Relayout, Shapes, relayout_of, shapes_of
from cannery.replayer.comparison.side import Side, Wanted
from cannery.replayer.comparison.text import Writer

Content = Callable[[Payload], bytes | None]


class Stream(Protocol):
    """What is read of a recorded process (:class:`cannery.recorder.process.ProcessStream`)."""

    @property
    def schema(self) -> Schema: ...
    @property
    def header(self) -> Mapping[str, Any]: ...
    @property
    def finished(self) -> bool: ...
    @property
    def alive(self) -> bool: ...
    def windows(self) -> Iterator[tuple[int, bytes]]: ...
    def records_of(self, first: int, end: int | None = None) -> Iterator[Record]: ...
    def counts(self) -> Counts: ...


class Options(NamedTuple):
    """``wanted`` chooses the calls that take part, ``payloads`` compares bytes, ``fold`` puts what follows from a cause
    into its group."""

    wanted: Wanted | None = None
    payloads: bool = True
    fold: bool = True
    progress: Progress | None = None


class Compared(NamedTuple):
    """The comparison of two processes. ``calls`` were read on each side, ``aligned`` have a counterpart;
    ``uncompared`` lie beyond the end of a trace that is not complete, ``incomplete`` says why it is not; ``threads``
    are pairs of those that called. ``identities`` and ``allocations`` have the objects at the end, None where both
    traces are the same to the byte."""

    calls: tuple[int, int]
    aligned: int
    uncompared: int
    unverified: int
    incomplete: tuple[str | None, str | None]
    threads: list[tuple[int | None, int | None]]
    findings: Findings
    writer: Writer
    identities: Identities | None = None
    allocations: tuple[Allocations, Allocations] | None = None


def compare(streams: tuple[Stream, Stream], contents: tuple[Content, Content], options: Options) -> Compared:
    """Compare two processes. Damage ends a side; what lies before it is compared.

    Raises:
        WireError: a value has a form that no value can have.
    """
    schemas = streams[A].schema, streams[B].schema
    writer = Writer(schemas, contents)
    same = _same_windows(streams)
    if same is None:
        counts = streams[A].counts()
        same_threads: list[tuple[int | None, int | None]] = [(thread, thread) for thread in counts.threads]
        calls = counts.calls
        return Compared((calls, calls), calls, 0, 0, _unfinished(streams), same_threads, Findings(), writer)
    shapes, layouts = shapes_of(*schemas), _layouts(*schemas)
    deliveries = Deliveries(shapes), Deliveries(shapes)
    payloads = Payloads(deliveries) if options.payloads else None
    sides = tuple(
        Side(
            stream.records_of(same + 1),
            shapes,
            deliveries[side] if options.payloads else None,
            layouts if side == B else None,
            options.wanted,
            devices=_devices(stream),
        )
        for side, stream in enumerate(streams)
    )
    first, second = sides
    threads, whole = _threads(streams, shapes, layouts, options)
    comparison = Comparison(
        schemas,
        shapes,
        (first, second),
        threads,
        whole,
        payloads,
        Findings(options.fold),
        options.progress,
    )
    for side in (A, B):
        sides[side].skipped = lambda call, side=side: comparison.leave_out(side, call)  # type: ignore[misc]
    if same:
        if payloads is not None:
            payloads.mirror(True)
        for call in first.advance(streams[A].records_of(1, same + 1)):
            comparison.skip(call)
        if payloads is not None:
            payloads.mirror(False)
        second.state_from(first)
    try:
        comparison.run()
    except TypeError as error:
        if "unhashable" not in str(error):
            raise
        raise WireError("a map stands where no value can be one") from None
    incomplete = [side.incomplete or told for side, told in zip(sides, _unfinished(streams), strict=True)]
    return Compared(
        (first.calls, second.calls),
        comparison.aligned,
        comparison.uncompared,
        0 if payloads is None else payloads.unverified,
        (incomplete[A], incomplete[B]),
        comparison.threads,
        comparison.findings,
        writer,
        comparison.identities,
        (first.allocations, second.allocations),
    )


def _devices(stream: Stream) -> tuple[int, int]:
    return stream.header["device_base"], stream.header["device_span"]


def _same_windows(streams: tuple[Stream, Stream]) -> int | None:
    """How many windows from the first on have equal bytes, and so equal records; None when that is all."""
    if streams[A].schema.functions != streams[B].schema.functions:
        return 0
    same = 0
    try:
        for mine, theirs in zip_longest(streams[A].windows(), streams[B].windows()):
            if mine != theirs or mine[0] != same + 1:
                return same
            same += 1
        streams[A].counts()
    except TraceError:
        return 0  # the damage is met, and told, where it lies
    return None


def _layouts(schema: Schema, other: Schema) -> dict[str, Relayout]:
    """Where the second trace's functions have other parameters than the first's."""
    found = {}
    for form in schema.functions:
        layout = relayout_of(form, other[form.name]) if form.name in other else None
        if layout is not None:
            found[form.name] = layout
    return found


def profiles(
    stream: Stream, shapes: Shapes, layouts: dict[str, Relayout], options: Options
) -> tuple[dict[int, Profile], bool]:
    """What each thread of a process does, and whether the trace goes to the process's end."""
    profiler = Profiler(shapes)
    deliveries = Deliveries(shapes, profiler.payload) if options.payloads else None
    side = Side(stream.records_of(1), shapes, deliveries, layouts, options.wanted, devices=_devices(stream))
    for _, call in side.items():
        profiler.call(call)
    return profiler.profiles, side.incomplete is None


def _threads(
    streams: tuple[Stream, Stream],
    shapes: Shapes,
    layouts: dict[str, Relayout],
    options: Options,
) -> tuple[list[tuple[int | None, int | None]], tuple[bool, bool]]:
    """The pairs of threads, and which traces go to their process's end; one of a single thread need not be asked."""
    with suppress(TraceError):
        if all(stream.finished for stream in streams):
            first, second = (stream.counts().threads for stream in streams)
            if len(first) == 1 and len(second) == 1:
                return [(first[0], second[0])], (True, True)
    mine, mine_whole = profiles(streams[A], shapes, {}, options)
    theirs, theirs_whole = profiles(streams[B], shapes, layouts, options)
    return pair(mine, theirs), (mine_whole, theirs_whole)


def _unfinished(streams: tuple[Stream, Stream]) -> tuple[str | None, str | None]:
    first, second = ("it is still being recorded" if stream.alive else None for stream in streams)
    return first, second
