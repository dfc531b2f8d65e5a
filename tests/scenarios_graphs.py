"""Programs that capture streams and execute model instances, for ``scenarios.py``."""

from tests.live import OUT, Live

SYNC = 0x01
RELAXED = 2
DEVICE_TO_DEVICE = 3
KILOBYTE = 1024
PERSISTENT, ACTIVATED = 0x04, 0x7FFF_FFFF


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


def graph_tasks() -> Live:
    """What tasks an instance has; one becomes another, one is left out."""
    live = _selected()
    stream, value = live.create("aclrtCreateStream"), live.create("aclrtMalloc", KILOBYTE, 0)
    event = live.create("aclrtCreateEventExWithFlag", SYNC)
    live.ok("aclmdlRICaptureBegin", stream, RELAXED)
    live.ok("aclrtValueWrite", value, 1, 0, stream)
    live.ok("aclrtRecordEvent", event, stream)
    live.ok("aclrtValueWrite", value + 8, 2, 0, stream)
    model = live.call("aclmdlRICaptureEnd", stream, OUT)[1]
    live.ok("aclmdlRIDebugPrint", model)
    live.ok("aclmdlRIDebugJsonPrint", model, b"/model.json", 0)
    live.call("aclmdlRIDebugJsonPrint", model, b"/nowhere/model.json", 0)
    inner = live.call("aclmdlRIGetStreams", model, OUT, 4)[1][0]
    count = live.call("aclmdlRIGetTasksByStream", inner, 0, 0)[2]
    tasks = live.call("aclmdlRIGetTasksByStream", inner, OUT, count)[1]
    for task in tasks:
        live.ok("aclmdlRITaskGetType", task, OUT)
        live.ok("aclmdlRITaskGetSeqId", task, OUT)
        live.call("aclmdlRITaskGetParams", task, OUT)
    written = (5).to_bytes(72, "little") + (value + 16).to_bytes(8, "little") + (3).to_bytes(120, "little")
    live.ok("aclmdlRITaskSetParams", tasks[0], written)
    live.ok("aclmdlRITaskDisable", tasks[2])
    live.call("aclmdlRIExecuteAsync", model, stream)
    live.ok("aclmdlRIUpdate", model)
    live.ok("aclmdlRIExecuteAsync", model, stream)
    live.ok("aclrtSynchronizeStream", stream)
    live.ok("aclrtMemcpy", live.create("aclrtMallocHost", 32), 24, value, 24, 2)
    live.ok("aclmdlRIDestroy", model)
    live.call("aclmdlRITaskGetType", tasks[0], OUT)
    return live


def flow() -> Live:
    """A run that goes on at a label, then on another stream, which activates a third."""
    live = _selected()
    memory, host = live.create("aclrtMalloc", 64, 0), live.create("aclrtMallocHost", 64)
    live.ok("aclrtMemset", memory, 64, 0, 64)
    model = live.create("aclmdlRIBuildBegin", 0)
    first, second, third = (live.create("aclrtCreateStreamWithConfig", 0, PERSISTENT) for _ in range(3))
    for stream, flag in ((first, 0), (second, ACTIVATED), (third, ACTIVATED)):
        live.ok("aclmdlRIBindStream", model, stream, flag)
    labels = tuple(live.create("aclrtCreateLabel") for _ in range(2))
    listed = live.call("aclrtCreateLabelList", labels, 2, OUT)[1]
    live.ok("aclrtSwitchLabelByIndex", memory, 2, listed, first)
    live.ok("aclrtValueWrite", memory + 8, 1, 0, first)
    live.ok("aclrtSetLabel", labels[0], first)
    live.ok("aclrtValueWrite", memory + 16, 2, 0, first)
    live.ok("aclrtSwitchStream", memory, 0, memory, 0, second, 0, first)
    live.ok("aclrtSetLabel", labels[1], first)
    live.ok("aclrtActiveStream", third, second)
    live.ok("aclrtValueWrite", memory + 24, 3, 0, third)
    live.ok("aclmdlRIEndTask", model, third)
    live.ok("aclmdlRIBuildEnd", model, 0)
    live.ok("aclmdlRIExecuteAsync", model, 0)
    live.ok("aclrtSynchronizeStream", 0)
    live.ok("aclrtMemcpy", host, 32, memory, 32, 2)
    live.ok("aclrtPersistentTaskClean", second)
    live.ok("aclrtDestroyLabel", labels[0])
    live.ok("aclrtDestroyLabelList", listed)
    live.call("aclrtSetLabel", labels[0], first)
    live.ok("aclmdlRIDestroy", model)
    return live


def conditions() -> Live:
    """A conditional task whose child goes round twice, and one that chooses between two children."""
    live = Live()
    live.ok("aclrtSetDevice", 0)
    stream, inside = live.create("aclrtCreateStream"), live.create("aclrtCreateStream")
    source = live.create("aclrtMalloc", 64, 0)
    live.ok("aclrtMemcpy", source, 16, live.host.put(0, bytes([1, *[0] * 15])), 16, 1)
    live.ok("aclmdlRICaptureBegin", stream, RELAXED)
    model = live.call("aclmdlRICaptureGetInfo", stream, 0, OUT)[2]
    for kind, count in ((1, 1), (0, 2)):
        condition = live.create_last("aclmdlRICondHandleCreate", model, 1, 1)
        address = live.call("aclmdlRICondHandleGetCondPtr", condition, OUT)[1]
        live.call("aclmdlRIAddCondTask", (condition, kind, 3, True), stream, 0)
        for child in live.call("aclmdlRIAddCondTask", (condition, kind, count, True), stream, 0)[1]:
            live.ok("aclmdlRICaptureToModelRIBegin", inside, child, RELAXED)
            live.ok("aclrtMemcpyAsync", address, 8, source, 8, 3, inside)
            live.ok("aclrtMemcpyAsync", source, 8, source + 8, 8, 3, inside)
            live.ok("aclmdlRICaptureEnd", inside, 0)
    live.ok("aclmdlRICaptureEnd", stream, OUT)
    live.ok("aclmdlRIExecuteAsync", model, stream)
    live.ok("aclrtSynchronizeStream", stream)
    live.ok("aclrtMemcpy", live.host.put(64, b""), 8, source, 8, 2)
    live.ok("aclmdlRIDestroy", model)
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
