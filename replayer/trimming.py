"""Cuts calls out of a trace: a bundle that begins with the state before the first of them."""

import os
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any, NamedTuple

from cannery.recorder import format
from cannery.recorder.bundle import Bundle
from cannery.recorder.chunk import failing_functions, pack_chunk, summarise
from cannery.recorder.create import check_target, create_bundle, name_bundle, remove_bundle, unfinished_name
from cannery.recorder.files import Folder
from cannery.recorder.keyframes import KeyframeWriter
from cannery.recorder.packing import pack
from cannery.recorder.payloads import PayloadStore
from cannery.recorder.process import ProcessStream
from cannery.recorder.records import Call, Enter, Record
from cannery.recorder.seal import finish
from cannery.recorder.sheet import pack_sheet
from cannery.recorder.stream import Position, layouts_of
from cannery.replayer.keyframe import is_possible, save
from cannery.replayer.process import replay_process
from cannery.replayer.replay import ENDS, Replay, ReplayError
from cannery.replayer.seek import Trail, is_step, reach
from cannery.runtime.version import VERSION


class Trimmed(NamedTuple):
    """What the new trace has: so many ``calls`` from number ``first`` on, in ``size`` bytes."""

    first: int
    calls: int
    size: int


def trim(
    bundle: Bundle, stream: ProcessStream, calls: tuple[int, int | None], path: str, force: bool,
    say: Callable[[str], None],
) -> Trimmed:  # fmt: skip
    """Write the calls of a process from the first of ``calls`` to the last, both included (None: to the end), as a
    bundle of its own. It gets its name once it was replayed without a difference.

    Raises:
        ReplayError: the trace, or what was cut out, does not replay.
        BundleExists: see :func:`check_target`.
        DamagedTrace: the trace cannot be read.
        OSError: it cannot be written.
    """
    first, last = calls
    check_target(path, force, str(bundle.path))
    replay, start = reach(bundle, stream, first, say)
    if replay.machine.saved is not None:
        raise ReplayError(
            f"process {stream.ordinal}: a backup is kept at call #{first} (aclrtSnapShotProcessBackup), which a trace "
            "cannot begin with; begin before the backup or after the unlock"
        )
    if not is_possible(replay):
        raise ReplayError(f"process {stream.ordinal}: the replay differs from the trace before call #{first}")
    path = path.rstrip("/") or path
    unfinished = unfinished_name(path)
    os.close(create_bundle(unfinished, bundle.session, bundle.schema_content(), tool=VERSION))
    try:
        _write(unfinished, bundle, stream, replay, start, last)
        count, size = _check(unfinished)
        name_bundle(unfinished, path, force)
    except BaseException:
        remove_bundle(unfinished)
        raise
    return Trimmed(first, count, size)


def _write(path: str, bundle: Bundle, stream: ProcessStream, replay: Replay, start: Position, last: int | None) -> None:
    """Write the process of the new bundle; ``replay`` is at ``start``, and goes on to the end."""
    name = format.process_name(stream.ordinal)
    os.mkdir(f"{path}/{name}")  # noqa: PTH102
    with Folder(path) as top, top.folder(name) as folder:
        _write_origin(folder, replay, start)
        end = _write_payloads(f"{path}/{name}", bundle, stream, replay, start, last)
        _write_windows(folder, stream, start, end)
        folder.replace(format.PROCESS, pack_sheet(_header(stream, start)))
        told = stream.end if last is None else None
        if told is not None:
            folder.replace(format.END, pack_sheet(told))
    finish(path)


def _header(stream: ProcessStream, start: Position) -> dict[str, Any]:
    host = stream.header.get("host")
    if isinstance(host, dict):  # without what tells that the process is still there
        host = {key: value for key, value in host.items() if key != "born"}
    return {**stream.header, "host": host, "origin": {"call": start.call, "time": start.time}, "tail": None}


def _write_origin(folder: Folder, replay: Replay, start: Position) -> None:
    writer = KeyframeWriter(folder, format.ORIGIN, VERSION)
    try:
        save(replay, writer, start._replace(window=1, offset=len(_head(1, start))))
        writer.finish()
    finally:
        writer.abandon()


def _write_payloads(
    path: str, bundle: Bundle, stream: ProcessStream, replay: Replay, start: Position, last: int | None
) -> Position:
    """Replay to the end, and keep the bytes that this needs; the place of the end."""
    trail = Trail(stream, start)
    stops: list[str] = []
    store = PayloadStore(f"{path}/{format.PACK}", "full", None, stops.append)

    def kept() -> Iterator[Record]:
        for record in _up_to(trail, last):
            for effect in getattr(record, "effects", ()):
                if effect.payload is not None and effect.payload.digest is not None:
                    content = bundle.content(effect.payload)
                    if content is not None:
                        store.keep(content, True)
            yield record

    try:
        replay.run(kept())
    except ENDS as error:
        raise ReplayError(f"process {stream.ordinal}: {replay.why(error)}") from None
    finally:
        store.close()
    if stops:
        raise OSError(stops[0])
    if not replay.exact:
        where = replay.compared.differences[0].where()
        raise ReplayError(f"process {stream.ordinal}: the replay differs from the trace at {where}")
    if last is not None and trail.call <= last:
        raise ReplayError(f"process {stream.ordinal}: there is no call #{last}; the trace has {trail.call}")
    return trail.position


def _up_to(trail: Trail, last: int | None) -> Iterator[Record]:
    """The records to the step of call ``last``, and what that brought about."""
    over = False
    for record in trail:
        if over and is_step(record):
            return
        yield record
        over = over or (isinstance(record, Call | Enter) and record.number == last)


def _write_windows(folder: Folder, stream: ProcessStream, start: Position, end: Position) -> None:
    layouts, failing = layouts_of(stream.schema), failing_functions(stream.schema)
    number = 0
    for begin, records in stream.parts(start, end):
        if not records and number:
            continue
        number += 1
        content = _head(number, begin) + records
        name = format.window_name(number, format.CHUNK)
        read = summarise(content, layouts, failing, folder.label + name, journal=False)
        assert read is not None, "it has a head"
        folder.replace(name, pack_chunk(content, read[1]))


def _head(number: int, begin: Position) -> bytes:
    return pack((format.WINDOW, number, begin.call, begin.time))


def _check(path: str) -> tuple[int, int]:
    """Replay the new bundle: how many calls it has, and its size. Raises ReplayError: it does not replay."""
    with Bundle.open(path) as bundle:
        stream = bundle.processes[0]
        result = replay_process(bundle, stream)
        if not result.same or result.damage is not None:
            reason = result.damage or (result.differences[0].where() if result.differences else "it ends early")
            raise ReplayError(f"what was cut out does not replay ({reason}); nothing was written")
        size = sum(file.stat().st_size for file in Path(path).rglob("*") if file.is_file())
        return stream.counts().calls, size
