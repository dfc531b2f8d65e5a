"""Programs of two processes, for ``scenarios.py``: each gives the records of one of them."""

from typing import Any

from cannery.runtime.settings import Settings
from tests.fake_session import Session
from tests.live import HOST_BASE, OUT, Live

IPC = 0x40
TO_DEVICE, TO_HOST = 1, 2
MIB = 1 << 20
SIZE = 256


def pair(**settings: Any) -> tuple[Live, Live]:
    """Two processes on device 0 of one machine."""
    session = Session(slots=2)
    lives = [Live(Settings(devices=2, product="A3", **settings), session=session) for _ in range(2)]
    for live in lives:
        live.ok("aclrtSetDevice", 0)
        live.ok("aclrtSetDevice", 0, thread=2)
    return lives[0], lives[1]


def out(live: Live, name: str, *args: Any) -> Any:
    """The output of a call that has to succeed."""
    ret, value = live.call(name, *args)
    assert ret == 0, (name, ret)
    return value


def _notifies(mine: int) -> Live:
    one, two = lives = pair()
    stream = [live.create("aclrtCreateStream") for live in lives]
    here = one.create("aclrtCreateNotify", 0)
    key = out(one, "aclrtNotifyGetExportKey", here, OUT, 65, 0)
    two.call("aclrtNotifyImportByKey", OUT, key, 0)
    one.ok("aclrtNotifySetImportPid", here, (out(two, "aclrtDeviceGetBareTgid", OUT), 7), 2)
    one.ok("aclrtNotifySetImportPidInterServer", here, ((3, (8,), 1),), 1)
    there = two.create("aclrtNotifyImportByKey", key, 2)
    for live, notify, mine_stream, other, record, other_stream in (
        (one, here, stream[0], two, there, stream[1]), (two, there, stream[1], one, here, stream[0]),
    ):  # fmt: skip
        live.ok("aclrtWaitAndResetNotify", notify, mine_stream, 0)
        live.call("aclrtSynchronizeStream", mine_stream)
        live.signal()
        other.ok("aclrtRecordNotify", record, other_stream)
        other.ok("aclrtSynchronizeStream", other_stream)
        live.signal()
    two.ok("aclrtRecordNotify", there, stream[1])
    two.pace(1_000_000)
    one.ok("aclrtWaitAndResetNotify", here, stream[0], 0)
    one.ok("aclrtSynchronizeStream", stream[0])
    one.ok("aclrtRecordNotify", here, stream[0])
    one.pace(1_000_000)
    two.ok("aclrtNotifyBatchReset", (there,), 1)
    two.ok("aclrtWaitAndResetNotify", there, stream[1], 1)
    two.call("aclrtSynchronizeStream", stream[1])
    two.pace(1_100_000_000)
    two.ok("aclrtDestroyNotify", there)
    one.ok("aclrtDestroyNotify", here)
    one.ok("aclrtResetDevice", 0)
    return lives[mine]


def _events(mine: int) -> Live:
    one, two = lives = pair()
    held, stream = one.create("aclrtCreateStream"), two.create("aclrtCreateStream")
    event = one.create("aclrtCreateEventExWithFlag", IPC)
    gate = one.create("aclrtCreateEventWithFlag", 1)
    one.ok("aclrtStreamWaitEvent", held, gate)
    one.ok("aclrtRecordEvent", event, held)
    key = out(one, "aclrtIpcGetEventHandle", event, OUT)
    there = out(two, "aclrtIpcOpenEventHandle", key, OUT)
    two.call("aclrtIpcOpenEventHandle", (bytes(64),), OUT)
    two.ok("aclrtQueryEventStatus", there, OUT)
    two.ok("aclrtStreamWaitEvent", stream, there)
    two.call("aclrtSynchronizeStream", stream)
    two.call("aclrtRecordEvent", there, 0, thread=2)
    two.call("aclrtRecordEvent", there, 0, thread=2)
    one.ok("aclrtRecordEvent", gate, 0)
    one.ok("aclrtSynchronizeStream", held)
    two.signal()
    two.ok("aclrtRecordEvent", there, stream)
    one.ok("aclrtStreamWaitEvent", held, event)
    one.call("aclrtSynchronizeEvent", event)
    two.ok("aclrtSynchronizeStream", stream)
    one.signal()
    two.ok("aclrtDestroyEvent", there)
    one.ok("aclrtDestroyEvent", event)
    return lives[mine]


def _memory(mine: int) -> Live:
    one, two = lives = pair()
    here = one.create("aclrtMalloc", SIZE, 0)
    one.ok("aclrtMemcpy", here, SIZE, one.host.put(0, bytes(range(256))), SIZE, TO_DEVICE)
    key = out(one, "aclrtIpcMemGetExportKey", here, SIZE, OUT, 65, 0)
    two.call("aclrtIpcMemImportByKey", OUT, key, 0)
    one.ok("aclrtIpcMemSetImportPid", key, (out(two, "aclrtDeviceGetBareTgid", OUT),), 1)
    one.ok("aclrtIpcMemImportPidInterServer", key, ((0, (5,), 1),), 1)
    two.ok("aclrtIpcMemSetAttr", key, 0, 1)
    there = two.create("aclrtIpcMemImportByKey", key, 1)
    own = two.create("aclrtMalloc", SIZE, 0)
    two.ok("aclrtMemcpy", own, SIZE, there, SIZE, 3)
    two.ok("aclrtMemset", there, SIZE, 9, 16)
    one.ok("aclrtMemcpy", HOST_BASE, SIZE, here, SIZE, TO_HOST)
    stream = two.create("aclrtCreateStream")
    two.ok("aclrtValueWait", there + 8, 3, 1, stream)
    two.call("aclrtSynchronizeStream", stream)
    one.ok("aclrtMemcpy", here + 8, 8, one.host.put(0, (3).to_bytes(8, "little")), 8, TO_DEVICE)
    two.signal()
    two.ok("aclrtMemcpy", HOST_BASE, SIZE, there, SIZE, TO_HOST)
    two.ok("aclrtIpcMemClose", key)
    one.ok("aclrtIpcMemClose", key)
    one.ok("aclrtGetMemInfo", 1, OUT, OUT)
    one.ok("aclrtFree", here)
    return lives[mine]


def _physical(mine: int) -> Live:
    one, two = lives = pair()
    properties = (0, 0, 4, (0, 1), 0)
    handles = [one.create("aclrtMallocPhysical", 2 * MIB, properties, 0) for _ in range(3)]
    number = out(one, "aclrtMemExportToShareableHandle", handles[0], 0, 0, OUT)
    keys = [out(one, "aclrtMemExportToShareableHandleV2", handles[n], 0, n, OUT) for n in (1, 2)]
    process = out(two, "aclrtDeviceGetBareTgid", OUT)
    two.call("aclrtMemImportFromShareableHandle", number, 0, OUT)
    one.ok("aclrtMemSetPidToShareableHandle", number, (process,), 1)
    there = [out(two, "aclrtMemImportFromShareableHandle", number, 1, OUT)]
    for share_type, key in enumerate(keys, 1):
        one.ok("aclrtMemSetPidToShareableHandleV2", key, share_type, (process,), 1)
        there.append(out(two, "aclrtMemImportFromShareableHandleV2", key, share_type, 0, OUT))
    places = []
    for live, handle in ((one, handles[0]), (two, there[0])):
        places.append(live.create("aclrtReserveMemAddress", 2 * MIB, 0, 0, 0))
        live.ok("aclrtMapMem", places[-1], 2 * MIB, 0, handle, 0)
    one.ok("aclrtMemcpy", places[0], SIZE, one.host.put(0, b"across" * 9), 54, TO_DEVICE)
    two.ok("aclrtMemcpy", HOST_BASE, SIZE, places[1], SIZE, TO_HOST)
    two.ok("aclrtUnmapMem", places[1])
    for handle in there:
        two.ok("aclrtFreePhysical", handle)
    for handle in handles:
        one.ok("aclrtFreePhysical", handle)
    return lives[mine]


ALL = {
    f"{what} of the {which} process": (lambda make=make, mine=mine: make(mine))
    for what, make in (
        ("notifies", _notifies),
        ("events", _events),
        ("memory", _memory),
        ("physical memory", _physical),
    )
    for mine, which in enumerate(("first", "second"))
}
