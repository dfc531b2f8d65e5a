/* The workloads of the benchmarks: which there are stands in the table below. */
#include "workload.h"

aclrtContext context;

static const struct {
    const char *name;
    int numbers;
    void (*measure)(char **numbers);
    const char *what;
} ways[] = {
    { "calls", 1, measure_calls, "BATCHES: median cost of one call of five functions, on the main and on a foreign thread" },
    { "one", 3, measure_one, "FUNCTION main|foreign COUNT: so many calls of one of these functions, for profilers" },
    { "threads", 2, measure_threads, "THREADS COUNT: cost of a record call when so many threads make COUNT each at once" },
    { "record", 1, measure_record, "COUNT: a tight loop of record calls" },
    { "queries", 1, measure_queries, "COUNT: a tight loop of queries" },
    { "train", 2, measure_train, "THREADS ITERATIONS: a training-like loop over 4 streams, on every thread" },
    { "copies", 2, measure_copies, "SIZE COUNT: synchronous copies against memcpy" },
    { "many", 1, measure_many, "COUNT: the cost of the first and of the last of COUNT record calls" },
    { "live", 3, measure_live, "EVENTS ALLOCATIONS WAITING: the cost of calls while so much is live and so many threads wait" },
    { "waiting", 1, measure_waiting, "MILLISECONDS: the processor time of a thread that waits so long" },
    { "wake", 2, measure_wake, "THREADS ROUNDS: how long after the releasing call so many waiting threads go on" },
    { "handovers", 1, measure_handovers, "COUNT: how long after a record call another process that waits for it goes on" },
    { "handed", 2, measure_handed, "FILE COUNT: that other process" },
    { "allocations", 1, measure_allocations, "LIVE: the cost of a malloc and free in any order while so much is live" },
    { "snapshots", 1, measure_snapshots, "MEGABYTES: backup and restore of so much device memory against memcpy" },
    { "unlock", 1, measure_unlock, "THREADS: how long after an unlock the last of so many threads goes on" },
};
enum { WAYS = sizeof ways / sizeof ways[0] };

static int explain(void)
{
    fprintf(stderr, "workload: one of\n  nothing\n  once: one call\n");
    for (int i = 0; i < WAYS; i++)
        fprintf(stderr, "  %s %s\n", ways[i].name, ways[i].what);
    return 2;
}

int main(int argc, char **argv)
{
    const char *name = argc > 1 ? argv[1] : "";
    if (strcmp(name, "nothing") == 0)
        return 0;
    if (strcmp(name, "once") == 0) {
        uint32_t count;
        MUST(aclrtGetDeviceCount(&count));
        return 0;
    }
    for (int i = 0; i < WAYS; i++)
        if (strcmp(name, ways[i].name) == 0 && argc == 2 + ways[i].numbers) {
            MUST(aclrtSetDevice(0));
            MUST(aclrtGetCurrentContext(&context));
            ways[i].measure(argv + 2);
            print_memory("memory", "VmHWM");
            return 0;
        }
    return explain();
}
