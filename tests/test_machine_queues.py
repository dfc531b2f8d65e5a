"""Queues, routes between them, channels with datasets, shared buffers: what they do."""

from struct import pack
from typing import Any

import pytest

from cannery.runtime.machine import Wait
from tests.fakes import OUT, Driver

NAME, DEPTH = 0, 1
SOURCE, TARGET, STATUS = range(3)
BY_SOURCE, BY_TARGET, BY_BOTH, BY_STATUS = 0, 1, 2, 100
TENSOR, END = 0, 1
FLOAT = 0


class Station(Driver):
    """A driver that knows short forms, and has a page to put data in."""

    def __init__(self, **settings: Any) -> None:
        super().__init__(**settings)
        self.opened()
        self.page = self.host.give(bytes(4096))

    def queue(self, depth: int = 8) -> int:
        attributes = self.call("acltdtCreateQueueAttr")
        self.ok("acltdtSetQueueAttr", attributes, DEPTH, 4, pack("<I", depth))
        number = self.ok("acltdtCreateQueue", attributes, OUT)
        self.ok("acltdtDestroyQueueAttr", attributes)
        return int(number)

    def put(self, queue: int, content: bytes, user: bytes | None = None, timeout: int = 0, thread: int = 1) -> Any:
        self.host.poke(self.page, content)
        size = len(user or b"")
        return self.call("acltdtEnqueueData", queue, self.page, len(content), user, size, timeout, 0, thread=thread)

    def take(self, queue: int, timeout: int = 0, thread: int = 1) -> Any:
        """The content of the next message, or the number."""
        reply = self.call("acltdtDequeueData", queue, self.page + 2048, 2048, OUT, OUT, 4, timeout, thread=thread)
        if isinstance(reply, tuple):
            return self.host.peek(self.page + 2048, reply[1]), reply[2]
        return reply

    def routes(self, *pairs: tuple[int, int]) -> int:
        routes = int(self.call("acltdtCreateQueueRouteList"))
        for source, target in pairs:
            route = self.call("acltdtCreateQueueRoute", source, target)
            self.ok("acltdtAddQueueRoute", routes, route)
            self.ok("acltdtDestroyQueueRoute", route)
        return routes

    def listed(self, routes: int) -> list[tuple[int, ...]]:
        view = self.call("acltdtCreateQueueRoute", 0, 0)
        found = []
        for index in range(self.call("acltdtGetQueueRouteNum", routes)):
            self.ok("acltdtGetQueueRoute", routes, index, view)
            values = [self.ok("acltdtGetQueueRouteParam", view, kind, 4, OUT, OUT) for kind in (SOURCE, TARGET, STATUS)]
            found.append(tuple(int.from_bytes(value, "little") for _, value in values))
        return found

    def asked(self, mode: int, source: int | None = None, target: int | None = None) -> list[tuple[int, ...]]:
        query, routes = self.call("acltdtCreateQueueRouteQueryInfo"), self.routes((77, 78))
        for kind, value in enumerate((mode, source, target)):
            if value is not None:
                self.ok("acltdtSetQueueRouteQueryInfo", query, kind, 4, pack("<I", value))
        self.ok("acltdtQueryQueueRoutes", query, routes)
        self.ok("acltdtDestroyQueueRouteQueryInfo", query)
        return self.listed(routes)

    def dataset(self, *values: float) -> int:
        content = pack(f"<{len(values)}f", *values)
        address = self.host.give(content)
        item = self.call("acltdtCreateDataItem", TENSOR, (1, len(values)), 2, FLOAT, address, len(content))
        dataset = int(self.call("acltdtCreateDataset"))
        self.ok("acltdtAddDataItem", dataset, item)
        return dataset


# Queues.


def test_messages_come_out_in_the_order_in_which_they_went_in() -> None:
    driver = Station()
    queue = driver.queue()
    for content in (b"one", b"two and more"):
        assert driver.put(queue, content, b"us") == 0
    assert driver.take(queue) == (b"one", b"us\0\0")
    assert driver.take(queue) == (b"two and more", b"us\0\0")
    assert driver.take(queue) == 207013
    driver.ok("acltdtDestroyQueue", queue)
    assert driver.take(queue) == 107000


def test_data_may_lie_on_the_device() -> None:
    driver = Station()
    queue, memory = driver.queue(), driver.device_memory(64)
    driver.ok("aclrtMemset", memory, 64, 7, 64)
    driver.ok("acltdtEnqueueData", queue, memory, 8, None, 0, 0, 0)
    driver.ok("aclrtMemset", memory, 64, 9, 64)  # what was put in is a copy
    assert driver.take(queue)[0] == b"\x07" * 8
    assert driver.put(queue, b"in") == 0
    driver.ok("acltdtDequeueData", queue, memory, 8, OUT, 0, 0, 0)
    driver.ok("aclrtMemcpy", driver.page, 4, memory, 4, 2)
    assert driver.host.peek(driver.page, 4) == b"in\x09\x09"


def test_a_message_that_does_not_fit_stays_and_tells_its_size() -> None:
    driver = Station()
    queue = driver.queue()
    driver.put(queue, b"12345")
    assert driver.call("acltdtDequeueData", queue, driver.page, 4, OUT, OUT, 4, 0) == (107000, 5, None)
    assert driver.take(queue)[0] == b"12345"


def test_a_full_queue_makes_a_call_wait_for_room() -> None:
    driver = Station()
    driver.ok("aclrtSetDevice", 0, thread=2)
    queue = driver.queue(2)
    assert [driver.put(queue, bytes((65 + number,))) for number in range(3)] == [0, 0, 207014]
    wait = driver.put(queue, b"C", timeout=-1, thread=2)
    assert isinstance(wait, Wait)
    assert driver.take(queue)[0] == b"A"
    assert wait.reply == 0
    assert [driver.take(queue)[0] for _ in range(2)] == [b"B", b"C"]


def test_an_empty_queue_makes_a_call_wait_for_a_message_and_its_limit_ends_it() -> None:
    driver = Station()
    driver.ok("aclrtSetDevice", 0, thread=2)
    queue = driver.queue()
    wait = driver.take(queue, timeout=50, thread=2)
    driver.expire(wait)
    assert wait.reply == 207013
    wait = driver.take(queue, timeout=50, thread=2)
    driver.put(queue, b"late")
    assert wait.reply == (0, 4, bytes(4))


def test_a_call_that_waits_for_a_queue_ends_when_that_is_destroyed() -> None:
    driver = Station()
    driver.ok("aclrtSetDevice", 0, thread=2)
    queue, other = driver.queue(), driver.queue()
    wait, second = driver.take(queue, timeout=-1, thread=2), driver.take(other, timeout=-1, thread=1)
    driver.ok("acltdtDestroyQueue", queue, thread=3) if driver.call("aclrtSetDevice", 0, thread=3) == 0 else None
    assert wait.reply == 107000
    driver.ok("aclrtResetDeviceForce", 0, thread=3)
    assert second.reply == 107000


def test_attributes_are_the_defaults_until_they_are_set() -> None:
    driver = Station()
    attributes = driver.call("acltdtCreateQueueAttr")
    assert driver.ok("acltdtGetQueueAttr", attributes, DEPTH, 4, OUT, OUT) == (4, pack("<I", 8))
    size, content = driver.ok("acltdtGetQueueAttr", attributes, NAME, 8, OUT, OUT)
    shown = int.from_bytes(content, "little")
    assert size == 8 and driver.host.peek(shown, 1) == b"\0"
    text = driver.host.give(bytes(4090) + b"a name over a page\0")  # what lies behind is not readable
    driver.ok("acltdtSetQueueAttr", attributes, NAME, 8, pack("<Q", text + 4090))
    driver.ok("acltdtSetQueueAttr", attributes, DEPTH, 1, b"\x05")  # a shorter value replaces the lower bytes
    assert driver.ok("acltdtGetQueueAttr", attributes, NAME, 8, OUT, OUT)[1] == content
    assert driver.host.peek(shown, 19) == b"a name over a page\0"
    assert driver.ok("acltdtGetQueueAttr", attributes, DEPTH, 8, OUT, OUT) == (4, pack("<I", 5))
    driver.ok("acltdtDestroyQueueAttr", attributes)
    assert shown not in driver.host.ranges


def test_queues_belong_to_a_device() -> None:
    driver = Station()
    queue = driver.queue()
    driver.ok("aclrtSetDevice", 1)
    assert driver.put(queue, b"x") == 107000
    assert driver.queue() == queue  # each device counts its own


# Routes.


def test_a_route_hands_messages_on_to_all_its_targets() -> None:
    driver = Station()
    source, one, two = (driver.queue(2) for _ in range(3))
    driver.put(source, b"before")
    routes = driver.routes((source, one), (source, two))
    driver.ok("acltdtBindQueueRoutes", routes)
    assert driver.listed(routes) == [(source, one, 1), (source, two, 1)]
    driver.put(source, b"after")
    assert [driver.take(one)[0], driver.take(one)[0]] == [b"before", b"after"]
    for content in (b"3", b"4"):  # the other target is full: these wait in the source
        assert driver.put(source, content) == 0
    assert driver.take(one) == 207013
    assert driver.put(source, b"5") == 207014
    assert driver.take(two)[0] == b"before"
    assert driver.take(one)[0] == b"3"
    driver.ok("acltdtUnbindQueueRoutes", routes)
    assert driver.listed(routes) == [(source, one, 0), (source, two, 0)]
    assert driver.take(source)[0] == b"4"
    driver.ok("acltdtDestroyQueue", source)


def test_routes_that_cannot_be_bound_say_which() -> None:
    driver = Station()
    a, b, c = (driver.queue() for _ in range(3))
    driver.ok("acltdtBindQueueRoutes", driver.routes((a, b), (b, c)))
    routes = driver.routes((c, a), (a, a), (a, 99), (a, b), (a, c))
    assert driver.call("acltdtBindQueueRoutes", routes) == 500001
    assert [status for *_, status in driver.listed(routes)] == [2, 2, 2, 2, 1]
    wrong = driver.routes((a, c), (c, a))
    assert driver.call("acltdtUnbindQueueRoutes", wrong) == 500001
    assert [status for *_, status in driver.listed(wrong)] == [0, 2]


def test_asking_for_routes() -> None:
    driver = Station()
    a, b, c = (driver.queue() for _ in range(3))
    driver.ok("acltdtBindQueueRoutes", driver.routes((a, b), (a, c), (b, c)))
    assert driver.asked(BY_SOURCE, source=a) == [(a, b, 1), (a, c, 1)]
    assert driver.asked(BY_TARGET, target=c) == [(a, c, 1), (b, c, 1)]
    assert driver.asked(BY_BOTH, source=b, target=c) == [(b, c, 1)]
    assert driver.asked(BY_BOTH, source=c, target=a) == []
    assert driver.asked(BY_STATUS) == []


# Channels.


def test_what_is_sent_can_be_received() -> None:
    driver = Station()
    channel = driver.call("acltdtCreateChannelWithCapacity", 0, b"tensors", 2)
    driver.ok("acltdtSendTensor", channel, driver.dataset(1.0, 2.0, 3.0), 0)
    assert driver.ok("acltdtQueryChannelSize", channel, OUT) == 1
    received = driver.call("acltdtCreateDataset")
    driver.ok("acltdtReceiveTensor", channel, received, 0)
    assert driver.ok("acltdtQueryChannelSize", channel, OUT) == 0
    assert driver.call("acltdtGetDatasetSize", received) == 1
    assert driver.call("acltdtGetDatasetName", received) == b""
    item = driver.call("acltdtGetDataItem", received, 0)
    assert driver.call("acltdtGetTensorTypeFromItem", item) == TENSOR
    assert driver.call("acltdtGetDataTypeFromItem", item) == FLOAT
    assert driver.call("acltdtGetDimNumFromItem", item) == 2
    assert driver.ok("acltdtGetDimsFromItem", item, OUT, 2) == (1, 3)
    assert driver.ok("acltdtGetSliceInfoFromItem", item, OUT, OUT) == (0, 0)
    assert driver.call("acltdtGetDataSizeFromItem", item) == 12
    address = driver.call("acltdtGetDataAddrFromItem", item)
    assert driver.host.peek(address, 12) == pack("<3f", 1.0, 2.0, 3.0)
    assert driver.call("acltdtGetDataItem", received, 1) == 0
    driver.ok("acltdtDestroyDataset", received)
    assert driver.call("acltdtGetDataAddrFromItem", item) is None
    assert address not in driver.host.ranges


def test_a_receive_replaces_what_an_earlier_one_left() -> None:
    driver = Station()
    channel = driver.call("acltdtCreateChannelWithCapacity", 0, b"tensors", 4)
    end = driver.call("acltdtCreateDataItem", END, None, 0, FLOAT, 0, 0)
    both = driver.dataset(5.0)
    driver.ok("acltdtAddDataItem", both, end)
    for dataset in (driver.dataset(1.0), both):
        driver.ok("acltdtSendTensor", channel, dataset, 0)
    received = driver.call("acltdtCreateDataset")
    driver.ok("acltdtReceiveTensor", channel, received, 0)
    first = driver.call("acltdtGetDataItem", received, 0)
    driver.ok("acltdtReceiveTensor", channel, received, 0)
    assert driver.call("acltdtGetDataSizeFromItem", first) == 0
    items = [driver.call("acltdtGetDataItem", received, index) for index in range(2)]
    assert [driver.call("acltdtGetTensorTypeFromItem", item) for item in items] == [TENSOR, END]
    assert [driver.call("acltdtGetDataAddrFromItem", item) is None for item in items] == [False, True]


def test_a_full_channel_and_an_empty_one_wait_or_say_so() -> None:
    driver = Station()
    driver.ok("aclrtSetDevice", 0, thread=2)
    channel = driver.call("acltdtCreateChannelWithCapacity", 0, b"small", 2)
    received = driver.call("acltdtCreateDataset")
    wait = driver.call("acltdtReceiveTensor", channel, received, -1, thread=2)
    assert isinstance(wait, Wait)
    for value in range(3):
        driver.ok("acltdtSendTensor", channel, driver.dataset(float(value)), 0)
    assert wait.reply == 0
    assert driver.call("acltdtSendTensor", channel, driver.dataset(9.0), 0) == 207014
    wait = driver.call("acltdtSendTensor", channel, driver.dataset(9.0), 20, thread=2)
    driver.expire(wait)
    assert wait.reply == 207014
    driver.ok("acltdtCleanChannel", channel)
    assert driver.call("acltdtReceiveTensor", channel, received, 0) == 207013
    driver.ok("acltdtStopChannel", channel)
    driver.ok("acltdtDestroyChannel", channel)
    assert driver.call("acltdtQueryChannelSize", channel, OUT) == 107017


# Shared buffers.


def test_a_copied_reference_shares_the_data_until_the_last_is_freed() -> None:
    driver = Driver()
    buffer = driver.ok("aclrtAllocBuf", OUT, 100)
    address, size = driver.ok("aclrtGetBufData", buffer, OUT, OUT)
    assert size == 100
    driver.host.poke(address, b"filled by the program")
    assert driver.ok("aclrtGetBufDataLen", buffer, OUT) == 0
    other = driver.ok("aclrtCopyBufRef", buffer, OUT)
    driver.ok("aclrtSetBufDataLen", buffer, 21)
    assert driver.ok("aclrtGetBufDataLen", other, OUT) == 21
    assert driver.ok("aclrtGetBufData", other, OUT, OUT) == (address, 100)
    driver.ok("aclrtFreeBuf", buffer)
    assert address in driver.host.ranges
    driver.ok("aclrtFreeBuf", other)
    assert address not in driver.host.ranges


def test_a_buffer_keeps_bytes_of_the_program() -> None:
    driver = Driver()
    buffer = driver.ok("aclrtAllocBuf", OUT, 8)
    other = driver.ok("aclrtCopyBufRef", buffer, OUT)
    driver.ok("aclrtSetBufUserData", buffer, b"context", 7, 4)
    assert driver.ok("aclrtGetBufUserData", buffer, OUT, 12, 0) == bytes(4) + b"context\0"
    assert driver.ok("aclrtGetBufUserData", buffer, OUT, 0, 96) == b""
    assert driver.ok("aclrtGetBufUserData", other, OUT, 12, 0) == bytes(12)


def test_chains() -> None:
    driver = Driver()
    head, one, two = (driver.ok("aclrtAllocBuf", OUT, 8) for _ in range(3))
    assert driver.ok("aclrtGetBufChainNum", head, OUT) == 1
    for member in (one, two):
        driver.ok("aclrtAppendBufChain", head, member)
    assert driver.ok("aclrtGetBufChainNum", head, OUT) == 3
    assert [driver.ok("aclrtGetBufFromChain", head, index, OUT) for index in range(3)] == [head, one, two]
    driver.ok("aclrtFreeBuf", head)
    driver.ok("aclrtAppendBufChain", two, one)  # on their own again
    assert driver.ok("aclrtGetBufChainNum", two, OUT) == 2


def test_a_chain_has_128_buffers_at_most() -> None:
    driver = Driver()
    head = driver.ok("aclrtAllocBuf", OUT, 8)
    replies = {driver.call("aclrtAppendBufChain", head, driver.ok("aclrtAllocBuf", OUT, 8)) for _ in range(127)}
    assert replies == {0}
    assert driver.call("aclrtAppendBufChain", head, driver.ok("aclrtAllocBuf", OUT, 8)) == 107000


@pytest.mark.parametrize("function", ["aclrtAllocBuf", "aclrtSetBufDataLen", "aclrtFreeBuf"])
def test_calls_that_wait_while_a_snapshot_lock_is_held(function: str) -> None:
    driver = Driver()
    buffer = driver.ok("aclrtAllocBuf", OUT, 8)
    arguments = {"aclrtAllocBuf": (OUT, 8), "aclrtSetBufDataLen": (buffer, 4), "aclrtFreeBuf": (buffer,)}
    driver.machine.locked = True
    wait = driver.call(function, *arguments[function])
    assert isinstance(wait, Wait) and wait.reply is None
    driver.machine.locked = False
    driver.pace()
    assert (wait.reply[0] if isinstance(wait.reply, tuple) else wait.reply) == 0
