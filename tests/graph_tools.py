"""What tests of captures and model instances begin with."""

from typing import Any

from cannery.runtime import capture_events
from cannery.runtime.errors import Refused
from cannery.runtime.machine import Wait
from cannery.runtime.objects import PERSISTENT
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

    def record_external(self, event: int, stream: int) -> int:
        """A record with the flag EXTERNAL: the number."""
        return self._external(
            "aclrtRecordEventWithFlag", (event, stream, 1), capture_events.record_external, event, stream
        )

    def wait_external(self, stream: int, event: int) -> int:
        """A wait with the flag EXTERNAL: the number."""
        function = "aclrtStreamWaitEventWithFlag"
        return self._external(function, (stream, event, 0, 1), capture_events.wait_external, event, stream)

    def _external(self, function: str, arguments: tuple[int, ...], rule: Any, event: int, stream: int) -> int:
        if function in self.handlers:
            return int(self.call(function, *arguments))
        machine = self.machine
        try:
            return int(rule(machine, machine.thread(1), machine.events[event], machine.streams.get(stream)))
        except Refused as refused:
            return machine.refuse(machine.thread(1), function, refused)

    def copy(self, destination: int, source: int, size: int, stream: int) -> None:
        self.ok("aclrtMemcpyAsync", destination, size, source, size, DEVICE_TO_DEVICE, stream)

    def run(self, model: int, stream: int = 0) -> None:
        """Execute an instance and wait for it."""
        self.ok("aclmdlRIExecuteAsync", model, stream)
        self.ok("aclrtSynchronizeStream", stream)

    def persistent(self) -> int:
        """A stream for instances built by hand."""
        return int(self.ok("aclrtCreateStreamWithConfig", OUT, 0, PERSISTENT))

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

    def other_context(self) -> int:
        """Another context, which is not made current."""
        current = self.ok("aclrtGetCurrentContext", OUT)
        context = int(self.ok("aclrtCreateContext", OUT, 0))
        self.ok("aclrtSetCurrentContext", current)
        return context

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


CALLS = {
    "begin": "aclmdlRICaptureBegin",
    "end": "aclmdlRICaptureEnd",
    "record": "aclrtRecordEvent",
    "wait": "aclrtStreamWaitEvent",
    "group": "aclmdlRICaptureTaskGrpBegin",
    "ungroup": "aclmdlRICaptureTaskGrpEnd",
    "update": "aclmdlRICaptureTaskUpdateBegin",
    "updated": "aclmdlRICaptureTaskUpdateEnd",
    "build": "aclmdlRIBuildBegin",
    "bind": "aclmdlRIBindStream",
    "unbind": "aclmdlRIUnbindStream",
    "mark": "aclmdlRIEndTask",
    "built": "aclmdlRIBuildEnd",
    "execute": "aclmdlRIExecuteAsync",
    "run": "aclmdlRIExecute",
    "abort": "aclmdlRIAbort",
    "destroy": "aclmdlRIDestroy",
    "sync": "aclrtSynchronizeStream",
    "sync-event": "aclrtSynchronizeEvent",
    "sync-device": "aclrtSynchronizeDevice",
    "query": "aclrtStreamQuery",
    "query-event": "aclrtQueryEventStatus",
    "elapsed": "aclrtEventElapsedTime",
    "drop": "aclrtDestroyStream",
    "forget": "aclrtDestroyEvent",
    "free": "aclrtFree",
    "streams": "aclmdlRIGetStreams",
    "stream-abort": "aclrtStreamAbort",
    "stream-stop": "aclrtStreamStop",
    "wait-for": "aclrtStreamWaitEventWithTimeout",
    "memset": "aclrtMemset",
    "memcpy": "aclrtMemcpy",
    "async": "aclrtMemcpyAsync",
    "exchange": "aclmdlRICaptureThreadExchangeMode",
    "current": "aclrtSetCurrentContext",
}
SIZE = 64
MAKERS: dict[str, Any] = {
    "s": lambda driver: driver.stream(),
    "e": lambda driver: driver.event(SYNC, ex=True),
    "old": lambda driver: driver.event(SYNC),
    "default": lambda driver: driver.event(),
    "progress": lambda driver: driver.event(0x02, ex=True),
    "ext": lambda driver: driver.event(EXTERNAL),
    "only": lambda driver: driver.event(0x10),
    "mem": lambda driver: driver.device_memory(SIZE),
    "pin": lambda driver: driver.pinned(bytes(SIZE)),
    "page": lambda driver: driver.host.give(bytes(SIZE)),
    "hand": lambda driver: driver.persistent(),
    "ctx": lambda driver: driver.other_context(),
    "primary": lambda driver: driver.ok("aclrtGetCurrentContext", OUT),
}
"""What a name in a script begins with, and what it is."""

MODE_NAMES = {"GLOBAL": GLOBAL, "THREAD_LOCAL": THREAD_LOCAL, "RELAXED": RELAXED}
STATUS_NAMES = {"NONE": NONE, "ACTIVE": ACTIVE, "INVALIDATED": INVALIDATED}


class Script:
    """Plays scripts of lines ``call argument ... [= name] [-> number] [@thread]``, for tables of tests.

    Names stand for objects that are made when they first appear; ``out`` is an output; ``= name`` keeps an output. A
    call has to answer ``number``, 0 if there is none; ``waits`` that it has to wait, and ``ends -> NUMBER`` what the
    first of the waits then answered. Also ``status STREAM -> STATUS``, ``put`` and ``bytes`` for memory, all of one
    value, ``out EVENT STREAM`` and ``in STREAM EVENT`` for records and waits with the flag EXTERNAL.
    """

    def __init__(self, driver: GraphDriver) -> None:
        self.driver = driver
        self.names: dict[str, Any] = {"out": 0x7FFF_0000_1000, "null": 0, **MODE_NAMES, **STATUS_NAMES}
        self.waits: list[Any] = []

    def value(self, word: str) -> Any:
        if word not in self.names:
            kind = next((kind for kind in MAKERS if word.rstrip("0123456789") == kind), None)
            self.names[word] = int(word, 0) if kind is None else MAKERS[kind](self.driver)
        return self.names[word]

    def play(self, text: str) -> None:
        for line in filter(None, map(str.strip, text.splitlines())):
            self.step(line)

    def step(self, line: str) -> None:
        rest, _, thread = line.partition("@")
        rest, _, expected = rest.partition("->")
        rest, _, name = rest.partition("=")
        verb, *words = rest.split()
        special = getattr(self, f"do_{verb}", None)
        if special is not None:
            special(line, expected.strip(), *words)
            return
        arguments = [self.value(word) for word in words]
        if verb == "begin" and len(arguments) == 1:
            arguments.append(RELAXED)
        elif verb == "built":
            arguments.append(0)
        elif verb == "run" and len(arguments) == 1:
            arguments.append(-1)
        elif verb == "build":
            arguments += [self.names["out"], 0]
        elif verb in ("end", "ungroup", "query", "query-event") and len(arguments) == 1:
            arguments.append(self.names["out"])
        elif verb == "streams":
            arguments += [self.names["out"], 9]
        elif verb == "memset":
            arguments += [SIZE, 7, SIZE]
        elif verb in ("memcpy", "async"):
            arguments[:2] = [arguments[0], SIZE, arguments[1], SIZE, 4]
        elif verb == "elapsed":
            arguments.insert(0, self.names["out"])
        reply = self.driver.call(CALLS[verb], *arguments, thread=int(thread or 1))
        if isinstance(reply, Wait) and reply.reply is None:
            assert expected.strip() == "waits", line
            self.waits.append(reply)
            return
        if isinstance(reply, Wait):
            reply = reply.reply
        number, *outputs = reply if isinstance(reply, tuple) else (reply,)
        assert number == int(expected or 0), (line, reply, self.driver.message(int(thread or 1)))
        if name:
            self.names[name.strip()] = outputs[0][0] if isinstance(outputs[0], tuple) else outputs[0]

    def do_out(self, line: str, expected: str, event: str, stream: str) -> None:
        self._crosses(line, expected, self.driver.record_external(self.value(event), self.value(stream)))

    def do_in(self, line: str, expected: str, stream: str, event: str) -> None:
        self._crosses(line, expected, self.driver.wait_external(self.value(stream), self.value(event)))

    def _crosses(self, line: str, expected: str, number: int) -> None:
        assert number == int(expected or 0), (line, number, self.driver.message())

    def do_value(self, line: str, expected: str, *words: str) -> None:
        for word in words:
            self.value(word)

    def do_status(self, line: str, expected: str, stream: str) -> None:
        assert self.driver.status(self.value(stream)) == self.names[expected], line

    def do_put(self, line: str, expected: str, memory: str, value: str) -> None:
        self.driver.put(self.value(memory), bytes([int(value)]) * SIZE)

    def do_bytes(self, line: str, expected: str, memory: str) -> None:
        assert self.driver.get(self.value(memory), SIZE) == bytes([int(expected)]) * SIZE, line

    def do_pace(self, line: str, expected: str, milliseconds: str) -> None:
        self.driver.pace(float(milliseconds))

    def do_select(self, line: str, expected: str, thread: str) -> None:
        self.driver.ok("aclrtSetDevice", 0, thread=int(thread))

    def do_ends(self, line: str, expected: str) -> None:
        wait = self.waits.pop(0)
        reply = wait.reply[0] if isinstance(wait.reply, tuple) else wait.reply
        assert reply == int(expected), (line, wait.reply)

    def do_expire(self, line: str, expected: str) -> None:
        self.driver.expire(self.waits[0])


def scripts(text: str) -> list[tuple[str, str, str]]:
    """A table of scripts: lines ``section: title``, each before the lines of its script."""
    found: list[tuple[str, str, str]] = []
    for line in filter(str.strip, text.splitlines()):
        if line.startswith(" "):
            section, title, steps = found[-1]
            found[-1] = (section, title, f"{steps}{line}\n")
        else:
            section, title = line.split(": ", 1)
            found.append((section, title, ""))
    return found
