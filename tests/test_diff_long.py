"""Long rows of differences: each is told, and what lies behind them is still aligned."""

import pytest

from cannery.recorder.records import Call, Record
from cannery.replayer.comparison.identities import Identities
from cannery.replayer.comparison.objects import A
from cannery.replayer.comparison.shapes import shapes_of
from cannery.replayer.comparison.side import Side
from cannery.runtime.memory import DEVICE_SPAN
from tests.diff_tools import causes, compared, renumbered
from tests.live import DEVICE_BASE, OUT, SCHEMA, Live
from tests.scenarios import HUGE_FIRST, KILOBYTE, selected

ROW = 3000  # more than are looked at before calls of the same functions are taken for changed ones


def _filled(values: list[int]) -> list[Record]:
    """A program that fills memory with one value after the other."""
    live = selected()
    memory = live.create("aclrtMalloc", KILOBYTE, HUGE_FIRST)
    live.ok("aclrtMemset", memory, KILOBYTE, 0, KILOBYTE)
    fill = live.records[-1]
    assert isinstance(fill, Call)
    address, most, _, count = fill.ins
    return [*live.records, *(fill._replace(ins=(address, most, value, count)) for value in values)]


def _other(live: Live) -> Record:
    live.ok("aclrtGetDevice", OUT)
    return live.records[-1]


@pytest.mark.parametrize("row", [10, ROW, 3 * ROW])
def test_each_call_of_a_row_of_changed_calls_is_changed(row: int) -> None:
    found = compared(renumbered(_filled([1] * row)), renumbered(_filled([2] * row)))
    assert found.findings.kinds == {"changed": row}
    assert [facet.what for facet in causes(found)[0].facets] == ["argument value"]


def test_a_call_put_into_a_row_of_changed_calls_is_found() -> None:
    first, second = _filled([1] * (2 * ROW)), _filled([2] * (2 * ROW))
    more = [*second[:-ROW], _other(selected()), *second[-ROW:]]
    found = compared(renumbered(first), renumbered(more))
    assert found.findings.kinds == {"changed": 2 * ROW, "inserted": 1}


def test_a_call_behind_a_row_of_changed_calls_is_not_taken_for_a_changed_one() -> None:
    same = list(range(20_000, 20_000 + ROW))
    first, second = [1] * ROW + same, [2] * ROW + same[: ROW // 2] + [3] + same[ROW // 2 :]
    found = compared(renumbered(_filled(first)), renumbered(_filled(second)))
    assert found.findings.kinds == {"changed": ROW, "inserted": 1}


def test_what_follows_from_another_object_in_the_result_is_put_to_it() -> None:
    live = selected()
    contexts = [live.create("aclrtCreateContext", 0) for _ in range(2)]
    for context in contexts:  # both traces know both
        live.ok("aclrtSetCurrentContext", context)
    live.ok("aclrtGetCurrentContext", OUT)
    got = live.records[-1]
    assert isinstance(got, Call)
    live.ok("aclrtSetCurrentContext", contexts[0])
    use = live.records.pop()
    first_made = next(record for record in live.records if getattr(record, "function", "") == "aclrtCreateContext")
    assert isinstance(first_made, Call)
    other = [*live.records[:-1], got._replace(outs=first_made.outs), use]
    found = compared(renumbered(live.records), renumbered(other))
    (cause,) = causes(found)
    assert [facet.what for facet in cause.facets] == ["output context"]
    assert found.findings.kinds == {"changed": 1, "inserted": 1}


def test_memory_that_was_freed_long_ago_is_forgotten() -> None:
    """Of a program that allocates and frees for ever, no more is known than of what it has."""
    shapes = shapes_of(SCHEMA, SCHEMA)
    known = Identities(lambda side, instead, call: None)
    live = selected()
    sides = [Side([], shapes, devices=(DEVICE_BASE, 4 * DEVICE_SPAN)) for _ in range(2)]
    for _ in range(6000):
        memory = live.create("aclrtMalloc", KILOBYTE, HUGE_FIRST)
        live.ok("aclrtFree", memory)
        made = [[*side.advance(live.records[-2:])] for side in sides]
        for a, b in zip(*made, strict=True):
            shape = shapes[a.function]
            known.made(shape, (a, b))
            known.released(shape, a, b)
    assert 0 < len(known.memory.births[A]) < 5000
