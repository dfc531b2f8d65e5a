"""Which copy bytes belong to, and what counts when that cannot be told."""

from typing import Any

import pytest
import xxhash
from hypothesis import given
from hypothesis import strategies as st

from cannery.recorder.records import Call, Effect, Payload
from cannery.replayer.comparison.deliveries import Deliveries, Delivery
from cannery.replayer.comparison.payloads import Payloads, Unequal, first_difference
from cannery.replayer.comparison.shapes import shapes_of
from tests.live import SCHEMA
from tests.scenarios import HOST_TO_DEVICE

SHAPES = shapes_of(SCHEMA, SCHEMA)
FIRST, SECOND = 3, 4  # streams


def copy(number: int, stream: int, size: int = 100, *, host: int = 1) -> Call:
    """A queued copy to the device."""
    ins = (0, 4096, (host, 0), size, HOST_TO_DEVICE, stream)
    return Call(number, 1, 0, "aclrtMemcpyAsync", 0, ins, (), ())


def passed(content: bytes, size: int = 100) -> Effect:
    return Effect("read", True, Payload(size, xxhash.xxh3_128_digest(content), None))


def synchronized(number: int, stream: int) -> Call:
    return Call(number, 1, 0, "aclrtSynchronizeStream", 0, (stream,), (), ())


def delivered(*steps: Call | Effect) -> list[tuple[int | None, bool, bool]]:
    """For each delivery: the call, whether that is sure, and whether there are bytes."""
    found: list[Delivery] = []
    deliveries = Deliveries(SHAPES, found.append)
    for step in steps:
        if isinstance(step, Call):
            deliveries.returned(step)
        else:
            deliveries.passed([step])
    return [(one.number, one.sure, one.payload is not None) for one in found]


@pytest.mark.parametrize(
    ("steps", "expected"),
    [
        ([copy(1, FIRST), copy(2, FIRST), passed(b"a"), passed(b"b")], [(1, True, True), (2, True, True)]),
        ([copy(1, FIRST, 50), copy(2, SECOND), passed(b"a"), passed(b"b", 50)], [(2, True, True), (1, True, True)]),
        # Two streams have such a copy: neither answer is sure, also not the one that is left.
        ([copy(1, FIRST), copy(2, SECOND), passed(b"a"), passed(b"b")], [(1, False, True), (2, False, True)]),
        # A copy that failed, or found nothing to do, has no effect.
        ([copy(1, FIRST, 50), copy(2, FIRST), passed(b"a")], [(1, False, False), (2, True, True)]),
        ([passed(b"a")], [(None, False, True)]),
        # What still seems to be pending when its stream is empty had its bytes taken for another's.
        (
            [copy(1, FIRST), copy(2, SECOND), passed(b"b"), synchronized(3, SECOND), copy(4, SECOND), passed(b"a")],
            [(1, False, True), (2, False, False), (4, False, True)],
        ),
        (
            [copy(1, FIRST), copy(2, SECOND), passed(b"b"), synchronized(3, SECOND), passed(b"a"), copy(4, SECOND),
             passed(b"c")],
            [(1, False, True), (2, False, False), (None, False, True), (4, True, True)],
        ),
    ],
)  # fmt: skip
def test_bytes_belong_to_the_copies_of_a_stream_in_order(steps: list[Any], expected: list[Any]) -> None:
    assert delivered(*steps) == expected


def test_a_copy_that_is_done_when_it_returns_has_the_last_bytes_of_its_step() -> None:
    own = Call(2, 1, 0, "aclrtMemcpy", 0, (0, 4096, (1, 0), 100, HOST_TO_DEVICE), (), (passed(b"a"), passed(b"b")))
    assert delivered(copy(1, FIRST), own) == [(1, True, True), (2, True, True)]


def unequal(order_a: list[int], order_b: list[int], contents: dict[int, bytes]) -> list[Unequal]:
    """Two traces with a copy on each of several streams, whose bytes pass in these orders; ``contents`` are B's."""
    found: list[Unequal] = []
    deliveries = Deliveries(SHAPES), Deliveries(SHAPES)
    payloads = Payloads(deliveries, found.append)
    copies = [copy(number, number) for number in sorted(order_a)]
    for side, order in enumerate((order_a, order_b)):
        for call in copies:
            deliveries[side].returned(call)
        for number in order:
            content = contents.get(number, b"%d" % number) if side else b"%d" % number
            deliveries[side].passed([passed(content)])
    for call in copies:
        payloads.aligned(0, call, call)
    payloads.finish()
    return found


@given(st.permutations(range(1, 6)), st.permutations(range(1, 6)))
def test_the_order_between_streams_does_not_count(first: list[int], second: list[int]) -> None:
    assert unequal(first, second, {}) == []


@given(st.permutations(range(1, 6)), st.permutations(range(1, 6)), st.integers(1, 5))
def test_other_bytes_are_found_in_any_order(first: list[int], second: list[int], which: int) -> None:
    (found,) = unequal(first, second, {which: b"other"})
    assert found.payloads[1].digest == xxhash.xxh3_128_digest(b"other")


@pytest.mark.parametrize(
    ("a", "b", "offset"),
    [(b"", b"", None), (b"abc", b"abc", None), (b"abc", b"abd", 2), (b"abc", b"xbc", 0), (b"ab", b"abc", 2)],
)
def test_the_first_byte_that_differs(a: bytes, b: bytes, offset: int | None) -> None:
    assert first_difference(a, b) == offset
