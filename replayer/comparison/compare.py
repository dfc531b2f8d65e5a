"""Compares the streams of two processes: goes through the calls of the first in its order, with their counterparts.

As long as both sides' calls mean the same, a pair costs a look into a table of pairs that were found equal before.
Where a thread's calls part, :mod:`cannery.replayer.comparison.plan` aligns them again.
"""

from collections.abc import Callable, Iterable, Sequence
from typing import Any, Final

from cannery.recorder.records import Call
from cannery.recorder.schema import Schema
from cannery.replayer.comparison.findings import (
    ARGUMENT,
    CHANGED,
    INSERTED,
    MISSING,
    ORDER,
    OUTPUT,
    PAYLOAD,
    REPLACED,
    RESULT,
    Facet,
    Finding,
    Findings,
)
from cannery.replayer.comparison.identities import Identities
from cannery.replayer.comparison.lanes import Lane, Lanes
from cannery.replayer.comparison.objects import A, B
from cannery.replayer.comparison.order import Accessed, Order
from cannery.replayer.comparison.payloads import Payloads, Unequal
from cannery.replayer.comparison.plan import Planner
from cannery.replayer.comparison.shapes import EXACT, HANDLE, Shape, Shapes, Value, is_host, is_placed
from cannery.replayer.comparison.side import Side
from cannery.replayer.comparison.spool import IN_FLIGHT, Placed

_REMEMBERED: Final = 16384  # pairs of calls that were found equal
_TOLD: Final = 8192  # calls between two reports of progress
_RECENT: Final = 256  # calls since the last changed one
_EVERYWHERE: Final = 1 << 62

Progress = Callable[[int], None]


class Comparison:
    """``threads`` pairs the threads. ``whole`` says which traces go to their process's end, as far as threads without
    counterpart are concerned. ``progress`` is told how many calls of the first trace were read."""

    def __init__(
        self,
        schemas: tuple[Schema, Schema],
        shapes: Shapes,
        sides: tuple[Side, Side],
        threads: Sequence[tuple[int | None, int | None]],
        whole: tuple[bool, bool],
        payloads: Payloads | None,
        findings: Findings,
        progress: Progress | None = None,
    ) -> None:
        self.findings = findings
        self.identities = Identities(self.findings.moved)
        self.aligned = 0
        self.payloads = payloads
        self.shapes = shapes
        self._sides = sides
        self._whole = whole
        self._progress = progress
        self._lanes = Lanes(threads, (sides[A].items(), sides[B].items()), self._inserted)
        self._planner = Planner(
            self._lanes, self.identities, self.shapes, lambda side: sides[side].incomplete is not None
        )
        both = sum(1 for lane in self._lanes.all if lane.paired)
        self._order = Order(schemas[A]) if both > 1 else None
        self._equal: dict[Any, Any] = {}
        self._version = 0
        self._place = -1  # of the present call in the first trace
        if payloads is not None:
            payloads.report = self._payload

    # Going through

    def skip(self, call: Call) -> None:
        """A call that both traces have, byte by byte, as they have all before it."""
        lane, shape = self._lanes.lane(A, call.thread), self.shapes[call.function]
        if shape.plain or call[3:7] in self._equal:
            self.aligned += 1
            lane.before.append((call, call))
            if shape.copy is not None and self.payloads is not None:
                self.payloads.aligned(self._place, call, call)
            return
        self._differing(shape, call, call)
        self._aligned(lane, shape, (self._place, call), (self._place, call), [])

    def leave_out(self, side: int, call: Call) -> None:
        """A call that takes no part."""
        if self.payloads is not None:
            self.payloads.alone(side, call)

    def run(self) -> None:
        """Compare everything."""
        lanes, shapes = self._lanes, self.shapes
        remembered = self._equal
        left = _TOLD
        while (found := lanes.next_first()) is not None:
            lane, item = found
            place, call = item
            self._place = place
            left -= 1
            if not left:
                left = _TOLD
                if self._progress is not None:
                    self._progress(self._sides[A].calls)
            if lane.plan or not lane.paired:
                self._follow_plan(lane, item)
                continue
            other = lanes.next_second(lane)
            if other is None:
                self._missing(lane, item)
                continue
            twin = other[1]
            mine, theirs = call[3:7], twin[3:7]  # function, ret, ins, outs
            shape = shapes[call.function]
            if (mine == theirs and shape.plain) or remembered.get(theirs) == mine:
                self.aligned += 1
                lane.before.append((call, twin))
                lane.run = None
                if shape.copy is not None and self.payloads is not None:
                    self.payloads.aligned(place, call, twin)
                if self._order is not None:
                    self._check_order(self._order, lane, shape, other[0], (call, twin))
                continue
            if call.function == twin.function:
                differing = self._differing(shape, call, twin)
                if not differing or self._in_step(lane, place):
                    self._aligned(lane, shape, item, other, differing)
                    continue
            lanes.put_back(A, lane, item)
            lanes.put_back(B, lane, other)
            self._planner.plan(lane)
        self._finish()

    def _in_step(self, lane: Lane, place: int) -> bool:
        """Whether the lane has had changed calls in a row until just now, so that this will be another. Another look
        ahead for each of them would cost more than all the rest."""
        if not lane.in_step or place - lane.changed > _RECENT:
            return False
        lane.in_step -= 1
        lane.changed = place
        return True

    def _follow_plan(self, lane: Lane, item: Placed) -> None:
        plan = lane.plan
        while plan and plan[0][0] == "+":
            self._insert_planned(lane)
        if not plan or plan[0][0] == "-":
            if plan:
                _count_down(lane)
            self._missing(lane, item)
            return
        _count_down(lane)
        other = lane.spools[B].take()
        if item[1].function != other[1].function:  # keys are hashes: two may collide
            self._missing(lane, item)
            self._inserted(lane, other)
            return
        shape = self.shapes[item[1].function]
        self._aligned(lane, shape, item, other, self._differing(shape, item[1], other[1]))

    def _insert_planned(self, lane: Lane) -> None:
        for _ in range(lane.plan.popleft()[1]):
            self._inserted(lane, lane.spools[B].take())

    def _finish(self) -> None:
        for lane in self._lanes.all:
            while lane.plan and lane.plan[0][0] == "+":
                self._insert_planned(lane)
        self._place += 1
        for lane, item in self._lanes.rest():
            self._inserted(lane, item)
        if self.payloads is not None:
            self.payloads.finish()
        self._lanes.store.close()

    @property
    def threads(self) -> list[tuple[int | None, int | None]]:
        """The pairs of threads."""
        return [lane.threads for lane in self._lanes.all]

    @property
    def uncompared(self) -> int:
        """Calls beyond the end of a trace that is not complete."""
        return sum(lane.uncompared for lane in self._lanes.all)

    # Aligned calls

    def _differing(self, shape: Shape, a: Call, b: Call) -> list[Value]:
        """The arguments that do not mean the same."""
        identities = self.identities
        identities.begin()
        mine, theirs = a.ins, b.ins
        match = identities.match
        return [value for value in shape.ins if not match(value, mine[value.at], theirs[value.at])]

    def _aligned(self, lane: Lane, shape: Shape, item: Placed, other: Placed, differing: list[Value]) -> None:
        """Two calls stand for each other. What of their arguments matched was just noted by the identities."""
        a, b = item[1], other[1]
        if differing:
            lane.changed = item[0]
        facets = [
            Facet(f"argument {value.name}", a.ins[value.at], b.ins[value.at], ARGUMENT, value.at) for value in differing
        ]
        timed = self._results(shape, a, b, facets)
        self.identities.settle()
        self._both(lane, shape, a, b)
        self.aligned += 1
        if facets:
            finding = self._new(CHANGED, lane, (a, b))
            finding.facets = facets
            self._report(finding, alike=len(facets) == len(differing) and all(v.manner == EXACT for v in differing))
        elif not timed and not shape.creates and a.ret is not IN_FLIGHT:
            self._remember(a, b)
        if self.payloads is not None:  # after the arguments: other bytes may follow from them
            self.payloads.aligned(self._place, a, b)
        lane.before.append((a, b))
        lane.run = None
        if self._order is not None:
            self._check_order(self._order, lane, shape, other[0], (a, b))

    def _both(self, lane: Lane, shape: Shape, a: Call, b: Call) -> None:
        """What exists after two aligned calls, and what does not any more."""
        if shape.creates:
            self.identities.made(shape, (a, b))
        if shape.releases:
            self.identities.released(shape, a, b)
        if shape.name in ("aclrtSetDevice", "aclrtSetCurrentContext") and a.ret == 0:
            lane.selected = (shape.name, a.ins[0])

    def _remember(self, a: Call, b: Call) -> None:
        if self.identities.version != self._version:
            self._version = self.identities.version
            self._equal.clear()
        elif len(self._equal) >= _REMEMBERED:
            self._equal.clear()
        self._equal[b[3:7]] = a[3:7]

    def _results(self, shape: Shape, a: Call, b: Call, facets: list[Facet]) -> bool:
        """Add what differs in the results; whether something differs that depends on time."""
        if a.supported != b.supported:
            words = ["implemented" if call.supported else "not implemented" for call in (a, b)]
            facets.append(Facet("support", words[A], words[B]))
        if a.ret is IN_FLIGHT or b.ret is IN_FLIGHT:
            if a.ret is not b.ret:
                facets.append(Facet("end", a.ret, b.ret, RESULT))
            return False
        if not self.identities.match(shape.result, a.ret, b.ret):
            facets.append(Facet(RESULT, a.ret, b.ret, RESULT))
        timed = False
        for value in shape.outs:
            mine, theirs = a.outs[value.at], b.outs[value.at]
            if value.created and mine is not None and theirs is not None:
                continue  # objects that both calls made are each other's counterparts
            if (mine is None and theirs is None) or self.identities.match(value, mine, theirs):
                continue
            facet = Facet(f"output {value.name}", mine, theirs, OUTPUT, value.at)
            if value.timed:
                timed = True
                self.findings.differs_in_time(a, b, facet)
            else:
                facets.append(facet)
        return timed

    # Calls without counterpart

    def _missing(self, lane: Lane, item: Placed) -> None:
        self._alone(A, lane, item)

    def _inserted(self, lane: Lane, item: Placed) -> None:
        self._alone(B, lane, item)

    def _alone(self, side: int, lane: Lane, item: Placed) -> None:
        call = item[1]
        shape = self.shapes[call.function]
        if shape.creates:
            self.identities.made_alone(side, shape, call)
        if shape.releases:
            self.identities.released(shape, *((call, None) if side == A else (None, call)))
        if self.payloads is not None:
            self.payloads.alone(side, call)
        if not lane.plan and self._unknown(1 - side, lane):
            lane.uncompared += 1
            return
        objects = self.identities.objects(side, shape, call)
        finding = lane.run
        if finding is None:
            finding = lane.run = self._new(MISSING if side == A else INSERTED, lane, (call, None)[:: 1 - 2 * side])
            finding.objects[side].extend(objects)
            self.findings.add(finding, objects)
        else:
            if not finding.counts[side]:
                finding.kind = REPLACED
                finding.objects[side].extend(objects)
            self.findings.extend(finding, side, call, objects)
        if shape.creates:
            self.findings.created(finding, side, call)

    def _unknown(self, side: int, lane: Lane) -> bool:
        """Whether what that side has no more of may lie beyond the end of its trace."""
        return self._sides[side].incomplete is not None if lane.paired else not self._whole[side]

    # Between calls

    def _payload(self, found: Unequal) -> None:
        calls: tuple[Call | None, Call | None] = (None, None) if found.pair is None else found.pair.calls
        finding = Finding(PAYLOAD, (self._place if found.pair is None else found.pair.place, 1), _threads(calls))
        self._fill(finding, calls)
        finding.payloads = found.payloads
        finding.facets = [Facet(f"bytes {found.kind}", "", "")]
        self._report(finding)

    def _check_order(self, order: Order, lane: Lane, shape: Shape, place: int, calls: tuple[Call, Call]) -> None:
        a, by = calls[A], Accessed(self._place, calls)
        for access in order.accesses.get(shape.name, ()):
            handle = a.ins[access.at]
            key = (HANDLE, handle) if handle else (HANDLE, 0, lane.selected)
            self._swapped(order.use(key, access.changes, place, by), calls)
        if a.ret != 0:
            return
        if shape.copy is not None and shape.name in order.direct:
            count = a.ins[shape.copy.size]
            for index, changes in ((shape.copy.destination, True), (shape.copy.source, False)):
                self._touch(order, a.ins[index], count, changes, place, by)
        elif shape.name.startswith("aclrtFree"):
            for index, _ in shape.releases:
                self._touch(order, a.ins[index], _EVERYWHERE, True, place, by)

    def _touch(self, order: Order, address: Any, count: int, changes: bool, place: int, by: Accessed) -> None:
        if is_host(address):
            memory, start = ("region", address[0]), address[1]
        elif is_placed(address):
            memory, start = ("memory", address[0]), address[1]
        else:
            return
        self._swapped(order.touch(memory, start, start + count, changes, place, by), by.calls)

    def _swapped(self, earlier: Accessed | None, calls: tuple[Call, Call]) -> None:
        if earlier is None:
            return
        finding = Finding(ORDER, (earlier.place, 0), _threads(calls))  # before what differs in the earlier call
        for pair in (earlier.calls, calls):
            self._fill(finding, pair)
        mine, theirs = (_order(side, earlier.calls, calls) for side in (A, B))
        finding.facets = [Facet("order", mine, theirs)]
        self._report(finding)

    # Findings

    def _new(self, kind: str, lane: Lane, calls: Sequence[Call | None]) -> Finding:
        finding = Finding(kind, (self._place, kind != INSERTED), lane.threads)
        for side, call in enumerate(calls):
            if call is not None:
                finding.add(side, call)
        finding.before = list(lane.before)
        return finding

    def _fill(self, finding: Finding, calls: Iterable[Call | None]) -> None:
        for side, call in enumerate(calls):
            if call is not None:
                finding.add(side, call)

    def _report(self, finding: Finding, alike: bool = False) -> None:
        """``alike``: the calls of both sides name the same objects, so that those of one side tell the group."""
        for side in (A,) if alike else (A, B):
            self._name_objects(side, finding)
        cause = self.findings.add(finding, finding.objects[A] + finding.objects[B])
        if cause and alike:
            self._name_objects(B, finding)

    def _name_objects(self, side: int, finding: Finding) -> None:
        for call in finding.calls[side]:
            finding.objects[side].extend(self.identities.objects(side, self.shapes[call.function], call))


def _count_down(lane: Lane) -> None:
    step = lane.plan[0]
    step[1] -= 1
    if not step[1]:
        lane.plan.popleft()


def _threads(calls: Sequence[Call | None]) -> tuple[int | None, int | None]:
    first, second = (None if call is None else call.thread for call in calls)
    return first, second


def _order(side: int, earlier: tuple[Call, Call], later: tuple[Call, Call]) -> str:
    first, second = (earlier[side], later[side]) if side == A else (later[side], earlier[side])
    return f"#{first.number} T{first.thread} {first.function}, then #{second.number} T{second.thread} {second.function}"
