// A serving worker that is put to sleep and woken: C++ sources use either form of the calls, and the memory stays.
#include <cstdio>
#include <cstring>
#include <unistd.h>
#include "acl/acl.h"

static void show(aclError number) { std::printf("%d ", number); }

int main()
{
    unsigned char weights[4096], back[4096];
    void *memory = nullptr;
    aclrtSnapShotBackupArgs given = {};
    std::memset(weights, 0x3c, sizeof weights);
    if (aclInit(nullptr) || aclrtSetDevice(0) || aclrtMalloc(&memory, sizeof weights, ACL_MEM_MALLOC_HUGE_FIRST) ||
        aclrtMemcpy(memory, sizeof weights, weights, sizeof weights, ACL_MEMCPY_HOST_TO_DEVICE))
        return 1;
    show(aclrtSnapShotProcessUnlock());
    show(aclrtSnapShotProcessBackup());
    show(aclrtSnapShotProcessLock(getpid() + 1, nullptr));
    show(aclrtSnapShotProcessUnlock());
    show(aclrtSnapShotProcessLock());
    show(aclrtSnapShotProcessBackup(getpid(), &given));
    show(aclrtSnapShotProcessBackup(getpid(), nullptr));
    show(aclrtSnapShotProcessUnlock());
    show(aclrtSnapShotProcessLock());
    show(aclrtSnapShotProcessBackup());
    show(aclrtSnapShotProcessRestore(getpid(), nullptr));
    show(aclrtSnapShotProcessUnlock());
    if (aclrtMemcpy(back, sizeof back, memory, sizeof back, ACL_MEMCPY_DEVICE_TO_HOST))
        return 1;
    std::puts(std::memcmp(weights, back, sizeof back) ? "lost" : "kept");
    return 0;
}
