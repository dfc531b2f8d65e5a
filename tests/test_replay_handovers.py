"""The processes of a bundle fit together: who handed a shared flag on to whom, and in which order."""

from collections.abc import Sequence

import pytest

from cannery.recorder import format
from cannery.recorder.records import Call, Effect, Exit, Record
from cannery.replayer.handovers import HandOvers

SET, TAKEN, CLEARED = format.SIGNALLED, format.TAKEN, format.CLEARED


def call(*effects: tuple[int, ...]) -> Record:
    made = tuple(Effect("peer", True, topic=topic, values=values) for topic, *values in effects)
    return Call(0, 1, 0, "aclrtRecordNotify", 0, (), (), tuple(e._replace(values=tuple(e.values)) for e in made))


def together(*processes: Sequence[tuple[int, ...]]) -> HandOvers:
    found = HandOvers()
    for ordinal, effects in enumerate(processes, 1):
        records = [call(*effects), Exit(0, 1, "aclrtRecordNotify", 0, ())]
        assert list(found.noting(ordinal, records)) == records
    found.check()
    return found


def test_flags_that_one_sets_and_another_takes_are_counted() -> None:
    found = together([(SET, 7, 1), (TAKEN, 7, 4)], [(TAKEN, 7, 2), (SET, 7, 3)])
    assert (found.passed, found.problem) == (2, None)


def test_what_a_process_takes_itself_is_no_hand_over() -> None:
    found = together([(SET, 7, 1), (TAKEN, 7, 2)], [])
    assert (found.passed, found.problem) == (0, None)


@pytest.mark.parametrize(
    ("one", "two", "problem"),
    [
        ([(SET, 7, 1)], [(SET, 7, 1)], "processes 1 and 2 both made change 1 of shared thing 7"),
        ([(TAKEN, 7, 1)], [], "process 1 took shared thing 7 at change 1; it was not set"),
        ([(SET, 7, 1), (TAKEN, 7, 2)], [(TAKEN, 7, 3)], "process 2 took shared thing 7 at change 3; it was not set"),
        ([(SET, 7, 1), (CLEARED, 7, 2)], [(TAKEN, 7, 3)], "process 2 took shared thing 7 at change 3; it was not set"),
    ],
)
def test_what_does_not_fit_is_named(one: list[tuple[int, ...]], two: list[tuple[int, ...]], problem: str) -> None:
    assert together(one, two).problem == problem


def test_changes_that_no_stream_has_are_not_judged() -> None:
    found = together([(SET, 7, 1)], [(TAKEN, 7, 4)])
    assert (found.passed, found.problem) == (0, None)


def test_who_shared_it_may_be_read_later() -> None:
    found = together([(TAKEN, 7, 2)], [(format.SHARE, 7, 1), (SET, 7, 1)])
    assert (found.passed, found.problem) == (1, None)


def test_a_session_that_was_begun_anew_counts_from_the_start() -> None:
    share = (format.SHARE, 7, 1)
    found = together([share, (SET, 7, 1)], [share, (SET, 7, 1)])
    assert (found.passed, found.problem) == (0, None)
