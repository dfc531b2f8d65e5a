"""The objects of the model: process, threads, devices, contexts, streams, events, notifies.

They hold state and no rules; rules are in ``calls/`` (what a call answers) and ``schedule.py`` (when work runs).
"""

from collections import deque
from typing import TYPE_CHECKING, Final

from cannery.runtime.budgets import Budget
from cannery.runtime.counting import CountingNotify
from cannery.runtime.errors import Message, Refused
from cannery.runtime.exchange import EVENTS, NOTIFIES, STREAMS, Exchange
from cannery.runtime.ids import HardwareId, IdPool
from cannery.runtime.kept import Kept
from cannery.runtime.notifies import Notify, Numbers
from cannery.runtime.queues import Queues
from cannery.runtime.tasks import EventWait, Record, SignalRecord, Task

if TYPE_CHECKING:
    from cannery.runtime.graphs import Graph, Run
    from cannery.runtime.host_functions import Runner, Worker
    from cannery.runtime.kernel_arguments import Arguments
    from cannery.runtime.lanes import Captured, Lane
    from cannery.runtime.places import Allocation
    from cannery.runtime.shared_events import SharedEvent
    from cannery.runtime.waits import Then

SYNC: Final = 0x01
CAPTURE_STREAM_PROGRESS: Final = 0x02
ID_AT_RECORD: Final = 0x04
TIME_LINE: Final = 0x08
DEVICE_USE_ONLY: Final = 0x10
EXTERNAL: Final = 0x20
IPC: Final = 0x40

DEFAULT_FLAGS: Final = CAPTURE_STREAM_PROGRESS | ID_AT_RECORD | TIME_LINE  # of aclrtCreateEvent

_WAIT_BITS: Final = SYNC | ID_AT_RECORD | EXTERNAL | IPC
_PERMANENT_ID_BITS: Final = SYNC | ID_AT_RECORD | EXTERNAL | DEVICE_USE_ONLY

# Flags of streams.
PERSISTENT: Final = 0x04
HUGE: Final = 0x08
CPU_SCHEDULE: Final = 0x10
STREAM_DEVICE_USE_ONLY: Final = 0x20
_NOT_WAITED_FOR: Final = PERSISTENT | CPU_SCHEDULE | STREAM_DEVICE_USE_ONLY

MESSAGES_KEPT: Final = 64


class Process(Kept):
    """What belongs to the process as a whole.

    ``references`` counts aclInit. ``configuration`` is the content of the first one, which later ones have to repeat.
    ``messages`` is where failures of all threads go when the configuration says so, else None. ``wait_limit``: the
    limit in ns of event waits that have none of their own, 0 for none (semantics.md 1.11). ``parameters``,
    ``operator_limit`` (in ns) and ``overflow_mode`` are what the program set of them, None where the product decides.
    """

    __slots__ = (
        "configuration", "default_device", "finalised", "messages", "operator_limit", "overflow_mode", "parameters",
        "references", "wait_limit",
    )  # fmt: skip

    def __init__(self) -> None:
        self.references = 0
        self.finalised = False
        self.configuration: bytes | None = None
        self.default_device: Device | None = None
        self.messages: deque[Message] | None = None
        self.wait_limit = 0
        self.parameters: dict[int, int] = {}
        self.operator_limit: int | None = None
        self.overflow_mode: int | None = None


class Thread(Kept):
    """A host thread that has called. ``follows``: the device it selected, whose primary context is its current one
    until a context is set explicitly. ``running``: its calls that had a function of the program run, innermost last,
    each with what takes the value that the function returns. ``capture_mode``: what aclmdlRICaptureThreadExchangeMode
    set. ``known_as``: the program's id of it, None if nobody asked yet; then also which ``worker`` it is, 0 for none.
    ``limited_by``: the stream whose core limits it uses. ``arguments``: the argument list that aclrtKernelArgsInit made
    last. ``last_task``: the number of the task that it submitted last, 0 before that, and the stream that this went to.
    """

    __slots__ = (
        "arguments", "capture_mode", "context", "follows", "known_as", "last_error", "last_stream", "last_task",
        "limited_by", "messages", "ordinal", "running", "worker",
    )  # fmt: skip

    def __init__(self, ordinal: int) -> None:
        self.ordinal = ordinal
        self.context: Context | None = None
        self.follows: Device | None = None
        self.last_error = 0
        self.last_task = 0
        self.last_stream: Stream | None = None
        self.capture_mode = 0
        self.limited_by: Stream | None = None
        self.arguments: Arguments | None = None
        self.messages: deque[Message] = deque(maxlen=MESSAGES_KEPT)
        self.running: list[tuple[str, Then]] = []
        self.known_as: int | None = None
        self.worker = 0


class Device(Kept):
    """A device that the process sees: ``index`` is its own id, ``user`` what it is called.

    ``selected`` counts aclrtSetDevice; ``contexts`` counts live contexts, and the device is open while there is one.
    Events, notifies and memory belong to the device and go when it is closed. ``stream_ids``, ``event_ids``,
    ``notify_numbers`` and ``counting_numbers`` are what it has of them, but for the last all processes together.
    ``peers``: the indices of devices whose memory it may reach. ``core_limits``: how many cores of a kind the process
    may use, where it set that. ``queues`` are those that the process made there. ``sync_area``: memory for the cores of
    a kernel to meet at, None before somebody asks for it.
    """

    __slots__ = (
        "contexts", "core_limits", "counting", "counting_numbers", "event_ids", "events", "index", "notifies",
        "notify_numbers", "peers", "primary", "queues", "selected", "stream_ids", "sync_area", "user",
    )  # fmt: skip

    def __init__(self, exchange: Exchange, index: int, user: int, streams: int, events: int, notifies: int) -> None:
        self.index = index
        self.user = user
        self.selected = 0
        self.primary: Context | None = None
        self.contexts = 0
        self.stream_ids = IdPool(Budget(exchange, index, STREAMS, streams), True)
        self.event_ids = IdPool(Budget(exchange, index, EVENTS, events), False)
        self.notify_numbers = Numbers(Budget(exchange, index, NOTIFIES, notifies))
        self.counting_numbers = Numbers(None)
        self.peers: set[int] = set()
        self.core_limits: dict[int, int] = {}
        self.sync_area: Allocation | None = None
        self.queues = Queues()
        self.events: dict[int, Event] = {}
        self.notifies: dict[int, Notify] = {}
        self.counting: dict[int, CountingNotify] = {}


class Context(Kept):
    """``streams`` by handle, the default stream first; ``graphs``, its model instances. ``failed``: what stopped it in
    stop mode (semantics.md 5). ``worker`` runs its host functions. ``parameters`` were set for it. ``overflow``: its
    memory for marks of overflow, None before somebody needs it (``calls/overflow.py``)."""

    __slots__ = (
        "default", "device", "failed", "graphs", "handle", "overflow", "parameters", "primary", "stop_mode", "streams",
        "worker",
    )  # fmt: skip
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
        self.parameters: dict[int, int] = {}
        self.overflow: Allocation | None = None


class Stream(Kept):
    """A queue of tasks that run one after the other. ``failure``: the first that no synchronise answered yet.

    ``waited_for``: synchronise calls and queries look at it (semantics.md 5: not at those with some flags).
    ``stops``: its failure mode, ``aborted`` once a failure stopped it. ``tag``, ``overflow``, ``caches`` and
    ``core_limits`` are attributes that only calls show which ask for them. ``released`` belongs to the schedule.
    ``lane``: where its tasks go instead, while it is captured or bound to a model instance; ``serves``: of the stream
    of a model instance, the run whose tasks it has at its head (``graphs.py``). ``runner``: who runs the functions of
    the program that are queued on it (``host_functions.py``). ``host_thread``: the program's id of the thread that it
    subscribed for functions that loaded models have on the host, None for none.
    """

    __slots__ = (
        "aborted", "caches", "context", "core_limits", "device", "failure", "flags", "handle", "host_thread", "id",
        "lane", "overflow", "priority", "queue", "released", "runner", "serves", "stops", "tag", "waited_for",
    )  # fmt: skip

    def __init__(self, handle: int, context: Context, hardware_id: HardwareId, priority: int, flags: int) -> None:
        self.handle = handle
        self.context = context
        self.device = context.device
        self.id = hardware_id
        self.priority = priority
        self.flags = flags
        self.waited_for = not flags & _NOT_WAITED_FOR
        self.queue: deque[Task] = deque()
        self.failure: Refused | None = None
        self.stops = False
        self.aborted = False
        self.tag = 0xFFFF_FFFF
        self.overflow = 0
        self.caches = 0
        self.core_limits: dict[int, int] = {}
        self.released = 0
        self.lane: Lane | None = None
        self.serves: Run | None = None
        self.runner: Runner | None = None
        self.host_thread: int | None = None


class Event(Kept):
    """An event of one of the families of semantics.md 1.1.

    ``record`` is the latest record. ``ex``: made by aclrtCreateEventExWithFlag. ``permanent``: has one hardware id
    with one bit (``signalled``) as long as it lives, which records set and only a reset clears; ``pending`` are its
    queued records and ``waiters`` the streams' heads that wait for the bit. ``uses`` counts what is queued and needs
    that id, ``waits`` the queued waits of any family. ``was_reset``: since the latest record. ``gone``: destroyed.
    ``captured`` is the latest record in a capture that is open; ``crosses``: a graph records it, or waits for it, from
    outside.

    ``record_flag`` and ``wait_flag``: the flag that its records and waits are bound to (1.7), None before the first.
    ``plain`` and ``plain_wait``: such calls have nothing of that to check, since one did. ``ids``: where each record
    takes an id from, None if it takes none. ``slots``: how many records of an event with ACL_EVENT_IPC are outstanding,
    ``peers`` what it shares with other processes.
    """

    __slots__ = (
        "captured", "context", "crosses", "device", "device_use_only", "ex", "external", "flags", "gone", "handle",
        "id", "ids", "ipc", "peers", "pending", "permanent", "plain", "plain_wait", "record", "record_flag",
        "signalled", "slots", "timed", "uses", "wait_flag", "waitable", "waiters", "waits", "was_reset",
    )  # fmt: skip

    def __init__(self, handle: int, context: Context, flags: int, ex: bool) -> None:
        self.handle = handle
        self.context = context
        self.device = context.device
        self.flags = flags
        self.ex = ex
        self.ipc = flags == IPC
        self.waitable = flags & _WAIT_BITS != 0
        self.permanent = self.waitable and not ex and flags != DEFAULT_FLAGS
        self.ids = self.device.event_ids if self.waitable and not self.permanent and not self.ipc else None
        self.timed = flags & TIME_LINE != 0
        self.external = flags & EXTERNAL != 0
        self.device_use_only = flags & DEVICE_USE_ONLY != 0
        self.id: HardwareId | None = None
        self.record: Record | None = None
        self.captured: Captured | None = None
        self.crosses = False
        self.record_flag: int | None = None
        self.wait_flag: int | None = None
        self.plain = False
        self.plain_wait = False
        self.was_reset = False
        self.signalled = False
        self.gone = False
        self.pending: list[SignalRecord] = []
        self.waiters: list[EventWait] = []
        self.uses = 0
        self.waits = 0
        self.slots = 0
        self.peers: SharedEvent | None = None

    def take(self, record: Record) -> None:
        """``record`` is the latest now."""
        old = self.record
        if old is not None:
            old.supersede()
        self.record = record
        self.was_reset = False

    def unuse(self) -> None:
        """Something queued that needed the permanent id is over."""
        self.uses -= 1
        if self.gone and not self.uses:
            self.give_back()

    def give_back(self) -> None:
        """Give the permanent id back, if there is one."""
        if self.id is not None:
            self.id.give_back()
            self.id = None


def holds_id(flags: int, ex: bool) -> bool:
    """Whether an event takes a hardware id when it is made, and keeps it (semantics.md 1.1; observed: every event of
    the flag family with a wait bit, unless its flags are just those of aclrtCreateEvent)."""
    return not ex and flags != DEFAULT_FLAGS and flags & _PERMANENT_ID_BITS != 0
