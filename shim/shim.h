/* What the three C parts of Cannery share: the generated exports, the shim proper and the engine.
 *
 * The shim (shim.c, turn.c, loader.c, the files that threads.h lists, exports.c) lives in the program's link namespace
 * and knows no Python. The engine (engine.c) lives in a namespace of its own, with a libc and a CPython of its own. They
 * meet in the two tables `cannery_engine` and `cannery_services` and in the request below, nowhere else. */
#ifndef CANNERY_SHIM_H
#define CANNERY_SHIM_H

#include <stddef.h>
#include <stdint.h>
#include <string.h>

enum { CANNERY_MAX_ARGS = 16, CANNERY_MAX_OUTS = 6 };

/* ---- generated from the API model (exports.c) ---- */

enum cannery_return { /* what a function returns; decides what "not supported" looks like */
    CANNERY_RET_ERROR, CANNERY_RET_ZERO, CANNERY_RET_NULL, CANNERY_RET_VOID, CANNERY_RET_FLOAT
};

/* What lies behind pointer arguments; runtime/api/layouts.py says what value each kind becomes. */
enum cannery_kind {
    CANNERY_UNSIGNED, CANNERY_SIGNED, CANNERY_FLOAT, CANNERY_BYTES, CANNERY_POINTER, CANNERY_STRUCT, CANNERY_LIST
};

struct cannery_layout { /* of one element */
    unsigned size;      /* bytes */
    unsigned char nitems;
    unsigned char flat; /* the value of the only item, not a tuple */
    const struct cannery_item *items;
};

struct cannery_item {
    unsigned short offset;
    unsigned short size;   /* bytes: of the number, of the whole for BYTES, of one struct for STRUCT */
    unsigned short repeat; /* length of an array inside of the struct; 0: it is none */
    unsigned char kind;    /* enum cannery_kind */
    unsigned char counter; /* LIST: which item has the number of elements */
    const struct cannery_layout *element; /* STRUCT, LIST */
};

enum cannery_shape { CANNERY_ONE, CANNERY_MANY, CANNERY_OCTETS };

struct cannery_block {
    unsigned char arg;   /* which argument is the pointer */
    unsigned char shape; /* enum cannery_shape: one element, a list of elements, bytes */
    const struct cannery_layout *layout;
    uint64_t (*count)(const uint64_t *args); /* of elements; NULL: 1 */
};

enum { CANNERY_MOST = 65535, CANNERY_MOST_OCTETS = 1 << 20 }; /* elements; longer lists are not read: see handlers */

struct cannery_out {     /* an output written through a pointer argument */
    unsigned char arg;   /* which argument is the pointer */
    unsigned char size;  /* bytes to write: 1, 2, 4 or 8; 0: what the block says */
    unsigned char block;
    unsigned char inside; /* 0; or 1 more than where in the struct that the argument points to the pointer is */
};

struct cannery_chunk {   /* the bytes of an output that is a block, from the engine to the thread that writes them */
    size_t size;
    unsigned char data[];
};

struct cannery_function {
    const char *name;
    unsigned char nargs;
    unsigned char nouts;
    unsigned char kind;        /* enum cannery_return */
    unsigned short strings;    /* bit i: argument i is a C string that the engine reads */
    unsigned short signed32;   /* bit i: argument i is signed and stands sign-extended */
    unsigned short floats;     /* bit i: argument i holds the bits of a float or double (see generator) */
    unsigned short reads;      /* bit i: what argument i points to is an input, blocks[] says what it is */
    struct cannery_out outs[CANNERY_MAX_OUTS];
    unsigned char nblocks;
    const struct cannery_block *blocks;
};

extern const struct cannery_function cannery_functions[];
extern const unsigned cannery_function_count;

/* The bits of a number (or pointer) of an element; little-endian machines only, both we build for are. */
static inline uint64_t cannery_number(const struct cannery_item *item, const uint8_t *element)
{
    uint64_t bits = 0;
    memcpy(&bits, element + item->offset, item->size);
    return bits;
}

static inline const struct cannery_block *cannery_block_of(const struct cannery_function *function, unsigned arg)
{
    const struct cannery_block *block = function->blocks;
    while (block->arg != arg)
        block++;
    return block;
}

/* How many elements a block has; 0 where the program says that there are more than are read. */
static inline size_t cannery_count(const struct cannery_block *block, const uint64_t *args)
{
    uint64_t count = block->count == NULL ? 1 : block->count(args);
    return count > (block->shape == CANNERY_OCTETS ? CANNERY_MOST_OCTETS : CANNERY_MOST) ? 0 : (size_t)count;
}

/* Every export ends here. Never blocks on a lock of the program; safe from any thread the program made. */
uint64_t cannery_call(unsigned function, const uint64_t *args);

/* ---- requests: one turn of the engine ---- */

enum cannery_request_kind {
    CANNERY_CALL,       /* a call of the program */
    CANNERY_EXPIRE,     /* the real-time limit of this thread's wait ran out */
    CANNERY_RETURNED,   /* a function of the program that the call asked for has returned `value` */
    CANNERY_ERRAND,     /* likewise on a worker thread; `function` is the worker */
    CANNERY_PACE,       /* the pacer: run what became due while nobody called */
    CANNERY_SIGNAL,     /* the listener: another process rang */
    CANNERY_THREAD_END, /* the thread ends */
    CANNERY_OWN_TURN    /* the thread wants the engine for itself (turn.c) */
};

enum cannery_request_state { /* futex word; the order of the values does not matter */
    CANNERY_QUEUED, CANNERY_SLEEPING, CANNERY_SERVED, CANNERY_GRANTED, CANNERY_PARKED
};

struct cannery_thread; /* threads.h */

/* A function of the program that is to be run, outside the engine. docs/architecture.md lists the signatures. */
enum cannery_signature {
    CANNERY_NO_FUNCTION, CANNERY_VOID_PTR, CANNERY_U32_I32_PTR, CANNERY_PTR_PTR_SIZE, CANNERY_VOID_PTR_PTR,
    CANNERY_I32_I32_I32_U32_PTR, CANNERY_VOID_PTR_I32_PTR, CANNERY_VOID_I32_I32_PTR
};

struct cannery_invoke {
    uint32_t signature; /* enum cannery_signature */
    uint64_t function;
    uint64_t args[4];
};

struct cannery_answer { /* what a call ends with */
    uint64_t result;                 /* the return value's bits */
    uint8_t written;                 /* bit i: outs[i] is to be written */
    uint64_t outs[CANNERY_MAX_OUTS]; /* the bits of a number, or a pointer to a struct cannery_chunk */
};

struct cannery_request {
    uint32_t state;              /* enum cannery_request_state, atomic */
    uint8_t kind;                /* enum cannery_request_kind */
    uint8_t waits;               /* out: the call has to wait; its result comes through `end_wait` */
    uint32_t function;
    struct cannery_thread *thread;
    const uint64_t *args;
    uint64_t lengths[2];         /* of the C strings among the arguments, in order */
    struct cannery_answer answer; /* out */
    uint64_t value;              /* RETURNED, ERRAND: what the function returned */
    struct cannery_invoke invoke; /* out: the thread has to run that before the call can end */
    int64_t deadline;            /* out: monotonic ns at which a wait expires, < 0 for never; PACE: next due time;
                                * SIGNAL: when to look again, < 0 for not before the bell rings */
    struct cannery_request *next;
};

/* The part of a thread that the engine sees. Identity is the ordinal: threads are numbered from 1 by their first call. */
struct cannery_thread_engine {
    void *state;  /* PyThreadState of this thread, made on its first turn */
    void *object; /* the session's object for this thread */
};

/* ---- engine <-> shim ---- */

enum { CANNERY_ENGINE_ABI = 5 };

struct cannery_services { /* what the engine may ask of the shim; all of it runs in the program's namespace */
    void *(*malloc)(size_t);
    void *(*calloc)(size_t, size_t);
    void *(*realloc)(void *, size_t);
    void (*free)(void *);
    int (*setenv)(const char *, const char *, int);
    char *(*getenv)(const char *); /* the engine's libc knows only the environment the process began with */
    const char *(*variable)(unsigned place); /* NAME=value of each CANNERY_ variable of that time; NULL: no more */
    struct cannery_thread_engine *(*thread_engine)(struct cannery_thread *);
    uint32_t (*thread_ordinal)(struct cannery_thread *);
    /* what the program calls the thread (pthread_self), and which worker it is, 0 for none */
    uint64_t (*thread_id)(struct cannery_thread *);
    uint32_t (*thread_worker)(struct cannery_thread *);
    uint32_t (*tid)(uint32_t ordinal); /* what the system calls a thread that made calls (gettid); all ones: unknown */
    void (*begin_call)(struct cannery_request *);        /* before a call is served: the thread gets its ordinal */
    void (*begin_wait)(struct cannery_thread *, int64_t deadline); /* the call being served has to wait; < 0: for ever */
    /* release the waiting thread with that answer, or to run that function first */
    void (*end_wait)(uint32_t ordinal, const struct cannery_answer *answer, const struct cannery_invoke *invoke);
    void (*limit_wait)(uint32_t ordinal, int64_t deadline); /* the waiting thread's wait has another limit */
    void (*errand)(uint32_t worker, const struct cannery_invoke *invoke); /* have a worker thread run a function */
    void (*dismiss)(uint32_t worker);
    /* wake the pacer not before that monotonic time, and when for so many ms nobody called */
    void (*arm)(int64_t due, uint32_t quiet);
    void (*hasten)(int64_t due); /* have it woken then, whoever calls */
    void (*listen)(uint32_t *bell); /* have the engine look whenever that word, shared with other processes, changes */
    void (*set_inflight)(void *slots, uint32_t count);   /* where to note what is in flight; NULL to stop */
    const struct cannery_function *functions;
    unsigned function_count;
};

struct cannery_engine_options {
    const char *executable; /* of the environment Cannery is installed in */
    const char *prefix;     /* of the Python installation */
    const char *paths;      /* module search path, one entry a line */
    const char *site;       /* a folder whose .pth files are to be obeyed (editable installation), or "" */
    int shared;             /* the interpreter belongs to the host (`--engine host`) */
};

struct cannery_engine { /* called with the engine lock held, except `start` */
    void (*enter)(struct cannery_thread *);
    void (*serve)(struct cannery_request *);
    void (*leave)(struct cannery_thread *);
    void (*retire)(struct cannery_thread *);        /* enter + drop the thread's state + leave */
    int (*holds_interpreter)(void); /* whether the calling thread has the lock that `enter` waits for */
    void (*before_fork)(struct cannery_thread *);
    void (*after_fork)(struct cannery_thread *, int child);
};

/* Exported by the engine under this name. 0, or -1 with one line in `error`. */
typedef int (*cannery_engine_start_t)(int abi, const struct cannery_services *, const struct cannery_engine_options *,
                                      struct cannery_engine *, char *error, size_t error_size);
#define CANNERY_ENGINE_START "cannery_engine_start"

/* ---- inside the shim ---- */

/* loader.c: finds, places and starts the engine. 0, or -1 after one line on standard error. */
int cannery_load_engine(const struct cannery_services *services, struct cannery_engine *engine);
/* loader.c: to be called on every thread before it first enters the engine. */
void cannery_prepare_thread(void *value);
void cannery_set_thread_destructor(void (*destructor)(void *));
void cannery_say(const char *format, ...) __attribute__((format(printf, 1, 2)));

/* turn.c: the engine lock. `submit` has the request served, by this thread or by one that holds the engine already. */
void cannery_turn_init(const struct cannery_engine *engine);
void cannery_turn_submit(struct cannery_request *request);
void cannery_turn_take(struct cannery_request *request); /* a turn of one's own, until `give` */
void cannery_turn_give(void);
void cannery_turn_reset_in_child(void);
int cannery_turn_held(void); /* somebody is in the engine */
uint64_t cannery_turn_count(void);

long cannery_futex_wait(uint32_t *word, uint32_t value, int64_t deadline); /* deadline: monotonic ns, < 0 for none */
long cannery_shared_futex_wait(uint32_t *word, uint32_t value, int64_t deadline); /* of memory shared with processes */
void cannery_futex_wake(uint32_t *word);
int64_t cannery_now(void);

#endif
