/* Finds the engine, gives it a link namespace of its own and starts it there.
 *
 * Where the engine lies is in `engine.conf`, a file of `key=value` lines beside the library as it was loaded (the folder
 * that `cannery sdk` makes). The namespace keeps the host's Python, if it has one, and ours apart: different versions,
 * different locks. Its price is a second libc whose per-thread data share the thread descriptor with the host's; the two
 * comments marked "shared descriptor" say what that needs. Found by trial with glibc 2.36. */
#define _GNU_SOURCE
#include "shim.h"

#include <dlfcn.h>
#include <errno.h>
#include <pthread.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <unistd.h>

enum { PATH_SIZE = 4096, CONF_SIZE = 65536, KEYS_IN_BLOCK = 32, FIRST_KEY = 288, KEYS_MAX = 1024 };

struct place {
    char libpython[PATH_SIZE]; /* may be empty: the host's */
    char engine[PATH_SIZE];
    char executable[PATH_SIZE];
    char prefix[PATH_SIZE];
    char site[PATH_SIZE];
    char paths[CONF_SIZE];
};

static pthread_key_t thread_key;
static int have_thread_key;
static void (*thread_destructor)(void *);

/* Whether so many bytes can be written without SIGXFSZ, which ends the program; recorder/window.py has the same. */
static int fits(int descriptor, size_t size)
{
    struct rlimit limit;
    struct stat status;
    if (getrlimit(RLIMIT_FSIZE, &limit) != 0 || limit.rlim_cur == RLIM_INFINITY || fstat(descriptor, &status) != 0
        || !S_ISREG(status.st_mode))
        return 1;
    off_t place = lseek(descriptor, 0, SEEK_CUR);
    return (rlim_t)(place > status.st_size ? place : status.st_size) + size <= limit.rlim_cur;
}

void cannery_say(const char *format, ...)
{
    char line[PATH_SIZE + 512];
    size_t used = (size_t)snprintf(line, sizeof line, "cannery: ");
    va_list args;
    va_start(args, format);
    int written = vsnprintf(line + used, sizeof line - used - 1, format, args);
    va_end(args);
    if (written > 0)
        used += (size_t)written < sizeof line - used - 1 ? (size_t)written : sizeof line - used - 2;
    line[used++] = '\n';
    if (!fits(2, used) || write(2, line, used) < 0)
        return; /* nobody to tell */
}

void cannery_set_thread_destructor(void (*destructor)(void *)) { thread_destructor = destructor; }

void cannery_prepare_thread(void *value)
{
    /* Shared descriptor: glibc allocates the values of thread keys in blocks of 32, with the malloc of whichever libc
     * sets one first, and frees them with the host's. Setting ours first makes the block the host's. */
    if (have_thread_key)
        pthread_setspecific(thread_key, value);
}

/* A key of the host's libc that begins a block no key of the host lies in: its number, or -1. */
static int take_thread_key(void)
{
    static pthread_key_t made[KEYS_MAX];
    unsigned count = 0;
    int found = -1;
    pthread_key_t key;
    while (count < KEYS_MAX && pthread_key_create(&key, thread_destructor) == 0) {
        if (key >= FIRST_KEY && key % KEYS_IN_BLOCK == 0) {
            thread_key = key;
            have_thread_key = 1;
            found = (int)key;
            break;
        }
        made[count++] = key;
    }
    while (count > 0)
        pthread_key_delete(made[--count]);
    return found;
}

/* Shared descriptor: both libcs number their thread keys from 0 but share the slots. Take all numbers up to ours there. */
static int occupy_thread_keys(void *handle, int last)
{
    int (*create)(pthread_key_t *, void (*)(void *)) =
        (int (*)(pthread_key_t *, void (*)(void *)))dlsym(handle, "pthread_key_create");
    pthread_key_t key = 0;
    if (create == NULL)
        return -1;
    do {
        if (create(&key, NULL) != 0)
            return -1;
    } while ((int)key < last);
    return (int)key == last ? 0 : -1;
}

/* ---- engine.conf ---- */

static int read_file(const char *path, char *text, size_t size)
{
    FILE *file = fopen(path, "re");
    if (file == NULL)
        return -1;
    size_t length = fread(text, 1, size - 1, file);
    fclose(file);
    text[length] = '\0';
    return 0;
}

static int read_place(struct place *place)
{
    static char text[CONF_SIZE];
    char path[PATH_SIZE];
    Dl_info info;
    if (dladdr((void *)&cannery_functions, &info) == 0 || info.dli_fname == NULL) {
        cannery_say("cannot tell where libcannery.so was loaded from; every call will fail with 500000");
        return -1;
    }
    const char *slash = strrchr(info.dli_fname, '/');
    int folder = slash == NULL ? 0 : (int)(slash - info.dli_fname + 1);
    snprintf(path, sizeof path, "%.*sengine.conf", folder, info.dli_fname);
    if (read_file(path, text, sizeof text) != 0) {
        cannery_say("no %s (%s); load the library that `cannery sdk --preload` prints; every call will fail with 500000",
                    path, strerror(errno));
        return -1;
    }
    struct { const char *key; char *value; size_t size; } fields[] = {
        { "libpython", place->libpython, sizeof place->libpython }, { "engine", place->engine, sizeof place->engine },
        { "site", place->site, sizeof place->site },
        { "executable", place->executable, sizeof place->executable }, { "prefix", place->prefix, sizeof place->prefix },
    };
    char *rest = text, *line;
    while ((line = strsep(&rest, "\n")) != NULL) {
        char *value = strchr(line, '=');
        if (value == NULL)
            continue;
        *value++ = '\0';
        if (strcmp(line, "path") == 0) {
            size_t used = strlen(place->paths);
            snprintf(place->paths + used, sizeof place->paths - used, "%s\n", value);
        }
        for (size_t i = 0; i < sizeof fields / sizeof fields[0]; i++)
            if (strcmp(line, fields[i].key) == 0)
                snprintf(fields[i].value, fields[i].size, "%s", value);
    }
    if (place->engine[0] == '\0') {
        cannery_say("%s names no engine; run `cannery sdk` again; every call will fail with 500000", path);
        return -1;
    }
    return 0;
}

/* ---- placement ---- */

static int refuse_to_load(const char *what)
{
    const char *why = dlerror();
    cannery_say("%s: %s; every call will fail with 500000 (`cannery doctor` or `cannery sdk` helps)", what,
                why != NULL ? why : "unknown reason");
    return -1;
}

static void *place_private(const struct place *place)
{
    int last = take_thread_key();
    if (last < 0) {
        cannery_say("the program uses nearly all thread keys; no room for the engine; every call will fail with 500000");
        return NULL;
    }
    /* libpython first: the first object of a namespace is its global scope, where extension modules find the C API */
    void *python = dlmopen(LM_ID_NEWLM, place->libpython, RTLD_NOW | RTLD_LOCAL);
    Lmid_t namespace;
    if (python == NULL || dlinfo(python, RTLD_DI_LMID, &namespace) != 0) {
        refuse_to_load("cannot load the engine's Python");
        return NULL;
    }
    if (occupy_thread_keys(python, last) != 0) {
        cannery_say("cannot keep the engine's thread keys apart from the program's; every call will fail with 500000");
        return NULL;
    }
    void *engine = dlmopen(namespace, place->engine, RTLD_NOW | RTLD_LOCAL);
    if (engine == NULL)
        refuse_to_load("cannot load the engine");
    return engine;
}

static void *place_inline(const struct place *place)
{
    take_thread_key();
    if (dlsym(RTLD_DEFAULT, "Py_IsInitialized") != NULL) {
        cannery_say("--engine inline: the program has a Python of its own; use --engine private or host; "
                    "every call will fail with 500000");
        return NULL;
    }
    if (dlopen(place->libpython, RTLD_NOW | RTLD_GLOBAL) == NULL) {
        refuse_to_load("cannot load the engine's Python");
        return NULL;
    }
    void *engine = dlopen(place->engine, RTLD_NOW | RTLD_LOCAL);
    if (engine == NULL)
        refuse_to_load("cannot load the engine");
    return engine;
}

static void *place_in_host(const struct place *place)
{
    int (*initialized)(void) = (int (*)(void))dlsym(RTLD_DEFAULT, "Py_IsInitialized");
    take_thread_key();
    if (initialized == NULL || !initialized()) {
        cannery_say("--engine host: the program has no running Python; use --engine private or inline; "
                    "every call will fail with 500000");
        return NULL;
    }
    void *engine = dlopen(place->engine, RTLD_NOW | RTLD_LOCAL);
    if (engine == NULL)
        refuse_to_load("cannot load the engine into the program's Python");
    return engine;
}

int cannery_load_engine(const struct cannery_services *services, struct cannery_engine *engine)
{
    static struct place place;
    const char *placement = getenv("CANNERY_ENGINE");
    void *handle;
    char error[PATH_SIZE] = "";
    if (placement == NULL || placement[0] == '\0')
        placement = "private";
    if (read_place(&place) != 0)
        return -1;
    if (strcmp(placement, "private") == 0)
        handle = place_private(&place);
    else if (strcmp(placement, "inline") == 0)
        handle = place_inline(&place);
    else if (strcmp(placement, "host") == 0)
        handle = place_in_host(&place);
    else {
        cannery_say("CANNERY_ENGINE=%s: expected private, inline or host; every call will fail with 500000", placement);
        return -1;
    }
    if (handle == NULL)
        return -1;
    cannery_engine_start_t start = (cannery_engine_start_t)dlsym(handle, CANNERY_ENGINE_START);
    if (start == NULL)
        return refuse_to_load("this is no engine");
    struct cannery_engine_options options = {
        .executable = place.executable, .prefix = place.prefix, .paths = place.paths, .site = place.site,
        .shared = strcmp(placement, "host") == 0
    };
    static char starter; /* any address will do until the thread gets a record of its own */
    if (have_thread_key && pthread_getspecific(thread_key) == NULL)
        pthread_setspecific(thread_key, &starter);
    int status = start(CANNERY_ENGINE_ABI, services, &options, engine, error, sizeof error);
    if (have_thread_key && pthread_getspecific(thread_key) == &starter)
        pthread_setspecific(thread_key, NULL);
    if (status != 0) {
        cannery_say("the engine did not start: %s; every call will fail with 500000", error);
        return -1;
    }
    return 0;
}
