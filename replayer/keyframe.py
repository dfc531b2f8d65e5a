"""What a keyframe has of a replay: the state of the machine, and what the replay itself knows of the stream so far.

The content is msgpack of plain values, read as what somebody may have altered: an error in it is :class:`KeyframeError`
or :class:`DamagedTrace`, and leaves a replay that is of no use.
"""

import struct
from collections.abc import Callable
from typing import Any, Final

from cannery.recorder.format import MAX_STATE
from cannery.recorder.keyframes import Keyframe, Keyframes, KeyframeWriter
from cannery.recorder.packing import UNPACK_ERRORS, packer, unpack
from cannery.recorder.records import Effect, Enter, Payload
from cannery.recorder.records import Invoke as InvokeRecord
from cannery.recorder.schema import Schema
from cannery.recorder.stream import Position
from cannery.replayer.opened import OpenCall
from cannery.replayer.replay import IMPOSSIBLE, Replay, ReplayError
from cannery.replayer.stores import OutOfMemory
from cannery.runtime.invoke import SHOWN, SIGNATURES, Invoke
from cannery.runtime.machine import Wait
from cannery.runtime.pages import PAGE, imported_pages, install_imported, install_pages, pages
from cannery.runtime.places import Imported
from cannery.runtime.state import State, capture
from cannery.runtime.state_install import install

_PAGE: Final = struct.Struct("<IQ16s")  # device, number, digest
_IMPOSSIBLE: Final = (*UNPACK_ERRORS, *IMPOSSIBLE)


class KeyframeError(Exception):
    """The content of a keyframe is not of this version, or of another stream."""


def is_possible(replay: Replay) -> bool:
    """Whether the replay can go on from a keyframe taken now, between two steps: everything that the last one brought
    about was shown, and nothing differed. A backup that is kept (aclrtSnapShotProcessBackup) is no part of a state."""
    return replay.exact and not replay.open_calls.outcomes and replay.machine.saved is None


def save(replay: Replay, writer: KeyframeWriter, position: Position) -> None:
    """Take a keyframe, where one is possible.

    Raises:
        ReplayError: the machine is in no state that can be kept, as after one that somebody altered.
        OSError: it cannot be written.
    """
    try:
        content = _content(replay, writer, position)
    except _IMPOSSIBLE as error:
        reason = f"the state before call #{position.call} cannot be kept ({str(error) or type(error).__name__})"
        raise ReplayError(reason) from None
    writer.add(position, content)


def _content(replay: Replay, writer: KeyframeWriter, position: Position) -> bytes:
    places, invented = replay.book.placed()
    listed = pages(replay.machine, writer.keep)
    waits = replay.machine.waits
    state = capture(replay.machine)
    content = {
        "position": position,
        "machine": state.to_wire(),
        "pages": b"".join(_PAGE.pack(*page) for page in listed),
        "imported": b"".join(_PAGE.pack(*page) for page in imported_pages(_imports(state), writer.keep)),
        "calls": [_call(call, waits) for call in replay.open_calls],
        "errands": [*replay.errands.items()],
        "running": [*replay.unfinished.records()],
        "regions": [*places.items()],
        "invented": invented,
        "supported": [*replay.supported_now.items()],
        "bytes": (replay.port.unknown_bytes, replay.port.unverified),
        "held": [(*budget, amount) for budget, amount in replay.port.exchange.held.items()],
    }
    return packer()(content)


def without_content(
    content: bytes, schema: Schema, position: Position, record: Callable[[Any], Any], machine: Callable[[Any], Any]
) -> bytes:
    """The content of a keyframe, for a copy of the stream in which it is at ``position``, without the bytes of memory.
    ``record`` and ``machine`` redact a record, and the state of a machine on the wire.

    Raises:
        KeyframeError: it is not what it has to be.
    """
    try:
        found = unpack(content, MAX_STATE)
        unknown, unverified = found["bytes"]
        count = (len(found["pages"]) + len(found.get("imported", b""))) // _PAGE.size
        changed = {
            "position": position,
            "machine": machine(found["machine"]),
            "pages": b"",
            "imported": b"",
            "calls": [(record(_enter(schema, *enter)), *others) for enter, *others in found["calls"]],
            "running": [record(_running(schema, *each)) for each in found["running"]],
            "bytes": (unknown + max(count * PAGE, 1), unverified),
        }
        return packer()({**found, **changed})
    except _IMPOSSIBLE as error:
        raise KeyframeError(str(error) or type(error).__name__) from None


def restore(replay: Replay, frames: Keyframes, frame: Keyframe) -> None:
    """Put a replay that has not begun where a keyframe was taken.

    Raises:
        DamagedTrace: content is missing, or was altered.
        KeyframeError: it is not what it has to be.
    """
    content = frames.content(frame.digest)
    try:
        found = unpack(content, MAX_STATE)
        if found["position"] != tuple(frame.position):
            raise KeyframeError("it belongs elsewhere")
        machine = replay.machine
        state = State.from_wire(found["machine"])
        install(machine, state)
        install_pages(machine, [*_PAGE.iter_unpack(found["pages"])], frames.content)
        imports = _imports(state)
        for imported in imports:
            imported.store = replay.port.exchange.make(imported.size)
        install_imported(imports, [*_PAGE.iter_unpack(found.get("imported", b""))], frames.content)
        for call in found["calls"]:
            _reopen(replay, *call)
        replay.errands.update((_whole(worker), _signature(signature)) for worker, signature in found["errands"])
        for record in found["running"]:
            replay.unfinished.note(_running(replay.schema, *record))
        regions = {_whole(region): _whole(address) for region, address in found["regions"]}
        replay.book.recall(regions, _whole(found["invented"]))
        replay.supported_now.update((str(name), _whole(times)) for name, times in found["supported"])
        replay.port.unknown_bytes, replay.port.unverified = map(_whole, found["bytes"])
        held = {(_whole(device), _whole(budget)): _whole(amount) for device, budget, amount in found["held"]}
        replay.port.exchange.held.update(held)
        replay.calls = frame.position.call
    except (OutOfMemory, OSError, *_IMPOSSIBLE) as error:
        raise KeyframeError(str(error) or type(error).__name__) from None


def _whole(value: Any) -> int:
    if value.__class__ is not int:
        raise KeyframeError(f"it has {value!r:.40} where a number belongs")
    return int(value)


def _signature(value: Any) -> str:
    if value not in SIGNATURES:
        raise KeyframeError(f"it has {value!r:.40} where a signature belongs")
    return str(value)


def _imports(state: State) -> list[Imported]:
    """The memory of other processes in a state that was captured or installed, in the order of its objects."""
    return [each for each in state.originals or () if isinstance(each, Imported)]


def _call(call: OpenCall, waits: list[Wait]) -> tuple[Any, ...]:
    """An open call: which of the machine's waits it is in, or that it has a function of the program run."""
    pending = call.pending
    place = None if isinstance(pending, Invoke) else [pending is wait for wait in waits].index(True)
    return call.enter, place, call.signatures


def _reopen(replay: Replay, enter: Any, place: Any, signatures: Any) -> None:
    call = OpenCall(_enter(replay.schema, *enter))
    call.pending = SHOWN if place is None else replay.machine.waits[_whole(place)]
    if place is not None and not isinstance(call.pending, Wait):
        raise KeyframeError("a call waits for nothing")
    call.signatures = [*map(_signature, signatures)]
    replay.open_calls.add(call)


def _enter(schema: Schema, number: Any, thread: Any, time: Any, function: Any, ins: Any, effects: Any) -> Enter:
    name = schema[function].name  # KeyError: there is none
    made = tuple(_effect(*effect) for effect in effects)
    return Enter(_whole(number), _whole(thread), _whole(time), name, tuple(ins), made)


def _effect(kind: Any, ok: Any, payload: Any, *others: Any) -> Effect:
    return Effect(kind, ok, None if payload is None else Payload(*payload), *others)


def _running(schema: Schema, *record: Any) -> Enter | InvokeRecord:
    """The record of a call that has not ended, or of a function that has not returned."""
    if isinstance(record[3], str):
        return _enter(schema, *record)
    number, thread, worker, function, signature, args = record
    if number is not None:
        number, thread = _whole(number), _whole(thread)
    elif thread is not None:
        raise KeyframeError("a worker is no thread")
    return InvokeRecord(number, thread, _whole(worker), _whole(function), _signature(signature), tuple(args))
