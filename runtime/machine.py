"""The machine: one deterministic model of the devices, driven alike by the live session and by the replayer.

It takes a call with decoded arguments, the thread and the present time, and answers with a result or a :class:`Wait`.
It never blocks, sleeps, reads a clock, touches a file or starts a thread; see docs/architecture.md for how it is driven
and for what a step is. ``now`` may be any monotonic clock in nanoseconds: with the clock setting ``virtual`` the driver
counts a fixed amount for each step instead, and nothing changes here.
"""

from collections.abc import Callable, Sequence
from typing import Any, Final

from cannery.runtime import calls
from cannery.runtime.errors import Held, Message, Refused, no_context
from cannery.runtime.handles import handle_of
from cannery.runtime.objects import Context, Device, Event, Stream, Thread
from cannery.runtime.ports import HostPort
from cannery.runtime.schedule import FAR, make_schedule
from cannery.runtime.settings import Settings
from cannery.runtime.tasks import Task

__all__ = ["FAR", "Machine", "Refused", "Wait"]

Reply = Any  # int | bytes | None, a tuple of a return value and outputs, or a Wait
Handler = Callable[..., Reply]

_MILLISECOND: Final = 1_000_000


class Wait:
    """A call that has to wait for something outside the device. ``reply`` is None until the wait ended.

    ``targets`` are what it waits for; then ``resume`` gives the reply. ``deadline`` (monotonic ns) limits it, and
    ``expired`` is the refusal that its end by the limit means.
    """

    __slots__ = ("deadline", "expired", "function", "reply", "resume", "targets", "thread")

    def __init__(
        self,
        thread: Thread,
        function: str,
        targets: Sequence[Task],
        resume: Callable[[], Reply],
        deadline: int | None = None,
        expired: Refused | None = None,
    ) -> None:
        self.thread = thread.ordinal
        self.function = function
        self.targets = targets
        self.resume = resume
        self.deadline = deadline
        self.expired = expired
        self.reply: Reply = None


class Machine:
    """See the module's text. ``now`` is the time of the present step, ``due`` when the pacer has to make one."""

    def __init__(self, settings: Settings, port: HostPort) -> None:
        self.settings = settings
        self.port = port
        self.now = 0
        self.skip = 0
        self.due = FAR
        self.locked = False
        self.ordinal = 0
        self.threads: dict[int, Thread] = {}
        self.contexts: dict[int, Context] = {}
        self.streams: dict[int, Stream] = {}
        self.events: dict[int, Event] = {}
        self.waits: list[Wait] = []
        self.devices = [Device(index, index) for index in range(settings.devices)]
        self.default_device: Device | None = None
        self.no_device_reason = ""
        self.event_cost = 1_000
        self.schedule = make_schedule(settings.schedule, self)
        self.handlers: list[Handler | None] = calls.bind(self)

    # How the machine is driven.

    def begin(self, now: int) -> None:
        """Begin a step at monotonic time ``now`` (ns): run what became due."""
        self.now = now
        if now >= self.due:
            self.schedule.advance()

    def pace(self) -> None:
        """A step of the pacer: nothing but what :meth:`begin` and :meth:`take_ended` do."""

    def expire(self, wait: Wait) -> None:
        """The limit of a wait passed. It is then in :meth:`take_ended`, unless this very step ended it otherwise."""
        self._settle(wait)
        if wait.reply is None:
            assert wait.expired is not None
            wait.reply = self.refuse(self.thread(wait.thread), wait.function, wait.expired)

    def take_ended(self) -> list[Wait]:
        """End the present step; the waits that ended in it, in order. With ``waits`` empty there is nothing to take."""
        ended: list[Wait] = []
        while True:
            before = len(ended)
            for wait in list(self.waits):
                self._settle(wait)
                if wait.reply is not None:
                    self.waits.remove(wait)
                    ended.append(wait)
            if len(ended) == before:
                return ended

    def _settle(self, wait: Wait) -> None:
        if wait.reply is None and self.schedule.finish(wait.targets):
            wait.reply = self.answer(self.thread(wait.thread), wait.function, wait.resume)

    def thread(self, ordinal: int) -> Thread:
        """The thread with that ordinal, which handlers take as their first argument."""
        thread = self.threads.get(ordinal)
        if thread is None:
            thread = self.threads[ordinal] = Thread(ordinal)
        return thread

    def end_thread(self, ordinal: int) -> None:
        """Forget a thread."""
        self.threads.pop(ordinal, None)

    # What handlers use.

    def answer(self, thread: Thread, function: str, call: Callable[[], Reply]) -> Reply:
        """The reply of ``call``; a refusal becomes its number, the thread's last error and a message."""
        try:
            return call()
        except Refused as refused:
            return self.refuse(thread, function, refused)

    def refuse(self, thread: Thread, function: str, refused: Refused) -> int:
        """Note a refusal; its number."""
        thread.messages.append(Message(function, refused.number, refused.text, refused.values))
        if refused.remembered:
            thread.last_error = refused.number
        return refused.number

    def wait(
        self,
        thread: Thread,
        function: str,
        targets: Sequence[Task],
        resume: Callable[[], Reply],
        limit: int = -1,
        expired: Refused | None = None,
    ) -> Reply:
        """The reply of a call that waits for ``targets`` for at most ``limit`` milliseconds (-1: no limit).

        ``resume`` gives the reply when they are done: now, if nothing outside the device can hold them up.
        """
        if self.schedule.finish(targets):
            return resume()
        deadline = None if limit < 0 else self.now + limit * _MILLISECOND
        wait = Wait(thread, function, targets, resume, deadline, expired)
        self.waits.append(wait)
        return wait

    def new_handle(self) -> int:
        """The handle of the next object."""
        self.ordinal += 1
        return handle_of(self.ordinal)

    def context_of(self, thread: Thread) -> Context:
        """The thread's current context.

        Raises:
            Refused: 107002, there is none (semantics.md 0.3).
        """
        context = thread.context
        if context is None:
            raise no_context()
        return context

    def hold(self) -> None:
        """Part of each call that waits while a snapshot lock is held, between its acl and its runtime checks."""
        if self.locked:
            raise Held

    def fail(self, stream: Stream, number: int) -> None:
        """A task of the stream failed (semantics.md 5)."""
        if not stream.error:
            stream.error = number
