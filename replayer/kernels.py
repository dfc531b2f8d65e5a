"""What a trace says about kernels: which handle is which kernel, and whether it had a model."""

from typing import Any, Final, NamedTuple

from cannery.recorder.records import Call
from cannery.recorder.schema import FunctionForm, Schema

KIND: Final = "kernel"  # of the handle of a function in a kernel binary


class Kernel(NamedTuple):
    """``name`` is None where the trace does not say it. ``modelled``: there was a kernel model for it."""

    name: str | None
    modelled: bool

    @property
    def shown(self) -> str:
        return self.name or "without a name"


class Kernels:
    """The kernels of one process, as far as its records were seen."""

    def __init__(self, schema: Schema) -> None:
        self._known: dict[int, Kernel] = {}
        self._lookups = {form.name: _place_of_name(form) for form in schema.functions if finds_kernel(form)}
        self._launches = {form.name: place for form in schema.functions if (place := launches(form)) is not None}

    def note(self, record: Call) -> None:
        """A call may have found a kernel."""
        if record.function not in self._lookups or record.ret != 0 or not record.effects:
            return
        found, handle = record.effects[-1], record.outs[-1] if record.outs else None
        if found.kind != "model" or not isinstance(handle, int):
            return
        place = self._lookups[record.function]
        name = None if place is None else record.ins[place]
        text = name.decode(errors="replace") if isinstance(name, bytes) else found.text or None
        self._known[handle] = Kernel(text, found.ok)

    def find(self, handle: Any) -> Kernel | None:
        return self._known.get(handle) if isinstance(handle, int) else None

    def launched(self, record: Call) -> Kernel | None:
        """The kernel that a successful call launched, if that is known."""
        place = self._launches.get(record.function)
        return self.find(record.ins[place]) if place is not None and record.ret == 0 else None


def finds_kernel(form: FunctionForm) -> bool:
    """Whether calls of the function look a kernel up."""
    return bool(form.outputs) and form.outputs[-1].kind == KIND and not launches(form)


def launches(form: FunctionForm) -> int | None:
    """Which parameter of a function that launches kernels is the kernel."""
    if not form.name.startswith("aclrtLaunch"):
        return None
    return next((place for place, param in enumerate(form.params) if param.kind == KIND), None)


def _place_of_name(form: FunctionForm) -> int | None:
    return next((place for place, param in enumerate(form.params) if param.name == "kernelName"), None)
