"""When queued work runs. A schedule is a policy object; every policy keeps the order that the API promises: the
tasks of a stream one after the other, and a wait after the record it waits for.

Times here are device times: monotonic time plus ``machine.skip``, which grows when somebody waits for work that
nothing outside the device can hold up, so that nobody sleeps for simulated time. The limits of waits are the exception:
what another thread or process could still release expires in monotonic time.

This module has what all policies share, and ``asap``: what can run runs, streams side by side; tasks complete in the
order of (finish, number). ``schedule_serial.py`` has the policies that look for missing synchronisation.
"""

from collections.abc import Sequence
from heapq import heapify, heappop, heappush
from typing import TYPE_CHECKING, ClassVar, Final

from cannery.runtime.kept import Kept
from cannery.runtime.reach import reachable
from cannery.runtime.tasks import DEVICE_LIMIT, Gated, Task

if TYPE_CHECKING:
    from cannery.runtime.machine import Machine
    from cannery.runtime.objects import Stream

FAR: Final = 1 << 61  # a larger one is no machine word when compiled
_FEW: Final = 64


class Schedule(Kept):
    """What the machine asks of a policy. ``count`` numbers the tasks, ``running_task`` is the one
    whose effect takes place.

    ``limits`` is a heap of the waits that have one and came to the head of their stream, with the monotonic times at
    which they expire. Those that ended stay in it until it has ``sweep`` entries, unless they come first.
    """

    __slots__ = ("count", "limits", "machine", "running_task", "sweep")

    polled: ClassVar[bool] = False  # whether :meth:`poll` may do something

    def __init__(self, machine: "Machine") -> None:
        self.machine = machine
        self.count = 0
        self.running_task: Task | None = None
        self.limits: list[tuple[int, int, Gated]] = []
        self.sweep = _FEW

    def submit(self, task: Task) -> None:
        """Hand a task to its stream, the last thing that a call does. The caller has set all but ``number``, ``done``
        and ``finish``.

        Raises:
            Refused: what has the stream's tasks instead of its queue does not take this one (``lanes.py``).
        """
        task.caller = self.machine.calling
        lane = task.stream.lane
        if lane is None:
            self.put(task)
        else:
            lane.check(self.machine, task)
            self.machine.caller.last_task = lane.take(task)
            self.machine.caller.last_stream = task.stream

    def check(self, task: Task) -> None:
        """For calls that submit several tasks, or change something else with them: raises what :meth:`submit` would."""
        lane = task.stream.lane
        if lane is not None:
            lane.check(self.machine, task)

    def put(self, task: Task) -> None:
        """Like :meth:`submit`, for a stream that is known to have no lane."""
        self.queue(task)
        self.machine.caller.last_task = task.number
        self.machine.caller.last_stream = task.stream

    def queue(self, task: Task) -> None:
        """Queue a task on its stream, which is known to have no lane. A task that no call submitted itself, such as one
        of a model instance, comes by here only."""
        raise NotImplementedError

    def follow(self, task: Task, behind: Task) -> None:
        """Queue a task that the effect of ``behind``, which takes place just now, brings about. Its stream has no lane,
        or one that is not asked."""
        self.count += 1
        task.number = self.count
        task.thread = getattr(behind, "thread", 0)  # see FailedTask
        task.done = False
        queue = task.stream.queue
        queue.append(task)
        if len(queue) == 1 and task.stream is not behind.stream:  # else it becomes the head when the effect is over
            self._head(task, behind.finish)

    def advance(self) -> None:
        """Run what became due at ``machine.now``, and set ``machine.due`` again."""
        raise NotImplementedError

    def opened(self, wait: Gated, at: int) -> None:
        """What ``wait``, the head of its stream, waited for happened at device time ``at``."""
        raise NotImplementedError

    def returned(self, gate: Gated) -> None:
        """What ``gate`` waited for was an action of the host, which happened just now, in no task."""
        self.opened(gate, self.machine.now + self.machine.skip)

    def look(self) -> None:
        """Another process may have opened gates that it did not name."""

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
        """Targets are not reachable: complete what has to run before the host, or another process, can act. False, for
        :meth:`finish`."""
        if self.machine.shared:
            signals = self.machine.signals()
            can = [task for task in signals if reachable(task)]
            if can:
                self.finish(can)
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
        for task in self._clear(stream):
            task.dropped(self.machine)

    def lose(self, stream: "Stream") -> None:
        """Forget the queued work of a stream; streams that wait for it go on waiting (semantics.md 5)."""
        for task in self._clear(stream):
            task.lost(self.machine)

    def stop(self, stream: "Stream") -> None:
        """Forget the first task of a stream, and go on with the next."""
        task = stream.queue.popleft()
        task.done = True
        task.finish = self.machine.now + self.machine.skip
        task.lost(self.machine)
        if stream.queue:
            self._head(stream.queue[0], task.finish)

    def _clear(self, stream: "Stream") -> list[Task]:
        at = self.machine.now + self.machine.skip
        tasks = list(stream.queue)
        stream.queue.clear()
        for task in tasks:
            task.done = True
            task.finish = at
        return tasks

    def _head(self, task: Task, at: int) -> None:
        """``task`` became the head of its stream at device time ``at``."""
        raise NotImplementedError

    def cancel(self, tasks: Sequence[Task]) -> None:
        """Forget some of what is queued; what is behind it goes on, and who waits for it no longer does."""
        at = self.machine.now + self.machine.skip
        gone = [task for task in tasks if not task.done]
        for task in gone:
            task.done = True
            task.finish = at
        for stream in dict.fromkeys(task.stream for task in gone if task.stream.queue):
            head = stream.queue[0]
            left = [task for task in stream.queue if not task.done]
            stream.queue.clear()
            stream.queue.extend(left)
            if head.done and left:
                self._head(left[0], at)
        for task in gone:
            task.dropped(self.machine)

    def skip(self, tasks: Sequence[Task]) -> None:
        """Forget what is queued behind a task of the same stream that takes effect just now."""
        at = self.machine.now + self.machine.skip
        left = [task for task in tasks if not task.done]
        for task in left:
            task.done = True
            task.finish = at
            task.stream.queue.remove(task)
        for task in left:
            task.dropped(self.machine)

    def _complete(self, task: Task, at: int) -> None:
        """``task``, the head of its stream, is done at device time ``at``."""
        stream = task.stream
        stream.queue.popleft()
        task.finish = at
        task.done = True
        if not task.inert:
            self.running_task = task
            failure = task.effect(self.machine)
            self.running_task = None
            if failure is not None:
                self.machine.fail(stream, failure, task)
        if stream.queue:
            self._head(stream.queue[0], at)

    def resume(self, device: int, monotonic: int) -> None:
        """Go on with work that was set aside ``device`` ns of device time and ``monotonic`` ns ago."""
        self.limits[:] = [(until + monotonic, number, wait) for until, number, wait in self.limits]

    def _limit(self, wait: Gated, at: int) -> None:
        """``wait`` begins to wait at device time ``at``: note when its limit ends that."""
        limit = wait.limit
        if limit == DEVICE_LIMIT:
            limit = self.machine.process.wait_limit
        if limit:
            self._expect(wait, at - self.machine.skip + limit)

    def _expect(self, wait: Gated, until: int) -> None:
        """Have a wait expire at that monotonic time, unless its gate opens before."""
        limits = self.limits
        if len(limits) >= self.sweep:
            limits[:] = [entry for entry in limits if not (entry[2].open or entry[2].done)]
            heapify(limits)
            self.sweep = max(_FEW, 2 * len(limits))
        heappush(limits, (until, wait.number, wait))

    def _first_limit(self) -> int:
        """When the next limit ends a wait, in monotonic time."""
        limits = self.limits
        while limits and (limits[0][2].open or limits[0][2].done):
            heappop(limits)
        return limits[0][0] if limits else FAR

    def _expire(self) -> None:
        """The first of the limits ends a wait."""
        at, _, wait = heappop(self.limits)
        at += self.machine.skip
        stream = wait.stream
        first = stream.queue.popleft()
        assert first is wait
        wait.finish = at
        wait.done = True
        wait.dropped(self.machine)
        self.machine.fail(stream, wait.expired(), wait)
        if stream.queue:
            self._head(stream.queue[0], at)


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
        task.thread = self.machine.caller.ordinal
        task.done = False
        queue = task.stream.queue
        queue.append(task)
        if len(queue) == 1:
            machine = self.machine
            skip = machine.skip
            at = machine.now + skip + self.launch
            if task.gated:
                self._head(task, at)
                self._set_due()
            else:
                at += task.cost
                heappush(self.running, (at, number, task))
                if at - skip < machine.due:
                    machine.due = at - skip

    def cancel(self, tasks: Sequence[Task]) -> None:
        super().cancel(tasks)
        self._set_due()

    def _head(self, task: Task, at: int) -> None:
        if task.gated:
            assert isinstance(task, Gated)
            if task.closed():
                task.enrol()
                if task.limit:
                    self._limit(task, at)
                return
            task.admit(self.machine)
        heappush(self.running, (at + task.cost, task.number, task))

    def opened(self, wait: Gated, at: int) -> None:
        wait.open = True
        heappush(self.running, (at + wait.cost, wait.number, wait))
        self._set_due()  # what was dropped may have opened it

    def _set_due(self) -> None:
        due = self.running[0][0] - self.machine.skip if self.running else FAR
        if self.limits:
            due = min(due, self._first_limit())
        self.machine.due = due

    def _run(self, task: Task, at: int) -> None:
        # _complete, spelled out: this is the hottest path of the machine.
        stream = task.stream
        queue = stream.queue
        queue.popleft()
        task.finish = at
        task.done = True
        if not task.inert:
            self.running_task = task
            failure = task.effect(self.machine)
            self.running_task = None
            if failure is not None:
                self.machine.fail(stream, failure, task)
        if queue:
            self._head(queue[0], at)

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
        while True:
            at = running[0][0] if running else FAR
            limit = self._first_limit() + self.machine.skip
            if limit <= now and limit < at:
                self._expire()
            elif at <= now:
                _, _, task = heappop(running)
                if not task.done:
                    self._run(task, at)
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

    def resume(self, device: int, monotonic: int) -> None:
        super().resume(device, monotonic)
        self.running[:] = [(at + device, number, task) for at, number, task in self.running]
        self._set_due()

    def stop(self, stream: "Stream") -> None:
        super().stop(stream)
        self._set_due()

    def retire(self, stream: "Stream") -> None:
        if stream.queue and reachable(stream.queue[-1]):
            self.finish([stream.queue[-1]])
        self.drop(stream)
