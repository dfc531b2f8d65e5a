/* Allocates on a device under a limit that it sets itself: files, space or size. */
#include <acl/acl.h>
#include <stdio.h>
#include <string.h>
#include <sys/resource.h>

int main(int argc, char **argv)
{
    int what = !strcmp(argv[1], "files") ? RLIMIT_NOFILE : !strcmp(argv[1], "space") ? RLIMIT_AS : RLIMIT_FSIZE;
    struct rlimit before, limit;
    void *first = NULL, *second = NULL;
    (void)argc;
    int ready = aclInit(NULL) | aclrtSetDevice(0);
    getrlimit(what, &before);
    limit = before;
    limit.rlim_cur = what == RLIMIT_NOFILE ? 3 : what == RLIMIT_AS ? 1UL << 32 : 0;
    if (what == RLIMIT_FSIZE)
        limit.rlim_max = 0;
    setrlimit(what, &limit);
    int tries[3] = { aclrtMalloc(&first, 4096, 0), aclrtMalloc(&first, 4096, 0), 0 };
    setrlimit(what, &before);
    tries[2] = aclrtMalloc(&second, 4096, 0);
    printf("%d: %d %d %d\n", ready, tries[0], tries[1], tries[2]);
    return 0;
}
