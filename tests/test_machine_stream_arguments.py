"""Calls about streams with arguments they refuse, as in ``test_machine_arguments.py``: making with flags, ending,
attributes, limits."""

from struct import pack

import pytest

from tests.test_machine_arguments import SIZE, A, R, Row, World, check_refused

DEVICE_USE_ONLY, CPU_SCHEDULE = 0x20, 0x10
FAILURE_MODE, OVERFLOW, TAG, CACHES, PRIORITY = 1, 2, 3, 4, 5
STOP = 1
PAGE = "reference page"


def attribute(number: int) -> bytes:
    return pack("<QQ", number, 0)


class StreamWorld(World):
    """Names for streams with flags; "stopping" stops on failure, and its context "stop mode" with it."""

    def __init__(self, behaviour: str) -> None:
        super().__init__(behaviour)
        driver, names = self.driver, self.names
        for name, flag in (("device use only", DEVICE_USE_ONLY), ("scheduled", CPU_SCHEDULE)):
            names[name] = driver.ok("aclrtCreateStreamWithConfig", 1, 0, flag)
        driver.ok("aclrtCreateContext", 1, 0)
        names["stopping"], names["foreign and plain"] = driver.stream(), driver.stream()
        driver.ok("aclrtSetStreamFailureMode", names["stopping"], STOP)
        driver.ok("aclrtSetCurrentContext", names["primary"])
        names["own default"] = driver.ok("aclrtCtxGetCurrentDefaultStream", 1)


ROWS: list[Row] = []


def rows(section: str, function: str, *cases: tuple[object, ...], thread: int = 1) -> None:
    for *arguments, number, layer in cases:
        ROWS.append((section, function, tuple(arguments), int(str(number)), bool(layer), thread))


rows(
    "5", "aclrtCreateStreamWithConfig",
    ("null", 0, 0, 100000, A), ("null", 0, 0xFFFFFFFF, 100000, A), ("out", 0, 0x21, 107000, R),
    ("out", 0, 0x3F, 107000, R), ("out", 9, 0x30, 107000, R), ("out", 0, 0x60 | 1, 107000, R),
)  # fmt: skip
rows("5", "aclrtCreateStreamWithConfig", ("out", 0, 0, 107002, R), ("null", 0, 0, 100000, A), thread=2)
rows(
    "5", "aclrtDestroyStreamForce",
    ("null", 100000, A), ("gone stream", 107017, R), ("sync", 107017, R), ("nowhere", 107017, R),
    ("foreign", 107003, R), ("own default", 107000, R),
)  # fmt: skip
rows("5", "aclrtDestroyStreamForce", ("stream", 107002, R), ("gone stream", 107017, R), thread=2)
rows("5", "aclrtDestroyStream", ("own default", 107000, R))
rows("5", "aclrtStreamAbort", ("gone stream", 107017, R), ("sync", 107017, R), ("foreign", 107003, R))
rows("5", "aclrtStreamAbort", ("stream", 107002, R), ("null", 107000, R), ("gone stream", 107017, R), thread=2)
rows(PAGE, "aclrtStreamStop", ("null", 107000, R))
rows("5", "aclrtStreamStop", ("gone stream", 107017, R), ("sync", 107017, R), ("foreign", 107003, R))
rows("5", "aclrtStreamStop", ("stream", 107002, R), ("null", 107000, R), thread=2)
rows(
    "4", "aclrtSynchronizeDeviceWithTimeout",
    (0, 107000, R), (-2, 107000, A), (-(1 << 31), 107000, A),
)  # fmt: skip
rows(
    "4", "aclrtSynchronizeDeviceWithTimeout",
    (0, 107000, R), (-2, 107000, A), (1, 107002, R), (-1, 107002, R),
    thread=2,
)  # fmt: skip
for function in ("aclrtStreamGetPriority", "aclrtStreamGetFlags"):
    rows(
        "5", function,
        ("stream", "null", 100000, A), ("gone stream", "null", 100000, A), ("gone stream", "out", 107017, R),
        ("sync", "out", 107017, R),
    )  # fmt: skip
    rows("10a", function, ("stream", "out", 107002, R), ("null", "out", 107002, R), thread=2)
rows(
    "5", "aclrtStreamGetId",
    ("stream", "null", 100000, A), ("null", "null", 100000, A), ("gone stream", "out", 107017, R),
    ("sync", "out", 107017, R),
)  # fmt: skip
rows("10a", "aclrtStreamGetId", ("null", "out", 107002, R), ("gone stream", "out", 107017, R), thread=2)
for function in ("aclrtCtxGetCurrentDefaultStream", "aclrtGetStreamAvailableNum"):
    rows("5", function, ("null", 100000, A))
    rows("5", function, ("out", 107002, R), ("null", 100000, A), thread=2)

# Failure modes.

rows(
    "5", "aclrtSetStreamFailureMode",
    ("gone stream", STOP, 107017, R), ("sync", STOP, 107017, R), ("foreign", STOP, 107003, R),
    ("foreign", 3, 107003, R), ("stopping", 0, 207000, R), ("stopping", 2, 207000, R),
    ("device use only", 0, 207000, R), ("device use only", STOP, 207000, R),
)  # fmt: skip
rows(
    "10a", "aclrtSetStreamFailureMode",
    ("null", STOP, 107000, R), ("null", 0, 107000, R), ("stream", STOP, 107002, R), ("gone stream", 0, 107017, R),
    thread=2,
)  # fmt: skip

# Attributes.

rows(
    "5", "aclrtSetStreamAttribute",
    ("stream", TAG, None, 100000, A), ("gone stream", 99, None, 100000, A), ("null", FAILURE_MODE, None, 100000, A),
    ("gone stream", TAG, attribute(1), 107017, R), ("sync", FAILURE_MODE, attribute(1), 107017, R),
    ("stream", 0, attribute(1), 107000, R), ("stream", 6, attribute(1), 107000, R),
    ("foreign", -1, attribute(1), 107000, R), ("null", 99, attribute(1), 107000, R),
    ("foreign", FAILURE_MODE, attribute(STOP), 107003, R), ("stopping", FAILURE_MODE, attribute(0), 207000, R),
    ("foreign", OVERFLOW, attribute(1), 107003, R), ("stream", OVERFLOW, attribute(2), 107000, R),
    ("foreign", TAG, attribute(1), 107003, R), ("stream", CACHES, attribute(2), 107000, R),
    ("null", PRIORITY, attribute(1), 107000, R), ("scheduled", PRIORITY, attribute(1), 207000, R),
)  # fmt: skip
rows(
    "5", "aclrtSetStreamAttribute",
    ("stream", TAG, attribute(1), 107002, R), ("null", TAG, attribute(1), 107002, R),
    ("stream", OVERFLOW, attribute(1), 107002, R), ("null", FAILURE_MODE, attribute(0), 107000, R),
    ("null", CACHES, attribute(1), 107000, R), ("stream", PRIORITY, attribute(1), 107002, R),
    thread=2,
)  # fmt: skip
rows(
    "5", "aclrtGetStreamAttribute",
    ("stream", TAG, "null", 100000, A), ("gone stream", 99, "null", 100000, A), ("gone stream", TAG, "out", 107017, R),
    ("stream", 0, "out", 107000, R), ("null", 99, "out", 107000, R), ("foreign", OVERFLOW, "out", 107003, R),
    ("foreign", TAG, "out", 107003, R), ("null", PRIORITY, "out", 107000, R), ("scheduled", PRIORITY, "out", 207000, R),
)  # fmt: skip
rows(
    "5", "aclrtGetStreamAttribute",
    ("null", FAILURE_MODE, "out", 107000, R), ("stream", OVERFLOW, "out", 107002, R), ("null", TAG, "out", 107002, R),
    ("null", CACHES, "out", 107000, R), ("stream", PRIORITY, "out", 107002, R),
    thread=2,
)  # fmt: skip
rows(
    "5", "aclrtSetStreamOverflowSwitch",
    ("stream", 2, 100000, A), ("gone stream", 0xFFFFFFFF, 100000, A), ("gone stream", 1, 107017, R),
    ("foreign", 1, 107003, R), ("sync", 0, 107017, R),
)  # fmt: skip
rows("5", "aclrtSetStreamOverflowSwitch", ("stream", 1, 107002, R), ("null", 1, 107002, R), thread=2)
rows(
    "5", "aclrtGetStreamOverflowSwitch",
    ("stream", "null", 100000, A), ("gone stream", "null", 100000, A), ("gone stream", "out", 107017, R),
    ("foreign", "out", 107003, R),
)  # fmt: skip
rows("5", "aclrtGetStreamOverflowSwitch", ("stream", "out", 107002, R), ("null", "out", 107002, R), thread=2)

# Cores that a stream or a thread may use.

rows(
    PAGE, "aclrtSetStreamResLimit",
    ("gone stream", 0, 1, 107017, R), ("gone stream", 9, 1, 107017, R), ("stream", 2, 1, 107000, R),
    ("stream", -1, 1, 107000, R), ("stream", 0, 100_000, 107000, R), ("stream", 1, 0xFFFFFFFF, 107000, R),
)  # fmt: skip
rows(PAGE, "aclrtSetStreamResLimit", ("null", 0, 1, 107002, R), ("null", 9, 1, 107000, R), thread=2)
rows(
    PAGE, "aclrtGetStreamResLimit",
    ("stream", 0, "null", 100000, A), ("gone stream", 9, "null", 100000, A), ("gone stream", 0, "out", 107017, R),
    ("stream", 2, "out", 107000, R),
)  # fmt: skip
rows(PAGE, "aclrtGetStreamResLimit", ("null", 0, "out", 107002, R), thread=2)
for function in ("aclrtResetStreamResLimit", "aclrtUseStreamResInCurrentThread", "aclrtUnuseStreamResInCurrentThread"):
    rows(PAGE, function, ("gone stream", 107017, R), ("sync", 107017, R))
    rows(PAGE, function, ("null", 107002, R), thread=2)
rows(PAGE, "aclrtGetResInCurrentThread", (0, "null", 100000, A), (9, "null", 100000, A), (2, "out", 107000, R))
rows(PAGE, "aclrtGetResInCurrentThread", (0, "out", 107002, R), (2, "out", 107000, R), thread=2)

# A task that fills memory.

rows(
    "3", "aclrtMemsetAsync",
    ("null", SIZE, 0, SIZE, "stream", 100000, A), ("null", SIZE, 0, SIZE, "gone stream", 100000, A),
    ("memory", SIZE, 0, SIZE, "gone stream", 107017, R), ("memory", SIZE - 1, 0, SIZE, "stream", 107000, R),
    ("memory", SIZE, 0, SIZE, "foreign", 107003, R), ("memory", SIZE, 0, SIZE, "sync", 107017, R),
    ("freed", SIZE, 0, SIZE, "stream", 507899, R),
)  # fmt: skip
rows("3", "aclrtMemsetAsync", ("memory", SIZE, 0, SIZE, "stream", 107002, R), thread=2)


@pytest.mark.parametrize("behaviour", ["documented", "observed"])
def test_refused_calls(behaviour: str) -> None:
    check_refused(StreamWorld(behaviour), ROWS)
