/* The thin shim: takes the program's calls to the engine and brings results back.
 *
 * Nothing here depends on Python. The first call loads the engine; until then a preloaded process pays nothing. What
 * touches the program's memory (strings in, outputs out) runs on the calling thread outside the engine, so a bad pointer
 * faults where the program used it and no lock is left behind. */
#define _GNU_SOURCE
#include "shim.h"

#include <pthread.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <ucontext.h>
#include <unistd.h>

enum {
    INTERNAL_ERROR = 500000,       /* ACL_ERROR_INTERNAL_ERROR: the engine could not be loaded */
    RT_INTERNAL_ERROR = 507000,    /* ACL_ERROR_RT_INTERNAL_ERROR: a call that cannot be served where it was made */
    INFLIGHT_ARGS = 6
};

/* One cache line a thread in the bundle's `inflight` file: which call the thread is in (docs/trace-format.md, 10). */
struct inflight {
    uint32_t function; /* index + 1; 0: none */
    uint32_t thread;
    uint64_t args[INFLIGHT_ARGS];
    uint64_t check; /* exclusive or of the words before it */
};
_Static_assert(sizeof(struct inflight) == 64, "slot of the inflight file");

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

enum { UNSTARTED, RUNNING, FAILED };

static _Atomic int stage;
static pthread_mutex_t start_lock = PTHREAD_MUTEX_INITIALIZER;
static struct cannery_engine engine;

static __thread struct cannery_thread *this_thread;

/* the engine lock guards these */
static struct cannery_thread *waiting;
static uint32_t last_ordinal;
static uint32_t generation;
static struct inflight *inflight_slots;
static uint32_t inflight_count;

static _Atomic unsigned long refused_in_handlers; /* calls */

/* ---- threads of the runtime ---- */

static int start_thread(void *(*body)(void *), void *argument)
{
    pthread_t thread;
    pthread_attr_t attributes;
    sigset_t all, before;
    sigfillset(&all); /* the program's signal handlers must not run on a thread it does not know */
    pthread_sigmask(SIG_SETMASK, &all, &before);
    pthread_attr_init(&attributes);
    pthread_attr_setdetachstate(&attributes, PTHREAD_CREATE_DETACHED);
    int status = pthread_create(&thread, &attributes, body, argument);
    pthread_attr_destroy(&attributes);
    pthread_sigmask(SIG_SETMASK, &before, NULL);
    return status;
}

/* ---- the pacer ---- */

static const int64_t NEVER = INT64_MAX;
static const int64_t GRACE = 1000000; /* ns without a call before the pacer acts: those who call run due work themselves */

static struct {
    _Atomic int64_t due;
    _Atomic int64_t urgent; /* a due time without grace */
    uint32_t word; /* futex: changes when `due` does */
    uint8_t started;
} pacer = { .due = INT64_MAX, .urgent = INT64_MAX };

static void *pace(void *unused)
{
    struct cannery_thread self = { 0 };
    (void)unused;
    cannery_prepare_thread(&self);
    for (;;) {
        uint32_t seen = __atomic_load_n(&pacer.word, __ATOMIC_SEQ_CST);
        int64_t due = atomic_load(&pacer.due), urgent = atomic_load(&pacer.urgent);
        if (due == NEVER && urgent == NEVER) {
            cannery_futex_wait(&pacer.word, seen, -1);
            continue;
        }
        uint64_t calls = cannery_turn_count();
        int64_t now = cannery_now(), wake = due == NEVER ? NEVER : (due > now ? due : now) + GRACE;
        if (urgent > now || urgent > wake)
            cannery_futex_wait(&pacer.word, seen, urgent < wake ? urgent : wake);
        now = cannery_now();
        if (now < urgent && (now < wake || calls != cannery_turn_count()))
            continue;
        struct cannery_request request = { .kind = CANNERY_PACE, .thread = &self };
        atomic_store(&pacer.urgent, NEVER);
        atomic_store(&pacer.due, NEVER); /* the engine arms it again for what is left */
        cannery_turn_submit(&request);
    }
    return NULL;
}

static void wake_pacer(void)
{
    __atomic_add_fetch(&pacer.word, 1, __ATOMIC_SEQ_CST);
    if (pacer.started) {
        cannery_futex_wake(&pacer.word);
        return;
    }
    if (start_thread(pace, NULL) == 0)
        pacer.started = 1;
    else
        cannery_say("no thread for the pacer: work that becomes due while the program makes no call will not run");
}

static void arm_pacer(int64_t due)
{
    atomic_store(&pacer.due, due);
    wake_pacer();
}

static void hasten_pacer(int64_t due)
{
    if (atomic_load(&pacer.urgent) <= due)
        return;
    atomic_store(&pacer.urgent, due);
    wake_pacer();
}

/* ---- the listener: sleeps until another process of the session rings ---- */

static uint32_t *listener_bell; /* NULL: there is no listener */

static void *listen_for_others(void *bell)
{
    struct cannery_thread self = { 0 };
    cannery_prepare_thread(&self);
    for (;;) {
        uint32_t seen = __atomic_load_n((uint32_t *)bell, __ATOMIC_SEQ_CST);
        struct cannery_request request = { .kind = CANNERY_SIGNAL, .thread = &self, .deadline = -1 };
        cannery_turn_submit(&request);
        cannery_shared_futex_wait(bell, seen, request.deadline);
    }
    return NULL;
}

static void listen_to(uint32_t *bell)
{
    if (listener_bell == bell)
        return;
    if (start_thread(listen_for_others, bell) == 0)
        listener_bell = bell;
    else
        cannery_say("no thread to listen to other processes: what they record is not seen while the program waits");
}

/* ---- services for the engine ---- */

static struct cannery_thread_engine *thread_engine(struct cannery_thread *thread) { return &thread->engine; }

static uint32_t thread_ordinal(struct cannery_thread *thread) { return thread->ordinal; }

static uint64_t thread_id(struct cannery_thread *thread) { return thread->id; }

static uint32_t thread_worker(struct cannery_thread *thread) { return thread->worker; }

static void end_wait(uint32_t ordinal, const struct cannery_answer *answer, const struct cannery_invoke *invoke)
{
    for (struct cannery_thread **link = &waiting; *link != NULL; link = &(*link)->next_waiting)
        if ((*link)->ordinal == ordinal) {
            struct cannery_thread *thread = *link;
            *link = thread->next_waiting;
            thread->answer = *answer;
            thread->invoke = invoke != NULL ? *invoke : (struct cannery_invoke){ 0 };
            uint32_t *word = &thread->ended;
            __atomic_store_n(word, 1, __ATOMIC_SEQ_CST);
            cannery_futex_wake(word);
            return;
        }
}

static void limit_wait(uint32_t ordinal, int64_t deadline)
{
    for (struct cannery_thread *thread = waiting; thread != NULL; thread = thread->next_waiting)
        if (thread->ordinal == ordinal) {
            __atomic_store_n(&thread->limit, deadline, __ATOMIC_SEQ_CST);
            __atomic_add_fetch(&thread->ended, 2, __ATOMIC_SEQ_CST);
            cannery_futex_wake(&thread->ended);
            return;
        }
}

static void begin_wait(struct cannery_thread *thread, int64_t deadline)
{
    thread->ended = 0;
    thread->limit = deadline;
    thread->next_waiting = waiting;
    waiting = thread;
}

static void set_inflight(void *slots, uint32_t count)
{
    __atomic_store_n(&inflight_count, 0, __ATOMIC_RELEASE);
    inflight_slots = slots;
    __atomic_store_n(&inflight_count, slots == NULL ? 0 : count, __ATOMIC_RELEASE);
}

static struct inflight *inflight_slot(const struct cannery_thread *thread)
{
    if (!thread->numbered || thread->ordinal > __atomic_load_n(&inflight_count, __ATOMIC_ACQUIRE))
        return NULL;
    return &inflight_slots[thread->ordinal - 1];
}

static struct inflight *note_inflight(const struct cannery_thread *thread, unsigned index, const uint64_t *args)
{
    struct inflight *slot = inflight_slot(thread);
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

/* Numbers a thread at its first served call, so that the numbers follow the order of the records. */
static void begin_call(struct cannery_request *request)
{
    struct cannery_thread *thread = request->thread;
    if (thread->numbered)
        return;
    thread->ordinal = ++last_ordinal;
    thread->generation = generation;
    thread->numbered = 1;
    note_inflight(thread, request->function, request->args);
}

/* ---- threads ---- */

/* The shim's own thread key: the engine's threads keys never run their destructors (they are another libc's). */
static void thread_ends(void *value)
{
    struct cannery_thread *thread = value;
    struct cannery_request turn = { .thread = thread };
    if (thread->engine.state != NULL) {
        if (thread->numbered && thread->generation == generation) {
            struct cannery_request request = { .kind = CANNERY_THREAD_END, .thread = thread };
            cannery_turn_submit(&request);
        }
        cannery_turn_take(&turn);
        engine.retire(thread);
        cannery_turn_give();
    }
    this_thread = NULL;
    free(thread);
}

static struct cannery_thread *new_thread(void)
{
    struct cannery_thread *thread = calloc(1, sizeof *thread);
    if (thread != NULL) {
        cannery_prepare_thread(thread);
        thread->id = (uint64_t)pthread_self();
        this_thread = thread;
    }
    return thread;
}

/* ---- functions of the program ---- */

static uint64_t run_function(const struct cannery_invoke *invoke)
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

static struct cannery_thread *new_thread(void);

static void *work(void *argument)
{
    struct worker *worker = argument;
    struct cannery_thread *thread = new_thread();
    for (;;) {
        while (__atomic_load_n(&worker->word, __ATOMIC_ACQUIRE) == 0)
            cannery_futex_wait(&worker->word, 0, -1);
        if (worker->dismissed || thread == NULL)
            break;
        struct cannery_invoke invoke = worker->invoke;
        thread->worker = worker->number;
        __atomic_store_n(&worker->word, 0, __ATOMIC_RELEASE);
        struct cannery_request request = { .kind = CANNERY_ERRAND, .function = worker->number, .thread = thread };
        request.value = run_function(&invoke);
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

static void errand(uint32_t number, const struct cannery_invoke *invoke)
{
    struct worker *worker = workers;
    while (worker != NULL && worker->number != number)
        worker = worker->next;
    if (worker == NULL) {
        worker = calloc(1, sizeof *worker);
        if (worker == NULL || start_thread(work, worker) != 0) {
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

static void dismiss(uint32_t number)
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

/* ---- fork ---- */

static struct cannery_request fork_turn;
static int fork_has_turn;

/* A Python that forks in its own placement holds its GIL, which whoever has the engine may be waiting for. Then the turn is
 * not taken: while we hold that lock nobody else runs in the engine, and the child begins with a model of its own. */
static void before_fork(void)
{
    pthread_mutex_lock(&start_lock);
    if (atomic_load(&stage) != RUNNING)
        return;
    struct cannery_thread *thread = this_thread != NULL ? this_thread : new_thread();
    if (thread == NULL)
        return;
    fork_turn = (struct cannery_request){ .thread = thread };
    fork_has_turn = !engine.holds_interpreter();
    if (fork_has_turn)
        cannery_turn_take(&fork_turn);
    engine.before_fork(thread);
}

static void after_fork_in_parent(void)
{
    if (atomic_load(&stage) == RUNNING && this_thread != NULL) {
        engine.after_fork(this_thread, 0);
        if (fork_has_turn)
            cannery_turn_give();
    }
    pthread_mutex_unlock(&start_lock);
}

static void after_fork_in_child(void)
{
    if (atomic_load(&stage) == RUNNING && this_thread != NULL) {
        waiting = NULL; /* the other threads do not exist here; what they held cannot be freed safely */
        last_ordinal = 0;
        atomic_store(&refused_in_handlers, 0);
        generation++;
        set_inflight(NULL, 0);
        atomic_store(&pacer.due, NEVER);
        atomic_store(&pacer.urgent, NEVER);
        pacer.started = 0;
        listener_bell = NULL;
        workers = NULL;
        this_thread->numbered = 0;
        cannery_turn_reset_in_child();
        engine.after_fork(this_thread, 1);
        cannery_turn_give();
    }
    pthread_mutex_unlock(&start_lock);
}

/* ---- start ---- */

static char *get_variable(const char *name);
static const char *variable_at_load(unsigned place);

static const struct cannery_services services_template = {
    .malloc = malloc, .calloc = calloc, .realloc = realloc, .free = free, .setenv = setenv, .getenv = get_variable,
    .variable = variable_at_load,
    .thread_engine = thread_engine, .thread_ordinal = thread_ordinal, .thread_id = thread_id,
    .thread_worker = thread_worker,
    .begin_call = begin_call, .begin_wait = begin_wait, .end_wait = end_wait, .limit_wait = limit_wait,
    .errand = errand, .dismiss = dismiss, .arm = arm_pacer, .hasten = hasten_pacer, .listen = listen_to,
    .set_inflight = set_inflight,
    .functions = cannery_functions
};

/* Loading the engine takes more stack than small threads and signal stacks have. */
enum { START_STACK = 8 << 20, ENOUGH_STACK = 512 << 10 };

static int has_stack(void)
{
    pthread_attr_t attributes;
    void *bottom = NULL;
    size_t size = 0;
    char here;
    if (pthread_getattr_np(pthread_self(), &attributes) != 0)
        return 1;
    pthread_attr_getstack(&attributes, &bottom, &size);
    pthread_attr_destroy(&attributes);
    return &here > (char *)bottom + ENOUGH_STACK && &here < (char *)bottom + size;
}

/* A first call that is made elsewhere: on this thread, which may hold the loader's lock, but on a stack that is large
 * enough. */
struct first_call {
    unsigned index;
    const uint64_t *args;
    uint64_t result;
    ucontext_t here, there;
};

static __thread struct first_call *first_call;

static void make_first_call(void) { first_call->result = cannery_call(first_call->index, first_call->args); }

/* 0: it could not be made. */
static int call_on_another_stack(unsigned index, const uint64_t *args, uint64_t *result)
{
    void *stack = mmap(NULL, START_STACK, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_STACK, -1, 0);
    if (stack == MAP_FAILED)
        return 0;
    struct first_call *call = stack; /* at its far end */
    *call = (struct first_call){ .index = index, .args = args };
    int made = getcontext(&call->there) == 0;
    if (made) {
        call->there.uc_stack.ss_sp = call + 1;
        call->there.uc_stack.ss_size = START_STACK - sizeof *call;
        call->there.uc_link = &call->here;
        makecontext(&call->there, make_first_call, 0);
        first_call = call;
        swapcontext(&call->here, &call->there);
        first_call = NULL;
        *result = call->result;
    }
    munmap(stack, START_STACK);
    return made;
}

static int start(void)
{
    pthread_mutex_lock(&start_lock);
    if (atomic_load(&stage) == UNSTARTED) {
        static struct cannery_services services;
        services = services_template;
        services.function_count = cannery_function_count;
        cannery_set_thread_destructor(thread_ends);
        int failed = cannery_load_engine(&services, &engine) != 0;
        if (!failed)
            cannery_turn_init(&engine);
        atomic_store(&stage, failed ? FAILED : RUNNING);
    }
    pthread_mutex_unlock(&start_lock);
    return atomic_load(&stage) == RUNNING ? 0 : -1;
}

/* What the environment said when this library was loaded: a program may clear it before its first call. */
enum { KEPT_VARIABLES = 48 };
static char *kept[KEPT_VARIABLES];
extern char **environ;

static void keep_variables(void)
{
    static const char ours[] = "CANNERY_";
    unsigned count = 0;
    for (char **at = environ; at != NULL && *at != NULL && count < KEPT_VARIABLES; at++)
        if (strncmp(*at, ours, sizeof ours - 1) == 0)
            kept[count++] = strdup(*at);
}

static char *get_variable(const char *name)
{
    char *value = getenv(name);
    size_t length = strlen(name);
    for (unsigned i = 0; value == NULL && i < KEPT_VARIABLES && kept[i] != NULL; i++)
        if (strncmp(kept[i], name, length) == 0 && kept[i][length] == '=')
            value = kept[i] + length + 1;
    return value;
}

static const char *variable_at_load(unsigned place) { return place < KEPT_VARIABLES ? kept[place] : NULL; }

__attribute__((constructor)) static void at_load(void)
{
    keep_variables();
    /* at load, not at start: a fork must not catch another thread in the middle of the start either */
    pthread_atfork(before_fork, after_fork_in_parent, after_fork_in_child);
}

/* ---- calls ---- */

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
        if (function->reads & (1u << block->arg) && args[block->arg] != 0)
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

/* Runs what the call asks for and tells the machine, until the call ends. */
static void run_functions(struct cannery_thread *thread, struct cannery_request *request)
{
    const uint32_t index = request->function;
    while (request->invoke.signature != CANNERY_NO_FUNCTION) {
        struct inflight *slot = inflight_slot(thread);
        thread->inside = 0; /* the function may call the runtime */
        request->value = run_function(&request->invoke);
        thread->inside = 1;
        if (slot != NULL)
            note_inflight(thread, index, request->args);
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

uint64_t cannery_call(unsigned index, const uint64_t *args)
{
    const struct cannery_function *function = &cannery_functions[index];
    if (atomic_load_explicit(&stage, memory_order_acquire) != RUNNING) {
        uint64_t result;
        if (first_call == NULL && !has_stack() && call_on_another_stack(index, args, &result))
            return result;
        if (start() != 0)
            return refuse(function, INTERNAL_ERROR);
    }
    struct cannery_thread *thread = this_thread != NULL ? this_thread : new_thread();
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
    struct inflight *slot = note_inflight(thread, index, args);
    cannery_turn_submit(&request);
    if (request.waits)
        wait_for_end(thread, &request);
    if (request.invoke.signature != CANNERY_NO_FUNCTION)
        run_functions(thread, &request);
    if (request.answer.written)
        write_outputs(function, &request);
    if (slot == NULL)
        slot = inflight_slot(thread); /* the thread's first call was noted when it got its number */
    if (slot != NULL)
        __atomic_store_n(&slot->function, 0, __ATOMIC_RELEASE);
    thread->inside = 0;
    return request.answer.result;
}
