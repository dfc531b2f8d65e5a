"""Memory: allocation, setting, copies in all places and kinds, information (semantics.md 3)."""

from typing import Any

import pytest

from cannery.runtime.machine import Wait
from cannery.runtime.memory import DEVICE_SPAN, SMALL_SPAN, VIRTUAL_SPAN
from cannery.runtime.products import PRODUCTS
from tests.fakes import DEVICE_BASE, OUT, PAGE, Driver

SIZE = 64
GIB = 1 << 30
MEMORY = {  # of a device: its kind, its size, whether it has pages of 1 GiB
    "950PR": ("hbm", 128 * GIB, True), "950DT": ("hbm", 144 * GIB, True), "A3": ("hbm", 64 * GIB, True),
    "A2": ("hbm", 64 * GIB, True), "310B": ("ddr", 12 * GIB, False), "310P": ("ddr", 24 * GIB, False),
    "910": ("hbm", 32 * GIB, False), "IPV350": ("ddr", 8 * GIB, False),
}  # fmt: skip
DDR, HBM, GENERIC = (0, 2, 3, 6, 7), (1, 4, 5, 8, 9, 10, 11), (12, 13, 14, 15, 16, 17)  # aclrtMemAttr
GIANT = (10, 11, 14, 17)


@pytest.fixture
def driver() -> Driver:
    return Driver().opened()


def content(driver: Driver, address: int, size: int = SIZE) -> bytes:
    """What aclrtMemcpy brings back from there."""
    back = driver.host.give(b"?" * size)
    driver.ok("aclrtMemcpy", back, size, address, size, 4)
    return driver.host.peek(back, size)


class TestAllocation:
    @pytest.mark.parametrize("size", [1, 31, 32, 33, 63, 64, 65, 511, 512, 513, 4096, 1 << 20, 2 << 20, (2 << 20) + 1])
    def test_addresses_are_aligned(self, driver: Driver, size: int) -> None:
        driver.device_memory(1)
        address = driver.device_memory(size)
        assert address % 512 == 0
        assert address % (2 << 20) == 0 or size < 2 << 20
        assert DEVICE_BASE <= address < DEVICE_BASE + DEVICE_SPAN

    @pytest.mark.parametrize("policy", [0, 1, 2, 3, 4, 5, 0x100, 0x1000, 0x101, 0x1002, 99, -1])
    def test_every_policy_gives_memory(self, driver: Driver, policy: int) -> None:
        driver.ok("aclrtFree", driver.ok("aclrtMalloc", OUT, SIZE, policy))

    @pytest.mark.parametrize(
        ("product", "size", "usable"), [("A2", 32, 64), ("A2", 33, 96), ("A2", 1, 64), ("950PR", 33, 64)]
    )
    def test_sizes_are_rounded_with_spare_bytes(self, product: str, size: int, usable: int) -> None:
        driver = Driver(product=product).opened()
        address = driver.device_memory(size)
        driver.ok("aclrtMemset", address, usable, 0, usable)
        assert driver.call("aclrtMemset", address, usable + 1, 0, usable + 1) == 507899

    def test_giant_pages_have_no_spare_bytes(self, driver: Driver) -> None:
        driver.ok("aclrtMalloc", OUT, GIB, 6)
        assert driver.ok("aclrtGetMemInfo", 1, OUT, OUT) == (63 * GIB, 64 * GIB)

    def test_the_store_is_made_with_the_first_allocation(self, driver: Driver) -> None:
        assert driver.host.spans == [2 * DEVICE_SPAN + VIRTUAL_SPAN]
        assert driver.host.stores == {}
        driver.device_memory(SIZE)
        driver.device_memory(4 << 20)
        assert list(driver.host.stores) == [0]
        driver.ok("aclrtSetDevice", 1)
        assert driver.device_memory(SIZE) == DEVICE_BASE + DEVICE_SPAN
        assert list(driver.host.stores) == [0, 1]

    def test_memory_is_freed_without_a_context_and_on_any_device(self, driver: Driver) -> None:
        address = driver.device_memory(SIZE)
        driver.ok("aclrtFree", address, thread=2)
        driver.device_memory(SIZE)

    def test_capacity_is_that_of_the_product(self) -> None:
        driver = Driver(product="310P").opened()
        blocks = [driver.device_memory(GIB - 64) for _ in range(24)]
        assert driver.call("aclrtMalloc", OUT, 1, 0) == 207001
        assert "bytes left" in driver.message()
        driver.ok("aclrtFree", blocks[5])
        assert driver.device_memory(GIB - 64) == blocks[5]
        driver.ok("aclrtSetDevice", 1)
        driver.device_memory(GIB)

    def test_what_rounding_takes_counts_too(self) -> None:
        driver = Driver(product="310P").opened()
        for _ in range(23):
            driver.device_memory(GIB - 64)
        driver.device_memory(1)
        assert driver.call("aclrtMalloc", OUT, GIB - 1024, 0) == 207001
        driver.device_memory(GIB - (4 << 20))

    def test_large_ranges_read_as_zero_when_they_come_again(self, driver: Driver) -> None:
        address = driver.device_memory(4 << 20)
        driver.ok("aclrtMemset", address, SIZE, 7, SIZE)
        driver.ok("aclrtFree", address)
        assert driver.device_memory(4 << 20) == address
        assert content(driver, address) == bytes(SIZE)
        assert driver.host.stores[0].discards == 6 << 20

    def test_pinned_memory_is_host_memory(self, driver: Driver) -> None:
        address = driver.pinned(b"seen by the host")
        assert content(driver, address, 16) == b"seen by the host"
        driver.ok("aclrtFreeHost", address)
        assert driver.call("aclrtFreeHost", address) == 107000

    def test_a_host_without_memory_to_pin(self, driver: Driver) -> None:
        driver.host.memory_left = False
        assert driver.call("aclrtMallocHost", OUT, SIZE) == 207001


class TestSetting:
    @pytest.mark.parametrize(("value", "byte"), [(0x5A, 0x5A), (0x1234, 0x34), (-1, 0xFF), (0, 0)])
    @pytest.mark.parametrize("where", ["device", "pinned", "pageable"])
    def test_the_value_is_used_as_a_byte(self, driver: Driver, value: int, byte: int, where: str) -> None:
        address = place(driver, where, b"?" * SIZE)
        driver.ok("aclrtMemset", address, SIZE, value, SIZE - 1)
        assert content(driver, address) == bytes([byte]) * (SIZE - 1) + b"?"

    def test_a_count_of_0_is_no_check_at_all(self, driver: Driver) -> None:
        for thread in (1, 2):
            driver.ok("aclrtMemset", 0, 0, 0, 0, thread=thread)

    def test_ranges_larger_than_a_step(self, driver: Driver) -> None:
        address = driver.device_memory(5 << 20)
        driver.ok("aclrtMemset", address, 5 << 20, 9, (5 << 20) - 3)
        assert content(driver, address + (5 << 20) - 8, 8) == b"\x09" * 5 + bytes(3)


def place(driver: Driver, where: str, data: bytes) -> int:
    """Memory of a kind with that content."""
    if where == "pageable":
        return driver.host.give(data)
    if where == "pinned":
        return driver.pinned(data)
    address = driver.device_memory(len(data))
    driver.ok("aclrtMemcpy", address, len(data), driver.host.give(data), len(data), 1)
    return address


PLACES = ("pageable", "pinned", "device")


class TestCopying:
    @pytest.mark.parametrize("kind", range(6))
    @pytest.mark.parametrize("source", PLACES)
    @pytest.mark.parametrize("destination", PLACES)
    def test_the_addresses_decide_whatever_the_kind(
        self, driver: Driver, destination: str, source: str, kind: int
    ) -> None:
        to, origin = place(driver, destination, bytes(SIZE)), place(driver, source, b"A" * SIZE)
        driver.ok("aclrtMemcpy", to, SIZE, origin, SIZE, kind)
        assert content(driver, to) == b"A" * SIZE

    def test_documented_kinds_are_a_hint(self) -> None:
        driver = Driver(behaviour="documented").opened()
        to, origin = place(driver, "device", bytes(SIZE)), driver.host.give(b"A" * SIZE)
        driver.ok("aclrtMemcpy", to, SIZE, origin, SIZE, 9)
        assert content(driver, to) == b"A" * SIZE

    def test_a_count_of_0_is_no_check_at_all(self, driver: Driver) -> None:
        for thread in (1, 2):
            driver.ok("aclrtMemcpy", 0, 0, 0, 0, 9, thread=thread)
            driver.ok("aclrtMemcpyAsync", 0, 0, 0, 0, 9, 5, thread=thread)

    def test_a_copy_onto_itself_does_nothing(self, driver: Driver) -> None:
        driver.ok("aclrtMemcpy", 0x1234, SIZE, 0x1234, SIZE, 0, thread=2)
        memory = driver.device_memory(SIZE)
        driver.ok("aclrtMemcpyAsync", memory, SIZE, memory, SIZE, 3, 0)

    def test_ranges_may_overlap(self, driver: Driver) -> None:
        memory = place(driver, "device", bytes(range(SIZE)))
        driver.ok("aclrtMemcpy", memory + 8, SIZE - 8, memory, SIZE - 8, 3)
        assert content(driver, memory) == bytes(range(8)) + bytes(range(SIZE - 8))

    def test_copies_at_once_do_not_wait_for_streams(self, driver: Driver) -> None:
        driver.gate(0)
        memory, pinned = place(driver, "device", bytes(SIZE)), driver.pinned(b"A" * SIZE)
        driver.ok("aclrtMemcpyAsync", memory, SIZE, pinned, SIZE, 1, 0)
        assert content(driver, memory) == bytes(SIZE)

    def test_between_devices(self, driver: Driver) -> None:
        here = place(driver, "device", b"A" * SIZE)
        driver.ok("aclrtSetDevice", 1)
        there = driver.device_memory(SIZE)
        driver.ok("aclrtDeviceEnablePeerAccess", 0, 0)
        driver.ok("aclrtMemcpy", there, SIZE, here, SIZE, 3)
        assert content(driver, there) == b"A" * SIZE


# Observed: the answer by destination, source and kind 0 to 5; the copy is made exactly if it is 0 (semantics.md 3).
ASYNCHRONOUS = {
    ("pageable", "pageable"): (207000, 0, 0, 0, 207000, 107000),
    ("pageable", "pinned"): (207000, 0, 107000, 107000, 207000, 107000),
    ("pageable", "device"): (107000, 107000, 0, 0, 0, 107000),
    ("pinned", "pageable"): (207000, 107000, 0, 107000, 207000, 107000),
    ("pinned", "pinned"): (207000, 207000, 207000, 207000, 207000, 107000),
    ("pinned", "device"): (0, 0, 0, 0, 0, 107000),
    ("device", "pageable"): (107000, 0, 107000, 0, 0, 0),
    ("device", "pinned"): (0, 0, 0, 0, 0, 0),
    ("device", "device"): (0, 0, 0, 0, 0, 107000),
}


class TestAsynchronousCopying:
    @pytest.mark.parametrize("behaviour", ["observed", "default", "documented,memcpyasync-alignment=unchecked"])
    @pytest.mark.parametrize("places", ASYNCHRONOUS)
    def test_kinds_and_places(self, places: tuple[str, str], behaviour: str) -> None:
        driver = Driver(behaviour=behaviour).opened()
        stream = driver.stream()
        for kind, number in enumerate(ASYNCHRONOUS[places]):
            to, origin = place(driver, places[0], bytes(SIZE)), place(driver, places[1], b"B" * SIZE)
            later = number == 207000 and (behaviour.startswith("documented") or (behaviour == "default" and kind == 0))
            reply = driver.call("aclrtMemcpyAsync", to, SIZE, origin, SIZE, kind, stream)
            assert reply == (0 if later else number), kind
            assert driver.call("aclrtSynchronizeStream", stream) == (507000 if later else 0), kind
            assert driver.call("aclrtSynchronizeStream", stream) == 0
            assert content(driver, to) == (bytes(SIZE) if number else b"B" * SIZE), kind

    def test_documented_alignment(self) -> None:
        driver = Driver(behaviour="documented").opened()
        memory, pinned = driver.device_memory(256), driver.pinned(bytes(256))
        driver.ok("aclrtMemcpyAsync", memory, SIZE, pinned, SIZE, 1, 0)
        assert driver.call("aclrtMemcpyAsync", memory + 1, SIZE, pinned, SIZE, 1, 0) == 107008
        assert driver.call("aclrtMemcpyAsync", memory, SIZE, pinned + 32, SIZE, 1, 0) == 107008

    @pytest.mark.parametrize(
        ("destination", "source", "kind", "waits"),
        [
            ("device", "pinned", 1, False), ("pinned", "device", 2, False), ("device", "device", 3, False),
            ("device", "pageable", 1, True), ("pageable", "device", 2, True), ("device", "pageable", 3, False),
            ("device", "pageable", 5, False), ("device", "pinned", 5, False), ("pageable", "pageable", 1, True),
            ("pageable", "pageable", 3, False), ("pageable", "device", 3, False), ("pinned", "pageable", 2, True),
            ("pageable", "pinned", 1, True),
        ],
    )  # fmt: skip
    def test_on_a_held_stream(self, driver: Driver, destination: str, source: str, kind: int, waits: bool) -> None:
        stream = driver.stream()
        to, origin = place(driver, destination, bytes(SIZE)), place(driver, source, b"U" * SIZE)
        gate = driver.gate(stream)
        reply = driver.call("aclrtMemcpyAsync", to, SIZE, origin, SIZE, kind, stream)
        assert isinstance(reply, Wait) == waits
        driver.pace(10)
        assert content(driver, to) == bytes(SIZE)
        driver.ok("aclrtRecordEvent", gate, 0)
        driver.ok("aclrtSynchronizeStream", stream)
        assert content(driver, to) == b"U" * SIZE
        assert not waits or reply.reply == 0

    def test_a_task_reads_its_source_when_it_runs_and_a_buffered_one_when_it_is_submitted(self, driver: Driver) -> None:
        stream, pinned = driver.stream(), driver.pinned(b"early")
        plain, buffered = driver.device_memory(5), driver.device_memory(5)
        gate = driver.gate(stream)
        driver.ok("aclrtMemcpyAsync", plain, 5, pinned, 5, 1, stream)
        driver.ok("aclrtMemcpyAsync", buffered, 5, pinned, 5, 5, stream)
        driver.host.poke(pinned, b"later")
        driver.ok("aclrtRecordEvent", gate, 0)
        driver.ok("aclrtSynchronizeStream", stream)
        assert (content(driver, plain, 5), content(driver, buffered, 5)) == (b"later", b"early")

    def test_a_pageable_copy_accepts_a_foreign_stream_and_answers_its_failure(self, driver: Driver) -> None:
        stream, memory, pinned = driver.stream(), driver.device_memory(SIZE), driver.pinned(bytes(SIZE))
        pageable = driver.host.give(b"P" * SIZE)
        driver.ok("aclrtMemcpyAsync", memory, SIZE, pinned, SIZE, 1, stream)
        driver.ok("aclrtFreeHost", pinned)
        driver.ok("aclrtCreateContext", OUT, 0)
        assert driver.call("aclrtMemcpyAsync", memory, SIZE, pageable, SIZE, 1, stream) == 507013
        driver.ok("aclrtMemcpyAsync", memory, SIZE, pageable, SIZE, 1, stream)
        assert content(driver, memory) == b"P" * SIZE

    @pytest.mark.parametrize(
        "what", ["device freed", "pinned freed", "pageable unmapped", "beyond the end", "came again"]
    )
    def test_a_task_whose_memory_is_gone_fails_and_is_answered_once(self, driver: Driver, what: str) -> None:
        stream, memory, pinned = driver.stream(), driver.device_memory(SIZE), driver.pinned(b"A" * SIZE)
        pageable = driver.host.give(b"A" * PAGE)
        size = 4096 if what == "beyond the end" else SIZE
        source, kind = (pageable, 3) if what in ("pageable unmapped", "beyond the end") else (pinned, 1)
        gate = driver.gate(stream)
        driver.ok("aclrtMemcpyAsync", memory, size, source, size, kind, stream)
        if what in ("device freed", "came again"):
            driver.ok("aclrtFree", memory)
        if what == "came again":
            assert driver.device_memory(SIZE) == memory
        if what == "pinned freed":
            driver.ok("aclrtFreeHost", pinned)
        if what == "pageable unmapped":
            driver.host.take(pageable)
        driver.ok("aclrtRecordEvent", gate, 0)
        assert driver.call("aclrtSynchronizeStream", stream) == 507013
        assert driver.call("aclrtSynchronizeStream", stream) == 0
        if what == "came again":
            assert content(driver, memory) == bytes(SIZE)  # the new owner's bytes are untouched


class TestInformation:
    @pytest.mark.parametrize("product", PRODUCTS)
    def test_free_and_total_of_each_attribute(self, product: str) -> None:
        """semantics.md 3; the reference page names the products that have pages of 1 GiB."""
        kind, capacity, giant = MEMORY[product]
        driver = Driver(product=product).opened()
        assert set(range(18)) == set(DDR) | set(HBM) | set(GENERIC)
        for attribute in range(18):
            has = (kind == "ddr" or attribute not in DDR) and (giant or attribute not in GIANT)
            expected = (capacity, capacity) if has else (0, 0)
            assert driver.ok("aclrtGetMemInfo", attribute, OUT, OUT) == expected, attribute
        for attribute in (-1, 18, 0x7FFF_FFFF):
            assert driver.call("aclrtGetMemInfo", attribute, OUT, OUT) == 107016

    def test_free_memory_follows_allocations(self, driver: Driver) -> None:
        free, total = driver.ok("aclrtGetMemInfo", 1, OUT, OUT)
        assert free == total == 64 * GIB
        block = driver.device_memory(256 << 20)
        during, _ = driver.ok("aclrtGetMemInfo", 1, OUT, OUT)
        assert 256 << 20 <= free - during <= 258 << 20
        driver.ok("aclrtFree", block)
        assert driver.ok("aclrtGetMemInfo", 1, OUT, OUT) == (free, total)

    def test_each_device_has_its_own(self, driver: Driver) -> None:
        driver.device_memory(GIB)
        driver.ok("aclrtSetDevice", 1)
        assert driver.ok("aclrtGetMemInfo", 1, OUT, OUT) == (64 * GIB, 64 * GIB)

    def test_a_reset_gives_everything_back(self, driver: Driver) -> None:
        small, large = driver.device_memory(SIZE), driver.device_memory(GIB)
        driver.ok("aclrtMemset", small, SIZE, 1, SIZE)
        driver.ok("aclrtResetDevice", 0)
        driver.ok("aclrtSetDevice", 0)
        assert driver.ok("aclrtGetMemInfo", 1, OUT, OUT) == (64 * GIB, 64 * GIB)
        assert (driver.device_memory(SIZE), driver.device_memory(GIB)) == (small, large)
        assert content(driver, small) == bytes(SIZE)
        assert large == DEVICE_BASE + SMALL_SPAN

    def test_the_same_calls_give_the_same_addresses(self) -> None:
        def addresses() -> list[Any]:
            driver = Driver().opened()
            blocks = [driver.device_memory(size * 777 % 5_000_000 + 1) for size in range(100)]
            for block in blocks[::3]:
                driver.ok("aclrtFree", block)
            return blocks + [driver.device_memory(size * 333 % 3_000_000 + 1) for size in range(100)]

        assert addresses() == addresses()
