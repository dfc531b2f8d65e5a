"""The three ids of a device, and where devices are (reference pages of the functions named).

A *user* id is what the program passes to most calls; it counts the devices that ASCEND_RT_VISIBLE_DEVICES lets the
process see. A *logical* id counts the devices of the machine; outside of a container that is the *physical* one too.
"""

from typing import TYPE_CHECKING, Any, Final

from cannery.runtime.calls.devices import device_named
from cannery.runtime.calls.peers import reach
from cannery.runtime.calls.registry import call
from cannery.runtime.errors import ACL_ERROR_RT_INVALID_DEVICEID, Refused, null, out_of_range
from cannery.runtime.objects import Device, Thread

if TYPE_CHECKING:
    from cannery.runtime.machine import Machine

# ACL_RT_DEVS_TOPOLOGY_...
HCCS: Final = 0x01
HCCS_SWITCH: Final = 0x40


def _check_id(argument: str, value: int) -> None:
    if value < 0:
        raise out_of_range("the argument {} is {}; ids are not negative", argument, value)


def _visible(machine: "Machine", argument: str, index: int) -> Device:
    """The device with that logical or physical id.

    Raises:
        Refused: 107001, the machine has none, or the process does not see it.
    """
    for device in machine.devices:
        if device.index == index:
            return device
    raise Refused(
        ACL_ERROR_RT_INVALID_DEVICEID,
        "the argument {} is {}, but the machine has {} device(s), and this process sees those with the ids {}",
        argument, index, machine.settings.devices, ", ".join(str(device.index) for device in machine.devices),
    )  # fmt: skip


def _index(machine: "Machine", argument: str, user: int, result: str, out: int) -> Any:
    """The reply of a call that gives the logical, or physical, id for a user id."""
    if not out:
        raise null(result)
    _check_id(argument, user)
    return 0, device_named(machine, user, argument).index


def _user(machine: "Machine", argument: str, index: int, result: str, out: int) -> Any:
    """The reply of a call that gives the user id for a logical, or physical, id."""
    if not out:
        raise null(result)
    _check_id(argument, index)
    return 0, _visible(machine, argument, index).user


@call("aclrtGetLogicDevIdByUserDevId")
def get_logic_dev_id_by_user_dev_id(machine: "Machine", thread: Thread, user: int, out: int) -> Any:
    return _index(machine, "userDevid", user, "logicDevId", out)


@call("aclrtGetUserDevIdByLogicDevId")
def get_user_dev_id_by_logic_dev_id(machine: "Machine", thread: Thread, index: int, out: int) -> Any:
    return _user(machine, "logicDevId", index, "userDevid", out)


@call("aclrtGetPhyDevIdByUserDevId")
def get_phy_dev_id_by_user_dev_id(machine: "Machine", thread: Thread, user: int, out: int) -> Any:
    return _index(machine, "userDevId", user, "phyDevId", out)


@call("aclrtGetUserDevIdByPhyDevId")
def get_user_dev_id_by_phy_dev_id(machine: "Machine", thread: Thread, index: int, out: int) -> Any:
    return _user(machine, "phyDevId", index, "userDevId", out)


@call("aclrtGetPhyDevIdByLogicDevId")
def get_phy_dev_id_by_logic_dev_id(machine: "Machine", thread: Thread, user: int, out: int) -> Any:
    """Takes a user id, whatever its name says (reference documents)."""
    return _index(machine, "logicDevId", user, "phyDevId", out)


@call("aclrtGetLogicDevIdByPhyDevId")
def get_logic_dev_id_by_phy_dev_id(machine: "Machine", thread: Thread, index: int, out: int) -> Any:
    """Gives a user id, as above."""
    return _user(machine, "phyDevId", index, "logicDevId", out)


@call("aclrtGetDevicesTopo")
def get_devices_topo(machine: "Machine", thread: Thread, device_id: int, other_id: int, out: int) -> Any:
    if not out:
        raise null("value")
    device = device_named(machine, device_id)
    return 0, _link(machine, device, device_named(machine, other_id, "otherDeviceId"))


def _link(machine: "Machine", one: Device, two: Device) -> int:
    """How two devices are connected. A device is behind no switch from itself (reference implementation)."""
    profile = machine.profile
    if one is two:
        return HCCS if profile.peer_link == HCCS_SWITCH else profile.peer_link
    if one.index // profile.package_devices == two.index // profile.package_devices:
        return profile.package_link
    return profile.peer_link if reach(machine, one, two) else profile.far_link
