"""Makes a bundle that can be given away: what was done, without what it was done with (section 15 of the format).

Bytes that passed become hashes or sizes; strings become other strings of the same length, equal ones equal ones, under
a key that is forgotten; what is noted about the host is left out, but for where its memory lay.
"""

import hashlib
import os
from pathlib import Path
from typing import Any, Final

from xxhash import xxh3_128_digest

from cannery.recorder import format
from cannery.recorder.bundle import Bundle
from cannery.recorder.create import check_target, create_bundle, name_bundle, remove_bundle, unfinished_name
from cannery.recorder.files import Folder
from cannery.recorder.format import TraceError
from cannery.recorder.process import ProcessStream
from cannery.recorder.records import Call, Effect, Enter, Exit, Note, Payload, Record
from cannery.recorder.rewrite import ChunkWriter
from cannery.recorder.schema import Schema
from cannery.recorder.seal import rebuild_index
from cannery.recorder.sheet import pack_sheet
from cannery.recorder.stream import REGION_TOPIC, SKIPPED_TOPIC, STOPPED_TOPIC

KEPT_TOPICS: Final = (REGION_TOPIC, SKIPPED_TOPIC, STOPPED_TOPIC)
"""Notes without which a copy does not replay, or which say how the recording ended."""

NUMBERS: Final = frozenset(
    {
        "aclmdlRITaskGetParams(params)",
        "aclmdlRITaskSetParams(params)",
        "aclrtGetStreamAttribute(value)",
        "aclrtKernelArgsAppend(param)",
        "aclrtKernelArgsParaUpdate(param)",
        "aclrtLaunchKernelWithHostArgs(hostArgs)",
        "aclrtSetStreamAttribute(value)",
    }
)
"""Parameters whose bytes are numbers and addresses, without which a copy does not replay. All other bytes are text, or
data of the program."""
_ADDRESSES: Final = 1 << 32  # a raw value from here up may be one


class NotFinished(TraceError):  # noqa: N818
    """The bundle is still being written; the text says so."""


def redact(source: str | Path, target: str | Path, *, hashes: bool = True, force: bool = False) -> None:
    """Write the redacted form of the bundle at ``source`` to ``target``.

    ``hashes``: keep the hashes of bytes that passed. Short content can be guessed from its hash.

    Raises:
        NotFinished: it is being written.
        TraceError: it cannot be read, or ``target`` exists, is ``source``, a link or inside a trace.
        OSError: ``target`` cannot be written; nothing is left there.
    """
    path = str(target)
    with Bundle.open(source) as bundle:
        for stream in bundle.processes:
            if stream.alive:
                raise NotFinished(f"process {stream.ordinal} still runs; redact the trace when it has ended")
            if stream.begins_with_a_state:
                raise NotFinished(
                    f"process {stream.ordinal} begins with a state, which has content of device memory; redact a "
                    "whole trace instead"
                )
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
        folder.replace(format.PROCESS, pack_sheet({**stream.header, **kept}))
        if stream.end is not None:
            folder.replace(format.END, pack_sheet(stream.end))
        folder.replace(format.INFLIGHT, _slots(stream))
        writer = ChunkWriter(folder, stream.schema)
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


class Redactor:
    """Redacts the records of one bundle: what is equal in it stays equal."""

    def __init__(self, schema: Schema, hashes: bool) -> None:
        self.hashes = hashes
        self._schema = schema
        self._key = os.urandom(32)
        self._raw: dict[int, int] = {}

    def record(self, record: Record) -> Record | None:
        """None: nothing of it is left."""
        if isinstance(record, Note):
            return record if record.topic in KEPT_TOPICS else None
        changed: dict[str, Any] = {}
        if isinstance(record, Call | Enter | Exit):
            form = self._schema[record.function]
            if not isinstance(record, Exit):
                names = [(param.into, f"{form.name}({param.name})") for param in form.params]
                changed["ins"] = tuple(map(self._value, names, record.ins))
            if not isinstance(record, Enter):
                changed["ret"] = self._value((form.result, form.name), record.ret)
                names = [(param.out or "none", f"{form.name}({param.name})") for param in form.outputs]
                changed["outs"] = tuple(map(self._value, names, record.outs))
        if getattr(record, "effects", ()):
            changed["effects"] = tuple(self._effect(effect) for effect in record.effects)  # type: ignore[union-attr]
        return record._replace(**changed)

    def _value(self, kind: tuple[str, str], value: Any) -> Any:
        """``kind``: form, and the parameter's name."""
        form, name = kind
        if isinstance(value, bytes) and form == "bytes" and name not in NUMBERS:
            return self._other(value)
        if form == "raw" and isinstance(value, int) and value >= _ADDRESSES:
            return self._raw.setdefault(value, _ADDRESSES + len(self._raw))
        return value

    def _other(self, content: bytes) -> bytes:
        """Other bytes of the same length, which are letters and digits."""
        text = b""
        while len(text) < len(content):
            text += hashlib.blake2b(content + text[-64:], key=self._key, digest_size=32).hexdigest().encode()
        return text[: len(content)]

    def _effect(self, effect: Effect) -> Effect:
        payload = effect.payload
        if effect.text:
            effect = effect._replace(text=self._other(effect.text.encode()).decode())
        if payload is None or effect.kind == "model":  # whose payload is the hash of a source file
            return effect
        digest = payload.digest
        if payload.content is not None:
            digest = xxh3_128_digest(payload.content)
        return effect._replace(payload=Payload(payload.size, digest if self.hashes else None, None))
