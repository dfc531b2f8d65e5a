"""Streams: making, waiting, asking, ending (semantics.md 5)."""

from collections.abc import Callable
from typing import TYPE_CHECKING, Any, Final

from cannery.runtime import capture, lifecycle
from cannery.runtime.calls.registry import call
from cannery.runtime.errors import (
    ACL_ERROR_RT_NO_STREAM_RESOURCE,
    ACL_ERROR_RT_STREAM_SYNC_TIMEOUT,
    Again,
    Refused,
    foreign,
    null,
    out_of_range,
    stale,
)
from cannery.runtime.graphs import stream_limit
from cannery.runtime.objects import Context, Stream, Thread

if TYPE_CHECKING:
    from cannery.runtime.machine import Machine

STREAM_COMPLETE: Final = 0
STREAM_NOT_READY: Final = 1


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


def submission_stream(machine: "Machine", context: Context, handle: int, named: Stream | None) -> Stream:
    """The stream of ``context`` that a task goes to, with room for it (semantics.md 0.3). ``named``: what ``handle``
    names.

    Raises:
        Refused: 107003, or what stopped the context.
        Again: the stream is full, and the call waits for its first task.
    """
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


@call("aclrtCreateStream")
def create_stream(machine: "Machine", thread: Thread, out: int) -> Any:
    if not out:
        raise null("stream")
    machine.hold()
    context = machine.context_of(thread)
    limit = stream_limit(machine)
    if context.device.streams >= limit:
        raise Refused(
            ACL_ERROR_RT_NO_STREAM_RESOURCE,
            "device {} has {} streams, default streams included, and this product no more; destroy some, or reuse them",
            context.device.user, limit,
        )  # fmt: skip
    return 0, lifecycle.open_stream(machine, context).handle


@call("aclrtDestroyStream")
def destroy_stream(machine: "Machine", thread: Thread, handle: int) -> Any:
    """Waits for queued work; the handle is dead from the start."""
    if not handle:
        raise null("stream")
    machine.hold()
    stream = machine.streams.get(handle)
    if stream is None:
        raise stale("stream", handle)
    capture.check_free(machine, stream)
    if machine.context_of(thread) is not stream.context:
        raise foreign(handle)
    capture.check_unbound(stream)
    if stream is stream.context.default:
        raise out_of_range(
            "the argument stream ({:#x}) is the default stream of its context; it goes with the context", handle
        )
    del machine.streams[handle]

    def end() -> int:
        lifecycle.close_stream(machine, stream)
        return 0

    return machine.wait(thread, "aclrtDestroyStream", [stream.queue[-1]], end) if stream.queue else end()


@call("aclrtSynchronizeStream")
def synchronize_stream(machine: "Machine", thread: Thread, handle: int) -> Any:
    if handle:
        stream = machine.streams.get(handle)
        if stream is None:
            raise stale("stream", handle)
        if stream.lane is not None:
            capture.check_free(machine, stream)
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
        raise _bad_limit(timeout, remembered=False)
    stream = None
    if handle:
        stream = machine.streams.get(handle)
        if stream is None:
            raise stale("stream", handle)
    if not timeout:
        raise _bad_limit(timeout)
    if stream is not None:
        capture.check_free(machine, stream)
    context = machine.context_of(thread)
    if stream is None:
        stream = context.default
    return synchronize(machine, thread, "aclrtSynchronizeStreamWithTimeout", stream, timeout)


def synchronize(
    machine: "Machine", thread: Thread, function: str, stream: Stream, limit: int = -1, then: Callable[[], int] = int
) -> Any:
    """Wait for what is queued on a stream now. A failure of it is the reply, else what ``then`` gives."""
    failed = stream.context.failed
    if failed is not None:
        raise failed.again()
    queue = stream.queue
    if not queue or machine.schedule.finish([queue[-1]]):
        return outcome(stream) or then()
    expired = Refused(
        ACL_ERROR_RT_STREAM_SYNC_TIMEOUT,
        "the stream {:#x} still has work after {} ms; its first task ({}) waits for what has not happened yet",
        stream.handle, limit, queue[0].what,
    )  # fmt: skip
    return machine.wait(thread, function, [queue[-1]], lambda: outcome(stream) or then(), limit, expired)


def _bad_limit(timeout: int, remembered: bool = True) -> Refused:
    refused = out_of_range("the argument timeout is {}; pass -1 for no limit, or milliseconds above 0", timeout)
    refused.remembered = remembered
    return refused


@call("aclrtStreamQuery")
def stream_query(machine: "Machine", thread: Thread, handle: int, out: int) -> Any:
    if not out:
        raise null("status")
    stream = None
    if handle:
        stream = machine.streams.get(handle)
        if stream is None:
            raise stale("stream", handle)
        capture.check_free(machine, stream)
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
    """Waits for every stream of the current context, its default stream last; the first failure is the reply."""
    context = machine.context_of(thread)
    for stream in context.streams.values():
        capture.check_free(machine, stream)
    check_usable(context)
    default, *others = context.streams.values()
    streams = [*others, default]

    def end() -> int:
        first: Refused | None = None
        for stream in streams:
            try:
                outcome(stream)
            except Refused as refused:
                first = first or refused
        if first is not None:
            raise first
        return 0

    targets = [stream.queue[-1] for stream in streams if stream.queue]
    return machine.wait(thread, "aclrtSynchronizeDevice", targets, end) if targets else end()
