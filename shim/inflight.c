/* Which call each thread is in: one cache line a thread in the bundle's `inflight` file (docs/trace-format.md, 10). */
#define _GNU_SOURCE
#include "threads.h"

#include <stddef.h>

enum { INFLIGHT_ARGS = 6 };

struct cannery_inflight {
    uint32_t function; /* index + 1; 0: none */
    uint32_t thread;
    uint64_t args[INFLIGHT_ARGS];
    uint64_t check; /* exclusive or of the words before it */
};
_Static_assert(sizeof(struct cannery_inflight) == 64, "slot of the inflight file");

/* the engine lock guards these */
static struct cannery_inflight *inflight_slots;
static uint32_t inflight_count;

void cannery_set_inflight(void *slots, uint32_t count)
{
    __atomic_store_n(&inflight_count, 0, __ATOMIC_RELEASE);
    inflight_slots = slots;
    __atomic_store_n(&inflight_count, slots == NULL ? 0 : count, __ATOMIC_RELEASE);
}

struct cannery_inflight *cannery_inflight_slot(const struct cannery_thread *thread)
{
    if (!thread->numbered || thread->ordinal > __atomic_load_n(&inflight_count, __ATOMIC_ACQUIRE))
        return NULL;
    return &inflight_slots[thread->ordinal - 1];
}

struct cannery_inflight *cannery_note_inflight(const struct cannery_thread *thread, unsigned index, const uint64_t *args)
{
    struct cannery_inflight *slot = cannery_inflight_slot(thread);
    if (slot == NULL)
        return NULL;
    unsigned nargs = cannery_functions[index].nargs;
    uint64_t check = (index + 1) | (uint64_t)thread->ordinal << 32;
    __atomic_store_n(&slot->function, 0, __ATOMIC_RELAXED); /* a call inside of another takes its slot */
    atomic_signal_fence(memory_order_seq_cst); /* enough against being killed in between */
    slot->thread = thread->ordinal;
    for (unsigned i = 0; i < INFLIGHT_ARGS; i++) {
        uint64_t arg = i < nargs ? args[i] : 0;
        slot->args[i] = arg;
        check ^= arg;
    }
    slot->check = check;
    __atomic_store_n(&slot->function, index + 1, __ATOMIC_RELEASE);
    return slot;
}

void cannery_clear_inflight(struct cannery_inflight *slot) { __atomic_store_n(&slot->function, 0, __ATOMIC_RELEASE); }
