"""The API model of memory that is shared with other processes: see ``annotations.py``. Keys, and ids of processes,
differ in every run: only which one it is means something."""

from typing import Final

from cannery.runtime.api.declare import CONTEXT, Annotation, call
from cannery.runtime.api.roles import (
    OUT,
    Address,
    AddressOut,
    Array,
    Buffer,
    CreatedHandle,
    CString,
    Handle,
    Identity,
    OutScalar,
    Scalar,
    StructByValue,
)

_FLAGS: Final = Scalar("uint64_t")
_SHARE_TYPE: Final = Scalar("aclrtMemSharedHandleType")
_SHAREABLE_SIZE: Final = "8*shareType=1 + 128*shareType=2"  # a number, or an aclrtMemFabricHandle
_KEY: Final = Identity(CString(), "key")
_NUMBER: Final = Identity(Scalar("uint64_t"), "key")
_BYTES: Final = Identity(Buffer(_SHAREABLE_SIZE), "key")

SHARED_MEMORY: Final[tuple[Annotation, ...]] = (
    call("aclrtIpcMemGetExportKey", CONTEXT)(
        devPtr=Address("device", "size"),
        size=Scalar("size_t"),
        key=Identity(Buffer("len", OUT), "key"),
        len=Scalar("size_t"),
        flags=_FLAGS,
    ),
    call("aclrtIpcMemSetImportPid", CONTEXT)(
        key=_KEY, pid=Array(Identity(Scalar("int32_t"), "process"), "num"), num=Scalar("size_t")
    ),
    call("aclrtIpcMemImportPidInterServer", CONTEXT)(
        key=_KEY,
        serverPids=Array(StructByValue("aclrtServerPid", 24, {"pid": "num"}), "num"),
        num=Scalar("size_t"),
    ),
    call("aclrtIpcMemImportByKey", CONTEXT)(devPtr=AddressOut("device"), key=_KEY, flags=_FLAGS),
    call("aclrtIpcMemSetAttr", CONTEXT)(key=_KEY, type=Scalar("aclrtIpcMemAttrType"), attr=_FLAGS),
    call("aclrtIpcMemClose", CONTEXT)(key=_KEY),
    # Physical memory.
    call("aclrtMemExportToShareableHandle")(
        handle=Handle("physical memory"),
        handleType=Scalar("aclrtMemHandleType"),
        flags=_FLAGS,
        shareableHandle=Identity(OutScalar("uint64_t"), "key"),
    ),
    call("aclrtMemExportToShareableHandleV2")(
        handle=Handle("physical memory"),
        flags=_FLAGS,
        shareType=_SHARE_TYPE,
        shareableHandle=Identity(Buffer(_SHAREABLE_SIZE, OUT), "key"),
    ),
    call("aclrtMemImportFromShareableHandle", CONTEXT)(
        shareableHandle=_NUMBER, deviceId=Scalar("int32_t"), handle=CreatedHandle("physical memory")
    ),
    call("aclrtMemImportFromShareableHandleV2", CONTEXT)(
        shareableHandle=_BYTES, shareType=_SHARE_TYPE, flags=_FLAGS, handle=CreatedHandle("physical memory")
    ),
    call("aclrtMemSetPidToShareableHandle")(
        shareableHandle=_NUMBER, pid=Array(Identity(Scalar("int32_t"), "process"), "pidNum"), pidNum=Scalar("size_t")
    ),
    call("aclrtMemSetPidToShareableHandleV2")(
        shareableHandle=_BYTES,
        shareType=_SHARE_TYPE,
        pid=Array(Identity(Scalar("int32_t"), "process"), "pidNum"),
        pidNum=Scalar("size_t"),
    ),
)
