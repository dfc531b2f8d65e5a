"""Compares what the machine answers with what is recorded, and keeps the differences."""

import math
from typing import Any, Final

from cannery.recorder.codec import FunctionCodec, Wire
from cannery.recorder.records import Call, Exit, Invoke, Record
from cannery.recorder.schema import Schema
from cannery.replayer.identity import IdentityWire
from cannery.replayer.port import ReplayPort
from cannery.replayer.printer import Printer
from cannery.replayer.report import RETURNS, Difference, involved
from cannery.runtime import invoke

LISTED: Final = 100  # differences that are kept; more are counted
FUNCTION: Final = "function of the program"


class Stop(Exception):  # noqa: N818 - an answer, not an error
    """The first difference ended the replay."""


class Comparison:
    """The differences of one replay. ``exact``: objects are compared by number; else by identity."""

    def __init__(self, schema: Schema, wire: Wire, go_on: bool) -> None:
        self.count = 0
        self.differences: list[Difference] = []
        self.printer = Printer(schema)
        self.exact = not isinstance(wire, IdentityWire)
        self._schema = schema
        self._wire = wire
        self._identity = wire if isinstance(wire, IdentityWire) else None
        self._go_on = go_on
        self._codecs: dict[str, FunctionCodec] = {}

    def codec(self, name: str) -> FunctionCodec:
        """The codec of a function as it is in the trace."""
        codec = self._codecs.get(name)
        if codec is None:
            codec = self._codecs[name] = self._wire.function(self._schema[name])
        return codec

    def differ(self, record: Record | None, what: str, expected: str, actual: str, *also: Any) -> None:
        """Keep a difference. ``also`` are ordinals of objects that the record does not name. Raises Stop unless told
        to go on."""
        self.count += 1
        if len(self.differences) < LISTED:
            handles, addresses = ((), ()) if record is None else involved(self._schema, record)
            handles += tuple(value for value in also if isinstance(value, int))
            number, thread = getattr(record, "number", None), getattr(record, "thread", None)
            function = getattr(record, "function", None)
            self.differences.append(
                Difference(
                    number,
                    thread,
                    function if isinstance(function, str) else None,
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

    def result(self, record: Call | Exit, reply: Any) -> None:
        """Find what differs between a recorded result and a reply; nothing does when only their shapes do."""
        codec = self.codec(record.function)
        wired = codec.encode_reply(reply)
        actual, *results = reply if isinstance(reply, tuple) else (reply, *codec.blank)
        if not self._equal_result(codec, record.ret, actual):
            result = self.printer.result
            self.differ(record, RETURNS, result(record.function, record.ret), result(record.function, wired[0]))
        for index, got in enumerate(results):
            if not self._equal_output(codec, index, record.outs, got):
                name, expected = self.printer.output(record.function, index, record.outs[index])
                shown = self.printer.output(record.function, index, wired[1 + index])[1]
                self.differ(record, f"output {name}", expected, shown, wired[1 + index])

    def invoked(self, record: Invoke, actual: invoke.Invoke) -> None:
        """Compare a function of the program that the trace has run with the one that the machine asks for."""
        wired = self._wire.invoked(self._wire.tokens[actual.function], actual.signature, actual.arguments)[1:]
        same = self._wire.decoder("token")(record.function) == actual.function
        if not same or wired != [record.signature, *record.args]:
            shown = f"{actual.function:#x} {actual.signature} with {wired[1:]}"
            self.differ(record, FUNCTION, f"{record.function} {record.signature} with {[*record.args]}", shown)

    def effects(self, record: Record, port: ReplayPort) -> None:
        """End a step: note the effects that are not as recorded. A what-if replay may have other ones."""
        port.end()
        if port.differences:
            found, port.differences = port.differences, []
            for place, expected, actual in found if self.exact else ():
                self.differ(record, f"effect {place}", expected, actual)

    def shown(self, function: str, reply: Any) -> str:
        """A reply as text."""
        ret, *outs = self.codec(function).encode_reply(reply)
        return f"{self.printer.result(function, ret)}{self.printer.outputs(function, tuple(outs))}"

    def _equal_result(self, codec: FunctionCodec, want: Any, got: Any) -> bool:
        if self._identity is not None and codec.form.result == "handle":
            return self._identity.same_handle(want, got or 0)
        return _equal(codec.decode_result(want), got)

    def _equal_output(self, codec: FunctionCodec, index: int, outs: tuple[Any, ...], got: Any) -> bool:
        want = outs[index]
        if self._identity is None or want is None or got is None:
            return _equal(codec.decode_outs(outs)[index], got)
        form = codec.form.outputs[index].out
        if form == "handle":
            return self._identity.same_handle(want, got)
        if form == "address":
            return self._identity.same_address(want, got)
        return _equal(codec.decode_outs((*codec.blank[:index], want, *codec.blank[index + 1 :]))[index], got)


def _equal(expected: Any, actual: Any) -> bool:
    if expected == actual:
        return True
    return isinstance(expected, float) and isinstance(actual, float) and math.isnan(expected) and math.isnan(actual)
