"""Devices: selection, release, count, what they are (semantics.md 4)."""

from typing import TYPE_CHECKING, Any, Final

from cannery.runtime import lifecycle
from cannery.runtime.calls.registry import call
from cannery.runtime.errors import (
    ACL_ERROR_RT_CONTEXT_RELEASE_ERROR,
    ACL_ERROR_RT_INVALID_DEVICEID,
    ACL_ERROR_RT_NO_DEVICE,
    Refused,
    invalid,
    null,
)
from cannery.runtime.objects import Context, Device, Thread
from cannery.runtime.state_callbacks import (
    CREATE_POST,
    DESTROY_PRE,
    RESET_POST,
    RESET_PRE,
    SET_POST,
    SET_PRE,
    tell,
)
from cannery.runtime.waits import Given, Reply, Resume

if TYPE_CHECKING:
    from cannery.runtime.machine import Machine

VERSION: Final = (1, 17, 0)  # ACL_MAJOR_VERSION, ACL_MINOR_VERSION, ACL_PATCH_VERSION of the headers
DEVICE_STATUS_NORMAL: Final = 0


def device_named(machine: "Machine", user: int, argument: str = "deviceId") -> Device:
    """The device that the program knows under that id, which it passed as ``argument``.

    Raises:
        Refused: 107001.
    """
    devices = machine.devices
    if 0 <= user < len(devices):
        return devices[user]
    raise Refused(
        ACL_ERROR_RT_INVALID_DEVICEID,
        "the argument {} is {}, but this process sees {} device(s); pass an id below that (aclrtGetDeviceCount)",
        argument, user, len(devices),
    )  # fmt: skip


@call("aclrtSetDevice")
def set_device(machine: "Machine", thread: Thread, device_id: int) -> Any:
    machine.hold()
    device = device_named(machine, device_id)
    opens = device.primary is None
    invokes = machine.told.of_device(device, SET_PRE) if opens else []
    return tell(machine, thread, "aclrtSetDevice", invokes, Select(thread, device, opens))


class Select(Resume):
    """A device is selected. ``opens``: it was not open when the call began."""

    __slots__ = ("device", "opens", "thread")

    def __init__(self, thread: Thread, device: Device, opens: bool) -> None:
        self.thread = thread
        self.device = device
        self.opens = opens

    def reply(self, machine: "Machine") -> Reply:
        context = lifecycle.select(machine, self.thread, self.device)
        told = machine.told
        invokes = told.of_streams([context.default] if self.opens else (), CREATE_POST)
        return tell(machine, self.thread, "aclrtSetDevice", invokes + told.of_device(self.device, SET_POST), Given(0))


@call("aclrtResetDevice")
def reset_device(machine: "Machine", thread: Thread, device_id: int) -> Any:
    machine.hold()
    device = device_named(machine, device_id)
    if not device.selected:
        raise _released(device_id)
    if device.selected == 1:
        return _release(machine, thread, "aclrtResetDevice", device)
    device.selected -= 1
    return 0


@call("aclrtResetDeviceForce")
def reset_device_force(machine: "Machine", thread: Thread, device_id: int) -> Any:
    """Releases at once, whatever the count is."""
    machine.hold()
    device = device_named(machine, device_id)
    if not device.selected:
        raise _released(device_id)
    return _release(machine, thread, "aclrtResetDeviceForce", device)


def _release(machine: "Machine", thread: Thread, call: str, device: Device) -> Any:
    """Raises Again: see :func:`lifecycle.join`."""
    context = device.primary
    assert context is not None, "selected"
    lifecycle.join(machine, thread, context)
    told = machine.told
    default, *others = context.streams.values()
    invokes = [
        *told.of_streams([default], DESTROY_PRE), *told.of_device(device, RESET_PRE),
        *told.of_streams(others, DESTROY_PRE),
    ]  # fmt: skip
    return tell(machine, thread, call, invokes, Release(thread, call, device, context))


class Release(Resume):
    """The primary context of a device ends."""

    __slots__ = ("call", "context", "device", "thread")

    def __init__(self, thread: Thread, call: str, device: Device, context: Context) -> None:
        self.thread = thread
        self.call = call
        self.device = device
        self.context = context

    def reply(self, machine: "Machine") -> Reply:
        device = self.device
        if device.primary is self.context:  # else a function of the program did it meanwhile
            lifecycle.release(machine, self.thread, device)
        return tell(machine, self.thread, self.call, machine.told.of_device(device, RESET_POST), Given(0))


def _released(device_id: int) -> Refused:
    return Refused(
        ACL_ERROR_RT_CONTEXT_RELEASE_ERROR,
        "device {} is not selected by this process any more; call aclrtResetDevice once for each aclrtSetDevice",
        device_id,
    )


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


@call("aclrtGetVersion")
def get_version(machine: "Machine", thread: Thread, out_major: int, out_minor: int, out_patch: int) -> Any:
    for argument, out in (("majorVersion", out_major), ("minorVersion", out_minor), ("patchVersion", out_patch)):
        if not out:
            raise null(argument)
    return 0, *VERSION


@call("aclrtQueryDeviceStatus")
def query_device_status(machine: "Machine", thread: Thread, device_id: int, out: int) -> Any:
    """Simulated devices are always well."""
    if not out:
        raise null("deviceStatus")
    device_named(machine, device_id)
    return 0, DEVICE_STATUS_NORMAL


@call("aclrtSetTsDevice")
def set_ts_device(machine: "Machine", thread: Thread, ts_id: int) -> int:
    """There is one task scheduler, which both ids mean."""
    if ts_id not in (0, 1):
        raise invalid("the argument tsId is {}; pass ACL_TS_ID_AICORE (0) or ACL_TS_ID_AIVECTOR (1)", ts_id)
    return 0


@call("aclrtDeviceGetBareTgid")
def device_get_bare_tgid(machine: "Machine", thread: Thread, out: int) -> Any:
    if not out:
        raise null("pid")
    return 0, machine.port.exchange.process_id()
