"""Streams: making, waiting, asking, ending (semantics.md 5)."""

from typing import TYPE_CHECKING, Any

from cannery.runtime import lifecycle
from cannery.runtime.calls.registry import call
from cannery.runtime.errors import (
    ACL_ERROR_RT_STREAM_SYNC_TIMEOUT,
    Refused,
    aborted,
    foreign,
    null,
    out_of_range,
    stale,
)
from cannery.runtime.objects import Stream, Thread

if TYPE_CHECKING:
    from cannery.runtime.machine import Machine

COMPLETE = 0
NOT_READY = 1


def outcome(stream: Stream) -> int:
    """What a synchronise of an idle stream answers: the first failure since the last one, once (semantics.md 5).

    Raises:
        Refused: the failure.
    """
    failed = stream.context.failed
    if failed:
        raise aborted(failed)
    error = stream.error
    if error:
        stream.error = 0
        raise Refused(error, "a task of the stream {:#x} failed; see the messages before this one", stream.handle)
    return 0


@call("aclrtCreateStream")
def create_stream(machine: "Machine", thread: Thread, out: int) -> Any:
    if not out:
        raise null("stream")
    machine.hold()
    return 0, lifecycle.open_stream(machine, machine.context_of(thread)).handle


@call("aclrtDestroyStream")
def destroy_stream(machine: "Machine", thread: Thread, handle: int) -> Any:
    if not handle:
        raise null("stream")
    machine.hold()
    stream = machine.streams.get(handle)
    if stream is None:
        raise stale("stream", handle)
    if machine.context_of(thread) is not stream.context:
        raise foreign(handle)
    del machine.streams[handle]

    def end() -> int:
        if stream.handle in stream.context.streams:
            lifecycle.close_stream(machine, stream)
        return 0

    if not stream.queue:
        return end()
    return machine.wait(thread, "aclrtDestroyStream", [stream.queue[-1]], end)


@call("aclrtSynchronizeStream")
def synchronize_stream(machine: "Machine", thread: Thread, handle: int) -> Any:
    return _synchronize(machine, thread, handle, "aclrtSynchronizeStream", -1)


@call("aclrtSynchronizeStreamWithTimeout")
def synchronize_stream_with_timeout(machine: "Machine", thread: Thread, handle: int, timeout: int) -> Any:
    if timeout < -1:
        raise _bad_limit(timeout, remembered=False)
    return _synchronize(machine, thread, handle, "aclrtSynchronizeStreamWithTimeout", timeout)


def _bad_limit(timeout: int, remembered: bool) -> Refused:
    refused = out_of_range("the argument timeout is {}; pass -1 for no limit, or milliseconds above 0", timeout)
    refused.remembered = remembered
    return refused


def _synchronize(machine: "Machine", thread: Thread, handle: int, function: str, timeout: int) -> Any:
    if handle:
        stream = machine.streams.get(handle)
        if stream is None:
            raise stale("stream", handle)
        if not timeout:
            raise _bad_limit(timeout, remembered=True)
        if thread.context is None:
            machine.context_of(thread)
    else:
        if not timeout:
            raise _bad_limit(timeout, remembered=True)
        stream = machine.context_of(thread).default
    if not stream.queue or stream.context.failed:
        return outcome(stream)
    expired = Refused(
        ACL_ERROR_RT_STREAM_SYNC_TIMEOUT,
        "the stream {:#x} still had work after {} ms; it waits for something that has not happened yet",
        stream.handle, timeout,
    )  # fmt: skip
    return machine.wait(thread, function, [stream.queue[-1]], lambda: outcome(stream), timeout, expired)


@call("aclrtStreamQuery")
def stream_query(machine: "Machine", thread: Thread, handle: int, out: int) -> Any:
    if not out:
        raise null("status")
    if handle:
        stream = machine.streams.get(handle)
        if stream is None:
            raise stale("stream", handle)
        machine.context_of(thread)
    else:
        stream = machine.context_of(thread).default
    if stream.context.failed:
        raise aborted(stream.context.failed)
    queue = stream.queue
    if queue:
        machine.schedule.poll(queue[-1])
    if stream.context.failed:
        raise aborted(stream.context.failed)
    return 0, NOT_READY if queue else COMPLETE
