/* Launches of a kernel without a model, with arguments of all lengths: those that the fast encoder writes, and others. */
#include "host.h"

void nothing(void) { }

int main(void)
{
    static unsigned char arguments[100000];
    aclrtStream stream;
    aclrtBinHandle binary;
    aclrtFuncHandle kernel;
    aclrtArgsHandle list;
    aclrtParamHandle parameter;
    aclrtLaunchKernelAttr attribute = { .id = ACL_RT_LAUNCH_KERNEL_ATTR_SCHEM_MODE };
    aclrtLaunchKernelCfg configuration = { &attribute, 1 };
    aclrtPlaceHolderInfo placeholder = { 0, 8 };
    for (size_t i = 0; i < sizeof arguments; i++)
        arguments[i] = (unsigned char)(i * 7);
    MUST(aclrtSetDevice(0));
    MUST(aclrtCreateStream(&stream));
    MUST(aclrtBinaryLoadFromFile("/proc/self/exe", NULL, &binary));
    MUST(aclrtBinaryGetFunction(binary, "nothing", &kernel));
    WANT(aclrtBinaryGetFunction(binary, "missing", &kernel), 107000);
    MUST(aclrtBinaryGetFunction(binary, "nothing", &kernel));
    for (size_t size = 1; size < sizeof arguments; size += size < 600 ? 1 : size)
        MUST(aclrtLaunchKernelWithHostArgs(kernel, 1, stream, NULL, arguments, size, NULL, 0));
    WANT(aclrtLaunchKernelWithHostArgs(kernel, 1, stream, NULL, NULL, 8, NULL, 0), 100000);
    WANT(aclrtLaunchKernelWithHostArgs(kernel, 1, stream, NULL, arguments, (size_t)1 << 40, NULL, 0), 107000);
    MUST(aclrtLaunchKernelWithHostArgs(kernel, 1, stream, &configuration, arguments, 64, NULL, 0));
    MUST(aclrtLaunchKernelWithHostArgs(kernel, 1, stream, NULL, arguments, 64, &placeholder, 1));
    MUST(aclrtKernelArgsInit(kernel, &list));
    MUST(aclrtKernelArgsAppend(list, arguments, 300, &parameter));
    MUST(aclrtKernelArgsAppend(list, arguments, 600, &parameter));
    MUST(aclrtKernelArgsParaUpdate(list, parameter, arguments + 1, 600));
    MUST(aclrtKernelArgsFinalize(list));
    MUST(aclrtLaunchKernelWithConfig(kernel, 1, stream, NULL, list, NULL));
    MUST(aclrtLaunchKernelWithConfig(kernel, 1, stream, &configuration, list, NULL));
    MUST(aclrtSynchronizeStream(stream));
    return failures;
}
