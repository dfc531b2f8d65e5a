/* Two processes share one thing and check that each sees what the other does: shares
 * notify|event|slots|memory|physical|turns|race.
 * The second is forked before either makes a runtime call. Exit status 0: everything was as it has to be. */
#include "host.h"

#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>

enum { SIZE = 3 << 20, MIB2 = 2 << 20 };

static int in, out; /* pipes to the other process */
static volatile int *released; /* in memory of both */

static void give(const void *bytes, size_t size) { WANT(write(out, bytes, size), (ssize_t)size); }
static void take(void *bytes, size_t size) { WANT(read(in, bytes, size), (ssize_t)size); }
static void tell(void) { give("", 1); }
static void hear(void) { char byte; take(&byte, 1); }

static char byte_at(const char *address)
{
    char byte = 0;
    WANT(aclrtMemcpy(&byte, 1, address, 1, ACL_MEMCPY_DEVICE_TO_HOST), 0);
    return byte;
}

static void set_byte(char *address, char byte)
{
    WANT(aclrtMemcpy(address, 1, &byte, 1, ACL_MEMCPY_HOST_TO_DEVICE), 0);
}

static void notify(int owner, aclrtStream stream)
{
    char key[65];
    aclrtNotify handle;
    int32_t pid;
    uint32_t id = 0;
    if (owner) {
        WANT(aclrtCreateNotify(&handle, 0), 0);
        WANT(aclrtNotifyGetExportKey(handle, key, sizeof key, ACL_RT_NOTIFY_EXPORT_FLAG_DEFAULT), 0);
        WANT(strlen(key) < sizeof key, 1);
        WANT(aclrtNotifyImportByKey(&handle, key, 0), 507899);
        give(key, sizeof key);
        take(&pid, sizeof pid);
        WANT(aclrtNotifySetImportPid(handle, &pid, 1), 0);
        tell();
        WANT(aclrtWaitAndResetNotify(handle, stream, 20), 0);
        WANT(aclrtSynchronizeStream(stream), 0);
        WANT(aclrtRecordNotify(handle, stream), 0); /* no call follows: the pacer has to run it */
        hear();
    } else {
        take(key, sizeof key);
        WANT(aclrtNotifyImportByKey(&handle, key, 0), 507899);
        WANT(aclrtDeviceGetBareTgid(&pid), 0);
        give(&pid, sizeof pid);
        hear();
        WANT(aclrtNotifyImportByKey(&handle, key, ACL_RT_NOTIFY_IMPORT_FLAG_ENABLE_PEER_ACCESS), 0);
        WANT(aclrtRecordNotify(handle, stream), 0);
        WANT(aclrtSynchronizeStream(stream), 0);
        usleep(20000); /* the owner takes it */
        WANT(aclrtWaitAndResetNotify(handle, stream, 20), 0);
        WANT(aclrtSynchronizeStream(stream), 0);
        tell();
    }
    WANT(aclrtGetNotifyId(handle, &id), 0);
    WANT(aclrtDestroyNotify(handle), 0);
}

static void event(int owner, aclrtStream stream)
{
    aclrtEvent shared, gate;
    aclrtIpcEventHandle handle;
    aclrtEventRecordedStatus status;
    if (owner) {
        WANT(aclrtCreateEventExWithFlag(&shared, ACL_EVENT_IPC), 0);
        WANT(aclrtCreateEventWithFlag(&gate, ACL_EVENT_SYNC), 0);
        WANT(aclrtIpcGetEventHandle(shared, &handle), 0);
        WANT(aclrtStreamWaitEvent(stream, gate), 0);
        WANT(aclrtRecordEvent(shared, stream), 0);
        give(&handle, sizeof handle);
        hear(); /* the other's stream waits */
        WANT(aclrtRecordEvent(gate, NULL), 0);
        WANT(aclrtSynchronizeStream(stream), 0);
        hear(); /* it went on, and has recorded the event itself */
        WANT(aclrtStreamWaitEvent(stream, shared), 0);
        WANT(aclrtSynchronizeStream(stream), 0);
        WANT(aclrtSynchronizeEvent(shared), 0);
        tell();
    } else {
        take(&handle, sizeof handle);
        WANT(aclrtIpcOpenEventHandle(handle, &shared), 0);
        WANT(aclrtQueryEventStatus(shared, &status), 0);
        WANT(status, ACL_EVENT_RECORDED_STATUS_NOT_READY);
        WANT(aclrtSynchronizeEventWithTimeout(shared, 20), 507047);
        WANT(aclrtStreamWaitEvent(stream, shared), 0);
        tell();
        WANT(aclrtSynchronizeStream(stream), 0);
        WANT(aclrtRecordEvent(shared, stream), 0);
        tell();
        hear();
        memset(&handle, 7, sizeof handle);
        WANT(aclrtIpcOpenEventHandle(handle, &gate), 507899);
    }
    WANT(aclrtDestroyEvent(shared), 0);
}

/* All 8192 slots of an event are taken: a record of the other process waits until one is free. */
static void slots(int owner, aclrtStream stream)
{
    enum { STREAMS = 32, EACH = 256 };
    aclrtEvent shared, gate;
    aclrtIpcEventHandle handle;
    if (owner) {
        WANT(aclrtCreateEventExWithFlag(&shared, ACL_EVENT_IPC), 0);
        WANT(aclrtCreateEventWithFlag(&gate, ACL_EVENT_SYNC), 0);
        WANT(aclrtIpcGetEventHandle(shared, &handle), 0);
        for (int i = 0; i < STREAMS; i++) {
            MUST(aclrtCreateStream(&stream));
            MUST(aclrtStreamWaitEvent(stream, gate));
            for (int j = 0; j < EACH; j++)
                MUST(aclrtRecordEvent(shared, stream));
        }
        give(&handle, sizeof handle);
        hear(); /* the other is about to record */
        usleep(100000);
        *released = 1;
        WANT(aclrtRecordEvent(gate, NULL), 0);
        WANT(aclrtSynchronizeDevice(), 0);
        hear();
    } else {
        take(&handle, sizeof handle);
        WANT(aclrtIpcOpenEventHandle(handle, &shared), 0);
        tell();
        WANT(aclrtRecordEvent(shared, stream), 0);
        WANT(*released, 1);
        WANT(aclrtSynchronizeStream(stream), 0);
        tell();
    }
}

static void memory(int owner, aclrtStream stream)
{
    char key[65], *address, value = 0;
    (void)stream;
    if (owner) {
        size_t free_before, free_after, total;
        WANT(aclrtGetMemInfo(ACL_HBM_MEM, &free_before, &total), 0);
        WANT(aclrtMalloc((void **)&address, SIZE, ACL_MEM_MALLOC_HUGE_FIRST), 0);
        set_byte(address + 12345, 'o');
        WANT(aclrtIpcMemGetExportKey(address, SIZE, key, sizeof key, ACL_RT_IPC_MEM_EXPORT_FLAG_DISABLE_PID_VALIDATION), 0);
        give(key, sizeof key);
        hear();
        WANT(byte_at(address + SIZE - 1), 'i');
        WANT(aclrtGetMemInfo(ACL_HBM_MEM, &free_after, &total), 0);
        WANT(free_before - free_after >= SIZE + (64 << 20), 1); /* the other has allocated 64 MiB */
        tell();
        hear();
        WANT(aclrtIpcMemClose(key), 0);
        tell();
        hear();
        WANT(aclrtFree(address), 0);
    } else {
        void *own;
        take(key, sizeof key);
        WANT(aclrtIpcMemImportByKey((void **)&address, key, 0), 0);
        WANT(byte_at(address + 12345), 'o');
        set_byte(address + SIZE - 1, 'i');
        WANT(aclrtMalloc(&own, 64 << 20, ACL_MEM_MALLOC_HUGE_FIRST), 0);
        tell();
        hear();
        WANT(aclrtMemcpy(&value, 1, address + SIZE, 1, ACL_MEMCPY_DEVICE_TO_HOST) != 0, 1);
        WANT(aclrtIpcMemClose(key), 0);
        WANT(aclrtFree(own), 0);
        tell();
        hear();
        WANT(aclrtIpcMemImportByKey((void **)&address, key, 0), 507899);
        key[0] ^= 1;
        WANT(aclrtIpcMemImportByKey((void **)&address, key, 0), 507899);
        tell();
    }
}

static void physical(int owner, aclrtStream stream)
{
    aclrtPhysicalMemProp properties = { .memAttr = ACL_HBM_MEM_HUGE, .location = { 0, ACL_MEM_LOCATION_TYPE_DEVICE } };
    aclrtDrvMemHandle handle;
    uint64_t number = 0;
    int32_t pid;
    char *address;
    (void)stream;
    WANT(aclrtReserveMemAddress((void **)&address, MIB2, 0, NULL, 0), 0);
    if (owner) {
        WANT(aclrtMallocPhysical(&handle, MIB2, &properties, 0), 0);
        WANT(aclrtMemExportToShareableHandleV2(handle, 0, ACL_MEM_SHARE_HANDLE_TYPE_DEFAULT, &number), 0);
        take(&pid, sizeof pid);
        WANT(aclrtMemSetPidToShareableHandle(number, &pid, 1), 0);
        WANT(aclrtMapMem(address, MIB2, 0, handle, 0), 0);
        set_byte(address, 'o');
        give(&number, sizeof number);
        hear();
        WANT(byte_at(address + MIB2 - 1), 'i');
    } else {
        WANT(aclrtDeviceGetBareTgid(&pid), 0);
        WANT(pid, getpid());
        give(&pid, sizeof pid);
        take(&number, sizeof number);
        WANT(aclrtMemImportFromShareableHandle(number + 1, 0, &handle), 507899);
        WANT(aclrtMemImportFromShareableHandle(number, 0, &handle), 0);
        WANT(aclrtMapMem(address, MIB2, 0, handle, 0), 0);
        WANT(byte_at(address), 'o');
        set_byte(address + MIB2 - 1, 'i');
        tell();
    }
    WANT(aclrtUnmapMem(address), 0);
    WANT(aclrtFreePhysical(handle), 0);
}

enum { ROUNDS = 300, BLOCK = 65536 };

/* Memory of the owner that both have, and a notify for each to be told by. */
static char *common(int owner, aclrtNotify told[2])
{
    char memory_key[65], keys[2][65], *address;
    if (owner) {
        WANT(aclrtMalloc((void **)&address, BLOCK, ACL_MEM_MALLOC_HUGE_FIRST), 0);
        WANT(aclrtIpcMemGetExportKey(address, BLOCK, memory_key, sizeof memory_key,
                                     ACL_RT_IPC_MEM_EXPORT_FLAG_DISABLE_PID_VALIDATION), 0);
        for (int i = 0; i < 2; i++) {
            WANT(aclrtCreateNotify(&told[i], 0), 0);
            WANT(aclrtNotifyGetExportKey(told[i], keys[i], sizeof keys[i],
                                         ACL_RT_NOTIFY_EXPORT_FLAG_DISABLE_PID_VALIDATION), 0);
        }
        give(memory_key, sizeof memory_key);
        give(keys, sizeof keys);
    } else {
        take(memory_key, sizeof memory_key);
        take(keys, sizeof keys);
        WANT(aclrtIpcMemImportByKey((void **)&address, memory_key, 0), 0);
        for (int i = 0; i < 2; i++)
            WANT(aclrtNotifyImportByKey(&told[i], keys[i], 0), 0);
    }
    return address;
}

/* They take turns: each writes all of the memory once the other, which told it so by a notify, has read it. */
static void turns(int owner, aclrtStream stream)
{
    static unsigned char mine[BLOCK], found[BLOCK];
    aclrtNotify told[2];
    char *address = common(owner, told);
    for (int round = 0; round < ROUNDS; round++) {
        if (!owner || round > 0)
            MUST(aclrtWaitAndResetNotify(told[owner], stream, 20));
        MUST(aclrtMemcpyAsync(found, BLOCK, address, BLOCK, ACL_MEMCPY_DEVICE_TO_HOST, stream));
        MUST(aclrtSynchronizeStream(stream));
        WANT(found[BLOCK - 1], owner ? (round == 0 ? 0 : (2 * round) & 0xff) : (2 * round + 1) & 0xff);
        memset(mine, owner ? 2 * round + 1 : 2 * round + 2, BLOCK);
        MUST(aclrtMemcpyAsync(address, BLOCK, mine, BLOCK, ACL_MEMCPY_HOST_TO_DEVICE, stream));
        MUST(aclrtRecordNotify(told[!owner], stream));
    }
    MUST(aclrtSynchronizeStream(stream));
    tell();
    hear();
}

/* Both write and read without anything between them. */
static void race(int owner, aclrtStream stream)
{
    static unsigned char mine[BLOCK], found[BLOCK];
    aclrtNotify told[2];
    char *address = common(owner, told);
    (void)stream;
    tell();
    hear();
    for (int round = 0; round < ROUNDS; round++) {
        memset(mine, 2 * round + owner, BLOCK);
        MUST(aclrtMemcpy(address, BLOCK, mine, BLOCK, ACL_MEMCPY_HOST_TO_DEVICE));
        MUST(aclrtMemcpy(found, BLOCK, address, BLOCK, ACL_MEMCPY_DEVICE_TO_HOST));
    }
    tell();
    hear();
}

int main(int argc, char **argv)
{
    static const struct { const char *name; void (*body)(int, aclrtStream); } kinds[] = {
        { "notify", notify }, { "event", event }, { "slots", slots },
        { "memory", memory }, { "physical", physical }, { "turns", turns }, { "race", race },
    };
    int one[2], two[2], status = 0;
    aclrtStream stream;
    if (argc != 2 || pipe(one) != 0 || pipe(two) != 0)
        return 2;
    released = mmap(NULL, sizeof *released, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
    pid_t child = fork();
    in = child == 0 ? one[0] : two[0];
    out = child == 0 ? two[1] : one[1];
    WANT(aclInit(NULL), 0);
    WANT(aclrtSetDevice(0), 0);
    WANT(aclrtCreateStream(&stream), 0);
    for (unsigned i = 0; i < sizeof kinds / sizeof kinds[0]; i++)
        if (strcmp(argv[1], kinds[i].name) == 0)
            kinds[i].body(child != 0, stream);
    WANT(aclrtResetDevice(0), 0);
    if (child != 0)
        WANT(waitpid(child, &status, 0), child);
    return failures != 0 || status != 0;
}
