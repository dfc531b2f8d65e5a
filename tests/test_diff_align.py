"""Alignment: few edits where there are few, linear time around long blocks."""

from collections.abc import Sequence

import pytest
from hypothesis import given
from hypothesis import strategies as st

from cannery.replayer.comparison.align import RUN, Block, Grams, Meeting, Search, align, choose, gaps

keys = st.lists(st.integers(0, 3), max_size=14)


def longest_common(a: Sequence[int], b: Sequence[int]) -> int:
    """The number of keys that an alignment with the fewest edits keeps."""
    table = [[0] * (len(b) + 1) for _ in range(len(a) + 1)]
    for i, x in enumerate(a):
        for j, y in enumerate(b):
            table[i + 1][j + 1] = table[i][j] + 1 if x == y else max(table[i][j + 1], table[i + 1][j])
    return table[-1][-1]


@given(keys, keys)
def test_an_alignment_has_the_fewest_edits(a: list[int], b: list[int]) -> None:
    blocks = align(a, b)
    assert all(a[i : i + size] == b[j : j + size] for i, j, size in blocks)
    assert sum(block.size for block in blocks) == longest_common(a, b)


@given(keys, keys)
def test_blocks_and_gaps_are_all_there_is(a: list[int], b: list[int]) -> None:
    blocks = align(a, b)
    parts = sorted([(i, i + n, j, j + n) for i, j, n in blocks] + [*gaps(blocks, len(a), len(b))])
    ends = [(0, 0)]
    for start_a, end_a, start_b, end_b in parts:
        assert (start_a, start_b) == ends[-1]
        ends.append((end_a, end_b))
    assert ends[-1] == (len(a), len(b))


LOOP = [n % 7 for n in range(20_000)]
FOREIGN = [100 + n % 3 for n in range(100_000)]


@pytest.mark.parametrize("place", [0, 5_000, 20_000])
def test_a_long_block_in_a_loop_is_found(place: int) -> None:
    altered = LOOP[:place] + FOREIGN + LOOP[place:]
    blocks = align(LOOP, altered)
    assert sum(block.size for block in blocks) == len(LOOP)
    assert [*gaps(blocks, len(LOOP), len(altered))] == [(place, place, place, place + len(FOREIGN))]


def test_sequences_without_anything_in_common_have_no_blocks() -> None:
    assert align([1] * 50_000, [2] * 50_000) == []


def search(a: Sequence[int], b: Sequence[int], alike: bool = True) -> Meeting:
    found = Search(
        Grams(lambda index: a[index] if index < len(a) else None, RUN),
        Grams(lambda index: b[index] if index < len(b) else None, RUN),
    )
    while not (meetings := found.step()):
        pass
    return choose(meetings, alike)


REST = list(range(10, 60))


@pytest.mark.parametrize(
    ("a", "b", "meeting"),
    [
        ([1, *REST], [2, *REST], Meeting(1, 1)),
        ([1, *REST], REST, Meeting(1, 0)),
        (REST, [1, 2, 3, *REST], Meeting(0, 3)),
        ([1, 2, 3, 4, *REST], [5, *REST], Meeting(4, 1)),
        ([1, 2], [3], Meeting(2, 1)),  # both end
        ([1, *REST[:3]], [2, *REST[:3]], Meeting(1, 1)),  # fewer than a run, but then both end
    ],
)
def test_the_nearest_place_where_both_agree_again_is_found(a: list[int], b: list[int], meeting: Meeting) -> None:
    assert search(a, b) == meeting


def test_a_changed_run_in_a_loop_is_not_taken_for_another_turn_of_the_loop() -> None:
    loop = [1, 2, 3, 4] * 30
    assert search(loop, [7, 8, 9, *loop[3:]]) == Meeting(3, 3)


def test_a_call_of_another_function_in_a_row_of_equal_calls_was_put_in() -> None:
    assert search([1] * 50, [2, *[1] * 50], alike=False) == Meeting(0, 1)


def test_a_block_is_a_place_in_both_and_a_size() -> None:
    assert align([1, 2, 3], [0, 2, 3]) == [Block(1, 1, 2)]
