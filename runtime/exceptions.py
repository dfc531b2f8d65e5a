"""Failed tasks as the program's exception callbacks see them.

Callbacks run on a worker of the runtime, one after the other; a synchronise that answers the failure waits for them
(reference implementation: they have run when it answers). What they get is a handle that is good while they run.
"""

from typing import TYPE_CHECKING, Final

from cannery.runtime.host_functions import Job, Worker, new_worker
from cannery.runtime.invoke import Invoke
from cannery.runtime.kept import Kept

if TYPE_CHECKING:
    from cannery.runtime.errors import Refused
    from cannery.runtime.machine import Machine
    from cannery.runtime.tasks import Task

SIGNATURE: Final = "void(ptr)"


class FailedTask(Kept):
    """What callbacks are told of a task. ``left`` is how many of them have not returned."""

    __slots__ = ("code", "device", "handle", "left", "stream", "task")

    def __init__(self, handle: int, task: "Task", code: int) -> None:
        self.handle = handle
        self.task = task.number
        self.stream = task.stream.id.number
        self.device = task.stream.device.index
        self.code = code
        self.left = 0


class ExceptionCallback(Job):
    """One callback for one failed task."""

    __slots__ = ("failed",)

    def __init__(self, function: int, failed: FailedTask) -> None:
        self.invoke = Invoke(function, (failed.handle,), SIGNATURE)
        self.failed = failed

    def returned(self, machine: "Machine") -> None:
        failed = self.failed
        failed.left -= 1
        if not failed.left:
            del machine.exceptions.failed[failed.handle]


class Exceptions(Kept):
    """The callbacks of a process: the ``main`` one of aclrtSetExceptionInfoCallback (0: none), those that were
    ``registered``, each once. ``failed`` has the tasks that callbacks are being told of, by handle."""

    __slots__ = ("failed", "main", "registered", "worker")

    def __init__(self) -> None:
        self.main = 0
        self.registered: dict[int, None] = {}
        self.failed: dict[int, FailedTask] = {}
        self.worker: Worker | None = None

    def report(self, machine: "Machine", task: "Task", failure: "Refused") -> None:
        """Have the callbacks told of a task, if there are any."""
        callbacks = [self.main, *self.registered] if self.main else [*self.registered]
        if not callbacks:
            return
        if self.worker is None:
            self.worker = new_worker(machine)
        failed = FailedTask(machine.new_handle(), task, failure.number)
        self.failed[failed.handle] = failure.report = failed
        failed.left = len(callbacks)
        for callback in callbacks:
            self.worker.add(machine, ExceptionCallback(callback, failed))
