"""Devices: selection, release, count (semantics.md 4)."""

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

ACL_HOST = 1


def device_named(machine: "Machine", user: int) -> Device:
    """The device with that id, as the program counts them.

    Raises:
        Refused: 107001.
    """
    devices = machine.devices
    if 0 <= user < len(devices):
        return devices[user]
    raise Refused(
        ACL_ERROR_RT_INVALID_DEVICEID,
        "the argument deviceId is {}, but the process sees {} device(s); pass an id from 0 up to, not including, the "
        "number that aclrtGetDeviceCount gives",
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
    if context is None:
        default = machine.default_device
        if default is None:
            return machine.context_of(thread)  # raises
        return 0, default.user
    return 0, context.device.user


@call("aclrtGetDeviceCount")
def get_device_count(machine: "Machine", thread: Thread, out: int) -> Any:
    if not out:
        raise null("count")
    if not machine.devices:
        raise Refused(
            ACL_ERROR_RT_NO_DEVICE,
            "the process sees no device: {}",
            machine.no_device_reason or "the simulated machine has none; choose another number with --devices",
        )
    return 0, len(machine.devices)


@call("aclrtGetRunMode")
def get_run_mode(machine: "Machine", thread: Thread, out: int) -> Any:
    if not out:
        raise null("runMode")
    return 0, ACL_HOST
