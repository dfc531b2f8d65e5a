"""Kernel launches as tasks, and what a kernel model sees of one.

What a kernel computes, the machine does not know: the port runs a kernel model, if there is one (``HostPort.kernel``).
Whether there is one is asked once for each function, so that launches without a model cost no more than any task.
"""

from typing import TYPE_CHECKING, Final

from cannery.runtime.errors import ACL_ERROR_RT_AICORE_EXCEPTION, ACL_ERROR_RT_AICPU_EXCEPTION, Refused
from cannery.runtime.places import DEVICE
from cannery.runtime.tasks import Task

if TYPE_CHECKING:
    from cannery.runtime.binaries import Kernel
    from cannery.runtime.machine import Machine
    from cannery.runtime.memory import Memory
    from cannery.runtime.places import Place

IN_DEVICE: Final = "device memory"
IN_ARGUMENTS: Final = "the argument block"
IN_HOST: Final = "registered host memory"


class Target:
    """What a pointer among the arguments leads to: ``room`` bytes from there, in one of the three above.

    ``address`` is the pointer; of the argument block, the offset in that; of host memory, the host's own address.
    """

    __slots__ = ("address", "kind", "place", "room")

    def __init__(self, kind: str, address: int, room: int, place: "Place | None" = None) -> None:
        self.kind = kind
        self.address = address
        self.room = room
        self.place = place


class KernelRun:
    """One launch, for whoever runs its model or puts in place what a model wrote.

    ``arguments`` is the block of its arguments; ``offsets`` where each begins, None where the block does not say;
    ``placeholders`` pairs of where a pointer is in the block and where what it points to.
    """

    __slots__ = ("_memory", "arguments", "blocks", "device", "name", "offsets", "placeholders")

    def __init__(self, launch: "Launch", arguments: bytes, memory: "Memory") -> None:
        self.name = launch.kernel.name
        self.blocks = launch.blocks
        self.device = launch.stream.device.user
        self.arguments = arguments
        self.offsets = launch.offsets
        self.placeholders = launch.placeholders
        self._memory = memory

    def pointer(self, at: int) -> int:
        """The pointer at that byte of the arguments."""
        return int.from_bytes(self.arguments[at : at + 8], "little")

    def target(self, at: int) -> Target | None:
        """What the pointer at that byte of the arguments leads to; None if that is no memory a kernel can reach."""
        for pointer, data in self.placeholders:
            if pointer == at:
                return Target(IN_ARGUMENTS, data, len(self.arguments) - data)
        address = self.pointer(at)
        memory = self._memory
        place = memory.place(address)
        if place.kind is DEVICE and place.allocation is not None:
            return Target(IN_DEVICE, address, _room(memory, place), place)
        window = memory.virtual.window(address)
        if window is not None:
            inside = address - window.address
            return Target(IN_HOST, window.host + inside, window.size - inside)
        return None

    def pieces(self, target: Target, offset: int, size: int) -> list[memoryview]:
        """The bytes of device memory from ``offset`` of a target, in one piece unless mappings divide them."""
        assert target.place is not None
        return self._memory.pieces(self._memory.beyond(target.place, offset), size)


def _room(memory: "Memory", place: "Place") -> int:
    """How many bytes of device memory there are from a place on."""
    allocation = place.allocation
    assert allocation is not None
    end = allocation.address + allocation.size
    if place.mapped:
        if not place.holds(1):
            return 0
        mapping = memory.virtual.mapped(end)
        while mapping is not None and mapping.accessible:
            end = mapping.address + mapping.size
            mapping = memory.virtual.mapped(end)
    return end - place.address


class Launch(Task):
    """A launch whose kernel has a model. The arguments are ``block``, or ``size`` bytes at ``source`` in device memory
    when it runs; then block is None. ``offsets`` and ``placeholders`` as in :class:`KernelRun`."""

    __slots__ = ("block", "blocks", "kernel", "offsets", "placeholders", "size", "source")

    grouped = True
    reported = True
    writes = True
    what = "kernel launch"

    block: bytes | None
    blocks: int
    kernel: "Kernel"
    offsets: tuple[int, ...] | None
    placeholders: tuple[tuple[int, int], ...]
    size: int
    source: "Place | None"

    def effect(self, machine: "Machine") -> Refused | None:
        arguments = self.block
        if arguments is None:
            source = self.source
            assert source is not None
            if source.kind is not DEVICE or not source.holds(self.size):
                return self._failed(
                    f"its arguments, {self.size} bytes at {source.address:#x}, are not in device memory (any more) "
                    "when it runs"
                )
            arguments = machine.memory.load(source, self.size)
            assert arguments is not None, "device memory that is there is readable"
        failure = machine.port.kernel(KernelRun(self, arguments, machine.memory))
        if machine.memory.watchers:
            machine.memory.notice()
        return None if failure is None else self._failed(failure)

    def _failed(self, reason: str) -> Refused:
        return Refused(
            ACL_ERROR_RT_AICPU_EXCEPTION if self.kernel.cpu else ACL_ERROR_RT_AICORE_EXCEPTION,
            "the kernel {} failed: {}",
            self.kernel.name.decode(errors="replace"), reason,
        )  # fmt: skip


class UnmodelledLaunch(Task):
    """A launch of a kernel without a model: takes its turn and touches nothing."""

    __slots__ = ()

    grouped = True
    inert = True
    what = "kernel launch"
