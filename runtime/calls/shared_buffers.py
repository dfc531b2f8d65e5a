"""Shared buffers: data that several parts of a program hand on, in chains (reference pages of the functions named).

Their data is host memory here, which the program fills itself. A copy of a reference shares the data, which lives as
long as one buffer has it.
"""

from typing import TYPE_CHECKING, Any, Final

from cannery.runtime.calls.registry import call
from cannery.runtime.errors import (
    ACL_ERROR_RT_MEMORY_ALLOCATION,
    Refused,
    invalid,
    null,
    out_of_range,
    stale,
)
from cannery.runtime.kept import Kept
from cannery.runtime.objects import Thread
from cannery.runtime.places import Allocation
from cannery.runtime.small_objects import SmallObject, find, keep

if TYPE_CHECKING:
    from cannery.runtime.machine import Machine

LARGEST: Final = 4 << 30  # bytes
PRIVATE: Final = 96  # bytes of the program's own
LONGEST_CHAIN: Final = 128


class Shared(Kept):
    """The data of buffers; ``users`` counts them, ``length`` is how much of it is valid."""

    __slots__ = ("length", "memory", "users")

    def __init__(self, memory: Allocation) -> None:
        self.memory = memory
        self.users = 0
        self.length = 0


class SharedBuffer(SmallObject):
    """``chain``: the handles of what was appended to it. ``chained``: it was appended to another."""

    __slots__ = ("chain", "chained", "private", "shared")

    def __init__(self, shared: Shared) -> None:
        super().__init__()
        self.shared = shared
        self.private = bytes(PRIVATE)
        self.chain: list[int] = []
        self.chained = False
        shared.users += 1


def _buffer(machine: "Machine", handle: int, argument: str = "buf") -> SharedBuffer:
    if not handle:
        raise null(argument)
    buffer = find(machine, SharedBuffer, handle)
    if buffer is None:
        raise stale(argument, handle)
    return buffer


@call("aclrtAllocBuf")
def alloc_buf(machine: "Machine", thread: Thread, out: int, size: int) -> Any:
    if not out:
        raise null("buf")
    if not size:
        raise invalid("the argument size is 0; pass a number of bytes above 0")
    machine.hold()
    if size > LARGEST:
        raise out_of_range("the argument size is {}; pass {} at most", size, LARGEST)
    memory = machine.memory.pin(size)
    if memory is None:
        raise Refused(ACL_ERROR_RT_MEMORY_ALLOCATION, "the host has not {} bytes left for a buffer", size)
    return 0, keep(machine, SharedBuffer(Shared(memory)))


@call("aclrtFreeBuf")
def free_buf(machine: "Machine", thread: Thread, handle: int) -> int:
    """What was appended to it stays, on its own."""
    if not handle:
        raise null("buf")
    machine.hold()
    buffer = _buffer(machine, handle)
    if buffer.chained:
        raise out_of_range("the argument buf ({:#x}) is in a chain; free the first buffer of the chain before", handle)
    for other in buffer.chain:
        member = find(machine, SharedBuffer, other)
        if member is not None:
            member.chained = False
    shared = buffer.shared
    shared.users -= 1
    if not shared.users and shared.memory.live:
        machine.memory.unpin(shared.memory)
    del machine.small_objects[handle]
    return 0


@call("aclrtCopyBufRef")
def copy_buf_ref(machine: "Machine", thread: Thread, handle: int, out: int) -> Any:
    """Another buffer with the same data; what the program keeps in it, and its chain, are its own."""
    buffer = _buffer(machine, handle)
    if not out:
        raise null("newBuf")
    return 0, keep(machine, SharedBuffer(buffer.shared))


@call("aclrtGetBufData")
def get_buf_data(machine: "Machine", thread: Thread, handle: int, out: int, out_size: int) -> Any:
    buffer = _buffer(machine, handle)
    if not out:
        raise null("dataPtr")
    if not out_size:
        raise null("size")
    return 0, buffer.shared.memory.address, buffer.shared.memory.size


@call("aclrtSetBufDataLen")
def set_buf_data_len(machine: "Machine", thread: Thread, handle: int, length: int) -> int:
    if not handle:
        raise null("buf")
    machine.hold()
    shared = _buffer(machine, handle).shared
    if length > shared.memory.size:
        raise out_of_range("the argument len is {}, but the buffer has {} bytes", length, shared.memory.size)
    shared.length = length
    return 0


@call("aclrtGetBufDataLen")
def get_buf_data_len(machine: "Machine", thread: Thread, handle: int, out: int) -> Any:
    """0 before it was set."""
    buffer = _buffer(machine, handle)
    if not out:
        raise null("len")
    return 0, buffer.shared.length


def _check_private(size: int, offset: int) -> None:
    if size + offset > PRIVATE:
        raise invalid(
            "the arguments size and offset are {} and {}; a buffer has {} bytes for the program", size, offset, PRIVATE
        )


@call("aclrtSetBufUserData")
def set_buf_user_data(
    machine: "Machine", thread: Thread, handle: int, data: bytes | None, size: int, offset: int
) -> int:
    _check_private(size, offset)
    buffer = _buffer(machine, handle)
    if data is None:
        raise null("dataPtr")
    buffer.private = buffer.private[:offset] + data + buffer.private[offset + size :]
    return 0


@call("aclrtGetBufUserData")
def get_buf_user_data(machine: "Machine", thread: Thread, handle: int, out: int, size: int, offset: int) -> Any:
    _check_private(size, offset)
    buffer = _buffer(machine, handle)
    if not out:
        raise null("dataPtr")
    return 0, buffer.private[offset : offset + size]


# Chains.


@call("aclrtAppendBufChain")
def append_buf_chain(machine: "Machine", thread: Thread, head_handle: int, handle: int) -> int:
    if not head_handle:
        raise null("headBuf")
    if not handle:
        raise null("buf")
    head, buffer = _buffer(machine, head_handle, "headBuf"), _buffer(machine, handle)
    if head.chained:
        raise out_of_range("the argument headBuf ({:#x}) is not the first buffer of its chain", head_handle)
    if buffer is head or buffer.chained or buffer.chain:
        raise out_of_range("the argument buf ({:#x}) is in a chain already", handle)
    if len(head.chain) + 1 >= LONGEST_CHAIN:
        raise out_of_range("the chain of headBuf has {} buffers, and no room for more", LONGEST_CHAIN)
    head.chain.append(handle)
    buffer.chained = True
    return 0


@call("aclrtGetBufChainNum")
def get_buf_chain_num(machine: "Machine", thread: Thread, handle: int, out: int) -> Any:
    """With the first one."""
    head = _buffer(machine, handle, "headBuf")
    if not out:
        raise null("num")
    return 0, len(head.chain) + 1


@call("aclrtGetBufFromChain")
def get_buf_from_chain(machine: "Machine", thread: Thread, handle: int, index: int, out: int) -> Any:
    """The first one has the index 0."""
    head = _buffer(machine, handle, "headBuf")
    if not out:
        raise null("buf")
    members = [handle, *head.chain]
    if index >= len(members):
        raise out_of_range("the argument index is {}, but the chain has {} buffers", index, len(members))
    return 0, members[index]
