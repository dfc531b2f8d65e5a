"""Events: making, destroying, ids (semantics.md 1.3 to 1.6, 1.13). Records and waits are in ``event_records.py``, what
can be asked in ``event_queries.py``."""

from typing import TYPE_CHECKING, Any, Final

from cannery.runtime import lifecycle
from cannery.runtime.calls.registry import call
from cannery.runtime.errors import (
    ACL_ERROR_RT_INTERNAL_ERROR,
    ACL_ERROR_RT_NO_EVENT_RESOURCE,
    Refused,
    null,
    out_of_range,
    stale,
    unsupported,
)
from cannery.runtime.ids import HardwareId
from cannery.runtime.objects import (
    CAPTURE_STREAM_PROGRESS,
    DEFAULT_FLAGS,
    DEVICE_USE_ONLY,
    EXTERNAL,
    ID_AT_RECORD,
    IPC,
    SYNC,
    TIME_LINE,
    Device,
    Event,
    Thread,
    holds_id,
)

if TYPE_CHECKING:
    from cannery.runtime.machine import Machine

FREE_FLAGS: Final = SYNC | CAPTURE_STREAM_PROGRESS | ID_AT_RECORD | TIME_LINE
LONE_FLAGS: Final = (DEVICE_USE_ONLY, EXTERNAL)


def live_event(machine: "Machine", handle: int, argument: str = "event") -> Event:
    """Raises 100000 for null, 107017 for what is no live event."""
    if not handle:
        raise null(argument)
    event = machine.events.get(handle)
    if event is None:
        raise stale(argument, handle)
    return event


def no_event_id(device: Device) -> Refused:
    """207007: all hardware ids of the device are taken."""
    return Refused(
        ACL_ERROR_RT_NO_EVENT_RESOURCE,
        "device {} has no event id left of {}; destroy events, or wait for records that hold one",
        device.user, device.event_ids.limit,
    )  # fmt: skip


# Making and destroying.


@call("aclrtCreateEvent")
def create_event(machine: "Machine", thread: Thread, out: int) -> Any:
    if not out:
        raise null("event")
    machine.hold()
    return 0, lifecycle.open_event(machine, machine.context_of(thread), DEFAULT_FLAGS, False, None).handle


@call("aclrtCreateEventWithFlag")
def create_event_with_flag(machine: "Machine", thread: Thread, out: int, flag: int) -> Any:
    if not out:
        raise null("event")
    machine.hold()
    if not flag or (flag & ~FREE_FLAGS and flag not in LONE_FLAGS):
        raise out_of_range(
            "the argument flag is {:#x}; combine ACL_EVENT_SYNC, _CAPTURE_STREAM_PROGRESS and _TIME_LINE, or pass "
            "ACL_EVENT_DEVICE_USE_ONLY or ACL_EVENT_EXTERNAL alone",
            flag,
        )
    if flag == DEVICE_USE_ONLY and not machine.profile.device_use_only_events:
        raise unsupported("product {} has no events with ACL_EVENT_DEVICE_USE_ONLY", machine.profile.name)
    context = machine.context_of(thread)
    hardware_id: HardwareId | None = None
    if holds_id(flag, False):
        hardware_id = context.device.event_ids.take()
        if hardware_id is None:
            raise no_event_id(context.device)
    return 0, lifecycle.open_event(machine, context, flag, False, hardware_id).handle


@call("aclrtCreateEventExWithFlag")
def create_event_ex_with_flag(machine: "Machine", thread: Thread, out: int, flag: int) -> Any:
    if not out:
        raise null("event")
    machine.hold()
    if not flag or (flag & ~FREE_FLAGS and flag != IPC):
        raise out_of_range(
            "the argument flag is {:#x}; combine ACL_EVENT_SYNC, _CAPTURE_STREAM_PROGRESS and _TIME_LINE, or pass "
            "ACL_EVENT_IPC alone",
            flag,
        )
    if flag == IPC and not machine.profile.ipc_events:
        raise unsupported("product {} has no events with ACL_EVENT_IPC", machine.profile.name)
    return 0, lifecycle.open_event(machine, machine.context_of(thread), flag, True, None).handle


@call("aclrtDestroyEvent")
def destroy_event(machine: "Machine", thread: Thread, handle: int) -> int:
    if not handle:
        raise null("event")
    machine.hold()
    lifecycle.close_event(machine, live_event(machine, handle))
    return 0


# Ids.


@call("aclrtGetEventId")
def get_event_id(machine: "Machine", thread: Thread, handle: int, out: int) -> Any:
    """An event that takes an id at each record has one from its first record (default), or while a record or a wait
    needs it (ex)."""
    if not handle:
        raise null("event")
    if not out:
        raise null("eventId")
    event = live_event(machine, handle)
    if event.ipc:
        raise unsupported("the event {:#x} was made with ACL_EVENT_IPC, and such events have no id", handle)
    hardware_id = event.id
    if hardware_id is None and event.record is not None:
        hardware_id = event.record.id
    if hardware_id is None:
        raise Refused(
            ACL_ERROR_RT_INTERNAL_ERROR,
            "the event {:#x} has no id now: it has none without ACL_EVENT_SYNC, or takes one only when it is recorded",
            handle,
        )
    return 0, hardware_id.number


@call("aclrtGetEventAvailNum")
def get_event_avail_num(machine: "Machine", thread: Thread, out: int) -> Any:
    if not out:
        raise null("eventCount")
    return 0, machine.context_of(thread).device.event_ids.available
