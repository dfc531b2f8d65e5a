"""Replays the processes of a bundle: from the files to a :class:`Result` for each."""

from collections.abc import Callable, Iterator
from typing import TYPE_CHECKING, Any, Final

from cannery.recorder import format
from cannery.recorder.bundle import Bundle
from cannery.recorder.format import DamagedTrace, TraceError
from cannery.recorder.policy import parse_policy
from cannery.recorder.process import ProcessStream
from cannery.recorder.records import Payload, Record
from cannery.recorder.selection import parse_selection
from cannery.recorder.tail import Keep
from cannery.replayer.handovers import HandOvers
from cannery.replayer.keyframe import KeyframeError, restore
from cannery.replayer.replay import ENDS, Replay, ReplayError, Stop
from cannery.replayer.report import Result, explain
from cannery.replayer.stores import Budget
from cannery.runtime.settings import SettingError, Settings
from cannery.runtime.version import VERSION

if TYPE_CHECKING:
    from cannery.runtime.models.load import Models

NO_MEMORY: Final = "no memory for the simulated devices"
_TOLD: Final = 8192  # records between two reports of progress


def replay_process(
    bundle: Bundle,
    stream: ProcessStream,
    changes: dict[str, Any] | None = None,
    keep_going: bool = False,
    progress: Callable[[int], None] | None = None,
    models: "Models | None" = None,
    memory: int | None = None,
    handed: HandOvers | None = None,
) -> Result:
    """Replay one process. ``changes`` are settings of a what-if replay, by field, ``models`` kernel models to run
    again; ``memory`` is how many bytes of device memory it may use, by default what the system has available.
    ``progress`` is told, now and then, how many calls were replayed. ``handed`` notes what the process handed over to
    others.

    Raises:
        ReplayError: it cannot be replayed; the text says why.
    """
    replay = new_replay(bundle, stream, changes, keep_going, models, memory)
    in_flight = stream.inflight(tolerant=True)
    complete = True
    damage: str | None = None
    try:
        records = stream.records()
        if handed is not None:
            records = handed.noting(stream.ordinal, records)
        replay.run(records if progress is None else _told(records, replay, progress))
        replay.finish(finished=not in_flight)
    except Stop:
        complete = False
    except ENDS as error:
        damage = replay.why(error)
    except TraceError as error:
        damage = str(error)
    except OSError as error:
        raise ReplayError(f"process {stream.ordinal}: {NO_MEMORY} ({error.strerror})") from None
    lines = replay.unfinished.lines(replay.compared.printer, in_flight)
    return _result(bundle, stream, replay, tuple(lines), complete, damage)


def new_replay(
    bundle: Bundle,
    stream: ProcessStream,
    changes: dict[str, Any] | None = None,
    keep_going: bool = False,
    models: "Models | None" = None,
    memory: "int | Budget | None" = None,
) -> Replay:
    """A replay at the beginning of a process's stream; see :func:`replay_process`.

    Raises:
        ReplayError: it cannot be replayed; the text says why.
    """
    header = stream.header
    _check_words(stream)
    try:
        settings = Settings.from_map(stream.settings)
        if changes:
            settings = settings._replace(**changes)
            settings.check()
        replay = Replay(
            settings,
            bundle.schema,
            header["device_base"],
            header["device_span"],
            header["start"],
            _contents(bundle, stream),
            first_ordinal=header.get("first_ordinal", 0),
            what_if=bool(changes),
            keep_going=keep_going,
            models=models,
            memory=memory,
            redacted=header.get("redacted") is True,
            recorded=stream.tool,
        )
    except (SettingError, ValueError, TypeError, AttributeError) as error:
        raise ReplayError(f"process {stream.ordinal}: {error}") from None
    except OSError as error:
        raise ReplayError(f"process {stream.ordinal}: {NO_MEMORY} ({error.strerror})") from None
    if stream.begins_with_a_state:
        if changes:
            raise ReplayError(
                f"process {stream.ordinal}: the trace begins in the middle of a recording (with call"
                f" #{stream.first_head.call}), in a state that other settings would not have led to; replay the whole"
            )
        _begin(replay, stream)
    return replay


def _contents(bundle: Bundle, stream: ProcessStream) -> Callable[[Payload], bytes | None]:
    """Finds the bytes of what was given. They raise DamagedTrace where they were kept and are not there: with others in
    their place, the replay would be one of another program."""

    def content(payload: Payload) -> bytes | None:
        found = bundle.content(payload)
        if found is None and stream.stored(payload):
            stream.look_again()  # it may still be recorded
            found = bundle.content(payload)
            if found is None:
                raise stream.lost(payload)
        return found

    return content


def _check_words(stream: ProcessStream) -> None:
    """Refuse what this version does not know of what was asked for when the stream was recorded: it may mean that the
    trace has something else in its place than this version takes it for. Settings are checked where they are read.

    Raises:
        ReplayError: a word is not known.
    """
    header = stream.header
    try:
        parse_policy(header["payload"])
        if header.get("calls") is not None:
            parse_selection(str(header["calls"]))
        if header.get("tail") is not None:
            Keep.parse(str(header["tail"]))
    except TraceError as error:
        raise ReplayError(
            f"process {stream.ordinal}: {error}; it was recorded by Cannery {stream.tool}, this is {VERSION}"
        ) from None


def _begin(replay: Replay, stream: ProcessStream) -> None:
    """Put a replay into the state that a stream which was cut out of another begins with.

    Raises:
        ReplayError: the state is not there, or not one of this version.
    """
    try:
        origin = stream.keyframes(format.ORIGIN)
        if origin is None or not origin.frames:
            raise DamagedTrace(format.ORIGIN, 0, "is missing")
        restore(replay, origin, origin.frames[0])
    except (DamagedTrace, KeyframeError) as error:
        raise ReplayError(
            f"process {stream.ordinal}: the state that the trace begins with cannot be read ({error}); it"
            f" was recorded by Cannery {stream.tool}"
        ) from None


def _told(records: Iterator[Record], replay: Replay, progress: Callable[[int], None]) -> Iterator[Record]:
    for place, record in enumerate(records):
        if not place % _TOLD:
            progress(replay.calls)
        yield record


def _result(
    bundle: Bundle,
    stream: ProcessStream,
    replay: Replay,
    in_flight: tuple[str, ...],
    complete: bool,
    damage: str | None,
) -> Result:
    first = replay.compared.differences[0] if replay.compared.differences else None
    explanation = None
    if first is not None:
        explanation = explain(stream.records(tolerant=True), bundle.schema, replay.compared.printer, first)
    return Result(
        stream.ordinal,
        replay.calls - stream.first_head.call,
        replay.compared.count,
        tuple(replay.compared.differences),
        explanation,
        replay.port.unverified + replay.compared.unverified,
        replay.port.unknown_bytes,
        replay.supported_now,
        in_flight,
        complete,
        damage,
        replay.port.rerun,
        replay.port.not_rerun,
    )
