"""Functions of the program: in streams (semantics.md 6), and as exception callbacks."""

from typing import Final

from cannery.runtime.api.declare import BLOCKS, CONTEXT, call
from cannery.runtime.api.roles import (
    AddressOut,
    CString,
    FunctionPointer,
    Handle,
    HandleOut,
    OutScalar,
    Scalar,
    ThreadId,
    UserData,
)

CALLBACKS: Final = (
    # A launch waits while its stream is full, the end of a subscription for blocking functions. Without a context only
    # aclrtUnSubscribeReport takes an explicit stream.
    call("aclrtSubscribeReport", CONTEXT)(
        threadId=ThreadId(),
        stream=Handle("stream"),
    ),
    call("aclrtUnSubscribeReport", BLOCKS)(
        threadId=ThreadId(),
        stream=Handle("stream"),
    ),
    call("aclrtLaunchCallback", BLOCKS, CONTEXT)(
        fn=FunctionPointer(),
        userData=UserData(),
        blockType=Scalar("aclrtCallbackBlockType"),
        stream=Handle("stream"),
    ),
    call("aclrtProcessReport", BLOCKS)(
        timeout=Scalar("int32_t"),
    ),
    call("aclrtLaunchHostFunc", BLOCKS, CONTEXT)(
        stream=Handle("stream"),
        fn=FunctionPointer(),
        args=UserData(),
    ),
    call("aclrtSubscribeHostFunc")(
        hostFuncThreadId=ThreadId(),
        exeStream=Handle("stream"),
    ),
    call("aclrtUnSubscribeHostFunc")(
        hostFuncThreadId=ThreadId(),
        exeStream=Handle("stream"),
    ),
    call("aclrtProcessHostFunc", BLOCKS)(
        timeout=Scalar("int32_t"),
    ),
    # What they register is run on the thread whose call it is.
    *(
        call(name)(
            regName=CString(),
            callback=FunctionPointer(),
            args=UserData(),
        )
        for name in (
            "aclrtRegStreamStateCallback",
            "aclrtRegDeviceStateCallback",
            "aclrtSetDeviceTaskAbortCallback",
        )
    ),
    call("aclrtDeviceTaskAbort", BLOCKS)(
        deviceId=Scalar("int32_t"),
        timeout=Scalar("uint32_t"),
    ),
    # What exception callbacks are given is an object of ours.
    call("aclrtSetExceptionInfoCallback")(
        callback=FunctionPointer(),
    ),
    call("aclrtExceptionInfoCallbackRegister")(
        callback=FunctionPointer(),
    ),
    call("aclrtExceptionInfoCallbackUnregister")(
        callback=FunctionPointer(),
    ),
    call("aclrtGetTaskIdFromExceptionInfo")(
        info=Handle("exception"),
    ),
    call("aclrtGetStreamIdFromExceptionInfo")(
        info=Handle("exception"),
    ),
    call("aclrtGetThreadIdFromExceptionInfo", identity="thread")(
        info=Handle("exception"),
    ),
    call("aclrtGetDeviceIdFromExceptionInfo")(
        info=Handle("exception"),
    ),
    call("aclrtGetErrorCodeFromExceptionInfo")(
        info=Handle("exception"),
    ),
    call("aclrtGetArgsFromExceptionInfo")(
        info=Handle("exception"),
        devArgsPtr=AddressOut("device"),
        devArgsLen=OutScalar("uint32_t"),
    ),
    call("aclrtGetFuncHandleFromExceptionInfo")(
        info=Handle("exception"),
        func=HandleOut("kernel"),
    ),
)
