"""A program that uses notifies, for ``scenarios.py``."""

from cannery.runtime.settings import Settings
from tests.live import OUT, Live

SECOND = 1_000_000_000


def notifies() -> Live:
    """Streams that wait for each other, limits that pass while a thread waits and while none does, keys."""
    live = Live(Settings(devices=2, product="A3"))
    live.ok("aclrtSetDevice", 0)
    live.ok("aclrtSetDevice", 0, thread=2)
    first, second = live.create("aclrtCreateStream"), live.create("aclrtCreateStream")
    one, two = live.create("aclrtCreateNotify", 0), live.create("aclrtCreateNotify", 0)
    live.ok("aclrtGetNotifyId", two, OUT)
    live.ok("aclrtWaitAndResetNotify", one, second, 0)
    live.ok("aclrtStreamQuery", second, OUT)
    live.call("aclrtSynchronizeStreamWithTimeout", second, 50)
    live.expire(1)
    live.call("aclrtSynchronizeStream", second)
    live.ok("aclrtRecordNotify", one, first, thread=2)
    live.pace(after=1_000_000)
    for _ in range(3):
        live.ok("aclrtRecordNotify", one, first)
    live.ok("aclrtSynchronizeStream", first)
    live.ok("aclrtNotifyBatchReset", (one, two), 2)
    live.call("aclrtNotifyBatchReset", (two, 0, 0x1234), 3)
    live.ok("aclrtWaitAndResetNotify", two, first, 1)
    live.ok("aclrtWaitAndResetNotify", one, second, 2)
    live.call("aclrtSynchronizeStream", first)
    live.pace(after=SECOND + 100_000)
    live.pace(after=SECOND)
    live.call("aclrtSynchronizeStream", second)
    live.ok("aclrtNotifyGetExportKey", one, OUT, 65, 0)
    live.ok("aclrtNotifySetImportPid", one, (100, 200), 2)
    live.call("aclrtNotifySetImportPid", one, None, 1)
    live.ok("aclrtNotifySetImportPidInterServer", one, ((3, (100,), 1), (4, (200,), 1)), 2)
    live.call("aclrtNotifySetImportPidInterServer", one, ((3, None, 1),), 1)
    live.call("aclrtNotifyImportByKey", OUT, b"key", 2)
    live.ok("aclrtWaitAndResetNotify", one, second, 0)
    live.ok("aclrtDestroyNotify", two)
    live.call("aclrtRecordNotify", two, 0)
    live.ok("aclrtResetDevice", 0)
    return live


def counting() -> Live:
    """A number that records of one stream change, and that others wait for."""
    live = Live(Settings(devices=2, product="950PR"))
    live.ok("aclrtSetDevice", 0)
    first, second = live.create("aclrtCreateStream"), live.create("aclrtCreateStream")
    notify = live.create("aclrtCntNotifyCreate", 0)
    live.ok("aclrtCntNotifyGetId", notify, OUT)
    live.ok("aclrtCntNotifyWaitWithTimeout", notify, second, (3, 2, 0, 1, b"\0\0\0"))
    live.call("aclrtCntNotifyWaitWithTimeout", notify, second, None)
    for mode, value in ((1, 1), (2, 2), (4, 7), (0, 2)):
        live.ok("aclrtCntNotifyRecord", notify, first, (mode, value))
    live.ok("aclrtSynchronizeStream", second)
    live.ok("aclrtCntNotifyReset", notify, first)
    live.ok("aclrtCntNotifyWaitWithTimeout", notify, second, (2, 5, 1, 0, b"\0\0\0"))
    live.pace(after=SECOND + 100_000)
    live.call("aclrtSynchronizeStream", second)
    live.ok("aclrtCntNotifyDestroy", notify)
    live.call("aclrtCntNotifyRecord", notify, first, (0, 2))
    return live
