"""A host for the machine that is only Python, and a driver that calls functions by name."""

import mmap
import os
from typing import Any

from cannery.recorder.sparse import written_ranges
from cannery.runtime.api import MODEL
from cannery.runtime.invoke import Errand
from cannery.runtime.kernels import KernelRun
from cannery.runtime.machine import Machine, Wait
from cannery.runtime.models.load import Models
from cannery.runtime.models.run import Failure
from cannery.runtime.models.run import run as run_model
from cannery.runtime.reach import reachable
from cannery.runtime.settings import Settings
from tests.fake_session import Member, Session

DEVICE_BASE = 0x2000_0000_0000
PAGE = 4096
MOST = 1 << 24  # that can be pinned at once
MILLISECOND = 1_000_000
OUT = 0x7FFF_0000_1000  # where outputs would go: the machine only looks at null


def ident(thread: int) -> int:
    """What the program calls a thread."""
    return 0x7F00_0000_0000 + thread * 0x1000


class FakeStore:
    """Device memory in a sparse file in memory; ``discards`` counts what was given back."""

    def __init__(self, span: int) -> None:
        self.file = os.memfd_create("store")
        os.ftruncate(self.file, span)
        self._map = mmap.mmap(self.file, span)
        self.view = memoryview(self._map)
        self.discards = 0

    def discard(self, offset: int, size: int) -> None:
        assert size > 0 and offset % PAGE == size % PAGE == 0
        self._map.madvise(mmap.MADV_REMOVE, offset, size)
        self.discards += size

    def written(self) -> list[tuple[int, int]]:
        return [*written_ranges(self.file, len(self.view))]

    def __del__(self) -> None:
        os.close(self.file)


class FakeHost:
    """Host memory as byte arrays by start address. What lies in none of them is not accessible."""

    def __init__(self, files: dict[bytes, bytes] | None = None, exchange: Member | None = None) -> None:
        self.exchange = exchange or Session().join()
        self.ranges: dict[int, bytearray] = {}
        self.files = files or {}
        self.stores: dict[int, FakeStore] = {}
        self.next = 0x5000_0000_0000
        self.spans: list[int] = []
        self.memory_left = True
        self.worker_threads: dict[int, int] = {}  # by ordinal, for threads that are workers
        self.ids: dict[int, int] = {}  # by ordinal, for threads that have the id of one before them
        self.models: Models | None = None
        self.told: list[bytes] = []  # names of kernels without a model that were launched
        self.logged: list[tuple[int, bytes, int, bytes]] = []

    def give(self, content: bytes) -> int:
        """Pageable memory of the program, with that content; its address."""
        size = -(-len(content) // PAGE) * PAGE
        address, self.next = self.next, self.next + size + PAGE
        self.ranges[address] = bytearray(content.ljust(size, b"\0"))
        return address

    def take(self, address: int) -> None:
        """Unmap it."""
        del self.ranges[address]

    def _find(self, address: int, size: int) -> memoryview | None:
        for start, content in self.ranges.items():
            if start <= address and address + size <= start + len(content):
                return memoryview(content)[address - start : address - start + size]
        return None

    def peek(self, address: int, size: int) -> bytes:
        """What the program sees there."""
        found = self._find(address, size)
        assert found is not None, hex(address)
        return bytes(found)

    def poke(self, address: int, content: bytes) -> None:
        """The program writes there."""
        found = self._find(address, len(content))
        assert found is not None, hex(address)
        found[:] = content

    # The port.

    def device_base(self, span: int) -> int:
        self.spans.append(span)
        return DEVICE_BASE

    def device_store(self, device: int, span: int) -> FakeStore:
        assert device not in self.stores
        self.stores[device] = self.exchange.stores[device] = FakeStore(span)
        return self.stores[device]

    def read(self, address: int, into: memoryview) -> bool:
        found = self._find(address, len(into))
        if found is not None:
            into[:] = found
        return found is not None

    def write(self, address: int, data: memoryview) -> bool:
        found = self._find(address, len(data))
        if found is not None:
            found[:] = data
        return found is not None

    def move(self, destination: int, source: int, size: int) -> bool:
        found = self._find(source, size)
        return found is not None and self.write(destination, memoryview(bytes(found)))

    def fill(self, address: int, value: int, size: int) -> bool:
        found = self._find(address, size)
        if found is not None:
            found[:] = bytes((value,)) * size
        return found is not None

    def pinned_alloc(self, size: int) -> int:
        return self.give(b"\0" * size) if self.memory_left and size <= MOST else 0

    def pinned_free(self, address: int) -> None:
        self.take(address)

    def file(self, path: bytes) -> bytes | None:
        return self.files.get(path)

    def write_file(self, path: bytes, content: bytes) -> bool:
        if path.startswith(b"/nowhere/"):
            return False
        self.files[path] = content
        return True

    def data(self, address: int, size: int) -> bytes | None:
        found = self._find(address, size)
        return None if found is None else bytes(found)

    def copied(self, address: int, size: int) -> memoryview | None:
        found = self._find(address, size)
        return None if found is None else memoryview(bytearray(found))

    def model(self, name: bytes) -> bool:
        return self.models is not None and self.models.find(name) is not None

    def unmodelled(self, name: bytes) -> None:
        self.told.append(name)

    def log(self, level: int, file: bytes, line: int, text: bytes) -> None:
        self.logged.append((level, file, line, text))

    def kernel(self, run: KernelRun) -> str | None:
        assert self.models is not None
        model = self.models.find(run.name)
        assert model is not None
        try:
            run_model(model, run, self.read, self.write)
        except Failure as failure:
            return str(failure)
        return None

    def thread(self, ordinal: int) -> tuple[int, int]:
        return self.ids.get(ordinal, ident(ordinal)), self.worker_threads.get(ordinal, 0)

    def tid(self, ordinal: int) -> int:
        return 4000 + ordinal


def check_holds(machine: Machine) -> None:
    """Waits that are passed over because something holds them could indeed not end."""
    for wait in machine.waits:
        if wait.held is not None and wait.held.lasts():
            assert not all(target.done or reachable(target) for target in wait.targets), wait.function


class Driver:
    """Drives a machine: each call is one step, a microsecond after the one before."""

    def __init__(self, host: FakeHost | None = None, **settings: Any) -> None:
        self.host = host or FakeHost()
        self.machine = Machine(Settings(**{"devices": 2, **settings}), self.host)
        self.handlers = {f.name: h for f in MODEL.functions if (h := self.machine.handlers[f.index]) is not None}
        self.now = 1_000_000_000
        self.ended: list[Wait] = []
        self.errands: list[Errand] = []
        self.dismissed: list[int] = []

    def call(self, function: str, *arguments: Any, thread: int = 1) -> Any:
        """The reply of a call: the number, a tuple, or a Wait that is still open."""
        self.now += 1_000
        self.machine.begin(self.now)
        reply = self.handlers[function](self.machine.thread(thread), *arguments)
        self._end()
        return reply

    def ok(self, function: str, *arguments: Any, thread: int = 1) -> Any:
        """The single output of a call that has to succeed, or None."""
        reply = self.call(function, *arguments, thread=thread)
        if isinstance(reply, tuple):
            assert reply[0] == 0, (function, reply)
            return reply[1] if len(reply) == 2 else reply[1:]
        assert reply == 0, (function, reply)
        return None

    def pace(self, milliseconds: float = 0.0) -> None:
        """A step of the pacer, after that time."""
        self.now += int(milliseconds * MILLISECOND)
        self.machine.begin(self.now)
        self.machine.pace()
        self._end()

    def signal(self) -> None:
        """A step: another process did something."""
        self.now += 1_000
        self.machine.begin(self.now)
        self.machine.signalled()
        self._end()

    def expire(self, wait: Wait) -> None:
        """Let the limit of a wait pass."""
        assert wait.deadline is not None
        self.now = max(self.now, wait.deadline)
        self.machine.begin(self.now)
        self.machine.expire(wait)
        self._end()

    def returned(self, thread: int = 1, value: int = 0) -> Any:
        """The function that a thread runs returns; what its call does then."""
        self.now += 1_000
        self.machine.begin(self.now)
        reply = self.machine.returned(self.machine.thread(thread), value)
        self._end()
        return reply

    def errand_done(self, worker: int, value: int = 0) -> None:
        """The function that a worker runs returns."""
        self.now += 1_000
        self.machine.begin(self.now)
        self.machine.errand_done(worker, value)
        self._end()

    def _end(self) -> None:
        check_holds(self.machine)
        self.ended += self.machine.take_ended()
        self.errands += self.machine.take_errands()
        self.dismissed += self.machine.take_dismissed()
        self.machine.discarded.clear()

    def message(self, thread: int = 1) -> str:
        """What aclGetRecentErrMsg tells, or nothing."""
        text = self.call("aclGetRecentErrMsg", thread=thread)
        return text.decode() if text is not None else ""

    # What most tests begin with.

    def opened(self, device: int = 0) -> "Driver":
        self.ok("aclrtSetDevice", device)
        return self

    def stream(self) -> int:
        return int(self.ok("aclrtCreateStream", OUT))

    def event(self, flag: int | None = None, ex: bool = False) -> int:
        if flag is None:
            return int(self.ok("aclrtCreateEvent", OUT))
        return int(self.ok("aclrtCreateEventExWithFlag" if ex else "aclrtCreateEventWithFlag", OUT, flag))

    def device_memory(self, size: int) -> int:
        return int(self.ok("aclrtMalloc", OUT, size, 0))

    def pinned(self, content: bytes) -> int:
        address = int(self.ok("aclrtMallocHost", OUT, len(content)))
        self.host.poke(address, content)
        return address

    def gate(self, held: int) -> int:
        """Hold a stream by a wait for an event that nobody recorded; the event."""
        event = self.event(1)
        self.ok("aclrtStreamWaitEvent", held, event)
        return event
