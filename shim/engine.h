/* What the engine offers to the Python session (shim/session.py, shim/host.py) through cffi: see engine_build.py.
 * Addresses of the program are numbers here. Functions that touch them return 0, or -1 if a byte cannot be accessed. */
#ifndef CANNERY_ENGINE_H
#define CANNERY_ENGINE_H

#include <stddef.h>
#include <stdint.h>

int cannery_host_read(void *to, uint64_t from, size_t size);
int cannery_host_write(uint64_t to, const void *from, size_t size);
int cannery_host_check(uint64_t address, size_t size, int write); /* is the whole range accessible? */
void cannery_host_copy(uint64_t to, uint64_t from, size_t size);  /* of ranges that were checked */
int cannery_host_move(uint64_t to, uint64_t from, size_t size);
int cannery_host_fill(uint64_t to, int value, size_t size);
uint64_t cannery_host_alloc(size_t size); /* page-aligned; 0: none */
void cannery_host_free(uint64_t address, size_t size);
uint64_t cannery_reserve(uint64_t first, uint64_t last, uint64_t step, size_t span); /* 0: no room */
int cannery_keep_from_children(void *address, size_t size);
void *cannery_map_shared(int descriptor, size_t size, size_t offset); /* NULL: not possible */
void cannery_discard(void *address, size_t size); /* zero a range of a shared map, and give its whole pages back */
int cannery_unmap(void *address, size_t size);

/* Where the next record goes; shared by journal.c and recorder/writer.py. */
struct cannery_journal {
    void *window;
    int64_t position, room; /* records end at or before `room`; below 0: recording ended */
    int64_t time;           /* monotonic ns of the latest step */
    int64_t calls;
    uint64_t device_base, device_span;
};
struct cannery_journal *cannery_journal_state(void);
void cannery_journal_begin(unsigned functions); /* 0: nothing is recorded by the engine */
void cannery_journal_function(unsigned index, const char *ins, const char *outs);

/* What the processes of a session share: exchange.c. All numbers below are those of the session's files. */
enum { CANNERY_MEMBERS = 256, CANNERY_DEVICES = 64, CANNERY_BUDGETS = 4 };
enum { CANNERY_SEGMENT = 1024, CANNERY_SEGMENTS = 64 }; /* entries of a segment, and how many segments there may be */
enum { CANNERY_LISTED = 22, CANNERY_RECORDS = 8192 };
enum { CANNERY_UNCHANGED, CANNERY_CHANGED, CANNERY_UNSETTLED };

struct cannery_member { /* a process */
    uint32_t pid;        /* 0: the slot is free; written last */
    uint32_t bell;       /* futex word: changes when something that it waits for does */
    uint32_t signalling; /* which entry it is about to change, + 1; 0: none */
    uint32_t reserved;
    uint64_t born;       /* when the process started, in clock ticks: process ids come again */
    uint64_t held[64][4]; /* by device and kind of budget */
};

struct cannery_control {
    char magic[8];
    uint32_t version;
    uint32_t members_used; /* slots from there on were never used */
    uint64_t lock;         /* 0: free; else start time << 32 | process id of its owner */
    uint32_t lock_sleepers;
    uint32_t segments;     /* so many segments of entries exist */
    uint64_t serial;       /* of the latest entry */
    uint64_t process_space; /* the namespace of process ids that the members are in */
    char session[64];      /* its name, as far as it fits */
    char reserved[16];
    struct cannery_member members[256];
};

struct cannery_entry { /* something that is shared */
    uint32_t kind;      /* 0: the entry is free; written last */
    uint32_t owner;     /* slot of the process that shared it */
    uint64_t serial;
    uint8_t secret[24]; /* part of its key */
    uint32_t flags;
    uint32_t device;
    uint64_t state;     /* count of changes << 1 | flag */
    uint64_t latest;    /* event: its latest record */
    uint64_t offset, size; /* memory: where it is in the file that is `number` in its owner, which has that `identity` */
    uint64_t identity;
    uint32_t number;
    uint32_t listed;    /* how many processes are in `processes` */
    uint64_t waiting[4]; /* by bits: members that are to be woken when `state` changes */
    uint64_t holders[4]; /* by bits: members that opened it */
    int32_t processes[22];
    uint32_t next;      /* entry that has more of them, + 1; 0: none */
    uint32_t attribute;
};

uint64_t cannery_born(uint32_t pid); /* when a process started; 0: it does not live */
void cannery_exchange_begin(struct cannery_control *control, uint32_t pid); /* NULL: in no session */
void cannery_exchange_segment(uint32_t number, struct cannery_entry *entries);
void cannery_exchange_be(uint32_t slot); /* which member this process is */
struct cannery_entry *cannery_exchange_entry(uint32_t index); /* NULL: its segment is not mapped */
void cannery_exchange_lock(void);
void cannery_exchange_unlock(void);
/* Change what this process holds; what the others hold, N. -1 - N: all together would hold more than the limit, and
 * nothing was changed. */
int64_t cannery_exchange_hold(uint32_t device, uint32_t kind, int64_t amount, uint64_t limit);
uint64_t cannery_exchange_signal(uint32_t index, int set); /* count a change, wake who waits; how many there were */
uint64_t cannery_exchange_take(uint32_t index); /* clear the flag if it is set; 0: it is not, and is watched */
uint64_t cannery_exchange_clear(uint32_t index);
uint64_t cannery_exchange_state(uint32_t index);
void cannery_exchange_watch(uint32_t index, uint64_t seen); /* be woken when the state is another than `seen` */
int cannery_exchange_changed(void); /* anything that is watched; that is then watched no more */
uint32_t *cannery_exchange_bell(void);
void cannery_exchange_ring(uint32_t index);
uint64_t cannery_exchange_record(uint32_t index, uint64_t *slots); /* take a slot; 0: all are taken, watched */
void cannery_exchange_done(uint32_t index, uint64_t *slots, uint64_t record);
int cannery_exchange_outstanding(uint32_t index, const uint64_t *slots, uint64_t record); /* 1: and is watched */
void cannery_exchange_abandon_records(uint32_t index, uint64_t *slots, uint32_t member);
void cannery_listen(uint32_t *bell); /* have the session look whenever that futex word changes */

void cannery_close(void); /* `--engine host`: the host's Python ends, and other threads are to stay out of it */

void cannery_arm(int64_t due, uint32_t quiet);
void cannery_hasten(int64_t due); /* likewise, and without giving the program time to call first */
/* Release a waiting thread. Bit i of `written`: outs[i] is an output, as bits, or what cannery_chunk gave. */
void cannery_end_wait(uint32_t thread, uint64_t result, uint8_t written, const uint64_t outs[6]);
void cannery_limit_wait(uint32_t thread, int64_t deadline); /* a waiting thread: until then; < 0: for ever */
uint64_t cannery_chunk(const void *bytes, size_t size); /* a copy of the bytes of an output; 0: no memory */
/* Have a function of the program run: by the waiting thread, whose call then goes on, or by a worker. */
void cannery_invoke(uint32_t thread, uint64_t function, uint32_t signature, const uint64_t args[4]);
void cannery_errand(uint32_t worker, uint64_t function, uint32_t signature, const uint64_t args[4]);
void cannery_dismiss(uint32_t worker);
uint64_t cannery_caller_id(void);     /* of the thread whose step is being served: what the program calls it */
uint32_t cannery_caller_worker(void); /* which worker it is, 0 for none */
uint32_t cannery_tid(uint32_t ordinal); /* what the system calls that thread; all ones: unknown */
void cannery_set_inflight(void *slots, uint32_t count);
const char *cannery_getenv(const char *name);
const char *cannery_variable(unsigned place);
void cannery_setenv(const char *name, const char *value);
int64_t cannery_monotonic(void);

#endif
