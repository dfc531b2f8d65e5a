"""Calls about profiling with arguments they refuse, as in ``test_machine_arguments.py``."""

from typing import Any

import pytest

from tests.fakes import Driver
from tests.test_machine_arguments import A, R, Row, World, check_refused

CODE = "reference implementation"
LONG = b"x" * 128
MARKS = 0x80  # ACL_PROF_MSPROFTX
NO_ID = (1 << 64) - 1

ROWS: list[Row] = []
OFF_ROWS: list[Row] = []  # while no profiler runs


def rows(function: str, *cases: tuple[Any, ...], thread: int = 1, table: list[Row] | None = None) -> None:
    for *arguments, number, layer in cases:
        (ROWS if table is None else table).append((CODE, function, tuple(arguments), number, layer, thread))


class ProfilingWorld(World):
    """Also: a configuration, a stamp, a step whose both ends are marked."""

    def __init__(self, behaviour: str, runs: bool = True) -> None:
        super().__init__(behaviour)
        driver = self.driver
        configuration, gone = (driver.call("aclprofCreateConfig", (0,), 1, 0, 0, MARKS) for _ in range(2))
        driver.ok("aclprofDestroyConfig", gone)
        empty = driver.call("aclprofCreateConfig", (0,), 1, 0, 0, 0)
        step = driver.call("aclprofCreateStepInfo")
        for tag in range(2):
            driver.ok("aclprofGetStepTimestamp", step, tag, 0)
        driver.ok("aclprofStart", configuration)
        stamp, gone_stamp = driver.call("aclprofCreateStamp"), driver.call("aclprofCreateStamp")
        driver.call("aclprofDestroyStamp", gone_stamp)
        if not runs:
            driver.ok("aclprofFinalize")
        self.names.update({
            "configuration": configuration, "gone configuration": gone, "empty configuration": empty,
            "step": step, "new step": driver.call("aclprofCreateStepInfo"), "stamp": stamp, "gone stamp": gone_stamp,
        })  # fmt: skip


rows(
    "aclprofInit",
    (None, 4, 100000, A), (b"path", 0, 100000, A), (b"path", 3, 100000, A), (b"path", 5, 100000, A),
    (b"", 0, 100000, A), (b"x" * 4096, 4096, 100000, A), (b"path", 4, 100002, A),
)  # fmt: skip
rows(
    "aclprofDestroyConfig",
    ("null", 100000, A), ("gone configuration", 107017, R), ("stamp", 107017, R), ("nowhere", 107017, R),
)  # fmt: skip
for function in ("aclprofStart", "aclprofStop"):
    rows(function, ("gone configuration", 107017, R), ("step", 107017, R), ("nowhere", 107017, R))
rows("aclprofStart", ("empty configuration", 100000, A))
rows(
    "aclprofSetConfig",
    (0, b"50", 2, 100000, A), (17, b"50", 2, 100000, A), (-1, b"50", 2, 100000, A), (3, None, 0, 100000, A),
    (3, b"50", 1, 100000, A), (3, b"50", 3, 100000, A), (3, b"5" * 257, 257, 100000, A),
)  # fmt: skip
rows("aclprofSetConfig", (3, b"50", 2, 100043, A), (0, b"50", 2, 100000, A), table=OFF_ROWS)

# Marks in streams.

rows(
    "aclprofMarkEx",
    (None, 0, "stream", -1, A), (b"mark", 4, "null", -1, A), (b"mark", 3, "stream", -1, A),
    (b"mark", 5, "stream", -1, A), (b"", 0, "stream", -1, A), (LONG, 128, "stream", -1, A),
    (b"mark", 4, "gone stream", -1, A), (b"mark", 4, "foreign", -1, A), (b"mark", 4, "stamp", -1, A),
)  # fmt: skip
rows("aclprofMarkEx", (b"mark", 4, "stream", -1, A), thread=2)
rows("aclprofMarkEx", (b"mark", 4, "stream", -1, A), table=OFF_ROWS)
rows(
    "aclprofGetStepTimestamp",
    ("null", 0, 0, 100000, A), ("step", 0, 0, 100000, A), ("step", 1, 0, 100000, A), ("step", 7, 0, 100000, A),
    ("stamp", 0, 0, 107017, R), ("nowhere", 0, 0, 107017, R), ("new step", 0, "gone stream", 500002, A),
    ("new step", 1, "foreign", 500002, A),
)  # fmt: skip
rows("aclprofGetStepTimestamp", ("new step", 0, "stream", 500002, A), ("step", 0, 0, 100000, A), thread=2)

# Marks beside streams.

rows(
    "aclprofSetStampTraceMessage",
    ("null", b"text", 4, -1, A), ("gone stamp", b"text", 4, 107017, R), ("stamp", LONG, 128, -1, A),
    ("stamp", None, 4, -1, A), ("stream", b"text", 4, 107017, R),
)  # fmt: skip
rows("aclprofMark", ("null", -1, A), ("gone stamp", 107017, R), ("step", 107017, R))
rows("aclprofMark", ("stamp", -1, A), table=OFF_ROWS)
rows("aclprofPush", ("null", 100000, A), ("gone stamp", 107017, R), ("stream", 107017, R))
rows("aclprofPush", ("null", 100000, A), ("stamp", -1, A), ("gone stamp", -1, A), table=OFF_ROWS)
rows("aclprofPop", (-1, A))
rows("aclprofPop", (-1, A), table=OFF_ROWS)
rows(
    "aclprofRangeStart",
    ("null", "out", 100000, A), ("stamp", "null", 100000, A), ("gone stamp", "null", 100000, A),
    ("gone stamp", "out", 107017, R), ("step", "out", 107017, R),
)  # fmt: skip
rows("aclprofRangeStart", ("stamp", "null", 100000, A), ("stamp", "out", -1, A), table=OFF_ROWS)
rows("aclprofRangeStop", (0, -1, A), (99, -1, A), (100, -1, A), (0xFFFF_FFFF, -1, A))
rows("aclprofRangeStop", (0, -1, A), table=OFF_ROWS)


@pytest.mark.parametrize("behaviour", ["documented", "observed"])
def test_refused_calls(behaviour: str) -> None:
    check_refused(ProfilingWorld(behaviour), ROWS)
    check_refused(ProfilingWorld(behaviour, runs=False), OFF_ROWS)


@pytest.mark.parametrize(
    "arguments",
    [(None, 1, 0, 0, MARKS), ((0,), 1, 0, 1, MARKS), ((0, 1, 1), 3, 0, 0, MARKS), ((2,), 1, 0, 0, MARKS),
     ((1, 1), 2, 0, 0, MARKS), ((), 0, 0, 0, MARKS - 1), (None, 0, 0, 0, 0)],
)  # fmt: skip
def test_what_is_no_configuration(arguments: tuple[Any, ...]) -> None:
    driver = Driver().opened()
    assert driver.call("aclprofCreateConfig", *arguments) == 0
    message = driver.message()
    assert message.startswith("aclprofCreateConfig: ") and "[100000 " in message


@pytest.mark.parametrize(
    ("function", "argument", "number", "result"),
    [("aclprofDestroyStamp", "null", 100000, None), ("aclprofDestroyStamp", "gone stamp", 107017, None),
     ("aclprofDestroyStamp", "step", 107017, None), ("aclprofDestroyStepInfo", "null", 100000, None),
     ("aclprofDestroyStepInfo", "stamp", 107017, None), ("aclprofStr2Id", None, 100000, NO_ID)],
)  # fmt: skip
def test_a_message_says_what_no_number_can(
    function: str, argument: str | None, number: int, result: int | None
) -> None:
    world = ProfilingWorld("default")
    assert world.driver.call(function, world(argument)) == result
    message = world.driver.message().splitlines()[-1]
    assert message.startswith(f"{function}: ") and f"[{number} " in message
