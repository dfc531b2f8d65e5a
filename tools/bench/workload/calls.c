/* What one call costs: of which function, from which thread, while others call. */
#include "workload.h"

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

static void measure_each(const char *where, int batches)
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
    measure_each("foreign", (int)(intptr_t)batches);
    return NULL;
}

void measure_calls(char **numbers)
{
    int batches = atoi(numbers[0]);
    pthread_t thread;
    measure_each("main", batches);
    MUST(pthread_create(&thread, NULL, measure_foreign, (void *)(intptr_t)batches));
    MUST(pthread_join(thread, NULL));
}

struct one {
    void (*call)(struct objects *);
    int count;
};

static void *make_one(void *argument)
{
    struct one *one = argument;
    MUST(aclrtSetCurrentContext(context));
    struct objects o = make_objects();
    for (int i = 0; i < one->count; i++)
        one->call(&o);
    return NULL;
}

void measure_one(char **numbers)
{
    struct one one = { call_get_device, atoi(numbers[2]) };
    pthread_t thread;
    for (size_t c = 0; c < sizeof calls / sizeof calls[0]; c++)
        if (strcmp(calls[c].name, numbers[0]) == 0)
            one.call = calls[c].call;
    if (strcmp(numbers[1], "main") == 0) {
        make_one(&one);
        return;
    }
    MUST(pthread_create(&thread, NULL, make_one, &one));
    MUST(pthread_join(thread, NULL));
}

struct hammer {
    pthread_t id;
    int count;
    double start, end;
};

static pthread_barrier_t line;

static void *hammer(void *argument)
{
    struct hammer *hammer = argument;
    MUST(aclrtSetCurrentContext(context));
    struct objects o = make_objects();
    pthread_barrier_wait(&line);
    hammer->start = now();
    for (int i = 0; i < hammer->count; i++)
        call_record(&o);
    hammer->end = now();
    return NULL;
}

void measure_threads(char **numbers)
{
    int threads = atoi(numbers[0]), count = atoi(numbers[1]);
    struct hammer *hammers = calloc((size_t)threads, sizeof *hammers);
    pthread_barrier_init(&line, NULL, (unsigned)threads);
    for (int i = 0; i < threads; i++) {
        hammers[i].count = count;
        MUST(pthread_create(&hammers[i].id, NULL, hammer, &hammers[i]));
    }
    double start = 1e18, end = 0; /* those of the first and of the last: this thread may be late itself */
    for (int i = 0; i < threads; i++) {
        MUST(pthread_join(hammers[i].id, NULL));
        start = hammers[i].start < start ? hammers[i].start : start;
        end = hammers[i].end > end ? hammers[i].end : end;
    }
    printf("threads %.1f\n", (end - start) / threads / count);
    free(hammers);
}
