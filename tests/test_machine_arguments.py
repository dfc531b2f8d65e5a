"""Every call with arguments it refuses: the number, which layer refuses, and that the model stays as it was."""

from importlib import import_module
from pathlib import Path
from typing import Any

import pytest

from tests.fakes import OUT, Driver, ident
from tests.snapshots import state

A = False  # the acl layer refuses: the last error stays
R = True  # the runtime layer refuses: the number becomes the last error

SIZE = 64
BIG = (1 << 64) - 1
FUNCTION = 0x5555_0000_1000


class World:
    """Names for arguments. Thread 1 has device 0 selected, thread 2 has no context."""

    def __init__(self, behaviour: str, kind: type[Driver] = Driver) -> None:
        self.driver = driver = self.make(kind, behaviour).opened()
        ok = driver.ok
        primary = ok("aclrtGetCurrentContext", OUT)
        explicit = ok("aclrtCreateContext", OUT, 0)
        foreign = driver.stream()
        destroyed_context = ok("aclrtCreateContext", OUT, 0)
        ok("aclrtDestroyContext", destroyed_context)
        ok("aclrtSetCurrentContext", primary)
        stream, gone = driver.stream(), driver.stream()
        ok("aclrtDestroyStream", gone)
        default, sync = driver.event(), driver.event(1)
        ex, ex_plain = driver.event(1, ex=True), driver.event(8, ex=True)
        gone_event = driver.event()
        ok("aclrtDestroyEvent", gone_event)
        subscribed, hosting = driver.stream(), driver.stream()
        ok("aclrtSubscribeReport", 77, subscribed)
        ok("aclrtLaunchHostFunc", hosting, FUNCTION, 0)
        ok("aclrtCreateContext", OUT, 1, thread=3)
        far = ok("aclrtCreateStream", OUT, thread=3)
        memory, freed = driver.device_memory(SIZE), driver.device_memory(SIZE)
        ok("aclrtFree", freed)
        self.names: dict[str, Any] = {
            "out": OUT, "null": 0, "primary": primary, "explicit": explicit, "destroyed context": destroyed_context,
            "stream": stream, "gone stream": gone, "foreign": foreign, "default stream": 0,
            "default event": default, "sync": sync, "ex": ex, "unwaitable": ex_plain, "gone event": gone_event,
            "device only": driver.event(0x10), "external": driver.event(0x20),
            "memory": memory, "freed": freed, "inside": memory + 32, "pinned": driver.pinned(b"p" * SIZE),
            "me": ident(1), "other me": ident(1) + 1, "busy": 77, "function": FUNCTION, "subscribed": subscribed,
            "hosting": hosting, "far stream": far,
            "pageable": driver.host.give(b"h" * SIZE), "other": driver.host.give(b"o" * SIZE), "nowhere": 0x1234_5000,
        }  # fmt: skip

    def make(self, kind: type[Driver], behaviour: str) -> Driver:
        """Other product lines have drivers of their own (``test_machine_refusals_by_product.py``)."""
        return kind(behaviour=behaviour)

    def __call__(self, argument: Any) -> Any:
        return self.names[argument] if isinstance(argument, str) else argument


Row = tuple[str, str, tuple[Any, ...], int, bool, int]
"""Section, function, arguments, number, layer, thread."""

ROWS: list[Row] = []


def rows(section: str, function: str, *cases: tuple[Any, ...], thread: int = 1) -> None:
    for *arguments, number, layer in cases:
        ROWS.append((section, function, tuple(arguments), number, layer, thread))


rows(
    "4", "aclrtSetDevice",
    (-1, 107001, R), (2, 107001, R), (63, 107001, R), (64, 107001, R), (2147483647, 107001, R),
)  # fmt: skip
rows("4", "aclrtResetDevice", (-1, 107001, R), (2, 107001, R), (64, 107001, R), (1, 507007, R))
rows("4", "aclrtGetDevice", ("null", 100000, A))
rows("4", "aclrtGetDevice", ("out", 107002, R), ("null", 100000, A), thread=2)
rows("4", "aclrtGetDeviceCount", ("null", 100000, A))
rows("4", "aclrtGetRunMode", ("null", 100000, A))
rows(
    "4", "aclrtCreateContext",
    ("null", 0, 100000, A), ("null", 9, 100000, A), ("out", -1, 107001, R), ("out", 2, 107001, R),
)  # fmt: skip
rows("4", "aclrtDestroyContext", ("null", 100000, A), ("primary", 107002, R), ("destroyed context", 107002, R))
rows("10a", "aclrtDestroyContext", ("stream", 107002, R), ("nowhere", 107002, R))
rows("4", "aclrtSetCurrentContext", ("null", 100000, A), ("destroyed context", 107000, R), ("nowhere", 107000, R))
rows("10a", "aclrtSetCurrentContext", ("stream", 107000, R), ("sync", 107000, R))
rows("4", "aclrtGetCurrentContext", ("null", 100000, A))
rows("0.2", "aclrtGetCurrentContext", ("out", 107002, A), thread=2)

rows("5", "aclrtCreateStream", ("null", 100000, A))
rows("5", "aclrtCreateStream", ("out", 107002, R), ("null", 100000, A), thread=2)
rows(
    "5", "aclrtDestroyStream",
    ("null", 100000, A), ("gone stream", 107017, R), ("sync", 107017, R), ("nowhere", 107017, R),
    ("foreign", 107003, R),
)  # fmt: skip
rows("5", "aclrtDestroyStream", ("stream", 107002, R), ("gone stream", 107017, R), thread=2)
rows("5", "aclrtSynchronizeStream", ("gone stream", 107017, R), ("sync", 107017, R), ("nowhere", 107017, R))
rows(
    "10a", "aclrtSynchronizeStream",
    ("stream", 107002, R), ("null", 107002, R), ("gone stream", 107017, R),
    thread=2,
)  # fmt: skip
rows(
    "5", "aclrtSynchronizeStreamWithTimeout",
    ("null", 0, 107000, R), ("null", -2, 107000, A), ("stream", 0, 107000, R), ("stream", -2, 107000, A),
    ("stream", -(1 << 31), 107000, A), ("gone stream", 100, 107017, R), ("gone stream", 0, 107017, R),
    ("gone stream", -2, 107000, A), ("sync", 0, 107017, R),
)  # fmt: skip
rows("10a", "aclrtSynchronizeStreamWithTimeout", ("stream", 5, 107002, R), ("null", 0, 107000, R), thread=2)
rows(
    "5", "aclrtStreamQuery",
    ("stream", "null", 100000, A), ("gone stream", "null", 100000, A), ("gone stream", "out", 107017, R),
    ("sync", "out", 107017, R),
)  # fmt: skip
rows("10a", "aclrtStreamQuery", ("stream", "out", 107002, R), ("null", "out", 107002, R), thread=2)
rows("4", "aclrtSynchronizeDevice", (107002, R), thread=2)

rows("1.3", "aclrtCreateEvent", ("null", 100000, A))
rows("1.3", "aclrtCreateEvent", ("out", 107002, R), thread=2)
rows(
    "1.4", "aclrtCreateEventWithFlag",
    ("null", 1, 100000, A), ("null", 0, 100000, A), ("out", 0, 107000, R), ("out", 0x11, 107000, R),
    ("out", 0x21, 107000, R), ("out", 0x30, 107000, R), ("out", 0x40, 107000, R), ("out", 0x41, 107000, R),
    ("out", 0x80, 107000, R), ("out", 0x101, 107000, R), ("out", 0xFFFFFFFF, 107000, R),
)  # fmt: skip
rows("1.4", "aclrtCreateEventWithFlag", ("out", 1, 107002, R), ("out", 0, 107000, R), thread=2)
rows(
    "1.5", "aclrtCreateEventExWithFlag",
    ("null", 1, 100000, A), ("out", 0, 107000, R), ("out", 0x10, 107000, R), ("out", 0x20, 107000, R),
    ("out", 0x11, 107000, R), ("out", 0x41, 107000, R), ("out", 0x50, 107000, R), ("out", 0x80, 107000, R),
)  # fmt: skip
rows("1.5", "aclrtCreateEventExWithFlag", ("out", 1, 107002, R), thread=2)
rows(
    "1.6", "aclrtDestroyEvent",
    ("null", 100000, A), ("gone event", 107017, R), ("stream", 107017, R), ("nowhere", 107017, R),
)  # fmt: skip
rows("1.6", "aclrtDestroyEvent", ("gone event", 107017, R), thread=2)
rows(
    "1.7", "aclrtRecordEvent",
    ("null", "stream", 100000, A), ("null", "gone stream", 100000, A), ("gone event", "stream", 107017, R),
    ("gone event", "gone stream", 107017, R), ("stream", "stream", 107017, R), ("sync", "gone stream", 107017, R),
    ("sync", "sync", 107017, R), ("sync", "foreign", 107003, R), ("device only", "stream", 107000, R),
    ("device only", "gone stream", 107017, R), ("device only", "foreign", 107000, R),
)  # fmt: skip
rows("1.7", "aclrtRecordEvent", ("sync", "stream", 107002, R), ("sync", "null", 107002, R), thread=2)
rows("1.7", "aclrtRecordEvent", ("device only", "null", 107000, R), ("gone event", "null", 107017, R), thread=2)
rows(
    "1.9", "aclrtStreamWaitEvent",
    ("stream", "null", 100000, A), ("gone stream", "null", 100000, A), ("gone stream", "gone event", 107017, R),
    ("stream", "gone event", 107017, R), ("stream", "stream", 107017, R), ("sync", "sync", 107017, R),
    ("stream", "device only", 107000, R), ("stream", "unwaitable", 207000, R), ("foreign", "sync", 107003, R),
    ("foreign", "unwaitable", 207000, R), ("stream", "default event", 107000, R),
    ("foreign", "default event", 107003, R),
)  # fmt: skip
rows("1.9", "aclrtStreamWaitEvent", ("stream", "sync", 107002, R), ("stream", "unwaitable", 207000, R), thread=2)
rows(
    "1.10", "aclrtQueryEventStatus",
    ("null", "out", 100000, A), ("null", "null", 100000, A), ("sync", "null", 100000, A),
    ("gone event", "null", 100000, A), ("gone event", "out", 107017, R), ("stream", "out", 107017, R),
    ("external", "out", 207000, R),
)  # fmt: skip
rows(
    "1.10", "aclrtSynchronizeEvent",
    ("null", 100000, A), ("gone event", 107017, R), ("stream", 107017, R), ("external", 207000, R),
)  # fmt: skip
rows(
    "1.12", "aclrtEventElapsedTime",
    ("null", "sync", "sync", 100000, A), ("out", "null", "sync", 100000, A), ("out", "sync", "null", 100000, A),
    ("null", "gone event", "sync", 100000, A), ("out", "gone event", "sync", 107017, R),
    ("out", "sync", "gone event", 107017, R), ("out", "external", "sync", 207000, R),
    ("out", "sync", "external", 207000, R), ("out", "sync", "sync", 507000, R),
    ("out", "default event", "ex", 507000, R),
)  # fmt: skip

rows(
    "3", "aclrtMalloc",
    ("null", SIZE, 0, 100000, A), ("out", 0, 0, 100000, A), ("null", 0, 0, 100000, A), ("out", BIG, 0, 100000, A),
    ("out", BIG - 63, 0, 100000, A), ("out", 1 << 45, 0, 207001, R),
)  # fmt: skip
rows("3", "aclrtMalloc", ("out", SIZE, 0, 107002, R), ("out", 0, 0, 100000, A), thread=2)
rows(
    "3", "aclrtFree",
    ("null", 100000, A), ("freed", 507899, R), ("inside", 507899, R), ("pinned", 507899, R),
    ("pageable", 507899, R), ("nowhere", 507899, R),
)  # fmt: skip
rows("3", "aclrtMallocHost", ("null", SIZE, 100000, A), ("out", 0, 100000, A))
rows("3", "aclrtMallocHost", ("out", SIZE, 107002, R), thread=2)
rows(
    "3", "aclrtFreeHost",
    ("null", 100000, A), ("memory", 107000, R), ("pageable", 107000, R), ("nowhere", 107000, R),
)  # fmt: skip
rows(
    "3", "aclrtMemset",
    ("null", SIZE, 0, SIZE, 100000, A), ("memory", SIZE - 1, 0, SIZE, 107000, R),
    ("freed", SIZE, 0, SIZE, 507899, R), ("memory", 4096, 0, 4096, 507899, R),
    ("nowhere", SIZE, 0, SIZE, 507899, R),
)  # fmt: skip
rows("3", "aclrtMemset", ("memory", SIZE, 0, SIZE, 107002, R), ("null", SIZE, 0, SIZE, 100000, A), thread=2)
rows(
    "3", "aclrtMemcpy",
    ("null", SIZE, "pageable", SIZE, 1, 100000, A), ("memory", SIZE, "null", SIZE, 1, 100000, A),
    ("memory", SIZE - 1, "null", SIZE, 1, 100000, A), ("memory", SIZE, "pageable", SIZE, 6, 100000, A),
    ("memory", SIZE, "pageable", SIZE, 7, 100000, A), ("memory", SIZE, "pageable", SIZE, -1, 100000, A),
    ("memory", SIZE - 1, "pageable", SIZE, 9, 100000, A), ("memory", SIZE - 1, "pageable", SIZE, 1, 107000, R),
    ("memory", 0, "pageable", SIZE, 1, 107000, R), ("memory", SIZE, "memory", SIZE, 9, 100000, A),
    ("memory", SIZE - 1, "memory", SIZE, 3, 107000, R), ("freed", SIZE, "pageable", SIZE, 1, 507899, R),
    ("memory", 4096, "pageable", 4096, 1, 507899, R), ("pageable", SIZE, "freed", SIZE, 2, 507899, R),
    ("memory", SIZE, "nowhere", SIZE, 1, 507899, R), ("nowhere", SIZE, "memory", SIZE, 2, 507899, R),
    ("nowhere", SIZE, "pageable", SIZE, 0, 507899, R),
)  # fmt: skip
rows(
    "3", "aclrtMemcpy",
    ("pageable", SIZE, "other", SIZE, 0, 107002, R), ("pageable", SIZE - 1, "other", SIZE, 0, 107000, R),
    thread=2,
)  # fmt: skip
rows(
    "3", "aclrtMemcpyAsync",
    ("null", SIZE, "pinned", SIZE, 1, "stream", 100000, A), ("memory", SIZE, "null", SIZE, 1, "stream", 100000, A),
    ("memory", SIZE, "null", SIZE, 1, "gone stream", 100000, A),
    ("memory", SIZE, "pinned", SIZE, 6, "stream", 100000, A),
    ("memory", SIZE, "pinned", SIZE, -1, "gone stream", 100000, A),
    ("memory", SIZE, "pinned", SIZE, 1, "gone stream", 107017, R),
    ("memory", SIZE, "pinned", SIZE, 1, "sync", 107017, R),
    ("memory", SIZE - 1, "pinned", SIZE, 1, "stream", 107000, R),
    ("memory", 0, "pinned", SIZE, 1, "stream", 107000, R),
    ("memory", SIZE - 1, "pinned", SIZE, 1, "foreign", 107000, R),
    ("memory", SIZE, "pinned", SIZE, 1, "foreign", 107003, R),
    ("memory", SIZE - 1, "memory", SIZE, 3, "stream", 107000, R),
    ("memory", SIZE, "pageable", SIZE, 0, "stream", 107000, R),
    ("memory", SIZE, "pageable", SIZE, 2, "foreign", 107000, R),
    ("pageable", SIZE, "other", SIZE, 4, "stream", 207000, R),
    ("freed", SIZE, "pinned", SIZE, 1, "stream", 507899, R),
    ("pinned", SIZE, "freed", SIZE, 2, "stream", 507899, R),
    ("memory", SIZE, "nowhere", SIZE, 1, "stream", 507899, R),
    ("memory", SIZE, "nowhere", SIZE, 5, "stream", 507899, R),
)  # fmt: skip
rows(
    "3", "aclrtMemcpyAsync",
    ("memory", SIZE, "pinned", SIZE, 1, "stream", 107002, R),
    ("memory", SIZE - 1, "pinned", SIZE, 1, "stream", 107000, R),
    ("memory", SIZE, "pinned", SIZE, 9, "stream", 100000, A),
    ("pageable", SIZE, "other", SIZE, 0, "null", 107002, R),
    thread=2,
)  # fmt: skip
rows(
    "3", "aclrtGetMemInfo",
    (1, "null", "out", 100000, A), (1, "out", "null", 100000, A), (99, "null", "out", 100000, A),
    (-1, "out", "out", 107016, R), (18, "out", "out", 107016, R), (99, "out", "out", 107016, R),
)  # fmt: skip
rows("3", "aclrtGetMemInfo", (1, "out", "out", 107002, R), (99, "out", "out", 107016, R), thread=2)
rows("0.2", "aclrtPeekAtLastError", (1, 100000, A), (-1, 100000, A))
rows("0.2", "aclrtGetLastError", (1, 100000, A), (-1, 100000, A))
rows("4", "aclInit", (b"/no/such/file.json", 100003, A))

rows(
    "6", "aclrtSubscribeReport",
    ("me", "gone stream", 107017, R), ("me", "sync", 107017, R), ("me", "hosting", 107011, R),
    ("me", "subscribed", 107011, R), ("other me", "subscribed", 107011, R), ("busy", "far stream", 107012, R),
)  # fmt: skip
rows("10a", "aclrtSubscribeReport", ("me", "null", 107002, R), ("me", "stream", 107002, R), thread=2)
rows("6", "aclrtSubscribeReport", ("me", "hosting", 107011, R), ("me", "gone stream", 107017, R), thread=2)
rows(
    "6", "aclrtUnSubscribeReport",
    ("me", "stream", 107011, R), ("me", "null", 107011, R), (0, "stream", 107011, R), ("me", "gone stream", 107017, R),
    ("me", "sync", 107017, R), ("me", "hosting", 107011, R), ("me", "subscribed", 107012, R),
    (0, "subscribed", 107012, R),
)  # fmt: skip
rows("6", "aclrtUnSubscribeReport", ("me", "null", 107002, R), ("me", "stream", 107011, R), thread=2)
rows(
    "6", "aclrtLaunchCallback",
    ("function", "null", 2, "stream", 100000, A), ("null", "null", 2, "gone stream", 100000, A),
    ("function", "null", -1, "stream", 100000, A), ("null", "null", 0, "gone stream", 107017, R),
    ("null", "null", 1, "stream", 107000, R), ("null", "null", 1, "hosting", 107000, R),
    ("function", "null", 1, "gone stream", 107017, R), ("function", "null", 0, "sync", 107017, R),
    ("function", "null", 0, "hosting", 107011, R), ("function", "null", 1, "foreign", 107003, R),
    ("function", "null", 1, "stream", 107015, R), ("function", "null", 0, "null", 107015, R),
)  # fmt: skip
rows(
    "6", "aclrtLaunchCallback",
    ("function", "null", 1, "stream", 107002, R), ("function", "null", 1, "null", 107002, R),
    ("function", "null", 1, "hosting", 107011, R), ("null", "null", 1, "stream", 107000, R),
    thread=2,
)  # fmt: skip
rows(
    "6",
    "aclrtProcessReport",
    (0, 100000, A),
    (-2, 100000, A),
    (-(1 << 31), 100000, A),
    (10, 107012, R),
    (-1, 107012, R),
)
rows("6", "aclrtProcessReport", (20, 107012, R), (0, 100000, A), thread=2)
rows(
    "6", "aclrtLaunchHostFunc",
    ("gone stream", "null", "null", 107017, R), ("gone stream", "function", "null", 107017, R),
    ("sync", "function", "null", 107017, R), ("stream", "null", "null", 107000, R),
    ("subscribed", "null", "null", 107000, R), ("subscribed", "function", "null", 107011, R),
    ("foreign", "function", "null", 107003, R),
)  # fmt: skip
rows(
    "6", "aclrtLaunchHostFunc",
    ("stream", "function", "null", 107002, R), ("null", "function", "null", 107002, R),
    ("subscribed", "function", "null", 107011, R), ("stream", "null", "null", 107000, R),
    thread=2,
)  # fmt: skip
rows("reference implementation", "aclrtExceptionInfoCallbackRegister", ("null", 107000, A))
rows("reference implementation", "aclrtExceptionInfoCallbackUnregister", ("null", 107000, A))


@pytest.mark.parametrize("behaviour", ["default", "observed"])
def test_refused_calls(behaviour: str) -> None:
    check_refused(World(behaviour), ROWS)


def check_refused(world: World, table: list[Row]) -> None:
    """Make the calls of a table, each in the state that the one before left."""
    driver = world.driver
    for section, function, arguments, number, layer, thread in table:
        row = f"{section}: {function}{arguments} on thread {thread}"
        driver.call("aclrtGetLastError", 0, thread=thread)
        driver.pace(1)
        before = state(driver.machine)
        reply = driver.call(function, *map(world, arguments), thread=thread)
        assert (reply[0] if isinstance(reply, tuple) else reply) == number, row
        assert state(driver.machine) == before, row
        assert driver.call("aclrtGetLastError", 0, thread=thread) == (number if layer else 0), row
        message = driver.message(thread=thread).splitlines()[-1 if thread == 1 else 1]
        assert message.startswith(f"{function}: ") and message.endswith("]") and f"[{number}" in message, row


def test_a_state_shows_what_calls_change() -> None:
    driver = Driver().opened()
    before = state(driver.machine)
    driver.ok("aclrtGetDevice", OUT)
    assert state(driver.machine) == before
    event = driver.event()
    assert (changed := state(driver.machine)) != before
    driver.ok("aclrtRecordEvent", event, 0)
    assert state(driver.machine) != changed


def test_rows_cover_every_call_that_can_refuse() -> None:
    modules = [import_module(f"tests.{path.stem}") for path in Path(__file__).parent.glob("test_machine*_arguments.py")]
    covered = {row[1] for module in modules for row in module.ROWS}
    told = ("TaskId", "StreamId", "ThreadId", "DeviceId", "ErrorCode", "Args", "FuncHandle")
    getters = {f"aclrtGet{what}FromExceptionInfo" for what in told}  # test_machine_exceptions.py
    silent = {"aclGetRecentErrMsg", "aclrtGetSocName", "aclFinalize", "aclrtSetExceptionInfoCallback", *getters}
    silent |= {"aclrtDeviceGetStreamPriorityRange", "aclrtSetOpWaitTimeout", "aclrtCreateBinary"}
    silent |= {"aclrtSetOpExecuteTimeOut", "aclrtCreateGroupInfo", "aclrtAllocatorCreateDesc"}
    silent |= {f"acl{name}" for name in ("CreateDataBuffer", "DataTypeSize", "Float16ToFloat", "FloatToFloat16")}
    silent |= {f"aclGetDataBuffer{what}" for what in ("Addr", "Size", "SizeV2")}
    silent |= {f"acltdtCreate{what}" for what in ("QueueAttr", "QueueRoute", "QueueRouteList", "QueueRouteQueryInfo")}
    silent |= {f"acltdtCreate{what}" for what in ("DataItem", "Dataset", "ChannelWithCapacity")}
    silent |= {f"acltdtGet{what}FromItem" for what in ("TensorType", "DataType", "DataAddr", "DataSize", "DimNum")}
    silent |= {"acltdtGetDataItem", "acltdtGetDatasetSize", "acltdtGetDatasetName", "acltdtGetQueueRouteNum"}
    silent |= {f"aclprof{what}" for what in ("Finalize", "CreateConfig", "CreateStepInfo", "CreateStamp", "Str2Id")}
    silent |= {"aclprofDestroyStamp", "aclprofDestroyStepInfo", "aclAppLog", "aclAppLogWithArgs"}
    silent |= {"aclrtCreateStreamConfigHandle"}
    assert set(Driver().handlers) - covered == silent
