"""The roles of functions about kernels: see ``annotations.py``.

Sources: reference documentation, chapter 14, and the public implementation for the order of checks.
"""

from typing import Final

from cannery.runtime.api.declare import BLOCKS, CONTEXT, Annotation, call
from cannery.runtime.api.roles import (
    IN,
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
    OutScalar,
    ReleasedHandle,
    Role,
    Scalar,
    Struct,
    StructByValue,
    UserData,
)

_SIZE: Final = Scalar("size_t")
_BLOCKS: Final = Scalar("uint32_t")
_BINARY: Final = Handle("kernel binary")
_FUNCTION: Final = Handle("kernel")
_ARGUMENTS: Final = Handle("kernel arguments")
_PARAMETER: Final = Handle("kernel parameter")
_OPTIONS: Final = Struct("aclrtBinaryLoadOptions", IN, {"options": "numOpt"})
_CONFIGURATION: Final = Struct("aclrtLaunchKernelCfg", IN, {"attrs": "numAttrs"})
_IN_DEVICE_MEMORY: Final[dict[str, Role]] = {
    "argsData": Address("device", "argsSize", "read"),
    "argsSize": _SIZE,
}

KERNELS: Final[tuple[Annotation, ...]] = (
    # Binaries. What aclrtCreateBinary describes is read when it is loaded.
    call("aclrtCreateBinary")(data=Address("host", "dataLen"), dataLen=_SIZE),
    call("aclrtDestroyBinary")(binary=ReleasedHandle("binary description")),
    call("aclrtBinaryLoad", CONTEXT)(binary=Handle("binary description"), binHandle=CreatedHandle("kernel binary")),
    call("aclrtBinaryLoadFromFile")(
        binPath=CString(),
        options=_OPTIONS,
        binHandle=CreatedHandle("kernel binary"),
    ),
    call("aclrtBinaryLoadFromData")(
        data=Address("host", "length", "read"),
        length=_SIZE,
        options=_OPTIONS,
        binHandle=CreatedHandle("kernel binary"),
    ),
    call("aclrtBinaryUnLoad")(binHandle=ReleasedHandle("kernel binary")),
    call("aclrtBinaryGetDevAddress", CONTEXT)(
        binHandle=_BINARY,
        binAddr=AddressOut("device"),
        binSize=OutScalar("size_t"),
    ),
    call("aclrtBinarySetExceptionCallback")(
        binHandle=_BINARY,
        callback=FunctionPointer(),
        userData=UserData(),
    ),
    # Functions of a binary: asked for twice, it is the same one.
    call("aclrtBinaryGetFunction", CONTEXT)(
        binHandle=_BINARY,
        kernelName=CString(),
        funcHandle=HandleOut("kernel"),
    ),
    call("aclrtBinaryGetFunctionByEntry", CONTEXT)(
        binHandle=_BINARY,
        funcEntry=Scalar("uint64_t"),
        funcHandle=HandleOut("kernel"),
    ),
    call("aclrtRegisterCpuFunc", CONTEXT)(
        handle=_BINARY,
        funcName=CString(),
        kernelName=CString(),
        funcHandle=HandleOut("kernel"),
    ),
    call("aclrtFunctionGetBinary")(funcHandle=_FUNCTION, binHandle=HandleOut("kernel binary")),
    call("aclrtGetFunctionAddr", CONTEXT)(
        funcHandle=_FUNCTION,
        aicAddr=AddressOut("device"),
        aivAddr=AddressOut("device"),
    ),
    call("aclrtGetFunctionSize")(
        funcHandle=_FUNCTION,
        aicSize=OutScalar("size_t"),
        aivSize=OutScalar("size_t"),
    ),
    call("aclrtGetFunctionName")(
        funcHandle=_FUNCTION,
        maxLen=Scalar("uint32_t"),
        name=Buffer("maxLen", OUT),
    ),
    call("aclrtGetFunctionAttribute")(
        funcHandle=_FUNCTION,
        attrType=Scalar("aclrtFuncAttribute"),
        attrValue=OutScalar("int64_t"),
    ),
    # Arguments. A list in memory of the program has the address of that memory for a handle.
    call("aclrtKernelArgsGetHandleMemSize")(funcHandle=_FUNCTION, memSize=OutScalar("size_t")),
    call("aclrtKernelArgsGetMemSize")(
        funcHandle=_FUNCTION,
        userArgsSize=_SIZE,
        actualArgsSize=OutScalar("size_t"),
    ),
    call("aclrtKernelArgsInit")(funcHandle=_FUNCTION, argsHandle=CreatedHandle("kernel arguments")),
    call("aclrtKernelArgsInitByUserMem")(
        funcHandle=_FUNCTION,
        argsHandle=_ARGUMENTS,
        userHostMem=Address("host", "actualArgsSize", "readwrite"),
        actualArgsSize=_SIZE,
    ),
    call("aclrtKernelArgsAppend")(
        argsHandle=_ARGUMENTS,
        param=Buffer("paramSize"),
        paramSize=_SIZE,
        paramHandle=CreatedHandle("kernel parameter"),
    ),
    call("aclrtKernelArgsAppendPlaceHolder")(
        argsHandle=_ARGUMENTS,
        paramHandle=CreatedHandle("kernel parameter"),
    ),
    call("aclrtKernelArgsGetPlaceHolderBuffer")(
        argsHandle=_ARGUMENTS,
        paramHandle=_PARAMETER,
        dataSize=_SIZE,
        bufferAddr=AddressOut("host", "dataSize"),
    ),
    call("aclrtKernelArgsParaUpdate")(
        argsHandle=_ARGUMENTS,
        paramHandle=_PARAMETER,
        param=Buffer("paramSize"),
        paramSize=_SIZE,
    ),
    call("aclrtKernelArgsFinalize", CONTEXT)(argsHandle=_ARGUMENTS),
    # Launches wait while their stream is full.
    call("aclrtLaunchKernel", BLOCKS, CONTEXT)(
        funcHandle=_FUNCTION,
        numBlocks=_BLOCKS,
        **_IN_DEVICE_MEMORY,
        stream=Handle("stream"),
    ),
    call("aclrtLaunchKernelV2", BLOCKS, CONTEXT)(
        funcHandle=_FUNCTION,
        numBlocks=_BLOCKS,
        **_IN_DEVICE_MEMORY,
        cfg=_CONFIGURATION,
        stream=Handle("stream"),
    ),
    call("aclrtLaunchKernelWithConfig", BLOCKS, CONTEXT)(
        funcHandle=_FUNCTION,
        numBlocks=_BLOCKS,
        stream=Handle("stream"),
        cfg=_CONFIGURATION,
        argsHandle=_ARGUMENTS,
        reserve=Address("any"),
    ),
    call("aclrtLaunchKernelWithHostArgs", BLOCKS, CONTEXT)(
        funcHandle=_FUNCTION,
        numBlocks=_BLOCKS,
        stream=Handle("stream"),
        cfg=_CONFIGURATION,
        hostArgs=Buffer("argsSize"),
        argsSize=_SIZE,
        placeHolderArray=Array(StructByValue("aclrtPlaceHolderInfo", 8), "placeHolderNum"),
        placeHolderNum=_SIZE,
    ),
)
