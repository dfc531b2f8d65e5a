"""The engine runs without a garbage collector, so nothing that the machine makes may be a cycle when it is gone."""

import gc
from struct import pack

import pytest

from cannery.runtime.invoke import Invoke
from cannery.runtime.machine import Wait
from cannery.runtime.objects import PERSISTENT
from tests import kernel_tools
from tests.fakes import OUT, Driver, ident


def everything(driver: Driver) -> None:
    """A bit of each: contexts, streams, events, waits, memory, failures."""
    driver.ok("aclrtSetDevice", 0)
    snapshots(driver)
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
    exceptions(driver)
    functions(driver)
    instances(driver)
    counting(driver)
    kernels(driver)
    for _ in range(3):
        driver.call("aclrtSynchronizeStream", 5)
        driver.call("aclInit", b"missing")
        driver.message()
    driver.gate(stream)
    driver.ok("aclrtRecordEvent", flag, stream)
    assert isinstance(driver.call("aclrtSynchronizeDevice"), Wait)
    wait = driver.call("aclrtDestroyContext", driver.ok("aclrtGetCurrentContext", OUT))
    assert isinstance(wait, Wait)
    while wait.reply is None:  # its worker still runs something
        driver.errand_done(driver.machine.last_worker)
    driver.ok("aclrtSetDevice", 0)
    driver.event(1)
    driver.ok("aclrtRecordEvent", driver.event(1), 0)
    driver.ok("aclrtResetDevice", 0)
    driver.ok("aclrtResetDevice", 0)
    driver.host.take(pageable)
    driver.ended.clear()
    driver.errands.clear()
    driver.dismissed.clear()
    driver.pace(200)  # schedules remember tasks for a while
    driver.message()
    driver.machine.end_thread(1)


def snapshots(driver: Driver) -> None:
    """Callbacks that succeed, refuse and never return, held calls, work that is lost."""
    stream = driver.stream()
    for stage in range(6):
        driver.ok("aclrtSnapShotCallbackRegister", stage, 5, 0)
    for call, values in (
        ("Lock", (0,)), ("Lock", (0,)), ("Backup", (1,)), ("Backup", (0, 1)), ("Backup", (0, 0)),
        ("Restore", (0, 1)), ("Restore", (0, 0)), ("Backup", (0, 0)), ("Unlock", (1,)),
    ):  # fmt: skip
        if call == "Restore":
            driver.ok("aclrtLaunchHostFunc", stream, 5, 0)
            driver.call("aclrtSynchronizeStream", stream, thread=2)
            driver.call("aclrtMalloc", OUT, 64, 0, thread=3)
        reply = driver.call(f"aclrtSnapShotProcess{call}", 0, 0)
        for value in values:
            assert isinstance(reply, Invoke), call
            driver.call("aclrtSnapShotCallbackUnregister", 0, 5)  # refused: it would never return
            reply = driver.returned(value=value)
    for worker in [*driver.machine.workers]:
        driver.errand_done(worker)
    driver.call("aclrtSnapShotProcessLock", 0, 0, thread=4)
    driver.machine.end_thread(4)
    driver.machine.end_thread(3)
    for stage in range(6):
        driver.ok("aclrtSnapShotCallbackUnregister", stage, 5)
    driver.ok("aclrtDestroyStream", stream)


def functions(driver: Driver) -> None:
    """Functions of the program: run, due and queued when their stream or context goes, cut off by a thread's end."""
    first, second, third = driver.stream(), driver.stream(), driver.stream()
    driver.ok("aclrtSubscribeReport", ident(1), first)
    driver.ok("aclrtSubscribeReport", ident(2), second)
    wait = driver.call("aclrtProcessReport", 10)
    for block in (0, 1, 1, 0):
        driver.ok("aclrtLaunchCallback", 5, 0, block, first)
        driver.ok("aclrtLaunchCallback", 5, 0, block, second)
    driver.pace(200)
    assert wait.reply is not None
    assert driver.returned() == 0
    driver.call("aclrtProcessReport", 10)
    driver.returned()
    driver.call("aclrtProcessReport", 10)  # runs one that is never heard of again
    driver.call("aclrtProcessReport", 10, thread=2)
    driver.machine.end_thread(2)
    for _ in range(3):
        driver.ok("aclrtLaunchHostFunc", third, 5, 0)
    driver.pace(200)
    driver.errand_done(driver.machine.last_worker)
    driver.pace(200)
    driver.errand_done(driver.machine.last_worker)
    driver.ok("aclrtLaunchHostFunc", third, 5, 0)


def instances(driver: Driver) -> None:
    """Tasks with handles, a stand-in; streams that lead to one another and to labels, and end with their context."""
    stream, memory = driver.stream(), driver.device_memory(64)
    driver.ok("aclmdlRICaptureBegin", stream, 2)
    driver.ok("aclrtValueWrite", memory, 1, 0, stream)
    model = driver.ok("aclmdlRICaptureEnd", stream, OUT)
    inner = driver.ok("aclmdlRIGetStreams", model, OUT, 1)[0][0]
    first = driver.ok("aclmdlRIGetTasksByStream", inner, OUT, 2)[0][0]
    driver.ok("aclmdlRITaskSetParams", first, pack("<i68xQQ", 5, memory, 2).ljust(200, b"\0"))
    driver.ok("aclmdlRIUpdate", model)
    driver.ok("aclmdlRIExecuteAsync", model, stream)
    driver.ok("aclrtSynchronizeStream", stream)
    driver.ok("aclmdlRIDestroy", model)
    driver.ok("aclrtMemset", memory, 64, 0, 64)
    model = driver.ok("aclmdlRIBuildBegin", OUT, 0)
    here, there = (driver.ok("aclrtCreateStreamWithConfig", OUT, 0, PERSISTENT) for _ in range(2))
    for bound, flag in ((here, 0), (there, 0x7FFF_FFFF)):
        driver.ok("aclmdlRIBindStream", model, bound, flag)
    label = driver.ok("aclrtCreateLabel", OUT)
    labels = driver.ok("aclrtCreateLabelList", (label,), 1, OUT)
    driver.ok("aclrtActiveStream", there, here)
    driver.ok("aclrtSwitchStream", memory, 1, memory, 0, here, 0, there)
    driver.ok("aclrtSwitchLabelByIndex", memory, 1, labels, there)
    driver.ok("aclrtSetLabel", label, there)
    driver.ok("aclmdlRIEndTask", model, there)
    driver.ok("aclmdlRIBuildEnd", model, 0)
    driver.ok("aclmdlRIExecuteAsync", model, stream)
    driver.pace(200)
    driver.pace(200)
    driver.ok("aclrtSynchronizeStream", stream)


def counting(driver: Driver) -> None:
    """A number that streams wait for, in vain."""
    notify, stream = driver.ok("aclrtCntNotifyCreate", OUT, 0), driver.stream()
    driver.ok("aclrtCntNotifyWaitWithTimeout", notify, stream, (1, 5, 0, 1, b"\0\0\0"))
    driver.ok("aclrtCntNotifyRecord", notify, 0, (1, 3))
    driver.ok("aclrtSynchronizeStream", 0)
    driver.ok("aclrtCntNotifyDestroy", notify)


def kernels(driver: Driver) -> None:
    """A binary, argument lists, launches that run, fail, wait in a graph and are lost with their stream."""
    driver.host.files[b"/k.o"] = kernel_tools.elf("double", "raises", "unknown")
    driver.host.models = kernel_tools.models()
    binary = driver.ok("aclrtBinaryLoadFromFile", b"/k.o", None, OUT)
    stream, memory = driver.stream(), driver.device_memory(16)
    first, raises, unknown = (
        driver.ok("aclrtBinaryGetFunction", binary, name, OUT) for name in (b"double", b"raises", b"unknown")
    )
    driver.ok("aclrtBinarySetExceptionCallback", binary, 5, 0)
    for _ in range(2):
        held = driver.ok("aclrtKernelArgsInit", first, OUT)
    driver.ok("aclrtKernelArgsAppend", held, kernel_tools.block(memory), 8, OUT)
    driver.ok("aclrtKernelArgsFinalize", held)
    driver.ok("aclrtLaunchKernelWithConfig", first, 1, stream, None, held, 0)
    driver.ok("aclrtLaunchKernelWithHostArgs", unknown, 1, stream, None, kernel_tools.block(memory), 8, None, 0)
    arguments = kernel_tools.block(memory, number=1)
    driver.ok("aclrtLaunchKernelWithHostArgs", raises, 1, stream, None, arguments, 12, None, 0)
    assert isinstance(driver.call("aclrtSynchronizeStream", stream), Wait)
    info = driver.errands[-1].invoke.arguments[0]
    driver.ok("aclrtGetArgsFromExceptionInfo", info, OUT, OUT)
    driver.errand_done(driver.errands[-1].worker)
    driver.ok("aclmdlRICaptureBegin", stream, 2)
    driver.ok("aclmdlRICaptureTaskGrpBegin", stream)
    driver.ok("aclrtLaunchKernel", first, 1, memory, 8, stream)
    group = driver.ok("aclmdlRICaptureTaskGrpEnd", stream, OUT)
    graph = driver.ok("aclmdlRICaptureEnd", stream, OUT)
    driver.ok("aclmdlRICaptureTaskUpdateBegin", stream, group)
    driver.ok("aclrtLaunchKernel", first, 1, memory, 8, stream)
    driver.ok("aclmdlRICaptureTaskUpdateEnd", stream)
    driver.ok("aclmdlRIDestroy", graph)
    driver.gate(stream)
    driver.ok("aclrtLaunchKernel", first, 1, memory, 8, stream)
    driver.ok("aclrtBinaryUnLoad", binary)
    driver.ok("aclrtFree", memory)


def exceptions(driver: Driver) -> None:
    """A failed task that callbacks are told of, while a synchronise waits for them."""
    stream, memory, pinned = driver.stream(), driver.device_memory(64), driver.pinned(b"x" * 64)
    driver.ok("aclrtSetExceptionInfoCallback", 5)
    gate = driver.gate(stream)
    driver.ok("aclrtMemcpyAsync", memory, 64, pinned, 64, 1, stream)
    driver.ok("aclrtFreeHost", pinned)
    driver.ok("aclrtRecordEvent", gate, 0)
    wait = driver.call("aclrtSynchronizeStream", stream)
    driver.errand_done(driver.errands[-1].worker)
    assert wait.reply == 507013
    driver.ok("aclrtSetExceptionInfoCallback", 0)


@pytest.mark.parametrize("schedule", ["asap", "late", "seed:5"])
def test_no_cycles_remain(schedule: str) -> None:
    driver = Driver(schedule=schedule, product="950PR")
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
