/* Initialises with the configuration file given; prints the device that a thread without a choice has, and whether a
 * thread can read the message of another one's failure. */
#include "host.h"

static void *fail(void *unused)
{
    aclrtStream stream = NULL;
    (void)unused;
    WANT(aclrtDestroyStream(stream) != 0, 1);
    return NULL;
}

int main(int argc, char **argv)
{
    int32_t device = -1;
    pthread_t thread;
    MUST(aclInit(argc > 1 ? argv[1] : NULL));
    aclError error = aclrtGetDevice(&device);
    printf("device %d, %d\n", (int)error, device);
    MUST(aclrtSetDevice(0));
    (void)aclGetRecentErrMsg();
    pthread_create(&thread, NULL, fail, NULL);
    pthread_join(thread, NULL);
    printf("message %s\n", aclGetRecentErrMsg() != NULL ? "of the process" : "of the thread");
    return failures != 0;
}
