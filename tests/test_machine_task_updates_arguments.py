"""aclrtTaskUpdateAsync: what it refuses, as a table as in ``test_machine_arguments.py``; what it changes, and when."""

from struct import pack, unpack
from typing import Any

import pytest

from tests.fakes import OUT
from tests.graph_tools import GraphDriver
from tests.test_machine_arguments import A, R, Row, World, check_refused
from tests.test_machine_small_arguments import information, value

CODE = "reference implementation"
UNIFORM, INT32 = 1, 3
RANDOM, KERNEL = 1, 2
SIZE = 104
COUNT = 4
BAD_NUMBER = 99

ROWS: list[Row] = []


def rows(*cases: tuple[object, ...], thread: int = 1) -> None:
    for *arguments, number, layer in cases:
        ROWS.append((CODE, "aclrtTaskUpdateAsync", tuple(arguments), int(str(number)), bool(layer), thread))


def update(source: int, size: int = SIZE, kind: int = RANDOM) -> bytes:
    """An aclrtTaskUpdateInfo."""
    return pack("<ixxxxQQ24x", kind, source, size)


GOOD = "update: good"

rows(
    ("null", 1, None, "null", 100000, A), ("gone stream", 1, None, "sync", 100000, A),
    ("gone stream", 1, "update: kernel", "null", 207000, R), ("null", 1, "update: unknown", "sync", 107000, R),
    ("null", 1, GOOD, "gone stream", 107000, R), ("gone stream", 1, GOOD, "gone stream", 107017, R),
    ("sync", 1, GOOD, "stream", 107017, R), ("model stream", 1, "update: null", "gone stream", 107017, R),
    ("model stream", 1, "update: null", "captured", 107000, R),
    ("model stream", 1, "update: size", "captured", 107000, R),
    ("model stream", 1, GOOD, "model stream", 107000, R),
    ("model stream", BAD_NUMBER, GOOD, "foreign", 107003, R), ("stream", 1, GOOD, "foreign", 107003, R),
    ("stream", 1, GOOD, "stream", 107000, R), ("unbound", 1, GOOD, "stream", 107000, R),
    ("model stream", 0, GOOD, "stream", 107000, R), ("model stream", BAD_NUMBER, GOOD, "null", 107000, R),
    ("model stream", 2, GOOD, "stream", 107000, R), ("model stream", 3, GOOD, "stream", 107000, R),
)  # fmt: skip
rows(
    ("null", 1, GOOD, "null", 107000, R), ("model stream", 1, "update: size", "null", 107000, R),
    ("model stream", 1, GOOD, "stream", 107002, R), ("null", 1, None, "null", 100000, A),
    thread=2,
)  # fmt: skip


class UpdateWorld(World):
    """Streams of a model instance: task 1 can be updated, task 2 has no memory for that, task 3 makes no numbers."""

    def __init__(self, behaviour: str) -> None:
        super().__init__(behaviour)
        driver, names = self.driver, self.names
        result, counter, parameters = (driver.device_memory(64) for _ in range(3))
        bound, unbound = (driver.ok("aclrtCreateStreamWithConfig", OUT, 0, 4) for _ in range(2))
        model = driver.ok("aclmdlRIBuildBegin", OUT, 0)
        driver.ok("aclmdlRIBindStream", model, bound, 0)
        one = value(pack("<i", 1))
        for memory in (parameters, 0):
            request = information(INT32, UNIFORM, one, one, result, counter, parameters=memory)
            driver.ok("aclrtRandomNumAsync", driver.host.give(request), bound, 0)
        driver.ok("aclrtMemsetAsync", result, 64, 0, 64, bound)
        captured = driver.stream()
        driver.ok("aclmdlRICaptureBegin", captured, 2)
        names |= {"model stream": bound, "unbound": unbound, "captured": captured}
        names |= {
            GOOD: update(result), "update: kernel": update(result, kind=KERNEL), "update: null": update(0),
            "update: unknown": update(result, 0, 3), "update: size": update(result, SIZE - 1),
        }  # fmt: skip


@pytest.mark.parametrize("behaviour", ["documented", "observed"])
def test_refused_calls(behaviour: str) -> None:
    check_refused(UpdateWorld(behaviour), ROWS)


def test_a_stream_in_capture_is_refused() -> None:
    world = UpdateWorld("default")
    assert world.driver.call("aclrtTaskUpdateAsync", world("model stream"), 1, world(GOOD), world("captured")) == 107027


@pytest.mark.parametrize(("product", "number"), [("A3", 107000), ("A2", 107000), ("950PR", 207000), ("310P", 207000)])
def test_only_some_products_update_random_numbers(product: str, number: int) -> None:
    """Reference page: not the 950; 310P makes no random numbers (aclrtRandomNumAsync)."""
    driver = GraphDriver(product=product).opened()
    assert driver.call("aclrtTaskUpdateAsync", driver.stream(), 1, update(0x1000), 0) == number


class Numbers(GraphDriver):
    """An instance whose only task makes whole numbers from 0 to 9."""

    def __init__(self, schedule: str = "asap") -> None:
        super().__init__(schedule=schedule)
        self.opened()
        self.result, self.counter, self.parameters, self.source = (self.device_memory(256) for _ in range(4))
        self.ok("aclrtMemset", self.counter, 16, 0, 16)
        self.bound = self.persistent()
        self.model = self.by_hand(self.bound)
        self.ok("aclrtRandomNumAsync", self.host.give(self.request(0, 10)), self.bound, 0)
        self.task = self.ok("aclrtGetThreadLastTaskId", OUT)
        self.built(self.model, self.bound)

    def request(self, low: int, high: int, function: int = UNIFORM) -> bytes:
        first, second = value(pack("<i", low)), value(pack("<i", high))
        return information(
            INT32, function, first, second, self.result, self.counter,
            count=value(pack("<Q", COUNT)), parameters=self.parameters,
        )  # fmt: skip

    def put(self, address: int, content: bytes) -> None:
        self.ok("aclrtMemcpy", address, len(content), self.host.give(content), len(content), 1)

    def update(self, stream: int = 0) -> Any:
        return self.call("aclrtTaskUpdateAsync", self.bound, self.task, update(self.source), stream)

    def made(self) -> list[int]:
        host = self.host.give(bytes(4 * COUNT))
        self.ok("aclrtMemcpy", host, 4 * COUNT, self.result, 4 * COUNT, 2)
        return list(unpack(f"<{COUNT}i", self.host.peek(host, 4 * COUNT)))

    def within(self, low: int, high: int) -> bool:
        return all(low <= number < high for number in self.made())


@pytest.mark.parametrize("schedule", ["asap", "late", "seed:2"])
class TestWhatItDoes:
    def test_runs_from_then_on_do_what_it_says(self, schedule: str) -> None:
        driver = Numbers(schedule)
        driver.run(driver.model)
        assert driver.within(0, 10)
        driver.put(driver.source, driver.request(100, 110))
        assert driver.update() == 0
        for _ in range(2):
            driver.run(driver.model)
            assert driver.within(100, 110)

    def test_it_takes_its_turn_in_its_stream(self, schedule: str) -> None:
        """A run behind it on the same stream has what it set; what it reads is what is there when it runs."""
        driver = Numbers(schedule)
        driver.put(driver.source, driver.request(50, 60))
        stream = driver.stream()
        gate = driver.gate(stream)
        assert driver.update(stream) == 0
        driver.ok("aclmdlRIExecuteAsync", driver.model, stream)
        driver.put(driver.source, driver.request(100, 110))
        driver.ok("aclrtRecordEvent", gate, 0)
        driver.ok("aclrtSynchronizeStream", stream)
        assert driver.within(100, 110)

    def test_a_description_that_is_wrong_fails_the_task(self, schedule: str) -> None:
        driver = Numbers(schedule)
        driver.put(driver.source, driver.request(100, 110, function=4))
        assert driver.update() == 0
        assert driver.call("aclrtSynchronizeStream", 0) == 507018
        driver.run(driver.model)
        assert driver.within(0, 10)

    def test_a_description_that_is_gone_fails_the_task(self, schedule: str) -> None:
        driver = Numbers(schedule)
        stream = driver.stream()
        gate = driver.gate(stream)
        assert driver.update(stream) == 0
        driver.ok("aclrtFree", driver.source)
        driver.ok("aclrtRecordEvent", gate, 0)
        assert driver.call("aclrtSynchronizeStream", stream) == 507013
