"""Functions of the program in streams: subscription, launch, processing, host functions (semantics.md 6)."""

from typing import TYPE_CHECKING, Any, Final

from cannery.runtime.calls.registry import call
from cannery.runtime.calls.streams import named_stream, submission_stream
from cannery.runtime.errors import (
    ACL_ERROR_RT_REPORT_TIMEOUT,
    ACL_ERROR_RT_STREAM_NO_CB_REG,
    ACL_ERROR_RT_STREAM_SUBSCRIBE,
    ACL_ERROR_RT_THREAD_SUBSCRIBE,
    Again,
    Refused,
    foreign,
    invalid,
    out_of_range,
)
from cannery.runtime.host_functions import (
    Batch,
    HostFunction,
    HostReturn,
    Reports,
    Worker,
    launch,
    unsubscribe,
)
from cannery.runtime.invoke import Invoke
from cannery.runtime.objects import Stream, Thread
from cannery.runtime.waits import Reply, Resume, Until

if TYPE_CHECKING:
    from cannery.runtime.machine import Machine

CALLBACK_NO_BLOCK: Final = 0
CALLBACK_BLOCK: Final = 1
SIGNATURE: Final = "void(ptr)"


def _check_not_hosting(named: Stream | None) -> None:
    """A stream that was named must not have host functions; one that was given as null may (reference
    implementation). Raises 107011."""
    if named is not None and isinstance(named.runner, Worker):
        raise Refused(
            ACL_ERROR_RT_STREAM_SUBSCRIBE,
            "the stream {:#x} has host functions (aclrtLaunchHostFunc), which a thread of the runtime runs; use "
            "another stream for callbacks",
            named.handle,
        )


# Subscriptions. Threads are known by the ids that the program gives (pthread_self). Messages do not tell them: they
# differ from run to run, and in a replay.


@call("aclrtSubscribeReport")
def subscribe_report(machine: "Machine", thread: Thread, thread_id: int, handle: int) -> int:
    machine.hold()
    named = named_stream(machine, handle)
    _check_not_hosting(named)
    context = machine.context_of(thread)
    stream = context.default if named is None else named
    if stream.runner is not None:
        raise Refused(
            ACL_ERROR_RT_STREAM_SUBSCRIBE,
            "the stream {:#x} is subscribed already, or has host functions; a stream has one thread for its callbacks",
            stream.handle,
        )
    reports = machine.reports.get(thread_id)
    if reports is None:
        reports = machine.reports[thread_id] = Reports(stream.device)
    elif reports.device is not stream.device:
        raise Refused(
            ACL_ERROR_RT_THREAD_SUBSCRIBE,
            "this thread is subscribed for streams of device {}, and the stream {:#x} is of device {}; subscribe one "
            "thread for each device",
            reports.device.user, stream.handle, stream.device.user,
        )  # fmt: skip
    stream.runner = reports
    reports.streams[stream.handle] = stream
    return 0


@call("aclrtUnSubscribeReport")
def unsubscribe_report(machine: "Machine", thread: Thread, thread_id: int, handle: int) -> int:
    """Waits for the blocking functions that are queued (reference implementation)."""
    machine.hold()
    named = named_stream(machine, handle)
    _check_not_hosting(named)
    stream = machine.context_of(thread).default if named is None else named
    reports = stream.runner
    if not isinstance(reports, Reports):
        raise Refused(
            ACL_ERROR_RT_STREAM_SUBSCRIBE,
            "the stream {:#x} is not subscribed; call aclrtSubscribeReport for it first",
            stream.handle,
        )
    if machine.reports.get(thread_id) is not reports:
        raise Refused(
            ACL_ERROR_RT_THREAD_SUBSCRIBE,
            "the argument threadId is not the thread that the stream {:#x} is subscribed for; pass the id that it was "
            "subscribed with",
            stream.handle,
        )
    for task in reversed(stream.queue):
        if isinstance(task, HostReturn):
            raise Again(task)
    unsubscribe(machine, stream)
    return 0


# Launching.


def _check_function(function: int) -> None:
    if not function:
        raise out_of_range("the argument fn is null; pass a function")


@call("aclrtLaunchCallback")
def launch_callback(
    machine: "Machine", thread: Thread, function: int, user_data: int, block_type: int, handle: int
) -> int:
    if block_type not in (CALLBACK_NO_BLOCK, CALLBACK_BLOCK):
        raise invalid(
            "the argument blockType is {}; pass ACL_CALLBACK_NO_BLOCK (0) or ACL_CALLBACK_BLOCK (1)", block_type
        )
    machine.hold()
    named = named_stream(machine, handle)
    _check_function(function)
    _check_not_hosting(named)
    context = machine.context_of(thread)
    stream = context.default if named is None else named
    if stream.context is not context:
        raise foreign(handle)
    if stream.runner is None:
        raise Refused(
            ACL_ERROR_RT_STREAM_NO_CB_REG,
            "the stream {:#x} is not subscribed, so no thread would run the function; call aclrtSubscribeReport for it "
            "first",
            stream.handle,
        )
    submission_stream(machine, context, handle, named)
    launch(machine, stream, Invoke(function, (user_data,), SIGNATURE), block_type == CALLBACK_BLOCK)
    return 0


@call("aclrtLaunchHostFunc")
def launch_host_func(machine: "Machine", thread: Thread, handle: int, function: int, arguments: int) -> int:
    """Not held by a snapshot lock (semantics.md 10.6)."""
    named = named_stream(machine, handle)
    _check_function(function)
    if named is not None and isinstance(named.runner, Reports):
        raise Refused(
            ACL_ERROR_RT_STREAM_SUBSCRIBE,
            "the stream {:#x} is subscribed for callbacks; call aclrtUnSubscribeReport first, or aclrtLaunchCallback",
            named.handle,
        )
    stream = submission_stream(machine, machine.context_of(thread), handle, named)
    launch(machine, stream, Invoke(function, (arguments,), SIGNATURE), True)
    return 0


# Processing.


class Arrived(Until):
    """There is something to run for a thread, named by the program's id of it."""

    __slots__ = ("thread_id",)

    def __init__(self, thread_id: int) -> None:
        self.thread_id = thread_id

    def holds(self, machine: "Machine") -> bool:
        reports = machine.reports.get(self.thread_id)
        return reports is not None and reports.arrived(machine)


class RunReports(Resume):
    """The thread runs what arrived for it."""

    __slots__ = ("thread", "thread_id")

    def __init__(self, thread: Thread, thread_id: int) -> None:
        self.thread = thread
        self.thread_id = thread_id

    def reply(self, machine: "Machine") -> Reply:
        functions = machine.reports[self.thread_id].due
        taken: list[HostFunction] = list(functions)
        functions.clear()
        return Batch(self.thread, "aclrtProcessReport", taken).take(machine, 0)


@call("aclrtProcessReport")
def process_report(machine: "Machine", thread: Thread, timeout: int) -> Any:
    if timeout < -1 or not timeout:
        raise invalid("the argument timeout is {}; pass -1 for no limit, or milliseconds above 0", timeout)
    machine.hold()
    thread_id = machine.identify(thread).known_as
    assert thread_id is not None
    if thread_id not in machine.reports:
        raise Refused(
            ACL_ERROR_RT_THREAD_SUBSCRIBE,
            "no stream is subscribed for this thread; call aclrtSubscribeReport with its id (pthread_self) first",
        )
    expired = Refused(
        ACL_ERROR_RT_REPORT_TIMEOUT,
        "nothing was to be run within {} ms; launch a callback on a stream that is subscribed for this thread, or wait "
        "longer",
        timeout,
    )
    return machine.wait_until(
        thread, "aclrtProcessReport", Arrived(thread_id), RunReports(thread, thread_id), timeout, expired
    )
