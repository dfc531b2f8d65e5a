"""Devices: selection, release, count, what they are (semantics.md 4)."""

from typing import TYPE_CHECKING, Any

from cannery.runtime import lifecycle
from cannery.runtime.calls.registry import call
from cannery.runtime.errors import (
    ACL_ERROR_RT_CONTEXT_RELEASE_ERROR,
    ACL_ERROR_RT_INVALID_DEVICEID,
    ACL_ERROR_RT_NO_DEVICE,
    Refused,
    null,
)
from cannery.runtime.objects import Device, Thread

if TYPE_CHECKING:
    from cannery.runtime.machine import Machine


def device_named(machine: "Machine", user: int) -> Device:
    """The device that the program knows under that id.

    Raises:
        Refused: 107001.
    """
    devices = machine.devices
    if 0 <= user < len(devices):
        return devices[user]
    raise Refused(
        ACL_ERROR_RT_INVALID_DEVICEID,
        "the argument deviceId is {}, but this process sees {} device(s); pass an id below that (aclrtGetDeviceCount)",
        user, len(devices),
    )  # fmt: skip


@call("aclrtSetDevice")
def set_device(machine: "Machine", thread: Thread, device_id: int) -> int:
    machine.hold()
    lifecycle.select(machine, thread, device_named(machine, device_id))
    return 0


@call("aclrtResetDevice")
def reset_device(machine: "Machine", thread: Thread, device_id: int) -> int:
    machine.hold()
    device = device_named(machine, device_id)
    if not device.selected:
        raise Refused(
            ACL_ERROR_RT_CONTEXT_RELEASE_ERROR,
            "device {} is not selected by this process any more; call aclrtResetDevice once for each aclrtSetDevice",
            device_id,
        )
    if device.selected == 1:
        lifecycle.release(machine, thread, device)
    else:
        device.selected -= 1
    return 0


@call("aclrtGetDevice")
def get_device(machine: "Machine", thread: Thread, out: int) -> Any:
    if not out:
        raise null("deviceId")
    context = thread.context
    if context is not None:
        return 0, context.device.user
    # Does not open the default device, unlike other calls.
    default = machine.process.default_device
    return (0, default.user) if default is not None else machine.context_of(thread)


@call("aclrtGetDeviceCount")
def get_device_count(machine: "Machine", thread: Thread, out: int) -> Any:
    if not out:
        raise null("count")
    if not machine.devices:
        raise Refused(ACL_ERROR_RT_NO_DEVICE, "this process sees no device: {}", machine.blindness)
    return 0, len(machine.devices)


@call("aclrtGetSocName")
def get_soc_name(machine: "Machine", thread: Thread) -> bytes | None:
    return machine.profile.soc_name.encode()


@call("aclrtGetRunMode")
def get_run_mode(machine: "Machine", thread: Thread, out: int) -> Any:
    if not out:
        raise null("runMode")
    return 0, machine.profile.run_mode
