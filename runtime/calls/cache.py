"""Cache maintenance (reference documents for what it is, reference implementation for the checks).

The model has no caches, so these tasks take their turn in the stream and do nothing.
"""

from typing import TYPE_CHECKING, Any, Final

from cannery.runtime.calls.memory import not_allocated
from cannery.runtime.calls.registry import call
from cannery.runtime.calls.streams import named_stream, submission_stream
from cannery.runtime.errors import ACL_ERROR_RT_STREAM_MODEL, Refused, invalid, null, out_of_range, unsupported
from cannery.runtime.memory_tasks import Turn
from cannery.runtime.objects import Stream, Thread
from cannery.runtime.places import DEVICE

if TYPE_CHECKING:
    from cannery.runtime.machine import Machine

TYPES: Final = 4  # aclrtCmoType
INVALID: Final = 2
MOST_BARRIERS: Final = 6
DESCRIPTOR: Final = 64  # bytes


def _submit(machine: "Machine", thread: Thread, handle: int, named: Stream | None) -> int:
    task = Turn()
    task.cost = machine.profile.copy_ns
    task.stream = submission_stream(machine, machine.context_of(thread), handle, named)
    machine.schedule.submit(task)
    return 0


@call("aclrtCmoAsync")
def cmo_async(machine: "Machine", thread: Thread, address: int, size: int, kind: int, stream_handle: int) -> int:
    if not address:
        raise null("src")
    if not size:
        raise invalid("the argument size is 0; pass a number of bytes above 0")
    machine.hold()
    if not 0 <= kind < TYPES:
        raise unsupported("the argument cmoType is {}; pass a constant of aclrtCmoType", kind)
    return _submit(machine, thread, stream_handle, named_stream(machine, stream_handle))


@call("aclrtCmoGetDescSize")
def cmo_get_desc_size(machine: "Machine", thread: Thread, out: int) -> Any:
    if not out:
        raise out_of_range("the argument size is null; pass the address of a number")
    return 0, DESCRIPTOR


@call("aclrtCmoSetDesc")
def cmo_set_desc(machine: "Machine", thread: Thread, descriptor: int, source: int, size: int) -> int:
    """Writes the descriptor at once: the address after 32 bytes, and the size after 44."""
    for argument, value in (("cmoDesc", descriptor), ("src", source), ("size", size)):
        if not value:
            raise out_of_range("the argument {} is null or 0", argument)
    machine.context_of(thread)
    place = machine.memory.place(descriptor)
    if place.kind is not DEVICE:
        raise out_of_range("the argument cmoDesc ({:#x}) is {}; pass device memory", descriptor, place.kind)
    if not place.holds(DESCRIPTOR):
        raise not_allocated("cmoDesc", place, DESCRIPTOR)
    words = (bytes(32), source.to_bytes(8, "little"), bytes(4), (size & 0xFFFF_FFFF).to_bytes(4, "little"), bytes(16))
    machine.memory.store(place, b"".join(words))
    return 0


@call("aclrtCmoAsyncWithDesc")
def cmo_async_with_desc(
    machine: "Machine", thread: Thread, descriptor: int, kind: int, stream_handle: int, reserved: int
) -> int:
    if reserved:
        raise out_of_range("the argument reserve is {:#x}; pass null", reserved)
    if not descriptor:
        raise out_of_range("the argument cmoDesc is null; pass what aclrtCmoSetDesc has set")
    if not 0 <= kind < TYPES:
        raise out_of_range("the argument cmoType is {}; pass a constant of aclrtCmoType", kind)
    machine.hold()
    return _submit(machine, thread, stream_handle, named_stream(machine, stream_handle))


def _submit_bound(machine: "Machine", thread: Thread, handle: int) -> int:
    """Tasks with barriers are only for streams of model instances (reference documents; the number is our choice)."""
    named = named_stream(machine, handle)
    if named is None or named.lane is None or not named.lane.bound:
        raise Refused(
            ACL_ERROR_RT_STREAM_MODEL,
            "the stream {:#x} is not bound to a model instance; bind it first (aclmdlRIBindStream)", handle,
        )  # fmt: skip
    return _submit(machine, thread, handle, named)


@call("aclrtCmoAsyncWithBarrier")
def cmo_async_with_barrier(
    machine: "Machine", thread: Thread, address: int, size: int, kind: int, barrier: int, stream_handle: int
) -> int:
    if not address:
        raise null("src")
    if not size:
        raise out_of_range("the argument size is 0; pass a number of bytes above 0")
    if not 0 <= kind < TYPES:
        raise out_of_range("the argument cmoType is {}; pass a constant of aclrtCmoType", kind)
    if (kind == INVALID) != (barrier > 0):
        raise out_of_range("the argument barrierId is {}; pass one above 0 for INVALID only, and else 0", barrier)
    machine.hold()
    return _submit_bound(machine, thread, stream_handle)


@call("aclrtCmoWaitBarrier")
def cmo_wait_barrier(
    machine: "Machine",
    thread: Thread,
    task: tuple[int, tuple[tuple[int, int], ...]] | None,
    stream_handle: int,
    flag: int,
) -> int:
    if task is None:
        raise null("taskInfo")
    if flag:
        raise out_of_range("the argument flag is {:#x}; pass 0", flag)
    count, barriers = task
    if not 1 <= count <= MOST_BARRIERS:
        raise out_of_range("barrierNum is {}; pass 1 to {}", count, MOST_BARRIERS)
    for kind, barrier in barriers[:count]:
        if kind != INVALID or not barrier:
            raise out_of_range(
                "cmoType is {} and barrierId {}; wait for ACL_RT_CMO_TYPE_INVALID and ids above 0", kind, barrier
            )
    machine.hold()
    return _submit_bound(machine, thread, stream_handle)
