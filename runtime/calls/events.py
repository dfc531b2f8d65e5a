"""Events: making, recording, waiting, asking, timing (semantics.md 1)."""

from typing import TYPE_CHECKING, Any, Final

from cannery.runtime import capture, capture_events, lifecycle
from cannery.runtime.calls.registry import call
from cannery.runtime.calls.streams import check_usable, submission_stream
from cannery.runtime.errors import (
    ACL_ERROR_RT_EVENT_SYNC_TIMEOUT,
    ACL_ERROR_RT_EVENT_TIMESTAMP_INVALID,
    ACL_ERROR_RT_INTERNAL_ERROR,
    ACL_ERROR_RT_NO_EVENT_RESOURCE,
    Refused,
    null,
    out_of_range,
    stale,
    unsupported,
)
from cannery.runtime.objects import (
    CAPTURE_STREAM_PROGRESS,
    DEFAULT_FLAGS,
    DEVICE_USE_ONLY,
    EXTERNAL,
    ID_AT_RECORD,
    IPC,
    SYNC,
    TIME_LINE,
    Event,
    Thread,
    holds_id,
)
from cannery.runtime.tasks import EventWait, Record, SignalRecord

if TYPE_CHECKING:
    from cannery.runtime.machine import Machine

FREE_FLAGS: Final = SYNC | CAPTURE_STREAM_PROGRESS | ID_AT_RECORD | TIME_LINE
LONE_FLAGS: Final = (DEVICE_USE_ONLY, EXTERNAL)

RECORDED_NOT_READY: Final = 0
RECORDED_COMPLETE: Final = 1

_TICKS: Final = 1 << 64


def live_event(machine: "Machine", handle: int, argument: str = "event") -> Event:
    """Raises 100000 for null, 107017 for what is no live event."""
    if not handle:
        raise null(argument)
    event = machine.events.get(handle)
    if event is None:
        raise stale(argument, handle)
    return event


def _check_not_external(event: Event) -> None:
    if event.external:
        raise unsupported(
            "the event {:#x} was made with ACL_EVENT_EXTERNAL, which can be recorded and waited for, but not asked",
            event.handle,
        )


# Making and destroying.


@call("aclrtCreateEvent")
def create_event(machine: "Machine", thread: Thread, out: int) -> Any:
    if not out:
        raise null("event")
    machine.hold()
    return 0, lifecycle.open_event(machine, machine.context_of(thread), DEFAULT_FLAGS, False).handle


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
    if holds_id(flag, False) and context.device.event_ids >= machine.profile.events:
        raise Refused(
            ACL_ERROR_RT_NO_EVENT_RESOURCE,
            "device {} has no event id left of {}; destroy events, or make them with aclrtCreateEventExWithFlag",
            context.device.user, machine.profile.events,
        )  # fmt: skip
    return 0, lifecycle.open_event(machine, context, flag, False).handle


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
    if flag == IPC:
        if not machine.profile.ipc_events:
            raise unsupported("product {} has no events with ACL_EVENT_IPC", machine.profile.name)
        raise unsupported("events with ACL_EVENT_IPC are not simulated yet")
    return 0, lifecycle.open_event(machine, machine.context_of(thread), flag, True).handle


@call("aclrtDestroyEvent")
def destroy_event(machine: "Machine", thread: Thread, handle: int) -> int:
    if not handle:
        raise null("event")
    machine.hold()
    lifecycle.close_event(machine, live_event(machine, handle))
    return 0


# Recording and waiting.


def _device_use_only(handle: int) -> Refused:
    return out_of_range("the event {:#x} was made with ACL_EVENT_DEVICE_USE_ONLY: only the device may use it", handle)


@call("aclrtRecordEvent")
def record_event(machine: "Machine", thread: Thread, handle: int, stream_handle: int) -> int:
    if not handle:
        raise null("event")
    if machine.locked:
        machine.hold()
    event = machine.events.get(handle)
    if event is None:
        raise stale("event", handle)
    named = machine.streams.get(stream_handle)
    if named is None and stream_handle:
        raise stale("stream", stream_handle)
    if event.device_use_only:
        raise _device_use_only(handle)
    if named is not None and named.lane is not None:
        return capture_events.record(machine, thread, event, named)
    context = thread.context
    if context is None:
        context = machine.context_of(thread)
    stream = submission_stream(machine, context, stream_handle, named)
    record: Record
    if event.permanent:
        record = signal = SignalRecord()
        signal.inert = False
        signal.event = event
        event.pending.append(signal)
    else:
        record = Record()
        record.inert = True
    record.stream = stream
    record.cost = machine.event_cost
    event.record = record
    machine.schedule.queue(record)
    return 0


@call("aclrtStreamWaitEvent")
def stream_wait_event(machine: "Machine", thread: Thread, stream_handle: int, handle: int) -> int:
    if not handle:
        raise null("event")
    machine.hold()
    named = machine.streams.get(stream_handle)
    if named is None and stream_handle:
        raise stale("stream", stream_handle)
    event = live_event(machine, handle)
    if event.device_use_only:
        raise _device_use_only(handle)
    if not event.waitable:
        raise unsupported("the event {:#x} was made without ACL_EVENT_SYNC and cannot be waited for", handle)
    if event.captured is not None or (named is not None and named.lane is not None):
        return capture_events.wait(machine, thread, event, named)
    stream = submission_stream(machine, machine.context_of(thread), stream_handle, named)
    record = event.record
    if event.permanent:
        record = None
    elif record is None:
        if event.ex:
            return 0
        raise out_of_range("the event {:#x} was never recorded; record it before a stream waits for it", handle)
    elif record.done or record.stream is stream:
        return 0
    if event.device is not stream.device and not machine.profile.cross_device_waits:
        return 0
    wait = EventWait()
    wait.stream = stream
    wait.event = event
    wait.record = record
    wait.cost = machine.event_cost
    machine.schedule.queue(wait)
    return 0


# Asking.


@call("aclrtQueryEventStatus")
def query_event_status(machine: "Machine", thread: Thread, handle: int, out: int) -> Any:
    if not handle:
        raise null("event")
    if not out:
        raise null("status")
    event = live_event(machine, handle)
    _check_not_external(event)
    capture.check_event(machine, event)
    check_usable(event.context)
    record = event.record
    if record is None:
        return 0, RECORDED_COMPLETE if event.ex else RECORDED_NOT_READY
    if not record.done:
        machine.schedule.poll(record)
        check_usable(event.context)
    return 0, RECORDED_COMPLETE if record.done else RECORDED_NOT_READY


@call("aclrtSynchronizeEvent")
def synchronize_event(machine: "Machine", thread: Thread, handle: int) -> Any:
    return synchronize(machine, thread, "aclrtSynchronizeEvent", live_event(machine, handle))


def synchronize(machine: "Machine", thread: Thread, function: str, event: Event, limit: int = -1) -> Any:
    """Wait for the latest record. Failures of its stream are not the reply, except those that stopped the context."""
    _check_not_external(event)
    capture.check_event(machine, event)
    record = event.record
    if record is not None and record.stream.lane is not None and record.stream.lane.bound:
        raise out_of_range(
            "the event {:#x} was last recorded on the stream {:#x} of a model instance; wait for the stream that "
            "executes the instance",
            event.handle, record.stream.handle,
        )  # fmt: skip
    check_usable(event.context)
    if record is None or record.done:
        return 0
    if machine.schedule.finish([record]):
        check_usable(event.context)
        return 0
    expired = Refused(
        ACL_ERROR_RT_EVENT_SYNC_TIMEOUT,
        "the latest record of the event {:#x} is not done after {} ms; its stream waits for something",
        event.handle, limit,
    )  # fmt: skip

    def end() -> int:
        check_usable(event.context)
        return 0

    return machine.wait(thread, function, [record], end, limit, expired)


# Timing.


@call("aclrtEventElapsedTime")
def event_elapsed_time(machine: "Machine", thread: Thread, out: int, start_handle: int, end_handle: int) -> Any:
    for argument, value in (("ms", out), ("startEvent", start_handle), ("endEvent", end_handle)):
        if not value:
            raise null(argument)
    start = live_event(machine, start_handle, "startEvent")
    end = live_event(machine, end_handle, "endEvent")
    capture.check_event(machine, start)
    capture.check_event(machine, end)
    _check_not_external(start)
    _check_not_external(end)
    for event in (start, end):
        if event.record is None:
            raise Refused(
                ACL_ERROR_RT_INTERNAL_ERROR, "the event {:#x} was never recorded; record both first", event.handle
            )
    ticks = stamp(machine, end) - stamp(machine, start)
    if machine.profile.unsigned_elapsed:
        ticks %= _TICKS
    return 0, ticks / machine.profile.ticks_per_ms


def stamp(machine: "Machine", event: Event) -> int:
    """When the latest record of an event was done, in ticks of the device; 0 without ACL_EVENT_TIME_LINE.

    Raises:
        Refused: 107006, not done yet. On products that do not check that, the stamp is 0.
    """
    record = event.record
    assert record is not None
    if not record.done:
        if machine.profile.unsigned_elapsed:
            return 0
        raise Refused(
            ACL_ERROR_RT_EVENT_TIMESTAMP_INVALID,
            "the latest record of the event {:#x} is not done; synchronise the event or its stream first",
            event.handle,
        )
    return record.finish * machine.profile.ticks_per_ms // 1_000_000 if event.timed else 0
