"""Calls about versions, features of the software and figures of devices with arguments they refuse, as in
``test_machine_arguments.py``."""

from typing import Any

import pytest

from tests.test_machine_arguments import A, Row, World, check_refused

CODE = "reference implementation"
ROWS: list[Row] = []


def rows(function: str, *cases: tuple[Any, ...]) -> None:
    for *arguments, number in cases:
        ROWS.append((CODE, function, tuple(arguments), number, A, 1))


rows(
    "aclsysGetVersionStr",
    (b"runtime", "null", 100000), (None, "out", 100000), (b"driver", "out", 100003), (b"firmware", "out", 100003),
    (b"", "out", 100003), (b"run_time", "out", 100003), (b"\xff", "out", 100003), (b"driver", "null", 100000),
)  # fmt: skip
rows(
    "aclsysGetVersionNum",
    (b"runtime", "null", 100000), (None, "out", 100000), (b"driver", "out", 100003), (b"hccl ", "out", 100003),
)  # fmt: skip
rows("aclsysGetCANNVersion", (0, "null", 100000), (7, "out", 100003), (8, "out", 100000), (-1, "out", 100000))
rows("aclGetCannAttributeList", ("null", "null", 100000), ("out", "null", 100000))
rows("aclGetCannAttribute", (0, "null", 100000), (-1, "out", 100000), (3, "out", 100000))
rows(
    "aclGetDeviceCapability",
    (0, 0, "null", 100000), (2, 0, "out", 100000), (0xFFFF_FFFF, 0, "out", 100000), (0, 3, "out", 100000),
    (0, -1, "out", 100000),
)  # fmt: skip


@pytest.mark.parametrize("behaviour", ["documented", "observed"])
def test_refused_calls(behaviour: str) -> None:
    check_refused(World(behaviour), ROWS)
