/* Two streams share one device buffer: `copy` fills it from the host, `work` reads it back.
 *
 *   pipeline            `work` waits for an event that `copy` records: always right
 *   pipeline --no-wait  the wait is missing: right on a lucky day, wrong when the device takes its time
 *
 * Exit status 0 when the data arrived, 1 when it did not. */
#include <stdio.h>
#include <string.h>

#include "acl/acl.h"

enum { BYTES = 1 << 16 };

#define CHECK(call)                                                                  \
    do {                                                                             \
        aclError code = (call);                                                      \
        if (code != ACL_SUCCESS) {                                                   \
            fprintf(stderr, "%s: %d: %s\n", #call, code, aclGetRecentErrMsg());      \
            return 2;                                                                \
        }                                                                            \
    } while (0)

int main(int argc, char **argv)
{
    int wait = argc < 2 || strcmp(argv[1], "--no-wait") != 0;
    aclrtStream copy, work;
    aclrtEvent filled;
    void *device;
    unsigned char *in, *out;
    unsigned long sum = 0;

    CHECK(aclInit(NULL));
    CHECK(aclrtSetDevice(0));
    CHECK(aclrtCreateStream(&copy));
    CHECK(aclrtCreateStream(&work));
    CHECK(aclrtCreateEventWithFlag(&filled, ACL_EVENT_SYNC));
    CHECK(aclrtMalloc(&device, BYTES, ACL_MEM_MALLOC_HUGE_FIRST));
    CHECK(aclrtMallocHost((void **)&in, BYTES));
    CHECK(aclrtMallocHost((void **)&out, BYTES));
    memset(in, 7, BYTES);
    memset(out, 0, BYTES);

    CHECK(aclrtMemcpyAsync(device, BYTES, in, BYTES, ACL_MEMCPY_HOST_TO_DEVICE, copy));
    CHECK(aclrtRecordEvent(filled, copy));
    if (wait)
        CHECK(aclrtStreamWaitEvent(work, filled));
    CHECK(aclrtMemcpyAsync(out, BYTES, device, BYTES, ACL_MEMCPY_DEVICE_TO_HOST, work));
    CHECK(aclrtSynchronizeStream(work));
    for (int i = 0; i < BYTES; i++)
        sum += out[i];

    CHECK(aclrtSynchronizeDevice());
    CHECK(aclrtDestroyEvent(filled));
    CHECK(aclrtDestroyStream(work));
    CHECK(aclrtDestroyStream(copy));
    CHECK(aclrtFree(device));
    CHECK(aclrtFreeHost(in));
    CHECK(aclrtFreeHost(out));
    CHECK(aclrtResetDevice(0));
    CHECK(aclFinalize());

    printf("pipeline: %lu of %lu arrived\n", sum / 7, (unsigned long)BYTES);
    return sum != 7ul * BYTES;
}
