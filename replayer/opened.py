"""What calls that did not end at once are doing, and what the present step brought about.

A call that began with an Enter record waits, has a function of the program run, or has ended and its Exit record is
yet to come. Every step may bring about outcomes: a function to run, the end of a call. In the trace they stand behind
the step's record, in the order in which the machine gives them.
"""

from collections import deque
from collections.abc import Iterator
from typing import Any

from cannery.recorder.records import Enter
from cannery.runtime.invoke import Errand, Invoke
from cannery.runtime.machine import Wait


class OpenCall:
    """A call between its Enter and its Exit. ``pending`` is the Wait or the Invoke that it is in, None once it ended
    with ``reply``. ``signatures`` are those of the functions that it has running, innermost last, as recorded."""

    __slots__ = ("enter", "pending", "reply", "signatures")

    def __init__(self, enter: Enter) -> None:
        self.enter = enter
        self.pending: Wait | Invoke | None = None
        self.reply: Any = None
        self.signatures: list[str] = []

    @property
    def ended(self) -> bool:
        return self.pending is None


class Outcome:
    """``call`` ended or has a function run; or, with ``errand``, a worker has."""

    __slots__ = ("call", "errand", "invoke")

    def __init__(self, call: OpenCall | None, invoke: Invoke | None, errand: Errand | None = None) -> None:
        self.call = call
        self.invoke = invoke
        self.errand = errand


class OpenCalls:
    """The open calls of every thread, innermost last, and the ``outcomes`` that the trace has yet to show."""

    def __init__(self) -> None:
        self.outcomes: deque[Outcome] = deque()
        self._threads: dict[int, list[OpenCall]] = {}

    def open(self, enter: Enter) -> OpenCall:
        return self.add(OpenCall(enter))

    def add(self, call: OpenCall) -> OpenCall:
        self._threads.setdefault(call.enter.thread, []).append(call)
        return call

    def __iter__(self) -> Iterator[OpenCall]:
        """By thread, outermost first."""
        for calls in self._threads.values():
            yield from calls

    def close(self, call: OpenCall) -> None:
        calls = self._threads.get(call.enter.thread, [])
        if call in calls:
            calls.remove(call)

    def find(self, thread: int, number: int) -> OpenCall | None:
        """The open call with that number."""
        return next((call for call in self._threads.get(thread, ()) if call.enter.number == number), None)

    def waiting(self, thread: int) -> OpenCall | None:
        """The innermost open call of a thread, if it waits."""
        calls = self._threads.get(thread)
        return calls[-1] if calls and isinstance(calls[-1].pending, Wait) else None

    def of(self, wait: Wait) -> OpenCall | None:
        """The call that is in this wait; None for one that the trace does not know to wait."""
        return next((call for call in self._threads.get(wait.thread, ()) if call.pending is wait), None)

    def reply(self, call: OpenCall, reply: Any) -> None:
        """The machine answered for a call: with its end, or with what it does next."""
        if isinstance(reply, Wait):
            call.pending = reply
        elif isinstance(reply, Invoke):
            call.pending = reply
            self.outcomes.append(Outcome(call, reply))
        else:
            call.pending = None
            call.reply = reply
            self.outcomes.append(Outcome(call, None))
