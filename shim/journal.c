/* The hot path of recording: completed calls, written straight into the journal window.
 *
 * recorder/encoders.py is the reference: this writes the same bytes (docs/trace-format.md, sections 4 to 6) for the calls
 * that need nothing but numbers, handles and device addresses, and leaves everything else to it, including a full
 * window. Both share the state below; tests compare what they write. */
#include "engine.h"

#include <stdatomic.h>
#include <string.h>

enum {
    FORM_NUMBER = 'n',  /* integer parameter or output */
    FORM_HANDLE = 'h',
    FORM_ADDRESS = 'a', /* null or device memory; a host address is for the reference encoder */
    FORM_FLAG = 'f',    /* "is it null" */
    FORM_RAW = 'r',
    FORM_BYTES = 'b',   /* of an argument: a C string, or a buffer */
    FORM_NULL = 'z',    /* of an argument: a list or a struct, where it is null; else for the reference encoder */
    MAX_BYTES = 512,    /* in one call; longer ones are for the reference encoder */
    MAX_CALL = 256 + MAX_BYTES /* more than 22 values of 9 bytes, and the bytes */
};

static const uint64_t HANDLE_BASE = 0x1F0000000000u, HANDLE_STEP = 16, HANDLE_LIMIT = 1ull << 36;

struct journal_forms {
    char ins[CANNERY_MAX_ARGS + 1];
    char outs[CANNERY_MAX_OUTS + 1];
    char known; /* every form is one of the above */
};

static struct cannery_journal journal;
static struct journal_forms *journal_forms; /* by function; NULL: nothing is recorded here */
static unsigned journal_functions;

struct cannery_journal *cannery_journal_state(void) { return &journal; }

void cannery_journal_begin(unsigned functions)
{
    free(journal_forms);
    memset(&journal, 0, sizeof journal);
    journal_forms = functions == 0 ? NULL : calloc(functions, sizeof *journal_forms);
    journal_functions = journal_forms == NULL ? 0 : functions;
}

void cannery_journal_function(unsigned index, const char *ins, const char *outs)
{
    if (index >= journal_functions || strlen(ins) > CANNERY_MAX_ARGS || strlen(outs) > CANNERY_MAX_OUTS)
        return;
    strcpy(journal_forms[index].ins, ins);
    strcpy(journal_forms[index].outs, outs);
    journal_forms[index].known = 1;
}

/* ---- msgpack, shortest forms ---- */

static uint8_t *put_big_endian(uint8_t *at, uint8_t marker, uint64_t value, unsigned size)
{
    *at++ = marker;
    while (size-- > 0)
        *at++ = (uint8_t)(value >> (8 * size));
    return at;
}

static uint8_t *put_unsigned(uint8_t *at, uint64_t value)
{
    if (value < 0x80) {
        *at = (uint8_t)value;
        return at + 1;
    }
    if (value <= UINT8_MAX)
        return put_big_endian(at, 0xcc, value, 1);
    if (value <= UINT16_MAX)
        return put_big_endian(at, 0xcd, value, 2);
    if (value <= UINT32_MAX)
        return put_big_endian(at, 0xce, value, 4);
    return put_big_endian(at, 0xcf, value, 8);
}

static uint8_t *put_signed(uint8_t *at, int64_t value)
{
    if (value >= 0)
        return put_unsigned(at, (uint64_t)value);
    if (value >= -32) {
        *at = (uint8_t)value;
        return at + 1;
    }
    if (value >= INT8_MIN)
        return put_big_endian(at, 0xd0, (uint64_t)value, 1);
    if (value >= INT16_MIN)
        return put_big_endian(at, 0xd1, (uint64_t)value, 2);
    if (value >= INT32_MIN)
        return put_big_endian(at, 0xd2, (uint64_t)value, 4);
    return put_big_endian(at, 0xd3, (uint64_t)value, 8);
}

static uint8_t *put_handle(uint8_t *at, uint64_t handle)
{
    uint64_t ordinal = (handle - HANDLE_BASE) / HANDLE_STEP;
    if (handle == 0)
        return put_unsigned(at, 0);
    if (handle > HANDLE_BASE && handle % HANDLE_STEP == 0 && ordinal < HANDLE_LIMIT)
        return put_unsigned(at, ordinal);
    *at++ = 0xc4; /* never was a handle of ours: its 8 bytes */
    *at++ = 8;
    memcpy(at, &handle, 8);
    return at + 8;
}

/* NULL: the value is for the reference encoder. */
static uint8_t *put_value(uint8_t *at, char form, uint64_t value, int is_signed)
{
    switch (form) {
    case FORM_NUMBER: return is_signed ? put_signed(at, (int64_t)value) : put_unsigned(at, value);
    case FORM_HANDLE: return put_handle(at, value);
    case FORM_FLAG: *at = value != 0 ? 0xc3 : 0xc2; return at + 1;
    case FORM_RAW:
        if (value != 0)
            return put_unsigned(at, value);
        *at = 0xc0;
        return at + 1;
    case FORM_NULL:
        if (value != 0)
            return NULL;
        *at = 0xc0;
        return at + 1;
    case FORM_ADDRESS:
        if (value == 0) {
            *at = 0xc0;
            return at + 1;
        }
        return value - journal.device_base < journal.device_span ? put_unsigned(at, value - journal.device_base) : NULL;
    default: return NULL;
    }
}

/* The bytes of an argument. `string` counts the C strings before it. NULL: too many for `end`. */
static uint8_t *put_bytes(uint8_t *at, const uint8_t *end, const struct cannery_function *function, unsigned arg,
                          const struct cannery_request *request, unsigned *string)
{
    const uint8_t *base = (const uint8_t *)(uintptr_t)request->args[arg];
    uint64_t length;
    if (function->strings >> arg & 1) {
        length = *string < 2 ? request->lengths[*string] : 0;
        (*string)++;
    } else {
        length = cannery_count(cannery_block_of(function, arg), request->args);
    }
    if (base == NULL) {
        *at = 0xc0;
        return at + 1;
    }
    if (at >= end || length > (uint64_t)(end - at))
        return NULL;
    at = length <= UINT8_MAX ? put_big_endian(at, 0xc4, length, 1) : put_big_endian(at, 0xc5, length, 2);
    memcpy(at, base, length);
    return at + length;
}

/* 1: the call is in the journal. 0: the reference encoder has to write it. `negative`: bit i: output i is below 0. */
static int journal_call(const struct cannery_request *request, const struct cannery_function *function, uint32_t thread,
                        int64_t now, unsigned negative)
{
    const struct journal_forms *forms = &journal_forms[request->function];
    uint8_t record[MAX_CALL], *at = record;
    unsigned count = 4 + function->nargs + function->nouts, string = 0;
    if (!forms->known)
        return 0;
    if (count < 16) {
        *at++ = (uint8_t)(0x90 | count);
    } else {
        *at++ = 0xdc;
        *at++ = (uint8_t)(count >> 8);
        *at++ = (uint8_t)count;
    }
    at = put_unsigned(at, request->function);
    at = put_unsigned(at, thread);
    at = put_signed(at, now - journal.time);
    at = put_signed(at, (int32_t)request->answer.result);
    for (unsigned i = 0; i < function->nargs; i++) {
        at = forms->ins[i] == FORM_BYTES ? put_bytes(at, record + MAX_BYTES, function, i, request, &string)
                                         : put_value(at, forms->ins[i], request->args[i], function->signed32 >> i & 1);
        if (at == NULL)
            return 0;
    }
    for (unsigned i = 0; i < function->nouts; i++) {
        if (!(request->answer.written & (1u << i)))
            *at++ = 0xc0;
        else if ((forms->outs[i] == FORM_ADDRESS && request->answer.outs[i] == 0) || /* nil would mean "not written" */
                 (at = put_value(at, forms->outs[i], request->answer.outs[i], negative >> i & 1)) == NULL)
            return 0;
    }
    size_t size = (size_t)(at - record);
    if (journal.position + (int64_t)size > journal.room)
        return 0;
    uint8_t *target = (uint8_t *)journal.window + journal.position;
    memcpy(target + 1, record + 1, size - 1);
    __atomic_store_n(target, record[0], __ATOMIC_RELEASE); /* commits it: a reader stops where this byte is zero */
    journal.position += (int64_t)size;
    journal.time = now;
    journal.calls++;
    return 1;
}
