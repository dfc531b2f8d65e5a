/* Host ranges of copies that lie in one mapping, in neighbouring ones, over a gap, and where reading or writing is not
 * allowed, of sizes that the engine reaches in different ways. Refused: 507899, and the program lives. */
#define _GNU_SOURCE
#include "host.h"
#include "acl/acl_tdt_queue.h"
#include <string.h>
#include <sys/mman.h>

static void *device;

static void both_ways(char *host, size_t size, int in, int out)
{
    WANT(aclrtMemcpy(device, size, host, size, ACL_MEMCPY_HOST_TO_DEVICE), in);
    WANT(aclrtMemcpy(host, size, device, size, ACL_MEMCPY_DEVICE_TO_HOST), out);
}

static void try_size(size_t size)
{
    const size_t page = 4096, half = (size / 2 + page - 1) & ~(page - 1);
    char *block = mmap(NULL, 2 * size + 2 * page, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    char *inside = block + 1; /* not at a page's start, ends within one */
    static char kept[8];
    memset(block, 7, 2 * size + 2 * page);
    both_ways(inside, size, 0, 0);
    WANT(mprotect(block + half, page, PROT_READ), 0); /* three mappings in a row, the middle one not writable */
    both_ways(inside, size, 0, 507899);
    WANT(mprotect(block + half, page, PROT_NONE), 0);
    both_ways(inside, size, 507899, 507899);
    WANT(munmap(block + half, page), 0);
    both_ways(inside, size, 507899, 507899);
    memcpy(kept, block, sizeof kept);
    WANT(kept[0] == 7 && kept[7] == 7, 1);
    WANT(mmap(block + half, page, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_FIXED, -1, 0) == block + half, 1);
    both_ways(inside, size, 0, 0);
    WANT(aclrtMemcpy(block + size + page, size, block, size, ACL_MEMCPY_HOST_TO_HOST), 0);
    WANT(munmap(block, 2 * size + 2 * page), 0);
    both_ways(inside, size, 507899, 507899);
}

/* Sizes that no host has, of memory that is copied into a buffer first. */
static void try_absurd_sizes(void)
{
    char byte = 7;
    uint32_t queue;
    acltdtQueueAttr *attributes = acltdtCreateQueueAttr();
    WANT(acltdtCreateQueue(attributes, &queue), 0);
    for (unsigned shift = 30; shift < 64; shift += 11)
        WANT(acltdtEnqueueData(queue, &byte, (size_t)1 << shift, NULL, 0, 0, 0), 507899);
    WANT(acltdtDestroyQueue(queue), 0);
    WANT(acltdtDestroyQueueAttr(attributes), 0);
}

int main(void)
{
    const size_t sizes[] = { 8192, 40000, 262144, 300000, 4 << 20 };
    WANT(aclrtSetDevice(0), 0);
    WANT(aclrtMalloc(&device, 4 << 20, ACL_MEM_MALLOC_HUGE_FIRST), 0);
    for (unsigned i = 0; i < sizeof sizes / sizeof sizes[0]; i++)
        try_size(sizes[i]);
    try_absurd_sizes();
    WANT(aclrtFree(device), 0);
    WANT(aclrtResetDevice(0), 0);
    return 0;
}
