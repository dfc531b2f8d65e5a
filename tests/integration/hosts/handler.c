/* A signal handler calls the runtime while its thread may be inside it: refused with 507000, never a hang. */
#include "host.h"

static volatile sig_atomic_t refused, served, other;

static void handler(int signal_number)
{
    int32_t device;
    (void)signal_number;
    aclError got = aclrtGetDevice(&device);
    if (got == 507000)
        refused++;
    else if (got == 0)
        served++;
    else
        other++;
}

int main(void)
{
    int32_t device;
    struct itimerspec often = { { 0, 200000 }, { 0, 200000 } };
    struct sigevent event = { .sigev_notify = SIGEV_SIGNAL, .sigev_signo = SIGUSR1 };
    timer_t timer;
    alarm(60);
    MUST(aclrtSetDevice(0));
    signal(SIGUSR1, handler);
    MUST(timer_create(CLOCK_MONOTONIC, &event, &timer));
    MUST(timer_settime(timer, 0, &often, NULL));
    while (refused < 5)
        WANT(aclrtGetDevice(&device), 0);
    timer_delete(timer);
    WANT(other, 0);
    printf("refused %d\n", refused > 0);
    return failures != 0;
}
