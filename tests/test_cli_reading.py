"""``cannery show``, ``info`` and ``replay``: what they print, and their exit statuses."""

import json
import re
import shutil
from pathlib import Path
from typing import Any

import pytest
from click.testing import CliRunner, Result

from cannery.recorder.records import Call, Note, Record
from cannery.tools.main import main
from tests import scenarios
from tests.live import Live


def cannery(*args: "str | Path") -> Result:
    return CliRunner().invoke(main, [str(arg) for arg in args])


@pytest.fixture(scope="module")
def traces(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder with a bundle of every scenario."""
    folder = tmp_path_factory.mktemp("traces")
    for name, scenario in scenarios.ALL.items():
        scenario().save(folder / f"{name}.cann")
    return folder


def alter(live: Live, function: str, **fields: Any) -> tuple[list[Record], int]:
    """The records with the last call of a function altered, and that call's number."""
    place, call = [(p, r) for p, r in enumerate(live.records) if isinstance(r, Call) and r.function == function][-1]
    return [*live.records[:place], call._replace(**fields), *live.records[place + 1 :]], call.number


class TestShow:
    def test_a_call_is_a_line(self, traces: Path) -> None:
        lines = cannery("show", traces / "memory.cann").stdout.splitlines()
        assert lines[2] == "#2 T1 +0.003ms aclrtCreateStream(stream=-> stream#3) = 0"
        assert lines[5] == (
            "#5 T1 +0.006ms aclrtMalloc(devPtr=-> d+0x10200, size=100, policy=ACL_MEM_MALLOC_HUGE_FIRST) = 0"
        )
        assert lines[9].endswith(
            "aclrtMalloc(devPtr=-> unwritten, size=1125899906842624, policy=ACL_MEM_MALLOC_HUGE_FIRST)"
            " = 207001 ACL_ERROR_RT_MEMORY_ALLOCATION"
        )
        assert lines[14].endswith("= 0 [read 16 0x05060708090a0b0c0d0e0f1011121314]")
        assert any(line.startswith("+5.025ms pacer [write 1024 ") for line in lines)

    def test_a_wait_shows_its_beginning_and_its_end(self, traces: Path) -> None:
        lines = cannery("show", traces / "waits.cann").stdout.splitlines()
        assert "#8 T1 +0.009ms aclrtSynchronizeStreamWithTimeout(stream=stream#3, timeout=300) waits" in lines
        assert "T1 +300.009ms limit of the wait passed" in lines
        assert "#8 T1 aclrtSynchronizeStreamWithTimeout ends = 507046 ACL_ERROR_RT_STREAM_SYNC_TIMEOUT" in lines
        assert "T2 +300.015ms thread ended" in lines

    def test_an_unsupported_call_says_so(self, traces: Path) -> None:
        shown = cannery("show", traces / "unsupported.cann", "--function", "aclplatformGet*").stdout
        assert shown.endswith("= 207000 ACL_ERROR_RT_FEATURE_NOT_SUPPORT (unsupported)\n")

    def test_values_of_handles_that_never_were_are_shown_as_they_came(self, traces: Path) -> None:
        shown = cannery("show", traces / "objects.cann", "--failed", "--function", "aclrtRecordEvent").stdout
        assert "aclrtRecordEvent(event=0x1234, stream=null) = 107017 ACL_ERROR_RT_INVALID_HANDLE" in shown

    def test_calls_functions_threads_and_failures_can_be_chosen(self, traces: Path) -> None:
        memory, waits = traces / "memory.cann", traces / "waits.cann"

        def numbers(*args: "str | Path") -> list[int]:
            lines = cannery("show", *args).stdout.splitlines()
            return [int(line[1 : line.index(" ")]) for line in lines]

        assert numbers(memory, "--calls", "3-5,9") == [3, 4, 5, 9]
        assert numbers(memory, "--calls", "0-8/4") == [0, 4, 8]
        assert numbers(memory, "--function", "aclrtFree*") == [27, 28, 31, 32]
        assert numbers(memory, "--failed", "--calls", "-".join(["0", "20"])) == [8, 9, 18]
        assert numbers(waits, "--thread", "3") == [3, 11, 11]

    def test_what_returns_a_number_or_a_handle_did_not_fail(self, traces: Path) -> None:
        shown = cannery("show", traces / "queues.cann").stdout
        failed = cannery("show", traces / "queues.cann", "--failed").stdout
        assert "acltdtCreateQueueAttr() = " in shown
        assert "acltdtCreateQueueAttr() = " not in failed
        assert "= 107000 ACL_ERROR_RT_PARAM_INVALID" in failed

    def test_a_call_that_fails_at_the_end_of_its_wait_failed(self, traces: Path) -> None:
        shown = cannery("show", traces / "waits.cann", "--failed").stdout
        assert shown.splitlines() == [
            "#8 T1 +0.009ms aclrtSynchronizeStreamWithTimeout(stream=stream#3, timeout=300) waits",
            "#8 T1 aclrtSynchronizeStreamWithTimeout ends = 507046 ACL_ERROR_RT_STREAM_SYNC_TIMEOUT",
        ]
        assert cannery("show", traces / "waits.cann", "--failed", "--calls", "0-8").stdout == shown
        assert cannery("show", traces / "waits.cann", "--failed", "--calls", "9-").stdout == ""

    def test_a_part_has_the_ends_of_calls_that_began_before_it(self, traces: Path, tmp_path: Path) -> None:
        part = tmp_path / "part.cann"
        cannery("trim", traces / "waits.cann", "--calls", "9:", "-o", part)
        end = "#8 T1 aclrtSynchronizeStreamWithTimeout ends = 507046 ACL_ERROR_RT_STREAM_SYNC_TIMEOUT\n"
        assert end in cannery("show", part).stdout
        assert cannery("show", part, "--failed").stdout == end
        assert cannery("show", part, "--calls", "9-12", "--failed").stdout == ""
        (counted,) = json.loads(cannery("stats", part, "--json").stdout)["processes"]
        assert (counted["calls"], counted["failures"]) == (6, 1)
        assert json.loads(cannery("info", part, "--json").stdout)["failures"] == 1

    def test_a_call_that_fails_has_what_it_had_the_program_run(self, traces: Path) -> None:
        lines = cannery("show", traces / "snapshots.cann", "--failed").stdout.splitlines()
        assert [line for line in lines if line.startswith("#17 ")] == [
            "#17 T1 +0.018ms aclrtSnapShotProcessBackup(pid=process#1, args=null) waits [process id 1]",
            "#17 T1 runs function#1(0, set)",
            "#17 T1 +0.019ms function returned 3",
            "#17 T1 aclrtSnapShotProcessBackup ends = 507912 ACL_ERROR_SNAPSHOT_CALLBACK_FAILED",
        ]

    @pytest.mark.parametrize("name", scenarios.ALL)
    def test_all_commands_count_the_same_failures(self, traces: Path, name: str) -> None:
        trace = traces / f"{name}.cann"
        shown = map(json.loads, cannery("show", trace, "--failed", "--json").stdout.splitlines())
        failed = {record["number"] for record in shown}
        (counted,) = json.loads(cannery("stats", trace, "--json").stdout)["processes"]
        assert json.loads(cannery("info", trace, "--json").stdout)["failures"] == counted["failures"] == len(failed)

    @pytest.mark.parametrize("more", [[], ["--json"]])
    def test_a_choice_that_nothing_fits_is_said_to_be_empty(self, traces: Path, more: list[str]) -> None:
        result = cannery("show", traces / "objects.cann", "--calls", "100000-", *more)
        assert (result.exit_code, result.stdout) == (0, "")
        assert result.stderr == f"cannery: {traces / 'objects.cann'}: nothing fits what was asked for\n"

    def test_bare_listings_have_no_numbers_and_times(self, traces: Path) -> None:
        lines = cannery("show", "--bare", traces / "waits.cann").stdout.splitlines()
        assert "T1 aclrtCreateStream(stream=-> stream#3) = 0" in lines
        assert "T1 limit of the wait passed" in lines

    def test_json_has_one_record_per_line(self, traces: Path) -> None:
        live = scenarios.waits()
        shown = [json.loads(line) for line in cannery("show", "--json", traces / "waits.cann").stdout.splitlines()]
        assert len(shown) == len([record for record in live.records if not isinstance(record, Note)])
        assert shown[4] == {
            "process": 1,
            "record": "call",
            "number": 4,
            "thread": 1,
            "time": 5000,
            "function": "aclrtCreateStream",
            "ret": 0,
            "effects": [],
            "supported": True,
            "in": {"stream": True},
            "out": {"stream": 3},
        }

    def test_a_set_of_calls_that_is_none_is_refused(self, traces: Path) -> None:
        result = cannery("show", traces / "waits.cann", "--calls", "5-3")
        assert result.exit_code == 2
        assert "'5-3' is an empty set" in result.stderr
        assert "'1-x' is no set of calls" in cannery("show", traces / "waits.cann", "--calls", "1-x").stderr

    @pytest.mark.parametrize("option", ["--calls", "--function"])
    def test_a_function_that_is_misspelt_gets_the_nearest_suggested(self, traces: Path, option: str) -> None:
        result = cannery("show", traces / "waits.cann", option, "aclrtMaloc")
        assert result.exit_code == 2
        assert result.stderr == f"cannery: {option}: there is no function 'aclrtMaloc' (did you mean 'aclrtMalloc'?)\n"

    def test_calls_are_chosen_by_function_too(self, traces: Path) -> None:
        shown = cannery("show", traces / "memory.cann", "--calls", "aclrtFree*,0").stdout
        assert [line.split()[0] for line in shown.splitlines()] == ["#0", "#27", "#28", "#31", "#32"]

    def test_kernels_have_their_names_and_say_whether_they_have_a_model(self, traces: Path) -> None:
        lines = cannery("show", traces / "launches.cann").stdout.splitlines()
        (looked_up,) = [line for line in lines if 'kernelName="add"' in line]
        assert re.search(r"funcHandle=-> kernel#5 add\) = 0 \[model add [0-9a-f]{16}\]$", looked_up)
        assert any(line.endswith("funcHandle=-> kernel#7 unknown) = 0 [no model]") for line in lines)
        assert any("[kernel ran, 1 ranges] [wrote a16+0x0 64 " in line for line in lines)
        launched = cannery("show", traces / "launches.cann", "--bare", "--function", "aclrtLaunchKernelWithHostArgs")
        first, second, *_ = launched.stdout.splitlines()
        assert first.startswith(
            "T1 aclrtLaunchKernelWithHostArgs(funcHandle=kernel#5 add, numBlocks=8, stream=stream#3"
        )
        assert " = 0 (unmodelled)" in second
        lines = cannery("show", traces / "kernel_failures.cann").stdout.splitlines()
        assert any("[kernel failed: its model (" in line for line in lines)


class TestInfo:
    def test_json_has_the_totals(self, traces: Path) -> None:
        found = json.loads(cannery("info", "--json", traces / "waits.cann").stdout)
        assert (found["calls"], found["threads"], found["failures"]) == (15, 3, 1)
        assert found["bytes"] == sum(p.stat().st_size for p in (traces / "waits.cann").rglob("*") if p.is_file())
        assert found["processes"][0]["settings"]["product"] == "A2"
        assert found["problems"] == []

    def test_text_names_settings_and_arguments(self, traces: Path) -> None:
        shown = cannery("info", traces / "waits.cann").stdout
        assert "holds     15 calls (1 failed), 3 threads" in shown
        assert "process 1: ./app argument" in shown
        assert "settings  product A2, devices 2, schedule asap, clock real" in shown


class TestReplay:
    @pytest.mark.parametrize("name", scenarios.ALL)
    def test_the_same_is_status_0(self, traces: Path, name: str) -> None:
        result = cannery("replay", traces / f"{name}.cann")
        assert (result.exit_code, result.stderr) == (0, "")
        assert result.stdout.endswith("calls replayed, all the same\n")

    def test_a_difference_is_status_1_and_is_explained(self, tmp_path: Path) -> None:
        live = scenarios.objects()
        records, number = alter(live, "aclrtEventElapsedTime", outs=(9.5,))
        result = cannery("replay", live.save(tmp_path / "t.cann", records))
        assert result.exit_code == 1
        lines = result.stdout.splitlines()
        assert lines[0].endswith(f"call #{number}, thread 1, aclrtEventElapsedTime: output ms differs")
        assert lines[1] == "  expected  9.5"
        assert float(lines[2].removeprefix("  actual    ")) == pytest.approx(0.3)
        assert any("event#7 was made by #" in line and "aclrtCreateEventWithFlag" in line for line in lines)
        before = lines[lines.index("  just before:") + 1 :]
        assert len(before) == 8
        assert before[-1].strip().startswith(f"#{number - 1} T1 ")

    def test_json_has_the_difference(self, tmp_path: Path) -> None:
        live = scenarios.objects()
        records, number = alter(live, "aclrtEventElapsedTime", ret=107017)
        found = json.loads(cannery("replay", "--json", live.save(tmp_path / "t.cann", records)).stdout)
        (process,) = found["processes"]
        assert (found["status"], process["same"], process["total"]) == (1, False, 1)
        (difference,) = process["differences"]
        assert difference["call"] == number
        assert difference["expected"] == "107017 ACL_ERROR_RT_INVALID_HANDLE"
        assert difference["actual"] == "0"

    def test_keep_going_lists_the_others(self, tmp_path: Path) -> None:
        live = scenarios.objects()
        records = [r._replace(ret=1) if isinstance(r, Call) and "Destroy" in r.function else r for r in live.records]
        result = cannery("replay", "--keep-going", live.save(tmp_path / "t.cann", records))
        assert result.exit_code == 1
        destroyed = [record for record in records if "Destroy" in getattr(record, "function", "")]
        assert result.stdout.count("return value differs") == len(destroyed)

    def test_a_stale_handle_is_explained_by_its_release(self, tmp_path: Path) -> None:
        live = scenarios.memory()
        live.call("aclrtSynchronizeStream", live.wire.decoder("handle")(3))
        records, _ = alter(live, "aclrtSynchronizeStream", ret=0)
        shown = cannery("replay", live.save(tmp_path / "t.cann", records)).stdout
        assert re.search(r"stream#3 was made by #2 T1 .* aclrtCreateStream\(", shown)
        assert re.search(r"stream#3 was released by #\d+ T1 .* aclrtDestroyStream\(stream=stream#3\) = 0", shown)

    def test_bytes_that_are_not_kept_are_said_to_be_not_compared(self, tmp_path: Path) -> None:
        result = cannery("replay", scenarios.memory(policy="none").save(tmp_path / "t.cann"))
        assert result.exit_code == 0
        assert "results not compared: the trace was recorded without the bytes they follow from" in result.stdout

    def test_another_product_is_a_question_and_lists_what_changes(self, traces: Path) -> None:
        result = cannery("replay", "--product", "310P", traces / "memory.cann")
        assert result.exit_code == 1
        assert "aclrtGetMemInfo: output total differs: expected 68719476736" in result.stdout
        assert cannery("replay", "--product", "A2", traces / "memory.cann").exit_code == 0

    def test_a_slower_device_changes_no_result_of_a_program_that_synchronises(self, traces: Path) -> None:
        result = cannery("replay", "--schedule", "late", traces / "waits.cann")
        assert (result.exit_code, result.stdout.endswith("all the same\n")) == (0, True)

    def test_kernels_are_computed_again_with_models(self, traces: Path, tmp_path: Path) -> None:
        trace, models = traces / "launches.cann", tmp_path / "models.py"
        models.write_text("from tests.kernel_tools import add\n")
        result = cannery("replay", trace, "--kernels", models)
        assert result.exit_code == 0
        assert "2 kernel launches computed again" in result.stdout
        assert "no model given for double: what 5 launches wrote was taken from the trace" in result.stdout
        models.write_text("from tests.test_kernel_replay import wrong\n")
        result = cannery("replay", trace, "--kernels", models)
        assert result.exit_code == 1
        assert "expected  what the model of add wrote\n  actual    element 0 of z is " in result.stdout
        result = cannery("replay", trace, "--kernels", tmp_path / "none.py")
        assert (result.exit_code, result.stdout) == (2, "")
        assert "none.py: no such file of kernel models" in result.stderr


class TestBadTraces:
    @pytest.mark.parametrize("verb", ["show", "info", "replay"])
    def test_what_is_no_bundle_is_status_2_with_one_line(self, verb: str, tmp_path: Path) -> None:
        (tmp_path / "file").write_text("hello")
        (tmp_path / "folder").mkdir()
        for name in ("missing", "file", "folder"):
            result = cannery(verb, tmp_path / name)
            assert (result.exit_code, result.stdout) == (2, "")
            assert result.stderr.startswith(f"cannery: {tmp_path / name}")
            assert result.stderr.count("\n") == 1

    def test_damage_is_named_after_what_can_be_read(self, traces: Path, tmp_path: Path) -> None:
        trace = tmp_path / "t.cann"
        shutil.copytree(traces / "memory.cann", trace)
        journal = trace / "p0001" / "000001.journal"
        content = bytearray(journal.read_bytes())
        used = len(content.rstrip(b"\0"))
        content[used // 2 : used // 2 + 4] = b"\xc1\xc1\xc1\xc1"  # a byte that msgpack never uses
        journal.write_bytes(content)
        for verb in ("show", "replay", "info"):
            result = cannery(verb, trace)
            assert result.exit_code == 2, verb
            assert "p0001/000001.journal: damaged at byte" in result.stderr
            assert result.stderr.count("\n") == 1
        assert "#5 T1" in cannery("show", trace).stdout
        assert "replayed" in cannery("replay", trace).stderr

    def test_a_process_that_is_not_there(self, traces: Path) -> None:
        for verb in ("show", "replay"):
            result = cannery(verb, "--process", "7", traces / "memory.cann")
            assert result.exit_code == 2
            assert "there is no process 7; it has 1" in result.stderr
