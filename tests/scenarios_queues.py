"""Programs with queues, channels and shared buffers, for ``scenarios.py``."""

from struct import pack

from tests.live import HOST_BASE, OUT, Live

NAME, DEPTH = 0, 1
PAGE = 4096
TENSOR, FLOAT = 0, 0


def queues() -> Live:
    """Queues with attributes, data in and out, a wait for a message and one whose limit passes."""
    live = Live()
    live.ok("aclrtSetDevice", 0)
    live.ok("aclrtSetDevice", 0, thread=2)
    attributes = live.call("acltdtCreateQueueAttr")
    name = live.host.put(0, b"a queue\0")
    live.ok("acltdtSetQueueAttr", attributes, NAME, 8, pack("<Q", name))
    live.ok("acltdtSetQueueAttr", attributes, DEPTH, 4, pack("<I", 2))
    live.ok("acltdtGetQueueAttr", attributes, NAME, 8, OUT, OUT)
    live.ok("acltdtGetQueueAttr", attributes, DEPTH, 4, OUT, OUT)
    queue = live.create_last("acltdtCreateQueue", attributes)
    live.call("acltdtCreateQueue", attributes, OUT)
    live.ok("acltdtDestroyQueueAttr", attributes)
    data = live.host.put(PAGE, b"data of a message")
    live.call("acltdtDequeueData", queue, HOST_BASE + 2 * PAGE, 64, OUT, OUT, 4, -1, thread=2)
    for _ in range(3):
        live.ok("acltdtEnqueueData", queue, data, 17, b"user", 4, 0, 0)
    live.call("acltdtEnqueueData", queue, data, 17, None, 0, 20, 0)
    live.expire(1)
    live.ok("acltdtDequeueData", queue, HOST_BASE + 2 * PAGE, 64, OUT, OUT, 4, 0)
    live.call("acltdtDequeueData", queue, HOST_BASE + 2 * PAGE, 4, OUT, OUT, 4, 0)
    routed(live, queue)
    live.ok("acltdtDestroyQueue", queue)
    live.ok("aclrtResetDevice", 0)
    return live


def routed(live: Live, source: int) -> None:
    """A route to another queue: bound, asked for, unbound."""
    target = live.create_last("acltdtCreateQueue", 0)
    route, routes = live.call("acltdtCreateQueueRoute", source, target), live.call("acltdtCreateQueueRouteList")
    live.ok("acltdtAddQueueRoute", routes, route)
    live.ok("acltdtBindQueueRoutes", routes)
    live.call("acltdtDestroyQueue", target)
    query = live.call("acltdtCreateQueueRouteQueryInfo")
    for kind, value in enumerate((0, source)):
        live.ok("acltdtSetQueueRouteQueryInfo", query, kind, 4, pack("<I", value))
    live.ok("acltdtQueryQueueRoutes", query, routes)
    live.call("acltdtGetQueueRouteNum", routes)
    live.ok("acltdtGetQueueRoute", routes, 0, route)
    live.ok("acltdtGetQueueRouteParam", route, 2, 4, OUT, OUT)
    live.ok("acltdtUnbindQueueRoutes", routes)
    live.ok("acltdtDestroyQueueRoute", route)
    live.ok("acltdtDestroyQueueRouteList", routes)
    live.ok("acltdtDestroyQueueRouteQueryInfo", query)
    live.ok("acltdtDequeueData", target, HOST_BASE + 2 * PAGE, 64, OUT, 0, 0, 0)


def channels() -> Live:
    """A dataset that goes through a channel, and what is asked of it."""
    live = Live()
    live.ok("aclrtSetDevice", 0)
    channel = live.call("acltdtCreateChannelWithCapacity", 0, b"tensors", 2)
    live.call("acltdtCreateChannelWithCapacity", 0, b"tensors", 2)
    item = live.call("acltdtCreateDataItem", TENSOR, (2, 2), 2, FLOAT, live.host.put(0, pack("<4f", 1, 2, 3, 4)), 16)
    dataset, received = live.call("acltdtCreateDataset"), live.call("acltdtCreateDataset")
    live.ok("acltdtAddDataItem", dataset, item)
    live.ok("acltdtSendTensor", channel, dataset, 0)
    live.ok("acltdtQueryChannelSize", channel, OUT)
    live.ok("acltdtReceiveTensor", channel, received, 0)
    live.call("acltdtReceiveTensor", channel, received, 0)
    got = live.call("acltdtGetDataItem", received, 0)
    for what in ("TensorType", "DataType", "DataAddr", "DataSize", "DimNum"):
        live.call(f"acltdtGet{what}FromItem", got)
    live.ok("acltdtGetDimsFromItem", got, OUT, 2)
    live.ok("acltdtGetSliceInfoFromItem", got, OUT, OUT)
    live.call("acltdtGetDatasetSize", received)
    live.call("acltdtGetDatasetName", received)
    live.ok("acltdtSendTensor", channel, dataset, 0)
    live.ok("acltdtCleanChannel", channel)
    live.ok("acltdtStopChannel", channel)
    live.ok("acltdtDestroyChannel", channel)
    live.ok("acltdtDestroyDataset", received)
    live.ok("acltdtDestroyDataset", dataset)
    live.ok("acltdtDestroyDataItem", item)
    live.ok("aclrtResetDevice", 0)
    return live


def shared_buffers() -> Live:
    """Buffers that share data, and chains."""
    live = Live()
    head = live.create("aclrtAllocBuf", 100)
    live.call("aclrtAllocBuf", OUT, 0)
    live.ok("aclrtGetBufData", head, OUT, OUT)
    live.ok("aclrtSetBufDataLen", head, 50)
    live.ok("aclrtGetBufDataLen", head, OUT)
    copy = live.create_last("aclrtCopyBufRef", head)
    live.ok("aclrtSetBufUserData", copy, b"user", 4, 8)
    live.ok("aclrtGetBufUserData", copy, OUT, 4, 8)
    live.ok("aclrtAppendBufChain", head, copy)
    live.ok("aclrtGetBufChainNum", head, OUT)
    live.ok("aclrtGetBufFromChain", head, 1, OUT)
    live.call("aclrtFreeBuf", copy)
    live.ok("aclrtFreeBuf", head)
    live.ok("aclrtFreeBuf", copy)
    return live


ALL = {
    "queues": queues,
    "channels": channels,
    "shared_buffers": shared_buffers,
}
