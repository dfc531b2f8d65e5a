"""The live session: the machine of one program, and the recording of what it does.

The engine (steps.c) drives it, one step at a time, with the engine lock held. A session begins with the process's first
call; a forked child begins a new one. Imported in every process that makes a call, so that it and what it imports stay
small.
"""

import atexit
import gc
import time
from collections.abc import Callable, Iterator
from typing import Any, Final

from cannery.runtime.api import MODEL
from cannery.runtime.invoke import SIGNATURES, Invoke
from cannery.runtime.machine import FAR, Machine, Wait
from cannery.runtime.settings import SettingError, Settings
from cannery.runtime.variables import VARIABLES, misspelt, without_empty
from cannery.shim._engine import ffi, lib
from cannery.shim.answers import words
from cannery.shim.exchange import SOON, session_of_process
from cannery.shim.host import LiveHost
from cannery.shim.messages import say
from cannery.shim.program_log import ProgramLog
from cannery.shim.recording import Recording

#: What a step takes on the virtual clock, ns: about what a call takes on the real one.
VIRTUAL_STEP: Final = 1_000
#: How long a program may make no call, in real ms, before what is due is done by the pacer: those who call do it
#: themselves. The virtual clock stands still while nobody calls, and then goes on to what is due next, so it gives a
#: program that computes, or that a busy machine does not let run, time to call.
QUIET: Final = 1
QUIET_VIRTUAL: Final = 100

Handler = Callable[..., Any]


def environment() -> dict[str, str]:
    """The variables that matter here, as the program has them now: it may have set some itself. Of ours, those that are
    not empty."""
    found = {}
    for name in ("ASCEND_RT_VISIBLE_DEVICES", *ProgramLog.VARIABLES, *VARIABLES):
        value = lib.cannery_getenv(name.encode())
        if value != ffi.NULL:
            found[name] = ffi.string(value).decode(errors="surrogateescape")
    return without_empty(found)


def given_at_start() -> Iterator[str]:
    """The names of all CANNERY_ variables that the process began with, and that were not empty."""
    place = 0
    while (text := lib.cannery_variable(place)) != ffi.NULL:
        name, _, value = ffi.string(text).decode(errors="surrogateescape").partition("=")
        if value:
            yield name
        place += 1


def _begin(variables: dict[str, str]) -> tuple[LiveHost, Machine, Settings]:
    """The machine that the environment asks for; a variable whose value nothing knows is left out, with a line."""
    host = LiveHost(variables, say)
    try:
        settings = Settings.from_environment(variables)
        return host, Machine(settings, host), settings
    except SettingError as error:
        for name in list(variables):
            rest = {key: value for key, value in variables.items() if key != name}
            try:
                settings = Settings.from_environment(rest)
                machine = Machine(settings, host)
            except SettingError:
                continue
            say(f"{error}; running without {name}={variables[name]}")
            return host, machine, settings
        say(f"{error}; running with the default settings")
        settings = Settings()
        return host, Machine(settings, host), settings


class Session:
    """One process's machine, host port and recording."""

    def __init__(self, parent: "Session | None") -> None:
        variables = environment()
        if parent is None and "CANNERY_LAUNCH" not in variables:  # `cannery run` has looked at them
            for text in misspelt(given_at_start()):
                say(f"{text}; it has no effect")
        self.host, self.machine, settings = _begin(variables)
        if parent is not None:
            # the parent's handles must not come to mean objects of the child
            self.machine.ordinal = parent.machine.ordinal
        self.host.exchange.step = lambda: self.machine.now
        self.virtual = 0
        self.is_virtual = settings.clock == "virtual"
        self.waiting: dict[int, Wait] = {}
        self.ended: list[Wait] = []  # in the present step
        self.open: dict[int, list[tuple[int, int]]] = {}  # by thread: function and number of calls that did not end
        self.texts: dict[int, bytes] = {}  # the text last handed to each thread: the program holds a pointer into it
        self.said: set[str] = set()
        recorded = None if parent is None else parent.recording
        self.recording: Recording = Recording.begin(variables, settings, self.host, self.machine, recorded)
        session_of_process()  # named now, so that children of this process are in it whenever they begin

    def parts(self) -> tuple[Any, ...]:
        """What the engine drives itself (steps.c): see ``attach`` there."""
        functions = MODEL.functions
        return (
            [self._handler(function.index) for function in functions],
            [self._recorder(function.index) for function in functions],
            self.machine,
            self.machine.waits,
            self.ended,
            self.host.effects,
            self.machine.errands,
            self.machine.dismissed,
            self.machine.discarded,
            Wait,
            Invoke,
            self.enter,
            self.collect,
            self.settle,
            self.arm,
            self.tick if self.is_virtual else None,
        )

    def _handler(self, index: int) -> Handler:
        function = MODEL.functions[index]
        answer = self.machine.handlers[index]
        if answer is None:
            return self._unsupported(function.name, function.result.unsupported)
        if function.result.shape == "cstring_return":
            return self._text(answer)
        return answer

    def _recorder(self, index: int) -> Handler | None:
        if self.machine.handlers[index] is None:
            return self.recording.unsupported(index)
        return self.recording.encoder(index)

    def _text(self, answer: Handler) -> Handler:
        def text(thread: Any, *arguments: Any) -> Any:
            reply = answer(thread, *arguments)
            if reply is not None:
                self.texts[thread.ordinal] = reply
            return reply

        return text

    def _unsupported(self, name: str, result: Any) -> Handler:
        def unsupported(thread: Any, *arguments: Any) -> Any:
            if name not in self.said:
                self.said.add(name)
                say(f"{name} is not supported yet: the call did nothing and returned {result!r}")
            return result

        return unsupported

    # Steps

    def enter(self, index: int, thread: Any, now: int, arguments: tuple[Any, ...], reply: Any) -> list[int]:
        """A call does not end with this step: it waits, or has a function of the program run. For the engine, see
        ``take_pending`` in steps.c."""
        number = self.recording.enter(index, thread.ordinal, now, arguments, self.host.effects)
        self.open.setdefault(thread.ordinal, []).append((index, number))
        pending = self._pending(thread.ordinal, reply)
        assert pending is not None
        return pending

    def _pending(self, thread: int, reply: Any) -> list[int] | None:
        """What the engine has to know of a reply that does not end the call; None for one that does."""
        if isinstance(reply, Wait):
            self.waiting[thread] = reply
            return [self._deadline(reply)]
        if isinstance(reply, Invoke):
            self.recording.invoke(thread, 0, reply)
            return [reply.function, SIGNATURES[reply.signature], *_four(reply.arguments)]
        return None

    def _exit(self, thread: int, reply: Any) -> int:
        """The innermost open call of a thread ended; the index of its function."""
        calls = self.open[thread]
        index, number = calls.pop()
        if not calls:
            del self.open[thread]
        self.recording.exit(index, number, thread, reply)
        return index

    def returned(self, thread: Any, now: int, value: int) -> Any:
        """The function that the thread's call asked for returned."""
        now = self.tick() if self.is_virtual else now
        self.machine.begin(now)
        reply = self.machine.returned(thread, value)
        self.collect()
        self.recording.returned(thread.ordinal, now, value, self.host.effects)
        pending = self._pending(thread.ordinal, reply)
        if pending is not None:
            return pending
        self._exit(thread.ordinal, reply)
        return reply

    def errand_done(self, worker: int, now: int, value: int) -> None:
        """The function that a worker ran returned."""
        now = self.tick() if self.is_virtual else now
        self.machine.begin(now)
        self.machine.errand_done(worker, value)
        self.collect()
        self.recording.errand(worker, now, value, self.host.effects)

    def pace(self, now: int) -> None:
        """What became due while nobody called."""
        machine = self.machine
        if self.is_virtual:
            now = self.virtual = max(self.virtual, machine.due if machine.due != FAR else 0)
        if machine.due <= now:
            machine.begin(now)
            machine.pace()
            self.collect()
            self.recording.pace(now, self.host.effects)

    def signal(self, now: int) -> list[int]:
        """Another process rang. A list: when to look again, at the latest (monotonic ns; -1: when it rings again)."""
        found = self.host.exchange.signalled()
        while found == lib.CANNERY_CHANGED:
            now = self.tick() if self.is_virtual else time.monotonic_ns()
            self.machine.begin(now)
            self.machine.signalled()
            self.collect()
            self.recording.signal(now, self.host.effects)
            self.settle()
            found = self.host.exchange.signalled()
        return [time.monotonic_ns() + SOON if found == lib.CANNERY_UNSETTLED else -1]

    def expire(self, thread: Any, now: int) -> list[int] | None:
        """The limit of the thread's wait passed. A list: it did not yet."""
        wait = self.waiting.get(thread.ordinal)
        if wait is None:
            return None  # it ended in the meantime
        if self.is_virtual:
            now = self.virtual = max(self.virtual, wait.deadline or 0)
        elif wait.deadline is None or now < wait.deadline:
            return [self._deadline(wait)]
        self.machine.begin(now)
        self.machine.expire(wait)
        self.collect()
        self.recording.expire(thread.ordinal, now, self.host.effects)
        return None

    def end_thread(self, thread: Any, now: int) -> None:
        """The thread ended: nothing of it is kept."""
        self.machine.end_thread(thread.ordinal)
        self.recording.thread_end(thread.ordinal, self.tick() if self.is_virtual else now)
        self.texts.pop(thread.ordinal, None)

    def collect(self) -> None:
        """End the waits that the present step released. Bytes may move then: to be done before the step is recorded."""
        machine = self.machine
        self.ended += machine.take_ended()
        for wait in machine.renewed:
            lib.cannery_limit_wait(wait.thread, self._deadline(wait))

    def settle(self) -> None:
        """After a step was recorded: release those whose waits ended, and hand out what functions are to be run."""
        machine = self.machine
        ended = self.ended[:]
        self.ended.clear()
        for wait in ended:
            thread = wait.thread
            del self.waiting[thread]
            if isinstance(wait.reply, Invoke):
                self.recording.invoke(thread, 0, wait.reply)
                arguments = _four(wait.reply.arguments)
                lib.cannery_invoke(thread, wait.reply.function, SIGNATURES[wait.reply.signature], arguments)
            else:
                index = self._exit(thread, wait.reply)
                lib.cannery_end_wait(thread, *words(MODEL.functions[index], wait.reply))
        if machine.errands or machine.dismissed:
            for errand in machine.take_errands():
                invoke = errand.invoke
                self.recording.invoke(0, errand.worker, invoke)
                arguments = _four(invoke.arguments)
                lib.cannery_errand(errand.worker, invoke.function, SIGNATURES[invoke.signature], arguments)
            for worker in machine.take_dismissed():
                lib.cannery_dismiss(worker)
        self.host.effects.clear()
        machine.discarded.clear()  # last, since it takes time: nobody that was released has to wait for it

    def arm(self) -> None:
        """Have the pacer look when the next work becomes due."""
        if self.is_virtual:
            lib.cannery_arm(time.monotonic_ns(), QUIET_VIRTUAL)
        else:
            lib.cannery_arm(self.machine.due, QUIET)

    def tick(self) -> int:
        """The virtual clock's time of the next step."""
        self.virtual += VIRTUAL_STEP
        return self.virtual

    def _deadline(self, wait: Wait) -> int:
        if wait.deadline is None:
            return -1
        if self.is_virtual:
            return time.monotonic_ns() + max(0, wait.deadline - self.virtual)
        return wait.deadline


def _four(arguments: tuple[int, ...]) -> list[int]:
    return [*arguments, 0, 0, 0, 0][:4]


class Process:
    """What stays while sessions follow one another by fork."""

    def __init__(self) -> None:
        self.session: Session | None = None
        self.parent: Session | None = None

    def new_thread(self, ordinal: int) -> Any:
        """The engine's object for a thread: its state in the machine. The first one begins the session."""
        if self.session is None:
            try:
                self.session = Session(self.parent)
            except OSError as error:
                say(f"no devices in this process: {error.strerror or error}; every call fails with 500000")
                return None
            self.parent = None
        return self.session.machine.thread(ordinal)

    def attach(self) -> tuple[Any, ...]:
        """The parts of the session that began."""
        assert self.session is not None
        return self.session.parts()

    def end_thread(self, thread: Any, now: int) -> None:
        """See Session."""
        if self.session is not None:
            self.session.end_thread(thread, now)

    def pace(self, _thread: None, now: int) -> None:
        """See Session."""
        if self.session is not None:
            self.session.pace(now)

    def signal(self, _thread: None, now: int) -> list[int] | None:
        """See Session."""
        return self.session.signal(now) if self.session is not None else None

    def expire(self, thread: Any, now: int) -> list[int] | None:
        """See Session."""
        return self.session.expire(thread, now) if self.session is not None else None

    def returned(self, thread: Any, now: int, value: int) -> Any:
        """See Session."""
        assert self.session is not None
        return self.session.returned(thread, now, value)

    def errand_done(self, worker: int, now: int, value: int) -> None:
        """See Session. A worker of a process that forked does not exist in the child."""
        assert self.session is not None
        self.session.errand_done(worker, now, value)

    def forked(self) -> None:
        """This is a child: let go of the parent's trace and memory, which are not ours, and begin anew."""
        if self.session is not None:
            self.session.recording.abandon()
            self.session.host.abandon()
            self.parent = self.session
            self.session = None


def start(shared: bool) -> tuple[Any, ...]:
    """Called once by the engine: what it calls from then on. ``shared``: this Python is the program's own."""
    process = Process()
    if shared:
        atexit.register(lib.cannery_close)
    else:  # reference counts free what a step leaves behind; a collector would look at every live event again and again
        gc.disable()
        gc.freeze()
    return (
        process.new_thread,
        process.attach,
        process.end_thread,
        process.pace,
        process.signal,
        process.expire,
        process.returned,
        process.errand_done,
        process.forked,
    )
