"""Streams: making, waiting, asking, ending (semantics.md 5)."""

from typing import TYPE_CHECKING, Any, Final

from cannery.runtime import capture, lifecycle
from cannery.runtime.calls.registry import call
from cannery.runtime.errors import (
    ACL_ERROR_RT_STREAM_ABORT,
    ACL_ERROR_RT_STREAM_SYNC_TIMEOUT,
    Again,
    Refused,
    foreign,
    null,
    out_of_range,
    stale,
    unsupported,
)
from cannery.runtime.lanes import BoundLane
from cannery.runtime.objects import HUGE, PERSISTENT, STREAM_DEVICE_USE_ONLY, Context, Stream, Thread
from cannery.runtime.state_callbacks import CREATE_POST, DESTROY_PRE, tell
from cannery.runtime.waits import Given, Reply, Resume

if TYPE_CHECKING:
    from cannery.runtime.machine import Machine

STREAM_COMPLETE: Final = 0
STREAM_NOT_READY: Final = 1
GREATEST_PRIORITY: Final = 0
LEAST_PRIORITY: Final = 7
KNOWN_FLAGS: Final = 0x3F


def check_usable(context: Context) -> None:
    """Raises what stopped a stop-mode context (semantics.md 5)."""
    if context.failed is not None:
        raise context.failed.again()


def outcome(stream: Stream) -> int:
    """What a synchronise of an idle stream answers: the first failure since the last one, once (semantics.md 5).

    Raises:
        Refused: the failure.
    """
    failed = stream.context.failed
    if failed is not None:
        raise failed.again()
    failure = stream.failure
    if failure is not None:
        stream.failure = None
        raise failure.again()
    return 0


def task_stream(context: Context, handle: int, named: Stream | None) -> Stream:
    """The stream of ``context`` that a task goes to (semantics.md 0.3). ``named``: what ``handle`` names.

    Raises:
        Refused: 107003, or what stopped the context.
    """
    if named is None:
        stream = context.default
    else:
        stream = named
        if stream.context is not context:
            raise foreign(handle)
    if context.failed is not None:
        raise context.failed.again()
    return stream


def make_room(machine: "Machine", stream: Stream) -> None:
    """Raises Again while the stream is full: the call waits for its first task."""
    if len(stream.queue) >= machine.depth:
        raise Again(stream.queue[0])


def submission_stream(machine: "Machine", context: Context, handle: int, named: Stream | None) -> Stream:
    """:func:`task_stream`, with room for the task."""
    if named is None:
        stream = context.default
    else:
        stream = named
        if stream.context is not context:
            raise foreign(handle)
    if context.failed is not None:
        raise context.failed.again()
    queue = stream.queue
    if len(queue) >= machine.depth and stream.lane is None:
        raise Again(queue[0])
    return stream


def named_stream(machine: "Machine", handle: int) -> Stream | None:
    """The stream of that handle; None for null.

    Raises:
        Refused: 107017.
    """
    stream = machine.streams.get(handle)
    if stream is None and handle:
        raise stale("stream", handle)
    return stream


def live_stream(machine: "Machine", handle: int) -> Stream:
    """The stream of that handle, which null is not.

    Raises:
        Refused: 107017.
    """
    stream = machine.streams.get(handle)
    if stream is None:
        raise stale("stream", handle)
    return stream


@call("aclrtCreateStream")
def create_stream(machine: "Machine", thread: Thread, out: int) -> Any:
    if not out:
        raise null("stream")
    machine.hold()
    context = machine.context_of(thread)
    hardware_id = lifecycle.take_stream_id(context.device)
    return created(machine, thread, "aclrtCreateStream", lifecycle.open_stream(machine, context, hardware_id))


def created(machine: "Machine", thread: Thread, call: str, stream: Stream) -> Any:
    """The reply of a call that made a stream."""
    invokes = machine.told.of_streams([stream], CREATE_POST)
    return tell(machine, thread, call, invokes, Given((0, stream.handle)))


@call("aclrtCreateStreamWithConfig")
def create_stream_with_config(machine: "Machine", thread: Thread, out: int, priority: int, flag: int) -> Any:
    """Unknown flags are dropped; the priority is clamped as a signed number (semantics.md 0.4, 5)."""
    if not out:
        raise null("stream")
    machine.hold()
    flag &= KNOWN_FLAGS
    profile = machine.profile
    if flag & HUGE and not profile.huge_streams:
        raise unsupported("product {} has no streams with ACL_STREAM_HUGE", profile.name)
    if flag & STREAM_DEVICE_USE_ONLY:
        if flag != STREAM_DEVICE_USE_ONLY:
            raise out_of_range(
                "the argument flag is {:#x}; pass ACL_STREAM_DEVICE_USE_ONLY alone, without other flags", flag
            )
        if not profile.device_use_only_streams:
            raise unsupported("product {} has no streams with ACL_STREAM_DEVICE_USE_ONLY", profile.name)
    context = machine.context_of(thread)
    if priority >= 1 << 31:
        priority -= 1 << 32
    priority = min(max(priority, GREATEST_PRIORITY), LEAST_PRIORITY)
    stream = lifecycle.open_stream(machine, context, lifecycle.take_stream_id(context.device), priority, flag)
    if flag & PERSISTENT:
        stream.lane = BoundLane(stream)
    return created(machine, thread, "aclrtCreateStreamWithConfig", stream)


def _stream_to_destroy(machine: "Machine", thread: Thread, handle: int) -> Stream:
    if not handle:
        raise null("stream")
    machine.hold()
    stream = live_stream(machine, handle)
    capture.check_free(machine, stream)
    if machine.context_of(thread) is not stream.context:
        raise foreign(handle)
    capture.check_unbound(stream)
    if stream is stream.context.default:
        raise out_of_range(
            "the argument stream ({:#x}) is the default stream of its context; it goes with the context", handle
        )
    return stream


@call("aclrtDestroyStream")
def destroy_stream(machine: "Machine", thread: Thread, handle: int) -> Any:
    """Waits for queued work; the handle is dead from then on."""
    stream = _stream_to_destroy(machine, thread, handle)
    begin = DestroyWhenDone(thread, stream)
    return tell(machine, thread, "aclrtDestroyStream", machine.told.of_streams([stream], DESTROY_PRE), begin)


class DestroyWhenDone(Resume):
    """A stream ends when it has no work left."""

    __slots__ = ("stream", "thread")

    def __init__(self, thread: Thread, stream: Stream) -> None:
        self.thread = thread
        self.stream = stream

    def reply(self, machine: "Machine") -> Reply:
        stream = self.stream
        _check_undestroyed(machine, stream)
        del machine.streams[stream.handle]
        end = Destroyed(stream)
        if not stream.queue:
            return end.reply(machine)
        return machine.wait(self.thread, "aclrtDestroyStream", [stream.queue[-1]], end)


class Destroyed(Resume):
    """A stream has no work left, and ends."""

    __slots__ = ("stream",)

    def __init__(self, stream: Stream) -> None:
        self.stream = stream

    def reply(self, machine: "Machine") -> Reply:
        lifecycle.close_stream(machine, self.stream)
        return 0


class DestroyNow(Resume):
    """A stream ends at once."""

    __slots__ = ("stream",)

    def __init__(self, stream: Stream) -> None:
        self.stream = stream

    def reply(self, machine: "Machine") -> Reply:
        _check_undestroyed(machine, self.stream)
        lifecycle.close_stream(machine, self.stream)
        return 0


@call("aclrtDestroyStreamForce")
def destroy_stream_force(machine: "Machine", thread: Thread, handle: int) -> Any:
    """Does not wait: queued work is dropped."""
    stream = _stream_to_destroy(machine, thread, handle)
    invokes = machine.told.of_streams([stream], DESTROY_PRE)
    return tell(machine, thread, "aclrtDestroyStreamForce", invokes, DestroyNow(stream))


def _check_undestroyed(machine: "Machine", stream: Stream) -> None:
    """Raises 107017: a function of the program that was told of the end destroyed it itself."""
    if machine.streams.get(stream.handle) is not stream:
        raise stale("stream", stream.handle)


def _stream_to_clear(machine: "Machine", thread: Thread, handle: int, stream: Stream | None) -> Stream:
    """The stream of aclrtStreamAbort and aclrtStreamStop."""
    context = machine.context_of(thread)
    stream = stream or context.default
    if stream.context is not context:
        raise foreign(handle)
    return stream


@call("aclrtStreamAbort")
def stream_abort(machine: "Machine", thread: Thread, handle: int) -> int:
    """Queued work is lost, and the next synchronise says so; those that wait now end with it."""
    machine.hold()
    named = named_stream(machine, handle)
    if named is None and (thread.context is None or not machine.profile.control_queue):
        raise out_of_range("the argument stream is null, and there is no default stream to take instead")
    stream = _stream_to_clear(machine, thread, handle, named)
    machine.schedule.lose(stream)
    stream.failure = aborted(stream)
    return 0


@call("aclrtStreamStop")
def stream_stop(machine: "Machine", thread: Thread, handle: int) -> int:
    """The task that runs, or waits, ends without effect; the rest goes on (semantics.md 5; reference page)."""
    machine.hold()
    named = named_stream(machine, handle)
    if named is None:
        raise out_of_range("the argument stream is null; aclrtStreamStop does not take the default stream")
    stream = _stream_to_clear(machine, thread, handle, named)
    if stream.queue:
        stream.failure = aborted(stream)
        machine.schedule.stop(stream)
    return 0


def aborted(stream: Stream) -> Refused:
    """107023: what ended by aclrtStreamAbort or aclrtStreamStop."""
    return Refused(
        ACL_ERROR_RT_STREAM_ABORT,
        "tasks of the stream {:#x} were discarded by aclrtStreamAbort or aclrtStreamStop; submit them again",
        stream.handle,
    )


@call("aclrtSynchronizeStream")
def synchronize_stream(machine: "Machine", thread: Thread, handle: int) -> Any:
    if handle:
        stream = live_stream(machine, handle)
        if stream.lane is not None:
            capture.check_free(machine, stream)
        if not stream.waited_for:
            return 0
        if thread.context is None:
            machine.context_of(thread)
    else:
        stream = machine.context_of(thread).default
    if not stream.queue:
        return outcome(stream)
    return synchronize(machine, thread, "aclrtSynchronizeStream", stream)


@call("aclrtSynchronizeStreamWithTimeout")
def synchronize_stream_with_timeout(machine: "Machine", thread: Thread, handle: int, timeout: int) -> Any:
    if timeout < -1:
        raise bad_limit(timeout, remembered=False)
    stream = named_stream(machine, handle)
    if not timeout:
        raise bad_limit(timeout)
    if stream is not None:
        capture.check_free(machine, stream)
        if not stream.waited_for:
            return 0
    context = machine.context_of(thread)
    return synchronize(machine, thread, "aclrtSynchronizeStreamWithTimeout", stream or context.default, timeout)


def synchronize(
    machine: "Machine", thread: Thread, function: str, stream: Stream, limit: int = -1, then: Resume | None = None
) -> Any:
    """Wait for what is queued on a stream now. A failure of it is the reply, else what ``then`` gives, or 0."""
    failed = stream.context.failed
    if failed is not None:
        raise failed.again()
    queue = stream.queue
    if not queue or machine.schedule.finish([queue[-1]]):
        return outcome(stream) or (0 if then is None else then.reply(machine))
    expired = Refused(
        ACL_ERROR_RT_STREAM_SYNC_TIMEOUT,
        "the stream {:#x} still has work after {} ms; its first task ({}) waits for what has not happened yet",
        stream.handle, limit, queue[0].what,
    )  # fmt: skip
    return machine.wait(thread, function, [queue[-1]], Synchronized(stream, then), limit, expired)


class Synchronized(Resume):
    """The work of a stream is done: its failure, or else what ``then`` gives, or 0."""

    __slots__ = ("stream", "then")

    def __init__(self, stream: Stream, then: Resume | None) -> None:
        self.stream = stream
        self.then = then

    def reply(self, machine: "Machine") -> Reply:
        return outcome(self.stream) or (0 if self.then is None else self.then.reply(machine))


class AllSynchronized(Resume):
    """The work of several streams is done: the first failure, or 0."""

    __slots__ = ("streams",)

    def __init__(self, streams: list[Stream]) -> None:
        self.streams = streams

    def reply(self, machine: "Machine") -> Reply:
        first: Refused | None = None
        for stream in self.streams:
            try:
                outcome(stream)
            except Refused as refused:
                first = first or refused
        if first is not None:
            raise first
        return 0


def bad_limit(timeout: int, remembered: bool = True) -> Refused:
    """107000: a limit in ms that is 0 or below -1."""
    refused = out_of_range("the argument timeout is {}; pass -1 for no limit, or milliseconds above 0", timeout)
    refused.remembered = remembered
    return refused


@call("aclrtStreamQuery")
def stream_query(machine: "Machine", thread: Thread, handle: int, out: int) -> Any:
    if not out:
        raise null("status")
    stream = None
    if handle:
        stream = live_stream(machine, handle)
        if stream.lane is not None:
            capture.check_free(machine, stream)
        if not stream.waited_for:
            return 0, STREAM_COMPLETE
    context = machine.context_of(thread)
    if stream is None:
        stream = context.default
    queue = stream.queue
    if queue:
        check_usable(stream.context)
        machine.schedule.poll(queue[-1])
    check_usable(stream.context)
    return 0, STREAM_NOT_READY if queue else STREAM_COMPLETE


@call("aclrtSynchronizeDevice")
def synchronize_device(machine: "Machine", thread: Thread) -> Any:
    return _synchronize_context(machine, thread, "aclrtSynchronizeDevice", -1)


@call("aclrtSynchronizeDeviceWithTimeout")
def synchronize_device_with_timeout(machine: "Machine", thread: Thread, timeout: int) -> Any:
    if timeout < -1:
        raise bad_limit(timeout, remembered=False)
    if not timeout:
        raise bad_limit(timeout)
    return _synchronize_context(machine, thread, "aclrtSynchronizeDeviceWithTimeout", timeout)


def _synchronize_context(machine: "Machine", thread: Thread, function: str, limit: int) -> Any:
    streams = waited_streams(machine, machine.context_of(thread))
    end = AllSynchronized(streams)
    targets = [stream.queue[-1] for stream in streams if stream.queue]
    if not targets:
        return end.reply(machine)
    expired = Refused(
        ACL_ERROR_RT_STREAM_SYNC_TIMEOUT,
        "{} stream(s) of the current context still have work after {} ms; nothing has released it yet",
        len(targets), limit,
    )  # fmt: skip
    return machine.wait(thread, function, targets, end, limit, expired)


def waited_streams(machine: "Machine", context: Context) -> list[Stream]:
    """The streams that a synchronise of a context waits for, its default stream last.

    Raises:
        Refused: 107027, one is in capture; or what stopped the context.
    """
    default, *others = [stream for stream in context.streams.values() if stream.waited_for]
    streams = [*others, default]
    for stream in streams:
        capture.check_free(machine, stream)
    check_usable(context)
    return streams
