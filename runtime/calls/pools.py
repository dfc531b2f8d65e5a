"""Memory pools and allocation in stream order (reference implementation for the checks; ``runtime/pools.py`` has what
becomes of the memory)."""

from typing import TYPE_CHECKING, Any, Final

from cannery.runtime.calls.devices import device_named
from cannery.runtime.calls.registry import call
from cannery.runtime.calls.streams import live_stream, submission_stream
from cannery.runtime.errors import (
    ACL_ERROR_RT_INTERNAL_ERROR,
    Refused,
    driver_fault,
    invalid,
    null,
    out_of_range,
    unsupported,
)
from cannery.runtime.memory_tasks import FreeLater, Turn
from cannery.runtime.objects import Stream, Thread
from cannery.runtime.pools import (
    GRANULE,
    RESERVED,
    RESERVED_HIGH,
    SHARING,
    THRESHOLD,
    USED,
    USED_HIGH,
    Pool,
    PoolFree,
)

if TYPE_CHECKING:
    from cannery.runtime.machine import Machine

DEVICE_LOCATION: Final = 1
ATTRIBUTES: Final = 8

Properties = tuple[int, int, tuple[int, int], int, bytes]  # allocation, handle, location (id, type), size, reserved


def _pool_error(text: str, *values: object) -> Refused:
    """(R) 507000: what the reference implementation answers for all that goes wrong with a pool itself."""
    return Refused(ACL_ERROR_RT_INTERNAL_ERROR, text, *values)


@call("aclrtMemPoolCreate")
def mem_pool_create(machine: "Machine", thread: Thread, out: int, properties: Properties | None) -> Any:
    if not out:
        raise null("memPool")
    if properties is None:
        raise null("poolProps")
    kind, _, location, size, reserved = properties
    if kind:
        raise invalid("allocType is {}; pass ACL_MEM_ALLOCATION_TYPE_PINNED (0)", kind)
    if location[1] != DEVICE_LOCATION:
        raise invalid("location.type is {}; pass ACL_MEM_LOCATION_TYPE_DEVICE (1)", location[1])
    if any(reserved):
        raise invalid("reserved has to be all 0")
    machine.hold()
    machine.context_of(thread)
    device = device_named(machine, location[0])
    if not device.contexts:
        raise driver_fault("device {} is not open in this process; call aclrtSetDevice first", device.user)
    capacity = machine.memory.devices[device.index].capacity
    most = -(-size // GRANULE) * GRANULE if size else capacity // GRANULE * GRANULE
    if most > capacity:
        raise out_of_range("maxSize is {}, above what device {} has, which is {}", size, device.user, capacity)
    pool = Pool(machine.new_handle(), device, most)
    machine.memory.pools[pool.handle] = pool
    return 0, pool.handle


@call("aclrtMemPoolDestroy")
def mem_pool_destroy(machine: "Machine", thread: Thread, handle: int) -> int:
    if not handle:
        raise null("memPool")
    machine.hold()
    machine.context_of(thread)
    pool = _pool(machine, handle)
    if pool.used:
        raise _pool_error("{} bytes of the pool {:#x} are in use; free them first", pool.used, handle)
    for segment in pool.kept:
        pool.give_back(machine.memory, segment)
    del machine.memory.pools[handle]
    return 0


def _pool(machine: "Machine", handle: int) -> Pool:
    pool = machine.memory.pools.get(handle)
    if pool is None:
        raise _pool_error("the argument memPool ({:#x}) is not the handle of a memory pool", handle)
    return pool


def _attribute_pool(machine: "Machine", handle: int, value: int, attribute: int) -> Pool:
    """The pool of a call that reads or sets an attribute."""
    if not handle:
        raise null("memPool")
    machine.hold()
    if not value:
        raise out_of_range("the argument value is null; pass the address of a number")
    pool = machine.memory.pools.get(handle)
    if pool is None:
        raise out_of_range("the argument memPool ({:#x}) is not the handle of a memory pool", handle)
    if not 1 <= attribute <= ATTRIBUTES:
        raise _pool_error("the argument attr is {}; pass a constant of aclrtMemPoolAttr", attribute)
    return pool


def _width(attribute: int) -> int:
    return 4 if attribute in SHARING else 8


@call("aclrtMemPoolSetAttr")
def mem_pool_set_attr(machine: "Machine", thread: Thread, handle: int, attribute: int, address: int) -> int:
    pool = _attribute_pool(machine, handle, address, attribute)
    if attribute in (RESERVED, USED):
        raise out_of_range("the attribute {} can only be read", attribute)
    content = bytearray(_width(attribute))
    if not machine.port.read(address, memoryview(content)):
        raise driver_fault("the {} bytes at value ({:#x}) are not readable", len(content), address)
    value = int.from_bytes(content, "little")
    if attribute in SHARING:
        pool.settings[attribute] = int(value != 0)
    elif attribute == THRESHOLD:
        if value > pool.size:
            raise _pool_error("the threshold {} is above the size of the pool, which is {}", value, pool.size)
        pool.settings[THRESHOLD] = value
    elif value:
        raise _pool_error("the attribute {} can only be set to 0", attribute)
    elif attribute == RESERVED_HIGH:
        pool.reserved_high = 0
    else:
        pool.used_high = 0
    return 0


@call("aclrtMemPoolGetAttr")
def mem_pool_get_attr(machine: "Machine", thread: Thread, handle: int, attribute: int, address: int) -> int:
    pool = _attribute_pool(machine, handle, address, attribute)
    values = {
        **pool.settings,
        RESERVED: pool.reserved,
        RESERVED_HIGH: pool.reserved_high,
        USED: pool.used,
        USED_HIGH: pool.used_high,
    }
    content = values[attribute].to_bytes(_width(attribute), "little")
    if not machine.port.write(address, memoryview(content)):
        raise driver_fault("the {} bytes at value ({:#x}) are not writable", len(content), address)
    return 0


def _stream(machine: "Machine", thread: Thread, handle: int) -> Stream:
    """The stream, which cannot be the default one by null, of an allocation or release."""
    if not handle:
        raise null("stream")
    machine.hold()
    named = live_stream(machine, handle)
    stream = submission_stream(machine, machine.context_of(thread), handle, named)
    if stream.lane is not None:
        raise unsupported("the stream {:#x} is in capture, or of a model instance, which have no memory pools", handle)
    return stream


@call("aclrtMemPoolMallocAsync")
def mem_pool_malloc_async(
    machine: "Machine", thread: Thread, out: int, size: int, handle: int, stream_handle: int
) -> Any:
    """The address is memory from now on, which only the tasks of the stream may use before it gets there."""
    if not out:
        raise null("ptr")
    if not handle:
        raise null("memPool")
    if not stream_handle:
        raise null("stream")
    if not size:
        return 0
    stream = _stream(machine, thread, stream_handle)
    pool = _pool(machine, handle)
    task = Turn()
    task.cost = machine.profile.event_ns
    task.stream = stream
    machine.schedule.check(task)
    allocation = pool.allocate(machine.memory, size, stream)
    if allocation is None:
        raise _pool_error(
            "the pool {:#x} has not {} bytes left: {} of {} are in use, and {} kept for other sizes or streams; free "
            "memory, or call aclrtMemPoolTrimTo",
            handle, size, pool.used, pool.size, pool.reserved - pool.used,
        )  # fmt: skip
    machine.schedule.submit(task)
    return 0, allocation.address


@call("aclrtMemPoolFreeAsync")
def mem_pool_free_async(machine: "Machine", thread: Thread, address: int, stream_handle: int) -> int:
    """Takes memory of pools and of aclrtMalloc. What is no memory is refused, where the reference implementation only
    logs that it is none."""
    if not address:
        raise null("ptr")
    stream = _stream(machine, thread, stream_handle)
    memory = machine.memory
    allocation = memory.device_allocations.at(address)
    if allocation is None:
        raise out_of_range("the argument ptr ({:#x}) is not where allocated memory begins", address)
    pooled = memory.pooled.get(address)
    if pooled is None:
        later = FreeLater()
        later.allocation = allocation
        later.cost = machine.profile.event_ns
        later.stream = stream
        machine.schedule.submit(later)
        return 0
    task = PoolFree()
    task.allocation = allocation
    task.cost = machine.profile.event_ns
    task.stream = stream
    machine.schedule.submit(task)
    memory.device_allocations.remove(address)
    del memory.pooled[address]
    pooled[0].keep(pooled[1], task)
    return 0


@call("aclrtMemPoolTrimTo")
def mem_pool_trim_to(machine: "Machine", thread: Thread, handle: int, least: int) -> int:
    if not handle:
        raise null("memPool")
    machine.hold()
    pool = _pool(machine, handle)
    if least > pool.size:
        raise _pool_error("the argument minBytesToKeep is {}, above the size of the pool ({})", least, pool.size)
    if least < pool.reserved:
        if least < pool.used:
            raise _pool_error("the argument minBytesToKeep is {}, but {} bytes are in use", least, pool.used)
        pool.trim(machine.memory, least)
    return 0
