"""Calls about counting notifies with arguments they refuse, as in ``test_machine_arguments.py``. Checks and numbers are
those of the reference implementation."""

from typing import Any

import pytest

from tests.fakes import OUT, Driver
from tests.test_machine_arguments import A, R, Row, World, check_refused


class CountingWorld(World):
    def __init__(self, behaviour: str) -> None:
        super().__init__(behaviour, CountingDriver)
        self.names["counting"], self.names["gone counting"] = (
            self.driver.ok("aclrtCntNotifyCreate", OUT, 0) for _ in range(2)
        )
        self.driver.ok("aclrtCntNotifyDestroy", self.names["gone counting"])


class CountingDriver(Driver):
    def __init__(self, **settings: Any) -> None:
        super().__init__(product="950PR", **settings)


ROWS: list[Row] = []
WAIT = (0, 0, 0, 0, b"\0\0\0")


def rows(function: str, *cases: tuple[Any, ...], thread: int = 1) -> None:
    for *arguments, number, layer in cases:
        ROWS.append(("implementation", function, tuple(arguments), number, layer, thread))


rows("aclrtCntNotifyCreate", ("out", 1, 107000, R), ("null", 1, 107000, R), ("null", 0, 107000, R))
rows("aclrtCntNotifyCreate", ("out", 0, 107002, R), ("null", 0, 107002, R), ("out", 1, 107000, R), thread=2)
rows(
    "aclrtCntNotifyDestroy",
    ("null", 107000, R), ("gone counting", 107017, R), ("sync", 107017, R), ("nowhere", 107017, R),
)  # fmt: skip
rows(
    "aclrtCntNotifyGetId",
    ("null", "out", 107000, R), ("gone counting", "null", 107017, R), ("counting", "null", 107000, R),
)  # fmt: skip
for function, good, bad in (
    ("aclrtCntNotifyRecord", (0, 0), [(3, 0), (5, 0), (-1, 0)]),
    ("aclrtCntNotifyWaitWithTimeout", WAIT, [(5, *WAIT[1:]), (-1, *WAIT[1:])]),
):
    rows(
        function,
        ("gone counting", "stream", None, 100000, A), ("null", "stream", good, 107000, R),
        ("gone counting", "stream", good, 107017, R), ("stream", "stream", good, 107017, R),
        ("counting", "gone stream", good, 107017, R), ("null", "gone stream", good, 107017, R),
        ("counting", "foreign", good, 107003, R), ("counting", "counting", good, 107017, R),
        *(("counting", "foreign", info, 107000, R) for info in bad),
    )  # fmt: skip
    rows(function, ("counting", "stream", good, 107002, R), ("counting", "stream", bad[0], 107000, R), thread=2)
rows(
    "aclrtCntNotifyReset",
    ("null", "stream", 107000, R), ("gone counting", "stream", 107017, R), ("counting", "gone stream", 107017, R),
    ("counting", "foreign", 107003, R),
)  # fmt: skip
rows("aclrtCntNotifyReset", ("counting", "null", 107002, R), ("null", "stream", 107000, R), thread=2)


@pytest.mark.parametrize("behaviour", ["default", "observed"])
def test_refused_calls(behaviour: str) -> None:
    world = CountingWorld(behaviour)

    check_refused(world, ROWS)
