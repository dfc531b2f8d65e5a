"""Launches as tasks: when they run, what they see, what their failures do."""

from typing import Any

import pytest

from cannery.runtime.machine import Wait
from tests.fakes import OUT, Driver, FakeHost
from tests.kernel_tools import block, elf, models

FIRST, SECOND = 0x1000, 0x2000
MIB = 1 << 20
HUGE = (0, 0, 4, (0, 1), 0)


class World(Driver):
    """A device, a stream, and kernels with models and one without."""

    def __init__(self, **settings: Any) -> None:
        super().__init__(FakeHost({b"/k.o": elf("add", "double", "blocks", "raises", "unknown")}), **settings)
        self.host.models = models()
        self.opened()
        self.s = self.stream()
        self.binary = self.ok("aclrtBinaryLoadFromFile", b"/k.o", None, OUT)

    def kernel(self, name: bytes) -> int:
        return int(self.ok("aclrtBinaryGetFunction", self.binary, name, OUT))

    def launch(self, name: bytes, arguments: bytes, stream: int | None = None, blocks: int = 1) -> Any:
        stream = self.s if stream is None else stream
        return self.call(
            "aclrtLaunchKernelWithHostArgs", self.kernel(name), blocks, stream, None, arguments, len(arguments), None, 0
        )

    def numbers(self, *values: int) -> int:
        """Device memory with these 32-bit numbers, and nothing behind them but what the allocation adds."""
        memory = self.device_memory(4 * len(values))
        self.put(memory, b"".join(value.to_bytes(4, "little") for value in values))
        return memory

    def put(self, memory: int, content: bytes) -> None:
        self.ok("aclrtMemcpy", memory, len(content), self.host.give(content), len(content), 1)

    def read(self, memory: int, count: int) -> list[int]:
        host = self.host.give(bytes(4 * count))
        self.ok("aclrtMemcpy", host, 4 * count, memory, 4 * count, 2)
        content = self.host.peek(host, 4 * count)
        return [int.from_bytes(content[at : at + 4], "little") for at in range(0, 4 * count, 4)]

    def sync(self, stream: int | None = None) -> Any:
        return self.call("aclrtSynchronizeStream", self.s if stream is None else stream)


@pytest.mark.parametrize("schedule", ["asap", "late", "seed:3"])
def test_a_launch_runs_in_its_turn(schedule: str) -> None:
    world = World(schedule=schedule)
    memory, result = world.numbers(1, 2, 3, 4), world.pinned(bytes(16))
    gate = world.gate(world.s)
    assert world.launch(b"double", block(memory)) == 0
    assert world.launch(b"double", block(memory)) == 0
    world.ok("aclrtMemcpyAsync", result, 16, memory, 16, 2, world.s)
    assert world.read(memory, 4) == [1, 2, 3, 4]
    world.ok("aclrtRecordEvent", gate, 0)
    assert world.sync() == 0
    assert world.read(memory, 4) == [4, 8, 12, 16]
    assert world.host.peek(result, 4) == b"\4\0\0\0"


def test_a_kernel_without_a_model_takes_its_turn_and_touches_nothing() -> None:
    world = World()
    memory = world.numbers(1, 2)
    for _ in range(3):
        assert world.launch(b"unknown", block(memory)) == 0
    assert world.sync() == 0
    assert world.read(memory, 2) == [1, 2]
    assert world.host.told == [b"unknown"]


def test_strict_refuses_to_launch_it() -> None:
    world = World(strict=True)
    assert world.launch(b"unknown", block(0)) == 207000
    assert "no kernel model for unknown" in world.message()
    assert world.host.told == []
    assert world.launch(b"double", block(world.numbers(1))) == 0


def test_the_model_is_told_of_the_launch() -> None:
    world = World()
    memory = world.numbers(0)
    world.launch(b"blocks", block(memory), blocks=48)
    assert world.sync() == 0
    assert world.read(memory, 1) == [48]


def test_arguments_in_host_memory_are_copied_at_the_call_and_those_in_device_memory_read_when_the_kernel_runs() -> None:
    world = World()
    first, second = world.numbers(1), world.numbers(1)
    arguments = world.device_memory(8)
    world.put(arguments, block(first))
    gate = world.gate(world.s)
    world.launch(b"double", block(first))
    world.ok("aclrtLaunchKernel", world.kernel(b"double"), 1, arguments, 8, world.s)
    world.put(arguments, block(second))
    world.ok("aclrtRecordEvent", gate, 0)
    assert world.sync() == 0
    assert (world.read(first, 1), world.read(second, 1)) == ([2], [2])


def test_a_captured_launch_runs_again_with_the_bytes_present_then() -> None:
    world = World()
    memory = world.numbers(1, 3)
    world.ok("aclmdlRICaptureBegin", world.s, 2)
    world.launch(b"double", block(memory))
    graph = world.ok("aclmdlRICaptureEnd", world.s, OUT)
    assert world.read(memory, 2) == [1, 3]
    for expected in ([2, 6], [4, 12]):
        world.ok("aclmdlRIExecuteAsync", graph, world.s)
        assert world.sync() == 0
        assert world.read(memory, 2) == expected


def test_a_task_group_has_its_launches_replaced() -> None:
    world = World()
    memory, other = world.numbers(1), world.numbers(5)
    second = world.stream()
    world.ok("aclmdlRICaptureBegin", world.s, 2)
    world.ok("aclmdlRICaptureTaskGrpBegin", world.s)
    world.launch(b"double", block(memory))
    world.launch(b"unknown", block(memory))
    group = world.ok("aclmdlRICaptureTaskGrpEnd", world.s, OUT)
    graph = world.ok("aclmdlRICaptureEnd", world.s, OUT)
    world.ok("aclmdlRICaptureTaskUpdateBegin", second, group)
    assert world.launch(b"double", block(other), second) == 0
    assert world.call("aclrtMemsetAsync", other, 4, 0, 4, second) == 507009
    assert world.launch(b"double", block(other), second) == 0
    assert world.launch(b"double", block(other), second) == 507000
    world.ok("aclmdlRICaptureTaskUpdateEnd", second)
    world.ok("aclmdlRIExecuteAsync", graph, world.s)
    assert world.sync() == 0
    assert (world.read(memory, 1), world.read(other, 1)) == ([1], [20])


def test_a_group_that_is_not_updated_in_full_is_refused() -> None:
    world = World()
    world.ok("aclmdlRICaptureBegin", world.s, 2)
    world.ok("aclmdlRICaptureTaskGrpBegin", world.s)
    world.launch(b"unknown", block(0))
    group = world.ok("aclmdlRICaptureTaskGrpEnd", world.s, OUT)
    world.ok("aclmdlRICaptureEnd", world.s, OUT)
    second = world.stream()
    world.ok("aclmdlRICaptureTaskUpdateBegin", second, group)
    assert world.call("aclmdlRICaptureTaskUpdateEnd", second) == 507000


@pytest.mark.parametrize(
    ("arguments", "reason"),
    [
        (lambda memory: block(memory), "would be the bytes 8 to 15 of 8 bytes of arguments"),
        (lambda memory: block(memory, memory, 0, number=2), "z is null"),
        (lambda memory: block(memory, 0x1234_5000, memory, number=2), "y is 0x12345000, which is no device memory"),
        (lambda memory: block(memory, memory, memory, number=1000), "has 1000 elements of float32"),
        (lambda memory: block(memory, memory, memory + (1 << 40), number=1), "no device memory that is allocated"),
    ],
)
def test_a_pointer_that_leads_nowhere_fails_the_launch(arguments: Any, reason: str) -> None:
    world = World()
    memory = world.numbers(1, 2)
    assert world.launch(b"add", arguments(memory)) == 0
    assert world.sync() == 507015
    assert reason in world.message()
    assert world.read(memory, 2) == [1, 2]
    assert world.sync() == 0


def test_freed_memory_is_nowhere_too() -> None:
    world = World()
    memory, arguments = world.numbers(1), world.numbers(0, 0)
    gate = world.gate(world.s)
    world.launch(b"double", block(memory))
    world.ok("aclrtLaunchKernel", world.kernel(b"double"), 1, arguments, 8, world.s)
    world.ok("aclrtFree", memory)
    world.ok("aclrtFree", arguments)
    world.ok("aclrtRecordEvent", gate, 0)
    assert world.sync() == 507015
    assert "no device memory that is allocated" in world.message()


def test_what_a_model_raises_fails_the_launch_and_undoes_what_it_wrote() -> None:
    world = World()
    memory = world.numbers(1, 2, 3, 4)
    world.launch(b"raises", block(memory, number=9))
    assert world.sync() == 507015
    assert "raised ValueError: no 9" in world.message()
    assert world.read(memory, 4) == [1, 2, 3, 4]


def test_in_stop_mode_a_failed_launch_stops_the_context() -> None:
    world = World()
    memory = world.numbers(1, 2, 3, 4)
    world.ok("aclrtSetStreamFailureMode", world.s, 1)
    gate = world.gate(world.s)
    world.launch(b"raises", block(memory, number=9))
    world.launch(b"double", block(memory))
    world.ok("aclrtRecordEvent", gate, 0)
    assert world.sync() == 507015
    assert world.launch(b"double", block(memory)) == 507015
    assert world.read(memory, 4) == [1, 2, 3, 4]


def test_the_callback_of_a_binary_is_told_of_launches_that_fail() -> None:
    world = World()
    memory = world.numbers(1, 2, 3, 4)
    world.ok("aclrtSetExceptionInfoCallback", FIRST)
    world.ok("aclrtBinarySetExceptionCallback", world.binary, SECOND, 0x77)
    world.launch(b"raises", block(memory, number=9))
    wait = world.sync()
    assert isinstance(wait, Wait)
    first = world.errands.pop()
    assert first.invoke.function == FIRST
    (info,) = first.invoke.arguments
    assert world.ok("aclrtGetFuncHandleFromExceptionInfo", info, OUT) == world.kernel(b"raises")
    address, size = world.ok("aclrtGetArgsFromExceptionInfo", info, OUT, OUT)
    assert (world.ok("aclrtGetArgsFromExceptionInfo", info, OUT, OUT), size) == ((address, size), 12)
    assert world.read(address, 3)[2] == 9
    world.errand_done(first.worker)
    second = world.errands.pop()
    assert (second.invoke.function, second.invoke.arguments) == (SECOND, (info, 0x77))
    world.errand_done(second.worker)
    assert wait.reply == 507015
    assert world.call("aclrtGetFuncHandleFromExceptionInfo", info, OUT) == -1
    assert world.call("aclrtFree", address) == 507899  # gone with the callbacks


def test_a_task_that_is_no_kernel_has_no_arguments() -> None:
    world = World()
    world.ok("aclrtSetExceptionInfoCallback", FIRST)
    world.ok("aclrtBinarySetExceptionCallback", world.binary, SECOND, 0)
    memory, pinned = world.numbers(1), world.pinned(b"1234")
    gate = world.gate(world.s)
    world.ok("aclrtMemcpyAsync", memory, 4, pinned, 4, 1, world.s)
    world.ok("aclrtFreeHost", pinned)
    world.ok("aclrtRecordEvent", gate, 0)
    assert isinstance(world.sync(), Wait)
    (info,) = world.errands[-1].invoke.arguments
    assert world.call("aclrtGetArgsFromExceptionInfo", info, OUT, OUT) == -1
    assert world.call("aclrtGetFuncHandleFromExceptionInfo", info, OUT) == (107000, 0)
    world.errand_done(world.errands[-1].worker)
    assert len(world.errands) == 1  # the binary's callback is not told


def test_the_data_of_a_placeholder_is_what_the_pointer_leads_to() -> None:
    world = World()
    memory = world.numbers(0)
    arguments = block(0, 0, memory) + (1).to_bytes(4, "little") + bytes(4)
    number = (0x3F80_0000).to_bytes(4, "little")  # 1.0
    world.ok(
        "aclrtLaunchKernelWithHostArgs", world.kernel(b"add"), 1, world.s, None, arguments + number * 2,
        len(arguments) + 8, ((0, len(arguments)), (8, len(arguments) + 4)), 2,
    )  # fmt: skip
    assert world.sync() == 0
    assert world.read(memory, 1) == [0x4000_0000]  # 2.0


def test_a_kernel_sees_mappings_that_are_neighbours_as_one_range() -> None:
    world = World()
    reserved = world.ok("aclrtReserveMemAddress", OUT, 4 * MIB, 0, 0, 0)
    for part in (0, 2 * MIB):
        world.ok("aclrtMapMem", reserved + part, 2 * MIB, 0, world.ok("aclrtMallocPhysical", OUT, 2 * MIB, HUGE, 0), 0)
    border = reserved + 2 * MIB - 8
    world.put(border, b"".join(number.to_bytes(4, "little") for number in (1, 2, 3, 4)))
    world.launch(b"double", block(border))
    assert world.sync() == 0
    assert world.read(border, 4) == [2, 4, 6, 8]
    world.launch(b"raises", block(border, number=1))
    assert world.sync() == 507015
    assert world.read(border, 4) == [2, 4, 6, 8]


def test_a_kernel_reads_and_writes_registered_host_memory() -> None:
    world = World()
    shared = world.host.give(b"\1\0\0\0\2\0\0\0".ljust(4096, b"\0"))
    world.ok("aclrtHostRegisterV2", shared, 4096, 2)
    window = world.ok("aclrtHostGetDevicePointer", shared, OUT, 0)
    world.launch(b"double", block(window))
    assert world.sync() == 0
    assert world.host.peek(shared, 8) == b"\2\0\0\0\4\0\0\0"
    world.host.take(shared)
    world.launch(b"double", block(window))
    assert world.sync() == 507015
    assert "not readable" in world.message()


def test_a_stream_that_waits_for_a_value_goes_on_when_a_kernel_writes_it() -> None:
    world = World()
    other, memory, done = world.stream(), world.numbers(2, 0, 0, 0), world.pinned(bytes(4))
    world.ok("aclrtValueWait", memory, 4, 1, other)  # equal
    world.ok("aclrtMemcpyAsync", done, 4, memory, 4, 2, other)
    assert isinstance(world.call("aclrtSynchronizeStreamWithTimeout", other, 10), Wait)
    world.launch(b"double", block(memory))
    assert world.sync() == 0
    world.pace(1)
    assert world.host.peek(done, 4) == b"\4\0\0\0"


def test_a_device_reset_takes_kernels_away_until_they_are_asked_for_again() -> None:
    world = World()
    kernel = world.kernel(b"unknown")
    world.ok("aclrtResetDevice", 0)
    world.opened()
    arguments = (kernel, 1, 0, None, block(0), 8, None, 0)
    assert world.call("aclrtLaunchKernelWithHostArgs", *arguments) == 107017
    assert world.kernel(b"unknown") == kernel
    assert world.call("aclrtLaunchKernelWithHostArgs", *arguments) == 0


def test_a_binary_takes_memory_of_each_device_that_it_is_used_on() -> None:
    world = World()
    size = len(world.host.files[b"/k.o"])
    assert world.machine.memory.devices[0].used == 0
    world.kernel(b"add")
    assert world.machine.memory.devices[0].used == -(-size // 512) * 512
    address, told = world.ok("aclrtBinaryGetDevAddress", world.binary, OUT, OUT)
    assert told == size
    host = world.host.give(bytes(size))
    world.ok("aclrtMemcpy", host, size, address, size, 2)
    assert world.host.peek(host, size) == world.host.files[b"/k.o"]
    start, none = world.ok("aclrtGetFunctionAddr", world.kernel(b"double"), OUT, OUT)
    assert (start - address, none) == (64 + 16, 0)
    world.ok("aclrtSetDevice", 1)
    world.kernel(b"add")
    assert world.machine.memory.devices[1].used > 0
    world.ok("aclrtBinaryUnLoad", world.binary)
    assert [device.used for device in world.machine.memory.devices] == [0, 0]


def test_a_binary_that_is_loaded_lazily_takes_none() -> None:
    world = World()
    binary = world.ok("aclrtBinaryLoadFromFile", b"/k.o", (((1, b"\1" + bytes(15)),), 1), OUT)
    kernel = world.ok("aclrtBinaryGetFunction", binary, b"unknown", OUT)
    assert world.machine.memory.devices[0].used == 0
    assert world.ok("aclrtBinaryGetDevAddress", binary, OUT, OUT)[0] == 0
    assert world.call("aclrtLaunchKernelWithHostArgs", kernel, 1, world.s, None, block(0), 8, None, 0) == 0


def test_a_function_is_the_same_however_often_it_is_asked_for() -> None:
    world = World()
    assert world.kernel(b"add") == world.kernel(b"add")
    assert world.ok("aclrtFunctionGetBinary", world.kernel(b"add"), OUT) == world.binary
    assert world.ok("aclrtGetFunctionName", world.kernel(b"add"), 4, OUT) == b"add\0"
    assert world.call("aclrtBinaryGetFunction", world.binary, b"nothing", OUT) == (107000, 0)
    assert "it has add, double" in world.message()


class TestArguments:
    """Argument lists."""

    def test_parameters_stand_at_multiples_of_8(self) -> None:
        world = World()
        held = world.ok("aclrtKernelArgsInit", world.kernel(b"add"), OUT)
        for content in (b"1", b"22", b"4" * 12):
            world.ok("aclrtKernelArgsAppend", held, content, len(content), OUT)
        assert world.machine.arguments[held].offsets == (0, 8, 16)
        assert bytes(world.machine.arguments[held].content) == b"1" + bytes(7) + b"22" + bytes(6) + b"4" * 12

    def test_those_of_the_control_processor_are_packed(self) -> None:
        world = World()
        options = ((3, b"\2" + bytes(15)),), 1
        binary = world.ok("aclrtBinaryLoadFromData", world.host.give(b"any"), 3, options, OUT)
        kernel = world.ok("aclrtRegisterCpuFunc", binary, b"RunAbs", b"Abs", OUT)
        held = world.ok("aclrtKernelArgsInit", kernel, OUT)
        for content in (b"1", b"22"):
            world.ok("aclrtKernelArgsAppend", held, content, len(content), OUT)
        assert world.machine.arguments[held].offsets == (0, 1)
        assert world.ok("aclrtKernelArgsGetMemSize", kernel, 100, OUT) == 100

    def test_a_second_list_of_a_thread_ends_the_first(self) -> None:
        world = World()
        kernel = world.kernel(b"add")
        first, other = (
            world.ok("aclrtKernelArgsInit", kernel, OUT),
            world.ok("aclrtKernelArgsInit", kernel, OUT, thread=2),
        )
        assert world.ok("aclrtKernelArgsInit", kernel, OUT) != first
        assert world.call("aclrtKernelArgsFinalize", first) == 107017
        world.ok("aclrtSetDevice", 0, thread=2)
        world.ok("aclrtKernelArgsFinalize", other, thread=2)

    def test_the_pinned_memory_of_a_list_goes_to_the_next(self) -> None:
        world = World()
        kernel, before = world.kernel(b"add"), len(world.host.ranges)
        buffers = set()
        for thread in (2, 3, 3):
            held = world.ok("aclrtKernelArgsInit", kernel, OUT, thread=thread)
            place = world.ok("aclrtKernelArgsAppendPlaceHolder", held, OUT, thread=thread)
            buffers.add(world.ok("aclrtKernelArgsGetPlaceHolderBuffer", held, place, 8, OUT, thread=thread))
            if thread == 2:
                world.machine.end_thread(2)
        assert len(buffers) == 1
        assert len(world.host.ranges) == before + 1

    def test_memory_that_is_gone_when_it_is_launched(self) -> None:
        world = World()
        kernel, mine, memory = world.kernel(b"double"), world.host.give(bytes(64)), world.host.give(bytes(64))
        world.ok("aclrtKernelArgsInitByUserMem", kernel, mine, memory, 64)
        world.ok("aclrtKernelArgsAppend", mine, block(1), 8, OUT)
        world.ok("aclrtKernelArgsFinalize", mine)
        world.host.take(memory)
        assert world.call("aclrtLaunchKernelWithConfig", kernel, 1, world.s, None, mine, 0) == 107000
