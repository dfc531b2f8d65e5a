"""Compares two bundles: which processes belong together, what differs in each pair, and what caused it.

docs/diff.md says what counts as a difference, and why.
"""

from collections.abc import Mapping
from typing import Any, Final, NamedTuple

from cannery.recorder.bundle import Bundle
from cannery.recorder.format import DamagedTrace
from cannery.recorder.process import ProcessStream
from cannery.recorder.records import Call, Enter
from cannery.replayer.comparison.objects import A, B
from cannery.replayer.comparison.pairing import Profile, pair
from cannery.replayer.comparison.process import Compared, Options, compare, profiles
from cannery.replayer.comparison.shapes import shapes_of

SAME: Final = 0
DIFFERENT: Final = 1
TROUBLE: Final = 2


class Diff(NamedTuple):
    """What the comparison of two bundles found, as plain values. ``status`` is that of diff: 0 same, 1 different, 2
    neither is certain, because one trace could not be read to its end."""

    status: int
    notes: list[str]
    processes: list[dict[str, Any]]

    @property
    def total(self) -> int:
        return sum(process["total"] for process in self.processes)

    def to_json(self) -> dict[str, Any]:
        return {
            "status": self.status,
            "same": self.status == SAME,
            "total": self.total,
            "notes": self.notes,
            "processes": self.processes,
        }


def diff(
    bundles: tuple[Bundle, Bundle],
    options: Options = Options(),  # noqa: B008 - immutable
    limit: int | None = 10,
    process: int | None = None,
) -> Diff:
    """Compare two bundles. ``limit`` causes are described per process, the others counted; ``process`` chooses one of
    the first bundle's.

    Raises:
        KeyError: there is no such process.
    """
    found, notes = [], []
    for ordinals in _pairs(bundles, options):
        if process is not None and ordinals[A] != process:
            continue
        first, second = (None if o is None else bundle.process(o) for o, bundle in zip(ordinals, bundles, strict=True))
        if first is None or second is None:
            found.append(_alone(first, second))
            continue
        compared = compare((first, second), (bundles[A].content, bundles[B].content), options)
        found.append(_process(first, second, compared, limit))
        notes += _notes(first, second, compared)
    if process is not None and not found:
        raise KeyError(process)
    different = any(each["total"] for each in found)
    complete = all(not each["incomplete"] for each in found)
    complete = complete and not any(bundle.damage_beside() for bundle in bundles)
    return Diff(DIFFERENT if different else SAME if complete else TROUBLE, list(dict.fromkeys(notes)), found)


# Processes


def _pairs(bundles: tuple[Bundle, Bundle], options: Options) -> list[tuple[int | None, int | None]]:
    """Which processes belong together: those that no other forked by what they do, forked ones by their parents."""
    families = tuple(_families(bundle) for bundle in bundles)
    found: list[tuple[int | None, int | None]] = []
    parents: list[tuple[int | None, int | None]] = [(None, None)]
    while parents:
        parent = parents.pop(0)
        first, second = (family.get(ordinal, []) for family, ordinal in zip(families, parent, strict=True))
        children: list[tuple[int | None, int | None]]
        if parent != (None, None) and parent[B] is None:
            children = [(stream.ordinal, None) for stream in first]
        elif parent != (None, None) and parent[A] is None:
            children = [(None, stream.ordinal) for stream in second]
        else:
            children = _pair(bundles, first, second, options)
        found += children
        parents += children
    return sorted(found, key=lambda pair: (pair[A] is None, pair[A] or 0, pair[B] or 0))


def _families(bundle: Bundle) -> dict[int | None, list[ProcessStream]]:
    """The processes by the process that forked them, None for none; each in the order of the forks."""
    known = {stream.ordinal for stream in bundle.processes}
    found: dict[int | None, list[ProcessStream]] = {}
    for stream in bundle.processes:
        parent = stream.header.get("parent")
        found.setdefault(parent if parent in known and parent != stream.ordinal else None, []).append(stream)
    for children in found.values():
        children.sort(key=lambda stream: (stream.header.get("first_ordinal", 0), stream.ordinal))
    return found


def _pair(
    bundles: tuple[Bundle, Bundle], first: list[ProcessStream], second: list[ProcessStream], options: Options
) -> list[tuple[int | None, int | None]]:
    if len(first) <= 1 and len(second) <= 1:
        if not first and not second:
            return []
        return [(first[0].ordinal if first else None, second[0].ordinal if second else None)]
    shapes = shapes_of(bundles[A].schema, bundles[B].schema)
    sides = [  # by place: that is the order of the forks
        {place: _merged(profiles(stream, shapes, {}, options)[0]) for place, stream in enumerate(streams)}
        for streams in (first, second)
    ]
    return [
        (None if a is None else first[a].ordinal, None if b is None else second[b].ordinal)
        for a, b in pair(sides[A], sides[B])
    ]


def _merged(threads: Mapping[int, Profile]) -> Profile:
    """One profile for all threads of a process, whatever their numbers."""
    found = Profile()
    for profile in sorted(threads.values(), key=lambda profile: profile.identity):
        found.calls += profile.calls - 1
        found.add(hash(profile.identity))
    if threads:
        found.beginning = threads[min(threads)].beginning
    return found


# Values


def _process(first: ProcessStream, second: ProcessStream, compared: Compared, limit: int | None) -> dict[str, Any]:
    findings = compared.findings
    groups = findings.ordered()
    end = _end(first, second) if not any(compared.incomplete) else None
    return {
        "a": first.ordinal,
        "b": second.ordinal,
        "calls": {"a": compared.calls[A], "b": compared.calls[B]},
        "threads": [list(pair) for pair in compared.threads],
        "aligned": compared.aligned,
        "total": findings.total + (end is not None),
        "kinds": dict(findings.kinds),
        "causes": [compared.writer.group(group) for group in groups[:limit]],
        "causes_total": len(groups) + findings.ungrouped,
        "timing": compared.writer.timing(findings),
        "end": end,
        "uncompared_calls": compared.uncompared,
        "unverified_payloads": compared.unverified,
        "incomplete": {name: why for name, why in zip("ab", compared.incomplete, strict=True) if why is not None},
    }


def _alone(first: ProcessStream | None, second: ProcessStream | None) -> dict[str, Any]:
    stream = first or second
    assert stream is not None
    return {
        "a": None if first is None else first.ordinal,
        "b": None if second is None else second.ordinal,
        "calls": {"a": _calls(first), "b": _calls(second)},
        "threads": [],
        "aligned": 0,
        "total": 1,
        "kinds": {"process": 1},
        "causes": [],
        "causes_total": 0,
        "timing": {"total": 0, "first": None},
        "end": None,
        "uncompared_calls": 0,
        "unverified_payloads": 0,
        "incomplete": {},
    }


def _calls(stream: ProcessStream | None) -> int:
    """How many calls a process made; as far as can be read when it is damaged."""
    if stream is None:
        return 0
    try:
        return stream.counts().calls
    except DamagedTrace:
        return sum(1 for record in stream.records(tolerant=True) if isinstance(record, Call | Enter))


def _end(first: ProcessStream, second: ProcessStream) -> dict[str, Any] | None:
    """How the processes ended, where that is known of both and differs."""
    try:
        ends = first.end, second.end
    except DamagedTrace:
        return None
    if None in ends or ends[A] == ends[B]:
        return None
    return {"a": ends[A], "b": ends[B]}


def _notes(first: ProcessStream, second: ProcessStream, compared: Compared) -> list[str]:
    """What the reader should know, though it is no difference between calls."""
    notes = []
    mine, theirs = first.settings, second.settings
    changed = [name for name in (*mine, *(n for n in theirs if n not in mine)) if mine.get(name) != theirs.get(name)]
    if changed:
        texts = (f"{name} {_shown(mine.get(name))} and {_shown(theirs.get(name))}" for name in changed)
        notes.append(f"the runs had different settings: {', '.join(texts)}")
    largest = max(compared.calls)
    if largest >= 8 and compared.aligned * 4 < largest:
        notes.append("the traces have little in common: are they of the same program?")
    return notes


def _shown(value: Any) -> str:
    return "none" if value is None else str(value)


__all__ = ["DIFFERENT", "SAME", "TROUBLE", "Diff", "Options", "diff"]
