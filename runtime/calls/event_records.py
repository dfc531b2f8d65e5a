"""Events: recording, waiting on streams, resetting (semantics.md 1.7 to 1.9, 1.11, 1.14)."""

from typing import TYPE_CHECKING, Final

from cannery.runtime import capture, capture_events
from cannery.runtime.calls.events import live_event, no_event_id
from cannery.runtime.calls.registry import call
from cannery.runtime.calls.streams import make_room, named_stream, task_stream
from cannery.runtime.errors import (
    Again,
    foreign,
    invalid,
    null,
    out_of_range,
    stale,
    unsupported,
)
from cannery.runtime.ids import HardwareId
from cannery.runtime.lanes import CaptureLane
from cannery.runtime.objects import EXTERNAL, SYNC, Device, Event, Stream, Thread
from cannery.runtime.reach import reachable
from cannery.runtime.shared_events import ForeignRecord
from cannery.runtime.tasks import (
    DEVICE_LIMIT,
    LOST,
    EventReset,
    EventWait,
    Record,
    SharedRecord,
    SignalRecord,
    Task,
)
from cannery.runtime.waits import Until

if TYPE_CHECKING:
    from cannery.runtime.machine import Machine

DEFAULT: Final = 0  # flags of aclrtRecordEventWithFlag and aclrtStreamWaitEventWithFlag
OUTSIDE: Final = 1  # ACL_EVENT_RECORD_EXTERNAL, ACL_EVENT_WAIT_EXTERNAL

NEVER: Final = 0
PROCESS_LIMIT: Final = 0xFFFF_FFFF  # the limit that aclrtSetOpWaitTimeout set (semantics.md 0.4)
SECOND: Final = 1_000_000_000
ALWAYS_QUEUED: Final = SYNC | EXTERNAL  # waits for such events are queued whatever the state
SLOTS: Final = 8192  # outstanding records of a shared event


class SlotFree(Until):
    """A slot of a shared event is free."""

    __slots__ = ("event",)

    def __init__(self, event: Event) -> None:
        self.event = event

    def holds(self, machine: "Machine") -> bool:
        return self.event.slots < SLOTS


class IdFree(Until):
    """An event id of a device is free; with ``hopeless``, or nothing queued can give one back."""

    __slots__ = ("device", "hopeless")

    def __init__(self, device: Device, hopeless: bool) -> None:
        self.device = device
        self.hopeless = hopeless

    def holds(self, machine: "Machine") -> bool:
        return self.device.event_ids.available > 0 or (self.hopeless and not _holders(machine, self.device))


def _check_usable_by_host(event: Event) -> None:
    if event.device_use_only:
        raise out_of_range(
            "the event {:#x} was made with ACL_EVENT_DEVICE_USE_ONLY: only the device may use it", event.handle
        )


def _check_kind(event: Event, stream: Stream | None, flag: int) -> None:
    """Which events can be recorded or waited for how (semantics.md 1.7, 1.9)."""
    if event.ipc and stream is not None and capture.captured(stream):
        raise unsupported("the event {:#x} was made with ACL_EVENT_IPC, and its stream is in capture", event.handle)
    if flag == OUTSIDE and not (event.ex and event.flags == SYNC):
        raise unsupported(
            "the event {:#x} cannot be external to a graph; make it by aclrtCreateEventExWithFlag with ACL_EVENT_SYNC "
            "and no other flag",
            event.handle,
        )


def _bind(event: Event, bound: int | None, flag: int) -> int:
    """The flag that all records, or all waits, of the event have to repeat: the first one, even if that call then
    fails (semantics.md 1.7, observed)."""
    if bound is not None and bound != flag:
        raise out_of_range(
            "the event {:#x} was used with the flag {} first, and now with {}; use two events",
            event.handle, bound, flag,
        )  # fmt: skip
    return flag


def _check_flag(flag: int, default: str, external: str) -> None:
    if flag not in (DEFAULT, OUTSIDE):
        raise invalid("the argument flag is {}; pass {} (0) or {} (1)", flag, default, external)


# Recording.


@call("aclrtRecordEvent")
def record_event(machine: "Machine", thread: Thread, handle: int, stream_handle: int) -> int:
    if not handle:
        raise null("event")
    if machine.locked:
        machine.hold()
    event = machine.events.get(handle)
    if event is None:
        raise stale("event", handle)
    named = machine.streams.get(stream_handle)
    if named is None and stream_handle:
        raise stale("stream", stream_handle)
    if not event.plain:
        _check_record(event, named)
    if named is not None and named.lane is not None:
        return capture_events.record(machine, thread, event, named)
    context = thread.context
    if context is None:
        context = machine.context_of(thread)
    # submission_stream, spelled out: this is the hottest call
    if named is None:
        stream = context.default
    else:
        stream = named
        if stream.context is not context:
            raise foreign(stream_handle)
    if context.failed is not None:
        raise context.failed.again()
    if len(stream.queue) >= machine.depth:
        raise Again(stream.queue[0])
    record: Record
    ids = event.ids
    if ids is not None:
        free = ids.free
        hardware_id = free.pop() if free else ids.take() or _wait_for_id(machine, event.device)
        record = Record()
        record.id = hardware_id
        if event.ex:
            record.inert = hardware_id.kept = False
        else:
            record.inert = True
            old = event.record
            if old is not None:
                old.supersede()
    elif event.permanent:
        record = signal = SignalRecord()
        signal.id = None
        signal.inert = False
        signal.event = event
        event.pending.append(signal)
        event.uses += 1
    else:
        record = _shared_record(machine, event) if event.ipc else _bare_record()
    event.was_reset = False
    record.stream = stream
    record.cost = machine.event_cost
    event.record = record
    machine.schedule.put(record)
    if event.ipc:
        machine.hasten()
    return 0


def _check_record(event: Event, named: Stream | None) -> None:
    _check_usable_by_host(event)
    _check_kind(event, named, DEFAULT)
    event.record_flag = _bind(event, event.record_flag, DEFAULT)
    event.plain = not event.ipc


def _bare_record() -> Record:
    record = Record()
    record.id = None
    record.inert = True
    return record


def _shared_record(machine: "Machine", event: Event) -> Record:
    """Raises Again while all slots of the event are taken (semantics.md 1.14)."""
    if event.slots >= SLOTS:
        raise Again(until=SlotFree(event))
    record = SharedRecord()
    record.name = 0
    if event.peers is not None:
        event.peers.begin(machine, record)
    event.slots += 1
    record.id = HardwareId(0, None)
    record.id.kept = False
    record.inert = False
    record.event = event
    return record


def _wait_for_id(machine: "Machine", device: Device) -> HardwareId:
    """All ids are taken: a record waits for one as long as queued work can give one back (semantics.md 1.3, 1.7; switch
    record-waits-for-id).

    Raises:
        Again: the call waits for a further action of the host.
        Refused: 207007.
    """
    ids = device.event_ids
    for task in _holders(machine, device):
        if reachable(task) and machine.schedule.finish([task]):
            hardware_id = ids.take()
            if hardware_id is not None:
                return hardware_id
    choice = machine.behaviour["record-waits-for-id"]
    if choice == "wait":
        raise Again(until=IdFree(device, False))
    if choice == "wait-while-possible" and _holders(machine, device):
        raise Again(until=IdFree(device, True))
    raise no_event_id(device)


def _holders(machine: "Machine", device: Device) -> list[Task]:
    """Queued tasks that hold an id of the device which nothing else will keep."""
    found: list[Task] = []
    for context in machine.contexts.values():
        for stream in context.streams.values():
            for task in stream.queue:
                hardware_id = _held(task)
                if hardware_id is not None and hardware_id.pool is device.event_ids:
                    found.append(task)
    return found


def _held(task: Task) -> HardwareId | None:
    if isinstance(task, EventWait | EventReset) and task.record is not None:
        hardware_id = task.record.id
    elif isinstance(task, SignalRecord | EventWait | EventReset):
        return task.event.id if task.event.gone else None
    elif isinstance(task, Record):
        hardware_id = task.id
    else:
        return None
    return None if hardware_id is None or hardware_id.kept else hardware_id


@call("aclrtRecordEventWithFlag")
def record_event_with_flag(machine: "Machine", thread: Thread, handle: int, stream_handle: int, flag: int) -> int:
    if not handle:
        raise null("event")
    _check_flag(flag, "ACL_EVENT_RECORD_DEFAULT", "ACL_EVENT_RECORD_EXTERNAL")
    if flag == DEFAULT:
        return record_event(machine, thread, handle, stream_handle)
    machine.hold()
    event = live_event(machine, handle)
    named = named_stream(machine, stream_handle)
    _check_usable_by_host(event)
    _check_kind(event, named, flag)
    event.record_flag = _bind(event, event.record_flag, flag)
    _check_no_child(named)
    return capture_events.record_external(machine, thread, event, named)


def _check_no_child(named: Stream | None) -> None:
    """Raises 207000: events cross the border of an instance, and not of a child in one (semantics.md 1.7, 1.9)."""
    lane = None if named is None else named.lane
    if isinstance(lane, CaptureLane) and lane.graph.condition is not None:
        raise unsupported(
            "a stream in the capture of a conditional task's child takes no event with the flag EXTERNAL; use it "
            "outside of the child"
        )


# Waiting.


@call("aclrtStreamWaitEvent")
def stream_wait_event(machine: "Machine", thread: Thread, stream_handle: int, handle: int) -> int:
    if not handle:
        raise null("event")
    machine.hold()
    return _wait(machine, thread, stream_handle, handle, PROCESS_LIMIT, DEFAULT)


@call("aclrtStreamWaitEventWithTimeout")
def stream_wait_event_with_timeout(
    machine: "Machine", thread: Thread, stream_handle: int, handle: int, timeout: int
) -> int:
    if timeout < 0:
        refused = out_of_range("the argument timeout is {}; pass seconds, or 0 for no limit", timeout)
        refused.remembered = False
        raise refused
    machine.hold()
    return _wait(machine, thread, stream_handle, handle, timeout, DEFAULT)


@call("aclrtStreamWaitEventWithFlag")
def stream_wait_event_with_flag(
    machine: "Machine", thread: Thread, stream_handle: int, handle: int, timeout: int, flag: int
) -> int:
    if not handle:
        raise null("event")
    _check_flag(flag, "ACL_EVENT_WAIT_DEFAULT", "ACL_EVENT_WAIT_EXTERNAL")
    if flag == OUTSIDE and timeout:
        raise invalid("the argument timeout is {}; with ACL_EVENT_WAIT_EXTERNAL it has to be 0", timeout)
    machine.hold()
    return _wait(machine, thread, stream_handle, handle, timeout, flag)


def _wait(machine: "Machine", thread: Thread, stream_handle: int, handle: int, timeout: int, flag: int) -> int:
    """``timeout`` in seconds, or NEVER, or PROCESS_LIMIT."""
    named = named_stream(machine, stream_handle)
    if not handle:
        raise out_of_range("the argument event is null; pass an event")  # (R), unlike for the other two calls
    event = live_event(machine, handle)
    if not event.plain_wait or flag == OUTSIDE:
        _check_wait(event, named, flag)
    if flag == OUTSIDE:
        _check_no_child(named)
        return capture_events.wait_external(machine, thread, event, named)
    limit = _limit(machine, timeout)
    if event.captured is not None or (named is not None and named.lane is not None):
        return capture_events.wait(machine, thread, event, named, limit)
    stream = task_stream(machine.context_of(thread), stream_handle, named)
    queued, record = _what_to_wait_for(event, stream)
    if not queued:
        return 0
    if event.device is not stream.device:
        if not machine.profile.cross_device_waits:
            return 0
        limit = NEVER
    make_room(machine, stream)
    wait = EventWait()
    wait.stream = stream
    wait.event = event
    wait.record = record
    wait.limit = NEVER if event.ipc else limit
    wait.cost = machine.event_cost
    wait.use()
    machine.schedule.put(wait)
    return 0


def _check_wait(event: Event, named: Stream | None, flag: int) -> None:
    _check_usable_by_host(event)
    if event.ipc:
        _check_kind(event, named, DEFAULT)
    if not event.waitable:
        raise unsupported("the event {:#x} was made without ACL_EVENT_SYNC and cannot be waited for", event.handle)
    _check_kind(event, named, flag)
    event.wait_flag = _bind(event, event.wait_flag, flag)
    event.plain_wait = flag == DEFAULT and not event.ipc


def _limit(machine: "Machine", timeout: int) -> int:
    """The limit of a wait in ns, as the product has it (semantics.md 0.4)."""
    kind = machine.profile.wait_limits
    if kind == "device":
        return DEVICE_LIMIT
    if timeout == PROCESS_LIMIT:
        return machine.process.wait_limit
    return timeout * SECOND if kind == "call" else NEVER


def _what_to_wait_for(event: Event, stream: Stream) -> tuple[bool, Record | None]:
    """Whether a wait outside of capture is queued, and for which record; None: for the bit (semantics.md 1.2, 1.9).

    Raises:
        Refused: 107000, the event was never recorded and is of a family where that counts.
    """
    if event.peers is not None:
        latest = event.peers.latest(event)
        return latest is not None and (isinstance(latest, ForeignRecord) or latest.stream is not stream), latest
    record = event.record
    if event.permanent and event.flags & ALWAYS_QUEUED:
        return True, None
    if record is None:
        if event.ex:
            return False, None
        raise out_of_range("the event {:#x} was never recorded; record it before a stream waits for it", event.handle)
    target = None if event.permanent else record
    if event.was_reset:
        return True, target
    if record.done and record.finish != LOST:
        return False, None
    return event.permanent or record.stream is not stream, target


@call("aclrtSetOpWaitTimeout")
def set_op_wait_timeout(machine: "Machine", thread: Thread, timeout: int) -> int:
    """For waits that are queued later, or, on products where the device has the limit, that begin later."""
    machine.process.wait_limit = timeout * SECOND
    return 0


# Resetting.


@call("aclrtResetEvent")
def reset_event(machine: "Machine", thread: Thread, handle: int, stream_handle: int) -> int:
    if not handle:
        raise null("event")
    machine.hold()
    event = live_event(machine, handle)
    named = named_stream(machine, stream_handle)
    if event.ex:
        raise unsupported(
            "the event {:#x} was made by aclrtCreateEventExWithFlag and needs no reset: each record is new", handle
        )
    _check_usable_by_host(event)
    if not event.waitable:
        raise unsupported("the event {:#x} was made without ACL_EVENT_SYNC and cannot be reset", handle)
    stream = task_stream(machine.context_of(thread), stream_handle, named)
    capture_events.check_reset(event, stream)
    record = event.record
    if record is None and not event.permanent:
        return 0  # nothing to take back
    if stream.lane is None:
        make_room(machine, stream)
        event.was_reset = True
    reset = EventReset()
    reset.stream = stream
    reset.event = event
    reset.record = None if event.permanent else record
    reset.cost = machine.event_cost
    if stream.lane is None:
        reset.use()
    machine.schedule.submit(reset)
    return 0
