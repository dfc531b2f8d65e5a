/* flight CALLS MODE: makes so many calls, then what the mode says, then as many again: "error" makes one that is refused,
 * "named" one of another function, "signal" says "ready" and waits for a line, "fork" does the rest in a child too,
 * "outlived" leaves a child behind that waits for a line. */
#include "host.h"

static void work(int calls)
{
    static char content[2048];
    static uint64_t number;
    aclrtStream stream;
    aclrtEvent event;
    void *memory;
    MUST(aclrtSetDevice(0));
    MUST(aclrtCreateStream(&stream));
    MUST(aclrtCreateEvent(&event));
    MUST(aclrtMalloc(&memory, sizeof content, ACL_MEM_MALLOC_HUGE_FIRST));
    for (int i = 0; i < calls; i++) {
        if (i % 8 == 0) {
            number++;
            memcpy(content, &number, sizeof number);
            MUST(aclrtMemcpy(memory, sizeof content, content, sizeof content, ACL_MEMCPY_HOST_TO_DEVICE));
        } else {
            MUST(aclrtRecordEvent(event, stream));
        }
    }
    MUST(aclrtFree(memory));
}

int main(int argc, char **argv)
{
    if (argc < 3)
        return 2;
    int calls = atoi(argv[1]);
    work(calls);
    if (strcmp(argv[2], "error") == 0) {
        WANT(aclrtFree((void *)0x1234), 507899);
    } else if (strcmp(argv[2], "named") == 0) {
        int32_t device;
        MUST(aclrtGetDevice(&device));
    } else if (strcmp(argv[2], "signal") == 0) {
        puts("ready");
        fflush(stdout);
        getchar();
    } else if (strcmp(argv[2], "fork") == 0 && fork() == 0) {
        work(calls);
        return 0;
    } else if (strcmp(argv[2], "outlived") == 0 && fork() == 0) {
        getchar();
        return 0;
    }
    work(calls);
    if (strcmp(argv[2], "fork") == 0)
        wait(NULL);
    puts("done");
    return failures;
}
