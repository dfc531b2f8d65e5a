"""Programs that use what events and streams can do beyond the common, and what is said about devices, for
``scenarios.py``."""

from struct import pack

from cannery.runtime.settings import Settings
from tests.fakes import ident
from tests.live import HOST_BASE, OUT, Live

SECOND = 1_000_000_000
SYNC, TIME_LINE, EXTERNAL, IPC = 0x01, 0x08, 0x20, 0x40
NO_LIMIT, PROCESS_LIMIT = 0, 0xFFFF_FFFF
FAILURE_MODE, OVERFLOW, TAG, CACHES, PRIORITY = 1, 2, 3, 4, 5
CUBE, VECTOR = 0, 1
FUNCTION = 0x5555_0000_1000


def _opened(settings: Settings | None) -> Live:
    live = Live(settings)
    live.ok("aclrtSetDevice", 0)
    live.ok("aclrtSetDevice", 0, thread=2)
    return live


def told(settings: Settings | None = None) -> Live:
    """Functions that are told of streams, devices and the end of a device's work; waits that end with that."""
    live = _opened(settings)
    for function in ("aclrtRegStreamStateCallback", "aclrtRegDeviceStateCallback", "aclrtSetDeviceTaskAbortCallback"):
        live.ok(function, b"us", FUNCTION, 0)
        live.call(function, b"us", FUNCTION, 0)
    live.call("aclrtCreateStream", OUT)
    live.returned(1, 0)
    live.ok("aclrtRegStreamStateCallback", b"us", 0, 0)
    live.call("aclrtSetDevice", 1)
    live.returned(1, 0)
    live.returned(1, 0)
    live.ok("aclrtRegDeviceStateCallback", b"us", 0, 0)
    held, event = live.create("aclrtCreateStream"), live.create("aclrtCreateEventWithFlag", SYNC)
    live.ok("aclrtStreamWaitEvent", held, event)
    live.ok("aclrtSetDevice", 1, thread=2)
    live.call("aclrtSynchronizeStream", held, thread=2)
    live.call("aclrtDeviceTaskAbort", 1, 1000)
    live.returned(1, 0)
    live.returned(1, 0)
    live.call("aclrtDeviceTaskAbort", 1, 1000)
    live.returned(1, 5)
    live.call("aclrtSynchronizeStream", held)
    return live


def host_threads(settings: Settings | None = None) -> Live:
    """What only IPV350 has: a stream made from a configuration, a thread for functions of loaded models."""
    live = Live(settings or Settings(product="IPV350"))
    live.ok("aclrtSetDevice", 0)
    configuration = live.call("aclrtCreateStreamConfigHandle")
    live.ok("aclrtSetStreamConfigOpt", configuration, 3, pack("<I", 5), 4)
    live.call("aclrtSetStreamConfigOpt", configuration, 3, pack("<I", 9), 4)
    stream = live.create("aclrtCreateStreamV2", configuration)
    live.ok("aclrtDestroyStreamConfigHandle", configuration)
    live.ok("aclrtSubscribeHostFunc", ident(2), stream)
    live.call("aclrtSubscribeHostFunc", ident(2), stream)
    live.call("aclrtProcessHostFunc", 20, thread=2)
    live.expire(2)
    live.ok("aclrtUnSubscribeHostFunc", ident(2), stream)
    live.call("aclrtDestroyStreamConfigHandle", configuration)
    live.ok("aclrtDestroyStream", stream)
    return live


def events(settings: Settings | None = None) -> Live:
    """Every family: ids, flags, limits on the device and on the host, resets, times."""
    live = _opened(settings)
    first, second = live.create("aclrtCreateStream"), live.create("aclrtCreateStream")
    live.ok("aclrtGetEventAvailNum", OUT)
    sync = live.create("aclrtCreateEventWithFlag", SYNC | TIME_LINE)
    default = live.create("aclrtCreateEvent")
    ex = live.create("aclrtCreateEventExWithFlag", SYNC | TIME_LINE)
    shared = live.create("aclrtCreateEventExWithFlag", IPC)
    outside = live.create("aclrtCreateEventWithFlag", EXTERNAL)
    events = (sync, default, ex, shared, outside)
    for event in events:
        live.call("aclrtGetEventId", event, OUT)
        live.call("aclrtQueryEventWaitStatus", event, OUT)
    live.ok("aclrtSetOpWaitTimeout", 2)
    for event in events:
        live.call("aclrtStreamWaitEvent", second, event)
        live.call("aclrtQueryEvent", event, OUT)
        live.ok("aclrtRecordEventWithFlag", event, first, 0)
        live.call("aclrtQueryEvent", event, OUT)
        live.call("aclrtGetEventId", event, OUT)
        live.call("aclrtStreamWaitEventWithTimeout", second, event, 3)
        live.call("aclrtQueryEventWaitStatus", event, OUT)
    live.ok("aclrtGetEventAvailNum", OUT)
    live.call("aclrtSynchronizeEventWithTimeout", sync, 50)
    live.ok("aclrtSynchronizeStream", first)
    live.call("aclrtSynchronizeStreamWithTimeout", second, 50)
    for event in events:
        live.call("aclrtQueryEvent", event, OUT)
        live.call("aclrtQueryEventWaitStatus", event, OUT)
        live.call("aclrtEventGetTimestamp", event, OUT)
        live.call("aclrtResetEvent", event, first)
    live.call("aclrtRecordEventWithFlag", ex, first, 1)
    live.call("aclrtStreamWaitEventWithFlag", second, ex, NO_LIMIT, 1)
    live.ok("aclrtSynchronizeStream", first)
    late = live.create("aclrtCreateEventWithFlag", SYNC)
    live.ok("aclrtStreamWaitEventWithFlag", first, late, 1, 0)
    live.ok("aclrtStreamWaitEventWithFlag", second, late, PROCESS_LIMIT, 0)
    live.ok("aclrtRecordEvent", ex, first)
    live.call("aclrtSynchronizeEventWithTimeout", ex, 100, thread=2)
    live.expire(2)
    live.call("aclrtSynchronizeStream", first)
    live.pace(after=SECOND + 100_000)  # the limit of the first wait
    live.ok("aclrtSynchronizeEventWithTimeout", ex, 100, thread=2)
    live.call("aclrtSynchronizeStream", second, thread=2)
    live.pace(after=SECOND)  # and of the second
    for event in (*events, late):
        live.ok("aclrtDestroyEvent", event)
    live.ok("aclrtGetEventAvailNum", OUT)
    live.call("aclrtRecordEventWithFlag", ex, first, 0)
    live.ok("aclrtResetDevice", 0)
    return live


def streams(settings: Settings | None = None) -> Live:
    """Flags, priorities, attributes, modes; streams that are aborted, stopped, destroyed; a context that stops."""
    live = _opened(settings)
    live.ok("aclrtDeviceGetStreamPriorityRange", OUT, OUT)
    live.ok("aclrtGetStreamAvailableNum", OUT)
    live.ok("aclrtCtxGetCurrentDefaultStream", OUT)
    urgent = live.create("aclrtCreateStreamWithConfig", 3, 0x03)
    scheduled = live.create("aclrtCreateStreamWithConfig", 9, 0x10)
    for stream in (urgent, scheduled, 0):
        live.ok("aclrtStreamGetPriority", stream, OUT)
        live.ok("aclrtStreamGetFlags", stream, OUT)
        live.ok("aclrtStreamGetId", stream, OUT)
        for kind, value in ((OVERFLOW, 1), (TAG, 77), (CACHES, 1), (PRIORITY, 2), (9, 0)):
            live.call("aclrtSetStreamAttribute", stream, kind, pack("<IIII", value, 0, 0, 0))
            live.call("aclrtGetStreamAttribute", stream, kind, OUT)
        live.call("aclrtGetStreamAttribute", stream, FAILURE_MODE, OUT)
    live.ok("aclrtSetStreamOverflowSwitch", urgent, 0)
    live.ok("aclrtGetStreamOverflowSwitch", urgent, OUT)
    gate = live.create("aclrtCreateEventWithFlag", SYNC)
    ex = live.create("aclrtCreateEventExWithFlag", SYNC)
    live.ok("aclrtStreamWaitEvent", urgent, gate)
    live.ok("aclrtRecordEvent", ex, urgent)
    live.call("aclrtSynchronizeStream", urgent, thread=2)
    live.ok("aclrtStreamStop", urgent)
    live.call("aclrtSynchronizeStream", urgent)
    live.ok("aclrtStreamWaitEvent", urgent, gate)
    live.ok("aclrtRecordEvent", ex, urgent)
    live.call("aclrtSynchronizeDeviceWithTimeout", 100, thread=2)
    live.expire(2)
    live.call("aclrtSynchronizeEvent", ex, thread=2)
    live.ok("aclrtStreamAbort", urgent)
    live.call("aclrtSynchronizeStream", urgent)
    live.ok("aclrtStreamWaitEvent", urgent, gate)
    live.ok("aclrtDestroyStreamForce", urgent)
    live.call("aclrtDestroyStreamForce", urgent)
    live.ok("aclrtSynchronizeDeviceWithTimeout", 100)
    live.ok("aclrtSetStreamFailureMode", 0, 1)
    live.call("aclrtSetStreamFailureMode", 0, 0)
    device, pageable = live.create("aclrtMalloc", 64, 0), live.host.put(0, b"pageable")
    pinned = live.create("aclrtMallocHost", 4096)
    live.ok("aclrtMemsetAsync", device, 64, 7, 64, 0)
    live.ok("aclrtMemcpyAsync", device, 64, pinned, 8, 1, 0)
    live.ok("aclrtMemsetAsync", device, 64, 8, 64, 0)
    live.ok("aclrtMemcpy", pageable, 8, device, 8, 2)
    live.ok("aclrtMemcpyAsync", device, 64, pinned, 8, 1, 0)
    live.ok("aclrtFree", device)
    live.call("aclrtSynchronizeStream", 0)
    live.call("aclrtRecordEvent", ex, 0)
    live.ok("aclrtResetDeviceForce", 0)
    live.call("aclrtResetDeviceForce", 0)
    return live


def devices(settings: Settings | None = None) -> Live:
    """What devices tell about themselves, who reaches whose memory, cores."""
    live = Live(settings)
    live.host.files[b"/proc/self/stat"] = b"4321 (program) S 1 4321"
    live.ok("aclInit", None)
    live.call("aclInit", None)
    live.ok("aclrtGetVersion", OUT, OUT, OUT)
    live.ok("aclrtSetDevice", 0)
    live.ok("aclrtSetTsDevice", 0)
    live.ok("aclrtQueryDeviceStatus", 1, OUT)
    live.ok("aclrtGetDeviceInfo", 1, 201, OUT)
    live.call("aclrtGetDeviceInfo", 1, 999, OUT)
    live.ok("aclrtDeviceGetBareTgid", OUT)
    live.ok("aclrtDeviceCanAccessPeer", OUT, 0, 1)
    live.ok("aclrtDeviceEnablePeerAccess", 1, 0)
    live.ok("aclrtDevicePeerAccessStatus", 0, 1, OUT)
    live.ok("aclrtDeviceDisablePeerAccess", 1)
    stream = live.create("aclrtCreateStream")
    live.ok("aclrtSetDeviceResLimit", 0, CUBE, 20)
    live.ok("aclrtSetStreamResLimit", stream, CUBE, 10)
    live.ok("aclrtUseStreamResInCurrentThread", stream)
    for kind in (CUBE, VECTOR):
        live.ok("aclrtGetDeviceResLimit", 0, kind, OUT)
        live.ok("aclrtGetStreamResLimit", stream, kind, OUT)
        live.ok("aclrtGetResInCurrentThread", kind, OUT)
    live.ok("aclrtUnuseStreamResInCurrentThread", stream)
    live.ok("aclrtResetStreamResLimit", stream)
    live.ok("aclrtResetDeviceResLimit", 0)
    live.call("aclrtSetDeviceResLimit", 1, CUBE, 20)
    live.call("aclrtDevicePeerAccessStatus", 0, 7, OUT)
    live.call("aclrtMemsetAsync", HOST_BASE, 64, 0, 64, stream)
    live.call("aclFinalizeReference", OUT)
    live.call("aclFinalizeReference", OUT)
    live.call("aclFinalizeReference", OUT)
    return live
