/* Snapshots where another process of the session is there: snapshot_pair taken | killed STAGE | copying.
 *
 * taken: the other process opens the device between backup and restore.
 * killed, copying: a process that shares a notify, an event and memory dies in a callback of STAGE, or while it backs up and
 * restores; the other has them open, and goes on. Exit status 0: everything was as it has to be. */
#include "host.h"

enum { SIZE = 4 << 20, LARGE = 64 << 20, UNWAITED = ACL_STREAM_CPU_SCHEDULE };

static int in, out; /* pipes to the other process */
static pid_t child;

static void give(const void *bytes, size_t size) { MUST(write(out, bytes, size) != (ssize_t)size); }
static void take(void *bytes, size_t size) { MUST(read(in, bytes, size) != (ssize_t)size); }
static void tell(void) { give("", 1); }
static void hear(void) { char byte; take(&byte, 1); }

static char byte_at(const char *address)
{
    char byte = 0;
    MUST(aclrtMemcpy(&byte, 1, address, 1, ACL_MEMCPY_DEVICE_TO_HOST));
    return byte;
}

/* ---- the device is taken ---- */

static void saves(void)
{
    char *memory, byte = 'k';
    MUST(aclrtSetDevice(0));
    MUST(aclrtMalloc((void **)&memory, SIZE, ACL_MEM_MALLOC_HUGE_FIRST));
    MUST(aclrtMemcpy(memory, 1, &byte, 1, ACL_MEMCPY_HOST_TO_DEVICE));
    WANT(aclrtSnapShotProcessLock(), 0);
    WANT(aclrtSnapShotProcessBackup(), 0);
    tell();
    hear(); /* the other has opened the device */
    WANT(aclrtSnapShotProcessRestore(), ACL_ERROR_RT_DRV_INTERNAL_ERROR);
    WANT(strstr(aclGetRecentErrMsg(), "in use by another process") != NULL, 1);
    tell();
    hear(); /* it has reset it */
    WANT(aclrtSnapShotProcessRestore(), 0);
    WANT(aclrtSnapShotProcessUnlock(), 0);
    WANT(byte_at(memory), 'k');
    tell();
}

static void takes(void)
{
    hear();
    MUST(aclrtSetDevice(0));
    tell();
    hear();
    MUST(aclrtResetDevice(0));
    tell();
    hear();
}

/* ---- the process that saves is killed ---- */

struct keys {
    char notify[65], memory[65];
    aclrtIpcEventHandle event;
};

static const char *dies_in;
static const char *const names[] = { "lock pre", "backup pre", "backup post", "restore pre", "restore post", "unlock post" };

static uint32_t die(int32_t device, void *stage)
{
    (void)device;
    if (strcmp(dies_in, stage) == 0)
        kill(getpid(), SIGKILL);
    return 0;
}

/* Shares what it has, with a record of the event outstanding, and saves again and again until it is killed. */
static void dies(void)
{
    struct keys keys;
    aclrtNotify notify;
    aclrtEvent event, gate;
    aclrtStream stream;
    char *memory, *large, byte = 's';
    MUST(aclrtSetDevice(0));
    MUST(aclrtCreateStreamWithConfig(&stream, 0, UNWAITED)); /* a backup does not wait for it */
    MUST(aclrtCreateNotify(&notify, 0));
    MUST(aclrtCreateEventExWithFlag(&event, ACL_EVENT_IPC));
    MUST(aclrtCreateEventWithFlag(&gate, ACL_EVENT_SYNC));
    MUST(aclrtMalloc((void **)&memory, SIZE, ACL_MEM_MALLOC_HUGE_FIRST));
    MUST(aclrtMemcpy(memory, 1, &byte, 1, ACL_MEMCPY_HOST_TO_DEVICE));
    MUST(aclrtMalloc((void **)&large, LARGE, ACL_MEM_MALLOC_HUGE_FIRST));
    MUST(aclrtMemset(large, LARGE, 1, LARGE));
    MUST(aclrtNotifyGetExportKey(notify, keys.notify, sizeof keys.notify, ACL_RT_NOTIFY_EXPORT_FLAG_DISABLE_PID_VALIDATION));
    MUST(aclrtIpcGetEventHandle(event, &keys.event));
    MUST(aclrtIpcMemGetExportKey(memory, SIZE, keys.memory, sizeof keys.memory, ACL_RT_IPC_MEM_EXPORT_FLAG_DISABLE_PID_VALIDATION));
    MUST(aclrtStreamWaitEvent(stream, gate));
    MUST(aclrtRecordEvent(event, stream));
    give(&keys, sizeof keys);
    hear(); /* the other has them open, and waits */
    for (intptr_t i = 0; dies_in != NULL && i < 6; i++)
        MUST(aclrtSnapShotCallbackRegister((aclrtSnapShotStage)i, die, (void *)names[i]));
    tell();
    for (;;) {
        MUST(aclrtSnapShotProcessLock());
        MUST(aclrtSnapShotProcessBackup());
        MUST(aclrtSnapShotProcessRestore());
        MUST(aclrtSnapShotProcessUnlock());
    }
}

static void survives(void)
{
    struct keys keys;
    aclrtNotify notify;
    aclrtEvent event;
    aclrtStream records, waits;
    aclrtEventRecordedStatus status;
    char *memory, byte = 'w';
    size_t free, total;
    int ended = 0;
    MUST(aclrtSetDevice(1));
    MUST(aclrtCreateStream(&records));
    MUST(aclrtCreateStream(&waits));
    take(&keys, sizeof keys);
    MUST(aclrtNotifyImportByKey(&notify, keys.notify, 0));
    MUST(aclrtIpcOpenEventHandle(keys.event, &event));
    MUST(aclrtIpcMemImportByKey((void **)&memory, keys.memory, 0));
    MUST(aclrtStreamWaitEvent(waits, event));
    WANT(aclrtQueryEventStatus(event, &status), 0);
    WANT(status, ACL_EVENT_RECORDED_STATUS_NOT_READY);
    tell();
    hear();
    if (dies_in == NULL) {
        usleep(60000);
        MUST(kill(child, SIGKILL));
    }
    MUST(waitpid(child, &ended, 0) != child);
    WANT(WIFSIGNALED(ended) && WTERMSIG(ended) == SIGKILL, 1);
    MUST(aclrtSetDevice(0));
    MUST(aclrtGetMemInfo(ACL_HBM_MEM, &free, &total)); /* looks who lives, and takes back what the dead held */
    WANT(free == total, 1);
    MUST(aclrtSetDevice(1));
    WANT(aclrtSynchronizeStream(waits), 0);              /* outstanding records of the dead count as done */
    WANT(byte_at(memory), 's');                          /* memory stays as long as somebody has it */
    MUST(aclrtMemcpy(memory, 1, &byte, 1, ACL_MEMCPY_HOST_TO_DEVICE));
    WANT(byte_at(memory), 'w');
    WANT(aclrtRecordNotify(notify, records), 0);
    WANT(aclrtWaitAndResetNotify(notify, records, 0), 107000); /* the device that made it is another */
    WANT(aclrtRecordEvent(event, records), 0);
    WANT(aclrtSynchronizeStream(records), 0);
    WANT(aclrtDestroyNotify(notify), 0);
    WANT(aclrtDestroyEvent(event), 0);
    WANT(aclrtIpcMemClose(keys.memory), 0);
    WANT(aclrtIpcMemImportByKey((void **)&memory, keys.memory, 0), ACL_ERROR_RT_DRV_INTERNAL_ERROR);
    WANT(aclrtSnapShotProcessLock(), 0); /* and has snapshots of both devices itself */
    WANT(aclrtSnapShotProcessBackup(), 0);
    WANT(aclrtSnapShotProcessRestore(), 0);
    WANT(aclrtSnapShotProcessUnlock(), 0);
}

int main(int count, char **arguments)
{
    int one[2], two[2], status = 0, killed = count > 1 && strcmp(arguments[1], "taken") != 0;
    if (count < 2 || pipe(one) != 0 || pipe(two) != 0)
        return 2;
    dies_in = count > 2 ? arguments[2] : NULL;
    alarm(100);
    child = fork();
    in = child == 0 ? one[0] : two[0];
    out = child == 0 ? two[1] : one[1];
    MUST(aclInit(NULL));
    if (killed && child == 0)
        dies();
    if (killed)
        survives();
    else if (child == 0)
        takes();
    else
        saves();
    if (child != 0 && !killed)
        MUST(waitpid(child, &status, 0) != child);
    return failures != 0 || status != 0;
}
