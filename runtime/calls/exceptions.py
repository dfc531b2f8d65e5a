"""Exception callbacks: what the program is told of a task that failed."""

from typing import TYPE_CHECKING, Any, Final

from cannery.runtime.calls.registry import call
from cannery.runtime.errors import (
    ACL_ERROR_RT_MEMORY_ALLOCATION,
    Refused,
    invalid,
    null,
    out_of_range,
)
from cannery.runtime.exceptions import FailedTask
from cannery.runtime.handles import NO_IDENTITY
from cannery.runtime.objects import Thread

if TYPE_CHECKING:
    from cannery.runtime.machine import Machine

NO_INFORMATION: Final = NO_IDENTITY
"""What the getters answer that have no number to tell (reference implementation)."""
NO_ARGUMENTS: Final = -1
"""The same as an aclError."""


def _check_callback(callback: int) -> None:
    if not callback:
        refused = out_of_range("the argument callback is null; pass a function")
        refused.remembered = False  # checked by the acl layer
        raise refused


@call("aclrtSetExceptionInfoCallback")
def set_exception_info_callback(machine: "Machine", thread: Thread, callback: int) -> int:
    """Null ends it (reference implementation)."""
    machine.exceptions.main = callback
    return 0


@call("aclrtExceptionInfoCallbackRegister")
def exception_info_callback_register(machine: "Machine", thread: Thread, callback: int) -> int:
    """One that is registered already stays what it is (reference implementation)."""
    _check_callback(callback)
    machine.exceptions.registered.setdefault(callback)
    return 0


@call("aclrtExceptionInfoCallbackUnregister")
def exception_info_callback_unregister(machine: "Machine", thread: Thread, callback: int) -> int:
    """One that is not registered is no error (reference implementation)."""
    _check_callback(callback)
    machine.exceptions.registered.pop(callback, None)
    return 0


def _failed(machine: "Machine", thread: Thread, function: str, handle: int) -> FailedTask | None:
    """What an exception callback was given; None, and a message, for anything else."""
    failed = machine.exceptions.failed.get(handle)
    if failed is None:
        refused: Refused = null("info")
        if handle:
            refused = invalid(
                "the argument info ({:#x}) is not what an exception callback was given; it is good only until that "
                "callback has returned",
                handle,
            )
        machine.refuse(thread, function, refused)
    return failed


@call("aclrtGetTaskIdFromExceptionInfo")
def get_task_id(machine: "Machine", thread: Thread, info: int) -> int:
    failed = _failed(machine, thread, "aclrtGetTaskIdFromExceptionInfo", info)
    return NO_INFORMATION if failed is None else failed.task


@call("aclrtGetStreamIdFromExceptionInfo")
def get_stream_id(machine: "Machine", thread: Thread, info: int) -> int:
    failed = _failed(machine, thread, "aclrtGetStreamIdFromExceptionInfo", info)
    return NO_INFORMATION if failed is None else failed.stream


@call("aclrtGetThreadIdFromExceptionInfo")
def get_thread_id(machine: "Machine", thread: Thread, info: int) -> int:
    """The number that the system has for the thread that submitted the task, gettid (public implementation)."""
    failed = _failed(machine, thread, "aclrtGetThreadIdFromExceptionInfo", info)
    return NO_INFORMATION if failed is None else machine.port.tid(failed.thread)


@call("aclrtGetDeviceIdFromExceptionInfo")
def get_device_id(machine: "Machine", thread: Thread, info: int) -> int:
    failed = _failed(machine, thread, "aclrtGetDeviceIdFromExceptionInfo", info)
    return NO_INFORMATION if failed is None else failed.device


@call("aclrtGetErrorCodeFromExceptionInfo")
def get_error_code(machine: "Machine", thread: Thread, info: int) -> int:
    failed = _failed(machine, thread, "aclrtGetErrorCodeFromExceptionInfo", info)
    return NO_INFORMATION if failed is None else failed.code


@call("aclrtGetArgsFromExceptionInfo")
def get_args(machine: "Machine", thread: Thread, info: int, out_address: int, out_size: int) -> Any:
    """Arguments in memory of the host are copied to the device for this, as a card has them; the copy lasts until the
    callbacks have returned."""
    failed = _failed(machine, thread, "aclrtGetArgsFromExceptionInfo", info)
    if failed is None:
        return NO_ARGUMENTS
    if not out_address:
        raise null("devArgsPtr")
    if not out_size:
        raise null("devArgsLen")
    launch = failed.launch
    if launch is None:
        refused = invalid("the task {} is no kernel", failed.task)
        machine.refuse(thread, "aclrtGetArgsFromExceptionInfo", refused)
        return NO_ARGUMENTS
    if launch.block is None:
        assert launch.source is not None
        return 0, launch.source.address, launch.size
    if failed.arguments is None:
        failed.arguments = machine.memory.allocate(launch.stream.device, launch.size)
        if failed.arguments is None:
            raise Refused(
                ACL_ERROR_RT_MEMORY_ALLOCATION,
                "device {} has not {} bytes left for a copy of the arguments", launch.stream.device.user, launch.size,
            )  # fmt: skip
        machine.memory.store(machine.memory.place(failed.arguments.address), launch.block)
    return 0, failed.arguments.address, launch.size


@call("aclrtGetFuncHandleFromExceptionInfo")
def get_func_handle(machine: "Machine", thread: Thread, info: int, out: int) -> Any:
    """Null is written where there is none."""
    failed = _failed(machine, thread, "aclrtGetFuncHandleFromExceptionInfo", info)
    if failed is None:
        return NO_ARGUMENTS
    if not out:
        raise null("func")
    launch = failed.launch
    if launch is None or launch.kernel.handle not in machine.kernels:
        refused = out_of_range("the task {} is no kernel, or its binary was unloaded", failed.task)
        return machine.refuse(thread, "aclrtGetFuncHandleFromExceptionInfo", refused), 0
    return 0, launch.kernel.handle
