"""Registered host memory: host memory of the program that devices may use (reference documents for what the calls do,
reference implementation for the order of checks and the numbers).

The device address of registered memory is for kernels only; copies do not take it (reference documents).
"""

from typing import TYPE_CHECKING, Any, Final

from cannery.runtime.calls.devices import device_named
from cannery.runtime.calls.registry import call
from cannery.runtime.errors import (
    ACL_ERROR_HOST_MEMORY_ALREADY_REGISTERED,
    ACL_ERROR_HOST_MEMORY_NOT_REGISTERED,
    ACL_ERROR_RT_MEMORY_ALLOCATION,
    Refused,
    invalid,
    null,
    out_of_range,
    unsupported,
)
from cannery.runtime.objects import Thread
from cannery.runtime.places import Registration

if TYPE_CHECKING:
    from cannery.runtime.machine import Machine

PAGE: Final = 4096

# aclrtHostRegisterType and the flags of aclrtHostRegisterV2
MAPPED: Final = 2
IOMEMORY: Final = 4
READONLY: Final = 8
PINNED: Final = 0x1000_0000

HARDWARE_TYPES: Final = 10  # aclrtHacType
MAPPING_PRODUCTS: Final = ("950PR", "950DT", "A3", "A2")  # those that have aclrtHostRegister


def _register(machine: "Machine", thread: Thread, address: int, size: int, mapped: bool) -> Registration:
    device = machine.context_of(thread).device
    before = machine.memory.registered.below(address + size - 1)
    if before is not None and before.address + before.size > address:
        raise Refused(
            ACL_ERROR_HOST_MEMORY_ALREADY_REGISTERED,
            "host memory from {:#x} to {:#x} is registered already; call aclrtHostUnregister first",
            before.address, before.address + before.size,
        )  # fmt: skip
    if address % PAGE:
        raise out_of_range("the argument ptr ({:#x}) is not aligned to a page of {} bytes", address, PAGE)
    registration = machine.memory.register(address, size, device, mapped)
    if registration is None:
        raise Refused(
            ACL_ERROR_RT_MEMORY_ALLOCATION, "there are not {} device addresses left for registered memory", size
        )
    return registration


@call("aclrtHostRegister")
def host_register(machine: "Machine", thread: Thread, address: int, size: int, kind: int, out: int) -> Any:
    if not address:
        raise null("ptr")
    if not size:
        raise invalid("the argument size is 0; pass a number of bytes above 0")
    if not out:
        raise null("devPtr")
    machine.hold()
    if kind:
        raise unsupported("the argument type is {:#x}; only ACL_HOST_REGISTER_MAPPED (0) is there yet", kind)
    window = _register(machine, thread, address, size, True).window
    assert window is not None
    return 0, window.address


@call("aclrtHostRegisterV2")
def host_register_v2(machine: "Machine", thread: Thread, address: int, size: int, flags: int) -> int:
    if not address:
        raise null("ptr")
    if not size:
        raise invalid("the argument size is 0; pass a number of bytes above 0")
    machine.hold()
    if not flags or flags & ~(MAPPED | IOMEMORY | READONLY | PINNED):
        raise out_of_range("the argument flag is {:#x}; pass ACL_HOST_REG_MAPPED, ACL_HOST_REG_PINNED or both", flags)
    if flags & (IOMEMORY | READONLY):
        raise unsupported("the argument flag is {:#x}; ACL_HOST_REG_IOMEMORY and _READONLY are reserved", flags)
    pinned = machine.memory.pinned.below(address)
    if flags & PINNED and pinned is not None and address < pinned.address + pinned.size:
        raise out_of_range(
            "the argument flag has ACL_HOST_REG_PINNED, but the memory at ptr ({:#x}) is pinned already", address
        )
    _register(machine, thread, address, size, flags & MAPPED != 0)
    return 0


@call("aclrtHostUnregister")
def host_unregister(machine: "Machine", thread: Thread, address: int) -> int:
    """At once, whatever is queued: a queued copy that still needs it fails when it runs."""
    if not address:
        raise null("ptr")
    machine.hold()
    machine.context_of(thread)
    registration = machine.memory.registered.at(address)
    if registration is None:
        raise Refused(
            ACL_ERROR_HOST_MEMORY_NOT_REGISTERED,
            "the argument ptr ({:#x}) is not where registered host memory begins", address,
        )  # fmt: skip
    machine.memory.unregister(registration)
    return 0


@call("aclrtHostGetDevicePointer")
def host_get_device_pointer(machine: "Machine", thread: Thread, address: int, out: int, flag: int) -> Any:
    if not address:
        raise null("pHost")
    if not out:
        raise null("pDevice")
    if flag:
        raise invalid("the argument flag is {:#x}; pass 0", flag)
    machine.hold()
    machine.context_of(thread)
    registration = machine.memory.registered.at(address)
    if registration is None or registration.window is None:
        raise out_of_range(
            "the argument pHost ({:#x}) is not where host memory begins that is registered with device addresses; "
            "register it with aclrtHostRegister, or aclrtHostRegisterV2 and ACL_HOST_REG_MAPPED",
            address,
        )
    return 0, registration.window.address


@call("aclrtHostMemMapCapabilities")
def host_mem_map_capabilities(machine: "Machine", thread: Thread, device_id: int, kind: int, out: int) -> Any:
    """The same for every kind of hardware (invented)."""
    if not out:
        raise null("capabilities")
    machine.hold()
    device_named(machine, device_id)
    if not 0 <= kind < HARDWARE_TYPES:
        raise out_of_range("the argument hacType is {}; pass a constant of aclrtHacType", kind)
    machine.context_of(thread)
    return 0, int(machine.profile.name in MAPPING_PRODUCTS)
