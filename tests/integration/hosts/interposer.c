/* Another preloaded library, as tracers and schedulers of devices are made: counts a call and passes it on. */
#define _GNU_SOURCE
#include <dlfcn.h>
#include <stdio.h>
#include <stdlib.h>

#include "acl/acl.h"

static unsigned calls;

aclError aclrtMalloc(void **address, size_t size, aclrtMemMallocPolicy policy)
{
    aclError (*next)(void **, size_t, aclrtMemMallocPolicy) =
        (aclError (*)(void **, size_t, aclrtMemMallocPolicy))dlsym(RTLD_NEXT, "aclrtMalloc");
    if (next == NULL) {
        fputs("interposer: nobody is next\n", stderr);
        _Exit(9);
    }
    calls++;
    return next(address, size, policy);
}

__attribute__((destructor)) static void report(void)
{
    if (calls > 0)
        printf("interposer saw %u\n", calls);
}
