"""What memory there is, and what an address is (semantics.md 3, and for the rest the reference implementation)."""

from typing import TYPE_CHECKING, Any, Final

from cannery.runtime.calls.devices import device_named
from cannery.runtime.calls.memory import describe
from cannery.runtime.calls.registry import call
from cannery.runtime.errors import ACL_ERROR_RT_INVALID_MEMORY_TYPE, Refused, invalid, null, out_of_range
from cannery.runtime.memory import LARGE_GRANULE
from cannery.runtime.objects import Thread
from cannery.runtime.places import DEVICE, PINNED, Place

if TYPE_CHECKING:
    from cannery.runtime.machine import Machine

# aclrtMemAttr: which memory an attribute asks about.
DDR_ATTRIBUTES: Final = frozenset((0, 2, 3, 6, 7))
GIANT_ATTRIBUTES: Final = frozenset((10, 11, 14, 17))
ATTRIBUTES: Final = 18

# aclrtMemLocationType
HOST_LOCATION: Final = 0
DEVICE_LOCATION: Final = 1
UNREGISTERED: Final = 2

# ACL_RT_MEM_TYPE_*: memory of devices, of the image unit, reserved (the header; the reference documents say 0x20)
DEVICE_TYPE: Final = 0x2
TYPES: Final = DEVICE_TYPE | 0x8 | 0x10

COMPONENT: Final = b"APP"  # that all memory of the model is for (invented)
SMALL_PAGE: Final = 4096
MOST_READ: Final = 65535  # longer arrays are not read (CANNERY_MOST in shim.h)


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
    return 0, memory.budget.left(), memory.capacity


@call("aclrtGetMemUsageInfo")
def get_mem_usage_info(machine: "Machine", thread: Thread, device_id: int, out: int, room: int, out_count: int) -> Any:
    if not out:
        raise null("memUsageInfo")
    if not out_count:
        raise null("outputNum")
    if not room:
        raise out_of_range("the argument inputNum is 0; pass a number of components above 0")
    device = device_named(machine, device_id)
    machine.context_of(thread)
    memory = machine.memory.devices[device.index]
    return 0, ((COMPONENT, memory.used, memory.peak, (0,) * 8),), 1


@call("aclrtPointerGetAttributes")
def pointer_get_attributes(machine: "Machine", thread: Thread, address: int, out: int) -> Any:
    if not address:
        raise null("ptr")
    if not out:
        raise null("attributes")
    place = machine.memory.place(address)
    if place.kind is DEVICE:
        device = place.device
        if device is None:
            raise out_of_range("the argument ptr ({:#x}) is {}", address, describe(place))
        return 0, ((device.user, DEVICE_LOCATION), _page_size(place), (0, 0, 0, 0))
    if place.kind is PINNED:
        return 0, ((0, HOST_LOCATION), SMALL_PAGE, (0, 0, 0, 0))
    return 0, ((0, UNREGISTERED), 0, (0, 0, 0, 0))


def _page_size(place: Place) -> int:
    assert place.allocation is not None
    return SMALL_PAGE if place.allocation.size < LARGE_GRANULE else LARGE_GRANULE


@call("aclrtMemGetAddressRange")
def mem_get_address_range(machine: "Machine", thread: Thread, address: int, out_base: int, out_size: int) -> Any:
    """The allocation or mapping that an address lies in. One of the outputs may be null."""
    if not address:
        raise null("ptr")
    if not out_base and not out_size:
        raise out_of_range("the arguments pbase and psize are both null; pass the address of one of them at least")
    place = machine.memory.place(address)
    if place.allocation is None:
        raise out_of_range("the argument ptr ({:#x}) is {}, which has no range", address, describe(place))
    allocation = place.allocation
    return 0, allocation.address if out_base else None, allocation.size if out_size else None


@call("aclrtCheckMemType")
def check_mem_type(
    machine: "Machine",
    thread: Thread,
    addresses: tuple[int, ...] | None,
    count: int,
    types: int,
    out: int,
    reserved: int,
) -> Any:
    """Whether all addresses are of one of the types; all memory of the model's devices is of the same."""
    if addresses is None:
        raise null("addrList")
    if not out:
        raise null("checkResult")
    if reserved:
        raise out_of_range("the argument reserve is {}; pass 0", reserved)
    if not count or count > MOST_READ:
        raise out_of_range("the argument size is {}; pass a number of addresses from 1 to {}", count, MOST_READ)
    if not types or types & ~TYPES:
        raise out_of_range("the argument memType is {:#x}; pass constants ACL_RT_MEM_TYPE_...", types)
    machine.context_of(thread)
    wanted = types & DEVICE_TYPE != 0
    return 0, int(wanted and all(machine.memory.place(address).device is not None for address in addresses))


def _check_range(address: int, size: int) -> int:
    if not address:
        raise null("devPtr")
    if not size:
        raise invalid("the argument size is 0; pass a number of bytes above 0")
    return 0


@call("aclrtMemFlush")
def mem_flush(machine: "Machine", thread: Thread, address: int, size: int) -> int:
    """Nothing to do: caches are coherent (reference documents)."""
    return _check_range(address, size)


@call("aclrtMemInvalidate")
def mem_invalidate(machine: "Machine", thread: Thread, address: int, size: int) -> int:
    """Nothing to do, as above."""
    return _check_range(address, size)
