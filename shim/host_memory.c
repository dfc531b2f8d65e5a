/* The program's memory, as the engine reaches it: never trusting an address.
 *
 * Short ranges go through process_vm_readv/writev on the process itself, which answer EFAULT where a copy loop would
 * fault. They run at half the speed of memcpy, so long ranges are looked up in /proc/self/maps first (`check`) and then
 * copied directly (`copy`): a range that another thread unmaps in between faults as it would in the program's own copy.
 * A kernel from Linux 6.11 on answers for one address (PROCMAP_QUERY); before, the file is read as text. */
#include <errno.h>
#include <fcntl.h>
#include <linux/types.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <sys/uio.h>
#include <unistd.h>

/* Bytes from which a look-up costs less than it saves: by the query, and by reading the file. */
enum { QUERIED_FROM = 1 << 15, LOOKED_UP_FROM = 1 << 18 };

/* struct procmap_query of linux/fs.h, which older headers lack (Documentation/filesystems/proc.rst). */
struct map_query {
    __u64 size, flags, address, start, end, access, page_size, offset, inode;
    __u32 major, minor, name_size, build_id_size;
    __u64 name, build_id;
};
enum { MAP_READABLE = 1, MAP_WRITABLE = 2 };
#define QUERY_MAP _IOWR('f', 17, struct map_query)

static int unanswered; /* the kernel does not know the query */

/* 0 if every byte of the range lies in mappings that allow the access, -1 if not; 1: `unanswered`. */
static int query_range(int file, uint64_t start, uint64_t end, char access)
{
    while (start < end) {
        struct map_query query = { .size = sizeof query, .address = start };
        query.flags = access == 'r' ? MAP_READABLE : MAP_WRITABLE;
        if (ioctl(file, QUERY_MAP, &query) != 0) {
            if (errno == ENOENT)
                return -1;
            unanswered = 1;
            return 1;
        }
        start = query.end;
    }
    return 0;
}

static int read_range(int file, uint64_t start, uint64_t end, char access)
{
    char buffer[16384];
    size_t kept = 0;
    for (;;) {
        ssize_t got = read(file, buffer + kept, sizeof buffer - 1 - kept);
        if (got <= 0)
            return -1;
        buffer[kept + (size_t)got] = '\0';
        char *line = buffer, *newline;
        while ((newline = strchr(line, '\n')) != NULL) {
            char *at;
            uint64_t first = strtoull(line, &at, 16), last = strtoull(at + 1, &at, 16);
            if (last > start) {
                if (first > start || at[access == 'r' ? 1 : 2] != access)
                    return -1; /* a gap, or a mapping that does not allow it */
                start = last;
                if (start >= end)
                    return 0;
            }
            line = newline + 1;
        }
        kept = strlen(line);
        memmove(buffer, line, kept);
    }
}

/* 0 if every byte of the range lies in mappings that allow `access` ('r' or 'w'). */
static int check_range(uint64_t start, size_t size, char access)
{
    uint64_t end = start + size;
    int file;
    if (end < start || (file = open("/proc/thread-self/maps", O_RDONLY | O_CLOEXEC)) < 0)
        return -1;
    int found = unanswered ? 1 : query_range(file, start, end, access);
    if (found == 1)
        found = read_range(file, start, end, access);
    close(file);
    return found;
}

/* Whether the kernel's own copy is the shorter way: it checks what it reaches. */
static int is_short(size_t size) { return size < (unanswered ? LOOKED_UP_FROM : QUERIED_FROM); }

static int transfer(void *mine, uint64_t theirs, size_t size, int write)
{
    static int forbidden; /* by a sandbox: then every range is looked up */
    struct iovec local = { mine, size }, remote = { (void *)(uintptr_t)theirs, size };
    if (!forbidden && is_short(size)) {
        pid_t self = (pid_t)syscall(SYS_gettid); /* not getpid(): the first thread may have ended, and its memory with it */
        ssize_t done = write ? process_vm_writev(self, &local, 1, &remote, 1, 0)
                             : process_vm_readv(self, &local, 1, &remote, 1, 0);
        if (done == (ssize_t)size)
            return 0;
        if (done >= 0 || (errno != ENOSYS && errno != EPERM && errno != EACCES))
            return -1;
        forbidden = 1;
    }
    if (check_range(theirs, size, write ? 'w' : 'r') != 0)
        return -1;
    if (write)
        memcpy((void *)(uintptr_t)theirs, mine, size);
    else
        memcpy(mine, (const void *)(uintptr_t)theirs, size);
    return 0;
}

int cannery_host_read(void *to, uint64_t from, size_t size)
{
    return transfer(to, from, size, 0);
}

int cannery_host_write(uint64_t to, const void *from, size_t size)
{
    return transfer((void *)(uintptr_t)from, to, size, 1);
}

int cannery_host_check(uint64_t address, size_t size, int write)
{
    return check_range(address, size, write ? 'w' : 'r');
}

void cannery_host_copy(uint64_t to, uint64_t from, size_t size)
{
    memcpy((void *)(uintptr_t)to, (const void *)(uintptr_t)from, size);
}

int cannery_host_move(uint64_t to, uint64_t from, size_t size)
{
    uint64_t distance = to > from ? to - from : from - to;
    if (is_short(size) && distance >= size)
        return transfer((void *)(uintptr_t)to, from, size, 0); /* the kernel checks both sides */
    if (check_range(from, size, 'r') != 0 || check_range(to, size, 'w') != 0)
        return -1;
    memmove((void *)(uintptr_t)to, (const void *)(uintptr_t)from, size);
    return 0;
}

int cannery_host_fill(uint64_t to, int value, size_t size)
{
    char bytes[256];
    if (size <= sizeof bytes) {
        memset(bytes, value, size);
        return transfer(bytes, to, size, 1);
    }
    if (check_range(to, size, 'w') != 0)
        return -1;
    memset((void *)(uintptr_t)to, value, size);
    return 0;
}

uint64_t cannery_host_alloc(size_t size)
{
    void *address = mmap(NULL, size, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    return address == MAP_FAILED ? 0 : (uint64_t)(uintptr_t)address;
}

void cannery_host_free(uint64_t address, size_t size)
{
    munmap((void *)(uintptr_t)address, size);
}

uint64_t cannery_reserve(uint64_t first, uint64_t last, uint64_t step, size_t span)
{
    for (uint64_t base = first; base + span <= last; base += step) {
        void *wanted = (void *)(uintptr_t)base;
        void *got = mmap(wanted, span, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE | MAP_FIXED_NOREPLACE, -1, 0);
        if (got == wanted) {
            madvise(got, span, MADV_DONTFORK); /* a child starts with no device memory and reserves for itself */
            return base;
        }
        if (got != MAP_FAILED)
            munmap(got, span); /* a kernel too old to know NOREPLACE */
    }
    return 0;
}

int cannery_keep_from_children(void *address, size_t size)
{
    return madvise(address, size, MADV_DONTFORK);
}

void *cannery_map_shared(int descriptor, size_t size, size_t offset)
{
    void *address = mmap(NULL, size, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_NORESERVE, descriptor, (off_t)offset);
    return address == MAP_FAILED ? NULL : address;
}

int cannery_unmap(void *address, size_t size)
{
    return munmap(address, size);
}

void cannery_discard(void *address, size_t size)
{
    const uintptr_t page = (uintptr_t)sysconf(_SC_PAGESIZE), start = (uintptr_t)address, end = start + size;
    uintptr_t first = (start + page - 1) & ~(page - 1), last = end & ~(page - 1);
    if (first >= last || madvise((void *)first, last - first, MADV_REMOVE) != 0) {
        memset(address, 0, size);
        return;
    }
    memset(address, 0, first - start);
    memset((void *)last, 0, end - last);
}
