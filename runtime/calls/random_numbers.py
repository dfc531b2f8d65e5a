"""Random numbers in stream order (reference page and implementation of aclrtRandomNumAsync)."""

from struct import unpack_from
from typing import TYPE_CHECKING, Final

from cannery.runtime.calls.copies import copy_cost
from cannery.runtime.calls.memory import not_allocated
from cannery.runtime.calls.registry import call
from cannery.runtime.calls.streams import named_stream, submission_stream
from cannery.runtime.errors import Refused, driver_fault, invalid, null, out_of_range
from cannery.runtime.kept import Kept
from cannery.runtime.memory_tasks import gone
from cannery.runtime.objects import Thread
from cannery.runtime.places import DEVICE, Place
from cannery.runtime.randomness import (
    DROPOUT,
    FLOATING,
    SIZES,
    TRUNCATED_NORMAL,
    UNIFORM,
    Request,
    generate,
    size_of,
)
from cannery.runtime.tasks import Task

if TYPE_CHECKING:
    from cannery.runtime.machine import Machine

INFORMATION: Final = 104  # bytes of aclrtRandomNumTaskInfo
PARAMETERS: Final = 16  # bytes that the two parameters take in device memory
COUNTER: Final = 16
ADDRESS: Final = 8
MOST: Final = 1 << 40  # numbers: more than any device has memory for

# Where aclrtRandomNumTaskInfo has what.
_TYPE: Final = 0
_FUNCTION: Final = 4
_FIRST: Final = 8
_SECOND: Final = 24
_PARAMETER_ADDRESS: Final = 40
_RESULT_ADDRESS: Final = 48
_COUNTER_ADDRESS: Final = 56
_SEED: Final = 64
_COUNT: Final = 80


class Parameter(Kept):
    """An aclrtRandomParaInfo: ``content`` is the value, or the address of device memory that has it."""

    __slots__ = ("content", "indirect")

    def __init__(self, information: bytes, offset: int, name: str, size: int) -> None:
        """Raises 107000."""
        indirect, self.content, given = (
            information[offset],
            information[offset + 1 : offset + 9],
            information[offset + 9],
        )
        if indirect not in (0, 1):
            raise out_of_range(
                "isAddr of {} in the argument taskInfo is {}; set 0 (value) or 1 (address)", name, indirect
            )
        self.indirect = indirect == 1
        most = ADDRESS if self.indirect else size
        if not 0 < given <= most:
            raise out_of_range(
                "size of {} in the argument taskInfo is {}; set a number from 1 to {}", name, given, most
            )
        self.content = self.content[:given]

    def value(self, machine: "Machine", size: int) -> bytes | None:
        """``size`` bytes of the value; None if the device memory that has it is gone."""
        if not self.indirect:
            return self.content.ljust(size, b"\0")
        place = machine.memory.place(int.from_bytes(self.content, "little"))
        return machine.memory.load(place, size) if place.kind is DEVICE and place.holds(size) else None


class Order(Kept):
    """What numbers a task makes. ``result`` and ``counter`` are in device memory; ``parameters``: first, second (None
    of dropout), seed, count. ``updates``: the program gave memory that aclrtTaskUpdateAsync works with.

    The runs of a model instance share that of the task which the instance keeps, so that what changes it is for all.
    """

    __slots__ = ("counter", "element", "function", "parameters", "result", "updates")

    counter: Place
    element: int
    function: int
    parameters: "tuple[Parameter, Parameter | None, Parameter, Parameter]"
    result: Place
    updates: bool

    def take(self, other: "Order") -> None:
        """Become like another one."""
        self.counter = other.counter
        self.element = other.element
        self.function = other.function
        self.parameters = other.parameters
        self.result = other.result


class RandomNumbers(Task):
    """Makes the numbers of an ``order``."""

    __slots__ = ("order",)

    writes = True
    reported = True
    what = "random number task"

    order: Order

    def effect(self, machine: "Machine") -> Refused | None:
        memory = machine.memory
        order = self.order
        counter = memory.load(order.counter, COUNTER) if order.counter.holds(COUNTER) else None
        if counter is None:
            return gone(self.what, COUNTER, order.counter)
        values = []
        for one, size in zip(order.parameters, (SIZES[order.element], SIZES[order.element], 8, 8), strict=True):
            value = b"" if one is None else one.value(machine, size)
            if value is None:
                assert one is not None
                return gone(self.what, size, memory.place(int.from_bytes(one.content, "little")))
            values.append(value)
        first, second, seed, number = values
        count = min(int.from_bytes(number, "little"), MOST)
        size = size_of(order.function, order.element, count)
        if not order.result.holds(size):
            return gone(self.what, size, order.result)
        request = Request(order.function, order.element, count, int.from_bytes(seed, "little"), counter, first, second)
        memory.store(order.result, generate(request))
        return None


@call("aclrtRandomNumAsync")
def random_num_async(machine: "Machine", thread: Thread, address: int, stream_handle: int, reserved: int) -> int:
    """Values by address are read when the task runs. The counter is not moved on."""
    if not address:
        raise null("taskInfo")
    information = machine.memory.load(machine.memory.place(address), INFORMATION)
    if information is None:
        raise driver_fault("the {} bytes at taskInfo ({:#x}) are not readable", INFORMATION, address)
    _check_element(information)
    machine.hold()
    named = named_stream(machine, stream_handle)
    if reserved:
        raise out_of_range("the argument reserve is not null; pass null")
    stream = submission_stream(machine, machine.context_of(thread), stream_handle, named)
    order, cost = order_of(machine, information)
    task = RandomNumbers()
    task.order = order
    task.cost = cost
    task.stream = stream
    machine.schedule.submit(task)
    return 0


def _check_element(information: bytes) -> None:
    """Raises 100000."""
    element = unpack_from("<i", information, _TYPE)[0]
    if element not in SIZES:
        raise invalid(
            "dataType in the argument taskInfo is {}; random numbers are of 32 and 64-bit whole types, ACL_FLOAT, "
            "ACL_FLOAT16 and ACL_BF16",
            element,
        )


def order_of(machine: "Machine", information: bytes) -> tuple[Order, int]:
    """What an aclrtRandomNumTaskInfo asks for, checked in the order of the reference implementation, and what that
    costs in ns.

    Raises:
        Refused: 100000, 107000, or 507899 for memory that is not allocated.
    """
    _check_element(information)
    element = unpack_from("<i", information, _TYPE)[0]
    function = unpack_from("<i", information, _FUNCTION)[0]
    if not DROPOUT <= function <= TRUNCATED_NORMAL:
        raise out_of_range(
            "funcType in the argument taskInfo is {}; pass a constant of aclrtRandomNumFuncType", function
        )
    if function != UNIFORM and element not in FLOATING:
        raise out_of_range("dataType in the argument taskInfo is {}; only uniform numbers can be whole", element)
    result_address, counter_address = unpack_from("<QQ", information, _RESULT_ADDRESS)
    for name, value in (("randomCounterAddr", counter_address), ("randomResultAddr", result_address)):
        if not value:
            raise out_of_range("{} in the argument taskInfo is null; pass the address of device memory", name)
    seed = Parameter(information, _SEED, "randomSeed", 8)
    count = Parameter(information, _COUNT, "randomNum", 8)
    size = SIZES[element]
    first = Parameter(information, _FIRST, "the first parameter", size)
    second = None if function == DROPOUT else Parameter(information, _SECOND, "the second parameter", size)
    order = Order()
    order.function = function
    order.element = element
    order.parameters = (first, second, seed, count)
    order.result = _device_place(machine, "randomResultAddr", result_address)
    order.counter = _device_place(machine, "randomCounterAddr", counter_address)
    known = 0 if count.indirect else min(int.from_bytes(count.content, "little"), MOST)
    order.updates = _keep_parameters(machine, information, first, second)
    return order, copy_cost(machine, True, size_of(function, element, known))


def _device_place(machine: "Machine", argument: str, address: int) -> Place:
    place = machine.memory.place(address)
    if place.kind is not DEVICE or place.allocation is None:
        raise not_allocated(argument, place, 0)
    return place


def _keep_parameters(machine: "Machine", information: bytes, first: Parameter, second: Parameter | None) -> bool:
    """Where the program gives memory for the parameters they are put there, at once. Whether it does."""
    address: int = unpack_from("<Q", information, _PARAMETER_ADDRESS)[0]
    if address:
        place = machine.memory.place(address)
        if place.kind is not DEVICE or not place.holds(PARAMETERS):
            raise not_allocated("randomParaAddr", place, PARAMETERS)
        contents = [b"" if one is None else one.content for one in (first, second)]
        machine.memory.store(place, b"".join(content.ljust(8, b"\0") for content in contents))
    return address != 0
