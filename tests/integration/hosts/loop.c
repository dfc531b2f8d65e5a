/* Calls in a loop until it is killed; after each completed call it says so in a shared file (argument 1) that survives. */
#include "host.h"

#include <fcntl.h>
#include <sys/mman.h>

int main(int argc, char **argv)
{
    aclrtStream stream;
    aclrtEvent event;
    if (argc < 2)
        return 2;
    int file = open(argv[1], O_RDWR | O_CREAT, 0600);
    if (file < 0 || ftruncate(file, 4096) != 0)
        return 2;
    volatile uint64_t *completed = mmap(NULL, 4096, PROT_READ | PROT_WRITE, MAP_SHARED, file, 0);
    MUST(aclrtSetDevice(0));
    *completed = 1;
    MUST(aclrtCreateStream(&stream));
    *completed = 2;
    MUST(aclrtCreateEvent(&event));
    *completed = 3;
    for (;;) {
        MUST(aclrtRecordEvent(event, stream));
        ++*completed;
    }
}
