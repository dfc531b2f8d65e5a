/* Many threads call at once, more than there are cores: argument 1 threads, argument 2 calls each. Some of them wait for
 * what another one records, so that calls that sleep and calls that do not are mixed. */
#include "host.h"

static aclrtContext context;
static int count;
static pthread_barrier_t line;

struct pair {
    aclrtStream stream;
    aclrtEvent gate;
};

static void *call(void *argument)
{
    struct pair *mine = argument;
    aclrtEvent event;
    MUST(aclrtSetCurrentContext(context));
    MUST(aclrtCreateEvent(&event));
    pthread_barrier_wait(&line);
    for (int i = 0; i < count; i++) {
        MUST(aclrtRecordEvent(event, mine->stream));
        if (i % 1000 == 999)
            MUST(aclrtSynchronizeStream(mine->stream));
    }
    MUST(aclrtDestroyEvent(event));
    return NULL;
}

static void *wait_for_gate(void *argument)
{
    struct pair *mine = argument;
    MUST(aclrtSetCurrentContext(context));
    pthread_barrier_wait(&line);
    MUST(aclrtSynchronizeStream(mine->stream)); /* held by the gate until the main thread opens it */
    return NULL;
}

int main(int argc, char **argv)
{
    enum { MOST = 64 };
    int threads = argc > 1 ? atoi(argv[1]) : 8;
    struct pair pairs[MOST];
    pthread_t callers[MOST], sleepers[MOST];
    aclrtStream opener;
    if (threads > MOST)
        return 2;
    count = argc > 2 ? atoi(argv[2]) : 10000;
    alarm(100);
    MUST(aclrtSetDevice(0));
    MUST(aclrtGetCurrentContext(&context));
    MUST(aclrtCreateStream(&opener));
    pthread_barrier_init(&line, NULL, 2 * (unsigned)threads + 1);
    for (int i = 0; i < threads; i++) {
        struct pair *held = &pairs[i];
        MUST(aclrtCreateStream(&held->stream));
        MUST(aclrtCreateEventWithFlag(&held->gate, ACL_EVENT_SYNC));
        MUST(aclrtStreamWaitEvent(held->stream, held->gate));
        MUST(pthread_create(&callers[i], NULL, call, held));
        MUST(pthread_create(&sleepers[i], NULL, wait_for_gate, held));
    }
    pthread_barrier_wait(&line);
    for (int i = 0; i < threads; i++)
        MUST(aclrtRecordEvent(pairs[i].gate, opener));
    for (int i = 0; i < threads; i++) {
        MUST(pthread_join(callers[i], NULL));
        MUST(pthread_join(sleepers[i], NULL));
    }
    printf("%d\n", threads * count);
    return failures != 0;
}
