"""Short programs over a :class:`tests.live.Live`: together they use every implemented function and kind of record."""

from cannery.runtime.settings import Settings
from tests import (
    scenarios_devices,
    scenarios_graphs,
    scenarios_kernels,
    scenarios_memory,
    scenarios_notifies,
    scenarios_queues,
    scenarios_sharing,
    scenarios_small,
    scenarios_snapshots,
    scenarios_streams,
)
from tests.fakes import ident
from tests.live import OUT, Live

SYNC, TIME_LINE = 0x01, 0x08
HOST_TO_HOST, HOST_TO_DEVICE, DEVICE_TO_HOST, DEVICE_TO_DEVICE = 0, 1, 2, 3
HUGE_FIRST = 0
HBM = 1
NO_BLOCK, BLOCK = 0, 1
FUNCTION = 0x5555_0000_1000
KILOBYTE = 1024


def selected(settings: Settings | None = None, policy: str = "input") -> Live:
    """A process that has selected device 0."""
    live = Live(settings, policy)
    live.ok("aclInit", None)
    live.ok("aclrtSetDevice", 0)
    return live


def objects(settings: Settings | None = None) -> Live:
    """Contexts, streams, events: made, used, asked for, released; and what happens to stale ones."""
    live = Live(settings)
    live.host.files[b"acl.json"] = b'{"dump": {}}'
    live.call("aclInit", b"missing.json")
    live.ok("aclInit", b"acl.json")
    live.ok("aclrtSetDevice", 0)
    for name in ("aclrtGetDevice", "aclrtGetDeviceCount", "aclrtGetRunMode", "aclrtGetCurrentContext"):
        live.ok(name, OUT)
    assert live.call("aclrtGetSocName")
    first = live.call("aclrtGetCurrentContext", OUT)[1]
    context = live.create("aclrtCreateContext", 1)
    live.ok("aclrtSetCurrentContext", context)
    stream = live.create("aclrtCreateStream")
    live.ok("aclrtSetCurrentContext", first)
    live.call("aclrtDestroyStream", stream)  # of another context
    live.ok("aclrtSetCurrentContext", context)
    start, end = (live.create("aclrtCreateEventWithFlag", TIME_LINE | SYNC) for _ in range(2))
    live.ok("aclrtRecordEvent", start, stream)
    live.ok("aclrtRecordEvent", end, stream, after=300_000)
    live.ok("aclrtStreamQuery", stream, OUT)
    live.ok("aclrtSynchronizeStream", stream)
    live.ok("aclrtStreamQuery", stream, OUT)
    live.ok("aclrtSynchronizeEvent", end)
    live.ok("aclrtQueryEventStatus", end, OUT)
    live.ok("aclrtEventElapsedTime", OUT, start, end)
    other = live.create("aclrtCreateEvent")
    ex = live.create("aclrtCreateEventExWithFlag", SYNC)
    live.call("aclrtStreamWaitEvent", stream, other)  # never recorded
    live.ok("aclrtRecordEvent", ex, stream)
    live.ok("aclrtStreamWaitEvent", 0, ex)
    live.ok("aclrtSynchronizeDevice")
    live.ok("aclrtSynchronizeStreamWithTimeout", stream, 100)
    live.call("aclrtSynchronizeStreamWithTimeout", stream, 0)
    for event in (start, end, other, ex):
        live.ok("aclrtDestroyEvent", event)
    live.call("aclrtDestroyEvent", ex)
    live.call("aclrtRecordEvent", ex, stream)
    assert live.call("aclGetRecentErrMsg")
    live.call("aclrtPeekAtLastError", 0)
    live.call("aclrtGetLastError", 0)
    live.call("aclrtGetLastError", 0)
    live.call("aclrtQueryEventStatus", 0, OUT)
    live.ok("aclrtDestroyStream", stream)
    live.call("aclrtRecordEvent", 0x1234, 0)
    live.ok("aclrtDestroyContext", context)
    live.call("aclrtGetCurrentContext", OUT)
    live.ok("aclrtResetDevice", 0)
    live.call("aclrtResetDevice", 0)
    live.ok("aclFinalize")
    live.end_thread(1)
    return live


def memory(settings: Settings | None = None, policy: str = "input") -> Live:
    """Device and pinned memory, copies in every direction, at once and queued, small and large."""
    live = selected(settings, policy)
    pageable = live.host.put(0, bytes(range(256)) * 256)
    stream = live.create("aclrtCreateStream")
    live.ok("aclrtGetMemInfo", HBM, OUT, OUT)
    first = live.create("aclrtMalloc", 64 * KILOBYTE, HUGE_FIRST)
    second = live.create("aclrtMalloc", 100, HUGE_FIRST)
    live.ok("aclrtGetMemInfo", HBM, OUT, OUT)
    pinned = live.create("aclrtMallocHost", 64 * KILOBYTE)
    live.call("aclrtMalloc", OUT, 0, HUGE_FIRST)
    live.call("aclrtMalloc", OUT, 1 << 50, HUGE_FIRST)
    live.ok("aclrtMemset", first, 64 * KILOBYTE, 0x5A, 64 * KILOBYTE)
    live.ok("aclrtMemcpy", second, 100, first, 100, DEVICE_TO_DEVICE)
    live.ok("aclrtMemcpy", pinned, 64 * KILOBYTE, first, 64 * KILOBYTE, DEVICE_TO_HOST)
    live.ok("aclrtMemcpy", first, 64 * KILOBYTE, pageable, 64 * KILOBYTE, HOST_TO_DEVICE)
    live.ok("aclrtMemcpy", first, 64 * KILOBYTE, pageable + 5, 16, HOST_TO_DEVICE)
    live.ok("aclrtMemcpy", pageable + 70_000, 16, first, 16, DEVICE_TO_HOST)
    live.ok("aclrtMemcpy", pinned, 64 * KILOBYTE, pageable, 1000, HOST_TO_HOST)
    live.call("aclrtMemset", pinned, 64 * KILOBYTE, 1, 10)
    live.call("aclrtMemcpy", second, 50, pageable, 100, HOST_TO_DEVICE)
    live.ok("aclrtMemcpyAsync", first, 64 * KILOBYTE, pinned, 64 * KILOBYTE, HOST_TO_DEVICE, stream)
    live.ok("aclrtMemcpyAsync", pinned + 32 * KILOBYTE, KILOBYTE, first, KILOBYTE, DEVICE_TO_HOST, stream)
    live.ok("aclrtMemcpyAsync", second, 100, first + 64, 100, DEVICE_TO_DEVICE, stream)
    live.ok("aclrtMemcpyAsync", pinned, 100, second, 100, DEVICE_TO_HOST, stream)
    live.ok("aclrtSynchronizeStream", stream)
    live.ok("aclrtMemcpyAsync", pinned, KILOBYTE, first, KILOBYTE, DEVICE_TO_HOST, stream)
    live.pace(after=5_000_000)
    live.ok("aclrtMemcpyAsync", pinned, 100, second, 100, DEVICE_TO_HOST, stream)
    live.ok("aclrtSynchronizeDevice")
    live.ok("aclrtFree", second)
    live.call("aclrtFree", second)
    live.call("aclrtMemcpy", second, 100, pageable, 100, HOST_TO_DEVICE)
    live.host.exhausted = True
    live.call("aclrtMallocHost", OUT, 4096)
    live.ok("aclrtFreeHost", pinned)
    live.ok("aclrtFree", first)
    live.ok("aclrtDestroyStream", stream)
    live.ok("aclrtResetDevice", 0)
    live.ok("aclFinalize")
    return live


def waits() -> Live:
    """Waits that another thread releases, one whose limit passes, and two that end in one step."""
    live = selected()
    live.ok("aclrtSetDevice", 0, thread=2)
    live.ok("aclrtSetDevice", 0, thread=3)
    held, free = live.create("aclrtCreateStream"), live.create("aclrtCreateStream")
    event = live.create("aclrtCreateEventWithFlag", SYNC)
    live.ok("aclrtStreamWaitEvent", held, event)  # holds the stream until somebody records
    live.call("aclrtSynchronizeStreamWithTimeout", held, 300)
    live.ok("aclrtStreamQuery", free, OUT, thread=2)
    live.expire(1)
    live.call("aclrtSynchronizeStream", held)
    live.call("aclrtSynchronizeStream", held, thread=3)
    live.ok("aclrtRecordEvent", event, free, thread=2)
    live.ok("aclrtSynchronizeStream", free, thread=2)
    live.ok("aclrtStreamQuery", held, OUT)
    live.end_thread(2)
    return live


def copies_that_wait() -> Live:
    """A copy of pageable memory waits for its stream and moves its bytes when another thread ends the wait."""
    live = selected()
    live.ok("aclrtSetDevice", 0, thread=2)
    device, pageable = live.create("aclrtMalloc", KILOBYTE, HUGE_FIRST), live.host.put(100, b"pageable" * 8)
    held, free = live.create("aclrtCreateStream"), live.create("aclrtCreateStream")
    event = live.create("aclrtCreateEventWithFlag", SYNC)
    live.ok("aclrtStreamWaitEvent", held, event)
    live.call("aclrtMemcpyAsync", device, KILOBYTE, pageable, 64, HOST_TO_DEVICE, held, thread=2)
    live.ok("aclrtRecordEvent", event, free)
    live.ok("aclrtSynchronizeStream", free)
    live.ok("aclrtMemcpy", pageable, 64, device + 32, 32, DEVICE_TO_HOST)
    return live


def functions() -> Live:
    """Functions of the program: processed by a thread that waits for them and by one that comes later, inside one
    another, with calls of their own; host functions of two contexts, one of which ends while its worker runs one."""
    live = selected()
    live.ok("aclrtSetDevice", 0, thread=2)
    stream, other = live.create("aclrtCreateStream"), live.create("aclrtCreateStream")
    live.ok("aclrtSubscribeReport", ident(2), stream)
    live.call("aclrtSubscribeReport", ident(3), stream)  # subscribed already
    live.call("aclrtProcessReport", 20)  # by a thread that no stream is subscribed for
    live.call("aclrtProcessReport", 20, thread=2)
    live.expire(2)
    live.call("aclrtProcessReport", -1, thread=2)
    live.ok("aclrtLaunchCallback", FUNCTION, 0x10, BLOCK, stream)
    live.ok("aclrtLaunchCallback", FUNCTION + 1, 0, NO_BLOCK, stream)
    live.call("aclrtSynchronizeStream", stream)
    live.ok("aclrtStreamQuery", other, OUT, thread=2)  # by the function
    live.returned(2, 0)
    live.ok("aclrtSubscribeReport", ident(2), other)
    live.ok("aclrtLaunchCallback", FUNCTION, 0, NO_BLOCK, other)
    live.pace(after=1_000_000)
    live.call("aclrtProcessReport", 1000, thread=2)  # runs both that are due
    live.ok("aclrtLaunchCallback", FUNCTION + 2, 0x10, BLOCK, other, thread=2)
    live.call("aclrtProcessReport", 1000, thread=2)  # by the function
    for _ in range(3):
        live.returned(2, 0)
    live.ok("aclrtUnSubscribeReport", ident(2), stream)
    live.call("aclrtUnSubscribeReport", ident(2), stream)
    live.ok("aclrtLaunchHostFunc", stream, FUNCTION + 3, 0x20)
    live.call("aclrtSynchronizeStream", stream)
    live.errand_done(1)
    context = live.create("aclrtCreateContext", 1, thread=3)
    live.ok("aclrtLaunchHostFunc", 0, FUNCTION, 0, thread=3)
    live.pace(after=1_000_000)
    live.host.worker_threads[4] = 2
    live.ok("aclrtGetRunMode", OUT, thread=4)  # by the host function
    live.call("aclrtDestroyContext", context, thread=3)
    live.errand_done(2)
    live.ok("aclrtResetDevice", 0)
    live.ok("aclrtResetDevice", 0)
    return live


def exceptions() -> Live:
    """Callbacks that are told of a task that failed, while a synchronise waits for them; and then no more."""
    live = selected()
    stream = live.create("aclrtCreateStream")
    device, pinned = live.create("aclrtMalloc", KILOBYTE, HUGE_FIRST), live.create("aclrtMallocHost", KILOBYTE)
    live.ok("aclrtSetExceptionInfoCallback", FUNCTION)
    for callback in (FUNCTION + 1, FUNCTION, FUNCTION + 1):
        live.ok("aclrtExceptionInfoCallbackRegister", callback)
    live.call("aclrtExceptionInfoCallbackRegister", 0)
    live.ok("aclrtMemcpyAsync", device, KILOBYTE, pinned, KILOBYTE, HOST_TO_DEVICE, stream)
    live.ok("aclrtFreeHost", pinned)
    live.call("aclrtSynchronizeStream", stream)
    info = next(iter(live.machine.exceptions.failed))
    for _ in range(3):
        for what in ("TaskId", "StreamId", "ThreadId", "DeviceId", "ErrorCode"):
            live.call(f"aclrtGet{what}FromExceptionInfo", info, thread=2)
        live.call("aclrtGetArgsFromExceptionInfo", info, OUT, OUT, thread=2)
        live.call("aclrtGetFuncHandleFromExceptionInfo", info, OUT, thread=2)
        live.errand_done(1)
    live.call("aclrtGetErrorCodeFromExceptionInfo", info)  # not any longer
    live.call("aclrtGetThreadIdFromExceptionInfo", info)
    live.ok("aclrtSetExceptionInfoCallback", 0)
    live.ok("aclrtExceptionInfoCallbackUnregister", FUNCTION)
    live.ok("aclrtExceptionInfoCallbackUnregister", FUNCTION + 1)
    live.ok("aclrtExceptionInfoCallbackUnregister", FUNCTION + 1)
    live.call("aclrtExceptionInfoCallbackUnregister", 0)
    live.ok("aclrtMemcpyAsync", device, KILOBYTE, live.host.put(0, b""), 0, HOST_TO_DEVICE, stream)
    live.call("aclrtSynchronizeStream", stream)
    return live


def unsupported() -> Live:
    """Calls of functions that have no implementation."""
    live = selected()
    live.call("aclplatformGetDeviceInfo", 0, 0, 0)
    live.call("acldumpGetPath", 0)
    live.ok("aclrtGetDevice", OUT)
    return live


ALL = {
    "objects": objects,
    "memory": memory,
    "waits": waits,
    "copies_that_wait": copies_that_wait,
    "functions": functions,
    "exceptions": exceptions,
    "unsupported": unsupported,
    "events": scenarios_streams.events,
    "streams": scenarios_streams.streams,
    "devices": scenarios_streams.devices,
    "told": scenarios_streams.told,
    "host_threads": scenarios_streams.host_threads,
    "notifies": scenarios_notifies.notifies,
    "counting": scenarios_notifies.counting,
    "snapshots": scenarios_snapshots.snapshots,
    "captures": scenarios_graphs.captures,
    "graph_tasks": scenarios_graphs.graph_tasks,
    "flow": scenarios_graphs.flow,
    "conditions": scenarios_graphs.conditions,
    "captures_that_fail": scenarios_graphs.captures_that_fail,
    "built_by_hand": scenarios_graphs.built_by_hand,
    **scenarios_memory.ALL,
    **scenarios_devices.ALL,
    **scenarios_small.ALL,
    **scenarios_queues.ALL,
    **scenarios_kernels.ALL,
    **scenarios_sharing.ALL,
}
