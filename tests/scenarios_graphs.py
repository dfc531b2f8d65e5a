"""Programs that capture streams and execute model instances, for ``scenarios.py``."""

from tests.live import OUT, Live

SYNC = 0x01
RELAXED = 2
DEVICE_TO_DEVICE = 3
KILOBYTE = 1024


def captures() -> Live:
    """A capture that another stream joins, executed twice with other bytes; an external failure; names and streams."""
    live = _selected()
    first, second, pinned = (
        live.create("aclrtMalloc", KILOBYTE, 0), live.create("aclrtMalloc", KILOBYTE, 0),
        live.create("aclrtMallocHost", KILOBYTE),
    )  # fmt: skip
    stream, side = live.create("aclrtCreateStream"), live.create("aclrtCreateStream")
    fork, join = (live.create("aclrtCreateEventExWithFlag", SYNC) for _ in range(2))
    live.ok("aclmdlRICaptureBegin", stream, RELAXED)
    live.call("aclmdlRICaptureBegin", stream, RELAXED)
    live.ok("aclmdlRICaptureGetInfo", stream, OUT, OUT)
    live.ok("aclrtMemcpyAsync", first, KILOBYTE, pinned, KILOBYTE, 1, stream)
    live.ok("aclrtRecordEvent", fork, stream)
    live.ok("aclrtStreamWaitEvent", side, fork)
    live.ok("aclrtMemcpyAsync", second, KILOBYTE, first, KILOBYTE, DEVICE_TO_DEVICE, side)
    live.ok("aclrtRecordEvent", join, side)
    live.ok("aclrtStreamWaitEvent", stream, join)
    live.ok("aclrtMemcpyAsync", pinned + 512, 512, second, 512, 2, stream)
    live.call("aclrtSynchronizeStream", stream)
    live.call("aclrtSynchronizeEvent", fork)
    model = live.call("aclmdlRICaptureEnd", stream, OUT)[1]
    live.ok("aclmdlRISetName", model, b"the graph")
    live.ok("aclmdlRIGetName", model, 16, OUT)
    live.ok("aclmdlRIGetId", model, OUT)
    live.ok("aclmdlRIGetStreams", model, 0, 0)
    live.ok("aclmdlRIGetStreams", model, OUT, 4)
    for value in (1, 2):
        live.ok("aclrtMemset", pinned, KILOBYTE, value, 256)
        live.ok("aclmdlRIExecuteAsync", model, stream)
        live.ok("aclrtStreamQuery", stream, OUT)
        live.ok("aclrtSynchronizeStream", stream)
    live.call("aclmdlRIExecute", model, -1)
    live.call("aclmdlRIAbort", model)
    live.ok("aclmdlRIDestroyRegisterCallback", model, 0x4000_0000_1000, 0)
    live.ok("aclmdlRIDestroyRegisterCallback", model, 0x4000_0000_2000, 7)
    live.ok("aclmdlRIDestroyUnregisterCallback", model, 0x4000_0000_1000)
    live.ok("aclrtFree", first)
    live.ok("aclmdlRIExecuteAsync", model, stream)
    assert live.call("aclrtSynchronizeStream", stream) != 0
    live.call("aclmdlRIDestroy", model)
    live.returned(1, 0)
    live.call("aclmdlRIDestroy", model)
    return live


def captures_that_fail() -> Live:
    """Modes, what breaks a capture, task groups."""
    live = _selected()
    live.ok("aclrtSetDevice", 0, thread=2)
    memory = live.create("aclrtMalloc", KILOBYTE, 0)
    stream, other = live.create("aclrtCreateStream"), live.create("aclrtCreateStream")
    live.ok("aclmdlRICaptureBegin", stream, 0)
    live.call("aclrtMemset", memory, KILOBYTE, 0, KILOBYTE)
    live.ok("aclmdlRICaptureThreadExchangeMode", 2)
    live.ok("aclrtMemset", memory, KILOBYTE, 0, KILOBYTE)
    live.call("aclmdlRICaptureEnd", stream, OUT, thread=2)
    live.ok("aclmdlRICaptureBegin", stream, RELAXED)
    live.ok("aclmdlRICaptureTaskGrpBegin", stream)
    live.call("aclrtMemcpyAsync", memory, 8, memory + 8, 8, DEVICE_TO_DEVICE, stream)
    group = live.call("aclmdlRICaptureTaskGrpEnd", stream, OUT)[1]
    live.ok("aclmdlRICaptureTaskUpdateBegin", other, group)
    live.ok("aclmdlRICaptureTaskUpdateEnd", other)
    model = live.call("aclmdlRICaptureEnd", stream, OUT)[1]
    live.call("aclmdlRICaptureToModelRIBegin", stream, model, RELAXED)
    live.ok("aclmdlRIDestroy", model)
    return live


def built_by_hand() -> Live:
    """What there is of building without a stream for it; a wait for an instance that is running."""
    live = _selected()
    live.ok("aclrtSetDevice", 0, thread=2)
    model = live.create("aclmdlRIBuildBegin", 0)
    stream, held = live.create("aclrtCreateStream"), live.create("aclrtCreateStream")
    live.call("aclmdlRIBindStream", model, stream, 0)
    live.call("aclmdlRIUnbindStream", model, stream)
    live.call("aclmdlRIEndTask", model, stream)
    live.call("aclmdlRIBuildEnd", model, 0)
    live.call("aclmdlRIExecute", model, 100)
    live.ok("aclmdlRIAbort", model)
    live.ok("aclmdlRIDestroy", model)
    event = live.create("aclrtCreateEventWithFlag", SYNC)
    live.ok("aclmdlRICaptureBegin", stream, RELAXED)
    model = live.call("aclmdlRICaptureEnd", stream, OUT)[1]
    live.ok("aclrtStreamWaitEvent", held, event)
    live.ok("aclmdlRIExecuteAsync", model, held)
    live.call("aclmdlRIDestroy", model)
    live.expire(1)
    live.call("aclmdlRIDestroy", model)
    live.ok("aclrtRecordEvent", event, 0, thread=2)
    live.ok("aclrtSynchronizeStream", 0, thread=2)
    return live


def _selected() -> Live:
    live = Live()
    live.ok("aclrtSetDevice", 0)
    return live
