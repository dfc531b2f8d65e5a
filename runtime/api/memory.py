"""The memory chapters of the API model: see ``annotations.py``."""

from typing import Final

from cannery.runtime.api.declare import BLOCKS, CONTEXT, Annotation, call
from cannery.runtime.api.roles import Address, AddressOut, Handle, OutScalar, Scalar

MEMORY: Final[tuple[Annotation, ...]] = (
    # 3. Memory. An asynchronous copy of pageable memory waits for its stream.
    call("aclrtMalloc", CONTEXT)(
        devPtr=AddressOut("device", "size"),
        size=Scalar("size_t"),
        policy=Scalar("aclrtMemMallocPolicy"),
    ),
    call("aclrtFree")(
        devPtr=Address("device", access="release"),
    ),
    call("aclrtMallocHost", CONTEXT)(
        hostPtr=AddressOut("host", "size"),
        size=Scalar("size_t"),
    ),
    call("aclrtFreeHost")(
        hostPtr=Address("host", access="release"),
    ),
    call("aclrtMemset", CONTEXT)(
        devPtr=Address("any", "count", "write"),
        maxCount=Scalar("size_t"),
        value=Scalar("int32_t"),
        count=Scalar("size_t"),
    ),
    call("aclrtMemsetAsync", BLOCKS, CONTEXT)(
        devPtr=Address("any", "count", "write"),
        maxCount=Scalar("size_t"),
        value=Scalar("int32_t"),
        count=Scalar("size_t"),
        stream=Handle("stream"),
    ),
    call("aclrtMemcpy", CONTEXT)(
        dst=Address("any", "count", "write"),
        destMax=Scalar("size_t"),
        src=Address("any", "count", "read"),
        count=Scalar("size_t"),
        kind=Scalar("aclrtMemcpyKind"),
    ),
    call("aclrtMemcpyAsync", BLOCKS, CONTEXT)(
        dst=Address("any", "count", "write"),
        destMax=Scalar("size_t"),
        src=Address("any", "count", "read"),
        count=Scalar("size_t"),
        kind=Scalar("aclrtMemcpyKind"),
        stream=Handle("stream"),
    ),
    call("aclrtGetMemInfo", CONTEXT)(
        attr=Scalar("aclrtMemAttr"),
        free=OutScalar("size_t"),
        total=OutScalar("size_t"),
    ),
)
