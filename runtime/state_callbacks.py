"""Functions of the program that are told when streams, devices and their work come and go.

They run on the thread whose call it is, one after the other, and the call goes on when the last has returned. What the
runtime makes for itself (streams of captures) and what it opens unasked (a default device) tells nobody (our choice).
"""

from collections.abc import Iterable
from typing import TYPE_CHECKING, Final

from cannery.runtime.invoke import Invoke
from cannery.runtime.kept import Kept
from cannery.runtime.waits import Reply, Resume, Then

if TYPE_CHECKING:
    from cannery.runtime.machine import Machine
    from cannery.runtime.objects import Device, Stream, Thread

# aclrtStreamState
CREATE_POST: Final = 1
DESTROY_PRE: Final = 2
# aclrtDeviceState
SET_PRE: Final = 0
SET_POST: Final = 1
RESET_PRE: Final = 2
RESET_POST: Final = 3

STREAM_SIGNATURE: Final = "void(ptr,i32,ptr)"
DEVICE_SIGNATURE: Final = "void(i32,i32,ptr)"
ABORT_SIGNATURE: Final = "i32(i32,i32,u32,ptr)"

Callbacks = dict[bytes, tuple[int, int]]
"""By the name that each was registered under: the function, and what it gets as its last argument."""


class StateCallbacks(Kept):
    """The callbacks of a process: about streams, devices, and the end of all work of a device (``aborts``)."""

    __slots__ = ("aborts", "devices", "streams")

    def __init__(self) -> None:
        self.streams: Callbacks = {}
        self.devices: Callbacks = {}
        self.aborts: Callbacks = {}

    def of_streams(self, streams: "Iterable[Stream]", state: int) -> list[Invoke]:
        """What is to be run when these streams come or go; by name (reference implementation)."""
        if not self.streams:
            return []
        return [
            Invoke(function, (stream.handle, state, data), STREAM_SIGNATURE)
            for stream in streams
            for _, (function, data) in sorted(self.streams.items())
        ]

    def of_device(self, device: "Device", state: int) -> list[Invoke]:
        """As :meth:`of_streams`. In the order of registration (the reference implementation has none)."""
        return [
            Invoke(function, (device.user, state, data), DEVICE_SIGNATURE) for function, data in self.devices.values()
        ]

    def of_abort(self, device: "Device", stage: int, left: int) -> list[Invoke]:
        """``left`` of the limit, in ms."""
        return [
            Invoke(function, (device.user, stage, left, data), ABORT_SIGNATURE)
            for _, (function, data) in sorted(self.aborts.items())
        ]


class Telling(Then):
    """A call that runs functions of the program, ``left`` of them, before it goes on with ``then``."""

    __slots__ = ("call", "left", "then", "thread")

    def __init__(self, thread: "Thread", call: str, left: list[Invoke], then: Resume) -> None:
        self.thread = thread
        self.call = call
        self.left = left
        self.then = then

    def check(self, value: int) -> None:
        """What one of them returned may be a reason to go no further: raises Refused."""

    def take(self, machine: "Machine", value: int) -> Reply:
        self.check(value)
        return self.go_on(machine)

    def go_on(self, machine: "Machine") -> Reply:
        """Run the next one. Raises Refused."""
        if not self.left:
            return self.then.reply(machine)
        return machine.invoke(self.thread, self.call, self.left.pop(0), self)


def tell(machine: "Machine", thread: "Thread", call: str, invokes: list[Invoke], then: Resume) -> Reply:
    """The reply of a call that has these functions run, and then goes on with ``then``."""
    return Telling(thread, call, invokes, then).go_on(machine) if invokes else then.reply(machine)
