/* fork(): the child begins anew, with a model of its own, and never finds a lock held by a thread that it does not have. */
#define _GNU_SOURCE
#include "threads.h"

#include <pthread.h>
#include <stddef.h>

static struct cannery_request fork_turn;
static int fork_has_turn;
static __thread int cancellation; /* of the forking thread: not while it holds the engine */

/* A Python that forks in its own placement holds its GIL, which whoever has the engine may be waiting for. Then the turn is
 * not taken: while we hold that lock nobody else runs in the engine, and the child begins with a model of its own. */
static void before_fork(void)
{
    pthread_setcancelstate(PTHREAD_CANCEL_DISABLE, &cancellation);
    cannery_hold_start();
    if (atomic_load(&cannery_stage) != CANNERY_RUNNING)
        return;
    struct cannery_thread *thread = cannery_this_thread != NULL ? cannery_this_thread : cannery_new_thread();
    if (thread == NULL)
        return;
    fork_turn = (struct cannery_request){ .thread = thread };
    fork_has_turn = !cannery_engine.holds_interpreter();
    if (fork_has_turn)
        cannery_turn_take(&fork_turn);
    cannery_engine.before_fork(thread);
}

static void after_fork_in_parent(void)
{
    if (atomic_load(&cannery_stage) == CANNERY_RUNNING && cannery_this_thread != NULL) {
        cannery_engine.after_fork(cannery_this_thread, 0);
        if (fork_has_turn)
            cannery_turn_give();
    }
    cannery_release_start();
    pthread_setcancelstate(cancellation, NULL);
}

static void after_fork_in_child(void)
{
    if (atomic_load(&cannery_stage) == CANNERY_RUNNING && cannery_this_thread != NULL) {
        cannery_threads_reset_in_child();
        cannery_calls_reset_in_child();
        cannery_set_inflight(NULL, 0);
        cannery_pacer_reset_in_child();
        cannery_workers_reset_in_child();
        cannery_turn_reset_in_child();
        cannery_engine.after_fork(cannery_this_thread, 1);
        cannery_turn_give();
    }
    cannery_release_start();
    pthread_setcancelstate(cancellation, NULL);
}

void cannery_follow_forks(void) { pthread_atfork(before_fork, after_fork_in_parent, after_fork_in_child); }
