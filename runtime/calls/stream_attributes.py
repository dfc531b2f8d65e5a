"""What streams are: priority, flags, ids, attributes, failure mode (semantics.md 0.3, 0.4, 5, 10a)."""

from struct import pack
from typing import TYPE_CHECKING, Any, Final

from cannery.runtime import capture
from cannery.runtime.calls.registry import call
from cannery.runtime.calls.streams import GREATEST_PRIORITY, LEAST_PRIORITY, named_stream
from cannery.runtime.errors import Refused, foreign, invalid, null, out_of_range, unsupported
from cannery.runtime.objects import CPU_SCHEDULE, STREAM_DEVICE_USE_ONLY, Stream, Thread

if TYPE_CHECKING:
    from cannery.runtime.machine import Machine

# aclrtStreamAttr.
FAILURE_MODE: Final = 1
FLOAT_OVERFLOW_CHECK: Final = 2
USER_CUSTOM_TAG: Final = 3
CACHE_OP_INFO: Final = 4
PRIORITY: Final = 5


def default_if_null(machine: "Machine", thread: Thread, stream: Stream | None) -> Stream:
    """What calls that go by the newer control queue take for a null stream (semantics.md 0.3).

    Raises:
        Refused: 107000, the product has it not, or the thread no context.
    """
    if stream is not None:
        return stream
    if machine.profile.control_queue:
        try:
            return machine.context_of(thread).default
        except Refused:
            pass
    raise out_of_range("the argument stream is null, and there is no default stream that could be meant")


def own_stream(machine: "Machine", thread: Thread, handle: int, named: Stream | None) -> Stream:
    """The stream, or the default one for null; it has to belong to the current context.

    Raises:
        Refused: 107002, 107003.
    """
    context = machine.context_of(thread)
    if named is None:
        return context.default
    if named.context is not context:
        raise foreign(handle)
    return named


# Asking.


@call("aclrtStreamGetPriority")
def stream_get_priority(machine: "Machine", thread: Thread, handle: int, out: int) -> Any:
    if not out:
        raise null("priority")
    stream = named_stream(machine, handle)
    context = machine.context_of(thread)
    return 0, (stream or context.default).priority


@call("aclrtStreamGetFlags")
def stream_get_flags(machine: "Machine", thread: Thread, handle: int, out: int) -> Any:
    if not out:
        raise null("flags")
    stream = named_stream(machine, handle)
    context = machine.context_of(thread)
    return 0, (stream or context.default).flags


@call("aclrtStreamGetId")
def stream_get_id(machine: "Machine", thread: Thread, handle: int, out: int) -> Any:
    if not out:
        raise null("streamId")
    stream = named_stream(machine, handle) or machine.context_of(thread).default
    return 0, stream.id.number


@call("aclrtCtxGetCurrentDefaultStream")
def ctx_get_current_default_stream(machine: "Machine", thread: Thread, out: int) -> Any:
    if not out:
        raise null("stream")
    return 0, machine.context_of(thread).default.handle


@call("aclrtGetStreamAvailableNum")
def get_stream_available_num(machine: "Machine", thread: Thread, out: int) -> Any:
    if not out:
        raise null("streamCount")
    return 0, machine.context_of(thread).device.stream_ids.available


@call("aclrtDeviceGetStreamPriorityRange")
def device_get_stream_priority_range(machine: "Machine", thread: Thread, out_least: int, out_greatest: int) -> Any:
    return 0, LEAST_PRIORITY if out_least else None, GREATEST_PRIORITY if out_greatest else None


# Setting.


@call("aclrtSetStreamFailureMode")
def set_stream_failure_mode(machine: "Machine", thread: Thread, handle: int, mode: int) -> int:
    return _set_failure_mode(machine, thread, handle, named_stream(machine, handle), mode)


def _set_failure_mode(machine: "Machine", thread: Thread, handle: int, named: Stream | None, mode: int) -> int:
    """Only bit 0 counts. One stop-mode stream makes the whole context stop-mode (semantics.md 5)."""
    stream = default_if_null(machine, thread, named)
    if stream.flags & STREAM_DEVICE_USE_ONLY:
        raise unsupported("the stream {:#x} was made with ACL_STREAM_DEVICE_USE_ONLY and has no failure mode", handle)
    context = machine.context_of(thread)
    if stream.lane is not None and stream.lane.bound:
        raise unsupported("the stream {:#x} belongs to a model instance and has no failure mode", stream.handle)
    stops = mode & 1 == 1
    if not stream.aborted:
        if stream.stops == stops:
            return 0
        if stream.stops:
            raise unsupported(
                "the stream {:#x} stops on failure, which cannot be taken back; make another stream", stream.handle
            )
    elif stream.stops:
        raise unsupported(
            "the stream {:#x} has stopped after a failure; destroy its context, or reset the device", stream.handle
        )
    if stream.context is not context:
        raise foreign(handle)
    stream.stops = stops
    context.stop_mode = True
    return 0


@call("aclrtSetStreamOverflowSwitch")
def set_stream_overflow_switch(machine: "Machine", thread: Thread, handle: int, flag: int) -> int:
    if flag not in (0, 1):
        raise invalid("the argument flag is {}; pass 0 (off) or 1 (on)", flag)
    return _set_overflow_switch(machine, thread, handle, named_stream(machine, handle), flag)


def _set_overflow_switch(machine: "Machine", thread: Thread, handle: int, named: Stream | None, flag: int) -> int:
    if flag not in (0, 1):
        raise out_of_range("overflowSwitch in the argument value is {}; pass 0 (off) or 1 (on)", flag)
    if named is not None:
        capture.check_free(machine, named)
    own_stream(machine, thread, handle, named).overflow = flag
    return 0


@call("aclrtGetStreamOverflowSwitch")
def get_stream_overflow_switch(machine: "Machine", thread: Thread, handle: int, out: int) -> Any:
    if not out:
        raise null("flag")
    return 0, own_stream(machine, thread, handle, named_stream(machine, handle)).overflow


def _unknown_attribute(kind: int) -> Refused:
    return out_of_range("the argument stmAttrType is {}; pass a constant of aclrtStreamAttr, 1 to 5", kind)


def _with_priority(machine: "Machine", thread: Thread, stream: Stream | None) -> Stream:
    if stream is None:
        raise out_of_range("the argument stream is null; the priority of a default stream cannot be asked or set so")
    if stream.flags & CPU_SCHEDULE:
        raise unsupported("the stream {:#x} was made with ACL_STREAM_CPU_SCHEDULE and has no priority", stream.handle)
    machine.context_of(thread)
    return stream


@call("aclrtSetStreamAttribute")
def set_stream_attribute(machine: "Machine", thread: Thread, handle: int, kind: int, value: bytes | None) -> int:
    """``value`` is the union: eight bytes for the failure mode, the first four for the others."""
    if value is None:
        raise null("value")
    named = named_stream(machine, handle)
    number = int.from_bytes(value[:4], "little")
    if kind == FAILURE_MODE:
        return _set_failure_mode(machine, thread, handle, named, int.from_bytes(value[:8], "little"))
    if kind == FLOAT_OVERFLOW_CHECK:
        if machine.profile.control_queue:  # else accepted without effect
            _set_overflow_switch(machine, thread, handle, named, number)
    elif kind == USER_CUSTOM_TAG:
        if machine.profile.control_queue:  # else accepted without effect
            if named is not None:
                capture.check_free(machine, named)
            own_stream(machine, thread, handle, named).tag = number
    elif kind == CACHE_OP_INFO:
        stream = default_if_null(machine, thread, named)
        if number not in (0, 1):
            raise out_of_range("cacheOpInfoSwitch in the argument value is {}; pass 0 (off) or 1 (on)", number)
        stream.caches = number  # aclrtGetStreamAttribute tells about captures, which cache; outside it is 0 (observed)
    elif kind == PRIORITY:
        _with_priority(machine, thread, named)  # has no effect that shows (observed)
    else:
        raise _unknown_attribute(kind)
    return 0


@call("aclrtGetStreamAttribute")
def get_stream_attribute(machine: "Machine", thread: Thread, handle: int, kind: int, out: int) -> Any:
    if not out:
        raise null("value")
    named = named_stream(machine, handle)
    if kind == FAILURE_MODE:
        return 0, pack("<Q", default_if_null(machine, thread, named).stops)
    if kind == FLOAT_OVERFLOW_CHECK:
        stream = own_stream(machine, thread, handle, named)
        return 0, pack("<I", stream.overflow if machine.profile.control_queue else machine.profile.overflow_switch)
    if kind == USER_CUSTOM_TAG:
        if not machine.profile.control_queue:
            return 0, None
        return 0, pack("<I", own_stream(machine, thread, handle, named).tag)
    if kind == CACHE_OP_INFO:
        return 0, pack("<I", capture.caches(default_if_null(machine, thread, named)))
    if kind == PRIORITY:
        return 0, pack("<I", _with_priority(machine, thread, named).priority)
    raise _unknown_attribute(kind)
