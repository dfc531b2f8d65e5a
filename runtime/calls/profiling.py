"""Switching a profiler on and off (reference pages and implementation of the functions named).

Nothing is measured and no file is written: the trace has what happened. What the calls answer is what they would.
"""

from typing import TYPE_CHECKING, Final

from cannery.runtime.calls.registry import call
from cannery.runtime.errors import ACL_ERROR_PROF_NOT_RUN, ACL_ERROR_REPEAT_INITIALIZE, Refused, invalid, null, stale
from cannery.runtime.objects import Thread
from cannery.runtime.small_objects import SmallObject, find, keep

if TYPE_CHECKING:
    from cannery.runtime.machine import Machine

MARKS: Final = 0x80  # ACL_PROF_MSPROFTX
LONGEST_PATH: Final = 4095
LONGEST_VALUE: Final = 256
KINDS: Final = 17  # ACL_PROF_ARGS_MAX


class Configuration(SmallObject):
    """What to measure: ``data`` are bits that the profiler knows."""

    __slots__ = ("data",)

    def __init__(self, data: int) -> None:
        super().__init__()
        self.data = data


@call("aclprofInit")
def prof_init(machine: "Machine", thread: Thread, path: bytes | None, length: int) -> int:
    if path is None:
        raise null("profilerResultPath")
    if not 0 < length <= LONGEST_PATH or length != len(path):
        raise invalid(
            "the argument length is {}, and profilerResultPath has {} bytes; pass that length, from 1 to {}",
            length, len(path), LONGEST_PATH,
        )  # fmt: skip
    if machine.profiler.ready:
        raise Refused(
            ACL_ERROR_REPEAT_INITIALIZE, "profiling was initialised before; call aclprofFinalize first",
            remembered=False,
        )  # fmt: skip
    machine.profiler.ready = True
    return 0


@call("aclprofFinalize")
def prof_finalize(machine: "Machine", thread: Thread) -> int:
    machine.profiler.ready = machine.profiler.runs = False
    return 0


@call("aclprofCreateConfig")
def prof_create_config(
    machine: "Machine",
    thread: Thread,
    devices: tuple[int, ...] | None,
    count: int,
    metrics: int,
    events: int,
    data: int,
) -> int:
    """Null, and a message, for what is no configuration."""
    try:
        _check_configuration(machine, devices, count, events, data)
    except Refused as refused:
        machine.refuse(thread, "aclprofCreateConfig", refused)
        return 0
    return keep(machine, Configuration(data))


def _check_configuration(
    machine: "Machine", devices: tuple[int, ...] | None, count: int, events: int, data: int
) -> None:
    if count and devices is None:
        raise null("deviceIdList")
    if events:
        raise invalid("the argument aicoreEvents is not null; it is reserved, pass null")
    if count > len(machine.devices):
        raise invalid("the argument deviceNums is {}; there are {} devices", count, len(machine.devices))
    listed = devices or ()
    for place, device in enumerate(listed):
        if device >= len(machine.devices) or device in listed[:place]:
            raise invalid("deviceIdList names device {}, which does not exist or is in it before", device)
    if not count and not data & MARKS:
        raise invalid("the argument deviceNums is 0; pass devices, or ACL_PROF_MSPROFTX in dataTypeConfig")


def _configuration(machine: "Machine", handle: int) -> Configuration:
    configuration = find(machine, Configuration, handle)
    if configuration is None:
        raise stale("profilerConfig", handle)
    return configuration


@call("aclprofDestroyConfig")
def prof_destroy_config(machine: "Machine", thread: Thread, handle: int) -> int:
    if not handle:
        raise null("profilerConfig")
    del machine.small_objects[_configuration(machine, handle).handle]
    return 0


@call("aclprofStart")
def prof_start(machine: "Machine", thread: Thread, handle: int) -> int:
    """Null stands for a configuration with all devices. Initialises profiling if nobody did."""
    if handle and not _configuration(machine, handle).data:
        raise invalid("dataTypeConfig of the configuration {:#x} is 0; there is nothing to profile", handle)
    machine.profiler.ready = machine.profiler.runs = True
    return 0


@call("aclprofStop")
def prof_stop(machine: "Machine", thread: Thread, handle: int) -> int:
    if handle:
        _configuration(machine, handle)
    machine.profiler.runs = False
    return 0


@call("aclprofSetConfig")
def prof_set_config(machine: "Machine", thread: Thread, kind: int, value: bytes | None, length: int) -> int:
    if not 0 < kind < KINDS:
        raise invalid("the argument configType is {}; pass a constant of aclprofConfigType, 1 to {}", kind, KINDS - 1)
    if value is None:
        raise null("config")
    if length > LONGEST_VALUE or length != len(value):
        raise invalid(
            "the argument configLength is {}, and config has {} bytes; pass that length, up to {}",
            length, len(value), LONGEST_VALUE,
        )  # fmt: skip
    if not machine.profiler.ready:
        raise Refused(ACL_ERROR_PROF_NOT_RUN, "profiling is not initialised; call aclprofInit first", remembered=False)
    return 0
