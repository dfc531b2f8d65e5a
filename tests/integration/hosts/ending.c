/* A library for a Python: a thread of it, and the main thread, call the runtime when that Python has ended. */
#include "host.h"

static pthread_t thread;
static pthread_barrier_t called, ended;

static void *work(void *unused)
{
    int32_t device;
    (void)unused;
    MUST(aclrtSetDevice(0));
    pthread_barrier_wait(&called);
    pthread_barrier_wait(&ended);
    printf("thread %d\n", aclrtGetDevice(&device));
    return NULL; /* and what the runtime knows of the thread goes too */
}

static void at_exit(void)
{
    int32_t device;
    printf("main %d\n", aclrtGetDevice(&device));
    pthread_barrier_wait(&ended);
    pthread_join(thread, NULL);
    fflush(stdout);
}

void begin(void)
{
    MUST(aclrtSetDevice(0));
    pthread_barrier_init(&called, NULL, 2);
    pthread_barrier_init(&ended, NULL, 2);
    MUST(pthread_create(&thread, NULL, work, NULL));
    pthread_barrier_wait(&called);
    atexit(at_exit); /* Python has been finalised when it runs */
}
