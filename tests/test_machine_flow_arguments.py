"""Calls about flow in model instances with arguments they refuse, as in ``test_machine_arguments.py``. Checks and
numbers are those of the reference implementation."""

from typing import Any

import pytest

from tests.fakes import OUT
from tests.graph_tools import GraphDriver
from tests.test_machine_arguments import A, R, Row, check_refused
from tests.test_machine_capture_arguments import GraphWorld


class FlowWorld(GraphWorld):
    """Names for labels: one in a list, one that is set, one in no list, one of another context."""

    def __init__(self, behaviour: str) -> None:
        super().__init__(behaviour)
        driver, names = self.driver, self.names
        assert isinstance(driver, GraphDriver)
        ok = driver.ok
        names |= {name: ok("aclrtCreateLabel", OUT) for name in ("listed", "set", "unlisted", "gone label")}
        ok("aclrtDestroyLabel", names["gone label"])
        names["list"] = ok("aclrtCreateLabelList", (names["listed"], names["set"]), 2, OUT)
        names["gone list"] = ok("aclrtCreateLabelList", (ok("aclrtCreateLabel", OUT),), 1, OUT)
        ok("aclrtDestroyLabelList", names["gone list"])
        ok("aclrtSetLabel", names["set"], names["bound"])
        ok("aclrtSetCurrentContext", names["explicit"])
        names["foreign label"] = ok("aclrtCreateLabel", OUT)
        names["foreign bound"] = driver.persistent()
        ok("aclmdlRIBindStream", names["foreign model"], names["foreign bound"], 0)
        ok("aclrtSetCurrentContext", names["primary"])

    def __call__(self, argument: Any) -> Any:
        if isinstance(argument, tuple):
            return tuple(self(part) for part in argument)
        return super().__call__(argument)


ROWS: list[Row] = []


def rows(function: str, *cases: tuple[Any, ...], thread: int = 1) -> None:
    for *arguments, number, layer in cases:
        ROWS.append(("implementation", function, tuple(arguments), number, layer, thread))


rows(
    "aclrtActiveStream",
    ("null", "bound", 100000, A), ("bound", "null", 100000, A), ("gone stream", "bound", 107017, R),
    ("bound", "gone stream", 107017, R), ("stream", "bound", 107005, R), ("bound", "stream", 107005, R),
    ("bound", "persistent", 107005, R), ("bound", "captured", 107005, R), ("bound", "foreign bound", 107003, R),
    ("bound", "foreign", 107005, R), ("bound", "built in", 107000, R),
)  # fmt: skip
rows("aclrtActiveStream", ("bound", "bound", 107002, R), ("gone stream", "bound", 107017, R), thread=2)
M = "memory"
rows(
    "aclrtSwitchStream",
    ("null", 0, M, 0, "bound", "null", "bound", 100000, A), (M, 0, "null", 0, "bound", "null", "bound", 100000, A),
    (M, 0, M, 0, "null", "null", "bound", 100000, A), (M, 0, M, 0, "bound", "null", "null", 100000, A),
    (M, 0, M, 0, "bound", "bound", "bound", 100000, A), (M, 9, M, 0, "gone stream", "null", "bound", 107017, R),
    (M, 9, M, 0, "bound", "null", "gone stream", 107017, R), (M, 6, M, 0, "stream", "null", "bound", 107000, R),
    (M, -1, M, 0, "bound", "null", "bound", 107000, R), (M, 0, M, 2, "bound", "null", "bound", 107000, R),
    (M, 0, M, -1, "bound", "null", "bound", 107000, R), (M, 0, M, 0, "stream", "null", "bound", 107005, R),
    (M, 0, M, 0, "bound", "null", "stream", 107005, R), (M, 0, M, 0, "bound", "null", "foreign bound", 107003, R),
    ("pinned", 0, M, 0, "bound", "null", "bound", 107000, R),
    (M, 0, "pageable", 0, "bound", "null", "bound", 107000, R),
)  # fmt: skip
rows(
    "aclrtSwitchStream",
    (M, 0, M, 0, "bound", "null", "bound", 107002, R), (M, 0, M, 0, "stream", "null", "bound", 107005, R),
    thread=2,
)  # fmt: skip
rows(
    "aclrtPersistentTaskClean",
    ("null", 107000, R), ("gone stream", 107017, R), ("stream", 507000, R), ("persistent", 507000, R),
    ("bound", 507000, R), ("foreign bound", 507000, R),
)  # fmt: skip
rows("aclrtPersistentTaskClean", ("built in", 107002, R), ("persistent", 507000, R), thread=2)
rows("aclrtCreateLabel", ("null", 100000, A))
rows("aclrtCreateLabel", ("out", 107002, R), ("null", 100000, A), thread=2)
rows(
    "aclrtDestroyLabel",
    ("null", 100000, A), ("gone label", 107017, R), ("stream", 107017, R), ("foreign label", 507031, R),
)  # fmt: skip
rows("aclrtDestroyLabel", ("listed", 107002, R), ("gone label", 107017, R), thread=2)
rows(
    "aclrtSetLabel",
    ("null", "bound", 100000, A), ("listed", "null", 100000, A), ("gone label", "bound", 107017, R),
    ("listed", "gone stream", 107017, R), ("foreign label", "bound", 507031, R), ("listed", "foreign", 107003, R),
    ("listed", "stream", 107005, R), ("listed", "persistent", 107005, R), ("unlisted", "bound", 507000, R),
    ("set", "bound", 507000, R), ("listed", "built in", 107000, R),
)  # fmt: skip
rows("aclrtSetLabel", ("listed", "bound", 107002, R), thread=2)
rows(
    "aclrtCreateLabelList",
    (None, 1, "out", 100000, A), (("unlisted",), 1, "null", 100000, A), ((), 0, "out", 107000, R),
    ((), 65536, "out", 107000, R), (("unlisted", "null"), 2, "out", 107000, R), (("gone label",), 1, "out", 107017, R),
    (("listed",), 1, "out", 507000, R), (("unlisted", "unlisted"), 2, "out", 507000, R),
)  # fmt: skip
rows("aclrtCreateLabelList", (("unlisted",), 1, "out", 107002, R), thread=2)
rows("aclrtDestroyLabelList", ("null", 100000, A), ("gone list", 107017, R), ("listed", 107017, R))
rows(
    "aclrtSwitchLabelByIndex",
    ("null", 2, "list", "bound", 100000, A), (M, 2, "null", "bound", 100000, A), (M, 2, "list", "null", 100000, A),
    (M, 2, "list", "gone stream", 107017, R), (M, 2, "gone list", "bound", 107017, R),
    (M, 2, "list", "foreign bound", 107003, R), (M, 2, "list", "stream", 107005, R), (M, 0, "list", "bound", 107000, R),
    (M, 3, "list", "bound", 107000, R), ("pinned", 2, "list", "bound", 107000, R),
)  # fmt: skip
rows("aclrtSwitchLabelByIndex", (M, 2, "list", "bound", 107002, R), thread=2)


@pytest.mark.parametrize("behaviour", ["default", "observed"])
def test_refused_calls(behaviour: str) -> None:
    check_refused(FlowWorld(behaviour), ROWS)
