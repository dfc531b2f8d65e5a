/* What must not grow: with the number of calls, with what is live, with who waits. */
#include "workload.h"
#include <sys/resource.h>

void measure_many(char **numbers)
{
    long batches = atol(numbers[0]) / BATCH, edge = batches / 10;
    double *costs = calloc((size_t)edge + 1, sizeof *costs);
    struct objects o = make_objects();
    double begin = now();
    print_memory("memory/begin", "VmRSS");
    for (long i = 0; i < batches; i++) {
        double start = now();
        for (int k = 0; k < BATCH; k++)
            MUST(aclrtRecordEvent(o.event, o.stream));
        costs[i % edge] = (now() - start) / BATCH;
        if (i == edge - 1)
            printf("first_tenth %.1f\n", median(costs, (int)edge));
    }
    printf("last_tenth %.1f\nmean %.1f\ncalls %ld\n", median(costs, (int)edge), (now() - begin) / (double)(batches * BATCH),
           batches * BATCH);
    print_memory("memory/end", "VmRSS");
    free(costs);
}

struct waiter {
    pthread_t id;
    aclrtStream stream;
    double woken;
};

static pthread_barrier_t line;

static void *wait_for_stream(void *argument)
{
    struct waiter *waiter = argument;
    MUST(aclrtSetCurrentContext(context));
    for (;;) {
        pthread_barrier_wait(&line); /* the stream is held from here on */
        if (waiter->stream == NULL)
            return NULL;
        MUST(aclrtSynchronizeStream(waiter->stream));
        waiter->woken = now();
        pthread_barrier_wait(&line);
    }
}

static void sleep_ms(long milliseconds)
{
    struct timespec time = { milliseconds / 1000, milliseconds % 1000 * 1000000 };
    nanosleep(&time, NULL);
}

static double processor_time(void)
{
    struct rusage used;
    getrusage(RUSAGE_SELF, &used);
    return (double)(used.ru_utime.tv_sec + used.ru_stime.tv_sec) * 1e9 + (double)(used.ru_utime.tv_usec + used.ru_stime.tv_usec) * 1e3;
}

static void start_waiters(struct waiter *waiters, int count)
{
    pthread_barrier_init(&line, NULL, (unsigned)count + 1);
    for (int i = 0; i < count; i++) {
        MUST(aclrtCreateStream(&waiters[i].stream));
        MUST(pthread_create(&waiters[i].id, NULL, wait_for_stream, &waiters[i]));
    }
}

/* Has all of them wait for one event, which is returned; they are back at the barrier when it was recorded. */
static aclrtEvent hold(struct waiter *waiters, int count)
{
    aclrtEvent gate;
    MUST(aclrtCreateEventWithFlag(&gate, ACL_EVENT_SYNC));
    for (int i = 0; i < count; i++)
        MUST(aclrtStreamWaitEvent(waiters[i].stream, gate));
    pthread_barrier_wait(&line);
    sleep_ms(20);
    return gate;
}

static void end_waiters(struct waiter *waiters, int count)
{
    for (int i = 0; i < count; i++)
        waiters[i].stream = NULL;
    pthread_barrier_wait(&line);
    for (int i = 0; i < count; i++)
        MUST(pthread_join(waiters[i].id, NULL));
}

/* Every call is made on another event and goes round all of them, so that caches count too. */
void measure_live(char **numbers)
{
    enum { BATCHES = 500 };
    int events = atoi(numbers[0]), allocations = atoi(numbers[1]), waiting = atoi(numbers[2]);
    struct waiter *waiters = calloc((size_t)waiting + 1, sizeof *waiters);
    aclrtEvent gate = NULL;
    aclrtEvent *live = calloc((size_t)events, sizeof *live);
    static double records[BATCHES], queries[BATCHES], pairs[BATCHES];
    struct objects o = make_objects();
    for (int i = 0; i < events; i++) {
        MUST(aclrtCreateEvent(&live[i]));
        MUST(aclrtRecordEvent(live[i], o.stream));
    }
    for (int i = 0; i < allocations; i++) {
        void *block;
        MUST(aclrtMalloc(&block, (size_t)512 << i % 8, ACL_MEM_MALLOC_HUGE_FIRST));
    }
    MUST(aclrtSynchronizeStream(o.stream));
    if (waiting > 0) {
        start_waiters(waiters, waiting);
        gate = hold(waiters, waiting);
    }
    unsigned at = 0;
    for (int i = 0; i < BATCHES; i++) {
        double start = now();
        for (int k = 0; k < BATCH; k++)
            MUST(aclrtRecordEvent(live[at++ % (unsigned)events], o.stream));
        records[i] = (now() - start) / BATCH;
        MUST(aclrtSynchronizeStream(o.stream));
        start = now();
        for (int k = 0; k < BATCH; k++) {
            aclrtEventRecordedStatus status;
            MUST(aclrtQueryEventStatus(live[at++ % (unsigned)events], &status));
        }
        queries[i] = (now() - start) / BATCH;
        start = now();
        for (int k = 0; k < BATCH / 2; k++) {
            void *block;
            MUST(aclrtMalloc(&block, 4096, ACL_MEM_MALLOC_HUGE_FIRST));
            MUST(aclrtFree(block));
        }
        pairs[i] = (now() - start) / BATCH;
    }
    printf("record %.1f\nquery %.1f\nallocation %.1f\n", median(records, BATCHES), median(queries, BATCHES),
           median(pairs, BATCHES));
    if (waiting > 0) {
        MUST(aclrtRecordEvent(gate, o.stream));
        pthread_barrier_wait(&line);
        end_waiters(waiters, waiting);
    }
    free(waiters);
}

/* Which block is freed, and a new one made in its place, is random: as in a program that has run for a while. */
void measure_allocations(char **numbers)
{
    enum { BATCHES = 500 };
    static double pairs[BATCHES];
    unsigned count = (unsigned)atoi(numbers[0]), state = 1;
    void **blocks = calloc(count, sizeof *blocks);
    for (unsigned i = 0; i < count; i++)
        MUST(aclrtMalloc(&blocks[i], (size_t)512 << i % 8, ACL_MEM_MALLOC_HUGE_FIRST));
    for (int i = 0; i < BATCHES; i++) {
        double start = now();
        for (int k = 0; k < BATCH; k++) {
            state = state * 1103515245 + 12345;
            unsigned at = (state >> 8) % count;
            MUST(aclrtFree(blocks[at]));
            MUST(aclrtMalloc(&blocks[at], (size_t)512 << (state >> 28) % 8, ACL_MEM_MALLOC_HUGE_FIRST));
        }
        pairs[i] = (now() - start) / BATCH;
    }
    printf("pair %.1f\n", median(pairs, BATCHES));
    free(blocks);
}

void measure_waiting(char **numbers)
{
    int milliseconds = atoi(numbers[0]);
    struct waiter waiter = { 0 };
    struct objects o = make_objects();
    start_waiters(&waiter, 1);
    aclrtEvent gate = hold(&waiter, 1);
    sleep_ms(200); /* until what its call set going is over */
    double before = processor_time();
    sleep_ms(milliseconds);
    printf("waiting/processor %.0f\n", processor_time() - before);
    MUST(aclrtRecordEvent(gate, o.stream));
    pthread_barrier_wait(&line);
    end_waiters(&waiter, 1);
}

void measure_wake(char **numbers)
{
    int count = atoi(numbers[0]), rounds = atoi(numbers[1]);
    struct waiter *waiters = calloc((size_t)count, sizeof *waiters);
    double *last = calloc((size_t)rounds, sizeof *last), *whole = calloc((size_t)rounds, sizeof *whole);
    struct objects o = make_objects();
    start_waiters(waiters, count);
    for (int round = 0; round < rounds; round++) {
        aclrtEvent gate = hold(waiters, count);
        double start = now();
        MUST(aclrtRecordEvent(gate, o.stream));
        double released = now();
        pthread_barrier_wait(&line);
        for (int i = 0; i < count; i++) {
            if (waiters[i].woken - released > last[round])
                last[round] = waiters[i].woken - released;
            if (waiters[i].woken - start > whole[round])
                whole[round] = waiters[i].woken - start;
        }
        MUST(aclrtSynchronizeDevice());
        MUST(aclrtDestroyEvent(gate));
    }
    printf("wake/last %.0f\nwake/whole %.0f\n", median(last, rounds), median(whole, rounds));
    end_waiters(waiters, count);
}
