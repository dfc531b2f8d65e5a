/* Serving requests: the live driver of the machine (docs/architecture.md, "How a driver drives the machine").
 *
 * Part of engine.c. A completed call that needs no more than the machine's handler and a record costs one call of a Python
 * object; whatever is rarer (waits, effects, work that becomes due, calls without implementation) goes through the
 * session's methods. */

static PyObject *name_begin, *name_now, *name_due;

/* The parts of a tuple, as new references. -1 with a Python error if it is none of that length. */
static int take_parts(PyObject *parts, PyObject **fields[], Py_ssize_t count)
{
    if (!PyTuple_CheckExact(parts) || PyTuple_GET_SIZE(parts) != count) {
        PyErr_SetString(PyExc_TypeError, "session and engine do not belong to the same build");
        return -1;
    }
    for (Py_ssize_t i = 0; i < count; i++)
        Py_XSETREF(*fields[i], Py_NewRef(PyTuple_GET_ITEM(parts, i)));
    return 0;
}

static int attach(void)
{
    PyObject **fields[] = SESSION_FIELDS;
    PyObject *parts = PyObject_CallNoArgs(process.attach);
    if (parts == NULL)
        return -1;
    int status = take_parts(parts, fields, sizeof fields / sizeof fields[0]);
    Py_DECREF(parts);
    if (status == 0 && (PyList_GET_SIZE(session.handlers) != (Py_ssize_t)services->function_count ||
                        PyList_GET_SIZE(session.recorders) != (Py_ssize_t)services->function_count)) {
        PyErr_SetString(PyExc_TypeError, "session and shim do not belong to the same build");
        status = -1;
    }
    if (status != 0)
        detach();
    name_begin = PyUnicode_InternFromString("begin");
    name_now = PyUnicode_InternFromString("now");
    name_due = PyUnicode_InternFromString("due");
    session.due = 0;
    session.armed = 0;
    return status;
}

/* ---- between C and Python values ---- */

/* The bits of a Python value in `size` bytes; 1 if it is a number below 0, -1 with a Python error if it is no answer. */
static int to_bits(PyObject *value, unsigned size, uint64_t *bits)
{
    if (PyLong_Check(value)) {
        int overflow;
        long long number = PyLong_AsLongLongAndOverflow(value, &overflow);
        *bits = overflow != 0 ? PyLong_AsUnsignedLongLongMask(value) : (uint64_t)number;
        return overflow < 0 || (overflow == 0 && number < 0);
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

#include "blocks.c"

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
    if (function->reads & bit)
        return block_to_python(function, i, request->args);
    if (function->signed32 & bit)
        return PyLong_FromLongLong((long long)value);
    if (function->floats & bit) {
        float number;
        memcpy(&number, &value, sizeof number);
        return PyFloat_FromDouble(number);
    }
    return PyLong_FromUnsignedLongLong(value);
}

/* Return value and outputs of a finished call. The bits of outputs below 0, or -1 with a Python error. */
static int take_answer(const struct cannery_function *function, struct cannery_request *request, PyObject *answer)
{
    unsigned size = function->kind == CANNERY_RET_FLOAT ? 4 : 8, negative = 0;
    if (!PyTuple_CheckExact(answer))
        return to_bits(answer, size, &request->answer.result) < 0 ? -1 : 0;
    if (PyTuple_GET_SIZE(answer) != 1 + (Py_ssize_t)function->nouts) {
        PyErr_Format(PyExc_TypeError, "%s: the session answered with %zd values instead of %d", function->name,
                     PyTuple_GET_SIZE(answer), 1 + function->nouts);
        return -1;
    }
    for (unsigned i = 0; i < function->nouts; i++) {
        PyObject *value = PyTuple_GET_ITEM(answer, i + 1);
        if (value == Py_None)
            continue;
        const struct cannery_out *out = &function->outs[i];
        int sign = out->size != 0 ? to_bits(value, out->size, &request->answer.outs[i])
                   : block_from_python(&function->blocks[out->block], request->args, value, &request->answer.outs[i]);
        if (sign < 0)
            return -1;
        negative |= (unsigned)sign << i;
        request->answer.written |= (uint8_t)(1u << i);
    }
    return to_bits(PyTuple_GET_ITEM(answer, 0), size, &request->answer.result) < 0 ? -1 : (int)negative;
}

/* What the session answers for a call that does not end with this step: [deadline], it has to wait, until then at most
 * (-1: for ever); [function, signature, four arguments], its thread has to run that first. */
static int take_pending(struct cannery_request *request, PyObject *answer)
{
    if (PyList_GET_SIZE(answer) == 1) {
        request->waits = 1;
        request->deadline = PyLong_AsLongLong(PyList_GET_ITEM(answer, 0));
    } else if (PyList_GET_SIZE(answer) == 6) {
        request->invoke.function = PyLong_AsUnsignedLongLongMask(PyList_GET_ITEM(answer, 0));
        request->invoke.signature = (uint32_t)PyLong_AsUnsignedLongMask(PyList_GET_ITEM(answer, 1));
        for (int i = 0; i < 4; i++)
            request->invoke.args[i] = PyLong_AsUnsignedLongLongMask(PyList_GET_ITEM(answer, 2 + i));
    } else {
        PyErr_SetString(PyExc_TypeError, "the session answered with a list of another length");
    }
    return PyErr_Occurred() ? -1 : 0;
}

static int failed_to_begin; /* said once: every call would say it again */

static PyObject *thread_object(struct cannery_thread *thread)
{
    struct cannery_thread_engine *mine = services->thread_engine(thread);
    if (failed_to_begin)
        return NULL;
    if (mine->object == NULL) {
        PyObject *ordinal = PyLong_FromUnsignedLong(services->thread_ordinal(thread));
        if (ordinal != NULL)
            mine->object = PyObject_CallOneArg(process.new_thread, ordinal);
        Py_XDECREF(ordinal);
        if (mine->object == Py_None) { /* the session could not begin, and said so */
            failed_to_begin = 1;
            Py_CLEAR(mine->object);
        }
        if (mine->object == NULL && session.machine == NULL && !failed_to_begin) {
            failed_to_begin = 1;
            report_failure(process.new_thread);
        }
        if (mine->object != NULL && session.machine == NULL && attach() != 0)
            Py_CLEAR(mine->object);
    }
    return mine->object;
}

/* ---- a call ---- */

static PyObject *take_time(int64_t *now)
{
    if (session.tick == Py_None) {
        *now = cannery_monotonic();
        return PyLong_FromLongLong(*now);
    }
    PyObject *time = PyObject_CallNoArgs(session.tick);
    *now = time == NULL ? -1 : PyLong_AsLongLong(time);
    return time;
}

/* Machine.begin(now), which does nothing but note the time while nothing is due. */
static int begin_step(PyObject *time, int64_t now)
{
    if (now < session.due)
        return PyObject_SetAttr(session.machine, name_now, time);
    PyObject *values[] = { NULL, session.machine, time }; /* [0] is vectorcall's to use */
    PyObject *done = PyObject_VectorcallMethod(name_begin, values + 1, 2 | PY_VECTORCALL_ARGUMENTS_OFFSET, NULL);
    Py_XDECREF(done);
    return done == NULL ? -1 : 0;
}

/* Ends the waits that this step released. Bytes may move then, which belong to the step: before it is recorded. */
static int collect_waits(void)
{
    if (PyList_GET_SIZE(session.waits) == 0)
        return 0;
    PyObject *done = PyObject_CallNoArgs(session.collect);
    Py_XDECREF(done);
    return done == NULL ? -1 : 0;
}

/* What ends every step: release who need not wait any longer, and have the pacer look after what becomes due. */
static int end_step(void)
{
    PyObject *done = Py_None;
    if (PyList_GET_SIZE(session.ended) > 0 || PyList_GET_SIZE(session.effects) > 0 ||
        PyList_GET_SIZE(session.errands) > 0 || PyList_GET_SIZE(session.dismissed) > 0 ||
        PyList_GET_SIZE(session.discarded) > 0) {
        if ((done = PyObject_CallNoArgs(session.settle)) == NULL)
            return -1;
        Py_DECREF(done);
    }
    PyObject *due = PyObject_GetAttr(session.machine, name_due);
    if (due == NULL)
        return -1;
    session.due = PyLong_AsLongLong(due);
    Py_DECREF(due);
    if (session.armed || session.due == INT64_C(1) << 61) /* schedule.FAR: nothing will become due */
        return 0;
    session.armed = 1;
    if ((done = PyObject_CallNoArgs(session.arm)) == NULL)
        return -1;
    Py_DECREF(done);
    return 0;
}

/* A tuple of the arguments, for what does not take them one by one. */
static PyObject *pack_arguments(PyObject *const *values, unsigned count)
{
    PyObject *tuple = PyTuple_New(count);
    for (unsigned i = 0; tuple != NULL && i < count; i++)
        PyTuple_SET_ITEM(tuple, i, Py_NewRef(values[i]));
    return tuple;
}

static int record_call(struct cannery_request *request, const struct cannery_function *function, int64_t now,
                       PyObject *time, PyObject *answer, PyObject *const *values, unsigned negative)
{
    uint32_t ordinal = services->thread_ordinal(request->thread);
    PyObject *recorder = PyList_GET_ITEM(session.recorders, request->function);
    if (recorder == Py_None)
        return 0;
    if (journal_forms != NULL && PyList_GET_SIZE(session.effects) == 0 &&
        journal_call(request, function, ordinal, now, negative))
        return 0;
    PyObject *arguments = pack_arguments(values, function->nargs);
    PyObject *done = arguments == NULL ? NULL
                     : PyObject_CallFunction(recorder, "IOOOO", ordinal, time, arguments, answer, session.effects);
    Py_XDECREF(arguments);
    Py_XDECREF(done);
    return done == NULL ? -1 : 0;
}

/* Ends the step of a call that goes on. Its thread waits from before the end of the step, which may end the wait. */
static int end_pending(struct cannery_request *request)
{
    if (request->waits)
        services->begin_wait(request->thread, request->deadline);
    if (end_step() == 0)
        return 0;
    if (!request->waits)
        return -1;
    report_failure(session.settle);
    end_wait_in_failure(request->thread);
    return 0;
}

static int finish_call(struct cannery_request *request, const struct cannery_function *function, int64_t now,
                       PyObject *time, PyObject *answer, PyObject *const *values)
{
    if (collect_waits() != 0)
        return -1;
    if ((PyObject *)Py_TYPE(answer) == session.wait_type || (PyObject *)Py_TYPE(answer) == session.invoke_type) {
        PyObject *arguments = pack_arguments(values + 1, function->nargs);
        PyObject *entered = arguments == NULL ? NULL
                            : PyObject_CallFunction(session.enter, "IOOOO", (unsigned)request->function, values[0], time,
                                                    arguments, answer);
        Py_XDECREF(arguments);
        int status = entered == NULL ? -1 : take_pending(request, entered);
        Py_XDECREF(entered);
        return status != 0 ? -1 : end_pending(request);
    }
    int negative = take_answer(function, request, answer);
    if (negative < 0 || record_call(request, function, now, time, answer, values + 1, (unsigned)negative) != 0)
        return -1;
    return end_step();
}

static int serve_call(struct cannery_request *request)
{
    const struct cannery_function *function = &services->functions[request->function];
    PyObject *values[CANNERY_MAX_ARGS + 2] = { NULL }; /* [0] is vectorcall's to use, [1] the thread */
    unsigned count = 2, string = 0;
    int64_t now;
    int status = -1;
    services->begin_call(request);
    if ((values[1] = thread_object(request->thread)) == NULL)
        return -1;
    PyObject *time = take_time(&now);
    if (time == NULL)
        return -1;
    for (unsigned i = 0; i < function->nargs; i++) {
        if ((values[count] = to_python(function, i, request, &string)) == NULL)
            goto done;
        count++;
    }
    if (begin_step(time, now) != 0)
        goto done;
    PyObject *answer = PyObject_Vectorcall(PyList_GET_ITEM(session.handlers, request->function), values + 1,
                                           (count - 1) | PY_VECTORCALL_ARGUMENTS_OFFSET, NULL);
    if (answer != NULL) {
        status = finish_call(request, function, now, time, answer, values + 1);
        Py_DECREF(answer);
    }
done:
    for (unsigned i = 2; i < count; i++)
        Py_DECREF(values[i]);
    Py_DECREF(time);
    return status;
}

/* ---- other steps ---- */

static int serve_step(struct cannery_request *request, PyObject *method, PyObject *subject, PyObject *value)
{
    if (session.machine == NULL)
        return 0; /* no call was served yet */
    PyObject *now = PyLong_FromLongLong(cannery_monotonic());
    if (subject == NULL || now == NULL) {
        Py_XDECREF(now);
        return -1;
    }
    if (request->kind == CANNERY_PACE)
        session.armed = 0;
    PyObject *answer = PyObject_CallFunctionObjArgs(method, subject, now, value, NULL);
    Py_DECREF(now);
    if (answer == NULL)
        return -1;
    int status = 0;
    if (PyList_CheckExact(answer))
        status = take_pending(request, answer);
    else if (request->kind == CANNERY_RETURNED)
        status = take_answer(&services->functions[request->function], request, answer) < 0 ? -1 : 0;
    Py_DECREF(answer);
    if (status != 0)
        return -1;
    /* the thread of an expired wait waits already */
    return request->kind == CANNERY_RETURNED ? end_pending(request) : end_step();
}

static int serve_return(struct cannery_request *request)
{
    PyObject *value = PyLong_FromUnsignedLongLong(request->value);
    int status = -1;
    if (value != NULL && request->kind == CANNERY_RETURNED) {
        status = serve_step(request, process.returned, thread_object(request->thread), value);
    } else if (value != NULL) {
        PyObject *worker = PyLong_FromUnsignedLong(request->function);
        status = serve_step(request, process.errand_done, worker, value);
        Py_XDECREF(worker);
    }
    Py_XDECREF(value);
    return status;
}

static void refuse(struct cannery_request *request)
{
    request->waits = 0;
    request->answer = (struct cannery_answer){ 0 };
    request->invoke.signature = CANNERY_NO_FUNCTION;
    if ((request->kind == CANNERY_CALL || request->kind == CANNERY_RETURNED) && services->functions[request->function].kind == CANNERY_RET_ERROR)
        request->answer.result = ENGINE_ERROR;
    if (request->kind == CANNERY_EXPIRE)
        end_wait_in_failure(request->thread);
}

static void serve(struct cannery_request *request)
{
    int status = 0;
    if (outside) {
        refuse(request);
        return;
    }
    caller = request->thread;
    switch ((enum cannery_request_kind)request->kind) {
    case CANNERY_CALL: status = serve_call(request); break;
    case CANNERY_RETURNED:
    case CANNERY_ERRAND: status = serve_return(request); break;
    case CANNERY_EXPIRE: status = serve_step(request, process.expire, thread_object(request->thread), NULL); break;
    case CANNERY_PACE: status = serve_step(request, process.pace, Py_None, NULL); break;
    case CANNERY_SIGNAL: status = serve_step(request, process.signal, Py_None, NULL); break;
    case CANNERY_THREAD_END: status = serve_step(request, process.end_thread, thread_object(request->thread), NULL); break;
    case CANNERY_OWN_TURN: break;
    }
    if (status == 0)
        return;
    if (failed_to_begin)
        PyErr_Clear();
    else if (request->kind == CANNERY_CALL && PyErr_ExceptionMatches(PyExc_OSError))
        report_shortage(services->functions[request->function].name);
    else
        report_failure(session.handlers != NULL && request->kind == CANNERY_CALL
                       ? PyList_GET_ITEM(session.handlers, request->function) : NULL);
    refuse(request);
}
