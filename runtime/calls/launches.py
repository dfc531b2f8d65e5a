"""Launching kernels (reference documents for what the calls do, public implementation for the checks)."""

from typing import TYPE_CHECKING, Final

from cannery.runtime.binaries import Kernel
from cannery.runtime.calls.binary_functions import live_kernel
from cannery.runtime.calls.kernel_arguments import block_of, live_arguments
from cannery.runtime.calls.registry import call
from cannery.runtime.calls.streams import named_stream, submission_stream
from cannery.runtime.errors import ACL_ERROR_RT_INVALID_HANDLE, Refused, invalid, null, out_of_range, unsupported
from cannery.runtime.kernels import Launch, UnmodelledLaunch
from cannery.runtime.objects import Stream, Thread

if TYPE_CHECKING:
    from cannery.runtime.machine import Machine

# aclrtLaunchKernelAttrId, for what has a range of values
SCHEDULE_MODE: Final = 1
PREFETCH: Final = 5
DUMP: Final = 6
TIMEOUT: Final = 7
TIMEOUT_MICROSECONDS: Final = 8
PROFILING: Final = 9
SCHEDULE_MODES: Final = 3
SWITCHES: Final = (PREFETCH, DUMP, PROFILING)
LARGEST: Final = 1 << 20  # bytes of arguments that are read

Configuration = tuple[tuple[tuple[int, bytes], ...] | None, int]


def _check_blocks(blocks: int) -> None:
    if not blocks:
        raise out_of_range("the argument numBlocks is 0; pass the number of cores to run on")


def _check_configuration(configuration: Configuration | None) -> None:
    """Raises 107000. What the settings do has no effect here: models take no device time, and there is one core."""
    if configuration is None:
        return
    attributes = configuration[0]
    if attributes is None:
        raise out_of_range("the argument cfg has no attrs; pass null for cfg when there is nothing to configure")
    chosen = dict(attributes)
    if TIMEOUT in chosen and TIMEOUT_MICROSECONDS in chosen:
        raise out_of_range("the argument cfg has both a timeout and a timeoutUs; pass one of them")
    if SCHEDULE_MODE in chosen and chosen[SCHEDULE_MODE][0] >= SCHEDULE_MODES:
        raise out_of_range("the attribute schemMode is {}; pass 0 to {}", chosen[SCHEDULE_MODE][0], SCHEDULE_MODES - 1)
    for kind in SWITCHES:
        if kind in chosen and chosen[kind][0] > 1:
            raise out_of_range("the launch attribute {} is {}; pass 0 or 1", kind, chosen[kind][0])


def _check_size(size: int) -> None:
    """The runtime takes the lower 32 bits of a size."""
    if not size & 0xFFFF_FFFF:
        raise out_of_range("the argument argsSize is {}; pass the size of the arguments", size)
    if size > LARGEST:
        raise out_of_range("the argument argsSize is {}; at most {} bytes of arguments are read", size, LARGEST)


def _submit(
    machine: "Machine",
    thread: Thread,
    kernel: Kernel,
    blocks: int,
    handle: int,
    named: Stream | None,
    size: int,
    block: bytes | None,
    address: int = 0,
    offsets: tuple[int, ...] | None = None,
    placeholders: tuple[tuple[int, int], ...] = (),
) -> int:
    """Queue a launch with ``size`` bytes of arguments: ``block``, or what is at ``address`` when it runs.

    Raises:
        Refused: what finding its stream does; 107017, the kernel is not on the stream's device; 207000, it has no
            model, where the settings ask for one.
    """
    task: UnmodelledLaunch | Launch
    context = thread.context
    if context is None:
        context = machine.context_of(thread)
    stream = submission_stream(machine, context, handle, named)
    if context.device.index not in kernel.binary.ready:
        raise _elsewhere(kernel, context.device.user)
    if not kernel.modelled and machine.settings.strict:
        raise unsupported(
            "there is no kernel model for {}, and --strict asks for one; give it with --kernels",
            kernel.name.decode(errors="replace"),
        )
    if not kernel.modelled:
        task = UnmodelledLaunch()
    else:
        task = launch = Launch()
        launch.kernel = kernel
        launch.blocks = blocks
        launch.block = block
        launch.source = None if block is not None else machine.memory.place(address)
        launch.size = size
        launch.offsets = offsets
        launch.placeholders = placeholders
    task.cost = machine.profile.launch_ns
    task.stream = stream
    machine.schedule.submit(task)
    if not kernel.modelled and not kernel.told:
        kernel.told = True
        machine.port.unmodelled(kernel.name)
    return 0


def _elsewhere(kernel: Kernel, device: int) -> Refused:
    return Refused(
        ACL_ERROR_RT_INVALID_HANDLE,
        "the kernel {} is not on device {}: it was found with another device selected, or the device was reset; ask "
        "for it again (aclrtBinaryGetFunction)",
        kernel.name.decode(errors="replace"), device,
    )  # fmt: skip


@call("aclrtLaunchKernel")
def launch_kernel(
    machine: "Machine", thread: Thread, handle: int, blocks: int, address: int, size: int, stream_handle: int
) -> int:
    """The arguments are read from device memory when the kernel runs."""
    if not handle:
        raise null("funcHandle")
    if not address:
        raise null("argsData")
    if machine.locked:
        machine.hold()
    kernel = live_kernel(machine, handle)
    named = named_stream(machine, stream_handle)
    _check_blocks(blocks)
    _check_size(size)
    return _submit(machine, thread, kernel, blocks, stream_handle, named, size, None, address)


@call("aclrtLaunchKernelV2")
def launch_kernel_v2(
    machine: "Machine",
    thread: Thread,
    handle: int,
    blocks: int,
    address: int,
    size: int,
    configuration: Configuration | None,
    stream_handle: int,
) -> int:
    if not handle:
        raise null("funcHandle")
    if not address:
        raise null("argsData")
    machine.hold()
    kernel = live_kernel(machine, handle)
    named = named_stream(machine, stream_handle)
    _check_size(size)
    _check_blocks(blocks)
    _check_configuration(configuration)
    return _submit(machine, thread, kernel, blocks, stream_handle, named, size, None, address)


@call("aclrtLaunchKernelWithConfig")
def launch_kernel_with_config(
    machine: "Machine",
    thread: Thread,
    handle: int,
    blocks: int,
    stream_handle: int,
    configuration: Configuration | None,
    arguments_handle: int,
    reserved: int,
) -> int:
    """The arguments are copied at the call."""
    if not handle:
        raise null("funcHandle")
    if not blocks:
        raise invalid("the argument numBlocks is 0; pass the number of cores to run on")
    if not arguments_handle:
        raise null("argsHandle")
    if reserved:
        raise invalid("the argument reserve is {:#x}; pass null", reserved)
    machine.hold()
    kernel = live_kernel(machine, handle)
    arguments = live_arguments(machine, arguments_handle)
    named = named_stream(machine, stream_handle)
    if not arguments.final or arguments.changed:
        raise out_of_range(
            "the arguments {:#x} are not finalised, or were changed since; call aclrtKernelArgsFinalize",
            arguments_handle,
        )
    if not arguments.size:
        raise out_of_range("the arguments {:#x} are empty", arguments_handle)
    _check_configuration(configuration)
    return _submit(
        machine,
        thread,
        kernel,
        blocks,
        stream_handle,
        named,
        arguments.size,
        block_of(machine, arguments),
        0,
        arguments.offsets,
        arguments.placeholders,
    )


@call("aclrtLaunchKernelWithHostArgs")
def launch_kernel_with_host_args(
    machine: "Machine",
    thread: Thread,
    handle: int,
    blocks: int,
    stream_handle: int,
    configuration: Configuration | None,
    block: bytes | None,
    size: int,
    placeholders: tuple[tuple[int, int], ...] | None,
    count: int,
) -> int:
    """The arguments are copied at the call; each placeholder says where a pointer is, and where what it points to."""
    if not handle:
        raise null("funcHandle")
    if block is None:
        raise null("hostArgs")
    machine.hold()
    kernel = live_kernel(machine, handle)
    named = named_stream(machine, stream_handle)
    _check_size(size)
    if count and not kernel.cpu:
        _check_placeholders(placeholders, count, size)
    _check_blocks(blocks)
    _check_configuration(configuration)
    return _submit(machine, thread, kernel, blocks, stream_handle, named, size, block, 0, None, placeholders or ())


def _check_placeholders(placeholders: tuple[tuple[int, int], ...] | None, count: int, size: int) -> None:
    if placeholders is None:
        raise out_of_range("the argument placeHolderArray is null, and placeHolderNum is {}", count)
    if count and not placeholders:
        raise out_of_range("the argument placeHolderNum is {}, more than are read", count)
    for address, data in placeholders:
        if address >= size or data >= size:
            raise out_of_range(
                "a placeholder has the offsets {} and {}, beyond the {} bytes of the arguments", address, data, size
            )
