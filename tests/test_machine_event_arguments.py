"""Calls about events with arguments they refuse, as in ``test_machine_arguments.py``: what only some families have."""

import pytest

from tests.fakes import OUT, Driver
from tests.test_machine_arguments import A, R, Row, World, check_refused

DEFAULT, EXTERNAL = 0, 1
NOT_A_FLAG = 2


class EventWorld(World):
    """Names for an event of each family, never recorded; for "bound" ones that were used with a flag already; and for
    records that are not done. Waits have 2 s."""

    def __init__(self, behaviour: str) -> None:
        super().__init__(behaviour)
        driver, names = self.driver, self.names
        names["shared"] = driver.event(0x40, ex=True)
        names["timed"], names["progress"] = driver.event(0x08), driver.event(0x02)
        names["ex timed sync"] = driver.event(0x09, ex=True)
        names["plain bound"] = driver.event(1, ex=True)
        driver.ok("aclrtRecordEvent", names["plain bound"], names["stream"])
        driver.ok("aclrtStreamWaitEvent", names["stream"], names["plain bound"])
        names["external bound"] = driver.event(1, ex=True)
        driver.call("aclrtRecordEventWithFlag", names["external bound"], names["stream"], EXTERNAL)
        driver.call("aclrtStreamWaitEventWithFlag", names["stream"], names["external bound"], 0, EXTERNAL)
        names["pending"] = driver.event(0x09, ex=True)
        names["held"] = driver.stream()
        driver.gate(names["held"])
        driver.ok("aclrtRecordEvent", names["pending"], names["held"])
        driver.message()


ROWS: list[Row] = []


def rows(section: str, function: str, *cases: tuple[object, ...], thread: int = 1) -> None:
    for *arguments, number, layer in cases:
        ROWS.append((section, function, tuple(arguments), int(str(number)), bool(layer), thread))


rows(
    "1.7", "aclrtRecordEventWithFlag",
    ("null", "stream", NOT_A_FLAG, 100000, A), ("null", "stream", DEFAULT, 100000, A),
    ("sync", "stream", NOT_A_FLAG, 100000, A), ("gone event", "gone stream", 0xFFFFFFFF, 100000, A),
    ("gone event", "gone stream", EXTERNAL, 107017, R), ("stream", "stream", EXTERNAL, 107017, R),
    ("sync", "gone stream", EXTERNAL, 107017, R), ("device only", "stream", EXTERNAL, 107000, R),
    ("sync", "stream", EXTERNAL, 207000, R), ("default event", "foreign", EXTERNAL, 207000, R),
    ("ex timed sync", "stream", EXTERNAL, 207000, R), ("external", "stream", EXTERNAL, 207000, R),
    ("unwaitable", "stream", EXTERNAL, 207000, R), ("shared", "stream", EXTERNAL, 207000, R),
    ("plain bound", "stream", EXTERNAL, 107000, R), ("plain bound", "foreign", EXTERNAL, 107000, R),
    ("external bound", "stream", DEFAULT, 107000, R), ("external bound", "foreign", DEFAULT, 107000, R),
    ("ex", "foreign", EXTERNAL, 107003, R), ("ex", "stream", EXTERNAL, 107029, R), ("ex", "null", EXTERNAL, 107029, R),
    ("sync", "foreign", DEFAULT, 107003, R), ("gone event", "stream", DEFAULT, 107017, R),
)  # fmt: skip
rows("1.7", "aclrtRecordEvent", ("external bound", "stream", 107000, R), ("shared", "foreign", 107003, R))
rows(
    "1.7", "aclrtRecordEventWithFlag",
    ("ex", "stream", EXTERNAL, 107002, R), ("sync", "stream", EXTERNAL, 207000, R), ("sync", "null", 0, 107002, R),
    ("plain bound", "stream", EXTERNAL, 107000, R),
    thread=2,
)  # fmt: skip
rows(
    "1.8", "aclrtResetEvent",
    ("null", "stream", 100000, A), ("null", "gone stream", 100000, A), ("gone event", "stream", 107017, R),
    ("sync", "gone stream", 107017, R), ("stream", "stream", 107017, R), ("sync", "sync", 107017, R),
    ("ex", "stream", 207000, R), ("ex", "foreign", 207000, R), ("shared", "stream", 207000, R),
    ("device only", "stream", 107000, R), ("timed", "stream", 207000, R), ("progress", "foreign", 207000, R),
    ("sync", "foreign", 107003, R), ("default event", "foreign", 107003, R),
)  # fmt: skip
rows("1.8", "aclrtResetEvent", ("sync", "stream", 107002, R), ("timed", "null", 207000, R), thread=2)
rows(
    "1.9", "aclrtStreamWaitEventWithTimeout",
    ("stream", "sync", -1, 107000, A), ("stream", "null", -1, 107000, A), ("stream", "null", 1, 107000, R),
    ("gone stream", "null", 1, 107017, R), ("gone stream", "sync", -(1 << 31), 107000, A),
    ("stream", "gone event", 0, 107017, R), ("stream", "stream", 0, 107017, R), ("sync", "sync", 0, 107017, R),
    ("stream", "device only", 1, 107000, R), ("stream", "timed", 1, 207000, R),
    ("foreign", "unwaitable", 1, 207000, R),
    ("stream", "external bound", 1, 107000, R), ("foreign", "sync", 1, 107003, R), ("foreign", "shared", 1, 107003, R),
    ("stream", "default event", 1, 107000, R), ("foreign", "default event", 1, 107003, R),
)  # fmt: skip
rows(
    "1.9", "aclrtStreamWaitEventWithFlag",
    ("stream", "null", 0, NOT_A_FLAG, 100000, A), ("stream", "sync", 0, NOT_A_FLAG, 100000, A),
    ("stream", "ex", 1, EXTERNAL, 100000, A), ("gone stream", "gone event", 0xFFFFFFFF, EXTERNAL, 100000, A),
    ("gone stream", "ex", 0, EXTERNAL, 107017, R), ("stream", "gone event", 0, EXTERNAL, 107017, R),
    ("stream", "device only", 0, EXTERNAL, 107000, R), ("stream", "unwaitable", 0, EXTERNAL, 207000, R),
    ("stream", "sync", 0, EXTERNAL, 207000, R), ("stream", "external", 0, EXTERNAL, 207000, R),
    ("stream", "ex timed sync", 0, EXTERNAL, 207000, R), ("foreign", "shared", 0, EXTERNAL, 207000, R),
    ("stream", "plain bound", 0, EXTERNAL, 107000, R), ("foreign", "plain bound", 0, EXTERNAL, 107000, R),
    ("stream", "external bound", 5, DEFAULT, 107000, R), ("foreign", "ex", 0, EXTERNAL, 107003, R),
    ("stream", "ex", 0, EXTERNAL, 107029, R), ("null", "ex", 0, EXTERNAL, 107029, R),
    ("foreign", "sync", 7, DEFAULT, 107003, R), ("stream", "default event", 7, DEFAULT, 107000, R),
)  # fmt: skip
rows("1.9", "aclrtStreamWaitEvent", ("stream", "external bound", 107000, R), ("stream", "timed", 207000, R))
rows("1.9", "aclrtStreamWaitEventWithTimeout", ("stream", "sync", 1, 107002, R), thread=2)
rows("1.9", "aclrtStreamWaitEventWithFlag", ("stream", "ex", 0, EXTERNAL, 107002, R), thread=2)
for function in ("aclrtQueryEvent", "aclrtQueryEventWaitStatus"):
    rows(
        "1.10", function,
        ("null", "out", 100000, A), ("null", "null", 100000, A), ("sync", "null", 100000, A),
        ("gone event", "null", 100000, A), ("gone event", "out", 107017, R), ("stream", "out", 107017, R),
        ("nowhere", "out", 107017, R), ("external", "out", 207000, R), ("ex", "out", 207000, R),
        ("unwaitable", "out", 207000, R), ("shared", "out", 207000, R),
    )  # fmt: skip
rows(
    "1.10", "aclrtSynchronizeEventWithTimeout",
    ("null", 5, 100000, A), ("null", 0, 100000, A), ("sync", 0, 107000, R), ("sync", -2, 107000, A),
    ("null", -2, 107000, A), ("gone event", 0, 107017, R), ("gone event", 5, 107017, R), ("stream", 5, 107017, R),
    ("external", 5, 207000, R), ("external", 0, 107000, R),
)  # fmt: skip
rows(
    "1.12", "aclrtEventGetTimestamp",
    ("null", "null", 100000, A), ("sync", "null", 100000, A), ("gone event", "out", 107017, R),
    ("stream", "out", 107017, R), ("external", "out", 207000, R), ("shared", "out", 207000, R),
    ("timed", "out", 507000, R), ("ex", "out", 507000, R), ("pending", "out", 107006, R),
)  # fmt: skip
rows(
    "1.12", "aclrtEventElapsedTime",
    ("out", "shared", "plain bound", 207000, R), ("out", "plain bound", "shared", 207000, R),
    ("out", "pending", "plain bound", 107006, R), ("out", "plain bound", "pending", 107006, R),
    ("out", "external", "shared", 207000, R),
)  # fmt: skip
rows(
    "1.13", "aclrtGetEventId",
    ("null", "null", 100000, A), ("null", "out", 100000, A), ("sync", "null", 100000, A),
    ("gone event", "out", 107017, R), ("stream", "out", 107017, R), ("shared", "out", 207000, R),
    ("default event", "out", 507000, R), ("ex", "out", 507000, R), ("timed", "out", 507000, R),
    ("unwaitable", "out", 507000, R),
)  # fmt: skip
rows("1.13", "aclrtGetEventAvailNum", ("null", 100000, A))
rows("1.13", "aclrtGetEventAvailNum", ("out", 107002, R), ("null", 100000, A), thread=2)


@pytest.mark.parametrize("behaviour", ["documented", "observed"])
def test_refused_calls(behaviour: str) -> None:
    check_refused(EventWorld(behaviour), ROWS)


@pytest.mark.parametrize("product", ["A2", "A3", "310P", "310B", "910", "950PR", "950DT"])
def test_no_limit_is_refused(product: str) -> None:
    """1.9, 1.11: any number is a limit in seconds, whatever the product makes of it, with and without a context."""
    driver = Driver(product=product)
    for limit in (0, 1, 0xFFFF_FFFF):
        assert driver.call("aclrtSetOpWaitTimeout", limit) == (207000 if product == "310P" else 0)
    driver.opened()
    stream, event = driver.stream(), driver.event(1)
    for limit in (0, 1, (1 << 31) - 1):
        driver.ok("aclrtStreamWaitEventWithTimeout", stream, event, limit)
    for limit in (0, 1, 0xFFFF_FFFF):
        reply = driver.call("aclrtStreamWaitEventWithFlag", stream, event, limit, DEFAULT)
        assert reply == (207000 if product in ("310P", "310B", "910") else 0)


def test_a_refusal_for_the_kind_binds_nothing() -> None:
    """1.7, observed: a 207000 for the wrong kind binds nothing; records and waits bind separately."""
    driver = Driver().opened()
    stream, sync, ex = driver.stream(), driver.event(1), driver.event(1, ex=True)
    assert driver.call("aclrtRecordEventWithFlag", sync, stream, EXTERNAL) == 207000
    assert driver.call("aclrtStreamWaitEventWithFlag", stream, sync, 0, EXTERNAL) == 207000
    driver.ok("aclrtRecordEvent", sync, stream)
    driver.ok("aclrtStreamWaitEvent", stream, sync)
    assert driver.call("aclrtRecordEventWithFlag", ex, stream, EXTERNAL) == 107029
    assert driver.call("aclrtRecordEvent", ex, stream) == 107000
    driver.ok("aclrtStreamWaitEvent", stream, ex)
    assert driver.call("aclrtStreamWaitEventWithFlag", stream, ex, 0, EXTERNAL) == 107000
    assert driver.call("aclrtStreamWaitEventWithFlag", stream, ex, OUT, DEFAULT) == 0
