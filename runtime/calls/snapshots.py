"""Snapshot calls (semantics.md 10): lock, backup, restore, unlock, and the callbacks of their stages.

Each of the four goes through steps, any of which may have to wait, or have callbacks run. What they wait for, and what
they hold meanwhile, is that of the reference implementation; see :mod:`cannery.runtime.snapshot`.
"""

from typing import TYPE_CHECKING, Final

from cannery.runtime.calls.registry import call
from cannery.runtime.calls.streams import AllSynchronized, waited_streams
from cannery.runtime.errors import (
    ACL_ERROR_SNAPSHOT_BACKUP_FAILED,
    ACL_ERROR_SNAPSHOT_LOCK_FAILED,
    ACL_ERROR_SNAPSHOT_REGISTER_CALLBACK_FAILED,
    ACL_ERROR_SNAPSHOT_RESTORE_FAILED,
    ACL_ERROR_SNAPSHOT_UNLOCK_FAILED,
    Again,
    Refused,
    driver_fault,
    invalid,
    no_context,
    out_of_range,
    unsupported,
)
from cannery.runtime.objects import Context, Device, Stream, Thread
from cannery.runtime.snapshot import (
    BACKED_UP,
    BACKUP_POST,
    BACKUP_PRE,
    LOCK_PRE,
    LOCKED,
    RESTORE_POST,
    RESTORE_PRE,
    RUNNING,
    STAGES,
    UNLOCK_POST,
    Free,
    Operation,
)
from cannery.runtime.waits import Reply

if TYPE_CHECKING:
    from cannery.runtime.machine import Machine

API_WITH_PROCESS: Final = "1.17"
"""The version of the API whose snapshot calls have arguments, as ``CANNERY_ACL_API`` names it."""


# The four calls.


class Lock(Operation):
    """The callbacks come before the state is looked at. The runtime's background threads are quiet at once (507905 does
    not happen)."""

    __slots__ = ()

    function = "aclrtSnapShotProcessLock"

    def step(self, machine: "Machine", number: int) -> Reply:
        snapshot = machine.snapshot
        if number == 1:
            return self.run(machine, LOCK_PRE)
        if number == 2:
            return self.wait_for(machine, snapshot.transition)
        if snapshot.state != RUNNING:
            raise Refused(
                ACL_ERROR_SNAPSHOT_LOCK_FAILED,
                "the process is {}; unlock it first (aclrtSnapShotProcessUnlock), and lock it once",
                snapshot.state,
            )
        snapshot.enter(machine, LOCKED)
        return 0


class Unlock(Operation):
    """Calls that were held go on before the callbacks run."""

    __slots__ = ()

    function = "aclrtSnapShotProcessUnlock"

    def step(self, machine: "Machine", number: int) -> Reply:
        snapshot = machine.snapshot
        if number == 1:
            return self.wait_for(machine, snapshot.transition)
        if number == 2:
            if snapshot.state == RUNNING:
                raise Refused(
                    ACL_ERROR_SNAPSHOT_UNLOCK_FAILED,
                    "the process is {}, so there is nothing to unlock; lock it first (aclrtSnapShotProcessLock)",
                    snapshot.state,
                )
            if machine.saved is not None:
                machine.discarded.append(machine.saved)
                machine.saved = None
            snapshot.enter(machine, RUNNING)
            return None
        return self.run(machine, UNLOCK_POST) if number == 3 else 0


class Backup(Operation):
    """A backup that fails leaves the state, and the backup before it, as they were."""

    __slots__ = ("contexts", "streams")

    function = "aclrtSnapShotProcessBackup"

    def __init__(self, thread: Thread) -> None:
        super().__init__(thread)
        self.contexts: list[Context] = []  # whose work is still to be waited for
        self.streams: list[Stream] = []  # of the present one of them

    def step(self, machine: "Machine", number: int) -> Reply:
        snapshot = machine.snapshot
        if number == 1:
            return self.wait_for(machine, snapshot.transition)
        if number == 2:
            self._check_state(machine)
            self.hold(machine)
            return None
        if number == 3:
            return self.run(machine, BACKUP_PRE)
        if number == 4:
            self.contexts = [*machine.contexts.values()]
            if not self.contexts:
                raise no_context()
            return None
        if number == 5:
            return self._wait_for_work(machine)
        if number == 6:
            machine.snapshot.awaited.clear()
            AllSynchronized(self.streams).reply(machine)
            if self.contexts:
                self.at = 4
            return None
        if number == 7:
            _check_instances(machine)
            _save(machine)
            return self.run(machine, BACKUP_POST)
        snapshot.enter(machine, BACKED_UP)
        return 0

    def _check_state(self, machine: "Machine") -> None:
        state = machine.snapshot.state
        again = state == BACKED_UP and machine.behaviour["snapshot-repeat-backup"] == "last-counts"
        if state != LOCKED and not again:
            raise Refused(
                ACL_ERROR_SNAPSHOT_BACKUP_FAILED,
                "the process is {}; a backup needs it LOCKED: call aclrtSnapShotProcessLock first, and after a backup "
                "restore it, or unlock and lock it",
                state,
            )

    def _wait_for_work(self, machine: "Machine") -> Reply:
        """Wait for the next context. A failure there is that of the call, and is consumed."""
        self.streams = waited_streams(machine, self.contexts.pop(0))
        targets = [stream.queue[-1] for stream in self.streams if stream.queue]
        if not targets:
            return None
        machine.snapshot.awaited = {stream.handle: stream for stream in self.streams}
        machine.snapshot.untangle(machine)
        return machine.wait(self.thread, self.function, targets, self)


def _check_instances(machine: "Machine") -> None:
    """Raises 507908 while a model instance is still being built or captured."""
    for graph in machine.graphs.values():
        if not graph.built:
            raise Refused(
                ACL_ERROR_SNAPSHOT_BACKUP_FAILED,
                "the model instance {:#x} is not complete; end its capture or its building before the lock",
                graph.handle,
            )


class Restore(Operation):
    """A restore that a callback refuses leaves the process BACKED_UP."""

    __slots__ = ()

    function = "aclrtSnapShotProcessRestore"

    def step(self, machine: "Machine", number: int) -> Reply:
        snapshot = machine.snapshot
        if number == 1:
            return self.wait_for(machine, snapshot.transition)
        if number == 2:
            if snapshot.state != BACKED_UP:
                raise Refused(
                    ACL_ERROR_SNAPSHOT_RESTORE_FAILED,
                    "the process is {}; a restore needs a backup in the same lock: call aclrtSnapShotProcessBackup "
                    "first",
                    snapshot.state,
                )
            self.hold(machine)
            return None
        if number == 3:
            return self.run(machine, RESTORE_PRE)
        if number == 4:
            assert machine.saved is not None, "a process that is BACKED_UP has a backup"
            _check_devices(machine.saved.devices)
            machine.saved.restore(machine)
            return None
        if number == 5:
            return self.run(machine, RESTORE_POST)
        snapshot.enter(machine, LOCKED)
        return 0


def _check_devices(devices: list[Device]) -> None:
    """Raises 507899 if another process has one of them open: the driver brings devices back for one process alone. Who
    has a device open has a stream of it."""
    for device in devices:
        if device.stream_ids.budget.elsewhere():
            raise driver_fault(
                "device {} is in use by another process, and a restore needs it alone; have that process reset the "
                "device (aclrtResetDevice) or end, and call again",
                device.user,
            )


def _save(machine: "Machine") -> None:
    """The last backup counts. Raises 507908."""
    from cannery.runtime.backup import Saved  # needs much that programs without snapshots do not
    from cannery.runtime.state import StateError

    try:
        machine.saved = Saved(machine, machine.saved)
    except StateError as error:
        raise Refused(
            ACL_ERROR_SNAPSHOT_BACKUP_FAILED,
            "the devices have something that this version cannot keep ({}); leave it out of programs with snapshots",
            str(error),
        ) from None
    except OSError as failed:  # of another name: compiled, a variable has one type
        raise Refused(
            ACL_ERROR_SNAPSHOT_BACKUP_FAILED,
            "there is no memory for a copy of what the devices hold ({}); touch less of it",
            str(failed),
        ) from None


# What the calls check first: arguments (A), then the product.


def _check_process(machine: "Machine", process: int, reserved: int, name: str) -> None:
    """The arguments, which count only where they exist: (A) 100000."""
    pid = machine.behaviour["snapshot-signature"] == "pid" or machine.settings.acl_api == API_WITH_PROCESS
    if pid and process != machine.port.exchange.process_id():
        raise invalid("the argument pid is not the id of this process; pass getpid(), other processes cannot be meant")
    if pid and reserved:
        raise invalid("the argument {} is not null; it is reserved, pass null", name)


def _check_product(machine: "Machine") -> None:
    profile = machine.profile
    documented = profile.name == "950DT" and machine.behaviour["snapshot-950dt"] == "supported"
    if not profile.snapshot and not documented:
        raise unsupported("product {} has no snapshots; choose another one with --product", profile.name)


@call("aclrtSnapShotProcessLock", everywhere=True)
def process_lock(machine: "Machine", thread: Thread, process: int, reserve: int) -> Reply:
    _check_process(machine, process, reserve, "reserve")
    _check_product(machine)
    return Lock(thread).reply(machine)


@call("aclrtSnapShotProcessUnlock", everywhere=True)
def process_unlock(machine: "Machine", thread: Thread, process: int, reserve: int) -> Reply:
    _check_process(machine, process, reserve, "reserve")
    _check_product(machine)
    return Unlock(thread).reply(machine)


@call("aclrtSnapShotProcessBackup", everywhere=True)
def process_backup(machine: "Machine", thread: Thread, process: int, arguments: int) -> Reply:
    _check_process(machine, process, arguments, "args")
    _check_product(machine)
    return Backup(thread).reply(machine)


@call("aclrtSnapShotProcessRestore", everywhere=True)
def process_restore(machine: "Machine", thread: Thread, process: int, arguments: int) -> Reply:
    _check_process(machine, process, arguments, "args")
    _check_product(machine)
    return Restore(thread).reply(machine)


# The callbacks.


def _registered(machine: "Machine", thread: Thread, function: str, stage: int, callback: int) -> dict[int, int]:
    """The callbacks of a stage, which nobody runs now.

    Raises:
        Refused: 207000, 107000; or 507000, they never will stop running.
        Again: somebody runs callbacks.
    """
    _check_product(machine)
    if not 0 <= stage < len(STAGES):
        raise out_of_range("the argument stage is {}; pass a value of aclrtSnapShotStage, from 0 to 5", stage)
    if not callback:
        raise out_of_range("the argument callback is null; pass a function")
    registry = machine.snapshot.registry
    deadlock = machine.snapshot.deadlock(registry, thread, function)
    if deadlock is not None:
        raise deadlock
    if registry.thread is not None:
        raise Again(until=Free(registry))
    return machine.snapshot.callbacks[stage]


@call("aclrtSnapShotCallbackRegister", everywhere=True)
def callback_register(machine: "Machine", thread: Thread, stage: int, callback: int, arguments: int) -> int:
    callbacks = _registered(machine, thread, "aclrtSnapShotCallbackRegister", stage, callback)
    if callback in callbacks:
        raise Refused(
            ACL_ERROR_SNAPSHOT_REGISTER_CALLBACK_FAILED,
            "the callback is registered for the stage {} already; unregister it first, or register it for another "
            "stage",
            STAGES[stage],
        )
    callbacks[callback] = arguments
    return 0


@call("aclrtSnapShotCallbackUnregister", everywhere=True)
def callback_unregister(machine: "Machine", thread: Thread, stage: int, callback: int) -> int:
    callbacks = _registered(machine, thread, "aclrtSnapShotCallbackUnregister", stage, callback)
    if callback not in callbacks:
        raise out_of_range(
            "the callback is not registered for the stage {}; pass the stage and the function that it was registered "
            "with",
            STAGES[stage],
        )
    del callbacks[callback]
    return 0
