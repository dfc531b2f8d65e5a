/* A training-like loop: copies, records, waits, queries and synchronises over four streams, with failures in between. */
#include "host.h"

int main(int argc, char **argv)
{
    enum { STREAMS = 4, SIZE = 8192 };
    int rounds = argc > 1 ? atoi(argv[1]) : 50;
    aclrtStream streams[STREAMS];
    aclrtEvent events[STREAMS];
    void *device[STREAMS];
    unsigned char *pinned[STREAMS], plain[SIZE];
    aclrtEventRecordedStatus recorded;
    aclrtStreamStatus status;
    float ms;
    size_t available, total;
    MUST(aclrtSetDevice(0));
    for (int s = 0; s < STREAMS; s++) {
        MUST(aclrtCreateStream(&streams[s]));
        MUST(s % 2 ? aclrtCreateEvent(&events[s]) : aclrtCreateEventExWithFlag(&events[s], ACL_EVENT_SYNC | ACL_EVENT_TIME_LINE));
        MUST(aclrtMalloc(&device[s], SIZE, ACL_MEM_MALLOC_HUGE_FIRST));
        MUST(aclrtMallocHost((void **)&pinned[s], SIZE));
    }
    for (int i = 0; i < rounds; i++)
        for (int s = 0; s < STREAMS; s++) {
            int next = (s + 1) % STREAMS;
            memset(pinned[s], i + s, SIZE);
            MUST(aclrtMemcpyAsync(device[s], SIZE, pinned[s], SIZE, ACL_MEMCPY_HOST_TO_DEVICE, streams[s]));
            MUST(aclrtRecordEvent(events[s], streams[s]));
            MUST(aclrtStreamWaitEvent(streams[next], events[s]));
            MUST(aclrtMemcpyAsync(device[next], SIZE, device[s], SIZE, ACL_MEMCPY_DEVICE_TO_DEVICE, streams[next]));
            MUST(aclrtQueryEventStatus(events[s], &recorded));
            MUST(aclrtStreamQuery(streams[next], &status));
            MUST(aclrtSynchronizeStream(streams[next]));
            MUST(aclrtMemcpy(plain, SIZE, device[next], SIZE, ACL_MEMCPY_DEVICE_TO_HOST));
            WANT(plain[SIZE - 1], (unsigned char)(i + s));
            WANT(aclrtRecordEvent(NULL, streams[s]), 100000);
            MUST(aclrtSynchronizeEvent(events[s]));
            MUST(aclrtEventElapsedTime(&ms, events[s], events[s]));
            MUST(aclrtGetMemInfo(ACL_HBM_MEM, &available, &total));
        }
    MUST(aclrtSynchronizeDevice());
    for (int s = 0; s < STREAMS; s++) {
        MUST(aclrtDestroyEvent(events[s]));
        MUST(aclrtDestroyStream(streams[s]));
        MUST(aclrtFree(device[s]));
        MUST(aclrtFreeHost(pinned[s]));
    }
    MUST(aclrtResetDevice(0));
    return failures != 0;
}
