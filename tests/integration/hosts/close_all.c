/* Closes all descriptors above standard error after its first calls, as daemons do, opens files of its own under their
 * numbers (argument 1), and goes on with calls whose bytes are recorded. */
#include "host.h"

#include <fcntl.h>

int main(int argc, char **argv)
{
    enum { SIZE = 4096 };
    static unsigned char bytes[SIZE], back[SIZE];
    void *device;
    int files[64];
    if (argc < 2)
        return 2;
    MUST(aclrtSetDevice(0));
    MUST(aclrtMalloc(&device, SIZE, ACL_MEM_MALLOC_HUGE_FIRST));
    memset(bytes, 1, SIZE);
    MUST(aclrtMemcpy(device, SIZE, bytes, SIZE, ACL_MEMCPY_HOST_TO_DEVICE));
    for (int fd = 3; fd < 4096; fd++)
        close(fd);
    for (int i = 0; i < 64; i++) /* low numbers, and those up to where a library may have put its own */
        files[i] = open(argv[1], O_RDWR | O_CREAT, 0600);
    for (int fd = 850; fd < 1000; fd++)
        if (dup2(files[0], fd) != fd)
            break;
    for (int i = 0; i < 512; i++)
        if (pwrite(files[i % 64], "mine", 4, 4 * i) != 4)
            return 4;
    for (int round = 2; round < 50; round++) {
        memset(bytes, round, SIZE);
        MUST(aclrtMemcpy(device, SIZE, bytes, SIZE, ACL_MEMCPY_HOST_TO_DEVICE));
        MUST(aclrtMemcpy(back, SIZE, device, SIZE, ACL_MEMCPY_DEVICE_TO_HOST));
        WANT(memcmp(bytes, back, SIZE), 0);
    }
    return failures != 0;
}
