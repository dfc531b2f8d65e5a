/* The workloads of the benchmarks. Prints one `name value` line per figure, times in nanoseconds.
 *   calls N          median cost of one call, over N batches, on the main and on a foreign thread
 *   threads N COUNT  cost of one call when N threads make COUNT record calls each at once, of the process as a whole
 *   copies SIZE N    median time of one synchronous copy of SIZE bytes: plain memcpy, new and repeated payloads
 *   once             one call
 *   nothing          none */
#define _GNU_SOURCE
#include <pthread.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>
#include "acl/acl.h"

enum { BATCH = 200 };

static aclrtContext context;

static void must(int result, const char *what)
{
    if (result != 0) {
        fprintf(stderr, "workload: %s = %d\n", what, result);
        exit(1);
    }
}
#define MUST(call) must((int)(call), #call)

static double now(void)
{
    struct timespec t;
    clock_gettime(CLOCK_MONOTONIC, &t);
    return (double)t.tv_sec * 1e9 + (double)t.tv_nsec;
}

static int compare(const void *a, const void *b)
{
    double x = *(const double *)a, y = *(const double *)b;
    return (x > y) - (x < y);
}

static double median(double *values, int count)
{
    qsort(values, (size_t)count, sizeof *values, compare);
    return values[count / 2];
}

struct objects {
    aclrtStream stream;
    aclrtEvent event;
};

static void call_get_device(struct objects *o)
{
    int32_t device;
    (void)o;
    MUST(aclrtGetDevice(&device));
}

static void call_record(struct objects *o) { MUST(aclrtRecordEvent(o->event, o->stream)); }

static void call_query_event(struct objects *o)
{
    aclrtEventRecordedStatus status;
    MUST(aclrtQueryEventStatus(o->event, &status));
}

static void call_query_stream(struct objects *o)
{
    aclrtStreamStatus status;
    MUST(aclrtStreamQuery(o->stream, &status));
}

static void call_synchronize(struct objects *o) { MUST(aclrtSynchronizeStream(o->stream)); }

static const struct { const char *name; void (*call)(struct objects *); } calls[] = {
    { "aclrtGetDevice", call_get_device }, { "aclrtRecordEvent", call_record },
    { "aclrtQueryEventStatus", call_query_event }, { "aclrtStreamQuery", call_query_stream },
    { "aclrtSynchronizeStream", call_synchronize },
};

static struct objects make_objects(void)
{
    struct objects o;
    MUST(aclrtCreateStream(&o.stream));
    MUST(aclrtCreateEvent(&o.event));
    MUST(aclrtRecordEvent(o.event, o.stream));
    return o;
}

static void measure_calls(const char *where, int batches)
{
    double *costs = calloc((size_t)batches, sizeof *costs);
    struct objects o = make_objects();
    for (size_t c = 0; c < sizeof calls / sizeof calls[0]; c++) {
        for (int i = 0; i < batches; i++) {
            double start = now();
            for (int k = 0; k < BATCH; k++)
                calls[c].call(&o);
            costs[i] = (now() - start) / BATCH;
        }
        printf("%s/%s %.1f\n", calls[c].name, where, median(costs, batches));
    }
    free(costs);
}

static void *measure_foreign(void *batches)
{
    MUST(aclrtSetCurrentContext(context));
    measure_calls("foreign", (int)(intptr_t)batches);
    return NULL;
}

static pthread_barrier_t line;

static void *hammer(void *count)
{
    MUST(aclrtSetCurrentContext(context));
    struct objects o = make_objects();
    pthread_barrier_wait(&line);
    for (int i = 0; i < (int)(intptr_t)count; i++)
        call_record(&o);
    return NULL;
}

static void measure_threads(int threads, int count)
{
    pthread_t *ids = calloc((size_t)threads, sizeof *ids);
    pthread_barrier_init(&line, NULL, (unsigned)threads + 1);
    for (int i = 0; i < threads; i++)
        MUST(pthread_create(&ids[i], NULL, hammer, (void *)(intptr_t)count));
    pthread_barrier_wait(&line);
    double start = now();
    for (int i = 0; i < threads; i++)
        MUST(pthread_join(ids[i], NULL));
    printf("threads/%d %.1f\n", threads, (now() - start) / threads / count);
    free(ids);
}

static void fill(unsigned char *block, size_t size, unsigned seed)
{
    uint64_t state = seed * 0x9e3779b97f4a7c15u + 1;
    for (size_t i = 0; i + 8 <= size; i += 8) {
        state = state * 6364136223846793005u + 1442695040888963407u;
        memcpy(block + i, &state, 8);
    }
}

static void measure_copies(size_t size, int count)
{
    unsigned char *source = malloc(size), *target = malloc(size);
    double *costs = calloc((size_t)count, sizeof *costs);
    void *device;
    memset(target, 1, size);
    MUST(aclrtMalloc(&device, size, ACL_MEM_MALLOC_HUGE_FIRST));
    fill(source, size, 0);
    double start = now();
    MUST(aclrtMemcpy(device, size, source, size, ACL_MEMCPY_HOST_TO_DEVICE));
    printf("copy/first_touch %.0f\n", now() - start);
    for (int i = 0; i < count; i++) {
        start = now();
        memcpy(target, source, size);
        costs[i] = now() - start;
    }
    printf("copy/memcpy %.0f\n", median(costs, count));
    for (int i = 0; i < count; i++) {
        fill(source, size, (unsigned)i + 1);
        start = now();
        MUST(aclrtMemcpy(device, size, source, size, ACL_MEMCPY_HOST_TO_DEVICE));
        costs[i] = now() - start;
    }
    printf("copy/new %.0f\n", median(costs, count));
    for (int i = 0; i < count; i++) {
        start = now();
        MUST(aclrtMemcpy(device, size, source, size, ACL_MEMCPY_HOST_TO_DEVICE));
        costs[i] = now() - start;
    }
    printf("copy/stored %.0f\n", median(costs, count));
    for (int i = 0; i < count; i++) {
        start = now();
        MUST(aclrtMemcpy(target, size, device, size, ACL_MEMCPY_DEVICE_TO_HOST));
        costs[i] = now() - start;
    }
    printf("copy/to_host %.0f\n", median(costs, count));
    if (memcmp(source, target, size) != 0)
        must(1, "the copied bytes");
    free(costs);
    free(source);
    free(target);
}

int main(int argc, char **argv)
{
    const char *what = argc > 1 ? argv[1] : "";
    if (strcmp(what, "nothing") == 0)
        return 0;
    if (strcmp(what, "once") == 0) {
        uint32_t count;
        MUST(aclrtGetDeviceCount(&count));
        return 0;
    }
    MUST(aclrtSetDevice(0));
    MUST(aclrtGetCurrentContext(&context));
    if (strcmp(what, "calls") == 0 && argc == 3) {
        pthread_t thread;
        measure_calls("main", atoi(argv[2]));
        MUST(pthread_create(&thread, NULL, measure_foreign, (void *)(intptr_t)atoi(argv[2])));
        MUST(pthread_join(thread, NULL));
    } else if (strcmp(what, "threads") == 0 && argc == 4) {
        measure_threads(atoi(argv[2]), atoi(argv[3]));
    } else if (strcmp(what, "copies") == 0 && argc == 4) {
        measure_copies(strtoull(argv[2], NULL, 0), atoi(argv[3]));
    } else {
        fprintf(stderr, "workload: calls N | threads N COUNT | copies SIZE N | once | nothing\n");
        return 2;
    }
    return 0;
}
