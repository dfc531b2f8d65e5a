"""Runs a kernel model on the memory that a launch names, and finds what it wrote. Imported when there are models."""

import sys
from collections.abc import Callable
from typing import Any, Final, NamedTuple

import numpy

from cannery.runtime.kernels import IN_ARGUMENTS, IN_DEVICE, IN_HOST, KernelRun, Target
from cannery.runtime.models.declare import POINTER_SIZE, Array, KernelModel, Launched, Parameter
from cannery.runtime.ports import Range

_LINE: Final = 64  # changed bytes in the same such line, or in neighbouring ones, are one range
_MOST_RANGES: Final = 256  # of one array; beyond that what is near each other becomes one
_STEP: Final = 4 << 20

ReadHost = Callable[[int, memoryview], bool]
WriteHost = Callable[[int, memoryview], bool]


class Failure(Exception):  # noqa: N818 - of the kernel that is simulated
    """The launch fails; the text says why."""


class Memory:
    """The memory behind one array parameter of ``name``. ``bytes`` is what the model sees; ``before`` a copy of it, of
    what can be written. ``pieces``: what it was gathered from, if it is not in one piece."""

    def __init__(
        self, place: int, name: str, parameter: Array, target: Target, view: memoryview, pieces: list[memoryview]
    ) -> None:
        self.place = place
        self.name = name
        self.parameter = parameter
        self.target = target
        self.bytes = view
        self.before = bytes(view) if parameter.writes else b""
        self.pieces = pieces

    @property
    def kept(self) -> bool:
        """Whether what the model writes there is more than a copy that only the kernel sees."""
        return self.parameter.writes and self.target.kind != IN_ARGUMENTS

    def array(self, dtype: Any) -> Any:
        found = numpy.frombuffer(self.bytes, dtype)
        found.flags.writeable = self.parameter.writes
        return found

    def put(self, content: "bytes | bytearray | memoryview") -> None:
        """Make this the content of the memory."""
        self.bytes[:] = content
        self.scatter()

    def scatter(self) -> None:
        """Put what the model wrote where it belongs, if that was not in one piece."""
        start = 0
        for piece in self.pieces:
            piece[:] = self.bytes[start : start + len(piece)]
            start += len(piece)


class Outcome(NamedTuple):
    """What a model ``wrote``, and what it ``saw`` of host memory."""

    wrote: list[Range]
    saw: list[Range]


def run(model: KernelModel, launch: KernelRun, read: ReadHost, write: WriteHost) -> Outcome:
    """Run a model. ``read`` and ``write`` move bytes between memory here and the host's.

    Raises:
        Failure: an argument leads nowhere, or the model raised something. Device memory is as before then.
    """
    values, memories = prepare(model, launch, read)
    saw = [Range(memory.place, 0, memoryview(bytes(memory.bytes))) for memory in memories if _in_host(memory)]
    execute(model, launch, values, memories)
    wrote = []
    for memory in memories:
        if memory.kept:
            ranges = changed_ranges(memory.before, memory.bytes)
            changes = [Range(memory.place, start, memory.bytes[start:end]) for start, end in ranges]
            if _in_host(memory) and not all(write(memory.target.address + at, part) for _, at, part in changes):
                restore(memories)
                raise Failure(f"the registered host memory behind its argument {memory.name} is not writable")
            wrote += changes
    for memory in memories:
        memory.scatter()
    return Outcome(wrote, saw)


def _in_host(memory: Memory) -> bool:
    return memory.target.kind == IN_HOST


def prepare(model: KernelModel, launch: KernelRun, read: ReadHost) -> tuple[list[Any], list[Memory]]:
    """The arguments that the model gets, and the memory behind those that are arrays. Raises Failure."""
    places = _places(model, launch)
    scalars = _scalars(model, launch, places)
    memories: list[Memory] = []
    values = [
        _array(launch, name, parameter, place, scalars, memories, read)
        if isinstance(parameter, Array)
        else scalars[name]
        for name, parameter, place in zip(model.names, model.parameters, places, strict=True)
    ]
    return values, memories


def execute(model: KernelModel, launch: KernelRun, values: list[Any], memories: list[Memory]) -> None:
    """Call the model. Raises Failure: it raised something; the memory is as before."""
    try:
        model.run(Launched(model.name, launch.blocks, launch.device), *values)
    except BaseException as error:
        restore(memories)
        raise Failure(f"its model ({model.where}) raised {type(error).__name__}: {error}".rstrip(": ")) from None
    finally:
        for stream in (sys.stdout, sys.stderr):  # nobody else flushes them in the program's process
            if stream is not None:
                stream.flush()


def restore(memories: list[Memory]) -> None:
    """Undo what a model wrote."""
    for memory in memories:
        if memory.parameter.writes:
            memory.bytes[:] = memory.before


def _places(model: KernelModel, launch: KernelRun) -> list[int]:
    """Where each argument is in the block. Raises Failure: there are not as many."""
    sizes = [_size(parameter) for parameter in model.parameters]
    if launch.offsets is not None:
        if len(launch.offsets) != len(sizes):
            raise Failure(
                f"its model ({model.where}) has {len(sizes)} parameters, and the launch {len(launch.offsets)}"
            )
        places = list(launch.offsets)
    else:
        places, end = [], 0
        for parameter, (size, alignment) in zip(model.parameters, sizes, strict=True):
            start = -(-end // alignment) * alignment if parameter.at is None else parameter.at
            places.append(start)
            end = start + size
    for name, place, (size, _) in zip(model.names, places, sizes, strict=True):
        if place + size > len(launch.arguments):
            raise Failure(
                f"its argument {name} would be the bytes {place} to {place + size - 1} of {len(launch.arguments)} "
                "bytes of arguments"
            )
    return places


def _size(parameter: Parameter) -> tuple[int, int]:
    """Bytes and alignment of an argument."""
    if isinstance(parameter, Array):
        return POINTER_SIZE, POINTER_SIZE
    dtype = numpy.dtype(parameter.dtype)
    return dtype.itemsize, max(dtype.alignment, 1)


def _scalars(model: KernelModel, launch: KernelRun, places: list[int]) -> dict[str, Any]:
    found = {}
    for name, parameter, place in zip(model.names, model.parameters, places, strict=True):
        if not isinstance(parameter, Array):
            dtype = numpy.dtype(parameter.dtype)
            value = numpy.frombuffer(launch.arguments, dtype, 1, place)[0]
            found[name] = value.item() if dtype.names is None else value
    return found


def _array(
    launch: KernelRun,
    name: str,
    parameter: Array,
    place: int,
    scalars: dict[str, Any],
    memories: list[Memory],
    read: ReadHost,
) -> Any:
    """The array of one parameter; its memory is added to ``memories``. Raises Failure."""
    dtype = numpy.dtype(parameter.dtype)
    count = scalars[parameter.count] if isinstance(parameter.count, str) else parameter.count
    if count is not None and count != int(count):
        raise Failure(f"its argument {name} has {count} elements")
    target = launch.target(place)
    pointer = launch.pointer(place)
    if target is None:
        if parameter.optional and not pointer:
            return None
        if count == 0:
            return numpy.empty(0, dtype)
        what = "null" if not pointer else f"{pointer:#x}, which is no device memory that is allocated"
        raise Failure(f"its argument {name} is {what}")
    elements = target.room // dtype.itemsize if count is None else int(count)
    size = elements * dtype.itemsize
    if not 0 <= size <= target.room:
        raise Failure(
            f"its argument {name} ({pointer:#x}) has {elements} elements of {dtype.name}, {size} bytes, and "
            f"{target.kind} ends {target.room} bytes behind it"
        )
    if not size:
        return numpy.empty(0, dtype)
    view, pieces = _view(launch, name, target, size, read)
    memory = Memory(place, name, parameter, target, view, pieces)
    memories.append(memory)
    return memory.array(dtype)


def _view(
    launch: KernelRun, name: str, target: Target, size: int, read: ReadHost
) -> tuple[memoryview, list[memoryview]]:
    """The bytes of a target as one view, and the pieces that it was gathered from. Raises Failure."""
    if target.kind == IN_ARGUMENTS:
        return memoryview(bytearray(launch.arguments[target.address : target.address + size])), []
    if target.kind == IN_DEVICE:
        pieces = launch.pieces(target, 0, size)
        if len(pieces) == 1:
            return pieces[0], []
        return memoryview(bytearray(b"".join(pieces))), pieces
    content = memoryview(bytearray(size))
    if not read(target.address, content):
        raise Failure(f"the registered host memory behind its argument {name} is not readable")
    return content, []


def changed_ranges(before: bytes, after: memoryview) -> list[tuple[int, int]]:
    """Start and end of the ranges in which two contents of the same size differ: few, rather than the smallest."""
    old, new = (numpy.frombuffer(content, numpy.uint8) for content in (before, after))
    lines = _changed_lines(old, new)
    if not len(lines):
        return []
    near = 1
    while True:
        gaps = numpy.flatnonzero(numpy.diff(lines) > near)
        if len(gaps) < _MOST_RANGES:
            break
        near *= 4
    starts = lines[numpy.concatenate(([0], gaps + 1))] * _LINE
    ends = numpy.minimum(lines[numpy.concatenate((gaps, [len(lines) - 1]))] * _LINE + _LINE, len(old))
    return [_trimmed(old, new, int(start), int(end)) for start, end in zip(starts, ends, strict=True)]


def _changed_lines(old: Any, new: Any) -> Any:
    """The numbers of the lines of ``_LINE`` bytes that differ; looked at in steps, since each takes memory too."""
    found = []
    for start in range(0, len(old), _STEP):
        differs = old[start : start + _STEP] != new[start : start + _STEP]
        whole = len(differs) // _LINE
        lines = numpy.flatnonzero(differs[: whole * _LINE].reshape(whole, _LINE).any(axis=1))
        if differs[whole * _LINE :].any():
            lines = numpy.append(lines, whole)
        found.append(lines + start // _LINE)
    return numpy.concatenate(found) if found else numpy.empty(0, numpy.int64)


def _trimmed(old: Any, new: Any, start: int, end: int) -> tuple[int, int]:
    """A range without the equal bytes at the ends of its first and last line."""
    head = numpy.flatnonzero(old[start : start + _LINE] != new[start : start + _LINE])
    last = start + (end - start - 1) // _LINE * _LINE
    tail = numpy.flatnonzero(old[last:end] != new[last:end])
    return start + int(head[0]), last + int(tail[-1]) + 1
