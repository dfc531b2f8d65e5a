/* The engine's C side: starts a private CPython and turns requests into calls of Python objects.
 *
 * Compiled into the cffi module `cannery.shim._engine` (engine_build.py), which the shim loads before any Python runs
 * and the session imports afterwards: one file, two entrances. Nothing here knows what a call means; it takes the
 * arguments apart by the generated table, calls the session's object for that function and takes the answer apart. */
#include "shim.h"
#include "engine.h"

#include <time.h>

#include "host_memory.c"

/* Makes the character tables of this namespace's libc valid on a thread that the other libc made. */
extern void __ctype_init(void);

enum { ENGINE_ERROR = 500000 }; /* ACL_ERROR_INTERNAL_ERROR */

static const struct cannery_services *services;
static PyInterpreterState *interpreter;
static int shared;

static struct { /* what the session gave us */
    PyObject *handlers; /* list: one callable per function */
    PyObject *new_thread, *end_thread, *pace, *expire, *forked;
} session;

int64_t cannery_monotonic(void)
{
    struct timespec t;
    clock_gettime(CLOCK_MONOTONIC, &t);
    return (int64_t)t.tv_sec * 1000000000 + t.tv_nsec;
}

/* ---- services, for Python ---- */

void cannery_arm(int64_t due)
{
    if (services != NULL)
        services->arm(due);
}

void cannery_end_wait(uint32_t thread, uint64_t result)
{
    if (services != NULL)
        services->end_wait(thread, result);
}

void cannery_set_inflight(void *slots, uint32_t count)
{
    if (services != NULL)
        services->set_inflight(slots, count);
}

const char *cannery_getenv(const char *name) { return services != NULL ? services->getenv(name) : getenv(name); }

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

/* In the host's Python (`--engine host`) the host's rules hold: it may have a state for this thread already. */
static void enter_host(struct cannery_thread *thread)
{
    services->thread_engine(thread)->state = (void *)(uintptr_t)(1 + PyGILState_Ensure());
}

static void leave_host(struct cannery_thread *thread)
{
    PyGILState_Release((PyGILState_STATE)((uintptr_t)services->thread_engine(thread)->state - 1));
}

static void retire_host(struct cannery_thread *thread)
{
    enter_host(thread);
    Py_CLEAR(services->thread_engine(thread)->object);
    leave_host(thread);
}

/* ---- fork ---- */

static void before_fork(struct cannery_thread *thread)
{
    enter(thread);
    PyOS_BeforeFork();
}

static void report_failure(PyObject *where) { PyErr_WriteUnraisable(where); }

static void after_fork(struct cannery_thread *thread, int child)
{
    if (child) {
        PyOS_AfterFork_Child();
        Py_CLEAR(services->thread_engine(thread)->object);
        PyObject *done = PyObject_CallNoArgs(session.forked);
        if (done == NULL)
            report_failure(session.forked);
        Py_XDECREF(done);
    } else {
        PyOS_AfterFork_Parent();
    }
    leave(thread);
}

static void before_fork_host(struct cannery_thread *thread) { (void)thread; } /* the host's Python does its own steps */

static void after_fork_host(struct cannery_thread *thread, int child)
{
    if (!child)
        return;
    enter_host(thread);
    Py_CLEAR(services->thread_engine(thread)->object);
    PyObject *done = PyObject_CallNoArgs(session.forked);
    if (done == NULL)
        report_failure(session.forked);
    Py_XDECREF(done);
    leave_host(thread);
}

/* ---- requests ---- */

static PyObject *to_python(const struct cannery_function *function, unsigned i, const struct cannery_request *request,
                           unsigned *string)
{
    uint64_t value = request->args[i];
    unsigned bit = 1u << i;
    if (function->strings & bit) {
        uint64_t length = *string < 2 ? request->lengths[*string] : 0;
        (*string)++;
        if (value == 0)
            Py_RETURN_NONE;
        return PyBytes_FromStringAndSize((const char *)(uintptr_t)value, (Py_ssize_t)length);
    }
    if (function->signed32 & bit)
        return PyLong_FromLongLong((long long)value);
    if (function->floats & bit) {
        float number;
        memcpy(&number, &value, sizeof number);
        return PyFloat_FromDouble(number);
    }
    return PyLong_FromUnsignedLongLong(value);
}

/* The bits of a Python value in `size` bytes. -1 with a Python error if it does not fit there. */
static int to_bits(PyObject *value, unsigned size, uint64_t *bits)
{
    if (PyLong_Check(value)) {
        *bits = PyLong_AsUnsignedLongLongMask(value);
        return *bits == (uint64_t)-1 && PyErr_Occurred() ? -1 : 0;
    }
    if (PyFloat_Check(value)) {
        double number = PyFloat_AS_DOUBLE(value);
        float narrow = (float)number;
        *bits = 0;
        if (size == sizeof narrow)
            memcpy(bits, &narrow, sizeof narrow);
        else
            memcpy(bits, &number, sizeof number);
        return 0;
    }
    if (PyBytes_Check(value)) { /* text for the program: the session keeps the object alive */
        *bits = (uint64_t)(uintptr_t)PyBytes_AS_STRING(value);
        return 0;
    }
    if (value == Py_None) {
        *bits = 0;
        return 0;
    }
    PyErr_Format(PyExc_TypeError, "the session answered with a %s", Py_TYPE(value)->tp_name);
    return -1;
}

static int take_answer(const struct cannery_function *function, struct cannery_request *request, PyObject *answer)
{
    unsigned size = function->kind == CANNERY_RET_FLOAT ? 4 : 8;
    if (PyList_CheckExact(answer)) { /* [deadline]: the call has to wait */
        request->waits = 1;
        request->deadline = PyLong_AsLongLong(PyList_GET_ITEM(answer, 0));
        return request->deadline == -1 && PyErr_Occurred() ? -1 : 0;
    }
    if (!PyTuple_CheckExact(answer))
        return to_bits(answer, size, &request->result);
    if (PyTuple_GET_SIZE(answer) != 1 + (Py_ssize_t)function->nouts) {
        PyErr_Format(PyExc_TypeError, "%s: the session answered with %zd values instead of %d", function->name,
                     PyTuple_GET_SIZE(answer), 1 + function->nouts);
        return -1;
    }
    for (unsigned i = 0; i < function->nouts; i++) {
        PyObject *value = PyTuple_GET_ITEM(answer, i + 1);
        if (value == Py_None)
            continue;
        if (to_bits(value, function->outs[i].size, &request->outs[i]) != 0)
            return -1;
        request->written |= (uint8_t)(1u << i);
    }
    return to_bits(PyTuple_GET_ITEM(answer, 0), size, &request->result);
}

static PyObject *thread_object(struct cannery_thread *thread)
{
    struct cannery_thread_engine *mine = services->thread_engine(thread);
    if (mine->object == NULL) {
        PyObject *ordinal = PyLong_FromUnsignedLong(services->thread_ordinal(thread));
        if (ordinal != NULL)
            mine->object = PyObject_CallOneArg(session.new_thread, ordinal);
        Py_XDECREF(ordinal);
    }
    return mine->object;
}

static int serve_call(struct cannery_request *request)
{
    const struct cannery_function *function = &services->functions[request->function];
    PyObject *values[CANNERY_MAX_ARGS + 3] = { NULL };
    unsigned count = 1, string = 0; /* values[0] is vectorcall's to use */
    PyObject *answer = NULL;
    services->begin_call(request);
    PyObject *object = thread_object(request->thread); /* a process's first thread fills the list of handlers */
    if (object == NULL)
        return -1;
    PyObject *handler = PyList_GET_ITEM(session.handlers, request->function);
    values[count++] = object;
    if ((values[count] = PyLong_FromLongLong(cannery_monotonic())) == NULL)
        return -1;
    count++;
    for (unsigned i = 0; i < function->nargs; i++) {
        if ((values[count] = to_python(function, i, request, &string)) == NULL)
            goto done;
        count++;
    }
    answer = PyObject_Vectorcall(handler, values + 1, (count - 1) | PY_VECTORCALL_ARGUMENTS_OFFSET, NULL);
done:
    for (unsigned i = 2; i < count; i++)
        Py_DECREF(values[i]);
    if (answer == NULL)
        return -1;
    int status = take_answer(function, request, answer);
    Py_DECREF(answer);
    if (status == 0 && request->waits)
        services->begin_wait(request->thread);
    return status;
}

static int serve_step(struct cannery_request *request, PyObject *callable, int with_thread)
{
    PyObject *object = with_thread ? thread_object(request->thread) : Py_None;
    PyObject *now = PyLong_FromLongLong(cannery_monotonic());
    if (object == NULL || now == NULL) {
        Py_XDECREF(now);
        return -1;
    }
    PyObject *answer = PyObject_CallFunctionObjArgs(callable, object, now, NULL);
    Py_DECREF(now);
    if (answer == NULL)
        return -1;
    if (PyList_CheckExact(answer)) { /* the wait goes on, until then */
        request->waits = 1;
        request->deadline = PyLong_AsLongLong(PyList_GET_ITEM(answer, 0));
    }
    Py_DECREF(answer);
    return PyErr_Occurred() ? -1 : 0;
}

static void serve(struct cannery_request *request)
{
    int status = 0;
    switch ((enum cannery_request_kind)request->kind) {
    case CANNERY_CALL: status = serve_call(request); break;
    case CANNERY_EXPIRE: status = serve_step(request, session.expire, 1); break;
    case CANNERY_PACE: status = serve_step(request, session.pace, 0); break;
    case CANNERY_THREAD_END: status = serve_step(request, session.end_thread, 1); break;
    case CANNERY_OWN_TURN: break;
    }
    if (status == 0)
        return;
    report_failure(request->kind == CANNERY_CALL ? PyList_GET_ITEM(session.handlers, request->function) : NULL);
    request->waits = 0;
    request->written = 0;
    request->result = 0;
    if (request->kind == CANNERY_CALL && services->functions[request->function].kind == CANNERY_RET_ERROR)
        request->result = ENGINE_ERROR;
    if (request->kind == CANNERY_EXPIRE)
        services->end_wait(services->thread_ordinal(request->thread), ENGINE_ERROR);
}

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
    PyObject *parts = module == NULL ? NULL : PyObject_CallMethod(module, "start", NULL);
    Py_XDECREF(module);
    if (parts == NULL)
        return -1;
    struct { PyObject **field; Py_ssize_t index; } fields[] = {
        { &session.handlers, 0 }, { &session.new_thread, 1 }, { &session.end_thread, 2 }, { &session.pace, 3 },
        { &session.expire, 4 }, { &session.forked, 5 },
    };
    if (!PyTuple_Check(parts) || PyTuple_GET_SIZE(parts) != 6 || !PyList_CheckExact(PyTuple_GET_ITEM(parts, 0)) ||
        PyList_GET_SIZE(PyTuple_GET_ITEM(parts, 0)) != (Py_ssize_t)services->function_count) {
        PyErr_SetString(PyExc_TypeError, "session and shim do not belong to the same build");
        Py_DECREF(parts);
        return -1;
    }
    for (size_t i = 0; i < sizeof fields / sizeof fields[0]; i++)
        *fields[i].field = Py_NewRef(PyTuple_GET_ITEM(parts, fields[i].index));
    Py_DECREF(parts);
    return 0;
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
        *engine = (struct cannery_engine){ enter_host, serve, leave_host, retire_host, before_fork_host, after_fork_host };
    } else {
        PyEval_SaveThread();
        *engine = (struct cannery_engine){ enter, serve, leave, retire, before_fork, after_fork };
    }
    return failed;
}
