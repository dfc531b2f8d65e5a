"""Threads that are compared with each other, and what was read of them ahead."""

from collections import deque
from collections.abc import Callable, Iterator, Sequence
from heapq import heapify, heappop, heappush
from typing import Any, Final

from cannery.recorder.records import Call
from cannery.replayer.comparison.findings import Finding
from cannery.replayer.comparison.objects import A, B
from cannery.replayer.comparison.spool import Placed, Spool, Store

CONTEXT: Final = 3  # aligned calls before a difference that are shown


class Lane:
    """A thread of the first trace and its counterpart; one of them may be missing.

    ``plan`` says how the calls that were read ahead are aligned: pairs of operation (``=``, ``-``, ``+``) and count.
    ``in_step`` is how many more calls of the same functions are taken for changed ones without a plan;
    ``changed`` is the place of the last changed one.
    ``run`` is the finding that the next call without counterpart belongs to. ``selected`` is the device or context
    that the thread chose last.
    """

    __slots__ = ("before", "changed", "in_step", "index", "plan", "run", "selected", "spools", "threads", "uncompared")

    def __init__(self, index: int, threads: tuple[int | None, int | None], store: Store) -> None:
        self.index = index
        self.threads = threads
        self.spools = Spool(store), Spool(store)
        self.plan: deque[list[Any]] = deque()
        self.before: deque[tuple[Call, Call]] = deque(maxlen=CONTEXT)
        self.in_step = 0
        self.changed = 0
        self.run: Finding | None = None
        self.selected: Any = None
        self.uncompared = 0  # calls beyond the end of a trace that is not complete

    @property
    def paired(self) -> bool:
        return None not in self.threads


class Lanes:
    """Hands out calls: those of the first trace in its own order, those of the second by thread, as they are needed.

    ``alone`` takes the calls of threads that only the second trace has, when they are met.
    """

    def __init__(
        self,
        pairs: Sequence[tuple[int | None, int | None]],
        sources: tuple[Iterator[Placed], Iterator[Placed]],
        alone: Callable[[Lane, Placed], None],
    ) -> None:
        self.store = Store()
        self.all: list[Lane] = []
        self._by_thread: tuple[dict[int, Lane], dict[int, Lane]] = ({}, {})
        self._sources = sources
        self._ready: list[tuple[int, int]] = []  # place of the first call that was read ahead, and lane
        self._alone = alone
        for pair in pairs:
            self._add(pair)

    def _add(self, threads: tuple[int | None, int | None]) -> Lane:
        lane = Lane(len(self.all), threads, self.store)
        self.all.append(lane)
        for side in (A, B):
            thread = threads[side]
            if thread is not None:
                self._by_thread[side][thread] = lane
        return lane

    def lane(self, side: int, thread: int) -> Lane:
        """The lane of a thread."""
        found = self._by_thread[side].get(thread)
        if found is None:
            found = self._add((thread, None) if side == A else (None, thread))
        return found

    def next_first(self) -> tuple[Lane, Placed] | None:
        """The next call of the first trace; None when there are no more."""
        if self._ready:
            lane = self.all[heappop(self._ready)[1]]
            item = lane.spools[A].take()
            if len(lane.spools[A]):
                heappush(self._ready, (lane.spools[A].first()[0], lane.index))
            return lane, item
        item_or_none = next(self._sources[A], None)
        if item_or_none is None:
            return None
        return self.lane(A, item_or_none[1].thread), item_or_none

    def next_second(self, lane: Lane) -> Placed | None:
        """The next call of that lane in the second trace; None when there are no more."""
        if len(lane.spools[B]):
            return lane.spools[B].take()
        for item in self._sources[B]:
            other = self._by_thread[B].get(item[1].thread)
            if other is lane:
                return item
            self._keep(B, other or self.lane(B, item[1].thread), item)
        return None

    def put_back(self, side: int, lane: Lane, item: Placed) -> None:
        """The call that was handed out last is not used yet."""
        spool = lane.spools[side]
        if side == A:
            if len(spool):
                self._ready.remove((spool.first()[0], lane.index))
                heapify(self._ready)
            heappush(self._ready, (item[0], lane.index))
        spool.put_back(item)

    def look(self, side: int, lane: Lane, index: int) -> Call | None:
        """The call at that distance ahead; None when there is none."""
        spool = lane.spools[side]
        while len(spool) <= index:
            item = next(self._sources[side], None)
            if item is None:
                return None
            self._keep(side, self.lane(side, item[1].thread), item)
        return spool[index][1]

    def rest(self) -> Iterator[tuple[Lane, Placed]]:
        """What the second trace still has, when the first has no more."""
        for lane in self.all:
            while len(lane.spools[B]):
                yield lane, lane.spools[B].take()
        for item in self._sources[B]:
            yield self.lane(B, item[1].thread), item

    def _keep(self, side: int, lane: Lane, item: Placed) -> None:
        if side == B and lane.threads[A] is None:
            self._alone(lane, item)
            return
        spool = lane.spools[side]
        if side == A and not len(spool):
            heappush(self._ready, (item[0], lane.index))
        spool.append(item)
