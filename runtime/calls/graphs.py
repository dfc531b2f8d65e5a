"""Model instances: executing, destroying, what they are called (semantics.md 7; graphs.py).

What semantics.md leaves open is that of the reference documents (their chapter on model running instances), then that
of the reference implementation.
"""

from typing import TYPE_CHECKING, Any, Final

from cannery.runtime import capture, conditions, graphs
from cannery.runtime.calls.registry import call
from cannery.runtime.calls.streams import named_stream, submission_stream, synchronize
from cannery.runtime.errors import (
    ACL_ERROR_RT_INSUFFICIENT_INPUT_ARRAY,
    ACL_ERROR_RT_INTERNAL_ERROR,
    ACL_ERROR_RT_MODEL_CAPTURED,
    ACL_ERROR_RT_MODEL_CONTEXT,
    ACL_ERROR_RT_MODEL_EXECUTE,
    ACL_ERROR_RT_MODEL_RUNNING,
    Refused,
    null,
    out_of_range,
    stale,
    unsupported,
)
from cannery.runtime.graphs import Graph
from cannery.runtime.invoke import Invoke
from cannery.runtime.lanes import BoundLane
from cannery.runtime.objects import Context, Thread
from cannery.runtime.waits import Reply, Resume, Then

if TYPE_CHECKING:
    from cannery.runtime.machine import Machine

DESTROY_WAITS: Final = 10_000  # ms that aclmdlRIDestroy waits for runs (reference implementation)
LONGEST_NAME: Final = 512


def live_graph(machine: "Machine", handle: int) -> Graph:
    """Raises 107017."""
    graph = machine.graphs.get(handle)
    if graph is None:
        raise stale("modelRI", handle)
    return graph


def own_graph(machine: "Machine", thread: Thread, graph: Graph) -> Context:
    """The current context, which the instance belongs to. Raises 107002, 107004."""
    context = machine.context_of(thread)
    if graph.context is not context:
        raise Refused(
            ACL_ERROR_RT_MODEL_CONTEXT,
            "the model instance {:#x} belongs to another context than the current one; make its context current first",
            graph.handle,
        )
    return context


# Executing.


def _check_ready(graph: Graph) -> None:
    if graph.capturing:
        raise _captured(graph)
    if not graph.built:
        raise Refused(
            ACL_ERROR_RT_MODEL_EXECUTE,
            "the model instance {:#x} is still being built; call aclmdlRIBuildEnd first",
            graph.handle,
        )
    if graph.end is None:
        raise Refused(
            ACL_ERROR_RT_MODEL_EXECUTE,
            "the end of the model instance {:#x} was cleaned away; call aclmdlRIEndTask first",
            graph.handle,
        )
    if graph.updating:
        raise Refused(
            ACL_ERROR_RT_MODEL_EXECUTE,
            "tasks of the model instance {:#x} were changed; call aclmdlRIUpdate first",
            graph.handle,
        )


def _captured(graph: Graph) -> Refused:
    return Refused(
        ACL_ERROR_RT_MODEL_CAPTURED,
        "the model instance {:#x} is still being captured; call aclmdlRICaptureEnd first",
        graph.handle,
    )


def _check_no_child(graph: Graph) -> None:
    """Raises 207000."""
    if graph.condition is not None:
        raise unsupported(
            "the model instance {:#x} is the child of a conditional task; it runs, and goes, with the instance that "
            "has the task",
            graph.handle,
        )


@call("aclmdlRIExecute")
def execute(machine: "Machine", thread: Thread, handle: int, timeout: int) -> Any:
    """On the default stream, and waits for all that is queued there. What ran out of time goes on."""
    if not handle:
        raise null("modelRI")
    machine.hold()
    graph = live_graph(machine, handle)
    if timeout < -1 or not timeout:
        raise out_of_range("the argument timeout is {}; pass -1 for no limit, or milliseconds above 0", timeout)
    if not graph.by_hand:
        raise out_of_range(
            "the model instance {:#x} was captured, and can only be executed by aclmdlRIExecuteAsync", handle
        )
    context = own_graph(machine, thread, graph)
    _check_ready(graph)
    stream = submission_stream(machine, context, 0, None)
    graphs.launch(machine, graph, stream)
    return synchronize(machine, thread, "aclmdlRIExecute", stream, timeout)


@call("aclmdlRIExecuteAsync")
def execute_async(machine: "Machine", thread: Thread, handle: int, stream_handle: int) -> int:
    if not handle:
        raise null("modelRI")
    machine.hold()
    graph = live_graph(machine, handle)
    _check_no_child(graph)
    named = named_stream(machine, stream_handle)
    lane = None if named is None else named.lane
    if named is not None and lane is not None:
        capture.check_free(machine, named)
        if lane.bound or isinstance(lane, BoundLane):
            raise out_of_range(
                "the argument stream ({:#x}) is for the tasks of a model instance, and cannot execute one",
                stream_handle,
            )
    context = own_graph(machine, thread, graph)
    _check_ready(graph)
    stream = submission_stream(machine, context, stream_handle, named)
    graphs.launch(machine, graph, stream)
    return 0


@call("aclmdlRIAbort")
def abort(machine: "Machine", thread: Thread, handle: int) -> int:
    """Ends the runs of an instance: what they did not do yet is left undone, and their streams answer 507023."""
    machine.hold()
    if not handle:
        raise out_of_range("the argument modelRI is null; pass the instance that is to be stopped")
    graph = live_graph(machine, handle)
    own_graph(machine, thread, graph)
    if not graph.by_hand:
        raise unsupported("the model instance {:#x} was captured, and such cannot be stopped", handle)
    for run in graph.runs:
        run.aborted = True
    machine.schedule.cancel([task for run in graph.runs for task in run.tasks])
    return 0


@call("aclmdlRIDestroy")
def destroy(machine: "Machine", thread: Thread, handle: int) -> Any:
    """Waits some time for runs that are not over, and runs the functions that were registered for this."""
    if not handle:
        raise null("modelRI")
    machine.hold()
    graph = live_graph(machine, handle)
    own_graph(machine, thread, graph)
    _check_no_child(graph)
    if graph.capturing:
        raise _captured(graph)
    if not graph.runs:
        return _destroyed(machine, thread, graph)
    running = Refused(
        ACL_ERROR_RT_MODEL_RUNNING,
        "the model instance {:#x} is still running after {} ms; synchronise the stream that executes it first",
        handle, DESTROY_WAITS,
    )  # fmt: skip
    return machine.wait(thread, "aclmdlRIDestroy", graph.runs[:], Destroyed(thread, graph), DESTROY_WAITS, running)


class Destroyed(Resume):
    """An instance has stopped running, and ends."""

    __slots__ = ("graph", "thread")

    def __init__(self, thread: Thread, graph: Graph) -> None:
        self.thread = thread
        self.graph = graph

    def reply(self, machine: "Machine") -> Reply:
        return _destroyed(machine, self.thread, self.graph)


class CallbacksLeft(Then):
    """The functions, with their arguments, that the destruction of an instance has yet to run."""

    __slots__ = ("left", "thread")

    def __init__(self, thread: Thread, left: list[tuple[int, int]]) -> None:
        self.thread = thread
        self.left = left

    def take(self, machine: "Machine", value: int) -> Reply:
        return _run_callbacks(machine, self.thread, self.left)


def _destroyed(machine: "Machine", thread: Thread, graph: Graph) -> Any:
    if machine.graphs.get(graph.handle) is not graph:
        return 0  # another thread destroyed it meanwhile, or its context went away
    conditions.close(machine, graph)
    return _run_callbacks(machine, thread, [*graph.callbacks.items()])


def _run_callbacks(machine: "Machine", thread: Thread, left: list[tuple[int, int]]) -> Any:
    if not left:
        return 0
    function, data = left.pop(0)
    invoke = Invoke(function, (data,), "void(ptr)")
    return machine.invoke(thread, "aclmdlRIDestroy", invoke, CallbacksLeft(thread, left))


@call("aclmdlRIDestroyRegisterCallback")
def register_callback(machine: "Machine", thread: Thread, handle: int, function: int, data: int) -> int:
    graph = _for_callback(machine, handle, function)
    if function in graph.callbacks:
        raise out_of_range("the argument func is registered for the model instance {:#x} already", handle)
    graph.callbacks[function] = data
    return 0


@call("aclmdlRIDestroyUnregisterCallback")
def unregister_callback(machine: "Machine", thread: Thread, handle: int, function: int) -> int:
    graph = _for_callback(machine, handle, function)
    if function not in graph.callbacks:
        raise out_of_range("the argument func is not registered for the model instance {:#x}", handle)
    del graph.callbacks[function]
    return 0


def _for_callback(machine: "Machine", handle: int, function: int) -> Graph:
    if not handle:
        raise out_of_range("the argument modelRI is null; pass a model instance")
    graph = live_graph(machine, handle)
    if not function:
        raise out_of_range("the argument func is null; pass a function")
    return graph


# What an instance is called, and what belongs to it.


@call("aclmdlRISetName")
def set_name(machine: "Machine", thread: Thread, handle: int, name: bytes | None) -> int:
    if not handle:
        raise null("modelRI")
    if name is None:
        raise null("name")
    graph = live_graph(machine, handle)
    own_graph(machine, thread, graph)
    graph.name = name
    return 0


@call("aclmdlRIGetName")
def get_name(machine: "Machine", thread: Thread, handle: int, room: int, out: int) -> Any:
    """The document cuts names off after 512 bytes; the implementation refuses room that is too small."""
    if not handle:
        raise null("modelRI")
    if not out:
        raise null("name")
    graph = live_graph(machine, handle)
    if not room:
        raise out_of_range("the argument maxLen is 0; pass the size of name")
    own_graph(machine, thread, graph)
    text = graph.name[:LONGEST_NAME] + b"\0"
    if len(text) > room:
        raise Refused(
            ACL_ERROR_RT_INTERNAL_ERROR,
            "the argument maxLen is {}, but the name of the model instance {:#x} needs {} bytes",
            room, handle, len(text),
        )  # fmt: skip
    return 0, text


@call("aclmdlRIGetId")
def get_id(machine: "Machine", thread: Thread, handle: int, out: int) -> Any:
    if not handle:
        raise null("modelRI")
    if not out:
        raise null("modelRIId")
    return 0, live_graph(machine, handle).number


@call("aclmdlRIGetStreams")
def get_streams(machine: "Machine", thread: Thread, handle: int, out: int, room: int | None) -> Any:
    if room is None:
        raise out_of_range("the argument numStreams is null; pass the size of streams, or a number to be written")
    if not handle:
        raise out_of_range("the argument modelRI is null; pass a model instance")
    graph = live_graph(machine, handle)
    own_graph(machine, thread, graph)
    handles = [stream.handle for stream in graph.streams]
    if not out:
        return 0, None, len(handles)
    if room < len(handles):
        raise Refused(
            ACL_ERROR_RT_INSUFFICIENT_INPUT_ARRAY,
            "the argument numStreams is {}, but the model instance {:#x} has {} streams; ask for their number first",
            room, handle, len(handles),
        )  # fmt: skip
    return 0, tuple(handles), len(handles)
