"""What a recorded process did, in numbers: calls, failures, waits, bytes, memory.

One pass over the records, in memory that does not grow with their number, except for the hashes of distinct payloads.
"""

from collections import Counter
from collections.abc import Callable, Iterable
from typing import Any, Final, NamedTuple

from cannery.recorder.codec import WireError
from cannery.recorder.records import Call, Effect, Enter, Errand, Exit, Expire, Pace, Record, Returned, Signal
from cannery.recorder.schema import FunctionForm, Schema
from cannery.replayer.comparison.objects import Allocations
from cannery.replayer.comparison.shapes import Copy, copy_of, is_host
from cannery.replayer.kernels import Kernels, finds_kernel, launches

HOST: Final = -1
"""Stands for pinned host memory among the devices."""

DIRECTIONS: Final = {
    "read": "host_to_device",
    "write": "device_to_host",
    "move": "host_to_host",
    "file": "files",
    "wrote": "kernel_writes",
    "saw": "kernel_reads",
}
"""Effects that carry bytes, and what that means."""

_SAMPLES: Final = 256  # of memory use that are kept
_TOLD: Final = 8192


class Waits:
    """Calls of a function that had to wait. Times are nanoseconds; ``call`` is the number of the longest."""

    __slots__ = ("call", "count", "longest", "total")

    def __init__(self) -> None:
        self.count = self.total = self.longest = 0
        self.call: int | None = None

    def add(self, call: int, time: int) -> None:
        self.count += 1
        self.total += time
        if self.call is None or time > self.longest:
            self.longest, self.call = time, call


class Function:
    """What is counted of one function, and where its arguments stand."""

    __slots__ = (
        "calls",
        "can_fail",
        "copy",
        "failures",
        "frees",
        "kernels",
        "makes",
        "name",
        "size",
        "special",
        "streams",
        "unsupported",
        "waits",
    )

    def __init__(self, form: FunctionForm) -> None:
        self.name = form.name
        self.calls = self.unsupported = 0
        self.failures: Counter[int] = Counter()
        self.waits = Waits()
        self.can_fail = form.can_fail
        self.streams = tuple(index for index, param in enumerate(form.params)
                             if param.kind == "stream" and param.into == "handle")  # fmt: skip
        self.copy: Copy | None = copy_of(form)
        places = {param.name: index for index, param in enumerate(form.params)}
        self.size = places.get("size")
        made = [index for index, param in enumerate(form.outputs) if param.out == "address"]
        self.makes = made[0] if made and self.size is not None else None
        freed = [index for index, param in enumerate(form.params) if param.into == "address"]
        self.frees = freed[0] if freed and form.name.startswith("aclrtFree") else None
        self.kernels = finds_kernel(form) or launches(form) is not None
        self.special = self.copy is not None or self.makes is not None or self.frees is not None or self.kernels


class Timeline:
    """The highest value in each of a bounded number of equal stretches of time."""

    __slots__ = ("values", "width")

    def __init__(self) -> None:
        self.width = 1
        self.values: list[int] = []

    def add(self, time: int, value: int) -> None:
        """``value`` holds from ``time`` on. Times must not go back by more than the stretch they lie in."""
        place = max(time, 0) // self.width
        while place >= _SAMPLES:
            self.values = [max(self.values[at : at + 2]) for at in range(0, len(self.values), 2)]
            self.width *= 2
            place = max(time, 0) // self.width
        if place >= len(self.values):
            last = self.values[-1] if self.values else 0
            self.values += [last] * (place - len(self.values)) + [value]
        else:
            self.values[place] = max(self.values[place], value)

    def points(self) -> list[tuple[int, int]]:
        """Pairs of nanoseconds and highest value from there on, where the value changes."""
        found: list[tuple[int, int]] = []
        for place, value in enumerate(self.values):
            if not found or found[-1][1] != value:
                found.append((place * self.width, value))
        return found


class Memory:
    """Memory of one device, as the program asked for it: sizes are not rounded, as the device rounds them."""

    __slots__ = ("allocations", "current", "frees", "peak", "peak_call", "requested", "timeline")

    def __init__(self) -> None:
        self.allocations = self.frees = self.current = self.peak = self.requested = 0
        self.peak_call: int | None = None
        self.timeline = Timeline()

    def change(self, call: int, time: int, size: int) -> None:
        """An allocation, or with a negative size the end of one."""
        if size > 0:
            self.allocations += 1
            self.requested += size
        elif size < 0:
            self.frees += 1
        self.current += size
        if self.current > self.peak:
            self.peak, self.peak_call = self.current, call
        self.timeline.add(time, self.current)


class Payloads(NamedTuple):
    """Payloads that passed, and how many of them were different; ``unknown`` are those of which no hash was kept."""

    total: int
    distinct: int
    unknown: int
    bytes: int
    distinct_bytes: int


class Stats:
    """The numbers of one process. ``device_span`` is the size of each device's part of the address range. ``chosen``
    tells by number and function which calls count; what passed in other steps does not count then."""

    def __init__(self, schema: Schema, device_span: int, chosen: Callable[[int, str], bool] | None = None) -> None:
        self.functions: dict[str, Function] = {}
        self.threads: Counter[int] = Counter()
        self.streams: Counter[Any] = Counter()
        self.bytes: Counter[str] = Counter()
        self.memory: dict[int, Memory] = {}
        self.launches: Counter[tuple[str, bool]] = Counter()  # by name of the kernel, and whether it has a model
        self.kernels_failed = 0
        self.calls = 0
        self.last_time = 0
        self.in_flight = 0
        self._schema = schema
        self._kernels = Kernels(schema)
        self._device_span = max(device_span, 1)
        self._chosen = chosen
        self._waiting: dict[int, list[Enter]] = {}
        self._allocations = Allocations()
        self._sizes: dict[int, int] = {}  # number of an allocation -> its size
        self._regions: dict[int, int] = {}
        self._payloads: dict[int, int] = {}  # hash of a payload's hash -> its size
        self._payload_counts = [0, 0, 0]  # all, unknown, bytes

    def read(self, records: Iterable[Record], progress: Callable[[int], None] | None = None) -> None:
        """Count all of these records.

        Raises:
            WireError: a value has a form that no value can have.
        """
        try:
            self._read(records, progress)
        except TypeError:
            raise WireError("a map stands where no value can be one") from None
        self.calls = sum(self.threads.values())
        self.in_flight = sum(map(len, self._waiting.values()))

    def _read(self, records: Iterable[Record], progress: Callable[[int], None] | None) -> None:
        functions, threads, chosen = self.functions, self.threads, self._chosen
        left = _TOLD
        for record in records:
            if record.__class__ is Call:
                number, thread, time, name, ret, ins, _, effects, supported = record
                self.last_time = time
                if chosen is not None and not chosen(number, name):
                    continue
                function = functions.get(name) or self._function(name)
                function.calls += 1
                threads[thread] += 1
                left -= 1
                if ret and function.can_fail:
                    function.failures[ret] += 1
                for index in function.streams:
                    self.streams[ins[index]] += 1
                if function.special and ret == 0:
                    self._special(function, record)
                if effects:
                    self._effects(effects)
                if not supported:
                    function.unsupported += 1
                if left <= 0:
                    left = _TOLD
                    if progress is not None:
                        progress(number)
            else:
                self._other(record)

    @property
    def failures(self) -> int:
        return sum(function.failures.total() for function in self.functions.values())

    @property
    def payloads(self) -> Payloads:
        total, unknown, size = self._payload_counts
        return Payloads(total, len(self._payloads), unknown, size, sum(self._payloads.values()))

    def _function(self, name: str) -> Function:
        function = self.functions[name] = Function(self._schema[name])
        return function

    def _other(self, record: Record) -> None:
        if isinstance(record, Enter):
            self.last_time = record.time
            self._enter(record)
        elif isinstance(record, Exit):
            self._exit(record)
        elif isinstance(record, Pace | Signal | Expire | Returned | Errand):
            self.last_time = record.time
            if self._chosen is None:
                self._effects(record.effects)

    def _enter(self, record: Enter) -> None:
        if self._chosen is not None and not self._chosen(record.number, record.function):
            return
        function = self.functions.get(record.function) or self._function(record.function)
        function.calls += 1
        self.threads[record.thread] += 1
        for index in function.streams:
            self.streams[record.ins[index]] += 1
        self._effects(record.effects)
        self._waiting.setdefault(record.thread, []).append(record)

    def _exit(self, record: Exit) -> None:
        enters = self._waiting.get(record.thread, [])
        enter = next((enter for enter in enters if enter.number == record.number), None)
        if enter is None:  # not chosen, or it began before this part of a trace
            if self._chosen is None or self._chosen(record.number, record.function):
                self._failure(self.functions.get(record.function) or self._function(record.function), record)
            return
        enters.remove(enter)
        function = self.functions[enter.function]
        function.waits.add(enter.number, self.last_time - enter.time)
        self._failure(function, record)
        if function.special and record.ret == 0:
            number, thread, time, name, ins, effects = enter
            self._special(function, Call(number, thread, time, name, 0, ins, record.outs, effects))

    def _failure(self, function: Function, record: Exit) -> None:
        if function.can_fail and record.ret:
            function.failures[record.ret] += 1

    # Memory and bytes

    def _special(self, function: Function, record: Record) -> None:
        """A successful call that allocates, frees or copies."""
        assert isinstance(record, Call)
        if function.kernels:
            self._kernels.note(record)
            launched = self._kernels.launched(record)
            if launched is not None:
                self.launches[launched.shown, launched.modelled] += 1
            return
        if function.copy is not None:
            source, destination = record.ins[function.copy.source], record.ins[function.copy.destination]
            size = record.ins[function.copy.size]
            if source.__class__ is int is destination.__class__ is size.__class__ and source != destination:
                self.bytes["device_to_device"] += size
        if function.makes is not None and function.size is not None:
            self._allocate(record, record.outs[function.makes], record.ins[function.size])
        if function.frees is not None:
            self._free(record, record.ins[function.frees])

    def _allocate(self, record: Call, address: Any, size: Any) -> None:
        if size.__class__ is not int:
            return
        if address.__class__ is int:
            memory = self._of(address // self._device_span)
            number = self._allocations.add(address, size)
            for lost in self._allocations.replaced:  # by a device reset, which names no memory
                memory.change(record.number, record.time, -self._sizes.pop(lost, 0))
            self._sizes[number] = size
            memory.change(record.number, record.time, size)
        elif is_host(address) and address[0]:
            self._regions[address[0]] = size
            self._of(HOST).change(record.number, record.time, size)

    def _free(self, record: Call, address: Any) -> None:
        if address.__class__ is int:
            found = self._allocations.find(address)
            size = None if found is None else self._sizes.pop(found[0], None)
            if size is not None:
                self._of(address // self._device_span).change(record.number, record.time, -size)
        elif is_host(address):
            size = self._regions.pop(address[0], None)
            if size is not None:
                self._of(HOST).change(record.number, record.time, -size)

    def _of(self, device: int) -> Memory:
        memory = self.memory.get(device)
        if memory is None:
            memory = self.memory[device] = Memory()
        return memory

    def _effects(self, effects: Iterable[Effect]) -> None:
        counts, known = self._payload_counts, self._payloads
        for effect in effects:
            payload = effect.payload
            if effect.kind == "kernel":
                self.kernels_failed += not effect.ok
            if payload is None or effect.kind == "model":
                continue
            size, digest, content = payload
            self.bytes[DIRECTIONS.get(effect.kind, effect.kind)] += size
            counts[0] += 1
            counts[2] += size
            if content is not None:
                known[hash(content)] = size
            elif digest is not None:
                known[hash(digest)] = size
            else:
                counts[1] += 1
