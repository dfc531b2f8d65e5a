"""Copies in batches (reference implementation, but for what the conformance programs show).

A batch in a stream is one task. What is wrong with a batch is found before anything is copied; ``failIndex`` tells
which copy it was, or SIZE_MAX where it is none in particular.
"""

from typing import TYPE_CHECKING, Any, Final

from cannery.runtime import capture
from cannery.runtime.calls.copies import check_blocking, check_not_captured, copy_cost, copy_now
from cannery.runtime.calls.memory import SIZE_MAX, not_allocated
from cannery.runtime.calls.registry import call
from cannery.runtime.calls.streams import named_stream, submission_stream, synchronize
from cannery.runtime.errors import ACL_ERROR_RT_PARAM_INVALID, Refused, invalid, null, out_of_range
from cannery.runtime.memory_tasks import BatchCopy
from cannery.runtime.objects import Context, Thread
from cannery.runtime.places import DEVICE, PAGEABLE, Place
from cannery.runtime.waits import Reply, Resume

if TYPE_CHECKING:
    from cannery.runtime.machine import Machine

MOST: Final = 4096  # copies of one call that copies at once
MOST_READ: Final = 65535  # longer arrays are not read at all (CANNERY_MOST in shim.h)

# aclrtMemLocationType
HOST_LOCATIONS: Final = (0, 2, 4)  # allocated, unregistered, by NUMA node
DEVICE_LOCATION: Final = 1

Numbers = tuple[int, ...]
Location = tuple[int, int]  # id, type
Attribute = tuple[Location, Location, bytes]  # of the destination, of the source, reserved


class BadCopy(Refused):
    """(R) 107000: because of the copy ``index``."""

    __slots__ = ("index",)

    def __init__(self, index: int, text: str, *values: object) -> None:
        super().__init__(ACL_ERROR_RT_PARAM_INVALID, text, *values)
        self.index = index


class Batch:
    """What the functions have in common. Null arrays are None; those that are too long to be read are empty."""

    __slots__ = ("attributes", "count", "destinations", "indexes", "number", "rooms", "sizes", "sources")

    def __init__(
        self,
        destinations: Numbers | None,
        rooms: Numbers | None,
        sources: Numbers | None,
        sizes: Numbers | None,
        count: int,
        attributes: tuple[Attribute, ...] | None,
        indexes: Numbers | None,
        number: int,
    ) -> None:
        self.destinations = destinations
        self.rooms = rooms
        self.sources = sources
        self.sizes = sizes
        self.count = count
        self.attributes = attributes
        self.indexes = indexes
        self.number = number

    def is_empty(self) -> bool:
        """The checks of the acl layer; whether there is nothing to copy."""
        sizes, count = self.sizes, self.count
        if sizes is None:
            raise null("sizes")
        if not count:
            raise invalid("the argument numBatches is 0; pass a number of copies above 0")
        if count <= MOST_READ and not any(sizes):
            return True
        for argument, value in (
            ("dsts", self.destinations),
            ("destMaxs", self.rooms),
            ("srcs", self.sources),
            ("attrs", self.attributes),
            ("attrsIndexes", self.indexes),
        ):
            if value is None:
                raise null(argument)
        assert self.rooms is not None and self.attributes is not None
        for index, (room, size) in enumerate(zip(self.rooms, sizes, strict=True)):
            if room < size:
                raise invalid("the copy {} has {} bytes, above its destMaxs, which is {}", index, size, room)
        if self.number > count:
            # the reference implementation reads beyond the arrays, and refuses what it finds there
            raise invalid("the argument numAttrs is {}, above numBatches, which is {}", self.number, count)
        for index, attribute in enumerate(self.attributes):
            if any(attribute[2]):
                raise invalid("attrs[{}].rsv has to be all 0", index)
        return False

    def pieces(self, machine: "Machine", most: int, in_order: bool) -> list[tuple[Place, Place, int]]:
        """The copies, which in stream order all need bytes."""
        destinations, sources, sizes, indexes = self.destinations, self.sources, self.sizes, self.indexes
        assert destinations is not None and sources is not None and sizes is not None and indexes is not None
        assert self.attributes is not None
        count = self.count
        if not self.number:
            raise out_of_range("the argument numAttrs is 0; each copy needs attributes")
        if count > most:
            raise out_of_range("the argument numBatches is {}; copy at most {} at once", count, most)
        if indexes[0]:
            raise out_of_range("attrsIndexes[0] is {}; it has to be 0, so that each copy has attributes", indexes[0])
        for before, index in zip((-1, *indexes), indexes, strict=False):
            if not before < index < count:
                raise out_of_range("attrsIndexes have to ascend and be below numBatches, which is {}", count)
        pieces = []
        at = 0
        for index in range(count):
            if at + 1 < len(indexes) and indexes[at + 1] == index:
                at += 1
            size = sizes[index]
            if not size and in_order:
                raise BadCopy(index, "the copy {} has no bytes; leave it out", index)
            destination, source = machine.memory.place(destinations[index]), machine.memory.place(sources[index])
            _check_attribute(index, destination, source, self.attributes[at])
            if size:
                pieces.append((destination, source, size))
        return pieces


def _check_attribute(index: int, destination: Place, source: Place, attribute: Attribute) -> None:
    for role, place, location in (("dst", destination, attribute[0]), ("src", source, attribute[1])):
        device = place.device
        if place.kind is not DEVICE:
            fits = location[1] in HOST_LOCATIONS
        else:
            fits = device is not None and location == (device.user, DEVICE_LOCATION)
        if not fits:
            raise BadCopy(
                index, "the {} of the copy {} ({:#x}) is {}, but its attributes say id {} and type {}",
                role, index, place.address, place.kind, location[0], location[1],
            )  # fmt: skip
    if (destination.kind is DEVICE) == (source.kind is DEVICE):
        raise BadCopy(index, "the copy {} is not between host and device", index)


def _answer(machine: "Machine", thread: Thread, function: str, batch: Batch, indexed: bool, stream: int | None) -> Any:
    """The reply of a call; ``indexed``: it has ``failIndex``. ``stream``: the handle, None to copy at once."""
    done = (0, SIZE_MAX) if indexed else 0
    if batch.is_empty():
        return done
    machine.hold()
    try:
        if stream is None:
            return _copy_at_once(machine, thread, batch, done)
        return _copy_in_order(machine, thread, function, batch, stream, done)
    except Refused as refused:
        if not indexed:
            raise
        index = refused.index if isinstance(refused, BadCopy) else SIZE_MAX
        return machine.refuse(thread, function, refused), index


def _copy_at_once(machine: "Machine", thread: Thread, batch: Batch, done: Any) -> Any:
    pieces = batch.pieces(machine, MOST, False)
    context = machine.context_of(thread)
    capture.check_mode(machine, thread, context)
    _check_allocated(pieces)
    for destination, source, size in pieces:
        copy_now(machine, context, destination, source, size)
    return done


def _check_allocated(pieces: list[tuple[Place, Place, int]]) -> None:
    for destination, source, size in pieces:
        for argument, place in (("dsts", destination), ("srcs", source)):
            if not place.holds(size):
                raise not_allocated(argument, place, size)


def _copy_in_order(machine: "Machine", thread: Thread, function: str, batch: Batch, handle: int, done: Any) -> Any:
    """The copies of pageable memory wait for the stream, and for those of the batch that need not."""
    named = named_stream(machine, handle)
    pieces = batch.pieces(machine, MOST_READ, True)
    context = machine.context_of(thread)
    waiting = [piece for piece in pieces if PAGEABLE in (piece[0].kind, piece[1].kind)]
    stream = named or context.default
    if waiting:
        check_not_captured(stream)
        check_blocking(machine, thread, context)
    if len(waiting) < len(pieces):
        submission_stream(machine, context, handle, named)
        task = BatchCopy()
        task.pieces = [piece for piece in pieces if PAGEABLE not in (piece[0].kind, piece[1].kind)]
        _check_allocated(task.pieces)
        task.cost = copy_cost(machine, False, sum(piece[2] for piece in task.pieces))
        task.stream = stream
        machine.schedule.submit(task)
    if not waiting:
        return done
    return synchronize(machine, thread, function, stream, then=CopyBatchLater(context, waiting, done))


class CopyBatchLater(Resume):
    """The copies of a batch that are of pageable memory; ``done`` is the reply after them."""

    __slots__ = ("context", "done", "pieces")

    def __init__(self, context: Context, pieces: "list[tuple[Place, Place, int]]", done: Any) -> None:
        self.context = context
        self.pieces = pieces
        self.done = done

    def reply(self, machine: "Machine") -> Reply:
        for destination, source, size in self.pieces:
            copy_now(machine, self.context, destination, source, size)
        return self.done


@call("aclrtMemcpyBatch")
def memcpy_batch(
    machine: "Machine",
    thread: Thread,
    destinations: Numbers | None,
    rooms: Numbers | None,
    sources: Numbers | None,
    sizes: Numbers | None,
    count: int,
    attributes: tuple[Attribute, ...] | None,
    indexes: Numbers | None,
    number: int,
    out: int,
) -> Any:
    if not out:
        raise null("failIndex")
    batch = Batch(destinations, rooms, sources, sizes, count, attributes, indexes, number)
    return _answer(machine, thread, "aclrtMemcpyBatch", batch, True, None)


@call("aclrtMemcpyBatchV2")
def memcpy_batch_v2(
    machine: "Machine",
    thread: Thread,
    destinations: Numbers | None,
    rooms: Numbers | None,
    sources: Numbers | None,
    sizes: Numbers | None,
    count: int,
    attributes: tuple[Attribute, ...] | None,
    indexes: Numbers | None,
    number: int,
) -> Any:
    batch = Batch(destinations, rooms, sources, sizes, count, attributes, indexes, number)
    return _answer(machine, thread, "aclrtMemcpyBatchV2", batch, False, None)


@call("aclrtMemcpyBatchAsync")
def memcpy_batch_async(
    machine: "Machine",
    thread: Thread,
    destinations: Numbers | None,
    rooms: Numbers | None,
    sources: Numbers | None,
    sizes: Numbers | None,
    count: int,
    attributes: tuple[Attribute, ...] | None,
    indexes: Numbers | None,
    number: int,
    out: int,
    stream_handle: int,
) -> Any:
    if not out:
        raise null("failIndex")
    batch = Batch(destinations, rooms, sources, sizes, count, attributes, indexes, number)
    return _answer(machine, thread, "aclrtMemcpyBatchAsync", batch, True, stream_handle)


@call("aclrtMemcpyBatchAsyncV2")
def memcpy_batch_async_v2(
    machine: "Machine",
    thread: Thread,
    destinations: Numbers | None,
    rooms: Numbers | None,
    sources: Numbers | None,
    sizes: Numbers | None,
    count: int,
    attributes: tuple[Attribute, ...] | None,
    indexes: Numbers | None,
    number: int,
    stream_handle: int,
) -> Any:
    batch = Batch(destinations, rooms, sources, sizes, count, attributes, indexes, number)
    return _answer(machine, thread, "aclrtMemcpyBatchAsyncV2", batch, False, stream_handle)
