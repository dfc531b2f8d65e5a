"""Writing while the program runs: a kill at any byte leaves whole records, and trouble never reaches the program."""

import os
import resource
import signal
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from cannery.recorder import format, window
from cannery.recorder.addresses import AddressBook
from cannery.recorder.bundle import Bundle
from cannery.recorder.codec import Wire
from cannery.recorder.create import create_bundle
from cannery.recorder.packing import pack
from cannery.recorder.records import (
    Call,
    Effect,
    Enter,
    Errand,
    Exit,
    Expire,
    Invoke,
    Note,
    Pace,
    Record,
    Returned,
    ThreadEnd,
)
from cannery.recorder.rows import RowMaker
from cannery.recorder.writer import StreamWriter
from cannery.runtime.handles import handle_of
from cannery.runtime.invoke import Invoke as Request

from .test_trace_codec import calls
from .trace_tools import BASE, SCHEMA, SESSION, SPAN, Recording, read
from .trace_tools import window as window_of


class Stores:
    """A window that remembers every byte stored to it, in order."""

    def __init__(self, size: int) -> None:
        self.size = size
        self.steps: list[list[tuple[int, int]]] = []

    def __setitem__(self, where: int | slice, value: Any) -> None:
        if isinstance(where, int):
            self.steps.append([(where, value)])
        else:
            assert where.stop - where.start == len(value)
            assert where.stop <= self.size
            self.steps.append(list(zip(range(where.start, where.stop), value, strict=True)))

    def bytes(self, steps: list[list[tuple[int, int]]]) -> bytes:
        content = bytearray(self.size)
        for step in steps:
            for offset, value in step:
                content[offset] = value
        return bytes(content)


class Stage:
    """A writer into remembered windows."""

    def __init__(self, monkeypatch: pytest.MonkeyPatch | None = None, window_size: int = 4096) -> None:
        self.windows: list[Stores] = []
        self.stops: list[str] = []
        self.wire = Wire(AddressBook(BASE, SPAN))
        self.writer = StreamWriter.__new__(StreamWriter)
        with pytest.MonkeyPatch.context() as patch:
            patch.setattr("cannery.recorder.writer.make_window", self._make)
            self.writer.__init__(  # type: ignore[misc]
                "nowhere", SCHEMA.functions, self.wire, self.stops.append, start=1000, window_size=window_size
            )

    def _make(self, folder: str, number: int, size: int, mapper: Any) -> Stores:
        self.windows.append(Stores(size))
        return self.windows[-1]


def steps(writer: StreamWriter) -> None:
    """One record of every kind."""
    pair, make = SCHEMA["pair"].number, SCHEMA["make"].number
    writer.encoder(pair)(1, 1100, (handle_of(1), handle_of(2)), 0, ())
    writer.encoder(make)(1, 1200, (0x5000, 7), (0, handle_of(3)), [(format.READ, b"abc")])
    number = writer.enter(writer.codec(pair), 2, 1300, (handle_of(3), 0), ())
    writer.pace(1400, [(format.WRITE, (100, bytes(16)))])
    writer.exit(writer.codec(pair), number, 2, 0)
    writer.expire(2, 1500, ())
    writer.unsupported(writer.codec(SCHEMA["many"].number), 1, 1600, (None, 0, None, 5), None)
    writer.encoder(SCHEMA["copy"].number)(1, 1650, (BASE, 8, 0x7000_0010, 0), 0, [(format.FILL,), (-format.READ,)])
    writer.note("host", {"pid": 5})
    outer = writer.enter(writer.codec(pair), 2, 1660, (0, 0), ())
    writer.invoke(2, 0, Request(0x4000, (0x9000,), "void(ptr)"))
    inner = writer.enter(writer.codec(pair), 2, 1670, (handle_of(1), 0), ())
    writer.invoke(2, 0, Request(0x5000, (0, 64), "ptr(ptr,size)"))
    writer.invoke(0, 1, Request(0x6000, (1, 0x9000), "u32(i32,ptr)"))
    writer.returned(2, 1675, 0x7000_1234, [(format.FILL,)])
    writer.exit(writer.codec(pair), inner, 2, 0)
    writer.errand(1, 1680, 77, [(format.THREAD, 3, 1)])
    writer.returned(2, 1690, 0xBAD, ())
    writer.exit(writer.codec(pair), outer, 2, 0)
    writer.thread_end(2, 1700)


def test_every_kind_of_record_is_read_back() -> None:
    stage = Stage()
    steps(stage.writer)
    (stores,) = stage.windows
    records = read(stores.bytes(stores.steps), journal=True)
    assert [type(record) for record in records] == [
        Call,
        Call,
        Enter,
        Pace,
        Exit,
        Expire,
        Call,
        Note,
        Call,
        Note,
        Enter,
        Invoke,
        Enter,
        Invoke,
        Invoke,
        Note,
        Returned,
        Exit,
        Errand,
        Returned,
        Exit,
        ThreadEnd,
    ]
    assert records[0] == Call(0, 1, 100, "pair", 0, (1, 2), (), ())
    assert records[1] == Call(1, 1, 200, "make", 0, (True, 7), (3,), records[1].effects)  # type: ignore[union-attr]
    assert records[2] == Enter(2, 2, 300, "pair", (3, 0), ())
    assert records[4] == Exit(2, 2, "pair", 0, ())
    assert records[6] == Call(3, 1, 600, "many", None, (None, False, None, 5), (None,), (), False)
    assert records[7] == Note("region", (1, 0x7000_0000, 4096))
    assert records[11] == Invoke(5, 2, 0, 1, "void(ptr)", (True,))
    assert records[13] == Invoke(6, 2, 0, 2, "ptr(ptr,size)", (False, 64))
    assert records[14] == Invoke(None, None, 1, 3, "u32(i32,ptr)", (1, True))
    assert records[16] == Returned(6, 2, 675, (2, 0x234), (Effect("fill", True),))
    assert records[18] == Errand(1, 680, 77, (Effect("thread", True, None, 0, 3, 1),))
    assert records[19] == Returned(5, 2, 690, None, ())  # a void function returns nothing
    assert [record.number for record in records if isinstance(record, Exit)] == [2, 6, 5]
    assert stage.stops == []


def test_a_kill_at_any_byte_leaves_exactly_the_committed_records() -> None:
    stage = Stage()
    steps(stage.writer)
    (stores,) = stage.windows
    whole = read(stores.bytes(stores.steps), journal=True)
    flat = [store for step in stores.steps for store in step]
    commits = [index for index, (offset, _) in enumerate(flat) if len(_step_of(stores, offset, index)) == 1]
    for cut in range(len(flat) + 1):
        done = sum(1 for index in commits if index < cut)
        records = read(stores.bytes([flat[:cut]]), journal=True)
        assert records == whole[: max(done - 1, 0)]  # the first commit is the WINDOW record's


def _step_of(stores: Stores, offset: int, index: int) -> list[tuple[int, int]]:
    for step in stores.steps:
        if index < len(step):
            return step
        index -= len(step)
    raise AssertionError(offset)


@given(st.data())
def test_the_bytes_of_a_record_may_reach_memory_in_any_order_before_its_first(data: st.DataObject) -> None:
    stage = Stage()
    steps(stage.writer)
    (stores,) = stage.windows
    whole = read(stores.bytes(stores.steps), journal=True)
    cut = data.draw(st.integers(0, len(stores.steps) - 1))
    torn = [store for store in stores.steps[cut] if data.draw(st.booleans())] if len(stores.steps[cut]) > 1 else []
    done = sum(1 for step in stores.steps[:cut] if len(step) == 1)
    assert read(stores.bytes([*stores.steps[:cut], torn]), journal=True) == whole[: max(done - 1, 0)]


@given(calls())
@settings(suppress_health_check=[HealthCheck.too_slow])
def test_the_fast_encoders_write_the_bytes_of_the_reference(made: list[tuple[str, tuple[Any, ...], Any]]) -> None:
    stage = Stage(window_size=1 << 16)
    expected: list[Record] = []
    wire = Wire(AddressBook(BASE, SPAN))
    for number, (name, args, reply) in enumerate(made):
        stage.writer.encoder(SCHEMA[name].number)(3, 1000 + 10 * number, args, reply, ())
        codec = wire.function(SCHEMA[name])
        ins = codec.encode_ins(args)
        ret, *outs = codec.encode_reply(reply)
        expected += [Note("region", region) for region in wire.book.fresh]
        wire.book.fresh.clear()
        expected.append(Call(number, 3, 10 * number, name, ret, tuple(ins), tuple(outs), ()))
    (stores,) = stage.windows
    content = stores.bytes(stores.steps)
    assert stage.stops == []
    assert content[: stage.writer.position] == window_of(expected)


def test_records_that_do_not_fit_go_to_the_next_window(tmp_path: Path) -> None:
    recording = Recording(tmp_path / "a.cann", window_size=4096)
    for number in range(2000):
        recording.call("pair", (handle_of(number + 1), 0), thread=number % 5)
    recording.die()
    stream = Bundle.open(recording.path).processes[0]
    records = list(stream.records())
    assert [record.number for record in records if isinstance(record, Call)] == list(range(2000))
    assert [record.time for record in records if isinstance(record, Call)] == list(range(100, 200_100, 100))
    windows = list(Path(recording.folder.path).glob("*.journal"))
    assert len(windows) > 4
    assert {file.stat().st_size for file in windows} == {4096}


def test_a_record_larger_than_a_window_gets_one_of_its_own(tmp_path: Path) -> None:
    recording = Recording(tmp_path / "a.cann", window_size=4096)
    recording.call("sizes", (1, 0, b"x" * 100_000))
    recording.call("use", (0,))
    recording.call("sizes", (1, 0, b"y" * 100_000))
    recording.die()
    records = list(Bundle.open(recording.path).processes[0].records())
    assert [len(record.ins) for record in records if isinstance(record, Call)] == [3, 1, 3]
    assert recording.stops == []


def test_a_record_larger_than_the_format_allows_ends_the_recording(tmp_path: Path) -> None:
    recording = Recording(tmp_path / "a.cann")
    recording.call("use", (0,))
    recording.call("sizes", (1, 0, bytes(format.MAX_RECORD + 1)))
    recording.call("use", (0,))
    assert len(recording.stops) == 1
    recording.die()
    stream = Bundle.open(recording.path).processes[0]
    first, last = stream.records()
    assert isinstance(first, Call)
    assert isinstance(last, Note)
    assert last.topic == "stopped"
    assert (stream.counts().stopped, stream.counts().calls) == (last.value, 1)


class TestTrouble:
    def test_no_room_for_the_next_window_ends_the_recording_and_says_so_in_the_trace(
        self, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        recording = Recording(tmp_path / "a.cann", window_size=4096)

        def full(descriptor: int, offset: int, size: int) -> None:
            raise OSError(28, os.strerror(28))

        monkeypatch.setattr(os, "posix_fallocate", full)
        for _ in range(1000):
            recording.call("pair", (handle_of(1), handle_of(2)))
        recording.writer.pace(10**6, ())
        recording.writer.exit(recording.writer.codec(1), 5, 1, 0)
        assert recording.stops == ["No space left on device"]
        assert list(Path(recording.folder.path).glob(f"*{format.UNFINISHED}")) == []
        recording.die()
        *records, last = Bundle.open(recording.path).processes[0].records()
        assert last == Note("stopped", "No space left on device")
        assert 100 < len(records) < 1000

    def test_no_room_for_the_first_window(self, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
        monkeypatch.setattr("cannery.recorder.writer.make_window", _raise(OSError(28, os.strerror(28))))
        recording = Recording(tmp_path / "a.cann")
        recording.call("use", (0,))
        steps(recording.writer)
        assert recording.stops == ["No space left on device"]
        recording.die()
        assert list(Bundle.open(recording.path).processes[0].records()) == []

    def test_room_for_a_page_is_room_to_say_that_there_was_none(
        self, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        reason = "no room: " + "x" * 300
        allocate = os.posix_fallocate

        def small(descriptor: int, offset: int, size: int) -> None:
            if size > format.PAGE:
                raise OSError(28, reason)
            allocate(descriptor, offset, size)

        monkeypatch.setattr(os, "posix_fallocate", small)
        recording = Recording(tmp_path / "a.cann")
        recording.call("use", (0,))
        assert (recording.folder.inflight, recording.stops) == (None, [reason])
        recording.die()
        (stream,) = Bundle.open(recording.path).processes
        assert list(stream.records()) == [Note("stopped", reason[: format.MAX_REASON])]
        assert stream.counts().stopped == reason[: format.MAX_REASON]

    def test_a_folder_without_room_for_anything_is_given_back(
        self, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        path = tmp_path / "a.cann"
        os.close(create_bundle(str(path), SESSION, SCHEMA.pack()))
        monkeypatch.setattr("cannery.recorder.claim.replace_file", _raise(OSError(28, os.strerror(28))))
        with pytest.raises(OSError, match="No space"):
            Recording(path)
        assert sorted(file.name for file in path.iterdir()) == ["bundle", "schema"]

    def test_a_folder_that_was_deleted_ends_the_recording(self, tmp_path: Path) -> None:
        recording = Recording(tmp_path / "a.cann", window_size=4096)
        subprocess.run(["rm", "-r", str(recording.path)], check=True)
        for _ in range(1000):
            recording.call("use", (handle_of(1),))
        assert recording.stops == ["No such file or directory"]

    def test_an_array_that_no_reader_would_take_ends_the_recording(self, tmp_path: Path) -> None:
        recording = Recording(tmp_path / "a.cann")
        recording.call("many", ((0,) * 65535, 0, None, 0))
        recording.call("many", ((0,) * 65536, 0, None, 0))
        assert len(recording.stops) == 1
        recording.die()
        first, last = Bundle.open(recording.path).processes[0].records()
        assert isinstance(first, Call)
        assert isinstance(last, Note)

    def test_a_value_that_cannot_be_written_ends_the_recording(self, tmp_path: Path) -> None:
        recording = Recording(tmp_path / "a.cann")
        recording.call("use", (0,), reply=1 << 64)
        recording.call("use", (0,))
        assert len(recording.stops) == 1

    def test_a_forked_child_leaves_its_parents_windows_alone(self, tmp_path: Path) -> None:
        recording = Recording(tmp_path / "a.cann")
        recording.call("use", (handle_of(1),))
        before = Path(recording.folder.path, "000001.journal").read_bytes()
        recording.writer.close()
        recording.store.close()
        recording.call("use", (handle_of(2),))
        steps(recording.writer)
        assert Path(recording.folder.path, "000001.journal").read_bytes() == before
        assert recording.stops == []

    def test_the_file_size_limit_of_the_process_is_respected(self, tmp_path: Path) -> None:
        """Exceeding it would send SIGXFSZ, whose default ends the program."""
        program = (
            "import resource, signal, sys; from pathlib import Path\n"
            "signal.signal(signal.SIGXFSZ, signal.SIG_DFL)\n"
            "from tests.trace_tools import Recording\n"
            "r = Recording(Path(sys.argv[1]), window_size=1 << 16)\n"
            "resource.setrlimit(resource.RLIMIT_FSIZE, (60_000, 60_000))\n"
            "r.store.keep(bytes(100_000), True); print(len(r.stops))\n"
            "for n in range(20_000): r.call('pair', (0, 0))\n"
            "print(len(r.stops)); print(r.stops[0])\n"
        )
        root = Path(__file__).parent.parent
        done = subprocess.run(
            [sys.executable, "-c", program, str(tmp_path / "a.cann")],
            cwd=root,
            capture_output=True,
            text=True,
            check=False,
        )
        assert done.returncode == 0, signal.Signals(-done.returncode) if done.returncode < 0 else done.stderr
        assert "file size limit" in done.stdout.splitlines()[2]
        assert done.stdout.splitlines()[:2] == ["1", "1"]
        assert resource.getrlimit(resource.RLIMIT_FSIZE)[0] != 60_000


def test_sigkill_loses_nothing_that_completed(tmp_path: Path) -> None:
    program = (
        "import sys; from pathlib import Path\n"
        "from tests.trace_tools import Recording\n"
        "r = Recording(Path(sys.argv[1]), window_size=1 << 14)\n"
        "for n in range(10**9):\n"
        "    content = bytes([n % 256, n // 256 % 256]) * (20 + n % 300)\n"
        "    r.call('use', (0,), 0, [(1, r.store.keep(content, True))])\n"
        "    print(n, flush=True)\n"
    )
    root, path = Path(__file__).parent.parent, tmp_path / "a.cann"
    with subprocess.Popen([sys.executable, "-c", program, str(path)], cwd=root, stdout=subprocess.PIPE) as process:
        assert process.stdout is not None
        for _ in range(3000):
            process.stdout.readline()
        process.kill()
        completed = 3000 + len(process.stdout.read().splitlines())
    bundle = Bundle.open(path)
    (stream,) = bundle.processes
    assert not stream.alive
    records = [record for record in stream.records() if isinstance(record, Call)]
    assert completed <= len(records) <= completed + 1
    for number, record in enumerate(records):
        payload = record.effects[0].payload
        assert payload is not None
        assert bundle.content(payload) == bytes([number % 256, number // 256 % 256]) * (20 + number % 300)


def _raise(error: Exception) -> Any:
    def fail(*_: Any) -> None:
        raise error

    return fail


@pytest.mark.skipif(os.geteuid() != 0, reason="mounts a file system of its own")
def test_a_full_file_system_ends_the_recording_and_not_the_process(tmp_path: Path) -> None:
    place = tmp_path / "small"
    place.mkdir()
    if subprocess.run(["mount", "-t", "tmpfs", "-o", "size=1m", "tmpfs", str(place)], check=False).returncode:
        pytest.skip("mounting is not allowed here")
    try:
        recording = Recording(place / "a.cann", window_size=1 << 18)
        while not recording.stops:
            recording.call("pair", (handle_of(1), handle_of(2)))
        assert recording.stops == ["No space left on device"]
        recording.die()
        *records, last = Bundle.open(recording.path).processes[0].records()
        assert isinstance(last, Note)
        assert len(records) > 10_000
    finally:
        subprocess.run(["umount", "-l", str(place)], check=True)


def test_a_window_is_allocated_before_it_gets_its_name(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    order: list[str] = []
    monkeypatch.setattr(os, "posix_fallocate", lambda *_: order.append("allocate"))
    monkeypatch.setattr(os, "rename", lambda *_: order.append("rename"))
    window.make_window(str(tmp_path), 1, 4096, lambda descriptor, size: order.append("map"))
    assert order == ["allocate", "map", "rename"]


def test_one_time_is_not_lost_when_a_window_ends(tmp_path: Path) -> None:
    """The WINDOW record has the time of the step before, so that of the step that did not fit is right."""
    recording = Recording(tmp_path / "a.cann", window_size=4096)
    for number in range(700):
        recording.now += number
        recording.call("use", (0,))
    recording.die()
    times = [record.time for record in Bundle.open(recording.path).processes[0].records() if isinstance(record, Call)]
    assert times == [100 * (n + 1) + n * (n + 1) // 2 for n in range(700)]


def test_rows_and_writer_agree_on_every_kind() -> None:
    stage = Stage()
    steps(stage.writer)
    (stores,) = stage.windows
    content = stores.bytes(stores.steps)
    records = read(content, journal=True)
    maker = RowMaker(SCHEMA)
    rows = [pack(row) for record in records for row in maker.rows(record)]
    assert content[: stage.writer.position] == pack((format.WINDOW, 1, 0, 0)) + b"".join(rows)
