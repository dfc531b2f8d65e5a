"""Which process, and which thread, is compared with which: by what they do, and by who forked whom."""

from typing import Any, cast

import pytest

from cannery.recorder.bundle import Bundle
from cannery.recorder.format import DamagedTrace
from cannery.replayer.comparison.pairing import Profile, pair
from cannery.replayer.diff import Diff, diff
from tests.diff_tools import Stream
from tests.live import OUT, SCHEMA, Live


class Process(Stream):
    """A process of a bundle: ``calls`` calls that another process would not make."""

    def __init__(self, ordinal: int, calls: int, parent: int | None = None, forked_after: int = 0, **end: int) -> None:
        live = Live()
        live.ok("aclInit", None)
        for _ in range(calls):
            live.ok("aclrtGetDeviceCount", OUT)
        live.ok("aclFinalize")
        super().__init__(live.records)
        self.ordinal = ordinal
        self.header |= {"parent": parent, "first_ordinal": forked_after}
        self.settings: dict[str, Any] = {"product": "A2"}
        self.end = end or None


class Traces:
    def __init__(self, *processes: Process) -> None:
        self.processes = list(processes)
        self.schema = SCHEMA

    def process(self, ordinal: int) -> Process:
        return next(process for process in self.processes if process.ordinal == ordinal)

    def content(self, payload: Any) -> None:
        return None

    def damage_beside(self) -> list[DamagedTrace]:
        return []


def compared(a: Traces, b: Traces) -> Diff:
    return diff((cast(Bundle, a), cast(Bundle, b)))


def pairs(a: Traces, b: Traces) -> list[tuple[int | None, int | None]]:
    return [(process["a"], process["b"]) for process in compared(a, b).processes]


def test_processes_are_paired_by_what_they_do() -> None:
    assert pairs(Traces(Process(1, 3), Process(2, 9)), Traces(Process(1, 9), Process(2, 3))) == [(1, 2), (2, 1)]


def test_processes_that_do_the_same_are_paired_in_order() -> None:
    a, b = (Traces(Process(1, 3), Process(2, 3), Process(3, 3)) for _ in range(2))
    assert pairs(a, b) == [(1, 1), (2, 2), (3, 3)]


def test_forked_processes_are_paired_below_their_parents() -> None:
    a = Traces(Process(1, 3), Process(2, 9), Process(3, 5, 1), Process(4, 5, 2))
    b = Traces(Process(1, 9), Process(2, 3), Process(3, 5, 1), Process(4, 5, 2))
    assert pairs(a, b) == [(1, 2), (2, 1), (3, 4), (4, 3)]


def test_children_of_one_process_are_paired_in_the_order_of_the_forks() -> None:
    # Which of them calls first, and gets the lower number, is a matter of chance.
    a = Traces(Process(1, 3), Process(2, 5, 1, forked_after=2), Process(3, 5, 1, forked_after=7))
    b = Traces(Process(1, 3), Process(2, 5, 1, forked_after=7), Process(3, 5, 1, forked_after=2))
    assert pairs(a, b) == [(1, 1), (2, 3), (3, 2)]


def test_a_process_without_counterpart_is_one_difference() -> None:
    found = compared(Traces(Process(1, 3), Process(2, 9, 1)), Traces(Process(1, 3)))
    assert [(process["a"], process["b"], process["total"]) for process in found.processes] == [(1, 1, 0), (2, None, 1)]
    assert found.status == 1


def test_children_of_a_process_without_counterpart_have_none_either() -> None:
    a = Traces(Process(1, 3), Process(2, 9), Process(3, 4, 2))
    assert pairs(a, Traces(Process(1, 3), Process(2, 4, 1))) == [(1, 1), (2, None), (3, None), (None, 2)]


def test_a_parent_that_is_not_there_is_none() -> None:
    assert pairs(Traces(Process(1, 3, parent=7)), Traces(Process(1, 3, parent=1))) == [(1, 1)]


@pytest.mark.parametrize(("first", "second", "status"), [
    ({"status": 0}, {"status": 0}, 0),
    ({"status": 0}, {"status": 1}, 1),
    ({"status": 0}, {"signal": 9}, 1),
    ({"status": 0}, {}, 0),  # nobody noted it
])  # fmt: skip
def test_how_a_process_ended_counts_where_it_is_known(first: Any, second: Any, status: int) -> None:
    found = compared(Traces(Process(1, 3, **first)), Traces(Process(1, 3, **second)))
    assert found.status == status


def profile(*keys: int) -> Profile:
    found = Profile()
    for key in keys:
        found.add(key)
    return found


@pytest.mark.parametrize(
    ("first", "second", "expected"),
    [
        ({1: (1, 2)}, {5: (1, 2)}, [(1, 5)]),
        ({1: (1, 2), 2: (3, 4)}, {1: (3, 4), 2: (1, 2)}, [(1, 2), (2, 1)]),
        ({1: (1, 2), 2: (1, 2)}, {1: (1, 2), 2: (1, 2)}, [(1, 1), (2, 2)]),
        ({1: (1, 2), 2: (1, 2)}, {4: (1, 2), 3: (1, 2)}, [(1, 3), (2, 4)]),
        ({1: (1, 2, 3), 2: (7, 8, 9)}, {1: (7, 8), 2: (1, 2)}, [(1, 2), (2, 1)]),
        ({1: (9, 1, 2), 2: (5, 6, 7)}, {1: (0, 5, 6, 7), 2: (8, 1, 2)}, [(1, 2), (2, 1)]),
        ({1: (1, 2)}, {1: (3, 4)}, [(1, None), (None, 1)]),
        ({}, {1: (3, 4)}, [(None, 1)]),
        ({}, {}, []),
    ],
)
def test_threads_are_paired_by_what_they_do(
    first: dict[int, tuple[int, ...]], second: dict[int, tuple[int, ...]], expected: list[tuple[int | None, int | None]]
) -> None:
    sides = [{number: profile(*keys) for number, keys in side.items()} for side in (first, second)]
    assert pair(*sides) == expected


def test_many_threads_are_paired_in_order_where_what_they_do_does_not_help() -> None:
    first = {number: profile(number) for number in range(100)}
    second = {number: profile(1000 + number) for number in range(100)}
    assert pair(first, second) == [(number, number) for number in range(100)]


def test_among_threads_that_do_the_same_the_bytes_decide() -> None:
    first, second = ({number: profile(1, 2, 3) for number in (1, 2)} for _ in range(2))
    for side, order in ((first, (1, 2)), (second, (2, 1))):
        for number, payload in zip(order, (111, 222), strict=True):
            side[number].move(payload)
    assert pair(first, second) == [(1, 2), (2, 1)]
