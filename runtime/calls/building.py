"""Model instances that are built by hand, from streams made for it (semantics.md 7; graphs.py).

What semantics.md leaves open is that of the reference documents (their chapter on model running instances), then that
of the reference implementation.
"""

from typing import TYPE_CHECKING, Any, Final

from cannery.runtime import capture
from cannery.runtime.calls.graphs import live_graph, own_graph
from cannery.runtime.calls.registry import call
from cannery.runtime.calls.streams import named_stream
from cannery.runtime.errors import (
    ACL_ERROR_RT_INTERNAL_ERROR,
    ACL_ERROR_RT_MODEL_EXECUTE,
    ACL_ERROR_RT_STREAM_MODEL,
    Refused,
    foreign,
    invalid,
    null,
    out_of_range,
    unsupported,
)
from cannery.runtime.graphs import Graph
from cannery.runtime.lanes import BoundLane
from cannery.runtime.objects import STREAM_DEVICE_USE_ONLY, Stream, Thread
from cannery.runtime.tasks import record_of_no_event

if TYPE_CHECKING:
    from cannery.runtime.machine import Machine

FAST_LAUNCH: Final = 0x01  # ACL_STREAM_FAST_LAUNCH
HEAD: Final = 0  # ACL_MODEL_STREAM_FLAG_HEAD
ACTIVATED: Final = 0x7FFF_FFFF  # ACL_MODEL_STREAM_FLAG_DEFAULT


def _check_by_hand(graph: Graph) -> None:
    if not graph.by_hand:
        raise out_of_range(
            "the model instance {:#x} was captured; this call is for those that aclmdlRIBuildBegin made", graph.handle
        )


@call("aclmdlRIBuildBegin")
def build_begin(machine: "Machine", thread: Thread, out: int, flag: int) -> Any:
    if not out:
        raise null("modelRI")
    if flag:
        raise out_of_range("the argument flag is {:#x}; it is reserved, pass 0", flag)
    machine.hold()
    return 0, Graph(machine, machine.context_of(thread), True).handle


@call("aclmdlRIBindStream")
def bind_stream(machine: "Machine", thread: Thread, handle: int, stream_handle: int, flag: int) -> int:
    if not handle:
        raise null("modelRI")
    machine.hold()
    if flag not in (HEAD, ACTIVATED):
        raise out_of_range(
            "the argument flag is {:#x}; pass ACL_MODEL_STREAM_FLAG_HEAD (0) or ACL_MODEL_STREAM_FLAG_DEFAULT "
            "(0x7fffffff)",
            flag,
        )
    graph = live_graph(machine, handle)
    stream = named_stream(machine, stream_handle)
    _check_by_hand(graph)
    lane = _bindable(machine, stream, stream_handle)
    own_graph(machine, thread, graph)
    if lane.graph is not None:
        raise Refused(
            ACL_ERROR_RT_STREAM_MODEL,
            "the stream {:#x} is bound to the model instance {:#x} already; unbind it there first",
            stream_handle, lane.graph.handle,
        )  # fmt: skip
    if graph.built:
        raise out_of_range("building of the model instance {:#x} has ended; it takes no more streams", handle)
    lane.graph = graph
    lane.head = flag == HEAD
    graph.streams.insert(0, lane.stream)
    return 0


def _bindable(machine: "Machine", stream: Stream | None, handle: int) -> BoundLane:
    """What the flags and attributes of a stream have to be (order: implementation). Null, the default stream, has not
    the flag. Raises 107027, 507000, 207000, 107000."""
    lane = None
    if stream is not None:
        capture.check_free(machine, stream)
        if stream.flags & STREAM_DEVICE_USE_ONLY:
            raise capture.unsuitable(stream)
        if stream.stops or stream.context.stop_mode:
            raise unsupported("the stream {:#x} stops at failures (aclrtSetStreamFailureMode)", handle)
        if stream.flags & FAST_LAUNCH:
            raise unsupported("the stream {:#x} was made with ACL_STREAM_FAST_LAUNCH", handle)
        lane = stream.lane
    if not isinstance(lane, BoundLane):
        raise out_of_range(
            "the argument stream ({:#x}) was not made with ACL_STREAM_PERSISTENT (aclrtCreateStreamWithConfig)", handle
        )
    return lane


@call("aclmdlRIUnbindStream")
def unbind_stream(machine: "Machine", thread: Thread, handle: int, stream_handle: int) -> int:
    """A built instance goes on without the stream's tasks; those stay with the stream."""
    if not handle:
        raise null("modelRI")
    machine.hold()
    graph = live_graph(machine, handle)
    stream = named_stream(machine, stream_handle)
    _check_by_hand(graph)
    if stream is not None:
        capture.check_free(machine, stream)
    own_graph(machine, thread, graph)
    lane = None if stream is None else stream.lane
    if not isinstance(lane, BoundLane) or lane.graph is not graph:
        raise Refused(
            ACL_ERROR_RT_STREAM_MODEL,
            "the argument stream ({:#x}) is not bound to the model instance {:#x}",
            stream_handle, handle,
        )  # fmt: skip
    lane.graph = None
    graph.streams.remove(lane.stream)
    graph.heads = [head for head in graph.heads if head is not stream]
    graph.tasks = [task for task in graph.tasks if task.stream is not stream]
    graph.forget(machine, lane.tasks)
    return 0


@call("aclmdlRIEndTask")
def end_task(machine: "Machine", thread: Thread, handle: int, stream_handle: int) -> int:
    """The first end counts."""
    if not handle:
        raise null("modelRI")
    machine.hold()
    graph = live_graph(machine, handle)
    stream = named_stream(machine, stream_handle)
    _check_by_hand(graph)
    if stream is not None:
        capture.check_free(machine, stream)
    context = machine.context_of(thread)
    if stream is not None and stream.context is not context:
        raise foreign(stream_handle)
    own_graph(machine, thread, graph)
    lane = None if stream is None else stream.lane
    if stream is None or not isinstance(lane, BoundLane) or lane.graph is not graph:
        raise Refused(
            ACL_ERROR_RT_INTERNAL_ERROR,
            "the argument stream ({:#x}) is not bound to the model instance {:#x}; bind it first (aclmdlRIBindStream)",
            stream_handle, handle,
        )  # fmt: skip
    end = record_of_no_event(0)
    end.stream = stream
    machine.schedule.submit(end)
    graph.end = graph.end or end
    return 0


@call("aclmdlRIBuildEnd")
def build_end(machine: "Machine", thread: Thread, handle: int, reserve: int) -> int:
    if not handle:
        raise null("modelRI")
    if reserve:
        raise invalid("the argument reserve is not null; it is reserved, pass null")
    machine.hold()
    graph = live_graph(machine, handle)
    _check_by_hand(graph)
    own_graph(machine, thread, graph)
    if graph.built:
        raise Refused(
            ACL_ERROR_RT_INTERNAL_ERROR, "building of the model instance {:#x} has ended already; end it once", handle
        )
    if not graph.streams:
        raise Refused(
            ACL_ERROR_RT_STREAM_MODEL,
            "no stream is bound to the model instance {:#x}; bind one first (aclmdlRIBindStream)",
            handle,
        )
    if graph.end is None:
        raise Refused(
            ACL_ERROR_RT_MODEL_EXECUTE,
            "no stream of the model instance {:#x} has its end; call aclmdlRIEndTask first",
            handle,
        )
    for stream in reversed(graph.streams):
        lane = stream.lane
        assert isinstance(lane, BoundLane)
        if lane.head:
            graph.heads.append(stream)
            graph.tasks += lane.tasks
    graph.built = True
    return 0
