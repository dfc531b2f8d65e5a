"""Overflow of floating-point numbers: the mode of results, and the status (reference pages of the functions named).

Each context has 512 bytes of device memory where operators leave a mark when a result overflowed; the program hands
their address to kernels. The status is what stands there when the task that reads it runs, so without a kernel model
that writes there it is zero.
"""

from typing import TYPE_CHECKING, Any, Final

from cannery.runtime import capture
from cannery.runtime.calls.copies import copy_cost
from cannery.runtime.calls.memory import exhausted, not_allocated
from cannery.runtime.calls.registry import call
from cannery.runtime.calls.streams import named_stream, submission_stream
from cannery.runtime.errors import null, out_of_range
from cannery.runtime.memory_tasks import Fill
from cannery.runtime.objects import Context, Stream, Thread
from cannery.runtime.places import DEVICE, Allocation
from cannery.runtime.tasks import Copy

if TYPE_CHECKING:
    from cannery.runtime.machine import Machine

MODES: Final = ("ACL_RT_OVERFLOW_MODE_SATURATION", "ACL_RT_OVERFLOW_MODE_INFNAN")
AREA: Final = 512  # bytes that a context has
STATUS: Final = 64  # bytes of them that are the status


@call("aclrtSetDeviceSatMode")
def set_device_sat_mode(machine: "Machine", thread: Thread, mode: int) -> int:
    """Kept for the process, and on every product (reference implementation; the documents have modes that some products
    do not support, without a number)."""
    if not 0 <= mode < len(MODES):
        raise out_of_range("the argument mode is {}; pass {} (0) or {} (1)", mode, *MODES)
    machine.process.overflow_mode = mode
    return 0


@call("aclrtGetDeviceSatMode")
def get_device_sat_mode(machine: "Machine", thread: Thread, out: int) -> Any:
    if not out:
        raise null("mode")
    mode = machine.process.overflow_mode
    return 0, machine.profile.overflow_mode if mode is None else mode


@call("aclrtCtxGetFloatOverflowAddr")
def ctx_get_float_overflow_addr(machine: "Machine", thread: Thread, out: int) -> Any:
    if not out:
        raise out_of_range("the argument overflowAddr is null; pass the address of a pointer")
    return 0, _area(machine, machine.context_of(thread)).address


def _area(machine: "Machine", context: Context) -> Allocation:
    """The context's memory for marks, which reads as zero at first. It is taken when it is first needed, so that a
    program that never asks finds the device's memory as it was.

    Raises:
        Refused: 207001.
    """
    area = context.overflow
    if area is None:
        area = machine.memory.allocate(context.device, AREA)
        if area is None:
            raise exhausted(machine, context, AREA)
        machine.memory.fill(machine.memory.place(area.address), b"\0", AREA)
        context.overflow = area
    return area


@call("aclrtGetOverflowStatus")
def get_overflow_status(machine: "Machine", thread: Thread, address: int, size: int, stream_handle: int) -> int:
    if not address:
        raise null("outputAddr")
    return _get_status(machine, thread, address, size, stream_handle)


@call("aclrtGetFloatOverflowStatus")
def get_float_overflow_status(machine: "Machine", thread: Thread, address: int, size: int, stream_handle: int) -> int:
    """The acl layer does not look at the address (reference implementation)."""
    return _get_status(machine, thread, address, size, stream_handle)


@call("aclrtNpuGetFloatOverFlowStatus")
def npu_get_float_over_flow_status(
    machine: "Machine", thread: Thread, address: int, size: int, check_mode: int, stream_handle: int
) -> int:
    """``check_mode`` chooses among detections of the hardware, of which the model has one."""
    return _get_status(machine, thread, address, size, stream_handle)


def _get_status(machine: "Machine", thread: Thread, address: int, size: int, stream_handle: int) -> int:
    named = named_stream(machine, stream_handle)
    if not address:
        raise out_of_range("the argument outputAddr is null; pass the address of {} bytes of device memory", STATUS)
    if size != STATUS:
        raise out_of_range("the argument outputSize is {}; the status has {} bytes", size, STATUS)
    stream, context = _stream(machine, thread, stream_handle, named)
    destination = machine.memory.place(address)
    if destination.kind is DEVICE and destination.allocation is None:
        raise not_allocated("outputAddr", destination, size)
    area = machine.memory.place(_area(machine, context).address)
    task = Copy()
    task.cost = copy_cost(machine, True, size)
    task.destination = destination
    task.source = area
    task.size = size
    task.stream = stream
    machine.schedule.submit(task)
    return 0


@call("aclrtResetOverflowStatus")
def reset_overflow_status(machine: "Machine", thread: Thread, stream_handle: int) -> int:
    machine.hold()
    return _reset_status(machine, thread, stream_handle)


def _reset_status(machine: "Machine", thread: Thread, stream_handle: int) -> int:
    named = named_stream(machine, stream_handle)
    stream, context = _stream(machine, thread, stream_handle, named)
    task = Fill()
    task.cost = copy_cost(machine, True, AREA)
    task.place = machine.memory.place(_area(machine, context).address)
    task.pattern = b"\0"
    task.size = AREA
    task.stream = stream
    machine.schedule.submit(task)
    return 0


@call("aclrtResetFloatOverflowStatus")
def reset_float_overflow_status(machine: "Machine", thread: Thread, stream_handle: int) -> int:
    return reset_overflow_status(machine, thread, stream_handle)


@call("aclrtNpuClearFloatOverFlowStatus")
def npu_clear_float_over_flow_status(machine: "Machine", thread: Thread, check_mode: int, stream_handle: int) -> int:
    """Not among those that wait while a snapshot lock is held."""
    return _reset_status(machine, thread, stream_handle)


def _stream(machine: "Machine", thread: Thread, stream_handle: int, named: Stream | None) -> tuple[Stream, Context]:
    """The stream of a task that reads or clears the status, which no capture takes.

    Raises:
        Refused: 107027, 107002, 107003, or what stopped the context.
    """
    if named is not None:
        capture.check_free(machine, named)
    context = machine.context_of(thread)
    return submission_stream(machine, context, stream_handle, named), context
