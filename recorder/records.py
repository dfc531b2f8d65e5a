"""The records of a call stream, as the reader yields them.

One *step* is one turn of the machine: a call, the entry of a call that does not end at once, a turn of the pacer, the
expiry of a wait, the return of a function of the program, the end of a thread. Steps stand in the total order in which
the machine made them. ``Exit`` and ``Invoke`` records follow the step that released the wait or asked for the
function. ``effects`` are what passed through the host port during the step, in order.
"""

from typing import Any, NamedTuple


class Payload(NamedTuple):
    """Reference to bytes that crossed between host and device.

    ``content`` is set when the bytes stand in the record (short ones); ``digest`` (XXH3-128, 16 bytes) when they are
    named by hash, stored or not; neither when the trace was recorded with ``--payload none``.
    """

    size: int
    digest: bytes | None
    content: bytes | None


class Effect(NamedTuple):
    """``kind`` is one of read, write, move, fill, alloc, file, thread, model, kernel, wrote, saw, peer, shared, tid;
    ``ok`` is False when the host range could not be accessed, the host had no memory, there is no such file or model,
    or a model failed."""

    kind: str
    ok: bool
    payload: Payload | None = None  # read, write, move, file, wrote, saw, shared; model: the hash of its source
    region: int = 0  # alloc: ordinal of the new pinned region, 0 when the host had no memory
    thread: int = 0  # thread: the id of the calling thread, as a token; tid: the system's of some thread, as a name
    worker: int = 0  # thread: which worker it is, 0 for none
    text: str = ""  # model: its name; kernel: why it failed
    parts: int = 0  # kernel: how many effects of kind wrote and saw follow, which belong to it
    place: int = 0  # wrote, saw: where in the launch's arguments the pointer to the memory is
    offset: int = 0  # wrote, saw: how far behind where that points
    topic: int = 0  # peer: one of format.TOPICS
    values: tuple[int, ...] = ()  # peer: what it says, see section 7 of the format


class Call(NamedTuple):
    """A call that returned without waiting. ``ins`` has one wire value per C parameter, ``outs`` one per output."""

    number: int  # calls are numbered from 0 in the order of their entry
    thread: int
    time: int  # monotonic nanoseconds since the stream began
    function: str
    ret: Any
    ins: tuple[Any, ...]
    outs: tuple[Any, ...]
    effects: tuple[Effect, ...]
    supported: bool = True


class Enter(NamedTuple):
    """A call that has to wait, or has a function of the program run; its result stands in the Exit with the same
    number."""

    number: int
    thread: int
    time: int
    function: str
    ins: tuple[Any, ...]
    effects: tuple[Effect, ...]


class Exit(NamedTuple):
    """The end of a call that began with Enter, caused by the step before it."""

    number: int
    thread: int
    function: str
    ret: Any
    outs: tuple[Any, ...]


class Pace(NamedTuple):
    """A turn of the pacer: work that became due while no call was made."""

    time: int
    effects: tuple[Effect, ...]


class Signal(NamedTuple):
    """Another process did what this one waits for."""

    time: int
    effects: tuple[Effect, ...]


class Expire(NamedTuple):
    """The real-time limit of a thread's wait ran out."""

    thread: int
    time: int
    effects: tuple[Effect, ...]


class Invoke(NamedTuple):
    """The step before asked for a function of the program: for call ``number``, on its ``thread``; or, with None for
    both, on ``worker``."""

    number: int | None
    thread: int | None
    worker: int  # 0 for none
    function: int  # a token
    signature: str
    args: tuple[Any, ...]


class Returned(NamedTuple):
    """The function that a thread ran for its call ``number`` returned ``value``."""

    number: int
    thread: int
    time: int
    value: Any
    effects: tuple[Effect, ...]


class Errand(NamedTuple):
    """The function that a worker ran returned ``value``."""

    worker: int
    time: int
    value: Any
    effects: tuple[Effect, ...]


class ThreadEnd(NamedTuple):
    """A thread that had called ended."""

    thread: int
    time: int


class Note(NamedTuple):
    """An optional record about the host (raw addresses, process ids, times of day); comparison ignores it."""

    topic: str
    value: Any


Record = Call | Enter | Exit | Pace | Signal | Expire | Invoke | Returned | Errand | ThreadEnd | Note
