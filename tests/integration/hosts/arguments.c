/* Null, stale, wrong-kind and garbage arguments to every implemented function: the documented number, and afterwards
 * everything still works. Numbers: semantics.md sections 0.2, 1, 3, 4 and 5. */
#include "host.h"

#define GARBAGE ((void *)(uintptr_t)0xdeadbeefcafef00dULL)
#define SMALL ((void *)(uintptr_t)8)

int main(void)
{
    aclrtStream stream, stale_stream;
    aclrtEvent event, stale_event;
    aclrtContext context;
    void *memory, *pinned;
    size_t available, total;
    float ms;
    int32_t device;
    uint32_t count;
    aclrtEventRecordedStatus recorded;
    aclrtStreamStatus status;
    char bytes[64] = { 0 };

    WANT(aclrtGetDevice(&device), 107002);
    WANT(aclrtGetDevice(NULL), 100000);
    WANT(aclrtCreateStream(&stream), 107002);
    WANT(aclrtMalloc(&memory, 64, ACL_MEM_MALLOC_HUGE_FIRST), 107002);
    WANT(aclrtSetDevice(-1), 107001);
    WANT(aclrtSetDevice(8), 107001);
    WANT(aclrtSetDevice(INT32_MAX), 107001);
    WANT(aclrtSetDevice(0), 0);
    WANT(aclrtCreateStream(NULL), 100000);
    WANT(aclrtCreateEvent(NULL), 100000);
    WANT(aclrtCreateEventWithFlag(NULL, ACL_EVENT_SYNC), 100000);
    WANT(aclrtCreateEventWithFlag(&event, 0), 107000);
    WANT(aclrtCreateEventWithFlag(&event, 0x40), 107000);
    WANT(aclrtCreateEventExWithFlag(&event, 0x10), 107000);
    WANT(aclrtCreateContext(NULL, 0), 100000);
    WANT(aclrtCreateContext(&context, 99), 107001);
    WANT(aclrtGetDeviceCount(NULL), 100000);
    WANT(aclrtGetRunMode(NULL), 100000);
    WANT(aclrtMalloc(NULL, 64, ACL_MEM_MALLOC_HUGE_FIRST), 100000);
    WANT(aclrtMalloc(&memory, 0, ACL_MEM_MALLOC_HUGE_FIRST), 100000);
    WANT(aclrtMalloc(&memory, (size_t)-1, ACL_MEM_MALLOC_HUGE_FIRST), 100000);
    WANT(aclrtMalloc(&memory, (size_t)1 << 50, ACL_MEM_MALLOC_HUGE_FIRST), 207001);
    WANT(aclrtMallocHost(NULL, 64), 100000);
    WANT(aclrtMallocHost(&pinned, 0), 100000);
    WANT(aclrtGetMemInfo(ACL_HBM_MEM, NULL, &total), 100000);
    WANT(aclrtGetMemInfo((aclrtMemAttr)999, &available, &total), 107016);

    MUST(aclrtCreateStream(&stream));
    MUST(aclrtCreateEvent(&event));
    MUST(aclrtMalloc(&memory, 4096, ACL_MEM_MALLOC_HUGE_FIRST));
    MUST(aclrtMallocHost(&pinned, 4096));
    MUST(aclrtCreateStream(&stale_stream));
    MUST(aclrtDestroyStream(stale_stream));
    MUST(aclrtCreateEvent(&stale_event));
    MUST(aclrtDestroyEvent(stale_event));

    void *wrong_streams[] = { stale_stream, event, GARBAGE, SMALL, memory, bytes };
    for (size_t i = 0; i < sizeof wrong_streams / sizeof wrong_streams[0]; i++) {
        WANT(aclrtDestroyStream(wrong_streams[i]), 107017);
        WANT(aclrtSynchronizeStream(wrong_streams[i]), 107017);
        WANT(aclrtSynchronizeStreamWithTimeout(wrong_streams[i], 10), 107017);
        WANT(aclrtStreamQuery(wrong_streams[i], &status), 107017);
        WANT(aclrtRecordEvent(event, wrong_streams[i]), 107017);
        WANT(aclrtStreamWaitEvent(wrong_streams[i], event), 107017);
        WANT(aclrtMemcpyAsync(memory, 64, pinned, 64, ACL_MEMCPY_HOST_TO_DEVICE, wrong_streams[i]), 107017);
    }
    void *wrong_events[] = { stale_event, stream, GARBAGE, SMALL, memory, bytes };
    for (size_t i = 0; i < sizeof wrong_events / sizeof wrong_events[0]; i++) {
        WANT(aclrtDestroyEvent(wrong_events[i]), 107017);
        WANT(aclrtRecordEvent(wrong_events[i], stream), 107017);
        WANT(aclrtStreamWaitEvent(stream, wrong_events[i]), 107017);
        WANT(aclrtQueryEventStatus(wrong_events[i], &recorded), 107017);
        WANT(aclrtSynchronizeEvent(wrong_events[i]), 107017);
        WANT(aclrtEventElapsedTime(&ms, wrong_events[i], event), 107017);
        WANT(aclrtEventElapsedTime(&ms, event, wrong_events[i]), 107017);
    }
    WANT(aclrtDestroyStream(NULL), 100000);
    WANT(aclrtDestroyEvent(NULL), 100000);
    WANT(aclrtRecordEvent(NULL, stream), 100000);
    WANT(aclrtStreamQuery(stream, NULL), 100000);
    WANT(aclrtQueryEventStatus(event, NULL), 100000);
    WANT(aclrtEventElapsedTime(NULL, event, event), 100000);
    WANT(aclrtSynchronizeStreamWithTimeout(stream, 0), 107000);
    WANT(aclrtSynchronizeStreamWithTimeout(stream, -2), 107000);
    WANT(aclrtDestroyContext(NULL), 100000);
    WANT(aclrtDestroyContext(GARBAGE), 107002);
    WANT(aclrtSetCurrentContext(NULL), 100000);
    WANT(aclrtSetCurrentContext(GARBAGE), 107000);
    WANT(aclrtSetCurrentContext(stream), 107000);
    WANT(aclrtGetCurrentContext(NULL), 100000);

    WANT(aclrtMemcpy(NULL, 0, NULL, 0, ACL_MEMCPY_HOST_TO_DEVICE), 0);
    WANT(aclrtMemcpy(NULL, 64, bytes, 64, ACL_MEMCPY_HOST_TO_DEVICE), 100000);
    WANT(aclrtMemcpy(memory, 63, bytes, 64, ACL_MEMCPY_HOST_TO_DEVICE), 107000);
    WANT(aclrtMemcpy(memory, 64, bytes, 64, (aclrtMemcpyKind)6), 100000);
    WANT(aclrtMemset(NULL, 64, 0, 64), 100000);
    WANT(aclrtFree(NULL), 100000);
    WANT(aclrtFreeHost(NULL), 100000);
    WANT(aclrtFreeHost(memory), 107000);
    WANT(aclrtPeekAtLastError((aclrtLastErrLevel)7), 100000);

    /* host addresses where there is nothing: an error, never a fault of the program */
    long bad = aclrtMemcpy(memory, 64, SMALL, 64, ACL_MEMCPY_HOST_TO_DEVICE);
    WANT(bad != 0, 1);
    bad = aclrtMemcpy(SMALL, 64, memory, 64, ACL_MEMCPY_DEVICE_TO_HOST);
    WANT(bad != 0, 1);
    bad = aclrtMemcpy(memory, 4096, GARBAGE, 4096, ACL_MEMCPY_HOST_TO_DEVICE);
    WANT(bad != 0, 1);
    WANT(aclrtFree(GARBAGE) != 0, 1);
    WANT(aclrtFree((char *)memory + 64) != 0, 1);

    /* nothing of that changed anything */
    WANT(aclrtGetLastError(ACL_RT_THREAD_LEVEL) != 0, 1);
    WANT(aclrtPeekAtLastError(ACL_RT_THREAD_LEVEL), 0);
    memset(bytes, 7, sizeof bytes);
    WANT(aclrtMemcpy(memory, 4096, bytes, 64, ACL_MEMCPY_HOST_TO_DEVICE), 0);
    WANT(aclrtRecordEvent(event, stream), 0);
    WANT(aclrtSynchronizeEvent(event), 0);
    WANT(aclrtQueryEventStatus(event, &recorded), 0);
    WANT(recorded, ACL_EVENT_RECORDED_STATUS_COMPLETE);
    memset(bytes, 0, sizeof bytes);
    WANT(aclrtMemcpy(bytes, 64, memory, 64, ACL_MEMCPY_DEVICE_TO_HOST), 0);
    WANT(bytes[63], 7);
    WANT(aclrtGetDeviceCount(&count), 0);
    WANT(aclrtFreeHost(pinned), 0);
    WANT(aclrtFree(memory), 0);
    WANT(aclrtFree(memory) != 0, 1);
    WANT(aclrtDestroyEvent(event), 0);
    WANT(aclrtDestroyStream(stream), 0);
    WANT(aclrtResetDevice(0), 0);
    WANT(aclrtResetDevice(0), 507007);
    return failures != 0;
}
