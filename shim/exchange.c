/* What the processes of a session share (docs/sessions.md): a control file and segments of entries, mapped by all.
 *
 * Part of engine.c. Any process may be killed between any two instructions, and the others have to go on:
 *   - What takes more than one store is guarded by `lock`. It names its owner, so that the lock of one that died can be
 *     taken over; changes are ordered such that what is half done does not count yet, or can be done again.
 *   - Flags are set and taken by one compare-and-swap.
 *   - Who signals announces it (`signalling`) and wakes before the change: whoever was woken looks again until nobody
 *     that lives is about to signal, so a wake-up is not lost with the one who should have made it.
 * Sleepers have one word each, their `bell`. The memory is never unmapped, and needs no descriptor while it is used. */
#include <linux/futex.h>
#include <sched.h>
#include <time.h>

enum { WORD = 64, LOCK_SPINS = 200, LOCK_SLEEP_NS = 2000000, SETTLE_TRIES = 50, SEGMENT_SHIFT = 10 };
_Static_assert(CANNERY_SEGMENT == 1 << SEGMENT_SHIFT, "entries of a segment");
_Static_assert(sizeof(struct cannery_entry) == 256, "entry of the session's files");

static struct {
    struct cannery_control *control; /* NULL: this process is in no session */
    struct cannery_member *self;
    uint32_t slot;
    uint64_t name; /* in `lock`: start time and process id */
    struct cannery_entry *segments[CANNERY_SEGMENTS];
    struct watch { uint32_t entry; uint64_t seen; } *watches; /* what changed, if their state is another */
    uint32_t watched, room;
} exchange;

static void shared_wait(uint32_t *word, uint32_t value, int64_t limit_ns)
{
    struct timespec limit = { (time_t)(limit_ns / 1000000000), (long)(limit_ns % 1000000000) };
    syscall(SYS_futex, word, FUTEX_WAIT, value, &limit, NULL, 0);
}

static void shared_wake(uint32_t *word) { syscall(SYS_futex, word, FUTEX_WAKE, INT32_MAX, NULL, NULL, 0); }

uint64_t cannery_born(uint32_t pid)
{
    char path[32], text[1024];
    snprintf(path, sizeof path, "/proc/%u/stat", pid);
    int file = open(path, O_RDONLY | O_CLOEXEC);
    if (file < 0)
        return 0;
    ssize_t size = read(file, text, sizeof text - 1);
    close(file);
    if (size <= 0)
        return 0;
    text[size] = '\0';
    char *at = strrchr(text, ')'); /* the end of the command's name, which may contain anything */
    if (at == NULL || at[1] == '\0' || at[2] == 'Z' || at[2] == 'X')
        return 0; /* ended, though its parent did not ask for its status yet */
    for (unsigned field = 0; at != NULL && field < 20; field++)
        at = strchr(at + 1, ' ');
    return at == NULL ? 0 : strtoull(at + 1, NULL, 10);
}

static int lives(uint32_t pid, uint32_t born)
{
    uint64_t now = cannery_born(pid);
    return now != 0 && (uint32_t)now == born;
}

void cannery_exchange_begin(struct cannery_control *control, uint32_t pid)
{
    memset(&exchange, 0, sizeof exchange); /* of the parent, if this is a forked child */
    exchange.control = control;
    exchange.name = (uint64_t)(uint32_t)cannery_born(pid) << 32 | pid;
}

void cannery_exchange_segment(uint32_t number, struct cannery_entry *entries)
{
    if (number < CANNERY_SEGMENTS)
        exchange.segments[number] = entries;
}

void cannery_exchange_be(uint32_t slot)
{
    exchange.slot = slot;
    exchange.self = &exchange.control->members[slot];
}

struct cannery_entry *cannery_exchange_entry(uint32_t index)
{
    uint32_t segment = index >> SEGMENT_SHIFT;
    if (segment >= CANNERY_SEGMENTS || exchange.segments[segment] == NULL)
        return NULL;
    return &exchange.segments[segment][index & (CANNERY_SEGMENT - 1)];
}

static struct cannery_entry *mapped(uint32_t index) /* one that Python has seen by the function above */
{
    return &exchange.segments[index >> SEGMENT_SHIFT][index & (CANNERY_SEGMENT - 1)];
}

static uint32_t members_used(void)
{
    uint32_t used = __atomic_load_n(&exchange.control->members_used, __ATOMIC_ACQUIRE);
    return used < CANNERY_MEMBERS ? used : CANNERY_MEMBERS; /* whatever the file says */
}

/* ---- the lock ---- */

void cannery_exchange_lock(void)
{
    uint64_t *word = &exchange.control->lock;
    uint32_t *sleepers = &exchange.control->lock_sleepers;
    for (unsigned tries = 0;; tries++) {
        uint64_t owner = 0;
        if (__atomic_compare_exchange_n(word, &owner, exchange.name, 0, __ATOMIC_SEQ_CST, __ATOMIC_SEQ_CST))
            return;
        if (tries < LOCK_SPINS) {
            sched_yield();
            continue;
        }
        __atomic_add_fetch(sleepers, 1, __ATOMIC_SEQ_CST);
        shared_wait((uint32_t *)word, (uint32_t)owner, LOCK_SLEEP_NS); /* its low half, the process id */
        __atomic_sub_fetch(sleepers, 1, __ATOMIC_SEQ_CST);
        if (!lives((uint32_t)owner, (uint32_t)(owner >> 32)) &&
            __atomic_compare_exchange_n(word, &owner, exchange.name, 0, __ATOMIC_SEQ_CST, __ATOMIC_SEQ_CST))
            return;
    }
}

void cannery_exchange_unlock(void)
{
    __atomic_store_n(&exchange.control->lock, 0, __ATOMIC_SEQ_CST);
    if (__atomic_load_n(&exchange.control->lock_sleepers, __ATOMIC_SEQ_CST) != 0)
        shared_wake((uint32_t *)&exchange.control->lock);
}

/* ---- budgets ---- */

int64_t cannery_exchange_hold(uint32_t device, uint32_t kind, int64_t amount, uint64_t limit)
{
    struct cannery_control *control = exchange.control;
    uint64_t others = 0;
    cannery_exchange_lock();
    for (uint32_t slot = 0; slot < members_used(); slot++)
        if (slot != exchange.slot && __atomic_load_n(&control->members[slot].pid, __ATOMIC_ACQUIRE) != 0)
            others += control->members[slot].held[device][kind];
    uint64_t *own = &exchange.self->held[device][kind];
    int granted = amount <= 0 || *own + (uint64_t)amount + others <= limit;
    if (granted)
        *own += (uint64_t)amount;
    cannery_exchange_unlock();
    return granted ? (int64_t)others : -1 - (int64_t)others;
}

/* ---- waiting and signalling ---- */

static void ring_member(uint32_t slot)
{
    uint32_t *bell = &exchange.control->members[slot].bell;
    __atomic_add_fetch(bell, 1, __ATOMIC_SEQ_CST);
    shared_wake(bell);
}

static void ring(struct cannery_entry *entry)
{
    for (uint32_t word = 0; word < CANNERY_MEMBERS / WORD; word++) {
        uint64_t waiting = __atomic_load_n(&entry->waiting[word], __ATOMIC_SEQ_CST);
        for (; waiting != 0; waiting &= waiting - 1)
            ring_member(word * WORD + (uint32_t)__builtin_ctzll(waiting));
    }
}

static uint64_t change(uint32_t index, uint64_t set, uint64_t clear)
{
    struct cannery_entry *entry = mapped(index);
    uint64_t before = __atomic_load_n(&entry->state, __ATOMIC_SEQ_CST), after;
    do
        after = ((before & ~clear) | set) + 2;
    while (!__atomic_compare_exchange_n(&entry->state, &before, after, 0, __ATOMIC_SEQ_CST, __ATOMIC_SEQ_CST));
    return after >> 1;
}

uint64_t cannery_exchange_signal(uint32_t index, int set)
{
    struct cannery_entry *entry = mapped(index);
    uint32_t unused, *signalling = exchange.self == NULL ? &unused : &exchange.self->signalling; /* NULL: while joining */
    __atomic_store_n(signalling, index + 1, __ATOMIC_SEQ_CST);
    ring(entry);
    uint64_t count = change(index, set != 0, 0);
    __atomic_store_n(signalling, 0, __ATOMIC_SEQ_CST);
    return count;
}

uint64_t cannery_exchange_clear(uint32_t index) { return change(index, 0, 1); }

static uint64_t *waiting_word(struct cannery_entry *entry) { return &entry->waiting[exchange.slot / WORD]; }

static uint64_t own_bit(void) { return (uint64_t)1 << exchange.slot % WORD; }

uint64_t cannery_exchange_state(uint32_t index)
{
    return __atomic_load_n(&mapped(index)->state, __ATOMIC_SEQ_CST);
}

/* The slot of another member that is about to change an entry; -1: nobody is. */
static int signaller(uint32_t index)
{
    for (uint32_t slot = 0; slot < members_used(); slot++)
        if (slot != exchange.slot &&
            __atomic_load_n(&exchange.control->members[slot].signalling, __ATOMIC_SEQ_CST) == index + 1)
            return (int)slot;
    return -1;
}

static void keep_watch(uint32_t index, uint64_t seen)
{
    for (uint32_t i = 0; i < exchange.watched; i++)
        if (exchange.watches[i].entry == index) {
            exchange.watches[i].seen = seen;
            return;
        }
    if (exchange.watched == exchange.room) {
        uint32_t room = exchange.room == 0 ? 64 : 2 * exchange.room;
        struct watch *more = realloc(exchange.watches, room * sizeof *more);
        if (more == NULL)
            return;
        exchange.watches = more;
        exchange.room = room;
    }
    exchange.watches[exchange.watched++] = (struct watch){ index, seen };
}

/* From here on this process is woken when the entry changes; at once, if it did since `seen` was read, or is about to:
 * who changes it may have looked before whom to wake. */
void cannery_exchange_watch(uint32_t index, uint64_t seen)
{
    keep_watch(index, seen);
    __atomic_fetch_or(waiting_word(mapped(index)), own_bit(), __ATOMIC_SEQ_CST);
    if (signaller(index) >= 0 || cannery_exchange_state(index) != seen)
        ring_member(exchange.slot);
}

uint64_t cannery_exchange_take(uint32_t index)
{
    uint64_t *state = &mapped(index)->state, seen = __atomic_load_n(state, __ATOMIC_SEQ_CST);
    while (seen & 1)
        if (__atomic_compare_exchange_n(state, &seen, (seen & ~(uint64_t)1) + 2, 0, __ATOMIC_SEQ_CST, __ATOMIC_SEQ_CST))
            return (seen >> 1) + 1;
    cannery_exchange_watch(index, seen);
    return 0;
}

/* Whether an entry is another than it was seen, or will be: who changes it wakes first, and is done a moment later. */
static int look(const struct watch *watch)
{
    for (unsigned tries = 0; tries < SETTLE_TRIES; tries++) {
        int coming = signaller(watch->entry); /* before the state is read: see the head of the file */
        if (cannery_exchange_state(watch->entry) != watch->seen)
            return CANNERY_CHANGED;
        if (coming < 0)
            return CANNERY_UNCHANGED;
        sched_yield();
    }
    int slot = signaller(watch->entry);
    if (slot < 0)
        return CANNERY_UNSETTLED;
    const struct cannery_member *member = &exchange.control->members[slot];
    return lives(member->pid, (uint32_t)member->born) ? CANNERY_UNSETTLED : CANNERY_UNCHANGED;
}

int cannery_exchange_changed(void)
{
    int unsettled = 0, changed = 0;
    for (uint32_t i = 0; i < exchange.watched;) {
        struct watch *watch = &exchange.watches[i];
        int found = look(watch);
        if (found == CANNERY_CHANGED) {
            __atomic_fetch_and(waiting_word(mapped(watch->entry)), ~own_bit(), __ATOMIC_SEQ_CST);
            exchange.watches[i] = exchange.watches[--exchange.watched];
            changed = 1;
            continue;
        }
        unsettled |= found == CANNERY_UNSETTLED;
        i++;
    }
    return changed ? CANNERY_CHANGED : unsettled ? CANNERY_UNSETTLED : CANNERY_UNCHANGED;
}

uint32_t *cannery_exchange_bell(void) { return &exchange.self->bell; }

void cannery_exchange_ring(uint32_t index) { ring(mapped(index)); }

/* ---- records of shared events: slots of ticket << 9 | member << 1 | outstanding ---- */

static int outstanding(const uint64_t *slots, uint64_t record)
{
    uint64_t slot = __atomic_load_n(&slots[record % CANNERY_RECORDS], __ATOMIC_SEQ_CST);
    return (slot & 1) && slot >> 9 == record / CANNERY_RECORDS;
}

uint64_t cannery_exchange_record(uint32_t index, uint64_t *slots)
{
    struct cannery_entry *entry = mapped(index);
    uint64_t seen = cannery_exchange_state(index), record = 0;
    cannery_exchange_lock();
    uint64_t ticket = entry->latest / CANNERY_RECORDS + 1, first = entry->latest % CANNERY_RECORDS;
    for (uint64_t step = 0; step < CANNERY_RECORDS && record == 0; step++) {
        uint64_t at = (first + 1 + step) % CANNERY_RECORDS;
        if (slots[at] & 1)
            continue;
        slots[at] = ticket << 9 | (uint64_t)exchange.slot << 1 | 1;
        record = ticket * CANNERY_RECORDS + at;
        __atomic_store_n(&entry->latest, record, __ATOMIC_SEQ_CST);
    }
    cannery_exchange_unlock();
    if (record == 0)
        cannery_exchange_watch(index, seen);
    return record;
}

void cannery_exchange_done(uint32_t index, uint64_t *slots, uint64_t record)
{
    if (!outstanding(slots, record))
        return;
    __atomic_and_fetch(&slots[record % CANNERY_RECORDS], ~(uint64_t)1, __ATOMIC_SEQ_CST);
    cannery_exchange_signal(index, 0);
}

/* 0: it is done. Otherwise this process is woken when something is. */
int cannery_exchange_outstanding(uint32_t index, const uint64_t *slots, uint64_t record)
{
    uint64_t seen = cannery_exchange_state(index);
    if (!outstanding(slots, record))
        return 0;
    cannery_exchange_watch(index, seen);
    return 1;
}

void cannery_exchange_abandon_records(uint32_t index, uint64_t *slots, uint32_t member)
{
    for (uint32_t at = 0; at < CANNERY_RECORDS; at++)
        if ((slots[at] & 1) && (slots[at] >> 1 & 0xff) == member)
            __atomic_and_fetch(&slots[at], ~(uint64_t)1, __ATOMIC_SEQ_CST);
    cannery_exchange_signal(index, 0);
}
