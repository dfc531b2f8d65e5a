"""The objects of a machine as plain values for people and scripts: what ``cannery show --at`` prints.

Every attribute that is state is in it, by the names that the classes give them, but for what says nothing outside the
machine (:data:`INNER`). Objects are named as in a printed trace: ``stream#5``, ``d+0x200``, ``h3+0x10``,
``function#2``.
"""

from collections import deque
from collections.abc import Callable, Iterable
from typing import Any, Final

from cannery.recorder.codec import token_of
from cannery.recorder.format import PAGE
from cannery.replayer.opened import OpenCall
from cannery.replayer.replay import IMPOSSIBLE, Replay, ReplayError
from cannery.runtime.binaries import Binary, Kernel
from cannery.runtime.counting import CountingNotify
from cannery.runtime.errors import Message, Refused
from cannery.runtime.flow import Label, LabelList
from cannery.runtime.graphs import Graph
from cannery.runtime.handles import ordinal_of
from cannery.runtime.host_functions import Worker
from cannery.runtime.ids import HardwareId, IdPool
from cannery.runtime.invoke import Invoke
from cannery.runtime.kept import Kept
from cannery.runtime.kernel_arguments import Arguments
from cannery.runtime.lanes import TaskGroup
from cannery.runtime.machine import FAR, Machine, Wait
from cannery.runtime.notifies import Notify, Numbers
from cannery.runtime.objects import Context, Device, Event, Process, Stream, Thread
from cannery.runtime.places import Allocation, Place, Registration
from cannery.runtime.pools import Pool
from cannery.runtime.state import fields_of, known_classes
from cannery.runtime.tasks import Task
from cannery.runtime.virtual import Mapped, Physical, Reservation, Window

View = dict[str, list[dict[str, Any]]]

KINDS: Final[dict[type, str]] = {
    Context: "context",
    Stream: "stream",
    Event: "event",
    Notify: "notify",
    Graph: "model",
    Pool: "memory pool",
    Physical: "physical memory",
    TaskGroup: "task group",
    CountingNotify: "counting notify",
    Label: "label",
    LabelList: "label list",
    Binary: "binary",
    Kernel: "kernel",
    Arguments: "kernel arguments",
}

#: What an object has for the machine's own use, or shows elsewhere.
INNER: Final[dict[type, set[str]]] = {
    Context: {"streams", "graphs"},
    Device: {"events", "notifies"},
    Event: {"plain", "plain_wait", "pending", "waiters", "ids", "ex"},
    HardwareId: {"pool", "waiters"},
    Notify: {"pending", "waiters"},
    Stream: {"queue", "released", "device", "lane"},
    Task: {"number", "cost", "done", "finish", "stream", "inert", "id", "machine"},
    Wait: {"thread", "function", "reply"},
    Allocation: {"block", "reserved", "live"},
    Place: {"offset", "space", "mapping"},
    Physical: {"allocation"},
    Mapped: {"live", "offset"},
    Reservation: {"block"},
    Window: {"block"},
    Graph: {"tasks", "heads", "end"},
    Worker: {"number"},
    Binary: {"content", "symbols"},
}
_ADDRESSES: Final = {"address", "host"}
_FUNCTIONS: Final = {"function", "main", "registered", "callbacks"}
_TIMES: Final = {"deadline"}
_DEEP: Final = 6


def view(replay: Replay) -> View:
    """The objects, by sort. An object has its name under ``name``.

    Raises:
        ReplayError: the state is that of no machine, as one that somebody altered.
    """
    known_classes(Machine)
    try:
        return _View(replay).sections()
    except IMPOSSIBLE as error:
        why = str(error) or type(error).__name__
        raise ReplayError(f"the state at call #{replay.calls} cannot be shown ({why})") from None


class _View:
    def __init__(self, replay: Replay) -> None:
        self.machine = replay.machine
        self._calls = [*replay.open_calls]
        self._start = replay.start
        self._recorded = {id(event.record): event for event in self.machine.events.values() if event.record is not None}
        self._regions = {address: region for region, address in replay.book.placed()[0].items()}

    def sections(self) -> View:
        machine = self.machine
        memory = machine.memory
        return {
            "process": [self._process()],
            "threads": [self._named(f"T{number}", thread, {"ordinal"}) for number, thread in machine.threads.items()],
            "devices": [self._device(device) for device in machine.devices],
            "contexts": self._objects(machine.contexts.values()),
            "streams": [self._stream(stream) for stream in machine.streams.values()],
            "events": self._objects(machine.events.values()),
            "notifies": self._objects(machine.notifies.values()),
            "captures": [{"name": self.value(graph), "streams": self._captured(graph)} for graph in machine.captures],
            "models": [self._model(graph) for graph in machine.graphs.values()],
            "allocations": self._ranges(memory.device_allocations),
            "pinned": self._ranges(memory.pinned),
            "registered": self._ranges(memory.registered),
            "pools": self._objects(memory.pools.values()),
            "reservations": self._ranges(memory.virtual.all_reserved()),
            "mappings": self._ranges(memory.virtual.all_mapped()),
            "physical": self._objects(memory.virtual.physical.values()),
            "counting notifies": self._objects(machine.counting.values()),
            "labels": self._objects([*machine.labels.values(), *machine.label_lists.values()]),
            "binaries": self._objects(machine.binaries.values()),
            "kernels": self._objects(machine.kernels.values()),
            "kernel arguments": self._objects(machine.arguments.values()),
            "waiting": [self._waiting(place, call) for place, call in enumerate(self._calls)],
            "workers": [self._named(f"W{number}", worker, set()) for number, worker in machine.workers.items()],
            "callbacks": [{**self._fields(machine.exceptions, set(), 0), **self._fields(machine.told, set(), 0)}],
        }

    # Sections

    def _process(self) -> dict[str, Any]:
        machine = self.machine
        due = None if machine.due == FAR else machine.due - self._start
        time = {"time": machine.now - self._start, "skip": machine.skip, "due": due}
        return {"name": "process", **time, "locked": machine.locked, **self._fields(machine.process, set(), 0)}

    def _device(self, device: Device) -> dict[str, Any]:
        memory = self.machine.memory.devices[device.index]
        sizes = {"used": memory.used, "peak": memory.peak, "capacity": memory.capacity}
        return {**self._named(self.value(device), device, {"index", "user"}), "memory": sizes}

    def _stream(self, stream: Stream) -> dict[str, Any]:
        found = self._named(self.value(stream), stream, {"handle"})
        lane = stream.lane
        if lane is not None:
            found["captured"] = lane.capturing
            found["model"] = self.value(getattr(lane, "graph", None))
        found["tasks"] = [self._task(task) for task in stream.queue]
        return found

    def _model(self, graph: Graph) -> dict[str, Any]:
        found = self._named(self.value(graph), graph, {"handle"})
        found["tasks"] = [{"stream": self.value(task.stream), **self._task(task)} for task in graph.tasks]
        return found

    def _captured(self, graph: Graph) -> list[Any]:
        return [self.value(lane.source) for lane in graph.lanes]

    def _waiting(self, place: int, call: OpenCall) -> dict[str, Any]:
        enter = call.enter
        outer = sum(each.enter.thread == enter.thread for each in self._calls[:place])
        name = f"T{enter.thread}" + (f" inside {outer}" if outer else "")
        found: dict[str, Any] = {"name": name, "call": enter.number, "function": enter.function}
        pending = call.pending
        if isinstance(pending, Wait):
            return {**found, "waits": True, **self._fields(pending, {"resume"}, 0)}
        return {**found, "waits": False, "runs": call.signatures}

    def _objects(self, objects: Iterable[Any]) -> list[dict[str, Any]]:
        return [self._named(self.value(each), each, {"handle"}) for each in objects]

    def _ranges(self, ranges: Iterable[Any]) -> list[dict[str, Any]]:
        return [self._named(self.address(each.address), each, {"address"}) for each in ranges]

    # Values

    def _named(self, name: str, value: Any, besides: set[str]) -> dict[str, Any]:
        fields = self._fields(value, besides, 0)
        if "name" in fields:
            fields["called"] = fields.pop("name")
        return {"name": name, **fields}

    def _fields(self, value: Any, besides: set[str], depth: int) -> dict[str, Any]:
        hidden = {*besides}
        for cls in type(value).__mro__:
            hidden |= INNER.get(cls, set())
        found: dict[str, Any] = {}
        for name in fields_of(value):
            if name in hidden or not hasattr(value, name):
                continue
            held = getattr(value, name)
            if name in _ADDRESSES and isinstance(held, int):
                found[name] = self.address(held)
            elif name in _TIMES and isinstance(held, int):
                found[name] = held - self._start
            elif name == "thread" and isinstance(held, int):
                found[name] = f"T{held}"
            elif name in _FUNCTIONS and isinstance(held, int | dict):
                found[name] = self._functions(held)
            else:
                found[name] = self.value(held, depth + 1)
        return found

    def _task(self, task: Task) -> dict[str, Any]:
        found = {"task": task.what, "number": getattr(task, "number", None), **self._fields(task, set(), 0)}
        event = self._recorded.get(id(task))  # of records only the events know that they are theirs
        return found if event is None else {**found, "event": self._handle(event)}

    def value(self, value: Any, depth: int = 0) -> Any:
        """An attribute's value: plain, or the name of an object."""
        if value is None or isinstance(value, bool | int | float | str):
            return value
        if isinstance(value, bytes | bytearray | memoryview):
            return bytes(value).hex()
        for cls, shown in self._ways():
            if isinstance(value, cls):
                return shown(value)
        if depth > _DEEP:
            return type(value).__name__
        if isinstance(value, dict):
            return {str(self.value(key, depth + 1)): self.value(each, depth + 1) for key, each in value.items()}
        if isinstance(value, list | tuple | deque | set):
            return [self.value(each, depth + 1) for each in value]
        if value is self.machine.port.exchange:
            return "session"
        assert isinstance(value, Kept), type(value)
        return {"is": type(value).__name__, **self._fields(value, set(), depth)}

    def _ways(self) -> list[tuple[type, Callable[[Any], Any]]]:
        return [
            *((kind, self._handle) for kind in KINDS),
            (Device, lambda device: f"device {device.user}"),
            (Thread, lambda thread: f"T{thread.ordinal}"),
            (Process, lambda process: "process"),
            (Machine, lambda machine: "machine"),
            (Worker, lambda worker: f"W{worker.number}"),
            (Place, lambda place: self.address(place.address)),
            (Registration, lambda registration: self.address(registration.address)),
            (Allocation, lambda allocation: self.address(allocation.address)),
            (Mapped, lambda mapping: self.address(mapping.address)),
            (Reservation, lambda reservation: self.address(reservation.address)),
            (Window, lambda window: self.address(window.address)),
            (Refused, lambda refused: {"error": refused.number, "text": refused.reason()}),
            (Message, str),
            (HardwareId, lambda found: found.number),
            (IdPool, lambda pool: {"limit": pool.limit, "available": pool.available}),
            (Numbers, lambda numbers: {"used": numbers.used - len(numbers.free)}),
            (Invoke, lambda invoke: f"{self._functions(invoke.function)} {invoke.signature}"),
            (Task, self._task_name),
        ]

    def _handle(self, value: Any) -> str:
        return f"{KINDS[type(value)]}#{ordinal_of(value.handle)}"

    def _task_name(self, task: Task) -> str:
        where = f" on {self._handle(task.stream)}" if hasattr(task, "stream") else ""
        done = " (done)" if getattr(task, "done", False) else ""
        return f"{task.what} {getattr(task, 'number', '')}{where}{done}"

    def _functions(self, value: Any) -> Any:
        if isinstance(value, dict):
            return [f"function#{token_of(each)}" for each in value]
        return f"function#{token_of(value)}" if value else None

    def address(self, address: int) -> str:
        """As a trace prints it; a number where no region of it has that address."""
        memory = self.machine.memory
        if memory.base <= address < memory.limit:
            return f"d+{address - memory.base:#x}"
        pinned = memory.pinned.below(address)
        starts = [address - address % PAGE]
        if pinned is not None and address <= pinned.address + pinned.size:
            starts.insert(0, pinned.address)
        for start in starts:
            if start in self._regions:
                return f"h{self._regions[start]}+{address - start:#x}"
        return f"{address:#x}"
