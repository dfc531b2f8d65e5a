"""Captures and what is around them: calls that their modes forbid, streams that run out, contexts that go, products."""

from itertools import product
from typing import Any

import pytest

from tests.fakes import OUT
from tests.graph_tools import GLOBAL, RELAXED, SIZE, THREAD_LOCAL, GraphDriver, Script, opened

# Modes (7; documents, aclmdlRICaptureThreadExchangeMode). Whether a call that acts at once is forbidden, by the mode of
# the capture, the mode of the thread that calls, and whether that thread began the capture.

FORBIDDEN = {
    (GLOBAL, GLOBAL): "both",
    (GLOBAL, THREAD_LOCAL): "own",
    (GLOBAL, RELAXED): "none",
    (THREAD_LOCAL, GLOBAL): "own",
    (THREAD_LOCAL, THREAD_LOCAL): "own",
    (THREAD_LOCAL, RELAXED): "none",
    (RELAXED, GLOBAL): "none",
    (RELAXED, THREAD_LOCAL): "none",
    (RELAXED, RELAXED): "none",
}


@pytest.mark.parametrize(("mode", "threads", "thread"), [*product(range(3), range(3), (1, 2))])
def test_modes_forbid(mode: int, threads: int, thread: int) -> None:
    driver = opened()
    driver.ok("aclrtSetDevice", 0, thread=2)
    memory, pinned, pageable = driver.device_memory(SIZE), driver.pinned(bytes(SIZE)), driver.host.give(bytes(SIZE))
    stream, other = driver.stream(), driver.stream()
    driver.begin(stream, mode)
    assert driver.ok("aclmdlRICaptureThreadExchangeMode", threads, thread=thread) == GLOBAL
    who = FORBIDDEN[mode, threads]
    forbidden = who == "both" or (who == "own" and thread == 1)
    calls: dict[tuple[Any, ...], int | None] = {
        ("aclrtMemset", memory, SIZE, 0, SIZE): 107030,
        ("aclrtMemcpy", memory, SIZE, pageable, SIZE, 4): 107030,
        ("aclrtMemcpy", pageable, SIZE, pinned, SIZE, 4): 107030,
        ("aclrtMemcpyAsync", memory, SIZE, pageable, SIZE, 4, other): 107041,
        ("aclrtMemcpyAsync", memory, SIZE, pageable, SIZE, 4, 0): 107041,
        ("aclrtMemcpyAsync", memory, SIZE, pinned, SIZE, 4, other): None,
        ("aclrtMemcpyAsync", memory, SIZE, pinned, SIZE, 4, stream): None,
        ("aclrtMemcpy", memory, SIZE, memory, SIZE, 4): None,
        ("aclrtFree", driver.device_memory(SIZE)): None,
    }
    for (function, *arguments), number in calls.items():
        assert driver.call(function, *arguments, thread=thread) == (number if forbidden and number else 0), function
    assert driver.ok("aclmdlRICaptureThreadExchangeMode", GLOBAL, thread=thread) == threads
    driver.end(stream)
    driver.ok("aclrtMemset", memory, SIZE, 0, SIZE)


def test_the_strictest_of_several_captures_counts() -> None:
    driver = opened()
    driver.ok("aclrtSetDevice", 0, thread=2)
    memory, relaxed, strict = driver.device_memory(SIZE), driver.stream(), driver.stream()
    driver.begin(relaxed, RELAXED)
    driver.begin(strict, THREAD_LOCAL, thread=2)
    driver.ok("aclrtMemset", memory, SIZE, 0, SIZE)
    assert driver.call("aclrtMemset", memory, SIZE, 0, SIZE, thread=2) == 107030
    driver.end(strict, thread=2)
    driver.begin(strict, GLOBAL, thread=2)
    assert driver.call("aclrtMemset", memory, SIZE, 0, SIZE) == 107030
    assert "ACL_MODEL_RI_CAPTURE_MODE_GLOBAL" in driver.message()
    driver.end(strict, thread=2)
    driver.ok("aclrtMemset", memory, SIZE, 0, SIZE, thread=2)
    driver.end(relaxed)


@pytest.mark.parametrize("breaking", ["sync s", "query s", "drop s", "sync-event e", "memset mem", "memcpy mem pin"])
def test_documented_a_refused_call_breaks_the_capture(breaking: str) -> None:
    """Section 11, capture-after-refusal."""
    for behaviour, end in (("documented", "end s -> 507903"), ("observed", "end s"), ("default", "end s")):
        script = Script(opened(behaviour=behaviour))
        script.play("begin s GLOBAL \n record e s")
        with pytest.raises(AssertionError):
            script.step(breaking)
        script.play(f"status s -> ACTIVE \n {end} \n status s -> NONE")


# Streams that captures need for themselves (documents, aclmdlRICaptureBegin).


def fill(driver: GraphDriver, left: int) -> list[int]:
    """Take streams of the device until ``left`` are left."""
    device = driver.machine.devices[0]
    return [driver.stream() for _ in range(device.stream_ids.available - left)]


def test_no_stream_left_for_a_capture() -> None:
    driver = opened()
    stream, side, event = driver.stream(), driver.stream(), driver.ex()
    spare = fill(driver, 0)
    assert driver.call("aclmdlRICaptureBegin", stream, RELAXED) == 207008
    assert driver.status(stream) == 0
    driver.ok("aclrtDestroyStream", spare.pop())
    driver.begin(stream)
    driver.ok("aclrtRecordEvent", event, stream)
    assert driver.call("aclrtStreamWaitEvent", side, event) == 207008
    assert driver.status(side) == 0
    driver.fails(stream, 507903)
    driver.ok("aclmdlRICaptureBegin", stream, RELAXED)
    driver.ok("aclmdlRIDestroy", driver.end(stream))
    assert driver.stream()


def test_a_long_capture_takes_more_streams_and_breaks_without() -> None:
    driver = opened(product="A2")
    memory, pinned = driver.device_memory(8), driver.pinned(bytes(8))
    driver.machine.depth = 100
    stream = driver.stream()

    def capture(tasks: int) -> None:
        driver.begin(stream)
        for _ in range(tasks):
            driver.ok("aclrtMemcpyAsync", memory, 8, pinned, 8, 1, stream)

    capture(300)
    model = driver.end(stream)
    assert driver.ok("aclmdlRIGetStreams", model, 0, 0)[1] == 4
    driver.run(model)
    driver.ok("aclmdlRIDestroy", model)
    fill(driver, 1)
    capture(92)
    assert driver.status(stream) == 1
    assert driver.call("aclrtMemcpyAsync", memory, 8, pinned, 8, 1, stream) == 207008
    assert driver.status(stream) == 2, "INVALIDATED"
    driver.fails(stream, 507903)


# What ends captures from outside.


def test_a_capture_ends_with_its_context() -> None:
    driver = opened()
    other = driver.other_context()
    driver.ok("aclrtSetCurrentContext", other)
    stream, side, memory = driver.stream(), driver.stream(), driver.device_memory(SIZE)
    driver.begin(stream, GLOBAL)
    event = driver.crossing(stream, side)
    model = driver.model_of(stream)
    driver.ok("aclrtDestroyContext", other)
    assert not driver.machine.captures
    assert driver.call("aclmdlRIDestroy", model) == 107017
    assert driver.call("aclmdlRICaptureEnd", stream, OUT) == 107017
    driver.ok("aclrtSetDevice", 0)
    driver.ok("aclrtMemset", memory, SIZE, 0, SIZE)
    driver.ok("aclrtSynchronizeEvent", event)


def test_a_capture_ends_with_its_device() -> None:
    driver = opened()
    stream = driver.stream()
    driver.begin(stream, GLOBAL)
    driver.crossing(stream, driver.stream())
    driver.ok("aclrtResetDevice", 0)
    assert not driver.machine.captures and not driver.machine.graphs and not driver.machine.streams
    driver.ok("aclrtSetDevice", 0)
    ids = driver.machine.devices[0].stream_ids
    assert ids.limit - ids.available == 1


def test_captured_streams_do_not_fill() -> None:
    """A capture takes more tasks than a queue has room for (documents)."""
    driver = opened()
    driver.machine.depth = 20
    memory, pinned, stream = driver.device_memory(8), driver.pinned(b"12345678"), driver.stream()
    gate = driver.gate(stream)
    for _ in range(18):
        driver.ok("aclrtMemcpyAsync", memory, 8, pinned, 8, 1, stream)
    driver.begin(stream)
    for _ in range(50):
        driver.ok("aclrtMemcpyAsync", memory, 8, pinned, 8, 1, stream)
    model = driver.end(stream)
    driver.ok("aclrtRecordEvent", gate, 0)
    driver.run(model, stream)
    assert driver.get(memory, 8) == b"12345678"


@pytest.mark.parametrize("product", ["310B", "910"])
def test_products_without_capture(product: str) -> None:
    """Section 8."""
    driver = opened(product=product)
    stream = driver.stream()
    assert driver.call("aclmdlRICaptureBegin", stream, RELAXED) == 207000
    assert driver.call("aclmdlRICaptureBegin", 0, RELAXED) == 207000
    assert driver.call("aclmdlRICaptureEnd", stream, OUT) == 207000
    assert driver.call("aclmdlRICaptureGetInfo", stream, OUT, OUT) == 207000


@pytest.mark.parametrize("product", ["950PR", "950DT", "A3", "A2", "310P"])
def test_products_with_capture(product: str) -> None:
    driver = opened(product=product)
    memory, pinned, stream = driver.device_memory(8), driver.pinned(b"12345678"), driver.stream()
    driver.begin(stream)
    driver.ok("aclrtMemcpyAsync", memory, 8, pinned, 8, 1, stream)
    driver.run(driver.end(stream))
    assert driver.get(memory, 8) == b"12345678"
