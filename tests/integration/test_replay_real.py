"""Real programs in situations that only a replay of their trace would notice."""

import os
import subprocess
import sys
from pathlib import Path

from cannery.shim import sdk

LIMIT = 120

#: A copy of pageable memory waits for its stream; its bytes move in the step that ends the wait, a record elsewhere.
COPY_THAT_WAITS = """
#include <pthread.h>
#include <stdlib.h>
#include <unistd.h>
#include "acl/acl.h"
#define OK(call) do { if ((call) != ACL_SUCCESS) exit(__LINE__); } while (0)
static aclrtStream held, other;
static void *device;
static char bytes[4096] = "pageable";
static void *copy(void *unused)
{
    OK(aclrtSetDevice(0));
    OK(aclrtMemcpyAsync(device, sizeof bytes, bytes, sizeof bytes, ACL_MEMCPY_HOST_TO_DEVICE, held));
    return unused;
}
int main(void)
{
    pthread_t thread;
    aclrtEvent event;
    OK(aclInit(NULL)); OK(aclrtSetDevice(0));
    OK(aclrtCreateStream(&held)); OK(aclrtCreateStream(&other));
    OK(aclrtCreateEventWithFlag(&event, ACL_EVENT_SYNC));
    OK(aclrtMalloc(&device, sizeof bytes, ACL_MEM_MALLOC_HUGE_FIRST));
    OK(aclrtStreamWaitEvent(held, event));
    pthread_create(&thread, NULL, copy, NULL);
    /* the record comes after the copy began to wait, or before it: both are right, and both must replay */
    for (int i = 0; i < 200; i++) { aclrtStreamStatus status; OK(aclrtStreamQuery(other, &status)); usleep(500); }
    OK(aclrtRecordEvent(event, other));
    pthread_join(thread, NULL);
    char back[64];
    OK(aclrtMemcpy(back, sizeof back, device, sizeof back, ACL_MEMCPY_DEVICE_TO_HOST));
    return back[0] != 'p';
}
"""

#: Work that is due when a function without implementation is called runs there, and touches host memory there.
DUE_AT_UNSUPPORTED = """
#include <stdlib.h>
#include <time.h>
#include "acl/acl.h"
#include "acl/acl_platform.h"
#define OK(call) do { if ((call) != ACL_SUCCESS) exit(__LINE__); } while (0)
int main(void)
{
    void *device, *host;
    OK(aclInit(NULL)); OK(aclrtSetDevice(0));
    OK(aclrtMalloc(&device, 65536, ACL_MEM_MALLOC_HUGE_FIRST)); OK(aclrtMallocHost(&host, 65536));
    for (int i = 0; i < 300; i++) {
        OK(aclrtMemcpyAsync(device, 65536, host, 65536, ACL_MEMCPY_HOST_TO_DEVICE, NULL));
        for (volatile int spin = 0; spin < 2000 * (i % 40); spin++) { }
        aclplatformGetDeviceInfo(0, NULL, 0);
    }
    OK(aclrtSynchronizeDevice());
    return 0;
}
"""


def record_and_replay(folder: Path, source: str) -> "subprocess.CompletedProcess[str]":
    """Compile and record a program, which has to succeed; the replay of its trace."""
    (folder / "p.c").write_text(source)
    command = [os.environ.get("CC", "cc"), "-w", "-O1", f"-I{sdk.include_folder()}", "p.c", "-o", "p"]
    libraries = [f"-L{sdk.library_folder()}", "-lascendcl", "-lpthread"]
    subprocess.run([*command, *libraries], check=True, cwd=folder, timeout=LIMIT)
    clean = {key: value for key, value in os.environ.items() if not key.startswith(("CANNERY_", "ASCEND_", "LD_"))}
    cannery = [sys.executable, "-m", "cannery.tools.main"]
    run = [*cannery, "run", "-o", "t.cann", "--", "./p"]
    subprocess.run(run, check=True, cwd=folder, env=clean, timeout=LIMIT)
    replay = [*cannery, "replay", "t.cann"]
    return subprocess.run(replay, capture_output=True, text=True, cwd=folder, env=clean, timeout=LIMIT)


def test_bytes_that_move_when_a_wait_ends_are_in_the_trace(tmp_path: Path) -> None:
    replayed = record_and_replay(tmp_path, COPY_THAT_WAITS)
    assert (replayed.returncode, replayed.stderr) == (0, ""), replayed.stdout


def test_bytes_that_move_at_an_unsupported_call_are_in_the_trace(tmp_path: Path) -> None:
    replayed = record_and_replay(tmp_path, DUE_AT_UNSUPPORTED)
    assert (replayed.returncode, replayed.stderr) == (0, ""), replayed.stdout
