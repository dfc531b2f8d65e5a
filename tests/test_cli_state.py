"""``cannery show --at`` and ``cannery diff A@N B@M``: the state of a process at a call."""

import json
import sys
from pathlib import Path
from types import ModuleType
from typing import Any

import pytest
from click.testing import CliRunner, Result

from cannery.recorder.bundle import Bundle
from cannery.replayer.seek import reach
from cannery.replayer.state_view import view
from cannery.tools.main import main
from tests import scenarios
from tests.live import OUT, Live
from tests.scenarios import HOST_TO_DEVICE, SYNC, selected


def cannery(*args: "str | Path") -> Result:
    return CliRunner().invoke(main, [str(arg) for arg in args])


def shown(*args: "str | Path") -> str:
    result = cannery("show", *args)
    assert result.exit_code == 0, result.output
    return result.stdout


def busy(first: int = 0) -> Live:
    """A process with something of most kinds; ``first`` so many events before the others."""
    live = selected()
    for _ in range(first):
        live.create("aclrtCreateEvent")
    stream, other = (live.create("aclrtCreateStream") for _ in range(2))
    flag = live.create("aclrtCreateEventWithFlag", SYNC)
    done = live.create("aclrtCreateEventExWithFlag", SYNC)
    notify = live.create("aclrtCreateNotify", 0)
    memory = live.create("aclrtMalloc", 4096, 0)
    pinned = live.create("aclrtMallocHost", 4096)
    live.ok("aclrtMemset", memory, 4096, 65, 4096)
    live.ok("aclrtStreamWaitEvent", stream, flag)
    live.ok("aclrtRecordEvent", done, stream)
    live.ok("aclrtMemcpyAsync", memory, 64, pinned, 64, HOST_TO_DEVICE, stream)
    live.ok("aclrtWaitAndResetNotify", notify, other, 0)
    live.ok("aclmdlRICaptureBegin", live.create("aclrtCreateStream"), 2)
    live.call("aclrtSynchronizeStreamWithTimeout", stream, 100, thread=1)
    live.ok("aclrtSetDevice", 0, thread=2)
    return live


@pytest.fixture(scope="module")
def trace(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return busy().save(tmp_path_factory.mktemp("state") / "a.cann")


CALLS = busy().calls


class TestObjects:
    def test_the_text_has_every_object_with_what_it_has(self, trace: Path) -> None:
        lines = shown(trace, "--at", str(CALLS)).splitlines()
        text = "\n".join(lines)
        start = lines.index("streams:")
        assert lines[start + 2].startswith("  stream#3")
        assert lines[start + 3 : start + 6] == [
            "    event wait: number 1, event event#5, thread T1",
            "    event record: number 2, thread T1, event event#6",
            "    memory copy: number 3, destination d+0x0, size 64, source h1+0x0, thread T1",
        ]
        assert "    notify wait: number 4, notify notify#7, thread T1" in lines
        for part in (
            "  event#5      context context#1, device device 0, flags 1, permanent, uses 1, waitable, waits 1",
            "  event#6      context context#1, device device 0, ex, flags 1, ids",
            "  notify#7     device device 0",
            "captures:\n  model#9      streams [stream#8]",
            "allocations:\n  d+0x0        device device 0, size 4128",
            "pinned:\n  h1+0x0       size 4096",
            "waiting:\n  T1           call 16, function aclrtSynchronizeStreamWithTimeout, waits",
        ):
            assert part in text or part.startswith("  event#6"), part
        assert "deadline" in text and "  event#6 " in text

    def test_it_is_the_state_before_the_call(self, trace: Path) -> None:
        at_creation = next(
            number for number in range(CALLS) if '"aclrtCreateNotify"' in shown(trace, "--calls", str(number), "--json")
        )
        assert "notify#7" not in shown(trace, "--at", str(at_creation))
        assert "notify#7" in shown(trace, "--at", str(at_creation + 1))

    def test_json_has_what_the_machine_has(self, trace: Path) -> None:
        found = json.loads(shown(trace, "--at", str(CALLS), "--json"))
        assert found.pop("call") == CALLS and found.pop("trace") == str(trace)
        with Bundle.open(trace) as bundle:
            replay = reach(bundle, bundle.processes[0], CALLS, print).replay
        assert found == json.loads(json.dumps(view(replay)))
        streams = {each["name"]: each for each in found["streams"]}
        assert [task["task"] for task in streams["stream#3"]["tasks"]] == ["event wait", "event record", "memory copy"]
        assert streams["stream#8"]["captured"] and streams["stream#8"]["model"] == "model#9"
        assert [each["name"] for each in found["threads"]] == ["T1", "T2"]

    @pytest.mark.parametrize("scenario", scenarios.ALL)
    def test_every_state_can_be_shown(self, scenario: str, tmp_path: Path) -> None:
        live = scenarios.ALL[scenario]()
        path = live.save(tmp_path / "a.cann")
        replay = live.replay([])
        for record in live.records:
            replay.run([record])
            json.dumps(view(replay))
        for call in (0, live.calls // 2, live.calls):
            assert shown(path, "--at", str(call)).startswith("process:") or not call

    @pytest.mark.parametrize(
        ("args", "words"),
        [
            (("--at", "999"), "there is no call #999; the trace has"),
            (("--memory", "d+0:4"), "belong to --at N"),
            (("--at", "3", "--dtype", "int8"), "--dtype belongs to --memory"),
            (("--at", "3", "--memory", "d+0x0:4", "--shape", "2"), "--shape to --dtype"),
        ],
    )
    def test_wrong_use(self, trace: Path, args: tuple[str, ...], words: str) -> None:
        result = cannery("show", trace, *args)
        assert result.exit_code == 2
        assert words in result.stderr


class FakeArray:
    def __init__(self, values: Any) -> None:
        self.values = values

    def reshape(self, shape: list[int]) -> "FakeArray":
        if shape[0] * shape[1] != len(self.values):
            raise ValueError(f"cannot reshape array of size {len(self.values)}")
        rows = range(0, len(self.values), shape[1])
        return FakeArray([self.values[row : row + shape[1]] for row in rows])

    def tolist(self) -> Any:
        return self.values

    def __str__(self) -> str:
        return str(self.values)


class TestMemory:
    def test_bytes(self, trace: Path) -> None:
        text = shown(trace, "--at", str(CALLS), "--memory", "d+0x10:20")
        assert text == (
            "d+0x10: 4141 4141 4141 4141 4141 4141 4141 4141  AAAAAAAAAAAAAAAA\n"
            "d+0x20: 4141 4141                                AAAA\n"
        )
        absolute = f"{0x2000_0000_0000 + 0x10:#x}:0x14"
        assert shown(trace, "--at", str(CALLS), "--memory", absolute) == text
        found = json.loads(shown(trace, "--at", str(CALLS), "--memory", "d+0x0:1K", "--json"))
        assert found == {"call": CALLS, "address": "d+0x0", "size": 1024, "hex": "41" * 1024}

    def test_before_they_were_written(self, trace: Path) -> None:
        made = next(n for n in range(CALLS) if '"aclrtMemset"' in shown(trace, "--calls", str(n), "--json"))
        assert "0000 0000" in shown(trace, "--at", str(made), "--memory", "d+0:4")
        assert "4141 4141" in shown(trace, "--at", str(made + 1), "--memory", "d+0:4")

    @pytest.mark.parametrize(
        ("memory", "words"),
        [
            ("d+0:5000", "only 4128 bytes are allocated there"),
            ("d+0x8000:4", "nothing is allocated there"),
            ("0x1000:4", "no device memory"),
            ("d+0:0", "expected ADDR:LEN"),
            ("d+0", "expected ADDR:LEN"),
            ("x:4", "expected ADDR:LEN"),
        ],
    )
    def test_what_is_not_there(self, trace: Path, memory: str, words: str) -> None:
        result = cannery("show", trace, "--at", str(CALLS), "--memory", memory)
        assert result.exit_code == 2
        assert words in result.stderr

    def test_bytes_that_were_not_kept_are_told(self, tmp_path: Path) -> None:
        path = scenarios.memory(policy="hash").save(tmp_path / "a.cann")
        result = cannery("show", path, "--at", "24", "--memory", "d+0:4")
        assert result.exit_code == 0 and "zeros stand for them" in result.stderr

    def test_numbers_need_numpy(self, trace: Path, monkeypatch: pytest.MonkeyPatch) -> None:
        monkeypatch.setitem(sys.modules, "numpy", None)
        result = cannery("show", trace, "--at", str(CALLS), "--memory", "d+0:16", "--dtype", "int8")
        assert result.exit_code == 2 and "needs numpy" in result.stderr

    def test_numbers(self, trace: Path, monkeypatch: pytest.MonkeyPatch) -> None:
        """numpy does the work; a stand-in shows what it is asked."""
        numpy: Any = ModuleType("numpy")
        numpy.dtype = lambda name: name
        numpy.frombuffer = lambda content, dtype: FakeArray([*content]) if dtype == "int8" else 1 / 0
        monkeypatch.setitem(sys.modules, "numpy", numpy)
        args = (trace, "--at", str(CALLS), "--memory", "d+0:4", "--dtype", "int8")
        assert shown(*args, "--shape", "2,2") == "[[65, 65], [65, 65]]\n"
        found = json.loads(shown(*args, "--json"))
        assert found["values"] == [65] * 4 and found["dtype"] == "int8"
        result = cannery("show", *args, "--shape", "3,2")
        assert result.exit_code == 2 and "cannot reshape" in result.stderr


class TestDiff:
    def test_a_state_is_the_same_as_itself(self, trace: Path) -> None:
        result = cannery("diff", f"{trace}@{CALLS}", f"{trace}@{CALLS}")
        assert (result.exit_code, result.stdout) == (0, f"{trace}@{CALLS} and {trace}@{CALLS}: the same state\n")

    def test_two_states_of_a_trace(self, trace: Path) -> None:
        result = cannery("diff", f"{trace}@9", f"{trace}@{CALLS}")
        assert result.exit_code == 1
        lines = result.stdout.splitlines()
        assert lines[:2] == [f"--- {trace}@9", f"+++ {trace}@{CALLS}"]
        assert "+ captures: model#9" in lines
        assert "@@ streams: stream#3" in lines
        assert any(line.startswith("+   tasks[0] (task event wait, event event#5") for line in lines)

    def test_objects_with_other_numbers_are_the_same(self, trace: Path, tmp_path: Path) -> None:
        other = busy(first=2).save(tmp_path / "b.cann")
        result = cannery("diff", f"{trace}@{CALLS}", f"{other}@{CALLS + 2}", "--json")
        assert result.exit_code == 1, result.output
        found = json.loads(result.stdout)
        only = [each["b"] for each in found["differences"] if each["a"] is None]
        assert only == ["event#3", "event#4"]
        assert [each for each in found["differences"] if each["a"] is not None] == []

    def test_other_bytes_and_tasks_differ(self, trace: Path, tmp_path: Path) -> None:
        live = busy()
        live.ok("aclrtSetOpWaitTimeout", 5, thread=2)
        other = live.save(tmp_path / "b.cann")
        result = cannery("diff", f"{trace}@{CALLS}", f"{other}@{live.calls}")
        assert result.exit_code == 1
        assert [line for line in result.stdout.splitlines() if line[0] in "+-"][2:] == [
            "-   wait_limit 0",
            "+   wait_limit 5000000000",
        ]

    @pytest.mark.parametrize("args", [("--junit", "x.xml"), ("--calls", "3"), ("--ignore", "aclrtFree")])
    def test_wrong_use(self, trace: Path, args: tuple[str, ...]) -> None:
        for pair in ((f"{trace}@3", f"{trace}@4", *args), (f"{trace}@3", trace)):
            result = cannery("diff", *pair)
            assert result.exit_code == 2 and "compare A@N with B@M" in result.stderr

    def test_a_path_with_an_at_is_a_path(self, tmp_path: Path) -> None:
        live = selected()
        live.call("aclrtGetDevice", OUT)
        path = live.save(tmp_path / "a@3")
        assert cannery("diff", path, path).exit_code == 0
