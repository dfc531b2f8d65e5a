"""Every handle argument and every output of the calls about events, streams, callbacks, captures and notifies: handles
that are stale or of another kind, outputs that are null, threads without a context (semantics.md 0.2, 0.3)."""

from typing import Any

import pytest

from cannery.runtime.api import MODEL, roles
from cannery.runtime.invoke import Invoke
from cannery.runtime.machine import Wait
from tests.fakes import OUT, Driver
from tests.snapshots import state
from tests.test_machine_graph_tasks_arguments import VALUE_WRITE, TaskWorld, params

STALE = 107017

GOOD: dict[str, tuple[Any, ...]] = {
    "aclrtDestroyEvent": ("ex",), "aclrtRecordEvent": ("ex", "stream"), "aclrtRecordEventWithFlag": ("ex", "stream", 0),
    "aclrtResetEvent": ("sync", "stream"), "aclrtQueryEvent": ("sync", OUT), "aclrtQueryEventStatus": ("ex", OUT),
    "aclrtQueryEventWaitStatus": ("sync", OUT), "aclrtSynchronizeEvent": ("ex",),
    "aclrtSynchronizeEventWithTimeout": ("ex", 5), "aclrtEventElapsedTime": (OUT, "recorded", "recorded"),
    "aclrtEventGetTimestamp": ("recorded", OUT), "aclrtGetEventId": ("sync", OUT),
    "aclrtStreamWaitEvent": ("stream", "ex"), "aclrtStreamWaitEventWithFlag": ("stream", "ex", 0, 0),
    "aclrtStreamWaitEventWithTimeout": ("stream", "ex", 0), "aclrtCreateEvent": (OUT,),
    "aclrtCreateEventWithFlag": (OUT, 1), "aclrtCreateEventExWithFlag": (OUT, 1), "aclrtGetEventAvailNum": (OUT,),
    "aclrtCreateStream": (OUT,), "aclrtCreateStreamWithConfig": (OUT, 0, 0), "aclrtDestroyStream": ("stream",),
    "aclrtDestroyStreamForce": ("stream",), "aclrtStreamAbort": ("stream",), "aclrtStreamStop": ("stream",),
    "aclrtSynchronizeStream": ("stream",), "aclrtSynchronizeStreamWithTimeout": ("stream", 5),
    "aclrtStreamQuery": ("stream", OUT), "aclrtSetStreamFailureMode": ("stream", 0),
    "aclrtStreamGetId": ("stream", OUT),
    "aclrtStreamGetPriority": ("stream", OUT), "aclrtStreamGetFlags": ("stream", OUT),
    "aclrtSetStreamOverflowSwitch": ("stream", 1), "aclrtGetStreamOverflowSwitch": ("stream", OUT),
    "aclrtSetStreamAttribute": ("stream", 1, bytes(16)), "aclrtGetStreamAttribute": ("stream", 1, OUT),
    "aclrtSubscribeReport": (91, "stream"), "aclrtUnSubscribeReport": (77, "subscribed"),
    "aclrtLaunchCallback": ("function", 0, 1, "subscribed"), "aclrtLaunchHostFunc": ("stream", "function", 0),
    "aclmdlRICaptureBegin": ("stream", 2), "aclmdlRICaptureEnd": ("captured", OUT),
    "aclmdlRICaptureGetInfo": ("captured", OUT, OUT), "aclmdlRICaptureTaskGrpBegin": ("captured",),
    "aclmdlRICaptureTaskGrpEnd": ("grouping", OUT), "aclmdlRICaptureTaskUpdateBegin": ("stream", "group"),
    "aclmdlRICaptureTaskUpdateEnd": ("updating",), "aclmdlRICaptureToModelRIBegin": ("stream", "model", 2),
    "aclmdlRIBuildBegin": (OUT, 0), "aclmdlRIBindStream": ("hand model", "persistent", 0),
    "aclmdlRIUnbindStream": ("hand model", "bound"), "aclmdlRIEndTask": ("hand model", "bound"),
    "aclmdlRIBuildEnd": ("hand model", 0), "aclmdlRIExecute": ("built model", 5),
    "aclmdlRIExecuteAsync": ("model", "stream"), "aclmdlRIAbort": ("built model",), "aclmdlRIDestroy": ("model",),
    "aclmdlRIDestroyRegisterCallback": ("model", "function", 0),
    "aclmdlRIDestroyUnregisterCallback": ("model", 0x1000), "aclmdlRISetName": ("model", b"name"),
    "aclmdlRIGetName": ("model", 64, OUT), "aclmdlRIGetId": ("model", OUT), "aclmdlRIGetStreams": ("model", OUT, 9),
    "aclmdlRIGetTasksByStream": ("inner values", OUT, 9), "aclmdlRITaskGetType": ("write", OUT),
    "aclmdlRITaskGetSeqId": ("write", OUT), "aclmdlRITaskGetParams": ("write", OUT),
    "aclmdlRITaskSetParams": ("write", params(VALUE_WRITE, 0)), "aclmdlRITaskDisable": ("write",),
    "aclmdlRIUpdate": ("model",), "aclmdlRIDebugPrint": ("model",),
    "aclmdlRIDebugJsonPrint": ("model", b"/f", 0), "aclrtActiveStream": ("bound", "bound"),
    "aclrtSwitchStream": ("memory", 0, "memory", 0, "bound", 0, "bound"), "aclrtPersistentTaskClean": ("built in",),
    "aclrtCreateLabel": (OUT,), "aclrtSetLabel": ("label", "bound"), "aclrtDestroyLabel": ("label",),
    "aclrtCreateLabelList": ("fresh label", 1, OUT), "aclrtDestroyLabelList": ("label list",),
    "aclrtSwitchLabelByIndex": ("memory", 1, "label list", "bound"), "aclrtCreateNotify": (OUT, 0),
    "aclrtDestroyNotify": ("notify",), "aclrtRecordNotify": ("notify", "stream"),
    "aclrtWaitAndResetNotify": ("notify", "stream", 0), "aclrtGetNotifyId": ("notify", OUT),
    "aclrtNotifyGetExportKey": ("notify", OUT, 65, 0), "aclrtNotifySetImportPid": ("notify", (1,), 1),
}  # fmt: skip
#: What is accepted as null, or is null in a good call.
OPTIONAL = {
    "aclmdlRICaptureGetInfo": {"status", "modelRI"}, "aclmdlRIGetStreams": {"streams", "numStreams"},
    "aclmdlRIGetTasksByStream": {"tasks", "numTasks"}, "aclrtSwitchStream": {"falseStream"},
}  # fmt: skip
#: What a call on a thread without a context answers instead of 107002: the instance is no child to capture into.
WITHOUT_CONTEXT = {"aclmdlRICaptureToModelRIBegin": 107000}


class HandleWorld(TaskWorld):
    def __init__(self) -> None:
        super().__init__("default")
        driver, names = self.driver, self.names
        names["recorded"] = driver.event(9)
        driver.ok("aclrtRecordEvent", names["recorded"], 0)
        driver.ok("aclrtSynchronizeStream", 0)
        names["notify"] = driver.ok("aclrtCreateNotify", OUT, 0)
        names["label"] = driver.ok("aclrtCreateLabel", OUT)
        names["label list"] = driver.ok("aclrtCreateLabelList", (names["label"],), 1, OUT)
        names["fresh label"] = (driver.ok("aclrtCreateLabel", OUT),)
        names["gone notify"] = driver.ok("aclrtCreateNotify", OUT, 0)
        driver.ok("aclrtDestroyNotify", names["gone notify"])

    def __call__(self, argument: Any) -> Any:
        return self.names[argument] if isinstance(argument, str) else argument

    def arguments(self, function: str) -> list[Any]:
        if function == "aclmdlRITaskSetParams":
            return [self("write"), params(VALUE_WRITE, self("memory"))]
        return [self(argument) for argument in GOOD[function]]


#: One live handle of each kind, and stale ones.
LIVE = {
    "event": "ex", "stream": "stream", "model": "model", "model task": "write", "task group": "group",
    "notify": "notify", "label": "label", "label list": "label list", "context": "explicit",
}  # fmt: skip
GONE = ("gone stream", "gone event", "gone model", "gone task", "gone notify", "nowhere", "destroyed context")


def handle_places() -> list[tuple[str, int, str]]:
    found = []
    for name in GOOD:
        for place, param in enumerate(MODEL[name].params):
            if isinstance(param.role, roles.Handle | roles.ReleasedHandle) and param.name not in OPTIONAL.get(name, ()):
                found.append((name, place, param.role.kind))
    return found


def number_of(reply: Any) -> int:
    return int(reply[0] if isinstance(reply, tuple) else reply)


@pytest.fixture(scope="module")
def world() -> HandleWorld:
    return HandleWorld()


@pytest.mark.parametrize(("function", "place", "kind"), handle_places())
def test_stale_handles_and_those_of_another_kind(world: HandleWorld, function: str, place: int, kind: str) -> None:
    wrong = [*GONE, *(name for other, name in LIVE.items() if other != kind)]
    for name in wrong:
        arguments = world.arguments(function)
        arguments[place] = world(name)
        before = state(world.driver.machine)
        assert number_of(world.driver.call(function, *arguments)) == STALE, name
        assert state(world.driver.machine) == before, name


def output_places() -> list[tuple[str, int]]:
    return [
        (name, place)
        for name in GOOD
        for place, param in enumerate(MODEL[name].params)
        if param.role.direction != roles.IN and param.name not in OPTIONAL.get(name, ())
    ]


@pytest.mark.parametrize(("function", "place"), output_places())
def test_outputs_that_are_null(world: HandleWorld, function: str, place: int) -> None:
    arguments = world.arguments(function)
    arguments[place] = None if MODEL[function].params[place].role.direction == roles.INOUT else 0
    before = state(world.driver.machine)
    assert number_of(world.driver.call(function, *arguments)) in (100000, 107000)
    assert state(world.driver.machine) == before


@pytest.mark.parametrize("function", [name for name in GOOD if MODEL[name].needs_context])
def test_threads_without_a_context(world: HandleWorld, function: str) -> None:
    arguments = world.arguments(function)
    world.driver.machine.thread(2)
    before = state(world.driver.machine)
    assert number_of(world.driver.call(function, *arguments, thread=2)) == WITHOUT_CONTEXT.get(function, 107002)
    assert state(world.driver.machine) == before


@pytest.mark.parametrize("function", GOOD)
def test_the_good_calls_are_good(function: str) -> None:
    """Else what is above would be refused for another reason."""
    world = HandleWorld()
    reply = world.driver.call(function, *world.arguments(function))
    assert isinstance(reply, Wait | Invoke) or number_of(reply) not in (100000, STALE, 107002)


def test_no_function_of_these_chapters_is_left_out() -> None:
    """Those that take memory too have tables of their own."""
    chapters = {MODEL[name].chapter for name in GOOD}
    with_handles = {
        function.name
        for function in MODEL.functions
        if function.name in Driver().handlers
        and "A2" in function.products
        and function.chapter in chapters
        and not any(isinstance(param.role, roles.Address) for param in function.params)
        and any(
            isinstance(param.role, roles.Handle | roles.ReleasedHandle) and param.role.kind in LIVE.keys() - {"context"}
            for param in function.params
        )
    }
    elsewhere = {  # test_machine_conditions_, parameter_, sharing_arguments.py
        "aclmdlRIAddCondTask", "aclmdlRICondHandleCreate",
        "aclrtIpcGetEventHandle", "aclrtNpuClearFloatOverFlowStatus", "aclrtResetFloatOverflowStatus",
        "aclrtResetOverflowStatus",
    }  # fmt: skip
    assert with_handles - elsewhere <= GOOD.keys()
