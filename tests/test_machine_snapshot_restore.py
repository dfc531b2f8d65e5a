"""What a backup keeps and a restore brings back (semantics.md 10.4): devices as they were, and the host as it is."""

from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings

from cannery.runtime.backup import OF_THE_HOST, _outside
from cannery.runtime.invoke import Invoke
from cannery.runtime.machine import Wait
from cannery.runtime.pages import Page, pages
from cannery.runtime.schedule_serial import Serial
from cannery.runtime.settings import Settings
from cannery.runtime.state import capture
from tests import scenarios_sharing
from tests.fake_session import Session
from tests.fakes import OUT, Driver
from tests.live import Live
from tests.sharing_tools import Pair, Process, get, put
from tests.snapshots import state
from tests.test_machine_arguments import FUNCTION
from tests.test_machine_snapshot_arguments import BACKUP, LOCK, RESTORE, UNLOCK
from tests.test_replay_random import Program, steps

SIZE = 3 << 20
BESIDES = frozenset({"exchange", "others", "function", "stage"})  # the session; what is known of it; the last call
UNWAITED = 0x10  # ACL_STREAM_CPU_SCHEDULE: no synchronise waits for it, so a backup finds work on it


def snapshot(driver: Driver, *calls: str) -> None:
    for call in calls:
        driver.ok(call, 0, 0)


def store(driver: Driver, address: int, content: bytes) -> None:
    """As another process writes that has the memory too."""
    offset = address - driver.machine.memory.base
    driver.host.stores[0].view[offset : offset + len(content)] = content


def loaded(driver: Driver, address: int, size: int) -> bytes:
    target = driver.pinned(bytes(size))
    driver.ok("aclrtMemcpy", target, size, address, size, 2)
    return driver.host.peek(target, size)


def unwaited(driver: Driver) -> int:
    return int(driver.ok("aclrtCreateStreamWithConfig", OUT, 0, UNWAITED))


# Memory.


def test_device_memory_is_as_it_was_at_the_backup() -> None:
    driver = Driver().opened()
    small, large, untouched = (driver.device_memory(size) for size in (512, SIZE, SIZE))
    store(driver, small, b"s" * 512)
    store(driver, large + 8192, b"l" * 100)
    snapshot(driver, LOCK, BACKUP)
    for address in (small, large, large + 8192, large + SIZE - 8, untouched, untouched + 70_000):
        store(driver, address, b"changed!")
    snapshot(driver, RESTORE, UNLOCK)
    assert loaded(driver, small, 512) == b"s" * 512
    assert loaded(driver, large, SIZE) == bytes(8192) + b"l" * 100 + bytes(SIZE - 8292)
    assert loaded(driver, untouched, SIZE) == bytes(SIZE)


def test_memory_of_every_device_is_kept() -> None:
    driver = Driver().opened()
    addresses = [driver.device_memory(512)]
    driver.ok("aclrtSetDevice", 1)
    addresses.append(driver.device_memory(512))
    for device in (0, 1):
        driver.host.stores[device].view[:4] = b"dev%d" % device
    snapshot(driver, LOCK, BACKUP)
    for device in (0, 1):
        driver.host.stores[device].view[:4] = b"gone"
    snapshot(driver, RESTORE, UNLOCK)
    assert [loaded(driver, address, 4) for address in addresses] == [b"dev0", b"dev1"]


def test_the_last_backup_counts() -> None:
    driver = Driver().opened()
    address = driver.device_memory(512)
    driver.ok(LOCK, 0, 0)
    for content in (b"first", b"other"):
        store(driver, address, content)
        driver.ok(BACKUP, 0, 0)
    store(driver, address, b"third")
    snapshot(driver, RESTORE, BACKUP)
    store(driver, address, b"fifth")
    snapshot(driver, RESTORE, UNLOCK)
    assert loaded(driver, address, 5) == b"other"


def test_a_backup_that_fails_leaves_the_one_before() -> None:
    driver = Driver().opened()
    address = driver.device_memory(512)
    store(driver, address, b"first")
    snapshot(driver, LOCK, BACKUP)
    store(driver, address, b"other")
    driver.ok("aclrtLaunchHostFunc", driver.machine.streams and next(iter(driver.machine.streams)), FUNCTION, 0)
    driver.ok("aclrtSnapShotCallbackRegister", 1, FUNCTION, 0)
    assert isinstance(driver.call(BACKUP, 0, 0), Invoke)
    assert driver.returned(value=1) == 507912
    driver.ok("aclrtSnapShotCallbackUnregister", 1, FUNCTION)
    snapshot(driver, RESTORE, UNLOCK)
    assert loaded(driver, address, 5) == b"first"


def test_what_a_backup_keeps_is_as_large_as_what_was_touched() -> None:
    driver = Driver().opened()
    address = driver.device_memory(1 << 30)
    store(driver, address + (100 << 20), bytes(1 << 20))
    snapshot(driver, LOCK, BACKUP)
    saved = driver.machine.saved
    assert saved is not None and saved.content is not None and len(saved.content) == 1 << 20
    snapshot(driver, UNLOCK)
    assert driver.machine.saved is None


def test_a_backup_of_what_it_does_not_know_says_so() -> None:
    driver = Driver().opened()
    address = driver.device_memory(512)
    store(driver, address, b"first")
    snapshot(driver, LOCK, BACKUP)
    store(driver, address, b"other")
    driver.machine.groups[1] = object()  # type: ignore[assignment]
    assert driver.call(BACKUP, 0, 0) == 507908 and "cannot keep (" in driver.message()
    driver.machine.groups.clear()
    snapshot(driver, RESTORE, UNLOCK)
    assert loaded(driver, address, 5) == b"first"


def test_a_backup_that_has_no_memory_says_so(monkeypatch: pytest.MonkeyPatch) -> None:
    def no_memory(*_: Any, **__: Any) -> Any:
        raise OSError(12, "Cannot allocate memory")

    driver = Driver().opened()
    store(driver, driver.device_memory(512), b"first")
    monkeypatch.setattr("cannery.runtime.backup.mmap.mmap", no_memory)
    driver.ok(LOCK, 0, 0)
    assert driver.call(BACKUP, 0, 0) == 507908 and "Cannot allocate memory" in driver.message()
    driver.ok(UNLOCK, 0, 0)


@pytest.mark.parametrize(
    ("kept", "left"),
    [
        ([], [(10, 10), (40, 20)]), ([(10, 10), (40, 20)], []), ([(0, 100)], []),
        ([(0, 5), (90, 5)], [(10, 10), (40, 20)]),
        ([(15, 30)], [(10, 5), (45, 15)]), ([(45, 5), (52, 3)], [(10, 10), (40, 5), (50, 2), (55, 5)]),
    ],
)  # fmt: skip
def test_ranges_outside_of_others(kept: list[tuple[int, int]], left: list[tuple[int, int]]) -> None:
    assert _outside([(10, 10), (40, 20)], kept) == left


# Objects and work.


def test_handles_and_events_keep_their_meaning() -> None:
    driver = Driver().opened()
    stream, done, fresh, flag = driver.stream(), driver.event(), driver.event(), driver.event(1)
    notify = driver.ok("aclrtCreateNotify", OUT, 0)
    driver.ok("aclrtRecordEvent", done, stream)
    driver.ok("aclrtRecordEvent", flag, stream)
    driver.ok("aclrtRecordNotify", notify, stream)
    queries = [("aclrtQueryEventStatus", event, OUT) for event in (done, fresh, flag)]
    queries += [("aclrtGetNotifyId", notify, OUT), ("aclrtStreamGetId", stream, OUT), ("aclrtGetMemInfo", 1, OUT, OUT)]
    snapshot(driver, LOCK, BACKUP)
    before = [driver.call(*query) for query in queries]
    snapshot(driver, RESTORE)
    assert [driver.call(*query) for query in queries] == before
    driver.ok(UNLOCK, 0, 0)
    driver.ok("aclrtStreamWaitEvent", stream, flag)
    driver.ok("aclrtWaitAndResetNotify", notify, stream, 1)
    driver.ok("aclrtSynchronizeStream", stream)
    assert driver.stream() > max(stream, notify)  # numbers of handles go on


@pytest.mark.parametrize("schedule", ["asap", "late", "seed:2"])
def test_work_that_a_backup_found_is_pending_again(schedule: str) -> None:
    driver = Driver(schedule=schedule).opened()
    stream, gate, address = unwaited(driver), driver.event(1), driver.device_memory(512)
    store(driver, address, b"before")
    driver.ok("aclrtStreamWaitEventWithTimeout", stream, gate, 1)
    driver.ok("aclrtMemcpyAsync", address, 6, driver.pinned(b"behind"), 6, 1, stream)
    driver.pace(300)
    snapshot(driver, LOCK, BACKUP)
    driver.pace(2000)
    assert not driver.machine.streams[stream].queue  # the wait expired, the copy ran
    snapshot(driver, RESTORE)
    assert len(driver.machine.streams[stream].queue) == 2 and driver.machine.streams[stream].failure is None
    driver.pace(600)
    assert len(driver.machine.streams[stream].queue) == 2  # 300 ms of its second were over at the backup
    driver.ok(UNLOCK, 0, 0)
    assert loaded(driver, address, 6) == b"before"
    driver.ok("aclrtRecordEvent", gate, 0)
    driver.ok("aclrtSynchronizeStream", 0)
    driver.pace(200)
    assert loaded(driver, address, 6) == b"behind"


def test_the_limit_of_a_wait_goes_on_where_it_was() -> None:
    driver = Driver().opened()
    stream, gate = unwaited(driver), driver.event(1)
    driver.ok("aclrtStreamWaitEventWithTimeout", stream, gate, 1)
    driver.pace(300)
    snapshot(driver, LOCK, BACKUP)
    driver.pace(5000)
    snapshot(driver, RESTORE, UNLOCK)
    driver.pace(690)
    assert driver.machine.streams[stream].queue
    driver.pace(20)
    assert not driver.machine.streams[stream].queue


def test_functions_that_were_launched_since_are_lost_and_nobody_waits_for_them() -> None:
    driver = Driver().opened()
    stream = driver.stream()
    snapshot(driver, LOCK, BACKUP)
    driver.ok("aclrtLaunchHostFunc", stream, FUNCTION, 0)
    driver.ok("aclrtLaunchHostFunc", stream, FUNCTION + 1, 0)
    wait = driver.call("aclrtSynchronizeStream", stream, thread=1)
    assert isinstance(wait, Wait)
    assert [errand.invoke.function for errand in driver.errands] == [FUNCTION]
    driver.ok(RESTORE, 0, 0, thread=2)
    assert wait.reply == 0 and not driver.machine.streams[stream].queue
    driver.errand_done(1)  # the one that was running
    assert driver.dismissed == [1]
    driver.ok(UNLOCK, 0, 0)
    driver.errands.clear()
    driver.ok("aclrtLaunchHostFunc", stream, FUNCTION + 2, 0)
    driver.pace(1)
    assert [(errand.worker, errand.invoke.function) for errand in driver.errands] == [(2, FUNCTION + 2)]


def test_a_worker_that_is_busy_at_a_restore_goes_on_when_it_is_not() -> None:
    driver = Driver().opened()
    stream = driver.stream()
    driver.ok("aclrtLaunchHostFunc", stream, FUNCTION, 0)
    driver.pace(1)
    driver.errand_done(1)
    snapshot(driver, LOCK, BACKUP)
    driver.ok("aclrtLaunchHostFunc", stream, FUNCTION + 1, 0)
    driver.pace(1)
    snapshot(driver, RESTORE, UNLOCK)
    driver.errands.clear()
    driver.ok("aclrtLaunchHostFunc", stream, FUNCTION + 2, 0)
    driver.pace(1)
    assert not driver.errands  # the worker still runs what is lost
    driver.errand_done(1)
    assert [(errand.worker, errand.invoke.function) for errand in driver.errands] == [(1, FUNCTION + 2)]
    driver.errand_done(1)
    driver.ok("aclrtSynchronizeStream", stream)


def test_a_function_that_ran_at_the_backup_runs_again() -> None:
    driver = Driver().opened()
    stream = unwaited(driver)
    driver.ok("aclrtLaunchHostFunc", stream, FUNCTION, 0)
    driver.pace(1)
    snapshot(driver, LOCK, BACKUP)
    driver.errand_done(1)
    driver.pace(1)
    assert not driver.machine.streams[stream].queue
    driver.errands.clear()
    driver.ok(RESTORE, 0, 0)
    assert [errand.invoke.function for errand in driver.errands] == [FUNCTION]
    assert driver.machine.streams[stream].queue
    driver.errand_done(1)
    driver.pace(1)
    assert not driver.machine.streams[stream].queue


def test_settings_of_devices_go_back_and_those_of_the_host_stay() -> None:
    driver = Driver().opened()
    snapshot(driver, LOCK, BACKUP)
    driver.ok("aclrtDeviceEnablePeerAccess", 1, 0)
    driver.ok("aclInit", None)
    driver.ok("aclrtSetCurrentContext", driver.ok("aclrtGetCurrentContext", OUT), thread=2)
    snapshot(driver, RESTORE)
    driver.ok("aclrtDeviceEnablePeerAccess", 1, 0)  # not enabled any more
    assert driver.call("aclInit", None) == 100002  # done already
    driver.ok("aclrtGetDevice", OUT, thread=2)


def test_graphs_can_be_executed_after_a_restore() -> None:
    driver = Driver().opened()
    stream, address = driver.stream(), driver.device_memory(512)
    driver.ok("aclmdlRICaptureBegin", stream, 1)
    driver.ok("aclrtMemsetAsync", address, 512, 7, 512, stream)
    graph = driver.ok("aclmdlRICaptureEnd", stream, OUT)
    snapshot(driver, LOCK, BACKUP, RESTORE, UNLOCK)
    driver.ok("aclmdlRIExecuteAsync", graph, stream)
    driver.ok("aclrtSynchronizeStream", stream)
    assert loaded(driver, address, 4) == b"\7" * 4


def test_calls_that_are_held_go_on_after_the_restore() -> None:
    driver = Driver().opened()
    event = driver.event()
    snapshot(driver, LOCK, BACKUP)
    wait = driver.call("aclrtRecordEvent", event, 0, thread=2)
    driver.ok("aclrtSetCurrentContext", driver.ok("aclrtGetCurrentContext", OUT), thread=2) if wait.reply else None
    snapshot(driver, RESTORE)
    assert wait.reply is None
    driver.ok(UNLOCK, 0, 0)
    assert wait.reply == 107002  # that thread has no context


# Any program.


def devices(live: Live) -> tuple[Any, list[Page]]:
    """The devices as a value."""
    machine = live.machine
    return capture(machine, OF_THE_HOST).to_wire(), pages(machine, lambda digest, content: None)


def call(program: Program, name: str) -> Any:
    """A snapshot call by a thread of its own, with its callbacks; None if it waits for one of the program."""
    live, thread = program.live, 9
    if thread not in live.waiting_threads():
        reply = live.call(name, 0, 0, thread=thread)
        while isinstance(reply, Invoke):
            reply = live.returned(thread, 0)
        program.waiting = live.waiting_threads()
        return None if isinstance(reply, Wait) else reply
    return None


def is_quiet(live: Live) -> bool:
    """Whether the state of the devices is all that there is."""
    machine = live.machine
    if isinstance(machine.schedule, Serial) and (machine.schedule.aging or machine.schedule.overdue):
        return False
    return not machine.schedule.limits and not any(worker.running for worker in machine.workers.values())


@pytest.mark.parametrize("schedule", ["asap", "late", "seed:7"])
@settings(max_examples=70, deadline=None, suppress_health_check=[HealthCheck.too_slow])
@given(before=steps, between=steps, after=steps)
def test_any_program_finds_the_devices_as_they_were_and_replays(
    schedule: str, before: list[Any], between: list[Any], after: list[Any]
) -> None:
    live = Live(Settings(devices=2, schedule=schedule))
    live.ok("aclrtSetDevice", 0)
    live.ok("aclrtSetDevice", 0, thread=2)
    program = Program(live)
    for step in before:
        program.step(step)
    call(program, LOCK)
    if call(program, BACKUP) == 0:
        machine, saved = live.machine, live.machine.saved
        count, kept = machine.schedule.count, devices(live)
        for step in between:
            program.step(step)
        if call(program, RESTORE) == 0 and machine.saved is saved and is_quiet(live):
            assert saved is not None
            back = saved.now + saved.skip - machine.now - machine.skip
            machine.schedule.resume(back, saved.now - machine.now)
            count, machine.schedule.count = machine.schedule.count, count
            assert devices(live) == kept
            machine.schedule.resume(-back, machine.now - saved.now)
            machine.schedule.count = count
    call(program, UNLOCK)
    for step in after:
        program.step(step)
    replay = live.replay()
    assert replay.compared.differences == [] and replay.calls == live.calls


# Other processes of the session.


def test_a_device_that_another_process_took_is_not_restored_until_it_is_let_go() -> None:
    session = Session()
    driver, other = Process(session, product="A3"), Process(session, device=1, product="A3")
    address = driver.device_memory(512)
    store(driver, address, b"kept")
    snapshot(driver, LOCK, BACKUP)
    store(driver, address, b"lost")
    other.ok("aclrtSetDevice", 0)
    before = state(driver.machine, BESIDES)
    assert driver.call(RESTORE, 0, 0) == 507899
    assert "device 0 is in use by another process" in driver.call("aclGetRecentErrMsg").decode()
    assert state(driver.machine, BESIDES) == before
    other.ok("aclrtResetDevice", 0)
    snapshot(driver, RESTORE, UNLOCK)
    assert loaded(driver, address, 4) == b"kept"


def test_a_device_that_was_not_open_at_the_backup_may_be_taken() -> None:
    session = Session()
    driver = Process(session, product="A3")
    snapshot(driver, LOCK, BACKUP)
    Process(session, device=1, product="A3")
    snapshot(driver, RESTORE, UNLOCK)


def test_a_process_that_shared_the_device_from_the_beginning_has_it_too() -> None:
    pair = Pair(product="A3")
    snapshot(pair.one, LOCK, BACKUP)
    assert pair.one.call(RESTORE, 0, 0) == 507899
    pair.session.die(pair.two.member)
    snapshot(pair.one, RESTORE, UNLOCK)


def test_what_others_held_of_the_device_is_part_of_the_trace() -> None:
    one, two = scenarios_sharing.pair()
    two.ok("aclrtResetDevice", 0)
    two.ok("aclrtResetDevice", 0)
    for name in (LOCK, BACKUP):
        one.ok(name, 0, 0)
    two.ok("aclrtSetDevice", 0)
    assert one.call(RESTORE, 0, 0) == 507899
    two.ok("aclrtResetDevice", 0)
    for name in (RESTORE, UNLOCK):
        one.ok(name, 0, 0)
    assert one.replay().compared.differences == []


def test_memory_of_another_process_stays_open_and_keeps_what_its_owner_has_in_it() -> None:
    pair = Pair(product="A3")
    here, there = pair.memory(b"before")

    put(pair.two, there, b"backup")
    assert get(pair.two, there, 6) == b"backup"
    snapshot(pair.two, LOCK, BACKUP)
    store(pair.one, here, b"change")
    pair.session.die(pair.one.member)
    snapshot(pair.two, RESTORE, UNLOCK)
    assert get(pair.two, there, 6) == b"change"
