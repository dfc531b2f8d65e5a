/* Threads that come and go: argument 1 is how many. Prints the growth of resident memory over the later ones in kB. */
#include "host.h"

static void *visit(void *unused)
{
    int32_t device = -1;
    (void)unused;
    WANT(aclrtGetDevice(&device), 107002);
    WANT(aclrtSetDevice(0), 0);
    WANT(aclrtGetDevice(&device), 0);
    return NULL;
}

static void visits(int count)
{
    for (int i = 0; i < count; i++) {
        pthread_t thread;
        MUST(pthread_create(&thread, NULL, visit, NULL));
        MUST(pthread_join(thread, NULL));
    }
}

int main(int argc, char **argv)
{
    int count = argc > 1 ? atoi(argv[1]) : 10000;
    MUST(aclrtSetDevice(0));
    visits(count / 4);
    long before = resident_kb();
    visits(count - count / 4);
    printf("%ld\n", resident_kb() - before);
    return failures != 0;
}
