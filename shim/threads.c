/* The threads that call the runtime: what is known of each, their numbers, and their waits. */
#define _GNU_SOURCE
#include "threads.h"

#include <pthread.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/syscall.h>
#include <unistd.h>

__thread struct cannery_thread *cannery_this_thread;

/* the engine lock guards these */
static struct cannery_thread *waiting;
static uint32_t last_ordinal;
static uint32_t generation; /* counts forks */
/* What the system calls each thread, by ordinal. Also of those that ended: a task that one queued may fail afterwards, and
 * the program may then ask whose it was. Four bytes a thread. */
static uint32_t *tids;
static uint32_t room_for_tids;

struct cannery_thread_engine *cannery_thread_engine(struct cannery_thread *thread) { return &thread->engine; }

uint32_t cannery_thread_ordinal(struct cannery_thread *thread) { return thread->ordinal; }

uint64_t cannery_thread_id(struct cannery_thread *thread) { return thread->id; }

uint32_t cannery_thread_worker(struct cannery_thread *thread) { return thread->worker; }

uint32_t cannery_tid_of(uint32_t ordinal)
{
    return ordinal - 1 < last_ordinal && ordinal <= room_for_tids ? tids[ordinal - 1] : UINT32_MAX;
}

void cannery_wait_ends(uint32_t ordinal, const struct cannery_answer *answer, const struct cannery_invoke *invoke)
{
    for (struct cannery_thread **link = &waiting; *link != NULL; link = &(*link)->next_waiting)
        if ((*link)->ordinal == ordinal) {
            struct cannery_thread *thread = *link;
            *link = thread->next_waiting;
            thread->answer = *answer;
            thread->invoke = invoke != NULL ? *invoke : (struct cannery_invoke){ 0 };
            uint32_t *word = &thread->ended;
            __atomic_store_n(word, 1, __ATOMIC_SEQ_CST);
            cannery_futex_wake(word);
            return;
        }
}

void cannery_wait_limited(uint32_t ordinal, int64_t deadline)
{
    for (struct cannery_thread *thread = waiting; thread != NULL; thread = thread->next_waiting)
        if (thread->ordinal == ordinal) {
            __atomic_store_n(&thread->limit, deadline, __ATOMIC_SEQ_CST);
            __atomic_add_fetch(&thread->ended, 2, __ATOMIC_SEQ_CST);
            cannery_futex_wake(&thread->ended);
            return;
        }
}

void cannery_wait_begins(struct cannery_thread *thread, int64_t deadline)
{
    thread->ended = 0;
    thread->limit = deadline;
    thread->next_waiting = waiting;
    waiting = thread;
}

static void note_tid(uint32_t ordinal)
{
    if (ordinal > room_for_tids) {
        uint32_t *more = realloc(tids, 2 * (size_t)ordinal * sizeof *tids);
        if (more == NULL)
            return; /* the next one tries again */
        memset(more + room_for_tids, 0xff, (2 * (size_t)ordinal - room_for_tids) * sizeof *tids);
        tids = more;
        room_for_tids = 2 * ordinal;
    }
    tids[ordinal - 1] = (uint32_t)syscall(SYS_gettid);
}

/* Numbers a thread at its first served call, so that the numbers follow the order of the records. */
void cannery_number_thread(struct cannery_request *request)
{
    struct cannery_thread *thread = request->thread;
    if (thread->numbered)
        return;
    thread->ordinal = ++last_ordinal;
    thread->generation = generation;
    thread->numbered = 1;
    note_tid(thread->ordinal);
    cannery_note_inflight(thread, request->function, request->args);
}

/* The shim's own thread key: the engine's threads keys never run their destructors (they are another libc's). */
void cannery_thread_ends(void *value)
{
    struct cannery_thread *thread = value;
    struct cannery_request turn = { .thread = thread };
    int cancellation; /* may be pending, and would come true in here (see cannery_call) */
    pthread_setcancelstate(PTHREAD_CANCEL_DISABLE, &cancellation);
    if (thread->engine.state != NULL) {
        if (thread->numbered && thread->generation == generation) {
            struct cannery_request request = { .kind = CANNERY_THREAD_END, .thread = thread };
            cannery_turn_submit(&request);
        }
        cannery_turn_take(&turn);
        cannery_engine.retire(thread);
        cannery_turn_give();
    }
    cannery_this_thread = NULL;
    free(thread);
    pthread_setcancelstate(cancellation, NULL);
}

struct cannery_thread *cannery_new_thread(void)
{
    struct cannery_thread *thread = calloc(1, sizeof *thread);
    if (thread != NULL) {
        cannery_prepare_thread(thread);
        thread->id = (uint64_t)pthread_self();
        cannery_this_thread = thread;
    }
    return thread;
}

int cannery_start_thread(void *(*body)(void *), void *argument)
{
    pthread_t thread;
    pthread_attr_t attributes;
    sigset_t all, before;
    sigfillset(&all); /* the program's signal handlers must not run on a thread it does not know */
    pthread_sigmask(SIG_SETMASK, &all, &before);
    pthread_attr_init(&attributes);
    pthread_attr_setdetachstate(&attributes, PTHREAD_CREATE_DETACHED);
    int status = pthread_create(&thread, &attributes, body, argument);
    pthread_attr_destroy(&attributes);
    pthread_sigmask(SIG_SETMASK, &before, NULL);
    return status;
}

void cannery_threads_reset_in_child(void)
{
    waiting = NULL; /* the other threads do not exist here; what they held cannot be freed safely */
    last_ordinal = 0;
    generation++;
    cannery_this_thread->numbered = 0;
}
