"""Exception callbacks: what the program is told of a task that failed."""

from typing import TYPE_CHECKING, Any, Final

from cannery.runtime.calls.registry import call
from cannery.runtime.errors import Refused, invalid, null, out_of_range
from cannery.runtime.exceptions import FailedTask
from cannery.runtime.objects import Thread

if TYPE_CHECKING:
    from cannery.runtime.machine import Machine

NO_INFORMATION: Final = 0xFFFF_FFFF
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
    """Only kernels have arguments, and there are none of those yet."""
    failed = _failed(machine, thread, "aclrtGetArgsFromExceptionInfo", info)
    if failed is None:
        return NO_ARGUMENTS
    for name, out in (("devArgsPtr", out_address), ("devArgsLen", out_size)):
        if not out:
            raise null(name)
    machine.refuse(thread, "aclrtGetArgsFromExceptionInfo", invalid("the task {} is no kernel", failed.task))
    return NO_ARGUMENTS


@call("aclrtGetFuncHandleFromExceptionInfo")
def get_func_handle(machine: "Machine", thread: Thread, info: int, out: int) -> Any:
    """As :func:`get_args`; null is written (reference implementation)."""
    failed = _failed(machine, thread, "aclrtGetFuncHandleFromExceptionInfo", info)
    if failed is None:
        return NO_ARGUMENTS
    if not out:
        raise null("func")
    refused = out_of_range("the task {} is no kernel", failed.task)
    return machine.refuse(thread, "aclrtGetFuncHandleFromExceptionInfo", refused), 0
