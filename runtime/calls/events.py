"""Events: making, recording, waiting, asking, timing (semantics.md 1)."""

from typing import TYPE_CHECKING, Any

from cannery.runtime import lifecycle
from cannery.runtime.calls.registry import call
from cannery.runtime.errors import Refused, aborted, foreign, null, out_of_range, stale
from cannery.runtime.objects import DEVICE_USE_ONLY, Thread
from cannery.runtime.tasks import Record, SignalRecord

if TYPE_CHECKING:
    from cannery.runtime.machine import Machine

_DEFAULT_FLAGS = 0x0E


@call("aclrtCreateEvent")
def create_event(machine: "Machine", thread: Thread, out: int) -> Any:
    if not out:
        raise null("event")
    machine.hold()
    return 0, lifecycle.open_event(machine, machine.context_of(thread), _DEFAULT_FLAGS, False).handle


@call("aclrtDestroyEvent")
def destroy_event(machine: "Machine", thread: Thread, handle: int) -> int:
    if not handle:
        raise null("event")
    machine.hold()
    event = machine.events.get(handle)
    if event is None:
        raise stale("event", handle)
    lifecycle.close_event(machine, event)
    return 0


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
    if event.flags & DEVICE_USE_ONLY:
        raise device_use_only(handle)
    context = thread.context
    if context is None:
        context = machine.context_of(thread)
    if named is None:
        stream = context.default
    else:
        stream = named
        if stream.context is not context:
            raise foreign(stream_handle)
    if context.failed:
        raise aborted(context.failed)
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
    machine.schedule.submit(record)
    return 0


def device_use_only(handle: int) -> Refused:
    return out_of_range(
        "the event {:#x} was made with ACL_EVENT_DEVICE_USE_ONLY; only tasks on the device may use it", handle
    )
