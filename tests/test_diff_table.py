"""What counts as the same, what as different, and which cause is named: one program, and one thing about it changed."""

from collections.abc import Callable, Sequence
from typing import Any

import pytest

from cannery.recorder.records import Call, Enter, Exit, Invoke, Note, Pace, Record, Returned
from cannery.replayer.comparison.findings import Finding
from cannery.replayer.comparison.process import Options
from cannery.replayer.comparison.shapes import POLLED
from tests import scenarios
from tests.diff_tools import assert_same, causes, compared, first_cause, renumbered
from tests.live import OUT, Live
from tests.scenarios import DEVICE_TO_HOST, HOST_TO_DEVICE, HUGE_FIRST, KILOBYTE, SYNC

Step = Callable[[Live, dict[str, int]], Any]


def make(name: str, function: str, *args: Any, thread: int = 1) -> Step:
    """A call that makes something, which later steps know by ``name``."""

    def step(live: Live, made: dict[str, int]) -> None:
        made[name] = live.create(function, *args, thread=thread)

    return step


def do(function: str, *args: Any, thread: int = 1) -> Step:
    """A call. Text arguments are names of things that were made."""

    def step(live: Live, made: dict[str, int]) -> None:
        live.call(function, *(made[arg] if isinstance(arg, str) else arg for arg in args), thread=thread)

    return step


def put(name: str, offset: int, data: bytes) -> Step:
    """Bytes in pageable host memory."""

    def step(live: Live, made: dict[str, int]) -> None:
        made[name] = live.host.put(offset, data)

    return step


def write(name: str, data: bytes) -> Step:
    """The program writes into its pinned memory."""

    def step(live: Live, made: dict[str, int]) -> None:
        live.host.put(made[name] - 0x5000_0000_0000, data)

    return step


def ran(steps: Sequence[Step]) -> Live:
    live, made = Live(), dict[str, int]()
    for step in steps:
        step(live, made)
    return live


BEGIN = [do("aclInit", None), do("aclrtSetDevice", 0)]
DATA = bytes(range(100))
PROGRAM = [
    *BEGIN,
    make("s1", "aclrtCreateStream"),
    make("s2", "aclrtCreateStream"),
    make("e", "aclrtCreateEventWithFlag", SYNC),
    make("d1", "aclrtMalloc", KILOBYTE, HUGE_FIRST),
    make("d2", "aclrtMalloc", KILOBYTE, HUGE_FIRST),
    make("h", "aclrtMallocHost", KILOBYTE),
    write("h", DATA),
    do("aclrtMemcpyAsync", "d1", KILOBYTE, "h", 100, HOST_TO_DEVICE, "s1"),
    do("aclrtRecordEvent", "e", "s1"),
    do("aclrtStreamWaitEvent", "s2", "e"),
    do("aclrtMemcpyAsync", "h", KILOBYTE, "d1", 100, DEVICE_TO_HOST, "s2"),
    do("aclrtSynchronizeStream", "s2"),
    do("aclrtGetDevice", OUT),
    do("aclrtFree", "d1"),
    do("aclrtDestroyEvent", "e"),
    do("aclrtDestroyStream", "s1"),
]
COPY_IN, RECORD, WAIT, COPY_OUT, SYNCHRONIZE, FREE = 9, 10, 11, 12, 13, 15


def changed(*changes: tuple[int, Step | None], insert: tuple[int, Step] | None = None) -> list[Step]:
    """The program with some steps replaced, left out (None), or one put in before another."""
    steps: list[Step | None] = list(PROGRAM)
    for place, step in changes:
        steps[place] = step
    if insert is not None:
        steps.insert(*insert)
    return [step for step in steps if step is not None]


def told(cause: Finding) -> tuple[str, str, list[str]]:
    """Kind, function and values of a cause."""
    call = (cause.calls[0] or cause.calls[1])[0]
    return cause.kind, call.function, [facet.what for facet in cause.facets]


DIFFERENT: dict[str, tuple[list[Step], tuple[str, str, list[str]]]] = {
    "a call put in": (
        changed(insert=(WAIT, do("aclrtStreamWaitEvent", "s1", "e"))),
        ("inserted", "aclrtStreamWaitEvent", []),
    ),
    "a stream that is made and not used": (
        changed(insert=(3, make("unused", "aclrtCreateStream"))),
        ("inserted", "aclrtCreateStream", []),
    ),
    "an allocation more": (
        changed(insert=(5, make("unused", "aclrtMalloc", KILOBYTE, HUGE_FIRST))),
        ("inserted", "aclrtMalloc", []),
    ),
    "a call left out": (changed((WAIT, None)), ("missing", "aclrtStreamWaitEvent", [])),
    "the last call left out": (changed((17, None)), ("missing", "aclrtDestroyStream", [])),
    "another call instead": (
        changed((RECORD, do("aclrtSynchronizeStream", "s1"))),
        ("replaced", "aclrtRecordEvent", []),
    ),
    "an argument changed": (
        changed((COPY_IN, do("aclrtMemcpyAsync", "d1", KILOBYTE, "h", 60, HOST_TO_DEVICE, "s1"))),
        ("changed", "aclrtMemcpyAsync", ["argument count"]),
    ),
    "another stream used": (
        changed((COPY_IN, do("aclrtMemcpyAsync", "d1", KILOBYTE, "h", 100, HOST_TO_DEVICE, "s2"))),
        ("changed", "aclrtMemcpyAsync", ["argument stream"]),
    ),
    "another allocation used": (
        changed((COPY_OUT, do("aclrtMemcpyAsync", "h", KILOBYTE, "d2", 100, DEVICE_TO_HOST, "s2"))),
        ("changed", "aclrtMemcpyAsync", ["argument src"]),
    ),
    "no stream": (
        changed((RECORD, do("aclrtRecordEvent", "e", 0))),
        ("changed", "aclrtRecordEvent", ["argument stream"]),
    ),
    "other bytes given": (
        changed((8, write("h", DATA[::-1]))),
        ("payload", "aclrtMemcpyAsync", ["bytes read"]),
    ),
    "a null pointer": (
        changed((14, do("aclrtGetDevice", 0))),
        ("changed", "aclrtGetDevice", ["argument deviceId", "return value", "output deviceId"]),
    ),
}  # fmt: skip


@pytest.mark.parametrize("name", DIFFERENT)
def test_a_difference_is_found_and_its_cause_named(name: str) -> None:
    steps, cause = DIFFERENT[name]
    assert told(first_cause(ran(PROGRAM), ran(steps))) == cause


@pytest.mark.parametrize("name", DIFFERENT)
def test_a_difference_is_found_from_the_other_side(name: str) -> None:
    steps, (kind, _, facets) = DIFFERENT[name]
    other = {"inserted": "missing", "missing": "inserted"}
    found = told(first_cause(ran(steps), ran(PROGRAM)))
    assert (found[0], found[2]) == (other.get(kind, kind), facets)


@pytest.mark.parametrize("name", ["a call put in", "a stream that is made and not used", "an allocation more"])
def test_one_more_call_changes_nothing_but_itself(name: str) -> None:
    # The objects and addresses after it have other numbers in the second trace.
    found = compared(ran(PROGRAM), ran(DIFFERENT[name][0]))
    assert found.findings.total == 1
    assert found.aligned == found.calls[0]


def test_the_call_that_is_one_too_many_is_known_by_what_is_not_used() -> None:
    # Nothing but the later use tells the three calls in a row apart.
    steps = changed(insert=(3, make("unused", "aclrtCreateStream")))
    cause = first_cause(ran(PROGRAM), ran(steps))
    assert [call.number for call in cause.calls[1]] == [3]


def test_the_place_of_a_changed_byte_is_named() -> None:
    other = DATA[:70] + b"\xff" + DATA[71:]
    a, b = ran(PROGRAM), ran(changed((8, write("h", other))))
    contents = a.host.contents | b.host.contents
    found = compared(a, b, contents=lambda payload: contents.get(payload.digest or b""))
    shown = found.writer.group(found.findings.ordered()[0])["differences"][0]
    assert (shown["what"], shown["offset"]) == ("bytes read", 70)
    assert "0xff47" in shown["b"]


def test_what_follows_from_a_cause_is_told_with_it() -> None:
    found = compared(ran(PROGRAM), ran(changed((8, write("h", DATA[::-1])))))
    (group,) = found.findings.ordered()
    assert found.findings.total == 2  # what was read, and what came back
    assert group.cause.facets[0].what == "bytes read"
    assert group.following.total() == 1


def test_bytes_are_not_compared_when_not_wanted() -> None:
    assert_same(ran(PROGRAM), ran(changed((8, write("h", DATA[::-1])))), options=Options(payloads=False))


def test_a_changed_result_is_found() -> None:
    live = ran(PROGRAM)
    records = [
        record._replace(outs=(5,)) if isinstance(record, Call) and record.function == "aclrtGetDevice" else record
        for record in live.records
    ]
    assert told(first_cause(live, records)) == ("changed", "aclrtGetDevice", ["output deviceId"])


def test_a_cause_comes_before_what_follows_from_it() -> None:
    # The size of the allocation changes; because of that a copy fails, and a synchronise reports nothing more.
    small = changed((5, make("d1", "aclrtMalloc", 50, HUGE_FIRST)))
    cause = first_cause(ran(PROGRAM), ran(small))
    assert told(cause) == ("changed", "aclrtMalloc", ["argument size"])


def test_times_of_events_do_not_count() -> None:
    def timed(after: int) -> Live:
        live = scenarios.selected()
        stream = live.create("aclrtCreateStream")
        start, end = (live.create("aclrtCreateEventWithFlag", scenarios.TIME_LINE | SYNC) for _ in range(2))
        live.ok("aclrtRecordEvent", start, stream)
        live.ok("aclrtRecordEvent", end, stream, after=after)
        live.ok("aclrtSynchronizeStream", stream)
        live.ok("aclrtEventElapsedTime", OUT, start, end)
        return live

    found = assert_same(timed(1000), timed(70_000_000))
    assert found.findings.timed == 1


@pytest.mark.parametrize("times", [1, 2, 9])
def test_a_question_that_is_repeated_counts_once(times: int) -> None:
    def asking(times: int) -> list[Step]:
        question = do("aclrtQueryEventStatus", "e", OUT)
        return [*PROGRAM[:COPY_OUT], *[question] * times, *PROGRAM[COPY_OUT:]]

    assert_same(ran(asking(3)), ran(asking(times)))


def test_where_the_heap_lies_does_not_count() -> None:
    def copying(offset: int) -> list[Step]:
        return [*PROGRAM[:8], put("p", offset, DATA), do("aclrtMemcpy", "d1", KILOBYTE, "p", 100, HOST_TO_DEVICE)]

    assert_same(ran(copying(0)), ran(copying(123_456)))


def test_the_step_in_which_bytes_passed_does_not_count() -> None:
    by_call, by_pacer = (ran(PROGRAM[: COPY_IN + 1]) for _ in range(2))
    by_call.ok("aclrtGetDevice", OUT, after=5_000_000)
    by_pacer.pace(5_000_000)
    by_pacer.ok("aclrtGetDevice", OUT)
    assert any(isinstance(record, Pace) and record.effects for record in by_pacer.records)
    found = assert_same(by_call, by_pacer)
    assert found.aligned == found.calls[0]


def test_a_wait_and_a_call_that_need_not_wait_are_the_same_call() -> None:
    def waiting(first: bool) -> Live:
        live = scenarios.selected()
        live.ok("aclrtSetDevice", 0, thread=2)
        held, free = live.create("aclrtCreateStream"), live.create("aclrtCreateStream")
        event = live.create("aclrtCreateEventWithFlag", SYNC)
        live.ok("aclrtStreamWaitEvent", held, event)
        if first:
            live.ok("aclrtRecordEvent", event, free, thread=2)
        live.call("aclrtSynchronizeStream", held)
        if not first:
            live.ok("aclrtRecordEvent", event, free, thread=2)
        return live

    a, b = waiting(True), waiting(False)
    assert not any(isinstance(record, Exit) for record in a.records)
    assert any(isinstance(record, Exit) for record in b.records)
    assert_same(a, b)


def test_notes_of_the_host_do_not_count() -> None:
    live = ran(PROGRAM)
    assert_same([record for record in live.records if not isinstance(record, Note)], live)


# Threads

THREADS = [
    *BEGIN,
    do("aclrtSetDevice", 0, thread=2),
    make("s1", "aclrtCreateStream"),
    make("s2", "aclrtCreateStream", thread=2),
    make("e", "aclrtCreateEventWithFlag", SYNC),
    make("d", "aclrtMalloc", KILOBYTE, HUGE_FIRST),
    put("p1", 0, DATA),
    put("p2", 8192, DATA[::-1]),
]


def threads(*steps: Step) -> Live:
    return ran([*THREADS, *steps])


LAUNCH_1 = do("aclrtRecordEvent", "e", "s1")
MEMORY_2 = make("d2", "aclrtMalloc", KILOBYTE, HUGE_FIRST, thread=2)
WAIT_2 = do("aclrtStreamWaitEvent", "s2", "e", thread=2)
LAUNCH_2 = do("aclrtStreamWaitEvent", "s1", "e", thread=2)
COPY_1 = do("aclrtMemcpy", "d", KILOBYTE, "p1", 100, HOST_TO_DEVICE)
COPY_2 = do("aclrtMemcpy", "d", KILOBYTE, "p2", 100, HOST_TO_DEVICE, thread=2)
FREE_2 = do("aclrtFree", "d", thread=2)
ASK_2 = do("aclrtQueryEventStatus", "e", OUT, thread=2)

FREE_TO_SWAP: dict[str, tuple[Step, Step]] = {
    "an allocation and a record": (LAUNCH_1, MEMORY_2),
    "a creation and a creation": (
        make("a", "aclrtCreateStream"), make("b", "aclrtCreateStream", thread=2)
    ),
    "a record and a question": (LAUNCH_1, ASK_2),
    "work for different streams": (
        LAUNCH_1, do("aclrtStreamWaitEvent", "s2", 0, thread=2)
    ),
}  # fmt: skip
BOUND: dict[str, tuple[Step, Step]] = {
    "a record and a wait for it": (LAUNCH_1, WAIT_2),
    "work for one stream": (LAUNCH_1, LAUNCH_2),
    "copies to the same bytes": (COPY_1, COPY_2),
    "a copy and the end of its memory": (COPY_1, FREE_2),
}


@pytest.mark.parametrize("name", FREE_TO_SWAP)
def test_threads_may_run_in_another_order(name: str) -> None:
    first, second = FREE_TO_SWAP[name]
    assert_same(threads(first, second), threads(second, first))


@pytest.mark.parametrize("name", BOUND)
def test_order_counts_where_one_call_changes_what_the_other_uses(name: str) -> None:
    first, second = BOUND[name]
    found = causes(compared(threads(first, second), threads(second, first)))
    assert found[0].kind == "order", [told(cause) for cause in found]


def test_the_order_of_copies_to_different_bytes_does_not_count() -> None:
    def copying(*order: int) -> Live:
        live = ran(THREADS)
        base = next(record.outs[0] for record in live.records if getattr(record, "function", "") == "aclrtMalloc")
        address = 0x2000_0000_0000 + base
        for thread in order:
            where = address + 256 * thread
            live.ok("aclrtMemcpy", where, 100, live.host.put(4096 * thread, DATA), 100, HOST_TO_DEVICE, thread=thread)
        return live

    assert_same(copying(1, 2), copying(2, 1))


def test_addresses_mean_what_they_did_when_the_call_was_made() -> None:
    # Two threads get the same address one after the other: in which order is a matter of chance.
    def passing(live: Live, thread: int) -> None:
        memory = live.create("aclrtMalloc", KILOBYTE * thread, HUGE_FIRST, thread=thread)
        live.ok("aclrtMemset", memory, KILOBYTE, thread, KILOBYTE, thread=thread)
        live.ok("aclrtFree", memory, thread=thread)

    def running(*order: int) -> Live:
        live = ran(THREADS)
        for thread in order:
            passing(live, thread)
        return live

    assert_same(running(1, 2, 1, 2), running(2, 2, 1, 1))


def test_threads_are_known_by_what_they_do() -> None:
    def numbered(one: int, other: int) -> Live:
        live = scenarios.selected()
        for thread, device in ((one, 0), (other, 1)):
            live.ok("aclrtSetDevice", device, thread=thread)
            live.create("aclrtCreateStream", thread=thread)
        return live

    assert_same(numbered(2, 3), numbered(3, 2))


def test_a_thread_that_only_one_trace_has_is_one_difference() -> None:
    a = threads(LAUNCH_1)
    b = threads(LAUNCH_1)
    for _ in range(20):
        b.ok("aclrtGetDeviceCount", OUT, thread=7)
    cause = first_cause(a, b)
    assert (cause.kind, cause.threads, cause.counts) == ("inserted", (None, 7), [0, 20])


# Ends


def test_a_trace_that_ends_early_lacks_the_rest() -> None:
    live = ran(PROGRAM)
    calls = [place for place, record in enumerate(live.records) if isinstance(record, Call)]
    cause = first_cause(live, live.records[: calls[-3]])
    assert (cause.kind, cause.counts[0]) == ("missing", 3)


def test_a_call_that_never_returned_differs_from_one_that_did() -> None:
    def waiting(released: bool) -> list[Record]:
        live = scenarios.selected()
        live.ok("aclrtSetDevice", 0, thread=2)
        held, free = live.create("aclrtCreateStream"), live.create("aclrtCreateStream")
        event = live.create("aclrtCreateEventWithFlag", SYNC)
        live.ok("aclrtStreamWaitEvent", held, event)
        live.call("aclrtSynchronizeStream", held)
        if released:
            live.ok("aclrtRecordEvent", event, free, thread=2)
        return live.records

    found = [told(cause) for cause in causes(compared(waiting(True), waiting(False)))]
    assert ("changed", "aclrtSynchronizeStream", ["end"]) in found
    assert ("missing", "aclrtRecordEvent", []) in found
    assert any(isinstance(record, Enter) for record in waiting(False))


def test_a_recording_that_stopped_is_compared_as_far_as_it_goes() -> None:
    live = ran(PROGRAM)
    stopped = [*live.records[:-6], Note("stopped", "No space left on device")]
    found = assert_same(live, stopped)
    assert found.incomplete == (None, "the recording stopped: No space left on device")
    assert found.uncompared == 6


@pytest.mark.parametrize("extra", [0, 1, 2, 40])
@pytest.mark.parametrize("longer", ["a", "b"])
@pytest.mark.parametrize("stopped", ["a", "b", "both"])
def test_a_change_in_the_last_call_of_a_recording_that_stopped_is_found(stopped: str, longer: str, extra: int) -> None:
    """It was looked for again and again where the end was taken for what the other trace would have."""
    sides = {}
    for side, size in ("a", 100), ("b", 200):
        steps = [*PROGRAM, make("d3", "aclrtMalloc", size, HUGE_FIRST)]
        sides[side] = ran([*steps, *[do("aclrtGetDevice", OUT)] * (extra if side == longer else 0)]).records
        if stopped in (side, "both"):
            sides[side].append(Note("stopped", "No space left on device"))
    found = [told(cause) for cause in causes(compared(sides["a"], sides["b"]))]
    assert ("changed", "aclrtMalloc", ["argument size"]) in found


# Equal windows


@pytest.mark.parametrize("window", [1, 3, 8])
@pytest.mark.parametrize("name", DIFFERENT)
def test_skipping_windows_with_equal_bytes_changes_nothing(name: str, window: int) -> None:
    a, b = ran(PROGRAM), ran(DIFFERENT[name][0])
    whole, skipping = compared(a, b), compared(a, b, window=window)
    assert [told(cause) for cause in causes(skipping)] == [told(cause) for cause in causes(whole)]
    assert (skipping.findings.total, skipping.aligned, skipping.calls) == (
        whole.findings.total,
        whole.aligned,
        whole.calls,
    )


@pytest.mark.parametrize("name", scenarios.ALL)
def test_a_program_that_runs_twice_does_the_same(name: str) -> None:
    a, b = (scenarios.ALL[name]() for _ in range(2))
    found = assert_same(renumbered(a.records), b)
    # Functions of the program that were run count as well; a question that is repeated counts once.
    asked = sum(getattr(record, "function", "") in POLLED for record in a.records)
    assert found.aligned >= found.calls[0] - asked


# Functions of the program


def test_what_a_function_of_the_program_returns_is_compared() -> None:
    live = scenarios.ALL["functions"]()
    place = next(place for place, record in enumerate(live.records) if isinstance(record, Returned))
    record = live.records[place]
    assert isinstance(record, Returned)
    altered = [*live.records[:place], record._replace(value=77), *live.records[place + 1 :]]
    found = compared(live, altered)
    cause = causes(found)[0]
    assert cause.calls[0][0].function.startswith("function ")
    assert [(facet.a, facet.b) for facet in cause.facets] == [(record.value, 77)]
    assert "called with" in found.writer.group(found.findings.ordered()[0])["calls"]["b"][0]["text"]


def test_which_function_of_the_program_is_run_is_compared() -> None:
    live = scenarios.ALL["functions"]()
    places = [place for place, record in enumerate(live.records) if isinstance(record, Invoke)]
    known = {record.function for record in live.records if isinstance(record, Invoke)}
    record = live.records[places[-1]]
    assert isinstance(record, Invoke) and len(known) > 1
    other = record._replace(function=next(iter(known - {record.function})))
    altered = [*live.records[: places[-1]], other, *live.records[places[-1] + 1 :]]
    kinds = [facet.what for cause in causes(compared(live, altered)) for facet in cause.facets]
    assert kinds == ["argument function"]


def test_a_tail_that_a_trigger_ended_is_complete() -> None:
    live = Live()
    live.ok("aclrtSetDevice", 0)
    live.ok("aclrtGetDevice", OUT)
    tail = [*live.records, Note("stopped", "the tail is complete: aclrtGetDevice was called")]
    found = assert_same(tail, tail)
    assert found.incomplete == (None, None)
    assert [cause.kind for cause in causes(compared(tail, [*live.records[:-1], tail[-1]]))] == ["missing"]
