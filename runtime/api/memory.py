"""The memory chapters of the API model: see ``annotations.py``. Virtual memory, pools and registered memory are in
``mapped_memory.py``."""

from typing import Final

from cannery.runtime.api.declare import BLOCKS, CONTEXT, Annotation, call
from cannery.runtime.api.roles import (
    Address,
    AddressOut,
    Array,
    Handle,
    OutScalar,
    Role,
    Scalar,
    Struct,
    StructByValue,
)

_SIZE: Final = Scalar("size_t")
_STREAM: Final = Handle("stream")
_POLICY: Final = Scalar("aclrtMemMallocPolicy")
_KIND: Final = Scalar("aclrtMemcpyKind")
_CONFIGURATION: Final = Struct("aclrtMallocConfig", lists={"attrs": "numAttrs"})

_COPY: Final[dict[str, Role]] = {
    "dst": Address("any", "count", "write"),
    "destMax": _SIZE,
    "src": Address("any", "count", "read"),
    "count": _SIZE,
    "kind": _KIND,
}
_ROWS: Final[dict[str, Role]] = {
    "dst": Address("any", "dpitch * height", "write"),
    "dpitch": _SIZE,
    "src": Address("any", "spitch * height", "read"),
    "spitch": _SIZE,
    "width": _SIZE,
    "height": _SIZE,
    "kind": _KIND,
}
_BATCH: Final[dict[str, Role]] = {
    "dsts": Array(Address("any"), "numBatches"),
    "destMaxs": Array(_SIZE, "numBatches"),
    "srcs": Array(Address("any"), "numBatches"),
    "sizes": Array(_SIZE, "numBatches"),
    "numBatches": _SIZE,
    "attrs": Array(StructByValue("aclrtMemcpyBatchAttr", 32), "numAttrs"),
    "attrsIndexes": Array(_SIZE, "numAttrs"),
    "numAttrs": _SIZE,
}
_SET: Final[dict[str, Role]] = {
    "devPtr": Address("any", "count", "write"),
    "maxCount": _SIZE,
    "value": Scalar("int32_t"),
    "count": _SIZE,
}
_SET_WORDS: Final[dict[str, Role]] = {
    "ptr": Address("any", "4 * N", "write"),
    "memSize": _SIZE,
    "value": Scalar("uint32_t"),
    "N": _SIZE,
}
_FROM_SYMBOL: Final[dict[str, Role]] = {
    "dst": Address("any", "count", "write"),
    "dstMax": _SIZE,
    "symbol": Address("any"),
    "count": _SIZE,
    "offset": _SIZE,
    "kind": _KIND,
}
_TO_SYMBOL: Final[dict[str, Role]] = {
    "symbol": Address("any"),
    "src": Address("any", "count", "read"),
    "count": _SIZE,
    "offset": _SIZE,
    "kind": _KIND,
}

MEMORY: Final[tuple[Annotation, ...]] = (
    # 3. Memory: allocation. What synchronises the device waits.
    call("aclrtMalloc", CONTEXT)(devPtr=AddressOut("device", "size"), size=_SIZE, policy=_POLICY),
    call("aclrtMallocAlign32", CONTEXT)(devPtr=AddressOut("device", "size"), size=_SIZE, policy=_POLICY),
    call("aclrtMallocCached", CONTEXT)(devPtr=AddressOut("device", "size"), size=_SIZE, policy=_POLICY),
    call("aclrtMallocWithCfg", CONTEXT)(
        devPtr=AddressOut("device", "size"), size=_SIZE, policy=_POLICY, cfg=_CONFIGURATION
    ),
    call("aclrtMallocForTaskScheduler", CONTEXT)(
        devPtr=AddressOut("device", "size"), size=_SIZE, policy=_POLICY, cfg=_CONFIGURATION
    ),
    call("aclrtFree")(devPtr=Address("device", access="release")),
    call("aclrtFreeWithDevSync", BLOCKS, CONTEXT)(devPtr=Address("device", access="release")),
    call("aclrtMallocHost", CONTEXT)(hostPtr=AddressOut("host", "size"), size=_SIZE),
    call("aclrtMallocHostWithCfg", CONTEXT)(
        ptr=AddressOut("host", "size"), size=Scalar("uint64_t"), cfg=_CONFIGURATION
    ),
    call("aclrtFreeHost")(hostPtr=Address("host", access="release")),
    call("aclrtFreeHostWithDevSync", BLOCKS, CONTEXT)(hostPtr=Address("host", access="release")),
    # 3. Setting. At once, or in stream order.
    call("aclrtMemset", CONTEXT)(**_SET),
    call("aclrtMemsetAsync", BLOCKS, CONTEXT)(**_SET, stream=_STREAM),
    call("aclrtMemsetD32", CONTEXT)(**_SET_WORDS),
    call("aclrtMemsetD32Async", BLOCKS, CONTEXT)(**_SET_WORDS, stream=_STREAM),
    # 3. Copies. An asynchronous one of pageable memory waits for its stream.
    call("aclrtMemcpy", CONTEXT)(**_COPY),
    call("aclrtMemcpyAsync", BLOCKS, CONTEXT)(**_COPY, stream=_STREAM),
    call("aclrtMemcpyAsyncWithCondition", BLOCKS, CONTEXT)(**_COPY, stream=_STREAM),
    call("aclrtMemcpy2d", CONTEXT)(**_ROWS),
    call("aclrtMemcpy2dAsync", BLOCKS, CONTEXT)(**_ROWS, stream=_STREAM),
    call("aclrtMemcpyBatch", CONTEXT)(**_BATCH, failIndex=OutScalar("size_t")),
    call("aclrtMemcpyBatchV2", CONTEXT)(**_BATCH),
    call("aclrtMemcpyBatchAsync", BLOCKS, CONTEXT)(**_BATCH, failIndex=OutScalar("size_t"), stream=_STREAM),
    call("aclrtMemcpyBatchAsyncV2", BLOCKS, CONTEXT)(**_BATCH, stream=_STREAM),
    call("aclrtMemcpyAsyncWithOffset", BLOCKS, CONTEXT)(
        dst=Address("device", "8", "read"),
        destMax=_SIZE,
        dstDataOffset=_SIZE,
        src=Address("device", "8", "read"),
        count=_SIZE,
        srcDataOffset=_SIZE,
        kind=_KIND,
        stream=_STREAM,
    ),
    call("aclrtGetMemcpyDescSize")(kind=_KIND, descSize=OutScalar("size_t")),
    call("aclrtSetMemcpyDesc", CONTEXT)(
        desc=Address("device", "32", "write"),
        kind=_KIND,
        srcAddr=Address("device", "count"),
        dstAddr=Address("device", "count"),
        count=_SIZE,
        config=Address("any"),
    ),
    call("aclrtMemcpyAsyncWithDesc", BLOCKS, CONTEXT)(desc=Address("device", "32", "read"), kind=_KIND, stream=_STREAM),
    call("aclrtGetSymbolAddress")(symbol=Address("any"), devPtr=AddressOut("device")),
    call("aclrtGetSymbolSize")(symbol=Address("any"), size=OutScalar("size_t")),
    call("aclrtMemcpyFromSymbol")(**_FROM_SYMBOL),
    call("aclrtMemcpyFromSymbolAsync")(**_FROM_SYMBOL, stream=_STREAM),
    call("aclrtMemcpyToSymbol")(**_TO_SYMBOL),
    call("aclrtMemcpyToSymbolAsync")(**_TO_SYMBOL, stream=_STREAM),
    # In stream order: reductions and values.
    call("aclrtReduceAsync", BLOCKS, CONTEXT)(
        dst=Address("device", "count", "readwrite"),
        src=Address("device", "count", "read"),
        count=Scalar("uint64_t"),
        kind=Scalar("aclrtReduceKind"),
        type=Scalar("aclDataType"),
        stream=_STREAM,
        reserve=Address("any"),
    ),
    call("aclrtValueWait", BLOCKS, CONTEXT)(
        devAddr=Address("device", "8", "read"),
        value=Scalar("uint64_t"),
        flag=Scalar("uint32_t"),
        stream=_STREAM,
    ),
    call("aclrtValueWrite", BLOCKS, CONTEXT)(
        devAddr=Address("device", "8", "write"),
        value=Scalar("uint64_t"),
        flag=Scalar("uint32_t"),
        stream=_STREAM,
    ),
    # Caches.
    call("aclrtMemFlush")(devPtr=Address("device", "size"), size=_SIZE),
    call("aclrtMemInvalidate")(devPtr=Address("device", "size"), size=_SIZE),
    call("aclrtCmoAsync", BLOCKS, CONTEXT)(
        src=Address("device", "size"), size=_SIZE, cmoType=Scalar("aclrtCmoType"), stream=_STREAM
    ),
    call("aclrtCmoGetDescSize")(size=OutScalar("size_t")),
    call("aclrtCmoSetDesc", CONTEXT)(
        cmoDesc=Address("device", "64", "write"), src=Address("device", "size"), size=_SIZE
    ),
    call("aclrtCmoAsyncWithDesc", BLOCKS, CONTEXT)(
        cmoDesc=Address("device", "64", "read"),
        cmoType=Scalar("aclrtCmoType"),
        stream=_STREAM,
        reserve=Address("any"),
    ),
    call("aclrtCmoAsyncWithBarrier", BLOCKS, CONTEXT)(
        src=Address("device", "size"),
        size=_SIZE,
        cmoType=Scalar("aclrtCmoType"),
        barrierId=Scalar("uint32_t"),
        stream=_STREAM,
    ),
    call("aclrtCmoWaitBarrier", BLOCKS, CONTEXT)(
        taskInfo=Struct("aclrtBarrierTaskInfo"), stream=_STREAM, flag=Scalar("uint32_t")
    ),
    # 3. Information.
    call("aclrtGetMemInfo", CONTEXT)(attr=Scalar("aclrtMemAttr"), free=OutScalar("size_t"), total=OutScalar("size_t")),
    call("aclrtGetMemUsageInfo", CONTEXT)(
        deviceId=Scalar("int32_t"),
        memUsageInfo=Array(StructByValue("aclrtMemUsageInfo", 112), "inputNum", "out"),
        inputNum=_SIZE,
        outputNum=OutScalar("size_t"),
    ),
    call("aclrtPointerGetAttributes")(ptr=Address("any"), attributes=Struct("aclrtPtrAttributes", "out")),
    call("aclrtCheckMemType", CONTEXT)(
        addrList=Array(Address("any"), "size"),
        size=Scalar("uint32_t"),
        memType=Scalar("uint32_t"),
        checkResult=OutScalar("uint32_t"),
        reserve=Scalar("uint32_t"),
    ),
)
