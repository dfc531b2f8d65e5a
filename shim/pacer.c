/* Threads of the runtime that make a step of their own: the pacer when work becomes due while nobody calls, the listener
 * when another process of the session rings. */
#define _GNU_SOURCE
#include "threads.h"

#include <stddef.h>

/* ---- the pacer ---- */

static const int64_t NEVER = INT64_MAX;
static const int64_t MOMENT = 1000000; /* ns. A process that is given no time to run sees but one of them pass */

static struct {
    _Atomic int64_t due;
    _Atomic uint32_t quiet; /* moments without a call before the pacer acts: those who call run due work themselves */
    _Atomic int64_t urgent; /* a due time that does not wait for them */
    uint32_t word; /* futex: changes when `due` does */
    uint8_t started;
} pacer = { .due = INT64_MAX, .urgent = INT64_MAX };

static void *pace(void *unused)
{
    struct cannery_thread self = { 0 };
    uint32_t quiet = 0; /* moments in a row that nobody called in */
    (void)unused;
    cannery_prepare_thread(&self);
    for (;;) {
        uint32_t seen = __atomic_load_n(&pacer.word, __ATOMIC_SEQ_CST);
        int64_t due = atomic_load(&pacer.due), urgent = atomic_load(&pacer.urgent);
        if (due == NEVER && urgent == NEVER) {
            cannery_futex_wait(&pacer.word, seen, -1);
            continue;
        }
        uint64_t calls = cannery_turn_count();
        int64_t now = cannery_now(), wake = due == NEVER ? NEVER : (due > now ? due : now) + MOMENT;
        if (urgent > now || urgent > wake)
            cannery_futex_wait(&pacer.word, seen, urgent < wake ? urgent : wake);
        now = cannery_now();
        if (now < urgent) {
            quiet = now < wake || cannery_turn_held() || calls != cannery_turn_count() ? 0 : quiet + 1;
            if (quiet == 0 || quiet < atomic_load(&pacer.quiet))
                continue;
        }
        quiet = 0;
        struct cannery_request request = { .kind = CANNERY_PACE, .thread = &self };
        atomic_store(&pacer.urgent, NEVER);
        atomic_store(&pacer.due, NEVER); /* the engine arms it again for what is left */
        cannery_turn_submit(&request);
    }
    return NULL;
}

static void wake_pacer(void)
{
    __atomic_add_fetch(&pacer.word, 1, __ATOMIC_SEQ_CST);
    if (pacer.started) {
        cannery_futex_wake(&pacer.word);
        return;
    }
    if (cannery_start_thread(pace, NULL) == 0)
        pacer.started = 1;
    else
        cannery_say("no thread for the pacer: work that becomes due while the program makes no call will not run");
}

void cannery_arm_pacer(int64_t due, uint32_t quiet)
{
    atomic_store(&pacer.quiet, quiet);
    atomic_store(&pacer.due, due);
    wake_pacer();
}

void cannery_hasten_pacer(int64_t due)
{
    if (atomic_load(&pacer.urgent) <= due)
        return;
    atomic_store(&pacer.urgent, due);
    wake_pacer();
}

/* ---- the listener: sleeps until another process of the session rings ---- */

static uint32_t *listener_bell; /* NULL: there is no listener */

static void *listen_for_others(void *bell)
{
    struct cannery_thread self = { 0 };
    cannery_prepare_thread(&self);
    for (;;) {
        uint32_t seen = __atomic_load_n((uint32_t *)bell, __ATOMIC_SEQ_CST);
        struct cannery_request request = { .kind = CANNERY_SIGNAL, .thread = &self, .deadline = -1 };
        cannery_turn_submit(&request);
        cannery_shared_futex_wait(bell, seen, request.deadline);
    }
    return NULL;
}

void cannery_listen_to(uint32_t *bell)
{
    if (listener_bell == bell)
        return;
    if (cannery_start_thread(listen_for_others, bell) == 0)
        listener_bell = bell;
    else
        cannery_say("no thread to listen to other processes: what they record is not seen while the program waits");
}

void cannery_pacer_reset_in_child(void)
{
    atomic_store(&pacer.due, NEVER);
    atomic_store(&pacer.urgent, NEVER);
    pacer.started = 0;
    listener_bell = NULL;
}
