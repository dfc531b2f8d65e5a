"""Order between threads, where it means something.

Each thread's calls are compared in their own order. Between threads order counts only where one call changes what the
other uses: then the two cannot be swapped without another meaning (docs/diff.md has the rule with its reasons).
"""

from typing import Any, Final, NamedTuple

from cannery.recorder.records import Call
from cannery.recorder.schema import FunctionForm, Schema
from cannery.replayer.comparison.shapes import POLLED, copy_of

LOOKS: Final = "looks"
CHANGES: Final = "changes"

_LOOKERS: Final = ("aclrtSynchronize", "aclrtGet", "aclrtStreamGet", "aclrtEventElapsedTime", "aclrtEventGetTimestamp")
"""Beginnings of the names of functions that change nothing they name."""

_ONLY_LOOKED_AT: Final = {("aclrtStreamWaitEvent", "event")}
_UNORDERED_KINDS: Final = frozenset({"context", "device"})
"""Kinds that calls select, and do not change: only their end is ordered."""

_RANGES: Final = 64  # ranges of one allocation that are told apart; more become one


class Access(NamedTuple):
    """A handle parameter of a function: what the call does to the object."""

    at: int
    changes: bool


class Accessed(NamedTuple):
    """Two aligned calls, and the place of the first in its trace."""

    place: int
    calls: tuple[Call, Call]


class _Last:
    """The latest accesses to an object, by their place in the second trace."""

    __slots__ = ("change", "changer", "look", "looker")

    def __init__(self) -> None:
        self.change = self.look = -1
        self.changer: Accessed | None = None
        self.looker: Accessed | None = None

    def access(self, changes: bool, place: int, by: Accessed) -> Accessed | None:
        """The earlier call that came later in the second trace, if there is one."""
        found = None
        if place < self.change:
            found = self.changer
        elif changes and place < self.look:
            found = self.looker
        if changes:
            if place > self.change:
                self.change, self.changer = place, by
        elif place > self.look:
            self.look, self.looker = place, by
        return found


def accesses_of(schema: Schema) -> dict[str, tuple[Access, ...]]:
    """What calls of each function do to the objects that they name."""
    found = {}
    for form in schema.functions:
        if form.name in POLLED:
            continue  # how often and when somebody asks is a matter of time
        looks = form.name.startswith(_LOOKERS)
        accesses = []
        for index, param in enumerate(form.params):
            if param.into != "handle":
                continue
            if param.role == "released_handle":
                accesses.append(Access(index, True))
            elif param.kind not in _UNORDERED_KINDS:
                accesses.append(Access(index, not looks and (form.name, param.name) not in _ONLY_LOOKED_AT))
            else:
                accesses.append(Access(index, False))
        if accesses:
            found[form.name] = tuple(accesses)
    return found


class Order:
    """Follows the accesses of one pair of processes, in the order of the first trace.

    ``place`` is always that in the second trace. The answers are accesses that came before the present one in the
    first trace only. Calls of one thread are never swapped: their order was compared.
    """

    def __init__(self, schema: Schema) -> None:
        self.accesses = accesses_of(schema)
        self.direct = {form.name for form in schema.functions if _is_direct(form)}
        self._objects: dict[Any, _Last] = {}
        self._ranges: dict[Any, dict[tuple[int, int], _Last]] = {}

    def use(self, key: Any, changes: bool, place: int, by: Accessed) -> Accessed | None:
        """A call names an object."""
        last = self._objects.get(key)
        if last is None:
            last = self._objects[key] = _Last()
        return last.access(changes, place, by)

    def touch(self, memory: Any, start: int, end: int, changes: bool, place: int, by: Accessed) -> Accessed | None:
        """A call that is done when it returns reads or writes bytes of an allocation."""
        ranges = self._ranges.setdefault(memory, {})
        found = None
        for (first, last), known in ranges.items():
            if first < end and start < last:
                if (first, last) == (start, end):
                    found = found or known.access(changes, place, by)
                elif place < known.change:
                    found = found or known.changer
                elif changes and place < known.look:
                    found = found or known.looker
        if (start, end) not in ranges:
            if len(ranges) >= _RANGES:
                start, end = min(first for first, _ in ranges), max(last for _, last in ranges)
                ranges.clear()
            ranges[start, end] = _Last()
            ranges[start, end].access(changes, place, by)
        return found

    def forget(self, key: Any) -> None:
        """An object is gone for good."""
        self._objects.pop(key, None)
        self._ranges.pop(key, None)


def _is_direct(form: FunctionForm) -> bool:
    copy = copy_of(form)
    return copy is not None and copy.stream is None
