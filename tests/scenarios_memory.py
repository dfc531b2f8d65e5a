"""Programs that use the memory functions beyond plain copies, for ``scenarios.py``."""

from typing import Any

from cannery.runtime.settings import Settings
from tests.live import HOST_BASE, OUT, Live

SIZE = 64
PAGE = 4096
MIB = 1 << 20
GIB = 1 << 30
TO_DEVICE, TO_HOST, INSIDE, DEFAULT, INNER = 1, 2, 3, 4, 6
DEVICE, HOST = 1, 0  # aclrtMemLocationType
HUGE_MEMORY = (0, 0, 4, (0, DEVICE), 0)  # aclrtPhysicalMemProp: handle, allocation, attribute, location, reserved
UP = ((0, DEVICE), (0, HOST), bytes(16))  # aclrtMemcpyBatchAttr: destination, source, reserved
SYNC = 0x01


def opened(product: str = "A2") -> Live:
    live = Live(Settings(devices=2, product=product))
    live.ok("aclrtSetDevice", 0)
    return live


def allocation_forms() -> Live:
    """Every way to allocate and to free, at once, after the device, and in stream order."""
    live = opened()
    device_attribute = ((2, (0).to_bytes(8, "little")),)
    for name, *rest in (
        ("aclrtMallocAlign32", 0),
        ("aclrtMallocCached", 0),
        ("aclrtMallocWithCfg", 0, (device_attribute, 1)),
        ("aclrtMallocForTaskScheduler", 0, None),
    ):
        live.ok("aclrtFree", live.create(name, 100, *rest))
    stream = live.create("aclrtCreateStream")
    memory = live.create("aclrtMalloc", 3 * MIB, 0)
    live.ok("aclrtMemsetAsync", memory, 3 * MIB, 7, 3 * MIB, stream)
    live.ok("aclrtFreeWithDevSync", memory)
    pinned = live.create("aclrtMallocHostWithCfg", 100, (((1, bytes(8)),), 1))
    live.ok("aclrtFreeHostWithDevSync", pinned)
    live.call("aclrtMallocWithCfg", OUT, 100, 0, (None, 1))
    live.call("aclrtFreeWithDevSync", memory)
    pool = live.create("aclrtMemPoolCreate", (0, 0, (0, DEVICE), 64 * MIB, bytes(32)))
    attribute = live.host.put(PAGE, (MIB).to_bytes(8, "little"))
    live.ok("aclrtMemPoolSetAttr", pool, 4, attribute)
    live.ok("aclrtMemPoolGetAttr", pool, 4, attribute + 8)
    one = live.create("aclrtMemPoolMallocAsync", 100, pool, stream)
    live.ok("aclrtMemsetAsync", one, 100, 1, 100, stream)
    live.ok("aclrtMemPoolFreeAsync", one, stream)
    again = live.create("aclrtMemPoolMallocAsync", 200, pool, stream)
    assert again == one
    live.ok("aclrtMemPoolFreeAsync", again, stream)
    live.ok("aclrtMemPoolFreeAsync", live.create("aclrtMalloc", 10, 0), stream)
    live.ok("aclrtSynchronizeStream", stream)
    live.ok("aclrtMemPoolGetAttr", pool, 6, attribute + 8)
    live.ok("aclrtMemPoolTrimTo", pool, 0)
    live.ok("aclrtMemPoolDestroy", pool)
    live.ok("aclrtGetMemUsageInfo", 0, OUT, 1, OUT)
    live.ok("aclrtResetDevice", 0)
    return live


def copy_forms() -> Live:
    """Rows, batches, copies with addresses in device memory, 32-bit fills, reductions, values, caches."""
    live = opened()
    stream, held = live.create("aclrtCreateStream"), live.create("aclrtCreateStream")
    pageable = live.host.put(0, bytes(range(256)) * 16)
    device, other = live.create("aclrtMalloc", PAGE, 0), live.create("aclrtMalloc", PAGE, 0)
    pinned = live.create("aclrtMallocHost", PAGE)
    live.ok("aclrtMemcpy2d", device, 64, pageable, 32, 16, 4, TO_DEVICE)
    live.ok("aclrtMemcpy2d", pageable + PAGE, 16, device, 64, 16, 4, TO_HOST)
    live.ok("aclrtMemcpy2dAsync", pinned, 32, device, 64, 16, 4, TO_HOST, stream)
    live.ok("aclrtMemcpy2dAsync", other, 32, device, 64, 16, 4, INSIDE, stream)
    live.ok("aclrtMemcpy2dAsync", other, 32, pageable, 64, 16, 4, TO_DEVICE, stream)
    to, of, sizes = (device, device + 128), (pinned, pageable), (SIZE, 16)
    batch: tuple[Any, ...] = (to, sizes, of, sizes, 2, (UP,), (0,), 1)
    live.ok("aclrtMemcpyBatch", *batch, OUT)
    live.ok("aclrtMemcpyBatchV2", *batch)
    live.ok("aclrtMemcpyBatchAsync", *batch, OUT, stream)
    live.ok("aclrtMemcpyBatchAsyncV2", *batch, stream)
    live.call("aclrtMemcpyBatch", (device, pinned), *batch[1:], OUT)
    addresses = b"".join(address.to_bytes(8, "little") for address in (other, device))
    live.ok("aclrtMemcpy", device + 512, 16, live.host.put(8192, addresses), 16, TO_DEVICE)
    live.ok("aclrtMemcpyAsyncWithOffset", device + 512, SIZE, 8, device + 520, 16, 4, INNER, stream)
    live.ok("aclrtGetMemcpyDescSize", INNER, OUT)
    live.ok("aclrtSetMemcpyDesc", device + 1024, INNER, device, other, SIZE, 0)
    live.ok("aclrtMemcpyAsyncWithDesc", device + 1024, INNER, stream)
    live.ok("aclrtMemcpyAsyncWithCondition", other, PAGE, pinned, SIZE, TO_DEVICE, stream)
    live.ok("aclrtMemsetD32", pinned, PAGE, 0x01020304, 8)
    live.ok("aclrtMemsetD32Async", device, PAGE, 0x01020304, 8, stream)
    live.ok("aclrtReduceAsync", device, other, 32, 10, 3, stream, 0)
    live.ok("aclrtValueWait", other, 5, 1, held)
    live.ok("aclrtValueWrite", other, 5, 0, stream)
    live.ok("aclrtCmoAsync", device, SIZE, 0, stream)
    live.ok("aclrtCmoGetDescSize", OUT)
    live.ok("aclrtCmoSetDesc", device + 2048, device, SIZE)
    live.ok("aclrtCmoAsyncWithDesc", device + 2048, 0, stream, 0)
    live.ok("aclrtMemFlush", device, SIZE)
    live.ok("aclrtMemInvalidate", device, SIZE)
    live.ok("aclrtSynchronizeStream", held)
    live.ok("aclrtSynchronizeStream", stream)
    live.ok("aclrtMemcpy", pageable, PAGE, device, PAGE, TO_HOST)
    live.ok("aclrtMemcpy", pageable, PAGE, other, PAGE, TO_HOST)
    live.ok("aclrtCheckMemType", (device, other), 2, 2, OUT, 0)
    for name in ("aclrtGetSymbolAddress", "aclrtGetSymbolSize"):
        live.call(name, 0x4000, OUT)
    live.call("aclrtMemcpyFromSymbol", pageable, SIZE, 0x4000, SIZE, 0, TO_HOST)
    live.call("aclrtMemcpyFromSymbolAsync", pageable, SIZE, 0x4000, SIZE, 0, TO_HOST, stream)
    live.call("aclrtMemcpyToSymbol", 0x4000, pageable, SIZE, 0, TO_DEVICE)
    live.call("aclrtMemcpyToSymbolAsync", 0x4000, pageable, SIZE, 0, TO_DEVICE, stream)
    live.ok("aclrtResetDevice", 0)
    return live


def values_that_hold() -> Live:
    """A stream that waits for a value until the host copies it there."""
    live = opened()
    live.ok("aclrtSetDevice", 0, thread=2)
    held = live.create("aclrtCreateStream")
    device = live.create("aclrtMalloc", SIZE, 0)
    live.ok("aclrtValueWait", device + 8, 3, 0, held)
    live.call("aclrtSynchronizeStream", held)
    live.ok("aclrtMemcpy", device, SIZE, live.host.put(0, (2).to_bytes(8, "little") * 2), 16, TO_DEVICE, thread=2)
    live.ok("aclrtMemcpy", device + 8, 8, live.host.put(0, (3).to_bytes(8, "little")), 8, TO_DEVICE, thread=2)
    live.ok("aclrtResetDevice", 0)
    return live


def virtual_memory() -> Live:
    """Addresses, physical memory and mappings; copies over two of them; registered host memory; what addresses are."""
    live = opened()
    live.ok("aclrtMemGetAllocationGranularity", HUGE_MEMORY, 0, OUT)
    base = live.create("aclrtReserveMemAddress", 8 * MIB, 0, 0, 0)
    first, second = (live.create("aclrtMallocPhysical", 2 * MIB, HUGE_MEMORY, 0) for _ in range(2))
    live.ok("aclrtMapMem", base, 2 * MIB, 0, first, 0)
    live.ok("aclrtMemMapNoAccess", base + 2 * MIB, 2 * MIB, 0, second, 0)
    across = base + 2 * MIB - 32
    live.call("aclrtMemset", across, SIZE, 1, SIZE)
    live.ok("aclrtMemSetAccess", base + 2 * MIB, 2 * MIB, ((3, (0, DEVICE), bytes(12)),), 1)
    live.ok("aclrtMemGetAccess", base + 2 * MIB, (0, DEVICE), OUT)
    live.ok("aclrtMemset", across, SIZE, 1, SIZE)
    live.ok("aclrtMemcpy", across + 8, SIZE, live.host.put(0, b"over a border between two mappings"), 34, TO_DEVICE)
    live.ok("aclrtMemcpy", HOST_BASE + PAGE, SIZE, across, SIZE, TO_HOST)
    live.ok("aclrtMemRetainAllocationHandle", base, OUT)
    live.ok("aclrtMemGetAllocationPropertiesFromHandle", first, OUT)
    live.ok("aclrtMemGetAddressRange", base + 100, OUT, OUT)
    live.call("aclrtMemExportToShareableHandle", first, 0, 0, OUT)
    for handle in (first, first, second):
        live.ok("aclrtFreePhysical", handle)
    live.call("aclrtFreePhysical", second)
    live.ok("aclrtUnmapMem", base)
    live.ok("aclrtUnmapMem", base + 2 * MIB)
    live.ok("aclrtReleaseMemAddress", base)
    hinted = live.create("aclrtReserveMemAddress", 2 * MIB, 0, 16 << 40, 0)
    live.ok("aclrtReleaseMemAddress", hinted)
    registered = live.host.put(64 * PAGE, b"registered")
    live.ok("aclrtHostRegister", registered, PAGE, 0, OUT)
    live.call("aclrtHostRegister", registered, PAGE, 0, OUT)
    live.ok("aclrtHostRegisterV2", registered + PAGE, PAGE, 0x1000_0002)
    live.ok("aclrtHostGetDevicePointer", registered + PAGE, OUT, 0)
    live.ok("aclrtPointerGetAttributes", registered, OUT)
    device = live.create("aclrtMalloc", SIZE, 0)
    live.ok("aclrtMemcpyAsync", device, SIZE, registered, SIZE, TO_DEVICE, 0)
    live.ok("aclrtSynchronizeStream", 0)
    live.ok("aclrtHostUnregister", registered)
    live.ok("aclrtHostMemMapCapabilities", 0, 2, OUT)
    live.ok("aclrtResetDevice", 0)
    return live


def peers() -> Live:
    """Access between two devices, and copies that need it."""
    live = opened()
    here = live.create("aclrtMalloc", SIZE, 0)
    live.ok("aclrtSetDevice", 1)
    there = live.create("aclrtMalloc", SIZE, 0)
    live.ok("aclrtDeviceCanAccessPeer", OUT, 0, 1)
    live.call("aclrtMemcpy", there, SIZE, here, SIZE, INSIDE)
    live.ok("aclrtMemcpyAsync", there, SIZE, here, SIZE, INSIDE, 0)
    live.call("aclrtSynchronizeStream", 0)
    live.ok("aclrtDeviceEnablePeerAccess", 0, 0)
    live.ok("aclrtDevicePeerAccessStatus", 1, 0, OUT)
    live.ok("aclrtMemset", here, SIZE, 9, SIZE)
    live.ok("aclrtMemcpyAsync", there, SIZE, here, SIZE, INSIDE, 0)
    live.ok("aclrtSynchronizeStream", 0)
    live.ok("aclrtMemcpy", HOST_BASE, SIZE, there, SIZE, TO_HOST)
    live.ok("aclrtDeviceDisablePeerAccess", 0)
    live.ok("aclrtResetDevice", 1)
    return live


def other_products() -> Live:
    """What only some products have: here, addresses of the program's choice on A3."""
    live = opened("A3")
    base = live.create("aclrtReserveMemAddressNoUCMemory", GIB, 0, 40 << 40, 0)
    live.ok("aclrtReleaseMemAddress", base)
    live.ok("aclrtResetDevice", 0)
    return live


def barriers() -> Live:
    """Cache maintenance with barriers on 310B, where it is only for streams of model instances."""
    live = opened("310B")
    device = live.create("aclrtMalloc", SIZE, 0)
    live.call("aclrtCmoAsyncWithBarrier", device, SIZE, 2, 1, 0)
    live.call("aclrtCmoWaitBarrier", (1, ((2, 1),) + ((0, 0),) * 5), 0, 0)
    live.ok("aclrtResetDevice", 0)
    return live


ALL = {
    "allocation_forms": allocation_forms,
    "copy_forms": copy_forms,
    "values_that_hold": values_that_hold,
    "virtual_memory": virtual_memory,
    "peers": peers,
    "other_products": other_products,
    "barriers": barriers,
}
