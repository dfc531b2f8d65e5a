"""Where a thread's calls part: reads ahead, finds where they agree again, and aligns what lies between.

The result is the lane's *plan*. Keys stand for what is known of objects at this point; those that are made further
ahead are told apart by nothing. Where a call that makes an object is one too many, the objects after it
have the wrong partners until they are used; a second, *weak* search that takes no notice of such objects finds that.
"""

from collections.abc import Callable
from typing import Any, Final

from cannery.replayer.comparison.align import RUN, Grams, Meeting, Search, align, choose, gaps
from cannery.replayer.comparison.identities import Identities
from cannery.replayer.comparison.lanes import Lane, Lanes
from cannery.replayer.comparison.objects import A, B
from cannery.replayer.comparison.shapes import Shape

AHEAD: Final = 1 << 18
"""Calls of a thread that are looked at to find where two traces agree again. A longer block that only one trace has is
reported as replaced calls."""

IN_STEP: Final = 2048
"""Where calls do not agree for long, but that many in a row are calls of the same functions, they are changed calls.
So are the next, as long as their functions agree and not many are equal."""

_TRUSTED: Final = 16384  # changed calls without another look ahead
_KNOWN: Final = 16384  # calls whose keys are remembered
_WEAK: Final = 1024  # calls that the weak search looks at: a use of the objects is seldom far

Keys = tuple["Ahead", "Ahead"]


class Ahead:
    """The calls ahead on one side of a lane, as keys. They must be asked for one after the other."""

    __slots__ = ("_identities", "_known", "_lane", "_lanes", "_shapes", "_side", "_weak", "functions", "making")

    def __init__(
        self, lanes: Lanes, lane: Lane, side: int, identities: Identities, shapes: dict[str, Shape], weak: bool
    ) -> None:
        self._lanes = lanes
        self._lane = lane
        self._side = side
        self._identities = identities
        self._shapes = shapes
        self._weak = weak
        self._known: dict[Any, int] = {}
        self.functions: list[str] = []
        self.making: int | None = None  # index of the first call that makes objects or memory

    def key(self, index: int) -> int | None:
        """The key of the call at that distance; None when there is none."""
        call = self._lanes.look(self._side, self._lane, index)
        if call is None:
            return None
        function, ins = call.function, call.ins
        shape = self._shapes[function]
        found = self._known.get((function, ins))
        if found is None:
            if len(self._known) >= _KNOWN:
                self._known.clear()
            found = self._known[function, ins] = self._identities.key(self._side, shape, ins, self._weak)
        self.functions.append(function)
        if shape.creates and self.making is None:
            self.making = index
        return found

    def makes(self, before: int) -> bool:
        """Whether one of the first calls makes objects or memory."""
        return self.making is not None and self.making < before


class Planner:
    """Makes plans for lanes. ``incomplete`` says whether a side's trace ends before its process did; that is known
    once its end was reached."""

    def __init__(
        self, lanes: Lanes, identities: Identities, shapes: dict[str, Shape], incomplete: Callable[[int], bool]
    ) -> None:
        self._incomplete = incomplete
        self._lanes = lanes
        self._identities = identities
        self._shapes = shapes

    def plan(self, lane: Lane) -> None:
        """Align the calls ahead, up to where they have agreed for a while. Both sides have at least one call."""
        lane.in_step = 0
        keys = self._keys(lane, weak=False)
        grams = _grams(keys)
        meeting = _search(keys, grams, AHEAD)
        limit = _WEAK if meeting is None else min(max(meeting), _WEAK)
        if any(ahead.makes(limit) for ahead in keys):
            other_keys = self._keys(lane, weak=True)
            other_grams = _grams(other_keys)
            other = _search(other_keys, other_grams, limit - 1)
            if other is not None and any(ahead.makes(max(other)) for ahead in other_keys):
                meeting, keys, grams = other, other_keys, other_grams
        if meeting is None:
            count = min(*(len(ahead.functions) for ahead in keys))
            if _in_step(keys, count):
                _add(lane, "=", count)
                lane.in_step = _TRUSTED
                return
            meeting = Meeting(*(min(len(ahead.functions), AHEAD) for ahead in keys))
        self._make(lane, meeting, keys, grams)

    def _make(self, lane: Lane, meeting: Meeting, keys: Keys, grams: tuple[Grams, Grams]) -> None:
        """Fill the plan: the gap before the meeting, then the calls that are known to agree."""
        known = [gram.keys(count) for gram, count in zip(grams, meeting, strict=True)]
        done = 0
        for start_a, end_a, start_b, end_b in gaps(align(known[A], known[B]), meeting.a, meeting.b):
            _add(lane, "=", start_a - done)
            self._gap(lane, keys[A].functions[start_a:end_a], keys[B].functions[start_b:end_b])
            done = end_a
        _add(lane, "=", meeting.a - done)
        run = min(len(keys[A].functions) - meeting.a, len(keys[B].functions) - meeting.b, RUN)
        if run:
            _add(lane, "=", run)
        elif (
            lane.plan[-1][0] != "="
            and self._incomplete(A if lane.plan[-1][0] == "+" else B)
            and (len(lane.plan) < 2 or lane.plan[-2][0] == "=")
        ):
            lane.plan.pop()  # what the other side would have there was not recorded

    def _gap(self, lane: Lane, mine: list[str], theirs: list[str]) -> None:
        """Calls of one function in the same order are changed calls; the rest is missing or inserted."""
        blocks = align([hash(name) for name in mine], [hash(name) for name in theirs]) if mine and theirs else []
        done = 0
        for start_a, end_a, start_b, end_b in gaps(blocks, len(mine), len(theirs)):
            _add(lane, "=", start_a - done)
            _add(lane, "-", end_a - start_a)
            _add(lane, "+", end_b - start_b)
            done = end_a
        _add(lane, "=", len(mine) - done)

    def _keys(self, lane: Lane, weak: bool) -> Keys:
        first, second = (Ahead(self._lanes, lane, side, self._identities, self._shapes, weak) for side in (A, B))
        return first, second


def _grams(keys: Keys) -> tuple[Grams, Grams]:
    return Grams(keys[A].key, RUN), Grams(keys[B].key, RUN)


def _search(keys: Keys, grams: tuple[Grams, Grams], limit: int) -> Meeting | None:
    """The nearest meeting with a cost up to the limit; None when there is none, or the calls seem to be changed."""
    search = Search(*grams)
    for cost in range(limit + 1):
        meetings = search.step()
        if meetings:
            mine, theirs = (ahead.functions[:1] for ahead in keys)
            return choose(meetings, mine == theirs)
        if cost == IN_STEP and _in_step(keys, cost):
            return None
    return None


def _in_step(keys: Keys, count: int) -> bool:
    """Whether the next calls are calls of the same functions in the same order."""
    return keys[A].functions[:count] == keys[B].functions[:count]


def _add(lane: Lane, operation: str, count: int) -> None:
    if not count:
        return
    if lane.plan and lane.plan[-1][0] == operation:
        lane.plan[-1][1] += count
    else:
        lane.plan.append([operation, count])
