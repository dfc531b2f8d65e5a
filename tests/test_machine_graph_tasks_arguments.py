"""Calls about the tasks of model instances with arguments they refuse, as in ``test_machine_arguments.py``.

Checks and numbers are those of the reference implementation; semantics.md does not name these calls.
"""

from struct import pack
from typing import Any

import pytest

from tests.fakes import OUT
from tests.graph_tools import GraphDriver
from tests.test_machine_arguments import SIZE, R, Row, check_refused
from tests.test_machine_capture_arguments import GraphWorld

KERNEL, EVENT_RECORD, VALUE_WRITE, VALUE_WAIT = 1, 2, 5, 6


def params(kind: int, address: int = 0, value: int = 0, flag: int = 0, group: int = 0) -> bytes:
    """An aclmdlRITaskParams."""
    return pack("<i12xQ48xQQI", kind, group, address, value, flag).ljust(200, b"\0")


class TaskWorld(GraphWorld):
    """Names for tasks: of a captured instance, of one that runs, of one in capture, of one built by hand; a copy, which
    has no type that the program knows; one of an instance that is gone."""

    def __init__(self, behaviour: str) -> None:
        super().__init__(behaviour)
        driver, names = self.driver, self.names
        assert isinstance(driver, GraphDriver)
        memory = names["memory"]
        names["values"] = driver.stream()
        driver.begin(names["values"])
        driver.ok("aclrtValueWrite", memory, 1, 0, names["values"])
        driver.ok("aclrtMemcpyAsync", memory, 8, memory + 8, 8, 3, names["values"])
        names["model of values"] = driver.end(names["values"])
        names["inner values"] = self._inner(names["model of values"])
        names["write"], names["copy"], *_ = self._tasks(names["inner values"])
        names["held"], running = driver.stream(), driver.stream()
        driver.gate(names["held"])
        driver.begin(running)
        driver.ok("aclrtValueWrite", memory, 1, 0, running)
        model = driver.end(running)
        names["running"] = self._tasks(self._inner(model))[0]
        driver.ok("aclmdlRIExecuteAsync", model, names["held"])
        driver.ok("aclrtValueWrite", memory, 1, 0, names["captured"])
        inner = driver.ok("aclmdlRIGetStreams", names["model in capture"], OUT, 9)[0]
        names["in capture"] = self._tasks(inner[-1])[0]
        driver.ok("aclrtValueWrite", memory, 1, 0, names["bound"])
        names["by hand"] = self._tasks(names["bound"])[0]
        driver.begin(running)
        driver.ok("aclrtValueWrite", memory, 1, 0, running)
        model = driver.end(running)
        names["gone task"] = self._tasks(self._inner(model))[0]
        driver.ok("aclmdlRIDestroy", model)

    def _inner(self, model: int) -> int:
        return int(self.driver.ok("aclmdlRIGetStreams", model, OUT, 9)[0][0])

    def _tasks(self, stream: int) -> Any:
        return self.driver.ok("aclmdlRIGetTasksByStream", stream, OUT, 99)[0]

    def __call__(self, argument: Any) -> Any:
        if isinstance(argument, tuple):
            return params(*(self(part) for part in argument))
        return super().__call__(argument)


ROWS: list[Row] = []


def rows(function: str, *cases: tuple[Any, ...], thread: int = 1) -> None:
    for *arguments, number, layer in cases:
        ROWS.append(("implementation", function, tuple(arguments), number, layer, thread))


rows(
    "aclmdlRIGetTasksByStream",
    ("null", "out", 9, 107000, R), ("gone stream", "out", 9, 107017, R), ("model", "out", 9, 107017, R),
    ("inner values", "out", None, 107000, R), ("stream", "out", 9, 107000, R), ("captured", "out", 9, 107000, R),
    ("persistent", "out", 9, 107000, R), ("inner values", "out", 1, 107039, R), ("inner values", "out", 0, 107039, R),
)  # fmt: skip
rows(
    "aclmdlRITaskGetType",
    ("null", "out", 107000, R), ("gone task", "out", 107017, R), ("model", "out", 107017, R),
    ("write", "null", 107000, R),
)  # fmt: skip
rows(
    "aclmdlRITaskGetSeqId",
    ("null", "out", 107000, R), ("gone task", "out", 107017, R), ("write", "null", 107000, R),
    ("by hand", "out", 207000, R),
)  # fmt: skip
rows(
    "aclmdlRITaskGetParams",
    ("null", "out", 107000, R), ("gone task", "out", 107017, R), ("write", "null", 107000, R),
    ("copy", "out", 107000, R),
)  # fmt: skip
rows(
    "aclmdlRITaskSetParams",
    ("null", (VALUE_WRITE, "memory"), 107000, R), ("write", None, 107000, R),
    ("gone task", (VALUE_WRITE, "memory"), 107017, R), ("stream", (VALUE_WRITE, "memory"), 107017, R),
    ("by hand", (VALUE_WRITE, "memory"), 207000, R), ("in capture", (VALUE_WRITE, "memory"), 107040, R),
    ("running", (VALUE_WRITE, "memory"), 107040, R), ("copy", (VALUE_WRITE, "memory"), 107000, R),
    ("write", (0,), 107000, R), ("write", (7,), 107000, R), ("write", (-1,), 107000, R),
    ("write", (KERNEL,), 207000, R),
    ("write", (EVENT_RECORD,), 107000, R), ("write", (VALUE_WRITE, "null"), 107000, R),
    ("write", (VALUE_WRITE, "pinned"), 107000, R), ("write", (VALUE_WRITE, "freed"), 507899, R),
    ("write", (VALUE_WAIT, "memory", 1, 4), 107000, R), ("write", (VALUE_WRITE, "memory", 1, 0, 5), 107000, R),
)  # fmt: skip
rows(
    "aclmdlRITaskDisable",
    ("null", 107000, R), ("gone task", 107017, R), ("by hand", 207000, R), ("in capture", 107040, R),
    ("running", 107040, R), ("copy", 107000, R),
)  # fmt: skip
rows(
    "aclmdlRIUpdate",
    ("null", 107000, R), ("gone model", 107017, R), ("hand model", 207000, R), ("model in capture", 107040, R),
)  # fmt: skip
FILE = b"/model.json"
rows(
    "aclmdlRIDebugJsonPrint",
    ("null", None, 0, 100000, False), ("gone model", None, 0, 100000, False), ("gone model", FILE, 0, 107017, R),
    ("stream", FILE, 1, 107017, R), ("foreign model", b"/nowhere/file", 0, 107004, R),
    ("model", b"/nowhere/file", 0, 107000, R),
)  # fmt: skip
rows("aclmdlRIDebugJsonPrint", ("model", FILE, 0, 107002, R), thread=2)
rows("aclmdlRIDebugPrint", ("null", 100000, False), ("gone model", 107017, R), ("foreign model", 107004, R))
rows("aclmdlRIDebugPrint", ("model", 107002, R), thread=2)


@pytest.mark.parametrize("behaviour", ["default", "observed"])
def test_refused_calls(behaviour: str) -> None:
    assert SIZE >= 16
    check_refused(TaskWorld(behaviour), ROWS)
