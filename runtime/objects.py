"""The objects of the model: process, threads, devices, contexts, streams, events.

They hold state and no rules; rules are in ``calls/`` (what a call answers) and ``schedule.py`` (when work runs).
"""

from collections import deque
from collections.abc import Callable
from typing import TYPE_CHECKING, Any, Final

from cannery.runtime.errors import Message, Refused
from cannery.runtime.notifies import Notify, Numbers
from cannery.runtime.tasks import EventWait, Record, SignalRecord, Task

if TYPE_CHECKING:
    from cannery.runtime.graphs import Graph, Run
    from cannery.runtime.host_functions import Runner, Worker
    from cannery.runtime.lanes import Captured, Lane

SYNC: Final = 0x01
CAPTURE_STREAM_PROGRESS: Final = 0x02
ID_AT_RECORD: Final = 0x04
TIME_LINE: Final = 0x08
DEVICE_USE_ONLY: Final = 0x10
EXTERNAL: Final = 0x20
IPC: Final = 0x40

DEFAULT_FLAGS: Final = CAPTURE_STREAM_PROGRESS | ID_AT_RECORD | TIME_LINE  # of aclrtCreateEvent

_WAIT_BITS: Final = SYNC | ID_AT_RECORD | EXTERNAL | IPC
_PERMANENT_ID_BITS: Final = SYNC | EXTERNAL | DEVICE_USE_ONLY
MESSAGES_KEPT: Final = 64


class Process:
    """What belongs to the process as a whole.

    ``references`` counts aclInit. ``configuration`` is the content of the first one, which later ones have to repeat.
    ``messages`` is where failures of all threads go when the configuration says so, else None. ``wait_limit``: the
    limit in ns of event waits that have none of their own, 0 for none (semantics.md 1.11).
    """

    __slots__ = ("configuration", "default_device", "finalised", "messages", "references", "wait_limit")

    def __init__(self) -> None:
        self.references = 0
        self.finalised = False
        self.configuration: bytes | None = None
        self.default_device: Device | None = None
        self.messages: deque[Message] | None = None
        self.wait_limit = 0


class Thread:
    """A host thread that has called. ``follows``: the device it selected, whose primary context is its current one
    until a context is set explicitly. ``running``: its calls that had a function of the program run, innermost last,
    each with what takes the value that the function returns. ``capture_mode``: what aclmdlRICaptureThreadExchangeMode
    set. ``known_as``: the program's id of it, None if nobody asked yet; then also which ``worker`` it is, 0 for none.
    """

    __slots__ = (
        "capture_mode", "context", "follows", "known_as", "last_error", "messages", "ordinal", "running", "worker",
    )  # fmt: skip

    def __init__(self, ordinal: int) -> None:
        self.ordinal = ordinal
        self.context: Context | None = None
        self.follows: Device | None = None
        self.last_error = 0
        self.capture_mode = 0
        self.messages: deque[Message] = deque(maxlen=MESSAGES_KEPT)
        self.running: list[tuple[str, Callable[[int], Any]]] = []
        self.known_as: int | None = None
        self.worker = 0


class Device:
    """A device that the process sees: ``index`` is its own id, ``user`` what it is called.

    ``selected`` counts aclrtSetDevice; ``contexts`` counts live contexts, and the device is open while there is one.
    Events, notifies and memory belong to the device and go when it is closed. ``streams`` and ``event_ids`` count what
    is taken.
    """

    __slots__ = (
        "contexts", "event_ids", "events", "index", "notifies", "notify_numbers", "primary", "selected", "streams",
        "user",
    )  # fmt: skip

    def __init__(self, index: int, user: int) -> None:
        self.index = index
        self.user = user
        self.selected = 0
        self.primary: Context | None = None
        self.contexts = 0
        self.streams = 0
        self.event_ids = 0
        self.events: dict[int, Event] = {}
        self.notifies: dict[int, Notify] = {}
        self.notify_numbers = Numbers()


class Context:
    """``streams`` by handle, the default stream first; ``graphs``, its model instances. ``failed``: what stopped it in
    stop mode (semantics.md 5). ``worker`` runs its host functions."""

    __slots__ = ("default", "device", "failed", "graphs", "handle", "primary", "stop_mode", "streams", "worker")
    __deletable__ = ("default",)  # for the compiled form: the reference back is dropped at the end

    default: "Stream"

    def __init__(self, handle: int, device: Device, primary: bool) -> None:
        self.handle = handle
        self.device = device
        self.primary = primary
        self.streams: dict[int, Stream] = {}
        self.graphs: dict[int, Graph] = {}
        self.stop_mode = False
        self.failed: Refused | None = None
        self.worker: Worker | None = None


class Stream:
    """A queue of tasks that run one after the other. ``failure``: the first that no synchronise answered yet.
    ``released`` belongs to the schedule. ``lane``: where its tasks go instead, while it is captured or bound to a model
    instance; ``serves``: of the stream of a model instance, the run whose tasks it has at its head (``graphs.py``).
    ``runner``: who runs the functions of the program that are queued on it (``host_functions.py``)."""

    __slots__ = ("context", "device", "failure", "handle", "lane", "queue", "released", "runner", "serves")

    def __init__(self, handle: int, context: Context) -> None:
        self.handle = handle
        self.context = context
        self.device = context.device
        self.queue: deque[Task] = deque()
        self.failure: Refused | None = None
        self.released = 0
        self.lane: Lane | None = None
        self.serves: Run | None = None
        self.runner: Runner | None = None


class Event:
    """An event of one of the families of semantics.md 1.1.

    ``record`` is the latest record. ``ex``: made by aclrtCreateEventExWithFlag. ``permanent``: has one hardware id
    with one bit (``signalled``) for its whole life, which records set and only a reset clears; ``pending`` are its
    queued records and ``waiters`` the streams' heads that wait for the bit. ``captured`` is the latest record in a
    capture that is open; ``crosses``: a graph records it, or waits for it, from outside.
    """

    __slots__ = (
        "captured", "context", "crosses", "device", "device_use_only", "ex", "external", "flags", "handle", "holds_id",
        "pending", "permanent", "record", "signalled", "timed", "waitable", "waiters",
    )  # fmt: skip

    def __init__(self, handle: int, context: Context, flags: int, ex: bool) -> None:
        self.handle = handle
        self.context = context
        self.device = context.device
        self.flags = flags
        self.ex = ex
        self.permanent = not ex and flags & (SYNC | EXTERNAL) != 0
        self.holds_id = holds_id(flags, ex)
        self.waitable = flags & _WAIT_BITS != 0
        self.timed = flags & TIME_LINE != 0
        self.external = flags & EXTERNAL != 0
        self.device_use_only = flags & DEVICE_USE_ONLY != 0
        self.record: Record | None = None
        self.captured: Captured | None = None
        self.crosses = False
        self.signalled = False
        self.pending: list[SignalRecord] = []
        self.waiters: list[EventWait] = []


def holds_id(flags: int, ex: bool) -> bool:
    """Whether an event takes a hardware id when it is made, and keeps it (semantics.md 1.1)."""
    return not ex and flags & _PERMANENT_ID_BITS != 0
