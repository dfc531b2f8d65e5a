"""Calls that are read ahead: in order, by index, in bounded memory."""

from hypothesis import given
from hypothesis import strategies as st

from cannery.recorder.records import Call
from cannery.replayer.comparison import spool
from cannery.replayer.comparison.spool import IN_FLIGHT, Placed, Spool, Store
from tests import trace_tools


def call(number: int) -> Placed:
    return number, Call(number, 1, 5, "f", 0, (number, None, (1, b"x")), (2.5,), ())


@given(st.lists(st.integers(1, 2500), min_size=1, max_size=8))
def test_calls_come_out_as_they_went_in(sizes: list[int]) -> None:
    store = Store()
    queue = Spool(store)
    put = taken = 0
    for size in sizes:
        for _ in range(size):
            queue.append(call(put))
            put += 1
        assert queue[put - taken - 1] == call(put - 1)
        assert queue[0] == queue.first() == call(taken)
        middle = (put - taken) // 2
        assert queue[middle] == call(taken + middle)
        for _ in range(size // 2):
            assert queue.take() == call(taken)
            taken += 1
        assert len(queue) == put - taken
    while len(queue):
        assert queue.take() == call(taken)
        taken += 1
    assert taken == put
    assert queue._store._free == spool._IN_MEMORY  # type: ignore[attr-defined]


def test_what_was_put_back_comes_out_again() -> None:
    queue = Spool(Store())
    for number in range(3):
        queue.append(call(number))
    first = queue.take()
    queue.put_back(first)
    queue.put_back(call(-1))
    assert [queue.take()[0] for _ in range(4)] == [-1, 0, 1, 2]


@given(trace_tools.streams())
def test_packed_calls_keep_their_values(records: list[object]) -> None:
    calls = [record._replace(effects=()) for record in records if isinstance(record, Call)]
    items = list(enumerate([*calls, call(1)[1]._replace(ret=IN_FLIGHT, outs=())]))
    assert spool._calls(spool.pack([spool._packable(item) for item in items])) == items


def test_only_few_calls_are_open_and_few_bytes_in_memory() -> None:
    store = Store()
    store._free = 10_000
    queue = Spool(store)
    for number in range(spool.OPEN * 4):
        queue.append(call(number))
    assert len(queue._head) == spool.OPEN
    assert len(queue._tail) < 512
    assert store._free >= 0
    assert store._file is not None
    assert [queue.take()[0] for _ in range(len(queue))] == list(range(spool.OPEN * 4))
    store.close()
