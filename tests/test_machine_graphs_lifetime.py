"""How model instances end, what they are called and have, and what they leave behind."""

import gc
from typing import Any

import pytest

from cannery.runtime.invoke import Invoke
from cannery.runtime.machine import Wait
from tests.fakes import OUT
from tests.graph_tools import SIZE, SYNC, GraphDriver, opened


def captured(driver: GraphDriver, stream: int) -> int:
    """An instance with one copy."""
    memory, pinned = driver.device_memory(SIZE), driver.pinned(b"p" * SIZE)
    driver.begin(stream)
    driver.ok("aclrtMemcpyAsync", memory, SIZE, pinned, SIZE, 1, stream)
    return driver.end(stream)


class TestCallbacks:
    """The functions that aclmdlRIDestroy runs (documents, aclmdlRIDestroyRegisterCallback)."""

    def test_they_run_one_after_the_other_with_their_arguments(self) -> None:
        driver = opened()
        model = captured(driver, driver.stream())
        driver.ok("aclmdlRIDestroyRegisterCallback", model, 0x1000, 5)
        driver.ok("aclmdlRIDestroyRegisterCallback", model, 0x2000, 6)
        driver.ok("aclmdlRIDestroyRegisterCallback", model, 0x3000, 0)
        driver.ok("aclmdlRIDestroyUnregisterCallback", model, 0x2000)
        reply = driver.call("aclmdlRIDestroy", model)
        assert isinstance(reply, Invoke)
        assert (reply.function, reply.arguments) == (0x1000, (5,))
        assert driver.call("aclmdlRIExecuteAsync", model, 0, thread=2) == 107017
        reply = driver.returned()
        assert (reply.function, reply.arguments) == (0x3000, (0,))
        assert driver.returned() == 0

    def test_they_run_after_a_wait_for_a_run(self) -> None:
        driver = opened()
        driver.ok("aclrtSetDevice", 0, thread=2)
        stream = driver.stream()
        model = captured(driver, stream)
        driver.ok("aclmdlRIDestroyRegisterCallback", model, 0x1000, 5)
        gate = driver.gate(stream)
        driver.ok("aclmdlRIExecuteAsync", model, stream)
        wait = driver.call("aclmdlRIDestroy", model)
        assert isinstance(wait, Wait) and wait.reply is None
        driver.ok("aclrtRecordEvent", gate, 0, thread=2)
        driver.ok("aclrtSynchronizeStream", 0, thread=2)
        assert isinstance(wait.reply, Invoke)
        assert driver.returned() == 0

    def test_they_do_not_run_when_the_context_goes(self) -> None:
        driver = opened()
        driver.ok("aclmdlRIDestroyRegisterCallback", captured(driver, driver.stream()), 0x1000, 5)
        driver.ok("aclrtResetDevice", 0)


class TestWhatAnInstanceHas:
    def test_names(self) -> None:
        """The document cuts names off after 512 bytes (aclmdlRIGetName)."""
        driver = opened()
        model = captured(driver, driver.stream())
        assert driver.ok("aclmdlRIGetName", model, 1, OUT) == b"\0"
        for name in (b"a", b"b" * 512, b"", b"c" * 600):
            driver.ok("aclmdlRISetName", model, name)
            assert driver.ok("aclmdlRIGetName", model, 513, OUT) == name[:512] + b"\0"

    def test_ids_differ(self) -> None:
        driver = opened()
        stream = driver.stream()
        models = [captured(driver, stream) for _ in range(3)]
        ids = [driver.ok("aclmdlRIGetId", model, OUT) for model in models]
        driver.ok("aclmdlRIDestroy", models[1])
        ids.append(driver.ok("aclmdlRIGetId", driver.by_hand(), OUT))
        assert len(set(ids)) == 4

    def test_streams(self) -> None:
        """Newest first (implementation); those of a capture are its own."""
        driver = opened()
        stream, side = driver.stream(), driver.stream()
        driver.begin(stream)
        driver.crossing(stream, side)
        driver.crossing(side, stream)
        model = driver.end(stream)
        streams, count = driver.ok("aclmdlRIGetStreams", model, OUT, 5)
        assert driver.ok("aclmdlRIGetStreams", model, 0, 0) == (None, 2)
        assert len(streams) == count == 2
        assert not {stream, side} & set(streams)
        first, second = driver.persistent(), driver.persistent()
        assert driver.ok("aclmdlRIGetStreams", driver.by_hand(first, second), OUT, 2) == ((second, first), 2)

    def test_streams_go_with_the_instance(self) -> None:
        driver = opened()
        before = driver.machine.devices[0].stream_ids.available
        stream = driver.stream()
        driver.ok("aclmdlRIDestroy", captured(driver, stream))
        driver.ok("aclrtDestroyStream", stream)
        assert driver.machine.devices[0].stream_ids.available == before


class TestFailures:
    @pytest.mark.parametrize("schedule", ["asap", "late", "seed:4"])
    def test_stop_mode_ends_the_context_with_what_the_run_answers(self, schedule: str) -> None:
        """Section 5: a failed task of an instance is a failure of the stream that executes it."""
        driver = opened(schedule=schedule)
        stream = driver.stream()
        memory, other, pinned = driver.device_memory(SIZE), driver.device_memory(SIZE), driver.pinned(b"x" * SIZE)
        driver.begin(stream)
        driver.ok("aclrtMemcpyAsync", memory, SIZE, pinned, SIZE, 1, stream)
        model = driver.end(stream)
        driver.ok("aclrtFree", memory)
        context = driver.machine.contexts[driver.ok("aclrtGetCurrentContext", OUT)]
        context.stop_mode = True
        driver.ok("aclmdlRIExecuteAsync", model, stream)
        driver.call("aclrtMemcpyAsync", other, SIZE, pinned, SIZE, 1, stream)  # refused if the run has failed by now
        assert driver.call("aclrtSynchronizeStream", stream) == 507011
        assert driver.call("aclmdlRIExecuteAsync", model, stream) == 507011
        assert not context.graphs[model].runs
        context.failed = None
        assert driver.get(other, SIZE) == bytes(SIZE)

    def test_the_message_tells_what_failed_in_the_run(self) -> None:
        driver = opened()
        stream = driver.stream()
        memory, pinned = driver.device_memory(SIZE), driver.pinned(b"p" * SIZE)
        driver.begin(stream)
        driver.ok("aclrtMemcpyAsync", memory, SIZE, pinned, SIZE, 1, stream)
        model = driver.end(stream)
        driver.ok("aclrtFree", memory)
        driver.ok("aclmdlRIExecuteAsync", model, stream)
        assert driver.call("aclrtSynchronizeStream", stream) == 507011
        message = driver.message()
        assert f"{model:#x}" in message and "freed" in message


@pytest.mark.parametrize("schedule", ["asap", "late", "seed:4"])
def test_work_in_an_instance_when_its_context_goes(schedule: str) -> None:
    """As queued work of any stream: done under asap where nothing holds it, lost otherwise (semantics.md 4)."""
    driver = opened(schedule=schedule)
    device = driver.ok("aclrtGetCurrentContext", OUT)
    memory, pinned = driver.device_memory(SIZE), driver.pinned(b"p" * SIZE)
    context = driver.ok("aclrtCreateContext", OUT, 0)
    stream, held = driver.stream(), driver.stream()
    driver.begin(stream)
    driver.ok("aclrtMemcpyAsync", memory, SIZE, pinned, SIZE, 1, stream)
    model = driver.end(stream)
    driver.gate(held)
    driver.ok("aclmdlRIExecuteAsync", model, stream)
    driver.ok("aclmdlRIExecuteAsync", model, held)
    driver.ok("aclrtDestroyContext", context)
    assert model not in driver.machine.graphs
    driver.ok("aclrtSetCurrentContext", device)
    driver.pace(200)
    assert driver.get(memory, SIZE) in ({b"p" * SIZE} if schedule == "asap" else {b"p" * SIZE, bytes(SIZE)})


def test_a_destroy_that_waits_ends_with_the_context() -> None:
    driver = opened()
    driver.ok("aclrtSetDevice", 0, thread=2)
    stream = driver.stream()
    model = captured(driver, stream)
    driver.gate(stream)
    driver.ok("aclmdlRIExecuteAsync", model, stream)
    wait = driver.call("aclmdlRIDestroy", model, thread=2)
    assert isinstance(wait, Wait) and wait.reply is None
    driver.ok("aclrtResetDevice", 0)
    driver.ok("aclrtResetDevice", 0)
    assert wait.reply == 0


def test_functions_of_the_program_in_an_instance() -> None:
    """Section 6: each run hands them over again, and waits for blocking ones."""
    driver = opened()
    stream = driver.stream()
    memory, pinned = driver.device_memory(SIZE), driver.pinned(b"p" * SIZE)
    driver.begin(stream)
    driver.ok("aclrtLaunchHostFunc", stream, 0x1000, 7)
    driver.ok("aclrtMemcpyAsync", memory, SIZE, pinned, SIZE, 1, stream)
    model = driver.end(stream)
    driver.pace(10)
    assert not driver.errands
    for value in (b"a", b"b"):
        driver.host.poke(pinned, value * SIZE)
        driver.ok("aclmdlRIExecuteAsync", model, stream)
        driver.pace(10)
        (errand,) = driver.errands
        assert (errand.invoke.function, errand.invoke.arguments) == (0x1000, (7,))
        assert driver.get(memory, SIZE) != value * SIZE
        driver.errands.clear()
        driver.errand_done(errand.worker)
        driver.ok("aclrtSynchronizeStream", stream)
        assert driver.get(memory, SIZE) == value * SIZE


def test_a_refused_function_of_the_program_leaves_no_worker() -> None:
    driver = opened()
    stream = driver.stream()
    driver.begin(stream)
    driver.ok("aclmdlRICaptureTaskGrpBegin", stream)
    assert driver.call("aclrtLaunchHostFunc", stream, 0x1000, 7) == 507009
    assert not driver.machine.workers


def test_executing_waits_while_its_stream_is_full() -> None:
    driver = opened()
    driver.machine.depth = 10
    stream = driver.stream()
    model = captured(driver, stream)
    gate = driver.gate(stream)
    reply: Any = 0
    while reply == 0:
        reply = driver.call("aclmdlRIExecuteAsync", model, stream)
    assert isinstance(reply, Wait)
    driver.ok("aclrtRecordEvent", gate, 0)
    driver.ok("aclrtSynchronizeStream", 0)
    assert reply.reply == 0
    driver.ok("aclrtSynchronizeStream", stream)


def test_snapshot_locks_hold_calls() -> None:
    """Section 10.6."""
    driver = opened()
    stream = driver.stream()
    driver.begin(stream)
    model = driver.model_of(stream)
    driver.machine.locked = True
    held = [
        driver.call(function, *arguments)
        for function, *arguments in (
            ("aclmdlRICaptureBegin", stream, 0),
            ("aclmdlRICaptureEnd", stream, OUT),
            ("aclmdlRICaptureTaskGrpBegin", stream),
            ("aclmdlRIBuildBegin", OUT, 0),
            ("aclmdlRIExecuteAsync", model, stream),
            ("aclmdlRIAbort", model),
            ("aclmdlRIDestroy", model),
        )
    ]
    assert all(isinstance(wait, Wait) and wait.reply is None for wait in held)
    assert driver.call("aclmdlRIExecuteAsync", 0, stream) == 100000
    assert driver.status(stream) == 1
    driver.ok("aclmdlRICaptureThreadExchangeMode", 0)
    driver.machine.locked = False
    driver.pace()
    assert [wait.reply for wait in held[:2]] == [107027, (0, model)]


def everything(driver: GraphDriver) -> None:
    """A bit of each: captures that end well, badly and with their context; instances that run, fail and are stopped."""
    driver.ok("aclrtSetDevice", 0)
    stream, side, hand = driver.stream(), driver.stream(), driver.persistent()
    external, flag = driver.ex(), driver.event(SYNC)
    memory, pinned = driver.device_memory(SIZE), driver.pinned(b"p" * SIZE)
    for end in ("end", "break", "leave"):
        driver.begin(stream)
        driver.crossing(stream, side)
        driver.ok("aclrtMemcpyAsync", memory, SIZE, pinned, SIZE, 1, side)
        driver.ok("aclrtLaunchHostFunc", side, 5, 0)
        driver.record_external(external, stream)
        if end == "end":
            driver.crossing(side, stream)
            model = driver.end(stream)
            driver.ok("aclmdlRIExecuteAsync", model, stream)
            driver.pace(200)
            while driver.errands:
                driver.errand_done(driver.errands.pop(0).worker)
            driver.pace(200)
            driver.ok("aclrtFree", memory)
            driver.ok("aclmdlRIExecuteAsync", model, side)
            driver.pace(200)
            while driver.errands:
                driver.errand_done(driver.errands.pop(0).worker)
            assert driver.call("aclrtSynchronizeStream", side) == 507011
            driver.ok("aclmdlRIDestroy", model)
            memory = driver.device_memory(SIZE)
        elif end == "break":
            driver.fails(stream, 107025)
    driver.ok("aclrtMemcpyAsync", memory, SIZE, pinned, SIZE, 1, hand)
    driver.ok("aclrtRecordEvent", flag, hand)
    driver.ok("aclrtStreamWaitEvent", hand, flag)
    model = driver.built(driver.by_hand(hand), hand)
    driver.ok("aclrtDestroyEvent", flag)
    driver.ok("aclmdlRIExecute", model, -1)
    gate = driver.gate(0)
    driver.ok("aclmdlRIExecuteAsync", model, 0)
    driver.ok("aclmdlRIAbort", model)
    wait = driver.call("aclmdlRIDestroy", model)
    driver.ok("aclrtRecordEvent", gate, driver.stream())
    driver.pace(200)
    assert wait == 0 or wait.reply == 0
    assert driver.call("aclrtSynchronizeStream", 0) == 507023
    other = driver.by_hand(driver.persistent())
    driver.ok("aclmdlRIUnbindStream", other, driver.ok("aclmdlRIGetStreams", other, OUT, 1)[0][0])
    driver.built(driver.by_hand(hand), hand)
    driver.gate(0)
    driver.ok("aclrtFreeHost", pinned)
    driver.ok("aclrtResetDevice", 0)
    driver.ended.clear()
    driver.errands.clear()
    driver.dismissed.clear()
    driver.call("aclGetRecentErrMsg")
    driver.machine.end_thread(1)


@pytest.mark.parametrize("schedule", ["asap", "late", "seed:5"])
def test_no_cycles_remain(schedule: str) -> None:
    driver = GraphDriver(schedule=schedule)
    everything(driver)
    gc.collect()
    gc.disable()
    try:
        before = len(gc.get_objects())
        for _ in range(10):
            everything(driver)
        assert gc.collect() == 0
        assert len(gc.get_objects()) - before < 10
    finally:
        gc.enable()
