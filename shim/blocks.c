/* Between values and what lies behind pointer arguments, by the layouts of the exports (runtime/api/layouts.py).
 *
 * Part of engine.c. The calling thread has touched what is read here, and copies what is written, so a bad pointer faults
 * where the program used it. */

static PyObject *elements_to_python(const struct cannery_layout *layout, const uint8_t *base, uint64_t count);
static PyObject *element_to_python(const struct cannery_layout *layout, const uint8_t *base);

static PyObject *number_to_python(const struct cannery_item *item, const uint8_t *at)
{
    uint64_t bits = 0;
    float narrow;
    double wide;
    memcpy(&bits, at, item->size); /* little-endian machines only, both we build for are */
    switch ((enum cannery_kind)item->kind) {
    case CANNERY_SIGNED: {
        unsigned unused = 64 - 8u * item->size;
        return PyLong_FromLongLong((int64_t)(bits << unused) >> unused);
    }
    case CANNERY_FLOAT:
        memcpy(&narrow, &bits, sizeof narrow);
        memcpy(&wide, &bits, sizeof wide);
        return PyFloat_FromDouble(item->size == sizeof narrow ? (double)narrow : wide);
    case CANNERY_POINTER: return PyBool_FromLong(bits != 0);
    default: return PyLong_FromUnsignedLongLong(bits);
    }
}

static PyObject *item_to_python(const struct cannery_layout *layout, const struct cannery_item *item, const uint8_t *base)
{
    const uint8_t *at = base + item->offset;
    if (item->kind == CANNERY_BYTES)
        return PyBytes_FromStringAndSize((const char *)at, item->size);
    if (item->kind == CANNERY_LIST) {
        uint64_t pointer = cannery_number(item, base);
        uint64_t count = cannery_number(&layout->items[item->counter], base);
        if (pointer == 0)
            Py_RETURN_NONE;
        return elements_to_python(item->element, (const uint8_t *)(uintptr_t)pointer, count > CANNERY_MOST ? 0 : count);
    }
    if (item->repeat == 0)
        return item->kind == CANNERY_STRUCT ? element_to_python(item->element, at) : number_to_python(item, at);
    PyObject *tuple = PyTuple_New(item->repeat);
    for (unsigned i = 0; tuple != NULL && i < item->repeat; i++, at += item->size) {
        PyObject *part = item->kind == CANNERY_STRUCT ? element_to_python(item->element, at) : number_to_python(item, at);
        if (part == NULL)
            Py_CLEAR(tuple);
        else
            PyTuple_SET_ITEM(tuple, i, part);
    }
    return tuple;
}

static PyObject *element_to_python(const struct cannery_layout *layout, const uint8_t *base)
{
    if (layout->flat)
        return item_to_python(layout, &layout->items[0], base);
    PyObject *tuple = PyTuple_New(layout->nitems);
    for (unsigned i = 0; tuple != NULL && i < layout->nitems; i++) {
        PyObject *part = item_to_python(layout, &layout->items[i], base);
        if (part == NULL)
            Py_CLEAR(tuple);
        else
            PyTuple_SET_ITEM(tuple, i, part);
    }
    return tuple;
}

static PyObject *elements_to_python(const struct cannery_layout *layout, const uint8_t *base, uint64_t count)
{
    PyObject *tuple = PyTuple_New((Py_ssize_t)count);
    for (uint64_t i = 0; tuple != NULL && i < count; i++, base += layout->size) {
        PyObject *part = element_to_python(layout, base);
        if (part == NULL)
            Py_CLEAR(tuple);
        else
            PyTuple_SET_ITEM(tuple, (Py_ssize_t)i, part);
    }
    return tuple;
}

/* The value of what argument `arg` points to: None for null, and a list that is too long counts as empty. */
static PyObject *block_to_python(const struct cannery_function *function, unsigned arg, const uint64_t *args)
{
    const struct cannery_block *block = cannery_block_of(function, arg);
    const uint8_t *base = (const uint8_t *)(uintptr_t)args[arg];
    if (base == NULL)
        Py_RETURN_NONE;
    if (block->shape == CANNERY_ONE)
        return element_to_python(block->layout, base);
    uint64_t count = cannery_count(block, args);
    if (block->shape == CANNERY_OCTETS)
        return PyBytes_FromStringAndSize((const char *)base, (Py_ssize_t)count);
    return elements_to_python(block->layout, base, count);
}

/* ---- outputs ---- */

static int element_from_python(const struct cannery_layout *layout, PyObject *value, uint8_t *base);

static int bytes_from_python(PyObject *value, uint8_t *at, size_t size)
{
    char *bytes;
    Py_ssize_t length;
    if (PyBytes_AsStringAndSize(value, &bytes, &length) != 0)
        return -1;
    memcpy(at, bytes, (size_t)length < size ? (size_t)length : size);
    return 0;
}

static int part_from_python(const struct cannery_item *item, PyObject *value, uint8_t *at)
{
    uint64_t bits;
    if (item->kind == CANNERY_STRUCT)
        return element_from_python(item->element, value, at);
    if (to_bits(value, item->size, &bits) < 0)
        return -1;
    memcpy(at, &bits, item->size);
    return 0;
}

static int item_from_python(const struct cannery_item *item, PyObject *value, uint8_t *at)
{
    if (item->kind == CANNERY_BYTES)
        return bytes_from_python(value, at, item->size);
    if (item->repeat == 0)
        return part_from_python(item, value, at);
    if (!PyTuple_CheckExact(value) || PyTuple_GET_SIZE(value) != item->repeat) {
        PyErr_SetString(PyExc_TypeError, "an array of an output has another length");
        return -1;
    }
    for (unsigned i = 0; i < item->repeat; i++)
        if (part_from_python(item, PyTuple_GET_ITEM(value, i), at + (size_t)i * item->size) != 0)
            return -1;
    return 0;
}

static int element_from_python(const struct cannery_layout *layout, PyObject *value, uint8_t *base)
{
    if (layout->flat)
        return item_from_python(&layout->items[0], value, base + layout->items[0].offset);
    if (!PyTuple_Check(value) || PyTuple_GET_SIZE(value) != layout->nitems) {
        PyErr_SetString(PyExc_TypeError, "an output has another number of fields");
        return -1;
    }
    for (unsigned i = 0; i < layout->nitems; i++)
        if (item_from_python(&layout->items[i], PyTuple_GET_ITEM(value, i), base + layout->items[i].offset) != 0)
            return -1;
    return 0;
}

static int fill_chunk(const struct cannery_block *block, PyObject *value, struct cannery_chunk *chunk)
{
    if (block->shape == CANNERY_ONE)
        return element_from_python(block->layout, value, chunk->data);
    if (block->shape == CANNERY_OCTETS)
        return bytes_from_python(value, chunk->data, chunk->size);
    for (size_t i = 0; i < chunk->size / block->layout->size; i++)
        if (element_from_python(block->layout, PyTuple_GET_ITEM(value, (Py_ssize_t)i), chunk->data + i * block->layout->size) != 0)
            return -1;
    return 0;
}

/* The bytes that a value puts behind its pointer, no more than the program has room for there; -1 with a Python error. */
static int block_from_python(const struct cannery_block *block, const uint64_t *args, PyObject *value, uint64_t *out)
{
    size_t count = 1, room = cannery_count(block, args), size = block->layout->size;
    if (block->shape == CANNERY_MANY && !PyTuple_Check(value)) {
        PyErr_SetString(PyExc_TypeError, "an output that is a list has to be a tuple");
        return -1;
    }
    if (block->shape != CANNERY_ONE) {
        Py_ssize_t given = PyObject_Size(value);
        if (given < 0)
            return -1;
        count = (size_t)given < room ? (size_t)given : room;
        if (block->shape == CANNERY_OCTETS && count < room)
            count++; /* a text ends with a zero byte where there is room for it; the chunk is zero */
    }
    struct cannery_chunk *chunk = services->calloc(1, sizeof *chunk + count * size);
    if (chunk == NULL) {
        PyErr_NoMemory();
        return -1;
    }
    chunk->size = count * size;
    if (fill_chunk(block, value, chunk) != 0) {
        services->free(chunk);
        return -1;
    }
    *out = (uint64_t)(uintptr_t)chunk;
    return 0;
}
