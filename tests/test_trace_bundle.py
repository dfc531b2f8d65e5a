"""Bundles: how they are made, joined, replaced and opened."""

import os
import threading
from pathlib import Path
from typing import Any

import pytest

from cannery.recorder import format
from cannery.recorder.bundle import Bundle
from cannery.recorder.claim import join_bundle
from cannery.recorder.compression import compress
from cannery.recorder.create import create_bundle, remove_bundle
from cannery.recorder.format import BundleExists, DamagedTrace, FutureVersion, NotABundle, TraceError
from cannery.recorder.inflight import InFlight
from cannery.recorder.records import Call, Enter
from cannery.recorder.sheet import pack_sheet, unpack_sheet
from cannery.runtime.handles import handle_of

from .trace_tools import BASE, SCHEMA, SESSION, SPAN, Recording


def make(path: Path, **more: Any) -> None:
    os.close(create_bundle(str(path), SESSION, SCHEMA.pack(), **more))


def alter_sheet(path: Path, **changes: Any) -> None:
    content, _ = unpack_sheet(path.read_bytes(), "")
    path.write_bytes(pack_sheet({**content, **changes}))


def files_of(folder: Path) -> dict[str, bytes]:
    """Every file below a folder, links not followed, with its content."""
    return {str(path.relative_to(folder)): path.read_bytes() for path in folder.rglob("*") if path.is_file()}


class TestMaking:
    def test_a_new_bundle_has_no_processes(self, tmp_path: Path) -> None:
        make(tmp_path / "a.cann", tool="1.2.3")
        bundle = Bundle.open(tmp_path / "a.cann")
        assert (bundle.version, bundle.session, bundle.tool, bundle.processes) == (1, SESSION, "1.2.3", [])
        assert bundle.function("pair") == SCHEMA["pair"]
        assert bundle.schema.enums == SCHEMA.enums
        assert bundle.end is None
        assert sorted(file.name for file in tmp_path.iterdir()) == ["a.cann"]

    def test_its_function_table_may_be_compressed(self, tmp_path: Path) -> None:
        os.close(create_bundle(str(tmp_path / "a.cann"), SESSION, compress(SCHEMA.pack())))
        assert Bundle.open(tmp_path / "a.cann").schema.functions == SCHEMA.functions
        Recording(tmp_path / "a.cann").die()

    def test_an_existing_bundle_is_kept(self, tmp_path: Path) -> None:
        make(tmp_path / "a.cann")
        with pytest.raises(BundleExists, match="--force replaces it"):
            make(tmp_path / "a.cann")
        assert sorted(file.name for file in tmp_path.iterdir()) == ["a.cann"]

    def test_force_replaces_a_bundle(self, tmp_path: Path) -> None:
        recording = Recording(tmp_path / "a.cann")
        recording.store.keep(os.urandom(100), True)
        recording.die()
        make(tmp_path / "a.cann", force=True)
        assert Bundle.open(tmp_path / "a.cann").processes == []
        assert sorted(file.name for file in tmp_path.iterdir()) == ["a.cann"]

    def test_an_empty_folder_is_taken(self, tmp_path: Path) -> None:
        (tmp_path / "a.cann").mkdir()
        make(tmp_path / "a.cann")
        assert Bundle.open(tmp_path / "a.cann").processes == []

    @pytest.mark.parametrize("force", [False, True])
    def test_what_is_no_bundle_is_never_replaced(self, tmp_path: Path, force: bool) -> None:
        folder = tmp_path / "precious"
        folder.mkdir()
        (folder / "work").write_text("of years")
        with pytest.raises(BundleExists, match="not a Cannery bundle"):
            make(folder, force=force)
        file = tmp_path / "file"
        file.write_text("text")
        with pytest.raises(BundleExists, match="not a Cannery bundle"):
            make(file, force=force)
        link = tmp_path / "link"
        link.symlink_to(folder)
        with pytest.raises(BundleExists, match="is a symbolic link to"):
            make(link, force=force)
        assert ((folder / "work").read_text(), file.read_text()) == ("of years", "text")
        assert sorted(path.name for path in tmp_path.iterdir()) == ["file", "link", "precious"]

    @pytest.mark.parametrize("force", [False, True])
    @pytest.mark.parametrize("leads", ["a.cann", "nowhere.cann"])
    @pytest.mark.parametrize("slash", ["", "/"])
    def test_a_link_and_what_it_leads_to_are_left_alone(
        self, tmp_path: Path, force: bool, leads: str, slash: str
    ) -> None:
        Recording(tmp_path / "a.cann").die()
        link = tmp_path / "link.cann"
        link.symlink_to(leads)
        before = files_of(tmp_path)
        with pytest.raises(BundleExists, match=f"link.cann is a symbolic link to {leads}; name {leads} itself"):
            os.close(create_bundle(f"{link}{slash}", SESSION, SCHEMA.pack(), force=force))
        assert link.is_symlink() and files_of(tmp_path) == before

    def test_a_link_is_never_emptied(self, tmp_path: Path) -> None:
        Recording(tmp_path / "a.cann").die()
        (tmp_path / "link.cann").symlink_to("a.cann")
        before = files_of(tmp_path)
        with pytest.raises(NotADirectoryError):
            remove_bundle(str(tmp_path / "link.cann"))
        assert files_of(tmp_path) == before

    @pytest.mark.parametrize("place", ["a.cann/b.cann", "a.cann/p0001/b.cann", "a.cann/p0002", "link/b", "a.cann/."])
    def test_no_bundle_is_made_in_another(self, tmp_path: Path, place: str) -> None:
        Recording(tmp_path / "a.cann").die()
        (tmp_path / "link").symlink_to("a.cann/p0001")
        before = files_of(tmp_path)
        with pytest.raises(BundleExists, match=r"is inside the trace .*/a\.cann; choose a place outside of it"):
            os.close(create_bundle(f"{tmp_path}/{place}", SESSION, SCHEMA.pack(), force=True))
        assert files_of(tmp_path) == before

    def test_an_old_bundle_that_cannot_be_removed_is_what_is_told(
        self, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        Recording(tmp_path / "a.cann").die()
        unlink = os.unlink

        def refuse(path: str) -> None:
            if ".old." in path:
                raise PermissionError(13, os.strerror(13), path)
            unlink(path)

        monkeypatch.setattr("cannery.recorder.create.os.unlink", refuse)
        with pytest.raises(PermissionError):
            make(tmp_path / "a.cann", force=True)
        assert Bundle.open(tmp_path / "a.cann").processes == []

    @pytest.mark.parametrize("name", ["notes.txt", "p0001/notes.txt", "more/file", "p1/process", "p0001/deep/file"])
    def test_a_bundle_with_other_files_in_it_is_never_replaced(self, tmp_path: Path, name: str) -> None:
        Recording(tmp_path / "a.cann").die()
        mine = tmp_path / "a.cann" / name
        mine.parent.mkdir(exist_ok=True, parents=True)
        mine.write_text("mine")
        with pytest.raises(BundleExists, match="no part of a Cannery bundle"):
            make(tmp_path / "a.cann", force=True)
        assert mine.read_text() == "mine"

    def test_a_bundle_that_is_being_written_is_never_replaced(self, tmp_path: Path) -> None:
        recording = Recording(tmp_path / "a.cann")
        recording.call("use", (0,))
        with pytest.raises(BundleExists, match="is being written"):
            make(tmp_path / "a.cann", force=True)
        recording.die()
        make(tmp_path / "a.cann", force=True)

    def test_a_bundle_whose_launcher_runs_is_never_replaced(self, tmp_path: Path) -> None:
        lock = create_bundle(str(tmp_path / "a.cann"), SESSION, SCHEMA.pack())
        with pytest.raises(BundleExists, match="is being written"):
            make(tmp_path / "a.cann", force=True)
        os.close(lock)
        make(tmp_path / "a.cann", force=True)

    def test_links_in_a_replaced_bundle_are_removed_and_not_followed(self, tmp_path: Path) -> None:
        Recording(tmp_path / "a.cann").die()
        precious = tmp_path / "precious"
        precious.write_text("work")
        (tmp_path / "a.cann" / "p0001" / "000007.journal").symlink_to(precious)
        make(tmp_path / "a.cann", force=True)
        assert precious.read_text() == "work"

    def test_a_folder_that_cannot_be_written(self, tmp_path: Path) -> None:
        with pytest.raises(OSError, match="No such file"):
            make(tmp_path / "missing" / "a.cann")


class TestJoining:
    def test_processes_get_folders_in_the_order_they_come(self, tmp_path: Path) -> None:
        first = Recording(tmp_path / "a.cann", host={"arguments": ["app"]})
        second = Recording(tmp_path / "a.cann", parent=1)
        assert (first.folder.ordinal, second.folder.ordinal) == (1, 2)
        second.call("use", (handle_of(3),))
        first.call("use", (handle_of(2),))
        bundle = Bundle.open(tmp_path / "a.cann")
        assert [stream.ordinal for stream in bundle.processes] == [1, 2]
        assert [next(stream.records()).ins for stream in bundle.processes] == [(2,), (3,)]  # type: ignore[union-attr]
        header = bundle.process(2).header
        assert (header["parent"], header["start"], header["device_base"], header["device_span"]) == (
            1,
            1000,
            BASE,
            SPAN,
        )
        assert bundle.process(1).settings == {"product": "A2"}
        assert bundle.process(1).header["host"]["arguments"] == ("app",)
        assert bundle.process(1).header["host"]["pid"] == os.getpid()
        with pytest.raises(KeyError):
            bundle.process(3)

    def test_many_at_once_get_one_each(self, tmp_path: Path) -> None:
        make(tmp_path / "a.cann")
        found: list[int] = []

        def join() -> None:
            found.append(Recording(tmp_path / "a.cann").folder.ordinal)

        threads = [threading.Thread(target=join) for _ in range(12)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
        assert sorted(found) == list(range(1, 13))

    def _join(self, path: Path, session: str = SESSION, schema: bytes = SCHEMA.pack()) -> None:
        join_bundle(
            str(path), session, schema, settings={}, start=0, device_base=BASE, device_span=SPAN, payload="input"
        )

    def test_another_sessions_bundle_is_refused(self, tmp_path: Path) -> None:
        make(tmp_path / "a.cann")
        with pytest.raises(TraceError, match="another session"):
            self._join(tmp_path / "a.cann", session="other")
        assert Bundle.open(tmp_path / "a.cann").processes == []

    def test_another_function_table_is_refused(self, tmp_path: Path) -> None:
        make(tmp_path / "a.cann")
        with pytest.raises(TraceError, match="another version"):
            self._join(tmp_path / "a.cann", schema=b"\x80")

    def test_no_bundle_is_refused(self, tmp_path: Path) -> None:
        with pytest.raises(NotABundle, match="no such bundle"):
            self._join(tmp_path / "a.cann")

    def test_a_process_that_died_before_its_first_record_is_a_note(self, tmp_path: Path) -> None:
        make(tmp_path / "a.cann")
        (tmp_path / "a.cann" / "p0001").mkdir()
        recording = Recording(tmp_path / "a.cann")
        assert recording.folder.ordinal == 2
        bundle = Bundle.open(tmp_path / "a.cann")
        assert [stream.ordinal for stream in bundle.processes] == [2]
        assert bundle.problems == ["p0001: the process died before its first record"]


class TestOpening:
    @pytest.mark.parametrize("kind", ["missing", "file", "empty folder", "folder"])
    def test_what_is_no_bundle(self, tmp_path: Path, kind: str) -> None:
        path = tmp_path / "a.cann"
        if kind == "file":
            path.write_bytes(b"\x81")
        elif kind != "missing":
            path.mkdir()
        if kind == "folder":
            (path / "bundle").write_bytes(pack_sheet({"magic": "tinned"}))
        with pytest.raises(NotABundle, match="no such bundle" if kind == "missing" else "not a Cannery bundle"):
            Bundle.open(path)

    def test_a_newer_version_is_refused_with_both_numbers(self, tmp_path: Path) -> None:
        make(tmp_path / "a.cann")
        alter_sheet(tmp_path / "a.cann" / "bundle", version=7)
        with pytest.raises(FutureVersion, match=r"version 7; this Cannery reads up to version 1"):
            Bundle.open(tmp_path / "a.cann")

    def test_keys_of_a_later_version_are_ignored(self, tmp_path: Path) -> None:
        Recording(tmp_path / "a.cann").die()
        alter_sheet(tmp_path / "a.cann" / "bundle", weather="fine")
        alter_sheet(tmp_path / "a.cann" / "p0001" / "process", mood="good")
        assert len(Bundle.open(tmp_path / "a.cann").processes) == 1

    @pytest.mark.parametrize("name", ["bundle", "schema", "p0001/process", "p0001/000001.journal", "p0001/inflight"])
    @pytest.mark.parametrize("what", ["link", "folder", "pipe"])
    def test_links_and_other_things_are_not_opened(self, tmp_path: Path, name: str, what: str) -> None:
        recording = Recording(tmp_path / "a.cann")
        recording.call("use", (0,))
        recording.die()
        victim = tmp_path / "a.cann" / name
        victim.rename(tmp_path / "outside")
        if what == "link":
            victim.symlink_to(tmp_path / "outside")
        elif what == "folder":
            victim.mkdir()
        else:
            os.mkfifo(victim)
        with pytest.raises(TraceError):
            stream = Bundle.open(tmp_path / "a.cann").processes[0]
            list(stream.records())
            stream.inflight()

    def test_a_process_folder_that_is_a_link_is_not_opened(self, tmp_path: Path) -> None:
        Recording(tmp_path / "a.cann").die()
        (tmp_path / "a.cann" / "p0001").rename(tmp_path / "outside")
        (tmp_path / "a.cann" / "p0001").symlink_to(tmp_path / "outside")
        with pytest.raises(DamagedTrace, match="p0001"):
            Bundle.open(tmp_path / "a.cann")

    def test_a_header_without_what_replay_needs_is_damage(self, tmp_path: Path) -> None:
        Recording(tmp_path / "a.cann").die()
        alter_sheet(tmp_path / "a.cann" / "p0001" / "process", device_base="high")
        with pytest.raises(DamagedTrace, match="device_base"):
            Bundle.open(tmp_path / "a.cann")

    def test_other_names_are_ignored(self, tmp_path: Path) -> None:
        recording = Recording(tmp_path / "a.cann")
        recording.call("use", (0,))
        for name in (
            "notes.txt",
            "p1",
            "p00010",
            "p0000",
            "p0001/1.journal",
            "p0001/000002.journal.new",
            "p0001/x.chunk",
        ):
            (tmp_path / "a.cann" / name).write_bytes(b"junk")
        (stream,) = Bundle.open(tmp_path / "a.cann").processes
        assert len(list(stream.records())) == 1

    def test_a_closed_bundle_says_so(self, tmp_path: Path) -> None:
        Recording(tmp_path / "a.cann").die()
        with Bundle.open(tmp_path / "a.cann") as bundle:
            stream = bundle.processes[0]
        with pytest.raises(ValueError, match="closed"):
            list(stream.records())


class TestReading:
    def test_from_a_call_on(self, tmp_path: Path) -> None:
        recording = Recording(tmp_path / "a.cann", window_size=4096)
        codec = recording.writer.codec(SCHEMA["use"].number)
        for number in range(1000):
            if number % 7 == 0:
                recording.writer.enter(codec, 1, recording.now, (0,), ())
            else:
                recording.call("use", (handle_of(number + 1),))
            recording.writer.pace(recording.now, ())
        recording.die()
        (stream,) = Bundle.open(recording.path).processes
        whole = list(stream.records())
        starts = {record.number: index for index, record in enumerate(whole) if isinstance(record, Call | Enter)}
        for number in (0, 1, 7, 300, 500, 998, 999):
            assert list(stream.records(number)) == whole[starts[number] :]
        assert list(stream.records(1000)) == []

    def test_counts(self, tmp_path: Path) -> None:
        recording = Recording(tmp_path / "a.cann", window_size=4096)
        for number in range(900):
            recording.call("use", (handle_of(number + 1),), reply=107000 if number % 9 == 0 else 0, thread=number % 3)
        recording.call("many", (None, 0, None, 0), reply=5)  # its result is no error number
        counts = Bundle.open(recording.path).processes[0].counts()
        assert (counts.calls, counts.records, counts.failures, counts.threads) == (901, 901, 100, (0, 1, 2))
        assert (counts.first_time, counts.last_time, counts.stopped) == (0, 90_100, None)

    def test_a_payload_is_found_whichever_process_stored_it(self, tmp_path: Path) -> None:
        recordings = [Recording(tmp_path / "a.cann") for _ in range(2)]
        contents = [os.urandom(100), os.urandom(200)]
        for recording, content in zip(recordings, contents, strict=True):
            recording.call("use", (0,), effects=[(format.READ, recording.store.keep(content, True))])
        bundle = Bundle.open(tmp_path / "a.cann")
        for stream, content in zip(bundle.processes, contents, strict=True):
            (call,) = stream.records()
            assert isinstance(call, Call)
            payload = call.effects[0].payload
            assert payload is not None
            assert bundle.content(payload) == content
            assert stream.payload_sizes() == {payload.digest: len(content)}
        assert bundle.payload(bytes(16)) is None

    def test_what_was_in_flight(self, tmp_path: Path) -> None:
        recording = Recording(tmp_path / "a.cann")
        slots = recording.folder.inflight
        calls = [InFlight(2, SCHEMA["pair"], (11, 12)), InFlight(4, SCHEMA["copy"], (1, 2, 3, 4))]
        slots[64:128], slots[192:256] = (call.pack() for call in calls)
        (stream,) = Bundle.open(recording.path).processes
        assert stream.inflight() == calls

    @pytest.mark.parametrize("offset", [0, 3, 64, 68, 72, 111, 127, 128])
    def test_an_altered_byte_of_what_was_in_flight_is_noticed(self, tmp_path: Path, offset: int) -> None:
        recording = Recording(tmp_path / "a.cann")
        recording.folder.inflight[64:128] = InFlight(2, SCHEMA["pair"], (11, 12)).pack()
        recording.folder.inflight[offset] = recording.folder.inflight[offset] ^ 0x10
        (stream,) = Bundle.open(recording.path).processes
        undamaged = [] if 64 <= offset < 128 else [InFlight(2, SCHEMA["pair"], (11, 12))]
        assert stream.inflight() == undamaged  # the process runs: it may be changing the slot
        recording.die()
        (stream,) = Bundle.open(recording.path).processes
        with pytest.raises(DamagedTrace) as damage:
            stream.inflight()
        assert (damage.value.path, damage.value.offset) == ("p0001/inflight", offset // 64 * 64)

    def test_a_slot_of_another_thread_is_damage(self, tmp_path: Path) -> None:
        recording = Recording(tmp_path / "a.cann")
        recording.folder.inflight[0:64] = InFlight(2, SCHEMA["pair"], (11, 12)).pack()
        recording.die()
        with pytest.raises(DamagedTrace, match="inflight"):
            Bundle.open(recording.path).processes[0].inflight()

    def test_alive_and_finished(self, tmp_path: Path) -> None:
        recording = Recording(tmp_path / "a.cann")
        (stream,) = Bundle.open(recording.path).processes
        assert (stream.alive, stream.finished) == (True, False)
        recording.die()
        (stream,) = Bundle.open(recording.path).processes
        assert (stream.alive, stream.finished) == (False, False)
