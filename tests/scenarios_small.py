"""Programs with small objects, random numbers and marks, for ``scenarios.py``."""

from struct import pack

from tests.live import OUT, Live

SIZE = 64
NO_FAULT = (1, 0, bytes(2), 0, bytes(2568))  # aclrtErrorInfo


def small_objects() -> Live:
    """Allocators, data buffers, data types, messages."""
    live = Live()
    live.ok("aclrtSetDevice", 0)
    stream = live.create("aclrtCreateStream")
    description = live.call("aclrtAllocatorCreateDesc")
    for place, part in enumerate(("Obj", "AllocFunc", "FreeFunc", "AllocAdviseFunc", "GetAddrFromBlockFunc")):
        live.ok(f"aclrtAllocatorSet{part}ToDesc", description, 0x5555_0000_1000 + 64 * place)
    live.ok("aclrtAllocatorRegister", stream, description)
    live.ok("aclrtAllocatorGetByStream", stream, *[OUT] * 6)
    live.ok("aclrtAllocatorGetByStream", stream, OUT, 0, OUT, 0, 0, 0)
    live.ok("aclrtAllocatorUnregister", stream)
    live.call("aclrtAllocatorGetByStream", stream, *[OUT] * 6)
    live.ok("aclrtAllocatorDestroyDesc", description)
    live.call("aclrtAllocatorDestroyDesc", description)
    buffer = live.call("aclCreateDataBuffer", live.host.put(0, b"data"), SIZE)
    live.call("aclGetDataBufferAddr", buffer)
    live.ok("aclUpdateDataBuffer", buffer, live.create("aclrtMalloc", SIZE, 0), SIZE)
    for what in ("Addr", "Size", "SizeV2"):
        live.call(f"aclGetDataBuffer{what}", buffer)
    live.ok("aclDestroyDataBuffer", buffer)
    live.call("aclGetDataBufferAddr", buffer)
    live.call("aclDataTypeSize", 0)
    live.call("aclFloat16ToFloat", 0x3C01)
    live.call("aclFloatToFloat16", 1.5)
    live.call("aclAppLog", 1, 0x2000, b"a.c", 12, b"text")
    live.call("aclAppLogWithArgs", 3, 0, None, 0, b"text", 0x1000)
    live.ok("aclrtResetDevice", 0)
    return live


def random_numbers_and_marks() -> Live:
    """A random number task between two marks; what is known of faults; architectures; access by tables."""
    live = Live()
    live.ok("aclrtSetDevice", 0)
    stream = live.create("aclrtCreateStream")
    result, counter = live.create("aclrtMalloc", SIZE, 0), live.create("aclrtMalloc", 16, 0)
    live.ok("aclrtMemset", counter, 16, 0, 16)
    bounds = [pack("<BfxxxxB6x", 0, bound, 4) for bound in (0.0, 1.0)]
    request = pack("<ii", 0, 1) + b"".join(bounds) + pack("<QQQ", 0, result, counter)
    request += pack("<BQB6x", 0, 7, 8) + pack("<BQB6x", 0, 8, 8) + bytes(8)
    live.ok("aclrtProfTrace", b"before", 6, stream)
    live.ok("aclrtRandomNumAsync", live.host.put(0, request), stream, 0)
    live.ok("aclrtProfTrace", b"after", 5, stream)
    live.ok("aclrtSynchronizeStream", stream)
    live.ok("aclrtMemcpy", live.host.put(4096, b""), SIZE, result, SIZE, 2)
    live.call("aclrtRandomNumAsync", live.host.put(8192, bytes(104)), stream, 0)
    bound, model = live.create("aclrtCreateStreamWithConfig", 0, 4), live.create("aclmdlRIBuildBegin", 0)
    live.ok("aclmdlRIBindStream", model, bound, 0)
    updated = request[:40] + pack("<Q", live.create("aclrtMalloc", SIZE, 0)) + request[48:]
    source = live.create("aclrtMalloc", 128, 0)
    live.ok("aclrtMemcpy", source, 104, live.host.put(12288, request), 104, 1)
    live.ok("aclrtRandomNumAsync", live.host.put(16384, updated), bound, 0)
    live.ok("aclmdlRIEndTask", model, bound)
    live.ok("aclmdlRIBuildEnd", model, 0)
    live.ok("aclrtTaskUpdateAsync", bound, 1, pack("<ixxxxQQ24x", 1, source, 104), stream)
    live.ok("aclmdlRIExecuteAsync", model, stream)
    live.ok("aclrtSynchronizeStream", stream)
    live.call("aclrtProfTrace", b"", 0, stream)
    live.ok("aclrtGetThreadLastTaskId", OUT)
    for name in ("aclrtCacheLastTaskOpInfo", "aclrtCacheLastTaskExtendInfo"):
        live.call(name, b"{}", 2)
    live.ok("aclrtGetMemUceInfo", 0, OUT, 20, OUT)
    live.ok("aclrtMemUceRepair", 0, (), 0)
    live.ok("aclrtGetErrorVerbose", 0, OUT)
    live.ok("aclrtRepairError", 0, NO_FAULT)
    live.ok("aclrtCheckArchCompatibility", b"Ascend910B4", OUT)
    live.ok("aclrtMemP2PMap", result, SIZE, 0, 0)
    live.ok("aclrtResetDevice", 0)
    return live


def profiling() -> Live:
    """A profiler that starts and ends, marks in streams and beside them."""
    live = Live()
    live.ok("aclrtSetDevice", 0)
    stream = live.create("aclrtCreateStream")
    live.call("aclprofCreateStamp")
    live.ok("aclprofInit", b"folder", 6)
    live.ok("aclprofSetConfig", 3, b"50", 2)
    configuration = live.call("aclprofCreateConfig", (0,), 1, 1, 0, 0x80)
    live.call("aclprofCreateConfig", (0, 7), 2, 1, 0, 0x80)
    live.ok("aclprofStart", configuration)
    stamp = live.call("aclprofCreateStamp")
    live.ok("aclprofSetStampTraceMessage", stamp, b"a stretch", 9)
    live.ok("aclprofPush", stamp)
    live.ok("aclprofMark", stamp)
    live.ok("aclprofPop")
    live.call("aclprofPop")
    live.ok("aclprofRangeStart", stamp, OUT)
    live.ok("aclprofRangeStop", 0)
    step = live.call("aclprofCreateStepInfo")
    live.ok("aclprofGetStepTimestamp", step, 0, stream)
    live.ok("aclprofMarkEx", b"a mark", 6, stream)
    live.ok("aclprofGetStepTimestamp", step, 1, 0)
    live.call("aclprofStr2Id", b"Conv2D")
    live.ok("aclrtSynchronizeStream", stream)
    live.call("aclprofDestroyStepInfo", step)
    live.call("aclprofDestroyStamp", stamp)
    live.call("aclprofDestroyStamp", stamp)
    live.ok("aclprofStop", configuration)
    live.ok("aclprofDestroyConfig", configuration)
    live.ok("aclprofFinalize")
    live.ok("aclrtResetDevice", 0)
    return live


ALL = {
    "profiling": profiling,
    "small_objects": small_objects,
    "random_numbers_and_marks": random_numbers_and_marks,
}
