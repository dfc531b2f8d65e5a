/* Loaded by a Python host through ctypes.PyDLL, which keeps the host's GIL during the call. On a runtime that needed that
 * GIL, each of these would never return. */
#include "host.h"

static aclrtContext context;
static aclrtStream held;
static aclrtEvent gate;

static void prepare(void)
{
    static int done;
    if (done++)
        return;
    MUST(aclrtSetDevice(0));
    MUST(aclrtGetCurrentContext(&context));
    MUST(aclrtCreateStream(&held));
    MUST(aclrtCreateEventWithFlag(&gate, ACL_EVENT_SYNC));
}

static void *block(void *unused)
{
    (void)unused;
    WANT(aclrtSetCurrentContext(context), 0);
    WANT(aclrtSynchronizeStreamWithTimeout(held, 200), 507046);
    return NULL;
}

/* The caller holds the GIL and waits for a thread that is inside a blocking runtime call. */
int wait_for_blocked_thread(void)
{
    pthread_t thread;
    prepare();
    MUST(aclrtStreamWaitEvent(held, gate));
    MUST(pthread_create(&thread, NULL, block, NULL));
    MUST(pthread_join(thread, NULL));
    return failures;
}

static pthread_mutex_t mutex = PTHREAD_MUTEX_INITIALIZER;
static pthread_barrier_t both;

static void *call_under_mutex(void *unused)
{
    int32_t device;
    (void)unused;
    WANT(aclrtSetCurrentContext(context), 0);
    pthread_mutex_lock(&mutex);
    pthread_barrier_wait(&both);
    for (int i = 0; i < 20000; i++)
        WANT(aclrtGetDevice(&device), 0);
    pthread_mutex_unlock(&mutex);
    return NULL;
}

/* The caller holds the GIL and wants a mutex whose holder calls the runtime. */
int want_mutex_of_calling_thread(void)
{
    pthread_t thread;
    prepare();
    pthread_barrier_init(&both, NULL, 2);
    MUST(pthread_create(&thread, NULL, call_under_mutex, NULL));
    pthread_barrier_wait(&both);
    pthread_mutex_lock(&mutex);
    pthread_mutex_unlock(&mutex);
    MUST(pthread_join(thread, NULL));
    return failures;
}
