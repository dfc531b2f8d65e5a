"""What a thread can say and ask of the task that it submitted last (reference pages and reference implementation).

Information about operators shows in what a profiler writes, and nowhere else: here it is in the trace. The text of
aclrtCacheLastTaskExtendInfo is in what aclmdlRIDebugJsonPrint writes.
"""

from typing import TYPE_CHECKING, Any, Final

from cannery.runtime.calls.registry import call
from cannery.runtime.errors import ACL_ERROR_RT_INTERNAL_ERROR, Refused, foreign, invalid, null, out_of_range
from cannery.runtime.graphs import Graph
from cannery.runtime.lanes import BoundLane
from cannery.runtime.objects import Thread

if TYPE_CHECKING:
    from cannery.runtime.machine import Machine

LONGEST: Final = 0x10000  # bytes of information about an operator
LONGEST_TEXT: Final = 4096  # bytes


@call("aclrtGetThreadLastTaskId")
def get_thread_last_task_id(machine: "Machine", thread: Thread, out: int) -> Any:
    """Of a task in a capture, or of a stream bound to a model instance, its number among the tasks there."""
    if not out:
        raise out_of_range("the argument taskId is null; pass the address of a number")
    return 0, thread.last_task & 0xFFFF_FFFF


@call("aclrtCacheLastTaskOpInfo")
def cache_last_task_op_info(machine: "Machine", thread: Thread, information: bytes | None, size: int) -> int:
    if information is None:
        raise null("infoPtr")
    if not size:
        raise invalid("the argument infoSize is 0; pass the length of the information in bytes")
    if size > LONGEST:
        raise out_of_range("the argument infoSize is {}; a task keeps up to {} bytes", size, LONGEST)
    graph = _instance(machine, thread)
    if graph.by_hand:
        raise _without("the thread's last task does not belong to a capture")
    if not (graph.capturing and graph.lanes[0].source.caches):
        raise _without(
            "the capture keeps no information about operators; switch that on (aclrtSetStreamAttribute) for the stream "
            "that it began on"
        )
    return 0


@call("aclrtCacheLastTaskExtendInfo")
def cache_last_task_extend_info(machine: "Machine", thread: Thread, information: bytes | None, size: int) -> int:
    """Of more than 4096 bytes the first ones are kept."""
    if information is None:
        raise out_of_range("the argument extendInfoPtr is null; pass the address of a text")
    if not size:
        raise out_of_range("the argument infoSize is 0; pass the length of the text in bytes")
    graph = _instance(machine, thread)
    stream = thread.last_stream
    assert stream is not None, "it has the instance"
    tasks = stream.lane.tasks if isinstance(stream.lane, BoundLane) else graph.tasks
    if not 0 < thread.last_task <= len(tasks):
        raise _without("the thread's last task was cleaned away (aclrtPersistentTaskClean)")
    graph.extended[tasks[thread.last_task - 1]] = information[:LONGEST_TEXT]
    return 0


def _instance(machine: "Machine", thread: Thread) -> Graph:
    """The model instance that has the task which the thread submitted last.

    Raises:
        Refused: 107002; 507000, there is none; 107003, it belongs to another context.
    """
    context = machine.context_of(thread)
    stream = thread.last_stream
    if stream is None or machine.streams.get(stream.handle) is not stream or stream.device is not context.device:
        raise _without("the thread submitted no task to a stream of the current device that is still there")
    if stream.context is not context:
        raise foreign(stream.handle)
    for graph in machine.graphs.values():
        if stream in graph.streams:
            return graph
    raise _without("the thread's last task does not belong to a model instance")


def _without(reason: str) -> Refused:
    return Refused(ACL_ERROR_RT_INTERNAL_ERROR, reason)
