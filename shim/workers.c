/* Functions of the program, and the threads of the runtime that run those which no call waits for. */
#define _GNU_SOURCE
#include "threads.h"

#include <stdlib.h>

uint64_t cannery_run_function(const struct cannery_invoke *invoke)
{
    const uint64_t *args = invoke->args;
    void *function = (void *)(uintptr_t)invoke->function, *pointers[4];
    for (unsigned i = 0; i < 4; i++)
        pointers[i] = (void *)(uintptr_t)args[i];
    switch ((enum cannery_signature)invoke->signature) {
    case CANNERY_VOID_PTR: ((void (*)(void *))function)(pointers[0]); return 0;
    case CANNERY_VOID_PTR_PTR: ((void (*)(void *, void *))function)(pointers[0], pointers[1]); return 0;
    case CANNERY_U32_I32_PTR: return ((uint32_t (*)(int32_t, void *))function)((int32_t)args[0], pointers[1]);
    case CANNERY_PTR_PTR_SIZE:
        return (uint64_t)(uintptr_t)((void *(*)(void *, size_t))function)(pointers[0], (size_t)args[1]);
    case CANNERY_I32_I32_I32_U32_PTR:
        return (uint64_t)(int64_t)((int32_t (*)(int32_t, int32_t, uint32_t, void *))function)(
            (int32_t)args[0], (int32_t)args[1], (uint32_t)args[2], pointers[3]);
    case CANNERY_VOID_PTR_I32_PTR:
        ((void (*)(void *, int32_t, void *))function)(pointers[0], (int32_t)args[1], pointers[2]);
        return 0;
    case CANNERY_VOID_I32_I32_PTR:
        ((void (*)(int32_t, int32_t, void *))function)((int32_t)args[0], (int32_t)args[1], pointers[2]);
        return 0;
    case CANNERY_NO_FUNCTION: break;
    }
    return 0;
}

/* A thread of the runtime: runs the functions that the machine gives to its worker of that number. */
struct worker {
    uint32_t number;
    uint32_t word; /* futex: 1 while there is something to do */
    uint8_t dismissed;
    struct cannery_invoke invoke;
    struct worker *next;
};

static struct worker *workers; /* the engine lock guards the list and what is in it while `word` is 0 */

static void *work(void *argument)
{
    struct worker *worker = argument;
    struct cannery_thread *thread = cannery_new_thread();
    for (;;) {
        while (__atomic_load_n(&worker->word, __ATOMIC_ACQUIRE) == 0)
            cannery_futex_wait(&worker->word, 0, -1);
        if (worker->dismissed || thread == NULL)
            break;
        struct cannery_invoke invoke = worker->invoke;
        thread->worker = worker->number;
        __atomic_store_n(&worker->word, 0, __ATOMIC_RELEASE);
        struct cannery_request request = { .kind = CANNERY_ERRAND, .function = worker->number, .thread = thread };
        request.value = cannery_run_function(&invoke);
        cannery_turn_submit(&request); /* may bring the next errand */
    }
    free(worker);
    return NULL;
}

static void wake_worker(struct worker *worker)
{
    uint32_t *word = &worker->word;
    __atomic_store_n(word, 1, __ATOMIC_SEQ_CST);
    cannery_futex_wake(word);
}

void cannery_errand(uint32_t number, const struct cannery_invoke *invoke)
{
    struct worker *worker = workers;
    while (worker != NULL && worker->number != number)
        worker = worker->next;
    if (worker == NULL) {
        worker = calloc(1, sizeof *worker);
        if (worker == NULL || cannery_start_thread(work, worker) != 0) {
            cannery_say("no thread for a function of the program: it will never be run");
            free(worker);
            return;
        }
        worker->number = number;
        worker->next = workers;
        workers = worker;
    }
    worker->invoke = *invoke;
    wake_worker(worker);
}

void cannery_dismiss(uint32_t number)
{
    for (struct worker **link = &workers; *link != NULL; link = &(*link)->next)
        if ((*link)->number == number) {
            struct worker *worker = *link;
            *link = worker->next;
            worker->dismissed = 1;
            wake_worker(worker);
            return;
        }
}

void cannery_workers_reset_in_child(void) { workers = NULL; }
