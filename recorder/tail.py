"""Streams of which only the tail is kept (section 17 of the format): how much, and what the process does for it.

The process writes short windows, and the payloads of each to a pack of its own. Whoever follows it (the launcher) keeps
the state at the beginning of a later window, and removes what lies before. Imported in preloaded processes.
"""
# ruff: noqa: PTH110 - importing pathlib would cost every preloaded process milliseconds

import os
import re
import time
from collections.abc import Callable
from typing import Final, NamedTuple, Protocol, Self

from cannery.recorder import format
from cannery.recorder.claim import is_locked
from cannery.recorder.format import TraceError
from cannery.recorder.payloads import PayloadStore

COMPLETE: Final = "the tail is complete"
"""The reason in the STOPPED record of a process that was told so."""

_HELD: Final = 10.0  # seconds at most that a process waits before a window
_LOOK: Final = 0.002  # seconds between two looks whether it may go on
_LENGTH: Final = re.compile(r"(\d{1,15})\s*([a-z]*)")
_UNITS: Final = {"ms": 10**6, "s": 10**9, "m": 60 * 10**9, "min": 60 * 10**9, "h": 3600 * 10**9}
_CALLS: Final = ("", "call", "calls")


class KeepError(TraceError):
    """The text does not say how much to keep; the message says what does."""


class Place(Protocol):
    """A place in a stream: the number of the next call, and the time of the step before."""

    @property
    def call(self) -> int: ...

    @property
    def time(self) -> int: ...


class Keep(NamedTuple):
    """How much is kept: so many calls, or what was called in so many nanoseconds; the other is 0."""

    calls: int
    nanoseconds: int

    @classmethod
    def parse(cls, text: str) -> Self:
        """``100000``, ``100000 calls``, ``500ms``, ``30s``, ``5min``, ``1h``. Raises KeepError."""
        found = _LENGTH.fullmatch(text.strip().lower())
        if found is None:
            raise KeepError(f"'{text}' is no length: write a number of calls (100000) or a time (500ms, 30s, 5min, 1h)")
        number, unit = int(found[1]), found[2]
        if unit not in _CALLS and unit not in _UNITS:
            raise KeepError(f"'{text}': unknown unit '{unit}'; there are calls, {', '.join(_UNITS)}")
        if number == 0:
            raise KeepError(f"'{text}': at least one call, or some time, has to be kept")
        return cls(number, 0) if unit in _CALLS else cls(0, number * _UNITS[unit])

    def leaves_enough(self, begin: Place, end: Place) -> bool:
        """Whether from ``begin`` to ``end`` is as much as has to be kept."""
        if self.calls:
            return end.call - begin.call >= self.calls
        return end.time - begin.time >= self.nanoseconds

    def __str__(self) -> str:
        if self.calls:
            return f"{self.calls} calls"
        unit = max((size, name) for name, size in _UNITS.items() if not self.nanoseconds % size and name != "min")
        return f"{self.nanoseconds // unit[0]}{unit[1]}"


def between_windows(bundle: str, folder: str, store: PayloadStore) -> Callable[[int], str | None]:
    """What the writer of such a stream does before it begins a window: the payloads go on in a pack of that number.
    It answers with a reason when recording is to end there."""

    def turn(number: int) -> str | None:
        _wait_while_held(f"{folder}/{format.HOLD}{format.UNFINISHED}", bundle)
        if is_complete(bundle):
            return COMPLETE
        store.turn(f"{folder}/{format.window_name(number, format.PACKED)}")
        return None

    return turn


def _wait_while_held(hold: str, bundle: str) -> None:
    """Wait for a launcher that is too far behind; but not for one that is gone, and not for ever."""
    if not os.path.exists(hold):
        return
    deadline = time.monotonic() + _HELD
    while os.path.exists(hold) and is_followed(bundle) and time.monotonic() < deadline:
        time.sleep(_LOOK)


def is_followed(bundle: str) -> bool:
    """Whether the launcher that made a bundle is still there."""
    try:
        descriptor = os.open(f"{bundle}/{format.BUNDLE}", os.O_RDONLY | os.O_CLOEXEC)
    except OSError:
        return False
    try:
        return is_locked(descriptor)
    finally:
        os.close(descriptor)


def is_complete(bundle: str) -> bool:
    """Whether nothing more is to be recorded into a bundle."""
    return os.path.exists(f"{bundle}/{format.STOP}")
