"""Random numbers: the published generator, the distributions, and what they depend on."""

from statistics import fmean, pstdev
from struct import pack, unpack
from typing import Any

import pytest

from cannery.runtime.randomness import philox
from tests.fakes import Driver
from tests.test_machine_small_arguments import information, value

FLOAT, FLOAT16, INT32, UINT32, INT64, UINT64, BFLOAT16 = 0, 1, 3, 8, 9, 10, 27
DROPOUT, UNIFORM, NORMAL, TRUNCATED = range(4)
ALL = 0xFFFF_FFFF


@pytest.mark.parametrize(
    ("counter", "key", "words"),
    [
        ((0, 0, 0, 0), (0, 0), (0x6627E8D5, 0xE169C58D, 0xBC57AC4C, 0x9B00DBD8)),
        ((ALL, ALL, ALL, ALL), (ALL, ALL), (0x408F276D, 0x41C83B0E, 0xA20BC7C6, 0x6D5451FD)),
        (
            (0x243F6A88, 0x85A308D3, 0x13198A2E, 0x03707344),
            (0xA4093822, 0x299F31D0),
            (0xD16CFE09, 0x94FDCCEB, 0x5001E420, 0x24126EA1),
        ),
    ],
)
def test_the_generator_gives_the_published_words(
    counter: tuple[int, int, int, int], key: tuple[int, int], words: tuple[int, ...]
) -> None:
    """The known answers that its authors publish."""
    assert philox(key, counter) == words


class Device:
    """A stream that makes numbers, and memory for them."""

    def __init__(self, size: int = 1 << 16) -> None:
        self.driver = driver = Driver().opened()
        self.stream = driver.stream()
        self.result, self.counter = driver.device_memory(size), driver.device_memory(16)
        self.size = size
        driver.ok("aclrtMemset", self.counter, 16, 0, 16)

    def ask(self, element: int, function: int, first: bytes, second: bytes, number: int, **other: Any) -> None:
        if "count" not in other:
            other["count"] = value(pack("<Q", number))
        content = information(element, function, first, second, self.result, self.counter, **other)
        self.driver.ok("aclrtRandomNumAsync", self.driver.host.give(content), self.stream, 0)

    def read(self, size: int) -> bytes:
        self.driver.ok("aclrtSynchronizeStream", self.stream)
        host = self.driver.host.give(bytes(size))
        self.driver.ok("aclrtMemcpy", host, size, self.result, size, 2)
        return self.driver.host.peek(host, size)

    def floats(self, function: int, first: float, second: float, count: int, **other: Any) -> list[float]:
        self.ask(FLOAT, function, value(pack("<f", first)), value(pack("<f", second)), count, **other)
        return list(unpack(f"<{count}f", self.read(4 * count)))


def test_uniform_numbers_fill_their_range() -> None:
    numbers = Device().floats(UNIFORM, -1.0, 3.0, 4000)
    assert all(-1.0 <= number < 3.0 for number in numbers)
    assert fmean(numbers) == pytest.approx(1.0, abs=0.1)
    assert min(numbers) < -0.95 and max(numbers) > 2.95


def test_normal_numbers_have_the_mean_and_the_deviation() -> None:
    numbers = Device().floats(NORMAL, 3.0, 2.0, 4000)
    assert fmean(numbers) == pytest.approx(3.0, abs=0.15)
    assert pstdev(numbers) == pytest.approx(2.0, abs=0.15)
    assert any(abs(number - 3.0) > 4.0 for number in numbers)


def test_truncated_numbers_stay_within_two_deviations() -> None:
    numbers = Device().floats(TRUNCATED, 3.0, 2.0, 4000)
    assert all(-1.0 <= number <= 7.0 for number in numbers)
    assert fmean(numbers) == pytest.approx(3.0, abs=0.15)


@pytest.mark.parametrize(
    ("element", "code", "low", "high"),
    [(INT32, "i", -5, 5), (UINT32, "I", 1, 100), (INT64, "q", -(1 << 62), 1 << 62), (UINT64, "Q", 7, (1 << 64) - 1)],
)
def test_whole_numbers(element: int, code: str, low: int, high: int) -> None:
    device = Device()
    bounds = [value(pack(f"<{code}", bound)) for bound in (low, high)]
    device.ask(element, UNIFORM, bounds[0], bounds[1], 1000)
    numbers = unpack(f"<1000{code}", device.read(1000 * len(pack(code, 0))))
    assert all(low <= number < high for number in numbers)
    middle = (low + high) // 2
    assert min(numbers) < middle < max(numbers)


@pytest.mark.parametrize(("element", "one", "two"), [(FLOAT16, 0x3C00, 0x4000), (BFLOAT16, 0x3F80, 0x4000)])
def test_16_bit_numbers(element: int, one: int, two: int) -> None:
    device = Device()
    device.ask(element, UNIFORM, value(pack("<H", one)), value(pack("<H", two)), 500)
    numbers = unpack("<500H", device.read(1000))
    assert all(one <= number <= two for number in numbers)
    assert len(set(numbers)) > 30


def test_a_dropout_mask_keeps_the_rest() -> None:
    device = Device()
    device.ask(FLOAT, DROPOUT, value(pack("<f", 0.4)), b"", 8000)
    kept = sum(byte.bit_count() for byte in device.read(1000))
    assert kept == pytest.approx(4800, abs=200)
    device.ask(FLOAT, DROPOUT, value(pack("<f", 0.0)), b"", 12)
    assert device.read(2) == b"\xff\x0f"


def test_numbers_depend_on_seed_and_counter_and_on_nothing_else() -> None:
    device, other = Device(), Device()
    first = device.floats(UNIFORM, 0.0, 1.0, 8)
    assert device.floats(UNIFORM, 0.0, 1.0, 8) == first == other.floats(UNIFORM, 0.0, 1.0, 8)
    assert device.floats(UNIFORM, 0.0, 1.0, 8, seed=value(pack("<Q", 2))) != first
    one = device.driver.host.give(b"\x01")
    device.driver.ok("aclrtMemcpy", device.counter, 1, one, 1, 1)
    assert device.floats(UNIFORM, 0.0, 1.0, 4) == first[4:]  # a step of the counter is four words


def test_values_by_address_are_read_when_the_task_runs() -> None:
    device = Device()
    driver = device.driver
    there = driver.device_memory(64)
    host = driver.host.give(pack("<ff", 5.0, 6.0) + pack("<Q", 4))
    gate = driver.gate(device.stream)
    indirect = [value(pack("<Q", there + offset), indirect=1) for offset in (0, 4, 8)]
    device.ask(FLOAT, UNIFORM, indirect[0], indirect[1], 0, count=indirect[2])
    driver.ok("aclrtMemcpy", there, 64, host, 16, 1)
    driver.ok("aclrtRecordEvent", gate, 0)
    assert all(5.0 <= number < 6.0 for number in unpack("<4f", device.read(16)))


def test_parameters_are_put_where_the_program_wants_them() -> None:
    device = Device()
    driver = device.driver
    there, host = driver.device_memory(16), driver.host.give(bytes(16))
    device.floats(UNIFORM, 5.0, 6.0, 4, parameters=there)
    driver.ok("aclrtMemcpy", host, 16, there, 16, 2)
    assert driver.host.peek(host, 16) == pack("<f4xf4x", 5.0, 6.0)


@pytest.mark.parametrize("what", ["counter", "result", "value", "too many"])
def test_memory_that_is_gone_fails_the_task(what: str) -> None:
    device = Device(64)
    driver = device.driver
    there = driver.device_memory(8)
    gate = driver.gate(device.stream)
    low = value(pack("<Q", there), indirect=1)
    device.ask(FLOAT, UNIFORM, low, value(pack("<f", 1.0)), 200 if what == "too many" else 16)
    if what != "too many":
        driver.ok("aclrtFree", {"counter": device.counter, "result": device.result, "value": there}[what])
    driver.ok("aclrtRecordEvent", gate, 0)
    assert driver.call("aclrtSynchronizeStream", device.stream) == 507013
