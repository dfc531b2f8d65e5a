"""The table of handlers, and what stands between a driver and a handler."""

from collections.abc import Callable
from typing import TYPE_CHECKING, Any, Final, TypeVar

from cannery.runtime.errors import Again, Refused, unsupported

if TYPE_CHECKING:
    from cannery.runtime.machine import Handler, Machine
    from cannery.runtime.objects import Thread

HANDLERS: Final[dict[str, Callable[..., Any]]] = {}
EVERYWHERE: Final[set[str]] = set()

_F = TypeVar("_F", bound=Callable[..., Any])


def call(name: str, everywhere: bool = False) -> Callable[[_F], _F]:
    """Register a function as the handler of the C function ``name``. ``everywhere``: also for products that do not have
    it, which the handler itself refuses."""

    def register(handler: _F) -> _F:
        assert name not in HANDLERS, name
        HANDLERS[name] = handler
        if everywhere:
            EVERYWHERE.add(name)
        return handler

    return register


def bound(machine: "Machine", name: str, handler: Callable[..., Any], arity: int) -> "Handler":
    """The handler as a driver calls it: bound to its machine, with refusals turned into numbers.

    ``arity``: how many arguments the C function has. What is called most has two, and an entry of its own for speed.
    """

    def entry_of_two(thread: "Thread", one: Any, two: Any) -> Any:
        machine.caller = thread
        try:
            return handler(machine, thread, one, two)
        except Refused as refused:
            return machine.refuse(thread, name, refused)
        except Again as again:
            return machine.start_again(again, thread, name, (one, two))

    def entry(thread: "Thread", *arguments: Any) -> Any:
        machine.caller = thread
        try:
            return handler(machine, thread, *arguments)
        except Refused as refused:
            return machine.refuse(thread, name, refused)
        except Again as again:
            return machine.start_again(again, thread, name, arguments)

    return entry_of_two if arity == 2 else entry


def told(machine: "Machine", name: str, handler: "Handler") -> "Handler":
    """The handler, which first says its name (Machine.moving)."""

    def entry(thread: "Thread", *arguments: Any) -> Any:
        machine.calling = name
        return handler(thread, *arguments)

    return entry


def absent(returns: str) -> Callable[..., Any]:
    """The handler of a function that the product does not have. ``returns``: its C return type."""

    def handler(machine: "Machine", thread: "Thread", *arguments: Any) -> Any:
        refused = unsupported(
            "product {} does not have this function; choose another one with --product", machine.profile.name
        )
        if returns == "aclError":
            raise refused
        machine.refuse(thread, "", refused)
        return None

    return handler
