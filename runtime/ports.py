"""What the machine asks of the world outside it: the ports.

The machine is sans-IO. Everything it learns from the host beyond the arguments and the time of a call passes
through :class:`HostPort`, so that a recorder can keep it and a replayer can give it back. The live port touches
the memory of the program; the replay port answers from the trace. An answer that does not come through here, and
is neither an argument nor the time, is an input that replay cannot reproduce: a defect.
"""

from collections.abc import Iterable
from typing import TYPE_CHECKING, NamedTuple, Protocol

if TYPE_CHECKING:
    from cannery.runtime.exchange import Exchange
    from cannery.runtime.kernels import KernelRun


class Range(NamedTuple):
    """Bytes at ``offset`` from where the pointer at ``place`` of a launch's arguments points."""

    place: int
    offset: int
    content: memoryview


class Unknown(bytes):
    """Content that a replay does not have, since the trace was recorded without it: as many zeros."""


class DeviceBytes(Protocol):
    """What gives writable views of parts of a device's memory; a memoryview does."""

    def __getitem__(self, part: slice, /) -> memoryview: ...


class DeviceStore(Protocol):
    """The bytes behind the address range of one device, zero until written.

    ``view`` gives writable bytes of a range of ``span`` bytes; offset 0 is the first address of the device's range.
    """

    @property
    def view(self) -> DeviceBytes: ...

    def discard(self, offset: int, size: int) -> None:
        """Give the pages of a freed range back to the system; they read as zero afterwards."""

    def written(self) -> Iterable[tuple[int, int]]:
        """Offset and size of ranges of whole pages outside of which all bytes are zero, ascending."""


class HostPort(Protocol):
    """Everything of the host that can influence a result. Addresses are plain integers. ``exchange``: what other
    processes can do (``exchange.py``)."""

    @property
    def exchange(self) -> "Exchange": ...

    def device_base(self, span: int) -> int:
        """Reserve ``span`` bytes of address space that the host can neither read nor write; its first address."""

    def device_store(self, device: int, span: int) -> DeviceStore:
        """Make the backing of one device's address range (called on the first allocation there).

        Raises:
            OSError: the host has none; the text is for people. The call fails as if it had not been made.
        """

    def read(self, address: int, into: memoryview) -> bool:
        """Copy ``len(into)`` bytes from host memory at ``address``. False: the range is not readable."""

    def write(self, address: int, data: memoryview) -> bool:
        """Copy ``data`` to host memory at ``address``. False: the range is not writable."""

    def move(self, destination: int, source: int, size: int) -> bool:
        """Copy between two host ranges that may overlap. False: one of them is not accessible."""

    def fill(self, address: int, value: int, size: int) -> bool:
        """Set ``size`` bytes of host memory to the byte ``value``. False: the range is not writable."""

    def pinned_alloc(self, size: int) -> int:
        """Page-aligned host memory for the program; 0 when the host has none."""

    def pinned_free(self, address: int) -> None:
        """Release what :meth:`pinned_alloc` gave."""

    def thread(self, ordinal: int) -> tuple[int, int]:
        """What the calling thread, which has that ordinal, is: the id that the program knows it by (pthread_self), and
        the number of the worker that it is, or 0."""

    def tid(self, ordinal: int) -> int:
        """The number by which the system knows the thread with that ordinal (gettid), which may have ended."""

    def file(self, path: bytes) -> bytes | None:
        """Content of a file that an argument names, or :class:`Unknown`; None when it cannot be opened."""

    def write_file(self, path: bytes, content: bytes) -> bool:
        """Make a file that an argument names, or replace its content. False: it cannot be written."""

    def data(self, address: int, size: int) -> bytes | None:
        """A copy of host memory, or :class:`Unknown`; None: the range is not readable."""

    def copied(self, address: int, size: int) -> memoryview | None:
        """A new buffer with a copy of host memory; None: the range is not readable. The size may be any that a program
        can pass: memory for the buffer is taken once it is known that there is so much to copy.

        Raises:
            MemoryError: the host has none for the buffer.
        """

    def model(self, name: bytes) -> bool | None:
        """Whether there is a kernel model for a kernel of that name; None, in a replay without the content of the
        binary, if that has no such kernel."""

    def unmodelled(self, name: bytes) -> None:
        """A kernel without a model is launched for the first time: tell the user."""

    def log(self, level: int, file: bytes, line: int, text: bytes) -> None:
        """The program logs a message, of that ``aclLogLevel``."""

    def kernel(self, run: "KernelRun") -> str | None:
        """Run the model of a kernel, which there is. What went wrong, if it failed; then it wrote nothing."""
