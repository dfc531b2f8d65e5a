"""Executes a recorded stream on a fresh machine, in the recorded order, and compares every result.

The steps are those of docs/architecture.md, "How a driver drives the machine": the live session and this module drive
the same machine in the same way. Time comes from the records, the content of host memory from the effects.

The loop is built for millions of calls: one closure per function decodes, calls and compares, remembers decoded
arguments, and leaves everything else to :meth:`Replay._compare` when the comparison of whole tuples fails.
"""

import math
from collections import deque
from collections.abc import Callable, Iterable
from typing import Any, Final

from cannery.recorder.addresses import AddressBook
from cannery.recorder.codec import FunctionCodec, Wire
from cannery.recorder.forms import function_form
from cannery.recorder.records import Call, Enter, Exit, Expire, Note, Pace, Payload, Record, ThreadEnd
from cannery.recorder.schema import Schema
from cannery.replayer.identity import IdentityWire
from cannery.replayer.port import ReplayPort
from cannery.replayer.printer import Printer
from cannery.replayer.report import RETURNS, Difference, involved
from cannery.runtime.api import MODEL
from cannery.runtime.machine import Machine, Wait
from cannery.runtime.settings import Settings

_REMEMBERED: Final = 4096  # decoded argument lists per function
_OTHER_VERSION: Final = "; replay with the version that recorded"
LISTED: Final = 100  # differences that are kept; more are counted


class ReplayError(Exception):
    """The trace cannot be replayed by this version; the text says why and what to do."""


class Stop(Exception):  # noqa: N818 - an answer, not an error
    """The first difference ended the replay."""


class Replay:
    """The replay of one process's stream.

    ``schema``, ``base``, ``span`` and ``start`` are the recording's; ``content`` finds the bytes of a payload;
    ``first_ordinal`` is where a forked process goes on numbering its objects.
    ``what_if`` replays under ``settings`` that are not the recorded ones: objects are then matched by identity
    instead of by number, and results differ without ending the replay.
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
    ) -> None:
        self.schema = schema
        self.calls = 0
        self.count = 0
        self.differences: list[Difference] = []
        self.supported_now: dict[str, int] = {}
        self.printer = Printer(schema)
        book = AddressBook(base, span)
        self._wire: Wire = IdentityWire(book, base) if what_if else Wire(book)
        self._identity = self._wire if isinstance(self._wire, IdentityWire) else None
        self._place = book.place
        self.port = ReplayPort(base, span, content, book.region, exact=not what_if)
        self.machine = Machine(settings, self.port)
        self.machine.ordinal = first_ordinal
        self._start = start
        self._go_on = what_if or keep_going
        self._steps: dict[str, Callable[[Call], None]] = {}
        self._codecs: dict[str, FunctionCodec] = {}
        self._waiting: dict[int, tuple[Enter, Wait | None]] = {}  # by thread; None: the machine did not wait
        self._early: dict[int, Any] = {}  # call number -> reply of a call that did not wait here
        self._ended: deque[Wait] = deque()
        self._lost: set[int] = set()  # threads whose wait here is none in the trace

    def run(self, records: Iterable[Record]) -> None:
        """Replay records from the beginning of the stream, as far as they go.

        Raises:
            Stop: at the first difference, unless told to go on.
            ReplayError: a record that this version cannot execute.
        """
        steps = self._steps
        ended = self._ended
        others: dict[type, Callable[[Any], None]] = {
            Enter: self._enter,
            Exit: self._exit,
            Pace: self._pace,
            Expire: self._expire,
            ThreadEnd: self._thread_end,
            Note: self._note,
        }
        for record in records:
            if isinstance(record, Call):
                if ended:
                    self._missing_exits(record)
                step = steps.get(record.function)
                if step is None:
                    step = steps[record.function] = self._stepper(record.function)
                step(record)
            else:
                others[type(record)](record)

    def finish(self, finished: bool) -> list[Enter]:
        """The stream has no more records. Return the calls that still wait.

        ``finished``: the process ended by itself, so that an end of a wait that is not in the trace is a difference.
        Otherwise the process may have died between two records.
        """
        if finished and self._ended:
            self._missing_exits(None)
        return [enter for enter, _ in self._waiting.values()]

    # Calls

    def _codec(self, name: str) -> FunctionCodec:
        codec = self._codecs.get(name)
        if codec is None:
            codec = self._codecs[name] = self._wire.function(self.schema[name])
        return codec

    def _handler(self, name: str) -> Callable[..., Any] | None:
        """The machine's handler for a function, after a check that it still has the recorded parameters."""
        if name not in MODEL:
            raise ReplayError(f"{name} is no function that this version knows{_OTHER_VERSION}")
        function = MODEL[name]
        mine, recorded = function_form(function), self.schema[name]
        if mine._replace(number=0) != recorded._replace(number=0) and self.machine.handlers[function.index] is not None:
            raise ReplayError(f"{name} was recorded with other parameters than this version has{_OTHER_VERSION}")
        return self.machine.handlers[function.index]

    def _stepper(self, name: str) -> Callable[[Call], None]:
        """The function that replays calls of ``name``."""
        handler = self._handler(name)
        codec = self._codec(name)
        decode_ins, decode_outs, decode_result = codec.decode_ins, codec.decode_outs, codec.decode_result
        blank = codec.blank
        machine, port = self.machine, self.port
        begin, threads, new_thread = machine.begin, machine.threads, machine.thread
        start = self._start
        arguments: dict[tuple[Any, ...], tuple[Any, ...]] = {}
        results: dict[tuple[Any, ...], tuple[Any, ...]] = {}
        remember = self._identity is None

        def step(record: Call) -> None:
            _, ordinal, time, _, ret, ins, outs, effects, supported = record
            if not supported or handler is None:
                return self._unsupported(record, handler)
            try:
                args = arguments.get(ins)
            except TypeError:  # a map stands where there can be none
                decode_ins(ins)
                raise
            if args is None:
                args = decode_ins(ins)
                if remember and len(arguments) < _REMEMBERED:
                    arguments[ins] = args
            if effects:
                port.begin(effects)
            begin(start + time)
            reply = handler(threads.get(ordinal) or new_thread(ordinal), *args)
            self.calls += 1
            if outs == blank:
                same = reply == ret
            else:
                try:
                    expected = results.get(outs)
                except TypeError:
                    decode_outs(outs)
                    raise
                if expected is None:
                    expected = decode_outs(outs) if remember else outs
                    if len(results) < _REMEMBERED:
                        results[outs] = expected
                same = reply == (ret, *expected)
            if machine.waits:
                self._ended.extend(machine.take_ended())  # part of the step: the end of a wait may move bytes
            if not same:
                self._compare(record, record.ret, outs, reply, decode_result)
            if effects or port.differences:
                self._effects(record)
            return None

        return step

    def _unsupported(self, record: Call, handler: Callable[..., Any] | None) -> None:
        """A call that was recorded as unsupported, or whose function has no implementation here."""
        if record.supported:
            raise ReplayError(f"call #{record.number}: this version has no {record.function}{_OTHER_VERSION}")
        self.port.begin(record.effects)
        self.machine.begin(self._start + record.time)
        self._settle()
        self.calls += 1
        answer = MODEL[record.function].result.unsupported
        if self._codec(record.function).decode_result(record.ret) not in (answer, answer or 0):
            self._differ(record, RETURNS, self.printer.result(record.function, record.ret), str(answer))
        if handler is not None:
            self.supported_now[record.function] = self.supported_now.get(record.function, 0) + 1
        self._effects(record)

    def _enter(self, record: Enter) -> None:
        if self._ended:
            self._missing_exits(record)
        handler = self._handler(record.function)
        if handler is None:
            raise ReplayError(f"call #{record.number}: this version has no {record.function}{_OTHER_VERSION}")
        machine = self.machine
        args = self._codec(record.function).decode_ins(record.ins)
        self.port.begin(record.effects)
        machine.begin(self._start + record.time)
        reply = handler(machine.thread(record.thread), *args)
        self._settle()
        self.calls += 1
        wait = reply if isinstance(reply, Wait) else None
        self._waiting[record.thread] = record, wait
        if wait is None:
            self._early[record.number] = reply
            if self._identity is None:
                shown = self._shown_reply(record.function, reply)
                self._differ(record, "wait", "the call waits", f"it returns at once: {shown}")
        self._effects(record)

    def _exit(self, record: Exit) -> None:
        enter, wait = self._waiting.pop(record.thread, (None, None))
        if enter is None or enter.number != record.number:
            self._differ(record, "end of the wait", "the end of a wait", "no such call is waiting")
            return
        if wait is None:
            self._compare_reply(record, self._early.pop(record.number))
            return
        if wait not in self._ended and wait.reply is None:
            self._waiting[record.thread] = enter, wait
            self._differ(record, "end of the wait", "the wait ends here", "the call still waits")
            self._waiting.pop(record.thread)
            if wait in self.machine.waits:
                self.machine.waits.remove(wait)
            return
        if wait in self._ended:
            if self._ended[0] is not wait and self._identity is None:
                first = self._ended[0].thread
                self._differ(record, "order of ends", f"thread {record.thread} first", f"thread {first} first")
            self._ended.remove(wait)
        self._compare_reply(record, wait.reply)

    # Other steps

    def _pace(self, record: Pace) -> None:
        if self._ended:
            self._missing_exits(record)
        self.port.begin(record.effects)
        self.machine.begin(self._start + record.time)
        self.machine.pace()
        self._settle()
        self._effects(record)

    def _expire(self, record: Expire) -> None:
        if self._ended:
            self._missing_exits(record)
        self.port.begin(record.effects)
        self.machine.begin(self._start + record.time)
        wait = self._waiting.get(record.thread, (None, None))[1]
        if wait is None or wait not in self.machine.waits:
            if self._identity is None:
                self._differ(record, "limit of a wait", "a call whose limit passes", "no such call is waiting")
        elif wait.deadline is None:
            self._differ(record, "limit of a wait", "a call whose limit passes", "it waits without a limit")
        else:
            self.machine.expire(wait)
        self._settle()
        self._effects(record)

    def _thread_end(self, record: ThreadEnd) -> None:
        if self._ended:
            self._missing_exits(record)
        self.machine.end_thread(record.thread)

    def _note(self, record: Note) -> None:
        if record.topic == "region":
            region, address, _ = record.value
            self._place(region, address)

    def _settle(self) -> None:
        if self.machine.waits:
            self._ended.extend(self.machine.take_ended())

    def _missing_exits(self, record: Record | None) -> None:
        """A step begins, or the stream ends, while waits that ended have no record of it."""
        while self._ended:
            wait = self._ended.popleft()
            if wait.thread in self._lost:
                self._lost.discard(wait.thread)
                continue
            if self._identity is not None:
                continue  # _exit takes the reply when the trace gets there
            enter, _ = self._waiting.pop(wait.thread, (None, None))
            reply = self._shown_reply(wait.function, wait.reply)
            where = enter or record
            self._differ(where, "end of the wait", "the call still waits", f"its wait ended: {reply}")

    # Comparison

    def _compare(
        self, record: Call | Exit, ret: Any, outs: tuple[Any, ...], reply: Any, decode_result: Callable[[Any], Any]
    ) -> None:
        """Find what differs between a recorded result and a reply; nothing may, when only the shapes did."""
        if isinstance(reply, Wait):
            assert isinstance(record, Call)
            self._differ(record, "wait", f"it returns {self.printer.result(record.function, ret)}", "the call waits")
            if reply in self.machine.waits and self._identity is None:
                self.machine.waits.remove(reply)
            else:
                self._lost.add(reply.thread)
            return
        codec = self._codec(record.function)
        actual, *results = reply if isinstance(reply, tuple) else (reply, *codec.blank)
        if not _equal(decode_result(ret), actual):
            self._differ(record, RETURNS, self._result(record, ret), self._result(record, self._wired(codec, reply)[0]))
        expected = outs if self._identity is not None else codec.decode_outs(outs)
        for index, (want, got) in enumerate(zip(expected, results, strict=True)):
            if not self._equal_output(codec, index, want, got):
                name, text = self.printer.output(record.function, index, outs[index])
                shown = self.printer.output(record.function, index, self._wired(codec, reply)[1 + index])[1]
                self._differ(record, f"output {name}", text, shown, self._wired(codec, reply)[1 + index])

    def _compare_reply(self, record: Exit, reply: Any) -> None:
        decode = self._codec(record.function).decode_result
        self._compare(record, record.ret, record.outs, reply, decode)

    def _equal_output(self, codec: FunctionCodec, index: int, want: Any, got: Any) -> bool:
        if self._identity is None or want is None or got is None:
            return _equal(want, got)
        form = codec.form.outputs[index].out
        if form == "handle":
            return self._identity.same_handle(want, got)
        if form == "address":
            return self._identity.same_address(want, got)
        return _equal(codec.decode_outs((None,) * index + (want,) + codec.blank[index + 1 :])[index], got)

    def _effects(self, record: Record) -> None:
        """Note the effects that are not as recorded, and end the step."""
        port = self.port
        port.end()
        if not port.differences:
            return
        found, port.differences = port.differences, []
        if self._identity is None:
            for index, expected, actual in found:
                self._differ(record, f"effect {index}", expected, actual)

    def _wired(self, codec: FunctionCodec, reply: Any) -> list[Any]:
        """A reply as it would stand in a trace."""
        return codec.encode_reply(reply)

    def _result(self, record: Call | Exit, ret: Any) -> str:
        return self.printer.result(record.function, ret)

    def _shown_reply(self, function: str, reply: Any) -> str:
        ret, *outs = self._wired(self._codec(function), reply)
        return f"{self.printer.result(function, ret)}{self.printer.outputs(function, tuple(outs))}"

    def _differ(self, record: Record | None, what: str, expected: str, actual: str, *also: Any) -> None:
        """Keep a difference. Raises Stop unless told to go on."""
        self.count += 1
        if len(self.differences) < LISTED:
            handles, addresses = ((), ()) if record is None else involved(self.schema, record)
            handles += tuple(value for value in also if isinstance(value, int))
            self.differences.append(
                Difference(
                    getattr(record, "number", None),
                    getattr(record, "thread", None),
                    getattr(record, "function", None),
                    record,
                    what,
                    expected,
                    actual,
                    handles,
                    addresses,
                )
            )
        if not self._go_on:
            raise Stop


def _equal(expected: Any, actual: Any) -> bool:
    if expected == actual:
        return True
    return isinstance(expected, float) and isinstance(actual, float) and math.isnan(expected) and math.isnan(actual)

