/* Runs a program (arguments from the second on) that may not do what the first argument lists: `v` read or write memory
 * through process_vm_readv and process_vm_writev, `i` use ioctl, which answers as an old kernel does. */
#define _GNU_SOURCE
#include <errno.h>
#include <linux/filter.h>
#include <linux/seccomp.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <unistd.h>

static int forbid(unsigned call, unsigned error)
{
    struct sock_filter rules[] = {
        BPF_STMT(BPF_LD | BPF_W | BPF_ABS, 0),
        BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, call, 0, 1),
        BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ERRNO | error),
        BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW),
    };
    struct sock_fprog program = { sizeof rules / sizeof rules[0], rules };
    return prctl(PR_SET_SECCOMP, SECCOMP_MODE_FILTER, &program);
}

int main(int argc, char **argv)
{
    if (argc < 3 || prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) != 0)
        return 9;
    if (strchr(argv[1], 'v') != NULL && (forbid(SYS_process_vm_readv, EPERM) != 0 || forbid(SYS_process_vm_writev, EPERM) != 0))
        return 9;
    if (strchr(argv[1], 'i') != NULL && forbid(SYS_ioctl, ENOTTY) != 0)
        return 9;
    execv(argv[2], argv + 2);
    return 9;
}
