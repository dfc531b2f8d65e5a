"""The bundles that ``bundle_fuzz`` mutates: small, so that each opens in a millisecond."""

from pathlib import Path
from unittest.mock import patch

from cannery.recorder import format, rewrite
from cannery.recorder.bundle import Bundle
from cannery.recorder.files import Folder
from cannery.recorder.inflight import InFlight
from cannery.recorder.packing import pack
from cannery.recorder.records import Record
from cannery.recorder.rewrite import ChunkWriter
from cannery.recorder.rows import RowMaker
from cannery.recorder.schema import Schema, schema_digest
from cannery.recorder.seal import finish
from cannery.recorder.sheet import pack_sheet, unpack_sheet
from cannery.recorder.stream import Head
from cannery.recorder.tail import Keep
from cannery.replayer.indexing import index_process
from cannery.replayer.seek import Trail
from cannery.replayer.tail import TailKeeper
from cannery.replayer.trimming import trim
from tests import scenarios
from tests.bundle_mutator import Files
from tests.live import Live
from tests.test_replay_together import Pair

STATES = (
    *("objects", "memory", "waits", "events", "told", "host_threads", "notifies", "captures", "flow", "virtual_memory"),
    *("overflow", "queues", "snapshots", "shared_buffers", "kernel_arguments", "random_numbers_and_marks"),
    *("memory of the second process", "events of the first process", "notifies of the second process"),
)
"""Scenarios of which there are also a tail, a part and one with keyframes."""


def seeds(folder: Path) -> list[Files]:
    """Every scenario, as the program left it and sealed; bundles with states; processes that share."""
    found = []
    for number, scenario in enumerate(scenarios.ALL.values()):
        path = folder / f"seed-{number}.cann"
        small([scenario()], path)
        found.append(load(path))
        finish(path)
        found.append(load(path))
    for name in STATES:
        path = folder / f"{name}.cann"
        small([scenarios.ALL[name]()], path)
        found.append(part(path, folder / f"{name} part.cann"))
        found.append(indexed(path))
        found.append(tail(name, folder / f"{name} tail.cann"))
    found.append(sharing(folder / "sharing.cann"))
    return found


def load(path: Path) -> Files:
    return {str(file.relative_to(path)): file.read_bytes() for file in sorted(path.rglob("*")) if file.is_file()}


def small(lives: list[Live], path: Path, tail: str | None = None) -> None:
    """Processes as a bundle whose function table has what they call."""
    for live in lives:
        live.save(path, tail=tail)
    _shrink(path)


def _shrink(path: Path) -> None:
    with Bundle.open(path) as bundle:
        records = [[*stream.records()] for stream in bundle.processes]
        called = {getattr(record, "function", None) for stream in records for record in stream}
        functions = [form for form in bundle.schema.functions if form.name in called]
    schema = Schema([form._replace(number=number) for number, form in enumerate(functions)], {})
    (path / format.SCHEMA).write_bytes(schema.pack())
    sheet, _ = unpack_sheet((path / format.BUNDLE).read_bytes(), "")
    (path / format.BUNDLE).write_bytes(pack_sheet(sheet | {"schema": schema_digest(schema.pack())}))
    for ordinal, stream in enumerate(records, 1):
        folder = path / format.process_name(ordinal)
        for file in folder.glob(f"*{format.JOURNAL}"):
            file.unlink()
        maker = RowMaker(schema)
        rows = [row for record in stream for row in maker.rows(record)]
        journal = b"".join(map(pack, [(format.WINDOW, 1, 0, 0), *rows]))
        (folder / "000001.journal").write_bytes(journal + bytes(format.WINDOW_RESERVE))
        slots = InFlight(1, schema.functions[0], (5, 6)).pack().ljust(format.SLOTS * format.SLOT_SIZE, b"\0")
        (folder / format.INFLIGHT).write_bytes(slots)


def part(path: Path, out: Path) -> Files:
    """The second half of a bundle."""
    with Bundle.open(path) as bundle:
        (stream,) = bundle.processes
        trim(bundle, stream, (stream.counts().calls // 2, None), str(out), False, _never)
    return load(out)


def indexed(path: Path) -> Files:
    """With three keyframes or so."""
    with Bundle.open(path) as bundle:
        (stream,) = bundle.processes
        index_process(bundle, stream, max(stream.counts().calls // 3, 1))
    return load(path)


def tail(name: str, path: Path) -> Files:
    """The last third of a scenario, in windows of 300 bytes."""
    small([scenarios.ALL[name]()], path, "5 calls")
    inner = path / "p0001"
    if (inner / format.PACK).exists():
        (inner / format.PACK).rename(inner / "009999.pack")
    with Bundle.open(path) as bundle, Folder(str(inner)) as folder:
        (stream,) = bundle.processes
        records: list[Record] = [*stream.records()]
        (inner / "000001.journal").unlink()
        with patch.object(rewrite, "_FULL", 300):
            writer = ChunkWriter(folder, bundle.schema, Head(1, 0, 0))
            for record in records:
                writer.add(record)
            writer.close()
    with Bundle.open(path) as bundle:
        (stream,) = bundle.processes
        trail = Trail(stream, None)
        for _ in trail:
            pass
        TailKeeper(bundle, stream, Keep(trail.call // 3, 0)).finish(trail.position)
    return load(path)


def sharing(path: Path) -> Files:
    """Two processes, one of which has memory of the other open."""
    pair = Pair()
    pair.read(pair.two)
    pair.write(pair.two, b"from the second process.")
    pair.read(pair.one)
    small([pair.one, pair.two], path)
    return load(path)


def _never(text: str) -> None:
    raise AssertionError(text)
