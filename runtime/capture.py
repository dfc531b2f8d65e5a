"""Capture: while a stream is in capture its tasks are kept in a model instance, and nothing of them runs.

Rules, in the order in which they decide (semantics.md 7; what that leaves open has its source beside it):

* A stream begins a capture, or joins one by waiting for an event that was recorded in it.
* An event recorded on a captured stream is in capture until the capture ends; who waits for it waits for its latest
  record there. The record that it has outside is not touched.
* When the capture ends, the latest task of each stream that joined has to be a record that somebody waits for, and the
  stream where the capture began has to wait for one of them.
* Two captures that mix break, both. What else is refused leaves a capture as it was.
* Calls that act at once are forbidden by the modes of the captures that are open (:func:`check_mode`).
"""

from typing import TYPE_CHECKING, Final

from cannery.runtime import graphs
from cannery.runtime.errors import (
    ACL_ERROR_RT_CAPTURE_DEPENDENCY,
    ACL_ERROR_RT_CAPTURE_MODE_NOT_SUPPORT,
    ACL_ERROR_RT_EVENT_CAPTURED,
    ACL_ERROR_RT_INTERNAL_ERROR,
    ACL_ERROR_RT_STREAM_CAPTURE_IMPLICIT,
    ACL_ERROR_RT_STREAM_CAPTURE_INVALIDATED,
    ACL_ERROR_RT_STREAM_CAPTURE_WRONG_THREAD,
    ACL_ERROR_RT_STREAM_CAPTURED,
    ACL_ERROR_RT_STREAM_MODEL,
    ACL_ERROR_RT_STREAM_NOT_CAPTURED,
    ACL_ERROR_RT_STREAM_UNJOINED,
    ACL_ERROR_STREAM_CAPTURE_CONFLICT,
    ACL_ERROR_STREAM_TASK_GROUP_STATUS,
    Refused,
    foreign,
    out_of_range,
    unsupported,
)
from cannery.runtime.graphs import ExternalRecord, ExternalWait, Graph
from cannery.runtime.lanes import BoundLane, Captured, CapturedRecord, CaptureLane, Lane
from cannery.runtime.objects import DEFAULT_FLAGS, Context, Event, Stream, Thread
from cannery.runtime.tasks import EventWait, Record, SignalRecord

if TYPE_CHECKING:
    from cannery.runtime.machine import Machine

GLOBAL: Final = 0
THREAD_LOCAL: Final = 1
RELAXED: Final = 2
MODES: Final = (
    "ACL_MODEL_RI_CAPTURE_MODE_GLOBAL",
    "ACL_MODEL_RI_CAPTURE_MODE_THREAD_LOCAL",
    "ACL_MODEL_RI_CAPTURE_MODE_RELAXED",
)
NO_MODE: Final = 3

RECORDS: Final = "records"
WAITS: Final = "waits"


# What other calls ask.


def captured(stream: Stream) -> bool:
    """Whether a stream is in capture."""
    lane = stream.lane
    return lane is not None and lane.capturing


def check_free(machine: "Machine", stream: Stream) -> None:
    """Raises 107027: a stream in capture cannot be waited for, queried or destroyed."""
    lane = stream.lane
    if not isinstance(lane, CaptureLane):
        return
    _may_break(machine, lane.graph)
    raise Refused(
        ACL_ERROR_RT_STREAM_CAPTURED,
        "the stream {:#x} is in capture; end the capture first (aclmdlRICaptureEnd)",
        stream.handle,
    )


def check_event(machine: "Machine", event: Event) -> None:
    """Raises 107028: an event in capture cannot be waited for by the host, nor queried."""
    if event.captured is None:
        return
    _may_break(machine, event.captured.lane.graph)
    raise Refused(
        ACL_ERROR_RT_EVENT_CAPTURED,
        "the event {:#x} was recorded on a stream in capture; end the capture first (aclmdlRICaptureEnd)",
        event.handle,
    )


def check_mode(machine: "Machine", thread: Thread, context: Context) -> None:
    """Raises 107030: captures of the context that are open forbid calls that act at once.

    GLOBAL forbids them to every thread, THREAD_LOCAL to the one that began the capture, RELAXED to none; a thread can
    take itself out with aclmdlRICaptureThreadExchangeMode, to the extent that the reference documents say there.
    """
    theirs = [graph for graph in machine.captures if graph.context is context]
    if not theirs or thread.capture_mode == RELAXED:
        return
    strictest = min(graph.mode for graph in theirs)
    mine = min((graph.mode for graph in machine.captures if graph.thread == thread.ordinal), default=NO_MODE)
    if thread.capture_mode == GLOBAL:
        forbidden = strictest == GLOBAL or mine == THREAD_LOCAL
    else:
        forbidden = mine in (GLOBAL, THREAD_LOCAL)
    if not forbidden:
        return
    for graph in theirs:
        _may_break(machine, graph)
    raise Refused(
        ACL_ERROR_RT_CAPTURE_MODE_NOT_SUPPORT,
        "a capture with {} is open, which forbids this call on this thread; end the capture first, or allow it with "
        "aclmdlRICaptureThreadExchangeMode",
        MODES[min(strictest, mine)],
    )


def _may_break(machine: "Machine", graph: Graph) -> None:
    if machine.behaviour["capture-after-refusal"] == "broken":
        graph.broken = True


# Beginning and ending.


def begin(machine: "Machine", thread: Thread, stream: Stream, mode: int) -> Graph:
    """Begin a capture on a stream that may.

    Raises:
        Refused: 207008.
    """
    graph = Graph(machine, stream.context, False)
    graph.mode = mode
    graph.thread = thread.ordinal
    try:
        lane = CaptureLane(machine, graph, stream, True)
    except Refused:
        graphs.close(machine, graph)
        raise
    graph.lanes.append(lane)
    stream.lane = lane
    machine.captures.append(graph)
    return graph


def verdict(thread: Thread, graph: Graph) -> Refused | None:
    """Why a capture that ends now has failed; None if it has not."""
    if graph.mode != RELAXED and graph.thread != thread.ordinal:
        return Refused(
            ACL_ERROR_RT_STREAM_CAPTURE_WRONG_THREAD,
            "the capture was begun by another thread, and with {} that thread has to end it; the capture is lost",
            MODES[graph.mode],
        )
    if graph.broken:
        return Refused(
            ACL_ERROR_RT_STREAM_CAPTURE_INVALIDATED,
            "the capture broke when an earlier call failed; see the message of that call. Its tasks are lost",
        )
    if graph.grouping is not None:
        return Refused(
            ACL_ERROR_STREAM_TASK_GROUP_STATUS,
            "the stream {:#x} of the capture has a task group open; the capture is lost. Close the group first "
            "(aclmdlRICaptureTaskGrpEnd)",
            graph.grouping.source.handle,
        )  # fmt: skip
    return _unjoined(graph)


def _unjoined(graph: Graph) -> Refused | None:
    joined = len(graph.lanes) == 1
    for lane in graph.lanes:
        if lane.origin:
            continue
        last = lane.last
        if not isinstance(last, CapturedRecord) or not last.waited:
            return Refused(
                ACL_ERROR_RT_STREAM_UNJOINED,
                "the last task of the stream {:#x} in the capture is no event record that another stream of the "
                "capture waits for; the capture is lost. Record an event there last, and wait for it",
                lane.source.handle,
            )  # fmt: skip
        joined = joined or last.joins
    if joined:
        return None
    return Refused(
        ACL_ERROR_RT_STREAM_UNJOINED,
        "the stream where the capture began waits for none of the streams that joined it; the capture is lost",
    )


def finish(machine: "Machine", graph: Graph) -> None:
    """End a capture that has not failed: the instance can be executed."""
    origin = graph.lanes[0].stream
    end = Record()
    end.inert = True
    end.cost = 0
    end.stream = origin
    graph.tasks.append(end)
    graph.end = end
    graph.heads = [lane.stream for lane in graph.lanes]
    graph.built = True
    graphs.leave(machine, graph)


# Events. The callers have made their checks up to the context.


def record(machine: "Machine", thread: Thread, event: Event, stream: Stream) -> int:
    """aclrtRecordEvent on a stream that has a lane (semantics.md 1.7)."""
    lane = _admitted(machine, thread, event, stream)
    if not isinstance(lane, CaptureLane) or event.external:
        kept: SignalRecord | ExternalRecord = SignalRecord() if event.permanent else ExternalRecord()
        kept.event = event
        _keep_record(machine, kept, stream)
        kept.done = False
        event.record = kept  # until the instance is executed
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


def wait(machine: "Machine", thread: Thread, event: Event, named: Stream | None) -> int:
    """aclrtStreamWaitEvent for an event in capture, or on a stream that has a lane (semantics.md 1.9)."""
    stream = named or machine.context_of(thread).default
    lane = _admitted(machine, thread, event, stream)
    if event.captured is not None:
        return _wait_captured(machine, event, event.captured, stream)
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
    _keep_wait(machine, event, None, stream)
    return 0


def _wait_captured(machine: "Machine", event: Event, has: Captured, stream: Stream) -> int:
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
        _keep_wait(machine, event, has.record, stream)
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
    made.inert = True
    made.cost = machine.event_cost
    made.stream = stream
    machine.schedule.submit(made)


def _keep_wait(machine: "Machine", event: Event, has: CapturedRecord | None, stream: Stream) -> None:
    made = EventWait()
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


def check_suitable(machine: "Machine", stream: Stream) -> None:
    """Raises 507000: the flags that a stream was made with rule out capture."""


def unsuitable(stream: Stream) -> Refused:
    """507000: the flags that the stream was made with."""
    return Refused(
        ACL_ERROR_RT_INTERNAL_ERROR,
        "the stream {:#x} was made with a flag that rules out capture; take one made by aclrtCreateStream",
        stream.handle,
    )


def check_unbound(stream: Stream) -> None:
    """Raises 107005: a stream of a model instance is not to be destroyed (our choice: not stated)."""
    if stream.lane is not None and stream.lane.bound:
        raise Refused(
            ACL_ERROR_RT_STREAM_MODEL,
            "the stream {:#x} belongs to a model instance; unbind it first (aclmdlRIUnbindStream), or destroy the "
            "instance",
            stream.handle,
        )
