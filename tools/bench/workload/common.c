#include "workload.h"

void must(int result, const char *what)
{
    if (result != 0) {
        fprintf(stderr, "workload: %s = %d\n", what, result);
        exit(1);
    }
}

double now(void)
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

double median(double *values, int count)
{
    qsort(values, (size_t)count, sizeof *values, compare);
    return values[count / 2];
}

void print_memory(const char *name, const char *key)
{
    char line[256];
    FILE *status = fopen("/proc/self/status", "r");
    while (status != NULL && fgets(line, sizeof line, status) != NULL)
        if (strncmp(line, key, strlen(key)) == 0 && line[strlen(key)] == ':')
            printf("%s %lld\n", name, atoll(line + strlen(key) + 1) * 1024);
    if (status != NULL)
        fclose(status);
}

struct objects make_objects(void)
{
    struct objects o;
    MUST(aclrtCreateStream(&o.stream));
    MUST(aclrtCreateEvent(&o.event));
    MUST(aclrtRecordEvent(o.event, o.stream));
    return o;
}
