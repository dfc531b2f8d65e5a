"""``cannery stats``: what is counted, from records and at the command line."""

import json
from pathlib import Path
from typing import Any

import pytest
from click.testing import CliRunner, Result
from hypothesis import given
from hypothesis import strategies as st

from cannery.recorder.records import Call, Effect, Enter, Exit, Pace, Payload
from cannery.replayer.stats import HOST, Stats, Timeline
from cannery.tools.commands.stats import sparkline
from cannery.tools.main import main
from tests import scenarios, scenarios_kernels, trace_tools
from tests.live import SCHEMA, Live
from tests.scenarios import DEVICE_TO_DEVICE, DEVICE_TO_HOST, HOST_TO_DEVICE, HUGE_FIRST, SYNC, selected

SPAN = 1 << 39


def stats_of(records: Any, **more: Any) -> Stats:
    stats = Stats(SCHEMA, SPAN, **more)
    stats.read(records)
    return stats


def program() -> Live:
    """Two devices, copies in every direction, a wait, failures."""
    live = selected()
    stream = live.create("aclrtCreateStream")
    first, second = (live.create("aclrtMalloc", size, HUGE_FIRST) for size in (1000, 500))
    pinned = live.create("aclrtMallocHost", 4096)
    data = live.host.put(0, bytes(range(200)))
    live.ok("aclrtMemcpy", first, 1000, data, 200, HOST_TO_DEVICE)
    live.ok("aclrtMemcpy", first, 1000, data, 200, HOST_TO_DEVICE)
    live.ok("aclrtMemcpy", second, 500, first, 100, DEVICE_TO_DEVICE)
    live.ok("aclrtMemcpyAsync", pinned, 4096, second, 100, DEVICE_TO_HOST, stream)
    live.ok("aclrtSynchronizeStream", stream)
    live.call("aclrtMemcpy", second, 50, first, 100, DEVICE_TO_DEVICE)
    live.call("aclrtFree", 12345)
    live.ok("aclrtFree", second)
    live.ok("aclrtSetDevice", 1, thread=2)
    live.create("aclrtMalloc", 300, HUGE_FIRST, thread=2)
    live.ok("aclrtFreeHost", pinned)
    return live


@pytest.fixture(scope="module")
def stats() -> Stats:
    return stats_of(program().records)


def test_calls_are_counted_by_function_thread_and_stream(stats: Stats) -> None:
    assert stats.calls == 17
    assert stats.functions["aclrtMalloc"].calls == 3
    assert dict(stats.threads) == {1: 15, 2: 2}
    assert dict(stats.streams) == {3: 2}


def test_failures_are_counted_by_number(stats: Stats) -> None:
    assert stats.failures == 2
    assert dict(stats.functions["aclrtMemcpy"].failures) == {107000: 1}
    assert stats.functions["aclrtFree"].failures.total() == 1


def test_bytes_are_counted_by_direction(stats: Stats) -> None:
    assert dict(stats.bytes) == {"host_to_device": 400, "device_to_host": 100, "device_to_device": 100}


def test_payloads_are_told_apart_by_hash(stats: Stats) -> None:
    payloads = stats.payloads
    assert (payloads.total, payloads.distinct, payloads.unknown) == (3, 2, 0)
    assert (payloads.bytes, payloads.distinct_bytes) == (500, 300)


def test_memory_is_counted_by_device(stats: Stats) -> None:
    first, second, pinned = stats.memory[0], stats.memory[1], stats.memory[HOST]
    assert (first.allocations, first.frees, first.current, first.peak, first.peak_call) == (2, 1, 1000, 1500, 4)
    assert (second.allocations, second.frees, second.current, second.peak) == (1, 0, 300, 300)
    assert (pinned.allocations, pinned.frees, pinned.current, pinned.peak) == (1, 1, 0, 4096)
    assert max(value for _, value in first.timeline.points()) == 1500


def test_waits_are_counted_with_their_time() -> None:
    live = selected()
    live.ok("aclrtSetDevice", 0, thread=2)
    held, free = live.create("aclrtCreateStream"), live.create("aclrtCreateStream")
    event = live.create("aclrtCreateEventWithFlag", SYNC)
    live.ok("aclrtStreamWaitEvent", held, event)
    live.call("aclrtSynchronizeStream", held)
    live.ok("aclrtRecordEvent", event, free, thread=2, after=70_000)
    entered = next(record for record in live.records if isinstance(record, Enter))
    waits = stats_of(live.records).functions["aclrtSynchronizeStream"].waits
    assert (waits.count, waits.call, waits.longest) == (1, entered.number, waits.total)
    assert waits.total >= 70_000


def test_a_wait_that_ran_out_of_time_is_a_failure() -> None:
    live = selected()
    held = live.create("aclrtCreateStream")
    live.ok("aclrtStreamWaitEvent", held, live.create("aclrtCreateEventWithFlag", SYNC))
    live.call("aclrtSynchronizeStreamWithTimeout", held, 300)
    live.expire(1)
    function = stats_of(live.records).functions["aclrtSynchronizeStreamWithTimeout"]
    assert (function.failures.total(), function.waits.count) == (1, 1)
    assert function.waits.total >= 300_000_000


def test_a_call_that_never_returned_is_in_flight() -> None:
    live = selected()
    held = live.create("aclrtCreateStream")
    live.ok("aclrtStreamWaitEvent", held, live.create("aclrtCreateEventWithFlag", SYNC))
    live.call("aclrtSynchronizeStream", held)
    stats = stats_of(live.records)
    assert stats.in_flight == 1
    assert stats.functions["aclrtSynchronizeStream"].waits.count == 0


def test_memory_that_a_reset_took_away_is_not_counted_twice() -> None:
    live = Live()
    live.ok("aclInit", None)
    for _ in range(3):
        live.ok("aclrtSetDevice", 0)
        live.create("aclrtMalloc", 1000, HUGE_FIRST)
        live.ok("aclrtResetDevice", 0)
    assert stats_of(live.records).memory[0].peak == 1000


def test_only_chosen_calls_count() -> None:
    live = program()
    live.pace(10_000_000)
    stats = stats_of(live.records, chosen=lambda number, function: function == "aclrtMemcpy")
    assert set(stats.functions) == {"aclrtMemcpy"}
    assert stats.bytes["host_to_device"] == 400
    assert not stats.memory


def test_payloads_without_a_hash_are_unknown() -> None:
    effect = Effect("read", True, Payload(10, None, None))
    stats = stats_of([Pace(1, (effect, effect))])
    assert (stats.payloads.total, stats.payloads.distinct, stats.payloads.unknown) == (2, 0, 2)


@given(trace_tools.streams())
def test_any_records_can_be_counted(records: list[Any]) -> None:
    stats = Stats(trace_tools.SCHEMA, SPAN)
    stats.read(records)
    assert stats.calls == sum(isinstance(record, Call | Enter) for record in records)
    assert sum(function.calls for function in stats.functions.values()) == stats.calls


@pytest.mark.parametrize("name", scenarios.ALL)
def test_failures_are_those_of_the_records(name: str) -> None:
    live = scenarios.ALL[name]()
    failed = [record for record in live.records if isinstance(record, Call | Exit) and SCHEMA[record.function].can_fail
              and record.ret != 0]  # fmt: skip
    assert stats_of(live.records).failures == len(failed)


@given(st.lists(st.tuples(st.integers(0, 1 << 40), st.integers(0, 1000)), min_size=1))
def test_a_timeline_keeps_the_highest_value_in_bounded_space(changes: list[tuple[int, int]]) -> None:
    timeline = Timeline()
    for time, value in sorted(changes):
        timeline.add(time, value)
    points = timeline.points()
    assert len(points) <= 256
    assert max(value for _, value in points) == max(value for _, value in changes)
    assert [time for time, _ in points] == sorted(time for time, _ in points)


@pytest.mark.parametrize(
    ("timeline", "line"),
    [
        ([], ""),
        ([(0, 0)], ""),
        ([(0, 8)], "████"),
        ([(0, 0), (50, 8)], "  ██"),
        ([(0, 8), (30, 4), (80, 1)], "██▄▄"),
        ([(0, 1), (30, 8), (31, 1)], "▁█▁▁"),
    ],
)
def test_memory_over_time_is_a_line_of_bars(timeline: list[tuple[int, int]], line: str) -> None:
    assert sparkline(timeline, 100, 4) == line


# The command


def cannery(*args: "str | Path") -> Result:
    return CliRunner().invoke(main, [str(arg) for arg in args])


@pytest.fixture(scope="module")
def trace(tmp_path_factory: pytest.TempPathFactory) -> Path:
    path = tmp_path_factory.mktemp("traces") / "a.cann"
    program().save(path)
    return path


def test_the_text_has_functions_failures_bytes_and_memory(trace: Path) -> None:
    result = cannery("stats", trace)
    assert result.exit_code == 0
    lines = result.stdout.splitlines()
    assert lines[0].startswith("17 calls in 0.000 s, 2 failed")
    assert "4  aclrtMemcpy" in [line.strip() for line in lines]
    assert any(line.split() == ["1", "107000", "ACL_ERROR_RT_PARAM_INVALID", "aclrtMemcpy"] for line in lines)
    assert "threads   thread 1: 15, thread 2: 2" in lines
    assert "moved     400 B host to device, 100 B device to host, 100 B device to device" in lines
    assert "device 0  2 allocations, 1 freed; peak 1.5 kB (#4), 1.0 kB not freed" in lines
    assert "pinned    1 allocation, 1 freed; peak 4.1 kB (#5), 0 B not freed" in lines
    assert "▁" not in result.stdout and "\x1b" not in result.stdout


KEYS = {
    "": {"trace", "processes"},
    "process": {
        "process", "calls", "failures", "in_flight", "nanoseconds", "functions", "threads", "streams", "bytes",
        "payloads", "memory", "kernels", "kernels_failed",
    },
    "function": {"function", "calls", "unsupported", "failures", "waits"},
    "waits": {"count", "nanoseconds", "longest", "longest_call"},
    "bytes": {
        "host_to_device", "device_to_host", "device_to_device", "host_to_host", "files", "kernel_writes",
        "kernel_reads",
    },
    "payloads": {
        "count", "distinct", "repeated", "unknown", "bytes", "distinct_bytes", "stored", "stored_bytes",
    },
    "memory": {"device", "allocations", "frees", "requested", "current", "peak", "peak_call", "timeline"},
}  # fmt: skip


def test_json_has_the_documented_keys(trace: Path) -> None:
    found = json.loads(cannery("stats", trace, "--json").stdout)
    (process,) = found["processes"]
    function = process["functions"][0]
    parts = found, process, function, function["waits"], process["bytes"], process["payloads"], process["memory"][0]
    assert {name: set(part) for name, part in zip(KEYS, parts, strict=True)} == KEYS
    assert (process["calls"], process["failures"]) == (17, 2)
    assert [memory["device"] for memory in process["memory"]] == [0, 1, None]
    assert process["streams"] == {"stream#3": 2}
    assert process["payloads"]["stored_bytes"] == 200


def test_calls_are_chosen_as_everywhere(trace: Path) -> None:
    found = json.loads(cannery("stats", trace, "--json", "--calls", "aclrtM*,0").stdout)
    assert {entry["function"] for entry in found["processes"][0]["functions"]} == {
        "aclInit", "aclrtMalloc", "aclrtMallocHost", "aclrtMemcpy", "aclrtMemcpyAsync",
    }  # fmt: skip
    result = cannery("stats", trace, "--calls", "aclrtMaloc")
    assert result.exit_code == 2
    assert "did you mean 'aclrtMalloc'?" in result.stderr


def test_a_damaged_trace_is_counted_as_far_as_it_can_be_read(tmp_path: Path) -> None:
    damaged = tmp_path / "damaged.cann"
    program().save(damaged)
    for window in (damaged / "p0001").glob("000001.*"):
        content = bytearray(window.read_bytes())
        place = content.find(bytes(64)) if window.suffix == ".journal" else len(content) - 4
        content[place] ^= 0xC1  # no record begins so
        window.write_bytes(content)
    result = cannery("stats", damaged)
    assert result.exit_code == 2
    assert "damaged at byte" in result.stderr
    assert " calls in " in result.stdout


def test_what_is_no_trace_is_refused(tmp_path: Path) -> None:
    result = cannery("stats", tmp_path / "none.cann")
    assert (result.exit_code, result.stdout) == (2, "")


def test_kernels_are_counted_by_name(tmp_path: Path) -> None:
    path = scenarios_kernels.failures().save(tmp_path / "f.cann")
    lines = cannery("stats", path).stdout.splitlines()
    assert "kernels   raises: 2, double: 2" in lines
    assert "          3 launches failed" in lines
    path = scenarios_kernels.launches().save(tmp_path / "l.cann")
    (process,) = json.loads(cannery("stats", path, "--json").stdout)["processes"]
    assert process["kernels"] == [
        {"kernel": "double", "modelled": True, "launches": 4},
        {"kernel": "add", "modelled": True, "launches": 2},
        {"kernel": "unknown", "modelled": False, "launches": 1},
    ]
    assert process["bytes"]["kernel_writes"] > 0
