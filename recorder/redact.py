"""Redacts records: what was done, without what it was done with (section 15 of the format).

Bytes that passed become hashes or sizes; strings become other strings of the same length, equal ones equal ones, under
a key that is forgotten; what is noted about the host is left out, but for where its memory lay.
"""

import hashlib
import os
from typing import Any, Final

from xxhash import xxh3_128_digest

from cannery.recorder.records import Call, Effect, Enter, Exit, Note, Payload, Record
from cannery.recorder.schema import Schema
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
            return self.other(value)
        if form == "raw" and isinstance(value, int) and value >= _ADDRESSES:
            return self._raw.setdefault(value, _ADDRESSES + len(self._raw))
        return value

    def other(self, content: bytes) -> bytes:
        """Other bytes of the same length, which are letters and digits."""
        text = b""
        while len(text) < len(content):
            text += hashlib.blake2b(content + text[-64:], key=self._key, digest_size=32).hexdigest().encode()
        return text[: len(content)]

    def _effect(self, effect: Effect) -> Effect:
        payload = effect.payload
        if effect.text:
            effect = effect._replace(text=self.other(effect.text.encode()).decode())
        if payload is None or effect.kind == "model":  # whose payload is the hash of a source file
            return effect
        digest = payload.digest
        if payload.content is not None:
            digest = xxh3_128_digest(payload.content)
        return effect._replace(payload=Payload(payload.size, digest if self.hashes else None, None))
