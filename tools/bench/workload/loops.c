/* The loops that every tool runs: records, queries, and a training-like mix. */
#include "workload.h"

static void print_loop(double *costs, int batches, double total, double calls)
{
    printf("median %.1f\nmean %.1f\ncalls %.0f\n", median(costs, batches), total / calls, calls);
}

void measure_record(char **numbers)
{
    int batches = atoi(numbers[0]) / BATCH;
    double *costs = calloc((size_t)batches, sizeof *costs), begin = now();
    struct objects o = make_objects();
    for (int i = 0; i < batches; i++) {
        double start = now();
        for (int k = 0; k < BATCH; k++)
            MUST(aclrtRecordEvent(o.event, o.stream));
        costs[i] = (now() - start) / BATCH;
    }
    print_loop(costs, batches, now() - begin, (double)batches * BATCH);
    free(costs);
}

void measure_queries(char **numbers)
{
    int batches = atoi(numbers[0]) / BATCH;
    double *costs = calloc((size_t)batches, sizeof *costs), begin = now();
    struct objects o = make_objects();
    for (int i = 0; i < batches; i++) {
        double start = now();
        for (int k = 0; k < BATCH / 4; k++) {
            int32_t device;
            aclrtEventRecordedStatus recorded;
            aclrtStreamStatus status;
            MUST(aclrtGetDevice(&device));
            MUST(aclrtQueryEventStatus(o.event, &recorded));
            MUST(aclrtStreamQuery(o.stream, &status));
            MUST(aclrtQueryEventStatus(o.event, &recorded));
        }
        costs[i] = (now() - start) / BATCH;
    }
    print_loop(costs, batches, now() - begin, (double)batches * BATCH);
    free(costs);
}

enum { STREAMS = 4, BLOCK = 4096, LOG_EVERY = 10, CALLS_IN_ITERATION = STREAMS * 6, CALLS_IN_LOG = 2 };

struct trainer {
    aclrtStream streams[STREAMS];
    aclrtEvent copied[STREAMS], computed[STREAMS];
    void *input[STREAMS], *batch[STREAMS], *result[STREAMS], *loss;
    int iterations;
    double *costs; /* of one iteration each, a call */
    double start, end;
};

static void prepare(struct trainer *t, int iterations)
{
    t->iterations = iterations;
    t->costs = calloc((size_t)iterations, sizeof *t->costs);
    MUST(aclrtMallocHost(&t->loss, 64));
    for (int s = 0; s < STREAMS; s++) {
        MUST(aclrtCreateStream(&t->streams[s]));
        MUST(aclrtCreateEventExWithFlag(&t->copied[s], ACL_EVENT_SYNC));
        MUST(aclrtCreateEventExWithFlag(&t->computed[s], ACL_EVENT_SYNC));
        MUST(aclrtMallocHost(&t->input[s], BLOCK));
        MUST(aclrtMalloc(&t->batch[s], BLOCK, ACL_MEM_MALLOC_HUGE_FIRST));
        MUST(aclrtMalloc(&t->result[s], BLOCK, ACL_MEM_MALLOC_HUGE_FIRST));
    }
}

/* Copy in a new batch on each stream; the next stream waits for it, computes (a copy on the device stands for a kernel),
 * and records that; then the host waits for all. Every so often it looks at a result. */
static void train(struct trainer *t)
{
    for (int i = 0; i < t->iterations; i++) {
        double start = now();
        for (int s = 0; s < STREAMS; s++) {
            aclrtStream compute = t->streams[(s + 1) % STREAMS];
            *(uint64_t *)t->input[s] += 1 + (uint64_t)(uintptr_t)t;
            MUST(aclrtMemcpyAsync(t->batch[s], BLOCK, t->input[s], BLOCK, ACL_MEMCPY_HOST_TO_DEVICE, t->streams[s]));
            MUST(aclrtRecordEvent(t->copied[s], t->streams[s]));
            MUST(aclrtStreamWaitEvent(compute, t->copied[s]));
            MUST(aclrtMemcpyAsync(t->result[s], BLOCK, t->batch[s], BLOCK, ACL_MEMCPY_DEVICE_TO_DEVICE, compute));
            MUST(aclrtRecordEvent(t->computed[s], compute));
        }
        for (int s = 0; s < STREAMS; s++)
            MUST(aclrtSynchronizeEvent(t->computed[s]));
        t->costs[i] = (now() - start) / CALLS_IN_ITERATION;
        if (i % LOG_EVERY == 0) {
            MUST(aclrtMemcpy(t->loss, 64, t->result[0], 64, ACL_MEMCPY_DEVICE_TO_HOST));
            MUST(aclrtSynchronizeDevice());
        }
    }
}

static pthread_barrier_t line;

static void *train_beside_others(void *trainer)
{
    struct trainer *t = trainer;
    MUST(aclrtSetCurrentContext(context));
    prepare(t, t->iterations);
    pthread_barrier_wait(&line);
    t->start = now();
    train(t);
    t->end = now();
    return NULL;
}

void measure_train(char **numbers)
{
    int threads = atoi(numbers[0]), iterations = atoi(numbers[1]), logs = (iterations + LOG_EVERY - 1) / LOG_EVERY;
    struct trainer *trainers = calloc((size_t)threads, sizeof *trainers);
    pthread_t *ids = calloc((size_t)threads, sizeof *ids);
    double calls = (double)iterations * CALLS_IN_ITERATION + (double)logs * CALLS_IN_LOG;
    if (threads == 1) {
        prepare(trainers, iterations);
        double start = now();
        train(trainers);
        print_loop(trainers->costs, iterations, now() - start, calls);
        return;
    }
    pthread_barrier_init(&line, NULL, (unsigned)threads);
    for (int i = 0; i < threads; i++) {
        trainers[i].iterations = iterations;
        MUST(pthread_create(&ids[i], NULL, train_beside_others, &trainers[i]));
    }
    double start = 1e18, end = 0;
    for (int i = 0; i < threads; i++) {
        MUST(pthread_join(ids[i], NULL));
        start = trainers[i].start < start ? trainers[i].start : start;
        end = trainers[i].end > end ? trainers[i].end : end;
    }
    calls *= threads; /* of the process as a whole: what one thread waits for another counts once */
    printf("mean %.1f\ncalls %.0f\n", (end - start) / calls, calls);
}
