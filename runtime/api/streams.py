"""The roles of functions about streams (semantics.md 5; see ``annotations.py``)."""

from typing import Final

from cannery.runtime.api.declare import BLOCKS, CONTEXT, Annotation, call
from cannery.runtime.api.roles import Buffer, CreatedHandle, Handle, HandleOut, OutScalar, ReleasedHandle, Scalar

STREAMS: Final[tuple[Annotation, ...]] = (
    # 5. Streams; 10a for what needs a context. What makes or ends one may have functions of the program run.
    call("aclrtCreateStream", BLOCKS, CONTEXT)(
        stream=CreatedHandle("stream"),
    ),
    call("aclrtCreateStreamWithConfig", BLOCKS, CONTEXT)(
        stream=CreatedHandle("stream"),
        priority=Scalar("uint32_t"),
        flag=Scalar("uint32_t"),
    ),
    call("aclrtCreateStreamV2", BLOCKS, CONTEXT)(
        stream=CreatedHandle("stream"),
        handle=Handle("stream configuration"),
    ),
    call("aclrtCreateStreamConfigHandle")(),
    call("aclrtSetStreamConfigOpt")(
        handle=Handle("stream configuration"),
        attr=Scalar("aclrtStreamConfigAttr"),
        attrValue=Buffer("valueSize"),
        valueSize=Scalar("size_t"),
    ),
    call("aclrtDestroyStreamConfigHandle")(
        handle=ReleasedHandle("stream configuration"),
    ),
    call("aclrtDestroyStream", BLOCKS, CONTEXT)(
        stream=ReleasedHandle("stream"),
    ),
    call("aclrtDestroyStreamForce", BLOCKS, CONTEXT)(
        stream=ReleasedHandle("stream"),
    ),
    call("aclrtStreamAbort", CONTEXT)(
        stream=Handle("stream"),
    ),
    call("aclrtStreamStop", CONTEXT)(
        stream=Handle("stream"),
    ),
    call("aclrtSynchronizeStream", BLOCKS, CONTEXT)(
        stream=Handle("stream"),
    ),
    call("aclrtSynchronizeStreamWithTimeout", BLOCKS, CONTEXT)(
        stream=Handle("stream"),
        timeout=Scalar("int32_t"),
    ),
    call("aclrtStreamQuery", CONTEXT)(
        stream=Handle("stream"),
        status=OutScalar("aclrtStreamStatus"),
    ),
    call("aclrtStreamGetPriority", CONTEXT)(
        stream=Handle("stream"),
        priority=OutScalar("uint32_t"),
    ),
    call("aclrtStreamGetFlags", CONTEXT)(
        stream=Handle("stream"),
        flags=OutScalar("uint32_t"),
    ),
    call("aclrtStreamGetId")(
        stream=Handle("stream"),
        streamId=OutScalar("int32_t"),
    ),
    call("aclrtCtxGetCurrentDefaultStream", CONTEXT)(
        stream=HandleOut("stream"),
    ),
    call("aclrtGetStreamAvailableNum", CONTEXT)(
        streamCount=OutScalar("uint32_t"),
    ),
    call("aclrtDeviceGetStreamPriorityRange")(
        leastPriority=OutScalar("int32_t"),
        greatestPriority=OutScalar("int32_t"),
    ),
    call("aclrtSetStreamFailureMode", CONTEXT)(
        stream=Handle("stream"),
        mode=Scalar("uint64_t"),
    ),
    call("aclrtSetStreamOverflowSwitch", CONTEXT)(
        stream=Handle("stream"),
        flag=Scalar("uint32_t"),
    ),
    call("aclrtGetStreamOverflowSwitch", CONTEXT)(
        stream=Handle("stream"),
        flag=OutScalar("uint32_t"),
    ),
    call("aclrtSetStreamAttribute")(
        stream=Handle("stream"),
        stmAttrType=Scalar("aclrtStreamAttr"),
        value=Buffer("16"),
    ),
    call("aclrtGetStreamAttribute")(
        stream=Handle("stream"),
        stmAttrType=Scalar("aclrtStreamAttr"),
        value=Buffer("16", "out"),
    ),
)
