"""Capture: while a stream is in capture its tasks are kept in a model instance, and nothing of them runs.

Rules, in the order in which they decide (semantics.md 7; what that leaves open has its source beside it):

* A stream begins a capture, or joins one by waiting for an event that was recorded in it (``capture_events.py``).
* When the capture ends, the latest task of each stream that joined has to be a record that somebody waits for, and the
  stream where the capture began has to wait for one of them.
* Two captures that mix break, both. What else is refused leaves a capture as it was.
* Calls that act at once are forbidden by the modes of the captures that are open (:func:`check_mode`).
"""

from typing import TYPE_CHECKING, Final

from cannery.runtime import conditions, graphs
from cannery.runtime.errors import (
    ACL_ERROR_RT_CAPTURE_MODE_NOT_SUPPORT,
    ACL_ERROR_RT_EVENT_CAPTURED,
    ACL_ERROR_RT_INTERNAL_ERROR,
    ACL_ERROR_RT_STREAM_CAPTURE_INVALIDATED,
    ACL_ERROR_RT_STREAM_CAPTURE_WRONG_THREAD,
    ACL_ERROR_RT_STREAM_CAPTURED,
    ACL_ERROR_RT_STREAM_MODEL,
    ACL_ERROR_RT_STREAM_UNJOINED,
    ACL_ERROR_RT_SUB_ACLGRAPH_IS_CAPTURING,
    ACL_ERROR_STREAM_TASK_GROUP_STATUS,
    Refused,
)
from cannery.runtime.graphs import Graph
from cannery.runtime.lanes import CapturedRecord, CaptureLane
from cannery.runtime.objects import Context, Event, Stream, Thread
from cannery.runtime.tasks import record_of_no_event

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


def check_suitable(machine: "Machine", stream: Stream) -> None:
    """Raises 507000: the flags that a stream was made with rule out capture (semantics.md 7; which ones do is that of
    the reference implementation, where some products capture persistent streams all the same)."""
    if not stream.waited_for and not (stream.lane is not None and stream.lane.bound):
        raise unsuitable(stream)


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


# Beginning and ending.


def caches(stream: Stream) -> int:
    """1 if tasks of the capture that the stream is in keep what aclrtCacheLastTaskOpInfo says of them, else 0. The
    stream that the capture began on decides (reference implementation)."""
    lane = stream.lane
    return lane.graph.lanes[0].source.caches if isinstance(lane, CaptureLane) else 0


def begin(machine: "Machine", thread: Thread, stream: Stream, mode: int) -> Graph:
    """Begin a capture on a stream that may.

    Raises:
        Refused: 207008.
    """
    graph = Graph(machine, stream.context, False)
    try:
        begin_into(machine, thread, graph, stream, mode)
    except Refused:
        graphs.close(machine, graph)
        raise
    return graph


def begin_into(machine: "Machine", thread: Thread, graph: Graph, stream: Stream, mode: int) -> None:
    """Begin a capture into an instance that is there and empty.

    Raises:
        Refused: 207008.
    """
    lane = CaptureLane(machine, graph, stream, True)
    graph.mode = mode
    graph.thread = thread.ordinal
    graph.lanes.append(lane)
    stream.lane = lane
    machine.captures.append(graph)


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
    for condition in conditions.every(graph):
        if not all(child.built for child in condition.children):
            return Refused(
                ACL_ERROR_RT_SUB_ACLGRAPH_IS_CAPTURING,
                "a child instance of a conditional task has not been captured; the capture is lost. Capture each child "
                "(aclmdlRICaptureToModelRIBegin, aclmdlRICaptureEnd) before the capture that has the task ends",
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
    end = record_of_no_event(0)
    end.stream = origin
    graph.tasks.append(end)
    graph.end = end
    graph.heads = [lane.stream for lane in graph.lanes]
    graph.built = True
    if graph.condition is None:
        graph.first = conditions.assignments(graph)
    graphs.leave(machine, graph)


def lose(machine: "Machine", graph: Graph) -> None:
    """End a capture that has failed: its instance is no more; a child stays, and cannot be captured again."""
    if graph.condition is None:
        conditions.close(machine, graph)
    else:
        graphs.leave(machine, graph)
        graph.broken = True
