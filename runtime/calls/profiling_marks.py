"""Marks that the program leaves for a profiler, in streams and beside them (reference pages and implementation).

In a stream they take their turn and have no effect; what they say is in the trace. What a stamp is good for beside
streams needs a profiler that runs; failures of those calls are -1 there, which is no constant of the API.
"""

from typing import TYPE_CHECKING, Any, Final

from cannery.runtime.calls.registry import call
from cannery.runtime.calls.streams import named_stream, submission_stream
from cannery.runtime.errors import ACL_ERROR_GE_FAILURE, Refused, invalid, null, out_of_range, stale
from cannery.runtime.memory_tasks import Turn
from cannery.runtime.objects import Thread
from cannery.runtime.profiler import Stamp
from cannery.runtime.small_objects import SmallObject, find, keep

if TYPE_CHECKING:
    from cannery.runtime.machine import Machine

FAILED: Final = -1

LONGEST: Final = 18  # bytes of a mark of aclrtProfTrace
LONGEST_MESSAGE: Final = 127
NO_ID: Final = (1 << 64) - 1
STEPS: Final = (29, 131)  # of the two halves of an id

START: Final = 0  # aclprofStepTag


class Step(SmallObject):
    """A step of a training: whether its beginning and its end were marked."""

    __slots__ = ("ended", "started")

    def __init__(self) -> None:
        super().__init__()
        self.started = False
        self.ended = False


def _failed(text: str, *values: object) -> Refused:
    return Refused(FAILED, text, *values, remembered=False)


def _check_runs(machine: "Machine") -> None:
    if not machine.profiler.runs:
        raise _failed("profiling does not run; call aclprofStart first")


def _mark(machine: "Machine", thread: Thread, stream_handle: int) -> None:
    """Queue a mark.

    Raises:
        Refused: as for any task.
    """
    named = named_stream(machine, stream_handle)
    task = Turn()
    task.cost = machine.profile.event_ns
    task.stream = submission_stream(machine, machine.context_of(thread), stream_handle, named)
    machine.schedule.submit(task)


# In streams.


@call("aclrtProfTrace")
def prof_trace(machine: "Machine", thread: Thread, data: bytes | None, length: int, stream_handle: int) -> int:
    if data is None:
        raise null("userdata")
    machine.hold()
    if not 0 < length <= LONGEST:
        raise out_of_range("the argument length is {}; a mark has from 1 to {} bytes", length, LONGEST)
    _mark(machine, thread, stream_handle)
    return 0


@call("aclprofMarkEx")
def prof_mark_ex(machine: "Machine", thread: Thread, message: bytes | None, length: int, stream_handle: int) -> int:
    _check_runs(machine)
    if message is None or not stream_handle or length != len(message):
        raise _failed("the argument msg or stream is null, or msgLen ({}) is not the length of msg", length)
    if not 0 < length <= LONGEST_MESSAGE:
        raise _failed("the argument msgLen is {}; a mark has from 1 to {} bytes", length, LONGEST_MESSAGE)
    try:
        _mark(machine, thread, stream_handle)
    except Refused as refused:
        raise _failed("the mark could not be submitted: {}", refused.reason()) from None
    return 0


@call("aclprofCreateStepInfo")
def prof_create_step_info(machine: "Machine", thread: Thread) -> int:
    return keep(machine, Step())


@call("aclprofDestroyStepInfo")
def prof_destroy_step_info(machine: "Machine", thread: Thread, handle: int) -> None:
    try:
        del machine.small_objects[_step(machine, handle).handle]
    except Refused as refused:
        machine.refuse(thread, "aclprofDestroyStepInfo", refused)


def _step(machine: "Machine", handle: int) -> Step:
    if not handle:
        raise null("stepInfo")
    step = find(machine, Step, handle)
    if step is None:
        raise stale("stepInfo", handle)
    return step


@call("aclprofGetStepTimestamp")
def prof_get_step_timestamp(machine: "Machine", thread: Thread, handle: int, tag: int, stream_handle: int) -> int:
    """Every tag but that of the start means the end."""
    step = _step(machine, handle)
    if step.started if tag == START else step.ended:
        raise invalid("the {} of the step {:#x} is marked already", "start" if tag == START else "end", handle)
    try:
        _mark(machine, thread, stream_handle)
    except Refused as refused:
        text = "the mark could not be submitted: {}"
        raise Refused(ACL_ERROR_GE_FAILURE, text, refused.reason(), remembered=False) from None
    if tag == START:
        step.started = True
    else:
        step.ended = True
    return 0


# Beside streams.


@call("aclprofCreateStamp")
def prof_create_stamp(machine: "Machine", thread: Thread) -> int:
    """Null, and a message, while no profiler runs or there are too many."""
    profiler = machine.profiler
    try:
        _check_runs(machine)
        if not profiler.free:
            raise _failed("there are {} stamps, and no more at a time; destroy some", len(profiler.stamps))
    except Refused as refused:
        machine.refuse(thread, "aclprofCreateStamp", refused)
        return 0
    stamp = Stamp(profiler.free.pop())
    profiler.stamps[stamp.number] = stamp
    return keep(machine, stamp)


def _stamp(machine: "Machine", handle: int) -> Stamp:
    if not handle:
        raise null("stamp")
    stamp = find(machine, Stamp, handle)
    if stamp is None:
        raise stale("stamp", handle)
    return stamp


@call("aclprofDestroyStamp")
def prof_destroy_stamp(machine: "Machine", thread: Thread, handle: int) -> None:
    profiler = machine.profiler
    try:
        stamp = _stamp(machine, handle)
    except Refused as refused:
        machine.refuse(thread, "aclprofDestroyStamp", refused)
        return
    del machine.small_objects[handle], profiler.stamps[stamp.number]
    profiler.free.append(stamp.number)


@call("aclprofSetStampTraceMessage")
def prof_set_stamp_trace_message(
    machine: "Machine", thread: Thread, handle: int, message: bytes | None, length: int
) -> int:
    if not handle:
        raise _failed("the argument stamp is null; pass what aclprofCreateStamp gave")
    _stamp(machine, handle)
    if length > LONGEST_MESSAGE:
        raise _failed("the argument msgLen is {}; a message has up to {} bytes", length, LONGEST_MESSAGE)
    if message is None:
        raise _failed("the argument msg is null; pass the address of a text")
    return 0


@call("aclprofMark")
def prof_mark(machine: "Machine", thread: Thread, handle: int) -> int:
    _check_runs(machine)
    if not handle:
        raise _failed("the argument stamp is null; pass what aclprofCreateStamp gave")
    _stamp(machine, handle)
    return 0


@call("aclprofPush")
def prof_push(machine: "Machine", thread: Thread, handle: int) -> int:
    if not handle:
        raise null("stamp")
    _check_runs(machine)
    machine.profiler.pushed.append(_stamp(machine, handle))
    return 0


@call("aclprofPop")
def prof_pop(machine: "Machine", thread: Thread) -> int:
    _check_runs(machine)
    if not machine.profiler.pushed:
        raise _failed("there was no aclprofPush before; the two go together")
    machine.profiler.pushed.pop()
    return 0


@call("aclprofRangeStart")
def prof_range_start(machine: "Machine", thread: Thread, handle: int, out: int) -> Any:
    if not handle:
        raise null("stamp")
    if not out:
        raise null("rangeId")
    _check_runs(machine)
    stamp = _stamp(machine, handle)
    stamp.ranges = True
    return 0, stamp.number


@call("aclprofRangeStop")
def prof_range_stop(machine: "Machine", thread: Thread, number: int) -> int:
    """A range can be stopped again."""
    _check_runs(machine)
    stamp = machine.profiler.stamps.get(number)
    if stamp is None or not stamp.ranges:
        raise _failed("the argument rangeId is {}, which no aclprofRangeStart gave", number)
    return 0


@call("aclprofStr2Id")
def prof_str_to_id(machine: "Machine", thread: Thread, message: bytes | None) -> int:
    """Two hashes of 32 bits, of signed bytes (reference implementation)."""
    if message is None:
        machine.refuse(thread, "aclprofStr2Id", null("message"))
        return NO_ID
    halves = [0, 0]
    for byte in message:
        for place, step in enumerate(STEPS):
            halves[place] = (halves[place] * step + (byte - 256 if byte > 127 else byte)) & 0xFFFF_FFFF
    return halves[0] << 32 | halves[1]
