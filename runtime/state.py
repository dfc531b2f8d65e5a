"""The complete state of a machine as a value, and a machine put into such a state.

:func:`capture` walks everything that can be reached from the machine through the attributes that its classes declare,
so a new attribute is part of the state without anybody's doing. What it does not know (a class that is not
:class:`Kept`, a function, a list that two objects share) ends it with :class:`StateError`, so that nothing is left out
silently; what is left out on purpose stands in :data:`NOT_STATE`. The bytes of device memory are apart, in
``pages.py``.

A state is plain data (:meth:`State.to_wire`), the same for the compiled and the Python form of the classes. It may come
from a file that nobody vouches for: :func:`install` makes objects of the classes of the model only, without calling
anything of theirs, and raises :class:`StateError` for what does not fit. What it made may still be nonsense, on which
the machine then raises.
"""

import contextlib
import string
from collections import deque
from collections.abc import Collection, Mapping
from typing import TYPE_CHECKING, Any, Final

from cannery.runtime.elf import Symbol
from cannery.runtime.errors import Refused
from cannery.runtime.kept import Kept
from cannery.runtime.lanes import INNER
from cannery.runtime.memory import DEVICE_SPAN, DeviceMemory, Memory
from cannery.runtime.places import DEVICE, PAGEABLE, PINNED
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

#: What is compared with ``is``, and must not become a second object.
_SINGLE: Final[dict[str, Any]] = {"lanes.InnerLane": INNER}

#: Tuples with names that can be in a state.
_TUPLES: Final[dict[str, Any]] = {
    "elf.Symbol": Symbol, "queues.Message": Message, "queues.Part": Part, "randomness.Request": Request,
}  # fmt: skip
_TUPLE_NAMES: Final[dict[Any, str]] = {made: name for name, made in _TUPLES.items()}

_SAME_TEXT: Final = {text: text for text in (DEVICE, PAGEABLE, PINNED)}

# The first element of a value that is no plain one.
_REFERENCE: Final = 0
_LIST: Final = 1
_TUPLE: Final = 2
_DEQUE: Final = 3
_DICT: Final = 4
_SET: Final = 5
_VIEW: Final = 6
_LARGE: Final = 7
_UNSET: Final = 8
_BYTES: Final = 9
_NAMED: Final = 10
_EXCHANGE: Final = 11  # what the machine asks of other processes

_WORD: Final = 1 << 63
_DEEPEST: Final = 64
_SPECS: Final = ("", "#x", "x", "d")  # of texts of refusals


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
        _NAMES.update({made: name for name, made in _KNOWN.items()})
    return _KNOWN


_PACKAGE: Final = "cannery.runtime."
_KNOWN: Final[dict[str, type]] = {}
_NAMES: Final[dict[type, str]] = {}
_FIELDS: Final[dict[type, list[str]]] = {}


def _class_of(value: Any) -> type:
    """What only calls know of a refusal, in a subclass, matters no more when it is kept."""
    return Refused if isinstance(value, Refused) else type(value)


def fields_of(value: Any) -> list[str]:
    """The attributes of an object that are state, in the order in which a state has them."""
    cls: Any = _class_of(value)
    found = _FIELDS.get(cls)
    if found is None:
        left_out = NOT_STATE.get(_NAMES[cls], set())
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
            if _class_of(value) not in _NAMES:
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
            self.classes.append((_NAMES[cls], *fields))
        row: list[Any] = [number]
        for name in fields:
            if _is_unset(value, name):
                row.append((_UNSET,))
                continue
            held = getattr(value, name)
            try:
                row.append(self._value(held))
            except StateError as error:
                raise StateError(f"{_NAMES[cls]}.{name}: {error}") from None
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
            return _LARGE, value.to_bytes(value.bit_length() // 8 + 1, "little", signed=True)
        if cls is tuple:
            return (_TUPLE, *[self._value(each) for each in value])
        if cls is list or cls is deque or cls is dict or cls is set:
            if id(value) in self._containers:
                raise StateError(f"a {cls.__name__} that two objects share")
            self._containers.add(id(value))
            return self._container(value)
        if cls is memoryview:
            return _VIEW, bytes(value)
        if cls is bytearray:
            return _BYTES, bytes(value)
        if cls in _TUPLE_NAMES:
            return (_NAMED, _TUPLE_NAMES[cls], *[self._value(each) for each in value])
        if value is self.exchange:
            return (_EXCHANGE,)
        return _REFERENCE, self.number(value)

    def _container(self, value: Any) -> tuple[Any, ...]:
        cls = type(value)
        if cls is list:
            return (_LIST, *[self._value(each) for each in value])
        if cls is dict:
            return (_DICT, *[self._value(each) for item in value.items() for each in item])
        if cls is set:
            return (_SET, *sorted(value))
        return (_DEQUE, value.maxlen, *[self._value(each) for each in value])


# Install


def install(machine: "Machine", state: State) -> None:
    """Put a machine, made with the same settings and address range, into a state.

    Where the state was captured from this very machine, its objects are put back as they were and stay the same
    objects; who holds one of them goes on holding it. What the machine had else is let go of.

    Raises:
        StateError: the state does not fit; the machine is of no use then.
    """
    try:
        _Install(machine, state).run()
    except (TypeError, ValueError, IndexError, KeyError, AttributeError, OverflowError, RecursionError) as error:
        raise StateError(f"the state does not fit this version ({type(error).__name__}: {error})") from None


class _Install:
    def __init__(self, machine: "Machine", state: State) -> None:
        known_classes(type(machine))
        self.machine = machine
        self.state = state
        originals = state.originals
        self.kept = originals is not None and originals[0] is machine
        self.made: list[Any] = []
        if self.kept and originals is not None:
            self.made = [*originals]

    def run(self) -> None:
        state = self.state
        if not state.objects or not all(row and 0 <= row[0] < len(state.classes) for row in state.objects):
            raise StateError("the state is cut off")
        if state.classes[state.objects[0][0]][0] != "machine.Machine":
            raise StateError("the state is that of no machine")
        fields = state.classes[state.objects[0][0]][1:]
        left = frozenset(fields_of(self.machine)) - frozenset(fields)
        if not set(fields) <= set(fields_of(self.machine)) or (left and not self.kept):
            raise StateError("the machine has other attributes in the state than in this version")
        before = capture(self.machine, left).originals or []
        if not self.kept:
            self.made = [self.machine]
            self.made += [self._make(state.classes[row[0]]) for row in state.objects[1:]]
        for made, row in zip(self.made, state.objects, strict=True):
            self._fill(made, state.classes[row[0]][1:], row)
        stay = {id(each) for each in self.made}
        for each in before:
            if id(each) not in stay:
                _let_go(each)
        self._complete()
        state.originals = self.made

    def _make(self, described: tuple[str, ...]) -> Any:
        name, *fields = described
        cls: Any = _KNOWN.get(name)
        if cls is None or name == "machine.Machine":
            raise StateError(f"the state has a {name}, which this version does not know")
        if name in _SINGLE:
            return _SINGLE[name]
        made = Refused(0, "") if cls is Refused else cls.__new__(cls)
        if [*fields] != fields_of(made):
            raise StateError(f"a {name} has other attributes in the state than in this version")
        return made

    def _fill(self, made: Any, fields: tuple[str, ...], row: tuple[Any, ...]) -> None:
        if len(row) != len(fields) + 1:
            raise StateError("an object of the state is cut off")
        for name, wire in zip(fields, row[1:], strict=True):
            if type(wire) is tuple and wire == (_UNSET,):
                _unset(made, name)
                continue
            value = self._value(wire, 0)
            if not _refill(getattr(made, name, None), value):
                setattr(made, name, value)
        if isinstance(made, Refused):
            made.args = (made.number,)
            _check_text(made)

    def _value(self, wire: Any, depth: int) -> Any:
        cls = type(wire)
        if cls is str:
            return _SAME_TEXT.get(wire, wire)
        if cls is not tuple:
            if wire is None or cls is bool or cls is int or cls is bytes or cls is float:
                return wire
            raise StateError(f"the state has a {cls.__name__}")
        if depth > _DEEPEST:
            raise StateError("the state is nested too deep")
        tag, *rest = wire
        if tag == _REFERENCE:
            (number,) = rest
            if number < 0:
                raise StateError("the state refers to no object")
            return self.made[number]
        if tag in (_VIEW, _LARGE, _BYTES):
            (content,) = rest
            if type(content) is not bytes:
                raise StateError("the state has no bytes where some belong")
            if tag == _LARGE:
                return int.from_bytes(content, "little", signed=True)
            return memoryview(content) if tag == _VIEW else bytearray(content)
        if tag == _EXCHANGE:
            return self.machine.port.exchange
        if tag == _DEQUE:
            most, *rest = rest
            return deque([self._value(each, depth + 1) for each in rest], most)
        if tag == _NAMED:
            name, *rest = rest
            return _TUPLES[name](*[self._value(each, depth + 1) for each in rest])
        values = [self._value(each, depth + 1) for each in rest]
        if tag == _LIST:
            return values
        if tag == _TUPLE:
            return tuple(values)
        if tag == _SET:
            return set(values)
        if tag == _DICT:
            return dict(zip(values[::2], values[1::2], strict=True))
        raise StateError(f"the state has a value of kind {tag!r}")

    def _complete(self) -> None:
        """Set what is no state."""
        port = self.machine.port
        for made in self.made:
            if type(made) is Memory:
                made.port = port
        for index, memory in enumerate(self.machine.memory.devices):
            if memory.peak and getattr(memory, "store", None) is None:
                memory.store = port.device_store(index, DEVICE_SPAN)
            elif not memory.peak:
                _keep_store(memory)


def _keep_store(memory: DeviceMemory) -> None:
    try:
        memory.store  # noqa: B018 - whether it is set
    except AttributeError:
        memory.store = None


def _refill(held: Any, value: Any) -> bool:
    """Give a list, dictionary, deque or set that is there the content of another, since others may hold it too."""
    cls = type(held)
    if cls is not type(value):
        return False
    if cls is list:
        held[:] = value
    elif cls is dict or cls is set:
        held.clear()
        held.update(value)
    elif cls is deque and held.maxlen == value.maxlen:
        held.clear()
        held.extend(value)
    else:
        return False
    return True


def _unset(made: Any, name: str) -> None:
    if hasattr(made, name):
        with contextlib.suppress(AttributeError):  # what compiled classes cannot delete, nothing looks at (_is_unset)
            delattr(made, name)


def _let_go(value: Any) -> None:
    """Cut the references of an object that the machine has no more, since nobody collects circles."""
    for name in fields_of(value):
        held: Any = getattr(value, name, None)
        if type(held) in (list, dict, set, deque):
            held.clear()
        elif type(held) in _NAMES:
            try:
                setattr(value, name, None)
            except (TypeError, AttributeError):
                with contextlib.suppress(TypeError, AttributeError):  # else the other end of the circle is cut
                    delattr(value, name)


def _check_text(refused: Refused) -> None:
    """Raises StateError for a text that is no template of ours, or whose values are not as many."""
    parts = [*string.Formatter().parse(refused.text)]
    named = [(name, spec, conversion) for _, name, spec, conversion in parts if name is not None]
    plain = all(not name and spec in _SPECS and conversion in (None, "r") for name, spec, conversion in named)
    if not plain or len(named) > len(refused.values):
        raise StateError("the state has a message that is none of this version")
    refused.reason()
