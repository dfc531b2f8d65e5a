"""Whether queued work completes without a further action of the host: walks the queues with virtual completions."""

from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING

from cannery.runtime.kept import Kept
from cannery.runtime.tasks import Gated, RecordWait, Task

if TYPE_CHECKING:
    from cannery.runtime.objects import Stream


class Walk:
    """What would have happened. ``done``: numbers of records; ``signalled``: handles of events; ``notified``: how often
    a notify was recorded; ``taken``: by stream and notify, how many of these its waits had; ``values``: by address,
    what value writes put there; ``blurred``: other tasks wrote to device memory; ``counts``: by counting notify, the
    numbers that it had."""

    __slots__ = ("_heads", "_known", "_lanes", "blurred", "counts", "done", "notified", "signalled", "taken", "values")

    def __init__(self) -> None:
        self.done: set[int] = set()
        self.signalled: set[int] = set()
        self.notified: dict[int, int] = {}
        self.taken: dict[tuple[int, int], int] = {}
        self.values: dict[int, int] = {}
        self.blurred = False
        self.counts: dict[int, list[int]] = {}
        self._known: set[int] = set()
        self._lanes: list[Iterator[Task]] = []
        self._heads: list[Task | None] = []

    def counted(self, handle: int, now: int) -> list[int]:
        """The numbers that a counting notify had, which has the number ``now`` before the walk."""
        return self.counts.setdefault(handle, [now])

    def visit(self, stream: "Stream") -> None:
        """What is queued on that stream may happen too."""
        if stream.handle not in self._known:
            self._known.add(stream.handle)
            lane = iter(stream.queue)
            self._lanes.append(lane)
            self._heads.append(next(lane, None))

    def completes(self, target: Task) -> bool:
        """Whether the target would be done at the end."""
        heads = self._heads
        self.visit(target.stream)
        moved = True
        while moved:
            moved = False
            for index, lane in enumerate(self._lanes):
                task = heads[index]
                while task is not None:
                    if isinstance(task, Gated) and not task.certain() and not task.may_open(self):
                        break
                    if task is target:
                        return True
                    task.happened(self)
                    heads[index] = task = next(lane, None)
                    moved = True
        return False

    def before(self) -> list[Task]:
        """What has to run before the host can act on what is in the way at the end."""
        firsts = [head.before() for head in self._heads if isinstance(head, Gated)]
        return [first for first in firsts if first is not None and not first.done]


def reachable(target: Task, before: list[Task] | None = None) -> bool:
    """Whether the target completes without a further action of the host. If not, ``before`` gets tasks that do, and
    have to before the host can act (:meth:`Gated.before`).

    Not considered are resets, other streams that wait for the same notify, and what tasks other than value writes put
    where a wait for a value looks, so the answer may be yes where one of them overtakes a wait; then the work that
    leads there runs early, and the wait goes on. Limits are the host's: what ends by its limit alone is not reachable.
    """
    for task in target.stream.queue:
        if isinstance(task, Gated) and not task.certain():
            walk = Walk()
            if walk.completes(target):
                return True
            if before is not None:
                before += walk.before()
            return False
        if task is target:
            return True
    return False


_DEEP = 16  # streams that wait for each other


class Hold(Kept):
    """Why a target is not reachable: ``gate`` is closed, and nothing that is queued opens it. ``tasks`` are what would
    have to be done behind it: the target, and records that lead from stream to stream."""

    __slots__ = ("gate", "tasks")

    def __init__(self, gate: Gated, tasks: list[Task]) -> None:
        self.gate = gate
        self.tasks = tasks

    def lasts(self) -> bool:
        """Whether it is as it was: cheaper than asking again whether the target is reachable."""
        for task in self.tasks:
            if task.done:
                return False
        return _shut(self.gate)


def hold(targets: Sequence[Task]) -> Hold | None:
    """What holds one of the targets, where that is easily told."""
    for target in targets:
        found = None if target.done else _hold(target)
        if found is not None:
            return found
    return None


def _hold(target: Task) -> Hold | None:
    tasks = [target]
    while len(tasks) <= _DEEP:
        gate = _first_gate(tasks[-1])
        if gate is None or not gate.cheap:
            return None
        if _shut(gate):
            return Hold(gate, tasks)
        if not isinstance(gate, RecordWait) or gate.record is None or gate.record.done:
            return None
        tasks.append(gate.record)
    return None


def _first_gate(target: Task) -> Gated | None:
    """The first gate before the target on its stream that is closed, or may be."""
    for task in target.stream.queue:
        if isinstance(task, Gated) and (not task.cheap or task.closed()):
            return task
        if task is target:
            return None
    return None


def _shut(gate: Gated) -> bool:
    if gate.done or not gate.closed() or gate.needs():
        return False
    first = gate.before()
    return first is None or first.done
