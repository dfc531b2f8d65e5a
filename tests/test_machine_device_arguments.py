"""Calls about devices with arguments they refuse, as in ``test_machine_arguments.py``: what is said about them, who
reaches whose memory, cores, the end of the process's use."""

import pytest

from tests.fakes import OUT, Driver
from tests.test_machine_arguments import A, R, Row, World, check_refused

NUMBERS_OF_A_LARGE_MACHINE = 64
PAGE = "reference page"

ROWS: list[Row] = []


def rows(section: str, function: str, *cases: tuple[object, ...], thread: int = 1) -> None:
    for *arguments, number, layer in cases:
        ROWS.append((section, function, tuple(arguments), int(str(number)), bool(layer), thread))


rows("4", "aclFinalizeReference", ("out", 100037, A), ("null", 100037, A))
rows(
    PAGE, "aclrtGetVersion",
    ("null", "out", "out", 100000, A), ("out", "null", "out", 100000, A), ("out", "out", "null", 100000, A),
)  # fmt: skip
rows(
    "4", "aclrtResetDeviceForce",
    (-1, 107001, R), (2, 107001, R), (NUMBERS_OF_A_LARGE_MACHINE, 107001, R), (1, 507007, R),
)  # fmt: skip
rows(
    PAGE, "aclrtQueryDeviceStatus",
    (0, "null", 100000, A), (9, "null", 100000, A), (-1, "out", 107001, R), (2, "out", 107001, R),
)  # fmt: skip
rows(PAGE, "aclrtSetTsDevice", (2, 100000, A), (-1, 100000, A), (2147483647, 100000, A))
rows(
    PAGE, "aclrtGetDeviceInfo",
    (0, 101, "null", 100000, A), (9, 101, "null", 100000, A), (2, 101, "out", 107000, R),
    (0xFFFFFFFF, 0, "out", 107000, R), (0, 0, "out", 107000, R), (0, 999_999, "out", 107000, R),
    (0, -1, "out", 107000, R), (0, 213, "out", 107000, R), (0, 401, "out", 207000, R), (0, 409, "out", 207000, R),
)  # fmt: skip
rows("3", "aclrtDeviceGetBareTgid", ("null", 100000, A))

# Who reaches whose memory.

rows(
    "3", "aclrtDeviceCanAccessPeer",
    ("out", 0, 0, 100000, A), ("null", 5, 5, 100000, A), ("null", 0, 1, 107000, R), ("null", 0, 99, 107001, R),
    ("out", 64, 0, 107000, R), ("out", -1, 0, 107000, R), ("out", 0, 64, 107001, R), ("out", 0, -1, 107001, R),
    ("out", 2, 0, 107001, R), ("out", 0, 2, 107001, R), ("out", 63, 0, 107001, R),
)  # fmt: skip
rows("3", "aclrtDeviceCanAccessPeer", ("out", 2, 0, 107001, R), ("null", 0, 1, 107000, R), thread=2)
rows(
    "3", "aclrtDeviceEnablePeerAccess",
    (1, 1, 200006, A), (99, 0xFFFFFFFF, 200006, A), (0, 0, 100000, A), (2, 0, 107001, R), (-1, 0, 107001, R),
)  # fmt: skip
rows("3", "aclrtDeviceEnablePeerAccess", (1, 0, 107002, R), (1, 1, 200006, A), (0, 0, 107002, R), thread=2)
rows("3", "aclrtDeviceDisablePeerAccess", (0, 100000, A), (2, 107001, R), (-1, 107001, R))
rows("3", "aclrtDeviceDisablePeerAccess", (1, 107002, R), (0, 107002, R), thread=2)
rows(
    "3", "aclrtDevicePeerAccessStatus",
    (0, 1, "null", 100000, A), (9, 9, "null", 100000, A), (2, 0, "out", 107000, R), (0, 2, "out", 107000, R),
    (-1, 0, "out", 107000, R), (0, 64, "out", 107000, R),
)  # fmt: skip

# Cores.

rows(
    PAGE, "aclrtSetDeviceResLimit",
    (-1, 0, 1, 107001, R), (-1, 9, 1, 107001, R), (0, 2, 1, 107000, R), (2, 2, 1, 107000, R), (2, 0, 1, 107001, R),
    (0, -1, 1, 107000, R), (0, 0, 100_000, 107000, R), (0, 1, 0xFFFFFFFF, 107000, R),
)  # fmt: skip
rows(
    PAGE, "aclrtGetDeviceResLimit",
    (0, 0, "null", 100000, A), (-1, 9, "null", 100000, A), (-1, 0, "out", 107001, R), (0, 2, "out", 107000, R),
    (2, 0, "out", 107001, R),
)  # fmt: skip
rows(PAGE, "aclrtResetDeviceResLimit", (-1, 107001, R), (2, 107001, R))


@pytest.mark.parametrize("behaviour", ["documented", "observed"])
def test_refused_calls(behaviour: str) -> None:
    check_refused(World(behaviour), ROWS)


@pytest.mark.parametrize(
    ("function", "arguments"),
    [
        ("aclrtSetDeviceResLimit", (1, 0, 1)),
        ("aclrtGetDeviceResLimit", (1, 0, OUT)),
        ("aclrtResetDeviceResLimit", (1,)),
    ],
)
def test_cores_of_a_device_that_is_not_open(function: str, arguments: tuple[int, ...]) -> None:
    """Observed: 507033, until the device is selected."""
    driver = Driver().opened()
    assert driver.call(function, *arguments) == 507033
    driver.ok("aclrtSetDevice", 1)
    driver.ok(function, *arguments)
