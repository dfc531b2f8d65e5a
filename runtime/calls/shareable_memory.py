"""Physical memory that other processes import (reference documents, chapter 11-04; reference implementation for the
order of checks). The V2 forms pass the number by address, or the 128 bytes that mean it to other servers."""

from typing import TYPE_CHECKING, Any, Final

from cannery.runtime import exchange
from cannery.runtime.calls import sharing
from cannery.runtime.calls.devices import device_named
from cannery.runtime.calls.registry import call
from cannery.runtime.calls.virtual_memory import DEVICE, physical_of
from cannery.runtime.errors import driver_fault, invalid, null, out_of_range, unsupported
from cannery.runtime.objects import Device, Thread
from cannery.runtime.places import Imported
from cannery.runtime.virtual import Physical

if TYPE_CHECKING:
    from cannery.runtime.machine import Machine

NO_LIST: Final = 1  # ACL_RT_VMM_EXPORT_FLAG_DISABLE_PID_VALIDATION
ON_SERVER: Final = 1  # ACL_MEM_SHARE_HANDLE_TYPE_DEFAULT
BETWEEN_SERVERS: Final = 2  # ACL_MEM_SHARE_HANDLE_TYPE_FABRIC


def _kind(machine: "Machine", share_type: int) -> int:
    """The kind of key that a type of shareable handle is."""
    if share_type == ON_SERVER:
        return exchange.PHYSICAL_BYTES
    if share_type != BETWEEN_SERVERS:
        raise out_of_range("the argument shareType is {}; pass a constant of aclrtMemSharedHandleType", share_type)
    if not machine.profile.other_servers:
        raise unsupported("product {} does not share memory with other servers; pass shareType 1", machine.profile.name)
    return exchange.FABRIC


def _export(machine: "Machine", handle: int, flags: int, kind: int) -> Any:
    if flags > NO_LIST:
        raise out_of_range(
            "the argument flags is {:#x}; pass ACL_RT_VMM_EXPORT_FLAG_DEFAULT (0) or _DISABLE_PID_VALIDATION (1)", flags
        )
    physical = physical_of(machine, handle)
    allocation = physical.allocation
    if isinstance(allocation, Imported):
        raise driver_fault("the physical memory {:#x} is another process's, and only that one shares it", handle)
    if physical.exported:
        raise driver_fault("the physical memory {:#x} is shared already, and gets no second handle", handle)
    device = allocation.device
    assert device is not None
    offset = machine.memory.place(allocation.address).offset
    entry, key = machine.port.exchange.share(kind, device.index, offset, physical.size, not flags)
    if not entry:
        raise sharing.alone()
    physical.exported = True
    machine.memory.sharing.share(entry, allocation)
    return 0, key


@call("aclrtMemExportToShareableHandle")
def mem_export_to_shareable_handle(
    machine: "Machine", thread: Thread, handle: int, handle_type: int, flags: int, out: int
) -> Any:
    if not handle:
        raise null("handle")
    if handle_type:
        raise invalid("the argument handleType is {}; pass ACL_MEM_HANDLE_TYPE_NONE (0)", handle_type)
    if not out:
        raise null("shareableHandle")
    machine.hold()
    return _export(machine, handle, flags, exchange.PHYSICAL)


@call("aclrtMemExportToShareableHandleV2")
def mem_export_to_shareable_handle_v2(
    machine: "Machine", thread: Thread, handle: int, flags: int, share_type: int, out: int
) -> Any:
    if not handle:
        raise null("handle")
    if not out:
        raise null("shareableHandle")
    machine.hold()
    kind = _kind(machine, share_type)
    if kind == exchange.FABRIC:
        machine.context_of(thread)
    return _export(machine, handle, flags, kind)


def _import(machine: "Machine", device: Device, key: Any, kind: int) -> Any:
    entry, home, size = sharing.open_entry(machine, kind, key, "piece of physical memory")
    shared = machine.memory.sharing
    if entry in shared.physical:
        raise driver_fault("this process has imported that memory already; use the handle that it got then")
    store = machine.port.exchange.store(entry, size)
    if store is None:
        machine.port.exchange.close(entry)
        raise driver_fault("the process that shared that memory ended, or closed the descriptor of its device memory")
    if home != device.index:
        device.peers.add(home)
    physical = Physical(machine.new_handle(), Imported(entry, key, size, device, store), size)
    physical.location = (device.user, DEVICE)
    shared.any = True
    shared.physical.add(entry)
    machine.memory.virtual.physical[physical.handle] = physical
    return 0, physical.handle


@call("aclrtMemImportFromShareableHandle")
def mem_import_from_shareable_handle(machine: "Machine", thread: Thread, key: Any, device_id: int, out: int) -> Any:
    """The devices of both processes reach each other from then on (reference implementation)."""
    if not out:
        raise null("handle")
    machine.hold()
    device = device_named(machine, device_id)
    machine.context_of(thread)
    return _import(machine, device, key, exchange.PHYSICAL)


@call("aclrtMemImportFromShareableHandleV2")
def mem_import_from_shareable_handle_v2(
    machine: "Machine", thread: Thread, key: Any, share_type: int, flags: int, out: int
) -> Any:
    if key is None:
        raise null("shareableHandle")
    if not out:
        raise null("handle")
    if flags:
        raise invalid("the argument flags is {:#x}; pass 0", flags)
    machine.hold()
    device = machine.context_of(thread).device
    return _import(machine, device, key, _kind(machine, share_type))


def _check_list(processes: tuple[int, ...] | None, count: int) -> tuple[int, ...]:
    if processes is None:
        raise null("pid")
    if not count:
        raise invalid("the argument pidNum is 0; pass how many process ids are in the array")
    return processes


@call("aclrtMemSetPidToShareableHandle")
def mem_set_pid_to_shareable_handle(
    machine: "Machine", thread: Thread, key: Any, processes: tuple[int, ...] | None, count: int
) -> int:
    named = _check_list(processes, count)
    machine.hold()
    sharing.allow(machine, exchange.PHYSICAL, key, named)
    return 0


@call("aclrtMemSetPidToShareableHandleV2")
def mem_set_pid_to_shareable_handle_v2(
    machine: "Machine", thread: Thread, key: Any, share_type: int, processes: tuple[int, ...] | None, count: int
) -> int:
    if key is None:
        raise null("shareableHandle")
    named = _check_list(processes, count)
    machine.hold()
    sharing.allow(machine, _kind(machine, share_type), key, named)
    return 0
