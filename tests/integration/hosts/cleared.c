/* Clears its environment before its first call; there should be three devices. */
#include "host.h"

int main(void)
{
    uint32_t count = 0;
    clearenv();
    WANT(aclrtGetDeviceCount(&count), 0);
    WANT(count, 3);
    return failures != 0;
}
