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
void *cannery_map_shared(int descriptor, size_t size); /* NULL: not possible */
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

void cannery_arm(int64_t due);
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
void cannery_set_inflight(void *slots, uint32_t count);
const char *cannery_getenv(const char *name);
const char *cannery_variable(unsigned place);
void cannery_setenv(const char *name, const char *value);
int64_t cannery_monotonic(void);

#endif
