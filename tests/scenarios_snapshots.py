"""A program that takes snapshots, for ``scenarios.py``."""

from cannery.runtime.settings import Settings
from tests.fake_session import PROCESS
from tests.live import HOST_BASE, OUT, Live

CALLBACK = 0x5555_0000_1000
UNWAITED = 0x10  # ACL_STREAM_CPU_SCHEDULE: a backup finds work on it


def snapshots() -> Live:
    """Held threads, callbacks that agree and refuse, work that is pending at the backup, a deadlock, wrong states."""
    live = Live(Settings(devices=2, acl_api="1.17"))
    for thread in (1, 2, 3):
        live.ok("aclrtSetDevice", 0, thread=thread)
    stream, other = live.create("aclrtCreateStream"), live.create("aclrtCreateStreamWithConfig", 0, UNWAITED)
    gate, memory = live.create("aclrtCreateEventWithFlag", 1), live.create("aclrtMalloc", 100, 0)
    live.ok("aclrtMemcpy", memory, 100, live.host.put(0, b"before" * 10), 60, 1)
    live.ok("aclrtStreamWaitEventWithTimeout", other, gate, 1)
    live.ok("aclrtMemsetAsync", memory, 100, 7, 50, other)
    for stage in (1, 3):
        live.ok("aclrtSnapShotCallbackRegister", stage, CALLBACK, 0x10)
    live.call("aclrtSnapShotCallbackRegister", 1, CALLBACK, 0)
    live.call("aclrtSnapShotProcessLock", PROCESS + 1, 0)
    live.ok("aclrtSnapShotProcessLock", PROCESS, 0)
    live.call("aclrtMalloc", OUT, 64, 0, thread=2)
    live.call("aclrtRecordEvent", gate, 77, thread=3)
    live.call("aclrtSnapShotProcessBackup", PROCESS, 0)
    live.returned(1, 3)
    live.call("aclrtSnapShotProcessBackup", PROCESS, 0)
    live.call("aclrtFree", memory)
    live.call("aclrtSnapShotProcessUnlock", PROCESS, 0, thread=4)
    live.returned(1, 0)
    live.call("aclrtSnapShotProcessRestore", PROCESS, 0)
    live.ok("aclrtSnapShotProcessLock", PROCESS, 0)
    live.call("aclrtMalloc", OUT, 64, 0, thread=2)
    live.call("aclrtSnapShotProcessBackup", PROCESS, 0)
    live.returned(1, 0)
    live.pace(after=2_000_000_000)
    live.ok("aclrtLaunchHostFunc", stream, CALLBACK + 8, 0)
    live.pace(after=1_000_000)
    live.call("aclrtSnapShotProcessRestore", PROCESS, 0)
    live.returned(1, 0)
    live.errand_done(1)
    live.pace(after=500_000_000)
    live.ok("aclrtSnapShotProcessUnlock", PROCESS, 0)
    live.ok("aclrtMemcpy", HOST_BASE, 100, memory, 60, 2)
    live.ok("aclrtRecordEvent", gate, stream)
    live.ok("aclrtSynchronizeStream", stream)
    live.pace(after=1_000_000)
    live.ok("aclrtMemcpy", HOST_BASE, 100, memory, 60, 2)
    live.ok("aclrtSnapShotCallbackUnregister", 1, CALLBACK)
    return live
