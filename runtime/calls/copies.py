"""Plain copies (semantics.md 3). Where the addresses lie decides what is copied; asynchronous ones also look at the
kind. Between devices, copies may need access to be enabled (``Memory.unreachable``)."""

from typing import TYPE_CHECKING, Any, Final

from cannery.runtime import capture
from cannery.runtime.calls.memory import not_allocated
from cannery.runtime.calls.registry import call
from cannery.runtime.calls.streams import named_stream, submission_stream, synchronize
from cannery.runtime.errors import (
    ACL_ERROR_RT_ADDR_UNALIGNED,
    ACL_ERROR_RT_CAPTURE_MODE_BLOCK_ASYNC,
    ACL_ERROR_RT_MEMORY_ALLOCATION,
    Refused,
    driver_fault,
    invalid,
    null,
    out_of_range,
    unsupported,
)
from cannery.runtime.memory_tasks import PeerCopy
from cannery.runtime.objects import Context, Stream, Thread
from cannery.runtime.places import DEVICE, PAGEABLE, PINNED, Place
from cannery.runtime.tasks import BufferedCopy, Copy, HostToHost, Task
from cannery.runtime.waits import Reply, Resume

if TYPE_CHECKING:
    from cannery.runtime.machine import Machine

KINDS: Final = (
    "ACL_MEMCPY_HOST_TO_HOST",
    "ACL_MEMCPY_HOST_TO_DEVICE",
    "ACL_MEMCPY_DEVICE_TO_HOST",
    "ACL_MEMCPY_DEVICE_TO_DEVICE",
    "ACL_MEMCPY_DEFAULT",
    "ACL_MEMCPY_HOST_TO_BUF_TO_DEVICE",
)

# What an asynchronous copy does, by the places of destination and source, one letter per kind 0 to 5 (semantics.md
# 3): task, synchronise and copy at once, buffer the source now, host to host (207000), wrong kind for these places
# (107000).
TASK, SYNCHRONOUS, BUFFERED, HOST_TO_HOST, WRONG = "tsbhw"
ASYNCHRONOUS: Final = {
    (PAGEABLE, PAGEABLE): "hssthw",
    (PAGEABLE, PINNED): "hswwhw",
    (PAGEABLE, DEVICE): "wwstsw",
    (PINNED, PAGEABLE): "hwswhw",
    (PINNED, PINNED): "hhhhhw",
    (PINNED, DEVICE): "tttttw",
    (DEVICE, PAGEABLE): "wswtsb",
    (DEVICE, PINNED): "tttttb",
    (DEVICE, DEVICE): "tttttw",
}


def check_pointers(destination: int, source: int) -> None:
    if not destination:
        raise null("dst")
    if not source:
        raise null("src")


def check_room(room: int, size: int) -> None:
    if room < size:
        raise out_of_range("the argument count is {}, above destMax, which is {}", size, room)


@call("aclrtMemcpy")
def memcpy(machine: "Machine", thread: Thread, destination: int, room: int, source: int, size: int, kind: int) -> int:
    """Copies at once, whatever is queued on streams."""
    if not size:
        return 0
    check_pointers(destination, source)
    if machine.behaviour["memcpy-kind"] == "checked":
        _check_kind(kind)
    machine.hold()
    check_room(room, size)
    if destination == source:
        return 0
    context = machine.context_of(thread)
    capture.check_mode(machine, thread, context)
    copy_now(machine, context, machine.memory.place(destination), machine.memory.place(source), size)
    return 0


def _check_kind(kind: int) -> None:
    if not 0 <= kind < len(KINDS):
        raise invalid("the argument kind is {}; pass a constant from {} (0) to {} (5)", kind, KINDS[0], KINDS[-1])


def copy_now(machine: "Machine", context: Context, destination: Place, source: Place, size: int) -> None:
    """Copy between any two places.

    Raises:
        Refused: 507899, one of them is not allocated or not accessible; then nothing of device memory was lost.
    """
    for argument, place in (("dst", destination), ("src", source)):
        if not place.holds(size):
            raise not_allocated(argument, place, size)
    check_reach(machine, context, destination, source)
    if not machine.memory.copy(destination, source, size):
        raise driver_fault(
            "the host memory of a copy of {} bytes from {:#x} to {:#x} is not accessible",
            size, source.address, destination.address,
        )  # fmt: skip


def check_reach(machine: "Machine", context: Context, destination: Place, source: Place) -> None:
    """Raises 507899: a copy at once between devices without access to each other."""
    apart = machine.memory.unreachable(context.device, destination, source)
    if apart is not None:
        raise driver_fault(
            "access between devices {} and {} is not enabled; call aclrtDeviceEnablePeerAccess first",
            apart[0].user, apart[1].user,
        )  # fmt: skip


@call("aclrtMemcpyAsync")
def memcpy_async(
    machine: "Machine",
    thread: Thread,
    destination_address: int,
    room: int,
    source_address: int,
    size: int,
    kind: int,
    stream_handle: int,
) -> Any:
    return _memcpy_async(
        machine,
        thread,
        "aclrtMemcpyAsync",
        destination_address,
        room,
        source_address,
        size,
        kind,
        stream_handle,
    )


@call("aclrtMemcpyAsyncWithCondition")
def memcpy_async_with_condition(
    machine: "Machine",
    thread: Thread,
    destination_address: int,
    room: int,
    source_address: int,
    size: int,
    kind: int,
    stream_handle: int,
) -> Any:
    """The former name of aclrtMemcpyAsync (reference documents)."""
    return _memcpy_async(
        machine,
        thread,
        "aclrtMemcpyAsyncWithCondition",
        destination_address,
        room,
        source_address,
        size,
        kind,
        stream_handle,
    )


def _memcpy_async(
    machine: "Machine",
    thread: Thread,
    function: str,
    destination_address: int,
    room: int,
    source_address: int,
    size: int,
    kind: int,
    stream_handle: int,
) -> Any:
    if not size:
        return 0
    check_pointers(destination_address, source_address)
    _check_kind(kind)
    machine.hold()
    named = named_stream(machine, stream_handle)
    check_room(room, size)
    context = machine.context_of(thread)
    destination = machine.memory.place(destination_address)
    source = machine.memory.place(source_address)
    for argument, place in (("dst", destination), ("src", source)):
        if place.kind is DEVICE and place.allocation is None:
            raise not_allocated(argument, place, size)
    action = ASYNCHRONOUS[destination.kind, source.kind][kind]
    if action == WRONG:
        raise out_of_range(
            "the argument kind is {}, but dst is {} and src is {}; name the kind that fits, or ACL_MEMCPY_DEFAULT",
            KINDS[kind], destination.kind, source.kind,
        )  # fmt: skip
    if action == HOST_TO_HOST and not _fails_later(machine, kind):
        raise unsupported("dst and src are both host memory; use aclrtMemcpy, or memcpy")
    if machine.behaviour["memcpyasync-alignment"] == "64":
        _check_alignment(destination_address, source_address)
    if destination_address == source_address:
        return 0
    if action == SYNCHRONOUS:
        stream = named or context.default
        check_not_captured(stream)
        copy = CopyLater(thread, context, destination, source, size)
        return synchronize(machine, thread, function, stream, then=copy)
    stream = submission_stream(machine, context, stream_handle, named)
    task = _task(machine, action, destination, source, size)
    task.stream = stream
    machine.schedule.submit(task)
    return 0


class CopyLater(Resume):
    """A copy of pageable memory, made by the call itself when the stream has got there."""

    __slots__ = ("context", "destination", "size", "source", "thread")

    def __init__(self, thread: Thread, context: Context, destination: Place, source: Place, size: int) -> None:
        self.thread = thread
        self.context = context
        self.destination = destination
        self.source = source
        self.size = size

    def reply(self, machine: "Machine") -> Reply:
        check_blocking(machine, self.thread, self.context)
        copy_now(machine, self.context, self.destination, self.source, self.size)
        return 0


def check_not_captured(stream: Stream) -> None:
    """Raises 107000: copies of pageable memory cannot be captured."""
    if capture.captured(stream):
        raise out_of_range(
            "dst or src is pageable host memory, whose copies cannot be captured, and the stream {:#x} is in capture; "
            "use pinned memory (aclrtMallocHost)",
            stream.handle,
        )


def check_blocking(machine: "Machine", thread: Thread, context: Context) -> None:
    """Raises 107041, which :func:`capture.check_mode` has as 107030 for calls that are synchronous by name."""
    try:
        capture.check_mode(machine, thread, context)
    except Refused as refused:
        raise Refused(ACL_ERROR_RT_CAPTURE_MODE_BLOCK_ASYNC, refused.text, *refused.values) from None


def _fails_later(machine: "Machine", kind: int) -> bool:
    choice = machine.behaviour["memcpyasync-host-to-host"]
    return choice == "fail-later" or (choice == "fail-later-kind-0" and kind == 0)


def _check_alignment(*addresses: int) -> None:
    for argument, address in zip(("dst", "src"), addresses, strict=True):
        if address % 64:
            raise Refused(
                ACL_ERROR_RT_ADDR_UNALIGNED, "the argument {} ({:#x}) is not aligned to 64 bytes", argument, address
            )


def _host_content(machine: "Machine", address: int, size: int) -> memoryview:
    try:
        content = machine.port.copied(address, size)
    except MemoryError:
        raise Refused(ACL_ERROR_RT_MEMORY_ALLOCATION, "the host has not {} bytes left for a buffer", size) from None
    if content is None:
        raise driver_fault("the {} bytes of host memory at src ({:#x}) are not readable", size, address)
    return content


def copy_cost(machine: "Machine", inside: bool, size: int) -> int:
    """Device time of a copy; ``inside``: of device memory only."""
    profile = machine.profile
    return profile.copy_ns + size * 1000 // (profile.device_bytes_per_us if inside else profile.host_bytes_per_us)


def _task(machine: "Machine", action: str, destination: Place, source: Place, size: int) -> Task:
    if action == HOST_TO_HOST:
        failing = HostToHost()
        failing.cost = machine.profile.copy_ns
        return failing
    inside = destination.kind is DEVICE and source.kind is DEVICE
    cost = copy_cost(machine, inside, size)
    if action == BUFFERED:
        if not destination.holds(size):
            raise not_allocated("dst", destination, size)
        buffered = BufferedCopy()
        buffered.content = _host_content(machine, source.address, size)
        buffered.cost = cost
        buffered.destination = destination
        return buffered
    copy = PeerCopy() if inside and destination.device is not source.device else Copy()
    copy.cost = cost
    copy.destination = destination
    copy.source = source
    copy.size = size
    return copy
