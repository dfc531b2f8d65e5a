"""Argument lists of kernels, which programs put together piece by piece (aclrtKernelArgs...).

A list is one block of bytes: the parameters one after the other, and behind them what placeholders stand for. Those
are pointers that a launch fills in, when it has copied the block to the device. The block is either memory of the
program, or kept here; then its placeholder data is in pinned memory, since the program writes that itself.

Numbers are those of the public implementation.
"""

from typing import TYPE_CHECKING, Final

from cannery.runtime.kept import Kept

if TYPE_CHECKING:
    from cannery.runtime.binaries import Kernel

MOST: Final = 128  # parameters
ROOM: Final = 64 << 10  # bytes of a list that the runtime keeps
SYSTEM_PARAMETERS: Final = 8
POINTER: Final = 8


class Parameter(Kept):
    """One parameter, at ``offset`` of the block. ``data``: of a placeholder, where in the block its data begins, and
    ``extent`` how long it is; 0 while it has none."""

    __slots__ = ("data", "extent", "handle", "offset", "placeholder", "size")

    def __init__(self, handle: int, offset: int, size: int, placeholder: bool) -> None:
        self.handle = handle
        self.offset = offset
        self.size = size
        self.placeholder = placeholder
        self.data = 0
        self.extent = 0


class Arguments(Kept):
    """An argument list for ``kernel``. ``size`` of ``room`` bytes of its block are taken.

    ``address`` is that of the block in host memory, 0 while a list that the runtime keeps has no data of placeholders;
    ``own``: the block is memory of the program, else ``content`` has the parameters. ``closed``: placeholder data
    begins, no more parameters can follow. ``final``: ready to launch; ``changed``: not any more.
    """

    __slots__ = ("address", "changed", "closed", "content", "final", "handle", "kernel", "own", "parameters", "room",
                 "size")  # fmt: skip

    def __init__(self, handle: int, kernel: "Kernel", address: int, room: int) -> None:
        self.handle = handle
        self.kernel = kernel
        self.address = address
        self.own = address != 0
        self.room = room
        self.size = 0
        self.content = bytearray()
        self.parameters: dict[int, Parameter] = {}
        self.closed = False
        self.final = False
        self.changed = False

    def next(self) -> int:
        """Where the next parameter, or data, begins: packed for the control processor, else at a multiple of 8."""
        return self.size if self.kernel.cpu else -(-self.size // POINTER) * POINTER

    def append(self, parameter: Parameter) -> None:
        self.parameters[parameter.handle] = parameter
        self.size = parameter.offset + parameter.size
        self.content.extend(bytes(self.size - len(self.content)))

    def reserve(self, parameter: Parameter, size: int) -> None:
        """``size`` bytes of data for a placeholder."""
        self.closed = True
        parameter.data = self.next()
        parameter.extent = size
        self.size = parameter.data + size

    @property
    def offsets(self) -> tuple[int, ...]:
        """Where each parameter begins."""
        return tuple(parameter.offset for parameter in self.parameters.values())

    @property
    def placeholders(self) -> tuple[tuple[int, int], ...]:
        """Of each placeholder with data: where the pointer is, and where the data."""
        return tuple(
            (parameter.offset, parameter.data)
            for parameter in self.parameters.values()
            if parameter.placeholder and parameter.extent
        )
