/* Calls now and then, with work that is queued and that nobody forces. */
#include "host.h"

int main(void)
{
    aclrtStream stream;
    aclrtEvent event;
    int32_t device;
    MUST(aclrtSetDevice(0));
    MUST(aclrtCreateStream(&stream));
    MUST(aclrtCreateEvent(&event));
    MUST(aclrtRecordEvent(event, stream));
    for (int i = 0; i < 40; i++) {
        usleep(5000);
        MUST(aclrtGetDevice(&device));
    }
    return failures != 0;
}
