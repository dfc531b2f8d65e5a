"""The complete state of a machine as a value; ``state_install.py`` puts a machine into one.

:func:`capture` walks everything that can be reached from the machine through the attributes that its classes declare,
so a new attribute is part of the state without anybody's doing. What it does not know (a class that is not
:class:`Kept`, a function, a list that two objects share) ends it with :class:`StateError`, so that nothing is left out
silently; what is left out on purpose stands in :data:`NOT_STATE`. The bytes of device memory are apart, in
``pages.py``.

A state is plain data (:meth:`State.to_wire`), the same for the compiled and the Python form of the classes.
"""

from collections import deque
from collections.abc import Collection, Mapping
from typing import TYPE_CHECKING, Any, Final

from cannery.runtime.elf import Symbol
from cannery.runtime.errors import Refused
from cannery.runtime.kept import Kept
from cannery.runtime.queues import Message, Part
from cannery.runtime.randomness import Request
from cannery.runtime.tasks import Record, Task

if TYPE_CHECKING:
    from cannery.runtime.machine import Machine

#: Attributes that are no state: what a machine is made with, and what follows from that.
NOT_STATE: Final = {
    "machine.Machine": {
        "behaviour", "blindness", "depth", "discarded", "event_cost", "handlers", "port", "profile", "renewed", "saved",
        "settings",
    },
    "memory.DeviceMemory": {"store"},  # its bytes are in pages.py
    "memory.Memory": {"port"},
    "places.Imported": {"store"},  # bytes of another process
}  # fmt: skip

#: Tuples with names that can be in a state.
TUPLES: Final[dict[str, Any]] = {
    "elf.Symbol": Symbol, "queues.Message": Message, "queues.Part": Part, "randomness.Request": Request,
}  # fmt: skip
_TUPLE_NAMES: Final[dict[Any, str]] = {made: name for name, made in TUPLES.items()}

# The first element of a value on the wire that is no plain one.
REFERENCE: Final = 0
LIST: Final = 1
TUPLE: Final = 2
DEQUE: Final = 3
DICT: Final = 4
SET: Final = 5
VIEW: Final = 6
LARGE: Final = 7
UNSET: Final = 8
BYTES: Final = 9
NAMED: Final = 10
EXCHANGE: Final = 11  # what the machine asks of other processes

_WORD: Final = 1 << 63


class StateError(Exception):
    """The machine has something that is no state, or a state is not one of this version; the text says what."""


class State:
    """``classes``: name and attributes of each class in it. ``objects``: for each object the number of its class, then
    the values of its attributes; the first is the machine. ``originals`` are the objects themselves, where the state
    was captured here, or installed."""

    __slots__ = ("classes", "objects", "originals")

    def __init__(
        self, classes: list[tuple[str, ...]], objects: list[tuple[Any, ...]], originals: list[Any] | None
    ) -> None:
        self.classes = classes
        self.objects = objects
        self.originals = originals

    def to_wire(self) -> dict[str, Any]:
        """Plain lists, numbers, text and bytes, for msgpack or JSON. Equal states give equal ones."""
        return {"classes": self.classes, "objects": self.objects}

    @classmethod
    def from_wire(cls, wire: Any) -> "State":
        """Raises StateError: that is no state."""
        try:
            classes = [(str(name), *map(str, fields)) for name, *fields in wire["classes"]]
            objects = [tuple(row) for row in wire["objects"]]
        except (TypeError, KeyError, ValueError) as error:
            raise StateError(f"no state ({error})") from None
        return cls(classes, objects, None)

    def same(self, other: "State") -> bool:
        """Whether two states are equal."""
        return self.classes == other.classes and self.objects == other.objects


def known_classes(root: type) -> Mapping[str, type]:
    """The classes of the model, by name: that of the module and their own, as in ``tasks.Record``. ``root``: that of
    the machine."""
    if not _KNOWN:
        found: list[type] = [root, Refused, Kept]
        while found:
            cls = found.pop()
            package, _, module = cls.__module__.partition(_PACKAGE)
            if not package and module:
                _KNOWN[f"{module}.{cls.__name__}"] = cls
                found += cls.__subclasses__()
        CLASS_NAMES.update({made: name for name, made in _KNOWN.items()})
    return _KNOWN


_PACKAGE: Final = "cannery.runtime."
_KNOWN: Final[dict[str, type]] = {}
CLASS_NAMES: Final[dict[type, str]] = {}
_FIELDS: Final[dict[type, list[str]]] = {}


def _class_of(value: Any) -> type:
    """What only calls know of a refusal, in a subclass, matters no more when it is kept."""
    return Refused if isinstance(value, Refused) else type(value)


def fields_of(value: Any) -> list[str]:
    """The attributes of an object that are state, in the order in which a state has them."""
    cls: Any = _class_of(value)
    found = _FIELDS.get(cls)
    if found is None:
        left_out = NOT_STATE.get(CLASS_NAMES[cls], set())
        found = _FIELDS[cls] = sorted(name for name in _declared(value) if name not in left_out)
    return found


def _declared(value: Any) -> set[str]:
    cls: Any = _class_of(value)
    if cls is Refused:  # an exception keeps them in a dictionary when it is compiled
        return {"number", "remembered", "report", "text", "values"}
    names: set[str] = set(getattr(cls, "__mypyc_attrs__", ()))
    if not names:
        for base in cls.__mro__:
            slots = base.__dict__.get("__slots__", ())
            names.update((slots,) if isinstance(slots, str) else slots)
        names.update(getattr(value, "__dict__", ()))
    names.discard("__dict__")
    if issubclass(cls, Task) and not issubclass(cls, Record):
        names.discard("inert")  # for these it is the same for all of a class, which compiled classes do not tell apart
    return names


# Capture


def capture(machine: "Machine", leave: Collection[str] = ()) -> State:
    """The state of a machine between two steps. ``leave``: attributes of the machine that are left out.

    Raises:
        StateError: there is something that this module does not know.
    """
    known_classes(type(machine))
    walk = _Capture(frozenset(leave), machine.port.exchange)
    walk.number(machine)
    done = 0
    while done < len(walk.originals):
        walk.row(walk.originals[done])
        done += 1
    return State(walk.classes, walk.objects, walk.originals)


def _is_unset(value: Any, name: str) -> bool:
    """Whether an attribute has no value; what says when a task was done has none before that."""
    return not hasattr(value, name) or (name == "finish" and not value.done)


class _Capture:
    """Objects get numbers as they are met, and rows in the order of their numbers."""

    def __init__(self, leave: frozenset[str], exchange: Any) -> None:
        self.leave = leave
        self.exchange = exchange
        self.classes: list[tuple[str, ...]] = []
        self.objects: list[tuple[Any, ...]] = []
        self.originals: list[Any] = []
        self._numbers: dict[int, int] = {}
        self._class_numbers: dict[type, int] = {}
        self._containers: set[int] = set()

    def number(self, value: Any) -> int:
        """The number of an object."""
        key = id(value)
        number = self._numbers.get(key)
        if number is None:
            if _class_of(value) not in CLASS_NAMES:
                raise StateError(f"{type(value).__module__}.{type(value).__name__} is no class of the model's state")
            number = self._numbers[key] = len(self.originals)
            self.originals.append(value)
        return number

    def row(self, value: Any) -> None:
        """Add the row of the object whose turn it is."""
        cls = _class_of(value)
        fields = fields_of(value)
        if not self.objects:
            fields = [name for name in fields if name not in self.leave]
        number = self._class_numbers.get(cls)
        if number is None:
            number = self._class_numbers[cls] = len(self.classes)
            self.classes.append((CLASS_NAMES[cls], *fields))
        row: list[Any] = [number]
        for name in fields:
            if _is_unset(value, name):
                row.append((UNSET,))
                continue
            held = getattr(value, name)
            try:
                row.append(self._value(held))
            except StateError as error:
                raise StateError(f"{CLASS_NAMES[cls]}.{name}: {error}") from None
        self.objects.append(tuple(row))

    def _value(self, value: Any) -> Any:
        """On the wire."""
        cls = type(value)
        if value is None or cls is bool or cls is str or cls is bytes or cls is float:
            return value
        if issubclass(cls, bytes):
            return bytes(value)
        if cls is int:
            if -_WORD <= value < _WORD:
                return value
            return LARGE, value.to_bytes(value.bit_length() // 8 + 1, "little", signed=True)
        if cls is tuple:
            return (TUPLE, *[self._value(each) for each in value])
        if cls is list or cls is deque or cls is dict or cls is set:
            if id(value) in self._containers:
                raise StateError(f"a {cls.__name__} that two objects share")
            self._containers.add(id(value))
            return self._container(value)
        if cls is memoryview:
            return VIEW, bytes(value)
        if cls is bytearray:
            return BYTES, bytes(value)
        if cls in _TUPLE_NAMES:
            return (NAMED, _TUPLE_NAMES[cls], *[self._value(each) for each in value])
        if value is self.exchange:
            return (EXCHANGE,)
        return REFERENCE, self.number(value)

    def _container(self, value: Any) -> tuple[Any, ...]:
        cls = type(value)
        if cls is list:
            return (LIST, *[self._value(each) for each in value])
        if cls is dict:
            return (DICT, *[self._value(each) for item in value.items() for each in item])
        if cls is set:
            return (SET, *sorted(value))
        return (DEQUE, value.maxlen, *[self._value(each) for each in value])
