"""Events: what can be asked of them, waited for by the host, and timed (semantics.md 1.2, 1.10, 1.12)."""

from typing import TYPE_CHECKING, Any, Final

from cannery.runtime import capture
from cannery.runtime.calls.events import live_event
from cannery.runtime.calls.registry import call
from cannery.runtime.calls.streams import aborted, bad_limit, check_usable
from cannery.runtime.errors import (
    ACL_ERROR_RT_EVENT_SYNC_TIMEOUT,
    ACL_ERROR_RT_EVENT_TIMESTAMP_INVALID,
    ACL_ERROR_RT_INTERNAL_ERROR,
    Refused,
    null,
    out_of_range,
    unsupported,
)
from cannery.runtime.objects import Event, Thread
from cannery.runtime.shared_events import ForeignRecord
from cannery.runtime.tasks import LOST, EventWait, Record
from cannery.runtime.waits import Reply, Resume

if TYPE_CHECKING:
    from cannery.runtime.machine import Machine

# aclrtEventStatus, aclrtEventRecordedStatus, aclrtEventWaitStatus: the second counts the other way round.
EVENT_COMPLETE: Final = 0
EVENT_NOT_READY: Final = 1
RECORDED_NOT_READY: Final = 0
RECORDED_COMPLETE: Final = 1
WAIT_COMPLETE: Final = 0
WAIT_NOT_READY: Final = 1

_TICKS: Final = 1 << 64


def _check_not_external(event: Event) -> None:
    if event.external:
        raise unsupported(
            "the event {:#x} was made with ACL_EVENT_EXTERNAL, which can be recorded and waited for, but not asked",
            event.handle,
        )


def _check_old_mode(event: Event) -> None:
    """For calls that know events of aclrtCreateEvent and aclrtCreateEventWithFlag only."""
    if event.ex:
        raise unsupported(
            "the event {:#x} was made by aclrtCreateEventExWithFlag; use aclrtQueryEventStatus for it", event.handle
        )
    _check_not_external(event)


def _check_timed(event: Event) -> None:
    _check_not_external(event)
    if event.ipc:
        raise unsupported("the event {:#x} was made with ACL_EVENT_IPC, and such events have no times", event.handle)


def _check_recorded(event: Event) -> Record:
    if event.record is None:
        raise Refused(
            ACL_ERROR_RT_INTERNAL_ERROR, "the event {:#x} was never recorded; record it before asking", event.handle
        )
    return event.record


def _latest(event: Event) -> Record | None:
    """The latest record. One that is done may count as none, where other processes record the event too."""
    return event.record if event.peers is None else event.peers.latest(event)


def _is_done(machine: "Machine", event: Event, record: Record) -> bool:
    """Whether the record is done. Under some schedules the question itself lets work run."""
    if not record.done and not isinstance(record, ForeignRecord):
        machine.schedule.poll(record)
        check_usable(event.context)
    return record.done and record.finish != LOST


# Asking.


@call("aclrtQueryEvent")
def query_event(machine: "Machine", thread: Thread, handle: int, out: int) -> Any:
    if not handle:
        raise null("event")
    if not out:
        raise null("status")
    event = live_event(machine, handle)
    _check_old_mode(event)
    capture.check_event(machine, event)
    check_usable(event.context)
    record = event.record
    return 0, EVENT_COMPLETE if record is None or _is_done(machine, event, record) else EVENT_NOT_READY


@call("aclrtQueryEventStatus")
def query_event_status(machine: "Machine", thread: Thread, handle: int, out: int) -> Any:
    if not handle:
        raise null("event")
    if not out:
        raise null("status")
    event = live_event(machine, handle)
    if event.external:
        _check_not_external(event)
    if event.captured is not None:
        capture.check_event(machine, event)
    if event.context.failed is not None:
        check_usable(event.context)
    record = _latest(event)
    if record is None:
        return 0, RECORDED_COMPLETE if event.ex else RECORDED_NOT_READY
    return 0, RECORDED_COMPLETE if _is_done(machine, event, record) else RECORDED_NOT_READY


@call("aclrtQueryEventWaitStatus")
def query_event_wait_status(machine: "Machine", thread: Thread, handle: int, out: int) -> Any:
    """Whether the queued waits for the event are done. A failure that is answered is that of the current context."""
    if not handle:
        raise null("event")
    if not out:
        raise null("status")
    event = live_event(machine, handle)
    _check_old_mode(event)
    if not event.waitable and machine.behaviour["waitstatus-without-sync"] == "refuse":
        raise unsupported("the event {:#x} was made without ACL_EVENT_SYNC and cannot be waited for", handle)
    capture.check_event(machine, event)
    if thread.context is not None:
        check_usable(thread.context)
    if event.waits and machine.schedule.polled:
        machine.schedule.poll(_first_wait(machine, event))
    return 0, WAIT_NOT_READY if event.waits else WAIT_COMPLETE


def _first_wait(machine: "Machine", event: Event) -> EventWait:
    """A queued wait for the event."""
    return next(
        task
        for context in machine.contexts.values()
        for stream in context.streams.values()
        for task in stream.queue
        if isinstance(task, EventWait) and task.event is event
    )


@call("aclrtSynchronizeEvent")
def synchronize_event(machine: "Machine", thread: Thread, handle: int) -> Any:
    return synchronize(machine, thread, "aclrtSynchronizeEvent", live_event(machine, handle))


@call("aclrtSynchronizeEventWithTimeout")
def synchronize_event_with_timeout(machine: "Machine", thread: Thread, handle: int, timeout: int) -> Any:
    if timeout < -1:
        raise bad_limit(timeout, remembered=False)
    event = live_event(machine, handle)
    if not timeout:
        raise bad_limit(timeout)
    return synchronize(machine, thread, "aclrtSynchronizeEventWithTimeout", event, timeout)


def synchronize(machine: "Machine", thread: Thread, function: str, event: Event, limit: int = -1) -> Any:
    """Wait for the latest record. Failures of its stream are not the reply, except those that stopped the context."""
    _check_not_external(event)
    capture.check_event(machine, event)
    record = _latest(event)
    if record is not None and record.stream.lane is not None and record.stream.lane.bound:
        raise out_of_range(
            "the event {:#x} was last recorded on the stream {:#x} of a model instance; wait for the stream that "
            "executes the instance",
            event.handle, record.stream.handle,
        )  # fmt: skip
    check_usable(event.context)
    if record is None:
        return 0
    if record.done or machine.schedule.finish([record]):
        return _outcome(event, record)
    expired = Refused(
        ACL_ERROR_RT_EVENT_SYNC_TIMEOUT,
        "the latest record of the event {:#x} is not done after {} ms; its stream waits for something",
        event.handle, limit,
    )  # fmt: skip
    return machine.wait(thread, function, [record], Recorded(event, record), limit, expired)


class Recorded(Resume):
    """A record is done."""

    __slots__ = ("event", "record")

    def __init__(self, event: Event, record: Record) -> None:
        self.event = event
        self.record = record

    def reply(self, machine: "Machine") -> Reply:
        return _outcome(self.event, self.record)


def _outcome(event: Event, record: Record) -> int:
    """What a wait for a record answers when it is over."""
    check_usable(event.context)
    if record.finish == LOST:
        check_usable(record.stream.context)
        raise aborted(record.stream)
    return 0


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
    _check_timed(start)
    _check_timed(end)
    end_record, start_record = _check_recorded(end), _check_recorded(start)
    unsigned = machine.profile.unsigned_elapsed  # and not checked (semantics.md 1.12)
    ticks = _stamp(machine, end, end_record, unsigned) - _stamp(machine, start, start_record, unsigned)
    if unsigned:
        ticks %= _TICKS
    return 0, ticks / machine.profile.ticks_per_ms


@call("aclrtEventGetTimestamp")
def event_get_timestamp(machine: "Machine", thread: Thread, handle: int, out: int) -> Any:
    if not out:
        raise null("timestamp")
    event = live_event(machine, handle)
    _check_timed(event)
    capture.check_event(machine, event)
    return 0, _stamp(machine, event, _check_recorded(event)) * 1000 // machine.profile.ticks_per_ms


def _stamp(machine: "Machine", event: Event, record: Record, unchecked: bool = False) -> int:
    """When the latest record of an event was done, in ticks of the device; 0 without ACL_EVENT_TIME_LINE.

    Raises:
        Refused: 107006, not done yet; with ``unchecked`` the stamp is 0 then.
    """
    if not record.done or record.finish == LOST:
        if unchecked:
            return 0
        raise Refused(
            ACL_ERROR_RT_EVENT_TIMESTAMP_INVALID,
            "the latest record of the event {:#x} is not done; synchronise the event or its stream first",
            event.handle,
        )
    return record.finish * machine.profile.ticks_per_ms // 1_000_000 if event.timed else 0
