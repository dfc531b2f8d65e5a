"""Programs that load and launch kernels, for ``scenarios.py``."""

from cannery.runtime.settings import Settings
from tests.kernel_tools import block, elf, models
from tests.live import HOST_BASE, OUT, Live

FLOATS = 16
SIZE = 4 * FLOATS
TO_DEVICE, TO_HOST = 1, 2
FUNCTION = 0x4000_0000_1000
MAPPED = 2  # ACL_HOST_REG_MAPPED
CPU_MODE = 3  # ACL_RT_BINARY_LOAD_OPT_CPU_KERNEL_MODE
RELAXED = 2
OPERATORS = b'{"Abs": {"opInfo": {"functionName": "RunAbs"}}}'


def opened(policy: str = "input", **settings: object) -> Live:
    live = Live(Settings(devices=2, **settings), policy)  # type: ignore[arg-type]
    live.host.models = models()
    live.host.files |= {
        b"/k.o": elf("add", "double", "blocks", "raises", "unknown", "tiled_7"),
        b"/cpu.json": OPERATORS,
    }
    live.ok("aclrtSetDevice", 0)
    return live


def found(live: Live, binary: int, name: bytes) -> int:
    ret, kernel = live.call("aclrtBinaryGetFunction", binary, name, OUT)
    assert ret == 0
    return int(kernel)


def loaded(live: Live, path: bytes = b"/k.o") -> int:
    ret, binary = live.call("aclrtBinaryLoadFromFile", path, None, OUT)
    assert ret == 0
    return int(binary)


def upload(live: Live, content: bytes) -> int:
    """Device memory with that content."""
    memory = live.create("aclrtMalloc", len(content), 0)
    live.ok("aclrtMemcpy", memory, len(content), live.host.put(0, content), len(content), TO_DEVICE)
    return memory


def launches(policy: str = "input") -> Live:
    """Launches with arguments in host memory, in device memory and in a list; with a model, without one, in a graph."""
    live = opened(policy)
    stream, binary = live.create("aclrtCreateStream"), loaded(live)
    add, double, unknown = (found(live, binary, name) for name in (b"add", b"double", b"unknown"))
    live.call("aclrtBinaryGetFunction", binary, b"missing", OUT)
    content = b"".join(number.to_bytes(4, "little") for number in range(FLOATS))
    x, y = upload(live, bytes(range(SIZE))), upload(live, bytes(range(SIZE, 2 * SIZE)))
    z, number = live.create("aclrtMalloc", SIZE, 0), upload(live, content)
    arguments = block(x, y, z, number=FLOATS)
    live.ok("aclrtLaunchKernelWithHostArgs", add, 8, stream, None, arguments, len(arguments), None, 0)
    live.ok("aclrtLaunchKernelWithHostArgs", unknown, 8, stream, ((), 0), arguments, len(arguments), (), 0)
    live.ok("aclrtSynchronizeStream", stream)
    live.ok("aclrtMemcpy", live.host.put(8192, b""), SIZE, z, SIZE, TO_HOST)
    inside = upload(live, block(number))
    live.ok("aclrtLaunchKernel", double, 1, inside, 8, stream)
    live.ok("aclrtLaunchKernelV2", double, 1, inside, 8, (((1, bytes(16)),), 1), stream)
    live.ok("aclrtSynchronizeStream", stream)
    live.ok("aclrtMemcpy", live.host.put(8192, b""), SIZE, number, SIZE, TO_HOST)
    live.ok("aclmdlRICaptureBegin", stream, RELAXED)
    live.ok("aclrtLaunchKernel", double, 1, inside, 8, stream)
    live.ok("aclmdlRICaptureTaskGrpBegin", stream)
    live.ok("aclrtLaunchKernel", double, 1, inside, 8, stream)
    group = live.call("aclmdlRICaptureTaskGrpEnd", stream, OUT)[1]
    graph = live.call("aclmdlRICaptureEnd", stream, OUT)[1]
    live.ok("aclmdlRIExecuteAsync", graph, stream)
    other = live.create("aclrtCreateStream")
    live.ok("aclrtSynchronizeStream", stream)
    live.ok("aclmdlRICaptureTaskUpdateBegin", other, group)
    live.ok("aclrtLaunchKernelWithHostArgs", add, 8, other, None, arguments, len(arguments), None, 0)
    live.ok("aclmdlRICaptureTaskUpdateEnd", other)
    live.ok("aclmdlRIExecuteAsync", graph, stream)
    live.ok("aclrtSynchronizeStream", stream)
    live.ok("aclrtMemcpy", live.host.put(8192, b""), SIZE, number, SIZE, TO_HOST)
    live.ok("aclrtBinaryUnLoad", binary)
    live.call("aclrtLaunchKernel", double, 1, inside, 8, stream)
    return live


def arguments() -> Live:
    """Argument lists that the runtime keeps, with placeholders, and one in memory of the program."""
    live = opened()
    stream, binary = live.create("aclrtCreateStream"), loaded(live)
    add, double = found(live, binary, b"add"), found(live, binary, b"double")
    live.ok("aclrtKernelArgsGetHandleMemSize", add, OUT)
    live.ok("aclrtKernelArgsGetMemSize", add, 100, OUT)
    x, z = upload(live, bytes(range(SIZE))), live.create("aclrtMalloc", SIZE, 0)
    held = live.call("aclrtKernelArgsInit", add, OUT)[1]
    live.ok("aclrtKernelArgsAppend", held, block(x), 8, OUT)
    tiling = live.call("aclrtKernelArgsAppendPlaceHolder", held, OUT)[1]
    last = live.call("aclrtKernelArgsAppend", held, block(x), 8, OUT)[1]
    live.ok("aclrtKernelArgsAppend", held, (FLOATS).to_bytes(4, "little"), 4, OUT)
    buffer = live.call("aclrtKernelArgsGetPlaceHolderBuffer", held, tiling, SIZE, OUT)[1]
    live.host.put(buffer - HOST_BASE, bytes(range(SIZE)))
    live.ok("aclrtKernelArgsFinalize", held)
    live.ok("aclrtKernelArgsParaUpdate", held, last, block(z), 8)
    live.call("aclrtLaunchKernelWithConfig", add, 8, stream, None, held, 0)
    live.ok("aclrtKernelArgsFinalize", held)
    live.ok("aclrtLaunchKernelWithConfig", add, 8, stream, None, held, 0)
    live.ok("aclrtSynchronizeStream", stream)
    live.ok("aclrtMemcpy", live.host.put(8192, b""), SIZE, z, SIZE, TO_HOST)
    mine, memory = live.host.put(12_288, b""), live.host.put(16_384, b"")
    live.ok("aclrtKernelArgsInitByUserMem", double, mine, memory, 64)
    live.ok("aclrtKernelArgsAppend", mine, block(z), 8, OUT)
    live.ok("aclrtKernelArgsFinalize", mine)
    live.ok("aclrtLaunchKernelWithConfig", double, 1, stream, None, mine, 0)
    live.ok("aclrtSynchronizeStream", stream)
    again = live.call("aclrtKernelArgsInit", double, OUT)[1]
    live.call("aclrtKernelArgsFinalize", held)
    tiling = live.call("aclrtKernelArgsAppendPlaceHolder", again, OUT)[1]
    live.ok("aclrtKernelArgsGetPlaceHolderBuffer", again, tiling, SIZE, OUT)
    live.end_thread(1)
    return live


def binaries() -> Live:
    """Every way to load, and everything to ask of a binary and its functions; kernels of the control processor."""
    live = opened()
    code = elf("add", "tiled_7")
    described = live.call("aclrtCreateBinary", live.host.put(4096, code), len(code))
    live.call("aclrtCreateBinary", 0, 10)
    ret, first = live.call("aclrtBinaryLoad", described, OUT)
    assert ret == 0
    live.ok("aclrtDestroyBinary", described)
    live.call("aclrtDestroyBinary", described)
    live.ok("aclrtBinaryGetDevAddress", first, OUT, OUT)
    tiled = live.call("aclrtBinaryGetFunctionByEntry", first, 7, OUT)[1]
    live.call("aclrtBinaryGetFunctionByEntry", first, 8, OUT)
    live.ok("aclrtFunctionGetBinary", tiled, OUT)
    live.ok("aclrtGetFunctionAddr", tiled, OUT, OUT)
    live.ok("aclrtGetFunctionSize", tiled, OUT, OUT)
    live.ok("aclrtGetFunctionName", tiled, 64, OUT)
    for attribute in (1, 2, 3):
        live.ok("aclrtGetFunctionAttribute", tiled, attribute, OUT)
    live.ok("aclrtBinaryLoadFromData", live.host.put(4096, code), len(code), (((1, b"\1" + bytes(15)),), 1), OUT)
    live.call("aclrtBinaryLoadFromData", live.host.put(4096, b"no binary"), 9, None, OUT)
    live.call("aclrtBinaryLoadFromFile", b"/missing.o", None, OUT)
    cpu = live.call("aclrtBinaryLoadFromData", live.host.put(4096, b"any"), 3, _cpu(2), OUT)[1]
    live.ok("aclrtRegisterCpuFunc", cpu, b"RunAbs", b"Abs", OUT)
    operators = live.call("aclrtBinaryLoadFromFile", b"/cpu.json", _cpu(0), OUT)[1]
    found(live, operators, b"Abs")
    live.ok("aclrtBinaryUnLoad", cpu)
    live.ok("aclrtResetDevice", 0)
    live.call("aclrtGetFunctionAddr", tiled, OUT, OUT)
    return live


def _cpu(mode: int) -> tuple[tuple[tuple[int, bytes], ...], int]:
    return ((CPU_MODE, bytes((mode,)) + bytes(15)),), 1


def failures() -> Live:
    """Launches that fail, and who is told of it."""
    live = opened()
    stream, binary = live.create("aclrtCreateStream"), loaded(live)
    raises, double = found(live, binary, b"raises"), found(live, binary, b"double")
    live.ok("aclrtBinarySetExceptionCallback", binary, FUNCTION, 0x10)
    memory = upload(live, bytes(range(64)))
    inside = upload(live, block(memory, number=3))
    for name, *rest in (
        ("aclrtLaunchKernelWithHostArgs", None, block(memory, number=3), 12, None, 0),
        ("aclrtLaunchKernel", inside, 12, stream),
    ):
        blocks = (1, stream) if name.endswith("HostArgs") else (1,)
        live.ok(name, raises, *blocks, *rest)
        live.call("aclrtSynchronizeStream", stream)
        info = next(iter(live.machine.exceptions.failed))
        live.ok("aclrtGetArgsFromExceptionInfo", info, OUT, OUT, thread=2)
        live.ok("aclrtGetFuncHandleFromExceptionInfo", info, OUT, thread=2)
        live.errand_done(1)
        live.call("aclGetRecentErrMsg")
    live.call("aclrtGetArgsFromExceptionInfo", info, OUT, OUT)
    live.ok("aclrtLaunchKernelWithHostArgs", double, 1, stream, None, block(memory + (1 << 30)), 8, None, 0)
    live.ok("aclrtFree", inside)
    live.ok("aclrtLaunchKernel", double, 1, inside, 8, stream)
    live.call("aclrtSynchronizeStream", stream)
    live.errand_done(1)
    live.errand_done(1)
    live.ok("aclrtMemcpy", live.host.put(8192, b""), 64, memory, 64, TO_HOST)
    return live


def host_memory() -> Live:
    """A kernel that reads and writes registered host memory."""
    live = opened()
    stream, binary = live.create("aclrtCreateStream"), loaded(live)
    add = found(live, binary, b"add")
    shared = live.host.put(0, bytes(range(SIZE)))
    live.ok("aclrtHostRegisterV2", shared, 4096, MAPPED)
    ret, window = live.call("aclrtHostGetDevicePointer", shared, OUT, 0)
    assert ret == 0
    arguments = block(window, window, window + 1024, number=FLOATS)
    live.ok("aclrtLaunchKernelWithHostArgs", add, 8, stream, None, arguments, len(arguments), None, 0)
    live.ok("aclrtSynchronizeStream", stream)
    return live


ALL = {
    "launches": launches,
    "kernel_arguments": arguments,
    "kernel_binaries": binaries,
    "kernel_failures": failures,
    "kernel_host_memory": host_memory,
}
