"""Data buffers: an address and a size of the program's, for other calls (reference pages of the functions named)."""

from typing import TYPE_CHECKING

from cannery.runtime.calls.registry import call
from cannery.runtime.errors import Refused, null, stale
from cannery.runtime.objects import Thread
from cannery.runtime.small_objects import SmallObject, find, keep

if TYPE_CHECKING:
    from cannery.runtime.machine import Machine


class DataBuffer(SmallObject):
    """``address`` may be null; nothing looks behind it."""

    __slots__ = ("address", "size")

    def __init__(self, address: int, size: int) -> None:
        super().__init__()
        self.address = address
        self.size = size


def _buffer(machine: "Machine", handle: int) -> DataBuffer:
    if not handle:
        raise null("dataBuffer")
    buffer = find(machine, DataBuffer, handle)
    if buffer is None:
        raise stale("dataBuffer", handle)
    return buffer


def _asked(machine: "Machine", thread: Thread, function: str, handle: int) -> DataBuffer | None:
    """The buffer that a getter asks for; None, and a message, if there is none."""
    try:
        return _buffer(machine, handle)
    except Refused as refused:
        machine.refuse(thread, function, refused)
        return None


@call("aclCreateDataBuffer")
def create_data_buffer(machine: "Machine", thread: Thread, address: int, size: int) -> int:
    return keep(machine, DataBuffer(address, size))


@call("aclDestroyDataBuffer")
def destroy_data_buffer(machine: "Machine", thread: Thread, handle: int) -> int:
    """What the address leads to stays the program's."""
    _buffer(machine, handle)
    del machine.small_objects[handle]
    return 0


@call("aclUpdateDataBuffer")
def update_data_buffer(machine: "Machine", thread: Thread, handle: int, address: int, size: int) -> int:
    buffer = _buffer(machine, handle)
    buffer.address = address
    buffer.size = size
    return 0


@call("aclGetDataBufferAddr")
def get_data_buffer_addr(machine: "Machine", thread: Thread, handle: int) -> int | None:
    buffer = _asked(machine, thread, "aclGetDataBufferAddr", handle)
    return None if buffer is None else buffer.address or None


@call("aclGetDataBufferSize")
def get_data_buffer_size(machine: "Machine", thread: Thread, handle: int) -> int:
    """The lower 32 bits of the size."""
    buffer = _asked(machine, thread, "aclGetDataBufferSize", handle)
    return 0 if buffer is None else buffer.size & 0xFFFF_FFFF


@call("aclGetDataBufferSizeV2")
def get_data_buffer_size_v2(machine: "Machine", thread: Thread, handle: int) -> int:
    buffer = _asked(machine, thread, "aclGetDataBufferSizeV2", handle)
    return 0 if buffer is None else buffer.size
