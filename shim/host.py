"""The live host port: the program's memory and files, and the bytes of the devices.

Everything that passes through it becomes an effect of the present step (``effects``, wire form, see
``recorder/encoders.py``), which the session records and clears. Imported in every process that makes a call.
"""

import errno
import os
from collections.abc import Callable
from typing import TYPE_CHECKING, Any, Final

from cannery.recorder import format
from cannery.recorder.addresses import AddressBook
from cannery.recorder.codec import TokenTable
from cannery.recorder.payloads import CHUNK, PayloadStore, WirePayload
from cannery.recorder.sparse import written_ranges
from cannery.recorder.window import check_file_size, reason
from cannery.shim._engine import ffi, lib
from cannery.shim.exchange import LiveExchange
from cannery.shim.host_files import map_file, no_file_size_limit
from cannery.shim.kernels import LiveModels
from cannery.shim.program_log import ProgramLog

if TYPE_CHECKING:
    from cannery.runtime.kernels import KernelRun

#: Where device memory may lie. One fixed first choice, so that runs and machines give the same addresses.
DEVICE_FIRST: Final = 0x2000_0000_0000
DEVICE_LAST: Final = 0x5000_0000_0000
DEVICE_STEP: Final = 1 << 40

#: Longer copies look the range up once, and then are copied and hashed in pieces.
AT_ONCE: Final = CHUNK

#: Of a file that an argument names, so much is read.
LARGEST_FILE: Final = 1 << 30

#: By error number: what the user can raise.
_LIMITS: Final = {
    errno.EMFILE: " (the limit on open files, ulimit -n)",
    errno.ENFILE: " (the limit of the system on open files)",
    errno.ENOMEM: " (the limit on address space, ulimit -v)",
}

_NOT_RECORDED: Final = PayloadStore(os.devnull, "none", None, lambda reason: None)


class MemoryFile:
    """Device memory: an anonymous file, so that other processes can be given parts of it; see runtime/ports.py."""

    def __init__(self, device: int, span: int) -> None:
        self.descriptor = os.memfd_create(f"cannery-device-{device}", os.MFD_CLOEXEC)
        try:
            with no_file_size_limit():
                check_file_size(span)  # a hard limit: an error, not the signal that ends the program
                os.ftruncate(self.descriptor, span)
            self.view = map_file(self.descriptor, span)
        except OSError:
            os.close(self.descriptor)
            raise
        self.identity = os.fstat(self.descriptor).st_ino
        lib.cannery_keep_from_children(ffi.from_buffer(self.view), span)

    def open_descriptor(self) -> int:
        """The file's descriptor; -1 if the program closed it."""
        try:
            return self.descriptor if os.fstat(self.descriptor).st_ino == self.identity else -1
        except OSError:
            return -1

    def discard(self, offset: int, size: int) -> None:
        """Free the whole pages of a range and zero the rest of it."""
        lib.cannery_discard(ffi.from_buffer(self.view) + offset, size)

    def written(self) -> list[tuple[int, int]]:
        """All of it, where the program closed the descriptor."""
        size = len(self.view)
        try:
            if os.fstat(self.descriptor).st_ino == self.identity:
                return [*written_ranges(self.descriptor, size)]
        except OSError:
            pass
        return [(0, size)]


class LiveHost:
    """See runtime/ports.py for what each method promises to the machine."""

    def __init__(self, variables: dict[str, str], say: Callable[[str], None]) -> None:
        """``variables`` are those of the program, ``say`` tells the user a line."""
        self.effects: list[Any] = []
        self.models = LiveModels(variables.get("CANNERY_KERNELS", ""))
        self.log = ProgramLog(variables).write
        self.exchange = LiveExchange(variables, self.effects, say)
        self.exchange.descriptor = self._shareable
        self.book = AddressBook(0, 0)  # until the recording brings its own
        self.tokens = TokenTable()  # likewise
        self.payloads = _NOT_RECORDED
        self.moving: Callable[[], str | None] | None = None  # see Machine.moving; None: the call is not recorded
        self.base = 0
        self.span = 0
        self.pinned: dict[int, int] = {}
        self.stores: dict[int, MemoryFile] = {}  # by device

    def device_base(self, span: int) -> int:
        if not self.base:
            self.base = lib.cannery_reserve(DEVICE_FIRST, DEVICE_LAST, DEVICE_STEP, span)
            if not self.base:
                raise OSError("no room in this process's address space for device memory")
            self.span = span
        return self.base

    def device_store(self, device: int, span: int) -> MemoryFile:
        try:
            store = self.stores[device] = MemoryFile(device, span)
        except OSError as error:
            limit = _LIMITS.get(error.errno or 0, "")
            raise OSError(f"there is no memory of device {device}: {reason(error)}{limit}") from None
        return store

    def _shareable(self, device: int) -> tuple[int, int]:
        store = self.stores[device]
        return store.open_descriptor(), store.identity

    def read(self, address: int, into: memoryview) -> bool:
        size = len(into)
        pointer = ffi.from_buffer(into)
        if size <= AT_ONCE:
            done = lib.cannery_host_read(pointer, address, size) == 0
            return self._pass(format.READ, self._keep(into, given=True) if done else None)
        if lib.cannery_host_check(address, size, 0) != 0:
            return self._pass(format.READ, None)
        target = int(ffi.cast("uintptr_t", pointer))

        def copy(offset: int, size: int) -> bool:
            lib.cannery_host_copy(target + offset, address + offset, size)
            return True

        self._serve()
        return self._pass(format.READ, self.payloads.pass_through(into, copy, given=True))

    def write(self, address: int, data: memoryview) -> bool:
        size = len(data)
        pointer = ffi.from_buffer(data)
        if size <= AT_ONCE:
            done = lib.cannery_host_write(address, pointer, size) == 0
            return self._pass(format.WRITE, self._keep(data, given=False) if done else None)
        if lib.cannery_host_check(address, size, 1) != 0:
            return self._pass(format.WRITE, None)
        source = int(ffi.cast("uintptr_t", pointer))

        def copy(offset: int, size: int) -> bool:
            lib.cannery_host_copy(address + offset, source + offset, size)
            return True

        self._serve()
        return self._pass(format.WRITE, self.payloads.pass_through(data, copy, given=False))

    def move(self, destination: int, source: int, size: int) -> bool:
        if lib.cannery_host_move(destination, source, size) != 0:
            return self._pass(format.MOVE, None)
        moved = memoryview(ffi.buffer(ffi.cast("char *", destination), size)).cast("B")
        return self._pass(format.MOVE, self._keep(moved, given=False))

    def fill(self, address: int, value: int, size: int) -> bool:
        done = lib.cannery_host_fill(address, value, size) == 0
        self.effects.append((format.FILL,) if done else (-format.FILL,))
        return bool(done)

    def pinned_alloc(self, size: int) -> int:
        address = int(lib.cannery_host_alloc(size))
        if not address:
            self.effects.append((-format.ALLOC,))
            return 0
        self.pinned[address] = size
        self.effects.append((format.ALLOC, self.book.add(address, size)))
        return address

    def pinned_free(self, address: int) -> None:
        self.book.remove(address)
        lib.cannery_host_free(address, self.pinned.pop(address))

    def file(self, path: bytes) -> bytes | None:
        try:
            with open(path, "rb") as file:
                content = file.read(LARGEST_FILE)
        except OSError:
            self.effects.append((-format.FILE,))
            return None
        self._pass(format.FILE, self._keep(content, given=True))
        return content

    def write_file(self, path: bytes, content: bytes) -> bool:
        try:
            with open(path, "wb") as file:
                file.write(content)
        except OSError:
            return self._pass(format.FILE, None)
        return self._pass(format.FILE, self._keep(content, given=True))

    def data(self, address: int, size: int) -> bytes | None:
        content = self.copied(address, size)
        return None if content is None else bytes(content)

    def copied(self, address: int, size: int) -> memoryview | None:
        if size > AT_ONCE and lib.cannery_host_check(address, size, 0) != 0:
            self._pass(format.READ, None)
            return None
        content = memoryview(bytearray(size))
        return content if self.read(address, content) else None

    def model(self, name: bytes) -> bool:
        found = self.models.find(name)
        self.effects.append((-format.MODEL,) if found is None else (format.MODEL, *found))
        return found is not None

    def unmodelled(self, name: bytes) -> None:
        self.models.tell(name)

    def kernel(self, run: "KernelRun") -> str | None:
        from cannery.runtime.models.run import Failure

        try:
            wrote, saw = self.models.run(run, _read_host, _write_host)
        except Failure as failure:
            self.effects.append((-format.KERNEL, str(failure)))
            return str(failure)
        self._serve()
        self.effects.append((format.KERNEL, len(saw) + len(wrote)))
        for code, ranges in ((format.SAW, saw), (format.WROTE, wrote)):
            for place, offset, content in ranges:
                self.effects.append((code, place, offset, self.payloads.keep(content, given=True)))
        return None

    def thread(self, ordinal: int) -> tuple[int, int]:
        thread_id, worker = int(lib.cannery_caller_id()), int(lib.cannery_caller_worker())
        self.effects.append((format.THREAD, self.tokens[thread_id], worker))
        return thread_id, worker

    def tid(self, ordinal: int) -> int:
        found = int(lib.cannery_tid(ordinal))
        self.effects.append((format.TID, self.exchange.names[found]))
        return found

    def _serve(self) -> None:
        """Tell the store for which function bytes pass, where that matters to it."""
        if self.moving is not None:
            self.payloads.serve(self.moving())

    def _keep(self, content: "memoryview | bytes", given: bool) -> WirePayload:
        self._serve()
        return self.payloads.keep(content, given)

    def _pass(self, code: int, payload: WirePayload | None) -> bool:
        """Note that content passed; None: it could not."""
        if payload is None:
            self.effects.append((-code,))
            return False
        self.effects.append((code, payload))
        return True

    def abandon(self) -> None:
        """In a forked child: the parent's memory is not ours. The maps of the device files were not inherited; the
        objects stay, so that nothing is unmapped that may have come in their place."""
        for store in self.stores.values():
            if store.open_descriptor() >= 0:
                os.close(store.descriptor)
        _ABANDONED.extend(self.stores.values())
        self.exchange.abandon()


def _read_host(address: int, into: memoryview) -> bool:
    return bool(lib.cannery_host_read(ffi.from_buffer(into), address, len(into)) == 0)


def _write_host(address: int, data: memoryview) -> bool:
    return bool(lib.cannery_host_write(address, ffi.from_buffer(data), len(data)) == 0)


_ABANDONED: Final[list[MemoryFile]] = []
