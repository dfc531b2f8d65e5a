"""The engine runs without a garbage collector, so nothing that the machine makes may be a cycle when it is gone."""

import gc

import pytest

from cannery.runtime.machine import Wait
from tests.fakes import OUT, Driver


def everything(driver: Driver) -> None:
    """A bit of each: contexts, streams, events, waits, memory, failures."""
    driver.ok("aclrtSetDevice", 0)
    driver.ok("aclrtCreateContext", OUT, 0)
    stream, other, event, flag = driver.stream(), driver.stream(), driver.event(), driver.event(1)
    memory, pinned, pageable = driver.device_memory(64), driver.pinned(b"x" * 64), driver.host.give(b"y" * 64)
    gate = driver.gate(stream)
    driver.ok("aclrtRecordEvent", event, stream)
    driver.ok("aclrtStreamWaitEvent", other, event)
    driver.ok("aclrtStreamWaitEvent", other, flag)
    driver.ok("aclrtMemcpyAsync", memory, 64, pinned, 64, 1, stream)
    driver.ok("aclrtMemcpyAsync", memory, 64, pinned, 64, 5, stream)
    driver.ok("aclrtFreeHost", pinned)
    wait = driver.call("aclrtSynchronizeStreamWithTimeout", stream, 10)
    assert isinstance(wait, Wait)
    driver.expire(wait)
    waits = [
        driver.call("aclrtSynchronizeDevice"),
        driver.call("aclrtMemcpyAsync", memory, 64, pageable, 64, 1, stream),
        driver.call("aclrtDestroyStream", other),
    ]
    driver.ok("aclrtRecordEvent", gate, 0)
    driver.ok("aclrtRecordEvent", flag, 0)
    assert sorted(wait.reply for wait in waits) == [0, 0, 507013]
    for _ in range(3):
        driver.call("aclrtSynchronizeStream", 5)
        driver.call("aclInit", b"missing")
        driver.message()
    driver.gate(stream)
    driver.ok("aclrtRecordEvent", flag, stream)
    assert isinstance(driver.call("aclrtSynchronizeDevice"), Wait)
    driver.ok("aclrtDestroyContext", driver.ok("aclrtGetCurrentContext", OUT))
    driver.ok("aclrtSetDevice", 0)
    driver.event(1)
    driver.ok("aclrtRecordEvent", driver.event(1), 0)
    driver.ok("aclrtResetDevice", 0)
    driver.ok("aclrtResetDevice", 0)
    driver.host.take(pageable)
    driver.ended.clear()
    driver.message()
    driver.machine.end_thread(1)


@pytest.mark.parametrize("schedule", ["asap", "late", "seed:5"])
def test_no_cycles_remain(schedule: str) -> None:
    driver = Driver(schedule=schedule)
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
