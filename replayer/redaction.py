"""Makes a bundle that can be given away: what was done, without what it was done with (section 15 of the format).

Records are the recorder's business (``recorder/redact.py``); here are bundles, and the states that parts and tails
begin with. Of a state the objects are left, with their numbers, addresses and order: device memory reads as zero in a
replay of the copy, which knows that these zeros stand for something.
"""

import os
from pathlib import Path
from typing import Any, Final

from cannery.recorder import format
from cannery.recorder.bundle import Bundle
from cannery.recorder.create import check_target, create_bundle, name_bundle, remove_bundle, unfinished_name
from cannery.recorder.files import Folder
from cannery.recorder.format import DamagedTrace, TraceError
from cannery.recorder.keyframes import KeyframeWriter
from cannery.recorder.packing import pack
from cannery.recorder.process import ProcessStream
from cannery.recorder.redact import Redactor
from cannery.recorder.rewrite import ChunkWriter
from cannery.recorder.seal import rebuild_index
from cannery.recorder.sheet import pack_sheet
from cannery.recorder.stream import Head, Position
from cannery.replayer.keyframe import KeyframeError, without_content
from cannery.runtime.state import LARGE

KEPT: Final = frozenset(
    {
        "calls.random_numbers.Parameter.content",
        "kernel_arguments.Arguments.content",
        "kernels.Launch.block",
        "memory_tasks.Fill.pattern",
    }
)
"""Attributes of a state whose bytes are numbers and addresses. All other bytes are text, or data of the program."""
TEXTS: Final = frozenset({"errors.Refused.values"})
"""Attributes with strings of the program. All other strings are names of functions and states, and texts of ours."""


class NotFinished(TraceError):  # noqa: N818
    """The bundle is still being written; the text says so."""


def redact(source: str | Path, target: str | Path, *, hashes: bool = True, force: bool = False) -> None:
    """Write the redacted form of the bundle at ``source`` to ``target``. What is a tail becomes a part.

    ``hashes``: keep the hashes of bytes that passed. Short content can be guessed from its hash.

    Raises:
        NotFinished: it is being written.
        TraceError: it, or the state that it begins with, cannot be read; or ``target`` exists, is ``source``, a link or
            inside a trace.
        OSError: ``target`` cannot be written; nothing is left there.
    """
    path = str(target)
    with Bundle.open(source) as bundle:
        for stream in bundle.processes:
            if stream.alive:
                raise NotFinished(f"process {stream.ordinal} still runs; redact the trace when it has ended")
        check_target(path, force, str(source))
        unfinished = unfinished_name(path)
        os.close(create_bundle(unfinished, os.urandom(8).hex(), bundle.schema.pack(), tool=bundle.tool))
        try:
            with Folder(unfinished) as folder:
                if bundle.end is not None:
                    folder.replace(format.END, pack_sheet(bundle.end))
                redactor = Redactor(bundle.schema, hashes)
                for stream in bundle.processes:
                    _redact_process(stream, folder, redactor)
            name_bundle(unfinished, path.rstrip("/") or path, force)
        except BaseException:
            remove_bundle(unfinished)
            raise


def _redact_process(stream: ProcessStream, bundle: Folder, redactor: "Redactor") -> None:
    name = format.process_name(stream.ordinal)
    os.mkdir(name, dir_fd=bundle.descriptor)
    with bundle.folder(name) as folder:
        kept: dict[str, Any] = {
            "payload": "hash" if redactor.hashes else "none",
            "payload_limit": None,
            "host": {},
            "redacted": True,
            "tail": None,
        }
        begin = _redact_origin(stream, folder, redactor) if stream.begins_with_a_state else Head(1, 0, 0)
        if begin.call or begin.time:
            kept["origin"] = {"call": begin.call, "time": begin.time}
        folder.replace(format.PROCESS, pack_sheet({**stream.header, **kept}))
        if stream.end is not None:
            folder.replace(format.END, pack_sheet(stream.end))
        folder.replace(format.INFLIGHT, _slots(stream))
        writer = ChunkWriter(folder, stream.schema, begin)
        for record in stream.records():
            left = redactor.record(record)
            if left is not None:
                writer.add(left)
        writer.close()
        rebuild_index(folder)


def _slots(stream: ProcessStream) -> bytes:
    """The calls that had not returned, without their arguments."""
    slots = bytearray(format.SLOTS * format.SLOT_SIZE)
    for call in stream.inflight():
        place = (call.thread - 1) * format.SLOT_SIZE
        slots[place : place + format.SLOT_SIZE] = call._replace(args=()).pack()
    return bytes(slots)


def _redact_origin(stream: ProcessStream, folder: Folder, redactor: Redactor) -> Head:
    """Write the redacted state that a stream begins with; the head of its first window then.

    Raises:
        DamagedTrace: the state cannot be read.
    """
    path = f"{format.process_name(stream.ordinal)}/{format.ORIGIN}"
    origin = stream.keyframes(format.ORIGIN)
    if origin is None or not origin.frames:
        raise DamagedTrace(path, 0, "is missing")
    frame = origin.frames[0]
    head = Head(1, frame.position.call, frame.position.time)
    position = Position(1, len(pack((format.WINDOW, *head))), head.call, head.time)
    content = origin.content(frame.digest)
    writer = KeyframeWriter(folder, format.ORIGIN, origin.tool)
    try:
        machine = StateRedactor(redactor).machine
        writer.add(position, without_content(content, stream.schema, position, redactor.record, machine))
        writer.finish()
    except KeyframeError as error:
        raise DamagedTrace(path, 0, f"is no state ({error})") from None
    finally:
        writer.abandon()
    return head


class StateRedactor:
    """Redacts the state of a machine as it is on the wire (``runtime/state.py``)."""

    def __init__(self, redactor: Redactor) -> None:
        self._redactor = redactor

    def machine(self, wire: Any) -> Any:
        names = [[f"{name}.{field}" for field in fields] for name, *fields in wire["classes"]]
        objects = [
            (number, *(self._value(name, value) for name, value in zip(names[number], values, strict=True)))
            for number, *values in wire["objects"]
        ]
        return {"classes": wire["classes"], "objects": objects}

    def _value(self, name: str, value: Any) -> Any:
        if isinstance(value, bytes):
            return value if name in KEPT else self._redactor.other(value)
        if isinstance(value, str):
            return self._redactor.other(value.encode()).decode()[: len(value)] if name in TEXTS else value
        if not isinstance(value, tuple | list) or not value or value[0] == LARGE:
            return value
        return (value[0], *(self._value(name, each) for each in value[1:]))
