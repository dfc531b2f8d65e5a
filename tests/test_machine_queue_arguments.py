"""Calls about queues, channels, datasets and shared buffers with arguments they refuse, as in
``test_machine_arguments.py``. What is no such object is refused with 107017, where the reference crashes."""

import pytest

from tests.fakes import OUT, Driver
from tests.test_machine_arguments import A, R, Row, World, check_refused

PAGE, CODE = "reference page", "reference implementation"
NAME, DEPTH = 0, 1
WHOLE = 4
TENSOR = 0

ROWS: list[Row] = []


def rows(section: str, function: str, *cases: tuple[object, ...], thread: int = 1) -> None:
    for *arguments, number, layer in cases:
        ROWS.append((section, function, tuple(arguments), int(str(number)), bool(layer), thread))


def stale_rows(function: str, *rest: object) -> None:
    """The first argument is null, destroyed, of another kind, or nothing."""
    cases = (("null", 100000, A), ("gone object", 107017, R), ("stream", 107017, R), ("nowhere", 107017, R))
    rows(CODE, function, *((handle, *rest, number, layer) for handle, number, layer in cases))


# Queues.

for function, *others in (
    ("acltdtDestroyQueueAttr",), ("acltdtSetQueueAttr", DEPTH, WHOLE, None), ("acltdtDestroyQueueRoute",),
    ("acltdtGetQueueAttr", DEPTH, WHOLE, "null", "null"), ("acltdtGetQueueRouteParam", 0, WHOLE, "null", "null"),
    ("acltdtDestroyQueueRouteList",), ("acltdtAddQueueRoute", "null"), ("acltdtGetQueueRoute", 0, "null"),
    ("acltdtDestroyQueueRouteQueryInfo",), ("acltdtSetQueueRouteQueryInfo", 0, WHOLE, None),
    ("acltdtBindQueueRoutes",), ("acltdtUnbindQueueRoutes",),
):  # fmt: skip
    stale_rows(function, *others)
rows(
    CODE, "acltdtSetQueueAttr",
    ("attributes", DEPTH, WHOLE, None, 100000, A), ("attributes", 2, WHOLE, bytes(4), 100000, A),
    ("attributes", DEPTH, 5, bytes(5), 100000, A), ("attributes", NAME, 9, bytes(9), 100000, A),
    ("attributes", NAME, 8, bytes(8), 100000, A), ("attributes", NAME, 8, "long name", 100000, A),
    ("attributes", NAME, 8, b"\x00\x50\x34\x12\0\0\0\0", 507899, R),
)  # fmt: skip
rows(
    CODE, "acltdtGetQueueAttr",
    ("attributes", DEPTH, WHOLE, "out", "null", 100000, A), ("attributes", DEPTH, WHOLE, "null", "out", 100000, A),
    ("attributes", 2, WHOLE, "out", "out", 100000, A), ("attributes", DEPTH, 3, "out", "out", 100000, A),
    ("attributes", NAME, 7, "out", "out", 100000, A),
)  # fmt: skip
rows(
    CODE, "acltdtCreateQueue",
    ("null", "null", 100000, A), ("gone object", "null", 100000, A), ("gone object", "out", 107017, R),
    ("shallow", "out", 107000, R), ("deep", "out", 107000, R), ("same name", "out", 107000, R),
)  # fmt: skip
rows(CODE, "acltdtCreateQueue", ("null", "out", 107002, R), ("null", "null", 100000, A), thread=2)
rows(CODE, "acltdtDestroyQueue", (99, 107000, R), ("routed queue", 500001, A))
rows(CODE, "acltdtDestroyQueue", ("queue", 107002, R), thread=2)
rows(
    CODE, "acltdtEnqueueData",
    ("queue", "null", 0, None, 0, 0, 0, 100000, A), (99, "pageable", 0, None, 0, 0, 0, 100000, A),
    (99, "pageable", 4, None, 0, 0, 0, 107000, R), ("queue", "pageable", 4, b"x" * 97, 97, 0, 0, 107000, R),
    ("queue", "freed", 4, None, 0, -1, 0, 507899, R), ("queue", "nowhere", 4, None, 0, 1, 0, 507899, R),
    ("full queue", "pageable", 4, None, 0, 0, 0, 207014, R),
)  # fmt: skip
rows(CODE, "acltdtEnqueueData", ("queue", "pageable", 4, None, 0, 0, 0, 107002, R), thread=2)
rows(
    CODE, "acltdtDequeueData",
    ("queue", "null", 0, "null", "null", 0, 0, 100000, A), ("queue", "pageable", 0, "null", "null", 0, 0, 100000, A),
    (99, "pageable", 0, "out", "null", 0, 0, 100000, A), (99, "pageable", 4, "out", "null", 0, 0, 107000, R),
    ("queue", "pageable", 4, "out", "out", 97, 0, 107000, R), ("queue", "pageable", 4, "out", "null", 0, 0, 207013, R),
    ("full queue", "freed", 4, "out", "null", 0, 0, 507899, R),
    ("full queue", "nowhere", 4, "out", "null", 0, 0, 507899, R),
    ("full queue", "pageable", 1, "out", "null", 0, 0, 107000, R),
)  # fmt: skip
rows(CODE, "acltdtDequeueData", ("queue", "pageable", 4, "out", "null", 0, 0, 107002, R), thread=2)

# Routes.

rows(
    CODE, "acltdtGetQueueRouteParam",
    ("route", 0, WHOLE, "out", "null", 100000, A), ("route", 0, WHOLE, "null", "out", 100000, A),
    ("route", 3, WHOLE, "out", "out", 100000, A), ("route", 2, 3, "out", "out", 100000, A),
)  # fmt: skip
rows(CODE, "acltdtAddQueueRoute", ("routes", "null", 100000, A), ("routes", "gone object", 107017, R))
rows(
    CODE, "acltdtGetQueueRoute",
    ("routes", 0, "null", 100000, A), ("routes", 0, "gone object", 107017, R), ("routes", 0, "route", 100000, A),
)  # fmt: skip
rows(
    CODE, "acltdtSetQueueRouteQueryInfo",
    ("query", 0, WHOLE, None, 100000, A), ("query", 3, WHOLE, bytes(4), 100000, A),
    ("query", 1, 5, bytes(5), 100000, A),
)  # fmt: skip
rows(CODE, "acltdtBindQueueRoutes", ("routes", 107002, R), thread=2)
rows(CODE, "acltdtUnbindQueueRoutes", ("routes", 107002, R), thread=2)
rows(
    CODE, "acltdtQueryQueueRoutes",
    ("null", "null", 100000, A), ("null", "routes", 100000, A), ("gone object", "routes", 107017, R),
    ("query", "gone object", 107017, R), ("query", "routes", 100000, A), ("bad query", "routes", 100000, A),
    ("half query", "routes", 100000, A),
)  # fmt: skip
rows(CODE, "acltdtQueryQueueRoutes", ("full query", "routes", 107002, R), thread=2)

# Items and datasets.

for function, *others in (
    ("acltdtDestroyDataItem",), ("acltdtGetDimsFromItem", "null", 0), ("acltdtGetSliceInfoFromItem", "null", "null"),
    ("acltdtDestroyDataset",), ("acltdtAddDataItem", "null"),
):  # fmt: skip
    stale_rows(function, *others)
rows(
    CODE, "acltdtGetDimsFromItem",
    ("item", "null", 2, 100000, A), ("item", "out", 0, 100000, A), ("item", "out", 1, 100000, A),
)  # fmt: skip
rows(CODE, "acltdtGetSliceInfoFromItem", ("item", "null", "out", 100000, A), ("item", "out", "null", 100000, A))
rows(
    CODE, "acltdtAddDataItem",
    ("dataset", "null", 100000, A), ("dataset", "gone object", 107017, R), ("dataset", "device item", 100000, A),
    ("received", "item", 200006, A),
)  # fmt: skip

# Channels.

for function, *others in (
    ("acltdtDestroyChannel",), ("acltdtStopChannel",), ("acltdtCleanChannel",), ("acltdtQueryChannelSize", "null"),
    ("acltdtSendTensor", "null", 0), ("acltdtReceiveTensor", "null", 0),
):  # fmt: skip
    stale_rows(function, *others)
rows(CODE, "acltdtQueryChannelSize", ("channel", "null", 100000, A))
rows(
    CODE, "acltdtSendTensor",
    ("channel", "null", 0, 100000, A), ("channel", "gone object", 0, 107017, R), ("channel", "item", 0, 107017, R),
    ("channel", "lost dataset", 0, 107017, R), ("full channel", "dataset", 0, 207014, R),
)  # fmt: skip
rows(
    CODE, "acltdtReceiveTensor",
    ("channel", "null", 0, 100000, A), ("channel", "gone object", 0, 107017, R),
    ("channel", "received", 0, 207013, R), ("full channel", "dataset", 0, 100000, A),
)  # fmt: skip

# Shared buffers.

rows(
    CODE, "aclrtAllocBuf",
    ("null", 0, 100000, A), ("out", 0, 100000, A), ("out", (4 << 30) + 1, 107000, R), ("out", 4 << 30, 207001, R),
)  # fmt: skip
for function, *others in (
    ("aclrtFreeBuf",), ("aclrtCopyBufRef", "null"), ("aclrtGetBufData", "null", "null"), ("aclrtSetBufDataLen", 1),
    ("aclrtGetBufDataLen", "null"), ("aclrtSetBufUserData", None, 4, 0), ("aclrtGetBufUserData", "null", 4, 0),
    ("aclrtGetBufChainNum", "null"), ("aclrtGetBufFromChain", 0, "null"),
):  # fmt: skip
    stale_rows(function, *others)
rows(CODE, "aclrtFreeBuf", ("member", 107000, R))
rows(CODE, "aclrtCopyBufRef", ("head", "null", 100000, A))
rows(CODE, "aclrtGetBufData", ("head", "null", "out", 100000, A), ("head", "out", "null", 100000, A))
rows(PAGE, "aclrtSetBufDataLen", ("head", 65, 107000, R))
rows(CODE, "aclrtGetBufDataLen", ("head", "null", 100000, A))
rows(
    PAGE, "aclrtSetBufUserData",
    ("null", None, 97, 0, 100000, A), ("head", b"x" * 90, 90, 7, 100000, A), ("head", None, 4, 0, 100000, A),
)  # fmt: skip
rows(
    PAGE, "aclrtGetBufUserData",
    ("gone object", "out", 0, 97, 100000, A), ("head", "out", 90, 7, 100000, A), ("head", "null", 4, 0, 100000, A),
)  # fmt: skip
rows(
    CODE, "aclrtAppendBufChain",
    ("null", "null", 100000, A), ("head", "null", 100000, A), ("null", "head", 100000, A),
    ("gone object", "head", 107017, R), ("head", "gone object", 107017, R), ("head", "head", 107000, R),
    ("head", "member", 107000, R), ("member", "single", 107000, R), ("single", "head", 107000, R),
)  # fmt: skip
rows(CODE, "aclrtGetBufChainNum", ("head", "null", 100000, A))
rows(CODE, "aclrtGetBufFromChain", ("head", 0, "null", 100000, A), ("head", 2, "out", 107000, R))


class QueueWorld(World):
    """Knows an object of each kind too, and one that was destroyed."""

    def __init__(self, behaviour: str) -> None:
        super().__init__(behaviour)
        driver, names = self.driver, self.names
        ok, call = driver.ok, driver.call
        gone = call("acltdtCreateDataset")
        ok("acltdtDestroyDataset", gone)
        names["gone object"] = gone
        for name, depth in (("attributes", 8), ("shallow", 1), ("deep", 8193)):
            names[name] = call("acltdtCreateQueueAttr")
            ok("acltdtSetQueueAttr", names[name], DEPTH, WHOLE, depth.to_bytes(4, "little"))
        names["same name"] = call("acltdtCreateQueueAttr")
        text = driver.host.give(b"taken\0")
        ok("acltdtSetQueueAttr", names["same name"], NAME, 8, text.to_bytes(8, "little"))
        names["long name"] = driver.host.give(b"n" * 128).to_bytes(8, "little")
        queues = [ok("acltdtCreateQueue", names["same name"], OUT)]
        queues += [ok("acltdtCreateQueue", 0, OUT) for _ in range(3)]
        names.update({"queue": queues[0], "routed queue": queues[1], "full queue": queues[2]})
        for _ in range(8):
            ok("acltdtEnqueueData", queues[2], self("pageable"), 4, None, 0, 0, 0)
        self.routes(queues)
        self.datasets()
        buffers = [ok("aclrtAllocBuf", OUT, 64) for _ in range(3)]
        ok("aclrtAppendBufChain", buffers[0], buffers[1])
        names.update(zip(("head", "member", "single"), buffers, strict=True))

    def routes(self, queues: list[int]) -> None:
        driver, names = self.driver, self.names
        ok, call = driver.ok, driver.call
        bound, names["routes"] = call("acltdtCreateQueueRouteList"), call("acltdtCreateQueueRouteList")
        names["route"] = call("acltdtCreateQueueRoute", queues[1], queues[3])
        ok("acltdtAddQueueRoute", bound, names["route"])
        ok("acltdtBindQueueRoutes", bound)
        for name, values in (("query", ()), ("bad query", (7,)), ("half query", (2, 1)), ("full query", (2, 1, 3))):
            names[name] = call("acltdtCreateQueueRouteQueryInfo")
            for kind, value in enumerate(values):
                ok("acltdtSetQueueRouteQueryInfo", names[name], kind, WHOLE, value.to_bytes(4, "little"))

    def datasets(self) -> None:
        driver, names = self.driver, self.names
        ok, call = driver.ok, driver.call
        names["item"] = call("acltdtCreateDataItem", TENSOR, (2, 2), 2, 0, self("pageable"), 16)
        names["device item"] = call("acltdtCreateDataItem", TENSOR, (4,), 1, 0, self("memory"), 16)
        lost = call("acltdtCreateDataItem", TENSOR, (4,), 1, 0, self("memory"), 16)
        for name, item in (("dataset", names["item"]), ("lost dataset", lost)):
            names[name] = call("acltdtCreateDataset")
            ok("acltdtAddDataItem", names[name], item)
        ok("acltdtDestroyDataItem", lost)
        names["received"] = call("acltdtCreateDataset")
        for name in ("channel", "full channel"):
            names[name] = call("acltdtCreateChannelWithCapacity", 0, name.encode(), 2)
        ok("acltdtSendTensor", names["channel"], names["dataset"], 0)
        ok("acltdtReceiveTensor", names["channel"], names["received"], 0)
        for _ in range(2):
            ok("acltdtSendTensor", names["full channel"], names["dataset"], 0)


@pytest.mark.parametrize("behaviour", ["documented", "observed"])
def test_refused_calls(behaviour: str) -> None:
    check_refused(QueueWorld(behaviour), ROWS)


@pytest.mark.parametrize(
    ("function", "rest", "answer"),
    [
        ("acltdtGetTensorTypeFromItem", (), -1), ("acltdtGetDataTypeFromItem", (), -1),
        ("acltdtGetDataAddrFromItem", (), None), ("acltdtGetDataSizeFromItem", (), 0),
        ("acltdtGetDimNumFromItem", (), 0), ("acltdtGetDataItem", (0,), 0), ("acltdtGetDatasetSize", (), 0),
        ("acltdtGetDatasetName", (), None), ("acltdtGetQueueRouteNum", (), 0),
    ],
)  # fmt: skip
def test_getters_of_what_does_not_exist(function: str, rest: tuple[int, ...], answer: int | None) -> None:
    """They return no number that could say so; a message does."""
    world = QueueWorld("default")
    for handle, number in (("null", 100000), ("gone object", 107017), ("stream", 107017)):
        assert world.driver.call(function, world(handle), *rest) == answer
        message = world.driver.message()
        assert message.startswith(f"{function}: ") and f"[{number} " in message


@pytest.mark.parametrize(
    ("arguments", "number"),
    [
        ((TENSOR, None, 1, 0, 0, 0), 100000), ((TENSOR, (), 0, 0, 0, 0), 100000),
        ((TENSOR, (), 129, 0, 0, 0), 100000), ((1, (1,), 1, 0, 0, 0), 100000),
    ],
)  # fmt: skip
def test_items_that_cannot_be_made(arguments: tuple[object, ...], number: int) -> None:
    driver = Driver().opened()
    assert driver.call("acltdtCreateDataItem", *arguments) == 0
    assert f"[{number} " in driver.message()


@pytest.mark.parametrize(
    ("device", "name", "capacity", "number"),
    [
        (0, None, 2, 100000), (0, b"n" * 128, 2, 100000), (2, b"n", 2, 107001),
        (0, b"n", 1, 107000), (0, b"n", 8193, 107000), (0, b"taken", 2, 107000),
    ],
)  # fmt: skip
def test_channels_that_cannot_be_made(device: int, name: bytes | None, capacity: int, number: int) -> None:
    world = QueueWorld("default")
    assert world.driver.call("acltdtCreateChannelWithCapacity", device, name, capacity) == 0
    assert f"[{number} " in world.driver.message()


def test_a_channel_needs_an_open_device() -> None:
    driver = Driver().opened()
    assert driver.call("acltdtCreateChannelWithCapacity", 1, b"n", 2) == 0
    assert "[107002 " in driver.message()
