"""What each call answers, by chapter.

A handler is a function ``(machine, thread, *arguments)`` with one argument per C parameter, registered under the C
name. It makes its checks in the order of semantics.md, raises ``Refused`` for the first that fails, and changes the
model only after the last check, so that a refused call leaves it as it was.
"""

from typing import TYPE_CHECKING

from cannery.runtime.calls import contexts, devices, events, streams
from cannery.runtime.calls.registry import HANDLERS, bound

if TYPE_CHECKING:
    from cannery.runtime.machine import Handler, Machine

__all__ = ["bind", "contexts", "devices", "events", "streams"]


def bind(machine: "Machine") -> "list[Handler | None]":
    """One handler per function of the API model, in its order; None where there is no implementation."""
    from cannery.runtime.api import MODEL

    return [
        bound(machine, function.name, HANDLERS[function.name]) if function.name in HANDLERS else None
        for function in MODEL.functions
    ]
