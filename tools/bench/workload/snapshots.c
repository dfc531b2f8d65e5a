/* Snapshots: backup and restore against memcpy, and how soon an unlock lets waiting threads go on. */
#include "workload.h"

static double copied(void *to, const void *from, size_t size)
{
    double start = now();
    memcpy(to, from, size);
    __asm__ volatile("" : : "r"(to), "r"(from) : "memory");
    return now() - start;
}

/* The first backup goes to memory that is new, the later ones to the same; so it is with the copies of memcpy. */
void measure_snapshots(char **numbers)
{
    enum { ROUNDS = 3 };
    size_t size = (size_t)atol(numbers[0]) << 20;
    double again[ROUNDS], backups[ROUNDS], restores[ROUNDS];
    char *from = malloc(size), *to = malloc(size);
    void *memory;
    memset(from, 1, size);
    double first = copied(to, from, size);
    for (int i = 0; i < ROUNDS; i++)
        again[i] = copied(to, from, size);
    printf("memcpy/first %.0f\nmemcpy/again %.0f\n", first, median(again, ROUNDS));
    free(from);
    free(to);
    MUST(aclrtMalloc(&memory, size, ACL_MEM_MALLOC_HUGE_FIRST));
    MUST(aclrtMemset(memory, size, 1, size));
    MUST(aclrtSnapShotProcessLock());
    print_memory("memory/before", "VmRSS");
    double start = now();
    MUST(aclrtSnapShotProcessBackup());
    first = now() - start;
    for (int i = 0; i < ROUNDS; i++) {
        start = now();
        MUST(aclrtSnapShotProcessRestore());
        double middle = now();
        MUST(aclrtSnapShotProcessBackup());
        restores[i] = middle - start;
        backups[i] = now() - middle;
    }
    print_memory("memory/after", "VmRSS");
    MUST(aclrtSnapShotProcessUnlock());
    printf("backup/first %.0f\nbackup/again %.0f\nrestore %.0f\n", first, median(backups, ROUNDS), median(restores, ROUNDS));
}

static int waiting;
static double last; /* when the last of them went on */
static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;

static void *call_that_is_held(void *unused)
{
    (void)unused;
    MUST(aclrtSetCurrentContext(context));
    __atomic_add_fetch(&waiting, 1, __ATOMIC_SEQ_CST);
    MUST(aclrtSetDevice(0));
    double time = now();
    pthread_mutex_lock(&lock);
    last = time > last ? time : last;
    pthread_mutex_unlock(&lock);
    return NULL;
}

void measure_unlock(char **numbers)
{
    int count = atoi(numbers[0]);
    pthread_t *threads = calloc((size_t)count, sizeof *threads);
    MUST(aclrtSnapShotProcessLock());
    for (int i = 0; i < count; i++)
        MUST(pthread_create(&threads[i], NULL, call_that_is_held, NULL));
    while (__atomic_load_n(&waiting, __ATOMIC_SEQ_CST) < count)
        usleep(1000);
    usleep(50000);
    double start = now();
    MUST(aclrtSnapShotProcessUnlock());
    for (int i = 0; i < count; i++)
        MUST(pthread_join(threads[i], NULL));
    printf("unlock/last %.0f\n", last - start);
    free(threads);
}
