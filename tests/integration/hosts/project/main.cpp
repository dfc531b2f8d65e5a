// A program in C++, as users of CANN write them: checks every call, prints what it read back.
#include <cstdint>
#include <iostream>
#include <vector>

#include "acl/acl.h"

int main()
{
    std::vector<std::uint32_t> values{1, 2, 3, 4}, back(4);
    const std::size_t size = values.size() * sizeof values[0];
    void *memory = nullptr;
    if (aclInit(nullptr) != ACL_SUCCESS || aclrtSetDevice(0) != ACL_SUCCESS ||
        aclrtMalloc(&memory, size, ACL_MEM_MALLOC_HUGE_FIRST) != ACL_SUCCESS ||
        aclrtMemcpy(memory, size, values.data(), size, ACL_MEMCPY_HOST_TO_DEVICE) != ACL_SUCCESS ||
        aclrtMemcpy(back.data(), size, memory, size, ACL_MEMCPY_DEVICE_TO_HOST) != ACL_SUCCESS ||
        aclrtFree(memory) != ACL_SUCCESS || aclrtResetDevice(0) != ACL_SUCCESS || aclFinalize() != ACL_SUCCESS)
        return 1;
    std::cout << (back == values ? "the same" : "different") << '\n';
    return back == values ? 0 : 1;
}
