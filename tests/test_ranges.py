"""The allocator of address ranges, and the map that looks addresses up."""

from itertools import pairwise

from hypothesis import given, settings
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, invariant, precondition, rule

from cannery.runtime.ranges import AddressMap, Arena, Block, _bin

SPACE = 1 << 12


def test_bins_are_ordered_by_size() -> None:
    bins = [_bin(size) for size in range(1, 10_000)]
    assert bins == sorted(bins)
    assert max(bins) < 200


class ArenaModel(RuleBasedStateMachine):
    """Against a plain list of what is in use."""

    def __init__(self) -> None:
        super().__init__()
        self.arena = Arena(SPACE)
        self.live: list[Block] = []

    def longest_gap(self) -> int:
        ends = [0, *(block.start + block.size for block in sorted(self.live, key=lambda block: block.start))]
        starts = [*(block.start for block in sorted(self.live, key=lambda block: block.start)), SPACE]
        return max(start - end for start, end in zip(starts, ends, strict=True))

    @rule(size=st.integers(1, SPACE // 3))
    def allocate(self, size: int) -> None:
        block = self.arena.allocate(size)
        if block is None:
            assert size > self.longest_gap()
        else:
            assert block.size == size
            self.live.append(block)

    @precondition(lambda self: self.live)
    @rule(data=st.data())
    def release(self, data: st.DataObject) -> None:
        self.arena.release(self.live.pop(data.draw(st.integers(0, len(self.live) - 1))))

    @invariant()
    def nothing_overlaps(self) -> None:
        live = sorted(self.live, key=lambda block: block.start)
        for one, two in pairwise(live):
            assert one.start + one.size <= two.start
        assert not live or (live[0].start >= 0 and live[-1].start + live[-1].size <= SPACE)

    def teardown(self) -> None:
        for block in self.live:
            self.arena.release(block)
        assert self.arena.allocate(SPACE) is not None


TestArena = ArenaModel.TestCase
TestArena.settings = settings(max_examples=60, stateful_step_count=60, deadline=None)


@settings(deadline=None)
@given(st.lists(st.integers(1, 50), min_size=1, max_size=40))
def test_the_same_order_gives_the_same_addresses_and_frees_are_reused(sizes: list[int]) -> None:
    def starts(arena: Arena) -> list[int]:
        blocks = [block for size in sizes if (block := arena.allocate(size)) is not None]
        result = [block.start for block in blocks]
        for block in blocks:
            arena.release(block)
        return result

    arena = Arena(SPACE)
    assert starts(arena) == starts(arena) == starts(Arena(SPACE))


def test_a_hole_of_the_right_size_is_used_again() -> None:
    arena = Arena(SPACE)
    blocks = [arena.allocate(65) for _ in range(10)]
    hole = blocks[4]
    assert hole is not None
    arena.release(hole)
    again = arena.allocate(65)
    assert again is not None and again.start == hole.start


@settings(max_examples=50, deadline=None)
@given(st.lists(st.tuples(st.booleans(), st.integers(0, 3000)), max_size=2000), st.lists(st.integers(-5, 3005)))
def test_an_address_map_finds_the_nearest_start_below(operations: list[tuple[bool, int]], queries: list[int]) -> None:
    found: AddressMap[str] = AddressMap()
    expected: dict[int, str] = {}
    for insert, start in operations:
        if insert and start not in expected:
            found.insert(start, f"at {start}")
            expected[start] = f"at {start}"
        elif not insert and start in expected:
            found.remove(start)
            del expected[start]
    assert list(found) == [expected[start] for start in sorted(expected)]
    for query in queries:
        below = [start for start in expected if start <= query]
        assert found.below(query) == (expected[max(below)] if below else None)
        assert found.at(query) == expected.get(query)


def test_an_address_map_splits_and_shrinks() -> None:
    found: AddressMap[int] = AddressMap()
    for start in range(5000):
        found.insert(start * 7 % 5003 * 10, start)
    assert found.below(55) == found.at(50)
    for start in range(5000):
        found.remove(start * 7 % 5003 * 10)
    assert list(found) == [] and found.below(1 << 40) is None
