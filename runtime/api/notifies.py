"""The roles of functions about notifies (semantics.md 2; see ``annotations.py``)."""

from typing import Final

from cannery.runtime.api.declare import BLOCKS, CONTEXT, Annotation, call
from cannery.runtime.api.roles import (
    OUT,
    Array,
    Buffer,
    CreatedHandle,
    CString,
    Handle,
    OutScalar,
    ReleasedHandle,
    Scalar,
    Struct,
    StructByValue,
)

# A record or wait waits while its stream is full.
NOTIFIES: Final[tuple[Annotation, ...]] = (
    call("aclrtCreateNotify", CONTEXT)(
        notify=CreatedHandle("notify"),
        flag=Scalar("uint64_t"),
    ),
    call("aclrtDestroyNotify", CONTEXT)(
        notify=ReleasedHandle("notify"),
    ),
    call("aclrtRecordNotify", BLOCKS, CONTEXT)(
        notify=Handle("notify"),
        stream=Handle("stream"),
    ),
    call("aclrtWaitAndResetNotify", BLOCKS, CONTEXT)(
        notify=Handle("notify"),
        stream=Handle("stream"),
        timeout=Scalar("uint32_t"),
    ),
    call("aclrtGetNotifyId", CONTEXT)(
        notify=Handle("notify"),
        notifyId=OutScalar("uint32_t"),
    ),
    call("aclrtNotifyBatchReset", CONTEXT)(
        notifies=Array(Handle("notify"), "num"),
        num=Scalar("size_t"),
    ),
    call("aclrtNotifyGetExportKey")(
        notify=Handle("notify"),
        key=Buffer("len", OUT),
        len=Scalar("size_t"),
        flags=Scalar("uint64_t"),
    ),
    call("aclrtNotifySetImportPid")(
        notify=Handle("notify"),
        pid=Array(Scalar("int32_t"), "num"),
        num=Scalar("size_t"),
    ),
    call("aclrtNotifySetImportPidInterServer")(
        notify=Handle("notify"),
        serverPids=Array(StructByValue("aclrtServerPid", 24, {"pid": "num"}), "num"),
        num=Scalar("size_t"),
    ),
    call("aclrtNotifyImportByKey", CONTEXT)(
        notify=CreatedHandle("notify"),
        key=CString(),
        flags=Scalar("uint64_t"),
    ),
    call("aclrtCntNotifyCreate", CONTEXT)(
        cntNotify=CreatedHandle("counting notify"),
        flag=Scalar("uint64_t"),
    ),
    call("aclrtCntNotifyDestroy")(
        cntNotify=ReleasedHandle("counting notify"),
    ),
    call("aclrtCntNotifyRecord", BLOCKS, CONTEXT)(
        cntNotify=Handle("counting notify"),
        stream=Handle("stream"),
        info=Struct("aclrtCntNotifyRecordInfo"),
    ),
    call("aclrtCntNotifyReset", BLOCKS, CONTEXT)(
        cntNotify=Handle("counting notify"),
        stream=Handle("stream"),
    ),
    call("aclrtCntNotifyWaitWithTimeout", BLOCKS, CONTEXT)(
        cntNotify=Handle("counting notify"),
        stream=Handle("stream"),
        info=Struct("aclrtCntNotifyWaitInfo"),
    ),
    call("aclrtCntNotifyGetId")(
        cntNotify=Handle("counting notify"),
        notifyId=OutScalar("uint32_t"),
    ),
)
