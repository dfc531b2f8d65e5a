/* The engine's C side: starts a private CPython and turns requests into calls of Python objects.
 *
 * Compiled into the cffi module `cannery.shim._engine` (engine_build.py), which the shim loads before any Python runs
 * and the session imports afterwards: one file, two entrances. Nothing here knows what a call means. */
#include "shim.h"
#include "engine.h"

#include <sys/resource.h>
#include <time.h>

#include "host_memory.c"
#include "exchange.c"
#include "journal.c"

/* Makes the character tables of this namespace's libc valid on a thread that the other libc made. */
extern void __ctype_init(void);

enum { ENGINE_ERROR = 500000 }; /* ACL_ERROR_INTERNAL_ERROR */

static const struct cannery_services *services;
static PyInterpreterState *interpreter;
static int shared;
static struct cannery_thread *caller; /* whose step is being served */

/* What cannery.shim.session gives us: first for the process, then, with its first call, for one session. */
static struct {
    PyObject *new_thread, *attach, *end_thread, *pace, *signal, *expire, *returned, *errand_done, *forked;
} process;

static struct {
    PyObject *handlers; /* list: by function, the machine's entry, or the session's for what is not implemented */
    PyObject *recorders; /* list: by function, what records a completed call, or None */
    PyObject *machine, *waits, *ended, *effects, *errands, *dismissed, *discarded, *wait_type, *invoke_type;
    PyObject *enter, *collect, *settle, *arm;
    PyObject *tick; /* the virtual clock, or None */
    int64_t due;    /* the machine's, as of the last step */
    int armed;
} session;

#define SESSION_FIELDS { &session.handlers, &session.recorders, &session.machine, &session.waits, &session.ended, \
                         &session.effects, &session.errands, &session.dismissed, &session.discarded, \
                         &session.wait_type, &session.invoke_type, &session.enter, &session.collect, \
                         &session.settle, &session.arm, &session.tick }

int64_t cannery_monotonic(void)
{
    struct timespec t;
    clock_gettime(CLOCK_MONOTONIC, &t);
    return (int64_t)t.tv_sec * 1000000000 + t.tv_nsec;
}

/* ---- services, for Python ---- */

void cannery_arm(int64_t due, uint32_t quiet)
{
    if (services != NULL)
        services->arm(due, quiet);
}

void cannery_hasten(int64_t due)
{
    if (services != NULL)
        services->hasten(due);
}

void cannery_listen(uint32_t *bell)
{
    if (services != NULL)
        services->listen(bell);
}

void cannery_end_wait(uint32_t thread, uint64_t result, uint8_t written, const uint64_t outs[6])
{
    struct cannery_answer answer = { .result = result, .written = written };
    memcpy(answer.outs, outs, sizeof answer.outs);
    if (services != NULL)
        services->end_wait(thread, &answer, NULL);
}

void cannery_limit_wait(uint32_t thread, int64_t deadline)
{
    if (services != NULL)
        services->limit_wait(thread, deadline);
}

uint64_t cannery_chunk(const void *bytes, size_t size)
{
    struct cannery_chunk *chunk = services == NULL ? NULL : services->calloc(1, sizeof *chunk + size);
    if (chunk != NULL) {
        chunk->size = size;
        memcpy(chunk->data, bytes, size);
    }
    return (uint64_t)(uintptr_t)chunk;
}

static void end_wait_in_failure(struct cannery_thread *thread)
{
    const struct cannery_answer answer = { .result = ENGINE_ERROR };
    services->end_wait(services->thread_ordinal(thread), &answer, NULL);
}

static struct cannery_invoke make_invoke(uint64_t function, uint32_t signature, const uint64_t args[4])
{
    return (struct cannery_invoke){ signature, function, { args[0], args[1], args[2], args[3] } };
}

void cannery_invoke(uint32_t thread, uint64_t function, uint32_t signature, const uint64_t args[4])
{
    struct cannery_invoke invoke = make_invoke(function, signature, args);
    if (services != NULL)
        services->end_wait(thread, &(struct cannery_answer){ 0 }, &invoke);
}

void cannery_errand(uint32_t worker, uint64_t function, uint32_t signature, const uint64_t args[4])
{
    struct cannery_invoke invoke = make_invoke(function, signature, args);
    if (services != NULL)
        services->errand(worker, &invoke);
}

void cannery_dismiss(uint32_t worker)
{
    if (services != NULL)
        services->dismiss(worker);
}

uint64_t cannery_caller_id(void) { return caller == NULL ? 0 : services->thread_id(caller); }

uint32_t cannery_caller_worker(void) { return caller == NULL ? 0 : services->thread_worker(caller); }

uint32_t cannery_tid(uint32_t ordinal) { return services == NULL ? UINT32_MAX : services->tid(ordinal); }

void cannery_set_inflight(void *slots, uint32_t count)
{
    if (services != NULL)
        services->set_inflight(slots, count);
}

const char *cannery_getenv(const char *name) { return services != NULL ? services->getenv(name) : getenv(name); }

const char *cannery_variable(unsigned place) { return services != NULL ? services->variable(place) : NULL; }

void cannery_setenv(const char *name, const char *value)
{
    if (services != NULL)
        services->setenv(name, value, 1);
}

/* ---- threads ---- */

static void enter(struct cannery_thread *thread)
{
    struct cannery_thread_engine *mine = services->thread_engine(thread);
    if (mine->state == NULL) {
        __ctype_init();
        mine->state = PyThreadState_New(interpreter); /* kept: making one costs more than a call */
    }
    PyEval_RestoreThread(mine->state);
}

static void leave(struct cannery_thread *thread)
{
    (void)thread;
    PyEval_SaveThread();
}

static void retire(struct cannery_thread *thread)
{
    struct cannery_thread_engine *mine = services->thread_engine(thread);
    PyEval_RestoreThread(mine->state);
    PyObject *object = mine->object;
    mine->object = NULL;
    Py_XDECREF(object);
    PyThreadState_Clear(mine->state);
    PyThreadState_DeleteCurrent();
    mine->state = NULL;
}

/* ---- steps ---- */

static void detach(void)
{
    PyObject **fields[] = SESSION_FIELDS;
    for (size_t i = 0; i < sizeof fields / sizeof fields[0]; i++)
        Py_CLEAR(*fields[i]);
    cannery_journal_begin(0);
}

static void report_failure(PyObject *where) { PyErr_WriteUnraisable(where); }

static int outside; /* whoever has the engine's turn may not enter its Python any more (in_host.c) */

/* The host has not what the call needs (an OSError): one line for the user, where a traceback would be ours to read. */
static void report_shortage(const char *function)
{
    PyObject *type, *value, *trace;
    PyErr_Fetch(&type, &value, &trace);
    PyErr_NormalizeException(&type, &value, &trace);
    PyObject *messages = PyImport_ImportModule("cannery.shim.messages");
    PyObject *said = messages == NULL ? NULL : PyObject_CallMethod(messages, "say_shortage", "sO", function, value);
    if (said == NULL)
        report_failure(messages);
    Py_XDECREF(said);
    Py_XDECREF(messages);
    Py_XDECREF(type);
    Py_XDECREF(value);
    Py_XDECREF(trace);
}

#include "steps.c"

/* ---- fork ---- */

/* What is there of the parent is not the child's. */
static void begin_child(struct cannery_thread *thread)
{
    detach();
    Py_CLEAR(services->thread_engine(thread)->object);
    PyObject *done = PyObject_CallNoArgs(process.forked);
    if (done == NULL)
        report_failure(process.forked);
    Py_XDECREF(done);
}

static int holds_nothing(void) { return 0; } /* nobody else knows of this interpreter */

static void before_fork(struct cannery_thread *thread)
{
    enter(thread);
    PyOS_BeforeFork();
}

static void after_fork(struct cannery_thread *thread, int child)
{
    if (child) {
        PyOS_AfterFork_Child();
        begin_child(thread);
    } else {
        PyOS_AfterFork_Parent();
    }
    leave(thread);
}

#include "in_host.c"

/* ---- start ---- */

static void *host_malloc(void *context, size_t size)
{
    (void)context;
    return services->malloc(size > 0 ? size : 1);
}

static void *host_calloc(void *context, size_t count, size_t size)
{
    (void)context;
    return count > 0 && size > 0 ? services->calloc(count, size) : services->calloc(1, 1);
}

static void *host_realloc(void *context, void *block, size_t size)
{
    (void)context;
    return services->realloc(block, size > 0 ? size : 1);
}

static void host_free(void *context, void *block)
{
    (void)context;
    services->free(block);
}

static int add_path(PyConfig *config, const char *text, size_t length)
{
    char line[4096];
    if (length == 0 || length >= sizeof line)
        return 0;
    memcpy(line, text, length);
    line[length] = '\0';
    wchar_t *wide = Py_DecodeLocale(line, NULL);
    if (wide == NULL)
        return -1;
    PyStatus status = PyWideStringList_Append(&config->module_search_paths, wide);
    PyMem_RawFree(wide);
    return PyStatus_Exception(status) ? -1 : 0;
}

static PyStatus start_python(const struct cannery_engine_options *options)
{
    /* The memory that this libc would keep per thread is never given back when the other libc ends the thread. The
     * host's allocator does that, and survives fork by the host's own rules. */
    PyMemAllocatorEx allocator = { NULL, host_malloc, host_calloc, host_realloc, host_free };
    PyPreConfig before;
    PyConfig config;
    PyPreConfig_InitIsolatedConfig(&before);
    before.utf8_mode = 1;
    before.configure_locale = 0;
    PyStatus status = Py_PreInitialize(&before);
    if (PyStatus_Exception(status))
        return status;
    PyMem_SetAllocator(PYMEM_DOMAIN_RAW, &allocator);
    PyConfig_InitIsolatedConfig(&config);
    config.install_signal_handlers = 0;
    config.site_import = 0; /* the search path comes complete from engine.conf */
    config.pathconfig_warnings = 0;
    struct rlimit size;
    if (getrlimit(RLIMIT_FSIZE, &size) == 0 && size.rlim_cur != RLIM_INFINITY)
        config.write_bytecode = 0; /* past the limit, the signal would end the program */
    config.module_search_paths_set = 1;
    const struct { wchar_t **field; const char *text; } strings[] = {
        { &config.program_name, options->executable }, { &config.executable, options->executable },
        { &config.base_executable, options->executable }, { &config.home, options->prefix },
        { &config.prefix, options->prefix }, { &config.base_prefix, options->prefix },
        { &config.exec_prefix, options->prefix }, { &config.base_exec_prefix, options->prefix },
    };
    for (size_t i = 0; i < sizeof strings / sizeof strings[0]; i++) {
        status = PyConfig_SetBytesString(&config, strings[i].field, strings[i].text);
        if (PyStatus_Exception(status))
            goto done;
    }
    for (const char *at = options->paths; *at != '\0';) {
        const char *end = strchr(at, '\n');
        size_t length = end == NULL ? strlen(at) : (size_t)(end - at);
        if (add_path(&config, at, length) != 0) {
            status = PyStatus_NoMemory();
            goto done;
        }
        at += length + (end != NULL);
    }
    status = Py_InitializeFromConfig(&config);
done:
    PyConfig_Clear(&config);
    return status;
}

/* Editable installations are found by an import hook that a .pth file of the environment installs. */
static int add_site(const char *folder)
{
    if (folder[0] == '\0')
        return 0;
    PyObject *site = PyImport_ImportModule("site");
    PyObject *done = site == NULL ? NULL : PyObject_CallMethod(site, "addsitedir", "s", folder);
    Py_XDECREF(site);
    Py_XDECREF(done);
    return done == NULL ? -1 : 0;
}

static int start_session(void)
{
    PyObject *module = PyImport_ImportModule("cannery.shim.session");
    PyObject *parts = module == NULL ? NULL : PyObject_CallMethod(module, "start", "O", shared ? Py_True : Py_False);
    Py_XDECREF(module);
    if (parts == NULL)
        return -1;
    PyObject **fields[] = { &process.new_thread, &process.attach, &process.end_thread, &process.pace, &process.signal,
                            &process.expire, &process.returned, &process.errand_done, &process.forked };
    int status = take_parts(parts, fields, sizeof fields / sizeof fields[0]);
    Py_DECREF(parts);
    return status;
}

static void explain(char *error, size_t size)
{
    PyObject *type, *value, *trace;
    PyErr_Fetch(&type, &value, &trace);
    PyErr_NormalizeException(&type, &value, &trace);
    PyObject *text = value == NULL ? NULL : PyObject_Str(value);
    const char *words = text == NULL ? NULL : PyUnicode_AsUTF8(text);
    snprintf(error, size, "%s: %s", type == NULL ? "?" : ((PyTypeObject *)type)->tp_name, words == NULL ? "?" : words);
    Py_XDECREF(text);
    PyErr_Clear();
    Py_XDECREF(type);
    Py_XDECREF(value);
    Py_XDECREF(trace);
}

__attribute__((visibility("default"))) int cannery_engine_start(int abi, const struct cannery_services *table,
    const struct cannery_engine_options *options, struct cannery_engine *engine, char *error, size_t error_size);

int cannery_engine_start(int abi, const struct cannery_services *table, const struct cannery_engine_options *options,
                         struct cannery_engine *engine, char *error, size_t error_size)
{
    PyGILState_STATE host_state = PyGILState_UNLOCKED;
    if (abi != CANNERY_ENGINE_ABI) {
        snprintf(error, error_size, "shim and engine come from different builds");
        return -1;
    }
    services = table;
    shared = options->shared;
    if (shared) {
        host_state = PyGILState_Ensure();
    } else {
        __ctype_init();
        PyStatus status = start_python(options);
        if (PyStatus_Exception(status)) {
            snprintf(error, error_size, "%s", status.err_msg != NULL ? status.err_msg : "Python did not initialise");
            return -1;
        }
    }
    interpreter = PyInterpreterState_Get();
    int failed = add_site(options->site) != 0 || start_session() != 0 ? -1 : 0;
    if (failed)
        explain(error, error_size);
    if (shared) {
        PyGILState_Release(host_state);
        *engine = (struct cannery_engine){ enter_host, serve, leave_host, retire_host, holds_host, before_fork_host,
                                            after_fork_host };
    } else {
        PyEval_SaveThread();
        *engine = (struct cannery_engine){ enter, serve, leave, retire, holds_nothing, before_fork, after_fork };
    }
    return failed;
}
