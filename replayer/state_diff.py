"""What differs between the states of two processes, each at a call of its trace.

Objects are the same by identity, not by number: those of one trace by their names, those of two traces as the
comparison of their calls finds it (docs/diff.md), up to the two calls. Times, numbers of tasks and hardware ids are
left out.
"""

import re
from collections.abc import Iterator, Mapping
from typing import Any, Final, NamedTuple

from cannery.recorder.bundle import Bundle
from cannery.recorder.process import Counts, ProcessStream
from cannery.recorder.records import Call, Enter, Record
from cannery.recorder.schema import Schema
from cannery.replayer.comparison.objects import A, B
from cannery.replayer.comparison.process import Compared, Options, compare
from cannery.replayer.state_view import KINDS, View

#: By sort of objects: which attribute leads to objects that calls need not name.
_LEADS: Final = (("devices", "primary"), ("contexts", "default"), ("streams", "model"), ("models", "streams"))
_LEFT_OUT: Final = {"call", "time", "skip", "due", "deadline", "number", "id", "known_as", "name"}
_HANDLE: Final = re.compile(rf"\b({'|'.join(KINDS.values())})#(\d+)")
_DEVICE: Final = re.compile(r"\bd\+0x([0-9a-f]+)")
_HOST: Final = re.compile(r"\bh(\d+)\+0x([0-9a-f]+)")
_THREAD: Final = re.compile(r"\bT(\d+)\b")
_HEX: Final = re.compile(r"(?<![+\w])0x[0-9a-f]+")


class Difference(NamedTuple):
    """``sort`` of the object, its name in each trace (None: it is not there), and for an attribute that differs its
    name and both values."""

    sort: str
    a: str | None
    b: str | None
    attribute: str | None = None
    a_value: Any = None
    b_value: Any = None


def diff_states(a: View, b: View, names: "Names | None") -> list[Difference]:
    """What differs. ``names`` says what the second trace's objects are called in the first, None: the same."""
    if names is not None:
        names.infer(a, b)
    found: list[Difference] = []
    for sort in a:
        first = {each.get("name", ""): each for each in a[sort]}
        second = {_named(each.get("name", ""), names): each for each in b[sort]}
        for name, mine in first.items():
            theirs = second.pop(name, None)
            if theirs is None:
                found.append(Difference(sort, name, None))
                continue
            own = theirs.get("name", "")
            values = _plain(mine, None), _plain(theirs, names)
            found += [Difference(sort, name, own, *each) for each in _differing("", *values)]
        found += [Difference(sort, None, each.get("name", "")) for each in second.values()]
    return found


def _named(name: str, names: "Names | None") -> str:
    return name if names is None else names.translate(name)


def _plain(value: Any, names: "Names | None") -> Any:
    """A value with what identity does not depend on left out, and objects as the first trace calls them."""
    if isinstance(value, dict):
        return {_plain(key, names): _plain(each, names) for key, each in value.items() if key not in _LEFT_OUT}
    if isinstance(value, list):
        return [_plain(each, names) for each in value]
    if isinstance(value, str):
        return _HEX.sub("0x", _named(value, names))
    return value


def _differing(path: str, a: Any, b: Any) -> Iterator[tuple[str, Any, Any]]:
    if isinstance(a, dict) and isinstance(b, dict):
        for key in [*a, *(key for key in b if key not in a)]:
            yield from _differing(f"{path}.{key}" if path else key, a.get(key), b.get(key))
    elif isinstance(a, list) and isinstance(b, list):
        for index in range(max(len(a), len(b))):
            mine, theirs = (side[index] if index < len(side) else None for side in (a, b))
            yield from _differing(f"{path}[{index}]", mine, theirs)
    elif a != b:
        yield path, a, b


class Names:
    """What the objects of the second trace are called in the first, as far as they are in both."""

    def __init__(self, compared: Compared) -> None:
        self._identities = compared.identities
        self._threads = {second: first for first, second in compared.threads}
        self._allocations = compared.allocations
        self._starts = {} if self._allocations is None else self._allocations[A].starts()
        self._inferred: dict[str, str] = {}

    def infer(self, a: View, b: View) -> None:
        """Name objects that no call named, by those that lead to them."""
        for sort, attribute in _LEADS:
            first = {each["name"]: each for each in a[sort]}
            for theirs in b[sort]:
                mine = first.get(self.translate(theirs["name"]), {})
                self._pair(mine.get(attribute), theirs.get(attribute))

    def _pair(self, mine: Any, theirs: Any) -> None:
        if isinstance(mine, list) and isinstance(theirs, list):
            for each in zip(mine, theirs, strict=False):
                self._pair(*each)
        elif isinstance(mine, str) and isinstance(theirs, str):
            self._inferred[theirs] = mine

    def translate(self, text: str) -> str:
        """A name, or a text with names in it."""
        if self._identities is None:
            return text
        text = _HANDLE.sub(self._handle, text)
        text = _DEVICE.sub(self._device, text)
        text = _HOST.sub(self._host, text)
        return _THREAD.sub(self._thread, text)

    def _handle(self, found: re.Match[str]) -> str:
        assert self._identities is not None
        partner = self._identities.handles.partner(B, int(found[2]))
        if partner is not None:
            return f"{found[1]}#{partner}"
        return self._inferred.get(found[0]) or f"{found[0]} of B"

    def _device(self, found: re.Match[str]) -> str:
        assert self._identities is not None and self._allocations is not None
        place = self._allocations[B].find(int(found[1], 16))
        partner = None if place is None else self._identities.memory.partner(B, place[0])
        if place is None or partner not in self._starts:
            return f"{found[0]} of B"
        return f"d+{self._starts[partner] + place[1]:#x}"

    def _host(self, found: re.Match[str]) -> str:
        assert self._identities is not None
        partner = self._identities.regions.partner(B, int(found[1]))
        return "host" if partner is None else f"h{partner}+0x{found[2]}"

    def _thread(self, found: re.Match[str]) -> str:
        partner = self._threads.get(int(found[1]))
        return f"T{partner}" if partner is not None else f"{found[0]} of B"


def names_of(
    bundles: tuple[Bundle, Bundle], streams: tuple[ProcessStream, ProcessStream], calls: tuple[int, int]
) -> Names:
    """Compare two processes up to a call each. Raises DamagedTrace, WireError."""
    first, second = (Prefix(stream, call) for stream, call in zip(streams, calls, strict=True))
    return Names(compare((first, second), (bundles[A].content, bundles[B].content), Options()))


class Prefix:
    """A process's stream before a call, as :class:`cannery.replayer.comparison.process.Stream` wants it."""

    def __init__(self, stream: ProcessStream, call: int) -> None:
        self._stream = stream
        self._call = call

    @property
    def schema(self) -> Schema:
        return self._stream.schema

    @property
    def header(self) -> Mapping[str, Any]:
        return self._stream.header

    @property
    def finished(self) -> bool:
        return self._stream.finished

    @property
    def alive(self) -> bool:
        return False

    def windows(self) -> Iterator[tuple[int, bytes]]:
        """None that could be skipped for being the same."""
        return iter([(0, b"")])

    def records_of(self, first: int, end: int | None = None) -> Iterator[Record]:
        for record in self._stream.records_of(first, end):
            if isinstance(record, Call | Enter) and record.number >= self._call:
                return
            yield record

    def counts(self) -> Counts:
        return self._stream.counts()

