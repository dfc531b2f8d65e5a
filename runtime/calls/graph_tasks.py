"""The tasks of model instances: what they are, what is set of them, leaving them out (reference documents for what the
calls do, reference implementation for their checks).

Only captured instances can be changed. What a call changed counts once aclmdlRIUpdate was called; until then the
instance cannot be executed. A task that something else stands in for keeps its handle and its place.
"""

from struct import pack_into, unpack_from
from typing import TYPE_CHECKING, Any, Final

from cannery.runtime.calls.graphs import live_graph, own_graph
from cannery.runtime.calls.registry import call
from cannery.runtime.calls.stream_memory import value_place
from cannery.runtime.calls.streams import live_stream
from cannery.runtime.errors import (
    ACL_ERROR_RT_INSUFFICIENT_INPUT_ARRAY,
    ACL_ERROR_RT_MODEL_UPDATE_FAILED,
    Refused,
    null,
    out_of_range,
    stale,
    unsupported,
)
from cannery.runtime.graphs import ExternalRecord, ExternalWait, Graph, Kept
from cannery.runtime.kernels import Launch, UnmodelledLaunch
from cannery.runtime.lanes import BoundLane, CapturedRecord
from cannery.runtime.objects import Event, Thread
from cannery.runtime.tasks import EventReset, EventWait, SignalRecord, Task
from cannery.runtime.values import NOR, ValueWait, ValueWrite

if TYPE_CHECKING:
    from cannery.runtime.machine import Machine

# aclmdlRITaskType
OTHER: Final = 0
KERNEL: Final = 1
EVENT_RECORD: Final = 2
EVENT_WAIT: Final = 3
EVENT_RESET: Final = 4
VALUE_WRITE: Final = 5
VALUE_WAIT: Final = 6

PARAMS: Final = 200  # bytes of aclmdlRITaskParams
GROUP: Final = 16  # where its taskGrp is, and behind that opInfoPtr and opInfoSize
UNION: Final = 72  # where its union begins


def _live_task(machine: "Machine", handle: int) -> Kept:
    """Raises 107000 for null, which these calls check in the runtime layer, 107017."""
    if not handle:
        raise out_of_range("the argument task is null; pass a task from aclmdlRIGetTasksByStream")
    kept = machine.kept.get(handle)
    if kept is None:
        raise stale("task", handle)
    return kept


def _present(kept: Kept) -> Task:
    """What stands in for a task, or the task itself; also where it is left out (reference implementation)."""
    return kept.graph.changed.get(kept.task) or kept.task


def _event_of(task: Task) -> Event | None:
    """What a task that is about an event is about."""
    if isinstance(task, CapturedRecord | SignalRecord | ExternalRecord | EventWait | EventReset):
        return task.event
    return None


def _type_of(graph: Graph, task: Task) -> int:
    """Records and waits with the flag EXTERNAL count as others (reference implementation)."""
    if isinstance(task, ValueWrite):
        return VALUE_WRITE
    if isinstance(task, ValueWait):
        return VALUE_WAIT
    if isinstance(task, Launch | UnmodelledLaunch):
        return KERNEL
    if _event_of(task) is None or isinstance(task, ExternalWait):
        return OTHER
    if isinstance(task, ExternalRecord) and not graph.by_hand:
        return OTHER
    if isinstance(task, EventWait):
        return EVENT_WAIT
    return EVENT_RESET if isinstance(task, EventReset) else EVENT_RECORD


@call("aclmdlRIGetTasksByStream")
def get_tasks_by_stream(machine: "Machine", thread: Thread, handle: int, out: int, room: int | None) -> Any:
    """Room for fewer is refused, and nothing is written then (our choice: the implementation gives what fits)."""
    if not handle:
        raise out_of_range("the argument stream is null; pass a stream from aclmdlRIGetStreams")
    stream = live_stream(machine, handle)
    if room is None:
        raise out_of_range("the argument numTasks is null; pass the size of tasks, or a number to be written")
    lane = stream.lane
    if isinstance(lane, BoundLane) and lane.graph is not None:
        graph, tasks = lane.graph, [*enumerate(lane.tasks)]
    else:
        found = next((graph for graph in machine.graphs.values() if stream in graph.streams), None)
        if found is None:
            raise out_of_range("the stream {:#x} belongs to no model instance", handle)
        graph, tasks = found, [(number, task) for number, task in enumerate(found.tasks) if task.stream is stream]
    if not out:
        return 0, None, len(tasks)
    if room < len(tasks):
        raise Refused(
            ACL_ERROR_RT_INSUFFICIENT_INPUT_ARRAY,
            "the argument numTasks is {}, but the stream {:#x} has {} tasks; ask for their number first",
            room, handle, len(tasks),
        )  # fmt: skip
    return 0, tuple(graph.keep(machine, task, number).handle for number, task in tasks), len(tasks)


@call("aclmdlRITaskGetType")
def task_get_type(machine: "Machine", thread: Thread, handle: int, out: int) -> Any:
    kept = _live_task(machine, handle)
    if not out:
        raise out_of_range("the argument type is null; pass where the type is to be written")
    return 0, _type_of(kept.graph, _present(kept))


@call("aclmdlRITaskGetSeqId")
def task_get_seq_id(machine: "Machine", thread: Thread, handle: int, out: int) -> Any:
    kept = _live_task(machine, handle)
    if not out:
        raise out_of_range("the argument id is null; pass where the id is to be written")
    _check_captured(kept.graph)
    return 0, kept.number


@call("aclmdlRITaskGetParams")
def task_get_params(machine: "Machine", thread: Thread, handle: int, out: int) -> Any:
    kept = _live_task(machine, handle)
    if not out:
        raise out_of_range("the argument params is null; pass where the parameters are to be written")
    task, content = _present(kept), bytearray(PARAMS)
    event = _event_of(task)
    if event is not None:
        external = isinstance(task, ExternalWait) or (isinstance(task, ExternalRecord) and not kept.graph.by_hand)
        pack_into("<QII", content, UNION, event.handle, event.flags, int(external))
        kind = EVENT_WAIT if isinstance(task, EventWait) else _type_of(kept.graph, task) or EVENT_RECORD
    elif isinstance(task, ValueWrite):
        kind = VALUE_WRITE
        pack_into("<QQ", content, UNION, task.place.address, task.value)
    elif isinstance(task, ValueWait):
        kind = VALUE_WAIT
        pack_into("<QQI", content, UNION, task.place.address, task.value, task.flag)
    elif isinstance(task, Launch | UnmodelledLaunch):
        raise unsupported("the task {:#x} is a kernel, whose parameters are not told in this version", handle)
    else:
        raise out_of_range("the task {:#x} ({}) is of a type without parameters", handle, task.what)
    pack_into("<i", content, 0, kind)
    return 0, bytes(content)


@call("aclmdlRITaskSetParams")
def task_set_params(machine: "Machine", thread: Thread, handle: int, params: bytes | None) -> int:
    machine.hold()
    if not handle:
        raise out_of_range("the argument task is null; pass a task from aclmdlRIGetTasksByStream")
    if params is None:
        raise out_of_range("the argument params is null; pass the parameters")
    kept = _live_task(machine, handle)
    _check_changeable(kept.graph)
    task = _present(kept)
    (kind,) = unpack_from("<i", params)
    if kind == KERNEL:
        raise unsupported("parameters of kernels cannot be set in this version; update them as a task group")
    if kind not in (VALUE_WRITE, VALUE_WAIT):
        raise out_of_range(
            "type in the argument params is {}; only parameters of kernels (1), value writes (5) and value waits (6) "
            "can be set",
            kind,
        )
    if _type_of(kept.graph, task) == OTHER:
        raise out_of_range("the task {:#x} ({}) is of a type whose parameters cannot be set", handle, task.what)
    if any(unpack_from("<QQQ", params, GROUP)):
        raise out_of_range("taskGrp, opInfoPtr or opInfoSize in the argument params is set, which are for kernels")
    stand_in = _value_task(machine, kind, unpack_from("<QQI", params, UNION))
    stand_in.cost = machine.event_cost
    stand_in.stream = task.stream
    kept.graph.changed[kept.task] = stand_in
    kept.graph.updating = True
    return 0


def _value_task(machine: "Machine", kind: int, fields: tuple[int, int, int]) -> ValueWrite | ValueWait:
    """What waits for a value, or writes it, as aclrtValueWait and aclrtValueWrite have it. Raises 107000."""
    address, value, flag = fields
    place = value_place(machine, address)
    if kind == VALUE_WRITE:
        write = ValueWrite()
        write.place = place
        write.value = value
        return write
    if flag > NOR:
        raise out_of_range("flag in the argument params is {}; pass a flag of aclrtValueWait, 0 to 3", flag)
    wait = ValueWait()
    wait.machine = machine
    wait.place = place
    wait.value = value
    wait.flag = flag
    wait.limit = 0
    wait.open = False
    return wait


@call("aclmdlRITaskDisable")
def task_disable(machine: "Machine", thread: Thread, handle: int) -> int:
    """Who waits for a record that is left out waits for ever; the documents leave dependencies to the program."""
    machine.hold()
    if not handle:
        raise out_of_range("the argument task is null; pass a task from aclmdlRIGetTasksByStream")
    kept = _live_task(machine, handle)
    graph = kept.graph
    _check_changeable(graph)
    task = _present(kept)
    if _type_of(graph, task) == OTHER:
        raise out_of_range("the task {:#x} ({}) is of a type that cannot be left out", handle, task.what)
    graph.changed[kept.task] = None
    graph.updating = True
    return 0


@call("aclmdlRIUpdate")
def update(machine: "Machine", thread: Thread, handle: int) -> int:
    if not handle:
        raise out_of_range("the argument modelRI is null; pass a model instance")
    graph = live_graph(machine, handle)
    _check_captured(graph)
    if graph.capturing:
        raise _not_now(graph, "is still being captured")
    graph.updating = False
    return 0


@call("aclmdlRIDebugPrint")
def debug_print(machine: "Machine", thread: Thread, handle: int) -> int:
    """Prints into a log of the runtime, of which there is none here."""
    if not handle:
        raise null("modelRI")
    own_graph(machine, thread, live_graph(machine, handle))
    return 0


def _check_captured(graph: Graph) -> None:
    """Raises 207000."""
    if graph.by_hand:
        raise unsupported("the model instance {:#x} was built by hand; this call is for captured ones", graph.handle)


def _check_changeable(graph: Graph) -> None:
    """Raises 207000, 107040."""
    _check_captured(graph)
    if graph.condition is not None:
        raise unsupported(
            "the model instance {:#x} is the child of a conditional task, and stays as it is", graph.handle
        )  # fmt: skip
    if graph.capturing:
        raise _not_now(graph, "is still being captured")
    if graph.runs:
        raise _not_now(graph, "is running")


def _not_now(graph: Graph, why: str) -> Refused:
    return Refused(
        ACL_ERROR_RT_MODEL_UPDATE_FAILED, "the model instance {:#x} {} and cannot be updated now", graph.handle, why
    )
