/* The thin shim: takes the program's calls to the engine and brings results back.
 *
 * Nothing here depends on Python. The first call loads the engine; until then a preloaded process pays nothing. What
 * touches the program's memory (strings in, outputs out) runs on the calling thread outside the engine, so a bad pointer
 * faults where the program used it and no lock is left behind. */
#define _GNU_SOURCE
#include "threads.h"

#include <pthread.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

enum {
    INTERNAL_ERROR = 500000,   /* ACL_ERROR_INTERNAL_ERROR: the engine could not be loaded */
    RT_INTERNAL_ERROR = 507000 /* ACL_ERROR_RT_INTERNAL_ERROR: a call that cannot be served where it was made */
};

static _Atomic unsigned long refused_in_handlers; /* calls */

void cannery_calls_reset_in_child(void) { atomic_store(&refused_in_handlers, 0); }

static uint64_t refuse(const struct cannery_function *function, int number)
{
    return function->kind == CANNERY_RET_ERROR ? (uint64_t)number : 0;
}

/* Inputs behind pointers are read here once, so that a bad pointer faults before the engine takes their values. */
static void touch(const uint8_t *start, size_t size)
{
    const volatile uint8_t *bytes = start;
    for (size_t at = 0; at < size; at += 4096)
        (void)bytes[at];
    if (size > 0)
        (void)bytes[size - 1];
}

static void touch_elements(const struct cannery_layout *layout, const uint8_t *element, size_t count)
{
    touch(element, count * layout->size);
    for (unsigned i = 0; i < layout->nitems; i++) {
        if (layout->items[i].kind != CANNERY_LIST)
            continue;
        for (const uint8_t *at = element; at < element + count * layout->size; at += layout->size) {
            const uint8_t *list = (const uint8_t *)(uintptr_t)cannery_number(&layout->items[i], at);
            uint64_t length = cannery_number(&layout->items[layout->items[i].counter], at);
            if (list != NULL && length <= CANNERY_MOST)
                touch_elements(layout->items[i].element, list, (size_t)length);
        }
    }
}

static void touch_inputs(const struct cannery_function *function, const uint64_t *args)
{
    for (unsigned i = 0; i < function->nblocks; i++) {
        const struct cannery_block *block = &function->blocks[i];
        if (block == cannery_block_of(function, block->arg) && function->reads & (1u << block->arg) && args[block->arg] != 0)
            touch_elements(block->layout, (const uint8_t *)(uintptr_t)args[block->arg], cannery_count(block, args));
    }
}

static void write_outputs(const struct cannery_function *function, const struct cannery_request *request)
{
    const struct cannery_answer *answer = &request->answer;
    for (unsigned i = 0; i < function->nouts; i++) {
        void *target = (void *)(uintptr_t)request->args[function->outs[i].arg];
        if (!(answer->written & (1u << i)))
            continue;
        if (function->outs[i].inside != 0)
            memcpy(&target, (const uint8_t *)target + function->outs[i].inside - 1, sizeof target);
        if (function->outs[i].size != 0) { /* little-endian machines only, both we build for are */
            memcpy(target, &answer->outs[i], function->outs[i].size);
        } else if (answer->outs[i] != 0) {
            struct cannery_chunk *chunk = (struct cannery_chunk *)(uintptr_t)answer->outs[i];
            memcpy(target, chunk->data, chunk->size);
            free(chunk);
        }
    }
}

static void wait_for_end(struct cannery_thread *thread, struct cannery_request *request)
{
    for (uint32_t seen; (seen = __atomic_load_n(&thread->ended, __ATOMIC_SEQ_CST)) != 1;) {
        int64_t deadline = __atomic_load_n(&thread->limit, __ATOMIC_SEQ_CST);
        cannery_futex_wait(&thread->ended, seen, deadline);
        if (deadline >= 0 && cannery_now() >= deadline && __atomic_load_n(&thread->ended, __ATOMIC_SEQ_CST) == seen) {
            struct cannery_request expiry = { .kind = CANNERY_EXPIRE, .thread = thread };
            cannery_turn_submit(&expiry); /* ends the wait, unless the machine's clock says that it is too early */
            if (__atomic_load_n(&thread->ended, __ATOMIC_SEQ_CST) == seen)
                __atomic_store_n(&thread->limit, expiry.waits ? expiry.deadline : -1, __ATOMIC_SEQ_CST);
        }
    }
    request->answer = thread->answer;
    request->invoke = thread->invoke;
}

/* Runs what the call asks for and tells the machine, until the call ends. `cancellation` is the thread's own state. */
static void run_functions(struct cannery_thread *thread, struct cannery_request *request, int cancellation)
{
    const uint32_t index = request->function;
    while (request->invoke.signature != CANNERY_NO_FUNCTION) {
        struct cannery_inflight *slot = cannery_inflight_slot(thread);
        thread->inside = 0; /* the function may call the runtime */
        pthread_setcancelstate(cancellation, NULL);
        request->value = cannery_run_function(&request->invoke);
        pthread_setcancelstate(PTHREAD_CANCEL_DISABLE, NULL);
        thread->inside = 1;
        if (slot != NULL)
            cannery_note_inflight(thread, index, request->args);
        request->kind = CANNERY_RETURNED;
        request->waits = 0;
        request->invoke.signature = CANNERY_NO_FUNCTION;
        cannery_turn_submit(request);
        if (request->waits)
            wait_for_end(thread, request);
    }
}

/* Of a process that ends in the ordinary way; its children tell their own. */
__attribute__((destructor)) static void at_unload(void)
{
    unsigned long refused = atomic_load(&refused_in_handlers);
    if (refused > 1)
        cannery_say("calls of the runtime from signal handlers that were refused: %lu", refused);
}

static uint64_t make_call(unsigned index, const uint64_t *args, int cancellation)
{
    const struct cannery_function *function = &cannery_functions[index];
    if (atomic_load_explicit(&cannery_stage, memory_order_acquire) != CANNERY_RUNNING) {
        uint64_t result;
        int status = cannery_start(index, args, &result);
        if (status != 0)
            return status > 0 ? result : refuse(function, INTERNAL_ERROR);
    }
    struct cannery_thread *thread = cannery_this_thread != NULL ? cannery_this_thread : cannery_new_thread();
    if (thread == NULL)
        return refuse(function, INTERNAL_ERROR);
    if (thread->inside) { /* only a signal handler can get here: the interrupted call may hold the engine */
        if (atomic_fetch_add(&refused_in_handlers, 1) == 0) {
            static const char text[] = "cannery: a signal handler called the runtime while its thread was inside a "
                                       "runtime call: refused with 507000 (told once)\n";
            if (write(2, text, sizeof text - 1) < 0)
                (void)0;
        }
        return refuse(function, RT_INTERNAL_ERROR);
    }
    thread->inside = 1;

    struct cannery_request request = { .kind = CANNERY_CALL, .function = index, .thread = thread, .args = args };
    if (function->strings != 0) { /* measured here, so that an unreadable string faults outside the engine */
        unsigned n = 0;
        for (unsigned i = 0; i < function->nargs; i++)
            if (function->strings & (1u << i) && n < sizeof request.lengths / sizeof request.lengths[0])
                request.lengths[n++] = args[i] == 0 ? 0 : strlen((const char *)(uintptr_t)args[i]);
    }
    if (function->reads != 0)
        touch_inputs(function, args);
    struct cannery_inflight *slot = cannery_note_inflight(thread, index, args);
    cannery_turn_submit(&request);
    if (request.waits)
        wait_for_end(thread, &request);
    if (request.invoke.signature != CANNERY_NO_FUNCTION)
        run_functions(thread, &request, cancellation);
    if (request.answer.written)
        write_outputs(function, &request);
    if (slot == NULL)
        slot = cannery_inflight_slot(thread); /* the thread's first call was noted when it got its number */
    if (slot != NULL)
        cannery_clear_inflight(slot);
    thread->inside = 0;
    return request.answer.result;
}

uint64_t cannery_call(unsigned index, const uint64_t *args)
{
    int cancellation; /* not while the thread may hold the engine, which nobody could take from it any more */
    pthread_setcancelstate(PTHREAD_CANCEL_DISABLE, &cancellation);
    uint64_t result = make_call(index, args, cancellation);
    pthread_setcancelstate(cancellation, NULL);
    return result;
}
