"""Setting memory, at once and in stream order (semantics.md 3; the 32-bit forms: reference implementation)."""

from typing import TYPE_CHECKING, Final

from cannery.runtime import capture
from cannery.runtime.calls.memory import not_allocated
from cannery.runtime.calls.registry import call
from cannery.runtime.calls.streams import named_stream, submission_stream
from cannery.runtime.errors import driver_fault, invalid, null, out_of_range
from cannery.runtime.memory_tasks import Fill
from cannery.runtime.objects import Stream, Thread
from cannery.runtime.places import PAGEABLE, Place

if TYPE_CHECKING:
    from cannery.runtime.machine import Machine

WORD: Final = 4


@call("aclrtMemset")
def memset(machine: "Machine", thread: Thread, address: int, maximum: int, value: int, count: int) -> int:
    """Sets at once, whatever is queued on streams."""
    if not count:
        return 0
    if not address:
        raise null("devPtr")
    machine.hold()
    context = machine.context_of(thread)
    _check_room(count, maximum)
    capture.check_mode(machine, thread, context)
    _set_now(machine, "devPtr", machine.memory.place(address), bytes((value & 0xFF,)), count)
    return 0


def _check_room(count: int, maximum: int) -> None:
    if count > maximum:
        raise out_of_range("the argument count is {}, above maxCount, which is {}", count, maximum)


def _set_now(machine: "Machine", argument: str, place: Place, pattern: bytes, size: int) -> None:
    if not place.holds(size):
        raise not_allocated(argument, place, size)
    if not machine.memory.fill(place, pattern, size):
        raise driver_fault("the {} bytes of host memory at {} ({:#x}) are not writable", size, argument, place.address)


@call("aclrtMemsetAsync")
def memset_async(
    machine: "Machine", thread: Thread, address: int, maximum: int, value: int, count: int, stream_handle: int
) -> int:
    if not count:
        return 0
    if not address:
        raise null("devPtr")
    machine.hold()
    named = named_stream(machine, stream_handle)
    _check_room(count, maximum)
    place = machine.memory.place(address)
    stream = submission_stream(machine, machine.context_of(thread), stream_handle, named)
    _submit(machine, stream, "devPtr", place, bytes((value & 0xFF,)), count)
    return 0


def _submit(machine: "Machine", stream: Stream, argument: str, place: Place, pattern: bytes, size: int) -> None:
    if not place.holds(size):
        raise not_allocated(argument, place, size)
    profile = machine.profile
    task = Fill()
    task.cost = profile.copy_ns + size * 1000 // profile.device_bytes_per_us
    task.place = place
    task.pattern = pattern
    task.size = size
    task.stream = stream
    machine.schedule.submit(task)


def _check_words(machine: "Machine", address: int, size: int, count: int) -> Place:
    if not address:
        raise null("ptr")
    if address % WORD:
        raise invalid("the argument ptr ({:#x}) is not aligned to 4 bytes", address)
    if size < WORD * count:
        raise invalid("the argument memSize is {}, which is less than N ({}) numbers of 4 bytes", size, count)
    place = machine.memory.place(address)
    if place.kind is PAGEABLE:
        raise invalid(
            "the argument ptr ({:#x}) is {}; pass memory of aclrtMalloc or aclrtMallocHost", address, place.kind
        )
    if place.allocation is None:
        raise out_of_range("the argument ptr ({:#x}) is {} that is not allocated", address, place.kind)
    return place


@call("aclrtMemsetD32")
def memset_d32(machine: "Machine", thread: Thread, address: int, size: int, value: int, count: int) -> int:
    if not count:
        return 0
    place = _check_words(machine, address, size, count)
    machine.hold()
    capture.check_mode(machine, thread, machine.context_of(thread))
    _set_now(machine, "ptr", place, value.to_bytes(WORD, "little"), WORD * count)
    return 0


@call("aclrtMemsetD32Async")
def memset_d32_async(
    machine: "Machine", thread: Thread, address: int, size: int, value: int, count: int, stream_handle: int
) -> int:
    """Host memory is set at once (reference documents)."""
    if not count:
        return 0
    place = _check_words(machine, address, size, count)
    machine.hold()
    named = named_stream(machine, stream_handle)
    context = machine.context_of(thread)
    pattern = value.to_bytes(WORD, "little")
    if place.device is None:
        _set_now(machine, "ptr", place, pattern, WORD * count)
        return 0
    stream = submission_stream(machine, context, stream_handle, named)
    _submit(machine, stream, "ptr", place, pattern, WORD * count)
    return 0
