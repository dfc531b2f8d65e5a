"""Which device may reach the memory of which (semantics.md 3, 8). Only a mark: copies do not need it."""

from typing import TYPE_CHECKING, Any, Final

from cannery.runtime.calls.devices import device_named
from cannery.runtime.calls.registry import call
from cannery.runtime.errors import ACL_ERROR_FEATURE_UNSUPPORTED, Refused, invalid, null, out_of_range
from cannery.runtime.objects import Device, Thread

if TYPE_CHECKING:
    from cannery.runtime.machine import Machine

TABLE: Final = 64  # devices that the runtime has room for (semantics.md 0.4)


def _in_table(machine: "Machine", argument: str, device_id: int) -> Device:
    """Raises 107000 for an id that no machine has, 107001 for one that this machine has not."""
    if not 0 <= device_id < TABLE:
        raise out_of_range("the argument {} is {}; ids go from 0 to {}", argument, device_id, TABLE - 1)
    return device_named(machine, device_id)


def _peer(machine: "Machine", thread: Thread, peer_id: int) -> tuple[Device, Device]:
    """The current device and its peer."""
    device = machine.context_of(thread).device
    if peer_id == device.user:
        raise invalid("the argument peerDeviceId is {}, the current device itself; pass another one", peer_id)
    return device, device_named(machine, peer_id)


@call("aclrtDeviceCanAccessPeer")
def device_can_access_peer(machine: "Machine", thread: Thread, out: int, device_id: int, peer_id: int) -> Any:
    """Any device can reach any other."""
    if device_id == peer_id:
        raise invalid("the arguments deviceId and peerDeviceId are both {}; pass two devices", device_id)
    if not out:
        raise out_of_range("the argument canAccessPeer is null; pass the address of an object that exists")
    _in_table(machine, "deviceId", device_id)
    _in_table(machine, "peerDeviceId", peer_id)
    return 0, 1


@call("aclrtDeviceEnablePeerAccess")
def device_enable_peer_access(machine: "Machine", thread: Thread, peer_id: int, flags: int) -> int:
    if flags:
        raise Refused(
            ACL_ERROR_FEATURE_UNSUPPORTED, "the argument flags is {:#x}; it has to be 0", flags, remembered=False
        )
    device, peer = _peer(machine, thread, peer_id)
    device.peers.add(peer.index)
    return 0


@call("aclrtDeviceDisablePeerAccess")
def device_disable_peer_access(machine: "Machine", thread: Thread, peer_id: int) -> int:
    device, peer = _peer(machine, thread, peer_id)
    device.peers.discard(peer.index)
    return 0


@call("aclrtDevicePeerAccessStatus")
def device_peer_access_status(machine: "Machine", thread: Thread, device_id: int, peer_id: int, out: int) -> Any:
    if not out:
        raise null("status")
    for argument, value in (("deviceId", device_id), ("peerDeviceId", peer_id)):
        if not 0 <= value < len(machine.devices):
            raise out_of_range("the argument {} is {}; pass the id of a device", argument, value)
    return 0, int(machine.devices[peer_id].index in machine.devices[device_id].peers)
