"""Events of captures (semantics.md 1.7, 1.9, 7; what they leave open has its source beside it).

* An event recorded on a captured stream is in capture until the capture ends; who waits for it waits for its latest
  record there, and joins the capture. The record that the event has outside is not touched.
* With the flag EXTERNAL a capture records, or waits for, an event that is outside; what that is, each run finds out.
* On streams that are bound to a model instance by hand, events made by aclrtCreateEventWithFlag can be used.
"""

from typing import TYPE_CHECKING, Final

from cannery.runtime.capture import captured, unsuitable
from cannery.runtime.errors import (
    ACL_ERROR_RT_CAPTURE_DEPENDENCY,
    ACL_ERROR_RT_INTERNAL_ERROR,
    ACL_ERROR_RT_STREAM_CAPTURE_IMPLICIT,
    ACL_ERROR_RT_STREAM_NOT_CAPTURED,
    ACL_ERROR_STREAM_CAPTURE_CONFLICT,
    Refused,
    foreign,
    out_of_range,
    unsupported,
)
from cannery.runtime.graphs import ExternalRecord, ExternalWait, Graph
from cannery.runtime.lanes import BoundLane, Captured, CapturedRecord, CaptureLane, Lane
from cannery.runtime.objects import DEFAULT_FLAGS, Event, Stream, Thread
from cannery.runtime.tasks import EventWait, Record, SignalRecord

if TYPE_CHECKING:
    from cannery.runtime.machine import Machine

RECORDS: Final = "records"
WAITS: Final = "waits"


# The callers have made their checks up to the context.


def record(machine: "Machine", thread: Thread, event: Event, stream: Stream) -> int:
    """aclrtRecordEvent on a stream that has a lane (semantics.md 1.7)."""
    lane = _admitted(machine, thread, event, stream)
    if not isinstance(lane, CaptureLane) or event.external:
        kept: SignalRecord | ExternalRecord = SignalRecord() if event.permanent else ExternalRecord()
        kept.event = event
        _keep_record(machine, kept, stream)
        kept.done = False
        event.take(kept)  # until the instance is executed
        return 0
    if not event.ex:
        raise _old_mode(event)
    if not event.waitable:
        return 0  # accepted without effect
    graph = lane.graph
    before = event.captured
    if before is not None and before.lane.graph is not graph:
        raise _mixed(event, before.lane.graph, graph)
    made = CapturedRecord()
    made.event = event
    made.waited = made.joins = False
    try:
        _keep_record(machine, made, stream)
    except Refused:
        graph.broken = True  # reference implementation
        raise
    event.captured = Captured(lane, made)
    if before is None:
        graph.events.append(event)
    return 0


def wait(machine: "Machine", thread: Thread, event: Event, named: Stream | None, limit: int) -> int:
    """aclrtStreamWaitEvent for an event in capture, or on a stream that has a lane (semantics.md 1.9)."""
    stream = named or machine.context_of(thread).default
    lane = _admitted(machine, thread, event, stream)
    if event.captured is not None:
        return _wait_captured(machine, event, event.captured, stream, limit)
    if isinstance(lane, CaptureLane) and not event.external:
        if not event.ex:
            raise _old_mode(event)
        if event.record is not None:
            raise Refused(
                ACL_ERROR_RT_CAPTURE_DEPENDENCY,
                "the event {:#x} was recorded outside of the capture that the stream {:#x} is in; record it on a "
                "stream of the capture, or wait with ACL_EVENT_WAIT_EXTERNAL",
                event.handle, stream.handle,
            )  # fmt: skip
        return 0  # never recorded
    _keep_wait(machine, event, None, stream, limit)
    return 0


def _wait_captured(machine: "Machine", event: Event, has: Captured, stream: Stream, limit: int) -> int:
    graph = has.lane.graph
    lane = stream.lane
    if lane is not None and not isinstance(lane, CaptureLane):
        raise unsuitable(stream)
    if stream is stream.context.default:
        raise Refused(
            ACL_ERROR_RT_STREAM_CAPTURE_IMPLICIT,
            "the event {:#x} is in capture, and the default stream that would wait for it cannot be; use another one",
            event.handle,
        )
    if lane is not None and lane.graph is not graph:
        raise _mixed(event, graph, lane.graph)
    if lane is None:
        lane = _join(machine, graph, stream)
    try:
        _keep_wait(machine, event, has.record, stream, limit)
    except Refused:
        graph.broken = True  # reference implementation
        raise
    has.record.waited = True
    if lane.origin and lane is not has.lane:
        has.record.joins = True
    return 0


def _join(machine: "Machine", graph: Graph, stream: Stream) -> CaptureLane:
    if graph.broken:
        raise Refused(
            ACL_ERROR_RT_INTERNAL_ERROR,
            "the stream {:#x} cannot join a capture that broke when an earlier call failed; end it and begin anew",
            stream.handle,
        )
    try:
        lane = CaptureLane(machine, graph, stream, False)
    except Refused:
        graph.broken = True  # reference implementation
        raise
    graph.lanes.append(lane)
    stream.lane = lane
    return lane


def record_external(machine: "Machine", thread: Thread, event: Event, named: Stream | None) -> int:
    """aclrtRecordEventWithFlag with ACL_EVENT_RECORD_EXTERNAL (semantics.md 1.7)."""
    lane = _crossing(machine, thread, event, named)
    made = ExternalRecord()
    made.event = event
    _keep_record(machine, made, lane.source)
    lane.graph.external[event] = RECORDS
    event.crosses = True
    return 0


def wait_external(machine: "Machine", thread: Thread, event: Event, named: Stream | None) -> int:
    """aclrtStreamWaitEventWithFlag with ACL_EVENT_WAIT_EXTERNAL (semantics.md 1.9)."""
    lane = _crossing(machine, thread, event, named)
    made = ExternalWait()
    made.event = event
    made.record = None
    made.limit = 0
    made.cost = machine.event_cost
    made.stream = lane.source
    machine.schedule.submit(made)
    lane.graph.external[event] = WAITS
    event.crosses = True
    return 0


def _crossing(machine: "Machine", thread: Thread, event: Event, named: Stream | None) -> CaptureLane:
    """The checks of both, and the lane."""
    stream = named or machine.context_of(thread).default
    lane = _admitted(machine, thread, event, stream)
    if not isinstance(lane, CaptureLane):
        raise Refused(
            ACL_ERROR_RT_STREAM_NOT_CAPTURED,
            "the stream {:#x} is not in capture, and the flag EXTERNAL is for captures; begin one, or pass flag 0",
            stream.handle,
        )
    before = lane.graph.external.get(event)
    if before is not None and machine.behaviour["record-external-repeat"] == "refuse":
        raise out_of_range(
            "the capture {} the event {:#x} with the flag EXTERNAL already; that is possible once in a capture, take "
            "another event",
            before, event.handle,
        )  # fmt: skip
    if event.record is not None and not event.crosses:
        raise out_of_range(
            "the event {:#x} was recorded before it was used with the flag EXTERNAL; use it so from the beginning",
            event.handle,
        )
    return lane


def check_reset(event: Event, stream: Stream) -> None:
    """Raises 207000: on a stream in capture only events with ACL_EVENT_EXTERNAL can be reset."""
    if captured(stream) and not event.external:
        raise _old_mode(event)


def _admitted(machine: "Machine", thread: Thread, event: Event, stream: Stream) -> Lane | None:
    """The lane of a stream that belongs to the current context.

    Raises:
        Refused: 107002, 207000 for an event that a stream bound by hand cannot have, 107003, what stopped the context.
    """
    context = machine.context_of(thread)
    lane = stream.lane
    by_hand = lane is not None and (lane.bound or isinstance(lane, BoundLane))
    if by_hand and (event.ex or event.flags == DEFAULT_FLAGS):
        raise unsupported(
            "the stream {:#x} is for a model instance built by hand, which takes only events made by "
            "aclrtCreateEventWithFlag",
            stream.handle,
        )
    if stream.context is not context:
        raise foreign(stream.handle)
    if context.failed is not None:
        raise context.failed.again()
    return lane


def _keep_record(machine: "Machine", made: Record, stream: Stream) -> None:
    made.id = None
    made.inert = True
    made.cost = machine.event_cost
    made.stream = stream
    machine.schedule.submit(made)


def _keep_wait(machine: "Machine", event: Event, has: CapturedRecord | None, stream: Stream, limit: int) -> None:
    made = EventWait()
    made.limit = limit
    made.event = event
    made.record = has
    made.cost = machine.event_cost
    made.stream = stream
    machine.schedule.submit(made)


def _mixed(event: Event, first: Graph, second: Graph) -> Refused:
    """107032. Both captures break."""
    first.broken = second.broken = True
    return Refused(
        ACL_ERROR_STREAM_CAPTURE_CONFLICT,
        "the event {:#x} is in one capture and the stream in another; the two must not mix, and both are broken now",
        event.handle,
    )


def _old_mode(event: Event) -> Refused:
    return unsupported(
        "the event {:#x} cannot be used in a capture; make it with aclrtCreateEventExWithFlag(ACL_EVENT_SYNC), or with "
        "aclrtCreateEventWithFlag(ACL_EVENT_EXTERNAL)",
        event.handle,
    )
