/* Makes calls, and then ends in the way that argument 2 says; argument 1 is a file that says after each call how many
 * have returned, argument 3 after how many to end. Every fourth call gives the device new bytes. */
#include "host.h"

#include <errno.h>
#include <fcntl.h>
#include <sys/mman.h>

enum { SIZE = 8192 };

static volatile uint64_t *shared; /* 0: calls that returned, 1: set by the test when the program may go on */

static void go_on(void)
{
    struct timespec pause = {0, 1000000};
    while (shared[1] == 0)
        nanosleep(&pause, NULL);
}

static void work(uint64_t calls)
{
    static char content[SIZE];
    aclrtStream stream;
    aclrtEvent event;
    void *memory;
    MUST(aclrtSetDevice(0));
    shared[0]++;
    MUST(aclrtCreateStream(&stream));
    shared[0]++;
    MUST(aclrtCreateEvent(&event));
    shared[0]++;
    MUST(aclrtMalloc(&memory, SIZE, ACL_MEM_MALLOC_HUGE_FIRST));
    shared[0]++;
    while (shared[0] < calls) {
        if (shared[0] % 4 == 0) {
            memcpy(content, (const void *)&shared[0], sizeof shared[0]);
            MUST(aclrtMemcpy(memory, SIZE, content, SIZE, ACL_MEMCPY_HOST_TO_DEVICE));
        } else {
            MUST(aclrtRecordEvent(event, stream));
        }
        shared[0]++;
    }
}

int main(int argc, char **argv)
{
    if (argc < 4)
        return 2;
    const char *fault = argv[2];
    uint64_t calls = strtoull(argv[3], NULL, 10);
    int file = open(argv[1], O_RDWR | O_CREAT, 0600);
    if (file < 0 || ftruncate(file, 4096) != 0)
        return 2;
    shared = mmap(NULL, 4096, PROT_READ | PROT_WRITE, MAP_SHARED, file, 0);
    if (shared == MAP_FAILED)
        return 2;
    if (strcmp(fault, "deleted") == 0) {
        work(5);
        go_on();
    }
    work(calls);
    if (strcmp(fault, "segv") == 0)
        *(volatile int *)0 = 0;
    else if (strcmp(fault, "abort") == 0)
        abort();
    else if (strcmp(fault, "_exit") == 0)
        _exit(7);
    else if (strcmp(fault, "exec") == 0)
        execl("/bin/true", "true", (char *)NULL);
    else if (strcmp(fault, "waits") == 0) {
        aclrtStream stream;
        aclrtNotify notify;
        MUST(aclrtCreateNotify(&notify, 0));
        shared[0]++;
        MUST(aclrtCreateStream(&stream));
        shared[0]++;
        MUST(aclrtWaitAndResetNotify(notify, stream, 0));
        shared[0]++;
        aclrtSynchronizeStream(stream); /* for ever */
    }
    puts("done");
    return 0;
}
