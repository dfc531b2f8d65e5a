"""The machine: one deterministic model of the devices, driven alike by the live session and by the replayer.

It takes a call with decoded arguments, the thread and the present time, and answers with a result or a :class:`Wait`.
It never blocks, sleeps, reads a clock, touches a file or starts a thread; docs/architecture.md says how it is driven
and what a step is. ``now`` may come from any clock that does not go back: with the clock setting ``virtual`` the
driver counts a fixed amount for each step, and the limit when a wait expires, and nothing changes here.
"""

from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Any, Final

from cannery.runtime import lifecycle
from cannery.runtime.behaviours import behaviour
from cannery.runtime.binaries import Binary, Description, Kernel
from cannery.runtime.calls import table
from cannery.runtime.conditions import Condition
from cannery.runtime.counting import CountingNotify
from cannery.runtime.errors import Again, Message, Refused, no_context
from cannery.runtime.exceptions import Exceptions
from cannery.runtime.flow import Label, LabelList
from cannery.runtime.graphs import Graph, Kept
from cannery.runtime.handles import handle_of
from cannery.runtime.host_functions import Reports, Worker
from cannery.runtime.invoke import Errand, Invoke
from cannery.runtime.kernel_arguments import Arguments
from cannery.runtime.lanes import TaskGroup
from cannery.runtime.memory import FREE, Memory
from cannery.runtime.notifies import Notify
from cannery.runtime.objects import Context, Device, Event, Process, Stream, Thread
from cannery.runtime.ports import HostPort
from cannery.runtime.products import profile
from cannery.runtime.profiler import Profiler
from cannery.runtime.reach import hold, reachable
from cannery.runtime.schedule import FAR
from cannery.runtime.schedule_serial import make_schedule
from cannery.runtime.settings import Settings
from cannery.runtime.shared_events import SharedEvent
from cannery.runtime.small_objects import SmallObject
from cannery.runtime.snapshot import Snapshot
from cannery.runtime.state_callbacks import StateCallbacks
from cannery.runtime.tasks import Task
from cannery.runtime.version import VERSION
from cannery.runtime.visible import visible_devices
from cannery.runtime.waits import Refusal, Reply, Resume, Retry, Then, Told, Until, Wait

if TYPE_CHECKING:
    from cannery.runtime.backup import Saved

__all__ = ["FAR", "Machine", "Refused", "Wait"]

Handler = Callable[..., Reply]

_MILLISECOND: Final = 1_000_000
_MOMENT: Final = 20_000  # ns


class Machine:
    """``now`` is the time of the present step, ``due`` when the pacer has to make one. ``locked``: the process
    is not RUNNING (``snapshot``); ``saved``: its last backup.

    ``shared`` has by entry what other processes have too (``exchange.py``). ``caller``: the thread whose call is made.
    ``allocators`` are those of the program: for the handle of a stream that of the description, and its parts.
    ``calling`` is the function whose call goes on in the present step, see :meth:`moving`.

    ``waits`` are the calls that wait; while there are none, :meth:`take_ended` has nothing to give. ``renewed``: of
    those, which got another limit in the latest :meth:`take_ended`. ``errands`` and ``dismissed`` are what
    :meth:`take_errands` and :meth:`take_dismissed` will give. ``discarded``: backups that the driver lets go of when
    the step is over, which takes time. ``reports`` has the threads that
    streams are subscribed for, by the program's id; ``hosted``: a function of the program was queued once. ``told``:
    functions that are told of streams and devices. ``spare_blocks`` is pinned memory for argument lists of kernels that
    no thread uses now.
    """

    def __init__(self, settings: Settings, port: HostPort, recorded: str = VERSION) -> None:
        """``recorded``: the version of Cannery whose rules count, where rules were corrected since (behaviours.py).

        Raises SettingError for a setting that names something unknown.
        """
        settings.check()
        self.settings = settings
        self.port = port
        self.profile = profile(settings.product)
        self.behaviour = behaviour(settings.behaviour, recorded)
        self.now = 0
        self.skip = 0
        self.due = FAR
        self.locked = False
        self.snapshot = Snapshot()
        self.saved: Saved | None = None
        self.ordinal = 0
        self.calling = ""
        self.process = Process()
        self.threads: dict[int, Thread] = {}
        self.caller = Thread(0)
        self.contexts: dict[int, Context] = {}
        self.streams: dict[int, Stream] = {}
        self.events: dict[int, Event] = {}
        self.notifies: dict[int, Notify] = {}
        self.counting: dict[int, CountingNotify] = {}
        self.shared: dict[int, Notify | SharedEvent] = {}
        self.graphs: dict[int, Graph] = {}
        self.groups: dict[int, TaskGroup] = {}
        self.conditions: dict[int, Condition] = {}
        self.small_objects: dict[int, SmallObject] = {}
        self.allocators: dict[int, tuple[int, ...]] = {}
        self.profiler = Profiler()
        self.kept: dict[int, Kept] = {}
        self.labels: dict[int, Label] = {}
        self.label_lists: dict[int, LabelList] = {}
        self.descriptions: dict[int, Description] = {}
        self.binaries: dict[int, Binary] = {}
        self.kernels: dict[int, Kernel] = {}
        self.arguments: dict[int, Arguments] = {}
        self.spare_blocks: list[int] = []
        self.graph_count = 0
        self.captures: list[Graph] = []
        self.waits: list[Wait] = []
        self.renewed: list[Wait] = []
        self.reports: dict[int, Reports] = {}
        self.exceptions = Exceptions()
        self.told = StateCallbacks()
        self.workers: dict[int, Worker] = {}
        self.last_worker = 0
        self.hosted = False
        self.errands: list[Errand] = []
        self.dismissed: list[int] = []
        self.discarded: list[Saved] = []
        indices, self.blindness = visible_devices(settings.visible, settings.devices)
        published = self.behaviour["stream-limit"] == "published"
        streams = self.profile.streams_documented if published else self.profile.streams
        events, notifies = self.profile.events, self.profile.notifies
        self.devices = [
            Device(port.exchange, index, user, streams, events, notifies)  # no *: see Kept
            for user, index in enumerate(indices)
        ]
        reach = self.behaviour["peer-copy-direction"] if self.profile.peer_copies_need_access else FREE
        self.memory = Memory(port, settings.devices, self.profile.memory_bytes, reach)
        self.schedule = make_schedule(settings.schedule, self)
        self.depth = self.profile.tasks_per_stream
        self.event_cost = self.profile.event_ns
        self.handlers: list[Handler | None] = table.bind(self)

    def tell_functions(self) -> None:
        """Have :meth:`moving` know, from the next call on; before that it does not. Calls take a little longer then, so
        only where a port treats functions differently. For drivers, before they take handlers."""
        table.tell(self)

    def moving(self) -> str:
        """The function for which bytes pass through the port now: that of the task that runs, else that of the call.
        Empty where the task was not queued by a call."""
        task = self.schedule.running_task
        return self.calling if task is None else getattr(task, "caller", "")

    # How the machine is driven.

    def begin(self, now: int) -> None:
        """Begin a step at monotonic time ``now`` (ns): run what became due."""
        self.now = now
        if now >= self.due:
            self.schedule.advance()

    def pace(self) -> None:
        """A step of the pacer: nothing but what :meth:`begin` and :meth:`take_ended` do."""
        self.hasten()

    def signals(self) -> list[Task]:
        """Queued tasks that other processes may wait for."""
        return [task for shared in self.shared.values() for task in shared.signals()]

    def hasten(self) -> None:
        """Other processes may wait for what is queued: what is due in a moment is done now, since waking the pacer
        takes longer; for the rest the pacer is not to give the program time to call first."""
        if not self.shared or self.due == FAR:
            return
        signals = self.signals()
        if self.due <= self.now + _MOMENT and not self.schedule.polled:
            self.schedule.finish([task for task in signals if task.stream.queue[0] is task and reachable(task)])
            signals = self.signals()
        if signals and self.due != FAR:
            self.port.exchange.hasten(self.due)

    def signalled(self) -> None:
        """A step: other processes did something that this one waits for, maybe."""
        at = self.now + self.skip
        for shared in [*self.shared.values()]:
            shared.look(self, at)
        self.memory.notice()
        self.schedule.look()
        self.hasten()

    def expire(self, wait: Wait) -> None:
        """The limit of a wait passed. It is then in :meth:`take_ended`, whether by that or because it just ended."""
        self._settle(wait)
        if wait.reply is None:
            assert wait.expired is not None
            wait.reply = self.refuse(self.thread(wait.thread), wait.function, wait.expired)
            wait.held = None

    def take_ended(self) -> list[Wait]:
        """End the present step: the waits that ended in it, in the order in which they began, and no wait twice."""
        ended: list[Wait] = []
        self.renewed.clear()
        moved = True
        while moved:
            moved = False
            for wait in list(self.waits):
                if wait.held is not None and wait.held.lasts():
                    continue
                self._settle(wait)
                if wait.reply is not None:
                    self.waits.remove(wait)
                    ended.append(wait)
                    moved = True
        return ended

    def settle(self) -> None:
        """End now what waits for what has just happened, before the call that did it undoes some of that."""
        for wait in list(self.waits):
            self._settle(wait)

    def returned(self, thread: Thread, value: int) -> Reply:
        """A step: the function that the thread ran for its innermost call returned ``value`` (0 for a void one). The
        call's reply, as from a handler."""
        self.caller = thread
        function, then = thread.running.pop()
        self.calling = function
        try:
            return then.take(self, value)
        except Refused as refused:
            return self.refuse(thread, function, refused)

    def take_errands(self) -> list[Errand]:
        """What workers have to run, after :meth:`take_ended` of the same step. A worker has one errand at a time."""
        errands, self.errands[:] = list(self.errands), ()
        return errands

    def errand_done(self, worker: int, value: int) -> None:
        """A step: the function that a worker ran returned ``value``. No effect if the worker runs none."""
        if self.busy(worker):
            self.workers[worker].done(self)

    def busy(self, worker: int) -> bool:
        """Whether a worker runs a function of the program."""
        found = self.workers.get(worker)
        return found is not None and found.running is not None

    def take_dismissed(self) -> list[int]:
        """Workers that get no more errands."""
        dismissed, self.dismissed[:] = list(self.dismissed), ()
        return dismissed

    def thread(self, ordinal: int) -> Thread:
        """The thread with that ordinal, which handlers take as their first argument."""
        thread = self.threads.get(ordinal)
        if thread is None:
            thread = self.threads[ordinal] = Thread(ordinal)
        return thread

    def end_thread(self, ordinal: int) -> None:
        """Forget a thread."""
        thread = self.threads.pop(ordinal, None)
        if thread is not None:
            self.snapshot.leave(thread)
            thread.running.clear()  # what is left of calls that it ended in the middle of refers back to it
            if thread.arguments is not None:
                self.retire_arguments(thread.arguments)

    def identify(self, thread: Thread) -> Thread:
        """The thread that makes the present call, with its ``known_as`` and ``worker``."""
        if thread.known_as is None:
            thread.known_as, thread.worker = self.port.thread(thread.ordinal)
        return thread

    # How calls answer.

    def start_again(self, again: Again, thread: Thread, function: str, arguments: tuple[Any, ...]) -> Reply:
        """The reply of a call that has to wait before it can be made."""
        retry = Retry(thread, function, arguments)
        if again.target is not None:
            return self.wait(thread, function, [again.target], retry)
        if again.until is None:
            deadlock = self.snapshot.deadlock(self.snapshot.transition, thread, function)
            if deadlock is not None:
                return self.refuse(thread, function, deadlock)
        wait = self._wait(thread, function, [], retry)
        wait.until = again.until
        if again.until is None:
            self.identify(thread)  # the call may ask for that when it starts again, in a step of another thread
            wait.unlocking = True
            self.snapshot.bound(self, wait)
            self.snapshot.untangle(self)
        return wait

    def refuse(self, thread: Thread, function: str, refused: Refused) -> Reply:
        """Note a refusal; its number. A synchronise that answers the failure of a task waits for what is told of it."""
        report = refused.report
        if report is not None and report.left and function.startswith("aclrtSynchronize"):
            refused.with_traceback(None)  # which leads to the frame that the wait is made in
            wait = self._wait(thread, function, [], Refusal(thread, function, refused))
            wait.until = Told(report)
            return wait
        messages = self.process.messages
        (thread.messages if messages is None else messages).append(Message(function, refused))
        if refused.remembered:
            thread.last_error = refused.number
        return refused.number

    def wait(
        self,
        thread: Thread,
        function: str,
        targets: Sequence[Task],
        resume: Resume,
        limit: int = -1,
        expired: Refused | None = None,
    ) -> Reply:
        """The reply of a call that waits for ``targets`` for at most ``limit`` milliseconds (-1: no limit).

        ``resume`` gives the reply when they are done: now, if nothing outside the device can hold them up.
        """
        if self.schedule.finish(targets):
            return resume.reply(self)
        wait = self._wait(thread, function, targets, resume)
        if limit >= 0:
            wait.deadline = self.now + limit * _MILLISECOND
            wait.expired = expired
        return wait

    def wait_until(
        self,
        thread: Thread,
        function: str,
        until: Until,
        resume: Resume,
        limit: int = -1,
        expired: Refused | None = None,
    ) -> Reply:
        """The reply of a call that waits for what ``until`` says, as :meth:`wait`."""
        if until.holds(self):
            return resume.reply(self)
        wait = self._wait(thread, function, [], resume)
        wait.until = until
        if limit >= 0:
            wait.deadline = self.now + limit * _MILLISECOND
            wait.expired = expired
        return wait

    def invoke(self, thread: Thread, function: str, invoke: Invoke, then: Then) -> Invoke:
        """The reply of a call of ``function`` that has its thread run a function of the program; ``then`` gets what
        that returned, and gives the reply."""
        thread.running.append((function, then))
        return invoke

    def _wait(self, thread: Thread, function: str, targets: Sequence[Task], resume: Resume) -> Wait:
        wait = Wait(thread.ordinal, function, targets, resume)
        self.waits.append(wait)
        return wait

    def _settle(self, wait: Wait) -> None:
        """End a wait if it can end; one that begins to wait for something else goes on."""
        wait.held = None
        while (
            wait.reply is None
            and not (wait.unlocking and self.locked)
            and (wait.until is None or wait.until.holds(self))
            and self.schedule.finish(wait.targets)
        ):
            thread = self.thread(wait.thread)
            self.calling = wait.function
            try:
                reply = wait.resume.reply(self)
            except Refused as refused:
                reply = self.refuse(thread, wait.function, refused)
            if isinstance(reply, Wait):
                if reply.deadline != wait.deadline:
                    self.renewed.append(wait)
                self.waits.remove(reply)
                for slot in ("targets", "resume", "unlocking", "until", "deadline", "expired"):
                    setattr(wait, slot, getattr(reply, slot))
            else:
                wait.reply = reply
        if wait.reply is None:
            wait.held = hold(wait.targets)

    # What handlers use.

    def handler(self, function: str) -> Handler:
        """The handler of a function that has one, by its C name."""
        from cannery.runtime.api import MODEL  # see calls.table.bind

        handler = self.handlers[MODEL[function].index]
        assert handler is not None, function
        return handler

    def new_handle(self) -> int:
        """The handle of the next object."""
        self.ordinal += 1
        return handle_of(self.ordinal)

    def context_of(self, thread: Thread) -> Context:
        """The thread's current context. Where the configuration of aclInit names a default device, a thread without a
        context gets that device's (semantics.md 0.3).

        Raises:
            Refused: 107002, there is none.
        """
        context = thread.context
        if context is None:
            device = self.process.default_device
            if device is None:
                raise no_context()
            context = lifecycle.select(self, thread, device)
        return context

    def retire_arguments(self, arguments: Arguments) -> None:
        """An argument list that the runtime keeps for a thread is replaced, or the thread ended."""
        del self.arguments[arguments.handle]
        if arguments.address:
            self.spare_blocks.append(arguments.address)

    def hold(self) -> None:
        """Part of each call that waits while a snapshot lock is held, between its acl and its runtime checks."""
        if self.locked:
            raise Again

    def fail(self, stream: Stream, failure: Refused, task: Task) -> None:
        """A task of the stream failed (semantics.md 5): the first failure counts, and in stop mode it ends the work."""
        if task.reported:
            self.exceptions.report(self, task, failure)
        run = stream.serves
        if run is not None:
            failure = run.failure(failure)
            stream = run.stream
        context = stream.context
        if context.stop_mode:
            stream.aborted = True
            if context.failed is None:
                context.failed = failure
            self.schedule.lose(stream)
        elif stream.failure is None:
            stream.failure = failure
