"""Executes a recorded stream on a fresh machine, in the recorded order, and compares every result.

The steps are those of docs/architecture.md, "How a driver drives the machine": the live session and this module drive
the same machine in the same way. Time comes from the records, the content of host memory from the effects.

The loop is built for millions of calls: one closure per function decodes, calls and compares, remembers decoded
arguments, and leaves everything else to :class:`Comparison` when the comparison of whole tuples fails.
"""

import struct
from collections import deque
from collections.abc import Callable, Iterable
from typing import TYPE_CHECKING, Any, Final

from cannery.recorder.addresses import AddressBook
from cannery.recorder.codec import TokensAgain, Wire, WireError
from cannery.recorder.forms import function_form
from cannery.recorder.records import (
    Call,
    Enter,
    Errand,
    Exit,
    Expire,
    Invoke,
    Note,
    Pace,
    Payload,
    Record,
    Returned,
    Signal,
    ThreadEnd,
)
from cannery.recorder.schema import Schema
from cannery.recorder.stream import SKIPPED_TOPIC
from cannery.replayer.compare import FUNCTION, Comparison, Incomplete, Stop
from cannery.replayer.identity import IdentityWire
from cannery.replayer.opened import OpenCall, OpenCalls, Outcome
from cannery.replayer.port import ReplayPort
from cannery.replayer.report import RETURNS
from cannery.replayer.stores import Budget, OutOfMemory
from cannery.replayer.unfinished import Unfinished
from cannery.runtime import invoke
from cannery.runtime.api import MODEL
from cannery.runtime.machine import Machine, Wait
from cannery.runtime.settings import Settings
from cannery.runtime.state import StateError
from cannery.runtime.version import VERSION

if TYPE_CHECKING:
    from cannery.runtime.models.load import Models

__all__ = ["ENDS", "IMPOSSIBLE", "Incomplete", "Replay", "ReplayError", "Stop"]

IMPOSSIBLE: Final = (
    *(TypeError, ValueError, AttributeError, LookupError, ArithmeticError, MemoryError),
    *(AssertionError, RuntimeError, BufferError, StopIteration, StateError, SystemError, struct.error),
)
"""What the machine raises for values of the right form that no program can pass, as in an altered trace, and in a state
that no machine can have, as in an altered keyframe."""
ENDS: Final = (WireError, Incomplete, OutOfMemory, *IMPOSSIBLE)
"""What ends a replay before the trace does, besides damage; :meth:`Replay.why` says it in words."""
_REMEMBERED: Final = 4096  # decoded argument lists per function
_OTHER_VERSION: Final = "; replay with the version that recorded"
_END: Final = "end of the wait"


class ReplayError(Exception):
    """The trace cannot be replayed by this version; the text says why and what to do."""


class Replay:
    """The replay of one process's stream.

    ``schema``, ``base``, ``span`` and ``start`` are the recording's; ``content`` finds the bytes of a payload;
    ``first_ordinal`` is where a forked process goes on numbering its objects.
    ``calls`` counts the calls so far, those before it began included (``keyframe.py``). ``open_calls`` and ``errands``
    (worker -> signature of what it runs, as recorded) are what has not ended.
    ``what_if`` replays under ``settings`` that are not the recorded ones: objects are then matched by identity
    instead of by number, and results differ without ending the replay. ``models``: kernel models to run again.
    ``memory``: see :class:`ReplayPort`. ``redacted``: strings of the trace stand for others of their length.
    ``recorded``: the version of Cannery that recorded, whose rules count.
    """

    def __init__(
        self,
        settings: Settings,
        schema: Schema,
        base: int,
        span: int,
        start: int,
        content: Callable[[Payload], bytes | None],
        *,
        first_ordinal: int = 0,
        what_if: bool = False,
        keep_going: bool = False,
        memory: "int | Budget | None" = None,
        redacted: bool = False,
        recorded: str = VERSION,
        models: "Models | None" = None,
    ) -> None:
        self.schema = schema
        self.calls = 0
        self.supported_now: dict[str, int] = {}
        book = self.book = AddressBook(base, span)
        self._wire: Wire = IdentityWire(book, base) if what_if else Wire(book, TokensAgain())
        self.compared = Comparison(schema, self._wire, what_if or keep_going, redacted)
        self._exact = not what_if
        self._place = book.place
        self.port = ReplayPort(base, span, content, book.region, exact=not what_if, memory=memory, models=models)
        self.machine = Machine(settings, self.port, recorded)
        self.machine.ordinal = first_ordinal
        self.start = start
        self._steps: dict[str, Callable[[Call], None]] = {}
        self.open_calls = OpenCalls()
        self.unfinished = Unfinished()
        self.errands: dict[int, str] = {}
        self.in_flight: list[Enter | Invoke] = []
        self._early: dict[int, deque[int]] = {}  # worker -> what functions returned that it has yet to be asked for

    def run(self, records: Iterable[Record]) -> None:
        """Replay records from the beginning of the stream, as far as they go.

        Raises:
            Stop: at the first difference, unless told to go on.
            ReplayError: a record that this version cannot execute.
            WireError: a record whose values do not have their forms.
            Incomplete: what follows depends on calls or bytes that the trace does not have.
            OutOfMemory, or one of IMPOSSIBLE: the machine cannot execute it.
        """
        steps = self._steps
        outcomes = self.open_calls.outcomes
        others: dict[type, Callable[[Any], None]] = {Enter: self._enter, Pace: self._pace, Expire: self._expire}
        others |= {Signal: self._signal, Returned: self._returned, Errand: self._errand, ThreadEnd: self._thread_end}
        results: dict[type, Callable[[Any], None]] = {Exit: self._exit, Invoke: self._invoke, Note: self._note}
        for record in records:
            if isinstance(record, Call):
                if outcomes:
                    self._missing(record)
                step = steps.get(record.function)
                if step is None:
                    step = steps[record.function] = self._stepper(record.function)
                step(record)
                continue
            self.unfinished.note(record)
            if type(record) in results:
                results[type(record)](record)
            else:
                if outcomes:
                    self._missing(record)
                others[type(record)](record)

    def finish(self, finished: bool) -> None:
        """The stream has no more records: ``in_flight`` are the calls, and the functions of the program, that had not
        ended.

        ``finished``: the process ended by itself, so that an end of a wait that is not in the trace is a difference.
        Otherwise the process may have died between two records.
        """
        if finished and self.open_calls.outcomes:
            self._missing(None)
        for worker, values in self._early.items():
            for _ in values:
                self.compared.differ(None, FUNCTION, f"worker {worker} runs one", "it runs none")
        self.in_flight = [*self.unfinished.records()]

    def why(self, error: BaseException) -> str:
        """Why the replay cannot go on, after one of :data:`ENDS`."""
        if isinstance(error, Incomplete):
            return str(error)
        if isinstance(error, WireError | OutOfMemory):
            return f"call #{self.calls}: {error}"
        text = str(error) or ("it needs too much memory" if isinstance(error, MemoryError) else type(error).__name__)
        text = f"call #{self.calls}: the machine cannot execute it ({text})"
        return text + ("; it may follow from bytes that the trace does not have" if self.port.unknown_bytes else "")

    @property
    def exact(self) -> bool:
        """Whether the machine is in the state that the recorded one was in, as far as anybody knows."""
        return self._exact and not self.compared.count

    # Calls

    def _handler(self, name: str, number: int, supported: bool) -> Callable[..., Any] | None:
        """The machine's handler for a function, after a check that it still has the recorded parameters. Those of a
        function that was not implemented then say nothing; its calls stay unsupported."""
        if name not in MODEL:
            raise ReplayError(f"{name} is no function that this version knows{_OTHER_VERSION}")
        function = MODEL[name]
        handler = self.machine.handlers[function.index]
        form, known = self.schema[name], function_form(function)
        if handler is not None and known.wire != form.wire:
            if supported:
                raise ReplayError(f"{name} was recorded with other parameters than this version has{_OTHER_VERSION}")
            return None
        if handler is None and supported:
            raise ReplayError(f"call #{number}: this version has no {name}{_OTHER_VERSION}")
        return handler

    def _stepper(self, name: str) -> Callable[[Call], None]:
        """The function that replays calls of ``name``."""
        handler: Any = self._handler(name, self.calls, False)
        codec = self.compared.codec(name)
        decode_ins, decode_outs, blank = codec.decode_ins, codec.decode_outs, codec.blank
        machine, port = self.machine, self.port
        threads, waits, errands, discarded = machine.threads, machine.waits, machine.errands, machine.discarded
        start: int = self.start
        arguments: dict[tuple[Any, ...], tuple[Any, ...]] = {}
        results: dict[tuple[Any, ...], tuple[Any, ...]] = {}
        remember = self._exact

        def decoded(
            table: dict[tuple[Any, ...], tuple[Any, ...]],
            decode: Callable[[tuple[Any, ...]], tuple[Any, ...]],
            values: tuple[Any, ...],
        ) -> tuple[Any, ...]:
            found = decode(values)
            if remember and len(table) < _REMEMBERED:
                table[values] = found
            return found

        def step(record: Call) -> None:
            _, ordinal, time, _, ret, ins, outs, effects, supported = record
            if not supported or handler is None:
                return self._unsupported(record)
            try:
                args = arguments.get(ins) or decoded(arguments, decode_ins, ins)
            except TypeError:  # a map stands where there can be none
                decode_ins(ins)
                raise
            if effects:
                port.begin(effects)
            machine.begin(start + time)
            reply = handler(threads.get(ordinal) or machine.thread(ordinal), *args)
            self.calls += 1
            if outs == blank:
                same = reply == ret
            elif remember:
                same = reply == (ret, *(results.get(outs) or decoded(results, decode_outs, outs)))
            else:
                same = False
            if waits or errands or discarded:
                self._settle()  # part of the step: the end of a wait may move bytes
            if not same:
                self._result(record, reply)
            if effects or port.differences:
                self.compared.effects(record, port)
            return None

        return step

    def _result(self, record: Call, reply: Any) -> None:
        """Compare the reply of a call that ended at once in the trace."""
        if not self._exact and isinstance(reply, Wait) and reply.reply is not None:
            reply = reply.reply  # it waited for a function that has returned in the trace
        if not isinstance(reply, Wait | invoke.Invoke):
            self.compared.result(record, reply)
            return
        if isinstance(reply, Wait):
            actual = "the call waits"
            if self._exact and reply in self.machine.waits:
                self.machine.waits.remove(reply)
        else:
            actual = "it has a function of the program run"
            self._pretend(record.thread, reply)
        returned = self.compared.printer.result(record.function, record.ret)
        self.compared.differ(record, "wait", f"it returns {returned}", actual)

    def _pretend(self, thread: int, reply: Any) -> None:
        """A call has its thread run functions that the trace does not have: as if they returned 0."""
        while isinstance(reply, invoke.Invoke):
            reply = self.machine.returned(self.machine.thread(thread), 0)

    def _unsupported(self, record: Call) -> None:
        """A call that was recorded as unsupported, or whose function has no implementation here."""
        self._handler(record.function, record.number, record.supported)
        self.port.begin(record.effects)
        self.machine.begin(self.start + record.time)
        self._settle()
        self.calls += 1
        answer = MODEL[record.function].result.unsupported
        if self.compared.codec(record.function).decode_result(record.ret) not in (answer, answer or 0):
            shown = self.compared.printer.result(record.function, record.ret)
            self.compared.differ(record, RETURNS, shown, str(answer))
        if self.machine.handlers[MODEL[record.function].index] is not None:
            self.supported_now[record.function] = self.supported_now.get(record.function, 0) + 1
        self.compared.effects(record, self.port)

    # Calls that do not end at once

    def _enter(self, record: Enter) -> None:
        handler = self._handler(record.function, record.number, True)
        assert handler is not None
        args = self.compared.codec(record.function).decode_ins(record.ins)
        self.port.begin(record.effects)
        self.machine.begin(self.start + record.time)
        reply = handler(self.machine.thread(record.thread), *args)
        self.calls += 1
        call = self.open_calls.open(record)
        if not isinstance(reply, Wait | invoke.Invoke):
            call.reply = reply
            if self._exact:
                shown = self.compared.shown(record.function, reply)
                self.compared.differ(record, "wait", "the call waits", f"it returns at once: {shown}")
        else:
            self.open_calls.reply(call, reply)
        self._settle()
        self.compared.effects(record, self.port)

    def _exit(self, record: Exit) -> None:
        call = self.open_calls.find(record.thread, record.number)
        if call is None:
            self.compared.differ(record, _END, "the end of a wait", "no such call is waiting")
            return
        self.open_calls.close(call)
        if not call.ended:
            self.compared.differ(record, _END, "the wait ends here", "the call still waits")
            if self._exact and call.pending in self.machine.waits:
                self.machine.waits.remove(call.pending)
            return
        self._in_order(record, call)
        self.compared.result(record, call.reply)

    def _invoke(self, record: Invoke) -> None:
        if record.number is None:
            self.errands[record.worker] = record.signature
            first = next((each for each in self.open_calls.outcomes if each.errand is not None), None)
            errand = None if first is None else first.errand
            if not self._exact and errand is None:
                return  # asked for at another time
            if errand is None or errand.worker != record.worker:
                self.compared.differ(record, FUNCTION, f"worker {record.worker} runs one", "it runs none")
                return
            self._in_order(record, None)
            self.compared.invoked(record, errand.invoke)
            return
        assert record.thread is not None
        call = self.open_calls.find(record.thread, record.number)
        if call is None or not isinstance(call.pending, invoke.Invoke):
            actual = "no such call is open" if call is None else "the call runs none"
            self.compared.differ(record, FUNCTION, "the call runs one", actual)
            return
        call.signatures.append(record.signature)
        self._in_order(record, call)
        self.compared.invoked(record, call.pending)

    def _in_order(self, record: Exit | Invoke, call: OpenCall | None) -> None:
        """Take the outcome that the record shows, which has to be the first that was not shown yet."""
        outcomes = self.open_calls.outcomes
        for place, outcome in enumerate(outcomes):
            if outcome.call is call and (call is not None or outcome.errand is not None):
                del outcomes[place]
                if place and self._exact:
                    before = outcomes[0]
                    self.compared.differ(record, "order of ends", f"{_who(outcome)} first", f"{_who(before)} first")
                return

    # Other steps

    def _pace(self, record: Pace) -> None:
        self._step(record, self.machine.pace)

    def _signal(self, record: Signal) -> None:
        self._step(record, self.machine.signalled)

    def _expire(self, record: Expire) -> None:
        call = self.open_calls.waiting(record.thread)
        wait = None if call is None else call.pending

        def expire() -> None:
            if not isinstance(wait, Wait) or wait not in self.machine.waits:
                if self._exact:
                    actual = "no such call is waiting"
                    self.compared.differ(record, "limit of a wait", "a call whose limit passes", actual)
            elif wait.deadline is None:
                actual = "it waits without a limit"
                self.compared.differ(record, "limit of a wait", "a call whose limit passes", actual)
            else:
                self.machine.expire(wait)

        self._step(record, expire)

    def _returned(self, record: Returned) -> None:
        call = self.open_calls.find(record.thread, record.number)

        def returned() -> None:
            if call is None or not call.signatures or not isinstance(call.pending, invoke.Invoke):
                self.compared.differ(record, FUNCTION, "a function of the program returns", "the call runs none")
                return
            _, decode = self._wire.returned(call.signatures.pop())
            thread = self.machine.thread(record.thread)
            self.open_calls.reply(call, self.machine.returned(thread, decode(record.value)))

        self._step(record, returned)

    def _errand(self, record: Errand) -> None:
        def done() -> None:
            signature = self.errands.pop(record.worker, None)
            if signature is None:
                self.compared.differ(record, FUNCTION, f"worker {record.worker} has run one", "it runs none")
                return
            _, decode = self._wire.returned(signature)
            value = decode(record.value)
            if self._exact or self.machine.busy(record.worker):
                self.machine.errand_done(record.worker, value)
            else:
                self._early.setdefault(record.worker, deque()).append(value)

        self._step(record, done)

    def _step(self, record: Pace | Signal | Expire | Returned | Errand, act: Callable[[], None]) -> None:
        self.port.begin(record.effects)
        self.machine.begin(self.start + record.time)
        act()
        self._settle()
        self.compared.effects(record, self.port)

    def _thread_end(self, record: ThreadEnd) -> None:
        self.machine.end_thread(record.thread)

    def _note(self, record: Note) -> None:
        if record.topic == "region":
            region, address, _ = record.value
            self._place(region, address)
        elif record.topic == SKIPPED_TOPIC:
            last = self.calls + record.value - 1
            raise Incomplete(f"calls #{self.calls} to #{last} were not recorded, and what follows depends on them")

    # What a step brought about

    def _settle(self) -> None:
        """Take from the machine what the present step brought about, in its order."""
        machine = self.machine
        if machine.waits:
            for wait in machine.take_ended():
                call = self.open_calls.of(wait)
                if call is not None:
                    self.open_calls.reply(call, wait.reply)
                else:  # a what-if replay waits where the trace did not
                    self._pretend(wait.thread, wait.reply)
        machine.discarded.clear()
        if machine.errands or machine.dismissed:
            errands = machine.take_errands()
            for errand in errands:
                self.open_calls.outcomes.append(Outcome(None, None, errand))
            machine.take_dismissed()
            if self._early:
                self._catch_up(errands)

    def _catch_up(self, errands: list[invoke.Errand]) -> None:
        """A what-if replay asked for functions that have returned in the trace."""
        for errand in errands:
            values = self._early.get(errand.worker)
            if values:
                self.machine.errand_done(errand.worker, values.popleft())
                self._settle()

    def _missing(self, record: Record | None) -> None:
        """A step begins, or the stream ends, while there are outcomes that the trace does not show. A what-if replay
        compares the end of a wait when the trace gets there."""
        outcomes = self.open_calls.outcomes
        while outcomes:
            outcome = outcomes.popleft()
            if not self._exact:
                continue
            call = outcome.call
            if call is None or outcome.invoke is not None:
                where = record if call is None else call.enter
                self.compared.differ(where, FUNCTION, "none is run", f"{_who(outcome)} runs one")
                continue
            self.open_calls.close(call)
            shown = self.compared.shown(call.enter.function, call.reply)
            self.compared.differ(call.enter, _END, "the call still waits", f"its wait ended: {shown}")


def _who(outcome: Outcome) -> str:
    if outcome.call is None:
        return "a worker" if outcome.errand is None else f"worker {outcome.errand.worker}"
    return f"thread {outcome.call.enter.thread}"
