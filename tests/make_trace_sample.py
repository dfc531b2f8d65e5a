"""Writes the sample of the present format version into ``tests/data/traces``: ``python -m tests.make_trace_sample``.

Done once per version, and committed: later versions have to read it.
"""

from pathlib import Path

from cannery.recorder import format
from cannery.recorder.bundle import Bundle
from cannery.recorder.inflight import InFlight
from cannery.recorder.jsonl import dump_lines
from cannery.recorder.seal import Sealer, note_end
from cannery.recorder.sheet import pack_sheet, unpack_sheet
from cannery.runtime.handles import handle_of
from cannery.runtime.invoke import Invoke

from .trace_tools import BASE, SCHEMA, Recording

TRACES = Path(__file__).parent / "data" / "traces"


def fill(recording: Recording, payload: bytes) -> None:
    """A few records of every kind."""
    use, pair = (recording.writer.codec(SCHEMA[name].number) for name in ("use", "pair"))
    for number in range(60):
        recording.call("make", (0x10, number), (0, handle_of(number + 1)), thread=number % 2)
        recording.call("pair", (handle_of(number + 1), 0 if number % 2 else 0xBAD), 107017 if number % 3 else 0)
        kept = recording.store.keep(payload * (number % 3 + 1), True)
        effects = [(format.READ, kept), (format.FILL,)]
        recording.call("copy", (BASE + 64, 40, 0x7F00_0000_1010, handle_of(1)), 0, effects)
        recording.call("sizes", (number / 4, handle_of(2), b"text" * number))
    number = recording.writer.enter(use, 1, recording.now + 1, (handle_of(2),), ())
    recording.writer.expire(1, recording.now + 2, ())
    recording.writer.exit(use, number, 1, 507046)
    recording.writer.pace(recording.now + 3, [(format.WRITE, (5000, bytes(range(16)))), (-format.READ,)])
    recording.writer.unsupported(pair, 0, recording.now + 4, (0, 0), 207000)
    recording.writer.note("host", {"name": "a thread", "id": 77})
    number = recording.writer.enter(use, 1, recording.now + 4, (handle_of(2),), [(format.THREAD, 2, 0)])
    recording.writer.invoke(1, 0, Invoke(0x4000, (0x5000,), "void(ptr)"))
    recording.writer.invoke(0, 1, Invoke(0x6000, (0, 64), "ptr(ptr,size)"))
    recording.writer.returned(1, recording.now + 4, 0, [(format.FILL,)])
    recording.writer.exit(use, number, 1, 0)
    recording.writer.errand(1, recording.now + 5, 0x7F00_0000_1010, ())
    recording.writer.thread_end(1, recording.now + 5)
    recording.now += 5
    recording.call("many", ((handle_of(1), 0), 0x10, (1, None, b"x", 2.5), 0), (handle_of(9), (1, 2, 3)))
    recording.call("hook", (0x4000, 0x5000))
    recording.call("place", (0x10, 64), (0, BASE + 128))


def main() -> None:
    path = TRACES / f"v{format.VERSION}-small"
    if path.exists():
        raise SystemExit(f"{path.name} is there, and stays as it is")
    sealed = Recording(path, window_size=4096, host={"arguments": ["sample"]})
    fill(sealed, bytes(range(100)))
    sealed.die()
    note_end(path, sealed_pid(path), 3 << 8)
    Sealer(path).finish()
    unsealed = Recording(path, window_size=4096, parent=1)
    fill(unsealed, bytes(range(50)))
    unsealed.folder.inflight[0:64] = InFlight(1, SCHEMA["pair"], (5, 6)).pack()
    unsealed.die()
    for name in ("p0001", "p0002"):  # nothing of the machine that made it
        sheet = path / name / format.PROCESS
        content, _ = unpack_sheet(sheet.read_bytes(), name)
        sheet.write_bytes(pack_sheet({**content, "host": {"pid": 1, "born": 0, "arguments": ["sample"]}}))
    for stream in Bundle.open(path).processes:
        lines = dump_lines(stream.records())
        (TRACES / f"{path.name}.p{stream.ordinal:04d}.jsonl").write_text("".join(f"{line}\n" for line in lines))


def sealed_pid(path: Path) -> int:
    return int(Bundle.open(path).processes[0].header["host"]["pid"])


if __name__ == "__main__":
    main()
