"""Properties of comparisons: a trace is the same as itself, one more call is found where it is, any two compare."""

import gc
from typing import Any

from hypothesis import HealthCheck, assume, given, settings
from hypothesis import strategies as st

from cannery.recorder.records import Call, Enter, Exit, Record
from cannery.replayer.comparison.process import Options, compare
from cannery.replayer.comparison.shapes import shapes_of
from tests import trace_tools
from tests.diff_tools import Stream, assert_same, causes, compared, renumbered
from tests.live import OUT, SCHEMA
from tests.scenarios import DEVICE_TO_HOST, HOST_TO_DEVICE, HUGE_FIRST, SYNC, selected

SHAPES = shapes_of(SCHEMA, SCHEMA)
SIZE = 256


class Program:
    """A random program of up to three threads over a few objects."""

    def __init__(self, choices: list[tuple[int, int, int, int]]) -> None:
        self.live = selected()
        for thread in (2, 3):
            self.live.ok("aclrtSetDevice", 0, thread=thread)
        self.streams = [self.live.create("aclrtCreateStream") for _ in range(2)]
        self.events = [self.live.create("aclrtCreateEventWithFlag", SYNC) for _ in range(2)]
        self.memory = [self.live.create("aclrtMalloc", SIZE, HUGE_FIRST) for _ in range(2)]
        self.pinned = self.live.create("aclrtMallocHost", SIZE)
        for kind, thread, x, y in choices:
            self._step(kind, thread, x, y)

    def _step(self, kind: int, thread: int, x: int, y: int) -> None:
        live = self.live
        stream, event, memory = (known[x % len(known)] for known in (self.streams, self.events, self.memory))
        other = self.memory[y % len(self.memory)]
        if kind == 0:
            self.streams.append(live.create("aclrtCreateStream", thread=thread))
        elif kind == 1:
            self.events.append(live.create("aclrtCreateEventWithFlag", SYNC, thread=thread))
        elif kind == 2:
            self.memory.append(live.create("aclrtMalloc", SIZE * (1 + y % 2), HUGE_FIRST, thread=thread))
        elif kind == 3:
            live.call("aclrtRecordEvent", event, stream, thread=thread)
        elif kind == 4:
            live.call("aclrtStreamWaitEvent", self.streams[y % len(self.streams)], event, thread=thread)
        elif kind == 5:
            live.host.put(self.pinned - 0x5000_0000_0000, bytes([y] * SIZE))
            live.call("aclrtMemcpyAsync", memory, SIZE, self.pinned, SIZE - y, HOST_TO_DEVICE, stream, thread=thread)
        elif kind == 6:
            live.call("aclrtMemcpyAsync", self.pinned, SIZE, memory, SIZE - y, DEVICE_TO_HOST, stream, thread=thread)
        elif kind == 7:
            live.call("aclrtMemset", other, SIZE, y, SIZE, thread=thread)
        elif kind == 8:
            live.call("aclrtGetDevice", OUT, thread=thread)
        elif kind == 9 and len(self.memory) > 1:
            live.call("aclrtFree", self.memory.pop(x % len(self.memory)), thread=thread)
        else:
            live.call("aclrtGetDeviceCount", OUT, thread=thread)


def recorded(choices: list[tuple[int, int, int, int]]) -> list[Record]:
    """The records of a program. Its simulated devices go away: each takes a large range of addresses."""
    records = Program(choices).live.records
    gc.collect()
    return records


choices = st.lists(
    st.tuples(st.integers(0, 10), st.sampled_from([1, 1, 1, 2, 3]), st.integers(0, 7), st.integers(0, 7)), max_size=60
)
few = settings(max_examples=40, deadline=None, suppress_health_check=[HealthCheck.too_slow])


def _means(call: Call | Enter) -> tuple[Any, ...]:
    return call.function, call.ins


def _finished(records: list[Record]) -> bool:
    return {r.number for r in records if isinstance(r, Enter)} == {r.number for r in records if isinstance(r, Exit)}


@few
@given(choices, st.integers(1, 40))
def test_a_trace_is_the_same_as_itself(steps: list[tuple[int, int, int, int]], window: int) -> None:
    records = recorded(steps)
    found = assert_same(records, renumbered(records))
    assert found.aligned == found.calls[0]
    found = assert_same(records, records, window=window)
    assert found.aligned == found.calls[0]


@few
@given(choices, st.data())
def test_one_more_call_is_found_where_it_is(steps: list[tuple[int, int, int, int]], data: st.DataObject) -> None:
    records = recorded(steps)
    plain = [r for r in records if isinstance(r, Call) and not SHAPES[r.function].creates and not r.effects
             and not SHAPES[r.function].releases]  # fmt: skip
    more = data.draw(st.sampled_from(plain))
    place = data.draw(st.integers(0, len(records)))
    # Not between a call and the end of its wait: a thread that waits makes no call.
    assume(_finished(records[:place]))
    altered = renumbered([*records[:place], more, *records[place:]])
    inserted = altered[place]
    assert isinstance(inserted, Call)
    found = compared(records, altered)
    assert found.findings.kinds["inserted"] == 1
    assert found.aligned == found.calls[0]
    own = [r for r in altered if isinstance(r, Call | Enter) and r.thread == inserted.thread]
    around = own[max(own.index(inserted) - 1, 0) : own.index(inserted) + 2]
    if found.findings.kinds["order"]:
        # Of several equal calls in a row nothing tells which is the additional one. If the first of them is aligned
        # with the call that is in both traces, that one seems to have come earlier.
        assert sum(_means(call) == _means(inserted) for call in around) > 1
        return
    (cause,) = causes(found)
    (told,) = cause.calls[1]
    call = next(call for call in own if call.number == told.number)
    assert (told.function, _means(call)) == (inserted.function, _means(inserted))
    first, last = sorted((own.index(call), own.index(inserted)))
    assert all(_means(between) == _means(call) for between in own[first : last + 1])


@few
@given(choices, choices)
def test_any_two_programs_compare(first: list[Any], second: list[Any]) -> None:
    found = compared(recorded(first), recorded(second))
    kinds = found.findings.kinds
    assert found.aligned <= min(found.calls)
    if not kinds["missing"] + kinds["inserted"] + kinds["replaced"]:
        assert found.aligned == found.calls[0] == found.calls[1]


@settings(max_examples=200, deadline=None)
@given(trace_tools.streams(), trace_tools.streams(), st.booleans())
def test_records_with_any_values_compare(first: list[Record], second: list[Record], payloads: bool) -> None:
    sides = Stream(first, trace_tools.SCHEMA), Stream(second, trace_tools.SCHEMA)
    nothing = (lambda payload: None, lambda payload: None)
    found = compare(sides, nothing, Options(payloads=payloads))
    for group in found.findings.ordered():
        found.writer.group(group)
    again = compare((sides[0], Stream(renumbered(first), trace_tools.SCHEMA)), nothing, Options(payloads=payloads))
    assert not again.findings.total
