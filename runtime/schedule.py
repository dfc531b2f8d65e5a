"""When queued work runs. A schedule is a policy object; every policy keeps the order that the API promises: the
tasks of a stream one after the other, and a wait after the record it waits for.

Times here are device times: monotonic time plus ``machine.skip``, which grows when somebody waits for work that
nothing outside the device can hold up, so that nobody sleeps for simulated time. The limits of waits are the exception:
what another thread or process could still release expires in monotonic time.

This module has what all policies share, and ``asap``: what can run runs, streams side by side; tasks complete in the
order of (finish, number). ``schedule_serial.py`` has the policies that look for missing synchronisation.
"""

from collections.abc import Iterator, Sequence
from heapq import heapify, heappop, heappush
from typing import TYPE_CHECKING, Final

from cannery.runtime.notifies import NotifyRecord, NotifyWait
from cannery.runtime.tasks import EventWait, Gated, Record, SignalRecord, Task

if TYPE_CHECKING:
    from cannery.runtime.machine import Machine
    from cannery.runtime.objects import Stream

FAR: Final = 1 << 62
_FEW: Final = 64


class Schedule:
    """What the machine asks of a policy. ``count`` numbers the tasks.

    ``limits`` is a heap of the waits that have one and came to the head of their stream, with the monotonic times at
    which they expire. Those that ended stay in it until it has ``sweep`` entries, unless they come first.
    """

    __slots__ = ("count", "limits", "machine", "sweep")

    def __init__(self, machine: "Machine") -> None:
        self.machine = machine
        self.count = 0
        self.limits: list[tuple[int, int, Gated]] = []
        self.sweep = _FEW

    def submit(self, task: Task) -> None:
        """Hand a task to its stream, the last thing that a call does. The caller has set all but ``number``, ``done``
        and ``finish``.

        Raises:
            Refused: what has the stream's tasks instead of its queue does not take this one (``lanes.py``).
        """
        lane = task.stream.lane
        if lane is None:
            self.queue(task)
        else:
            lane.check(self.machine, task)
            lane.take(task)

    def check(self, task: Task) -> None:
        """For calls that submit several tasks, or change something else with them: raises what :meth:`submit` would."""
        lane = task.stream.lane
        if lane is not None:
            lane.check(self.machine, task)

    def queue(self, task: Task) -> None:
        """Queue a task on its stream, which is known to have no lane."""
        raise NotImplementedError

    def advance(self) -> None:
        """Run what became due at ``machine.now``, and set ``machine.due`` again."""
        raise NotImplementedError

    def opened(self, wait: Gated, at: int) -> None:
        """What ``wait``, the head of its stream, waited for happened at device time ``at``."""
        raise NotImplementedError

    def returned(self, gate: Gated) -> None:
        """What ``gate`` waited for was an action of the host, which happened just now, in no task."""
        self.opened(gate, self.machine.now + self.machine.skip)

    def finish(self, targets: Sequence[Task]) -> bool:
        """A host thread waits for these tasks: complete them, unless one depends on a further action of the host. Then
        what has to run before the host can act is completed instead."""
        raise NotImplementedError

    def first(self, targets: Sequence[Task]) -> None:
        """A host thread waits for the first of these tasks: complete one, as in :meth:`finish`."""
        can = [target for target in targets if reachable(target)]
        if can:
            self._first(can)
        else:
            self._prepare(targets)

    def _first(self, targets: Sequence[Task]) -> None:
        """Complete one of tasks that are reachable."""
        self.finish(targets[:1])

    def _prepare(self, targets: Sequence[Task]) -> bool:
        """Targets are not reachable: complete what has to run before the host can act. False, for :meth:`finish`."""
        if self.machine.hosted:
            before: list[Task] = []
            for target in targets:
                if not target.done:
                    reachable(target, before)
            if before:
                self.finish(before)
        return False

    def poll(self, target: Task) -> None:
        """A host thread asks whether this task is done."""

    def retire(self, stream: "Stream") -> None:
        """The stream goes away with its context or device: what becomes of its queued work."""
        raise NotImplementedError

    def drop(self, stream: "Stream") -> None:
        """Forget the queued work of a stream; who waits for it no longer does."""
        at = self.machine.now + self.machine.skip
        tasks = list(stream.queue)
        stream.queue.clear()
        for task in tasks:
            task.done = True
            task.finish = at
        for task in tasks:
            task.dropped(self.machine)

    def cancel(self, tasks: Sequence[Task]) -> None:
        """Forget some of what is queued; what is behind it goes on, and who waits for it no longer does."""
        at = self.machine.now + self.machine.skip
        gone = [task for task in tasks if not task.done]
        for task in gone:
            task.done = True
            task.finish = at
        for stream in dict.fromkeys(task.stream for task in gone):
            head = stream.queue[0]
            left = [task for task in stream.queue if not task.done]
            stream.queue.clear()
            stream.queue.extend(left)
            if head.done and left:
                self._start(left[0], at)
        for task in gone:
            task.dropped(self.machine)

    def _start(self, task: Task, at: int) -> None:
        """``task`` is now the head of its stream."""

    def _limit(self, wait: Gated, until: int) -> None:
        """Have a wait expire at that monotonic time, unless its gate opens before."""
        limits = self.limits
        if len(limits) >= self.sweep:
            limits[:] = [entry for entry in limits if not entry[2].done]
            heapify(limits)
            self.sweep = max(_FEW, 2 * len(limits))
        heappush(limits, (until, wait.number, wait))

    def _next_limit(self) -> int:
        """When the next wait expires."""
        limits = self.limits
        while limits and limits[0][2].done:
            heappop(limits)
        return limits[0][0] if limits else FAR

    def _expire(self, wait: Gated, at: int) -> None:
        """The limit of a wait at the head of its stream passed: it fails, and lets go of what it waited for."""
        machine = self.machine
        stream = wait.stream
        stream.queue.popleft()
        wait.finish = at
        wait.done = True
        wait.dropped(machine)
        machine.fail(stream, wait.expired())
        if stream.queue:
            self._start(stream.queue[0], at)

    def _complete(self, task: Task, at: int) -> None:
        """``task``, the head of its stream, is done at device time ``at``."""
        stream = task.stream
        stream.queue.popleft()
        task.finish = at
        task.done = True
        if not task.inert:
            failure = task.effect(self.machine)
            if failure is not None:
                self.machine.fail(stream, failure)


def reachable(target: Task, before: list[Task] | None = None) -> bool:
    """Whether the target completes without a further action of the host. If not, ``before`` gets tasks that do, and
    have to before the host can act (:meth:`Gated.before`).

    Walks the queues with virtual completions. Not considered are resets of an event's bit, and other streams that wait
    for the same notify, so the answer may be yes where one of them overtakes a wait; then the work that leads there
    runs early, and the wait goes on. Limits are the host's: what ends by its limit alone is not reachable.
    """
    for task in target.stream.queue:
        if task.gated:
            assert isinstance(task, Gated)
            if not task.certain():
                return _opens(target, [] if before is None else before)
        if task is target:
            return True
    return False


def _opens(target: Task, before: list[Task]) -> bool:
    """:func:`reachable` for a target behind a closed gate."""
    lanes: list[Iterator[Task]] = []
    heads: list[Task | None] = []
    known: set[int] = set()
    done: set[int] = set()
    signalled: set[int] = set()
    notified: dict[int, int] = {}  # by notify: how often it was recorded
    taken: dict[tuple[int, int], int] = {}  # by stream and notify: how many of these its waits had

    def visit(stream: "Stream") -> None:
        if stream.handle not in known:
            known.add(stream.handle)
            lane = iter(stream.queue)
            lanes.append(lane)
            heads.append(next(lane, None))

    def passes(wait: Gated) -> bool:
        if isinstance(wait, NotifyWait):
            notify = wait.notify
            for queued in notify.pending:
                visit(queued.stream)
            had = taken.get((wait.stream.handle, notify.handle), 0)
            if had >= notified.get(notify.handle, 0) + notify.recorded:
                return False
            taken[wait.stream.handle, notify.handle] = had + 1
            return True
        if not isinstance(wait, EventWait):
            return False
        record = wait.record
        if record is not None:
            visit(record.stream)
            return record.number in done
        for pending in wait.event.pending:
            visit(pending.stream)
        return wait.event.handle in signalled

    visit(target.stream)
    moved = True
    while moved:
        moved = False
        for index, lane in enumerate(lanes):
            task = heads[index]
            while task is not None:
                if isinstance(task, Gated) and not task.certain() and not passes(task):
                    break
                if task is target:
                    return True
                if isinstance(task, Record):
                    done.add(task.number)
                    if isinstance(task, SignalRecord):
                        signalled.add(task.event.handle)
                elif isinstance(task, NotifyRecord):
                    notified[task.notify.handle] = notified.get(task.notify.handle, 0) + 1
                heads[index] = task = next(lane, None)
                moved = True
    for head in heads:
        if isinstance(head, Gated):
            first = head.before()
            if first is not None and not first.done:
                before.append(first)
    return False


class Asap(Schedule):
    """Everything runs as soon as it can. ``running`` holds the heads of streams whose finish is known. A task for an
    idle stream begins ``launch`` ns after its submission; behind another task that time does not show."""

    __slots__ = ("launch", "running")

    def __init__(self, machine: "Machine") -> None:
        super().__init__(machine)
        self.launch = machine.profile.launch_ns
        self.running: list[tuple[int, int, Task]] = []

    def queue(self, task: Task) -> None:
        self.count = number = self.count + 1
        task.number = number
        task.done = False
        queue = task.stream.queue
        queue.append(task)
        if len(queue) == 1:
            machine = self.machine
            skip = machine.skip
            at = machine.now + skip + self.launch
            if task.gated:
                self._start(task, at)
                self._set_due()
            else:
                at += task.cost
                heappush(self.running, (at, number, task))
                if at - skip < machine.due:
                    machine.due = at - skip

    def _set_due(self) -> None:
        due = self.running[0][0] - self.machine.skip if self.running else FAR
        if self.limits:
            due = min(due, self._next_limit())
        self.machine.due = due

    def cancel(self, tasks: Sequence[Task]) -> None:
        super().cancel(tasks)
        self._set_due()

    def _start(self, task: Task, at: int) -> None:
        if task.gated:
            assert isinstance(task, Gated)
            if task.closed():
                task.enrol()
                if task.limit:
                    self._limit(task, at - self.machine.skip + task.limit)
                return
            task.admit(self.machine)
        heappush(self.running, (at + task.cost, task.number, task))

    def opened(self, wait: Gated, at: int) -> None:
        heappush(self.running, (at + wait.cost, wait.number, wait))
        self._set_due()  # what was dropped may have opened it

    def _run(self, task: Task, at: int) -> None:
        # _complete, spelled out: this is the hottest path of the machine.
        stream = task.stream
        queue = stream.queue
        queue.popleft()
        task.finish = at
        task.done = True
        if not task.inert:
            failure = task.effect(self.machine)
            if failure is not None:
                self.machine.fail(stream, failure)
        if queue:
            self._start(queue[0], at)

    def advance(self) -> None:
        machine = self.machine
        running = self.running
        limits = self.limits
        now = machine.now + machine.skip
        while running and running[0][0] <= now and not limits:
            at, _, task = heappop(running)
            if not task.done:
                self._run(task, at)
        if limits:
            self._advance_with_limits(now)
        else:
            machine.due = running[0][0] - machine.skip if running else FAR

    def _advance_with_limits(self, now: int) -> None:
        """Run and expire what is due, in the order of time."""
        running = self.running
        skip = self.machine.skip
        while True:
            limit = self._next_limit() + skip
            if running and running[0][0] <= now and running[0][0] <= limit:
                at, _, task = heappop(running)
                if not task.done:
                    self._run(task, at)
            elif limit <= now:
                wait = heappop(self.limits)[2]
                if wait.closed():  # else it is among those that run
                    self._expire(wait, limit)
            else:
                break
        self._set_due()

    def finish(self, targets: Sequence[Task]) -> bool:
        for target in targets:
            if not target.done and not reachable(target):
                return self._prepare(targets)
        machine = self.machine
        running = self.running
        done = True
        for target in targets:
            while not target.done and running:
                at, _, task = heappop(running)
                if not task.done:
                    machine.skip = max(machine.skip, at - machine.now)
                    self._run(task, at)
            done = done and target.done
        self._set_due()
        return done

    def _first(self, targets: Sequence[Task]) -> None:
        machine = self.machine
        running = self.running
        while running and not any(target.done for target in targets):
            at, _, task = heappop(running)
            if not task.done:
                machine.skip = max(machine.skip, at - machine.now)
                self._run(task, at)
        self._set_due()

    def retire(self, stream: "Stream") -> None:
        if stream.queue and reachable(stream.queue[-1]):
            self.finish([stream.queue[-1]])
        self.drop(stream)
