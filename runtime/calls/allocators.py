"""Allocators of the program, which it registers for streams (reference pages of the functions named).

On a card the operator and model libraries ask which allocator a stream has and call it; the runtime never does, and so
nothing here calls a function of the program.
"""

from typing import TYPE_CHECKING, Any, Final

from cannery.runtime.calls.registry import call
from cannery.runtime.errors import invalid, null, stale
from cannery.runtime.objects import Thread
from cannery.runtime.small_objects import SmallObject, find, keep

if TYPE_CHECKING:
    from cannery.runtime.machine import Machine

# What a description has, in the order of aclrtAllocatorGetByStream.
OBJECT: Final = 0
ALLOCATE: Final = 1
FREE: Final = 2
ADVISE: Final = 3
GET_ADDRESS: Final = 4
NAMES: Final = ("allocator", "allocFunc", "freeFunc", "allocAdviseFunc", "getAddrFromBlockFunc")
NEEDED: Final = (OBJECT, ALLOCATE, FREE, GET_ADDRESS)


class AllocatorDescription(SmallObject):
    """``parts``: the allocator and its functions, as numbers, 0 for what was not set."""

    __slots__ = ("parts",)

    def __init__(self) -> None:
        super().__init__()
        self.parts = [0, 0, 0, 0, 0]


def _description(machine: "Machine", handle: int) -> AllocatorDescription:
    if not handle:
        raise null("allocatorDesc")
    description = find(machine, AllocatorDescription, handle)
    if description is None:
        raise stale("allocatorDesc", handle)
    return description


@call("aclrtAllocatorCreateDesc")
def allocator_create_desc(machine: "Machine", thread: Thread) -> int:
    return keep(machine, AllocatorDescription())


@call("aclrtAllocatorDestroyDesc")
def allocator_destroy_desc(machine: "Machine", thread: Thread, handle: int) -> int:
    """What is registered keeps what it has: a registration copies the description (reference implementation)."""
    _description(machine, handle)
    del machine.small_objects[handle]
    return 0


def _set(machine: "Machine", handle: int, part: int, argument: str, value: int) -> int:
    description = _description(machine, handle)
    if not value:
        raise null(argument)
    description.parts[part] = value
    return 0


@call("aclrtAllocatorSetObjToDesc")
def allocator_set_obj_to_desc(machine: "Machine", thread: Thread, handle: int, allocator: int) -> int:
    return _set(machine, handle, OBJECT, "allocator", allocator)


@call("aclrtAllocatorSetAllocFuncToDesc")
def allocator_set_alloc_func_to_desc(machine: "Machine", thread: Thread, handle: int, function: int) -> int:
    return _set(machine, handle, ALLOCATE, "func", function)


@call("aclrtAllocatorSetFreeFuncToDesc")
def allocator_set_free_func_to_desc(machine: "Machine", thread: Thread, handle: int, function: int) -> int:
    return _set(machine, handle, FREE, "func", function)


@call("aclrtAllocatorSetAllocAdviseFuncToDesc")
def allocator_set_alloc_advise_func_to_desc(machine: "Machine", thread: Thread, handle: int, function: int) -> int:
    return _set(machine, handle, ADVISE, "func", function)


@call("aclrtAllocatorSetGetAddrFromBlockFuncToDesc")
def allocator_set_get_addr_from_block_func_to_desc(
    machine: "Machine", thread: Thread, handle: int, function: int
) -> int:
    return _set(machine, handle, GET_ADDRESS, "func", function)


@call("aclrtAllocatorRegister")
def allocator_register(machine: "Machine", thread: Thread, stream: int, handle: int) -> int:
    """For a stream that has one already, the last counts. Whether the stream exists is not looked at (reference
    implementation), so one that is destroyed keeps its registration."""
    if not stream:
        raise null("stream")
    description = _description(machine, handle)
    for part in NEEDED:
        if not description.parts[part]:
            raise invalid(
                "the argument allocatorDesc has no {}; set it with the aclrtAllocatorSet... call for it", NAMES[part]
            )
    machine.allocators[stream] = (handle, *description.parts)
    return 0


@call("aclrtAllocatorUnregister")
def allocator_unregister(machine: "Machine", thread: Thread, stream: int) -> int:
    """No error for a stream that has none."""
    if not stream:
        raise null("stream")
    machine.allocators.pop(stream, None)
    return 0


@call("aclrtAllocatorGetByStream")
def allocator_get_by_stream(machine: "Machine", thread: Thread, stream: int, *outs: int) -> Any:
    """All outputs but the first may be null."""
    if not outs[0]:
        raise null("allocatorDesc")
    if not stream:
        raise null("stream")
    registered = machine.allocators.get(stream)
    if registered is None:
        raise invalid("the stream {:#x} has no allocator registered; see aclrtAllocatorRegister", stream)
    return 0, *(value if out else None for value, out in zip(registered, outs, strict=True))
