/* Four threads on two devices, which race for addresses, object numbers and time, then two forked processes; all of it is
 * synchronised, so that two runs do the same. Arguments: rounds, and a round in which one thread records an event once more
 * (0: none). */
#include "host.h"

#include <sched.h>
#include <sys/wait.h>

static int rounds;
static int once_more;

static void *work(void *argument)
{
    long number = (long)argument;
    unsigned seed = (unsigned)(getpid() + number);
    size_t size = 1 << 16;
    char *pageable = malloc(size + (size_t)number);
    aclrtStream stream;
    aclrtEvent event;
    void *device, *pinned;
    MUST(aclrtSetDevice((int)number % 2));
    MUST(aclrtCreateStream(&stream));
    MUST(aclrtCreateEvent(&event));
    MUST(aclrtMalloc(&device, size, ACL_MEM_MALLOC_HUGE_FIRST));
    MUST(aclrtMallocHost(&pinned, size));
    MUST(aclrtMemset(device, size, 0, size)); /* it may have been another thread's memory before */
    memset(pinned, (int)number, size);
    for (int round = 1; round <= rounds; round++) {
        aclrtEventRecordedStatus status;
        for (int turns = rand_r(&seed) % 8; turns > 0; turns--)
            sched_yield();
        ((int *)pinned)[0] = round;
        MUST(aclrtMemcpyAsync(device, size, pinned, 128 + (size_t)round % 5, ACL_MEMCPY_HOST_TO_DEVICE, stream));
        MUST(aclrtRecordEvent(event, stream));
        if (round == once_more && number == 2)
            MUST(aclrtRecordEvent(event, stream));
        do
            MUST(aclrtQueryEventStatus(event, &status));
        while (status != ACL_EVENT_RECORDED_STATUS_COMPLETE);
        if (round % 3 == 0)
            MUST(aclrtMemcpy(pageable, size, device, 1000, ACL_MEMCPY_DEVICE_TO_HOST));
        if (round % 5 == 0) {
            void *passing;
            aclrtEvent other;
            MUST(aclrtMalloc(&passing, 4096 + (size_t)round, ACL_MEM_MALLOC_HUGE_FIRST));
            MUST(aclrtMemset(passing, 4096, round & 255, 100));
            MUST(aclrtFree(passing));
            MUST(aclrtCreateEvent(&other));
            MUST(aclrtRecordEvent(other, stream));
            MUST(aclrtSynchronizeEvent(other));
            MUST(aclrtDestroyEvent(other));
        }
        MUST(aclrtSynchronizeStream(stream));
    }
    MUST(aclrtDestroyStream(stream));
    MUST(aclrtDestroyEvent(event));
    MUST(aclrtFree(device));
    MUST(aclrtFreeHost(pinned));
    free(pageable);
    return NULL;
}

int main(int argc, char **argv)
{
    pthread_t threads[4];
    rounds = argc > 1 ? atoi(argv[1]) : 100;
    once_more = argc > 2 ? atoi(argv[2]) : 0;
    MUST(aclInit(NULL));
    MUST(aclrtSetDevice(0));
    for (long number = 0; number < 4; number++)
        MUST(pthread_create(&threads[number], NULL, work, (void *)number));
    for (int number = 0; number < 4; number++)
        MUST(pthread_join(threads[number], NULL));
    for (int device = 0; device < 2; device++) {
        if (fork() == 0) {
            void *memory;
            MUST(aclInit(NULL));
            MUST(aclrtSetDevice(device));
            MUST(aclrtMalloc(&memory, (size_t)100 << device, ACL_MEM_MALLOC_HUGE_FIRST));
            MUST(aclrtFree(memory));
            _exit(failures != 0);
        }
    }
    while (wait(NULL) > 0)
        ;
    MUST(aclrtResetDevice(0));
    MUST(aclFinalize());
    return failures != 0;
}
