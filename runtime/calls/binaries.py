"""Kernel binaries: loading them, and finding functions in them.

Reference documents (chapter 14) for what the calls do, public implementation for checks, their order and the numbers.
Our choice is what a binary may be: an ELF file for any machine, since what kernels do comes from kernel models.
"""

import json
from typing import TYPE_CHECKING, Any, Final

from cannery.runtime.binaries import Binary, Description, Kernel, Symbols, entry_of, functions
from cannery.runtime.calls.registry import call
from cannery.runtime.errors import (
    ACL_ERROR_RT_INVALID_DEVICE_FUNCTION,
    ACL_ERROR_RT_MEMORY_ALLOCATION,
    Refused,
    null,
    out_of_range,
    stale,
)
from cannery.runtime.objects import Context, Thread
from cannery.runtime.ports import Unknown

if TYPE_CHECKING:
    from cannery.runtime.machine import Machine

# aclrtBinaryLoadOptionType, and the values of the options
LAZY: Final = 1
MAGIC: Final = 2
CPU: Final = 3
ELF_MAGICS: Final = (0x43554245, 0x41415246, 0x41494343)  # ACL_RT_BINARY_MAGIC_ELF_...
CPU_FROM_DATA: Final = 2
CPU_FROM_FILE: Final = (0, 1)

# aclrtFuncAttribute, aclrtKernelType
KERNEL_TYPE: Final = 1
KERNEL_RATIO: Final = 2
SCHEDULE_MODE: Final = 3
AI_CORE: Final = 0
AI_CPU: Final = 100
ONE_CORE_KIND: Final = 1 << 16  # so many cube cores to each 0 vector cores

Options = tuple[tuple[tuple[int, bytes], ...] | None, int]


def live_binary(machine: "Machine", handle: int) -> Binary:
    """Raises 107017."""
    binary = machine.binaries.get(handle)
    if binary is None:
        raise stale("kernel binary", handle)
    return binary


def live_kernel(machine: "Machine", handle: int) -> Kernel:
    """Raises 107017."""
    kernel = machine.kernels.get(handle)
    if kernel is None:
        raise stale("kernel", handle)
    return kernel


# Descriptions.


@call("aclrtCreateBinary")
def create_binary(machine: "Machine", thread: Thread, address: int, size: int) -> int:
    """Only notes where the bytes are, which are read when they are loaded."""
    if not address:
        machine.refuse(thread, "aclrtCreateBinary", null("data"))
        return 0
    description = Description(machine.new_handle(), address, size)
    machine.descriptions[description.handle] = description
    return description.handle


@call("aclrtDestroyBinary")
def destroy_binary(machine: "Machine", thread: Thread, handle: int) -> int:
    """What is stale crashes the reference implementation."""
    if not handle:
        raise null("binary")
    if machine.descriptions.pop(handle, None) is None:
        raise stale("binary description", handle)
    return 0


# Loading.


class _Wanted:
    """What load options ask for."""

    __slots__ = ("cpu", "lazy")

    def __init__(self) -> None:
        self.lazy = False
        self.cpu = -1  # the mode of a binary for the control processor


def _wanted(options: Options | None, of_file: bool) -> _Wanted:
    """Raises 107000."""
    wanted = _Wanted()
    if options is None:
        return wanted
    chosen = options[0]
    if chosen is None:
        raise out_of_range("the argument options has no options; pass null when there are none")
    for kind, value in chosen:
        number = int.from_bytes(value[:4], "little")
        if kind == LAZY:
            if number > 1:
                raise out_of_range("the option isLazyLoad is {}; pass 0 or 1", number)
            wanted.lazy = number == 1
        elif kind == MAGIC:
            if of_file or number not in ELF_MAGICS:
                raise out_of_range(
                    "the option magic ({:#x}) is for aclrtBinaryLoadFromData, with an ACL_RT_BINARY_MAGIC_ELF constant",
                    number,
                )
        elif kind == CPU:
            if number not in CPU_FROM_FILE if of_file else number != CPU_FROM_DATA:
                raise out_of_range(
                    "the option cpuKernelMode is {}; pass 0 or 1 for a file, 2 for data in memory", number
                )
            wanted.cpu = number
        else:
            raise out_of_range("the option type {} is unknown; pass a constant of aclrtBinaryLoadOptionType", kind)
    return wanted


def _parsed(content: bytes, wanted: _Wanted) -> Binary:
    """The binary with that content. Raises 107000: it is none."""
    if isinstance(content, Unknown):
        binary = Binary(content, None, wanted.cpu >= 0)
    else:
        symbols = {} if wanted.cpu >= 0 else functions(content)
        if symbols is None:
            raise out_of_range(
                "the {} bytes are no 64-bit ELF file, which a kernel binary has to be; docs/kernels.md says how to "
                "make a stand-in for one",
                len(content),
            )
        binary = Binary(content, symbols, wanted.cpu >= 0)
    binary.lazy = wanted.lazy
    return binary


def _loaded(machine: "Machine", binary: Binary) -> Any:
    """The reply of a call that loads it."""
    binary.handle = machine.new_handle()
    machine.binaries[binary.handle] = binary
    return 0, binary.handle


def _read(machine: "Machine", address: int, size: int) -> bytes:
    content = machine.port.data(address, size)
    if content is None:
        raise out_of_range("the {} bytes of host memory at {:#x} are not readable", size, address)
    return content


def _text(path: bytes) -> str:
    return path.decode(errors="replace")


def _file(machine: "Machine", path: bytes) -> bytes:
    content = machine.port.file(path)
    if content is None:
        raise out_of_range("the file {} cannot be read", _text(path))
    return content


@call("aclrtBinaryLoad")
def binary_load(machine: "Machine", thread: Thread, handle: int, out: int) -> Any:
    if not handle:
        raise null("binary")
    if not out:
        raise null("binHandle")
    machine.hold()
    description = machine.descriptions.get(handle)
    if description is None:
        raise stale("binary description", handle)
    if not description.size:
        raise out_of_range("the binary was described with dataLen 0; pass a number of bytes above 0")
    context = machine.context_of(thread)
    binary = _parsed(_read(machine, description.address, description.size), _Wanted())
    _place(machine, context, binary)
    return _loaded(machine, binary)


@call("aclrtBinaryLoadFromData")
def binary_load_from_data(
    machine: "Machine", thread: Thread, address: int, size: int, options: Options | None, out: int
) -> Any:
    if not address:
        raise null("data")
    if not out:
        raise null("binHandle")
    machine.hold()
    if not size:
        raise out_of_range("the argument length is 0; pass a number of bytes above 0")
    wanted = _wanted(options, of_file=False)
    return _loaded(machine, _parsed(_read(machine, address, size), wanted))


@call("aclrtBinaryLoadFromFile")
def binary_load_from_file(
    machine: "Machine", thread: Thread, path: bytes | None, options: Options | None, out: int
) -> Any:
    """For the control processor, the JSON file beside it says what operators there are; mode 1 also needs the .so."""
    if path is None:
        raise null("binPath")
    if not out:
        raise null("binHandle")
    machine.hold()
    wanted = _wanted(options, of_file=True)
    if wanted.cpu < 0:
        return _loaded(machine, _parsed(_file(machine, path), wanted))
    content = _file(machine, _beside(path, b".so")) if wanted.cpu == 1 else b""
    names = _operators(_file(machine, _beside(path, b".json")), path)
    binary = _parsed(content, wanted)
    binary.symbols = names
    return _loaded(machine, binary)


def _beside(path: bytes, extension: bytes) -> bytes:
    folder, slash, name = path.rpartition(b"/")
    dot = name.rfind(b".")
    return folder + slash + (name[:dot] if dot > 0 else name) + extension


def _operators(content: bytes, path: bytes) -> Symbols | None:
    """The names of operators in an operator information file. Raises 107000."""
    if isinstance(content, Unknown):
        return None
    try:
        found = json.loads(content)
        return {name.encode(): None for name, facts in found.items() if "opInfo" in facts}
    except (ValueError, AttributeError, TypeError, RecursionError):
        raise out_of_range("the .json file beside {} is no operator information file", _text(path)) from None


@call("aclrtBinaryUnLoad")
def binary_unload(machine: "Machine", thread: Thread, handle: int) -> int:
    if not handle:
        raise null("binHandle")
    machine.hold()
    live_binary(machine, handle).unload(machine)
    return 0


def _place(machine: "Machine", context: Context, binary: Binary) -> None:
    """Raises 207001."""
    if not binary.place(machine, context.device):
        raise Refused(
            ACL_ERROR_RT_MEMORY_ALLOCATION,
            "device {} has not {} bytes left for the kernel binary",
            context.device.user, len(binary.content),
        )  # fmt: skip


@call("aclrtBinaryGetDevAddress")
def binary_get_dev_address(machine: "Machine", thread: Thread, handle: int, out_address: int, out_size: int) -> Any:
    """Null for a binary that was loaded lazily. Null outputs crash the reference implementation."""
    if not handle:
        raise null("binHandle")
    if not out_address:
        raise null("binAddr")
    if not out_size:
        raise null("binSize")
    binary = live_binary(machine, handle)
    context = machine.context_of(thread)
    _place(machine, context, binary)
    return 0, binary.address(context.device), len(binary.content)


@call("aclrtBinarySetExceptionCallback")
def binary_set_exception_callback(
    machine: "Machine", thread: Thread, handle: int, callback: int, user_data: int
) -> int:
    """The last one set counts."""
    if not handle:
        raise null("binHandle")
    if not callback:
        raise null("callback")
    binary = live_binary(machine, handle)
    binary.callback = callback
    binary.user_data = user_data
    return 0


# Functions.


def _kernel(machine: "Machine", context: Context, binary: Binary, name: bytes) -> int:
    """The handle of a function that the binary has. Made when it is first asked for.

    Raises:
        Refused: 207001, or 107000 where only the trace knows that there is none.
    """
    kernel = binary.kernels.get(name)
    if kernel is None:
        modelled = machine.port.model(name)
        if modelled is None:
            raise out_of_range("the binary has no kernel {}", _text(name))
        _place(machine, context, binary)
        symbol = None if binary.symbols is None else binary.symbols.get(name)
        kernel = Kernel(machine.new_handle(), name, binary, symbol)
        kernel.modelled = modelled
        binary.kernels[name] = kernel
        machine.kernels[kernel.handle] = kernel
    else:
        _place(machine, context, binary)
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
        known = ", ".join(_text(each) for each in [*symbols][:8]) or "none"
        refused = out_of_range("the binary has no kernel {}; it has {}", _text(name), known)
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
        raise out_of_range("the kernel {} is for the control processor, and has no address", _text(kernel.name))
    base = kernel.binary.address(machine.context_of(thread).device)
    symbol = kernel.symbol
    if not base or symbol is None or not 0 <= symbol.offset < len(kernel.binary.content):
        raise Refused(
            ACL_ERROR_RT_INVALID_DEVICE_FUNCTION,
            "the kernel {} is not in the memory of this device; ask for it (aclrtBinaryGetFunction) on this device",
            _text(kernel.name),
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
        raise out_of_range("the kernel {} is for the control processor, and has no size", _text(kernel.name))
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
            raise out_of_range("the kernel {} is for the control processor, and uses no cores", _text(kernel.name))
        return 0, ONE_CORE_KIND
    return 0, 0
