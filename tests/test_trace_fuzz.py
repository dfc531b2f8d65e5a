"""Mutated bundles: some thousands of what ``bundle_fuzz`` makes, and each kind of thing that its long runs found."""

import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from click.testing import CliRunner
from hypothesis import given, settings
from hypothesis import strategies as st

from cannery.recorder.bundle import Bundle
from cannery.recorder.format import EFFECT_KINDS, MAX_TIME, DamagedTrace
from cannery.recorder.jsonl import dump_lines, load_lines
from cannery.recorder.records import Call, Note, Pace, Payload, Record, Returned
from cannery.recorder.sheet import pack_sheet, unpack_sheet
from cannery.recorder.stream import read_effect
from cannery.replayer.port import describe
from cannery.replayer.printer import Printer
from cannery.replayer.process import replay_process
from cannery.replayer.replay import ReplayError
from cannery.tools.main import main
from tests import scenarios
from tests.bundle_fuzz import Fuzzer
from tests.bundle_mutator import Mutator
from tests.live import HOST_BASE, OUT, SCHEMA, Live

BUNDLES = 4000
SECONDS = 18  # on a slow machine fewer bundles are tried, but so many:
LEAST = 400


def bounded(end: float) -> Iterator[int]:
    for number in range(BUNDLES):
        if number >= LEAST and time.monotonic() > end:
            return
        yield number


def test_no_mutated_bundle_breaks_a_rule(tmp_path: Path) -> None:
    end = time.monotonic() + SECONDS
    fuzzer = Fuzzer(tmp_path, seed=9)
    fuzzer.run(bounded(end))
    assert {"refused", "replayed to the damage", "differs", "same", "show: 0", "repair: 0"} <= set(fuzzer.words)
    assert "refused without a word" not in fuzzer.words
    assert fuzzer.worst_bytes < 600 << 20


@settings(max_examples=30, deadline=None)
@given(st.randoms(use_true_random=False))
def test_a_mutation_changes_something(tmp_path_factory: pytest.TempPathFactory, chance: Any) -> None:
    files = {"bundle": pack_sheet({"magic": "cannery", "version": 1})}
    assert Mutator(chance).mutate(files).keys() == files.keys()


# What it found


def program(*records: Record) -> Live:
    live = Live()
    live.ok("aclrtSetDevice", 0)
    live.records += records
    return live


def replayed(live: Live, path: Path, **more: Any) -> Any:
    with Bundle.open(live.save(path / "a.cann")) as bundle:
        return replay_process(bundle, bundle.processes[0], **more)


@pytest.mark.parametrize("time", [MAX_TIME, -MAX_TIME, 1 << 63])
def test_a_time_that_no_clock_shows_is_damage(tmp_path: Path, time: int) -> None:
    live = program(Pace(time, ()))
    with Bundle.open(live.save(tmp_path / "a.cann")) as bundle, pytest.raises(DamagedTrace, match="no clock shows"):
        list(bundle.processes[0].records())
    with Bundle.open(tmp_path / "a.cann") as bundle:
        assert "no clock shows" in (replay_process(bundle, bundle.processes[0]).damage or "")


def test_values_nested_as_deep_as_msgpack_reads_are_printed_and_written(tmp_path: Path) -> None:
    deep: Any = None
    for _ in range(1000):
        deep = (deep,)
    live = program(Note("host", deep))
    with Bundle.open(live.save(tmp_path / "a.cann")) as bundle:
        records = [*bundle.processes[0].records()]
        assert list(load_lines(dump_lines(records))) == records
        assert "[[[[" in Printer(SCHEMA).line(records[-1])


def test_a_map_whose_keys_are_bytes_is_printed() -> None:
    record = Call(0, 1, 0, "aclrtSetDevice", {b"key": (1, None)}, (0,), (), ())
    assert "key" in Printer(SCHEMA).line(record)


@pytest.mark.parametrize(
    "value", [(), (1,), (1, "2"), ((), 5), {"key": (1,)}, {}, 2.5, "text", b"", b"12", True, 1 << 70]
)
def test_a_value_that_no_function_returns_is_printed(value: Any) -> None:
    printer = Printer(SCHEMA)
    assert printer.line(Returned(0, 1, 0, value, ()))
    for function in ("aclrtSetDevice", "aclrtGetRunMode", "aclrtMalloc", "aclrtMemcpy"):
        form = SCHEMA[function]
        ins, outs = (value,) * len(form.params), (value,) * len(form.outputs)
        assert printer.line(Call(0, 1, 0, function, value, ins, outs, ()))


@pytest.mark.parametrize("value", [b"12345678", "text", (1,), 2.5])
def test_a_failure_that_is_no_number_is_counted(tmp_path: Path, value: Any) -> None:
    live = program()
    live.records[-1] = live.records[-1]._replace(ret=value)  # type: ignore[union-attr]
    result = CliRunner().invoke(main, ["stats", str(live.save(tmp_path / "a.cann"))], catch_exceptions=False)
    assert result.exit_code == 0
    assert "1 failed" in result.stdout


@pytest.mark.parametrize("code", sorted(EFFECT_KINDS))
def test_an_effect_of_any_kind_that_failed_is_printed(code: int) -> None:
    effect = read_effect((-code, "why") if EFFECT_KINDS[code] == "kernel" else (-code, 5))
    assert EFFECT_KINDS[code] in Printer(SCHEMA).line(Call(0, 1, 0, "aclrtSetDevice", 0, (0,), (), (effect,)))
    assert EFFECT_KINDS[code] in describe(effect)


@pytest.mark.parametrize("size", [0, 1, 39, 4096])
def test_parameters_of_a_task_that_are_cut_short_end_in_words(tmp_path: Path, size: int) -> None:
    """Of a struct that programs pass by pointer, whose size nothing but an altered trace changes."""
    live = scenarios.ALL["graph_tasks"]()
    for place, record in enumerate(live.records):
        if isinstance(record, Call) and record.function == "aclmdlRITaskSetParams":
            live.records[place] = record._replace(ins=(record.ins[0], bytes(size)))
    result = replayed(live, tmp_path)
    assert result.damage is not None or not result.same


@pytest.mark.parametrize("devices", [65, 1 << 40, -1, True, "2"])
def test_a_number_of_devices_that_nobody_can_choose_is_refused(tmp_path: Path, devices: Any) -> None:
    path = program().save(tmp_path / "a.cann")
    sheet, _ = unpack_sheet((path / "p0001" / "process").read_bytes(), "")
    changed = sheet | {"settings": sheet["settings"] | {"devices": devices}}
    (path / "p0001" / "process").write_bytes(pack_sheet(changed))
    with Bundle.open(path) as bundle, pytest.raises(ReplayError, match="devices"):
        replay_process(bundle, bundle.processes[0])


@pytest.mark.parametrize("key", ["start", "device_base", "device_span", "first_ordinal"])
@pytest.mark.parametrize("value", [-1, 1 << 62, 2.5, None, "1"])
def test_a_number_of_the_process_sheet_that_cannot_be_is_damage(tmp_path: Path, key: str, value: Any) -> None:
    path = program().save(tmp_path / "a.cann")
    sheet, _ = unpack_sheet((path / "p0001" / "process").read_bytes(), "")
    (path / "p0001" / "process").write_bytes(pack_sheet(sheet | {key: value}))
    with pytest.raises(DamagedTrace, match=key):
        Bundle.open(path)


def test_a_trace_that_asks_for_more_memory_than_there_is_ends_in_words(tmp_path: Path) -> None:
    live = program()
    address = live.create("aclrtMalloc", 200 << 20, 0)
    live.ok("aclrtMemset", address, 200 << 20, 1, 200 << 20)
    live.ok("aclrtMemcpy", HOST_BASE, 64, address, 64, 2)
    assert replayed(live, tmp_path, memory=256 << 20).same
    with Bundle.open(tmp_path / "a.cann") as bundle:
        damage = replay_process(bundle, bundle.processes[0], memory=100 << 20).damage
    assert damage == "call #2: it uses more device memory than the 100 MiB that this machine has left"


@pytest.mark.parametrize("size", [1 << 30, 1 << 62])
def test_a_copy_of_more_host_memory_than_there_is_ends_in_words(tmp_path: Path, size: int) -> None:
    """Of any call that copies what it is given before it uses it."""
    live = program()
    attributes = live.call("acltdtCreateQueueAttr")
    _, queue = live.call("acltdtCreateQueue", attributes, OUT)
    live.ok("acltdtEnqueueData", queue, HOST_BASE, 64, None, 0, 0, 0)
    record: Any = live.records[-1]
    live.records[-1] = record._replace(ins=(*record.ins[:2], size, *record.ins[3:]))
    damage = replayed(live, tmp_path, memory=100 << 20).damage
    assert damage == f"call #3: it copies {size} bytes of host memory, and this machine has 100 MiB left"


@pytest.mark.parametrize("size", [-8, -(1 << 33), -(1 << 62), 2.0, True])
@pytest.mark.parametrize("function", ["aclrtMemcpy", "aclrtMemset", "aclrtMemcpyAsync"])
def test_a_number_that_its_type_does_not_have_is_damage(tmp_path: Path, function: str, size: Any) -> None:
    """A slice that ends below zero would have all that there is."""
    live = program()
    address = live.create("aclrtMalloc", 4096, 0)
    more = {"aclrtMemset": (1, 64), "aclrtMemcpy": (HOST_BASE, 64, 1), "aclrtMemcpyAsync": (HOST_BASE, 64, 1, 0)}
    live.ok(function, address, 64, *more[function])
    record: Any = live.records[-1]
    live.records[-1] = record._replace(ins=tuple(size if value == 64 else value for value in record.ins))
    damage = replayed(live, tmp_path, memory=100 << 20).damage
    assert damage is not None
    assert f"{function}(" in damage
    assert f"{size} is not of form number" in damage


def test_no_place_holds_less_than_nothing() -> None:
    live = program()
    address = live.create("aclrtMalloc", 4096, 0)
    place = live.machine.memory.place(address)
    assert place.allocation is not None
    whole = place.allocation.size
    assert [place.holds(size) for size in (-1, 0, whole, whole + 1)] == [False, True, True, False]


def test_a_binary_that_is_larger_than_memory_ends_in_words(tmp_path: Path) -> None:
    """One whose content is not in the trace: zeros would stand for it."""
    live = program()
    live.call("aclrtBinaryLoadFromData", HOST_BASE, 64, None, OUT)
    record: Any = live.records[-1]
    effect = record.effects[0]._replace(payload=Payload(1 << 62, None, None))
    live.records[-1] = record._replace(ins=(record.ins[0], 1 << 62, *record.ins[2:]), effects=(effect,))
    damage = replayed(live, tmp_path, memory=100 << 20).damage
    assert damage == f"call #1: it copies {1 << 62} bytes of host memory, and this machine has 100 MiB left"


def test_memory_that_was_freed_can_be_used_again(tmp_path: Path) -> None:
    live = program()
    for _ in range(5):
        address = live.create("aclrtMalloc", 40 << 20, 0)
        live.ok("aclrtMemset", address, 40 << 20, 1, 40 << 20)
        live.ok("aclrtFree", address)
    assert replayed(live, tmp_path, memory=60 << 20).same


def test_arrays_that_are_shorter_than_their_count_are_damage(tmp_path: Path) -> None:
    """As the machine may assume of a program's arguments that they are as long as their count says."""
    live = Live()
    live.ok("aclrtSetDevice", 0)
    address = live.create("aclrtMalloc", 4096, 0)
    attribute = ((0, 1), (0, 0), (0,) * 16)
    args = ((address, address), (4096, 4096), (HOST_BASE, HOST_BASE), (8, 8), 2, (attribute,), (0,), 1)
    live.call("aclrtMemcpyBatch", *args, 0x1000)
    place = next(n for n, record in enumerate(live.records) if getattr(record, "function", "") == "aclrtMemcpyBatch")
    record: Any = live.records[place]
    live.records[place] = record._replace(ins=(record.ins[0][:1], *record.ins[1:]))
    result = replayed(live, tmp_path)
    assert not result.same
