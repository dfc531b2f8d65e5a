/* How soon another process goes on that waits for a notify. */
#include "workload.h"
#include <spawn.h>
#include <stdatomic.h>
#include <sys/mman.h>
#include <sys/wait.h>

enum { KEY = 65, MOST = 20000, PAUSE_US = 1000 };

struct shared {
    char key[KEY];
    _Atomic int ready, seen;
    _Atomic double recorded; /* when the record call began */
    double late[MOST];
};

static struct shared *map(int file)
{
    struct shared *shared = mmap(NULL, sizeof *shared, PROT_READ | PROT_WRITE, MAP_SHARED, file, 0);
    MUST(shared == MAP_FAILED);
    return shared;
}

/* The process that waits; FILE is the descriptor of what both share. */
void measure_handed(char **numbers)
{
    struct shared *shared = map(atoi(numbers[0]));
    int count = atoi(numbers[1]);
    aclrtStream stream;
    aclrtNotify notify;
    MUST(aclrtCreateStream(&stream));
    MUST(aclrtCreateNotify(&notify, 0));
    MUST(aclrtNotifyGetExportKey(notify, shared->key, KEY, ACL_RT_NOTIFY_EXPORT_FLAG_DISABLE_PID_VALIDATION));
    atomic_store(&shared->ready, 1);
    for (int i = 0; i < count; i++) {
        MUST(aclrtWaitAndResetNotify(notify, stream, 0));
        MUST(aclrtSynchronizeStream(stream));
        shared->late[i] = now() - atomic_load(&shared->recorded);
        atomic_store(&shared->seen, i + 1);
    }
}

void measure_handovers(char **numbers)
{
    extern char **environ;
    int count = atoi(numbers[0]) < MOST ? atoi(numbers[0]) : MOST, file = memfd_create("handovers", 0);
    char descriptor[16], rounds[16];
    char *child[] = { "workload", "handed", descriptor, rounds, NULL };
    pid_t pid;
    aclrtStream stream;
    aclrtNotify notify;
    MUST(ftruncate(file, sizeof(struct shared)));
    struct shared *shared = map(file);
    snprintf(descriptor, sizeof descriptor, "%d", file);
    snprintf(rounds, sizeof rounds, "%d", count);
    MUST(posix_spawn(&pid, "/proc/self/exe", NULL, NULL, child, environ));
    while (!atomic_load(&shared->ready))
        usleep(PAUSE_US);
    MUST(aclrtCreateStream(&stream));
    MUST(aclrtNotifyImportByKey(&notify, shared->key, 0));
    for (int i = 0; i < count; i++) {
        usleep(PAUSE_US); /* until the other waits */
        atomic_store(&shared->recorded, now());
        MUST(aclrtRecordNotify(notify, stream));
        while (atomic_load(&shared->seen) <= i)
            usleep(PAUSE_US / 10);
    }
    int status = 0;
    MUST(waitpid(pid, &status, 0) != pid);
    MUST(status);
    printf("handover/median %.0f\n", median(shared->late, count));
    printf("handover/p99 %.0f\n", shared->late[count * 99 / 100]);
}
