"""The live session: drives the machine for one program, and records what it does.

The engine (engine.c) calls what :func:`start` returns, one call at a time, with the engine lock held. A session begins
with the process's first call; a forked child begins a new one. Imported in every process that makes a call, so that it
and what it imports stay small.
"""

import gc
import time
from collections.abc import Callable
from typing import Any, Final

from cannery.runtime.api import MODEL
from cannery.runtime.machine import FAR, Machine, Wait
from cannery.runtime.settings import SettingError, Settings
from cannery.shim._engine import ffi, lib
from cannery.shim.host import LiveHost
from cannery.shim.recording import Recording, say

#: What a call costs on the virtual clock, ns: about what one costs here on the real one.
VIRTUAL_STEP: Final = 1_000

Handler = Callable[..., Any]


def environment() -> dict[str, str]:
    """The variables that matter here, as the program has them now: it may have set some itself."""
    names = [
        "ASCEND_RT_VISIBLE_DEVICES",
        *(f"CANNERY_{name}" for name in ("PRODUCT", "DEVICES", "SCHEDULE", "CLOCK", "BEHAVIOUR", "ACL_API")),
        *(f"CANNERY_{name}" for name in ("TRACE", "FORCE", "RECORD", "PAYLOAD", "PAYLOAD_LIMIT", "SESSION")),
    ]
    found = {}
    for name in names:
        value = lib.cannery_getenv(name.encode())
        if value != ffi.NULL:
            found[name] = ffi.string(value).decode(errors="surrogateescape")
    return found


class Session:
    """One process's machine, host port and recording."""

    def __init__(self, parent: "Session | None") -> None:
        variables = environment()
        try:
            settings = Settings.from_environment(variables)
        except SettingError as error:
            say(f"{error}; running with the default settings")
            settings = Settings()
        self.host = LiveHost()
        self.machine = Machine(settings, self.host)
        if parent is not None:
            # the parent's handles must not come to mean objects of the child
            self.machine.ordinal = parent.machine.ordinal
        self.virtual = 0
        self.is_virtual = settings.clock == "virtual"
        self.armed = False
        self.waiting: dict[int, tuple[Wait, int]] = {}
        self.texts: dict[int, bytes] = {}  # the text last handed to each thread: the program holds a pointer into it
        self.recording = Recording.begin(variables, settings, self.host, self.machine, parent and parent.recording)
        self.said: set[str] = set()

    # Steps

    def handlers(self) -> list[Handler]:
        """One callable per function: what the engine calls as ``handler(thread, now, *arguments)``."""
        return [self._handler(function.index) for function in MODEL.functions]

    def _handler(self, index: int) -> Handler:
        function = MODEL.functions[index]
        answer = self.machine.handlers[index]
        if answer is None:
            return self._unsupported(index)
        if function.result.shape == "cstring_return":
            return self._text(self._call(index, answer))
        return self._call(index, answer)

    def _call(self, index: int, answer: Handler) -> Handler:
        machine, effects = self.machine, self.host.effects
        begin, waits = machine.begin, machine.waits
        record = self.recording.encoder(index)
        tick = self._tick if self.is_virtual else None

        def call(thread: Any, now: int, *arguments: Any) -> Any:
            if tick is not None:
                now = tick()
            begin(now)
            reply = answer(thread, *arguments)
            if reply.__class__ is Wait:
                return self._enter(index, thread, now, arguments, reply)
            if record is not None:
                record(thread.ordinal, now, arguments, reply, effects)
            if waits or effects:
                self.settle()
            if machine.due != FAR and not self.armed:
                self.arm()
            return reply

        return call

    def _enter(self, index: int, thread: Any, now: int, arguments: tuple[Any, ...], wait: Wait) -> list[int]:
        number = self.recording.enter(index, thread.ordinal, now, arguments, self.host.effects)
        self.waiting[thread.ordinal] = (wait, number)
        self.settle()
        if self.machine.due != FAR and not self.armed:
            self.arm()
        return [self._deadline(wait)]

    def _text(self, call: Handler) -> Handler:
        def text(thread: Any, now: int, *arguments: Any) -> Any:
            reply = call(thread, now, *arguments)
            if reply is not None:
                self.texts[thread.ordinal] = reply
            return reply

        return text

    def _unsupported(self, index: int) -> Handler:
        function = MODEL.functions[index]
        result = function.result.unsupported

        def unsupported(thread: Any, now: int, *arguments: Any) -> Any:
            if self.is_virtual:
                now = self._tick()
            if function.name not in self.said:
                self.said.add(function.name)
                say(f"{function.name} is not supported yet: the call did nothing and returned {result!r}")
            self.recording.unsupported(index, thread.ordinal, now, arguments, result)
            return result

        return unsupported

    def pace(self, now: int) -> None:
        """What became due while nobody called."""
        machine = self.machine
        self.armed = False
        if self.is_virtual:
            now = self.virtual = max(self.virtual, machine.due if machine.due != FAR else 0)
        if machine.due <= now:
            machine.begin(now)
            machine.pace()
            self.recording.pace(now, self.host.effects)
            self.settle()
        if machine.due != FAR:
            self.arm()

    def expire(self, thread: Any, now: int) -> list[int] | None:
        """The limit of the thread's wait passed. A list: it did not yet."""
        entry = self.waiting.get(thread.ordinal)
        if entry is None:
            return None  # it ended in the meantime
        wait = entry[0]
        if self.is_virtual:
            now = self.virtual = max(self.virtual, wait.deadline or 0)
        elif wait.deadline is None or now < wait.deadline:
            return [self._deadline(wait)]
        self.machine.begin(now)
        self.machine.expire(wait)
        self.recording.expire(thread.ordinal, now, self.host.effects)
        self.settle()
        if self.machine.due != FAR and not self.armed:
            self.arm()
        return None

    def end_thread(self, thread: Any, now: int) -> None:
        """The thread ended: nothing of it is kept."""
        if self.is_virtual:
            now = self._tick()
        self.machine.end_thread(thread.ordinal)
        self.recording.thread_end(thread.ordinal, now)
        self.texts.pop(thread.ordinal, None)

    # After a step

    def settle(self) -> None:
        """The end of a step: release who need not wait any longer; what passed through the host port is recorded."""
        for wait in self.machine.take_ended():
            _, number = self.waiting.pop(wait.thread)
            self.recording.exit(MODEL[wait.function].index, number, wait.thread, wait.reply)
            lib.cannery_end_wait(wait.thread, wait.reply)
        self.host.effects.clear()

    def arm(self) -> None:
        """Have the pacer look when the next work becomes due."""
        self.armed = True
        due = self.machine.due
        # the virtual clock stands still while nobody calls: give the program real time to go on by itself
        lib.cannery_arm(time.monotonic_ns() + 100_000_000 if self.is_virtual else due)

    def _deadline(self, wait: Wait) -> int:
        if wait.deadline is None:
            return -1
        if self.is_virtual:
            return time.monotonic_ns() + max(0, wait.deadline - self.virtual)
        return wait.deadline

    # Time

    def _tick(self) -> int:
        self.virtual += VIRTUAL_STEP
        return self.virtual


class Process:
    """What stays while sessions follow one another by fork: the list of handlers that the engine holds."""

    def __init__(self) -> None:
        self.session: Session | None = None
        self.parent: Session | None = None
        self.handlers: list[Handler | None] = [None] * len(MODEL.functions)

    def new_thread(self, ordinal: int) -> Any:
        """The session's object for a thread: its state in the machine. The first one begins the session."""
        if self.session is None:
            self.session = Session(self.parent)
            self.parent = None
            self.handlers[:] = self.session.handlers()
        return self.session.machine.thread(ordinal)

    def end_thread(self, thread: Any, now: int) -> None:
        """See Session."""
        if self.session is not None:
            self.session.end_thread(thread, now)

    def pace(self, _thread: None, now: int) -> None:
        """See Session."""
        if self.session is not None:
            self.session.pace(now)

    def expire(self, thread: Any, now: int) -> list[int] | None:
        """See Session."""
        return self.session.expire(thread, now) if self.session is not None else None

    def forked(self) -> None:
        """This is a child: let go of the parent's trace and memory, which are not ours, and begin anew."""
        if self.session is not None:
            self.session.recording.abandon()
            self.session.host.abandon()
            self.parent = self.session
            self.session = None
            self.handlers[:] = [None] * len(MODEL.functions)


def start() -> tuple[Any, ...]:
    """Called once by the engine: the handlers (one list for the life of the process), then what else it calls."""
    process = Process()
    # reference counts free what a step leaves behind; a collector would look at every live event again and again
    gc.disable()
    gc.freeze()
    return process.handlers, process.new_thread, process.end_thread, process.pace, process.expire, process.forked
