/* Captures and model instances. Argument 1 names a case; the last line says what ran. */
#include "host.h"

enum { SIZE = 4096, STREAMS = 3, HEAD = 0 /* ACL_MODEL_STREAM_FLAG_HEAD: the documents have it, the headers do not */ };

static aclrtContext context;
static aclrtStream s[STREAMS];
static char *device[2], *pinned;
static int ran;

static int all(const char *bytes, char value)
{
    for (int i = 0; i < SIZE; i++)
        if (bytes[i] != value)
            return 0;
    return 1;
}

static void *copy(void *to, const void *from, aclrtMemcpyKind kind, aclrtStream stream)
{
    WANT(aclrtMemcpyAsync(to, SIZE, from, SIZE, kind, stream), 0);
    return to;
}

static aclrtEvent ex_event(void)
{
    aclrtEvent event;
    MUST(aclrtCreateEventExWithFlag(&event, ACL_EVENT_SYNC));
    return event;
}

static void cross(aclrtStream behind, aclrtStream waiting)
{
    aclrtEvent event = ex_event();
    WANT(aclrtRecordEvent(event, behind), 0);
    WANT(aclrtStreamWaitEvent(waiting, event), 0);
    WANT(aclrtDestroyEvent(event), 0);
}

static aclmdlRI end(aclrtStream stream)
{
    aclmdlRI model = NULL;
    WANT(aclmdlRICaptureEnd(stream, &model), 0);
    return model;
}

static void gone(void *amount) { ran += (int)(intptr_t)amount; }

/* Host to device to device to host over three streams, several times, with what is in host memory then. */
static int fork_and_join(void)
{
    aclmdlRICaptureStatus status;
    aclmdlRI model = NULL, same = NULL;
    aclrtStream streams[8] = { NULL };
    char name[32] = "before";
    uint32_t count = 8, id = 77;
    memset(pinned, 1, 2 * SIZE);
    WANT(aclmdlRICaptureBegin(s[0], ACL_MODEL_RI_CAPTURE_MODE_GLOBAL), 0);
    copy(device[0], pinned, ACL_MEMCPY_HOST_TO_DEVICE, s[0]);
    cross(s[0], s[1]);
    copy(device[1], device[0], ACL_MEMCPY_DEVICE_TO_DEVICE, s[1]);
    cross(s[1], s[2]);
    copy(pinned + SIZE, device[1], ACL_MEMCPY_DEVICE_TO_HOST, s[2]);
    cross(s[2], s[1]);
    cross(s[1], s[0]);
    WANT(aclmdlRICaptureGetInfo(s[2], &status, &model), 0);
    WANT(status, ACL_MODEL_RI_CAPTURE_STATUS_ACTIVE);
    WANT(aclmdlRICaptureGetInfo(s[1], NULL, &same), 0);
    WANT(same == model, 1);
    WANT(aclrtSynchronizeStream(s[1]), ACL_ERROR_RT_STREAM_CAPTURED);
    WANT(aclrtMemset(device[0], SIZE, 5, SIZE), ACL_ERROR_RT_CAPTURE_MODE_NOT_SUPPORT);
    WANT(end(s[0]) == model, 1);
    WANT(aclmdlRIGetStreams(model, NULL, &count), 0);
    WANT(count, 3);
    count = 8;
    WANT(aclmdlRIGetStreams(model, streams, &count), 0);
    WANT(count == 3 && streams[0] != NULL && streams[2] != NULL && streams[3] == NULL, 1);
    count = 2;
    WANT(aclmdlRIGetStreams(model, streams, &count), ACL_ERROR_RT_INSUFFICIENT_INPUT_ARRAY);
    WANT(aclmdlRISetName(model, "a graph"), 0);
    WANT(aclmdlRIGetName(model, sizeof name, name), 0);
    WANT(strcmp(name, "a graph"), 0);
    WANT(aclmdlRIGetId(model, &id), 0);
    WANT(id != 77, 1);
    for (int round = 2; round < 6; round++) {
        memset(pinned, round, SIZE);
        WANT(aclmdlRIExecuteAsync(model, round % 2 ? s[2] : NULL), 0);
        WANT(aclrtSynchronizeStream(round % 2 ? s[2] : NULL), 0);
        WANT(all(pinned + SIZE, (char)round), 1);
    }
    WANT(aclmdlRIDestroyRegisterCallback(model, gone, (void *)1), 0);
    WANT(aclmdlRIDestroyUnregisterCallback(model, gone), 0);
    WANT(aclmdlRIDestroyRegisterCallback(model, gone, (void *)5), 0);
    WANT(aclmdlRIDestroy(model), 0);
    WANT(aclmdlRIDestroy(model), ACL_ERROR_RT_INVALID_HANDLE);
    return ran;
}

/* One instance records for another, and for a stream. */
static int borders(void)
{
    aclrtEvent first = ex_event(), second = ex_event();
    aclmdlRI one, two;
    WANT(aclmdlRICaptureBegin(s[0], ACL_MODEL_RI_CAPTURE_MODE_RELAXED), 0);
    copy(device[0], pinned, ACL_MEMCPY_HOST_TO_DEVICE, s[0]);
    WANT(aclrtRecordEventWithFlag(first, s[0], ACL_EVENT_RECORD_EXTERNAL), 0);
    one = end(s[0]);
    WANT(aclmdlRICaptureBegin(s[1], ACL_MODEL_RI_CAPTURE_MODE_RELAXED), 0);
    WANT(aclrtStreamWaitEventWithFlag(s[1], first, 0, ACL_EVENT_WAIT_EXTERNAL), 0);
    copy(device[1], device[0], ACL_MEMCPY_DEVICE_TO_DEVICE, s[1]);
    WANT(aclrtRecordEventWithFlag(second, s[1], ACL_EVENT_RECORD_EXTERNAL), 0);
    two = end(s[1]);
    for (int round = 0; round < 3; round++) {
        memset(pinned, 'a' + round, SIZE);
        WANT(aclmdlRIExecuteAsync(one, s[0]), 0);
        WANT(aclmdlRIExecuteAsync(two, s[1]), 0);
        WANT(aclrtStreamWaitEvent(s[2], second), 0);
        copy(pinned + SIZE, device[1], ACL_MEMCPY_DEVICE_TO_HOST, s[2]);
        WANT(aclrtSynchronizeStream(s[2]), 0);
        WANT(all(pinned + SIZE, (char)('a' + round)), 1);
    }
    WANT(aclmdlRIDestroy(one), 0);
    WANT(aclmdlRIDestroy(two), 0);
    return 3;
}

static aclmdlRI built;
static aclrtEvent release;

static void *abort_later(void *unused)
{
    (void)unused;
    WANT(aclrtSetCurrentContext(context), 0);
    usleep(20000); /* to come while the other thread waits; any time is right */
    WANT(aclmdlRIAbort(built), 0);
    return NULL;
}

/* Two streams made for it, an event between them; run, limited, stopped by another thread. */
static int by_hand(void)
{
    pthread_t thread;
    aclrtStream hand[2];
    aclrtEvent event;
    aclError got;
    MUST(aclrtCreateEventWithFlag(&event, ACL_EVENT_SYNC));
    MUST(aclrtCreateEventWithFlag(&release, ACL_EVENT_SYNC));
    WANT(aclmdlRIBuildBegin(&built, 0), 0);
    for (int i = 0; i < 2; i++) {
        MUST(aclrtCreateStreamWithConfig(&hand[i], 0, ACL_STREAM_PERSISTENT));
        WANT(aclmdlRIBindStream(built, hand[i], HEAD), 0);
    }
    copy(device[0], pinned, ACL_MEMCPY_HOST_TO_DEVICE, hand[0]);
    WANT(aclrtRecordEvent(event, hand[0]), 0);
    WANT(aclrtStreamWaitEvent(hand[1], event), 0);
    copy(pinned + SIZE, device[0], ACL_MEMCPY_DEVICE_TO_HOST, hand[1]);
    WANT(aclrtResetEvent(event, hand[1]), 0);
    WANT(aclmdlRIEndTask(built, hand[1]), 0);
    WANT(aclmdlRIBuildEnd(built, NULL), 0);
    for (int round = 0; round < 3; round++) {
        memset(pinned, 'h' + round, SIZE);
        WANT(aclmdlRIExecute(built, round ? 5000 : -1), 0);
        WANT(all(pinned + SIZE, (char)('h' + round)), 1);
    }
    WANT(aclrtStreamWaitEvent(NULL, release), 0);
    WANT(aclmdlRIExecute(built, 5), ACL_ERROR_RT_STREAM_SYNC_TIMEOUT);
    MUST(pthread_create(&thread, NULL, abort_later, NULL));
    WANT(aclrtRecordEvent(release, s[0]), 0);
    got = aclmdlRIExecute(built, -1); /* stopped, or over before */
    WANT(got == 0 || got == ACL_ERROR_RT_MODEL_ABORT_NORMAL, 1);
    MUST(pthread_join(thread, NULL));
    WANT(aclmdlRIUnbindStream(built, hand[1]), 0);
    WANT(aclmdlRIDestroy(built), 0);
    return 3;
}

static void *other_thread(void *stream)
{
    aclmdlRI model = &ran;
    aclmdlRICaptureMode mode = ACL_MODEL_RI_CAPTURE_MODE_RELAXED;
    WANT(aclmdlRICaptureThreadExchangeMode(&mode), ACL_ERROR_RT_CONTEXT_NULL);
    WANT(mode, ACL_MODEL_RI_CAPTURE_MODE_RELAXED);
    WANT(aclrtSetCurrentContext(context), 0);
    WANT(aclrtMemcpy(device[0], SIZE, pinned, SIZE, ACL_MEMCPY_HOST_TO_DEVICE), ACL_ERROR_RT_CAPTURE_MODE_NOT_SUPPORT);
    WANT(aclmdlRICaptureThreadExchangeMode(&mode), 0);
    WANT(mode, ACL_MODEL_RI_CAPTURE_MODE_GLOBAL);
    WANT(aclrtMemcpy(device[0], SIZE, pinned, SIZE, ACL_MEMCPY_HOST_TO_DEVICE), 0);
    WANT(aclmdlRICaptureEnd(stream, &model), ACL_ERROR_RT_STREAM_CAPTURE_WRONG_THREAD);
    WANT(model == NULL, 1);
    return NULL;
}

/* What is refused, and what breaks: every capture here ends with a failure but the last. */
static int refusals(void)
{
    pthread_t thread;
    aclmdlRI model = NULL;
    aclrtTaskGrp group = NULL;
    aclrtEvent event = ex_event();
    WANT(aclmdlRICaptureBegin(s[0], ACL_MODEL_RI_CAPTURE_MODE_GLOBAL), 0);
    MUST(pthread_create(&thread, NULL, other_thread, s[0]));
    MUST(pthread_join(thread, NULL));
    WANT(aclmdlRICaptureBegin(s[0], ACL_MODEL_RI_CAPTURE_MODE_RELAXED), 0);
    WANT(aclmdlRICaptureBegin(s[1], ACL_MODEL_RI_CAPTURE_MODE_RELAXED), 0);
    WANT(aclrtRecordEvent(event, s[0]), 0);
    WANT(aclrtStreamWaitEvent(s[1], event), ACL_ERROR_STREAM_CAPTURE_CONFLICT);
    WANT(aclmdlRICaptureEnd(s[0], &model), ACL_ERROR_RT_STREAM_CAPTURE_INVALIDATED);
    WANT(aclmdlRICaptureEnd(s[1], &model), ACL_ERROR_RT_STREAM_CAPTURE_INVALIDATED);
    WANT(aclmdlRICaptureBegin(s[0], ACL_MODEL_RI_CAPTURE_MODE_RELAXED), 0);
    cross(s[0], s[1]);
    WANT(aclmdlRICaptureEnd(s[1], &model), ACL_ERROR_RT_STREAM_CAPTURE_UNMATCHED);
    WANT(aclmdlRICaptureEnd(s[0], &model), ACL_ERROR_RT_STREAM_UNJOINED);
    WANT(aclmdlRICaptureEnd(s[0], &model), ACL_ERROR_RT_STREAM_NOT_CAPTURED);
    WANT(aclmdlRICaptureBegin(s[0], ACL_MODEL_RI_CAPTURE_MODE_RELAXED), 0);
    WANT(aclmdlRICaptureTaskGrpBegin(s[0]), 0);
    WANT(aclrtRecordEvent(NULL, s[0]), ACL_ERROR_INVALID_PARAM);
    WANT(aclrtMemcpyAsync(device[0], SIZE, pinned, SIZE, ACL_MEMCPY_DEFAULT, s[0]), ACL_ERROR_RT_TASK_TYPE_NOT_SUPPORT);
    WANT(aclmdlRICaptureTaskGrpEnd(s[0], &group), 0);
    WANT(aclmdlRICaptureTaskUpdateBegin(s[1], group), 0);
    WANT(aclmdlRICaptureTaskUpdateEnd(s[1]), 0);
    WANT(aclmdlRIDestroy(end(s[0])), 0);
    return 5;
}

/* A stream made for it goes on at one of two labels; another one is activated and has the end. */
static int labels(void)
{
    enum { COUNT = 2 };
    aclrtStream hand[COUNT];
    aclrtLabel label[COUNT];
    aclrtLabelList list;
    WANT(aclmdlRIBuildBegin(&built, 0), 0);
    for (int i = 0; i < COUNT; i++) {
        MUST(aclrtCreateStreamWithConfig(&hand[i], 0, ACL_STREAM_PERSISTENT));
        WANT(aclmdlRIBindStream(built, hand[i], i ? 0x7fffffff : HEAD), 0);
        WANT(aclrtCreateLabel(&label[i]), 0);
    }
    WANT(aclrtCreateLabelList(label, COUNT, &list), 0);
    WANT(aclrtSwitchLabelByIndex(device[0], COUNT, list, hand[0]), 0);
    WANT(aclrtSetLabel(label[0], hand[0]), 0);
    WANT(aclrtValueWrite(device[0] + 64, 9, 0, hand[0]), 0);
    WANT(aclrtSetLabel(label[1], hand[0]), 0);
    WANT(aclrtSwitchStream(device[0], ACL_RT_LESS, device[1], ACL_RT_SWITCH_INT32, hand[1], NULL, hand[0]), 0);
    WANT(aclrtActiveStream(hand[1], hand[0]), 0);
    copy(device[1], device[0], ACL_MEMCPY_DEVICE_TO_DEVICE, hand[1]);
    WANT(aclmdlRIEndTask(built, hand[1]), 0);
    WANT(aclmdlRIBuildEnd(built, NULL), 0);
    for (int index = 0; index < COUNT; index++) {
        WANT(aclrtMemset(device[0], SIZE, 0, SIZE), 0);
        WANT(aclrtMemset(device[0], SIZE, index, 1), 0);
        WANT(aclrtMemset(device[1], SIZE, 1, SIZE), 0);
        WANT(aclmdlRIExecuteAsync(built, s[0]), 0);
        WANT(aclrtSynchronizeStream(s[0]), 0);
        WANT(aclrtMemcpy(pinned, SIZE, device[1], SIZE, ACL_MEMCPY_DEVICE_TO_HOST), 0);
        WANT(pinned[0], index);
        WANT(pinned[64], index ? 0 : 9);
    }
    WANT(aclrtPersistentTaskClean(hand[1]), 0);
    WANT(aclmdlRIExecuteAsync(built, s[0]), ACL_ERROR_RT_MODEL_EXECUTE);
    WANT(aclrtDestroyLabelList(list), 0);
    WANT(aclrtDestroyLabel(label[0]), 0);
    WANT(aclrtDestroyLabel(label[0]), ACL_ERROR_RT_INVALID_HANDLE);
    WANT(aclmdlRIDestroy(built), 0);
    return COUNT;
}

/* What tasks a captured instance has, one of which is changed. */
static int tasks(void)
{
    aclmdlRI model;
    aclmdlRITask task[3];
    aclmdlRITaskType type;
    aclmdlRITaskParams params;
    aclrtStream inner;
    uint32_t streams = 1, count = 0;
    uint64_t value = 0;
    WANT(aclmdlRICaptureBegin(s[0], ACL_MODEL_RI_CAPTURE_MODE_RELAXED), 0);
    WANT(aclrtValueWrite(device[0], 5, 0, s[0]), 0);
    WANT(aclrtValueWrite(device[1], 6, 0, s[0]), 0);
    model = end(s[0]);
    WANT(aclmdlRIGetStreams(model, &inner, &streams), 0);
    WANT(aclmdlRIGetTasksByStream(inner, NULL, &count), 0);
    WANT(count, 3); /* the end of the instance too */
    WANT(aclmdlRIGetTasksByStream(inner, task, &count), 0);
    WANT(aclmdlRITaskGetType(task[1], &type), 0);
    WANT(type, ACL_MODEL_RI_TASK_VALUE_WRITE);
    WANT(aclmdlRITaskGetParams(task[1], &params), 0);
    WANT(params.type == type && params.valueWriteTaskParams.value == 6, 1);
    WANT(params.valueWriteTaskParams.devAddr == device[1], 1);
    params.valueWriteTaskParams.value = 7;
    WANT(aclmdlRITaskSetParams(task[1], &params), 0);
    WANT(aclmdlRITaskDisable(task[0]), 0);
    WANT(aclmdlRIUpdate(model), 0);
    WANT(aclrtMemset(device[0], SIZE, 0, SIZE), 0);
    WANT(aclmdlRIExecuteAsync(model, s[0]), 0);
    WANT(aclrtSynchronizeStream(s[0]), 0);
    WANT(aclrtMemcpy(&value, 8, device[0], 8, ACL_MEMCPY_DEVICE_TO_HOST), 0);
    WANT(value, 0);
    WANT(aclrtMemcpy(&value, 8, device[1], 8, ACL_MEMCPY_DEVICE_TO_HOST), 0);
    WANT(value, 7);
    WANT(aclmdlRIDestroy(model), 0);
    WANT(aclmdlRITaskGetType(task[1], &type), ACL_ERROR_RT_INVALID_HANDLE);
    return 2;
}

/* A file with the tasks of an instance, in the folder that the program runs in. */
static int printed(void)
{
    MUST(aclmdlRICaptureBegin(s[0], ACL_MODEL_RI_CAPTURE_MODE_RELAXED));
    WANT(copy(device[0], device[1], ACL_MEMCPY_DEVICE_TO_DEVICE, s[0]) == NULL, 0);
    aclmdlRI model = end(s[0]);
    WANT(aclmdlRIDebugJsonPrint(model, "nowhere/model.json", ACL_MDLRI_DEBUG_JSON_PRINT_SUMMARY), 107000);
    WANT(aclmdlRIDebugJsonPrint(model, "model.json", ACL_MDLRI_DEBUG_JSON_PRINT_VERBOSE), 0);
    WANT(aclmdlRIDestroy(model), 0);
    return 1;
}

/* A task that chooses between two children by a number in device memory. */
static int conditions(void)
{
    aclmdlRI model, children[2] = { NULL, NULL };
    aclmdlRICondHandle condition;
    uint64_t *number = NULL, value = 1;
    MUST(aclmdlRICaptureBegin(s[0], ACL_MODEL_RI_CAPTURE_MODE_RELAXED));
    MUST(aclmdlRICaptureGetInfo(s[0], NULL, &model));
    MUST(aclmdlRICondHandleCreate(model, 0, 0, &condition));
    MUST(aclmdlRICondHandleGetCondPtr(condition, &number));
    aclmdlRICondTaskParams params = { condition, ACL_MODEL_RI_COND_TYPE_IF, 3, children };
    WANT(aclmdlRIAddCondTask(params, s[0], 0), 107000);
    WANT(children[0] != NULL, 0);
    params.size = 2;
    MUST(aclmdlRIAddCondTask(params, s[0], 0));
    WANT(children[0] == NULL || children[0] == children[1], 0);
    for (int i = 0; i < 2; i++) {
        MUST(aclmdlRICaptureToModelRIBegin(s[1], children[i], ACL_MODEL_RI_CAPTURE_MODE_RELAXED));
        WANT(aclrtMemsetAsync(device[0], SIZE, i + 1, SIZE, s[1]), 0);
        MUST(aclmdlRICaptureEnd(s[1], &children[i]));
    }
    WANT(end(s[0]) == model, 1);
    for (int i = 0; i < 2; i++) {
        value = i == 0;
        MUST(aclrtMemcpy(number, 8, &value, 8, ACL_MEMCPY_HOST_TO_DEVICE));
        WANT(aclmdlRIExecuteAsync(model, s[0]), 0);
        WANT(aclrtSynchronizeStream(s[0]), 0);
        MUST(aclrtMemcpy(pinned, SIZE, device[0], SIZE, ACL_MEMCPY_DEVICE_TO_HOST));
        WANT(all(pinned, (char)(i + 1)), 1);
    }
    WANT(aclmdlRIExecuteAsync(children[0], s[0]), 207000);
    WANT(aclmdlRIDestroy(model), 0);
    return 2;
}

int main(int argc, char **argv)
{
    int done = -1;
    if (argc < 2)
        return 2;
    MUST(aclInit(NULL));
    MUST(aclrtSetDevice(0));
    MUST(aclrtGetCurrentContext(&context));
    for (int i = 0; i < STREAMS; i++)
        MUST(aclrtCreateStream(&s[i]));
    for (int i = 0; i < 2; i++)
        MUST(aclrtMalloc((void **)&device[i], SIZE, ACL_MEM_MALLOC_HUGE_FIRST));
    MUST(aclrtMallocHost((void **)&pinned, 2 * SIZE));
    if (strcmp(argv[1], "fork_and_join") == 0)
        done = fork_and_join();
    else if (strcmp(argv[1], "borders") == 0)
        done = borders();
    else if (strcmp(argv[1], "by_hand") == 0)
        done = by_hand();
    else if (strcmp(argv[1], "refusals") == 0)
        done = refusals();
    else if (strcmp(argv[1], "labels") == 0)
        done = labels();
    else if (strcmp(argv[1], "tasks") == 0)
        done = tasks();
    else if (strcmp(argv[1], "printed") == 0)
        done = printed();
    else if (strcmp(argv[1], "conditions") == 0)
        done = conditions();
    printf("%d\n", done);
    WANT(aclrtResetDevice(0), 0);
    WANT(aclFinalize(), 0);
    return failures != 0;
}
