"""What format version 1 promises: who reads what, which rules count for old recordings, what a table may do."""

import json
import shutil
from pathlib import Path
from typing import Any

import pytest
from click.testing import CliRunner

from cannery.recorder import format
from cannery.recorder.bundle import Bundle
from cannery.recorder.format import DamagedTrace, PastVersion, TraceError
from cannery.recorder.forms import schema_of
from cannery.recorder.records import Call
from cannery.recorder.repair import repair
from cannery.recorder.schema import FunctionForm, ParamForm, Schema, schema_digest
from cannery.recorder.sheet import pack_sheet, unpack_sheet
from cannery.replayer.process import new_replay, replay_process
from cannery.replayer.replay import ReplayError
from cannery.replayer.report import Result
from cannery.runtime import behaviours
from cannery.runtime.api import MODEL
from cannery.runtime.behaviours import SWITCHES, Switch, behaviour, release
from cannery.runtime.calls.registry import HANDLERS
from cannery.runtime.settings import SettingError
from cannery.runtime.version import VERSION
from cannery.tools.main import main
from tests import scenarios
from tests.live import SCHEMA, Live
from tests.make_corpus import FUNCTIONS, TRACES

PAST = TRACES / "v0-small"
ONCE = Switch("rounding", None, None, "up", "an invented correction", since="9.4.0", before="down")
needs_python = pytest.mark.skipif(not behaviours.__file__.endswith(".py"), reason="the table is compiled in")


def cannery(*args: "str | Path") -> Any:
    return CliRunner().invoke(main, [*map(str, args)])


def alter(trace: Path, **keys: Any) -> Path:
    path = trace / "p0001" / format.PROCESS
    sheet, _ = unpack_sheet(path.read_bytes(), "")
    path.write_bytes(pack_sheet({**sheet, **keys}))
    return trace


def replayed(trace: Path) -> Result:
    with Bundle.open(trace) as bundle:
        return replay_process(bundle, bundle.processes[0])


class TestVersion0:
    REFUSED = f"{PAST} has format version 0, which this Cannery does not read: use Cannery 0.1.0"

    @pytest.mark.parametrize(
        "verb",
        [
            *(["info"], ["show"], ["replay"], ["stats"], ["index"], ["repair"]),
            *(["show", "--at", "3"], ["trim", "--calls", "1:2", "-o", "x"], ["redact", "-o", "x"]),
        ],
    )
    def test_no_verb_takes_it_and_each_says_who_does(self, verb: list[str]) -> None:
        before = {path: path.stat().st_mtime_ns for path in PAST.rglob("*")}
        result = cannery(verb[0], PAST, *verb[1:])
        assert (result.exit_code, result.stdout) == (2, "")
        assert result.stderr == f"cannery: {self.REFUSED}\n"
        assert {path: path.stat().st_mtime_ns for path in PAST.rglob("*")} == before

    @pytest.mark.parametrize("at", ["", "@3"])
    def test_traces_of_two_versions_are_not_compared(self, at: str) -> None:
        present = TRACES / "v1-small"
        for pair in ((PAST, present), (present, PAST)):
            result = cannery("diff", *(f"{path}{at}" for path in pair))
            assert (result.exit_code, result.stdout) == (2, "")
            assert result.stderr == f"cannery: {self.REFUSED}\n"

    def test_it_may_be_replaced(self, tmp_path: Path) -> None:
        shutil.copytree(PAST, tmp_path / "a.cann")
        with pytest.raises(PastVersion):
            Bundle.open(tmp_path / "a.cann")
        trace = scenarios.ALL["events"]().save(tmp_path / "b.cann")
        assert cannery("trim", trace, "--calls", "2:9", "-o", tmp_path / "a.cann", "--force").exit_code == 0
        assert replayed(tmp_path / "a.cann").same

    @pytest.mark.parametrize("version", [-1, "1", None, 1.0, True])
    def test_what_is_no_version(self, version: Any) -> None:
        with pytest.raises(DamagedTrace):
            format.check_version("a.cann", version)


class TestRecordedVersion:
    def test_it_stands_with_each_process(self, tmp_path: Path) -> None:
        with Bundle.open(scenarios.ALL["events"]().save(tmp_path / "a.cann")) as bundle:
            assert bundle.processes[0].tool == VERSION

    def test_without_it_a_stream_is_damaged(self, tmp_path: Path) -> None:
        trace = alter(scenarios.ALL["events"]().save(tmp_path / "a.cann"), tool=None)
        with pytest.raises(DamagedTrace, match="it has no tool"):
            Bundle.open(trace)

    def test_one_that_is_none_is_refused(self, tmp_path: Path) -> None:
        trace = alter(scenarios.ALL["events"]().save(tmp_path / "a.cann"), tool="the best")
        with pytest.raises(ReplayError, match="'the best' is no version of Cannery"):
            replayed(trace)

    @pytest.mark.parametrize(
        ("earlier", "later"), [("0.1.0", "0.2.0"), ("0.9.9", "0.10.0"), ("1.2.3", "10.0.0"), ("0.2.0.dev1", "0.2.1")]
    )
    def test_versions_compare_by_number(self, earlier: str, later: str) -> None:
        assert release(earlier) < release(later)
        assert release(f"{earlier}.dev3") == release(earlier)

    @pytest.mark.parametrize("text", ["", "1", "1.2", "a.b.c", "1.2.x", "1.2.-3", "1.2.9999999999"])
    def test_what_is_no_version_of_cannery(self, text: str) -> None:
        with pytest.raises(SettingError, match="is no version of Cannery"):
            release(text)


class TestCorrections:
    """A call that answers otherwise than before does so only where nothing was recorded before."""

    @pytest.mark.parametrize(
        ("recorded", "text", "value"),
        [
            ("9.3.9", "default", "down"),
            ("9.4.0", "default", "up"),
            ("10.0.0", "documented", "up"),
            ("9.3.9", "observed", "down"),
            ("9.3.9", "default,rounding=up", "up"),
            ("9.4.0", "default,rounding=down", "down"),
            ("9.3.9", "default,rounding=default", "down"),
        ],
    )
    @needs_python
    def test_which_rule_counts(
        self, recorded: str, text: str, value: str, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        monkeypatch.setattr(behaviours, "SWITCHES", (*SWITCHES, ONCE))
        monkeypatch.setitem(behaviours._BY_NAME, ONCE.name, ONCE)
        assert behaviour(text, recorded)["rounding"] == value

    @needs_python
    def test_a_recording_replays_by_the_rules_that_it_was_made_by(
        self, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        def corrected(machine: Any, thread: Any, *args: Any) -> Any:
            code, count = original(machine, thread, *args)
            return code, count + (machine.behaviour["rounding"] == "up")

        original = HANDLERS["aclrtGetDeviceCount"]
        old = Live()
        old.call("aclrtGetDeviceCount", 0x10)
        monkeypatch.setattr(behaviours, "SWITCHES", (*SWITCHES, ONCE))
        monkeypatch.setitem(behaviours._BY_NAME, ONCE.name, ONCE)
        monkeypatch.setitem(HANDLERS, "aclrtGetDeviceCount", corrected)
        trace = old.save(tmp_path / "old.cann")
        assert replayed(alter(trace, tool="9.3.9")).same
        assert not replayed(alter(trace, tool="9.4.0")).same
        with Bundle.open(alter(trace, tool="9.3.9")) as bundle:
            assert replay_process(bundle, bundle.processes[0], {"behaviour": "default,rounding=up"}).total == 1

    def test_no_correction_is_later_than_this_version(self) -> None:
        for switch in SWITCHES:
            assert bool(switch.since) == bool(switch.before)
            assert not switch.since or release(switch.since) <= release(VERSION)


class TestWords:
    """What a reader does not know of what was asked for is refused, since it may have changed what is there."""

    @pytest.mark.parametrize(
        ("keys", "words"),
        [
            ({"payload": "encrypted"}, "encrypted"),
            ({"payload": "input,aclrtMemcpy*=half"}, "half"),
            ({"calls": "0-9,every:5"}, "every:5"),
            ({"calls": "0-9,5%2"}, "5%2"),
            ({"tail": "3 windows"}, "unknown unit 'windows'"),
            ({"settings": {"colour": "red"}}, "settings this version does not know: colour"),
            ({"settings": {"clock": "sun"}}, "clock 'sun'"),
            ({"settings": {"schedule": "last"}}, "schedule 'last'"),
            ({"settings": {"product": "A9"}}, "A9"),
            ({"settings": {"behaviour": "best"}}, "best"),
        ],
    )
    def test_a_word_of_a_later_version(self, keys: dict[str, Any], words: str, tmp_path: Path) -> None:
        trace = alter(scenarios.ALL["events"]().save(tmp_path / "a.cann"), **keys)
        result = cannery("replay", trace)
        assert result.exit_code == 2
        assert words in result.stderr
        assert len(result.stderr.splitlines()) == 1
        assert cannery("show", trace).exit_code == 0  # reading depends on none of it


class TestFunctionTable:
    """Functions, roles and enum names may be added; a function that is implemented keeps its forms."""

    def test_every_function_that_may_have_been_recorded_keeps_its_forms(self) -> None:
        present = schema_of(MODEL)
        for name, (result, params) in json.loads(FUNCTIONS.read_text()).items():
            assert name in present, f"{name} is gone: traces of it cannot be replayed"
            wire = (result, tuple(map(tuple, params)))
            assert present[name].wire == wire, f"{name} has other forms than traces of it"

    def test_every_function_that_is_implemented_is_noted(self) -> None:
        missing = HANDLERS.keys() - json.loads(FUNCTIONS.read_text()).keys()
        assert not missing, f"run python -m tests.make_corpus, and commit {FUNCTIONS.name}: {missing}"

    def test_names_types_and_roles_may_change(self) -> None:
        one, other = (
            FunctionForm(7, "f", "aclError", "number", (ParamForm(*words, "handle", None, "E", "stream"),))
            for words in (("a", "T", "role"), ("b", "U", "other"))
        )
        assert one.wire == other.wire == ("number", (("handle", None),))

    def test_a_call_from_before_its_function_was_implemented_replays(self, tmp_path: Path) -> None:
        live = Live()
        live.ok("aclrtSetDevice", 0)
        call = Call(1, 1, 5000, "aclrtGetDeviceCount", 207000, (7, 8), (), (), False)
        trace = live.save(tmp_path / "a.cann", [*live.records, call])
        schema = SCHEMA["aclrtGetDeviceCount"]
        raw = schema._replace(params=tuple(ParamForm(name, "T", "raw", "raw", None) for name in "ab"))
        content = Schema([raw if form is schema else form for form in SCHEMA.functions], SCHEMA.enums).pack()
        (trace / format.SCHEMA).write_bytes(content)
        sheet, _ = unpack_sheet((trace / format.BUNDLE).read_bytes(), "")
        (trace / format.BUNDLE).write_bytes(pack_sheet({**sheet, "schema": schema_digest(content)}))
        result = replayed(trace)
        assert (result.same, result.damage, result.calls) == (True, None, 2)
        assert result.supported_now == {"aclrtGetDeviceCount": 1}

    def test_one_that_was_implemented_is_refused_with_other_forms(self, tmp_path: Path) -> None:
        with Bundle.open(scenarios.ALL["events"]().save(tmp_path / "a.cann")) as bundle:
            replay = new_replay(bundle, bundle.processes[0])
            old = replay.schema["aclrtSetDevice"]
            changed = old._replace(params=tuple(param._replace(into="raw") for param in old.params))
            replay.schema._by_name["aclrtSetDevice"] = changed
            with pytest.raises(ReplayError, match="aclrtSetDevice was recorded with other parameters"):
                replay.run(bundle.processes[0].records())


def test_a_part_can_be_repaired_and_is_as_it_was(tmp_path: Path) -> None:
    trace = scenarios.ALL["events"]().save(tmp_path / "a.cann")
    assert cannery("trim", trace, "--calls", "10:30", "-o", tmp_path / "b.cann").exit_code == 0
    with Bundle.open(tmp_path / "b.cann") as bundle:
        before = [*bundle.processes[0].records()]
    found = repair(tmp_path / "b.cann")
    assert (found.done, found.lost) == ((), ())
    with Bundle.open(tmp_path / "b.cann") as bundle:
        assert [*bundle.processes[0].records()] == before


def test_a_process_does_not_join_a_bundle_of_another_version(tmp_path: Path) -> None:
    live = scenarios.ALL["events"]()
    trace = live.save(tmp_path / "a.cann")
    sheet, _ = unpack_sheet((trace / format.BUNDLE).read_bytes(), "")
    (trace / format.BUNDLE).write_bytes(pack_sheet({**sheet, "version": 0}))
    with pytest.raises(TraceError, match="made by another version of Cannery; nothing is recorded"):
        live.save(trace)
