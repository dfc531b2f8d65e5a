"""The roles of functions about small objects of the program, and about what stands beside streams and memory: see
``annotations.py``. Rules come from the reference pages of the functions."""

from typing import Final

from cannery.runtime.api.declare import BLOCKS, CONTEXT, Annotation, call
from cannery.runtime.api.roles import (
    Address,
    Array,
    Buffer,
    CString,
    FunctionOut,
    FunctionPointer,
    Handle,
    HandleOut,
    Keepsake,
    KeepsakeOut,
    OutScalar,
    ReleasedHandle,
    Scalar,
    Struct,
    StructByValue,
)

_STREAM: Final = Handle("stream")
_DESCRIPTION: Final = Handle("allocator description")
_DATA_BUFFER: Final = Handle("data buffer")
_FAULTS: Final = StructByValue("aclrtMemUceInfo", 128)

SMALL_OBJECTS: Final[tuple[Annotation, ...]] = (
    # Allocators of the program.
    call("aclrtAllocatorCreateDesc")(),
    call("aclrtAllocatorDestroyDesc")(allocatorDesc=ReleasedHandle("allocator description")),
    call("aclrtAllocatorSetObjToDesc")(allocatorDesc=_DESCRIPTION, allocator=Keepsake()),
    call("aclrtAllocatorSetAllocFuncToDesc")(allocatorDesc=_DESCRIPTION, func=FunctionPointer()),
    call("aclrtAllocatorSetFreeFuncToDesc")(allocatorDesc=_DESCRIPTION, func=FunctionPointer()),
    call("aclrtAllocatorSetAllocAdviseFuncToDesc")(allocatorDesc=_DESCRIPTION, func=FunctionPointer()),
    call("aclrtAllocatorSetGetAddrFromBlockFuncToDesc")(allocatorDesc=_DESCRIPTION, func=FunctionPointer()),
    call("aclrtAllocatorRegister")(stream=_STREAM, allocatorDesc=_DESCRIPTION),
    call("aclrtAllocatorUnregister")(stream=_STREAM),
    call("aclrtAllocatorGetByStream")(
        stream=_STREAM,
        allocatorDesc=HandleOut("allocator description"),
        allocator=KeepsakeOut(),
        allocFunc=FunctionOut(),
        freeFunc=FunctionOut(),
        allocAdviseFunc=FunctionOut(),
        getAddrFromBlockFunc=FunctionOut(),
    ),
    # Data buffers and data types.
    call("aclCreateDataBuffer")(data=Address("any", "size"), size=Scalar("size_t")),
    call("aclDestroyDataBuffer")(dataBuffer=ReleasedHandle("data buffer")),
    call("aclUpdateDataBuffer")(dataBuffer=_DATA_BUFFER, data=Address("any", "size"), size=Scalar("size_t")),
    call("aclGetDataBufferAddr")(dataBuffer=_DATA_BUFFER),
    call("aclGetDataBufferSize")(dataBuffer=_DATA_BUFFER),
    call("aclGetDataBufferSizeV2")(dataBuffer=_DATA_BUFFER),
    call("aclDataTypeSize")(dataType=Scalar("aclDataType")),
    call("aclFloat16ToFloat")(value=Scalar("aclFloat16")),
    call("aclFloatToFloat16")(value=Scalar("float")),
    # Faults of devices, architectures.
    call("aclrtGetMemUceInfo")(
        deviceId=Scalar("int32_t"),
        memUceInfoArray=Array(_FAULTS, "arraySize", "out"),
        arraySize=Scalar("size_t"),
        retSize=OutScalar("size_t"),
    ),
    call("aclrtMemUceRepair")(
        deviceId=Scalar("int32_t"), memUceInfoArray=Array(_FAULTS, "arraySize"), arraySize=Scalar("size_t")
    ),
    call("aclrtGetErrorVerbose")(deviceId=Scalar("int32_t"), errorInfo=Struct("aclrtErrorInfo", "out")),
    call("aclrtRepairError")(deviceId=Scalar("int32_t"), errorInfo=Struct("aclrtErrorInfo")),
    call("aclrtCheckArchCompatibility")(socVersion=CString(), canCompatible=OutScalar("int32_t")),
    call("aclrtMemP2PMap")(
        devPtr=Address("device", "size"), size=Scalar("size_t"), dstDevId=Scalar("int32_t"), flags=Scalar("uint64_t")
    ),
    # In stream order. What the random number task is asked for stands in memory, with addresses.
    call("aclrtRandomNumAsync", BLOCKS, CONTEXT)(
        taskInfo=Address("host", "104", "read"), stream=_STREAM, reserve=Address("any")
    ),
    call("aclrtTaskUpdateAsync", BLOCKS, CONTEXT)(
        taskStream=_STREAM, taskId=Scalar("uint32_t"), info=Buffer("48"), execStream=_STREAM
    ),
    call("aclrtProfTrace", BLOCKS, CONTEXT)(userdata=Buffer("length"), length=Scalar("int32_t"), stream=_STREAM),
    # The task that the thread submitted last.
    call("aclrtGetThreadLastTaskId")(taskId=OutScalar("uint32_t")),
    call("aclrtCacheLastTaskOpInfo", CONTEXT)(infoPtr=Buffer("infoSize"), infoSize=Scalar("size_t")),
    call("aclrtCacheLastTaskExtendInfo", CONTEXT)(extendInfoPtr=Buffer("infoSize"), infoSize=Scalar("size_t")),
)
