"""Runs kernel models again on what a trace has, and compares."""

from collections.abc import Sequence
from typing import Any

import numpy

from cannery.runtime.kernels import IN_HOST, KernelRun
from cannery.runtime.models.declare import KernelModel
from cannery.runtime.models.run import Failure, Memory, ReadHost, execute, prepare, restore
from cannery.runtime.ports import Range


def rerun(model: KernelModel, launch: KernelRun, read: ReadHost, recorded: Sequence[Range] | None) -> list[str]:
    """Run a model where it ran before, compare what it writes with what it wrote, and leave that in memory.

    ``recorded`` is None for a run that failed. The texts say what is not within the model's tolerance.
    """
    try:
        values, memories = prepare(model, launch, read)
        execute(model, launch, values, memories)
    except Failure as failure:
        return [] if recorded is None else [f"it fails: {failure}"]
    if recorded is None:
        restore(memories)
        return ["it does not fail"]
    found = []
    for memory in memories:
        if memory.kept:
            before = bytearray(memory.before)
            for _, offset, content in (each for each in recorded if each.place == memory.place):
                before[offset : offset + len(content)] = content
            text = _difference(model, memory, before)
            if text is not None:
                found.append(text)
            if memory.target.kind != IN_HOST:
                memory.put(before)
    return found


def _difference(model: KernelModel, memory: Memory, recorded: bytearray) -> str | None:
    if memory.bytes == recorded:
        return None
    dtype = numpy.dtype(memory.parameter.dtype)
    ours, theirs = numpy.frombuffer(memory.bytes, dtype), numpy.frombuffer(recorded, dtype)
    wrong = numpy.flatnonzero(~_close(model, ours, theirs))
    if not len(wrong):
        return None
    first = int(wrong[0])
    return (
        f"element {first} of {memory.name} is {ours[first]}, not {theirs[first]} ({len(wrong)} of {len(ours)} differ)"
    )


def _close(model: KernelModel, ours: Any, theirs: Any) -> Any:
    """Which elements are within the tolerance; without one, and for what are no numbers, those with the same bits."""
    size = ours.dtype.itemsize
    same = (ours.view(numpy.uint8).reshape(-1, size) == theirs.view(numpy.uint8).reshape(-1, size)).all(axis=1)
    if (not model.relative and not model.absolute) or ours.dtype.names is not None:
        return same
    wide = numpy.complex128 if ours.dtype.kind == "c" else numpy.float64
    close = numpy.isclose(ours.astype(wide), theirs.astype(wide), model.relative, model.absolute, equal_nan=True)
    return same | close
