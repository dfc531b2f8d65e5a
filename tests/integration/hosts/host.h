/* Shared by the host programs: a check that prints what went wrong and makes the program fail. */
#ifndef HOST_H
#define HOST_H
#define _GNU_SOURCE
#include <pthread.h>
#include <signal.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>
#include "acl/acl.h"

__attribute__((unused)) static int failures;

#define WANT(call, number) do { long got_ = (long)(call), want_ = (long)(number); if (got_ != want_) { \
    fprintf(stderr, "%s:%d: %s = %ld, wanted %ld\n", __FILE__, __LINE__, #call, got_, want_); failures++; } } while (0)
#define MUST(call) do { long got_ = (long)(call); if (got_ != 0) { \
    fprintf(stderr, "%s:%d: %s = %ld\n", __FILE__, __LINE__, #call, got_); exit(3); } } while (0)

__attribute__((unused)) static long resident_kb(void)
{
    long pages = 0, resident = 0;
    FILE *file = fopen("/proc/self/statm", "r");
    if (file == NULL || fscanf(file, "%ld %ld", &pages, &resident) != 2)
        exit(4);
    fclose(file);
    return resident * (sysconf(_SC_PAGESIZE) / 1024);
}
#endif
