"""What tests of captures and model instances begin with."""

from typing import Any

from cannery.runtime.lanes import BoundLane
from tests.fakes import OUT, Driver

SYNC = 0x01
EXTERNAL = 0x20
GLOBAL, THREAD_LOCAL, RELAXED = 0, 1, 2
NONE, ACTIVE, INVALIDATED = 0, 1, 2
DEVICE_TO_DEVICE = 3


class GraphDriver(Driver):
    """A driver with short names for captures."""

    def begin(self, stream: int, mode: int = RELAXED, thread: int = 1) -> None:
        self.ok("aclmdlRICaptureBegin", stream, mode, thread=thread)

    def end(self, stream: int, thread: int = 1) -> int:
        """End a capture that has not failed: its instance."""
        return int(self.ok("aclmdlRICaptureEnd", stream, OUT, thread=thread))

    def fails(self, stream: int, number: int, thread: int = 1) -> None:
        """End a capture that has failed."""
        assert self.call("aclmdlRICaptureEnd", stream, OUT, thread=thread) == (number, 0)
        assert self.status(stream) == NONE

    def status(self, stream: int) -> int:
        return int(self.ok("aclmdlRICaptureGetInfo", stream, OUT, 0)[0])

    def model_of(self, stream: int) -> int:
        """The instance that a stream is captured into."""
        return int(self.ok("aclmdlRICaptureGetInfo", stream, 0, OUT)[1])

    def ex(self) -> int:
        return self.event(SYNC, ex=True)

    def crossing(self, behind: int, waiting: int) -> int:
        """``waiting`` waits for what ``behind`` has until now; the event."""
        event = self.ex()
        self.ok("aclrtRecordEvent", event, behind)
        self.ok("aclrtStreamWaitEvent", waiting, event)
        return event

    def copy(self, destination: int, source: int, size: int, stream: int) -> None:
        self.ok("aclrtMemcpyAsync", destination, size, source, size, DEVICE_TO_DEVICE, stream)

    def run(self, model: int, stream: int = 0) -> None:
        """Execute an instance and wait for it."""
        self.ok("aclmdlRIExecuteAsync", model, stream)
        self.ok("aclrtSynchronizeStream", stream)

    def persistent(self) -> int:
        """A stream for instances built by hand."""
        stream = self.stream()
        held = self.machine.streams[stream]
        held.lane = BoundLane(held)
        return stream

    def by_hand(self, *streams: int, flag: int = 0) -> int:
        """An instance that is being built, with these streams bound."""
        model = int(self.ok("aclmdlRIBuildBegin", OUT, 0))
        for stream in streams:
            self.ok("aclmdlRIBindStream", model, stream, flag)
        return model

    def built(self, model: int, last: int) -> int:
        """Ends building; the instance ends with what stream ``last`` has until now."""
        self.ok("aclmdlRIEndTask", model, last)
        self.ok("aclmdlRIBuildEnd", model, 0)
        return model

    def put(self, address: int, content: bytes) -> None:
        self.ok("aclrtMemcpy", address, len(content), self.host.give(content), len(content), 4)

    def get(self, address: int, size: int) -> bytes:
        into = self.host.give(b"\0" * size)
        self.ok("aclrtMemcpy", into, size, address, size, 4)
        content = self.host.peek(into, size)
        self.host.take(into)
        return content


def opened(**settings: Any) -> GraphDriver:
    driver = GraphDriver(**settings)
    driver.opened()
    return driver
