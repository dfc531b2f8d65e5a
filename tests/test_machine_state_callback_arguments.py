"""Calls about functions that are told of streams and devices with arguments they refuse, as in
``test_machine_arguments.py``. Checks and numbers are those of the reference implementation."""

from typing import Any

import pytest

from tests.test_machine_arguments import FUNCTION, A, R, Row, World, check_refused

ROWS: list[Row] = []


def rows(function: str, *cases: tuple[Any, ...]) -> None:
    for *arguments, number, layer in cases:
        ROWS.append(("implementation", function, tuple(arguments), number, layer, 1))


REGISTERING = ("aclrtRegStreamStateCallback", "aclrtRegDeviceStateCallback", "aclrtSetDeviceTaskAbortCallback")
for registering in REGISTERING:
    rows(
        registering,
        (None, "function", "null", 100000, A), (None, "null", "null", 100000, A),
        (b"used", "function", "null", 107000, R),
    )  # fmt: skip
rows(
    "aclrtDeviceTaskAbort",
    (-1, 0, 107001, R), (2, 0, 107001, R), (0, 2_160_001, 107000, R), (-1, 2_160_001, 107000, R),
)  # fmt: skip


@pytest.mark.parametrize("behaviour", ["default", "observed"])
def test_refused_calls(behaviour: str) -> None:
    world = World(behaviour)
    for function in REGISTERING:
        world.driver.ok(function, b"used", FUNCTION, 0)
    check_refused(world, ROWS)
