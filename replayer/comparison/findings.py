"""What a comparison found: differences, in groups, the earliest first.

A group is a *cause* and what seems to follow from it: differences of calls that use the same objects. Of the causes the
earliest is the first cause. What is kept is bounded: the causes that are shown, and of what follows how many there
were of what.
"""

from collections import Counter
from collections.abc import Iterable
from typing import Any, Final, NamedTuple

from cannery.recorder.records import Call, Payload
from cannery.replayer.comparison.objects import A, B, Birth

CHANGED: Final = "changed"
MISSING: Final = "missing"
INSERTED: Final = "inserted"
REPLACED: Final = "replaced"
PAYLOAD: Final = "payload"
ORDER: Final = "order"

_CALLS: Final = 5  # of a run of missing or inserted calls that are kept
_FOLLOWING: Final = 5  # numbers of calls that follow from a cause
_GROUPS: Final = 4096  # causes that are told apart; the rest is counted
_OBJECTS: Final = 65536  # objects that are known to be affected

Object = tuple[Any, str, Birth | None]
"""A key, a name, and the call that made it."""


# Which part of a call a value is
ARGUMENT: Final = "argument"
OUTPUT: Final = "output"
RESULT: Final = "return value"
TEXT: Final = ""


class Facet(NamedTuple):
    """One value that differs. ``what`` names it: ``argument count``, ``return value``, ``output free``. ``part`` and
    ``at`` say which value of the call it is: it is written out only when it is shown, since few of many are. With the
    part TEXT, ``a`` and ``b`` are what to show."""

    what: str
    a: Any
    b: Any
    part: str = TEXT
    at: int = 0


class Finding:
    """One difference. ``calls`` are the first calls of each side, ``counts`` how many there are; ``place`` orders
    findings; ``objects`` are what the calls name, by side; ``before`` the aligned calls of the thread before it."""

    __slots__ = (
        "before",
        "calls",
        "counts",
        "facets",
        "group",
        "kind",
        "last",
        "objects",
        "payloads",
        "place",
        "threads",
    )

    def __init__(self, kind: str, place: tuple[int, int], threads: tuple[int | None, int | None]) -> None:
        self.kind = kind
        self.place = place
        self.threads = threads
        self.calls: tuple[list[Call], list[Call]] = ([], [])
        self.counts = [0, 0]
        self.last: list[int | None] = [None, None]  # number of the last call
        self.facets: list[Facet] = []
        self.objects: tuple[list[Object], list[Object]] = ([], [])
        self.payloads: tuple[Payload, Payload] | None = None
        self.before: list[tuple[Call, Call]] = []
        self.group: Group | None = None

    def add(self, side: int, call: Call) -> None:
        """One more call of that side."""
        if self.counts[side] < _CALLS:
            self.calls[side].append(call)
        self.counts[side] += 1
        self.last[side] = call.number

    def replace(self, side: int, instead: Call, call: Call) -> None:
        """Not ``instead`` but ``call`` is the one without counterpart."""
        calls = self.calls[side]
        if instead in calls:
            calls[calls.index(instead)] = call
            if len(calls) == self.counts[side]:
                calls.sort(key=lambda known: known.number)
                self.last[side] = calls[-1].number

    @property
    def number(self) -> int:
        """How many calls of the longer side it is about."""
        return max(*self.counts, 1)


class Group:
    """A cause and what follows: ``following`` counts findings by the object that they share with the cause,
    ``examples`` are numbers of their calls."""

    __slots__ = ("cause", "examples", "following")

    def __init__(self, cause: Finding) -> None:
        self.cause = cause
        self.following: Counter[str] = Counter()
        self.examples: list[tuple[int | None, int | None]] = []

    @property
    def place(self) -> tuple[int, int]:
        return self.cause.place


class Findings:
    """Takes findings as they are made. ``total`` counts differences: calls that are missing, inserted or not the same,
    payloads, orders. ``timed`` counts results that differ because they depend on time. ``fold``: without it, every
    finding is a cause."""

    def __init__(self, fold: bool = True) -> None:
        self._fold = fold
        self.groups: list[Group] = []
        self.total = 0
        self.ungrouped = 0  # differences beyond the groups that are kept
        self.kinds: Counter[str] = Counter()
        self.timed = 0
        self.first_timed: tuple[Call, Call, Facet] | None = None
        self._affected: dict[Any, Group] = {}
        self._creations: dict[tuple[int, int], Finding] = {}  # by side and number of a call without counterpart

    def add(self, finding: Finding, objects: Iterable[Object]) -> bool:
        """Put a finding into the group that it follows from, or make it a cause; True when it is one."""
        self.count(finding.kind)
        named = {key: name for key, name, _ in sorted(objects, key=_rank)}
        if not named:
            named[_what(finding)] = f"calls of {_function(finding)}"
        for key, name in named.items() if self._fold else ():
            group = self._affected.get(key)
            if group is not None and group.place <= finding.place:
                group.following[name] += 1
                if len(group.examples) < _FOLLOWING:
                    group.examples.append(_numbers(finding))
                finding.group = group
                self._mark(named, group)
                return False
        if len(self.groups) >= _GROUPS:
            self.ungrouped += 1
            return False
        group = finding.group = Group(finding)
        self.groups.append(group)
        self._mark(named, group)
        return True

    def extend(self, finding: Finding, side: int, call: Call, objects: Iterable[Object]) -> None:
        """One more call in a row of those without counterpart."""
        self.count(finding.kind)
        finding.add(side, call)
        if finding.group is not None:
            self._mark([key for key, _, _ in objects], finding.group)

    def count(self, kind: str) -> None:
        """One more difference."""
        self.total += 1
        self.kinds[kind] += 1

    def created(self, finding: Finding, side: int, call: Call) -> None:
        """A call of a finding made objects: which of several it is may turn out later (:meth:`moved`)."""
        if len(self._creations) < _OBJECTS:
            self._creations[side, call.number] = finding

    def moved(self, side: int, instead: Call, call: Call) -> None:
        """Not ``instead`` but ``call`` is the one without counterpart."""
        finding = self._creations.pop((side, instead.number), None)
        if finding is not None:
            finding.replace(side, instead, call)
            self._creations[side, call.number] = finding

    def differs_in_time(self, a: Call, b: Call, facet: Facet) -> None:
        """A result differs that depends on time."""
        self.timed += 1
        if self.first_timed is None:
            self.first_timed = a, b, facet

    def ordered(self) -> list[Group]:
        """The groups, the earliest cause first."""
        return sorted(self.groups, key=lambda group: group.place)

    def _mark(self, marks: Iterable[Any], group: Group) -> None:
        for mark in marks:
            if len(self._affected) < _OBJECTS:
                self._affected.setdefault(mark, group)


def _rank(named: Object) -> int:
    """Streams say more than the memory that they work on."""
    return not named[1].startswith("stream")


def _what(finding: Finding) -> Any:
    """What a finding is about that names no object."""
    return finding.kind, _function(finding), tuple(facet.what for facet in finding.facets)


def _function(finding: Finding) -> str:
    calls = finding.calls[A] or finding.calls[B]
    return calls[0].function if calls else ""


def _numbers(finding: Finding) -> tuple[int | None, int | None]:
    first, second = ((calls[0].number if calls else None) for calls in finding.calls)
    return first, second
