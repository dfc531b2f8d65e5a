/* The first call comes from a thread with little stack (argument 1: bytes), or, with a second argument, from a thread that
 * is alone since the first one has ended. */
#include "host.h"

static void *call(void *end)
{
    unsigned char bytes[64], back[64] = { 0 };
    void *device;
    memset(bytes, 7, sizeof bytes);
    MUST(aclrtSetDevice(0));
    MUST(aclrtMalloc(&device, sizeof bytes, ACL_MEM_MALLOC_HUGE_FIRST));
    MUST(aclrtMemcpy(device, sizeof bytes, bytes, sizeof bytes, ACL_MEMCPY_HOST_TO_DEVICE));
    MUST(aclrtMemcpy(back, sizeof back, device, sizeof back, ACL_MEMCPY_DEVICE_TO_HOST));
    WANT(back[63], 7);
    if (end != NULL)
        exit(failures != 0);
    return NULL;
}

int main(int argc, char **argv)
{
    pthread_t thread;
    pthread_attr_t attributes;
    pthread_attr_init(&attributes);
    if (argc > 2) {
        MUST(pthread_create(&thread, NULL, call, argv));
        pthread_exit(NULL);
    }
    MUST(pthread_attr_setstacksize(&attributes, (size_t)atol(argv[1])));
    MUST(pthread_create(&thread, &attributes, call, NULL));
    MUST(pthread_join(thread, NULL));
    return failures != 0;
}
