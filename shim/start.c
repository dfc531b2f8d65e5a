/* The engine's start, with the first call of the process, and what has to be seen to when the shim is loaded. */
#define _GNU_SOURCE
#include "threads.h"

#include <pthread.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <ucontext.h>
#include <unistd.h>

_Atomic int cannery_stage;
struct cannery_engine cannery_engine;

static pthread_mutex_t start_lock = PTHREAD_MUTEX_INITIALIZER;

void cannery_hold_start(void) { pthread_mutex_lock(&start_lock); }

void cannery_release_start(void) { pthread_mutex_unlock(&start_lock); }

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

static const struct cannery_services services_template = {
    .malloc = malloc, .calloc = calloc, .realloc = realloc, .free = free, .setenv = setenv, .getenv = get_variable,
    .variable = variable_at_load,
    .thread_engine = cannery_thread_engine, .thread_ordinal = cannery_thread_ordinal, .thread_id = cannery_thread_id,
    .thread_worker = cannery_thread_worker, .tid = cannery_tid_of,
    .begin_call = cannery_number_thread, .begin_wait = cannery_wait_begins, .end_wait = cannery_wait_ends,
    .limit_wait = cannery_wait_limited,
    .errand = cannery_errand, .dismiss = cannery_dismiss, .arm = cannery_arm_pacer, .hasten = cannery_hasten_pacer,
    .listen = cannery_listen_to, .set_inflight = cannery_set_inflight,
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

static int start_here(void)
{
    pthread_mutex_lock(&start_lock);
    if (atomic_load(&cannery_stage) == CANNERY_UNSTARTED) {
        static struct cannery_services services;
        services = services_template;
        services.function_count = cannery_function_count;
        cannery_set_thread_destructor(cannery_thread_ends);
        int failed = cannery_load_engine(&services, &cannery_engine) != 0;
        if (!failed)
            cannery_turn_init(&cannery_engine);
        atomic_store(&cannery_stage, failed ? CANNERY_FAILED : CANNERY_RUNNING);
    }
    pthread_mutex_unlock(&start_lock);
    return atomic_load(&cannery_stage) == CANNERY_RUNNING ? 0 : -1;
}

int cannery_start(unsigned index, const uint64_t *args, uint64_t *result)
{
    if (first_call == NULL && !has_stack() && call_on_another_stack(index, args, result))
        return 1;
    return start_here();
}

__attribute__((constructor)) static void at_load(void)
{
    keep_variables();
    /* at load, not at start: a fork must not catch another thread in the middle of the start either */
    cannery_follow_forks();
}
