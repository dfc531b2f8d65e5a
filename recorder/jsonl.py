"""Records as JSON lines and back, without loss (section 12 of the format)."""

import json
import math
from collections.abc import Iterable, Iterator, Mapping
from typing import Any, Final

from cannery.recorder.format import TraceError
from cannery.recorder.records import (
    Call,
    Effect,
    Enter,
    Errand,
    Exit,
    Expire,
    Invoke,
    Note,
    Pace,
    Payload,
    Record,
    Returned,
    Signal,
    ThreadEnd,
)

_NAMES: Final[dict[type[Any], str]] = {
    Call: "call",
    Enter: "enter",
    Exit: "exit",
    Pace: "pace",
    Signal: "signal",
    Expire: "expire",
    Invoke: "invoke",
    Returned: "returned",
    Errand: "errand",
    ThreadEnd: "thread_end",
    Note: "note",
}
_TYPES: Final = {name: kind for kind, name in _NAMES.items()}
_VALUES: Final = ("ret", "ins", "outs", "args", "value")
_NUMBERS: Final = ("region", "thread", "worker", "parts", "place", "offset", "topic")
_PLAIN: Final = (bool, str, int, type(None))
#: Made once: json.dumps with options of its own makes one for each line.
_ENCODER: Final = json.JSONEncoder(ensure_ascii=False, separators=(",", ":"))


class JsonError(TraceError):
    """A line is no record; the text says which line and why."""


def dump_lines(records: Iterable[Record]) -> Iterator[str]:
    """One line of JSON per record, without the line feed."""
    for record in records:
        yield line_of(to_json(record))


def line_of(value: Any) -> str:
    """What :mod:`json` can write, in one line."""
    return _ENCODER.encode(value)


def load_lines(lines: Iterable[str]) -> Iterator[Record]:
    """The records of lines that :func:`dump_lines` gave; blank lines are skipped.

    Raises:
        JsonError: naming the first line that is no record.
    """
    for number, line in enumerate(lines, 1):
        if not line.strip():
            continue
        try:
            yield from_json(json.loads(line))
        except (ValueError, TypeError, KeyError, AttributeError, RecursionError) as error:
            raise JsonError(f"line {number} is no record: {error or type(error).__name__}") from None


def to_json(record: Record) -> dict[str, Any]:
    """A record as what :mod:`json` can write."""
    fields = record._asdict()
    if "effects" in fields:
        fields["effects"] = [_effect_to_json(effect) for effect in fields["effects"]]
    for name in _VALUES:
        if name in fields:
            fields[name] = value_to_json(fields[name])
    return {"record": _NAMES[type(record)], **fields}


def from_json(line: Mapping[str, Any]) -> Record:
    """The record that :func:`to_json` was given. Raises ValueError, TypeError or KeyError for anything else."""
    fields = dict(line)
    kind = _TYPES[fields.pop("record")]
    if "effects" in fields:
        fields["effects"] = tuple(_effect_from_json(effect) for effect in fields["effects"])
    for name in _VALUES:
        if name in fields:
            fields[name] = value_from_json(fields[name])
    record: Record = kind(**fields)
    return record


def value_to_json(value: Any) -> Any:
    """A wire value as what :mod:`json` can write. Bytes, maps and odd floats become an object with one key."""
    if isinstance(value, _PLAIN):
        return value
    if isinstance(value, bytes):
        return {"hex": value.hex()}
    if isinstance(value, float):
        return value if math.isfinite(value) else {"float": repr(value)}
    if isinstance(value, list | tuple):
        return [value_to_json(part) for part in value]
    if isinstance(value, dict):
        return {"map": [[value_to_json(key), value_to_json(part)] for key, part in value.items()]}
    raise TypeError(f"{value!r} is no value of a trace")


def value_from_json(value: Any) -> Any:
    """The wire value that :func:`value_to_json` was given, with tuples for arrays. Raises ValueError."""
    if isinstance(value, list):
        return tuple(value_from_json(part) for part in value)
    if not isinstance(value, dict):
        return value
    ((kind, content),) = value.items()
    if kind == "hex":
        return bytes.fromhex(content)
    if kind == "float":
        return float(content)
    if kind == "map":
        return {value_from_json(key): value_from_json(part) for key, part in content}
    raise ValueError(f"there is no {kind!r} value")


def _effect_to_json(effect: Effect) -> dict[str, Any]:
    found: dict[str, Any] = {"kind": effect.kind, "ok": effect.ok}
    if effect.payload is not None:
        found["payload"] = {
            name: value_to_json(value) for name, value in effect.payload._asdict().items() if value is not None
        }
    found |= {name: getattr(effect, name) for name in (*_NUMBERS, "text") if getattr(effect, name)}
    if effect.values:
        found["values"] = list(effect.values)
    return found


def _effect_from_json(effect: Mapping[str, Any]) -> Effect:
    payload = effect.get("payload")
    stored = None
    if payload is not None:
        digest, content = value_from_json(payload.get("digest")), value_from_json(payload.get("content"))
        stored = Payload(payload["size"], digest, content)
    numbers = {name: effect.get(name, 0) for name in _NUMBERS}
    values = tuple(effect.get("values", ()))
    return Effect(effect["kind"], effect["ok"], stored, text=effect.get("text", ""), values=values, **numbers)
