/* Snapshot calls: arguments, states, callbacks of the stages, which calls are held and which are not. */
#include "conf.h"

enum { STATES = 3, CALLS = 4, STAGES = 6 };

static aclrtContext context;
static aclrtStream stream;
static aclrtEvent event;
static void *memory;
static int own_pid;

static aclError lock_it(void) { return aclrtSnapShotProcessLock(own_pid, NULL); }
static aclError backup_it(void) { return aclrtSnapShotProcessBackup(own_pid, NULL); }
static aclError restore_it(void) { return aclrtSnapShotProcessRestore(own_pid, NULL); }
static aclError unlock_it(void) { return aclrtSnapShotProcessUnlock(own_pid, NULL); }

static aclError (*const calls[CALLS])(void) = { lock_it, backup_it, restore_it, unlock_it };
static const char *const call_names[CALLS] = { "Lock", "Backup", "Restore", "Unlock" };
static const char *const state_names[STATES] = { "RUNNING", "LOCKED", "BACKED_UP" };
static const char *const stage_names[STAGES] = { "LOCK_PRE", "BACKUP_PRE", "BACKUP_POST", "RESTORE_PRE", "RESTORE_POST",
                                                 "UNLOCK_POST" };

static void enter(int state)
{
    unlock_it();
    if (state > 0)
        MUST(lock_it());
    if (state > 1)
        MUST(backup_it());
}

/* What the state is, told by calls that have no effect in the wrong one. */
static const char *state(void)
{
    aclError restored = restore_it();
    if (restored == 0)
        return "BACKED_UP";
    aclError unlocked = unlock_it();
    return unlocked == 0 ? "LOCKED" : "RUNNING";
}

static void arguments(void)
{
    int other_pid = own_pid + 1;
    aclrtSnapShotBackupArgs backup_args = { 0 };
    aclrtSnapShotRestoreArgs restore_args = { 0 };
    void *reserve = &backup_args;
    section("arguments");
    OBS(aclrtSnapShotProcessLock(other_pid, NULL));
    OBS(aclrtSnapShotProcessLock(0, NULL));
    OBS(aclrtSnapShotProcessLock(-1, NULL));
    OBS(aclrtSnapShotProcessLock(own_pid, reserve));
    OBS(aclrtSnapShotProcessUnlock(other_pid, NULL));
    OBS(aclrtSnapShotProcessUnlock(own_pid, reserve));
    OBS(aclrtSnapShotProcessBackup(other_pid, NULL));
    OBS(aclrtSnapShotProcessBackup(own_pid, &backup_args));
    OBS(aclrtSnapShotProcessRestore(other_pid, NULL));
    OBS(aclrtSnapShotProcessRestore(own_pid, &restore_args));
    OBS(aclrtGetLastError(ACL_RT_THREAD_LEVEL));
}

static void states(void)
{
    for (int from = 0; from < STATES; from++)
        for (int call = 0; call < CALLS; call++) {
            section(say("%s in %s", call_names[call], state_names[from]));
            enter(from);
            aclError number = calls[call]();
            observe("call", number, "");
            observe("then", 0, state());
        }
    enter(0);
}

/* ---- callbacks ---- */

static char seen[1024];
static uint32_t answer;

static uint32_t first(int32_t device, void *name)
{
    snprintf(seen + strlen(seen), sizeof seen - strlen(seen), " first(%d,%s)", (int)device, (const char *)name);
    return 0;
}

static uint32_t second(int32_t device, void *name)
{
    snprintf(seen + strlen(seen), sizeof seen - strlen(seen), " second(%d,%s)", (int)device, (const char *)name);
    return answer;
}

static void observe_calls(const char *what)
{
    for (int call = 0; call < CALLS; call++) {
        seen[0] = 0;
        aclError number = calls[call]();
        observe(say("%s: %s", what, call_names[call]), number, seen);
    }
}

static void registration(void)
{
    section("registration");
    for (int stage = -1; stage <= STAGES; stage++) {
        OBS(aclrtSnapShotCallbackUnregister((aclrtSnapShotStage)stage, first));
        OBS(aclrtSnapShotCallbackRegister((aclrtSnapShotStage)stage, NULL, NULL));
        OBS(aclrtSnapShotCallbackRegister((aclrtSnapShotStage)stage, first, (void *)"a"));
        OBS(aclrtSnapShotCallbackRegister((aclrtSnapShotStage)stage, first, (void *)"b"));
        OBS(aclrtSnapShotCallbackRegister((aclrtSnapShotStage)stage, second, NULL));
        OBS(aclrtSnapShotCallbackUnregister((aclrtSnapShotStage)stage, first));
        OBS(aclrtSnapShotCallbackUnregister((aclrtSnapShotStage)stage, first));
        OBS(aclrtSnapShotCallbackUnregister((aclrtSnapShotStage)stage, NULL));
        OBS(aclrtSnapShotCallbackUnregister((aclrtSnapShotStage)stage, second));
    }
}

static void callbacks(void)
{
    section("callbacks");
    for (int stage = 0; stage < STAGES; stage++) {
        MUST(aclrtSnapShotCallbackRegister((aclrtSnapShotStage)stage, second, (void *)stage_names[stage]));
        MUST(aclrtSnapShotCallbackRegister((aclrtSnapShotStage)stage, first, (void *)stage_names[stage]));
    }
    observe_calls("one device");
    MUST(aclrtSetDevice(1));
    observe_calls("two devices");
    MUST(aclrtResetDevice(1));
    MUST(aclrtSetDevice(0));
    MUST(aclrtResetDevice(0));
    observe_calls("one again");
    for (int stage = 0; stage < STAGES; stage++) {
        MUST(aclrtSnapShotCallbackUnregister((aclrtSnapShotStage)stage, first));
        MUST(aclrtSnapShotCallbackUnregister((aclrtSnapShotStage)stage, second));
    }
    for (int stage = 0; stage < STAGES; stage++) {
        MUST(aclrtSnapShotCallbackRegister((aclrtSnapShotStage)stage, second, NULL));
        answer = 5;
        section(say("%s refuses", stage_names[stage]));
        enter(0);
        int before = stage == 0 ? 0 : stage < 3 ? 1 : 2;
        if (stage == 5)
            before = 1;
        answer = 0;
        enter(before);
        answer = 5;
        observe("call", calls[stage == 0 ? 0 : stage < 3 ? 1 : stage < 5 ? 2 : 3](), "");
        answer = 0;
        observe("then", 0, state());
        enter(0);
        MUST(aclrtSnapShotCallbackUnregister((aclrtSnapShotStage)stage, second));
    }
}

/* ---- calls while the process is locked ---- */

enum call { SET_DEVICE, CREATE_STREAM, RECORD, WAIT_EVENT, MALLOC, MEMSET, COPY, CREATE_CONTEXT, SUBSCRIBE, CREATE_NOTIFY,
            SYNCHRONIZE_STREAM, SYNCHRONIZE_EVENT, QUERY_STREAM, QUERY_EVENT, EVENT_ID, MEM_INFO, CAN_ACCESS, GET_DEVICE,
            NOTHING_TO_COPY, NULL_EVENT, NULL_OUTPUT, HELD_CALLS };
static const char *const held_names[HELD_CALLS] = {
    "aclrtSetDevice", "aclrtCreateStream", "aclrtRecordEvent", "aclrtStreamWaitEvent", "aclrtMalloc", "aclrtMemset",
    "aclrtMemcpy", "aclrtCreateContext", "aclrtSubscribeReport", "aclrtCreateNotify", "aclrtSynchronizeStream",
    "aclrtSynchronizeEvent", "aclrtStreamQuery", "aclrtQueryEventStatus", "aclrtGetEventId", "aclrtGetMemInfo",
    "aclrtDeviceCanAccessPeer", "aclrtGetDevice", "aclrtMemcpy of nothing", "aclrtRecordEvent of null",
    "aclrtCreateStream into null" };

typedef struct { enum call call; aclError number; volatile int over; } Held;

static aclError make(enum call call)
{
    static unsigned char host[64];
    static void *out;
    size_t free_bytes, all_bytes;
    int32_t number;
    uint32_t id;
    switch (call) {
    case SET_DEVICE: return aclrtSetDevice(0);
    case CREATE_STREAM: return aclrtCreateStream(&out);
    case RECORD: return aclrtRecordEvent(event, stream);
    case WAIT_EVENT: return aclrtStreamWaitEvent(stream, event);
    case MALLOC: return aclrtMalloc(&out, 64, ACL_MEM_MALLOC_HUGE_FIRST);
    case MEMSET: return aclrtMemset(memory, 64, 1, 64);
    case COPY: return aclrtMemcpy(memory, 64, host, 64, ACL_MEMCPY_HOST_TO_DEVICE);
    case CREATE_CONTEXT: return aclrtCreateContext(&out, 0);
    case SUBSCRIBE: return aclrtSubscribeReport(1, stream);
    case CREATE_NOTIFY: return aclrtCreateNotify(&out, 0);
    case SYNCHRONIZE_STREAM: return aclrtSynchronizeStream(stream);
    case SYNCHRONIZE_EVENT: return aclrtSynchronizeEvent(event);
    case QUERY_STREAM: return aclrtStreamQuery(stream, (aclrtStreamStatus *)&number);
    case QUERY_EVENT: return aclrtQueryEventStatus(event, (aclrtEventRecordedStatus *)&number);
    case EVENT_ID: return aclrtGetEventId(event, &id);
    case MEM_INFO: return aclrtGetMemInfo(ACL_HBM_MEM, &free_bytes, &all_bytes);
    case CAN_ACCESS: return aclrtDeviceCanAccessPeer(&number, 0, 1);
    case GET_DEVICE: return aclrtGetDevice(&number);
    case NOTHING_TO_COPY: return aclrtMemcpy(memory, 64, host, 0, ACL_MEMCPY_HOST_TO_DEVICE);
    case NULL_EVENT: return aclrtRecordEvent(NULL, stream);
    case NULL_OUTPUT: return aclrtCreateStream(NULL);
    default: return -1;
    }
}

static void *run(void *argument)
{
    Held *held = argument;
    MUST(aclrtSetCurrentContext(context));
    held->number = make(held->call);
    __atomic_store_n(&held->over, 1, __ATOMIC_SEQ_CST);
    return NULL;
}

static void held_calls(void)
{
    pthread_t threads[HELD_CALLS];
    Held held[HELD_CALLS];
    for (int backed_up = 0; backed_up < 2; backed_up++) {
        section(backed_up ? "held while BACKED_UP" : "held while LOCKED");
        enter(backed_up + 1);
        for (int i = 0; i < HELD_CALLS; i++) {
            held[i] = (Held){ (enum call)i, 0, 0 };
            pthread_create(&threads[i], NULL, run, &held[i]);
        }
        sleep_ms(150);
        for (int i = 0; i < HELD_CALLS; i++) {
            int over = __atomic_load_n(&held[i].over, __ATOMIC_SEQ_CST);
            observe(held_names[i], over ? held[i].number : 0, over ? "returns" : "waits");
        }
        MUST(unlock_it());
        for (int i = 0; i < HELD_CALLS; i++) {
            pthread_join(threads[i], NULL);
            observe(say("%s after the unlock", held_names[i]), held[i].number, "");
        }
        MUST(aclrtUnSubscribeReport(1, stream));
    }
}

int main(void)
{
    alarm(60);
    own_pid = (int)getpid();
    MUST(aclInit(NULL));
    section("no context");
    OBS(lock_it());
    OBS(backup_it());
    OBS(restore_it());
    OBS(unlock_it());
    MUST(aclrtSetDevice(0));
    MUST(aclrtGetCurrentContext(&context));
    MUST(aclrtCreateStream(&stream));
    MUST(aclrtCreateEvent(&event));
    MUST(aclrtRecordEvent(event, stream));
    MUST(aclrtMalloc(&memory, 64, ACL_MEM_MALLOC_HUGE_FIRST));
    arguments();
    states();
    registration();
    callbacks();
    held_calls();
    MUST(aclrtResetDeviceForce(0));
    MUST(aclFinalize());
    return 0;
}
