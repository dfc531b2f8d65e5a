/* What the parts of the workload share. Each part prints one `name value` line per figure: times in nanoseconds, sizes in
 * bytes. `must` ends the program with a line that names the call. */
#ifndef WORKLOAD_H
#define WORKLOAD_H
#define _GNU_SOURCE
#include <pthread.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>
#include "acl/acl.h"

enum { BATCH = 200 }; /* calls between two looks at the clock */

extern aclrtContext context; /* of the main thread; others make it theirs */

void must(int result, const char *what);
#define MUST(call) must((int)(call), #call)

double now(void);
double median(double *values, int count);         /* sorts them */
void print_memory(const char *name, const char *key); /* a field of /proc/self/status: VmHWM, VmRSS */

struct objects {
    aclrtStream stream;
    aclrtEvent event;
};
struct objects make_objects(void); /* the event is recorded once */

/* Each is one way to run the program; see the table in main.c. */
void measure_calls(char **numbers);
void measure_one(char **numbers);
void measure_threads(char **numbers);
void measure_record(char **numbers);
void measure_queries(char **numbers);
void measure_train(char **numbers);
void measure_copies(char **numbers);
void measure_many(char **numbers);
void measure_live(char **numbers);
void measure_waiting(char **numbers);
void measure_wake(char **numbers);
void measure_handovers(char **numbers);
void measure_handed(char **numbers);
void measure_allocations(char **numbers);
void measure_snapshots(char **numbers);
void measure_unlock(char **numbers);

#endif
