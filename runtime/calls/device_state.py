"""What devices can do and what they are doing (reference pages of the functions named)."""

from typing import TYPE_CHECKING, Any, Final

from cannery.runtime.calls.devices import device_named
from cannery.runtime.calls.memory import exhausted
from cannery.runtime.calls.registry import call
from cannery.runtime.errors import invalid, null, out_of_range
from cannery.runtime.objects import Context, Device, Thread

if TYPE_CHECKING:
    from cannery.runtime.machine import Machine

# aclrtDevFeatureType, and the end of the range that the runtime layer takes.
UPDATES_AICORE_TASKS: Final = 1
QUEUE_EVENTS_ACROSS_DEVICES: Final = 21

UNKNOWN: Final = -1  # utilisation of what a device has not, or cannot tell
BUSY: Final = 100
SYNC_AREA: Final = 512  # bytes


@call("aclrtGetDeviceCapability")
def get_device_capability(machine: "Machine", thread: Thread, device_id: int, feature: int, out: int) -> Any:
    if not out:
        raise null("value")
    if feature not in (UPDATES_AICORE_TASKS, QUEUE_EVENTS_ACROSS_DEVICES):
        raise out_of_range(
            "the argument devFeatureType is {}; pass ACL_FEATURE_TSCPU_TASK_UPDATE_SUPPORT_AIC_AIV (1) or "
            "ACL_FEATURE_SYSTEM_MEMQ_EVENT_CROSS_DEV (21)",
            feature,
        )
    device_named(machine, device_id)
    return 0, int(feature == UPDATES_AICORE_TASKS and machine.profile.updates_tasks)


@call("aclrtDeviceGetUuid")
def device_get_uuid(machine: "Machine", thread: Thread, device_id: int, out: int) -> Any:
    if not out:
        raise null("uuid")
    device = device_named(machine, device_id)
    return 0, (bytes.fromhex(machine.profile.uuid) + device.index.to_bytes(4, "big"),)


@call("aclrtGetPrimaryCtxState")
def get_primary_ctx_state(machine: "Machine", thread: Thread, device_id: int, flags: int, out: int) -> Any:
    if not out:
        raise null("active")
    if flags:
        raise invalid("the argument flags is not null; it is reserved, pass null")
    return 0, int(device_named(machine, device_id).primary is not None)


@call("aclrtGetDeviceUtilizationRate")
def get_device_utilization_rate(
    machine: "Machine", thread: Thread, device_id: int, information: tuple[int, int, int, int, int] | None
) -> Any:
    """What is not known is -1, and so is everything for a device that does not exist: the call never fails because of
    the device (reference implementation). The model knows whether a device computes, and not how much of it."""
    if information is None:
        raise null("utilizationInfo")
    if information[4]:
        raise invalid("utilizationInfo->utilizationExtend is not null; it is reserved, set it to null")
    devices = machine.devices
    if machine.settings.virtualised or not 0 <= device_id < len(devices):
        return 0, (UNKNOWN, UNKNOWN, UNKNOWN, UNKNOWN, 0)
    cores = BUSY if _computes(machine, devices[device_id]) else 0
    return 0, (cores, cores, 0, UNKNOWN, 0)


def _computes(machine: "Machine", device: Device) -> bool:
    """Whether a task that uses the cores of the device runs."""
    for stream in machine.streams.values():
        if stream.device is device and stream.queue:
            task = stream.queue[0]
            if task.computes and not (task.gated and task.closed()):
                return True
    return False


@call("aclrtGetHardwareSyncAddr")
def get_hardware_sync_addr(machine: "Machine", thread: Thread, out: int) -> Any:
    """For kernels, which hand it to their cores: one address for each device, of memory that nothing else uses."""
    if not out:
        raise out_of_range("the argument addr is null; pass the address of a pointer")
    return 0, _sync_area(machine, machine.context_of(thread))


def _sync_area(machine: "Machine", context: Context) -> int:
    """Raises 207001, like an allocation."""
    device = context.device
    if device.sync_area is None or not device.sync_area.live:
        device.sync_area = machine.memory.allocate(device, SYNC_AREA)
        if device.sync_area is None:
            raise exhausted(machine, context, SYNC_AREA)
    return device.sync_area.address
