"""The stream writer whose state the engine shares: completed calls of the common kind never reach it (journal.c)."""

from collections.abc import Sequence
from typing import Any, Final

from cannery.recorder.schema import LIST, FunctionForm
from cannery.recorder.writer import StreamWriter
from cannery.shim._engine import ffi, lib

#: The forms that journal.c writes, by the letter it knows them by; any other is left to the reference encoder.
LETTERS: Final = {"number": "n", "handle": "h", "address": "a", "flag": "f", "raw": "r"}
#: Those of arguments beside them: bytes, and what journal.c only writes where it is null.
IN_LETTERS: Final = {**LETTERS, "bytes": "b", "plain": "z"}


def _letter(form: str) -> str | None:
    return "z" if form.startswith(LIST) else IN_LETTERS.get(form)


_state: Final = lib.cannery_journal_state()


def _shared(field: str) -> property:
    """An attribute of the writer that lives in the engine's struct."""

    def read(writer: "JournalWriter") -> Any:
        return getattr(_state, field)

    def write(writer: "JournalWriter", value: int) -> None:
        setattr(_state, field, value)

    return property(read, write)


class JournalWriter(StreamWriter):
    """See StreamWriter. There is one in a process at a time."""

    __slots__ = ("_view",)

    position = _shared("position")
    room = _shared("room")
    time = _shared("time")
    calls = _shared("calls")

    @property
    def _window(self) -> Any:
        return self._view

    @_window.setter
    def _window(self, view: Any) -> None:
        self._view = view
        _state.window = ffi.NULL if view is None else ffi.from_buffer(view)

    def share(self, forms: Sequence[FunctionForm], handlers: Sequence[Any], device_base: int, device_span: int) -> None:
        """Let the engine write calls of the functions it can encode. Not before the first window is open."""
        position, room, time, calls = self.position, self.room, self.time, self.calls
        lib.cannery_journal_begin(len(forms))
        self._window = self._view
        self.position, self.room, self.time, self.calls = position, room, time, calls
        _state.device_base, _state.device_span = device_base, device_span
        for form, handler in zip(forms, handlers, strict=True):
            # what is read behind a pointer is in no register, even where it is a plain number
            ins = [None if param.role == "inout_scalar" else _letter(param.into) for param in form.params]
            outs = [LETTERS.get(param.out or "") for param in form.outputs]
            floats = any(param.ctype.rstrip(" *") in ("float", "double") for param in form.params)
            # the engine has the pointer to such a value, not the value
            both_ways = any(param.out is not None and param.into != "flag" for param in form.params)
            if handler is None or form.returns != "aclError" or floats or both_ways or None in ins or None in outs:
                continue
            lib.cannery_journal_function(form.number, "".join(ins).encode(), "".join(outs).encode())  # type: ignore[arg-type]
