"""Keyframes: a replay that goes on from one is the same as one from the beginning, and a damaged one does no harm."""

import hashlib
import shutil
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import pytest
from click.testing import CliRunner, Result
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from cannery.recorder.bundle import Bundle
from cannery.recorder.files import Folder
from cannery.recorder.keyframes import Keyframes
from cannery.recorder.process import ProcessStream
from cannery.recorder.records import Call
from cannery.recorder.seal import finish
from cannery.replayer.indexing import index_process
from cannery.replayer.replay import ReplayError
from cannery.replayer.seek import Reached, reach
from cannery.runtime.pages import Page, imported_pages, pages
from cannery.runtime.places import Imported
from cannery.runtime.settings import Settings
from cannery.runtime.state import capture
from cannery.tools.main import main
from tests import scenarios, scenarios_sharing
from tests.live import Live
from tests.test_replay_random import record, steps


def cannery(*args: "str | Path") -> Result:
    return CliRunner().invoke(main, [str(arg) for arg in args])


def nothing(text: str) -> None:
    raise AssertionError(text)


def listed(found: Reached) -> list[Page]:
    """The bytes of device memory, and those that other processes have."""
    imports = [each for each in capture(found.replay.machine).originals or () if isinstance(each, Imported)]
    own = pages(found.replay.machine, lambda digest, view: None)
    return own + imported_pages(imports, lambda digest, view: None)


def check_calls(bundle: Bundle, stream: ProcessStream, calls: int, step: int) -> None:
    """Reach every call, or some, from the keyframe before it and from the beginning, and replay the rest from there."""
    for call in range(0, calls + 1, step):
        near, far = (reach(bundle, stream, call, nothing, keyframes=which) for which in (True, False))
        assert near.position == far.position
        assert capture(near.replay.machine).same(capture(far.replay.machine))
        assert listed(near) == listed(far)
        for found in (near, far):
            found.replay.run(stream.records_from(found.position))
            found.replay.finish(True)
            assert found.replay.compared.differences == []
            assert found.replay.calls == calls
        assert capture(near.replay.machine).same(capture(far.replay.machine))
        assert near.replay.in_flight == far.replay.in_flight
        assert near.replay.port.unknown_bytes == far.replay.port.unknown_bytes
        assert near.replay.supported_now == far.replay.supported_now


def check(live: Live, path: Path, every: int, step: int = 1) -> None:
    with Bundle.open(live.save(path)) as bundle:
        (stream,) = bundle.processes
        made = index_process(bundle, stream, every)
        assert made.problem is None and made.calls == live.calls
        found = stream.keyframes()
        assert found is not None and len(found.frames) == made.frames >= (live.calls - 1) // (every + 10)
        check_calls(bundle, stream, live.calls, step)


@pytest.mark.parametrize("scenario", scenarios.ALL)
def test_every_call_of_a_scenario_is_reached(scenario: str, tmp_path: Path) -> None:
    check(scenarios.ALL[scenario](), tmp_path / "a.cann", 1)


@pytest.mark.parametrize("scenario", scenarios_sharing.ALL)
def test_a_process_that_shares_with_others_can_have_a_keyframe_at_every_call(scenario: str, tmp_path: Path) -> None:
    live = scenarios_sharing.ALL[scenario]()
    with Bundle.open(live.save(tmp_path / "a.cann")) as bundle:
        assert index_process(bundle, bundle.processes[0], 1).frames >= live.calls - 1


@pytest.mark.parametrize("schedule", ["late", "seed:5"])
@pytest.mark.parametrize("scenario", [scenarios.objects, scenarios.memory], ids=["objects", "memory"])
def test_every_call_is_reached_under_every_schedule(scenario: "type[Live]", schedule: str, tmp_path: Path) -> None:
    check(scenario(Settings(devices=2, schedule=schedule)), tmp_path / "a.cann", 3)  # type: ignore[call-arg]


@settings(max_examples=200, deadline=None, suppress_health_check=[HealthCheck.too_slow])
@given(program=steps, schedule=st.sampled_from(["asap", "late", "seed:7"]), every=st.integers(1, 9))
def test_the_calls_of_a_generated_program_are_reached(program: list[Any], schedule: str, every: int) -> None:
    live = record(Settings(devices=2, schedule=schedule), program)
    with TemporaryDirectory() as folder:
        check(live, Path(folder, "a.cann"), every, max(live.calls // 5, 1))


@pytest.mark.parametrize(("dear", "least", "most"), [(0, 20, 40), (1 << 40, 1, 1)])
def test_calls_that_take_long_to_replay_have_more_keyframes_unless_these_take_longer(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, dear: int, least: int, most: int
) -> None:
    for name, value in (("_LONG", 0), ("_LOOK", 1), ("_DEAR", dear)):
        monkeypatch.setattr(f"cannery.replayer.indexing.{name}", value)
    with Bundle.open(scenarios.ALL["memory"]().save(tmp_path / "a.cann")) as bundle:
        assert least <= index_process(bundle, bundle.processes[0], 1000).frames <= most


class TestTheFiles:
    @pytest.fixture
    def trace(self, tmp_path: Path) -> Path:
        trace = scenarios.ALL["memory"]().save(tmp_path / "a.cann")
        shown = cannery("index", trace, "--every", "5")
        assert shown.exit_code == 0, shown.output
        assert shown.stdout.startswith("process 1: 7 keyframes, ")
        return trace

    def others(self, trace: Path) -> dict[str, str]:
        files = (path for path in trace.rglob("*") if path.is_file() and not path.name.startswith("keyframes"))
        return {str(path): hashlib.sha256(path.read_bytes()).hexdigest() for path in files}

    def test_nothing_else_changes(self, tmp_path: Path) -> None:
        trace = scenarios.ALL["memory"]().save(tmp_path / "a.cann")
        commands = [("show",), ("show", "--json"), ("replay", "--json"), ("stats", "--json")]
        before, printed = self.others(trace), [cannery(*command, trace).output for command in commands]
        assert cannery("index", trace).exit_code == 0
        assert cannery("index", trace, "--every", "3").exit_code == 0
        assert self.others(trace) == before
        assert [cannery(*command, trace).output for command in commands] == printed
        assert cannery("info", trace).exit_code == cannery("diff", trace, trace).exit_code == 0
        assert sorted(path.name for path in (trace / "p0001").glob("keyframes*")) == ["keyframes", "keyframes.pack"]

    def test_a_trace_with_keyframes_can_be_replaced(self, trace: Path) -> None:
        source = shutil.copytree(trace, trace.with_name("source.cann"))
        assert cannery("trim", source, "--calls", "1:3", "-o", trace, "--force").exit_code == 0
        with Bundle.open(trace) as bundle:
            assert bundle.processes[0].counts().calls == 3

    def test_a_damaged_state_falls_back_to_the_one_before(self, trace: Path) -> None:
        expected = cannery("show", trace, "--at", "36").stdout
        with Bundle.open(trace) as bundle:
            frames = bundle.processes[0].keyframes()
            assert frames is not None
            last = frames.frames[-2:]
            places = [frames.place(frame.digest) for frame in last]
        pack = trace / "p0001" / "keyframes.pack"
        whole = pack.read_bytes()
        for offset, size in places:
            for at in range(offset, offset + size, max(size // 7, 1)):
                pack.write_bytes(whole[:at] + bytes([whole[at] ^ 0x40]) + whole[at + 1 :])
                result = cannery("show", trace, "--at", "36")
                assert result.exit_code == 0 and result.stdout == expected
                lines = result.stderr.splitlines()
                if offset == places[1][0]:
                    assert len(lines) == 1
                    assert f"the keyframe at call #{last[1].position.call} is damaged" in lines[0]
                else:
                    assert lines == []  # nobody read it

    def test_damaged_pages_fall_back_too(self, trace: Path) -> None:
        pack = trace / "p0001" / "keyframes.pack"
        pack.write_bytes(bytes(byte ^ 1 for byte in pack.read_bytes()))
        result = cannery("show", trace, "--at", "36")
        assert result.exit_code == 0
        assert len(result.stderr.splitlines()) == 7  # each in turn, and then the beginning
        pack.unlink()
        assert "is missing" in cannery("show", trace, "--at", "12").stderr

    def test_a_damaged_table_is_as_none(self, trace: Path) -> None:
        table = trace / "p0001" / "keyframes"
        whole = table.read_bytes()
        for at in range(0, len(whole), 9):
            table.write_bytes(whole[:at] + bytes([whole[at] ^ 1]) + whole[at + 1 :])
            result = cannery("show", trace, "--at", "20")
            assert result.exit_code == 0
            assert "replaying from the beginning" in result.stderr and len(result.stderr.splitlines()) == 1
        for size in (0, 1, len(whole) // 2, len(whole) - 1):
            table.write_bytes(whole[:size])
            assert cannery("show", trace, "--at", "20").exit_code == 0

    def test_keyframes_of_another_trace_do_no_harm(self, trace: Path, tmp_path: Path) -> None:
        other = scenarios.ALL["events"]().save(tmp_path / "b.cann")
        for name in ("keyframes", "keyframes.pack"):
            (other / "p0001" / name).write_bytes((trace / "p0001" / name).read_bytes())
        assert cannery("show", other, "--at", "3").exit_code == 0
        assert cannery("show", other, "--at", "30").exit_code in (0, 2)  # a state that fits no record, or none at all

    def test_those_of_another_version_are_not_used(self, trace: Path, monkeypatch: pytest.MonkeyPatch) -> None:
        monkeypatch.setattr("cannery.replayer.seek.VERSION", "77.0")
        result = cannery("show", trace, "--at", "20")
        assert result.exit_code == 0
        assert "'cannery index' renews them" in result.stderr

    def test_a_kill_between_the_two_files_leaves_the_old_table(self, trace: Path) -> None:
        """The new pack is there, the old table still: what both have is used, and the rest counts as damaged."""
        table = trace / "p0001" / "keyframes"
        before = table.read_bytes()
        assert cannery("index", trace, "--every", "4").exit_code == 0
        expected = cannery("show", trace, "--at", "36").stdout
        table.write_bytes(before)
        result = cannery("show", trace, "--at", "36")
        assert result.exit_code == 0 and result.stdout == expected

    def test_up_to_a_difference(self, tmp_path: Path) -> None:
        live = scenarios.ALL["memory"]()
        place = next(place for place, record in enumerate(live.records) if getattr(record, "number", 0) == 20)
        call = live.records[place]
        assert isinstance(call, Call)
        live.records[place] = call._replace(ret=1)
        trace = live.save(tmp_path / "a.cann")
        result = cannery("index", trace, "--every", "5")
        assert result.exit_code == 1
        assert "the replay differs from the trace at call #20" in result.stderr
        with Bundle.open(trace) as bundle:
            frames = bundle.processes[0].keyframes()
            assert isinstance(frames, Keyframes) and [frame.position.call for frame in frames.frames] == [5, 10, 15, 20]
        shown = cannery("show", trace, "--at", "30")
        assert shown.exit_code == 0 and "what is shown is the state of the replay" in shown.stderr

    def test_a_call_that_there_is_not(self, trace: Path) -> None:
        with Bundle.open(trace) as bundle, pytest.raises(ReplayError, match="there is no call #99; the trace has 36"):
            reach(bundle, bundle.processes[0], 99, nothing)


class TestSeveralWriters:
    """Two commands that write keyframes of one process at the same time: one does, the other says why not."""

    @pytest.fixture
    def trace(self, tmp_path: Path) -> Path:
        return scenarios.ALL["memory"]().save(tmp_path / "a.cann")

    def refused(self, *command: "str | Path") -> bool:
        result = cannery(*command)
        assert result.exit_code == 2, result.output
        assert result.stderr.count("\n") == 1
        return "another command is writing" in result.stderr

    def test_the_second_is_told_of_the_first(self, trace: Path) -> None:
        with Bundle.open(trace) as bundle:
            (stream,) = bundle.processes
            writer = stream.keyframe_writer("first")
            assert self.refused("index", trace)
            assert self.refused("repair", trace)
            finish(trace)
            writer.finish()
            assert self.frames(trace) == "first"
        assert cannery("index", trace, "--every", "5").exit_code == 0
        assert cannery("repair", trace).exit_code == 0
        assert self.frames(trace) != "first"

    def test_between_the_two_names_nobody_else_begins(self, trace: Path, monkeypatch: pytest.MonkeyPatch) -> None:
        replace = Folder.replace

        def replace_and_look(folder: Folder, name: str, data: bytes) -> None:
            monkeypatch.undo()
            assert self.refused("index", trace)
            replace(folder, name, data)

        with Bundle.open(trace) as bundle:
            writer = bundle.processes[0].keyframe_writer("first")
            monkeypatch.setattr(Folder, "replace", replace_and_look)
            writer.finish()
        assert sorted(path.name for path in (trace / "p0001").glob("keyframes*")) == ["keyframes", "keyframes.pack"]
        assert cannery("index", trace).exit_code == 0

    def test_what_a_kill_left_is_written_over(self, trace: Path) -> None:
        (trace / "p0001" / "keyframes.pack.new").write_bytes(b"half" * 1000)
        assert cannery("index", trace, "--every", "5").exit_code == 0
        assert not (trace / "p0001" / "keyframes.pack.new").exists()
        with Bundle.open(trace) as bundle:
            reached = reach(bundle, bundle.processes[0], 12, nothing)
            assert reached.replay.calls

    def frames(self, trace: Path) -> str:
        with Bundle.open(trace) as bundle, Folder(str(trace)) as top, top.folder("p0001") as folder:
            assert bundle.processes
            found = Keyframes.read(folder, "keyframes")
            assert found is not None
            return found.tool
