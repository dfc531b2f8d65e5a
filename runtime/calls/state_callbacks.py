"""Functions that are told of streams and devices, and the end of all work of a device (reference documents, then
reference implementation; semantics.md has neither)."""

from typing import TYPE_CHECKING, Any, Final

from cannery.runtime.calls.devices import device_named
from cannery.runtime.calls.registry import call
from cannery.runtime.errors import (
    ACL_ERROR_RT_DEVICE_TASK_ABORT,
    ACL_ERROR_RT_INTERNAL_ERROR,
    ACL_ERROR_RT_WAIT_TIMEOUT,
    Refused,
    null,
    out_of_range,
)
from cannery.runtime.objects import Context, Device, Thread
from cannery.runtime.state_callbacks import Callbacks, Telling
from cannery.runtime.waits import Reply, Resume

if TYPE_CHECKING:
    from cannery.runtime.machine import Machine

ABORT_PRE: Final = 0  # aclrtDeviceTaskAbortStage
ABORT_POST: Final = 1
LONGEST: Final = 36 * 60 * 1000  # ms
_MILLISECOND: Final = 1_000_000


def _register(callbacks: Callbacks, name: bytes | None, function: int, data: int) -> int:
    """Null ends what was registered under the name, if there is anything."""
    if name is None:
        raise null("regName")
    if not function:
        callbacks.pop(name, None)
        return 0
    if name in callbacks:
        raise out_of_range(
            "the argument regName ({}) is in use; pass another one, or end that with a null callback first",
            name.decode(errors="replace"),
        )
    callbacks[name] = function, data
    return 0


@call("aclrtRegStreamStateCallback")
def reg_stream_state_callback(machine: "Machine", thread: Thread, name: bytes | None, function: int, data: int) -> int:
    return _register(machine.told.streams, name, function, data)


@call("aclrtRegDeviceStateCallback")
def reg_device_state_callback(machine: "Machine", thread: Thread, name: bytes | None, function: int, data: int) -> int:
    return _register(machine.told.devices, name, function, data)


@call("aclrtSetDeviceTaskAbortCallback")
def set_device_task_abort_callback(
    machine: "Machine", thread: Thread, name: bytes | None, function: int, data: int
) -> int:
    return _register(machine.told.aborts, name, function, data)


@call("aclrtDeviceTaskAbort")
def device_task_abort(machine: "Machine", thread: Thread, device_id: int, limit: int) -> Any:
    """All queued work of the device is lost, in every context; who waits for it gets 107022. Until this call has
    succeeded its contexts answer 107022; then they are as if nothing had ever failed."""
    machine.hold()
    if limit > LONGEST:
        raise out_of_range("the argument timeout is {} ms; pass 0 for no limit, or at most {}", limit, LONGEST)
    abort = Abort(thread, device_named(machine, device_id), limit, machine.now)
    for context in abort.contexts(machine):
        context.failed = Refused(
            ACL_ERROR_RT_DEVICE_TASK_ABORT,
            "the work of device {} is being discarded, or could not be (aclrtDeviceTaskAbort); call that again",
            abort.device.user,
        )
    return abort.tell(machine, ABORT_PRE)


class Abort(Resume):
    """What one aclrtDeviceTaskAbort does next: discard the work, and then (``discarded``) have the device usable."""

    __slots__ = ("device", "discarded", "limit", "start", "thread")

    def __init__(self, thread: Thread, device: Device, limit: int, start: int) -> None:
        self.thread = thread
        self.device = device
        self.limit = limit
        self.start = start
        self.discarded = False

    def contexts(self, machine: "Machine") -> list[Context]:
        return [context for context in machine.contexts.values() if context.device is self.device]

    def tell(self, machine: "Machine", stage: int) -> Reply:
        """Run the functions of a stage, and go on."""
        invokes = machine.told.of_abort(self.device, stage, self._left(machine))
        return AbortTelling(self.thread, "aclrtDeviceTaskAbort", invokes, self).go_on(machine)

    def reply(self, machine: "Machine") -> Reply:
        self._left(machine)
        if not self.discarded:
            self.discarded = True
            for context in self.contexts(machine):
                for stream in [*context.streams.values()]:
                    machine.schedule.lose(stream)
            machine.settle()
            return self.tell(machine, ABORT_POST)
        for context in self.contexts(machine):
            context.failed = None
            for stream in context.streams.values():
                stream.failure = None
                stream.aborted = False
        return 0

    def _left(self, machine: "Machine") -> int:
        """Of the limit, in ms; 0 if there is none. Raises 107019."""
        if not self.limit:
            return 0
        left = self.limit - (machine.now - self.start) // _MILLISECOND
        if left < 0:
            raise Refused(
                ACL_ERROR_RT_WAIT_TIMEOUT,
                "the functions that aclrtDeviceTaskAbort runs took longer than its limit of {} ms; device {} cannot be "
                "used until the call succeeds",
                self.limit, self.device.user,
            )  # fmt: skip
        return left


class AbortTelling(Telling):
    """Each of the functions has to return 0."""

    __slots__ = ()

    def check(self, value: int) -> None:
        if value:
            raise Refused(
                ACL_ERROR_RT_INTERNAL_ERROR,
                "a function of aclrtSetDeviceTaskAbortCallback returned {}; the device cannot be used until the call "
                "succeeds",
                value,
            )
