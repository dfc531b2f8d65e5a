"""What findings say to people: lines of calls, names of objects, bytes."""

from collections.abc import Callable
from typing import Any, Final

from cannery.recorder.format import DamagedTrace
from cannery.recorder.records import Call, Payload
from cannery.recorder.schema import ParamForm, Schema
from cannery.replayer.comparison.findings import (
    ARGUMENT,
    OUTPUT,
    PAYLOAD,
    RESULT,
    Facet,
    Finding,
    Findings,
    Group,
    Object,
)
from cannery.replayer.comparison.objects import A, B
from cannery.replayer.comparison.payloads import first_difference
from cannery.replayer.comparison.shapes import FUNCTION, is_placed
from cannery.replayer.comparison.spool import IN_FLIGHT
from cannery.replayer.printer import Printer, Show, payload_text

_OBJECTS: Final = 6  # that are explained for one finding
_AROUND: Final = 8  # bytes that are shown from the first that differs

Content = Callable[[Payload], bytes | None]


class ValuePrinter(Printer):
    """A printer that also writes single arguments."""

    def argument(self, function: str, index: int, value: Any) -> str:
        """The value of the parameter at that index."""
        if function.startswith(FUNCTION):
            return str(value)
        return self._shows(function)[index][1](value)

    def _show(self, form: str, param: ParamForm) -> Show:
        show = super()._show(form, param)
        if form == "bytes":
            return lambda value: _words(value) if isinstance(value, tuple) else show(value)
        if form != "address":
            return show
        return lambda value: show(value[2] if is_placed(value) else value)

    def result(self, function: str, value: Any) -> str:
        """A return value."""
        return str(value) if function.startswith(FUNCTION) else super().result(function, value)

    def called(self, call: Call) -> str:
        """A call as one line: number, thread, arguments, results."""
        if call.function.startswith(FUNCTION):
            runner = f"T{call.thread}" if call.thread >= 0 else f"worker {-call.thread}"
            args = ", ".join(str(value) for value in call.ins[1:])
            text = f"{runner} {call.function} {call.ins[0]} called with ({args}) = {call.ret}"
            return f"#{call.number} {text}" if call.thread >= 0 else text
        if call.ret is IN_FLIGHT:
            return f"#{call.number} T{call.thread} {self.call(call.function, call.ins, None)} had not returned"
        text = f"{self.call(call.function, call.ins, call.outs)} = {self.result(call.function, call.ret)}"
        return f"#{call.number} T{call.thread} {text}{'' if call.supported else ' (unsupported)'}"


def _words(values: tuple[Any, ...]) -> str:
    """The arguments of a kernel, word by word."""
    shown = [word[::-1] if isinstance(word, bytes) else word[2] if is_placed(word) else word for word in values]
    return f"[{', '.join(f'0x{word.hex()}' if isinstance(word, bytes) else f'd+{word:#x}' for word in shown)}]"


class Writer:
    """Writes findings of one pair of processes as plain values, for text and JSON alike."""

    def __init__(self, schemas: tuple[Schema, Schema], contents: tuple[Content, Content]) -> None:
        self._printers = ValuePrinter(schemas[A]), ValuePrinter(schemas[B])
        self._contents = contents

    def group(self, group: Group) -> dict[str, Any]:
        """A cause, and what follows from it."""
        cause = group.cause
        return {
            "kind": cause.kind,
            "what": self.summary(cause),
            "threads": list(cause.threads),
            "calls": {name: self._calls(side, cause) for side, name in ((A, "a"), (B, "b"))},
            "count": {"a": cause.counts[A], "b": cause.counts[B]},
            "differences": [self._facet(cause, facet) for facet in cause.facets],
            "before": [self._printers[A].called(a) for a, _ in cause.before],
            "objects": {name: self._objects(side, cause.objects[side]) for side, name in ((A, "a"), (B, "b"))},
            "following": dict(group.following.most_common()),
            "following_calls": [list(numbers) for numbers in group.examples],
        }

    def timing(self, findings: Findings) -> dict[str, Any]:
        """Results that differ and depend on time: how many, and the first."""
        first = None
        if findings.first_timed is not None:
            a, b, facet = findings.first_timed
            difference = self._values(a.function, facet)
            first = {"a": a.number, "b": b.number, "function": a.function, "difference": difference}
        return {"total": findings.timed, "first": first}

    def summary(self, finding: Finding) -> str:
        """One line: what differs, in which call."""
        first, second = ((calls[0] if calls else None) for calls in finding.calls)
        if finding.kind == "changed":
            assert first is not None
            return f"{_where(first)}: {', '.join(facet.what for facet in finding.facets)}"
        if finding.kind == PAYLOAD:
            where = "bytes between host and device" if first is None else _where(first)
            return f"{where}: {finding.facets[0].what}"
        if finding.kind == "order":
            return f"order of {_where(finding.calls[A][0])} and {_where(finding.calls[A][1])}"
        if first is not None and second is not None:
            return f"{_many(finding, A)} replaced by {_many(finding, B)}"
        return f"{_many(finding, A)} missing" if first is not None else f"{_many(finding, B)} inserted"

    def _calls(self, side: int, finding: Finding) -> list[dict[str, Any]]:
        return [
            {
                "number": call.number,
                "thread": call.thread,
                "function": call.function,
                "text": self._printers[side].called(call),
            }
            for call in finding.calls[side]
        ]

    def _values(self, function: str, facet: Facet) -> dict[str, Any]:
        """A value of both sides."""
        found = {"what": facet.what}
        for printer, name, value in zip(self._printers, "ab", (facet.a, facet.b), strict=True):
            if facet.part == ARGUMENT:
                found[name] = printer.argument(function, facet.at, value)
            elif facet.part == OUTPUT:
                found[name] = printer.output(function, facet.at, value)[1]
            elif facet.part == RESULT:
                found[name] = "had not returned" if value is IN_FLIGHT else printer.result(function, value)
            else:
                found[name] = value
        return found

    def _facet(self, finding: Finding, facet: Facet) -> dict[str, Any]:
        if finding.payloads is None:
            return self._values(finding.calls[A][0].function, facet)
        found: dict[str, Any] = {"what": facet.what}
        found |= {name: payload_text(payload) for name, payload in zip("ab", finding.payloads, strict=True)}
        try:
            mine, theirs = (content(payload) for content, payload in zip(self._contents, finding.payloads, strict=True))
        except DamagedTrace:
            return found
        if mine is not None and theirs is not None:
            offset = first_difference(mine, theirs)
            if offset is not None:
                found["offset"] = offset
                found |= {
                    name: f"{payload.size} bytes, from byte {offset} on 0x{content[offset : offset + _AROUND].hex()}"
                    for name, payload, content in zip("ab", finding.payloads, (mine, theirs), strict=True)
                }
        return found

    def _objects(self, side: int, objects: list[Object]) -> list[str]:
        """Which call made each object."""
        found: dict[Any, str] = {}
        for key, name, birth in objects:
            if birth is not None and key not in found and len(found) < _OBJECTS:
                found[key] = f"{name} was made by {self._printers[side].called(birth.call)}"
        return list(found.values())


def _where(call: Call) -> str:
    return f"#{call.number} {call.function}"


def _many(finding: Finding, side: int) -> str:
    first, count = finding.calls[side][0], finding.counts[side]
    return _where(first) if count == 1 else f"{count:,} calls from {_where(first)} on"
