/* The engine lock: who may run Python now.
 *
 * One thread at a time is in the engine. A thread that finds it taken leaves its request in a queue; whoever holds the
 * engine serves that queue before it gives the engine up (flat combining), so a busy engine costs a waiting thread the
 * transfer of one cache line instead of a switch of context, and the interpreter's data stay in one core's cache.
 * The interpreter's own lock (GIL) is always taken by the holder of this one, so nobody ever contends for it. */
#define _GNU_SOURCE
#include "shim.h"

#include <limits.h>
#include <linux/futex.h>
#include <sched.h>
#include <stdatomic.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

enum {
    TURN_LENGTH = 128, /* requests one thread serves before it passes the engine on and gets back to its own work */
    SPINS = 2000       /* looks at one's request before going to sleep: some microseconds, about two calls' time */
};

static const struct cannery_engine *engine;
static _Atomic uint32_t held;
static _Atomic(struct cannery_request *) queue; /* newest first; only the holder takes from it */
static struct cannery_request *handed;          /* the holder's: taken off the queue, not served yet, oldest first */
static _Atomic uint32_t spinning;
static _Atomic uint64_t turns;
static uint32_t spinners_allowed;

int64_t cannery_now(void)
{
    struct timespec t;
    clock_gettime(CLOCK_MONOTONIC, &t);
    return (int64_t)t.tv_sec * 1000000000 + t.tv_nsec;
}

long cannery_futex_wait(uint32_t *word, uint32_t value, int64_t deadline)
{
    struct timespec until = { (time_t)(deadline / 1000000000), (long)(deadline % 1000000000) };
    /* WAIT_BITSET takes an absolute monotonic time, so a signal does not prolong the wait */
    return syscall(SYS_futex, word, FUTEX_WAIT_BITSET_PRIVATE, value, deadline < 0 ? NULL : &until, NULL,
                   FUTEX_BITSET_MATCH_ANY);
}

void cannery_futex_wake(uint32_t *word)
{
    syscall(SYS_futex, word, FUTEX_WAKE_PRIVATE, INT_MAX, NULL, NULL, 0);
}

static _Atomic uint32_t *state_of(struct cannery_request *request)
{
    return (_Atomic uint32_t *)&request->state;
}

void cannery_turn_init(const struct cannery_engine *table)
{
    long processors = sysconf(_SC_NPROCESSORS_ONLN);
    engine = table;
    /* one core is the holder's: spinning on it would only keep the holder from working */
    spinners_allowed = processors > 1 ? (uint32_t)(processors - 1) : 0;
}

uint64_t cannery_turn_count(void) { return atomic_load_explicit(&turns, memory_order_relaxed); }

void cannery_turn_reset_in_child(void)
{
    /* the forking thread holds the engine; those who queued do not exist here */
    atomic_store(&queue, NULL);
    atomic_store(&spinning, 0);
    handed = NULL;
}

static int try_take(void)
{
    uint32_t expected = 0;
    return atomic_load_explicit(&held, memory_order_relaxed) == 0 && atomic_compare_exchange_strong(&held, &expected, 1);
}

/* Tells a request's thread how it went on. The request may vanish with that thread's stack at once: only the address of
 * its word is used afterwards, and a wake-up too many is harmless, since every sleeper looks again. */
static void tell(struct cannery_request *request, uint32_t state)
{
    uint32_t *word = &request->state;
    if (atomic_exchange((_Atomic uint32_t *)word, state) == CANNERY_SLEEPING)
        cannery_futex_wake(word);
}

static struct cannery_request *next_list(void)
{
    struct cannery_request *list = handed;
    if (list != NULL) {
        handed = NULL;
        return list;
    }
    struct cannery_request *newest = atomic_exchange(&queue, NULL);
    while (newest != NULL) { /* in order of arrival */
        struct cannery_request *next = newest->next;
        newest->next = list;
        list = newest;
        newest = next;
    }
    return list;
}

/* Takes the request out of the list that should get the engine: one whose thread is awake, else the oldest. */
static struct cannery_request *choose_heir(struct cannery_request **list)
{
    struct cannery_request **link = list;
    for (struct cannery_request **at = list; *at != NULL; at = &(*at)->next)
        if (atomic_load_explicit(state_of(*at), memory_order_relaxed) == CANNERY_QUEUED) {
            link = at;
            break;
        }
    struct cannery_request *heir = *link;
    *link = heir->next;
    return heir;
}

/* Frees the engine. 0 if it is ours again, because somebody queued after our last look: either such a thread saw the
 * lock free after it had queued, or we see its request here (both sides are sequentially consistent). */
static int release(void)
{
    atomic_store(&held, 0);
    return atomic_load(&queue) == NULL || !try_take();
}

static void run(struct cannery_thread *thread, struct cannery_request *own)
{
    int served = 0;
    do {
        engine->enter(thread);
        if (own != NULL) {
            engine->serve(own);
            atomic_store_explicit(state_of(own), CANNERY_SERVED, memory_order_relaxed);
            own = NULL;
            served++;
        }
        struct cannery_request *list;
        while ((list = next_list()) != NULL) {
            while (list != NULL) {
                struct cannery_request *heir = NULL;
                if (list->kind == CANNERY_OWN_TURN) {
                    heir = list;
                    list = list->next;
                } else if (served >= TURN_LENGTH) {
                    heir = choose_heir(&list);
                }
                if (heir != NULL) {
                    handed = list;
                    engine->leave(thread);
                    tell(heir, CANNERY_GRANTED);
                    return;
                }
                struct cannery_request *next = list->next;
                engine->serve(list);
                tell(list, CANNERY_SERVED);
                list = next;
                served++;
            }
        }
        engine->leave(thread);
        atomic_store_explicit(&turns, atomic_load_explicit(&turns, memory_order_relaxed) + 1, memory_order_relaxed);
    } while (!release());
}

static void pause_briefly(void)
{
#if defined(__x86_64__)
    __builtin_ia32_pause();
#elif defined(__aarch64__)
    __asm__ volatile("yield" ::: "memory");
#endif
}

static void queue_up(struct cannery_request *request)
{
    struct cannery_request *newest = atomic_load(&queue);
    do
        request->next = newest;
    while (!atomic_compare_exchange_weak(&queue, &newest, request));
}

/* Waits until a queued request was served (returns 0) or the engine is this thread's (1): granted, which takes the
 * request off the queue, or found free, which does not. */
static int await_turn(struct cannery_request *request)
{
    _Atomic uint32_t *state = state_of(request);
    for (;;) {
        int spins = atomic_fetch_add(&spinning, 1) < spinners_allowed ? SPINS : 0;
        do {
            uint32_t now = atomic_load_explicit(state, memory_order_acquire);
            int mine = now == CANNERY_GRANTED || (now != CANNERY_SERVED && try_take());
            if (mine || now == CANNERY_SERVED) {
                atomic_fetch_sub(&spinning, 1);
                return mine;
            }
            pause_briefly();
        } while (spins-- > 0);
        atomic_fetch_sub(&spinning, 1);
        uint32_t expected = CANNERY_QUEUED;
        if (atomic_compare_exchange_strong(state, &expected, CANNERY_SLEEPING)) {
            cannery_futex_wait(&request->state, CANNERY_SLEEPING, -1);
            expected = CANNERY_SLEEPING;
            atomic_compare_exchange_strong(state, &expected, CANNERY_QUEUED); /* a stray wake-up: look again */
        }
    }
}

void cannery_turn_submit(struct cannery_request *request)
{
    struct cannery_thread *thread = request->thread;
    request->state = CANNERY_QUEUED;
    if (try_take()) {
        run(thread, request);
        return;
    }
    queue_up(request);
    while (await_turn(request)) {
        int granted = atomic_load_explicit(state_of(request), memory_order_acquire) == CANNERY_GRANTED;
        run(thread, granted ? request : NULL);
        /* not served yet if the turn became too long before it came to ours, or if it was passed on to us again */
        if (atomic_load_explicit(state_of(request), memory_order_acquire) == CANNERY_SERVED)
            return;
    }
}

void cannery_turn_take(struct cannery_request *request)
{
    request->kind = CANNERY_OWN_TURN;
    request->state = CANNERY_QUEUED;
    if (try_take())
        return;
    queue_up(request);
    await_turn(request);
    if (atomic_load_explicit(state_of(request), memory_order_acquire) == CANNERY_GRANTED)
        return;
    /* taken while our request stands in the queue: take it out, keep the others */
    handed = next_list();
    for (struct cannery_request **at = &handed; *at != NULL; at = &(*at)->next)
        if (*at == request) {
            *at = request->next;
            break;
        }
}

void cannery_turn_give(void)
{
    struct cannery_request *list;
    do {
        if ((list = next_list()) != NULL) {
            handed = list->next;
            tell(list, CANNERY_GRANTED);
            return;
        }
    } while (!release());
}
