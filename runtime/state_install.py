"""A machine put into a state (``state.py``).

A state may come from a file that nobody vouches for: :func:`install` makes objects of the classes of the model only,
without calling anything of theirs, and raises :class:`StateError` for what does not fit. What it made may still be
nonsense, on which the machine then raises.
"""

import contextlib
import string
from collections import deque
from typing import TYPE_CHECKING, Any, Final

from cannery.runtime.errors import Refused
from cannery.runtime.lanes import INNER
from cannery.runtime.memory import DEVICE_SPAN, DeviceMemory, Memory
from cannery.runtime.places import DEVICE, PAGEABLE, PINNED
from cannery.runtime.state import (
    BYTES,
    CLASS_NAMES,
    DEQUE,
    DICT,
    EXCHANGE,
    LARGE,
    LIST,
    NAMED,
    REFERENCE,
    SET,
    TUPLE,
    TUPLES,
    UNSET,
    VIEW,
    State,
    StateError,
    capture,
    fields_of,
    known_classes,
)

if TYPE_CHECKING:
    from cannery.runtime.machine import Machine

#: What is compared with ``is``, and must not become a second object.
_SINGLE: Final[dict[str, Any]] = {"lanes.InnerLane": INNER}

_SAME_TEXT: Final = {text: text for text in (DEVICE, PAGEABLE, PINNED)}
_DEEPEST: Final = 64
_SPECS: Final = ("", "#x", "x", "d")  # of texts of refusals


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
        self.classes = known_classes(type(machine))
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
        cls: Any = self.classes.get(name)
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
            if type(wire) is tuple and wire == (UNSET,):
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
        if tag == REFERENCE:
            (number,) = rest
            if number < 0:
                raise StateError("the state refers to no object")
            return self.made[number]
        if tag in (VIEW, LARGE, BYTES):
            (content,) = rest
            if type(content) is not bytes:
                raise StateError("the state has no bytes where some belong")
            if tag == LARGE:
                return int.from_bytes(content, "little", signed=True)
            return memoryview(content) if tag == VIEW else bytearray(content)
        if tag == EXCHANGE:
            return self.machine.port.exchange
        if tag == DEQUE:
            most, *rest = rest
            return deque([self._value(each, depth + 1) for each in rest], most)
        if tag == NAMED:
            name, *rest = rest
            return TUPLES[name](*[self._value(each, depth + 1) for each in rest])
        values = [self._value(each, depth + 1) for each in rest]
        if tag == LIST:
            return values
        if tag == TUPLE:
            return tuple(values)
        if tag == SET:
            return set(values)
        if tag == DICT:
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
        elif type(held) in CLASS_NAMES:
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
