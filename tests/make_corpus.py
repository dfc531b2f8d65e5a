"""Writes the corpus of the present format version into ``tests/data/traces``: ``python -m tests.make_corpus``.

The bundles have to open, and to replay to what ``NAME.json`` says, in every later version. While the version is 0 they
are made anew when the format, the function table or a rule of the machine changes.
"""

import json
import shutil
from pathlib import Path
from typing import Any

from xxhash import xxh3_64_hexdigest

from cannery.recorder import format
from cannery.recorder.bundle import Bundle
from cannery.recorder.compression import compress
from cannery.recorder.inflight import InFlight
from cannery.recorder.jsonl import dump_lines
from cannery.recorder.process import ProcessStream
from cannery.recorder.records import Call, Enter, Note, Record
from cannery.recorder.redact import redact
from cannery.recorder.seal import finish
from cannery.recorder.sheet import pack_sheet, unpack_sheet
from cannery.recorder.stream import committed
from cannery.replayer.process import replay_process
from tests import scenarios
from tests.live import SCHEMA

TRACES = Path(__file__).parent / "data" / "traces"
PREFIX = f"v{format.VERSION}"
_SHOWN = 64  # bytes of an open window that are kept behind its records


def machine(path: Path) -> None:
    """Every scenario (callbacks, graphs, notifies, memory of all kinds ...), sealed, a process each."""
    for scenario in scenarios.ALL.values():
        scenario().save(path)
    finish(path)


def killed(path: Path) -> None:
    """Processes that were killed: between two calls, in a call, in a wait, in a function of the program; one of them
    forked from another. Their windows are open."""
    objects = scenarios.ALL["objects"]()
    objects.save(path)
    objects.save(path, objects.records[: len(objects.records) // 2])
    _slot(path / "p0002", "aclrtRecordEvent")
    waits = scenarios.ALL["waits"]()
    waits.save(path, waits.records[: 1 + _first(waits.records, Enter)])
    _slot(path / "p0003", "aclrtSynchronizeStreamWithTimeout")
    callbacks = scenarios.ALL["functions"]()
    callbacks.save(path, callbacks.records[: 1 + _running(callbacks.records)])
    child = scenarios.ALL["memory"]()
    child.save(path, parent=1)
    torn = path / "p0005" / "000001.journal"
    data = torn.read_bytes()
    end = committed(data, "")
    torn.write_bytes(data[:end] + b"\0" + data[end - 9 : end])  # a record whose first byte was not written yet


def policies(path: Path) -> None:
    """Payload policies, and a recording of some calls only."""
    for policy in format.POLICIES:
        scenarios.memory(policy=policy).save(path)
    some = scenarios.ALL["objects"]()
    calls = [place for place, record in enumerate(some.records) if isinstance(record, Call)]
    first, last = calls[6], calls[10]
    some.save(path, [*some.records[:first], Note("skipped", 4), *some.records[last:]], calls="0-5,10-")
    finish(path)


MADE = {"machine": machine, "killed": killed, "policies": policies}


def _first(records: list[Record], kind: type) -> int:
    return next(place for place, record in enumerate(records) if isinstance(record, kind))


def _running(records: list[Record]) -> int:
    """Where the first function of the program was asked for."""
    return next(place for place, record in enumerate(records) if type(record).__name__ == "Invoke")


def _slot(folder: Path, function: str) -> None:
    slots = InFlight(1, SCHEMA[function], (1, 2)).pack()
    (folder / format.INFLIGHT).write_bytes(slots.ljust(format.SLOTS * format.SLOT_SIZE, b"\0"))


def shrink(path: Path) -> None:
    """Take out what says nothing: pages of zeros, the clear function table, what is of the machine that made it."""
    schema = path / format.SCHEMA
    schema.write_bytes(compress(schema.read_bytes()))
    sheet, _ = unpack_sheet((path / format.BUNDLE).read_bytes(), "")
    (path / format.BUNDLE).write_bytes(pack_sheet(sheet | {"created": "2026-12-01T00:00:00Z"}))
    for folder in sorted(path.glob("p*")):
        sheet, _ = unpack_sheet((folder / format.PROCESS).read_bytes(), "")
        host = {"pid": 1, "born": 0, "arguments": ["./app"]}
        (folder / format.PROCESS).write_bytes(pack_sheet(sheet | {"host": host}))
        slots = folder / format.INFLIGHT
        if not any(slots.read_bytes()):
            slots.unlink()
        for journal in folder.glob("*.journal"):
            journal.write_bytes(journal.read_bytes().rstrip(b"\0") + bytes(_SHOWN))


def told(bundle: Bundle, stream: ProcessStream) -> dict[str, Any]:
    """What a later version has to find too."""
    result = replay_process(bundle, stream)
    lines = "\n".join(dump_lines(stream.records()))
    return {
        "process": stream.ordinal,
        "parent": stream.header.get("parent"),
        "calls": stream.counts().calls,
        "records": xxh3_64_hexdigest(lines.encode()),
        "replayed": result.calls,
        "same": result.same,
        "damage": result.damage,
        "unverified": result.unverified,
        "in_flight": [*result.in_flight],
    }


def main() -> None:
    for name, make in MADE.items():
        path = TRACES / f"{PREFIX}-{name}"
        shutil.rmtree(path, ignore_errors=True)
        make(path)
        shrink(path)
    redacted = TRACES / f"{PREFIX}-redacted"
    redact(TRACES / f"{PREFIX}-policies", redacted, force=True)
    shrink(redacted)
    for name in (*MADE, "redacted"):
        with Bundle.open(TRACES / f"{PREFIX}-{name}") as bundle:
            found = [told(bundle, stream) for stream in bundle.processes]
        (TRACES / f"{PREFIX}-{name}.json").write_text(json.dumps(found, indent=1) + "\n")


if __name__ == "__main__":
    main()
