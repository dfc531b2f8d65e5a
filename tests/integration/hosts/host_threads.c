/* What only IPV350 has: streams made from a configuration, and a thread for what loaded models have done on the host. */
#include "host.h"

static volatile int stop;

static void *process(void *unused)
{
    (void)unused;
    while (!__atomic_load_n(&stop, __ATOMIC_ACQUIRE))
        WANT(aclrtProcessHostFunc(10), 507012);
    return NULL;
}

int main(void)
{
    uint32_t priority = 3;
    size_t flag = 0;
    aclrtStream stream;
    pthread_t thread;
    MUST(aclrtSetDevice(0));
    aclrtStreamConfigHandle *configuration = aclrtCreateStreamConfigHandle();
    WANT(configuration == NULL, 0);
    WANT(aclrtSetStreamConfigOpt(configuration, ACL_RT_STREAM_PRIORITY, &priority, sizeof priority), 0);
    WANT(aclrtSetStreamConfigOpt(configuration, ACL_RT_STREAM_FLAG, &flag, sizeof flag), 0);
    WANT(aclrtSetStreamConfigOpt(configuration, ACL_RT_STREAM_FLAG, &priority, sizeof priority), 100000);
    WANT(aclrtSetStreamConfigOpt(configuration, ACL_RT_STREAM_PRIORITY, NULL, sizeof priority), 100000);
    MUST(aclrtCreateStreamV2(&stream, configuration));
    MUST(aclrtDestroyStreamConfigHandle(configuration));
    MUST(pthread_create(&thread, NULL, process, NULL));
    MUST(aclrtSubscribeHostFunc((uint64_t)thread, stream));
    WANT(aclrtSubscribeHostFunc((uint64_t)pthread_self(), stream), 107011);
    WANT(aclrtUnSubscribeHostFunc((uint64_t)pthread_self(), stream), 107011);
    MUST(aclrtUnSubscribeHostFunc((uint64_t)thread, stream));
    __atomic_store_n(&stop, 1, __ATOMIC_RELEASE);
    MUST(pthread_join(thread, NULL));
    WANT(aclrtProcessHostFunc(10), 507012);
    MUST(aclrtDestroyStream(stream));
    MUST(aclrtResetDevice(0));
    return failures != 0;
}
