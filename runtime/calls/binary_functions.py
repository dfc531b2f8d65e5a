"""Functions of kernel binaries: finding them, and what is known of them.

Reference documents (chapter 14) for what the calls do, public implementation for checks, their order and the numbers.
"""

from typing import TYPE_CHECKING, Any, Final

from cannery.runtime.binaries import Binary, Kernel
from cannery.runtime.calls.binaries import live_binary, place, shown
from cannery.runtime.calls.registry import call
from cannery.runtime.elf import entry_of
from cannery.runtime.errors import ACL_ERROR_RT_INVALID_DEVICE_FUNCTION, Refused, null, out_of_range, stale
from cannery.runtime.objects import Context, Thread

if TYPE_CHECKING:
    from cannery.runtime.machine import Machine

# aclrtFuncAttribute, aclrtKernelType
KERNEL_TYPE: Final = 1
KERNEL_RATIO: Final = 2
SCHEDULE_MODE: Final = 3
AI_CORE: Final = 0
AI_CPU: Final = 100
ONE_CORE_KIND: Final = 1 << 16  # so many cube cores to each 0 vector cores


def live_kernel(machine: "Machine", handle: int) -> Kernel:
    """Raises 107017."""
    kernel = machine.kernels.get(handle)
    if kernel is None:
        raise stale("kernel", handle)
    return kernel


def _kernel(machine: "Machine", context: Context, binary: Binary, name: bytes) -> int:
    """The handle of a function that the binary has. Made when it is first asked for.

    Raises:
        Refused: 207001, or 107000 where only the trace knows that there is none.
    """
    kernel = binary.kernels.get(name)
    if kernel is None:
        modelled = machine.port.model(name)
        if modelled is None:
            raise out_of_range("the binary has no kernel {}", shown(name))
        place(machine, context, binary)
        symbol = None if binary.symbols is None else binary.symbols.get(name)
        kernel = Kernel(machine.new_handle(), name, binary, symbol)
        kernel.modelled = modelled
        binary.kernels[name] = kernel
        machine.kernels[kernel.handle] = kernel
    else:
        place(machine, context, binary)
    return kernel.handle


def _not_found(machine: "Machine", thread: Thread, function: str, refused: Refused) -> Any:
    """The reply of a call that found no kernel: null is written."""
    return machine.refuse(thread, function, refused), 0


@call("aclrtBinaryGetFunction")
def binary_get_function(machine: "Machine", thread: Thread, handle: int, name: bytes | None, out: int) -> Any:
    """An unknown name: 107000, and null is written."""
    if not handle:
        raise null("binHandle")
    if name is None:
        raise null("kernelName")
    if not out:
        raise null("funcHandle")
    binary = live_binary(machine, handle)
    context = machine.context_of(thread)
    symbols = binary.symbols
    if symbols is not None and name not in symbols and name not in binary.kernels:
        known = ", ".join(shown(each) for each in [*symbols][:8]) or "none"
        refused = out_of_range("the binary has no kernel {}; it has {}", shown(name), known)
        return _not_found(machine, thread, "aclrtBinaryGetFunction", refused)
    try:
        return 0, _kernel(machine, context, binary, name)
    except Refused as refused:
        return _not_found(machine, thread, "aclrtBinaryGetFunction", refused)


@call("aclrtBinaryGetFunctionByEntry")
def binary_get_function_by_entry(machine: "Machine", thread: Thread, handle: int, entry: int, out: int) -> Any:
    """The entry of a kernel is the number at the end of its name, as in ``add_1``. The documents call the function
    reserved; the public implementation has it."""
    if not handle:
        raise null("binHandle")
    if not out:
        raise null("funcHandle")
    binary = live_binary(machine, handle)
    if binary.cpu:
        raise out_of_range("the binary {:#x} is for the control processor, and has no entries", handle)
    context = machine.context_of(thread)
    for name in binary.symbols or ():
        if entry_of(name) == entry:
            return 0, _kernel(machine, context, binary, name)
    refused = out_of_range("the binary has no kernel with the entry {}", entry)
    return _not_found(machine, thread, "aclrtBinaryGetFunctionByEntry", refused)


@call("aclrtRegisterCpuFunc")
def register_cpu_func(
    machine: "Machine", thread: Thread, handle: int, function: bytes | None, name: bytes | None, out: int
) -> Any:
    """The kernel is known by the type of its operator, ``name``; ``function`` is what runs it on the device."""
    if not handle:
        raise null("handle")
    if function is None:
        raise null("funcName")
    if name is None:
        raise null("kernelName")
    if not out:
        raise null("funcHandle")
    machine.hold()
    binary = live_binary(machine, handle)
    if not binary.cpu:
        raise out_of_range(
            "the binary {:#x} is not for the control processor; load it with the option cpuKernelMode", handle
        )
    return 0, _kernel(machine, machine.context_of(thread), binary, name)


@call("aclrtFunctionGetBinary")
def function_get_binary(machine: "Machine", thread: Thread, handle: int, out: int) -> Any:
    if not handle:
        raise out_of_range("the argument funcHandle is null; pass what aclrtBinaryGetFunction gave")
    kernel = live_kernel(machine, handle)
    if not out:
        raise out_of_range("the argument binHandle is null; pass where the handle is to be written")
    return 0, kernel.binary.handle


@call("aclrtGetFunctionAddr")
def get_function_addr(machine: "Machine", thread: Thread, handle: int, out_cube: int, out_vector: int) -> Any:
    """Where the function begins in the device's copy of the binary (our choice: all kernels are for the first kind of
    core, since what would say more is not read)."""
    if not handle:
        raise null("funcHandle")
    if not out_cube:
        raise null("aicAddr")
    if not out_vector:
        raise null("aivAddr")
    kernel = live_kernel(machine, handle)
    if kernel.cpu:
        raise out_of_range("the kernel {} is for the control processor, and has no address", shown(kernel.name))
    base = kernel.binary.address(machine.context_of(thread).device)
    symbol = kernel.symbol
    if not base or symbol is None or not 0 <= symbol.offset < len(kernel.binary.content):
        raise Refused(
            ACL_ERROR_RT_INVALID_DEVICE_FUNCTION,
            "the kernel {} is not in the memory of this device; ask for it (aclrtBinaryGetFunction) on this device",
            shown(kernel.name),
        )
    return 0, base + symbol.offset, 0


@call("aclrtGetFunctionSize")
def get_function_size(machine: "Machine", thread: Thread, handle: int, out_cube: int, out_vector: int) -> Any:
    if not handle:
        raise stale("kernel", handle)
    kernel = live_kernel(machine, handle)
    if not out_cube:
        raise out_of_range("the argument aicSize is null; pass where the size is to be written")
    if not out_vector:
        raise out_of_range("the argument aivSize is null; pass where the size is to be written")
    if kernel.cpu:
        raise out_of_range("the kernel {} is for the control processor, and has no size", shown(kernel.name))
    return 0, 0 if kernel.symbol is None else kernel.symbol.size, 0


@call("aclrtGetFunctionName")
def get_function_name(machine: "Machine", thread: Thread, handle: int, room: int, out: int) -> Any:
    if not out:
        raise null("name")
    kernel = live_kernel(machine, handle)
    if room < len(kernel.name) + 1:
        raise out_of_range("the argument maxLen is {}; the name needs {} bytes", room, len(kernel.name) + 1)
    return 0, kernel.name + b"\0"


@call("aclrtGetFunctionAttribute")
def get_function_attribute(machine: "Machine", thread: Thread, handle: int, attribute: int, out: int) -> Any:
    """Without the binary's description of the kernel: of the products' general kind (our choice)."""
    if not handle:
        raise null("funcHandle")
    if not out:
        raise null("attrValue")
    kernel = machine.kernels.get(handle)
    if kernel is None:
        raise stale("kernel", handle)
    if not KERNEL_TYPE <= attribute <= SCHEDULE_MODE:
        raise out_of_range("the argument attrType is {}; pass a constant of aclrtFuncAttribute", attribute)
    if attribute == KERNEL_TYPE:
        return 0, AI_CPU if kernel.cpu else AI_CORE
    if attribute == KERNEL_RATIO:
        if kernel.cpu:
            raise out_of_range("the kernel {} is for the control processor, and uses no cores", shown(kernel.name))
        return 0, ONE_CORE_KIND
    return 0, 0
