/* Allocates three times and frees. */
#include "host.h"

int main(void)
{
    void *memory[3];
    MUST(aclrtSetDevice(0));
    for (int i = 0; i < 3; i++)
        MUST(aclrtMalloc(&memory[i], 1024, ACL_MEM_MALLOC_HUGE_FIRST));
    for (int i = 0; i < 3; i++)
        MUST(aclrtFree(memory[i]));
    MUST(aclrtResetDevice(0));
    return 0;
}
