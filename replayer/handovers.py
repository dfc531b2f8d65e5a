"""Whether the processes of a bundle fit together: the order in which they handed over to each other.

Each process replays alone, from what the others did to it as it was recorded. Changes of a shared flag are numbered
over all processes, so together the streams say who set it, who took it, and when. What is checked: no two processes
made the same change, and nobody took a flag that was not set. Changes that no stream has (of a process that was
killed before it wrote them, or that was not recorded) leave the next one unjudged.
"""

from collections.abc import Iterable, Iterator
from typing import Final, NamedTuple

from cannery.recorder import format
from cannery.recorder.records import Exit, Invoke, Note, Record, ThreadEnd

_CHANGES: Final = (format.SIGNALLED, format.TAKEN, format.CLEARED)
_SILENT: Final = (Exit, Invoke, Note, ThreadEnd)


class Change(NamedTuple):
    """A change of a shared flag: by which process, and how (a topic of section 7 of the format)."""

    process: int
    topic: int


class HandOvers:
    """``passed`` counts flags that one process set and another took, ``reads`` how often memory was read that others
    may write, ``problem`` is the first thing that does not fit."""

    def __init__(self) -> None:
        self.passed = 0
        self.reads = 0
        self.problem: str | None = None
        self._changes: dict[int, dict[int, Change]] = {}  # by entry and count
        self._shared: set[int] = set()
        self._again: set[int] = set()  # entries of which the bundle has several: a session that was begun anew

    def noting(self, process: int, records: Iterable[Record]) -> Iterator[Record]:
        """The records of a process, as they are; what it handed over is noted on the way."""
        for record in records:
            if not isinstance(record, _SILENT) and record.effects:
                for effect in record.effects:
                    if effect.topic in _CHANGES and len(effect.values) == 2:
                        self._note(process, effect.topic, *effect.values)
                    elif effect.topic == format.SHARE and effect.values:
                        self._share(effect.values[0])
                    elif effect.kind == "shared":
                        self.reads += 1
            yield record

    def _share(self, entry: int) -> None:
        if entry in self._shared:
            self._again.add(entry)
        self._shared.add(entry)

    def _note(self, process: int, topic: int, entry: int, count: int) -> None:
        changes = self._changes.setdefault(entry, {})
        other = changes.get(count)
        if other is not None and entry not in self._again:
            self._differ(f"processes {other.process} and {process} both made change {count} of shared thing {entry}")
        changes[count] = Change(process, topic)

    def _differ(self, problem: str) -> None:
        if self.problem is None:
            self.problem = problem

    def check(self) -> None:
        """All processes were read: see whether each flag was set when it was taken."""
        for entry, changes in self._changes.items():
            if entry in self._again:
                continue
            for count, change in sorted(changes.items()):
                before = changes.get(count - 1)
                if change.topic != format.TAKEN or (before is None and count > 1):
                    continue
                if before is None or before.topic != format.SIGNALLED:
                    who = f"process {change.process} took shared thing {entry}"
                    self._differ(f"{who} at change {count}; it was not set")
                elif before.process != change.process:
                    self.passed += 1
