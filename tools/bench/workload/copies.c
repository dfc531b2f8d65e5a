#include "workload.h"

static void fill(unsigned char *block, size_t size, unsigned seed)
{
    uint64_t state = seed * 0x9e3779b97f4a7c15u + 1;
    for (size_t i = 0; i + 8 <= size; i += 8) {
        state = state * 6364136223846793005u + 1442695040888963407u;
        memcpy(block + i, &state, 8);
    }
}

/* Processor time: a copy takes longer than a turn on a busy processor. */
static double used(void)
{
    struct timespec t;
    clock_gettime(CLOCK_THREAD_CPUTIME_ID, &t);
    return (double)t.tv_sec * 1e9 + (double)t.tv_nsec;
}

static double time_copy(void *to, const void *from, size_t size, aclrtMemcpyKind kind)
{
    double start = used();
    MUST(aclrtMemcpy(to, size, from, size, kind));
    return used() - start;
}

/* The four kinds in turn, so that a slow moment of the machine meets all of them. */
void measure_copies(char **numbers)
{
    enum { PLAIN, NEW, STORED, TO_HOST, KINDS };
    static const char *const names[KINDS] = { "copy/memcpy", "copy/new", "copy/stored", "copy/to_host" };
    size_t size = strtoull(numbers[0], NULL, 0);
    int count = atoi(numbers[1]);
    unsigned char *source = malloc(size), *target = malloc(size);
    double *costs[KINDS];
    void *device;
    memset(target, 1, size);
    for (int kind = 0; kind < KINDS; kind++)
        costs[kind] = calloc((size_t)count, sizeof **costs);
    MUST(aclrtMalloc(&device, size, ACL_MEM_MALLOC_HUGE_FIRST));
    fill(source, size, 0);
    printf("copy/first_touch %.0f\n", time_copy(device, source, size, ACL_MEMCPY_HOST_TO_DEVICE));
    for (int i = 0; i < count; i++) {
        fill(source, size, (unsigned)i + 1);
        double start = used();
        memcpy(target, source, size);
        costs[PLAIN][i] = used() - start;
        costs[NEW][i] = time_copy(device, source, size, ACL_MEMCPY_HOST_TO_DEVICE);
        costs[STORED][i] = time_copy(device, source, size, ACL_MEMCPY_HOST_TO_DEVICE);
        costs[TO_HOST][i] = time_copy(target, device, size, ACL_MEMCPY_DEVICE_TO_HOST);
    }
    if (memcmp(source, target, size) != 0)
        must(1, "the copied bytes");
    for (int kind = 0; kind < KINDS; kind++) {
        printf("%s %.0f\n", names[kind], median(costs[kind], count));
        free(costs[kind]);
    }
    free(source);
    free(target);
}
