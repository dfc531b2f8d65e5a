/* A thread waits for a stream that is held by an event; another one records the event behind a copy that takes time, and
 * then makes no further call until the first came back: only the passing of device time can release it. */
#include "host.h"

static aclrtContext context;
static aclrtStream held;
static volatile int released;

static void *wait_for_stream(void *unused)
{
    (void)unused;
    MUST(aclrtSetCurrentContext(context));
    WANT(aclrtSynchronizeStream(held), 0);
    released = 1;
    return NULL;
}

int main(void)
{
    enum { SIZE = 64 << 20 };
    aclrtStream worker;
    aclrtEvent gate;
    void *device, *other;
    pthread_t thread;
    aclrtStreamStatus status = ACL_STREAM_STATUS_COMPLETE;
    alarm(60);
    MUST(aclrtSetDevice(0));
    MUST(aclrtGetCurrentContext(&context));
    MUST(aclrtCreateStream(&held));
    MUST(aclrtCreateStream(&worker));
    MUST(aclrtMalloc(&device, SIZE, ACL_MEM_MALLOC_HUGE_FIRST));
    MUST(aclrtMalloc(&other, SIZE, ACL_MEM_MALLOC_HUGE_FIRST));
    MUST(aclrtCreateEventWithFlag(&gate, ACL_EVENT_SYNC));
    MUST(aclrtStreamWaitEvent(held, gate));
    MUST(pthread_create(&thread, NULL, wait_for_stream, NULL));
    while (aclrtStreamQuery(held, &status) == 0 && status == ACL_STREAM_STATUS_COMPLETE)
        ;
    MUST(aclrtMemcpyAsync(other, SIZE, device, SIZE, ACL_MEMCPY_DEVICE_TO_DEVICE, worker));
    MUST(aclrtRecordEvent(gate, worker));
    while (!released)
        ; /* no call */
    MUST(pthread_join(thread, NULL));
    printf("released\n");
    return failures != 0;
}
