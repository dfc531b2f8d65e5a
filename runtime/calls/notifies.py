"""Notifies: making, recording, waiting, resetting, sharing (semantics.md 2)."""

from typing import TYPE_CHECKING, Any, Final

from cannery.runtime import exchange, notifies
from cannery.runtime.calls import sharing
from cannery.runtime.calls.registry import call
from cannery.runtime.calls.streams import named_stream, submission_stream
from cannery.runtime.errors import (
    ACL_ERROR_RT_INTERNAL_ERROR,
    ACL_ERROR_RT_NO_NOTIFY_RESOURCE,
    Refused,
    null,
    out_of_range,
    stale,
    unsupported,
)
from cannery.runtime.notifies import Notify, NotifyRecord, NotifyWait
from cannery.runtime.objects import Thread

if TYPE_CHECKING:
    from cannery.runtime.machine import Machine

FLAGS: Final = ("ACL_NOTIFY_DEFAULT", "ACL_NOTIFY_DEVICE_USE_ONLY")
PROCESS_LIMIT: Final = 0xFFFF_FFFF
KEY_SIZE: Final = 65  # with its terminator
EXPORT_UNLISTED: Final = 2  # ACL_RT_NOTIFY_EXPORT_FLAG_DISABLE_PID_VALIDATION
IMPORT_FLAGS: Final = 3
IMPORT_PEER_ACCESS: Final = 2  # ACL_RT_NOTIFY_IMPORT_FLAG_ENABLE_PEER_ACCESS
_SECOND: Final = 1_000_000_000


def live_notify(machine: "Machine", handle: int) -> Notify:
    """Raises 100000 for null, 107017 for what is no live notify."""
    if not handle:
        raise null("notify")
    notify = machine.notifies.get(handle)
    if notify is None:
        raise stale("notify", handle)
    return notify


# Making and destroying.


@call("aclrtCreateNotify")
def create_notify(machine: "Machine", thread: Thread, out: int, flag: int) -> Any:
    if not out:
        raise null("notify")
    machine.hold()
    if flag >= len(FLAGS):
        raise out_of_range("the argument flag is {:#x}; pass {} (0) or {} (1)", flag, *FLAGS)
    device = machine.context_of(thread).device
    budget = device.notify_numbers.budget
    assert budget is not None
    if not budget.claim(1):
        raise Refused(
            ACL_ERROR_RT_NO_NOTIFY_RESOURCE,
            "device {} has {} notifies, {} of them of other processes, and this product no more; destroy some, or "
            "reuse them",
            device.user, budget.held + budget.others, budget.others,
        )  # fmt: skip
    return 0, notifies.make(machine, device).handle


@call("aclrtDestroyNotify")
def destroy_notify(machine: "Machine", thread: Thread, handle: int) -> int:
    if not handle:
        raise null("notify")
    machine.hold()
    notify = live_notify(machine, handle)
    machine.context_of(thread)
    notifies.close(machine, notify)
    return 0


@call("aclrtGetNotifyId")
def get_notify_id(machine: "Machine", thread: Thread, handle: int, out: int) -> Any:
    if not handle:
        raise null("notify")
    if not out:
        raise null("notifyId")
    notify = live_notify(machine, handle)
    machine.context_of(thread)
    return 0, notify.number


# Recording, waiting, resetting.


@call("aclrtRecordNotify")
def record_notify(machine: "Machine", thread: Thread, handle: int, stream_handle: int) -> int:
    if not handle:
        raise null("notify")
    machine.hold()
    notify = live_notify(machine, handle)
    named = named_stream(machine, stream_handle)
    record = NotifyRecord()
    record.notify = notify
    record.cost = machine.event_cost
    record.stream = submission_stream(machine, machine.context_of(thread), stream_handle, named)
    if record.stream.lane is None:
        notify.pending.append(record)
    machine.schedule.submit(record)
    if notify.exchange is not None:
        machine.hasten()
    return 0


@call("aclrtWaitAndResetNotify")
def wait_and_reset_notify(machine: "Machine", thread: Thread, handle: int, stream_handle: int, timeout: int) -> int:
    if not handle:
        raise null("notify")
    machine.hold()
    notify = live_notify(machine, handle)
    named = named_stream(machine, stream_handle)
    stream = submission_stream(machine, machine.context_of(thread), stream_handle, named)
    if notify.entry and stream.device.index != notify.home:
        raise out_of_range(
            "the notify {:#x} is shared between processes and is of the device with the physical id {}, the stream "
            "{:#x} of that with {}; wait for it on the device where it was made",
            handle, notify.home, stream.handle, stream.device.index,
        )  # fmt: skip
    wait = NotifyWait()
    wait.notify = notify
    wait.open = False
    wait.limit = _limit(machine, timeout)
    wait.cost = machine.event_cost
    wait.stream = stream
    if stream.lane is None:
        notify.waits += 1
    machine.schedule.submit(wait)
    return 0


def _limit(machine: "Machine", timeout: int) -> int:
    if timeout != PROCESS_LIMIT:
        return timeout * _SECOND
    return 0 if machine.profile.notify_waits_in_hardware else machine.process.wait_limit


@call("aclrtNotifyBatchReset")
def notify_batch_reset(machine: "Machine", thread: Thread, handles: tuple[int, ...] | None, count: int) -> int:
    """Resets one after the other: those before one that is refused stay reset. Acts at once, whatever is queued."""
    if handles is None:
        raise null("notifies")
    machine.hold()
    if not count:
        raise out_of_range("the argument num is 0; pass how many notifies are in the array")
    for place, handle in enumerate(handles):
        if not handle:
            raise out_of_range(
                "element {} of the argument notifies is null; those before it are reset, those behind it are not", place
            )
        notify = live_notify(machine, handle)
        machine.context_of(thread)
        notify.recorded = False
        if notify.exchange is not None:
            notify.exchange.clear(notify.entry)
    return 0


# Sharing.


@call("aclrtNotifyGetExportKey")
def notify_get_export_key(machine: "Machine", thread: Thread, handle: int, out: int, size: int, flags: int) -> Any:
    if not handle:
        raise null("notify")
    if not out:
        raise null("key")
    notify = live_notify(machine, handle)
    if size < KEY_SIZE:
        raise out_of_range("the argument len is {}; a key takes {} bytes", size, KEY_SIZE)
    if flags not in (0, EXPORT_UNLISTED):
        raise out_of_range(
            "the argument flags is {:#x}; pass ACL_RT_NOTIFY_EXPORT_FLAG_DEFAULT (0) or _DISABLE_PID_VALIDATION (2)",
            flags,
        )
    if notify.entry:
        raise Refused(
            ACL_ERROR_RT_INTERNAL_ERROR,
            "the notify {:#x} {}; keep the first key",
            handle, "has a key already, and gets no second one" if notify.own else "is another process's",
        )  # fmt: skip
    entry, key = machine.port.exchange.share(exchange.NOTIFY, notify.home, 0, notify.number, not flags)
    if not entry:
        raise sharing.alone()
    notify.key = key
    notify.become(machine, entry)
    return 0, key


def _check_exported(notify: Notify) -> None:
    """Raises 107000: the reference documents ask for the key first, and do not say what happens else (our choice)."""
    if notify.key is None:
        raise out_of_range(
            "the notify {:#x} has no key yet; call aclrtNotifyGetExportKey first, and then say who may import it",
            notify.handle,
        )


@call("aclrtNotifySetImportPid")
def notify_set_import_pid(
    machine: "Machine", thread: Thread, handle: int, processes: tuple[int, ...] | None, count: int
) -> int:
    if not handle:
        raise null("notify")
    if processes is None:
        raise null("pid")
    notify = live_notify(machine, handle)
    if not count:
        raise out_of_range("the argument num is 0; pass how many process ids are in the array")
    _check_exported(notify)
    sharing.allow(machine, exchange.NOTIFY, notify.key, processes)
    return 0


@call("aclrtNotifySetImportPidInterServer", everywhere=True)
def notify_set_import_pid_inter_server(
    machine: "Machine", thread: Thread, handle: int, servers: tuple[Any, ...] | None, count: int
) -> int:
    """Products without it check the arguments too (observed). All processes of a session are on one server: whatever is
    said of others, they are put on the list."""
    if not handle:
        raise out_of_range("the argument notify is null; pass the address of an object that exists")
    if servers is None:
        raise out_of_range("the argument serverPids is null; pass the address of an object that exists")
    notify = live_notify(machine, handle)
    if not count:
        raise out_of_range("the argument num is 0; pass how many elements are in the array")
    for place, (_, processes, number) in enumerate(servers):
        if processes is None or number != 1:
            raise out_of_range(
                "element {} of the argument serverPids has {} process ids; each has to have one, with num 1",
                place, "no list of" if processes is None else number,
            )  # fmt: skip
    if not machine.profile.other_servers:
        raise unsupported(
            "product {} does not share notifies with other servers; choose another one with --product",
            machine.profile.name,
        )
    _check_exported(notify)
    sharing.allow(machine, exchange.NOTIFY, notify.key, [processes[0] for _, processes, _ in servers])
    return 0


@call("aclrtNotifyImportByKey")
def notify_import_by_key(machine: "Machine", thread: Thread, out: int, key: Any, flags: int) -> Any:
    if not out:
        raise null("notify")
    if key is None:
        raise null("key")
    machine.hold()
    if flags > IMPORT_FLAGS:
        raise out_of_range(
            "the argument flags is {:#x}; pass ACL_RT_NOTIFY_IMPORT_FLAG_DEFAULT (0) or _ENABLE_PEER_ACCESS (2)", flags
        )
    device = machine.context_of(thread).device
    entry, home, number = sharing.open_entry(machine, exchange.NOTIFY, key, "notify")
    if flags & IMPORT_PEER_ACCESS and home != device.index:
        device.peers.add(home)
    return 0, notifies.opened(machine, device, home, number, entry).handle
