/* Waits for the device without calling the runtime: spins on a byte in pinned memory that a queued copy will write.
 * Argument 1: how many rounds. */
#include "host.h"

int main(int argc, char **argv)
{
    int rounds = argc > 1 ? atoi(argv[1]) : 1;
    aclrtStream stream;
    void *device;
    volatile unsigned char *flag;
    alarm(60);
    MUST(aclrtSetDevice(0));
    MUST(aclrtCreateStream(&stream));
    MUST(aclrtMalloc(&device, 1 << 20, ACL_MEM_MALLOC_HUGE_FIRST));
    MUST(aclrtMallocHost((void **)&flag, 1 << 20));
    for (int i = 1; i <= rounds; i++) {
        MUST(aclrtMemset(device, 1 << 20, i, 1 << 20));
        MUST(aclrtMemcpyAsync((void *)flag, 1 << 20, device, 1 << 20, ACL_MEMCPY_DEVICE_TO_HOST, stream));
        while (flag[(1 << 20) - 1] != i)
            ; /* nobody calls: only the pacer can run the copy */
    }
    MUST(aclrtSynchronizeStream(stream));
    printf("%d rounds\n", rounds);
    return 0;
}
