"""Capture of streams into model instances, task groups (semantics.md 7; the rules are in ``runtime/capture.py``).

The order of checks that semantics.md leaves open, and all of the task groups, is that of the reference implementation.
"""

from typing import TYPE_CHECKING, Any, Final

from cannery.runtime import capture
from cannery.runtime.calls.registry import call
from cannery.runtime.calls.streams import live_stream
from cannery.runtime.errors import (
    ACL_ERROR_RT_INTERNAL_ERROR,
    ACL_ERROR_RT_MODEL_CAPTURED,
    ACL_ERROR_RT_STREAM_CAPTURE_INVALIDATED,
    ACL_ERROR_RT_STREAM_CAPTURE_UNMATCHED,
    ACL_ERROR_RT_STREAM_CAPTURED,
    ACL_ERROR_RT_STREAM_MODEL,
    ACL_ERROR_RT_STREAM_NOT_CAPTURED,
    ACL_ERROR_STREAM_TASK_GROUP_STATUS,
    Refused,
    foreign,
    invalid,
    null,
    out_of_range,
    stale,
    unsupported,
)
from cannery.runtime.lanes import CaptureLane, TaskGroup, UpdateLane
from cannery.runtime.objects import Context, Stream, Thread
from cannery.runtime.tasks import Task

if TYPE_CHECKING:
    from cannery.runtime.machine import Machine

STATUS_NONE: Final = 0
STATUS_ACTIVE: Final = 1
STATUS_INVALIDATED: Final = 2


def _own(machine: "Machine", thread: Thread, stream: Stream) -> Context:
    """The current context, which the stream belongs to. Raises 107002, 107003."""
    context = machine.context_of(thread)
    if stream.context is not context:
        raise foreign(stream.handle)
    return context


def _check_mode(mode: int | None) -> int:
    if mode is None or not 0 <= mode < len(capture.MODES):
        raise out_of_range(
            "the argument mode is {}; pass a constant from {} (0) to {} (2)", mode, capture.MODES[0], capture.MODES[2]
        )
    return mode


def _check_bound(stream: Stream) -> None:
    if stream.lane is not None and stream.lane.bound:
        raise Refused(
            ACL_ERROR_RT_STREAM_MODEL,
            "the stream {:#x} belongs to a model instance; use one that is not bound",
            stream.handle,
        )


def _check_not_default(stream: Stream, context: Context) -> None:
    if stream is context.default:
        raise unsupported("the stream {:#x} is the default stream, which cannot be captured", stream.handle)


# Captures.


@call("aclmdlRICaptureBegin")
def capture_begin(machine: "Machine", thread: Thread, handle: int, mode: int) -> int:
    if not handle:
        raise null("stream")
    machine.hold()
    stream = live_stream(machine, handle)
    _check_mode(mode)
    capture.check_suitable(machine, stream)
    context = _own(machine, thread, stream)
    _check_bound(stream)
    _check_not_default(stream, context)
    capture.check_free(machine, stream)
    _check_not_updating(stream)
    capture.begin(machine, thread, stream, mode)
    return 0


@call("aclmdlRICaptureToModelRIBegin")
def capture_to_model_begin(machine: "Machine", thread: Thread, handle: int, model: int, mode: int) -> int:
    """Captures into a child instance that a conditional task made, and into no other (reference implementation)."""
    if not handle:
        raise null("stream")
    if not model:
        raise null("modelRI")
    machine.hold()
    graph = machine.graphs.get(model)
    if graph is None:
        raise stale("modelRI", model)
    stream = live_stream(machine, handle)
    _check_mode(mode)
    capture.check_suitable(machine, stream)
    if graph.condition is None:
        raise out_of_range(
            "the argument modelRI ({:#x}) is not the child instance of a conditional task (aclmdlRIAddCondTask)", model
        )
    context = _own(machine, thread, stream)
    _check_bound(stream)
    _check_not_default(stream, context)
    if graph.capturing or graph.built or graph.broken:
        raise Refused(
            ACL_ERROR_RT_MODEL_CAPTURED, "the child instance {:#x} is, or was, captured already; capture it once", model
        )
    capture.check_free(machine, stream)
    _check_not_updating(stream)
    capture.begin_into(machine, thread, graph, stream, mode)
    return 0


@call("aclmdlRICaptureEnd")
def capture_end(machine: "Machine", thread: Thread, handle: int, out: int) -> Any:
    """A capture that ends with a failure is lost, and its instance with it; null is written for that then. The capture
    of a child instance need not be given out, and nothing is written where it failed."""
    if not handle:
        raise null("stream")
    machine.hold()
    stream = live_stream(machine, handle)
    capture.check_suitable(machine, stream)
    lane = stream.lane
    child = isinstance(lane, CaptureLane) and lane.graph.condition is not None
    if isinstance(lane, CaptureLane) and not out and not child:
        raise out_of_range("the argument modelRI is null; pass where the instance is to be written")
    context = _own(machine, thread, stream)
    _check_bound(stream)
    _check_not_default(stream, context)
    if not isinstance(lane, CaptureLane):
        raise _not_captured(stream)
    if not lane.origin:
        unmatched = Refused(
            ACL_ERROR_RT_STREAM_CAPTURE_UNMATCHED,
            "the capture began on the stream {:#x}, and not on {:#x}, which joined it; end it there",
            lane.graph.lanes[0].source.handle, stream.handle,
        )  # fmt: skip
        return machine.refuse(thread, "aclmdlRICaptureEnd", unmatched), None if child else 0
    graph = lane.graph
    failure = capture.verdict(thread, graph)
    if failure is not None:
        capture.lose(machine, graph)
        return machine.refuse(thread, "aclmdlRICaptureEnd", failure), None if child else 0
    capture.finish(machine, graph)
    return 0, graph.handle if out else None


def _not_captured(stream: Stream) -> Refused:
    return Refused(
        ACL_ERROR_RT_STREAM_NOT_CAPTURED,
        "the stream {:#x} is not in capture; call aclmdlRICaptureBegin first",
        stream.handle,
    )


@call("aclmdlRICaptureGetInfo")
def capture_get_info(machine: "Machine", thread: Thread, handle: int, out_status: int, out_model: int) -> Any:
    if not handle:
        raise null("stream")
    if not out_status and not out_model:
        raise invalid("the arguments status and modelRI are both null; pass where one of them is to be written")
    lane = live_stream(machine, handle).lane
    status, model = STATUS_NONE, 0
    if isinstance(lane, CaptureLane):
        status, model = STATUS_INVALIDATED if lane.broken else STATUS_ACTIVE, lane.graph.handle
    return 0, status if out_status else None, model if out_model else None


@call("aclmdlRICaptureThreadExchangeMode")
def capture_thread_exchange_mode(machine: "Machine", thread: Thread, mode: int | None) -> Any:
    if mode is None:
        raise null("mode")
    mode = _check_mode(mode)
    machine.context_of(thread)
    before, thread.capture_mode = thread.capture_mode, mode
    return 0, before


# Task groups.


class _Filler(Task):
    """What the runtime itself submits at the begin of a task group, so that no task of it is prefetched."""

    __slots__ = ()

    inert = True
    what = "task group"


def _in_capture(machine: "Machine", handle: int) -> tuple[Stream, CaptureLane]:
    """Raises 107017, 107029."""
    stream = live_stream(machine, handle)
    if not isinstance(stream.lane, CaptureLane):
        raise _not_captured(stream)
    return stream, stream.lane


def _group_status(text: str, *values: object) -> Refused:
    return Refused(ACL_ERROR_STREAM_TASK_GROUP_STATUS, text, *values)


@call("aclmdlRICaptureTaskGrpBegin")
def task_group_begin(machine: "Machine", thread: Thread, handle: int) -> int:
    if not handle:
        raise null("stream")
    machine.hold()
    stream, lane = _in_capture(machine, handle)
    _own(machine, thread, stream)
    if lane.group is not None:
        raise _group_status("the stream {:#x} has a task group open already; close that first", handle)
    filler = _Filler()
    filler.cost = 0
    filler.stream = stream
    machine.schedule.submit(filler)
    lane.group = TaskGroup()
    lane.graph.grouping = lane
    return 0


@call("aclmdlRICaptureTaskGrpEnd")
def task_group_end(machine: "Machine", thread: Thread, handle: int, out: int) -> Any:
    """Closes the group in any case; there is no handle of one whose capture broke."""
    if not handle:
        raise null("stream")
    if not out:
        raise null("handle")
    machine.hold()
    stream, lane = _in_capture(machine, handle)
    _own(machine, thread, stream)
    group, graph = lane.group, lane.graph
    if group is None:
        raise _group_status("the stream {:#x} has no task group open; call aclmdlRICaptureTaskGrpBegin first", handle)
    lane.group = graph.grouping = None
    if graph.interrupted is not None:
        raise graph.interrupted.again()
    if graph.broken:
        raise Refused(
            ACL_ERROR_RT_STREAM_CAPTURE_INVALIDATED,
            "the capture of the task group broke when an earlier call failed; see the message of that call",
        )
    group.handle = machine.new_handle()
    machine.groups[group.handle] = group
    graph.groups.append(group)
    return 0, group.handle


def _check_not_captured(stream: Stream) -> None:
    if capture.captured(stream):
        raise Refused(
            ACL_ERROR_RT_STREAM_CAPTURED,
            "the stream {:#x} is in capture; update the task group on another stream",
            stream.handle,
        )


def _check_not_updating(stream: Stream) -> None:
    if isinstance(stream.lane, UpdateLane):
        raise _group_status(
            "the stream {:#x} updates a task group; end that first (aclmdlRICaptureTaskUpdateEnd)", stream.handle
        )


@call("aclmdlRICaptureTaskUpdateBegin")
def task_update_begin(machine: "Machine", thread: Thread, handle: int, group_handle: int) -> int:
    if not handle:
        raise null("stream")
    if not group_handle:
        raise null("handle")
    machine.hold()
    stream = live_stream(machine, handle)
    group = machine.groups.get(group_handle)
    if group is None:
        raise stale("handle", group_handle)
    _check_not_captured(stream)
    _check_bound(stream)
    _own(machine, thread, stream)
    _check_not_updating(stream)
    if group.updating:
        raise _group_status("the task group {:#x} is being updated by another stream; end that first", group_handle)
    group.updating = True
    graph = next(each for each in machine.graphs.values() if group in each.groups)
    stream.lane = UpdateLane(graph, group, stream.lane)
    return 0


@call("aclmdlRICaptureTaskUpdateEnd")
def task_update_end(machine: "Machine", thread: Thread, handle: int) -> int:
    if not handle:
        raise null("stream")
    machine.hold()
    stream = live_stream(machine, handle)
    _check_not_captured(stream)
    _check_bound(stream)
    _own(machine, thread, stream)
    lane = stream.lane
    if not isinstance(lane, UpdateLane):
        raise _group_status("the stream {:#x} updates no task group; call aclmdlRICaptureTaskUpdateBegin first", handle)
    lane.group.updating = False
    stream.lane = lane.behind
    if lane.updated != len(lane.group.tasks):
        raise Refused(
            ACL_ERROR_RT_INTERNAL_ERROR,
            "{} of {} tasks of the task group {:#x} were updated; submit as many, and of the same kinds, as it has",
            lane.updated, len(lane.group.tasks), lane.group.handle,
        )  # fmt: skip
    return 0
