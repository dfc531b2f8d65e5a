"""How many cores a process, a stream or a thread may use (reference pages of the functions named)."""

from typing import TYPE_CHECKING, Any, Final

from cannery.runtime.calls.devices import device_named
from cannery.runtime.calls.registry import call
from cannery.runtime.calls.streams import named_stream
from cannery.runtime.errors import ACL_ERROR_RT_DEV_SETUP_ERROR, Refused, null, out_of_range
from cannery.runtime.objects import Device, Stream, Thread

if TYPE_CHECKING:
    from cannery.runtime.machine import Machine

KINDS: Final = ("ACL_RT_DEV_RES_CUBE_CORE", "ACL_RT_DEV_RES_VECTOR_CORE")


def _check_kind(kind: int) -> None:
    if not 0 <= kind < len(KINDS):
        raise out_of_range("the argument type is {}; pass {} (0) or {} (1)", kind, *KINDS)


def _check_value(machine: "Machine", kind: int, value: int) -> None:
    cores = _cores(machine, kind)
    if value > cores:
        raise out_of_range("the argument value is {}, but the device has {} such cores", value, cores)


def _cores(machine: "Machine", kind: int) -> int:
    return machine.profile.vector_cores if kind else machine.profile.cube_cores


def _of_device(machine: "Machine", device: Device, kind: int) -> int:
    return device.core_limits.get(kind, _cores(machine, kind))


def _open_device(machine: "Machine", device_id: int) -> Device:
    """Raises 107001 for an unknown device, 507033 for one that the process has not opened."""
    device = device_named(machine, device_id)
    if not device.contexts:
        raise Refused(
            ACL_ERROR_RT_DEV_SETUP_ERROR, "device {} is not open in this process; call aclrtSetDevice first", device_id
        )
    return device


def _stream_or_default(machine: "Machine", thread: Thread, handle: int) -> Stream:
    return named_stream(machine, handle) or machine.context_of(thread).default


@call("aclrtSetDeviceResLimit")
def set_device_res_limit(machine: "Machine", thread: Thread, device_id: int, kind: int, value: int) -> int:
    if device_id < 0:
        device_named(machine, device_id)
    _check_kind(kind)
    device = _open_device(machine, device_id)
    _check_value(machine, kind, value)
    device.core_limits[kind] = value
    return 0


@call("aclrtGetDeviceResLimit")
def get_device_res_limit(machine: "Machine", thread: Thread, device_id: int, kind: int, out: int) -> Any:
    if not out:
        raise null("value")
    if device_id < 0:
        device_named(machine, device_id)
    _check_kind(kind)
    return 0, _of_device(machine, _open_device(machine, device_id), kind)


@call("aclrtResetDeviceResLimit")
def reset_device_res_limit(machine: "Machine", thread: Thread, device_id: int) -> int:
    _open_device(machine, device_id).core_limits.clear()
    return 0


@call("aclrtSetStreamResLimit")
def set_stream_res_limit(machine: "Machine", thread: Thread, handle: int, kind: int, value: int) -> int:
    stream = named_stream(machine, handle)
    _check_kind(kind)
    stream = stream or machine.context_of(thread).default
    _check_value(machine, kind, value)
    stream.core_limits[kind] = value
    return 0


@call("aclrtGetStreamResLimit")
def get_stream_res_limit(machine: "Machine", thread: Thread, handle: int, kind: int, out: int) -> Any:
    """What was set for the stream, else for the device, else what the product has."""
    if not out:
        raise null("value")
    stream = named_stream(machine, handle)
    _check_kind(kind)
    stream = stream or machine.context_of(thread).default
    return 0, stream.core_limits.get(kind, _of_device(machine, stream.device, kind))


@call("aclrtResetStreamResLimit")
def reset_stream_res_limit(machine: "Machine", thread: Thread, handle: int) -> int:
    _stream_or_default(machine, thread, handle).core_limits.clear()
    return 0


@call("aclrtUseStreamResInCurrentThread")
def use_stream_res_in_current_thread(machine: "Machine", thread: Thread, handle: int) -> int:
    thread.limited_by = _stream_or_default(machine, thread, handle)
    return 0


@call("aclrtUnuseStreamResInCurrentThread")
def unuse_stream_res_in_current_thread(machine: "Machine", thread: Thread, handle: int) -> int:
    """No effect for a stream that is not the one in use."""
    if thread.limited_by is _stream_or_default(machine, thread, handle):
        thread.limited_by = None
    return 0


@call("aclrtGetResInCurrentThread")
def get_res_in_current_thread(machine: "Machine", thread: Thread, kind: int, out: int) -> Any:
    if not out:
        raise null("value")
    _check_kind(kind)
    stream = thread.limited_by
    if stream is not None and kind in stream.core_limits:
        return 0, stream.core_limits[kind]
    return 0, _of_device(machine, machine.context_of(thread).device, kind)
