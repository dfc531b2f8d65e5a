"""Two-dimensional copies (reference implementation, but for what the conformance programs show)."""

from typing import TYPE_CHECKING, Any, Final

from cannery.runtime import capture
from cannery.runtime.calls.copies import (
    KINDS,
    check_blocking,
    check_not_captured,
    check_pointers,
    check_reach,
    copy_cost,
)
from cannery.runtime.calls.memory import not_allocated
from cannery.runtime.calls.registry import call
from cannery.runtime.calls.streams import named_stream, submission_stream, synchronize
from cannery.runtime.errors import driver_fault, invalid, out_of_range, unsupported
from cannery.runtime.memory_tasks import CopyRows, copy_rows
from cannery.runtime.objects import Context, Thread
from cannery.runtime.places import DEVICE, PAGEABLE, PINNED, Place
from cannery.runtime.waits import Reply, Resume

if TYPE_CHECKING:
    from cannery.runtime.machine import Machine

HOST_TO_DEVICE: Final = 1
DEVICE_TO_HOST: Final = 2
DEVICE_TO_DEVICE: Final = 3
DEFAULT: Final = 4
MOST_ROWS: Final = 5 << 20
MOST_WIDTH: Final = 5_000_000
INSIDE_PRODUCTS: Final = ("950PR", "950DT", "A3", "A2")  # have asynchronous ones inside devices (reference documents)

# The kind that counts, by the places of destination and source, one digit per kind 1 to 4; "w": a wrong one.
MEANT: Final = {
    (PAGEABLE, PAGEABLE): "1230",
    (PAGEABLE, PINNED): "1ww0",
    (PAGEABLE, DEVICE): "w232",
    (PINNED, PAGEABLE): "w2w0",
    (PINNED, PINNED): "0000",
    (PINNED, DEVICE): "2222",
    (DEVICE, PAGEABLE): "1w31",
    (DEVICE, PINNED): "1111",
    (DEVICE, DEVICE): "3333",
}


def _is_empty(destination: int, dpitch: int, source: int, spitch: int, width: int, height: int, kind: int) -> bool:
    """The checks of the acl layer; whether there is nothing to copy."""
    if not width or not height:
        return True
    check_pointers(destination, source)
    for argument, pitch in (("dpitch", dpitch), ("spitch", spitch)):
        if width > pitch:
            raise invalid("the argument width is {}, above {}, which is {}", width, argument, pitch)
    if not HOST_TO_DEVICE <= kind <= DEFAULT:
        raise invalid("the argument kind is {}; pass a constant from {} (1) to {} (4)", kind, KINDS[1], KINDS[4])
    return False


def _check_extent(width: int, height: int) -> None:
    if height > MOST_ROWS:
        raise out_of_range("the argument height is {}; copy at most {} rows at once", height, MOST_ROWS)
    if width > MOST_WIDTH:
        raise out_of_range("the argument width is {}; copy at most {} bytes of each row", width, MOST_WIDTH)


def _meant(destination: Place, source: Place, kind: int, allowed: tuple[int, ...]) -> int:
    meant = MEANT[destination.kind, source.kind][kind - 1]
    if meant == "w" or int(meant) not in allowed:
        raise out_of_range(
            "the argument kind is {}, but dst is {} and src is {}, which this call cannot copy so",
            KINDS[kind], destination.kind, source.kind,
        )  # fmt: skip
    return int(meant)


@call("aclrtMemcpy2d")
def memcpy_2d(
    machine: "Machine",
    thread: Thread,
    destination: int,
    dpitch: int,
    source: int,
    spitch: int,
    width: int,
    height: int,
    kind: int,
) -> int:
    if _is_empty(destination, dpitch, source, spitch, width, height, kind):
        return 0
    machine.hold()
    _check_extent(width, height)
    if kind == DEVICE_TO_DEVICE:
        raise unsupported("the argument kind is {}, for which use aclrtMemcpy2dAsync", KINDS[kind])
    context = machine.context_of(thread)
    to, origin = machine.memory.place(destination), machine.memory.place(source)
    _meant(to, origin, kind, (HOST_TO_DEVICE, DEVICE_TO_HOST))
    capture.check_mode(machine, thread, context)
    _copy_now(machine, context, to, dpitch, origin, spitch, width, height)
    return 0


def _check_places(destination: Place, dpitch: int, source: Place, spitch: int, width: int, height: int) -> None:
    for argument, place, pitch in (("dst", destination, dpitch), ("src", source, spitch)):
        size = pitch * (height - 1) + width
        if not place.holds(size):
            raise not_allocated(argument, place, size)


def _copy_now(
    machine: "Machine",
    context: Context,
    destination: Place,
    dpitch: int,
    source: Place,
    spitch: int,
    width: int,
    height: int,
) -> None:
    _check_places(destination, dpitch, source, spitch, width, height)
    check_reach(machine, context, destination, source)
    if not copy_rows(machine, destination, dpitch, source, spitch, width, height):
        raise driver_fault(
            "the host memory of a copy of {} rows from {:#x} to {:#x} is not accessible",
            height, source.address, destination.address,
        )  # fmt: skip


class CopyRowsLater(Resume):
    """A copy of pageable memory, made by the call itself when the stream has got there."""

    __slots__ = ("context", "destination", "dpitch", "height", "source", "spitch", "thread", "width")

    def __init__(
        self, thread: Thread, context: Context, destination: tuple[Place, int], source: tuple[Place, int], width: int
    ) -> None:
        """``destination`` and ``source``: a place and its pitch. The caller sets ``height``."""
        self.thread = thread
        self.context = context
        self.destination, self.dpitch = destination
        self.source, self.spitch = source
        self.width = width
        self.height = 0

    def reply(self, machine: "Machine") -> Reply:
        check_blocking(machine, self.thread, self.context)
        _copy_now(
            machine, self.context, self.destination, self.dpitch, self.source, self.spitch, self.width, self.height
        )
        return 0


@call("aclrtMemcpy2dAsync")
def memcpy_2d_async(
    machine: "Machine",
    thread: Thread,
    destination: int,
    dpitch: int,
    source: int,
    spitch: int,
    width: int,
    height: int,
    kind: int,
    stream_handle: int,
) -> Any:
    if _is_empty(destination, dpitch, source, spitch, width, height, kind):
        return 0
    if kind == DEVICE_TO_DEVICE and machine.profile.name not in INSIDE_PRODUCTS:
        raise invalid("the argument kind is {}, which this product does not have for this call", KINDS[kind])
    machine.hold()
    named = named_stream(machine, stream_handle)
    _check_extent(width, height)
    context = machine.context_of(thread)
    to, origin = machine.memory.place(destination), machine.memory.place(source)
    meant = _meant(to, origin, kind, (HOST_TO_DEVICE, DEVICE_TO_HOST, DEVICE_TO_DEVICE))
    if PAGEABLE in (to.kind, origin.kind) and meant != DEVICE_TO_DEVICE:
        stream = named or context.default
        check_not_captured(stream)
        copy = CopyRowsLater(thread, context, (to, dpitch), (origin, spitch), width)
        copy.height = height
        return synchronize(machine, thread, "aclrtMemcpy2dAsync", stream, then=copy)
    stream = submission_stream(machine, context, stream_handle, named)
    _check_places(to, dpitch, origin, spitch, width, height)
    task = CopyRows()
    task.cost = copy_cost(machine, meant == DEVICE_TO_DEVICE, width * height)
    task.destination = to
    task.destination_pitch = dpitch
    task.source = origin
    task.source_pitch = spitch
    task.width = width
    task.height = height
    task.stream = stream
    machine.schedule.submit(task)
    return 0
