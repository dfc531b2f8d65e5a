"""When queued work runs. A schedule is a policy object; every policy keeps the order that the API promises: tasks of a
stream one after the other, and a wait after the record it waits for.

Times here are device times: monotonic time plus ``machine.skip``, which grows when somebody waits for work that
nothing outside the device can hold up, so that nobody sleeps for simulated time.

* ``asap``: what can run runs, streams side by side; tasks complete in the order of (finish, number).
* ``late``: nothing runs until a wait or a query forces it, so that a missing synchronisation shows.
* ``seed:N``: after each submission and query, random ready tasks run; the same choices for the same N.

Under late and seed tasks run one at a time, and what nobody forced for 100 ms runs by itself, so that a program that
spins on memory goes on.
"""

from collections import deque
from collections.abc import Sequence
from heapq import heappop, heappush
from typing import TYPE_CHECKING, Final, Protocol

from cannery.runtime.tasks import EventWait, Record, SignalRecord, Task

if TYPE_CHECKING:
    from cannery.runtime.machine import Machine
    from cannery.runtime.objects import Stream

FAR: Final = 1 << 62
PATIENCE: Final = 100_000_000


class Schedule(Protocol):
    """What the machine asks of a policy."""

    def submit(self, task: Task) -> None:
        """Queue a task on its stream. The caller has set all but number, done and finish."""

    def advance(self) -> None:
        """Run what became due at ``machine.now``."""

    def opened(self, wait: EventWait, at: int) -> None:
        """What the head ``wait`` of a stream waited for happened at device time ``at``."""

    def finish(self, targets: Sequence[Task]) -> bool:
        """A host thread waits for these tasks: complete them, unless one depends on a further action of the host."""

    def poll(self, target: Task) -> None:
        """A host thread asks whether this task is done."""

    def drop(self, stream: "Stream") -> None:
        """Forget the work of a stream that is going away; who waits for it no longer does."""


class _Common:
    """Completion and reachability, which are the same for every policy."""

    __slots__ = ("count", "machine")

    def __init__(self, machine: "Machine") -> None:
        self.machine = machine
        self.count = 0

    def opened(self, wait: EventWait, at: int) -> None:
        raise NotImplementedError

    def reachable(self, target: Task) -> bool:
        """Whether the target completes without a further action of the host.

        Walks the queues with virtual completions. Resets of an event's bit are not considered, so the answer may be
        yes where a reset overtakes a wait; then the work that leads there runs early, and the wait goes on.
        """
        lanes: list[tuple[deque[Task], list[int]]] = [(target.stream.queue, [0])]
        known = {target.stream.handle}
        done: set[int] = set()
        signalled: set[int] = set()

        def visit(stream: "Stream") -> None:
            if stream.handle not in known:
                known.add(stream.handle)
                lanes.append((stream.queue, [0]))

        moved = True
        while moved:
            moved = False
            for queue, position in lanes:
                for task in list(queue)[position[0] :]:
                    if isinstance(task, EventWait) and task.closed():
                        if task.record is not None:
                            if task.record.number not in done:
                                visit(task.record.stream)
                                break
                        elif task.event.handle not in signalled:
                            for record in task.event.pending:
                                visit(record.stream)
                            break
                    if task is target:
                        return True
                    if isinstance(task, Record):
                        done.add(task.number)
                        if isinstance(task, SignalRecord):
                            signalled.add(task.event.handle)
                    position[0] += 1
                    moved = True
        return False

    def discard(self, stream: "Stream", at: int) -> None:
        """Empty a stream's queue without running it."""
        tasks = list(stream.queue)
        stream.queue.clear()
        for task in tasks:
            task.done = True
            task.finish = at
            if isinstance(task, EventWait):
                task.withdraw()
            elif isinstance(task, SignalRecord):
                task.event.pending.remove(task)
        for task in tasks:
            if isinstance(task, Record) and not isinstance(task, SignalRecord) and not task.inert:
                task.effect(self.machine)


class Asap(_Common):
    """Everything runs as soon as it can. ``running`` holds the heads of streams whose finish is known."""

    __slots__ = ("running",)

    def __init__(self, machine: "Machine") -> None:
        super().__init__(machine)
        self.running: list[tuple[int, int, Task]] = []

    def submit(self, task: Task) -> None:
        self.count = number = self.count + 1
        task.number = number
        task.done = False
        queue = task.stream.queue
        queue.append(task)
        if len(queue) == 1:
            machine = self.machine
            skip = machine.skip
            at = machine.now + skip
            running = self.running
            if task.gated and task.closed():
                self._start(task, at)
            else:
                heappush(running, (at + task.cost, number, task))
                machine.due = running[0][0] - skip

    def _start(self, task: Task, at: int) -> None:
        if task.gated and task.closed():
            assert isinstance(task, EventWait)
            task.enrol()
        else:
            heappush(self.running, (at + task.cost, task.number, task))

    def opened(self, wait: EventWait, at: int) -> None:
        self._start(wait, at)

    def _complete(self, task: Task, at: int) -> None:
        stream = task.stream
        queue = stream.queue
        queue.popleft()
        task.finish = at
        task.done = True
        if not task.inert:
            failure = task.effect(self.machine)
            if failure:
                self.machine.fail(stream, failure)
        if queue:
            self._start(queue[0], at)

    def advance(self) -> None:
        machine = self.machine
        running = self.running
        now = machine.now + machine.skip
        while running and running[0][0] <= now:
            at, _, task = heappop(running)
            if not task.done:
                self._complete(task, at)
        machine.due = running[0][0] - machine.skip if running else FAR

    def finish(self, targets: Sequence[Task]) -> bool:
        for target in targets:
            if not target.done and not self.reachable(target):
                return False
        machine = self.machine
        running = self.running
        for target in targets:
            while not target.done:
                if not running:
                    return False
                at, _, task = heappop(running)
                if task.done:
                    continue
                if at > machine.now + machine.skip:
                    machine.skip = at - machine.now
                self._complete(task, at)
        machine.due = running[0][0] - machine.skip if running else FAR
        return True

    def poll(self, target: Task) -> None:
        pass

    def drop(self, stream: "Stream") -> None:
        self.discard(stream, self.machine.now + self.machine.skip)


def make_schedule(text: str, machine: "Machine") -> Schedule:
    """The schedule that ``Settings.schedule`` names."""
    return Asap(machine)
