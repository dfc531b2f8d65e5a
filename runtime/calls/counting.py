"""Counting notifies (reference documents for what the calls do, reference implementation for their checks)."""

from typing import TYPE_CHECKING, Any, Final

from cannery.runtime import counting
from cannery.runtime.calls.registry import call
from cannery.runtime.calls.streams import named_stream, submission_stream
from cannery.runtime.counting import BITS, RECORD_MODES, SET, CountingNotify, CountRecord, CountWait
from cannery.runtime.errors import null, out_of_range, stale
from cannery.runtime.objects import Stream, Thread

if TYPE_CHECKING:
    from cannery.runtime.machine import Machine

_SECOND: Final = 1_000_000_000


def _live(machine: "Machine", handle: int) -> CountingNotify:
    """Raises 107017, 107000 for null."""
    notify = machine.counting.get(handle)
    if notify is None:
        if handle:
            raise stale("cntNotify", handle)
        raise out_of_range("the argument cntNotify is null; pass one of aclrtCntNotifyCreate")
    return notify


def _arguments(machine: "Machine", handle: int, stream_handle: int) -> tuple[CountingNotify, Stream | None]:
    """Both handles are looked at before null is refused."""
    if handle and handle not in machine.counting:
        raise stale("cntNotify", handle)
    named = named_stream(machine, stream_handle)
    return _live(machine, handle), named


@call("aclrtCntNotifyCreate")
def create(machine: "Machine", thread: Thread, out: int, flag: int) -> Any:
    """How many there can be is not known, and not limited."""
    machine.hold()
    if flag:
        raise out_of_range("the argument flag is {:#x}; it is reserved, pass 0", flag)
    context = machine.context_of(thread)
    if not out:
        raise out_of_range("the argument cntNotify is null; pass where the handle is to be written")
    return 0, counting.make(machine, context.device).handle


@call("aclrtCntNotifyDestroy")
def destroy(machine: "Machine", thread: Thread, handle: int) -> int:
    machine.hold()
    counting.close(machine, _live(machine, handle))
    return 0


@call("aclrtCntNotifyGetId")
def get_id(machine: "Machine", thread: Thread, handle: int, out: int) -> Any:
    notify = _live(machine, handle)
    if not out:
        raise out_of_range("the argument notifyId is null; pass where the id is to be written")
    return 0, notify.number


@call("aclrtCntNotifyRecord")
def record(machine: "Machine", thread: Thread, handle: int, stream_handle: int, info: tuple[int, int] | None) -> int:
    if info is None:
        raise null("info")
    machine.hold()
    notify, named = _arguments(machine, handle, stream_handle)
    mode, value = info
    if mode not in RECORD_MODES:
        raise out_of_range("mode in the argument info is {}; pass a constant of aclrtCntNotifyRecordMode", mode)
    return _record(machine, thread, notify, stream_handle, named, mode, value)


@call("aclrtCntNotifyReset")
def reset(machine: "Machine", thread: Thread, handle: int, stream_handle: int) -> int:
    machine.hold()
    notify, named = _arguments(machine, handle, stream_handle)
    return _record(machine, thread, notify, stream_handle, named, SET, 0)


def _record(
    machine: "Machine", thread: Thread, notify: CountingNotify, handle: int, named: Stream | None, mode: int, value: int
) -> int:
    task = CountRecord()
    task.notify = notify
    task.mode = mode
    task.value = value
    task.cost = machine.event_cost
    task.stream = submission_stream(machine, machine.context_of(thread), handle, named)
    machine.schedule.check(task)
    if task.stream.lane is None:
        notify.pending.append(task)
    machine.schedule.submit(task)
    return 0


@call("aclrtCntNotifyWaitWithTimeout")
def wait(
    machine: "Machine",
    thread: Thread,
    handle: int,
    stream_handle: int,
    info: tuple[int, int, int, int, bytes] | None,
) -> int:
    if info is None:
        raise null("info")
    machine.hold()
    notify, named = _arguments(machine, handle, stream_handle)
    mode, value, timeout, clears, _ = info
    if not 0 <= mode <= BITS:
        raise out_of_range("mode in the argument info is {}; pass a constant of aclrtCntNotifyWaitMode, 0 to 4", mode)
    task = CountWait()
    task.notify = notify
    task.mode = mode
    task.value = value
    task.clears = clears != 0
    task.open = False
    task.limit = timeout * _SECOND
    task.cost = machine.event_cost
    task.stream = submission_stream(machine, machine.context_of(thread), stream_handle, named)
    machine.schedule.submit(task)
    return 0
