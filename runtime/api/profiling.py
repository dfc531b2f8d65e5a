"""The roles of functions about profiling: see ``annotations.py``. Rules come from the reference pages of the
functions."""

from typing import Final

from cannery.runtime.api.declare import BLOCKS, CONTEXT, Annotation, call
from cannery.runtime.api.roles import Address, Array, Buffer, CString, Handle, OutScalar, ReleasedHandle, Scalar

_STREAM: Final = Handle("stream")
_STAMP: Final = Handle("stamp")
_CONFIGURATION: Final = Handle("profiling configuration")

PROFILING: Final[tuple[Annotation, ...]] = (
    call("aclprofInit")(profilerResultPath=CString(), length=Scalar("size_t")),
    call("aclprofFinalize")(),
    call("aclprofCreateConfig")(
        deviceIdList=Array(Scalar("uint32_t"), "deviceNums"),
        deviceNums=Scalar("uint32_t"),
        aicoreMetrics=Scalar("aclprofAicoreMetrics"),
        aicoreEvents=Address("any"),
        dataTypeConfig=Scalar("uint64_t"),
    ),
    call("aclprofDestroyConfig")(profilerConfig=ReleasedHandle("profiling configuration")),
    call("aclprofStart")(profilerConfig=_CONFIGURATION),
    call("aclprofStop")(profilerConfig=_CONFIGURATION),
    call("aclprofSetConfig")(configType=Scalar("aclprofConfigType"), config=CString(), configLength=Scalar("size_t")),
    # Marks in streams.
    call("aclprofMarkEx", BLOCKS, CONTEXT)(msg=CString(), msgLen=Scalar("size_t"), stream=_STREAM),
    call("aclprofCreateStepInfo")(),
    call("aclprofDestroyStepInfo")(stepinfo=ReleasedHandle("step")),
    call("aclprofGetStepTimestamp", BLOCKS, CONTEXT)(
        stepInfo=Handle("step"), tag=Scalar("aclprofStepTag"), stream=_STREAM
    ),
    # Marks beside streams.
    call("aclprofCreateStamp")(),
    call("aclprofDestroyStamp")(stamp=ReleasedHandle("stamp")),
    call("aclprofSetStampTraceMessage")(stamp=_STAMP, msg=Buffer("msgLen"), msgLen=Scalar("uint32_t")),
    call("aclprofMark")(stamp=_STAMP),
    call("aclprofPush")(stamp=_STAMP),
    call("aclprofPop")(),
    call("aclprofRangeStart")(stamp=_STAMP, rangeId=OutScalar("uint32_t")),
    call("aclprofRangeStop")(rangeId=Scalar("uint32_t")),
    call("aclprofStr2Id")(message=CString()),
)
