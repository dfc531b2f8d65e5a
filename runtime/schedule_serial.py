"""Schedules that run one task at a time and look for missing synchronisation.

* ``late``: nothing runs until a wait or a query forces it. A wait forces the tasks it needs, those of other streams
  included; a query forces one step.
* ``seed:N``: after each submission and query, random ready tasks run; a wait lets random ready tasks run until it is
over.
  The same N gives the same choices for the same calls, whatever the version of Python.

Under both, a task that nobody forced for 100 ms of device time runs by itself, so that a program that spins on
memory goes on; and work that is queued when its context or device goes away is lost, as it may be on a card. A limit
ends no wait that would go on if only the schedule let it.
"""

from collections import deque
from collections.abc import Sequence
from heapq import heappop
from typing import TYPE_CHECKING, Final

from cannery.runtime.reach import reachable
from cannery.runtime.schedule import FAR, Asap, Schedule
from cannery.runtime.tasks import Gated, Task

if TYPE_CHECKING:
    from cannery.runtime.machine import Machine
    from cannery.runtime.objects import Stream

PATIENCE: Final = 100_000_000
_MASK: Final = (1 << 64) - 1


class Serial(Schedule):
    """``aging`` has each task with the time at which it runs by itself; ``overdue`` the streams with such tasks,
    which are those up to ``Stream.released``."""

    __slots__ = ("aging", "overdue")

    polled = True

    def __init__(self, machine: "Machine") -> None:
        super().__init__(machine)
        self.aging: deque[tuple[int, Task]] = deque()
        self.overdue: list[Stream] = []

    def queue(self, task: Task) -> None:
        self.count += 1
        task.number = self.count
        task.thread = self.machine.caller.ordinal
        task.done = False
        queue = task.stream.queue
        queue.append(task)
        if len(queue) == 1:
            self._head(task, self.machine.now + self.machine.skip)
        self.aging.append((self.machine.now + self.machine.skip + PATIENCE, task))
        self._catch_up()

    def follow(self, task: Task, behind: Task) -> None:
        super().follow(task, behind)
        self.aging.append((self.machine.now + self.machine.skip + PATIENCE, task))

    def advance(self) -> None:
        now = self.machine.now + self.machine.skip
        while self.aging and (self.aging[0][0] <= now or self.aging[0][1].done):
            _, task = self.aging.popleft()
            if not task.done:
                task.stream.released = task.number
                if task.stream not in self.overdue:
                    self.overdue.append(task.stream)
        self._catch_up()
        while self._first_limit() <= self.machine.now:
            wait = self.limits[0][2]
            if wait.closed() and not reachable(wait):
                self._expire()
            else:
                heappop(self.limits)
                self._expect(wait, self.machine.now + PATIENCE)
            self._catch_up()

    def opened(self, wait: Gated, at: int) -> None:
        pass  # heads are looked at when it is their turn

    def returned(self, gate: Gated) -> None:
        self._catch_up()

    def look(self) -> None:
        self._catch_up()

    def _head(self, task: Task, at: int) -> None:
        if isinstance(task, Gated) and task.limit:
            self._limit(task, at)

    def retire(self, stream: "Stream") -> None:
        self.drop(stream)

    def drop(self, stream: "Stream") -> None:
        super().drop(stream)
        self._catch_up()

    def cancel(self, tasks: Sequence[Task]) -> None:
        super().cancel(tasks)
        self._catch_up()

    def lose(self, stream: "Stream") -> None:
        super().lose(stream)
        self._catch_up()

    def resume(self, device: int, monotonic: int) -> None:
        super().resume(device, monotonic)
        aging = [(at + device, task) for at, task in self.aging]
        self.aging.clear()
        self.aging.extend(aging)
        self._catch_up()

    def stop(self, stream: "Stream") -> None:
        super().stop(stream)
        self._catch_up()

    def _run(self, task: Task) -> None:
        self.machine.skip += task.cost
        self._complete(task, self.machine.now + self.machine.skip)

    def _catch_up(self) -> None:
        """Run what is overdue and can run; set ``machine.due``."""
        moved = bool(self.overdue)
        while moved:
            moved = False
            for stream in self.overdue:
                while stream.queue and stream.queue[0].number <= stream.released and not stream.queue[0].closed():
                    self._run(stream.queue[0])
                    moved = True
        if self.overdue:
            self.overdue = [s for s in self.overdue if s.queue and s.queue[0].number <= s.released]
        while self.aging and self.aging[0][1].done:
            self.aging.popleft()
        due = self.aging[0][0] - self.machine.skip if self.aging else FAR
        self.machine.due = min(due, self._first_limit()) if self.limits else due


class Late(Serial):
    """Runs nothing that is not needed."""

    __slots__ = ()

    def finish(self, targets: Sequence[Task]) -> bool:
        for target in targets:
            if not target.done and not reachable(target):
                return self._prepare(targets)
        for target in targets:
            while not target.done:
                step = _next_step(target)
                if step is None:
                    break
                self._run(step)
        self._catch_up()
        return all(target.done for target in targets)

    def poll(self, target: Task) -> None:
        step = _next_step(target)
        if step is not None:
            self._run(step)
        self._catch_up()


def _next_step(target: Task) -> Task | None:
    """The next task that has to run, and can, for the target to complete."""
    seen: set[int] = set()
    while True:
        head = target.stream.queue[0]
        if not head.closed():
            return head
        if target.stream.handle in seen:
            return None
        seen.add(target.stream.handle)
        assert isinstance(head, Gated)
        candidates = [task for task in head.needs() if reachable(task)]
        if not candidates:
            return None
        target = candidates[0]


class Seeded(Serial):
    """Random choices, from a splitmix64 sequence. ``busy``: streams with work, by handle, in the order they got it."""

    __slots__ = ("busy", "state")

    def __init__(self, machine: "Machine", seed: int) -> None:
        super().__init__(machine)
        self.state = seed & _MASK
        self.busy: dict[int, Stream] = {}

    def queue(self, task: Task) -> None:
        super().queue(task)
        if not task.done:
            self.busy[task.stream.handle] = task.stream
        while self._below(2) and self._step():
            pass
        self._catch_up()

    def follow(self, task: Task, behind: Task) -> None:
        super().follow(task, behind)
        self.busy[task.stream.handle] = task.stream

    def finish(self, targets: Sequence[Task]) -> bool:
        for target in targets:
            if not target.done and not reachable(target):
                return self._prepare(targets)
        while not all(target.done for target in targets):
            if not self._step():
                break
        self._catch_up()
        return all(target.done for target in targets)

    def poll(self, target: Task) -> None:
        if self._below(2):
            self._step()
        self._catch_up()

    def drop(self, stream: "Stream") -> None:
        self.busy.pop(stream.handle, None)
        super().drop(stream)

    def _step(self) -> bool:
        """Run one random task that can run; False if there is none."""
        self.busy = {handle: stream for handle, stream in self.busy.items() if stream.queue}
        heads = [stream.queue[0] for stream in self.busy.values() if not stream.queue[0].closed()]
        if not heads:
            return False
        self._run(heads[self._below(len(heads))])
        return True

    def _below(self, limit: int) -> int:
        self.state = (self.state + 0x9E3779B97F4A7C15) & _MASK
        mixed = self.state
        mixed = ((mixed ^ (mixed >> 30)) * 0xBF58476D1CE4E5B9) & _MASK
        mixed = ((mixed ^ (mixed >> 27)) * 0x94D049BB133111EB) & _MASK
        return (mixed ^ (mixed >> 31)) % limit


def make_schedule(text: str, machine: "Machine") -> Schedule:
    """The schedule that a checked ``Settings.schedule`` names."""
    if text == "asap":
        return Asap(machine)
    if text == "late":
        return Late(machine)
    return Seeded(machine, int(text.removeprefix("seed:")))
