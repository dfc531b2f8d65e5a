"""Memory that other processes open by a key (reference documents, chapter 11-07; reference implementation for the order
of checks).

The documents give a key one list of processes, and let a process open it more than once. Several keys for one
allocation, and keys for a part of one, are accepted (our choice); on a card the key of memory that was freed is
undefined, here it is gone.
"""

from typing import TYPE_CHECKING, Any, Final

from cannery.runtime import exchange
from cannery.runtime.calls import sharing
from cannery.runtime.calls.memory import describe
from cannery.runtime.calls.registry import call
from cannery.runtime.errors import ACL_ERROR_RT_MEMORY_ALLOCATION, Refused, driver_fault, null, out_of_range
from cannery.runtime.objects import Device, Thread
from cannery.runtime.places import DEVICE, Allocation, Imported

if TYPE_CHECKING:
    from cannery.runtime.machine import Machine

KEY_SIZE: Final = 65  # with its terminator
NO_LIST: Final = 1  # ACL_RT_IPC_MEM_EXPORT_FLAG_DISABLE_PID_VALIDATION
PEER_ACCESS: Final = 1  # ACL_RT_IPC_MEM_IMPORT_FLAG_ENABLE_PEER_ACCESS
ATTRIBUTE_TYPES: Final = 1
LINKS: Final = 4  # ACL_RT_IPC_MEM_ATTR_ACCESS_LINK_*


@call("aclrtIpcMemGetExportKey")
def ipc_mem_get_export_key(
    machine: "Machine", thread: Thread, address: int, size: int, out: int, length: int, flags: int
) -> Any:
    if not address:
        raise null("devPtr")
    if not out:
        raise null("key")
    machine.hold()
    if not size:
        raise out_of_range("the argument size is 0; pass a number of bytes above 0")
    if length < KEY_SIZE:
        raise out_of_range("the argument len is {}; a key takes {} bytes", length, KEY_SIZE)
    if flags > NO_LIST:
        raise out_of_range(
            "the argument flags is {:#x}; pass ACL_RT_IPC_MEM_EXPORT_FLAG_DEFAULT (0) or _DISABLE_PID_VALIDATION (1)",
            flags,
        )
    machine.context_of(thread)
    place = machine.memory.place(address)
    allocation = place.allocation
    if place.kind is not DEVICE or not isinstance(allocation, Allocation) or isinstance(allocation, Imported):
        raise out_of_range(
            "the argument devPtr ({:#x}) is {}; pass device memory that aclrtMalloc gave", address, describe(place)
        )
    if not place.holds(size):
        raise out_of_range(
            "the argument size is {}, but from devPtr ({:#x}) on there are only {} bytes",
            size, address, allocation.address + allocation.size - address,
        )  # fmt: skip
    device = allocation.device
    assert device is not None
    entry, key = machine.port.exchange.share(exchange.MEMORY, device.index, place.offset, size, not flags)
    if not entry:
        raise sharing.alone()
    machine.memory.sharing.share(entry, allocation)
    return 0, key


@call("aclrtIpcMemSetImportPid")
def ipc_mem_set_import_pid(
    machine: "Machine", thread: Thread, key: Any, processes: tuple[int, ...] | None, count: int
) -> int:
    if key is None:
        raise null("key")
    if processes is None:
        raise null("pid")
    machine.hold()
    if not count:
        raise out_of_range("the argument num is 0; pass how many process ids are in the array")
    machine.context_of(thread)
    sharing.allow(machine, exchange.MEMORY, key, processes)
    return 0


@call("aclrtIpcMemImportPidInterServer")
def ipc_mem_import_pid_inter_server(
    machine: "Machine", thread: Thread, key: Any, servers: tuple[Any, ...] | None, count: int
) -> int:
    """All processes of a session are on one server: whatever is said of others, they are put on the list."""
    if key is None:
        raise out_of_range("the argument key is null; pass what aclrtIpcMemGetExportKey gave")
    if servers is None:
        raise out_of_range("the argument serverPids is null; pass the address of an object that exists")
    if not count:
        raise out_of_range("the argument num is 0; pass how many elements are in the array")
    for place, (_, processes, _) in enumerate(servers):
        if processes is None:
            raise out_of_range("element {} of the argument serverPids has no list of process ids", place)
    machine.context_of(thread)
    named = [process for _, processes, _ in servers for process in processes]
    sharing.allow(machine, exchange.MEMORY, key, named)
    return 0


def importing_device(machine: "Machine", current: Device, index: int) -> Device:
    """The device that memory of another process is of; the current one, if this process does not see that."""
    return next((device for device in machine.devices if device.index == index), current)


@call("aclrtIpcMemImportByKey")
def ipc_mem_import_by_key(machine: "Machine", thread: Thread, out: int, key: Any, flags: int) -> Any:
    if not out:
        raise null("devPtr")
    if key is None:
        raise null("key")
    machine.hold()
    if flags > PEER_ACCESS:
        raise out_of_range(
            "the argument flags is {:#x}; pass ACL_RT_IPC_MEM_IMPORT_FLAG_DEFAULT (0) or _ENABLE_PEER_ACCESS (1)", flags
        )
    current = machine.context_of(thread).device
    entry, home, size = sharing.open_entry(machine, exchange.MEMORY, key, "piece of device memory")
    store = machine.port.exchange.store(entry, size)
    if store is None:
        machine.port.exchange.close(entry)
        raise driver_fault("the process that shared that memory ended, or closed the descriptor of its device memory")
    imported = Imported(entry, key, size, importing_device(machine, current, home), store)
    if not machine.memory.sharing.open(imported):
        machine.port.exchange.close(entry)
        raise Refused(ACL_ERROR_RT_MEMORY_ALLOCATION, "there are no addresses left for {} bytes", size)
    if flags & PEER_ACCESS and imported.device is not current:
        current.peers.add(home)
    return 0, imported.address


@call("aclrtIpcMemSetAttr")
def ipc_mem_set_attr(machine: "Machine", thread: Thread, key: Any, kind: int, attribute: int) -> int:
    """Kept, and without effect: the model has one way to reach memory."""
    if key is None:
        raise out_of_range("the argument key is null; pass what aclrtIpcMemGetExportKey gave")
    if not 0 <= kind < ATTRIBUTE_TYPES:
        raise out_of_range("the argument type is {}; pass ACL_RT_IPC_MEM_ATTR_ACCESS_LINK (0)", kind)
    if attribute >= LINKS:
        raise out_of_range("the argument attr is {}; pass a constant ACL_RT_IPC_MEM_ATTR_ACCESS_LINK_...", attribute)
    machine.context_of(thread)
    machine.memory.sharing.links[key] = attribute
    return 0


@call("aclrtIpcMemClose")
def ipc_mem_close(machine: "Machine", thread: Thread, key: Any) -> int:
    """Closes what was opened first by the key, where this process opened it; else shares it no longer. A key for which
    only an attribute was set is forgotten (reference implementation)."""
    if key is None:
        raise null("key")
    machine.hold()
    machine.context_of(thread)
    shared = machine.memory.sharing
    imported = shared.opened(key)
    if imported is not None:
        shared.close(imported)
        return 0
    had_attribute = shared.links.pop(key, None) is not None
    outcome, entry = machine.port.exchange.revoke(exchange.MEMORY, key)
    if outcome == exchange.DONE:
        shared.revoked(entry)
    elif not had_attribute:
        raise driver_fault(
            "this process neither opened memory by that key nor shares any by it; close each key once{}",
            ", and only after it was opened" if outcome == exchange.NOT_OWN else "",
        )
    return 0
