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
from cannery.runtime.state_callbacks import Callbacks, tell

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
    return _Abort(machine, thread, device_named(machine, device_id), limit).begin()


class _Abort:
    """One aclrtDeviceTaskAbort."""

    __slots__ = ("device", "limit", "machine", "start", "thread")

    def __init__(self, machine: "Machine", thread: Thread, device: Device, limit: int) -> None:
        self.machine = machine
        self.thread = thread
        self.device = device
        self.limit = limit
        self.start = machine.now

    def begin(self) -> Any:
        for context in self._contexts():
            context.failed = Refused(
                ACL_ERROR_RT_DEVICE_TASK_ABORT,
                "the work of device {} is being discarded, or could not be (aclrtDeviceTaskAbort); call that again",
                self.device.user,
            )
        return self._told(ABORT_PRE, self._discard)

    def _contexts(self) -> list[Context]:
        return [context for context in self.machine.contexts.values() if context.device is self.device]

    def _told(self, stage: int, then: Any) -> Any:
        invokes = self.machine.told.of_abort(self.device, stage, self._left())
        return tell(self.machine, self.thread, "aclrtDeviceTaskAbort", invokes, then, _failed)

    def _left(self) -> int:
        """Of the limit, in ms; 0 if there is none. Raises 107019."""
        if not self.limit:
            return 0
        left = self.limit - (self.machine.now - self.start) // _MILLISECOND
        if left < 0:
            raise Refused(
                ACL_ERROR_RT_WAIT_TIMEOUT,
                "the functions that aclrtDeviceTaskAbort runs took longer than its limit of {} ms; device {} cannot be "
                "used until the call succeeds",
                self.limit, self.device.user,
            )  # fmt: skip
        return left

    def _discard(self) -> Any:
        self._left()
        for context in self._contexts():
            for stream in [*context.streams.values()]:
                self.machine.schedule.lose(stream)
        self.machine.settle()
        return self._told(ABORT_POST, self._clean)

    def _clean(self) -> int:
        self._left()
        for context in self._contexts():
            context.failed = None
            for stream in context.streams.values():
                stream.failure = None
                stream.aborted = False
        return 0


def _failed(value: int) -> Refused:
    return Refused(
        ACL_ERROR_RT_INTERNAL_ERROR,
        "a function of aclrtSetDeviceTaskAbortCallback returned {}; the device cannot be used until the call succeeds",
        value,
    )
