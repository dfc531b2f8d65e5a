/* Loads itself as a kernel binary, launches kernels in every way, and prints what they computed: "add" is to add floats,
 * "double_all" to double the integers of an allocation, "nameless" has no model, "broken" is to fail. */
#include "host.h"

enum { COUNT = 64 };

void add(void) { }
void double_all(void) { }
void nameless(void) { }
void broken(void) { }

static aclrtStream stream;
static aclrtBinHandle binary;

static aclrtFuncHandle kernel(const char *name)
{
    aclrtFuncHandle found;
    MUST(aclrtBinaryGetFunction(binary, name, &found));
    return found;
}

static void *upload(const void *content, size_t size)
{
    void *memory;
    MUST(aclrtMalloc(&memory, size, ACL_MEM_MALLOC_HUGE_FIRST));
    MUST(aclrtMemcpy(memory, size, content, size, ACL_MEMCPY_HOST_TO_DEVICE));
    return memory;
}

static double sum_of_floats(const void *memory)
{
    float values[COUNT];
    double sum = 0;
    MUST(aclrtMemcpy(values, sizeof values, memory, sizeof values, ACL_MEMCPY_DEVICE_TO_HOST));
    for (int i = 0; i < COUNT; i++)
        sum += values[i];
    return sum;
}

struct arguments { void *x, *y, *z; uint32_t count; };

static void with_host_arguments(void *x, void *y, void *z)
{
    struct arguments arguments = { x, y, z, COUNT };
    MUST(aclrtLaunchKernelWithHostArgs(kernel("add"), 8, stream, NULL, &arguments, sizeof arguments, NULL, 0));
    memset(&arguments, 0xff, sizeof arguments); /* they were copied */
    MUST(aclrtSynchronizeStream(stream));
    printf("host arguments: %g\n", sum_of_floats(z));
}

static void with_a_list(void *x, void *z)
{
    aclrtArgsHandle list;
    aclrtParamHandle parameter, placeholder;
    float *values;
    uint32_t count = COUNT;
    MUST(aclrtKernelArgsInit(kernel("add"), &list));
    MUST(aclrtKernelArgsAppend(list, &x, sizeof x, &parameter));
    MUST(aclrtKernelArgsAppendPlaceHolder(list, &placeholder));
    MUST(aclrtKernelArgsAppend(list, &z, sizeof z, &parameter));
    MUST(aclrtKernelArgsAppend(list, &count, sizeof count, &parameter));
    MUST(aclrtKernelArgsGetPlaceHolderBuffer(list, placeholder, COUNT * sizeof(float), (void **)&values));
    for (int i = 0; i < COUNT; i++)
        values[i] = 100;
    MUST(aclrtKernelArgsFinalize(list));
    MUST(aclrtLaunchKernelWithConfig(kernel("add"), 8, stream, NULL, list, NULL));
    MUST(aclrtSynchronizeStream(stream));
    printf("list: %g\n", sum_of_floats(z));
}

static void with_arguments_of_its_own(void *x, void *y, void *z)
{
    size_t handle_size, size;
    void *where[] = { x, y, z };
    uint32_t count = COUNT;
    aclrtParamHandle parameter;
    MUST(aclrtKernelArgsGetHandleMemSize(kernel("add"), &handle_size));
    MUST(aclrtKernelArgsGetMemSize(kernel("add"), 4 * sizeof(void *), &size));
    aclrtArgsHandle list = malloc(handle_size);
    void *memory = malloc(size);
    MUST(aclrtKernelArgsInitByUserMem(kernel("add"), list, memory, size));
    for (int i = 0; i < 3; i++)
        MUST(aclrtKernelArgsAppend(list, &where[i], sizeof where[i], &parameter));
    MUST(aclrtKernelArgsAppend(list, &count, sizeof count, &parameter));
    MUST(aclrtKernelArgsFinalize(list));
    MUST(aclrtLaunchKernelWithConfig(kernel("add"), 8, stream, NULL, list, NULL));
    MUST(aclrtSynchronizeStream(stream));
    printf("own memory: %g\n", sum_of_floats(z));
    free(memory);
    free(list);
}

static void with_device_arguments(void)
{
    int32_t values[COUNT] = { 1, 2, 3 };
    void *memory = upload(values, sizeof values);
    void *arguments = upload(&memory, sizeof memory);
    aclmdlRI graph;
    MUST(aclmdlRICaptureBegin(stream, ACL_MODEL_RI_CAPTURE_MODE_RELAXED));
    MUST(aclrtLaunchKernel(kernel("double_all"), 1, arguments, sizeof memory, stream));
    MUST(aclmdlRICaptureEnd(stream, &graph));
    for (int i = 0; i < 3; i++)
        MUST(aclmdlRIExecuteAsync(graph, stream));
    MUST(aclrtSynchronizeStream(stream));
    MUST(aclrtMemcpy(values, sizeof values, memory, sizeof values, ACL_MEMCPY_DEVICE_TO_HOST));
    printf("three times: %d %d %d\n", values[0], values[1], values[2]);
    MUST(aclmdlRIDestroy(graph));
}

static void with_host_memory(void)
{
    int32_t *shared;
    void *window;
    MUST(aclrtMallocHost((void **)&shared, 4096));
    MUST(aclrtHostRegisterV2(shared, 4096, ACL_HOST_REG_MAPPED));
    MUST(aclrtHostGetDevicePointer(shared, &window, 0));
    memset(shared, 0, 4096);
    shared[5] = 21;
    MUST(aclrtLaunchKernelWithHostArgs(kernel("double_all"), 1, stream, NULL, &window, sizeof window, NULL, 0));
    MUST(aclrtSynchronizeStream(stream));
    printf("host memory: %d\n", shared[5]);
    MUST(aclrtHostUnregister(shared));
    MUST(aclrtFreeHost(shared));
}

static void *launch_often(void *memory)
{
    MUST(aclrtSetDevice(0));
    aclrtFuncHandle nothing = kernel("nameless");
    for (int i = 0; i < 500; i++)
        MUST(aclrtLaunchKernelWithHostArgs(nothing, 1, stream, NULL, &memory, sizeof memory, NULL, 0));
    return NULL;
}

static void fail(void)
{
    void *memory = upload("12345678", 8);
    MUST(aclrtLaunchKernelWithHostArgs(kernel("broken"), 1, stream, NULL, &memory, sizeof memory, NULL, 0));
    printf("broken: %d\n", (int)aclrtSynchronizeStream(stream));
}

int main(void)
{
    float x[COUNT], y[COUNT], z[COUNT] = { 0 };
    pthread_t threads[3];
    for (int i = 0; i < COUNT; i++) {
        x[i] = (float)i;
        y[i] = 1;
    }
    MUST(aclInit(NULL));
    MUST(aclrtSetDevice(0));
    MUST(aclrtCreateStream(&stream));
    MUST(aclrtBinaryLoadFromFile("/proc/self/exe", NULL, &binary));
    void *dx = upload(x, sizeof x), *dy = upload(y, sizeof y), *dz = upload(z, sizeof z);
    with_host_arguments(dx, dy, dz);
    with_a_list(dx, dz);
    with_arguments_of_its_own(dx, dy, dz);
    with_device_arguments();
    with_host_memory();
    for (int i = 0; i < 3; i++)
        pthread_create(&threads[i], NULL, launch_often, dx);
    for (int i = 0; i < 3; i++)
        pthread_join(threads[i], NULL);
    MUST(aclrtSynchronizeStream(stream));
    fail();
    MUST(aclrtBinaryUnLoad(binary));
    fflush(stdout);
    pid_t child = fork();
    if (child == 0) {
        MUST(aclrtSetDevice(0));
        MUST(aclrtCreateStream(&stream));
        MUST(aclrtBinaryLoadFromFile("/proc/self/exe", NULL, &binary));
        dx = upload(x, sizeof x), dy = upload(y, sizeof y), dz = upload(z, sizeof z);
        with_host_arguments(dx, dy, dz);
        fflush(stdout);
        _exit(0);
    }
    int status;
    WANT(waitpid(child, &status, 0), child);
    WANT(status, 0);
    return failures;
}
