/* Holds most of a device's memory, and waits for a notify that nobody records, until its input ends. With an argument it
 * only tries to hold the memory. */
#include "host.h"

static void *wait_for_ever(void *context)
{
    MUST(aclrtSetCurrentContext(context));
    MUST(aclrtSynchronizeStream(NULL));
    return NULL;
}

int main(int argc, char **argv)
{
    size_t free, total;
    void *memory;
    aclrtContext context;
    pthread_t thread;
    char byte;
    (void)argv;
    MUST(aclInit(NULL));
    MUST(aclrtSetDevice(0));
    MUST(aclrtGetMemInfo(ACL_HBM_MEM, &free, &total));
    int number = aclrtMalloc(&memory, total / 3 * 2, ACL_MEM_MALLOC_HUGE_FIRST);
    if (number != 0 && number != 207001)
        return 1;
    if (argc == 1) {
        aclrtNotify notify;
        char key[65];
        MUST(aclrtCreateNotify(&notify, 0));
        MUST(aclrtNotifyGetExportKey(notify, key, sizeof key, ACL_RT_NOTIFY_EXPORT_FLAG_DISABLE_PID_VALIDATION));
        MUST(aclrtWaitAndResetNotify(notify, NULL, 0));
        MUST(aclrtGetCurrentContext(&context));
        MUST(pthread_create(&thread, NULL, wait_for_ever, context));
    }
    puts(number == 0 ? "holding" : "no memory");
    fflush(stdout);
    while (argc == 1 && read(0, &byte, 1) > 0)
        ;
    return 0;
}
