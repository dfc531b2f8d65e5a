"""Records as lines of text, in the manner of strace.

Everything that a line names (function, parameters, enum constants, kinds of objects) comes from the function table of
the bundle, so that an old trace prints in a newer version. How a value is written follows from its form:

    stream#5          handle: kind and ordinal of the object, the same in every run
    kernel#7 add      a kernel also with its name, once the call that found it was seen
    d+0x200           device address, as offset from the start of device memory
    h3+0x10           host address: region and offset
    function#2, id#1  a function of the program, what it calls a thread: numbered as they are first named
    -> value          what an output parameter received
"""

import json
from collections.abc import Callable
from functools import cache
from typing import Any, Final

from cannery.recorder.format import TOPICS
from cannery.recorder.records import (
    Call,
    Effect,
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
from cannery.recorder.schema import LIST, FunctionForm, ParamForm, Schema
from cannery.replayer import kernels
from cannery.replayer.kernels import Kernels

_TEXT_SHOWN: Final = 120  # bytes of a string or buffer
_ITEMS_SHOWN: Final = 16  # elements of an array

Show = Callable[[Any], str]


@cache
def error_names() -> dict[int, str]:
    """Error number -> its name; where a number has several, the one that the headers give last."""
    from importlib import resources  # takes longer to import than the rest of what reaches a call

    facts = json.loads(resources.files("cannery.runtime.api").joinpath("abi/error_codes.json").read_text("utf-8"))
    return {fact["value"]: fact["name"] for fact in facts}


class Printer:
    """Writes records of one stream. ``bare`` leaves out call numbers and times, so that two listings compare."""

    def __init__(self, schema: Schema, bare: bool = False) -> None:
        self._schema = schema
        self._bare = bare
        self._kernels = Kernels(schema)
        self._params: dict[str, list[tuple[str, Show, Show | None]]] = {}
        self._result: dict[str, Show] = {}

    def see(self, record: Record) -> None:
        """Learn from a record that need not be printed what others mean."""
        if isinstance(record, Call):
            self._kernels.note(record)

    def line(self, record: Record) -> str:
        """One record as one line, without its end."""
        self.see(record)
        if isinstance(record, Call):
            text = self.call(record.function, record.ins, record.outs)
            text += f" = {self.result(record.function, record.ret)}"
            if not record.supported:
                text += " (unsupported)"
            launched = self._kernels.launched(record)
            if launched is not None and not launched.modelled:
                text += " (unmodelled)"
            return self._head(record.number, record.thread, record.time) + text + _effects(record.effects)
        if isinstance(record, Enter):
            text = f"{self.call(record.function, record.ins, None)} waits"
            return self._head(record.number, record.thread, record.time) + text + _effects(record.effects)
        if isinstance(record, Exit):
            results = self.outputs(record.function, record.outs)
            text = f"{record.function} ends{results} = {self.result(record.function, record.ret)}"
            return self._head(record.number, record.thread, None) + text
        if isinstance(record, Pace):
            return self._head(None, None, record.time) + "pacer" + _effects(record.effects)
        if isinstance(record, Signal):
            return self._head(None, None, record.time) + "another process signalled" + _effects(record.effects)
        if isinstance(record, Expire):
            return self._head(None, record.thread, record.time) + "limit of the wait passed" + _effects(record.effects)
        if isinstance(record, Invoke):
            return self._runner(record, None) + f"runs {_invoked(record)}"
        if isinstance(record, Returned | Errand):
            value = "" if record.value is None else f" {_address_or_number(record.value)}"
            return self._runner(record, record.time) + f"function returned{value}" + _effects(record.effects)
        if isinstance(record, ThreadEnd):
            return self._head(None, record.thread, record.time) + "thread ended"
        assert isinstance(record, Note)
        return self._head(None, None, None) + f"note {record.topic}: {_plain(record.value)}"

    def call(self, function: str, ins: tuple[Any, ...], outs: tuple[Any, ...] | None) -> str:
        """``name(parameter=value, ...)``; outputs show what they received when ``outs`` is given."""
        shown = []
        results = iter(outs or ())
        for (name, show, out), value in zip(self._shows(function), ins, strict=False):
            if out is None:
                shown.append(f"{name}={show(value)}")
                continue
            text = "" if value is True else "null" if value in (False, None) else show(value)
            result = next(results, None)
            if result is not None:
                text = f"{text} -> {out(result)}".lstrip()
            shown.append(f"{name}={text or '-> unwritten'}")
        return f"{function}({', '.join(shown)})"

    def outputs(self, function: str, outs: tuple[Any, ...]) -> str:
        """`` parameter -> value`` for every output that was written."""
        shows = [(name, out) for name, _, out in self._shows(function) if out is not None]
        return "".join(
            f" {name} -> {show(value)}" for (name, show), value in zip(shows, outs, strict=False) if value is not None
        )

    def result(self, function: str, value: Any) -> str:
        """A return value; an error number with its name."""
        show = self._result.get(function)
        if show is None:
            show = self._result[function] = _tolerant(self._result_show(self._schema[function]))
        return show(value)

    def output(self, function: str, index: int, value: Any) -> tuple[str, str]:
        """Name and text of the output at ``index`` among the outputs of a function."""
        name, show = [(name, out) for name, _, out in self._shows(function) if out is not None][index]
        return name, "not written" if value is None else show(value)

    def _head(self, number: int | None, thread: int | str | None, time: int | None) -> str:
        who = "" if thread is None else f"{thread} " if isinstance(thread, str) else f"T{thread} "
        if self._bare:
            return who
        return f"{'' if number is None else f'#{number} '}{who}{'' if time is None else f'+{time / 1e6:.3f}ms '}"

    def _runner(self, record: Invoke | Returned | Errand, time: int | None) -> str:
        """The head of a line about a function of the program: of the call that it runs for, or of a worker."""
        if isinstance(record, Errand):
            return self._head(None, f"W{record.worker}", time)
        if record.number is None:
            assert isinstance(record, Invoke)
            return self._head(None, f"W{record.worker}", time)
        return self._head(record.number, record.thread, time)

    def _shows(self, function: str) -> list[tuple[str, Show, Show | None]]:
        shows = self._params.get(function)
        if shows is None:
            shows = self._params[function] = [self._param(param) for param in self._schema[function].params]
        return shows

    def _param(self, param: ParamForm) -> tuple[str, Show, Show | None]:
        out = None if param.out is None else _tolerant(self._show(param.out, param))
        return param.name, _tolerant(self._show(param.into, param)), out

    def _show(self, form: str, param: ParamForm) -> Show:
        if form.startswith(LIST):
            element = self._show(form.removeprefix(LIST), param)
            return lambda values: _list(values, element)
        if form == "token":
            return _token_show(_TOKENS.get(param.role, "function"))
        if form == "name":
            return _name_show(param.kind or "id")
        if form == "handle" and param.kind == kernels.KIND:
            return self._kernel
        if form == "handle":
            return _handle_show(param.kind or param.ctype.replace("const ", "").rstrip("* "))
        if form == "number":
            enum = self._schema.enums.get(param.enum or param.ctype.replace("const ", "").rstrip("* "), {})
            return _number_show({value: name for name, value in reversed([*enum.items()])})
        return _SHOWS.get(form, _plain)

    def _kernel(self, value: Any) -> str:
        known = self._kernels.find(value)
        return _handle_show(kernels.KIND)(value) + (f" {known.name}" if known is not None and known.name else "")

    def _result_show(self, function: FunctionForm) -> Show:
        if function.can_fail:
            return self._error
        if function.result == "none":
            return lambda _: "nothing"
        return self._show(function.result, ParamForm("", function.returns, "", function.result, None))

    def _error(self, value: Any) -> str:
        name = error_names().get(value) if value else None
        return f"{value} {name}" if name else str(value)


def _tolerant(show: Show) -> Show:
    """``show``, but a value that does not have its form (in a damaged trace) is written as it is."""

    def tolerant(value: Any) -> str:
        try:
            return show(value)
        except (TypeError, ValueError, AttributeError):
            return _plain(value)

    return tolerant


def _handle_show(kind: str) -> Show:
    def show(value: Any) -> str:
        if isinstance(value, bytes):
            return f"0x{int.from_bytes(value, 'little'):x}"
        return f"{kind}#{value}" if value else "null"

    return show


def _token_show(kind: str) -> Show:
    return lambda value: f"{kind}#{value}" if value else "null"


def _name_show(kind: str) -> Show:
    return lambda value: "null" if value is None else f"{kind}#{value}"


def _number_show(names: dict[int, str]) -> Show:
    def show(value: Any) -> str:
        if isinstance(value, bytes):
            return str(int.from_bytes(value, "little", signed=True))
        if not isinstance(value, int):
            return _plain(value)
        return names.get(value) or f"{value}"

    return show


def _address(value: Any) -> str:
    if value is None:
        return "null"
    if isinstance(value, bytes):
        return f"0x{int.from_bytes(value, 'little'):x}"
    if isinstance(value, int):
        return f"d+{value:#x}"
    if isinstance(value, tuple) and len(value) == 2 and isinstance(value[1], int):
        return f"h{_plain(value[0])}+{value[1]:#x}"
    return _plain(value)  # of a damaged trace


def _bytes(value: Any) -> str:
    if value is None:
        return "null"
    if not isinstance(value, bytes):
        return _plain(value)
    shown = value[:_TEXT_SHOWN]
    more = "" if len(shown) == len(value) else f"... ({len(value)} bytes)"
    text = shown.decode("utf-8", "backslashreplace")
    if text.isprintable():
        return f"{json.dumps(text, ensure_ascii=False)}{more}"
    if all(byte >= 32 or byte in b"\t\r\n" for byte in shown):
        return f"{json.dumps(text)}{more}"
    return f"0x{shown.hex()}{more}"


def _raw(value: Any) -> str:
    return "null" if value is None else f"{value:#x}" if isinstance(value, int) else _plain(value)


def _flag(value: Any) -> str:
    return "set" if value else "null"


def _list(values: Any, element: Show) -> str:
    if not isinstance(values, tuple | list):
        return _plain(values)
    more = ", ..." if len(values) > _ITEMS_SHOWN else ""
    return f"[{', '.join(element(value) for value in values[:_ITEMS_SHOWN])}{more}]"


def _plain(value: Any) -> str:
    if value is None:
        return "null"
    if isinstance(value, bytes):
        return _bytes(value)
    if isinstance(value, tuple | list):
        return _list(value, _plain)
    if isinstance(value, dict):
        return f"{{{', '.join(f'{_plain(key)}: {_plain(part)}' for key, part in value.items())}}}"
    return json.dumps(value, default=str, ensure_ascii=False)


#: By role; other tokens are functions.
_TOKENS: Final = {"thread_id": "id", "keepsake": "pointer", "keepsake_out": "pointer"}

_SHOWS: Final[dict[str, Show]] = {"address": _address, "bytes": _bytes, "raw": _raw, "flag": _flag}


def _invoked(record: Invoke) -> str:
    """``function#3(set, 5)``"""
    arguments = ", ".join(_flag(value) if isinstance(value, bool) else _plain(value) for value in record.args)
    return f"function#{record.function}({arguments})"


def _address_or_number(value: Any) -> str:
    return _address(value) if isinstance(value, tuple) else _plain(value)


def _effects(effects: tuple[Effect, ...]) -> str:
    return "".join(f" [{effect_text(effect)}]" for effect in effects)


def effect_text(effect: Effect) -> str:
    """``write 65536 9f3a12cd``: kind, size, and content or the start of the hash."""
    text = effect.kind
    if effect.kind == "model":
        digest = "" if effect.payload is None else f" {(effect.payload.content or b'').hex()[:16]}"
        return f"model {effect.text}{digest}" if effect.ok else "no model"
    if effect.kind == "kernel":
        return f"kernel ran, {effect.parts} ranges" if effect.ok else f"kernel failed: {effect.text}"
    if effect.kind in ("wrote", "saw"):
        text += f" a{effect.place}+{effect.offset:#x}"
    if effect.payload is not None:
        text += f" {payload_text(effect.payload)}"
    elif effect.kind == "alloc" and effect.ok:
        text += f" h{effect.region}"
    elif effect.kind == "thread" and effect.ok:
        text += f" id#{effect.thread}" + (f" W{effect.worker}" if effect.worker else "")
    elif effect.kind == "tid" and effect.ok:
        text += f" id#{effect.thread}"
    elif effect.kind == "peer":
        text = " ".join([TOPICS.get(effect.topic, "peer"), *map(str, effect.values)])
    return text if effect.ok else f"{text} failed"


def payload_text(payload: Payload) -> str:
    """Size, then the content of a short payload or the start of the hash of a longer one."""
    if payload.content is not None:
        return f"{payload.size} 0x{payload.content.hex()}"
    return f"{payload.size} {payload.digest.hex()[:16]}" if payload.digest is not None else f"{payload.size}"
