"""Faults of devices, and what repairs them (reference pages of the functions named).

A simulated device has no faults: no memory of it is damaged, no link of it fails. So there is none to tell of, and what
the program wants repaired does not exist. Tasks that fail are no faults of the device.
"""

from typing import TYPE_CHECKING, Any, Final

from cannery.runtime.calls.devices import device_named
from cannery.runtime.calls.registry import call
from cannery.runtime.errors import invalid, null, out_of_range
from cannery.runtime.objects import Thread

if TYPE_CHECKING:
    from cannery.runtime.machine import Machine

MOST_ADDRESSES: Final = 128
NO_ERROR: Final = 0  # ACL_RT_NO_ERROR
DETAIL: Final = 2568  # bytes of aclrtErrorInfoDetail

MemoryFault = tuple[bool, int, tuple[int, ...]]  # aclrtMemUceInfo: whether it has an address, length, reserved


@call("aclrtGetMemUceInfo")
def get_mem_uce_info(machine: "Machine", thread: Thread, device_id: int, out: int, room: int, out_size: int) -> Any:
    if not out:
        raise null("memUceInfoArray")
    if not out_size:
        raise null("retSize")
    device_named(machine, device_id)
    return 0, (), 0


@call("aclrtMemUceRepair")
def mem_uce_repair(
    machine: "Machine", thread: Thread, device_id: int, faults: tuple[MemoryFault, ...] | None, count: int
) -> int:
    if faults is None:
        raise null("memUceInfoArray")
    if count > MOST_ADDRESSES:
        raise invalid("the argument arraySize is {}; pass {} at most", count, MOST_ADDRESSES)
    for fault in faults:
        if any(fault[2]):
            raise invalid("memUceInfoArray has numbers in reserved, which have to be 0")
    device_named(machine, device_id)
    if faults:
        raise out_of_range("no memory of device {} is damaged, so nothing can be repaired there", device_id)
    return 0


@call("aclrtGetErrorVerbose")
def get_error_verbose(machine: "Machine", thread: Thread, device_id: int, out: int) -> Any:
    if not out:
        raise null("errorInfo")
    device_named(machine, device_id)
    return 0, (0, 0, bytes(2), NO_ERROR, bytes(DETAIL))


@call("aclrtRepairError")
def repair_error(
    machine: "Machine", thread: Thread, device_id: int, information: tuple[int, int, bytes, int, bytes] | None
) -> int:
    if information is None:
        raise null("errorInfo")
    if not information[0]:
        raise out_of_range("errorInfo->tryRepair is 0: there is nothing to repair")
    device_named(machine, device_id)
    if information[3] != NO_ERROR:
        raise out_of_range(
            "device {} has no fault of type {} (errorInfo->errorType); see aclrtGetErrorVerbose",
            device_id, information[3],
        )  # fmt: skip
    return 0
