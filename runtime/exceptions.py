"""Failed tasks as the program's exception callbacks see them.

Callbacks run on a worker of the runtime, one after the other; a synchronise that answers the failure waits for them
(reference implementation: they have run when it answers). What they get is a handle that is good while they run.
"""

from typing import TYPE_CHECKING, Final

from cannery.runtime.host_functions import Job, Worker, new_worker
from cannery.runtime.invoke import Invoke
from cannery.runtime.kept import Kept
from cannery.runtime.kernels import Launch

if TYPE_CHECKING:
    from cannery.runtime.errors import Refused
    from cannery.runtime.machine import Machine
    from cannery.runtime.places import Allocation
    from cannery.runtime.tasks import Task

SIGNATURE: Final = "void(ptr)"
BINARY_SIGNATURE: Final = "void(ptr,ptr)"


class FailedTask(Kept):
    """What callbacks are told of a task. ``left`` is how many of them have not returned. ``launch``: the task, if it is
    one; ``arguments`` is device memory with what it was launched with, if somebody asked for that."""

    __slots__ = ("arguments", "code", "device", "handle", "launch", "left", "stream", "task", "thread")

    def __init__(self, handle: int, task: "Task", code: int) -> None:
        self.handle = handle
        self.task = task.number
        self.thread: int = getattr(task, "thread", 0)  # of a state that an earlier version made: not known
        self.stream = task.stream.id.number
        self.device = task.stream.device.index
        self.code = code
        self.left = 0
        self.launch: Launch | None = task if isinstance(task, Launch) else None
        self.arguments: Allocation | None = None


class ExceptionCallback(Job):
    """One callback for one failed task."""

    __slots__ = ("failed",)

    def __init__(self, invoke: Invoke, failed: FailedTask) -> None:
        self.invoke = invoke
        self.failed = failed

    def returned(self, machine: "Machine") -> None:
        failed = self.failed
        failed.left -= 1
        if not failed.left:
            del machine.exceptions.failed[failed.handle]
            if failed.arguments is not None and failed.arguments.live:
                machine.memory.free(failed.arguments)


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
        """Have the callbacks told of a task, if there are any; of a launch also that of its binary, last (public
        implementation)."""
        callbacks = [self.main, *self.registered] if self.main else [*self.registered]
        binary = task.kernel.binary if isinstance(task, Launch) else None
        if not callbacks and (binary is None or not binary.callback):
            return
        if self.worker is None:
            self.worker = new_worker(machine)
        failed = FailedTask(machine.new_handle(), task, failure.number)
        invokes = [Invoke(callback, (failed.handle,), SIGNATURE) for callback in callbacks]
        if binary is not None and binary.callback:
            invokes.append(Invoke(binary.callback, (failed.handle, binary.user_data), BINARY_SIGNATURE))
        self.failed[failed.handle] = failure.report = failed
        failed.left = len(invokes)
        for invoke in invokes:
            self.worker.add(machine, ExceptionCallback(invoke, failed))
