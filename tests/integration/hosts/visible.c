/* Chooses devices itself, as launchers of workers do, before it makes its first call. */
#include "host.h"

int main(int argc, char **argv)
{
    uint32_t count = 0;
    if (argc > 1)
        setenv("ASCEND_RT_VISIBLE_DEVICES", argv[1], 1);
    MUST(aclrtGetDeviceCount(&count));
    printf("%u\n", count);
    return 0;
}
