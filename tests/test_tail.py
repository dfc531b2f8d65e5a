"""The tail of a stream: what is kept of it has as many calls as were asked for, begins with a state, and replays."""

import math
from pathlib import Path

import pytest

from cannery.recorder import format, rewrite
from cannery.recorder.bundle import Bundle
from cannery.recorder.files import Folder
from cannery.recorder.format import DamagedTrace
from cannery.recorder.records import Call, Enter, Record
from cannery.recorder.repair import repair
from cannery.recorder.rewrite import ChunkWriter
from cannery.recorder.seal import finish
from cannery.recorder.stream import STOPPED_TOPIC, Head, Position
from cannery.recorder.tail import Keep, KeepError
from cannery.recorder.tail_files import end_at
from cannery.replayer.process import new_replay, replay_process
from cannery.replayer.redaction import redact
from cannery.replayer.seek import Trail
from cannery.replayer.tail import TailKeeper
from cannery.replayer.triggers import Triggers, Watch
from cannery.runtime.calls.registry import HANDLERS
from tests import scenarios


def calls(records: list[Record]) -> list[Record]:
    return [record for record in records if isinstance(record, Call | Enter)]


def recorded(name: str, path: Path, window: int, monkeypatch: pytest.MonkeyPatch) -> list[Record]:
    """A scenario as a process records it of which the tail is kept, in windows of about so many bytes."""
    live = scenarios.ALL[name]()
    live.save(path, tail="5 calls")
    folder = path / "p0001"
    if (folder / format.PACK).exists():
        (folder / format.PACK).rename(folder / "000001.pack")
    monkeypatch.setattr(rewrite, "_FULL", window)
    monkeypatch.setattr(format, "TAIL_PACKS", 1 << 30)  # all payloads are in the first
    with Folder(str(folder)) as inner, Bundle.open(path) as bundle:
        records = [*bundle.processes[0].records()]
        (folder / "000001.journal").unlink()
        writer = ChunkWriter(inner, bundle.schema, Head(1, 0, 0))
        for record in records:
            writer.add(record)
        writer.close()
    return records


def end_of(bundle: Bundle) -> Position:
    trail = Trail(bundle.processes[0], None)
    for _ in trail:
        pass
    return trail.position


@pytest.mark.parametrize("scenario", scenarios.ALL)
@pytest.mark.parametrize("window", [300, 1 << 20])
def test_a_tail_has_the_last_calls_and_replays(
    scenario: str, window: int, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    path = tmp_path / "a.cann"
    records = calls(recorded(scenario, path, window, monkeypatch))
    kept = max(len(records) // 3, 1)
    with Bundle.open(path) as bundle:
        replay = new_replay(bundle, bundle.processes[0])
        replay.run(bundle.processes[0].records())
        keeper = TailKeeper(bundle, bundle.processes[0], Keep(kept, 0))
        end = end_of(bundle)
        assert not keeper.advance(math.inf)
        keeper.finish(end)
    with Bundle.open(path) as bundle:
        (stream,) = bundle.processes
        found = calls([*stream.records()])
        assert found == records[-len(found) :]
        assert found[0].number == stream.first_head.call == keeper.first_call
        assert stream.counts().calls == len(found)
        result = replay_process(bundle, stream)
        assert (result.same, result.damage, result.calls) == (True, None, len(found))
        assert stream.verify() == []
        assert keeper.problem is None
        if replay.machine.saved is None:
            assert len(found) == kept
            assert stream.window_numbers()[0] == stream.first_head.window
        else:
            assert len(found) >= kept
    finish(path)
    assert repair(path).lost == ()
    with Bundle.open(path) as bundle:
        assert calls([*bundle.processes[0].records()]) == found
        assert bundle.processes[0].counts().calls == len(found)
    redact(path, tmp_path / "b.cann")
    with Bundle.open(tmp_path / "b.cann") as bundle:
        (stream,) = bundle.processes
        assert [record.number for record in calls([*stream.records()])] == [record.number for record in found]
        result = replay_process(bundle, stream)
    assert result.differences == ()
    assert result.damage is None or "it may follow from bytes " in result.damage


def test_what_cannot_be_replayed_is_said_and_nothing_is_dropped(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    path = tmp_path / "a.cann"
    recorded("events", path, 300, monkeypatch)
    before = sorted(path.rglob("*"))
    with Bundle.open(path) as bundle:
        monkeypatch.setitem(HANDLERS, "aclrtRecordEvent", lambda *args: 507000)
        keeper = TailKeeper(bundle, bundle.processes[0], Keep(1, 0))
        keeper.finish(end_of(bundle))
        assert keeper.problem is not None
        assert keeper.problem.startswith("the replay differs from the trace at call #")
        assert keeper.problem.endswith("; everything is kept from call #0 on")
    assert sorted(path.rglob("*")) == before


def test_a_tail_in_time(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    path = tmp_path / "a.cann"
    records = [r for r in recorded("objects", path, 300, monkeypatch) if hasattr(r, "time")]
    times = [record.time for record in records]
    length = (times[-1] - times[0]) // 2
    with Bundle.open(path) as bundle:
        TailKeeper(bundle, bundle.processes[0], Keep(0, length)).finish(end_of(bundle))
    with Bundle.open(path) as bundle:
        found = [record for record in bundle.processes[0].records() if hasattr(record, "time")]
        first = max(place for place, at in enumerate(times) if times[-1] - at >= length)
        assert found == records[first:] or found == records[first + 1 :]
        assert replay_process(bundle, bundle.processes[0]).same


class TestTriggers:
    def test_the_stream_ends_behind_what_the_call_brought_about(
        self, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        path = tmp_path / "a.cann"
        records = recorded("told", path, 1 << 20, monkeypatch)
        wanted = next(
            record
            for place, record in enumerate(records)
            if isinstance(record, Enter)
            and type(records[place + 1]).__name__ == "Invoke"
            and record.function not in {each.function for each in records[:place] if isinstance(each, Call | Enter)}
        )
        with Bundle.open(path) as bundle:
            watch = Watch(bundle.processes[0], Triggers(frozenset(), frozenset({wanted.function})))
            watch.read_on()
            assert watch.met == f"{wanted.function} was called (call #{wanted.number})"
            assert watch.end is not None
            with Folder(str(path / "p0001")) as folder:
                end_at(folder, bundle.schema, watch.end, "enough")
        with Bundle.open(path) as bundle:
            *found, last = bundle.processes[0].records()
            assert found == records[: len(found)]
            assert type(records[len(found) - 1]).__name__ == "Invoke"
            assert getattr(last, "topic", None) == STOPPED_TOPIC
            assert replay_process(bundle, bundle.processes[0]).same

    def test_an_error_meets_a_trigger_also_at_the_end_of_a_wait(
        self, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        path = tmp_path / "a.cann"
        records = recorded("waits", path, 1 << 20, monkeypatch)
        failed = next(r for r in records if type(r).__name__ == "Exit" and getattr(r, "ret", 0))
        with Bundle.open(path) as bundle:
            watch = Watch(bundle.processes[0], Triggers(frozenset({failed.ret}), frozenset()))  # type: ignore[union-attr]
            watch.read_on()
            assert watch.met is not None and f"returned {failed.ret}" in watch.met  # type: ignore[union-attr]


class TestDamage:
    @pytest.fixture
    def tail(self, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
        path = tmp_path / "a.cann"
        recorded("events", path, 300, monkeypatch)
        with Bundle.open(path) as bundle:
            TailKeeper(bundle, bundle.processes[0], Keep(10, 0)).finish(end_of(bundle))
        return path

    @pytest.mark.parametrize("name", ["origin", "000001.origin"])
    def test_a_damaged_state_leaves_calls_to_read(self, tail: Path, name: str) -> None:
        (file,) = [path for path in (tail / "p0001").glob("*origin") if (path.name == "origin") == (name == "origin")]
        content = bytearray(file.read_bytes())
        content[len(content) // 2] ^= 0xFF
        file.write_bytes(content)
        with Bundle.open(tail) as bundle:
            (stream,) = bundle.processes
            assert len(calls([*stream.records()])) >= 10
            with pytest.raises(Exception, match="the state that the trace begins with cannot be read"):
                replay_process(bundle, stream)
            assert bool(stream.damage_beside()) == (name == "origin")

    def test_what_a_kill_left_before_the_tail_is_not_seen_and_is_removed(self, tail: Path) -> None:
        with Bundle.open(tail) as bundle:
            first = bundle.processes[0].first_head.window
            before = [*bundle.processes[0].records()]
        assert first > 1
        (tail / "p0001" / format.window_name(first - 1, format.CHUNK)).write_bytes(b"left over")
        (tail / "p0001" / "000099.origin.new").write_bytes(b"left over")
        with Bundle.open(tail) as bundle:
            assert [*bundle.processes[0].records()] == before
        done = repair(tail).done
        assert "p0001: what lies before the tail removed" in done
        with Bundle.open(tail) as bundle:
            assert [*bundle.processes[0].records()] == before

    def test_a_missing_state_is_told(self, tail: Path) -> None:
        (file,) = (tail / "p0001").glob("0*.origin")
        file.unlink()
        with Bundle.open(tail) as bundle, pytest.raises(Exception, match="is missing"):
            replay_process(bundle, bundle.processes[0])


@pytest.mark.parametrize(
    ("text", "keep", "shown"),
    [
        ("100000", Keep(100000, 0), "100000 calls"),
        ("100000 calls", Keep(100000, 0), "100000 calls"),
        ("1 call", Keep(1, 0), "1 calls"),
        ("500ms", Keep(0, 500_000_000), "500ms"),
        ("30s", Keep(0, 30_000_000_000), "30s"),
        ("30 S", Keep(0, 30_000_000_000), "30s"),
        ("5min", Keep(0, 300_000_000_000), "5m"),
        ("2h", Keep(0, 7_200_000_000_000), "2h"),
    ],
)
def test_lengths(text: str, keep: Keep, shown: str) -> None:
    assert Keep.parse(text) == keep
    assert str(keep) == shown
    assert Keep.parse(shown) == keep


@pytest.mark.parametrize("text", ["0", "0s", "-5", "", "s", "10q", "1.5s", "10 20", "calls"])
def test_what_is_no_length(text: str) -> None:
    with pytest.raises(KeepError, match=f"^'{text}'"):
        Keep.parse(text)


def test_an_origin_without_a_state_is_damage(tmp_path: Path) -> None:
    from cannery.recorder.keyframes import KeyframeWriter
    from cannery.recorder.positions import tail_of

    with Folder(str(tmp_path)) as folder:
        KeyframeWriter(folder, format.ORIGIN, "test", 1).finish()
        with pytest.raises(DamagedTrace, match="it has no state"):
            tail_of({"tail": "1 calls"}, folder)
        assert tail_of({"tail": None}, folder) is None
