"""Small objects of the program: descriptions and containers that no device knows of, such as data buffers.

They stand in one table by handle. Each kind is a class of its own, in the module of the calls that use it.
"""

from typing import TYPE_CHECKING, TypeVar

from cannery.runtime.kept import Kept

if TYPE_CHECKING:
    from cannery.runtime.machine import Machine


class SmallObject(Kept):
    """Base of the kinds. ``handle``: 0 until :func:`keep`."""

    __slots__ = ("handle",)

    def __init__(self) -> None:
        self.handle = 0


T = TypeVar("T", bound=SmallObject)


def keep(machine: "Machine", made: SmallObject) -> int:
    """Give a new object its handle; the handle."""
    made.handle = machine.new_handle()
    machine.small_objects[made.handle] = made
    return made.handle


def find(machine: "Machine", kind: type[T], handle: int) -> T | None:
    """The object of that kind with that handle; None if there is none."""
    found = machine.small_objects.get(handle)
    return found if isinstance(found, kind) else None
