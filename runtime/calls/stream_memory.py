"""Memory in stream order: reductions, and values that are written and waited for (reference documents for what they do,
reference implementation for the checks)."""

from typing import TYPE_CHECKING, Final

from cannery.runtime.calls.copies import copy_cost
from cannery.runtime.calls.memory import not_allocated
from cannery.runtime.calls.registry import call
from cannery.runtime.calls.streams import named_stream, submission_stream
from cannery.runtime.errors import invalid, null, out_of_range, unsupported
from cannery.runtime.memory_tasks import Reduce
from cannery.runtime.objects import Thread
from cannery.runtime.places import DEVICE, Place
from cannery.runtime.reduction import BFLOAT16, FLOAT, FLOAT16, MAX, MIN, SIZES, SUM
from cannery.runtime.values import NOR, ValueWait, ValueWrite

if TYPE_CHECKING:
    from cannery.runtime.machine import Machine

# aclrtReduceKind and aclDataType
EQUAL: Final = 13
INT8, INT32, INT16, UINT32, INT4 = 2, 3, 6, 8, 29
DATA_TYPES: Final = (*SIZES, INT4)
MOST_SUMMED: Final = 4 << 30

# Which types a product reduces, and which products only sum (reference documents).
_COMMON: Final = (INT8, INT16, INT32, FLOAT16, FLOAT)
TYPES: Final = {
    "950PR": (*_COMMON, UINT32, BFLOAT16),
    "950DT": (*_COMMON, UINT32, BFLOAT16),
    "A3": (*_COMMON, BFLOAT16),
    "A2": (*_COMMON, BFLOAT16),
    "310B": _COMMON,
    "310P": (FLOAT, FLOAT16, INT16),
    "910": (FLOAT,),
    "IPV350": (),
}
ONLY_SUMS: Final = ("310P", "910")


@call("aclrtReduceAsync")
def reduce_async(
    machine: "Machine",
    thread: Thread,
    destination: int,
    source: int,
    size: int,
    kind: int,
    element: int,
    stream_handle: int,
    reserved: int,
) -> int:
    if not destination:
        raise null("dst")
    if not source:
        raise null("src")
    if reserved:
        raise invalid("the argument reserve is {:#x}; pass null", reserved)
    if element not in DATA_TYPES:
        raise invalid("the argument type is {}, which cannot be reduced", element)
    machine.hold()
    named = named_stream(machine, stream_handle)
    if not size:
        raise out_of_range("the argument count is 0; pass a number of bytes above 0")
    if not SUM <= kind <= EQUAL:
        raise out_of_range("the argument kind is {}; pass a constant of aclrtReduceKind", kind)
    if kind == SUM and size > MOST_SUMMED:
        raise out_of_range("the argument count is {}; sum at most {} bytes at once", size, MOST_SUMMED)
    product = machine.profile.name
    if element not in TYPES[product] or (kind in (MAX, MIN) and product in ONLY_SUMS):
        raise unsupported("product {} does not reduce type {} with kind {}", product, element, kind)
    if kind == EQUAL:
        raise unsupported("the argument kind is {}, which no document describes", kind)
    if size % SIZES[element]:
        raise out_of_range("the argument count is {}, not a multiple of the size of type {}", size, element)
    stream = submission_stream(machine, machine.context_of(thread), stream_handle, named)
    places = machine.memory.place(destination), machine.memory.place(source)
    for argument, place in zip(("dst", "src"), places, strict=True):
        if place.kind is not DEVICE or place.device is not stream.device:
            raise out_of_range(
                "the argument {} ({:#x}) is not memory of device {}, which has the stream",
                argument, place.address, stream.device.user,
            )  # fmt: skip
        if not place.holds(size):
            raise not_allocated(argument, place, size)
    task = Reduce()
    task.cost = copy_cost(machine, True, size)
    task.destination, task.source = places
    task.size = size
    task.kind = kind
    task.element = element
    task.stream = stream
    machine.schedule.submit(task)
    return 0


def value_place(machine: "Machine", address: int) -> Place:
    """Where a value is; one that is not aligned is not refused (no document says what happens then)."""
    place = machine.memory.place(address)
    if place.kind is not DEVICE:
        raise out_of_range("the argument devAddr ({:#x}) is {}; pass device memory", address, place.kind)
    if not place.holds(8):
        raise not_allocated("devAddr", place, 8)
    return place


@call("aclrtValueWrite")
def value_write(machine: "Machine", thread: Thread, address: int, value: int, flag: int, stream_handle: int) -> int:
    if not address:
        raise null("devAddr")
    machine.hold()
    named = named_stream(machine, stream_handle)
    if flag:
        raise out_of_range("the argument flag is {:#x}; pass 0", flag)
    place = value_place(machine, address)
    task = ValueWrite()
    task.cost = machine.profile.event_ns
    task.place = place
    task.value = value
    task.stream = submission_stream(machine, machine.context_of(thread), stream_handle, named)
    machine.schedule.submit(task)
    return 0


@call("aclrtValueWait")
def value_wait(machine: "Machine", thread: Thread, address: int, value: int, flag: int, stream_handle: int) -> int:
    if not address:
        raise null("devAddr")
    machine.hold()
    named = named_stream(machine, stream_handle)
    if not 0 <= flag <= NOR:
        raise out_of_range("the argument flag is {:#x}; pass ACL_STREAM_WAIT_VALUE_GEQ, _EQ, _AND or _NOR", flag)
    place = value_place(machine, address)
    task = ValueWait()
    task.open = False
    task.limit = 0
    task.cost = machine.profile.event_ns
    task.machine = machine
    task.place = place
    task.flag = flag
    task.value = value
    task.stream = submission_stream(machine, machine.context_of(thread), stream_handle, named)
    machine.schedule.submit(task)
    return 0
