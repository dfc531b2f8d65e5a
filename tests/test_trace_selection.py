"""Recording of some calls only: what is left out is counted, and what belongs to a call goes with it."""

from pathlib import Path
from typing import Any

import pytest

from cannery.recorder.bundle import Bundle
from cannery.recorder.records import Call, Note, Record
from cannery.recorder.selection import DONE, SelectionError, SelectiveWriter, parse_selection
from cannery.replayer.process import replay_process
from cannery.runtime.handles import handle_of
from cannery.runtime.invoke import Invoke
from tests import scenarios

from .trace_tools import SCHEMA, Recording


def recorded(path: Path, text: str, calls: int = 10) -> tuple[list[Record], Recording]:
    """Calls of two functions by turns, then one that waits, has functions run, and ends."""
    recording = Recording(path)
    names = [form.name for form in SCHEMA.functions]
    writer = SelectiveWriter(recording.writer, parse_selection(text), names)
    encoders = [writer.encoder(SCHEMA[name].number) for name in ("use", "pair")]
    now = recording.now
    for number in range(calls):
        args = (handle_of(1), handle_of(2))[: number % 2 + 1]
        encoders[number % 2](1, now + number, args, 0, ())
    writer.pace(now + 20, ())
    codec = writer.codec(SCHEMA["use"].number)
    number = writer.enter(codec, 2, now + 30, (handle_of(1),), ())
    writer.invoke(2, 0, Invoke(0x4000, (0x5000,), "void(ptr)"))
    writer.invoke(0, 1, Invoke(0x6000, (7, 0), "u32(i32,ptr)"))
    encoders[1](2, now + 31, (0, 0), 107017, ())  # made by the function
    writer.returned(2, now + 32, 0, ())
    writer.expire(2, now + 33, ())
    writer.exit(codec, number, 2, 5)
    writer.errand(1, now + 34, 5, ())
    writer.unsupported(codec, 1, now + 35, (0,), 207000)
    writer.thread_end(2, now + 36)
    assert writer.calls == calls + 3
    with Bundle.open(path) as bundle:
        return [*bundle.processes[0].records()], recording


def shape(records: list[Record]) -> list[Any]:
    """Kind of each record, with number of calls and count of notes."""
    return [
        (type(record).__name__, record.value if isinstance(record, Note) else getattr(record, "number", None))
        for record in records
    ]


def test_everything_is_a_selection_too(tmp_path: Path) -> None:
    records, recording = recorded(tmp_path / "a.cann", "-")
    assert shape(records) == [
        *(("Call", number) for number in range(10)),
        ("Pace", None),
        ("Enter", 10),
        ("Invoke", 10),
        ("Invoke", None),
        ("Call", 11),
        ("Returned", 10),
        ("Expire", None),
        ("Exit", 10),
        ("Errand", None),
        ("Call", 12),
        ("ThreadEnd", None),
    ]
    assert recording.stops == []


def test_a_range_keeps_its_numbers_and_ends_the_recording(tmp_path: Path) -> None:
    records, recording = recorded(tmp_path / "a.cann", "3-5")
    assert shape(records) == [("Note", 3), ("Call", 3), ("Call", 4), ("Call", 5), ("Note", DONE)]
    assert recording.stops == [DONE]


def test_a_function_is_recorded_with_what_was_left_out_counted(tmp_path: Path) -> None:
    records, recording = recorded(tmp_path / "a.cann", "pair")
    assert shape(records)[:4] == [("Note", 1), ("Call", 1), ("Note", 1), ("Call", 3)]
    assert shape(records)[-2:] == [("Note", 1), ("Call", 11)]
    assert {type(record) for record in records} == {Note, Call}
    assert recording.stops == []


def test_what_belongs_to_a_call_goes_with_it(tmp_path: Path) -> None:
    records, _ = recorded(tmp_path / "a.cann", "10")
    assert shape(records) == [
        ("Note", 10),
        ("Pace", None),  # the next call is number 10
        ("Enter", 10),
        ("Invoke", 10),
        ("Returned", 10),
        ("Expire", None),
        ("Exit", 10),
        ("Note", DONE),
    ]


@pytest.mark.parametrize("text", ["", "5,", "1-x", "--", "3/0", "1;2"])
def test_what_is_no_selection_is_refused(text: str) -> None:
    with pytest.raises(SelectionError, match="expected numbers"):
        parse_selection(text)


def test_steps_and_open_ranges() -> None:
    selection = parse_selection("0-10/5, 20-, aclrtMem*")
    assert [number for number in range(25) if selection.covers(number)] == [0, 5, 10, 20, 21, 22, 23, 24]
    assert (selection.has("aclrtMemcpy"), selection.has("aclrtMalloc")) == (True, False)
    assert not selection.ended(1 << 40)
    assert (parse_selection("3,5-7").ended(7), parse_selection("3,5-7").ended(8)) == (False, True)


def test_replay_says_from_where_on_calls_are_missing(tmp_path: Path) -> None:
    live = scenarios.ALL["objects"]()
    live.records[4:] = [Note("skipped", 3), *live.records[7:]]
    with Bundle.open(live.save(tmp_path / "a.cann")) as bundle:
        result = replay_process(bundle, bundle.processes[0])
    first = next(n for n in range(10) if f"#{n} to" in str(result.damage))
    assert result.damage == f"calls #{first} to #{first + 2} were not recorded, and what follows depends on them"
    assert (result.calls, result.total) == (first, 0)
