"""Copies whose addresses lie in device memory and are read when the task runs: with offsets, and with a descriptor
(reference implementation, but for what the conformance programs show)."""

from typing import TYPE_CHECKING, Any, Final

from cannery.runtime.calls.copies import check_room, copy_cost
from cannery.runtime.calls.memory import not_allocated
from cannery.runtime.calls.registry import call
from cannery.runtime.calls.streams import live_stream, named_stream, submission_stream
from cannery.runtime.errors import invalid, null, out_of_range, unsupported
from cannery.runtime.memory_tasks import DescriptorCopy, OffsetCopy
from cannery.runtime.objects import Thread
from cannery.runtime.places import DEVICE, Place

if TYPE_CHECKING:
    from cannery.runtime.machine import Machine

INNER_DEVICE_TO_DEVICE: Final = 6  # aclrtMemcpyKind
KINDS: Final = 8
MOST_OFFSET: Final = (1 << 48) - 1
MOST_SIZE: Final = 4 << 30
DESCRIPTOR_ALIGNMENT: Final = 64
LARGE_DESCRIPTORS: Final = ("950PR", "950DT")


@call("aclrtMemcpyAsyncWithOffset")
def memcpy_async_with_offset(
    machine: "Machine",
    thread: Thread,
    destination: int,
    room: int,
    destination_offset: int,
    source: int,
    size: int,
    source_offset: int,
    kind: int,
    stream_handle: int,
) -> int:
    """``destination`` and ``source`` are where the task finds the addresses."""
    if not size:
        return 0
    if kind != INNER_DEVICE_TO_DEVICE:
        raise out_of_range("the argument kind is {}; pass ACL_MEMCPY_INNER_DEVICE_TO_DEVICE (6)", kind)
    machine.hold()
    named = named_stream(machine, stream_handle)
    for argument, address in (("dst", destination), ("src", source)):
        if not address:
            raise out_of_range("the argument {} is null; pass the address of an address", argument)
    check_room(room, size)
    for argument, offset in (("dstDataOffset", destination_offset), ("srcDataOffset", source_offset)):
        if offset > MOST_OFFSET:
            raise out_of_range("the argument {} is {:#x}, which has more than 48 bits", argument, offset)
    if size > room - destination_offset:
        raise out_of_range(
            "the arguments dstDataOffset ({}) and count ({}) are together above destMax, which is {}",
            destination_offset, size, room,
        )  # fmt: skip
    if size > MOST_SIZE:
        raise out_of_range("the argument count is {}; copy at most {} bytes at once", size, MOST_SIZE)
    stream = submission_stream(machine, machine.context_of(thread), stream_handle, named)
    task = OffsetCopy()
    task.cost = copy_cost(machine, True, size)
    task.destination = machine.memory.place(destination)
    task.destination_offset = destination_offset
    task.source = machine.memory.place(source)
    task.source_offset = source_offset
    task.size = size
    task.stream = stream
    machine.schedule.submit(task)
    return 0


def _check_kind(kind: int) -> None:
    if not 0 <= kind < KINDS:
        raise invalid("the argument kind is {}; pass ACL_MEMCPY_INNER_DEVICE_TO_DEVICE (6)", kind)


def _check_inner(kind: int) -> None:
    if kind != INNER_DEVICE_TO_DEVICE:
        raise unsupported("the argument kind is {}; only ACL_MEMCPY_INNER_DEVICE_TO_DEVICE (6) has descriptors", kind)


@call("aclrtGetMemcpyDescSize")
def get_memcpy_desc_size(machine: "Machine", thread: Thread, kind: int, out: int) -> Any:
    if not out:
        raise null("descSize")
    _check_kind(kind)
    _check_inner(kind)
    return 0, 64 if machine.profile.name in LARGE_DESCRIPTORS else 32


@call("aclrtSetMemcpyDesc")
def set_memcpy_desc(
    machine: "Machine", thread: Thread, descriptor: int, kind: int, source: int, destination: int, size: int, rest: int
) -> int:
    """Writes the descriptor at once: three reserved words and the size, then the two addresses."""
    if not descriptor:
        raise null("desc")
    _check_kind(kind)
    if not source:
        raise null("srcAddr")
    if not destination:
        raise null("dstAddr")
    if not size:
        raise invalid("the argument count is 0; pass a number of bytes above 0")
    if rest:
        raise invalid("the argument config is {:#x}; pass null", rest)
    _check_inner(kind)
    if size > MOST_SIZE:
        raise out_of_range("the argument count is {}; copy at most {} bytes at once", size, MOST_SIZE)
    place = _descriptor(machine, descriptor)
    places = [place, machine.memory.place(source), machine.memory.place(destination)]
    for argument, other in zip(("srcAddr", "dstAddr"), places[1:], strict=True):
        if other.kind is not DEVICE or other.device is None:
            raise out_of_range("the argument {} ({:#x}) is {}; pass device memory", argument, other.address, other.kind)
        if other.device is not places[1].device:
            raise out_of_range("srcAddr ({:#x}) and dstAddr ({:#x}) are on two devices", source, destination)
    machine.context_of(thread)
    machine.memory.store(
        place,
        b"".join((bytes(12), (size & 0xFFFF_FFFF).to_bytes(4, "little"), *_words(source, destination))),
    )
    return 0


def _words(*values: int) -> list[bytes]:
    return [value.to_bytes(8, "little") for value in values]


def _descriptor(machine: "Machine", address: int) -> Place:
    if address % DESCRIPTOR_ALIGNMENT:
        raise out_of_range("the argument desc ({:#x}) is not aligned to {} bytes", address, DESCRIPTOR_ALIGNMENT)
    place = machine.memory.place(address)
    if place.kind is not DEVICE:
        raise out_of_range("the argument desc ({:#x}) is {}; pass device memory", address, place.kind)
    if not place.holds(32):
        raise not_allocated("desc", place, 32)
    return place


@call("aclrtMemcpyAsyncWithDesc")
def memcpy_async_with_desc(machine: "Machine", thread: Thread, descriptor: int, kind: int, stream_handle: int) -> int:
    if not descriptor:
        raise null("desc")
    _check_kind(kind)
    if not stream_handle:
        raise null("stream")
    machine.hold()
    named = live_stream(machine, stream_handle)
    _check_inner(kind)
    place = _descriptor(machine, descriptor)
    stream = submission_stream(machine, machine.context_of(thread), stream_handle, named)
    task = DescriptorCopy()
    task.cost = machine.profile.copy_ns  # the size is only known when it runs
    task.descriptor = place
    task.stream = stream
    machine.schedule.submit(task)
    return 0
