"""Replays the processes of a bundle side by side, on one set of devices: memory that one shares is the very memory that
the others have open, so that what one wrote is there when another reads it.

What a process read of such memory was recorded. It has to be what is there: otherwise the streams do not belong
together, or one of them was altered. Steps are made in the order of the times at which they began, which all processes
took from one clock; and a step in which a process saw what another one did (a flag, a record that is done, a key) comes
after that one's step. Two steps may have overlapped all the same. So where bytes differ, they are looked at again until
the reader's next step, and they count as undecided if another process wrote that memory in a step that was perhaps not
over: what a program does without a notify or an event between the two, no trace can tell.
"""

from collections.abc import Iterator
from typing import Final, NamedTuple

from cannery.recorder import format
from cannery.recorder.bundle import Bundle
from cannery.recorder.process import ProcessStream
from cannery.recorder.records import Call, Enter, Record
from cannery.replayer.process import new_replay
from cannery.replayer.replay import ENDS, ReplayError
from cannery.replayer.seek import is_step
from cannery.replayer.stores import Budget, ReplayStore, available

_NEVER: Final = 1 << 62
_Event = tuple[int, int, int]
"""What one process did and another can see: topic, entry, and the count of the change or the name of the record."""


class Together(NamedTuple):
    """``compared``: reads of memory that other processes have open, whose bytes were there. ``undecided``: those during
    which another process may have been writing, and of memory that was shared before the trace begins or by a process
    that it does not have. ``problem``: the first whose bytes were not there."""

    compared: int
    undecided: int
    problem: str | None


class _Process:
    """One process on its way. ``due``: when its next step began. ``seen``: the last step of each process that came
    before its present one. ``wrote``: by store, the last of its steps that wrote shared memory there."""

    def __init__(self, bundle: Bundle, stream: ProcessStream, budget: Budget) -> None:
        self.ordinal = stream.ordinal
        self.replay = new_replay(bundle, stream, keep_going=True, memory=budget)
        self.start = stream.header["start"]
        self.records = stream.records()
        self.next: Record | None = None
        self.due = self.start
        self.over = False
        self.killed = stream.end is None or "status" not in stream.end
        self.step = 0
        self.seen: dict[int, int] = {}
        self.wrote: dict[int, int] = {}
        self.record: Record | None = None

    def where(self) -> str:
        """The present step, in words."""
        if isinstance(self.record, Call | Enter):
            return f"process {self.ordinal}, call #{self.record.number} {self.record.function}"
        return f"process {self.ordinal}, after call #{self.replay.calls - 1}"


class _Doubt(NamedTuple):
    """``expected`` was read by ``reader`` where ``view`` is, and something else was there. ``writes``: how often the
    store had been written then. ``raced``: somebody may have been writing it."""

    reader: _Process
    where: str
    view: memoryview
    expected: memoryview
    store: int
    writes: int
    raced: bool


class Part:
    """A part of a store of another process."""

    def __init__(self, store: ReplayStore, offset: int, size: int) -> None:
        self.view = _PartView(store, offset)
        self._size = size

    def discard(self, offset: int, size: int) -> None:
        """Nothing: the pages are the other process's."""

    def written(self) -> list[tuple[int, int]]:
        return [(0, self._size)]


class _PartView:
    def __init__(self, store: ReplayStore, offset: int) -> None:
        self._store = store
        self._offset = offset

    def __getitem__(self, part: slice) -> memoryview:
        return self._store.view[self._offset + part.start : self._offset + part.stop]


class Seat:
    """The room as one process's exchange (:class:`~cannery.replayer.exchange.ReplayExchange`) sees it."""

    def __init__(self, room: "Room", process: _Process) -> None:
        self._room = room
        self._process = process

    def share(self, entry: int, device: int, offset: int) -> None:
        """Memory of the process can be opened by others now, or something else that has no bytes."""
        store = self._process.replay.port.stores.get(device)
        if store is not None:
            self._room.share(self._process, entry, store, offset)

    def store(self, entry: int, size: int) -> Part | None:
        """The bytes of opened memory; None if no process of the bundle shared it."""
        shared = self._room.shared.get(entry)
        return None if shared is None else Part(*shared, size)

    def read(self, view: memoryview, recorded: memoryview, known: bool) -> None:
        """``recorded`` was read from shared memory. ``known``: the trace has the bytes."""
        self._room.read(self._process, view, recorded, known)

    def touch(self, entry: int) -> None:
        """The process wrote shared memory."""
        self._room.touch(self._process, entry)


class Room:
    """What the processes have in common. ``shared``: store and offset of each entry that is memory."""

    def __init__(self, bundle: Bundle) -> None:
        budget = Budget(available())
        self.shared: dict[int, tuple[ReplayStore, int]] = {}
        self.compared = 0
        self.undecided = 0
        self.problem: str | None = None
        self._processes = [_Process(bundle, stream, budget) for stream in bundle.processes]
        for process in self._processes:
            process.replay.port.exchange.seat = Seat(self, process)
        self._owners: dict[int, int] = {}  # by store: the process that shares it
        self._writes: dict[int, int] = {}  # by store
        self._last: dict[int, str] = {}  # by store: the step that wrote it
        self._raced: set[int] = set()  # stores that two may have written at once: whose bytes are there is not known
        self._done: dict[_Event, dict[int, int]] = {}  # with what its process had seen by then
        self._doubts: list[_Doubt] = []

    def run(self) -> None:
        """Replay all of them to their ends, or up to the first problem. Raises ReplayError."""
        for process in self._processes:
            self._run(process, -1)
        while (live := [each for each in self._processes if not each.over]) and self.problem is None:
            able = [each for each in live if not self._waits(each)]
            process = min(able or live, key=lambda each: each.due)
            until = min((each.due for each in live if each is not process), default=_NEVER)
            # while somebody waits, one step: it may be the one. Where all do, what is waited for is in no stream
            until = process.due if len(able) < len(live) else max(until, process.due)
            self._run(process, until, not able)

    def _run(self, process: _Process, until: int, forced: bool = False) -> None:
        try:
            process.replay.run(self._turn(process, until, forced))
        except ENDS as error:
            raise ReplayError(f"process {process.ordinal}: {process.replay.why(error)}") from None

    def _turn(self, process: _Process, until: int, forced: bool) -> Iterator[Record]:
        """The records of a process up to the first step that began later, or that waits for another process; the first
        does not, if it is ``forced``."""
        while True:
            record = process.next or next(process.records, None)
            process.next = record
            if record is None:
                self._judge(process)
                process.over = True
                return
            if is_step(record):
                process.due = process.start + getattr(record, "time", 0)
                if process.due > until or (self._waits(process) and not forced):
                    return
                forced = False
                self._judge(process)
                self._begin(process, record)
            process.next = None
            yield record
            if self._doubts:
                self._look_again()

    def _begin(self, process: _Process, record: Record) -> None:
        process.step += 1
        process.record = record
        for event in _seen(record):
            for other, step in self._done.get(event, {}).items():
                process.seen[other] = max(process.seen.get(other, 0), step)
        process.seen[process.ordinal] = process.step
        for event in _done(record):
            self._done[event] = dict(process.seen)
            topic, entry, count = event
            if topic == format.SIGNALLED:  # nobody else can see the change before it any more
                self._done.pop((topic, entry, count - 1), None)

    def _waits(self, process: _Process) -> bool:
        """Whether the next step saw what another process has yet to do."""
        record = process.next
        if record is None:
            return False
        own = {*_done(record)}
        return any(event not in self._done and event not in own for event in _seen(record))

    # Memory.

    def share(self, process: _Process, entry: int, store: ReplayStore, offset: int) -> None:
        self.shared[entry] = store, offset
        self._owners[_name(store)] = process.ordinal

    def touch(self, process: _Process, entry: int) -> None:
        shared = self.shared.get(entry)
        if shared is not None:
            store = _name(shared[0])
            if self._others_write(process, store):
                self._raced.add(store)
            process.wrote[store] = process.step
            self._writes[store] = self._writes.get(store, 0) + 1
            self._last[store] = process.where()

    def read(self, process: _Process, view: memoryview, recorded: memoryview, known: bool) -> None:
        store = id(view.obj)
        # not among the owners: of a process that is not in the bundle, or shared before its tail or part begins
        if store not in self._owners or not known or any(each.replay.port.unknown_bytes for each in self._processes):
            self.undecided += 1
        elif view == recorded:
            self.compared += 1
        else:
            raced = store in self._raced or self._others_write(process, store)
            writes = self._writes.get(store, 0)
            self._doubts.append(_Doubt(process, process.where(), view, recorded, store, writes, raced))

    def _others_write(self, process: _Process, store: int) -> bool:
        return any(each is not process and _perhaps_writing(each, process, store) for each in self._processes)

    def _look_again(self) -> None:
        """Another step was made: what was read may be there now."""
        left = [doubt for doubt in self._doubts if doubt.view != doubt.expected]
        self.compared += len(self._doubts) - len(left)
        self._doubts = left

    def _judge(self, process: _Process) -> None:
        """The next step of a process begins, or there is none: what it read in the last one has to have been there."""
        for doubt in [doubt for doubt in self._doubts if doubt.reader is process]:
            self._doubts.remove(doubt)
            others = [each for each in self._processes if each is not process]
            late = process.next is None or any(not each.over and each.due < process.due for each in others)
            if doubt.raced or late or self._writes.get(doubt.store, 0) != doubt.writes:
                self.undecided += 1
                doubt.view[:] = doubt.expected  # as for this process alone
            elif self.problem is None:
                last = self._last.get(doubt.store)
                self.problem = (
                    f"{doubt.where} read {len(doubt.view)} bytes of memory that process {self._owners[doubt.store]} "
                    f"shares, and the replay has others there; "
                    + ("nobody wrote it" if last is None else f"it was written last in {last}")
                )


def _name(store: ReplayStore) -> int:
    """What the views of a store have in common."""
    return id(store.view[0:1].obj)


def _perhaps_writing(other: _Process, reader: _Process, store: int) -> bool:
    """Whether a step of another process in which it wrote a store was perhaps not over when one of the reader began.
    One that the reader saw something of was, as far as that goes."""
    if other.over and other.killed:
        return True  # it may have written what its trace does not have
    step = other.wrote.get(store, 0)
    return step == other.step > reader.seen.get(other.ordinal, 0)


def _seen(record: Record) -> Iterator[_Event]:
    """What others must have done before a step."""
    for topic, values in _answers(record):
        if topic == format.TAKEN or (topic == format.CLEARED and values[1] > 1):
            yield format.SIGNALLED, values[0], values[1] - 1
        elif topic == format.COMPLETED:
            yield format.COMPLETE, values[0], values[1]
        elif topic == format.OPEN and len(values) > 1 and values[1]:
            yield format.SHARE, values[1], 0


def _done(record: Record) -> Iterator[_Event]:
    """What others can see after a step, if it is the first to do so."""
    for topic, values in _answers(record):
        if topic in (format.SIGNALLED, format.TAKEN, format.CLEARED):
            yield format.SIGNALLED, values[0], values[1]
        elif topic == format.COMPLETE:
            yield format.COMPLETE, values[0], values[1]
        elif topic == format.SHARE:
            yield format.SHARE, values[0], 0


def _answers(record: Record) -> Iterator[tuple[int, tuple[int, ...]]]:
    for effect in getattr(record, "effects", ()):
        if effect.kind == "peer" and effect.values:
            yield effect.topic, effect.values


def replay_together(bundle: Bundle) -> Together | None:
    """Replay the processes of a bundle side by side; each is known to replay alone. None where the order of their steps
    is not known, since they had clocks of their own (``--clock virtual``).

    Raises:
        ReplayError: they cannot be, as where they use more device memory together than the machine has.
    """
    if any(stream.settings.get("clock") == "virtual" for stream in bundle.processes):
        return None
    room = Room(bundle)
    room.run()
    return Together(room.compared, room.undecided, room.problem)
