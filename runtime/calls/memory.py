"""Memory: allocating and freeing it (semantics.md 3; what that does not describe has its source beside it)."""

from typing import TYPE_CHECKING, Any, Final

from cannery.runtime.calls.registry import call
from cannery.runtime.calls.streams import synchronize_device
from cannery.runtime.errors import (
    ACL_ERROR_RT_MEMORY_ALLOCATION,
    Refused,
    driver_fault,
    invalid,
    null,
    out_of_range,
)
from cannery.runtime.objects import Context, Thread
from cannery.runtime.places import DEVICE, Place
from cannery.runtime.waits import Reply, Resume

if TYPE_CHECKING:
    from cannery.runtime.machine import Machine

SIZE_MAX: Final = (1 << 64) - 1
GIANT_PAGE: Final = 1 << 30
GIANT_POLICIES: Final = (6, 7)  # ACL_MEM_MALLOC_HUGE1G_ONLY, ..._P2P

# aclrtMallocAttrType, and which of them the two allocations with a configuration take (reference implementation).
ATTRIBUTE_NAMES: Final = (
    "ACL_RT_MEM_ATTR_RSV",
    "ACL_RT_MEM_ATTR_MODULE_ID",
    "ACL_RT_MEM_ATTR_DEVICE_ID",
    "ACL_RT_MEM_ATTR_VA_FLAG",
)
DEVICE_ID: Final = 2
DEVICE_ATTRIBUTES: Final = (0, 1, DEVICE_ID)
HOST_ATTRIBUTES: Final = (1, 3)

Configuration = tuple[tuple[tuple[int, bytes], ...] | None, int]  # attributes, and how many


def _check_size(out: int, argument: str, size: int) -> None:
    if not out:
        raise null(argument)
    if not size:
        raise invalid("the argument size is 0; pass a number of bytes above 0")


def _check_growth(size: int, room: int) -> None:
    if size > SIZE_MAX - room:
        raise invalid("the argument size is {:#x}, which is too large to round up; a negative number was passed?", size)


def allocate(machine: "Machine", context: Context, size: int, policy: int, spare: int) -> Any:
    """The reply of a call that allocates memory of the context's device."""
    if policy in GIANT_POLICIES and machine.profile.giant_pages:
        usable = -(-size // GIANT_PAGE) * GIANT_PAGE
    else:
        usable = (size + 31 + spare) // 32 * 32
    allocation = machine.memory.allocate(context.device, usable)
    if allocation is None:
        raise exhausted(machine, context, usable)
    return 0, allocation.address


def exhausted(machine: "Machine", context: Context, size: int) -> Refused:
    """207001: the device has not so much memory left."""
    memory = machine.memory.devices[context.device.index]
    return Refused(
        ACL_ERROR_RT_MEMORY_ALLOCATION,
        "device {} has not {} bytes left: {} of {} are in use; free memory, or see aclrtGetMemInfo before asking",
        context.device.user, size, memory.used, memory.capacity,
    )  # fmt: skip


@call("aclrtMalloc")
def malloc(machine: "Machine", thread: Thread, out: int, size: int, policy: int) -> Any:
    _check_size(out, "devPtr", size)
    _check_growth(size, 64)
    machine.hold()
    return allocate(machine, machine.context_of(thread), size, policy, machine.profile.spare_bytes)


@call("aclrtMallocCached")
def malloc_cached(machine: "Machine", thread: Thread, out: int, size: int, policy: int) -> Any:
    """Like aclrtMalloc (reference documents): the model has no caches."""
    return malloc(machine, thread, out, size, policy)


@call("aclrtMallocAlign32")
def malloc_align_32(machine: "Machine", thread: Thread, out: int, size: int, policy: int) -> Any:
    _check_size(out, "devPtr", size)
    _check_growth(size, 32)
    machine.hold()
    return allocate(machine, machine.context_of(thread), size, policy, 0)


@call("aclrtMallocWithCfg")
def malloc_with_cfg(
    machine: "Machine", thread: Thread, out: int, size: int, policy: int, configuration: Configuration | None
) -> Any:
    """Reference implementation: rounds to 32 bytes and adds none; the device has to be the current one."""
    if not out:
        raise null("devPtr")
    if configuration is not None and configuration[1] and not configuration[0]:
        raise invalid("the argument cfg has {} attributes, but attrs is null, or they are too many", configuration[1])
    _check_size(out, "devPtr", size)
    machine.hold()
    attributes = _attributes(configuration)
    context = machine.context_of(thread)
    for attribute, value in attributes:
        if attribute not in DEVICE_ATTRIBUTES:
            raise _unknown_attribute(attribute, DEVICE_ATTRIBUTES)
        if attribute == DEVICE_ID and int.from_bytes(value[:4], "little") != context.device.user:
            raise out_of_range(
                "the argument cfg asks for memory of device {}, but the current device is {}; select it first",
                int.from_bytes(value[:4], "little"), context.device.user,
            )  # fmt: skip
    return allocate(machine, context, size, policy, 0)


@call("aclrtMallocForTaskScheduler")
def malloc_for_task_scheduler(
    machine: "Machine", thread: Thread, out: int, size: int, policy: int, configuration: Configuration | None
) -> Any:
    """Memory like any other: the model has no task scheduler that could be particular."""
    return malloc_with_cfg(machine, thread, out, size, policy, configuration)


def _attributes(configuration: Configuration | None) -> tuple[tuple[int, bytes], ...]:
    if configuration is None:
        return ()
    attributes = configuration[0]
    if attributes is None:
        raise out_of_range("the argument cfg has no attrs; pass null for cfg when there is nothing to configure")
    return attributes


def _unknown_attribute(attribute: int, known: tuple[int, ...]) -> Refused:
    return out_of_range(
        "the argument cfg has the attribute {}, but this call takes {}",
        attribute, ", ".join(ATTRIBUTE_NAMES[one] for one in known),
    )  # fmt: skip


@call("aclrtFree")
def free(machine: "Machine", thread: Thread, address: int) -> int:
    """Frees at once, whatever is queued: a queued task that still needs the memory fails when it runs."""
    if not address:
        raise null("devPtr")
    machine.hold()
    return _free(machine, address)


def _free(machine: "Machine", address: int) -> int:
    allocation = machine.memory.device_allocations.at(address)
    if allocation is None:
        raise driver_fault(
            "the argument devPtr ({:#x}) is {}; pass the address that the allocation gave, once",
            address, describe(machine.memory.place(address)),
        )  # fmt: skip
    machine.memory.free(allocation)
    return 0


@call("aclrtFreeWithDevSync")
def free_with_dev_sync(machine: "Machine", thread: Thread, address: int) -> Any:
    if not address:
        raise null("devPtr")
    machine.hold()
    return _after_device(machine, thread, "aclrtFreeWithDevSync", address)


def _after_device(machine: "Machine", thread: Thread, function: str, address: int) -> Any:
    """Free when the device is idle; a failure of that is the reply, and then nothing is freed (reference
    implementation)."""
    release = _free_host if function == "aclrtFreeHostWithDevSync" else _free
    reply = synchronize_device(machine, thread)
    if isinstance(reply, int):
        return reply or release(machine, address)
    reply.function = function
    reply.resume = FreeAfter(reply.resume, address, function == "aclrtFreeHostWithDevSync")
    return reply


class FreeAfter(Resume):
    """What ``device`` answers, and if that is no failure, memory is freed; ``host``: pinned one."""

    __slots__ = ("address", "device", "host")

    def __init__(self, device: Resume, address: int, host: bool) -> None:
        self.device = device
        self.address = address
        self.host = host

    def reply(self, machine: "Machine") -> Reply:
        release = _free_host if self.host else _free
        return self.device.reply(machine) or release(machine, self.address)


def describe(place: Place) -> str:
    """What an address is, for messages."""
    if place.allocation is not None and place.address != place.allocation.address:
        return f"inside {place.kind} that begins at {place.allocation.address:#x}"
    return f"{place.kind} that is not allocated" if place.kind is DEVICE and place.allocation is None else place.kind


@call("aclrtMallocHost")
def malloc_host(machine: "Machine", thread: Thread, out: int, size: int) -> Any:
    _check_size(out, "hostPtr", size)
    machine.hold()
    machine.context_of(thread)
    return _pin(machine, size)


@call("aclrtMallocHostWithCfg")
def malloc_host_with_cfg(
    machine: "Machine", thread: Thread, out: int, size: int, configuration: Configuration | None
) -> Any:
    """Reference implementation: rounds to 32 bytes."""
    _check_size(out, "ptr", size)
    machine.hold()
    for attribute, _ in _attributes(configuration):
        if attribute not in HOST_ATTRIBUTES:
            raise _unknown_attribute(attribute, HOST_ATTRIBUTES)
    machine.context_of(thread)
    return _pin(machine, (size + 31) // 32 * 32)


def _pin(machine: "Machine", size: int) -> Any:
    allocation = machine.memory.pin(size)
    if allocation is None:
        raise Refused(ACL_ERROR_RT_MEMORY_ALLOCATION, "the host has not {} bytes of memory left to pin", size)
    return 0, allocation.address


@call("aclrtFreeHost")
def free_host(machine: "Machine", thread: Thread, address: int) -> int:
    if not address:
        raise null("hostPtr")
    machine.hold()
    return _free_host(machine, address)


def _free_host(machine: "Machine", address: int) -> int:
    allocation = machine.memory.pinned.at(address)
    if allocation is None:
        raise out_of_range(
            "the argument hostPtr ({:#x}) is {}; pass the address that aclrtMallocHost gave, once",
            address, describe(machine.memory.place(address)),
        )  # fmt: skip
    machine.memory.unpin(allocation)
    return 0


@call("aclrtFreeHostWithDevSync")
def free_host_with_dev_sync(machine: "Machine", thread: Thread, address: int) -> Any:
    if not address:
        raise null("hostPtr")
    machine.hold()
    return _after_device(machine, thread, "aclrtFreeHostWithDevSync", address)


def not_allocated(argument: str, place: Place, size: int) -> Refused:
    """507899: a range that is not inside one live allocation."""
    if place.allocation is None:
        return driver_fault("the argument {} ({:#x}) is {}", argument, place.address, describe(place))
    end = place.allocation.address + place.allocation.size
    return driver_fault(
        "the {} bytes from the argument {} ({:#x}) go {} bytes beyond the allocation at {:#x}",
        size, argument, place.address, place.address + size - end, place.allocation.address,
    )  # fmt: skip
