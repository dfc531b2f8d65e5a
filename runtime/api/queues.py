"""The roles of functions about queues, channels, datasets and shared buffers: see ``annotations.py``. Rules come from
the reference pages of the functions."""

from typing import Final

from cannery.runtime.api.declare import BLOCKS, CONTEXT, Annotation, call
from cannery.runtime.api.roles import (
    Address,
    AddressOut,
    Array,
    Buffer,
    CreatedHandle,
    CString,
    Handle,
    HandleOut,
    OutScalar,
    ReleasedHandle,
    Scalar,
)

_SIZE: Final = Scalar("size_t")
_NUMBER: Final = Scalar("uint32_t")
_ATTRIBUTES: Final = Handle("queue attributes")
_ROUTE: Final = Handle("queue route")
_ROUTES: Final = Handle("queue routes")
_QUERY: Final = Handle("queue route query")
_ITEM: Final = Handle("data item")
_DATASET: Final = Handle("dataset")
_CHANNEL: Final = Handle("channel")
_BUFFER: Final = Handle("shared buffer")

QUEUES: Final[tuple[Annotation, ...]] = (
    # Queues. What puts data in waits for room, what takes it out waits for data.
    call("acltdtCreateQueueAttr")(),
    call("acltdtDestroyQueueAttr")(attr=ReleasedHandle("queue attributes")),
    call("acltdtSetQueueAttr")(attr=_ATTRIBUTES, type=Scalar("acltdtQueueAttrType"), len=_SIZE, param=Buffer("len")),
    call("acltdtGetQueueAttr")(
        attr=_ATTRIBUTES,
        type=Scalar("acltdtQueueAttrType"),
        len=_SIZE,
        paramRetSize=OutScalar("size_t"),
        param=Buffer("len", "out"),
    ),
    call("acltdtCreateQueue", CONTEXT)(attr=_ATTRIBUTES, qid=OutScalar("uint32_t")),
    call("acltdtDestroyQueue", CONTEXT)(qid=_NUMBER),
    call("acltdtEnqueueData", BLOCKS, CONTEXT)(
        qid=_NUMBER,
        data=Address("any", "dataSize", "read"),
        dataSize=_SIZE,
        userData=Buffer("userDataSize"),
        userDataSize=_SIZE,
        timeout=Scalar("int32_t"),
        rsv=_NUMBER,
    ),
    call("acltdtDequeueData", BLOCKS, CONTEXT)(
        qid=_NUMBER,
        data=Address("any", "dataSize", "write"),
        dataSize=_SIZE,
        retDataSize=OutScalar("size_t"),
        userData=Buffer("userDataSize", "out"),
        userDataSize=_SIZE,
        timeout=Scalar("int32_t"),
    ),
    # Routes between queues.
    call("acltdtCreateQueueRoute")(srcId=_NUMBER, dstId=_NUMBER),
    call("acltdtDestroyQueueRoute")(route=ReleasedHandle("queue route")),
    call("acltdtGetQueueRouteParam")(
        route=_ROUTE,
        type=Scalar("acltdtQueueRouteParamType"),
        len=_SIZE,
        paramRetSize=OutScalar("size_t"),
        param=Buffer("len", "out"),
    ),
    call("acltdtCreateQueueRouteList")(),
    call("acltdtDestroyQueueRouteList")(routeList=ReleasedHandle("queue routes")),
    call("acltdtAddQueueRoute")(routeList=_ROUTES, route=_ROUTE),
    call("acltdtGetQueueRoute")(routeList=_ROUTES, index=_SIZE, route=_ROUTE),
    call("acltdtGetQueueRouteNum")(routeList=_ROUTES),
    call("acltdtCreateQueueRouteQueryInfo")(),
    call("acltdtDestroyQueueRouteQueryInfo")(info=ReleasedHandle("queue route query")),
    call("acltdtSetQueueRouteQueryInfo")(
        param=_QUERY, type=Scalar("acltdtQueueRouteQueryInfoParamType"), len=_SIZE, value=Buffer("len")
    ),
    call("acltdtBindQueueRoutes", CONTEXT)(qRouteList=_ROUTES),
    call("acltdtUnbindQueueRoutes", CONTEXT)(qRouteList=_ROUTES),
    call("acltdtQueryQueueRoutes", CONTEXT)(queryInfo=_QUERY, qRouteList=_ROUTES),
    # Channels and what they carry.
    call("acltdtCreateDataItem")(
        tdtType=Scalar("acltdtTensorType"),
        dims=Array(Scalar("int64_t"), "dimNum"),
        dimNum=_SIZE,
        dataType=Scalar("aclDataType"),
        data=Address("any", "size"),
        size=_SIZE,
    ),
    call("acltdtDestroyDataItem")(dataItem=ReleasedHandle("data item")),
    call("acltdtGetTensorTypeFromItem")(dataItem=_ITEM),
    call("acltdtGetDataTypeFromItem")(dataItem=_ITEM),
    call("acltdtGetDataAddrFromItem")(dataItem=_ITEM),
    call("acltdtGetDataSizeFromItem")(dataItem=_ITEM),
    call("acltdtGetDimNumFromItem")(dataItem=_ITEM),
    call("acltdtGetDimsFromItem")(dataItem=_ITEM, dims=Array(Scalar("int64_t"), "dimNum", "out"), dimNum=_SIZE),
    call("acltdtGetSliceInfoFromItem")(dataItem=_ITEM, sliceNum=OutScalar("size_t"), sliceId=OutScalar("size_t")),
    call("acltdtCreateDataset")(),
    call("acltdtDestroyDataset")(dataset=ReleasedHandle("dataset")),
    call("acltdtAddDataItem")(dataset=_DATASET, dataItem=_ITEM),
    call("acltdtGetDataItem")(dataset=_DATASET, index=_SIZE),
    call("acltdtGetDatasetSize")(dataset=_DATASET),
    call("acltdtGetDatasetName")(dataset=_DATASET),
    call("acltdtCreateChannelWithCapacity")(deviceId=_NUMBER, name=CString(), capacity=_SIZE),
    call("acltdtDestroyChannel")(handle=ReleasedHandle("channel")),
    call("acltdtStopChannel")(handle=_CHANNEL),
    call("acltdtCleanChannel")(handle=_CHANNEL),
    call("acltdtQueryChannelSize")(handle=_CHANNEL, size=OutScalar("size_t")),
    call("acltdtSendTensor", BLOCKS)(handle=_CHANNEL, dataset=_DATASET, timeout=Scalar("int32_t")),
    call("acltdtReceiveTensor", BLOCKS)(handle=_CHANNEL, dataset=_DATASET, timeout=Scalar("int32_t")),
    # Shared buffers.
    call("aclrtAllocBuf")(buf=CreatedHandle("shared buffer"), size=_SIZE),
    call("aclrtFreeBuf")(buf=ReleasedHandle("shared buffer")),
    call("aclrtCopyBufRef")(buf=_BUFFER, newBuf=CreatedHandle("shared buffer")),
    call("aclrtGetBufData")(buf=_BUFFER, dataPtr=AddressOut("host", "size"), size=OutScalar("size_t")),
    call("aclrtSetBufDataLen")(buf=_BUFFER, len=_SIZE),
    call("aclrtGetBufDataLen")(buf=_BUFFER, len=OutScalar("size_t")),
    call("aclrtSetBufUserData")(buf=_BUFFER, dataPtr=Buffer("size"), size=_SIZE, offset=_SIZE),
    call("aclrtGetBufUserData")(buf=_BUFFER, dataPtr=Buffer("size", "out"), size=_SIZE, offset=_SIZE),
    call("aclrtAppendBufChain")(headBuf=_BUFFER, buf=_BUFFER),
    call("aclrtGetBufChainNum")(headBuf=_BUFFER, num=OutScalar("uint32_t")),
    call("aclrtGetBufFromChain")(headBuf=_BUFFER, index=_NUMBER, buf=HandleOut("shared buffer")),
)
