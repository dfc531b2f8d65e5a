"""Access between devices (semantics.md 3).

Access is enabled for a pair of devices in one direction, for the whole process, and ends with the primary context of
the first. Which devices of a server reach each other is in the profile; instances of a virtualised device reach none
(reference documents). Whether a copy needs access is decided in ``Memory.unreachable``.
"""

from typing import TYPE_CHECKING, Any, Final

from cannery.runtime.calls.devices import device_named
from cannery.runtime.calls.memory import not_allocated
from cannery.runtime.calls.registry import call
from cannery.runtime.errors import (
    ACL_ERROR_FEATURE_UNSUPPORTED,
    Refused,
    driver_fault,
    invalid,
    null,
    out_of_range,
    unsupported,
)
from cannery.runtime.objects import Device, Thread

if TYPE_CHECKING:
    from cannery.runtime.machine import Machine

MOST_DEVICES: Final = 64


def reach(machine: "Machine", one: Device, two: Device) -> bool:
    """Whether two devices reach each other."""
    group = machine.profile.peer_group
    return not machine.settings.virtualised and one.index // group == two.index // group


@call("aclrtDeviceCanAccessPeer")
def device_can_access_peer(machine: "Machine", thread: Thread, out: int, device_id: int, peer_id: int) -> Any:
    if device_id == peer_id:
        raise invalid("the arguments deviceId and peerDeviceId are both {}; pass two devices", device_id)
    peer = device_named(machine, peer_id)
    if not 0 <= device_id < MOST_DEVICES:
        raise out_of_range("the argument deviceId is {}; pass an id from 0 to {}", device_id, MOST_DEVICES - 1)
    device = device_named(machine, device_id)
    if not out:
        raise out_of_range("the argument canAccessPeer is null; pass the address of a number")
    return 0, int(reach(machine, device, peer))


def _pair(machine: "Machine", thread: Thread, peer_id: int) -> tuple[Device, Device]:
    device = machine.context_of(thread).device
    if peer_id == device.user:
        raise invalid("the argument peerDeviceId is {}, which is the current device; pass another one", peer_id)
    return device, device_named(machine, peer_id)


@call("aclrtDeviceEnablePeerAccess")
def device_enable_peer_access(machine: "Machine", thread: Thread, peer_id: int, flags: int) -> int:
    if flags:
        raise Refused(ACL_ERROR_FEATURE_UNSUPPORTED, "the argument flags is {:#x}; pass 0", flags, remembered=False)
    device, peer = _pair(machine, thread, peer_id)
    if not reach(machine, device, peer):
        raise unsupported(
            "devices {} and {} do not reach each other (aclrtDeviceCanAccessPeer gives 0)", device.user, peer.user
        )
    device.peers.add(peer.index)
    return 0


@call("aclrtDeviceDisablePeerAccess")
def device_disable_peer_access(machine: "Machine", thread: Thread, peer_id: int) -> int:
    device, peer = _pair(machine, thread, peer_id)
    device.peers.discard(peer.index)
    return 0


@call("aclrtDevicePeerAccessStatus")
def device_peer_access_status(machine: "Machine", thread: Thread, device_id: int, peer_id: int, out: int) -> Any:
    if not out:
        raise null("status")
    devices = machine.devices
    for argument, value in (("deviceId", device_id), ("peerDeviceId", peer_id)):
        if not 0 <= value < len(devices):
            raise out_of_range("the argument {} is {}; pass the id of a device", argument, value)
    return 0, int(devices[peer_id].index in devices[device_id].peers)


@call("aclrtMemP2PMap")
def mem_p2p_map(machine: "Machine", thread: Thread, address: int, size: int, peer_id: int, flags: int) -> int:
    """Has no effect: what one device may reach of another it reaches without tables. Access has to be enabled first
    (reference documents; 507899 is our choice)."""
    if not address:
        raise null("devPtr")
    if not size:
        raise invalid("the argument size is 0; pass a number of bytes above 0")
    if flags:
        raise invalid("the argument flags is {:#x}; it is reserved, pass 0", flags)
    peer = device_named(machine, peer_id, "dstDevId")
    place = machine.memory.place(address)
    owner = place.device
    if owner is None or not place.holds(size):
        raise not_allocated("devPtr", place, size)
    if owner is not peer and owner.index not in peer.peers and peer.index not in owner.peers:
        raise driver_fault(
            "access between devices {} and {} is not enabled; call aclrtDeviceEnablePeerAccess first",
            peer.user, owner.user,
        )  # fmt: skip
    return 0
