"""Writes the records of one process into its journal windows while the program runs.

This is the reference encoder of sections 4 and 5 of the format. Its methods are called with the engine lock held, and
no error leaves them: what goes wrong ends the recording, once, and the program goes on.
"""

import contextlib
from collections.abc import Callable, Sequence
from typing import Any, Final, TypeVar

from cannery.recorder import format
from cannery.recorder.codec import FunctionCodec, Wire
from cannery.recorder.encoders import Effects, Encoder, make_encoder
from cannery.recorder.packing import packer
from cannery.recorder.schema import FunctionForm
from cannery.recorder.window import Mapper, make_window, map_shared, reason, round_to_page
from cannery.runtime.invoke import Invoke

_WINDOW_HEAD: Final = 32  # no WINDOW record is longer
_T = TypeVar("_T")


class StreamWriter:
    """The stream of one process.

    ``start`` is the monotonic time that is 0 in the stream; every ``now`` is monotonic nanoseconds. ``on_stop`` is
    called once, with a reason, when recording ends before the program; every later call does nothing.
    """

    __slots__ = (
        "_folder",
        "_forms",
        "_mapper",
        "_number",
        "_on_stop",
        "_open",
        "_running",
        "_window",
        "before_window",
        "calls",
        "pack",
        "position",
        "room",
        "start",
        "stopped",
        "time",
        "window_size",
        "wire",
    )

    def __init__(
        self,
        folder: str,
        forms: Sequence[FunctionForm],
        wire: Wire,
        on_stop: Callable[[str], None],
        *,
        start: int = 0,
        mapper: Mapper = map_shared,
        window_size: int = format.WINDOW_SIZE,
    ) -> None:
        self._folder = folder
        self._forms = forms
        self._mapper = mapper
        self._on_stop = on_stop
        self._number = 0
        self._open: dict[int, list[int]] = {}  # by thread: calls that began with ENTER, innermost last
        self._running: dict[int, list[str]] = {}  # by thread, or -worker: signatures of what it runs, innermost last
        self._window: Any = None
        self.wire = wire
        self.pack: Callable[[Any], bytes] = packer()
        self.calls = 0
        self.start = start
        self.time = start  # of the latest step
        self.position = 0
        self.room = 0  # records end at or before this offset; below 0: recording ended
        self.stopped: str | None = None
        self.window_size = window_size
        self.before_window: Callable[[int], str | None] | None = None  # why there is to be no window of that number
        self._roll(0)

    # Records

    def encoder(self, function: int) -> Encoder:
        """The fastest way to record completed calls of one function; keep it."""
        return make_encoder(self, self.wire.function(self._forms[function]))

    def codec(self, function: int) -> FunctionCodec:
        """For :meth:`enter`, :meth:`exit` and :meth:`unsupported`; keep it."""
        return self.wire.function(self._forms[function])

    def enter(self, codec: FunctionCodec, thread: int, now: int, args: Sequence[Any], effects: Effects) -> int:
        """A call that does not end at once. Return its number, for :meth:`exit`."""
        number = self.calls
        try:
            head = [format.ENTER, codec.form.number, thread, now - self.time, *codec.encode_ins(args)]
        except Exception as error:
            self.stop(reason(error))
            return number
        self._step(head, effects, now)
        self._open.setdefault(thread, []).append(number)
        self.calls = number + 1
        return number

    def exit(self, codec: FunctionCodec, number: int, thread: int, reply: Any) -> None:
        """The end of the innermost call of a thread that began with :meth:`enter`; ``reply`` is its result."""
        if thread in self._open:
            _pop(self._open, thread)
        try:
            row = [format.EXIT, number, thread, codec.form.number, *codec.encode_reply(reply)]
        except Exception as error:
            self.stop(reason(error))
            return
        self._step(row, (), self.time)

    def unsupported(
        self, codec: FunctionCodec, thread: int, now: int, args: Sequence[Any], ret: Any, effects: Effects = ()
    ) -> None:
        """A call of a function without implementation."""
        try:
            row = [format.UNSUPPORTED, codec.form.number, thread, now - self.time, *codec.encode_reply(ret)[:1]]
            row += codec.encode_ins(args)
        except Exception as error:
            self.stop(reason(error))
            return
        self._step(row, effects, now)
        self.calls += 1

    def pace(self, now: int, effects: Effects) -> None:
        """A turn of the pacer."""
        self._step([format.PACE, now - self.time], effects, now)

    def signal(self, now: int, effects: Effects) -> None:
        """Another process did what this one waits for."""
        self._step([format.SIGNAL, now - self.time], effects, now)

    def expire(self, thread: int, now: int, effects: Effects) -> None:
        """The limit of a thread's wait ran out."""
        self._step([format.EXPIRE, thread, now - self.time], effects, now)

    def invoke(self, thread: int, worker: int, invoke: Invoke) -> None:
        """The step before asked for a function of the program: for the innermost open call of ``thread``, or, if
        ``worker`` is not 0, as an errand."""
        number, runner = (None, worker) if worker else (self._open[thread][-1], thread)
        self._running.setdefault(-worker or thread, []).append(invoke.signature)
        try:
            wire = self.wire.invoked(invoke.function, invoke.signature, invoke.arguments)
        except Exception as error:
            self.stop(reason(error))
            return
        self._step([format.INVOKE, number, runner, *wire], (), self.time)

    def returned(self, thread: int, now: int, value: int, effects: Effects) -> None:
        """The function that a thread ran for its innermost open call returned."""
        self._returned([format.RETURNED, self._open[thread][-1], thread], thread, now, value, effects)

    def errand(self, worker: int, now: int, value: int, effects: Effects) -> None:
        """The function that a worker ran returned."""
        self._returned([format.ERRAND, worker], -worker, now, value, effects)

    def _returned(self, head: list[int], runner: int, now: int, value: int, effects: Effects) -> None:
        signature = _pop(self._running, runner)
        try:
            encode, _ = self.wire.returned(signature)
            row = [*head, now - self.time, encode(value)]
        except Exception as error:
            self.stop(reason(error))
            return
        self._step(row, effects, now)

    def thread_end(self, thread: int, now: int) -> None:
        """A thread that had called ended."""
        self._open.pop(thread, None)
        self._running.pop(thread, None)
        self._step([format.THREAD_END, thread, now - self.time], (), now)

    def note(self, topic: str, value: Any) -> None:
        """Something about the host that no result depends on."""
        self._step([format.NOTE, topic, value], (), self.time)

    def skip(self, calls: int) -> None:
        """That many calls come next that are not recorded."""
        self._step([format.SKIPPED, calls], (), self.time)
        self.calls += calls

    # End

    def end_window(self) -> None:
        """Have the next record begin another window."""
        if self.stopped is None:
            self.room = self.position

    def stop(self, reason: str) -> None:
        """End the recording here: say so in the room that every window keeps, and once to ``on_stop``."""
        if self.stopped is not None:
            return
        self.stopped = reason
        if self._window is not None:
            last = self.pack((format.STOPPED, reason.encode()[: format.MAX_REASON].decode(errors="ignore")))
            self.room += format.WINDOW_RESERVE
            self._put(last)
        self.close()
        self._on_stop(reason)

    def close(self) -> None:
        """Let go of the window. Also what a forked child does with its parent's writer: nothing is written."""
        self.room = -1
        self._window = None
        if self.stopped is None:
            self.stopped = "closed"

    # Bytes

    def append(self, record: bytes) -> None:
        """Put one record after the last."""
        start = self.position
        end = start + len(record)
        if end > self.room:
            self._append_elsewhere(record)
            return
        window = self._window
        window[start + 1 : end] = record[1:]
        window[start] = record[0]  # commits it: a reader stops where this byte is zero
        self.position = end

    def append_step(self, row: Sequence[Any], effects: Effects) -> None:
        """Put the record of a step, after what has to stand before it."""
        book = self.wire.book
        if book.fresh:
            for region in book.fresh:
                self.append(self.pack((format.REGION, *region)))
            book.fresh.clear()
        book.settle()
        if len(effects) <= format.MAX_EFFECTS:
            self.append(self.pack((*row, *effects)))
            return
        parts = []
        while len(effects) > format.MAX_EFFECTS:
            parts.append(self.pack((format.EFFECTS, *effects[: format.MAX_EFFECTS])))
            effects = effects[format.MAX_EFFECTS :]
        parts.append(self.pack((*row, *effects)))
        size = sum(map(len, parts))
        if self.position + size > self.room and self.stopped is None and size <= format.MAX_RECORD:
            self._roll(size)  # a reader that begins with a window finds all of a step in it
        for part in parts:
            self.append(part)

    def _step(self, row: Sequence[Any], effects: Effects, now: int) -> None:
        if self.stopped is not None:
            return
        try:
            self.append_step(row, effects)
        except Exception as error:
            self.stop(reason(error))
        self.time = now

    def _put(self, record: bytes) -> None:
        if self.position + len(record) <= self.room:
            self.append(record)

    def _append_elsewhere(self, record: bytes) -> None:
        if self.stopped is not None:
            return
        if len(record) > format.MAX_RECORD:
            self.stop(f"a record of {len(record)} bytes is larger than the trace format allows")
            return
        self._roll(len(record))
        if self.stopped is None:
            self.append(record)

    def _roll(self, record_size: int) -> None:
        """Go on in a new window that has room for a record of that size."""
        ended = None if self.before_window is None else self.before_window(self._number + 1)
        if ended is not None:
            self.stop(ended)
            return
        size = max(self.window_size, round_to_page(_WINDOW_HEAD + record_size + format.WINDOW_RESERVE))
        try:
            self._open_window(size)
        except OSError as error:
            if self._window is None:  # a disk that is too small may still have room to say so
                with contextlib.suppress(OSError):
                    self._open_window(format.PAGE)
            self.stop(reason(error))

    def _open_window(self, size: int) -> None:
        """Raises OSError."""
        window = make_window(self._folder, self._number + 1, size, self._mapper)
        self._number += 1
        self._window = window
        self.position = 0
        self.room = size - format.WINDOW_RESERVE
        self.append(self.pack((format.WINDOW, self._number, self.calls, self.time - self.start)))


def _pop(stacks: dict[int, list[_T]], key: int) -> _T:
    """The last of a stack, which goes when it is empty."""
    stack = stacks[key]
    last = stack.pop()
    if not stack:
        del stacks[key]
    return last
