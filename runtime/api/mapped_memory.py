"""The API model of registered host memory, virtual memory and memory pools: see ``annotations.py``."""

from typing import Final

from cannery.runtime.api.declare import BLOCKS, CONTEXT, Annotation, call
from cannery.runtime.api.roles import (
    Address,
    AddressOut,
    Array,
    CreatedHandle,
    Handle,
    HandleOut,
    OutScalar,
    ReleasedHandle,
    Role,
    Scalar,
    Struct,
    StructByValue,
)

_SIZE: Final = Scalar("size_t")
_FLAGS: Final = Scalar("uint64_t")
_PHYSICAL: Final = Handle("physical memory")
_POOL: Final = Handle("memory pool")

_RESERVATION: Final[dict[str, Role]] = {
    "virPtr": AddressOut("device"),
    "size": _SIZE,
    "alignment": _SIZE,
    "expectPtr": Address("any"),
    "flags": _FLAGS,
}
_MAPPING: Final[dict[str, Role]] = {
    "virPtr": Address("device", "size"),
    "size": _SIZE,
    "offset": _SIZE,
    "handle": _PHYSICAL,
    "flags": _FLAGS,
}

MAPPED_MEMORY: Final[tuple[Annotation, ...]] = (
    # Registered host memory.
    call("aclrtHostRegister", CONTEXT)(
        ptr=Address("host", "size"),
        size=Scalar("uint64_t"),
        type=Scalar("aclrtHostRegisterType"),
        devPtr=AddressOut("device"),
    ),
    call("aclrtHostRegisterV2", CONTEXT)(ptr=Address("host", "size"), size=Scalar("uint64_t"), flag=Scalar("uint32_t")),
    call("aclrtHostUnregister", CONTEXT)(ptr=Address("host")),
    call("aclrtHostGetDevicePointer", CONTEXT)(
        pHost=Address("host"), pDevice=AddressOut("device"), flag=Scalar("uint32_t")
    ),
    call("aclrtHostMemMapCapabilities", CONTEXT)(
        deviceId=Scalar("uint32_t"),
        hacType=Scalar("aclrtHacType"),
        capabilities=OutScalar("aclrtHostMemMapCapability"),
    ),
    # Virtual memory.
    call("aclrtReserveMemAddress")(**_RESERVATION),
    call("aclrtReserveMemAddressNoUCMemory")(**_RESERVATION),
    call("aclrtReleaseMemAddress")(virPtr=Address("device", access="release")),
    call("aclrtMallocPhysical")(
        handle=CreatedHandle("physical memory"),
        size=_SIZE,
        prop=Struct("aclrtPhysicalMemProp"),
        flags=_FLAGS,
    ),
    call("aclrtFreePhysical")(handle=ReleasedHandle("physical memory")),
    call("aclrtMapMem")(**_MAPPING),
    call("aclrtMemMapNoAccess")(**_MAPPING),
    call("aclrtUnmapMem")(virPtr=Address("device")),
    call("aclrtMemSetAccess")(
        virPtr=Address("device", "size"),
        size=_SIZE,
        desc=Array(StructByValue("aclrtMemAccessDesc", 24), "count"),
        count=_SIZE,
    ),
    call("aclrtMemGetAccess")(
        virPtr=Address("device"), location=Struct("aclrtMemLocation"), flag=OutScalar("uint64_t")
    ),
    call("aclrtMemRetainAllocationHandle")(virPtr=Address("device"), handle=HandleOut("physical memory")),
    call("aclrtMemGetAllocationGranularity")(
        prop=Struct("aclrtPhysicalMemProp"),
        option=Scalar("aclrtMemGranularityOptions"),
        granularity=OutScalar("size_t"),
    ),
    call("aclrtMemGetAllocationPropertiesFromHandle")(handle=_PHYSICAL, prop=Struct("aclrtPhysicalMemProp", "out")),
    call("aclrtMemGetAddressRange")(ptr=Address("any"), pbase=AddressOut("any"), psize=OutScalar("size_t")),
    # Memory pools.
    call("aclrtMemPoolCreate", CONTEXT)(memPool=CreatedHandle("memory pool"), poolProps=Struct("aclrtMemPoolProps")),
    call("aclrtMemPoolDestroy", CONTEXT)(memPool=ReleasedHandle("memory pool")),
    call("aclrtMemPoolSetAttr")(memPool=_POOL, attr=Scalar("aclrtMemPoolAttr"), value=Address("host", "8", "read")),
    call("aclrtMemPoolGetAttr")(memPool=_POOL, attr=Scalar("aclrtMemPoolAttr"), value=Address("host", "8", "write")),
    call("aclrtMemPoolMallocAsync", BLOCKS, CONTEXT)(
        ptr=AddressOut("device", "size"), size=_SIZE, memPool=_POOL, stream=Handle("stream")
    ),
    call("aclrtMemPoolFreeAsync", BLOCKS, CONTEXT)(ptr=Address("device", access="release"), stream=Handle("stream")),
    call("aclrtMemPoolTrimTo")(memPool=_POOL, minBytesToKeep=_SIZE),
)
