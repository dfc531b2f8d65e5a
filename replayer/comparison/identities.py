"""Whether two values of two traces mean the same, and keys under which equal calls of both are found."""

import math
import re
from collections.abc import Callable, Iterator
from typing import Any, Final

from cannery.recorder.records import Call
from cannery.replayer.comparison.objects import A, B, Bindings, Birth
from cannery.replayer.comparison.shapes import (
    ADDRESS,
    EXACT,
    HANDLE,
    IGNORED,
    KEY,
    MESSAGE,
    RAW,
    TOKEN,
    Shape,
    Value,
    is_host,
    is_placed,
)
from cannery.replayer.comparison.spool import IN_FLIGHT

_POINTER: Final = 4096  # raw values from here on are taken for pointers
_HEX: Final = re.compile(rb"0x[0-9a-fA-F]+")

# What stands in a key for an object
_NEW: Final = -1  # it has no partner, so far
_FOREIGN: Final = -2  # a value that is no handle
_UNKNOWN: Final = -3  # an address in no allocation
_PINNED: Final = -4
_PAGEABLE: Final = -5


class Identities:
    """The objects of both traces, as far as the comparison has come.

    :meth:`match` keeps nothing. What matched is kept by :meth:`settle`, once the calls are known to be aligned.
    """

    def __init__(self, moved: Callable[[int, Call, Call], None]) -> None:
        self.handles = Bindings(moved)
        self.memory = Bindings(moved)  # allocations of device memory, by their numbers
        self.regions = Bindings(moved)  # pinned host memory
        self.tokens = Bindings(moved)
        self.exported = Bindings(moved)  # by hashes of keys
        self._uses: list[tuple[Bindings, int, int]] = []
        self._matchers: dict[str, Callable[[Any, Any], bool]] = {
            EXACT: _exact,
            HANDLE: self._handle,
            ADDRESS: self._address,
            TOKEN: self._token,
            KEY: self._key,
            RAW: _raw,
            MESSAGE: _message,
            IGNORED: lambda x, y: True,
        }

    @property
    def version(self) -> int:
        """Changes when what was equal before may not be any more."""
        return self.handles.version + self.memory.version + self.regions.version

    # Matching

    def begin(self) -> None:
        """Forget what matched in calls that were not aligned."""
        self._uses.clear()

    def match(self, value: Value, x: Any, y: Any) -> bool:
        """Whether a value of the first trace and one of the second mean the same."""
        matcher = self._matchers[value.manner]
        if not value.many:
            return matcher(x, y)
        if x.__class__ is not tuple or y.__class__ is not tuple:
            return bool(x == y)
        return len(x) == len(y) and all(map(matcher, x, y))

    def settle(self) -> None:
        """The calls are aligned: what matched is the same from now on."""
        for bindings, a, b in self._uses:
            bindings.use(a, b)
        self._uses.clear()

    def _named(self, bindings: Bindings, a: int, b: int) -> bool:
        if bindings.matches(a, b):
            self._uses.append((bindings, a, b))
            return True
        return False

    def _handle(self, x: Any, y: Any) -> bool:
        if x.__class__ is int and y.__class__ is int and x and y:
            return self._named(self.handles, x, y)
        return bool(x == y) or (isinstance(x, bytes) and isinstance(y, bytes))

    def _token(self, x: Any, y: Any) -> bool:
        if x.__class__ is int and y.__class__ is int and x and y:
            return self._named(self.tokens, x, y)
        return bool(x == y)

    def _key(self, x: Any, y: Any) -> bool:
        if isinstance(x, bytes) and isinstance(y, bytes):  # of traces that have them as they were
            return self._named(self.exported, hash(x), hash(y))
        if x.__class__ is int and y.__class__ is int:
            return self._named(self.exported, x, y)
        return bool(x == y)

    def _address(self, x: Any, y: Any) -> bool:
        if is_placed(x) and is_placed(y):
            return bool(x[1] == y[1]) and self._named(self.memory, x[0], y[0])
        if not is_host(x) or not is_host(y):
            return bool(x == y)
        pinned = x[0] in self.regions.births[A]
        if pinned != (y[0] in self.regions.births[B]):
            return False
        if pinned:
            return bool(x[1] == y[1]) and self._named(self.regions, x[0], y[0])
        return bool(x[0]) == bool(y[0])  # where the heap and the stack lie is not the program's choice

    # Objects that come and go

    def made(self, shape: Shape, calls: tuple[Call, Call]) -> None:
        """Aligned calls returned: note what they made."""
        found = self._creations(shape, calls[A]), self._creations(shape, calls[B])
        if not found[A] and not found[B]:
            return
        signatures = self.key(A, shape, calls[A].ins), self.key(B, shape, calls[B].ins)
        for index in found[A].keys() | found[B].keys():
            first, second = found[A].get(index), found[B].get(index)
            if first is not None and second is not None and first[0] is second[0]:
                first[0].make((first[1], second[1]), signatures, calls)
                continue
            for side, own in ((A, first), (B, second)):
                if own is not None:
                    own[0].make_alone(side, own[1], signatures[side], calls[side])

    def made_alone(self, side: int, shape: Shape, call: Call) -> None:
        """A call without a partner returned: note what it made."""
        for bindings, number in self._creations(shape, call).values():
            bindings.make_alone(side, number, self.key(side, shape, call.ins), call)

    def released(self, shape: Shape, a: Call | None, b: Call | None) -> None:
        """Successful calls that release objects."""
        for index, manner in shape.releases:
            x, y = [None if call is None or call.ret != 0 else call.ins[index] for call in (a, b)]
            if manner == HANDLE:
                self.handles.release(_number(x), _number(y))
            else:
                self.regions.release(_region(x), _region(y))
                self.memory.release(_allocation(x), _allocation(y))

    def _creations(self, shape: Shape, call: Call) -> dict[int, tuple[Bindings, int]]:
        """What a call made, by the index of the output."""
        found: dict[int, tuple[Bindings, int]] = {}
        if call.ret is IN_FLIGHT or not call.outs:
            return found
        for value in shape.outs:
            made: Any = call.outs[value.at] if value.created else None
            if value.manner == HANDLE and _number(made):
                found[value.at] = self.handles, made
            elif value.manner == ADDRESS and is_placed(made):
                found[value.at] = self.memory, made[0]
            elif value.manner == ADDRESS and is_host(made) and _number(made[0]):
                found[value.at] = self.regions, made[0]
        return found

    # Keys

    def key(self, side: int, shape: Shape, ins: tuple[Any, ...], weak: bool = False) -> int:
        """A number that is the same for calls that mean the same, as far as is known. ``weak``: it takes no notice of
        which object it is where that is not certain yet."""
        if not shape.names:
            return hash((shape.name, ins))
        values = list(ins)
        for index, manner, many in shape.names:
            value = values[index]
            if not many:
                values[index] = self._part(side, manner, value, weak)
            elif value.__class__ is tuple:
                values[index] = tuple(self._part(side, manner, part, weak) for part in value)
        return hash((shape.name, tuple(values)))

    def _part(self, side: int, manner: str, value: Any, weak: bool) -> Any:
        if manner == HANDLE:
            if value.__class__ is not int:
                return _FOREIGN
            return value and self._object(self.handles, side, value, weak)
        if manner == ADDRESS:
            return self._place(side, value, weak)
        if manner == TOKEN:
            return value and self._object(self.tokens, side, value, weak)
        if manner == KEY:
            return value and self._object(self.exported, side, hash(value), weak)
        if manner == RAW:
            return None if value is None else value if _small(value) else _UNKNOWN
        return None

    def _object(self, bindings: Bindings, side: int, number: int, weak: bool) -> int:
        """The number of the first trace's object, if both traces have it."""
        if weak and not bindings.confirmed(side, number):
            return _NEW
        partner = bindings.partner(side, number)
        return _NEW if partner is None else number if side == A else partner

    def _place(self, side: int, value: Any, weak: bool) -> Any:
        if is_placed(value):
            return self._object(self.memory, side, value[0], weak), value[1]
        if value.__class__ is int:
            return _UNKNOWN, value
        if not is_host(value):
            return value
        if value[0] in self.regions.births[side]:
            return _PINNED, self._object(self.regions, side, value[0], weak), value[1]
        return _PAGEABLE, bool(value[0])

    # For people

    def objects(self, side: int, shape: Shape, call: Call) -> list[tuple[Any, str, Birth | None]]:
        """What a call names: a key that is the same on both sides, a name, and the call that made it."""
        found: list[tuple[Any, str, Birth | None]] = []
        pairs = [(value, call.ins[value.at]) for value in shape.ins]
        if call.outs:
            pairs += [(value, call.outs[value.at]) for value in shape.outs]
        for value, content in pairs:
            for part in content if value.many and content.__class__ is tuple else (content,):
                found += self._named_object(side, value, part)
        return found

    def _named_object(self, side: int, value: Value, content: Any) -> Iterator[tuple[Any, str, Birth | None]]:
        if value.manner == HANDLE and _number(content):
            yield self._entry(self.handles, "handle", side, content, f"{value.kind}#{content}")
        elif value.manner == ADDRESS and is_placed(content):
            number, offset, address = content
            yield self._entry(self.memory, "memory", side, number, f"memory d+{address - offset:#x}")
        elif value.manner == ADDRESS and is_host(content) and content[0] in self.regions.births[side]:
            yield self._entry(self.regions, "region", side, content[0], f"memory h{content[0]}")

    def _entry(self, bindings: Bindings, sort: str, side: int, number: int, name: str) -> tuple[Any, str, Birth | None]:
        first = number if side == A else bindings.partner(B, number)
        key = (sort, A, first) if first is not None else (sort, B, number)
        return key, name, bindings.births[side].get(number)


def _exact(x: Any, y: Any) -> bool:
    if x == y:
        return True
    return isinstance(x, float) and isinstance(y, float) and math.isnan(x) and math.isnan(y)


def _raw(x: Any, y: Any) -> bool:
    if x is None or y is None:
        return x is y
    return bool(x == y) or not (_small(x) or _small(y))


def _small(value: Any) -> bool:
    return not isinstance(value, int) or abs(value) < _POINTER


def _message(x: Any, y: Any) -> bool:
    if isinstance(x, bytes) and isinstance(y, bytes):
        return _HEX.sub(b"0x", x) == _HEX.sub(b"0x", y)
    return bool(x == y)


def _allocation(address: Any) -> int | None:
    return _number(address[0]) if is_placed(address) else None


def _region(address: Any) -> int | None:
    return _number(address[0]) if is_host(address) else None


def _number(value: Any) -> int | None:
    return value if value.__class__ is int else None
