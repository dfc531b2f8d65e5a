"""The objects of the model: threads, devices, contexts, streams, events.

They hold state and no rules; rules are in ``calls/`` (what a call answers) and ``schedule.py`` (when work runs).
"""

from collections import deque
from typing import Final

from cannery.runtime.errors import Message
from cannery.runtime.memory import Allocator
from cannery.runtime.tasks import EventWait, Record, SignalRecord, Task

SYNC: Final = 0x01
CAPTURE_STREAM_PROGRESS: Final = 0x02
ID_AT_RECORD: Final = 0x04
TIME_LINE: Final = 0x08
DEVICE_USE_ONLY: Final = 0x10
EXTERNAL: Final = 0x20
IPC: Final = 0x40

_WAIT_BITS: Final = SYNC | ID_AT_RECORD | EXTERNAL | IPC
_PERMANENT_ID_BITS: Final = SYNC | EXTERNAL | DEVICE_USE_ONLY
MESSAGES_KEPT: Final = 64


class Thread:
    """A host thread that has called. ``follows``: the device it selected, whose primary context is its current one
    unless a context was set explicitly."""

    __slots__ = ("context", "follows", "last_error", "messages", "ordinal")

    def __init__(self, ordinal: int) -> None:
        self.ordinal = ordinal
        self.context: Context | None = None
        self.follows: Device | None = None
        self.last_error = 0
        self.messages: deque[Message] = deque(maxlen=MESSAGES_KEPT)


class Device:
    """A device that the process can see; ``user`` is the id under which the program knows it.

    ``selected`` counts aclrtSetDevice; ``contexts`` counts every live context, and the device is open while there is
    one. Events and memory belong to the device and go when it is closed.
    """

    __slots__ = ("contexts", "event_ids", "events", "index", "memory", "primary", "selected", "streams", "user")

    def __init__(self, index: int, user: int) -> None:
        self.index = index
        self.user = user
        self.selected = 0
        self.primary: Context | None = None
        self.contexts = 0
        self.streams = 0
        self.event_ids = 0
        self.events: dict[int, Event] = {}
        self.memory: Allocator | None = None


class Context:
    """``failed`` is the number of the failure that stopped a stop-mode context, 0 while there is none."""

    __slots__ = ("default", "device", "failed", "handle", "primary", "stop_mode", "streams")

    default: "Stream"

    def __init__(self, handle: int, device: Device, primary: bool) -> None:
        self.handle = handle
        self.device = device
        self.primary = primary
        self.streams: dict[int, Stream] = {}
        self.stop_mode = False
        self.failed = 0


class Stream:
    """A queue of tasks that run one after the other. ``error``: the first failure that no synchronise returned yet."""

    __slots__ = ("context", "device", "error", "handle", "queue", "released")

    def __init__(self, handle: int, context: Context) -> None:
        self.handle = handle
        self.context = context
        self.device = context.device
        self.queue: deque[Task] = deque()
        self.error = 0
        self.released = 0


class Event:
    """An event of one of the families of semantics.md 1.1.

    ``record`` is the latest record. ``ex``: made by aclrtCreateEventExWithFlag. ``permanent``: has one hardware id with
    one bit (``signalled``) for its whole life, which records set and only a reset clears; ``pending`` are its queued
    records and ``waiters`` the streams' heads that wait for the bit.
    """

    __slots__ = (
        "context", "device", "ex", "flags", "handle", "pending", "permanent", "record", "signalled", "waitable",
        "waiters",
    )  # fmt: skip

    def __init__(self, handle: int, context: Context, flags: int, ex: bool) -> None:
        self.handle = handle
        self.context = context
        self.device = context.device
        self.flags = flags
        self.ex = ex
        self.permanent = not ex and flags & (SYNC | EXTERNAL) != 0
        self.waitable = flags & _WAIT_BITS != 0
        self.record: Record | None = None
        self.signalled = False
        self.pending: list[SignalRecord] = []
        self.waiters: list[EventWait] = []

    @property
    def holds_id(self) -> bool:
        """Whether a hardware id is taken at creation and kept (semantics.md 1.1)."""
        return not self.ex and self.flags & _PERMANENT_ID_BITS != 0
