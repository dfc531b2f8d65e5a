"""Conditional tasks of captures (reference pages of the functions named; checks in the order of the reference
implementation; the rules are in ``runtime/conditions.py``)."""

from typing import TYPE_CHECKING, Any, Final

from cannery.runtime.calls.graphs import live_graph, own_graph
from cannery.runtime.calls.registry import call
from cannery.runtime.calls.streams import live_stream
from cannery.runtime.conditions import IF, SIZE, SWITCH, WHILE, Branch, Condition, Join
from cannery.runtime.errors import (
    ACL_ERROR_RT_MEMORY_ALLOCATION,
    ACL_ERROR_RT_STREAM_NOT_CAPTURED,
    Refused,
    foreign,
    null,
    out_of_range,
    stale,
)
from cannery.runtime.graphs import Graph
from cannery.runtime.lanes import CaptureLane
from cannery.runtime.objects import Thread

if TYPE_CHECKING:
    from cannery.runtime.machine import Machine

ASSIGN_DEFAULT: Final = 1  # ACL_MODEL_RI_COND_HANDLE_ASSIGN_DEFAULT
COUNTS: Final = {IF: (1, 2), WHILE: (1, 1), SWITCH: (1, 0xFFFF)}
"""How many children a task of each kind can have. The last is our limit: the shim writes no longer lists."""

Parameters = tuple[int, int, int, bool]
"""An aclmdlRICondTaskParams: condition, kind, number of children, whether there is an array for them."""


@call("aclmdlRICondHandleCreate")
def cond_handle_create(machine: "Machine", thread: Thread, model: int, default: int, flag: int, out: int) -> Any:
    """The memory begins as 0."""
    if not model:
        raise null("modelRI")
    if not out:
        raise null("handle")
    graph = live_graph(machine, model)
    if flag not in (0, ASSIGN_DEFAULT):
        raise out_of_range(
            "the argument flag is {}; pass ACL_MODEL_RI_COND_HANDLE_ASSIGN_DEFAULT (1), or 0", flag
        )  # fmt: skip
    if graph.by_hand:
        raise out_of_range("the model instance {:#x} was built by hand; only captures have conditions", model)
    if not graph.capturing:
        raise out_of_range(
            "the model instance {:#x} is not being captured; make its conditions between aclmdlRICaptureBegin and "
            "aclmdlRICaptureEnd",
            model,
        )
    context = own_graph(machine, thread, graph)
    allocation = machine.memory.allocate(context.device, SIZE)
    if allocation is None:
        raise Refused(
            ACL_ERROR_RT_MEMORY_ALLOCATION, "device {} has not {} bytes left for a condition", context.device.user, SIZE
        )
    machine.memory.store(machine.memory.place(allocation.address), bytes(SIZE))
    condition = Condition(machine.new_handle(), graph, allocation, default, flag == ASSIGN_DEFAULT)
    machine.conditions[condition.handle] = condition
    graph.conditions.append(condition)
    return 0, condition.handle


def _live(machine: "Machine", handle: int) -> Condition:
    """Raises 107017."""
    condition = machine.conditions.get(handle)
    if condition is None:
        raise stale("condition", handle)
    return condition


@call("aclmdlRICondHandleGetCondPtr")
def cond_handle_get_cond_ptr(machine: "Machine", thread: Thread, handle: int, out: int) -> Any:
    if not handle:
        raise null("handle")
    if not out:
        raise null("ptr")
    condition = _live(machine, handle)
    machine.context_of(thread)
    return 0, condition.allocation.address


@call("aclmdlRIAddCondTask")
def add_cond_task(machine: "Machine", thread: Thread, parameters: Parameters, stream_handle: int, flags: int) -> Any:
    if not stream_handle:
        raise null("stream")
    handle, kind, count, room = parameters
    named = None if not handle else _live(machine, handle)
    stream = live_stream(machine, stream_handle)
    if kind not in COUNTS:
        raise out_of_range("type in the argument params is {}; pass a constant of aclmdlRICondTaskType, 0 to 2", kind)
    if flags:
        raise out_of_range("the argument flags is {:#x}; it is reserved, pass 0", flags)
    if named is None:
        raise out_of_range("handle in the argument params is null; pass what aclmdlRICondHandleCreate gave")
    if not room:
        raise out_of_range("modelRIArray in the argument params is null; pass where the instances are to be written")
    if named.children:
        raise out_of_range("the condition {:#x} has a task already; make another one", handle)
    context = machine.context_of(thread)
    if stream.context is not context:
        raise foreign(stream_handle)
    lane = stream.lane
    if not isinstance(lane, CaptureLane):
        raise Refused(
            ACL_ERROR_RT_STREAM_NOT_CAPTURED,
            "the stream {:#x} is not in capture; call aclmdlRICaptureBegin first",
            stream_handle,
        )
    if named.graph is not lane.graph:
        raise out_of_range(
            "the condition {:#x} belongs to another instance than the one that the stream {:#x} is captured into",
            handle, stream_handle,
        )  # fmt: skip
    least, most = COUNTS[kind]
    if not least <= count <= most:
        raise out_of_range("size in the argument params is {}; a task of this type has {} to {}", count, least, most)
    branch = Branch()
    branch.stream = stream
    machine.schedule.check(branch)
    named.kind = kind
    for _ in range(count):
        child = Graph(machine, context, False)
        child.condition = named
        named.children.append(child)
    _submit(machine, branch, named)
    return 0, tuple(child.handle for child in named.children)


def _submit(machine: "Machine", branch: Branch, condition: Condition) -> None:
    branch.condition = condition
    branch.cost = machine.event_cost
    branch.gate = branch.made = None
    join = Join()
    join.stream = branch.stream
    join.cost = join.limit = join.rounds = 0
    join.open = False
    join.branch = branch
    join.tail = None
    machine.schedule.submit(branch)
    machine.schedule.submit(join)
