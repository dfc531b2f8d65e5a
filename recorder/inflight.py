"""The calls that threads are in (section 10 of the format): slots that the engine writes, read as untrusted input."""

import struct
from collections.abc import Callable
from typing import Final, NamedTuple

from cannery.recorder import format
from cannery.recorder.files import Folder
from cannery.recorder.format import DamagedTrace
from cannery.recorder.schema import FunctionForm, Schema

_SLOT: Final = struct.Struct("<II6QQ")


class InFlight(NamedTuple):
    """A call that a thread was in. ``args`` are the first six, as they came."""

    thread: int
    function: FunctionForm
    args: tuple[int, ...]

    def pack(self) -> bytes:
        """The slot, as the shim writes it."""
        args = (*self.args, *(0 for _ in range(format.SLOT_ARGS)))[: format.SLOT_ARGS]
        words = self.function.number + 1, self.thread, *args
        return _SLOT.pack(*words, _slot_check(*words))


def read_inflight(folder: Folder, schema: Schema, alive: Callable[[], bool], tolerant: bool) -> list[InFlight]:
    """The calls of a process's threads; ``alive`` tells whether it still runs. ``tolerant``: leave out what is damaged.

    Raises:
        DamagedTrace: a slot, or the file, cannot be read.
    """
    path = folder.label + format.INFLIGHT
    found = []
    try:
        slots = folder.read(format.INFLIGHT, format.SLOTS * format.SLOT_SIZE)
        if len(slots) != format.SLOTS * format.SLOT_SIZE:
            raise DamagedTrace(path, len(slots), "the file ends too early")
    except FileNotFoundError:
        return []
    except DamagedTrace:
        if tolerant:
            return []
        raise
    for number, slot in enumerate(_SLOT.iter_unpack(slots), 1):
        *words, check = slot
        function, thread, *args = words
        if not function:
            continue
        if check != _slot_check(*words) or thread != number or function > len(schema.functions):
            if tolerant or alive():  # of a process that runs, a slot may change while it is read
                continue
            offset = (number - 1) * format.SLOT_SIZE
            raise DamagedTrace(path, offset, "the checksum does not match: bytes were altered")
        form = schema.functions[function - 1]
        found.append(InFlight(thread, form, tuple(args[: len(form.params)])))
    return found


def _slot_check(function: int, thread: int, *args: int) -> int:
    """The last word of a slot in use."""
    check = function | thread << 32
    for arg in args:
        check ^= arg
    return check
