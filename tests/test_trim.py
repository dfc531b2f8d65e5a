"""``cannery trim``: what is cut out of a trace replays to the same results, from any call to any other."""

import re
import shutil
from pathlib import Path

import pytest
from click.testing import CliRunner, Result

from cannery.recorder.bundle import Bundle
from cannery.recorder.records import Call, Enter, Record
from cannery.replayer.process import replay_process
from cannery.replayer.replay import ReplayError
from cannery.replayer.seek import reach
from cannery.replayer.trimming import trim
from cannery.runtime.state import capture
from cannery.tools.main import main
from tests import scenarios


def cannery(*args: "str | Path") -> Result:
    return CliRunner().invoke(main, [str(arg) for arg in args])


def steps(records: list[Record]) -> list[Record]:
    return [record for record in records if isinstance(record, Call | Enter)]


def nothing(text: str) -> None:
    raise AssertionError(text)


@pytest.mark.parametrize("scenario", scenarios.ALL)
def test_every_part_replays_to_the_same_state(scenario: str, tmp_path: Path) -> None:
    live = scenarios.ALL[scenario]()
    with Bundle.open(live.save(tmp_path / "a.cann")) as bundle:
        (stream,) = bundle.processes
        whole = [*stream.records()]
        for first in range(0, live.calls, max(live.calls // 12, 1)):
            last = min(first + live.calls // 4, live.calls - 1)
            if reach(bundle, stream, first, nothing).replay.machine.saved is not None:
                with pytest.raises(ReplayError, match="a backup is kept at call"):
                    trim(bundle, stream, (first, last), str(tmp_path / "b.cann"), True, nothing)
                continue
            made = trim(bundle, stream, (first, last), str(tmp_path / "b.cann"), True, nothing)
            assert made == (first, last - first + 1, made.size)
            with Bundle.open(tmp_path / "b.cann") as part:
                (cut,) = part.processes
                assert steps([*cut.records()]) == [r for r in steps(whole) if first <= r.number <= last]
                assert replay_process(part, cut).calls == made.calls
                for call in (first, (first + last) // 2, last):
                    here, there = reach(part, cut, call, nothing), reach(bundle, stream, call, nothing)
                    assert capture(here.replay.machine).same(capture(there.replay.machine))


def test_the_rest_of_a_trace_ends_as_the_trace_does(tmp_path: Path) -> None:
    live = scenarios.ALL["events"]()
    trace, part = live.save(tmp_path / "a.cann"), tmp_path / "b.cann"
    shown = cannery("trim", trace, "--calls", "40:", "-o", part)
    assert shown.exit_code == 0, shown.output
    assert re.fullmatch(rf".*b.cann: {live.calls - 40} calls from #40 on, .* kB; replays the same\n", shown.stdout)
    listing = cannery("show", trace, "--calls", "40-").stdout
    assert cannery("show", part, "--calls", "40-").stdout == listing != ""
    assert cannery("show", part, "--calls", "50-").stdout == cannery("show", trace, "--calls", "50-").stdout
    assert cannery("replay", part).exit_code == 0
    assert cannery("info", part).exit_code == 0
    assert cannery("stats", part).exit_code == 0
    assert cannery("diff", part, part).exit_code == 0
    assert cannery("show", part, "--at", "60").stdout == cannery("show", trace, "--at", "60").stdout


def test_a_part_of_a_part(tmp_path: Path) -> None:
    trace = scenarios.ALL["captures"]().save(tmp_path / "a.cann")
    assert cannery("trim", trace, "--calls", "5:40", "-o", tmp_path / "b.cann").exit_code == 0
    assert cannery("index", tmp_path / "b.cann", "--every", "3").exit_code == 0
    assert cannery("trim", tmp_path / "b.cann", "--calls", "20:30", "-o", tmp_path / "c.cann").exit_code == 0
    assert cannery("trim", trace, "--calls", "20:30", "-o", tmp_path / "d.cann").exit_code == 0
    listings = [cannery("show", tmp_path / name).stdout for name in ("c.cann", "d.cann")]
    assert listings[0] == listings[1] != ""


class TestWrongUse:
    @pytest.fixture
    def trace(self, tmp_path: Path) -> Path:
        return scenarios.ALL["memory"]().save(tmp_path / "a.cann")

    @pytest.mark.parametrize(
        ("calls", "words"),
        [
            ("5:2", "ends before it begins"),
            ("x", "expected A:B"),
            ("5", "expected A:B"),
            ("4:999", "there is no call #999"),
            ("999:", "there is no call #999"),
        ],
    )
    def test_calls_that_there_are_not(self, trace: Path, tmp_path: Path, calls: str, words: str) -> None:
        result = cannery("trim", trace, "--calls", calls, "-o", tmp_path / "b.cann")
        assert result.exit_code == 2
        assert words in result.stderr
        assert [path.name for path in tmp_path.iterdir()] == ["a.cann"]

    def test_an_existing_trace_needs_force(self, trace: Path, tmp_path: Path) -> None:
        out = tmp_path / "b.cann"
        assert cannery("trim", trace, "--calls", "2:9", "-o", out).exit_code == 0
        refused = cannery("trim", trace, "--calls", "2:5", "-o", out)
        assert refused.exit_code == 2 and "--force replaces it" in refused.stderr
        with Bundle.open(out) as bundle:
            assert bundle.processes[0].counts().calls == 8
        assert cannery("trim", trace, "--calls", "2:5", "-o", out, "--force").exit_code == 0
        (tmp_path / "text").write_text("not a trace")
        assert cannery("trim", trace, "--calls", "2:5", "-o", tmp_path / "text", "--force").exit_code == 2
        assert (tmp_path / "text").read_text() == "not a trace"
        assert sorted(path.name for path in tmp_path.iterdir()) == ["a.cann", "b.cann", "text"]

    def test_a_trace_that_does_not_replay_is_not_cut(self, tmp_path: Path) -> None:
        live = scenarios.ALL["memory"]()
        place = next(place for place, record in enumerate(live.records) if getattr(record, "number", 0) == 20)
        record = live.records[place]
        assert isinstance(record, Call)
        live.records[place] = record._replace(ret=1)
        trace = live.save(tmp_path / "a.cann")
        assert cannery("trim", trace, "--calls", "2:19", "-o", tmp_path / "b.cann").exit_code == 0
        for calls in ("2:20", "25:30"):
            refused = cannery("trim", trace, "--calls", calls, "-o", tmp_path / "c.cann")
            assert refused.exit_code == 2 and "the replay differs from the trace" in refused.stderr
        assert sorted(path.name for path in tmp_path.iterdir()) == ["a.cann", "b.cann"]

    def test_other_settings_need_the_whole_trace(self, trace: Path, tmp_path: Path) -> None:
        assert cannery("trim", trace, "--calls", "4:9", "-o", tmp_path / "b.cann").exit_code == 0
        result = cannery("replay", tmp_path / "b.cann", "--schedule", "late")
        assert result.exit_code == 2 and "begins in the middle" in result.stderr

    @pytest.mark.parametrize("name", ["origin", "origin.pack"])
    def test_a_part_without_its_beginning_cannot_be_replayed(self, trace: Path, tmp_path: Path, name: str) -> None:
        out = tmp_path / "b.cann"
        assert cannery("trim", trace, "--calls", "4:9", "-o", out).exit_code == 0
        listing = cannery("show", out).stdout
        for damage in ("altered", "gone"):
            file = out / "p0001" / name
            if damage == "altered":
                file.write_bytes(bytes(byte ^ 1 for byte in file.read_bytes()))
            else:
                file.unlink()
            part = tmp_path / "c.cann"
            for args in (("replay", out), ("show", out, "--at", "5"), ("trim", out, "--calls", "5:6", "-o", part)):
                result = cannery(*args)
                assert result.exit_code == 2, result.output
                assert "the state that the trace begins with cannot be read" in result.stderr
            assert cannery("show", out).stdout == listing

    def test_calls_before_the_beginning(self, trace: Path, tmp_path: Path) -> None:
        out = tmp_path / "b.cann"
        assert cannery("trim", trace, "--calls", "4:9", "-o", out).exit_code == 0
        result = cannery("show", out, "--at", "3")
        assert result.exit_code == 2 and "the trace begins with call #4" in result.stderr

    def test_a_process_has_to_be_chosen(self, trace: Path, tmp_path: Path) -> None:
        shutil.copytree(trace / "p0001", trace / "p0002")
        result = cannery("trim", trace, "--calls", "4:9", "-o", tmp_path / "b.cann")
        assert result.exit_code == 2 and "choose one with --process" in result.stderr
        assert cannery("trim", trace, "--calls", "4:9", "-o", tmp_path / "b.cann", "--process", "2").exit_code == 0
        assert [path.name for path in (tmp_path / "b.cann").glob("p*")] == ["p0002"]
