/* Forks while other threads are in the runtime. Each child: no context, inherited handles are stale, its own work is
 * fine, and it ends. The parent's state is as before. */
#include "host.h"

static volatile int stop;
static aclrtStream stream;
static void *memory;

static aclrtContext context;

static void *call(void *event)
{
    WANT(aclrtSetCurrentContext(context), 0);
    while (!stop)
        WANT(aclrtRecordEvent(event, stream), 0);
    return NULL;
}

static int child(void)
{
    int32_t device = -1;
    aclrtStream own = NULL;
    void *block = NULL;
    char byte = 0, one = 1;
    WANT(aclrtGetDevice(&device), 107002);
    WANT(aclrtDestroyStream(stream), 107017);
    WANT(aclrtSetDevice(0), 0);
    WANT(aclrtCreateStream(&own), 0);
    WANT(own != stream, 1);
    WANT(aclrtSynchronizeStream(stream), 107017);
    WANT(aclrtMalloc(&block, 4096, ACL_MEM_MALLOC_HUGE_FIRST), 0);
    WANT(aclrtMemset(block, 4096, 9, 4096), 0);
    WANT(aclrtMemcpy(&byte, 1, block, 1, ACL_MEMCPY_DEVICE_TO_HOST), 0);
    WANT(byte, 9);
    WANT(aclrtMemcpy(block, 1, &one, 1, ACL_MEMCPY_HOST_TO_DEVICE), 0);
    WANT(aclrtDestroyStream(own), 0);
    return failures != 0;
}

int main(void)
{
    enum { CALLERS = 3, CHILDREN = 20 };
    pthread_t threads[CALLERS];
    aclrtEvent events[CALLERS];
    unsigned char byte = 0;
    alarm(100);
    MUST(aclrtSetDevice(0));
    MUST(aclrtCreateStream(&stream));
    MUST(aclrtMalloc(&memory, 4096, ACL_MEM_MALLOC_HUGE_FIRST));
    MUST(aclrtMemset(memory, 4096, 0x5a, 4096));
    for (int i = 0; i < CALLERS; i++) {
        MUST(aclrtCreateEvent(&events[i]));
    }
    MUST(aclrtGetCurrentContext(&context)); /* for the other threads, which have none of their own */
    for (int i = 0; i < CALLERS; i++)
        MUST(pthread_create(&threads[i], NULL, call, events[i]));
    for (int i = 0; i < CHILDREN; i++) {
        int status = -1;
        pid_t pid = fork();
        if (pid == 0) {
            alarm(60);
            failures = 0;
            _exit(child());
        }
        MUST(pid < 0);
        waitpid(pid, &status, 0);
        WANT(status, 0);
    }
    stop = 1;
    for (int i = 0; i < CALLERS; i++)
        MUST(pthread_join(threads[i], NULL));
    WANT(aclrtMemcpy(&byte, 1, memory, 1, ACL_MEMCPY_DEVICE_TO_HOST), 0);
    WANT(byte, 0x5a);
    WANT(aclrtSynchronizeStream(stream), 0);
    printf("%d children\n", CHILDREN);
    return failures != 0;
}
