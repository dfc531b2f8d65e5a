"""Records on the wire: what was recorded is what is read, whatever it was."""

import struct
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from cannery.recorder import format
from cannery.recorder.format import DamagedTrace
from cannery.recorder.packing import pack
from cannery.recorder.records import Call, Effect, Enter, Exit, Invoke, Note, Pace, Payload, Record
from cannery.recorder.stream import Head, read_head, read_window

from .trace_tools import LAYOUTS, SCHEMA, read, streams, window


@given(streams())
def test_records_come_back_as_they_were(records: list[Record]) -> None:
    assert read(window(records)) == records


@given(streams())
def test_a_journal_ends_at_the_first_zero_byte(records: list[Record]) -> None:
    assert read(window(records) + b"\0" + b"\x93\x01\x02\x03", journal=True) == records


@given(streams(), streams())
def test_a_window_is_read_without_those_before_it(first: list[Record], second: list[Record]) -> None:
    content = window(first)
    steps = read_window(content, Head(1, 0, 0), LAYOUTS, "w", journal=False)
    try:
        while True:
            next(steps)
    except StopIteration as end:
        head: Head = end.value
    shifted = [_shift(record, head) for record in second]
    assert read(window(shifted, head)) == shifted


@given(streams(), st.integers(0, 13))
def test_what_is_passed_over_on_the_way_to_a_call_changes_nothing_behind_it(records: list[Record], start: int) -> None:
    many = tuple(Effect("read", True, Payload(8, None, struct.pack("<Q", n))) for n in range(1025))
    first = Call(0, 1, 9, "nothing", None, (), (), many)
    records = [first, *(_shift(record, Head(1, 1, 9)) for record in records)]
    steps = read_window(window(records), Head(1, 0, 0), LAYOUTS, "w", journal=False, start_call=start)
    passed = [each for each in records if isinstance(each, Call) and each.supported and each.number < start]
    assert list(steps) == [record for record in records if record not in passed]


def _shift(record: Any, head: Head) -> Any:
    """The record as it is when those of ``head`` came before."""
    if isinstance(record, Note | Exit | Invoke):
        return record
    record = record._replace(time=record.time + head.time)
    return record._replace(number=record.number + head.call) if isinstance(record, Call | Enter) else record


def test_a_call_of_two_handles_takes_a_dozen_bytes() -> None:
    record = Call(0, 1, 850, "pair", 0, (300, 5), (), ())
    assert len(window([record])) - len(window([])) == 11


def test_a_step_with_more_effects_than_a_record_may_have_is_one_step() -> None:
    many = tuple(Effect("read", True, Payload(8, None, struct.pack("<Q", n))) for n in range(3000))
    records: list[Record] = [Pace(5, many), Call(0, 1, 9, "nothing", None, (), (), many[:1025])]
    content = window(records)
    assert read(content) == records
    # the first effects of a step whose own record is missing belong to nothing
    cut = window(records[:1]) + pack((format.EFFECTS, (format.FILL,)))
    assert read(cut) == records[:1]


def test_optional_records_of_unknown_kinds_are_skipped() -> None:
    content = window([]) + pack((-99, "from a later version", {"a": 1})) + pack((format.NOTE, "host", 5))
    assert read(content) == [Note("host", 5)]


def test_mandatory_records_of_unknown_kinds_are_refused_and_what_is_before_them_is_read() -> None:
    first = Call(0, 1, 5, "nothing", None, (), (), ())
    content = window([first]) + pack((-63, 1))
    steps = read_window(content, Head(1, 0, 0), LAYOUTS, "w", journal=False)
    assert next(steps) == first
    with pytest.raises(DamagedTrace, match=r"kind -63.*must not skip") as caught:
        next(steps)
    assert caught.value.offset == len(window([first]))


BAD = {
    "no array": 7,
    "no kind": (),
    "a kind that is a text": ("call", 1, 2),
    "a kind that is a bool": (True, 1, 2, 0),
    "a function that is not in the schema": (len(LAYOUTS), 1, 2, 0),
    "too few parameters": (SCHEMA["pair"].number, 1, 2, 0, 5),
    "a thread that is no number": (SCHEMA["nothing"].number, "1", 2, None),
    "a time that is a float": (SCHEMA["nothing"].number, 1, 2.5, None),
    "an effect of an unknown kind": (SCHEMA["nothing"].number, 1, 2, None, (77,)),
    "an effect that is no array": (SCHEMA["nothing"].number, 1, 2, None, 1),
    "a payload that is too long to stand here": (SCHEMA["nothing"].number, 1, 2, None, (format.READ, bytes(33))),
    "a payload of negative size": (SCHEMA["nothing"].number, 1, 2, None, (format.READ, (-1, None))),
    "a digest of 15 bytes": (SCHEMA["nothing"].number, 1, 2, None, (format.READ, (40, bytes(15)))),
    "an entry of an unknown function": (format.ENTER, -1, 1, 2),
    "an end with too many outputs": (format.EXIT, 0, 1, SCHEMA["use"].number, 0, 9),
    "an unsupported call without its return value": (format.UNSUPPORTED, SCHEMA["nothing"].number, 1, 2),
    "a thread end of four": (format.THREAD_END, 1, 2, 3),
    "a thread effect without a worker": (format.PACE, 1, (format.THREAD, 2)),
    "a thread effect of names": (format.PACE, 1, (format.THREAD, "a", 0)),
    "a request without a signature": (format.INVOKE, 0, 1, 2),
    "a request whose signature is a number": (format.INVOKE, 0, 1, 2, 3),
    "a request for a function that is a name": (format.INVOKE, None, 1, "f", "void(ptr)"),
    "a request of a call that is a name": (format.INVOKE, "c", 1, 2, "void(ptr)"),
    "a return without a value": (format.RETURNED, 0, 1, 2),
    "a return whose thread is nil": (format.RETURNED, 0, None, 2, None),
    "a return with an effect that is none": (format.RETURNED, 0, 1, 2, None, 5),
    "an errand without a value": (format.ERRAND, 1, 2),
    "an errand of a named worker": (format.ERRAND, "w", 2, None),
    "a note that passes for a region": (format.NOTE, "region", (1, 2, 3)),
    "a region of names": (format.REGION, "a", "b", "c"),
    "a head in the middle": (format.WINDOW, 2, 0, 0),
}


@pytest.mark.parametrize("row", BAD.values(), ids=BAD.keys())
def test_a_record_that_breaks_the_rules_is_damage_at_its_offset(row: Any) -> None:
    before = window([Call(0, 1, 5, "nothing", None, (), (), ())])
    after = pack((SCHEMA["nothing"].number, 1, 2, None))
    with pytest.raises(DamagedTrace) as caught:
        read(before + pack(row) + after)
    assert (caught.value.path, caught.value.offset) == ("w", len(before))


@pytest.mark.parametrize(
    "head", [(1, 0, 0), (format.WINDOW, 0, 0, 0), (format.WINDOW, 1, -1, 0), (format.WINDOW, 1, 0)]
)
def test_a_window_begins_with_its_head(head: tuple[int, ...]) -> None:
    with pytest.raises(DamagedTrace):
        read_head(pack(head), "w", journal=False)


@pytest.mark.parametrize(
    "tail", [b"\xc1", b"\x93\x01", b"\xdd\xff\xff\xff\xff", b"\xc6\xff\xff\xff\xff", b"\xd4\x01\x01", b"\x92" * 3000]
)
def test_bytes_that_are_no_msgpack_are_damage_at_their_offset(tail: bytes) -> None:
    before = window([Call(0, 1, 5, "nothing", None, (), (), ())])
    with pytest.raises(DamagedTrace) as caught:
        read(before + tail)
    assert caught.value.offset == len(before)
