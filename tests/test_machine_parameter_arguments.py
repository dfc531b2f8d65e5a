"""Calls about parameters, limits of operators, overflow and the ids, state and groups of devices with arguments they
refuse, as in ``test_machine_arguments.py``."""

import pytest

from tests.fakes import Driver
from tests.test_machine_arguments import A, R, Row, World, check_refused

PAGE, CODE = "reference page", "reference implementation"

ROWS: list[Row] = []
GROUP_ROWS: list[Row] = []  # of the only product that has them


def rows(
    section: str, function: str, *cases: tuple[object, ...], thread: int = 1, table: list[Row] | None = None
) -> None:
    for *arguments, number, layer in cases:
        row = (section, function, tuple(arguments), int(str(number)), bool(layer), thread)
        (ROWS if table is None else table).append(row)


# Parameters.

for function, highest in (("aclrtSetSysParamOpt", 3), ("aclrtCtxSetSysParamOpt", 2)):
    rows(
        CODE, function,
        (-1, 0, 100000, A), (highest + 1, 0, 100000, A), (9, -1, 100000, A), (0, -1, 107000, R), (0, 4, 107000, R),
        (1, 2, 107000, R), (2, -(1 << 63), 107000, R), (highest, 2, 107000, R),
    )  # fmt: skip
rows(CODE, "aclrtCtxSetSysParamOpt", (0, 1, 107002, R), (0, 9, 107000, R), (9, 9, 100000, A), thread=2)
rows(CODE, "aclrtGetSysParamOpt", (0, "null", 100000, A), (9, "null", 100000, A), (4, "out", 100000, A))
rows(
    CODE, "aclrtCtxGetSysParamOpt",
    (0, "null", 100000, A), (3, "out", 100000, A), (-1, "out", 100000, A), (0, "out", 107021, R),
)  # fmt: skip
rows(CODE, "aclrtCtxGetSysParamOpt", (0, "out", 107002, R), (3, "out", 100000, A), thread=2)

# Limits of operators.

rows(PAGE, "aclrtSetOpExecuteTimeOutWithMs", (0, 207000, R), (1000, 207000, R))
rows(CODE, "aclrtSetOpExecuteTimeOutV2", (1, "null", 100000, A))
rows(CODE, "aclrtSetOpExecuteTimeOutV2", (1, "out", 107002, R), (1, "null", 100000, A), thread=2)
rows(CODE, "aclrtGetOpExecuteTimeout", ("null", 100000, A))
rows(CODE, "aclrtGetOpTimeOutInterval", ("null", 100000, A))
rows(CODE, "aclrtGetOpTimeOutInterval", ("out", 107002, R), thread=2)

# Overflow.

rows(CODE, "aclrtSetDeviceSatMode", (2, 107000, R), (-1, 107000, R), (0xFFFFFFFF, 107000, R))
rows(CODE, "aclrtGetDeviceSatMode", ("null", 100000, A))
rows(CODE, "aclrtCtxGetFloatOverflowAddr", ("null", 107000, R))
rows(CODE, "aclrtCtxGetFloatOverflowAddr", ("out", 107002, R), ("null", 107000, R), thread=2)
rows(CODE, "aclrtGetOverflowStatus", ("null", 64, 0, 100000, A), ("null", 1, "gone stream", 100000, A))
for function, mode in (
    ("aclrtGetOverflowStatus", ()),
    ("aclrtGetFloatOverflowStatus", ()),
    ("aclrtNpuGetFloatOverFlowStatus", (0,)),
):
    if function != "aclrtGetOverflowStatus":
        rows(CODE, function, ("null", 64, *mode, 0, 107000, R), ("null", 64, *mode, "gone stream", 107017, R))
    rows(
        CODE, function,
        ("memory", 63, *mode, "gone stream", 107017, R), ("memory", 64, *mode, "sync", 107017, R),
        ("memory", 63, *mode, 0, 107000, R), ("memory", 512, *mode, 0, 107000, R), ("memory", 0, *mode, 0, 107000, R),
        ("memory", 64, *mode, "foreign", 107003, R), ("freed", 64, *mode, 0, 507899, R),
    )  # fmt: skip
    rows(
        CODE, function,
        ("memory", 64, *mode, 0, 107002, R), ("memory", 64, *mode, "stream", 107002, R),
        ("memory", 1, *mode, 0, 107000, R), thread=2,
    )  # fmt: skip
for function, mode in (
    ("aclrtResetOverflowStatus", ()),
    ("aclrtResetFloatOverflowStatus", ()),
    ("aclrtNpuClearFloatOverFlowStatus", (0,)),
):
    rows(CODE, function, (*mode, "gone stream", 107017, R), (*mode, "sync", 107017, R), (*mode, "foreign", 107003, R))
    rows(CODE, function, (*mode, 0, 107002, R), (*mode, "stream", 107002, R), thread=2)

# Ids, topology.

for function in ("aclrtGetLogicDevIdByUserDevId", "aclrtGetPhyDevIdByUserDevId", "aclrtGetPhyDevIdByLogicDevId"):
    rows(CODE, function, (0, "null", 100000, A), (-1, "null", 100000, A), (-1, "out", 107000, R), (2, "out", 107001, R))
for function in ("aclrtGetUserDevIdByLogicDevId", "aclrtGetUserDevIdByPhyDevId", "aclrtGetLogicDevIdByPhyDevId"):
    rows(CODE, function, (0, "null", 100000, A), (-1, "null", 100000, A), (-1, "out", 107000, R), (2, "out", 107001, R))
rows(
    CODE, "aclrtGetDevicesTopo",
    (0, 1, "null", 100000, A), (9, 9, "null", 100000, A), (2, 0, "out", 107001, R), (0, 2, "out", 107001, R),
    (0xFFFFFFFF, 0, "out", 107001, R),
)  # fmt: skip

# State.

rows(
    CODE, "aclrtGetDeviceCapability",
    (0, 1, "null", 100000, A), (9, 9, "null", 100000, A), (0, 0, "out", 107000, R), (9, 22, "out", 107000, R),
    (0, -1, "out", 107000, R), (2, 1, "out", 107001, R), (-1, 21, "out", 107001, R),
)  # fmt: skip
rows(CODE, "aclrtDeviceGetUuid", (0, "null", 100000, A), (-1, "out", 107001, R), (2, "out", 107001, R))
rows(
    CODE, "aclrtGetPrimaryCtxState",
    (0, "null", "null", 100000, A), (9, "out", "null", 100000, A), (0, "out", "out", 100000, A),
    (9, "out", "out", 100000, A), (2, "null", "out", 107001, R), (-1, "null", "out", 107001, R),
)  # fmt: skip
rows(CODE, "aclrtGetDeviceUtilizationRate", (0, None, 100000, A), (0, (0, 0, 0, 0, True), 100000, A))
rows(CODE, "aclrtGetHardwareSyncAddr", ("null", 107000, R))
rows(CODE, "aclrtGetHardwareSyncAddr", ("out", 107002, R), ("null", 107000, R), thread=2)

# Groups.

rows(PAGE, "aclrtSetGroup", (0, 207000, R))
rows(PAGE, "aclrtGetGroupCount", ("out", 207000, R))
rows(PAGE, "aclrtDestroyGroupInfo", ("null", 207000, R))
rows(PAGE, "aclrtGetAllGroupInfo", ("null", 207000, R))
rows(PAGE, "aclrtGetGroupInfoDetail", ("null", 0, 0, "out", 4, "out", 207000, R))

rows(CODE, "aclrtSetGroup", (-1, 107000, R), (4, 107000, R), (3, 107014, R), table=GROUP_ROWS)
rows(CODE, "aclrtSetGroup", (0, 107002, R), (-1, 107002, R), thread=2, table=GROUP_ROWS)
rows(CODE, "aclrtGetGroupCount", ("null", 100000, A), table=GROUP_ROWS)
rows(CODE, "aclrtGetGroupCount", ("out", 107002, R), thread=2, table=GROUP_ROWS)
for function in ("aclrtDestroyGroupInfo", "aclrtGetAllGroupInfo"):
    rows(
        CODE, function,
        ("null", 100000, A), ("stream", 107017, R), ("gone groups", 107017, R), ("nowhere", 107017, R),
        table=GROUP_ROWS,
    )  # fmt: skip
rows(CODE, "aclrtGetAllGroupInfo", ("groups", 107002, R), thread=2, table=GROUP_ROWS)
rows(
    CODE, "aclrtGetGroupInfoDetail",
    ("null", 0, 0, "null", 4, "null", 100000, A), ("gone groups", 0, 0, "out", 4, "out", 107017, R),
    ("groups", 0, 0, "null", 4, "out", 100000, A), ("groups", 0, 0, "out", 4, "null", 100000, A),
    ("groups", 1, 0, "out", 4, "out", 100000, A), ("groups", -1, 9, "out", 4, "out", 100000, A),
    ("groups", 0, 6, "out", 4, "out", 100000, A), ("groups", 0, -1, "out", 0, "out", 100000, A),
    ("groups", 0, 0, "out", 3, "out", 100000, A), table=GROUP_ROWS,
)  # fmt: skip
rows(
    CODE, "aclrtGetGroupInfoDetail", ("groups", 9, 9, "out", 0, "out", 107002, R), thread=2, table=GROUP_ROWS,
)  # fmt: skip


@pytest.mark.parametrize("behaviour", ["documented", "observed"])
def test_refused_calls(behaviour: str) -> None:
    check_refused(World(behaviour), ROWS)


def test_refused_calls_about_groups() -> None:
    world = World("default", lambda behaviour: Driver(behaviour=behaviour, product="310P"))
    gone = world.driver.call("aclrtCreateGroupInfo")
    world.driver.ok("aclrtDestroyGroupInfo", gone)
    world.names.update({"groups": world.driver.call("aclrtCreateGroupInfo"), "gone groups": gone})
    check_refused(world, GROUP_ROWS)


def test_overflow_and_captures() -> None:
    """Status calls are in no capture (reference implementation: 107027)."""
    driver = Driver().opened()
    stream, memory = driver.stream(), driver.device_memory(64)
    driver.ok("aclmdlRICaptureBegin", stream, 0)
    assert driver.call("aclrtGetOverflowStatus", memory, 64, stream) == 107027
    assert driver.call("aclrtResetOverflowStatus", stream) == 107027
