"""Calls about captures and model instances with arguments they refuse, as in ``test_machine_arguments.py``.

Sections are those of semantics.md; "documents" are the reference documents on model running instances, and
"implementation" is what the reference implementation does where both say nothing.
"""

from typing import Any

import pytest

from tests.fakes import OUT
from tests.graph_tools import GraphDriver
from tests.test_machine_arguments import SIZE, A, R, Row, World, check_refused

HEAD, ACTIVATED = 0, 0x7FFF_FFFF


class GraphWorld(World):
    """Names for more arguments: a capture that another stream joined, one with an open task group, instances of each
    kind. Captures are RELAXED and thread 1 began them."""

    def __init__(self, behaviour: str) -> None:
        super().__init__(behaviour, GraphDriver)
        driver = self.driver
        assert isinstance(driver, GraphDriver)
        ok, names = driver.ok, self.names
        ok("aclrtSetCurrentContext", names["explicit"])
        names["foreign model"] = driver.by_hand()
        names["foreign persistent"] = driver.persistent()
        driver.begin(names["foreign"])
        names["foreign captured"] = names["foreign"]
        names["foreign"] = driver.stream()
        ok("aclrtSetCurrentContext", names["primary"])
        names["captured"], names["joined"], grouping = driver.stream(), driver.stream(), driver.stream()
        driver.begin(names["captured"])
        names["captured event"] = driver.crossing(names["captured"], names["joined"])
        names["model in capture"] = driver.model_of(names["captured"])
        plain = driver.stream()
        driver.begin(plain)
        ok("aclmdlRICaptureTaskGrpBegin", plain)
        names["group"] = ok("aclmdlRICaptureTaskGrpEnd", plain, OUT)
        ok("aclmdlRICaptureTaskGrpBegin", plain)
        names["busy group"] = ok("aclmdlRICaptureTaskGrpEnd", plain, OUT)
        names["model"] = driver.end(plain)
        ok("aclmdlRISetName", names["model"], b"captured")
        ok("aclmdlRIDestroyRegisterCallback", names["model"], 0x1000, 0)
        names["inner"] = ok("aclmdlRIGetStreams", names["model"], OUT, 9)[0][0]
        driver.begin(plain)
        names["gone model"] = driver.end(plain)
        ok("aclmdlRIDestroy", names["gone model"])
        driver.begin(grouping)
        ok("aclmdlRICaptureTaskGrpBegin", grouping)
        names["grouping"] = grouping
        names["updating"] = driver.stream()
        ok("aclmdlRICaptureTaskUpdateBegin", names["updating"], names["busy group"])
        names["persistent"], names["bound"], names["built in"] = (driver.persistent() for _ in range(3))
        names["empty model"], names["hand model"] = driver.by_hand(), driver.by_hand(names["bound"])
        names["built model"] = driver.built(driver.by_hand(names["built in"]), names["built in"])
        names["fast"], names["for schedulers"] = (
            ok("aclrtCreateStreamWithConfig", OUT, 0, flag) for flag in (0x01, 0x10)
        )
        names["for the device"] = ok("aclrtCreateStreamWithConfig", OUT, 0, 0x20)
        names |= {f"fresh {number}": driver.ex() for number in range(6)}
        names["used outside"] = driver.ex()
        ok("aclrtRecordEvent", names["used outside"], 0)


ROWS: list[Row] = []


def rows(section: str, function: str, *cases: tuple[Any, ...], thread: int = 1) -> None:
    for *arguments, number, layer in cases:
        ROWS.append((section, function, tuple(arguments), number, layer, thread))


rows(
    "7", "aclmdlRICaptureBegin",
    ("null", 0, 100000, A), ("null", 9, 100000, A), ("gone stream", 0, 107017, R), ("stream", -1, 107000, R),
    ("stream", 3, 107000, R), ("captured", 0, 107027, R), ("joined", 0, 107027, R), ("foreign", 0, 107003, R),
    ("bound", 0, 107005, R), ("inner", 0, 107005, R), ("foreign captured", 0, 107003, R),
)  # fmt: skip
rows("implementation", "aclmdlRICaptureBegin", ("gone stream", 3, 107017, R), ("captured", 3, 107000, R))
rows("implementation", "aclmdlRICaptureBegin", ("updating", 0, 107033, R))
rows(
    "7", "aclmdlRICaptureBegin",
    ("persistent", 0, 507000, R), ("for schedulers", 0, 507000, R), ("for the device", 0, 507000, R),
    ("for schedulers", 3, 107000, R),
)  # fmt: skip
rows("7", "aclmdlRICaptureEnd", ("for schedulers", "out", 507000, R), ("for schedulers", "null", 507000, R))
rows("7", "aclmdlRICaptureBegin", ("stream", 0, 107002, R), ("stream", 3, 107000, R), thread=2)
rows(
    "documents", "aclmdlRICaptureToModelRIBegin",
    ("null", "model", 0, 100000, A), ("stream", "null", 0, 100000, A), ("stream", "gone model", 0, 107017, R),
    ("gone stream", "model", 0, 107017, R), ("stream", "model", 3, 107000, R),
)  # fmt: skip
rows("implementation", "aclmdlRICaptureToModelRIBegin", ("stream", "model", 2, 107000, R))
rows(
    "7", "aclmdlRICaptureEnd",
    ("null", "out", 100000, A), ("gone stream", "out", 107017, R), ("stream", "out", 107029, R),
    ("stream", "null", 107029, R), ("captured", "null", 107000, R), ("foreign", "out", 107003, R),
    ("bound", "out", 107005, R), ("joined", "out", 107036, R), ("foreign captured", "null", 107000, R),
)  # fmt: skip
rows("7", "aclmdlRICaptureEnd", ("captured", "out", 107002, R), ("captured", "null", 107000, R), thread=2)
rows(
    "7", "aclmdlRICaptureGetInfo",
    ("null", "out", "out", 100000, A), ("captured", "null", "null", 100000, A),
    ("gone stream", "null", "null", 100000, A), ("gone stream", "out", "out", 107017, R),
)  # fmt: skip
rows("7", "aclmdlRICaptureThreadExchangeMode", (None, 100000, A), (3, 107000, R), (-1, 107000, R))
rows("7", "aclmdlRICaptureThreadExchangeMode", (0, 107002, R), (9, 107000, R), thread=2)
rows(
    "documents", "aclmdlRICaptureTaskGrpBegin",
    ("null", 100000, A), ("gone stream", 107017, R), ("stream", 107029, R), ("foreign captured", 107003, R),
    ("grouping", 107033, R),
)  # fmt: skip
rows("documents", "aclmdlRICaptureTaskGrpBegin", ("captured", 107002, R), ("stream", 107029, R), thread=2)
rows(
    "documents", "aclmdlRICaptureTaskGrpEnd",
    ("null", "out", 100000, A), ("grouping", "null", 100000, A), ("gone stream", "out", 107017, R),
    ("stream", "out", 107029, R), ("foreign captured", "out", 107003, R), ("captured", "out", 107033, R),
)  # fmt: skip
rows("documents", "aclmdlRICaptureTaskGrpEnd", ("grouping", "out", 107002, R), thread=2)
rows(
    "documents", "aclmdlRICaptureTaskUpdateBegin",
    ("null", "group", 100000, A), ("stream", "null", 100000, A), ("gone stream", "group", 107017, R),
    ("stream", "model", 107017, R), ("captured", "group", 107027, R), ("bound", "group", 107005, R),
    ("foreign", "group", 107003, R), ("updating", "group", 107033, R), ("stream", "busy group", 107033, R),
)  # fmt: skip
rows("documents", "aclmdlRICaptureTaskUpdateBegin", ("stream", "group", 107002, R), thread=2)
rows(
    "documents", "aclmdlRICaptureTaskUpdateEnd",
    ("null", 100000, A), ("gone stream", 107017, R), ("captured", 107027, R), ("bound", 107005, R),
    ("foreign", 107003, R), ("stream", 107033, R),
)  # fmt: skip
rows("documents", "aclmdlRICaptureTaskUpdateEnd", ("updating", 107002, R), thread=2)

rows("documents", "aclmdlRIBuildBegin", ("null", 0, 100000, A), ("null", 1, 100000, A), ("out", 1, 107000, R))
rows("documents", "aclmdlRIBuildBegin", ("out", 0, 107002, R), ("out", 1, 107000, R), thread=2)
rows(
    "documents", "aclmdlRIBindStream",
    ("null", "persistent", HEAD, 100000, A), ("gone model", "persistent", HEAD, 107017, R),
    ("hand model", "gone stream", HEAD, 107017, R), ("hand model", "persistent", 1, 107000, R),
    ("gone model", "persistent", 1, 107000, R), ("hand model", "stream", HEAD, 107000, R),
    ("hand model", "null", HEAD, 107000, R), ("hand model", "bound", HEAD, 107005, R),
    ("empty model", "bound", ACTIVATED, 107005, R), ("model", "persistent", HEAD, 107000, R),
    ("foreign model", "persistent", HEAD, 107004, R), ("built model", "persistent", HEAD, 107000, R),
    ("foreign model", "bound", HEAD, 107004, R), ("hand model", "captured", HEAD, 107027, R),
)  # fmt: skip
rows(
    "implementation", "aclmdlRIBindStream",
    ("hand model", "fast", HEAD, 207000, R), ("hand model", "for the device", HEAD, 507000, R),
    ("hand model", "for schedulers", HEAD, 107000, R), ("model", "captured", HEAD, 107000, R),
)  # fmt: skip
rows("documents", "aclmdlRIBindStream", ("hand model", "persistent", HEAD, 107002, R), thread=2)
rows(
    "documents", "aclmdlRIUnbindStream",
    ("null", "bound", 100000, A), ("gone model", "bound", 107017, R), ("hand model", "gone stream", 107017, R),
    ("model", "bound", 107000, R), ("hand model", "captured", 107027, R), ("foreign model", "bound", 107004, R),
    ("hand model", "persistent", 107005, R), ("hand model", "built in", 107005, R),
    ("hand model", "stream", 107005, R), ("hand model", "null", 107005, R),
)  # fmt: skip
rows("documents", "aclmdlRIUnbindStream", ("hand model", "bound", 107002, R), thread=2)
rows(
    "documents", "aclmdlRIEndTask",
    ("null", "bound", 100000, A), ("gone model", "bound", 107017, R), ("hand model", "gone stream", 107017, R),
    ("model", "bound", 107000, R), ("hand model", "captured", 107027, R),
    ("hand model", "foreign persistent", 107003, R), ("foreign model", "bound", 107004, R),
)  # fmt: skip
rows(
    "implementation", "aclmdlRIEndTask",
    ("hand model", "persistent", 507000, R), ("hand model", "built in", 507000, R), ("hand model", "null", 507000, R),
    ("hand model", "stream", 507000, R),
)  # fmt: skip
rows("documents", "aclmdlRIEndTask", ("hand model", "bound", 107002, R), thread=2)
rows(
    "documents", "aclmdlRIBuildEnd",
    ("null", "null", 100000, A), ("hand model", "out", 100000, A), ("gone model", "null", 107017, R),
    ("model", "null", 107000, R), ("foreign model", "null", 107004, R), ("built model", "null", 507000, R),
)  # fmt: skip
rows("implementation", "aclmdlRIBuildEnd", ("empty model", "null", 107005, R), ("hand model", "null", 507011, R))
rows("documents", "aclmdlRIBuildEnd", ("hand model", "null", 107002, R), thread=2)

rows(
    "7", "aclmdlRIExecute",
    ("null", -1, 100000, A), ("null", 0, 100000, A), ("gone model", -1, 107017, R), ("built model", 0, 107000, R),
    ("built model", -2, 107000, R), ("gone model", 0, 107017, R), ("model", -1, 107000, R),
    ("model in capture", -1, 107000, R), ("foreign model", -1, 107004, R), ("hand model", -1, 507011, R),
)  # fmt: skip
rows("7", "aclmdlRIExecute", ("built model", -1, 107002, R), ("built model", 0, 107000, R), thread=2)
rows(
    "7", "aclmdlRIExecuteAsync",
    ("null", "stream", 100000, A), ("gone model", "stream", 107017, R), ("model", "gone stream", 107017, R),
    ("model", "captured", 107027, R), ("model", "joined", 107027, R), ("model", "bound", 107000, R),
    ("model", "inner", 107000, R), ("foreign model", "stream", 107004, R), ("model", "foreign", 107003, R),
)  # fmt: skip
rows("0.1", "aclmdlRIExecuteAsync", ("model in capture", "stream", 107026, R))
rows("implementation", "aclmdlRIExecuteAsync", ("hand model", "stream", 507011, R), ("model", "persistent", 107000, R))
rows("7", "aclmdlRIExecuteAsync", ("model", "stream", 107002, R), thread=2)
rows("documents", "aclmdlRIAbort", ("gone model", 107017, R), ("foreign model", 107004, R))
rows("documents", "aclmdlRIAbort", ("model", 207000, R))
rows("implementation", "aclmdlRIAbort", ("null", 107000, R))
rows("documents", "aclmdlRIAbort", ("built model", 107002, R), thread=2)
rows("7", "aclmdlRIDestroy", ("null", 100000, A), ("gone model", 107017, R), ("foreign model", 107004, R))
rows("0.1", "aclmdlRIDestroy", ("model in capture", 107026, R))
rows("7", "aclmdlRIDestroy", ("model", 107002, R), thread=2)
rows(
    "implementation", "aclmdlRIDestroyRegisterCallback",
    ("null", 0x2000, 0, 107000, R), ("gone model", 0x2000, 0, 107017, R), ("model", 0, 0, 107000, R),
    ("model", 0x1000, 5, 107000, R),
)  # fmt: skip
rows(
    "implementation", "aclmdlRIDestroyUnregisterCallback",
    ("null", 0x1000, 107000, R), ("gone model", 0x1000, 107017, R), ("model", 0, 107000, R),
    ("model", 0x2000, 107000, R),
)  # fmt: skip

rows(
    "documents", "aclmdlRISetName",
    ("null", b"a", 100000, A), ("model", None, 100000, A), ("gone model", b"a", 107017, R),
    ("foreign model", b"a", 107004, R),
)  # fmt: skip
rows("documents", "aclmdlRISetName", ("model", b"a", 107002, R), thread=2)
rows(
    "documents", "aclmdlRIGetName",
    ("null", 10, "out", 100000, A), ("model", 10, "null", 100000, A), ("gone model", 10, "out", 107017, R),
    ("model", 0, "out", 107000, R), ("foreign model", 10, "out", 107004, R),
)  # fmt: skip
rows("implementation", "aclmdlRIGetName", ("model", 1, "out", 507000, R), ("model", 8, "out", 507000, R))
rows("documents", "aclmdlRIGetName", ("model", 10, "out", 107002, R), thread=2)
rows(
    "documents", "aclmdlRIGetId",
    ("null", "out", 100000, A), ("model", "null", 100000, A), ("gone model", "out", 107017, R),
    ("stream", "out", 107017, R),
)  # fmt: skip
rows(
    "implementation", "aclmdlRIGetStreams",
    ("model", "out", None, 107000, R), ("null", "out", 4, 107000, R), ("gone model", "out", 4, 107017, R),
    ("foreign model", "out", 4, 107004, R),
)  # fmt: skip
rows("documents", "aclmdlRIGetStreams", ("model", "out", 0, 107039, R))
rows("documents", "aclmdlRIGetStreams", ("model", "out", 4, 107002, R), thread=2)

# What other calls refuse because of a capture, whatever its mode.

rows("5", "aclrtSynchronizeStream", ("captured", 107027, R), ("joined", 107027, R))
rows("5", "aclrtSynchronizeStreamWithTimeout", ("captured", 1, 107027, R), ("captured", 0, 107000, R))
rows("5", "aclrtStreamQuery", ("captured", "out", 107027, R), ("captured", "null", 100000, A))
rows("5", "aclrtDestroyStream", ("captured", 107027, R), ("foreign captured", 107027, R), ("joined", 107027, R))
rows("5", "aclrtDestroyStream", ("captured", 107027, R), thread=2)
rows("implementation", "aclrtDestroyStream", ("bound", 107005, R), ("inner", 107005, R))
rows("4", "aclrtSynchronizeDevice", (107027, R))
rows("1.10", "aclrtQueryEventStatus", ("captured event", "out", 107028, R), ("captured event", "null", 100000, A))
rows("1.10", "aclrtSynchronizeEvent", ("captured event", 107028, R))
rows(
    "1.12", "aclrtEventElapsedTime",
    ("out", "captured event", "ex", 107028, R), ("out", "ex", "captured event", 107028, R),
)  # fmt: skip
rows("1.7", "aclrtRecordEvent", ("sync", "captured", 207000, R), ("default event", "captured", 207000, R))
rows("1.7", "aclrtRecordEvent", ("ex", "foreign captured", 107003, R), ("device only", "captured", 107000, R))
rows("implementation", "aclrtRecordEvent", ("ex", "bound", 207000, R), ("default event", "bound", 207000, R))
rows("0.1", "aclrtRecordEvent", ("ex", "inner", 207000, R), ("sync", "inner", 107005, R))
rows("1.7", "aclrtRecordEvent", ("ex", "captured", 107002, R), thread=2)
rows(
    "1.7", "aclrtRecordEventWithFlag",
    ("fresh 0", "stream", 1, 107029, R), ("fresh 1", "null", 1, 107029, R), ("sync", "captured", 1, 207000, R),
    ("external", "captured", 1, 207000, R), ("captured event", "captured", 1, 107000, R),
    ("used outside", "captured", 1, 107000, R), ("fresh 2", "foreign captured", 1, 107003, R),
)  # fmt: skip
rows(
    "1.9", "aclrtStreamWaitEventWithFlag",
    ("stream", "fresh 3", 0, 1, 107029, R), ("null", "fresh 4", 0, 1, 107029, R),
    ("captured", "sync", 0, 1, 207000, R), ("captured", "captured event", 0, 1, 107000, R),
    ("foreign captured", "fresh 5", 0, 1, 107003, R), ("captured", "fresh 5", 1, 1, 100000, A),
)  # fmt: skip
rows("1.8", "aclrtResetEvent", ("sync", "captured", 207000, R), ("default event", "captured", 207000, R))
rows("1.10", "aclrtQueryEvent", ("captured event", "out", 207000, R))
rows("implementation", "aclrtSetStreamOverflowSwitch", ("captured", 1, 107027, R))
rows(
    "1.9", "aclrtStreamWaitEvent",
    ("captured", "sync", 207000, R), ("captured", "default event", 207000, R),
    ("null", "captured event", 107031, R), ("captured", "unwaitable", 207000, R),
    ("foreign", "captured event", 107003, R),
)  # fmt: skip
rows("implementation", "aclrtStreamWaitEvent", ("persistent", "captured event", 207000, R))
rows("1.9", "aclrtStreamWaitEvent", ("joined", "captured event", 107002, R), thread=2)
rows(
    "3", "aclrtMemcpyAsync",
    ("memory", SIZE, "pageable", SIZE, 1, "captured", 107000, R),
    ("pageable", SIZE, "memory", SIZE, 2, "joined", 107000, R),
)  # fmt: skip
rows("documents", "aclrtMemcpyAsync", ("memory", SIZE, "pinned", SIZE, 1, "grouping", 507009, R))
rows("documents", "aclrtMemcpyAsync", ("memory", SIZE, "pinned", SIZE, 1, "updating", 507009, R))
rows("0.1", "aclrtMemcpyAsync", ("memory", SIZE, "pinned", SIZE, 1, "inner", 107005, R))
rows("documents", "aclrtMemcpyAsync", ("memory", SIZE, "pinned", SIZE, 1, "built in", 107000, R))


@pytest.mark.parametrize("behaviour", ["default", "observed"])
def test_refused_calls(behaviour: str) -> None:
    check_refused(GraphWorld(behaviour), ROWS)
