/* Snapshot calls from real threads. Argument 1 names a case; what it prints is what the test looks at. */
#include "host.h"
#include <sys/resource.h>

enum { WORKERS = 8, MANY = 64, SIZE = 65536, ROUNDS = 60 };

static aclrtContext context;
static volatile int stop, locked, done;

static int64_t now_us(void)
{
    struct timespec t;
    clock_gettime(CLOCK_MONOTONIC, &t);
    return (int64_t)t.tv_sec * 1000000 + t.tv_nsec / 1000;
}

static int count_of(volatile int *counter) { return __atomic_load_n(counter, __ATOMIC_SEQ_CST); }

static void wait_for(volatile int *counter, int value)
{
    while (count_of(counter) < value)
        usleep(100);
}

/* ---- eight threads work, one takes snapshots ---- */

static volatile int rounds[WORKERS];

static void *work(void *mine)
{
    volatile int *count = mine;
    unsigned char *host = malloc(SIZE), *back = malloc(SIZE);
    aclrtStream stream;
    aclrtEvent event;
    WANT(aclrtSetCurrentContext(context), 0);
    WANT(aclrtCreateStream(&stream), 0);
    WANT(aclrtCreateEvent(&event), 0);
    while (!count_of(&stop)) {
        void *device = NULL;
        memset(host, *count & 0xff, SIZE);
        WANT(aclrtMalloc(&device, SIZE, ACL_MEM_MALLOC_HUGE_FIRST), 0);
        WANT(aclrtMemcpyAsync(device, SIZE, host, SIZE, ACL_MEMCPY_HOST_TO_DEVICE, stream), 0);
        WANT(aclrtRecordEvent(event, stream), 0);
        WANT(aclrtSynchronizeEvent(event), 0);
        WANT(aclrtMemcpy(back, SIZE, device, SIZE, ACL_MEMCPY_DEVICE_TO_HOST), 0);
        WANT(memcmp(host, back, SIZE), 0);
        WANT(aclrtFree(device), 0);
        __atomic_add_fetch(count, 1, __ATOMIC_SEQ_CST);
    }
    WANT(aclrtDestroyEvent(event), 0);
    WANT(aclrtDestroyStream(stream), 0);
    free(host);
    free(back);
    return NULL;
}

static int total(void)
{
    int sum = 0;
    for (int i = 0; i < WORKERS; i++)
        sum += count_of(&rounds[i]);
    return sum;
}

static void threads(void)
{
    pthread_t workers[WORKERS];
    void *kept;
    unsigned char content[64], back[64];
    memset(content, 0x5a, sizeof content);
    MUST(aclrtMalloc(&kept, sizeof content, ACL_MEM_MALLOC_HUGE_FIRST));
    MUST(aclrtMemcpy(kept, sizeof content, content, sizeof content, ACL_MEMCPY_HOST_TO_DEVICE));
    for (int i = 0; i < WORKERS; i++)
        MUST(pthread_create(&workers[i], NULL, work, (void *)&rounds[i]));
    for (int round = 0; round < 4; round++) {
        int before = total();
        while (total() < before + WORKERS)
            usleep(100);
        WANT(aclrtSnapShotProcessLock(), 0);
        usleep(20000); /* whoever is in a round comes to a call that is held */
        int held = total();
        WANT(aclrtSnapShotProcessBackup(), 0);
        usleep(20000);
        WANT(total(), held);
        if (round % 2)
            WANT(aclrtSnapShotProcessRestore(), 0);
        WANT(aclrtSnapShotProcessUnlock(), 0);
    }
    __atomic_store_n(&stop, 1, __ATOMIC_SEQ_CST);
    for (int i = 0; i < WORKERS; i++)
        MUST(pthread_join(workers[i], NULL));
    WANT(aclrtMemcpy(back, sizeof back, kept, sizeof back, ACL_MEMCPY_DEVICE_TO_HOST), 0);
    WANT(memcmp(content, back, sizeof back), 0);
    printf("four snapshots\n");
}

/* ---- sixty-four threads are released at once ---- */

static int64_t released[MANY];

static void *hold(void *index)
{
    WANT(aclrtSetCurrentContext(context), 0);
    __atomic_add_fetch(&locked, 1, __ATOMIC_SEQ_CST);
    WANT(aclrtSetDevice(0), 0);
    released[(intptr_t)index] = now_us();
    __atomic_add_fetch(&done, 1, __ATOMIC_SEQ_CST);
    return NULL;
}

static int64_t cpu_us(void)
{
    struct rusage used;
    getrusage(RUSAGE_SELF, &used);
    return (used.ru_utime.tv_sec + used.ru_stime.tv_sec) * 1000000 + used.ru_utime.tv_usec + used.ru_stime.tv_usec;
}

static void release(void)
{
    pthread_t holders[MANY];
    WANT(aclrtSnapShotProcessLock(), 0);
    for (intptr_t i = 0; i < MANY; i++)
        MUST(pthread_create(&holders[i], NULL, hold, (void *)i));
    wait_for(&locked, MANY);
    usleep(50000);
    int64_t before = cpu_us();
    usleep(500000);
    int64_t waiting = cpu_us() - before, begin = now_us();
    WANT(count_of(&done), 0);
    WANT(aclrtSnapShotProcessUnlock(), 0);
    for (int i = 0; i < MANY; i++)
        MUST(pthread_join(holders[i], NULL));
    int64_t last = 0;
    for (int i = 0; i < MANY; i++)
        last = released[i] > last ? released[i] : last;
    printf("released after %ld us, %ld us of processor time in 500 ms\n", (long)(last - begin), (long)waiting);
}

/* ---- a held call has its limit from when it goes on ---- */

static volatile int go;

static void *held_report(void *unused)
{
    (void)unused;
    WANT(aclrtSetCurrentContext(context), 0);
    wait_for(&go, 1);
    WANT(aclrtProcessReport(100), ACL_ERROR_RT_REPORT_TIMEOUT);
    return NULL;
}

static void held_limit(void)
{
    pthread_t thread;
    aclrtStream stream;
    MUST(aclrtCreateStream(&stream));
    MUST(pthread_create(&thread, NULL, held_report, NULL));
    WANT(aclrtSubscribeReport((uint64_t)thread, stream), 0);
    WANT(aclrtSnapShotProcessLock(), 0);
    __atomic_store_n(&go, 1, __ATOMIC_SEQ_CST);
    usleep(150000);
    WANT(aclrtSnapShotProcessUnlock(), 0);
    MUST(pthread_join(thread, NULL));
    WANT(aclrtUnSubscribeReport((uint64_t)thread, stream), 0);
    printf("ended by its limit\n");
}

/* ---- callbacks ---- */

static const char *const names[] = { "lock pre", "backup pre", "backup post", "restore pre", "restore post", "unlock post" };

static uint32_t note(int32_t device, void *stage)
{
    printf("%s of device %d\n", names[(intptr_t)stage], (int)device);
    return 0;
}

static uint32_t refuse(int32_t device, void *unused)
{
    (void)device;
    (void)unused;
    return 3;
}

static uint32_t allocate(int32_t device, void *unused)
{
    void *memory = &memory;
    (void)device;
    (void)unused;
    WANT(aclrtMalloc(&memory, 64, ACL_MEM_MALLOC_HUGE_FIRST), ACL_ERROR_RT_INTERNAL_ERROR);
    const char *message = aclGetRecentErrMsg();
    WANT(message != NULL && strstr(message, "aclrtMalloc") && strstr(message, "aclrtSnapShotProcessBackup"), 1);
    WANT(aclrtSnapShotProcessUnlock(), ACL_ERROR_RT_INTERNAL_ERROR);
    WANT(aclrtSynchronizeDevice(), 0);
    return 0;
}

static void callbacks(void)
{
    WANT(aclrtSetDevice(1), 0);
    for (intptr_t stage = 0; stage < 6; stage++)
        WANT(aclrtSnapShotCallbackRegister((aclrtSnapShotStage)stage, note, (void *)stage), 0);
    WANT(aclrtSnapShotCallbackRegister(ACL_RT_SNAPSHOT_BACKUP_PRE, note, NULL), 507913);
    WANT(aclrtSnapShotProcessLock(), 0);
    WANT(aclrtSnapShotProcessBackup(), 0);
    WANT(aclrtSnapShotProcessRestore(), 0);
    WANT(aclrtSnapShotCallbackRegister(ACL_RT_SNAPSHOT_BACKUP_POST, refuse, NULL), 0);
    WANT(aclrtSnapShotProcessBackup(), 507912);
    WANT(aclrtSnapShotCallbackUnregister(ACL_RT_SNAPSHOT_BACKUP_POST, refuse), 0);
    WANT(aclrtSnapShotCallbackUnregister(ACL_RT_SNAPSHOT_BACKUP_POST, refuse), 107000);
    WANT(aclrtSnapShotCallbackRegister(ACL_RT_SNAPSHOT_BACKUP_PRE, allocate, NULL), 0);
    WANT(aclrtSnapShotProcessBackup(), 0);
    WANT(aclrtSnapShotProcessUnlock(), 0);
}

/* ---- killed in the middle ---- */

static const char *dies_in;

static uint32_t die(int32_t device, void *stage)
{
    (void)device;
    if (strcmp(dies_in, stage) == 0)
        kill(getpid(), SIGKILL);
    return 0;
}

static void killed(const char *stage)
{
    dies_in = stage;
    for (intptr_t i = 0; i < 6; i++)
        WANT(aclrtSnapShotCallbackRegister((aclrtSnapShotStage)i, die, (void *)names[i]), 0);
    WANT(aclrtSnapShotProcessLock(), 0);
    WANT(aclrtSnapShotProcessBackup(), 0);
    WANT(aclrtSnapShotProcessRestore(), 0);
    WANT(aclrtSnapShotProcessUnlock(), 0);
}

/* Backs up and restores in a loop, so that a kill from outside comes in the middle of a copy. */
static void loop(size_t megabytes)
{
    void *memory;
    MUST(aclrtMalloc(&memory, megabytes << 20, ACL_MEM_MALLOC_HUGE_FIRST));
    MUST(aclrtMemset(memory, megabytes << 20, 1, megabytes << 20));
    MUST(aclrtSnapShotProcessLock());
    printf("begin\n");
    for (;;) {
        MUST(aclrtSnapShotProcessBackup());
        MUST(aclrtSnapShotProcessRestore());
    }
}

/* ---- fork while BACKED_UP ---- */

static void forked(void)
{
    int status = -1;
    WANT(aclrtSnapShotProcessLock(), 0);
    WANT(aclrtSnapShotProcessBackup(), 0);
    pid_t child = fork();
    if (child == 0) {
        WANT(aclrtSnapShotProcessUnlock(), 507907);
        WANT(aclrtSetDevice(0), 0); /* not held */
        WANT(aclrtSnapShotProcessLock(), 0);
        WANT(aclrtSnapShotProcessRestore(), 507909);
        _exit(failures != 0);
    }
    MUST(waitpid(child, &status, 0) != child);
    WANT(status, 0);
    WANT(aclrtSnapShotProcessRestore(), 0);
    WANT(aclrtSnapShotProcessUnlock(), 0);
}

/* ---- how fast ---- */

static void speed(size_t megabytes)
{
    size_t size = megabytes << 20;
    void *memory;
    unsigned char *from = malloc(size), *to = malloc(size);
    MUST(aclrtMalloc(&memory, size, ACL_MEM_MALLOC_HUGE_FIRST));
    memset(from, 1, size);
    MUST(aclrtMemset(memory, size, 1, size));
    int64_t a = now_us();
    memcpy(to, from, size); /* into memory that is new, as that of a first backup is */
    __asm__ volatile("" : : "r"(to), "r"(from) : "memory");
    int64_t b = now_us();
    memcpy(from, to, size);
    __asm__ volatile("" : : "r"(to), "r"(from) : "memory");
    int64_t c = now_us();
    free(from);
    free(to);
    MUST(aclrtSnapShotProcessLock());
    long resident = resident_kb();
    int64_t d = now_us();
    MUST(aclrtSnapShotProcessBackup());
    int64_t e = now_us();
    long more = resident_kb() - resident;
    MUST(aclrtSnapShotProcessRestore());
    int64_t f = now_us();
    printf("memcpy new %.2f GB/s, again %.2f GB/s; backup %.2f GB/s, restore %.2f GB/s; %ld MB more\n", size / 1e3 / (b - a),
           size / 1e3 / (c - b), size / 1e3 / (e - d), size / 1e3 / (f - e), more / 1024);
    MUST(aclrtSnapShotProcessUnlock());
}

int main(int count, char **arguments)
{
    const char *name = count > 1 ? arguments[1] : "";
    setvbuf(stdout, NULL, _IOLBF, 0);
    alarm(100);
    MUST(aclInit(NULL));
    MUST(aclrtSetDevice(0));
    MUST(aclrtGetCurrentContext(&context));
    if (strcmp(name, "threads") == 0)
        threads();
    else if (strcmp(name, "release") == 0)
        release();
    else if (strcmp(name, "limit") == 0)
        held_limit();
    else if (strcmp(name, "callbacks") == 0)
        callbacks();
    else if (strcmp(name, "killed") == 0)
        killed(arguments[2]);
    else if (strcmp(name, "loop") == 0)
        loop((size_t)atoi(arguments[2]));
    else if (strcmp(name, "forked") == 0)
        forked();
    else if (strcmp(name, "speed") == 0)
        speed((size_t)atoi(arguments[2]));
    else
        return 2;
    return failures != 0;
}
