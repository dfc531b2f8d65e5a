/* A binary of before 2026-05: the snapshot calls have no parameters, so whatever stands in the registers is passed. */
#include <stdio.h>

int aclInit(const char *);
int aclrtSetDevice(int);
int aclrtSnapShotProcessLock(void);
int aclrtSnapShotProcessBackup(void);
int aclrtSnapShotProcessRestore(void);
int aclrtSnapShotProcessUnlock(void);

int main(int count, char **arguments)
{
    if (aclInit(NULL) || aclrtSetDevice(0))
        return 1;
    fprintf(stderr, "%.0s", arguments[count - 1]); /* leaves other things in the registers */
    int lock = aclrtSnapShotProcessLock(), backup = aclrtSnapShotProcessBackup();
    int restore = aclrtSnapShotProcessRestore(), unlock = aclrtSnapShotProcessUnlock();
    printf("%d %d %d %d\n", lock, backup, restore, unlock);
    return 0;
}
