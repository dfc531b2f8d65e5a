"""Random work over streams that fork and join: captured and executed it gives the bytes that it gives directly, and
both are those of the same work done in its order, without streams."""

import gc
from typing import Any, NamedTuple

from hypothesis import given, settings
from hypothesis import strategies as st

from tests.fakes import OUT
from tests.graph_tools import GraphDriver, opened

STREAMS = 3
BUFFERS = 4
SIZE = 16
HALF = 8


class Copy(NamedTuple):
    """Half a buffer to half a buffer; below ``BUFFERS`` they are device memory, else pinned."""

    stream: int
    destination: tuple[int, int]
    source: tuple[int, int]


class Crossing(NamedTuple):
    """What is queued on ``waiting`` from now on comes after what is on ``behind`` until now."""

    behind: int
    waiting: int
    how: str


halves = st.tuples(st.integers(0, BUFFERS), st.integers(0, 1))
steps = st.one_of(
    st.builds(Copy, st.integers(0, STREAMS - 1), halves, halves),
    st.builds(Crossing, st.integers(0, STREAMS - 1), st.integers(0, STREAMS - 1), st.sampled_from(["event", "notify"])),
)
contents = st.binary(min_size=SIZE * (BUFFERS + 1), max_size=SIZE * (BUFFERS + 1))


def ordered(program: list[Any]) -> list[Any]:
    """The program with crossings put in, so that no two streams race for a byte."""
    done: list[Any] = [Crossing(0, stream, "event") for stream in range(1, STREAMS)]
    known = [[0] * STREAMS for _ in range(STREAMS)]  # what a stream comes after: so many steps of each stream
    length = [0] * STREAMS
    written: dict[tuple[int, int], tuple[int, int]] = {}  # by half: stream and step
    read: dict[tuple[int, int], list[tuple[int, int]]] = {}

    def cross(behind: int, waiting: int, how: str) -> None:
        done.append(Crossing(behind, waiting, how))
        known[waiting] = [max(pair) for pair in zip(known[waiting], known[behind], strict=True)]
        known[waiting][behind] = max(known[waiting][behind], length[behind])

    for step in program:
        if isinstance(step, Crossing):
            if step.behind != step.waiting:
                cross(*step)
            continue
        if step.destination == step.source or step.destination[0] == step.source[0] == BUFFERS:
            continue  # no copy, or one from host to host
        before = [written.get(step.destination), written.get(step.source), *read.get(step.destination, [])]
        for stream, number in filter(None, before):
            if stream != step.stream and known[step.stream][stream] < number:
                cross(stream, step.stream, "event")
        done.append(step)
        length[step.stream] += 1
        mark = (step.stream, length[step.stream])
        written[step.destination] = mark
        read[step.destination] = []
        read.setdefault(step.source, []).append(mark)
    return done + [Crossing(stream, 0, "event") for stream in range(1, STREAMS)]


def expected(program: list[Any], content: bytes) -> bytes:
    memory = bytearray(content)
    for step in program:
        if isinstance(step, Copy):
            (to, to_half), (of, of_half) = step.destination, step.source
            to, of = to * SIZE + to_half * HALF, of * SIZE + of_half * HALF
            memory[to : to + HALF] = memory[of : of + HALF]
    return bytes(memory)


class Bench:
    """Streams, buffers and a number of events and notifies, which are used in turn."""

    def __init__(self, schedule: str) -> None:
        self.driver: GraphDriver = opened(schedule=schedule)
        self.streams = [self.driver.stream() for _ in range(STREAMS)]
        self.buffers = [self.driver.device_memory(SIZE) for _ in range(BUFFERS)]
        self.pinned = self.driver.pinned(bytes(SIZE))
        self.events = [self.driver.ex() for _ in range(3)]
        self.notifies = [int(self.driver.ok("aclrtCreateNotify", OUT, 0)) for _ in range(30)]

    def submit(self, program: list[Any]) -> None:
        ok, used = self.driver.ok, {"event": 0, "notify": 0}
        for step in program:
            if isinstance(step, Copy):
                destination, source = self._address(*step.destination), self._address(*step.source)
                ok("aclrtMemcpyAsync", destination, HALF, source, HALF, 4, self.streams[step.stream])
                continue
            behind, waiting = self.streams[step.behind], self.streams[step.waiting]
            used[step.how] += 1
            if step.how == "event":
                event = self.events[used["event"] % len(self.events)]
                ok("aclrtRecordEvent", event, behind)
                ok("aclrtStreamWaitEvent", waiting, event)
            else:
                notify = self.notifies[used["notify"]]
                ok("aclrtRecordNotify", notify, behind)
                ok("aclrtWaitAndResetNotify", notify, waiting, 0)

    def _address(self, buffer: int, half: int) -> int:
        return (self.buffers[buffer] if buffer < BUFFERS else self.pinned) + half * HALF

    def put(self, content: bytes) -> None:
        for buffer in range(BUFFERS):
            self.driver.put(self.buffers[buffer], content[buffer * SIZE :][:SIZE])
        self.driver.host.poke(self.pinned, content[BUFFERS * SIZE :])

    def get(self) -> bytes:
        device = b"".join(self.driver.get(buffer, SIZE) for buffer in self.buffers)
        return device + self.driver.host.peek(self.pinned, SIZE)


@settings(max_examples=150, deadline=None)
@given(
    st.lists(steps, max_size=25).map(ordered),
    st.lists(contents, min_size=1, max_size=3),
    st.sampled_from(["asap", "late", "seed:1", "seed:7", "seed:12"]),
    st.booleans(),
)
def compare(program: list[Any], inputs: list[bytes], schedule: str, at_once: bool) -> None:
    gc.collect()  # the address space of the example before
    bench = Bench(schedule)
    for content in inputs:
        bench.put(content)
        bench.submit(program)
        bench.driver.ok("aclrtSynchronizeStream", bench.streams[0])
        assert bench.get() == expected(program, content)
    bench.put(inputs[0])
    bench.driver.begin(bench.streams[0])
    bench.submit(program)
    bench.driver.pace(200)
    model = bench.driver.end(bench.streams[0])
    assert bench.get() == inputs[0], "nothing runs in capture"
    for content in inputs:
        bench.put(content)
        bench.driver.run(model, bench.streams[1])
        assert bench.get() == expected(program, content)
    if at_once:  # runs one behind the other, on several streams
        content = bench.get()
        for stream in (*bench.streams, 0):
            bench.driver.ok("aclmdlRIExecuteAsync", model, stream)
            content = expected(program, content)
        bench.driver.ok("aclrtSynchronizeDevice")
        assert bench.get() == content
    bench.driver.ok("aclmdlRIDestroy", model)


def test_captured_work_does_what_it_does_directly() -> None:
    gc.freeze()  # so that collecting is quick
    try:
        compare()
    finally:
        gc.unfreeze()
