"""Virtual memory that the program manages: addresses, physical memory, mappings (reference documents for what the calls
do, reference implementation for the order of checks; where its driver decides, the number is that of its table for what
was wrong).

Physical memory is memory of a device; the model has none on the host. Rights are kept and given back; memory to which
no location has any is not accessible. ``runtime/virtual.py`` has the objects.
"""

from typing import TYPE_CHECKING, Any, Final

from cannery.runtime.calls.devices import device_named
from cannery.runtime.calls.memory import describe
from cannery.runtime.calls.registry import call
from cannery.runtime.errors import (
    ACL_ERROR_RT_MEMORY_ALLOCATION,
    Refused,
    driver_fault,
    invalid,
    null,
    out_of_range,
    stale,
    unsupported,
)
from cannery.runtime.objects import Device, Thread
from cannery.runtime.virtual import ACCESS_READWRITE, GRANULE, Mapped, Physical

if TYPE_CHECKING:
    from cannery.runtime.machine import Machine

GIANT_PAGE: Final = 1 << 30
HINT_FROM: Final = 16 << 40
HINT_TO: Final = 24 << 40
FREE_PLACEMENT: Final = ("950PR", "950DT")  # products that take no address hint

# aclrtMemLocationType
HOST: Final = 0
DEVICE: Final = 1
NO_LOCATION: Final = (2, 3)  # unregistered, managed
HOST_NUMA: Final = 4

# aclrtMemAttr, as far as physical memory has it.
HOST_ATTRIBUTES: Final = frozenset((2, 3, 6, 7))
GIANT_ATTRIBUTES: Final = frozenset((10, 14, 17))
ATTRIBUTES: Final = frozenset((4, 5, *range(12, 18))) | HOST_ATTRIBUTES | GIANT_ATTRIBUTES

ACCESS_FLAGS: Final = (0, 1, 3)
GRANULARITY_OPTIONS: Final = (0, 1)

Location = tuple[int, int]  # id, type
Properties = tuple[int, int, int, Location, int]  # handle type, allocation type, attribute, location, reserved


# Addresses.


@call("aclrtReserveMemAddress")
def reserve_mem_address(
    machine: "Machine", thread: Thread, out: int, size: int, alignment: int, hint: int, flags: int
) -> Any:
    _check_reservation(out, size, flags)
    machine.hold()
    _check_alignment(alignment)
    if not hint:
        return _reserve(machine, size, 0)
    if machine.profile.name in FREE_PLACEMENT:
        raise unsupported("the argument expectPtr is {:#x}, but this product chooses addresses itself", hint)
    if not hint >= HINT_FROM or hint + size > HINT_TO:
        raise out_of_range(
            "the argument expectPtr is {:#x}; pass null, or an address from {:#x} to {:#x}", hint, HINT_FROM, HINT_TO
        )
    unit = GRANULE if size < GIANT_PAGE else GIANT_PAGE
    if hint % unit:
        raise out_of_range("the argument expectPtr ({:#x}) is not aligned to {:#x}", hint, unit)
    return _reserve(machine, size, hint)


@call("aclrtReserveMemAddressNoUCMemory")
def reserve_mem_address_no_uc(
    machine: "Machine", thread: Thread, out: int, size: int, alignment: int, hint: int, flags: int
) -> Any:
    _check_reservation(out, size, flags)
    machine.hold()
    _check_alignment(alignment)
    if size % GIANT_PAGE:
        raise out_of_range("the argument size is {:#x}; pass a multiple of 1 GiB", size)
    if not hint or hint % GIANT_PAGE:
        raise out_of_range("the argument expectPtr is {:#x}; pass an address that is aligned to 1 GiB", hint)
    return _reserve(machine, size, hint)


def _check_reservation(out: int, size: int, flags: int) -> None:
    if not out:
        raise null("virPtr")
    if not size:
        raise invalid("the argument size is 0; pass a number of bytes above 0")
    if flags > 1:
        raise invalid("the argument flags is {:#x}; pass 0", flags)


def _check_alignment(alignment: int) -> None:
    if alignment:
        raise out_of_range("the argument alignment is {}; pass 0", alignment)


def _reserve(machine: "Machine", size: int, hint: int) -> Any:
    virtual = machine.memory.virtual
    reservation = virtual.reserve_at(hint, size) if hint else virtual.reserve(size)
    if reservation is None:
        raise Refused(
            ACL_ERROR_RT_MEMORY_ALLOCATION,
            "there are not {} addresses free{}; release some (aclrtReleaseMemAddress)",
            size, f" at {hint:#x}" if hint else "",
        )  # fmt: skip
    return 0, reservation.address


@call("aclrtReleaseMemAddress")
def release_mem_address(machine: "Machine", thread: Thread, address: int) -> int:
    if not address:
        raise null("virPtr")
    machine.hold()
    virtual = machine.memory.virtual
    reservation = virtual.reservation_at(address)
    if reservation is None:
        raise out_of_range("the argument virPtr ({:#x}) is not where reserved addresses begin", address)
    if reservation.mappings:
        raise out_of_range("the addresses from {:#x} are mapped; call aclrtUnmapMem first", address)
    virtual.release(reservation)
    return 0


# Physical memory.


def _check_properties(properties: Properties) -> None:
    attribute, location = properties[2], properties[3]
    if location[1] == DEVICE and attribute in HOST_ATTRIBUTES:
        raise invalid("memAttr is {}, which only host memory has, but location.type is a device", attribute)
    if attribute not in ATTRIBUTES:
        raise invalid("memAttr is {}; pass ACL_MEM_HUGE, or another attribute of physical memory", attribute)


def _granularity(machine: "Machine", properties: Properties) -> int:
    if properties[2] not in GIANT_ATTRIBUTES:
        return GRANULE
    if not machine.profile.giant_pages:
        raise unsupported("memAttr is {}, but this product has no pages of 1 GiB", properties[2])
    return GIANT_PAGE


def _device_of(machine: "Machine", location: Location) -> Device:
    """Other types of location than those that have a name count as a device (shown by the conformance programs)."""
    if location[1] in (HOST, HOST_NUMA):
        raise unsupported("location.type is {}, but the model has physical memory of devices only", location[1])
    return device_named(machine, location[0])


@call("aclrtMallocPhysical")
def malloc_physical(
    machine: "Machine", thread: Thread, out: int, size: int, properties: Properties | None, flags: int
) -> Any:
    if not out:
        raise null("handle")
    if properties is None:
        raise null("prop")
    if not size:
        raise invalid("the argument size is 0; pass a number of bytes above 0")
    if flags:
        raise invalid("the argument flags is {:#x}; pass 0", flags)
    if properties[0]:
        raise invalid("handleType is {}; pass ACL_MEM_HANDLE_TYPE_NONE (0)", properties[0])
    if properties[1]:
        raise invalid("allocationType is {}; pass ACL_MEM_ALLOCATION_TYPE_PINNED (0)", properties[1])
    if properties[3][1] in NO_LOCATION:
        raise invalid("location.type is {}; pass ACL_MEM_LOCATION_TYPE_DEVICE (1)", properties[3][1])
    _check_properties(properties)
    machine.hold()
    device = _device_of(machine, properties[3])
    granularity = _granularity(machine, properties)
    if not device.contexts:
        raise driver_fault("device {} is not open in this process; call aclrtSetDevice first", device.user)
    allocation = machine.memory.take(device, -(-size // granularity) * granularity)
    if allocation is None:
        memory = machine.memory.devices[device.index]
        raise Refused(
            ACL_ERROR_RT_MEMORY_ALLOCATION, "device {} has not {} bytes left: {} of {} are in use",
            device.user, size, memory.used, memory.capacity,
        )  # fmt: skip
    physical = Physical(machine.new_handle(), allocation, size)
    physical.attribute = properties[2]
    physical.location = properties[3]
    physical.reserve = properties[4]
    machine.memory.virtual.physical[physical.handle] = physical
    return 0, physical.handle


def physical_of(machine: "Machine", handle: int) -> Physical:
    """Raises 107017: the handle is not that of physical memory."""
    physical = machine.memory.virtual.physical.get(handle)
    if physical is None:
        raise stale("physical memory", handle)
    return physical


@call("aclrtFreePhysical")
def free_physical(machine: "Machine", thread: Thread, handle: int) -> int:
    """Gives one reference of the handle back. The memory is free once nothing maps it."""
    if not handle:
        raise null("handle")
    machine.hold()
    physical = physical_of(machine, handle)
    physical.references -= 1
    if not physical.references:
        del machine.memory.virtual.physical[handle]
        _let_go(machine, physical)
    return 0


def _let_go(machine: "Machine", physical: Physical) -> None:
    if not physical.references and not physical.mappings and physical.allocation.live:
        machine.memory.give_back(physical.allocation)


@call("aclrtMemGetAllocationGranularity")
def mem_get_allocation_granularity(
    machine: "Machine", thread: Thread, properties: Properties | None, option: int, out: int
) -> Any:
    if properties is None:
        raise null("prop")
    if not out:
        raise null("granularity")
    _check_properties(properties)
    if properties[3][1] == DEVICE:
        device_named(machine, properties[3][0])
    if option not in GRANULARITY_OPTIONS:
        raise out_of_range("the argument option is {}; pass a constant of aclrtMemGranularityOptions", option)
    return 0, _granularity(machine, properties)


@call("aclrtMemGetAllocationPropertiesFromHandle")
def mem_get_allocation_properties(machine: "Machine", thread: Thread, handle: int, out: int) -> Any:
    if not handle:
        raise null("handle")
    if not out:
        raise null("prop")
    physical = physical_of(machine, handle)
    return 0, (0, 0, physical.attribute, physical.location, physical.reserve)


# Mappings.


def _map(machine: "Machine", address: int, size: int, offset: int, handle: int, flags: int) -> Mapped:
    if not address:
        raise null("virPtr")
    if not handle:
        raise null("handle")
    if not size:
        raise invalid("the argument size is 0; pass the size of the physical memory")
    if flags:
        raise invalid("the argument flags is {:#x}; pass 0", flags)
    machine.hold()
    physical = physical_of(machine, handle)
    if size != physical.size or size % GRANULE or offset:
        raise out_of_range(
            "size is {:#x} and offset {:#x}; pass the size that was given to aclrtMallocPhysical ({:#x}), which has to "
            "be a multiple of {:#x}, and offset 0",
            size, offset, physical.size, GRANULE,
        )  # fmt: skip
    virtual = machine.memory.virtual
    reservation = virtual.reserved(address)
    if reservation is None or address + size > reservation.address + reservation.size or address % GRANULE:
        raise out_of_range(
            "the {:#x} addresses from virPtr ({:#x}) are not in one reservation, or not aligned to {:#x}",
            size, address, GRANULE,
        )  # fmt: skip
    if virtual.overlaps(address, size):
        raise out_of_range("some of the {:#x} addresses from virPtr ({:#x}) are mapped already", size, address)
    device = physical.allocation.device
    assert device is not None
    bound = reservation.device
    if bound is not None and bound is not device:
        raise out_of_range(
            "the reservation at {:#x} has memory of device {}, so it cannot have memory of device {} too",
            reservation.address, bound.user, device.user,
        )  # fmt: skip
    place = machine.memory.place(physical.allocation.address)
    mapping = Mapped(address, size, physical, place.offset, reservation)
    virtual.map(mapping)
    return mapping


@call("aclrtMapMem")
def map_mem(machine: "Machine", thread: Thread, address: int, size: int, offset: int, handle: int, flags: int) -> int:
    """The device that has the memory may read and write it from the start."""
    mapping = _map(machine, address, size, offset, handle, flags)
    mapping.access[mapping.device.user, DEVICE] = ACCESS_READWRITE
    return 0


@call("aclrtMemMapNoAccess")
def mem_map_no_access(
    machine: "Machine", thread: Thread, address: int, size: int, offset: int, handle: int, flags: int
) -> int:
    _map(machine, address, size, offset, handle, flags)
    return 0


def _mapping_at(machine: "Machine", address: int) -> Mapped:
    mapping = machine.memory.virtual.mapping_at(address)
    if mapping is None:
        raise out_of_range(
            "the argument virPtr ({:#x}) is {}; pass the address that was given to aclrtMapMem",
            address, describe(machine.memory.place(address)),
        )  # fmt: skip
    return mapping


@call("aclrtUnmapMem")
def unmap_mem(machine: "Machine", thread: Thread, address: int) -> int:
    """At once, whatever is queued: a queued task that still needs the memory fails when it runs."""
    if not address:
        raise null("virPtr")
    machine.hold()
    mapping = _mapping_at(machine, address)
    machine.memory.virtual.unmap(mapping)
    _let_go(machine, mapping.physical)
    return 0


@call("aclrtMemSetAccess")
def mem_set_access(
    machine: "Machine",
    thread: Thread,
    address: int,
    size: int,
    descriptions: tuple[tuple[int, Location, bytes], ...] | None,
    count: int,
) -> int:
    if not address:
        raise out_of_range("the argument virPtr is null; pass the address that was given to aclrtMapMem")
    if descriptions is None or not count:
        raise out_of_range("the argument desc is null, or count is 0; pass the rights of one location at least")
    mapping = _mapping_at(machine, address)
    if size != mapping.size:
        raise out_of_range("the argument size is {:#x}; pass the size of the mapping ({:#x})", size, mapping.size)
    for flags, location, _ in descriptions:
        if flags not in ACCESS_FLAGS:
            raise out_of_range("desc.flags is {}; pass a constant of aclrtMemAccessFlags", flags)
        if location[1] == DEVICE:
            device_named(machine, location[0])
        elif location[1] != HOST:
            raise out_of_range("desc.location.type is {}; pass a device or the host", location[1])
    for flags, location, _ in descriptions:
        mapping.access[location if location[1] == DEVICE else (0, HOST)] = flags
    return 0


@call("aclrtMemGetAccess")
def mem_get_access(machine: "Machine", thread: Thread, address: int, location: Location | None, out: int) -> Any:
    if not address:
        raise null("virPtr")
    if location is None:
        raise null("location")
    if not out:
        raise null("flag")
    if location[1] not in (HOST, DEVICE):
        raise out_of_range("location.type is {}; pass a device or the host", location[1])
    mapping = _mapping_at(machine, address)
    return 0, mapping.access.get(location if location[1] == DEVICE else (0, HOST), 0)


@call("aclrtMemRetainAllocationHandle")
def mem_retain_allocation_handle(machine: "Machine", thread: Thread, address: int, out: int) -> Any:
    """The handle of what is mapped there, which then has to be freed once more."""
    if not address:
        raise null("virPtr")
    if not out:
        raise null("handle")
    physical = _mapping_at(machine, address).physical
    physical.references += 1
    machine.memory.virtual.physical[physical.handle] = physical
    return 0, physical.handle


@call("aclrtMemExportToShareableHandle")
def mem_export_to_shareable_handle(
    machine: "Machine", thread: Thread, handle: int, handle_type: int, flags: int, out: int
) -> Any:
    """Only its checks: there is no sharing between processes yet."""
    if not handle:
        raise null("handle")
    if handle_type:
        raise invalid("the argument handleType is {}; pass ACL_MEM_HANDLE_TYPE_NONE (0)", handle_type)
    if not out:
        raise null("shareableHandle")
    machine.hold()
    if flags > 1:
        raise out_of_range("the argument flags is {:#x}; pass ACL_RT_VMM_EXPORT_FLAG_DEFAULT (0)", flags)
    physical_of(machine, handle)
    raise unsupported("memory cannot be shared with other processes yet")
