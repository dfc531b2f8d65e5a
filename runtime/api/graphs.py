"""The roles of functions about model instances and captures (semantics.md 7; see ``annotations.py``)."""

from typing import Final

from cannery.runtime.api.declare import BLOCKS, CONTEXT, call
from cannery.runtime.api.roles import (
    OUT,
    Address,
    AddressOut,
    Array,
    Buffer,
    CreatedHandle,
    CString,
    FunctionPointer,
    Handle,
    HandleOut,
    InOutScalar,
    OutScalar,
    ReleasedHandle,
    Scalar,
    StructByValue,
    UserData,
)

_TASK: Final = Handle("model task")

GRAPHS: Final = (
    call("aclmdlRICaptureBegin", CONTEXT)(
        stream=Handle("stream"),
        mode=Scalar("aclmdlRICaptureMode"),
    ),
    call("aclmdlRICaptureToModelRIBegin", CONTEXT)(
        stream=Handle("stream"),
        modelRI=Handle("model"),
        mode=Scalar("aclmdlRICaptureMode"),
    ),
    call("aclmdlRICaptureEnd", CONTEXT)(
        stream=Handle("stream"),
        modelRI=HandleOut("model"),
    ),
    call("aclmdlRICaptureGetInfo")(
        stream=Handle("stream"),
        status=OutScalar("aclmdlRICaptureStatus"),
        modelRI=HandleOut("model"),
    ),
    call("aclmdlRICaptureThreadExchangeMode", CONTEXT)(
        mode=InOutScalar("aclmdlRICaptureMode"),
    ),
    call("aclmdlRICaptureTaskGrpBegin", CONTEXT)(
        stream=Handle("stream"),
    ),
    call("aclmdlRICaptureTaskGrpEnd", CONTEXT)(
        stream=Handle("stream"),
        handle=CreatedHandle("task group"),
    ),
    call("aclmdlRICaptureTaskUpdateBegin", CONTEXT)(
        stream=Handle("stream"),
        handle=Handle("task group"),
    ),
    call("aclmdlRICaptureTaskUpdateEnd", CONTEXT)(
        stream=Handle("stream"),
    ),
    call("aclmdlRIBuildBegin", CONTEXT)(
        modelRI=CreatedHandle("model"),
        flag=Scalar("uint32_t"),
    ),
    call("aclmdlRIBindStream", CONTEXT)(
        modelRI=Handle("model"),
        stream=Handle("stream"),
        flag=Scalar("uint32_t"),
    ),
    call("aclmdlRIUnbindStream", CONTEXT)(
        modelRI=Handle("model"),
        stream=Handle("stream"),
    ),
    call("aclmdlRIEndTask", CONTEXT)(
        modelRI=Handle("model"),
        stream=Handle("stream"),
    ),
    call("aclmdlRIBuildEnd", CONTEXT)(
        modelRI=Handle("model"),
        reserve=UserData(),
    ),
    # Executing waits while the stream is full, or for the end; destroying waits for runs.
    call("aclmdlRIExecute", BLOCKS, CONTEXT)(
        modelRI=Handle("model"),
        timeout=Scalar("int32_t"),
    ),
    call("aclmdlRIExecuteAsync", BLOCKS, CONTEXT)(
        modelRI=Handle("model"),
        stream=Handle("stream"),
    ),
    call("aclmdlRIAbort", CONTEXT)(
        modelRI=Handle("model"),
    ),
    call("aclmdlRIDestroy", BLOCKS, CONTEXT)(
        modelRI=ReleasedHandle("model"),
    ),
    call("aclmdlRIDestroyRegisterCallback")(
        modelRI=Handle("model"),
        func=FunctionPointer(),
        userData=UserData(),
    ),
    call("aclmdlRIDestroyUnregisterCallback")(
        modelRI=Handle("model"),
        func=FunctionPointer(),
    ),
    call("aclmdlRISetName", CONTEXT)(
        modelRI=Handle("model"),
        name=CString(),
    ),
    call("aclmdlRIGetName", CONTEXT)(
        modelRI=Handle("model"),
        maxLen=Scalar("uint32_t"),
        name=Buffer("maxLen", OUT),
    ),
    call("aclmdlRIGetId")(
        modelRI=Handle("model"),
        modelRIId=OutScalar("uint32_t"),
    ),
    call("aclmdlRIGetStreams", CONTEXT)(
        modelRI=Handle("model"),
        streams=Array(Handle("stream"), "numStreams", OUT),
        numStreams=InOutScalar("uint32_t"),
    ),
    call("aclmdlRIGetTasksByStream")(
        stream=Handle("stream"),
        tasks=Array(_TASK, "numTasks", OUT),
        numTasks=InOutScalar("uint32_t"),
    ),
    call("aclmdlRITaskGetType")(
        task=_TASK,
        type=OutScalar("aclmdlRITaskType"),
    ),
    call("aclmdlRITaskGetSeqId")(
        task=_TASK,
        id=OutScalar("uint32_t"),
    ),
    call("aclmdlRITaskGetParams")(
        task=_TASK,
        params=Buffer("200", OUT),
    ),
    call("aclmdlRITaskSetParams")(
        task=_TASK,
        params=Buffer("200"),
    ),
    call("aclmdlRITaskDisable")(
        task=_TASK,
    ),
    call("aclmdlRIUpdate")(
        modelRI=Handle("model"),
    ),
    # Conditional tasks of captures.
    call("aclmdlRICondHandleCreate", CONTEXT)(
        modelRI=Handle("model"),
        defaultLaunchValue=Scalar("uint32_t"),
        flag=Scalar("aclmdlRICondHandleFlag"),
        handle=CreatedHandle("condition"),
    ),
    call("aclmdlRICondHandleGetCondPtr", CONTEXT)(
        handle=Handle("condition"),
        ptr=AddressOut("device", "8"),
    ),
    call("aclmdlRIAddCondTask", CONTEXT)(
        params=StructByValue(
            "aclmdlRICondTaskParams", 24, handles=("handle",), gives=("modelRIArray", "size", "model")
        ),
        stream=Handle("stream"),
        flags=Scalar("uint32_t"),
    ),
    # What decides in a run of an instance built by hand what comes next.
    call("aclrtActiveStream", CONTEXT)(
        activeStream=Handle("stream"),
        stream=Handle("stream"),
    ),
    call("aclrtSwitchStream", CONTEXT)(
        leftValue=Address("device", access="read"),
        cond=Scalar("aclrtCondition"),
        rightValue=Address("device", access="read"),
        dataType=Scalar("aclrtCompareDataType"),
        trueStream=Handle("stream"),
        falseStream=Handle("stream"),
        stream=Handle("stream"),
    ),
    call("aclrtCreateLabel", CONTEXT)(
        label=CreatedHandle("label"),
    ),
    call("aclrtSetLabel", CONTEXT)(
        label=Handle("label"),
        stream=Handle("stream"),
    ),
    call("aclrtDestroyLabel", CONTEXT)(
        label=ReleasedHandle("label"),
    ),
    call("aclrtCreateLabelList", CONTEXT)(
        labels=Array(Handle("label"), "num"),
        num=Scalar("size_t"),
        labelList=CreatedHandle("label list"),
    ),
    call("aclrtDestroyLabelList")(
        labelList=ReleasedHandle("label list"),
    ),
    call("aclrtSwitchLabelByIndex", CONTEXT)(
        ptr=Address("device", access="read"),
        maxValue=Scalar("uint32_t"),
        labelList=Handle("label list"),
        stream=Handle("stream"),
    ),
    call("aclrtPersistentTaskClean", CONTEXT)(
        stream=Handle("stream"),
    ),
    call("aclmdlRIDebugJsonPrint", CONTEXT)(
        modelRI=Handle("model"),
        path=CString(),
        flags=Scalar("uint32_t"),
    ),
    call("aclmdlRIDebugPrint", CONTEXT)(
        modelRI=Handle("model"),
    ),
)
