"""``cannery diff``: what it prints, writes and returns, also for bundles that cannot be compared."""

import json
import shutil
from pathlib import Path
from typing import Any
from xml.etree import ElementTree

import pytest
from click.testing import CliRunner, Result

from cannery.recorder.records import Call, Note
from cannery.recorder.sheet import pack_sheet, unpack_sheet
from cannery.runtime.settings import Settings
from cannery.tools.main import main
from tests import scenarios
from tests.live import OUT, Live
from tests.scenarios import HUGE_FIRST, selected


def cannery(*args: "str | Path") -> Result:
    return CliRunner().invoke(main, [str(arg) for arg in args])


def program(*, more: bool = False, size: int = 100, settings: Settings | None = None) -> Live:
    live = selected(settings)
    live.create("aclrtCreateStream")
    if more:
        live.ok("aclrtGetDevice", OUT)
    memory = live.create("aclrtMalloc", 4096, HUGE_FIRST)
    live.ok("aclrtMemset", memory, 4096, 1, size)
    live.ok("aclrtFree", memory)
    live.ok("aclFinalize")
    return live


@pytest.fixture(scope="module")
def traces(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("traces")
    program().save(folder / "a.cann")
    program().save(folder / "b.cann")
    program(more=True).save(folder / "more.cann")
    program(size=60).save(folder / "size.cann")
    program(size=60, more=True).save(folder / "both.cann")
    scenarios.ALL["notifies"]().save(folder / "other.cann")
    shutil.copytree(folder / "a.cann", folder / "empty.cann")
    shutil.rmtree(folder / "empty.cann" / "p0001")
    return folder


@pytest.fixture
def compare(traces: Path) -> Any:
    return lambda a, b, *more: cannery("diff", traces / f"{a}.cann", traces / f"{b}.cann", *more)


def test_two_runs_that_do_the_same(compare: Any, traces: Path) -> None:
    result = compare("a", "b")
    assert result.exit_code == 0
    assert result.output == f"{traces}/a.cann and {traces}/b.cann: 7 calls compared, all the same\n"


def test_the_text_reads_as_that_of_diff(compare: Any, traces: Path) -> None:
    result = compare("a", "size")
    assert result.exit_code == 1
    assert result.stdout.splitlines() == [
        f"--- {traces}/a.cann  7 calls",
        f"+++ {traces}/size.cann  7 calls",
        "first cause: #4 aclrtMemset: argument count",
        "@@ thread 1: #4 aclrtMemset: argument count @@",
        "  #1 T1 aclrtSetDevice(deviceId=0) = 0",
        "  #2 T1 aclrtCreateStream(stream=-> stream#3) = 0",
        "  #3 T1 aclrtMalloc(devPtr=-> d+0x0, size=4096, policy=ACL_MEM_MALLOC_HUGE_FIRST) = 0",
        "- #4 T1 aclrtMemset(devPtr=d+0x0, maxCount=4096, value=1, count=100) = 0",
        "+ #4 T1 aclrtMemset(devPtr=d+0x0, maxCount=4096, value=1, count=60) = 0",
        "    argument count: 100 | 60",
        "    memory d+0x0 was made by "
        "#3 T1 aclrtMalloc(devPtr=-> d+0x0, size=4096, policy=ACL_MEM_MALLOC_HUGE_FIRST) = 0",
        "1 difference: 1 changed",
    ]  # fmt: skip


def test_a_call_more_is_marked_with_a_plus(compare: Any) -> None:
    lines = compare("a", "more").stdout.splitlines()
    assert [line for line in lines if line[0] in "+-"][2:] == ["+ #3 T1 aclrtGetDevice(deviceId=-> 0) = 0"]


def test_without_a_terminal_there_is_no_colour_and_no_bar(compare: Any) -> None:
    result = compare("a", "size")
    assert "\x1b" not in result.output
    assert result.stderr == ""


KEYS = {
    "": {"a", "b", "status", "same", "total", "notes", "processes"},
    "process": {
        "a", "b", "calls", "threads", "aligned", "total", "kinds", "causes", "causes_total", "timing", "end",
        "uncompared_calls", "unverified_payloads", "incomplete",
    },
    "cause": {
        "kind", "what", "threads", "calls", "count", "differences", "before", "objects", "following",
        "following_calls",
    },
    "call": {"number", "thread", "function", "text"},
}  # fmt: skip


def test_json_has_the_documented_keys(compare: Any) -> None:
    result = compare("a", "size", "--json")
    assert result.exit_code == 1
    found = json.loads(result.stdout)
    (process,) = found["processes"]
    (cause,) = process["causes"]
    assert {"": set(found), "process": set(process), "cause": set(cause), "call": set(cause["calls"]["a"][0])} == KEYS
    assert (found["status"], found["same"], found["total"]) == (1, False, 1)
    assert (process["calls"], process["aligned"], process["kinds"]) == ({"a": 7, "b": 7}, 7, {"changed": 1})
    assert cause["differences"] == [{"what": "argument count", "a": "100", "b": "60"}]
    assert cause["calls"]["b"][0]["function"] == "aclrtMemset"


def test_json_of_two_equal_traces_has_the_same_keys(compare: Any) -> None:
    found = json.loads(compare("a", "b", "--json").stdout)
    assert set(found) == KEYS[""]
    assert set(found["processes"][0]) == KEYS["process"]
    assert found["same"] is True


def test_junit_has_a_case_for_each_thread(compare: Any, tmp_path: Path) -> None:
    report = tmp_path / "report.xml"
    result = compare("a", "both", "--junit", report)
    assert result.exit_code == 1
    root = ElementTree.parse(report).getroot()
    assert (root.tag, root.get("tests"), root.get("failures"), root.get("errors")) == ("testsuites", "1", "1", "0")
    (case,) = root.iter("testcase")
    (failure,) = case
    assert (case.get("name"), failure.get("type")) == ("thread 1", "inserted")
    assert failure.get("message") == "#3 aclrtGetDevice inserted"
    assert "+ #5 T1 aclrtMemset" in (failure.text or "")


def test_junit_of_two_equal_traces_has_no_failure(compare: Any, tmp_path: Path) -> None:
    report = tmp_path / "report.xml"
    assert compare("a", "b", "--junit", report).exit_code == 0
    assert [*ElementTree.parse(report).iter("failure")] == []


def test_a_report_that_cannot_be_written_is_trouble(compare: Any, tmp_path: Path) -> None:
    result = compare("a", "b", "--junit", tmp_path / "none" / "report.xml")
    assert result.exit_code == 2
    assert "cannot write" in result.stderr


@pytest.mark.parametrize(
    ("options", "status"),
    [
        (["--ignore", "aclrtGetDevice"], 1),
        (["--ignore", "aclrtGetDevice,aclrtMemset"], 0),
        (["--ignore", "aclrtGet*", "--ignore", "*Memset"], 0),
        (["--calls", "0-2"], 0),
        (["--calls", "aclrtFree,aclrtMalloc"], 0),
        (["--calls", "aclrtMem*"], 1),
    ],
)
def test_calls_are_left_out(compare: Any, options: list[str], status: int) -> None:
    assert compare("a", "both", *options).exit_code == status


@pytest.mark.parametrize("option", ["--ignore", "--calls"])
def test_a_misspelt_function_gets_the_nearest_suggested(compare: Any, option: str) -> None:
    result = compare("a", "b", option, "aclrtMemSet")
    assert result.exit_code == 2
    assert f"{option}: there is no function 'aclrtMemSet' (did you mean 'aclrtMemset'?)" in result.stderr


def test_the_limit_counts_what_it_leaves_out(compare: Any) -> None:
    lines = compare("a", "both", "--limit", "1").stdout.splitlines()
    assert sum(line.startswith("@@") for line in lines) == 1
    assert lines[-2] == "... and 1 more cause (--limit)"
    assert compare("a", "both", "--limit", "0").stdout.count("\n@@") == 2


# What can hardly be compared


def test_programs_with_little_in_common(compare: Any) -> None:
    result = compare("other", "a")
    assert result.exit_code == 1
    assert "the traces have little in common: are they of the same program?" in result.stdout


def test_an_empty_trace(compare: Any, traces: Path) -> None:
    result = compare("a", "empty")
    assert result.exit_code == 1
    assert f"only in {traces}/a.cann: {traces}/empty.cann has no such process" in result.stdout
    assert f"note: {traces}/empty.cann: no runtime call was recorded" in result.stdout
    assert compare("empty", "empty").exit_code == 0


def test_a_trace_that_is_none(traces: Path, tmp_path: Path) -> None:
    for path in (tmp_path / "none.cann", tmp_path):
        result = cannery("diff", traces / "a.cann", path)
        assert (result.exit_code, result.stdout) == (2, "")
        assert str(path) in result.stderr


def test_a_trace_of_a_later_version(traces: Path, tmp_path: Path) -> None:
    later = tmp_path / "later.cann"
    shutil.copytree(traces / "a.cann", later)
    sheet, _ = unpack_sheet((later / "bundle").read_bytes(), "bundle")
    (later / "bundle").write_bytes(pack_sheet(sheet | {"version": 99}))
    for pair in ((traces / "a.cann", later), (later, traces / "a.cann")):
        result = cannery("diff", *pair)
        assert result.exit_code == 2
        assert f"{later}" in result.stderr and "99" in result.stderr


def test_a_damaged_trace_is_compared_up_to_the_damage(traces: Path, tmp_path: Path) -> None:
    damaged = tmp_path / "damaged.cann"
    live = program()
    live.save(damaged)
    for window in (damaged / "p0001").glob("000001.*"):
        content = bytearray(window.read_bytes())
        end = content.find(bytes(64)) if window.suffix == ".journal" else len(content)
        content[end - 4] = 0xC1
        window.write_bytes(content)
    result = cannery("diff", traces / "a.cann", damaged)
    assert result.exit_code == 2
    assert f"{damaged} is not complete: " in result.stdout
    assert "all the same as far as both go" in result.stdout
    assert "beyond the end of that trace not compared" in result.stdout
    assert "Traceback" not in result.output


def test_a_recording_that_stopped_is_told(traces: Path, tmp_path: Path) -> None:
    live = program()
    live.save(tmp_path / "stopped.cann", [*live.records[:-2], Note("stopped", "No space left on device")])
    result = cannery("diff", traces / "a.cann", tmp_path / "stopped.cann", "--json")
    found = json.loads(result.stdout)
    assert (result.exit_code, found["status"], found["total"]) == (2, 2, 0)
    assert found["processes"][0]["incomplete"] == {"b": "the recording stopped: No space left on device"}
    assert found["processes"][0]["uncompared_calls"] == 2


def test_a_trace_with_a_difference_before_its_damage_differs(traces: Path, tmp_path: Path) -> None:
    live = program(size=60)
    live.save(tmp_path / "stopped.cann", [*live.records[:-1], Note("stopped", "No space left on device")])
    assert cannery("diff", traces / "a.cann", tmp_path / "stopped.cann").exit_code == 1


def test_other_settings_are_told(traces: Path, tmp_path: Path) -> None:
    program(settings=Settings(devices=4)).save(tmp_path / "four.cann")
    result = cannery("diff", traces / "a.cann", tmp_path / "four.cann")
    assert "note: the runs had different settings: devices 2 and 4" in result.stdout


def test_a_process_that_is_not_there(compare: Any) -> None:
    result = compare("a", "b", "--process", "7")
    assert result.exit_code == 2
    assert "there is no process 7; it has 1" in result.stderr


def test_values_that_have_no_form_do_not_end_in_a_traceback(traces: Path, tmp_path: Path) -> None:
    live = program()
    for name, ins in (("text", ("x", "y", "z", "w")), ("deep", ((1, (2, ())), None, 2.5, b""))):
        records = [
            record._replace(ins=ins) if isinstance(record, Call) and record.function == "aclrtMemset" else record
            for record in live.records
        ]
        live.save(tmp_path / f"{name}.cann", records)
        result = cannery("diff", traces / "a.cann", tmp_path / f"{name}.cann")
        assert result.exit_code == 1, result.output
        assert "first cause: #4 aclrtMemset: argument devPtr" in result.stdout
