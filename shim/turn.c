/* The engine lock: who may run Python now.
 *
 * One thread at a time is in the engine. A thread that finds it taken leaves its request in a queue; whoever holds the
 * engine serves that queue before it gives the engine up (flat combining), so a busy engine costs a waiting thread the
 * transfer of one cache line instead of a switch of context, and the interpreter's data stay in one core's cache.
 * For that cache's sake a thread waits a moment for the last holder to come back before it takes a contended engine.
 *
 * No more threads than there are cores compete: waking a thread for each call would cost more than the call. The others
 * are parked, and every so often one of them is let in, and takes the place of the thread that held the engine last (a
 * "Malthusian" lock, as D. Dice calls it). A thread that does nothing but call, and is always served by another, is
 * parked too: each of the two alone calls faster than both together, since nothing has to pass from core to core.
 *
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
    SPINS = 2000,      /* looks at one's request before going to sleep: tens of microseconds */
    PATIENCE = 60,     /* looks before taking an engine that another thread was using a moment ago: a microsecond */
    CONTENDED = 16,    /* turns without a request of another thread after which nobody need be patient any more */
    ROTATION = 2048,   /* requests after which a parked thread is let in: a few milliseconds of calls */
    BRISK_NS = 250,    /* who calls again within that time does nothing but call */
    BORROWED = 4,      /* turns of others in a row that serve a thread that does nothing but call, until it is parked */
    PARKED_NS = 2000000,    /* how long a parked thread sleeps at most before it looks whether anybody lets it in */
    FIRST_SLEEP_NS = 50000, /* how long at first: those who took its place may have called just once */
    IDLE_NS = 10000,        /* with one turn in that time, the engine is not what those who call wait for */
    RETIREMENT_NS = 100000  /* who comes back later than that does not do nothing but call */
};

static const struct cannery_engine *engine;
static _Atomic uint32_t held;
static _Atomic(struct cannery_request *) queue; /* newest first; only the holder takes from it */
static struct cannery_request *handed;          /* the holder's: taken off the queue, not served yet, oldest first */
static _Atomic(struct cannery_request *) parking; /* newest first; likewise */
static struct cannery_request *parked;          /* the holder's: taken off `parking`, oldest first */
static _Atomic uint32_t competing;              /* threads that wait for the engine and are not parked */
static _Atomic uint32_t parked_count;
static uint32_t competitors;                    /* how many there may be */
static uint32_t rotation;                       /* the holder's: requests served since a parked thread was let in */
static _Atomic uint32_t admissions;             /* how often a parked thread was let in */
static _Atomic uint32_t overdue;                /* none was for as long as a parked thread sleeps */
static _Atomic uint32_t contended;
static _Atomic(struct cannery_thread *) retiring; /* is parked if it calls again soon: somebody was let in for it */
static _Atomic int64_t retired;                 /* when that was */
static _Atomic(struct cannery_thread *) last_holder;
static _Atomic uint64_t turns;
static __thread struct {
    int64_t served;    /* when another thread served this one last */
    uint32_t borrowed; /* how often in a row, with nothing done between */
} standing;

int64_t cannery_now(void)
{
    struct timespec t;
    clock_gettime(CLOCK_MONOTONIC, &t);
    return (int64_t)t.tv_sec * 1000000000 + t.tv_nsec;
}

static long wait_on(uint32_t *word, uint32_t value, int64_t deadline, int scope)
{
    struct timespec until = { (time_t)(deadline / 1000000000), (long)(deadline % 1000000000) };
    /* WAIT_BITSET takes an absolute monotonic time, so a signal does not prolong the wait */
    return syscall(SYS_futex, word, FUTEX_WAIT_BITSET | scope, value, deadline < 0 ? NULL : &until, NULL,
                   FUTEX_BITSET_MATCH_ANY);
}

long cannery_futex_wait(uint32_t *word, uint32_t value, int64_t deadline)
{
    return wait_on(word, value, deadline, FUTEX_PRIVATE_FLAG);
}

long cannery_shared_futex_wait(uint32_t *word, uint32_t value, int64_t deadline)
{
    return wait_on(word, value, deadline, 0);
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
    /* one core is the holder's: competing for it would only keep the holder from working */
    competitors = processors > 2 ? (uint32_t)(processors - 1) : 1;
}

int cannery_turn_held(void) { return atomic_load_explicit(&held, memory_order_relaxed) != 0; }

uint64_t cannery_turn_count(void) { return atomic_load_explicit(&turns, memory_order_relaxed); }

void cannery_turn_reset_in_child(void)
{
    /* the forking thread holds the engine from now on; those who queued do not exist here */
    atomic_store(&held, 1);
    atomic_store(&queue, NULL);
    atomic_store(&parking, NULL);
    atomic_store(&competing, 0);
    atomic_store(&parked_count, 0);
    atomic_store(&overdue, 0);
    atomic_store(&retiring, NULL);
    standing.borrowed = 0;
    handed = NULL;
    parked = NULL;
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
    uint32_t before = atomic_exchange((_Atomic uint32_t *)word, state);
    if (before == CANNERY_SLEEPING || before == CANNERY_PARKED)
        cannery_futex_wake(word);
}

/* Takes all requests off a stack, appends them to `list` in order of arrival. */
static struct cannery_request *take_all(_Atomic(struct cannery_request *) *stack, struct cannery_request *list)
{
    struct cannery_request *newest = atomic_exchange(stack, NULL), *oldest = NULL, **end = &list;
    while (newest != NULL) {
        struct cannery_request *next = newest->next;
        newest->next = oldest;
        oldest = newest;
        newest = next;
    }
    while (*end != NULL)
        end = &(*end)->next;
    *end = oldest;
    return list;
}

static struct cannery_request *next_list(void)
{
    struct cannery_request *list = handed;
    handed = NULL;
    return list != NULL ? list : atomic_load_explicit(&queue, memory_order_relaxed) != NULL ? take_all(&queue, NULL) : NULL;
}

static void push(_Atomic(struct cannery_request *) *stack, struct cannery_request *request)
{
    struct cannery_request *newest = atomic_load(stack);
    do
        request->next = newest;
    while (!atomic_compare_exchange_weak(stack, &newest, request));
}

/* Lets the thread that was parked first compete. It counts as competing from now on, so that one is let in, not all. */
static void let_one_in(void)
{
    parked = take_all(&parking, parked);
    struct cannery_request *first = parked;
    if (first == NULL)
        return;
    parked = first->next;
    rotation = 0;
    atomic_store_explicit(&overdue, 0, memory_order_relaxed);
    atomic_fetch_add(&admissions, 1);
    atomic_fetch_add(&competing, 1);
    atomic_fetch_sub(&parked_count, 1);
    tell(first, CANNERY_QUEUED);
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

/* Frees the engine. 0 if it is ours again, because a request was queued after our last look: either its thread saw the
 * lock free afterwards, or we see its request here (both sides are sequentially consistent). */
static int release(void)
{
    if (atomic_load_explicit(&parked_count, memory_order_relaxed) > 0 &&
        (rotation >= ROTATION || atomic_load_explicit(&overdue, memory_order_relaxed)))
        let_one_in();
    atomic_store(&held, 0);
    return atomic_load(&queue) == NULL || !try_take();
}

static void run(struct cannery_thread *thread, struct cannery_request *own)
{
    uint32_t served = 0, foreign = 0;
    if (atomic_load_explicit(&last_holder, memory_order_relaxed) != thread)
        atomic_store_explicit(&last_holder, thread, memory_order_relaxed);
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
            foreign = 1;
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
        uint32_t before = atomic_load_explicit(&contended, memory_order_relaxed);
        uint32_t after = foreign ? CONTENDED : before > 0 ? before - 1 : 0;
        if (after != before)
            atomic_store_explicit(&contended, after, memory_order_relaxed);
        rotation += served;
        served = 0;
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

/* Waits until a queued request was served (returns 0) or the engine is this thread's (1): granted, which takes the
 * request off the queue, or found free, which does not. */
static int await_turn(struct cannery_request *request, int patience)
{
    _Atomic uint32_t *state = state_of(request);
    for (;;) {
        for (int spins = SPINS; spins > 0; spins--) {
            uint32_t now = atomic_load_explicit(state, memory_order_acquire);
            if (now == CANNERY_SERVED)
                return 0;
            if (now == CANNERY_GRANTED || (--patience < 0 && try_take()))
                return 1;
            pause_briefly();
        }
        uint32_t expected = CANNERY_QUEUED;
        if (atomic_compare_exchange_strong(state, &expected, CANNERY_SLEEPING))
            while (atomic_load_explicit(state, memory_order_acquire) == CANNERY_SLEEPING)
                cannery_futex_wait(&request->state, CANNERY_SLEEPING, -1);
    }
}

/* The threads of the shim itself: they have a turn when something happened, and others wait for what they bring. */
static int attends(const struct cannery_request *request)
{
    return request->kind == CANNERY_PACE || request->kind == CANNERY_SIGNAL;
}

/* A place among those who compete for the engine; waits for it where too many do. 0: the engine is ours instead.
 * The time limit is for those who let others in: they may call seldom, or have all gone. */
static int compete(struct cannery_request *request, int park)
{
    if (!park) {
        if (atomic_fetch_add(&competing, 1) < competitors || attends(request))
            return 1;
        atomic_fetch_sub(&competing, 1);
    }
    standing.borrowed = 0;
    atomic_fetch_add(&parked_count, 1);
    request->state = CANNERY_PARKED;
    push(&parking, request);
    uint64_t seen = cannery_turn_count();
    uint32_t known = atomic_load(&admissions);
    for (int64_t sleep = FIRST_SLEEP_NS; atomic_load_explicit(state_of(request), memory_order_acquire) == CANNERY_PARKED;
         sleep = 2 * sleep < PARKED_NS ? 2 * sleep : PARKED_NS) {
        cannery_futex_wait(&request->state, CANNERY_PARKED, cannery_now() + sleep);
        if (atomic_load_explicit(state_of(request), memory_order_acquire) != CANNERY_PARKED)
            break;
        uint64_t turn = cannery_turn_count(), passed = turn - seen;
        if (passed != 0 || !try_take()) { /* the engine is in use: its holder will let us in */
            if (passed <= (uint64_t)(sleep / IDLE_NS) || (sleep == PARKED_NS && atomic_load(&admissions) == known))
                atomic_store(&overdue, 1);
            seen = turn;
            known = atomic_load(&admissions);
            continue;
        }
        parked = take_all(&parking, parked);
        for (struct cannery_request **at = &parked; *at != NULL; at = &(*at)->next)
            if (*at == request) {
                *at = request->next;
                atomic_fetch_sub(&parked_count, 1);
                request->state = CANNERY_QUEUED;
                return 0;
            }
        cannery_turn_give(); /* let in just now */
    }
    struct cannery_thread *holder = atomic_load_explicit(&last_holder, memory_order_relaxed);
    atomic_store_explicit(&retired, cannery_now(), memory_order_relaxed);
    atomic_store_explicit(&retiring, holder != request->thread ? holder : NULL, memory_order_relaxed);
    return 1;
}

/* Whether this thread, which finds the engine taken, would better leave it to the one that has it. */
static int stand_back(void)
{
    if (standing.borrowed > 0 && cannery_now() - standing.served > BRISK_NS)
        standing.borrowed = 0;
    return standing.borrowed >= BORROWED;
}

void cannery_turn_submit(struct cannery_request *request)
{
    struct cannery_thread *thread = request->thread;
    request->state = CANNERY_QUEUED;
    int retire = thread != NULL && atomic_load_explicit(&retiring, memory_order_relaxed) == thread;
    int patient = atomic_load_explicit(&contended, memory_order_relaxed) > 0 &&
                  atomic_load_explicit(&last_holder, memory_order_relaxed) != thread;
    if (retire) {
        atomic_store_explicit(&retiring, NULL, memory_order_relaxed);
        retire = !attends(request) &&
                 cannery_now() - atomic_load_explicit(&retired, memory_order_relaxed) < RETIREMENT_NS;
    }
    if (!retire && !patient && try_take()) {
        run(thread, request);
        return;
    }
    if (!compete(request, retire || stand_back())) {
        run(thread, request);
        return;
    }
    push(&queue, request);
    int own = 0;
    while (await_turn(request, patient ? PATIENCE : 0)) {
        own = 1;
        int granted = atomic_load_explicit(state_of(request), memory_order_acquire) == CANNERY_GRANTED;
        run(thread, granted ? request : NULL);
        /* not served yet if the turn became too long before it came to ours, or if it was passed on to us again */
        if (atomic_load_explicit(state_of(request), memory_order_acquire) == CANNERY_SERVED)
            break;
    }
    atomic_fetch_sub(&competing, 1);
    standing.borrowed = own ? 0 : standing.borrowed + 1;
    standing.served = own ? 0 : cannery_now();
}

void cannery_turn_take(struct cannery_request *request)
{
    request->kind = CANNERY_OWN_TURN;
    request->state = CANNERY_QUEUED;
    if (try_take())
        return;
    push(&queue, request);
    await_turn(request, 0);
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
