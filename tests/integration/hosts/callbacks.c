/* Functions of the program: what they may do, and what waits for them. Argument 1 names a case; the last line says what ran. */
#include "host.h"
#include <sched.h>
#include <sys/syscall.h>

#pragma GCC diagnostic ignored "-Wdeprecated-declarations" /* aclrtSetExceptionInfoCallback */

enum { MANY = 8, ROUNDS = 40 };

static aclrtContext context;
static aclrtStream s, t;
static aclrtEvent event;
static volatile int stop, count;
static pthread_t ran;

static void *process(void *unused)
{
    (void)unused;
    WANT(aclrtSetCurrentContext(context), 0);
    while (!__atomic_load_n(&stop, __ATOMIC_ACQUIRE)) {
        aclError got = aclrtProcessReport(100);
        if (got != 0 && got != 507012 && got != 107012)
            WANT(got, 0);
    }
    return NULL;
}

static pthread_t start_processing(void)
{
    pthread_t thread;
    MUST(pthread_create(&thread, NULL, process, NULL));
    return thread;
}

static void stop_processing(pthread_t thread)
{
    __atomic_store_n(&stop, 1, __ATOMIC_RELEASE);
    MUST(pthread_join(thread, NULL));
}

static void add(void *amount)
{
    __atomic_fetch_add(&count, (int)(intptr_t)amount, __ATOMIC_SEQ_CST);
    ran = pthread_self();
}

static void *amount(int number) { return (void *)(intptr_t)number; }

/* ---- calls made by functions ---- */

static void calls(void *unused)
{
    aclrtStreamStatus status;
    void *memory = NULL;
    (void)unused;
    WANT(aclrtSetCurrentContext(context), 0);
    WANT(aclrtMalloc(&memory, 64, ACL_MEM_MALLOC_HUGE_FIRST), 0);
    WANT(aclrtMemset(memory, 64, 7, 64), 0);
    WANT(aclrtStreamQuery(t, &status), 0);
    WANT(aclrtRecordEvent(event, t), 0);
    WANT(aclrtSynchronizeStream(t), 0);
    WANT(aclrtFree(memory), 0);
    add(amount(1));
}

static void functions_call_the_runtime(void)
{
    pthread_t thread = start_processing();
    MUST(aclrtSubscribeReport((uint64_t)thread, s));
    MUST(aclrtLaunchCallback(calls, NULL, ACL_CALLBACK_BLOCK, s));
    MUST(aclrtSynchronizeStream(s));
    WANT(pthread_equal(ran, thread) != 0, 1);
    MUST(aclrtUnSubscribeReport((uint64_t)thread, s));
    MUST(aclrtLaunchHostFunc(s, calls, NULL));
    MUST(aclrtSynchronizeStream(s));
    WANT(pthread_equal(ran, thread) != 0 || pthread_equal(ran, pthread_self()) != 0, 0);
    stop_processing(thread);
}

/* ---- a function records what another thread waits for ---- */

static void record(void *unused)
{
    (void)unused;
    WANT(aclrtSetCurrentContext(context), 0);
    WANT(aclrtRecordEvent(event, t), 0);
    add(amount(1));
}

static void *wait_for_held(void *stream)
{
    WANT(aclrtSetCurrentContext(context), 0);
    WANT(aclrtSynchronizeStream(stream), 0);
    add(amount(10));
    return NULL;
}

static void a_function_releases_another_thread(void)
{
    aclrtStream held;
    pthread_t waiter;
    MUST(aclrtCreateStream(&held));
    MUST(aclrtStreamWaitEvent(held, event)); /* nobody has recorded it */
    MUST(pthread_create(&waiter, NULL, wait_for_held, held));
    MUST(aclrtLaunchHostFunc(s, record, NULL));
    MUST(pthread_join(waiter, NULL));
    MUST(aclrtSynchronizeStream(s));
    MUST(aclrtDestroyStream(held));
}

/* ---- functions inside functions ---- */

static void inner(void *depth) { add(depth); }

static void outer(void *depth)
{
    int level = (int)(intptr_t)depth;
    if (level < 4) {
        WANT(aclrtLaunchCallback(level < 3 ? outer : inner, amount(level + 1), ACL_CALLBACK_NO_BLOCK, s), 0);
        WANT(aclrtProcessReport(-1), 0); /* runs it here */
    }
    add(amount(100));
}

static void functions_process_reports(void)
{
    MUST(aclrtSubscribeReport((uint64_t)pthread_self(), s));
    MUST(aclrtLaunchCallback(outer, amount(1), ACL_CALLBACK_NO_BLOCK, s));
    MUST(aclrtProcessReport(-1));
    MUST(aclrtUnSubscribeReport((uint64_t)pthread_self(), s));
}

/* ---- many at once ---- */

static void *launch_many(void *block)
{
    aclrtStream mine;
    pthread_t thread = start_processing();
    MUST(aclrtSetCurrentContext(context));
    MUST(aclrtCreateStream(&mine));
    MUST(aclrtSubscribeReport((uint64_t)thread, mine));
    for (int i = 0; i < ROUNDS; i++) {
        MUST(aclrtLaunchCallback(add, amount(1), (aclrtCallbackBlockType)(intptr_t)block, mine));
        if (i % 8 == 7)
            MUST(aclrtSynchronizeStream(mine));
    }
    MUST(aclrtSynchronizeStream(mine));
    while (block == NULL && __atomic_load_n(&count, __ATOMIC_SEQ_CST) % ROUNDS != 0)
        sched_yield();
    MUST(aclrtUnSubscribeReport((uint64_t)thread, mine));
    MUST(aclrtDestroyStream(mine));
    pthread_detach(thread); /* goes on until `stop` */
    return NULL;
}

static void *host_many(void *unused)
{
    aclrtContext own;
    aclrtStream mine;
    (void)unused;
    MUST(aclrtCreateContext(&own, 0));
    MUST(aclrtCreateStream(&mine));
    for (int i = 0; i < ROUNDS; i++) {
        MUST(aclrtLaunchHostFunc(i % 2 ? mine : NULL, add, amount(1)));
        if (i % 8 == 7)
            MUST(aclrtSynchronizeDevice());
    }
    MUST(aclrtSynchronizeDevice());
    MUST(aclrtDestroyContext(own));
    return NULL;
}

static void many_threads(void)
{
    pthread_t threads[2 * MANY];
    for (int i = 0; i < 2 * MANY; i++)
        MUST(pthread_create(&threads[i], NULL, i % 2 ? host_many : launch_many, amount(ACL_CALLBACK_BLOCK)));
    for (int i = 0; i < 2 * MANY; i++)
        MUST(pthread_join(threads[i], NULL));
    __atomic_store_n(&stop, 1, __ATOMIC_RELEASE);
}

/* ---- ends ---- */

static void leave(void *unused)
{
    (void)unused;
    printf("left\n");
    fflush(stdout);
    _exit(0);
}

static void the_process_ends_in_a_function(void)
{
    MUST(aclrtLaunchHostFunc(s, leave, NULL));
    MUST(aclrtSynchronizeStream(s));
}

static void end_context(void *own)
{
    WANT(aclrtDestroyContext(own), 0); /* by the worker of that context: it does not wait for itself */
    add(amount(1));
}

static void *wait_for_five(void *unused)
{
    (void)unused;
    while (__atomic_load_n(&count, __ATOMIC_SEQ_CST) < 5)
        sched_yield();
    return NULL;
}

static void slow(void *unused)
{
    (void)unused;
    pthread_t thread;
    MUST(pthread_create(&thread, NULL, wait_for_five, NULL));
    MUST(pthread_join(thread, NULL));
    add(amount(10));
}

static void *five(void *unused)
{
    (void)unused;
    add(amount(5));
    return NULL;
}

static void contexts_end(void)
{
    aclrtContext own, other;
    aclrtStream mine;
    pthread_t thread;
    MUST(aclrtCreateContext(&own, 0));
    MUST(aclrtLaunchHostFunc(NULL, end_context, own));
    while (__atomic_load_n(&count, __ATOMIC_SEQ_CST) < 1)
        sched_yield();
    WANT(aclrtSetCurrentContext(own), 107000);
    count = 0;
    MUST(aclrtCreateContext(&other, 0));
    MUST(aclrtCreateStream(&mine));
    MUST(aclrtLaunchHostFunc(mine, slow, NULL));
    MUST(aclrtStreamWaitEvent(mine, event)); /* nobody records it: what is behind is lost with its context */
    MUST(aclrtLaunchHostFunc(mine, add, amount(1000)));
    WANT(aclrtSynchronizeStreamWithTimeout(mine, 1), 507046);
    MUST(pthread_create(&thread, NULL, five, NULL));
    MUST(aclrtDestroyContext(other)); /* waits for `slow` */
    WANT(count, 15);
    MUST(pthread_join(thread, NULL));
    MUST(aclrtSetCurrentContext(context));
}

static void forked(void)
{
    pid_t child;
    int status = -1;
    MUST(aclrtLaunchHostFunc(s, add, amount(1)));
    MUST(aclrtSynchronizeStream(s));
    if ((child = fork()) == 0) { /* no worker lives here; the first host function brings a new one */
        aclrtStream mine;
        failures = 0;
        MUST(aclrtSetDevice(0));
        MUST(aclrtCreateStream(&mine));
        MUST(aclrtLaunchHostFunc(mine, add, amount(1)));
        MUST(aclrtSynchronizeStream(mine));
        WANT(count, 2);
        _exit(failures != 0);
    }
    MUST(waitpid(child, &status, 0) != child);
    WANT(status, 0);
    MUST(aclrtLaunchHostFunc(s, add, amount(10)));
    MUST(aclrtSynchronizeStream(s));
}

static struct { void *device, *pinned; uint32_t tid; } failing;

static void *submit(void *unused)
{
    failing.tid = (uint32_t)syscall(SYS_gettid);
    MUST(aclrtSetCurrentContext(context));
    MUST(aclrtMemcpyAsync(failing.device, 4096, failing.pinned, 4096, ACL_MEMCPY_HOST_TO_DEVICE, s));
    return unused;
}

static void told(aclrtExceptionInfo *info)
{
    uint32_t number = 0;
    WANT(aclrtGetThreadIdFromExceptionInfo(info), failing.tid);
    WANT(aclrtGetThreadIdFromExceptionInfo((aclrtExceptionInfo *)&number), UINT32_MAX);
    WANT(aclrtGetErrorCodeFromExceptionInfo(info), 507013);
    WANT(aclrtGetDeviceIdFromExceptionInfo(info), 0);
    WANT(aclrtStreamGetId(s, (int32_t *)&number), 0);
    WANT(aclrtGetStreamIdFromExceptionInfo(info), number);
    add(amount(1));
}

static void told_too(aclrtExceptionInfo *info)
{
    (void)info;
    add(amount(10));
}

static void exceptions(void)
{
    pthread_t submitter;
    MUST(aclrtMalloc(&failing.device, 4096, ACL_MEM_MALLOC_HUGE_FIRST));
    MUST(aclrtMallocHost(&failing.pinned, 4096));
    MUST(aclrtSetExceptionInfoCallback(told));
    MUST(aclrtExceptionInfoCallbackRegister(told_too));
    MUST(aclrtStreamWaitEvent(s, event));
    MUST(pthread_create(&submitter, NULL, submit, NULL));
    MUST(pthread_join(submitter, NULL));
    MUST(aclrtFreeHost(failing.pinned)); /* the copy will not find it */
    MUST(aclrtRecordEvent(event, t));
    WANT(aclrtSynchronizeStream(s), 507013);
    WANT(count, 11); /* they have run when it answers */
    WANT(aclrtSynchronizeStream(s), 0);
    MUST(aclrtSetExceptionInfoCallback(NULL));
    MUST(aclrtExceptionInfoCallbackUnregister(told_too));
    MUST(aclrtFree(failing.device));
}

static aclrtStream seen;

static void stream_state(aclrtStream stream, aclrtStreamState state, void *data)
{
    WANT(data == &seen, 1);
    seen = stream;
    add(amount(state == ACL_RT_STREAM_STATE_CREATE_POST ? 1 : 10));
}

static void device_state(int32_t device, aclrtDeviceState state, void *data)
{
    WANT(device, 1);
    WANT(data == &seen, 1);
    add(amount(100 << (4 * state)));
}

static int32_t aborted(int32_t device, aclrtDeviceTaskAbortStage stage, uint32_t limit, void *data)
{
    WANT(device, 0);
    WANT(limit > 0 && limit <= 60000, 1);
    WANT(data == &seen, 1);
    add(amount(10000000 << stage));
    return 0;
}

static void states(void)
{
    aclrtStream stream;
    MUST(aclrtRegStreamStateCallback("host", stream_state, &seen));
    MUST(aclrtRegDeviceStateCallback("host", device_state, &seen));
    MUST(aclrtSetDeviceTaskAbortCallback("host", aborted, &seen));
    MUST(aclrtCreateStream(&stream));
    WANT(seen == stream, 1);
    MUST(aclrtDestroyStream(stream));
    WANT(count, 11);
    MUST(aclrtSetDevice(1));
    MUST(aclrtResetDevice(1));
    WANT(count, 22 + 100 + 1600 + 25600 + 409600);
    MUST(aclrtSetCurrentContext(context));
    MUST(aclrtRegStreamStateCallback("host", NULL, NULL));
    MUST(aclrtRegDeviceStateCallback("host", NULL, NULL));
    MUST(aclrtStreamWaitEvent(s, event)); /* nobody records it */
    MUST(aclrtDeviceTaskAbort(0, 60000));
    MUST(aclrtSynchronizeStream(s));
}

static const struct { const char *name; void (*run)(void); } cases[] = {
    { "calls", functions_call_the_runtime }, { "releases", a_function_releases_another_thread },
    { "nested", functions_process_reports }, { "many", many_threads }, { "leave", the_process_ends_in_a_function },
    { "contexts", contexts_end }, { "forked", forked }, { "exceptions", exceptions },
    { "states", states },
};

int main(int argc, char **argv)
{
    MUST(aclInit(NULL));
    MUST(aclrtSetDevice(0));
    MUST(aclrtGetCurrentContext(&context));
    MUST(aclrtCreateStream(&s));
    MUST(aclrtCreateStream(&t));
    MUST(aclrtCreateEventWithFlag(&event, ACL_EVENT_SYNC));
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++)
        if (argc > 1 && strcmp(argv[1], cases[i].name) == 0) {
            cases[i].run();
            MUST(aclrtDestroyEvent(event));
            MUST(aclrtDestroyStream(t));
            MUST(aclrtDestroyStream(s));
            MUST(aclrtResetDevice(0));
            printf("%d\n", count);
            return failures != 0;
        }
    return 2;
}
