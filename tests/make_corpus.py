"""Writes the corpus of the present format version into ``tests/data/traces``: ``python -m tests.make_corpus``.

The bundles have to open, and to replay to what ``NAME.json`` says, in every later version. They are never made anew:
what is there stays, and new ones are added to ``MADE`` under other names. A rule that is corrected gets a switch
instead (docs/trace-format.md, section 18).
"""

import json
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
from cannery.recorder.seal import finish
from cannery.recorder.sheet import pack_sheet, unpack_sheet
from cannery.recorder.stream import committed
from cannery.recorder.tail import Keep
from cannery.replayer.process import replay_process
from cannery.replayer.redaction import redact
from cannery.replayer.seek import Trail
from cannery.replayer.tail import TailKeeper
from cannery.runtime.calls.registry import HANDLERS
from tests import scenarios
from tests.live import SCHEMA

TRACES = Path(__file__).parent / "data" / "traces"
FUNCTIONS = TRACES.parent / "functions.json"
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


def redacted(path: Path) -> None:
    """What can be given away of them."""
    redact(TRACES / f"{PREFIX}-policies", path)


def tail(path: Path) -> None:
    """A process of which only the last calls are kept. Its state is of this version: others may only read it."""
    scenarios.ALL["memory"]().save(path, tail="10 calls")
    folder = path / "p0001"
    (folder / format.PACK).rename(folder / "000001.pack")
    with Bundle.open(path) as bundle:
        (stream,) = bundle.processes
        trail = Trail(stream, None)
        for _ in trail:
            pass
        TailKeeper(bundle, stream, Keep(10, 0)).finish(trail.position)
    finish(path)


MADE = {"machine": machine, "killed": killed, "policies": policies, "redacted": redacted, "tail": tail}


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
    """What a later version has to find too; of a tail, whose state is of the version that made it, what is read."""
    lines = "\n".join(dump_lines(stream.records()))
    found = {
        "process": stream.ordinal,
        "parent": stream.header.get("parent"),
        "calls": stream.counts().calls,
        "first_call": stream.first_head.call,
        "records": xxh3_64_hexdigest(lines.encode()),
    }
    if stream.header.get("tail") is not None:
        return found
    result = replay_process(bundle, stream)
    return found | {
        "replayed": result.calls,
        "same": result.same,
        "damage": result.damage,
        "unverified": result.unverified,
        "in_flight": [*result.in_flight],
    }


def add_functions() -> None:
    """Note the forms of functions that are implemented, if they are not there: from then on they do not change."""
    noted = json.loads(FUNCTIONS.read_text()) if FUNCTIONS.exists() else {}
    forms = {form.name: form.wire for form in SCHEMA.functions if form.name in HANDLERS}
    rows = ",\n".join(f" {json.dumps(name)}: {json.dumps(wire)}" for name, wire in sorted((forms | noted).items()))
    FUNCTIONS.write_text(f"{{\n{rows}\n}}\n")


def main() -> None:
    add_functions()
    for name, make in MADE.items():
        path = TRACES / f"{PREFIX}-{name}"
        if path.exists():
            print(f"{path.name} is there, and stays as it is")
            continue
        make(path)
        shrink(path)
        with Bundle.open(path) as bundle:
            found = [told(bundle, stream) for stream in bundle.processes]
        (TRACES / f"{path.name}.json").write_text(json.dumps(found, indent=1) + "\n")


if __name__ == "__main__":
    main()
