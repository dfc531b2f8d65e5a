/* What the files of the shim know of a thread, and have for each other. */
#ifndef CANNERY_THREADS_H
#define CANNERY_THREADS_H

#include "shim.h"

#include <stdatomic.h>

struct cannery_thread {
    struct cannery_thread_engine engine;
    uint32_t ordinal;
    uint32_t ended;      /* futex word: 1, the wait is over, `answer` is valid; else 2 more for each new `limit` */
    int64_t limit;       /* monotonic ns at which the wait expires, < 0 for never */
    struct cannery_answer answer;
    struct cannery_invoke invoke; /* to be run before the call ends; with `ended` */
    uint32_t generation; /* of the process (fork); an older one means that the ordinal is the parent's */
    uint64_t id;         /* pthread_self() */
    uint32_t worker;     /* which worker of the runtime it is; 0: none */
    uint8_t inside;      /* this thread is in a call */
    uint8_t numbered;
    struct cannery_thread *next_waiting;
};

#pragma GCC visibility push(hidden)

/* threads.c: the threads that call, their numbers and waits */
extern __thread struct cannery_thread *cannery_this_thread; /* NULL before its first call */
struct cannery_thread *cannery_new_thread(void); /* the calling thread, which has none yet; NULL: no memory */
void cannery_thread_ends(void *thread);
int cannery_start_thread(void *(*body)(void *), void *argument); /* one of the runtime's; an error number */
void cannery_threads_reset_in_child(void);
/* for the engine, see struct cannery_services */
struct cannery_thread_engine *cannery_thread_engine(struct cannery_thread *thread);
uint32_t cannery_thread_ordinal(struct cannery_thread *thread);
uint64_t cannery_thread_id(struct cannery_thread *thread);
uint32_t cannery_thread_worker(struct cannery_thread *thread);
uint32_t cannery_tid_of(uint32_t ordinal);
void cannery_number_thread(struct cannery_request *request);
void cannery_wait_begins(struct cannery_thread *thread, int64_t deadline);
void cannery_wait_ends(uint32_t ordinal, const struct cannery_answer *answer, const struct cannery_invoke *invoke);
void cannery_wait_limited(uint32_t ordinal, int64_t deadline);

/* inflight.c: which call each thread is in, for whoever reads the trace of a process that died */
struct cannery_inflight;
void cannery_set_inflight(void *slots, uint32_t count);
struct cannery_inflight *cannery_inflight_slot(const struct cannery_thread *thread); /* NULL: it has none */
struct cannery_inflight *cannery_note_inflight(const struct cannery_thread *thread, unsigned index,
                                               const uint64_t *args); /* the slot */
void cannery_clear_inflight(struct cannery_inflight *slot);

/* pacer.c: threads that make a step when nobody calls, or when another process rings */
void cannery_arm_pacer(int64_t due, uint32_t quiet);
void cannery_hasten_pacer(int64_t due);
void cannery_listen_to(uint32_t *bell);
void cannery_pacer_reset_in_child(void);

/* workers.c: functions of the program, and the threads of the runtime that run them */
uint64_t cannery_run_function(const struct cannery_invoke *invoke);
void cannery_errand(uint32_t number, const struct cannery_invoke *invoke);
void cannery_dismiss(uint32_t number);
void cannery_workers_reset_in_child(void);

/* start.c: the engine */
enum { CANNERY_UNSTARTED, CANNERY_RUNNING, CANNERY_FAILED };
extern _Atomic int cannery_stage;
extern struct cannery_engine cannery_engine; /* while `cannery_stage` is CANNERY_RUNNING */
/* For a call that finds no engine. 0: there is one now; 1: the call was made elsewhere, with that result; -1: none. */
int cannery_start(unsigned index, const uint64_t *args, uint64_t *result);
void cannery_hold_start(void); /* nobody starts the engine until `release` */
void cannery_release_start(void);

/* fork.c */
void cannery_follow_forks(void);

/* shim.c */
void cannery_calls_reset_in_child(void);

#pragma GCC visibility pop

#endif
