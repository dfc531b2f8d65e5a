"""The snapshot state of a process, the callbacks of its stages, and who has to wait for whom (semantics.md 10).

    RUNNING --lock--> LOCKED --backup--> BACKED_UP --restore--> LOCKED --unlock--> RUNNING, also from BACKED_UP

Two mutexes of the reference implementation can be noticed, and so are modelled: ``transition`` is held by a backup or a
restore from its first check to its end, ``registry`` while the callbacks of one stage run. A callback that waits for
one that its own thread holds would never return on a card; here its call answers 507000, and says so.
"""

from typing import TYPE_CHECKING, ClassVar, Final

from cannery.runtime.errors import (
    ACL_ERROR_RT_INTERNAL_ERROR,
    ACL_ERROR_SNAPSHOT_CALLBACK_FAILED,
    Refused,
)
from cannery.runtime.host_functions import HostReturn
from cannery.runtime.invoke import Invoke
from cannery.runtime.kept import Kept
from cannery.runtime.waits import Reply, Resume, Then, Until, Wait

if TYPE_CHECKING:
    from cannery.runtime.machine import Machine
    from cannery.runtime.objects import Stream, Thread

RUNNING: Final = "RUNNING"
LOCKED: Final = "LOCKED"
BACKED_UP: Final = "BACKED_UP"

LOCK_PRE: Final = 0
BACKUP_PRE: Final = 1
BACKUP_POST: Final = 2
RESTORE_PRE: Final = 3
RESTORE_POST: Final = 4
UNLOCK_POST: Final = 5
STAGES: Final = tuple(
    f"ACL_RT_SNAPSHOT_{stage}"
    for stage in ("LOCK_PRE", "BACKUP_PRE", "BACKUP_POST", "RESTORE_PRE", "RESTORE_POST", "UNLOCK_POST")
)

SIGNATURE: Final = "u32(i32,ptr)"

PATIENCE: Final = 10_000_000_000
"""How long, in ns, a call of a callback waits for an unlock that only another thread can make (semantics.md 11)."""


class Mutex(Kept):
    """``thread`` (ordinal) holds it for its call of ``function``; None: nobody does."""

    __slots__ = ("function", "thread")

    def __init__(self) -> None:
        self.thread: int | None = None
        self.function = ""

    def take(self, thread: "Thread", function: str) -> None:
        self.thread = thread.ordinal
        self.function = function

    def release(self) -> None:
        self.thread = None


class Free(Until):
    """Nobody holds a mutex."""

    __slots__ = ("mutex",)

    def __init__(self, mutex: Mutex) -> None:
        self.mutex = mutex

    def holds(self, machine: "Machine") -> bool:
        return self.mutex.thread is None


class Snapshot(Kept):
    """``callbacks`` has those of each stage with their user data, in the order of registration; ``stage`` is that
    whose callbacks run while ``registry`` is held. ``awaited`` are the streams whose work a backup waits for."""

    __slots__ = ("awaited", "callbacks", "registry", "stage", "state", "transition")

    def __init__(self) -> None:
        self.state = RUNNING
        self.callbacks: list[dict[int, int]] = [{} for _ in STAGES]
        self.transition = Mutex()
        self.registry = Mutex()
        self.stage = LOCK_PRE
        self.awaited: dict[int, Stream] = {}

    def enter(self, machine: "Machine", state: str) -> None:
        """The process is in another state. Calls that were held go on at the end of the step that makes it RUNNING."""
        self.state = state
        machine.locked = state != RUNNING

    def leave(self, thread: "Thread") -> None:
        """A thread ended, perhaps in a callback."""
        if self.transition.thread == thread.ordinal:
            self.awaited.clear()
        for mutex in (self.transition, self.registry):
            if mutex.thread == thread.ordinal:
                mutex.release()

    def deadlock(self, mutex: Mutex, thread: "Thread", function: str) -> Refused | None:
        """What the call of a callback answers that would wait for what its own thread holds."""
        if mutex.thread != thread.ordinal:
            return None
        return Refused(
            ACL_ERROR_RT_INTERNAL_ERROR,
            "deadlock: a callback ({}) of {} calls {}, which waits until {} is over; on a card neither returns. Make "
            "the call before or after the snapshot calls, or on another thread that the callback does not wait for",
            STAGES[self.stage], mutex.function, function, mutex.function,
        )  # fmt: skip

    def untangle(self, machine: "Machine") -> None:
        """A backup waits for work, or a call is held: functions of the program that the backup waits for, and that wait
        for the unlock behind it themselves, would wait for ever on a card. Their calls are refused."""
        for stream in self.awaited.values():
            gate = stream.queue[0] if stream.queue else None
            if isinstance(gate, HostReturn) and gate.function is not None:
                for wait in machine.waits:
                    thread = machine.thread(wait.thread)
                    if wait.unlocking and wait.reply is None and gate.function.is_run_by(machine, thread):
                        wait.held = None
                        wait.reply = machine.refuse(thread, wait.function, _entangled(self.transition, wait, stream))

    def bound(self, machine: "Machine", wait: Wait) -> None:
        """A call is held. One of a callback waits for an unlock by another thread: for a limited time only."""
        if self.registry.thread == wait.thread:
            wait.deadline = machine.now + PATIENCE
            wait.expired = Refused(
                ACL_ERROR_RT_INTERNAL_ERROR,
                "deadlock: a callback ({}) of {} calls {}, which waits for aclrtSnapShotProcessUnlock, and no other "
                "thread called that within {} s; on a card neither returns. Make the call before or after the snapshot "
                "calls, or on another thread that the callback does not wait for",
                STAGES[self.stage], self.registry.function, wait.function, PATIENCE // 1_000_000_000,
            )  # fmt: skip


def _entangled(transition: Mutex, wait: Wait, stream: "Stream") -> Refused:
    return Refused(
        ACL_ERROR_RT_INTERNAL_ERROR,
        "deadlock: a function of the program on the stream {:#x} calls {}, which waits for aclrtSnapShotProcessUnlock, "
        "while {} waits for the function; on a card neither returns. Have the functions end before the lock, or make "
        "no such call in them",
        stream.handle, wait.function, transition.function,
    )  # fmt: skip


class Operation(Resume):
    """One of the four calls on its way; ``at`` is the step that comes next."""

    __slots__ = ("at", "holds", "thread")

    function: ClassVar[str]

    def __init__(self, thread: "Thread") -> None:
        self.thread = thread
        self.at = 0
        self.holds = False  # the transition

    def reply(self, machine: "Machine") -> Reply:
        """Go on until a step has to wait, or the call is over. Then it holds nothing any more."""
        try:
            reply: Reply = None
            while reply is None:
                self.at += 1
                reply = self.step(machine, self.at)
        except Refused:
            self.end(machine)
            raise
        if reply == 0:
            self.end(machine)
        return reply

    def end(self, machine: "Machine") -> None:
        """The call is over."""
        if self.holds:
            self.holds = False
            machine.snapshot.awaited.clear()
            machine.snapshot.transition.release()

    def step(self, machine: "Machine", number: int) -> Reply:
        """One step, from 1: None to go on with the next, 0 at the end of the call. Raises Refused."""
        raise NotImplementedError

    def wait_for(self, machine: "Machine", mutex: Mutex) -> Reply:
        """None if nobody holds it; else the step is made again when nobody does.

        Raises:
            Refused: 507000, nobody ever would let it go.
        """
        if mutex.thread is None:
            return None
        deadlock = machine.snapshot.deadlock(mutex, self.thread, self.function)
        if deadlock is not None:
            raise deadlock
        self.at -= 1
        return machine.wait_until(self.thread, self.function, Free(mutex), self)

    def hold(self, machine: "Machine") -> None:
        """Take the transition, which is free."""
        machine.snapshot.transition.take(self.thread, self.function)
        self.holds = True

    def run(self, machine: "Machine", stage: int) -> Reply:
        """Run the callbacks of a stage, and go on."""
        waits = self.wait_for(machine, machine.snapshot.registry)
        return Callbacks(stage, self).begin(machine) if waits is None else waits


class Callbacks(Then):
    """The callbacks of one stage, while a call runs them: each for every open device, in the order of their ids, before
    the next. ``operation`` is the call."""

    __slots__ = ("device", "operation", "place", "stage")

    def __init__(self, stage: int, operation: Operation) -> None:
        self.stage = stage
        self.operation = operation
        self.place = 0  # of the present callback
        self.device = -1  # the one that it was called for last

    def begin(self, machine: "Machine") -> Reply:
        """Run them. Nobody holds the registry."""
        snapshot = machine.snapshot
        snapshot.registry.take(self.operation.thread, self.operation.function)
        snapshot.stage = self.stage
        return self._next(machine)

    def take(self, machine: "Machine", value: int) -> Reply:
        if value:
            machine.snapshot.registry.release()
            self.operation.end(machine)
            raise Refused(
                ACL_ERROR_SNAPSHOT_CALLBACK_FAILED,
                "callback {} of the stage {} returned {:#x} for device {}; it has to return 0 for {} to go on",
                self.place + 1, STAGES[self.stage], value, self.device, self.operation.function,
            )  # fmt: skip
        return self._next(machine)

    def _next(self, machine: "Machine") -> Reply:
        callbacks = [*machine.snapshot.callbacks[self.stage].items()]
        for place in range(self.place, len(callbacks)):
            self.place = place
            for device in machine.devices[self.device + 1 :]:
                if device.contexts:
                    self.device = device.user
                    function, user_data = callbacks[place]
                    invoke = Invoke(function, (self.device, user_data), SIGNATURE)
                    return machine.invoke(self.operation.thread, self.operation.function, invoke, self)
            self.device = -1
        machine.snapshot.registry.release()
        return self.operation.reply(machine)
