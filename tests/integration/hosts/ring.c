/* A ring of processes that hand a token on by notifies: ring PROCESSES ROUNDS [VICTIM MICROSECONDS]
 *
 * Each process waits for its own notify and then records that of the next one. With a victim, that one is killed after
 * so many microseconds; the others then find that no token comes any more (107020), close the ring without it, and go
 * round as often again. Prints how many hand-overs there were; exit status 0: none was lost. */
#define _GNU_SOURCE
#include <signal.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "acl/acl.h"

enum { MOST = 64, LIMIT = 3 }; /* processes; seconds without a token */

static struct shared {
    _Atomic int ready, opened, stopped, again;
    _Atomic long taken;
    char keys[MOST][65];
} *shared;

static int count, rounds, victim = -1;

static void wait_until(_Atomic int *counter, int value)
{
    const struct timespec moment = { 0, 1000000 };
    while (atomic_load(counter) < value)
        nanosleep(&moment, NULL);
}

static void check(int number, const char *what, int me)
{
    if (number != 0) {
        fprintf(stderr, "process %d: %s = %d: %s\n", me, what, number, aclGetRecentErrMsg());
        _exit(1);
    }
}
#define OK(call) check(call, #call, me)

/* 0: all rounds were made; 1: no token came. */
static int go_round(int me, aclrtNotify own, aclrtNotify next, aclrtStream stream, int begins)
{
    for (int i = 0; i < rounds; i++) {
        if (begins)
            OK(aclrtRecordNotify(next, stream));
        OK(aclrtWaitAndResetNotify(own, stream, LIMIT));
        int number = aclrtSynchronizeStream(stream);
        if (number == 107020 && victim >= 0)
            return 1;
        check(number, "aclrtSynchronizeStream", me);
        atomic_fetch_add(&shared->taken, 1);
        if (!begins)
            OK(aclrtRecordNotify(next, stream));
    }
    OK(aclrtSynchronizeStream(stream));
    return 0;
}

static int process(int me)
{
    aclrtStream stream;
    aclrtNotify own, next;
    int after = (me + 1) % count;
    OK(aclInit(NULL));
    OK(aclrtSetDevice(0));
    OK(aclrtCreateStream(&stream));
    OK(aclrtCreateNotify(&own, 0));
    OK(aclrtNotifyGetExportKey(own, shared->keys[me], 65, ACL_RT_NOTIFY_EXPORT_FLAG_DISABLE_PID_VALIDATION));
    atomic_fetch_add(&shared->ready, 1);
    wait_until(&shared->ready, count);
    OK(aclrtNotifyImportByKey(&next, shared->keys[after], 0));
    atomic_fetch_add(&shared->opened, 1);
    wait_until(&shared->opened, count);
    if (go_round(me, own, next, stream, me == 0) == 1 || victim >= 0) {
        while (me == victim) /* all rounds were made before it was killed */
            pause();
        /* everybody that lives stops here; then the ring is closed around the gap, with new notifies */
        int others = count - 1, first = victim == 0;
        atomic_fetch_add(&shared->stopped, 1);
        wait_until(&shared->stopped, others);
        OK(aclrtDestroyNotify(own));
        OK(aclrtCreateNotify(&own, 0));
        OK(aclrtNotifyGetExportKey(own, shared->keys[me], 65, ACL_RT_NOTIFY_EXPORT_FLAG_DISABLE_PID_VALIDATION));
        atomic_fetch_add(&shared->again, 1);
        wait_until(&shared->again, others);
        if (after == victim)
            after = (after + 1) % count;
        OK(aclrtDestroyNotify(next));
        OK(aclrtNotifyImportByKey(&next, shared->keys[after], 0));
        atomic_fetch_add(&shared->again, 1);
        wait_until(&shared->again, 2 * others);
        atomic_store(&shared->taken, 0);
        atomic_fetch_add(&shared->again, 1);
        wait_until(&shared->again, 3 * others);
        victim = -1;
        if (go_round(me, own, next, stream, me == first) != 0)
            return 1;
    }
    OK(aclrtDestroyNotify(next));
    OK(aclrtDestroyNotify(own));
    OK(aclrtResetDevice(0));
    OK(aclFinalize());
    return 0;
}

int main(int argc, char **argv)
{
    pid_t children[MOST];
    int failed = 0, status;
    if (argc < 3)
        return 2;
    count = atoi(argv[1]);
    rounds = atoi(argv[2]);
    victim = argc > 4 ? atoi(argv[3]) : -1;
    shared = mmap(NULL, sizeof *shared, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
    for (int i = 0; i < count; i++)
        if ((children[i] = fork()) == 0)
            _exit(process(i));
    if (victim >= 0) {
        wait_until(&shared->opened, count);
        usleep((useconds_t)atoi(argv[4]));
        kill(children[victim], SIGKILL);
    }
    for (int i = 0; i < count; i++) {
        waitpid(children[i], &status, 0);
        if (i == victim ? !WIFSIGNALED(status) : status != 0)
            failed++;
    }
    long expected = (long)rounds * (victim >= 0 ? count - 1 : count);
    printf("%ld of %ld hand-overs, %d processes failed\n", atomic_load(&shared->taken), expected, failed);
    return failed != 0 || atomic_load(&shared->taken) != expected;
}
