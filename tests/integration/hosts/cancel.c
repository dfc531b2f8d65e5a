/* Threads that are cancelled while they call the runtime, while they fork, and in a function of the program. The others go
 * on, and so does the program. (No thread has the asynchronous type: with it, POSIX allows no call of the runtime.) */
#define _GNU_SOURCE
#include "host.h"
#include <pthread.h>
#include <stdatomic.h>
#include <unistd.h>

enum { THREADS = 40 };
static _Atomic int calls, in_function;
static aclrtContext context;

static void *call_for_ever(void *unused)
{
    (void)unused;
    WANT(aclrtSetCurrentContext(context), 0);
    for (;;) {
        aclrtEvent event;
        WANT(aclrtCreateEvent(&event), 0);
        WANT(aclrtDestroyEvent(event), 0);
        atomic_fetch_add(&calls, 1);
        pthread_testcancel();
    }
    return NULL;
}

static void *call_at_once(void *unused) /* and be cancelled at any moment, also before and in the first call */
{
    (void)unused;
    WANT(aclrtSetDevice(0), 0);
    return NULL;
}

static void *fork_for_ever(void *unused)
{
    (void)unused;
    for (;;) {
        int32_t device;
        pid_t child = fork();
        if (child == 0)
            _exit(aclrtGetDevice(&device) == 107002 ? 0 : 1); /* the child begins anew */
        int status = 0;
        WANT(waitpid(child, &status, 0), child);
        WANT(status, 0);
    }
    return NULL;
}

static void stay(void *unused)
{
    (void)unused;
    atomic_store(&in_function, 1);
    for (;;)
        pause();
}

static void *run_functions(void *unused)
{
    (void)unused;
    WANT(aclrtSetCurrentContext(context), 0);
    while (aclrtProcessReport(-1) != 0) /* not subscribed yet */
        usleep(100);
    return NULL;
}

static void end(pthread_t thread)
{
    WANT(pthread_cancel(thread), 0);
    WANT(pthread_join(thread, NULL), 0);
}

int main(void)
{
    pthread_t thread;
    aclrtStream stream;
    WANT(aclrtSetDevice(0), 0);
    WANT(aclrtGetCurrentContext(&context), 0);
    for (int i = 0; i < THREADS; i++) {
        int before = atomic_load(&calls);
        WANT(pthread_create(&thread, NULL, call_for_ever, NULL), 0);
        while (atomic_load(&calls) == before)
            usleep(10);
        end(thread);
        WANT(pthread_create(&thread, NULL, call_at_once, NULL), 0);
        end(thread);
    }
    for (int i = 0; i < 5; i++) {
        WANT(pthread_create(&thread, NULL, fork_for_ever, NULL), 0);
        usleep(5000);
        end(thread);
    }
    WANT(aclrtCreateStream(&stream), 0);
    WANT(pthread_create(&thread, NULL, run_functions, NULL), 0);
    WANT(aclrtSubscribeReport(thread, stream), 0);
    WANT(aclrtLaunchCallback(stay, NULL, ACL_CALLBACK_NO_BLOCK, stream), 0);
    while (!atomic_load(&in_function))
        usleep(100);
    end(thread);
    WANT(aclrtSynchronizeStream(stream), 0);
    WANT(aclrtResetDevice(0), 0);
    return 0;
}
