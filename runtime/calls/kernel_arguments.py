"""Argument lists of kernels (reference documents for what the calls do, public implementation for the checks).

Our choice: aclrtKernelArgsInit gives a new handle each time and ends the list that it gave this thread before, which
the public implementation reuses.
"""

from typing import TYPE_CHECKING, Any, Final

from cannery.runtime.binaries import Kernel
from cannery.runtime.calls.binary_functions import live_kernel
from cannery.runtime.calls.registry import call
from cannery.runtime.errors import (
    ACL_ERROR_RT_MEMORY_ALLOCATION,
    Refused,
    invalid,
    null,
    out_of_range,
    stale,
    unsupported,
)
from cannery.runtime.handles import ordinal_of
from cannery.runtime.kernel_arguments import MOST, POINTER, ROOM, SYSTEM_PARAMETERS, Arguments, Parameter
from cannery.runtime.objects import Thread

if TYPE_CHECKING:
    from cannery.runtime.machine import Machine

# Sizes that a program asks for before it gives memory (our choice: it need not look the same as elsewhere).
HANDLE_BYTES: Final = 128
PARAMETER_BYTES: Final = 64


def live_arguments(machine: "Machine", handle: int) -> Arguments:
    """Raises 107017."""
    arguments = machine.arguments.get(handle)
    if arguments is None:
        raise stale("kernel arguments", handle)
    return arguments


def _kernel(machine: "Machine", handle: int, out: int, argument: str) -> Kernel:
    """Raises 100000, 107017."""
    if not handle:
        raise null("funcHandle")
    if not out:
        raise null(argument)
    return live_kernel(machine, handle)


@call("aclrtKernelArgsGetHandleMemSize")
def get_handle_mem_size(machine: "Machine", thread: Thread, handle: int, out: int) -> Any:
    """Enough for as many parameters as there can be: how many the kernel has is not known."""
    _kernel(machine, handle, out, "memSize")
    return 0, HANDLE_BYTES + MOST * PARAMETER_BYTES


@call("aclrtKernelArgsGetMemSize")
def get_mem_size(machine: "Machine", thread: Thread, handle: int, size: int, out: int) -> Any:
    """With room for padding, and for parameters of the runtime's own, where there can be any."""
    kernel = _kernel(machine, handle, out, "actualArgsSize")
    return 0, size if kernel.cpu else (size + (SYSTEM_PARAMETERS + MOST) * POINTER) & 0xFFFF_FFFF_FFFF_FFFF


@call("aclrtKernelArgsInit")
def init(machine: "Machine", thread: Thread, handle: int, out: int) -> Any:
    kernel = _kernel(machine, handle, out, "argsHandle")
    if thread.arguments is not None:
        machine.retire_arguments(thread.arguments)
    arguments = Arguments(machine.new_handle(), kernel, 0, ROOM)
    machine.arguments[arguments.handle] = thread.arguments = arguments
    return 0, arguments.handle


@call("aclrtKernelArgsInitByUserMem")
def init_by_user_mem(
    machine: "Machine", thread: Thread, kernel_handle: int, handle: int, address: int, size: int
) -> int:
    if not kernel_handle:
        raise null("funcHandle")
    if not handle:
        raise null("argsHandle")
    if not address:
        raise null("userHostMem")
    if not size:
        raise invalid("the argument actualArgsSize is 0; pass what aclrtKernelArgsGetMemSize gave")
    kernel = live_kernel(machine, kernel_handle)
    if ordinal_of(handle) is not None:
        raise out_of_range("the argument argsHandle ({:#x}) is a handle, and no memory of the program", handle)
    machine.arguments[handle] = Arguments(handle, kernel, address, size)
    return 0


def _check_open(arguments: Arguments) -> None:
    """Raises 207000: what an argument list does not take any more."""
    if arguments.final:
        raise unsupported("the arguments {:#x} are finalised and take no more parameters", arguments.handle)


def _check_parameters(arguments: Arguments) -> None:
    if arguments.closed:
        raise unsupported(
            "the arguments {:#x} take no more parameters, since placeholders have their buffers (append all first)",
            arguments.handle,
        )


def _check_room(arguments: Arguments, start: int, size: int) -> None:
    if start + size > arguments.room:
        raise out_of_range("the arguments need {} bytes, of {} that they may have", start + size, arguments.room)


def _check_next(arguments: Arguments, size: int) -> int:
    """Where another parameter goes. Raises 107000."""
    if len(arguments.parameters) >= MOST:
        raise out_of_range("the arguments {:#x} have {} parameters, and no kernel has more", arguments.handle, MOST)
    start = arguments.next()
    _check_room(arguments, start, size)
    return start


def _write(machine: "Machine", address: int, content: bytes) -> None:
    """Write a parameter to memory of the program. Raises 107000: it is not writable."""
    if not machine.port.write(address, memoryview(content)):
        raise out_of_range(
            "the {} bytes at {:#x}, memory given to aclrtKernelArgsInitByUserMem, are not writable",
            len(content), address,
        )  # fmt: skip


@call("aclrtKernelArgsAppend")
def append(machine: "Machine", thread: Thread, handle: int, content: bytes | None, size: int, out: int) -> Any:
    if not handle:
        raise null("argsHandle")
    if content is None:
        raise null("param")
    if not size:
        raise invalid("the argument paramSize is 0; pass a number of bytes above 0")
    if not out:
        raise null("paramHandle")
    arguments = live_arguments(machine, handle)
    _check_open(arguments)
    _check_parameters(arguments)
    start = _check_next(arguments, size)
    if arguments.own:
        _write(machine, arguments.address + start, content)
    parameter = Parameter(machine.new_handle(), start, size, placeholder=False)
    arguments.append(parameter)
    if not arguments.own:
        arguments.content[start:] = content
    return 0, parameter.handle


@call("aclrtKernelArgsAppendPlaceHolder")
def append_place_holder(machine: "Machine", thread: Thread, handle: int, out: int) -> Any:
    if not handle:
        raise null("argsHandle")
    if not out:
        raise null("paramHandle")
    arguments = live_arguments(machine, handle)
    _check_parameters(arguments)
    _check_open(arguments)
    start = _check_next(arguments, POINTER)
    parameter = Parameter(machine.new_handle(), start, POINTER, placeholder=True)
    arguments.append(parameter)
    return 0, parameter.handle


def _parameter(arguments: Arguments, handle: int) -> Parameter:
    """Raises 107017."""
    parameter = arguments.parameters.get(handle)
    if parameter is None:
        raise stale("kernel parameter", handle)
    return parameter


@call("aclrtKernelArgsGetPlaceHolderBuffer")
def get_place_holder_buffer(
    machine: "Machine", thread: Thread, handle: int, parameter_handle: int, size: int, out: int
) -> Any:
    if not handle:
        raise null("argsHandle")
    if not parameter_handle:
        raise null("paramHandle")
    if not size:
        raise invalid("the argument dataSize is 0; pass a number of bytes above 0")
    if not out:
        raise null("bufferAddr")
    arguments = live_arguments(machine, handle)
    parameter = _parameter(arguments, parameter_handle)
    if not parameter.placeholder:
        raise out_of_range("the parameter {:#x} is no placeholder", parameter_handle)
    _check_open(arguments)
    _check_room(arguments, arguments.next(), size)
    if not arguments.address:
        arguments.address = _block(machine)
    arguments.reserve(parameter, size)
    return 0, arguments.address + parameter.data


def _block(machine: "Machine") -> int:
    """Pinned memory for a list that the runtime keeps. Raises 207001."""
    if machine.spare_blocks:
        return machine.spare_blocks.pop()
    address = machine.port.pinned_alloc(ROOM)
    if not address:
        raise Refused(ACL_ERROR_RT_MEMORY_ALLOCATION, "the host has not {} bytes of memory left to pin", ROOM)
    return address


@call("aclrtKernelArgsParaUpdate")
def para_update(
    machine: "Machine", thread: Thread, handle: int, parameter_handle: int, content: bytes | None, size: int
) -> int:
    """To be finalised again before the next launch."""
    if not handle:
        raise null("argsHandle")
    if not parameter_handle:
        raise null("paramHandle")
    if content is None:
        raise null("param")
    if not size:
        raise invalid("the argument paramSize is 0; pass a number of bytes above 0")
    arguments = live_arguments(machine, handle)
    parameter = _parameter(arguments, parameter_handle)
    if parameter.placeholder:
        raise out_of_range("the parameter {:#x} is a placeholder; write to its buffer instead", parameter_handle)
    if parameter.size != size:
        raise out_of_range("the argument paramSize is {}, and was {} at the append", size, parameter.size)
    if arguments.own:
        _write(machine, arguments.address + parameter.offset, content)
    else:
        arguments.content[parameter.offset : parameter.offset + size] = content
    arguments.changed = True
    return 0


@call("aclrtKernelArgsFinalize")
def finalize(machine: "Machine", thread: Thread, handle: int) -> int:
    arguments = live_arguments(machine, handle)
    machine.context_of(thread)
    arguments.final = True
    arguments.changed = False
    return 0


def block_of(machine: "Machine", arguments: Arguments) -> bytes:
    """The whole block as it is now. Raises 107000: memory of the program is not readable any more."""
    if arguments.own:
        return _host_bytes(machine, arguments.address, arguments.size)
    content = bytes(arguments.content)
    if arguments.size > len(content):  # behind the parameters, what the program wrote for the placeholders
        content += _host_bytes(machine, arguments.address + len(content), arguments.size - len(content))
    return content


def _host_bytes(machine: "Machine", address: int, size: int) -> bytes:
    content = machine.port.copied(address, size)
    if content is None:
        raise out_of_range("the {} bytes of the arguments at {:#x} are not readable", size, address)
    return bytes(content)
