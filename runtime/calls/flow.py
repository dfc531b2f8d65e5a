"""Flow in instances that are built by hand: other streams, labels (reference documents for what the calls do, reference
implementation for their checks; see ``runtime/flow.py``)."""

from typing import TYPE_CHECKING, Any, Final

from cannery.runtime.calls.registry import call
from cannery.runtime.calls.streams import live_stream
from cannery.runtime.errors import (
    ACL_ERROR_RT_INTERNAL_ERROR,
    ACL_ERROR_RT_LABEL_CONTEXT,
    ACL_ERROR_RT_STREAM_MODEL,
    Refused,
    foreign,
    invalid,
    null,
    out_of_range,
    stale,
)
from cannery.runtime.flow import LESS_OR_EQUAL, SIZES, Activate, Label, LabelList, Mark, SwitchLabel, SwitchStream
from cannery.runtime.lanes import BoundLane
from cannery.runtime.objects import PERSISTENT, Context, Stream, Thread
from cannery.runtime.places import DEVICE, Place
from cannery.runtime.tasks import Task

if TYPE_CHECKING:
    from cannery.runtime.machine import Machine

MOST_LABELS: Final = 65535  # of a process, and in a list (reference documents)


def _check_given(**addresses: int) -> None:
    for name, value in addresses.items():
        if not value:
            raise null(name)


def _bound(stream: Stream) -> BoundLane:
    """Raises 107005."""
    lane = stream.lane
    if not isinstance(lane, BoundLane) or lane.graph is None:
        raise Refused(
            ACL_ERROR_RT_STREAM_MODEL,
            "the stream {:#x} is bound to no model instance that is built by hand (aclmdlRIBindStream)",
            stream.handle,
        )
    return lane


def _check_own(stream: Stream, context: Context) -> None:
    """Raises 107003."""
    if stream.context is not context:
        raise foreign(stream.handle)


def _device_place(machine: "Machine", argument: str, address: int) -> Place:
    """Raises 107000: for what is no device memory (our choice: the implementation does not look)."""
    place = machine.memory.place(address)
    if place.kind is not DEVICE:
        raise out_of_range("the argument {} ({:#x}) is {}; pass device memory", argument, address, place.kind)
    return place


def _submit(machine: "Machine", task: Task, stream: Stream) -> int:
    task.cost = machine.event_cost
    task.stream = stream
    machine.schedule.submit(task)
    return 0


# Streams.


@call("aclrtActiveStream")
def active_stream(machine: "Machine", thread: Thread, active_handle: int, stream_handle: int) -> int:
    _check_given(activeStream=active_handle, stream=stream_handle)
    machine.hold()
    active, stream = live_stream(machine, active_handle), live_stream(machine, stream_handle)
    context = machine.context_of(thread)
    _bound(stream)
    lane = _bound(active)
    _check_own(stream, context)
    task = Activate()
    task.lane = lane
    return _submit(machine, task, stream)


@call("aclrtSwitchStream")
def switch_stream(
    machine: "Machine",
    thread: Thread,
    left: int,
    condition: int,
    right: int,
    kind: int,
    true_handle: int,
    false_handle: int,
    stream_handle: int,
) -> int:
    _check_given(leftValue=left, rightValue=right, trueStream=true_handle, stream=stream_handle)
    if false_handle:
        raise invalid("the argument falseStream is not null; it is reserved, pass null")
    machine.hold()
    true, stream = live_stream(machine, true_handle), live_stream(machine, stream_handle)
    if not 0 <= condition <= LESS_OR_EQUAL:
        raise out_of_range("the argument cond is {}; pass a constant of aclrtCondition, 0 to 5", condition)
    if not 0 <= kind < len(SIZES):
        raise out_of_range("the argument dataType is {}; pass a constant of aclrtCompareDataType, 0 or 1", kind)
    lane = _bound(true)
    _bound(stream)
    _check_own(stream, machine.context_of(thread))
    task = SwitchStream()
    task.condition = condition
    task.size = SIZES[kind]
    task.left = _device_place(machine, "leftValue", left)
    task.right = _device_place(machine, "rightValue", right)
    task.lane = lane
    return _submit(machine, task, stream)


@call("aclrtPersistentTaskClean")
def persistent_task_clean(machine: "Machine", thread: Thread, handle: int) -> int:
    """The stream takes tasks again, which are its part of the instance from then on; labels on it are set nowhere."""
    if not handle:
        raise out_of_range("the argument stream is null; pass a stream made with ACL_STREAM_PERSISTENT")
    stream = live_stream(machine, handle)
    lane = stream.lane
    graph = lane.graph if isinstance(lane, BoundLane) else None
    if not stream.flags & PERSISTENT or graph is None or not graph.built:
        raise Refused(
            ACL_ERROR_RT_INTERNAL_ERROR,
            "the stream {:#x} has to be made with ACL_STREAM_PERSISTENT and belong to a model instance whose building "
            "has ended (aclmdlRIBuildEnd)",
            handle,
        )
    _check_own(stream, machine.context_of(thread))
    assert isinstance(lane, BoundLane)
    graph.forget(machine, lane.tasks)
    graph.tasks = [task for task in graph.tasks if task.stream is not stream]
    if graph.end is not None and graph.end.stream is stream:
        graph.end = None
    for label in machine.labels.values():
        if label.lane is lane:
            label.unset()
    lane.tasks = []
    lane.cleaned = True
    return 0


# Labels.


@call("aclrtCreateLabel")
def create_label(machine: "Machine", thread: Thread, out: int) -> Any:
    if not out:
        raise null("label")
    context = machine.context_of(thread)
    if len(machine.labels) >= MOST_LABELS:
        raise Refused(
            ACL_ERROR_RT_INTERNAL_ERROR, "the process has {} labels, and cannot have more; destroy some", MOST_LABELS
        )
    label = Label(machine.new_handle(), context)
    machine.labels[label.handle] = label
    return 0, label.handle


def _label(machine: "Machine", handle: int) -> Label:
    """Raises 107017."""
    label = machine.labels.get(handle)
    if label is None:
        raise stale("label", handle)
    return label


def _check_own_label(label: Label, context: Context) -> None:
    if label.context is not context:
        raise Refused(
            ACL_ERROR_RT_LABEL_CONTEXT, "the label {:#x} belongs to another context than the current one", label.handle
        )


@call("aclrtDestroyLabel")
def destroy_label(machine: "Machine", thread: Thread, handle: int) -> int:
    """Lists keep what they have."""
    if not handle:
        raise null("label")
    label = _label(machine, handle)
    _check_own_label(label, machine.context_of(thread))
    del machine.labels[handle]
    return 0


@call("aclrtSetLabel")
def set_label(machine: "Machine", thread: Thread, handle: int, stream_handle: int) -> int:
    _check_given(label=handle, stream=stream_handle)
    label, stream = _label(machine, handle), live_stream(machine, stream_handle)
    context = machine.context_of(thread)
    _check_own_label(label, context)
    _check_own(stream, context)
    lane = _bound(stream)
    if label.lane is not None or not label.listed:
        what = "is in no list; call aclrtCreateLabelList first" if label.lane is None else "is set already"
        raise Refused(ACL_ERROR_RT_INTERNAL_ERROR, "the label {:#x} {}", handle, what)
    mark = Mark()
    _submit(machine, mark, stream)
    label.lane = lane
    label.task = mark
    return 0


@call("aclrtCreateLabelList")
def create_label_list(machine: "Machine", thread: Thread, handles: tuple[int, ...] | None, count: int, out: int) -> Any:
    if handles is None:
        raise null("labels")
    if not out:
        raise null("labelList")
    if not 0 < count <= MOST_LABELS:
        raise out_of_range("the argument num is {}; a list has 1 to {} labels", count, MOST_LABELS)
    for place, handle in enumerate(handles):
        if not handle:
            raise out_of_range("element {} of the argument labels is null", place)
    labels = tuple([_label(machine, handle) for handle in handles])
    context = machine.context_of(thread)
    for place, label in enumerate(labels):
        if label.listed or label in labels[:place]:
            raise Refused(
                ACL_ERROR_RT_INTERNAL_ERROR,
                "the label {:#x} is in a list already, and can be in one only",
                label.handle,
            )
    made = LabelList(machine.new_handle(), context, labels)
    machine.label_lists[made.handle] = made
    for label in labels:
        label.listed = True
    return 0, made.handle


def _list(machine: "Machine", handle: int) -> LabelList:
    """Raises 107017 (our choice: in the implementation a list is plain device memory)."""
    found = machine.label_lists.get(handle)
    if found is None:
        raise stale("labelList", handle)
    return found


@call("aclrtDestroyLabelList")
def destroy_label_list(machine: "Machine", thread: Thread, handle: int) -> int:
    if not handle:
        raise null("labelList")
    machine.hold()
    _list(machine, handle)
    del machine.label_lists[handle]
    return 0


@call("aclrtSwitchLabelByIndex")
def switch_label_by_index(
    machine: "Machine", thread: Thread, address: int, most: int, list_handle: int, stream_handle: int
) -> int:
    _check_given(ptr=address, labelList=list_handle, stream=stream_handle)
    machine.hold()
    stream = live_stream(machine, stream_handle)
    labels = _list(machine, list_handle)
    _check_own(stream, machine.context_of(thread))
    _bound(stream)
    if not 0 < most <= len(labels.labels):
        raise out_of_range(
            "the argument maxValue is {}, but the list has {} labels; pass how many there are", most, len(labels.labels)
        )
    task = SwitchLabel()
    task.labels = labels
    task.most = most
    task.place = _device_place(machine, "ptr", address)
    return _submit(machine, task, stream)
