"""Streams made from a configuration, and threads that are subscribed for functions of loaded models: what only IPV350
has. What the calls refuse stands in a table, as in ``test_machine_arguments.py``; IPV350 has no last error and no
messages, so the rows say which number and that the model stays as it was."""

from typing import Any

import pytest

from cannery.runtime.api import MODEL
from cannery.runtime.machine import Wait
from tests.fakes import MILLISECOND, OUT, Driver, ident
from tests.snapshots import state

CODE = "public implementation"
WORK_ADDRESS, WORK_SIZE, FLAG, PRIORITY = 0, 1, 2, 3
ROWS: list[tuple[str, str, tuple[Any, ...], int, int]] = []
"""Section, function, arguments, number, thread."""


def rows(function: str, *cases: tuple[object, ...], thread: int = 1) -> None:
    for *arguments, number in cases:
        ROWS.append((CODE, function, tuple(arguments), int(str(number)), thread))


def number(value: int, size: int) -> bytes:
    return value.to_bytes(size, "little")


rows("aclrtDestroyStreamConfigHandle", ("null", 100000), ("gone configuration", 107017), ("stream", 107017))
rows(
    "aclrtSetStreamConfigOpt",
    ("null", PRIORITY, number(1, 4), 4, 100000), ("null", 9, None, 4, 100000),
    ("configuration", PRIORITY, None, 4, 100000), ("gone configuration", PRIORITY, None, 4, 100000),
    ("configuration", -1, number(1, 4), 4, 100000), ("configuration", 4, number(1, 4), 4, 100000),
    ("gone configuration", 4, number(1, 4), 4, 100000), ("gone configuration", PRIORITY, number(9, 4), 4, 107017),
    ("stream", PRIORITY, number(1, 4), 4, 107017), ("configuration", PRIORITY, number(1, 8), 8, 100000),
    ("configuration", PRIORITY, b"", 0, 100000), ("configuration", PRIORITY, number(8, 4), 4, 100000),
    ("configuration", PRIORITY, number(0xFFFFFFFF, 4), 4, 100000), ("configuration", FLAG, number(1, 4), 4, 100000),
    ("configuration", WORK_ADDRESS, number(1, 4), 4, 100000), ("configuration", WORK_SIZE, number(1, 4), 4, 100000),
    ("configuration", WORK_SIZE, b"", 1 << 21, 100000),
)  # fmt: skip
rows(
    "aclrtCreateStreamV2",
    ("null", "configuration", 100000), ("null", "gone configuration", 100000), ("out", "gone configuration", 107017),
    ("out", "stream", 107017),
)  # fmt: skip
rows("aclrtCreateStreamV2", ("out", "null", 107002), ("null", "null", 100000), thread=2)
rows("aclrtCreateStreamV2", ("out", "gone configuration", 107017), ("out", "configuration", 107002), thread=2)
rows(
    "aclrtSubscribeHostFunc",
    (7, "null", 107000), (7, "gone stream", 107017), (7, "configuration", 107017), (7, "subscribed", 107011),
    (8, "subscribed", 107011),
)  # fmt: skip
rows(
    "aclrtUnSubscribeHostFunc",
    (7, "null", 107000), (7, "gone stream", 107017), (7, "configuration", 107017), (8, "subscribed", 107011),
    (7, "stream", 107011),
)  # fmt: skip
rows("aclrtProcessHostFunc", (0, 107000), (-2, 107000), (-(1 << 31), 107000))


class World:
    """Thread 1 has the device selected, thread 2 has no context; thread "7" is subscribed for a stream."""

    def __init__(self) -> None:
        self.driver = driver = Driver(product="IPV350").opened()
        configuration, gone = (driver.call("aclrtCreateStreamConfigHandle") for _ in range(2))
        driver.ok("aclrtDestroyStreamConfigHandle", gone)
        stream, gone_stream, subscribed = (driver.ok("aclrtCreateStreamV2", OUT, 0) for _ in range(3))
        driver.ok("aclrtDestroyStream", gone_stream)
        driver.ok("aclrtSubscribeHostFunc", 7, subscribed)
        self.names: dict[str, Any] = {
            "null": 0, "out": OUT, "configuration": configuration, "gone configuration": gone, "stream": stream,
            "gone stream": gone_stream, "subscribed": subscribed,
        }  # fmt: skip

    def __call__(self, argument: Any) -> Any:
        return self.names[argument] if isinstance(argument, str) else argument


def test_refused_calls() -> None:
    world = World()
    driver = world.driver
    driver.machine.thread(2)
    for section, function, arguments, expected, thread in ROWS:
        row = f"{section}: {function}{arguments} on thread {thread}"
        before = state(driver.machine)
        reply = driver.call(function, *map(world, arguments), thread=thread)
        assert (reply[0] if isinstance(reply, tuple) else reply) == expected, row
        assert state(driver.machine) == before, row


def priority_of(driver: Driver, stream: int) -> int:
    """IPV350 has no call that tells it."""
    return driver.machine.streams[stream].priority


class TestConfigurations:
    @pytest.fixture
    def driver(self) -> Driver:
        return Driver(product="IPV350").opened()

    def test_a_stream_has_the_priority_of_its_configuration(self, driver: Driver) -> None:
        configuration = driver.call("aclrtCreateStreamConfigHandle")
        driver.ok("aclrtSetStreamConfigOpt", configuration, PRIORITY, number(7, 4), 4)
        least = driver.ok("aclrtCreateStreamV2", OUT, configuration)
        driver.ok("aclrtSetStreamConfigOpt", configuration, PRIORITY, number(2, 4), 4)
        other = driver.ok("aclrtCreateStreamV2", OUT, configuration)
        assert [priority_of(driver, least), priority_of(driver, other)] == [7, 2]

    def test_without_values_the_priority_is_the_greatest(self, driver: Driver) -> None:
        configuration = driver.call("aclrtCreateStreamConfigHandle")
        streams = [driver.ok("aclrtCreateStreamV2", OUT, handle) for handle in (configuration, 0)]
        assert [priority_of(driver, stream) for stream in streams] == [0, 0]

    def test_flags_and_work_memory_have_no_effect(self, driver: Driver) -> None:
        configuration = driver.call("aclrtCreateStreamConfigHandle")
        for attribute, value in ((WORK_ADDRESS, 0x1000), (WORK_SIZE, 64), (FLAG, 0x20), (FLAG, (1 << 64) - 1)):
            driver.ok("aclrtSetStreamConfigOpt", configuration, attribute, number(value, 8), 8)
        stream = driver.ok("aclrtCreateStreamV2", OUT, configuration)
        assert driver.machine.streams[stream].flags == 0
        assert driver.ok("aclrtSynchronizeStream", stream) is None

    def test_a_stream_outlives_its_configuration(self, driver: Driver) -> None:
        configuration = driver.call("aclrtCreateStreamConfigHandle")
        stream = driver.ok("aclrtCreateStreamV2", OUT, configuration)
        driver.ok("aclrtDestroyStreamConfigHandle", configuration)
        driver.ok("aclrtSynchronizeStream", stream)
        driver.ok("aclrtDestroyStream", stream)

    def test_ids_end(self, driver: Driver) -> None:
        count = driver.machine.profile.streams
        numbers = [driver.call("aclrtCreateStreamV2", OUT, 0) for _ in range(count)]
        assert numbers[-1] == 207008
        assert isinstance(numbers[0], tuple)


class TestSubscriptions:
    def test_nothing_ever_arrives(self) -> None:
        """What hands functions over is a loaded model."""
        driver = Driver(product="IPV350").opened()
        stream = driver.ok("aclrtCreateStreamV2", OUT, 0)
        driver.ok("aclrtSubscribeHostFunc", ident(2), stream)
        driver.ok("aclrtSubscribeReport", ident(2), stream)
        driver.ok("aclrtLaunchCallback", 0x5555, 0, 0, stream)  # goes to the other subscription
        wait = driver.call("aclrtProcessHostFunc", 20, thread=2)
        driver.pace(19)
        assert isinstance(wait, Wait) and wait.reply is None
        assert wait.deadline == driver.machine.now + MILLISECOND
        driver.pace(1)
        driver.expire(wait)
        assert wait.reply == 507012

    def test_a_thread_that_is_not_subscribed_waits_too(self) -> None:
        driver = Driver(product="IPV350").opened()
        wait = driver.call("aclrtProcessHostFunc", -1)
        driver.pace(10_000)
        assert isinstance(wait, Wait) and wait.reply is None and wait.deadline is None

    def test_a_stream_can_be_subscribed_again(self) -> None:
        driver = Driver(product="IPV350").opened()
        stream = driver.ok("aclrtCreateStreamV2", OUT, 0)
        for thread in (1, 2):
            driver.ok("aclrtSubscribeHostFunc", thread, stream)
            driver.ok("aclrtUnSubscribeHostFunc", thread, stream)
        assert driver.call("aclrtUnSubscribeHostFunc", 2, stream) == 107011


def test_other_products_have_none_of_them() -> None:
    driver = Driver().opened()
    for function in {row[1] for row in ROWS}:
        assert driver.call(function, *[0] * len(MODEL[function].params)) == 207000
