"""Memory: allocation, setting, information (semantics.md 3). Copies are in ``copies.py``."""

from typing import TYPE_CHECKING, Any, Final

from cannery.runtime import capture
from cannery.runtime.calls.registry import call
from cannery.runtime.calls.streams import named_stream, submission_stream
from cannery.runtime.errors import (
    ACL_ERROR_RT_INVALID_MEMORY_TYPE,
    ACL_ERROR_RT_MEMORY_ALLOCATION,
    Refused,
    driver_fault,
    invalid,
    null,
    out_of_range,
)
from cannery.runtime.memory import DEVICE, Place
from cannery.runtime.objects import Thread
from cannery.runtime.tasks import Fill

if TYPE_CHECKING:
    from cannery.runtime.machine import Machine

SIZE_MAX: Final = (1 << 64) - 1
GIANT_PAGE: Final = 1 << 30
GIANT_POLICIES: Final = (6, 7)  # ACL_MEM_MALLOC_HUGE1G_ONLY, ..._P2P

# aclrtMemAttr: which memory an attribute asks about.
DDR_ATTRIBUTES: Final = frozenset((0, 2, 3, 6, 7))
GIANT_ATTRIBUTES: Final = frozenset((10, 11, 14, 17))
ATTRIBUTES: Final = 18


def _check_size(out: int, argument: str, size: int) -> None:
    if not out:
        raise null(argument)
    if not size:
        raise invalid("the argument size is 0; pass a number of bytes above 0")


@call("aclrtMalloc")
def malloc(machine: "Machine", thread: Thread, out: int, size: int, policy: int) -> Any:
    _check_size(out, "devPtr", size)
    if size > SIZE_MAX - 64:
        raise invalid("the argument size is {:#x}, which is too large to round up; a negative number was passed?", size)
    machine.hold()
    context = machine.context_of(thread)
    if policy in GIANT_POLICIES and machine.profile.giant_pages:
        usable = -(-size // GIANT_PAGE) * GIANT_PAGE
    else:
        usable = (size + 31 + machine.profile.spare_bytes) // 32 * 32
    allocation = machine.memory.allocate(context.device, usable)
    if allocation is None:
        memory = machine.memory.devices[context.device.index]
        raise Refused(
            ACL_ERROR_RT_MEMORY_ALLOCATION,
            "device {} has not {} bytes left: {} of {} are in use; free memory, or see aclrtGetMemInfo before asking",
            context.device.user, usable, memory.used, memory.capacity,
        )  # fmt: skip
    return 0, allocation.address


@call("aclrtFree")
def free(machine: "Machine", thread: Thread, address: int) -> int:
    """Frees at once, whatever is queued: a queued task that still needs the memory fails when it runs."""
    if not address:
        raise null("devPtr")
    machine.hold()
    allocation = machine.memory.device_allocations.at(address)
    if allocation is None:
        raise driver_fault(
            "the argument devPtr ({:#x}) is {}; pass the address that the allocation gave, once",
            address, _what(machine.memory.place(address)),
        )  # fmt: skip
    machine.memory.free(allocation)
    return 0


def _what(place: Place) -> str:
    if place.allocation is not None and place.address != place.allocation.address:
        return f"inside {place.kind} that begins at {place.allocation.address:#x}"
    return f"{place.kind} that is not allocated" if place.kind is DEVICE and place.allocation is None else place.kind


@call("aclrtMallocHost")
def malloc_host(machine: "Machine", thread: Thread, out: int, size: int) -> Any:
    _check_size(out, "hostPtr", size)
    machine.hold()
    machine.context_of(thread)
    allocation = machine.memory.pin(size)
    if allocation is None:
        raise Refused(ACL_ERROR_RT_MEMORY_ALLOCATION, "the host has not {} bytes of memory left to pin", size)
    return 0, allocation.address


@call("aclrtFreeHost")
def free_host(machine: "Machine", thread: Thread, address: int) -> int:
    if not address:
        raise null("hostPtr")
    machine.hold()
    allocation = machine.memory.pinned.at(address)
    if allocation is None:
        raise out_of_range(
            "the argument hostPtr ({:#x}) is {}; pass the address that aclrtMallocHost gave, once",
            address, _what(machine.memory.place(address)),
        )  # fmt: skip
    machine.memory.unpin(allocation)
    return 0


@call("aclrtMemset")
def memset(machine: "Machine", thread: Thread, address: int, maximum: int, value: int, count: int) -> int:
    """Sets at once, whatever is queued on streams."""
    if not count:
        return 0
    if not address:
        raise null("devPtr")
    machine.hold()
    context = machine.context_of(thread)
    if count > maximum:
        raise out_of_range("the argument count is {}, above maxCount, which is {}", count, maximum)
    capture.check_mode(machine, thread, context)
    place = machine.memory.place(address)
    if not place.holds(count):
        raise not_allocated("devPtr", place, count)
    if not machine.memory.fill(place, value & 0xFF, count):
        raise driver_fault("the {} bytes of host memory at devPtr ({:#x}) are not writable", count, address)
    return 0


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
    if count > maximum:
        raise out_of_range("the argument count is {}, above maxCount, which is {}", count, maximum)
    stream = submission_stream(machine, machine.context_of(thread), stream_handle, named)
    place = machine.memory.place(address)
    if not place.holds(count):
        raise not_allocated("devPtr", place, count)
    fill = Fill()
    fill.stream = stream
    fill.place = place
    fill.value = value & 0xFF
    fill.size = count
    fill.cost = machine.profile.copy_ns + count * 1000 // machine.profile.device_bytes_per_us
    machine.schedule.submit(fill)
    return 0


def not_allocated(argument: str, place: Place, size: int) -> Refused:
    """507899: a range that is not inside one live allocation."""
    if place.allocation is None:
        return driver_fault("the argument {} ({:#x}) is {}", argument, place.address, _what(place))
    end = place.allocation.address + place.allocation.size
    return driver_fault(
        "the {} bytes from the argument {} ({:#x}) go {} bytes beyond the allocation at {:#x}",
        size, argument, place.address, place.address + size - end, place.allocation.address,
    )  # fmt: skip


@call("aclrtGetMemInfo")
def get_mem_info(machine: "Machine", thread: Thread, attribute: int, out_free: int, out_total: int) -> Any:
    """Pages of all sizes, and memory for peers, come from one pool: every attribute of the device's kind of memory
    tells about all of it. Attributes of memory that it has not give 0."""
    if not out_free:
        raise null("free")
    if not out_total:
        raise null("total")
    if not 0 <= attribute < ATTRIBUTES:
        raise Refused(
            ACL_ERROR_RT_INVALID_MEMORY_TYPE, "the argument attr is {}; pass a constant of aclrtMemAttr", attribute
        )
    device = machine.context_of(thread).device
    profile = machine.profile
    lacks = profile.memory_kind == "hbm" and attribute in DDR_ATTRIBUTES
    if lacks or (attribute in GIANT_ATTRIBUTES and not profile.giant_pages):
        return 0, 0, 0
    memory = machine.memory.devices[device.index]
    return 0, memory.capacity - memory.used, memory.capacity
