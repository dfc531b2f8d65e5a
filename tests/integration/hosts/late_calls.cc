// Calls from atexit handlers, static destructors and destructors of thread-specific values: all still work.
#include <cstdio>
#include <cstdlib>
#include <pthread.h>
#include "acl/acl.h"

static aclrtStream stream;

static void want(const char *where, aclError got, aclError wanted)
{
    if (got != wanted) {
        std::fprintf(stderr, "%s: %d, wanted %d\n", where, got, wanted);
        std::_Exit(1);
    }
    std::printf("%s\n", where);
    std::fflush(stdout);
}

struct Last {
    ~Last() { want("static destructor", aclrtDestroyStream(stream), 0); }
};
static Last last;

static void at_exit() { want("exit handler", aclrtSynchronizeStream(stream), 0); }

static void value_dies(void *) { want("thread value", aclrtGetDevice(nullptr), 100000); }

static void *thread(void *key)
{
    pthread_setspecific(*static_cast<pthread_key_t *>(key), key);
    want("thread", aclrtGetDevice(nullptr), 100000);
    return nullptr;
}

int main()
{
    pthread_key_t key;
    pthread_t worker;
    pthread_key_create(&key, value_dies);
    want("device", aclrtSetDevice(0), 0);
    want("stream", aclrtCreateStream(&stream), 0);
    std::atexit(at_exit);
    pthread_create(&worker, nullptr, thread, &key);
    pthread_join(worker, nullptr);
    return 0;
}
