"""Notifies: one flag each, that a record sets and one wait takes (semantics.md 2)."""

import gc
from typing import Any

import pytest

from cannery.runtime.machine import Wait
from tests.fakes import OUT, Driver

SCHEDULES = ("asap", "late", "seed:1", "seed:9")
SECOND = 1000  # ms
EXPIRED = 107020


@pytest.fixture
def driver() -> Driver:
    return Driver().opened()


@pytest.fixture(params=SCHEDULES)
def any_driver(request: pytest.FixtureRequest) -> Driver:
    return Driver(schedule=request.param).opened()


def notify(driver: Driver) -> int:
    return int(driver.ok("aclrtCreateNotify", OUT, 0))


def record(driver: Driver, handle: int, stream: int = 0) -> None:
    driver.ok("aclrtRecordNotify", handle, stream)


def wait(driver: Driver, handle: int, stream: int, limit: int = 0) -> None:
    driver.ok("aclrtWaitAndResetNotify", handle, stream, limit)


def busy(driver: Driver, *streams: int) -> list[int]:
    """Their states after a time in which all happens that can."""
    driver.pace(200)
    return [int(driver.ok("aclrtStreamQuery", stream, OUT)) for stream in streams]


def synchronise(driver: Driver, stream: int) -> Any:
    return driver.call("aclrtSynchronizeStream", stream)


class TestMaking:
    @pytest.mark.parametrize(("flag", "accepted"), [(0, True), (1, True), (2, False), (1 << 32, False)])
    def test_flags(self, driver: Driver, flag: int, accepted: bool) -> None:
        reply = driver.call("aclrtCreateNotify", OUT, flag)
        assert isinstance(reply, tuple) if accepted else reply == 107000

    @pytest.mark.parametrize(
        ("product", "most"),
        [("950PR", 65535), ("A3", 8192), ("A2", 8192), ("310B", 2048), ("310P", 1024), ("910", 1024)],
    )
    def test_a_device_has_so_many(self, product: str, most: int) -> None:
        driver = Driver(product=product).opened()
        made = [notify(driver) for _ in range(most)]
        assert driver.call("aclrtCreateNotify", OUT, 0) == 207009
        assert f"{most} notifies" in driver.message()
        driver.ok("aclrtDestroyNotify", made.pop())
        notify(driver)
        assert driver.call("aclrtCreateNotify", OUT, 0) == 207009
        driver.opened(1)
        notify(driver)

    def test_no_notifies_on_ipv350(self) -> None:
        assert Driver(product="IPV350").opened().call("aclrtCreateNotify", OUT, 0) == 207000

    def test_ids_differ_and_the_lowest_free_one_is_taken(self, driver: Driver) -> None:
        first, second, third = (notify(driver) for _ in range(3))
        ids = [driver.ok("aclrtGetNotifyId", handle, OUT) for handle in (first, second, third)]
        assert ids == [0, 1, 2]
        driver.ok("aclrtDestroyNotify", first)
        driver.ok("aclrtDestroyNotify", second)
        again = notify(driver)
        assert again not in (first, second) and driver.ok("aclrtGetNotifyId", again, OUT) == 0

    def test_they_go_with_their_device(self, driver: Driver) -> None:
        handle = notify(driver)
        driver.ok("aclrtResetDevice", 0)
        driver.opened()
        assert driver.call("aclrtRecordNotify", handle, 0) == 107017
        assert driver.call("aclrtDestroyNotify", handle) == 107017

    def test_destruction_does_not_wait_and_queued_work_goes_on(self, any_driver: Driver) -> None:
        driver = any_driver
        stream, other, handle = driver.stream(), driver.stream(), notify(driver)
        gate = driver.gate(other)
        record(driver, handle, other)
        wait(driver, handle, stream)
        driver.ok("aclrtDestroyNotify", handle)
        assert driver.call("aclrtRecordNotify", handle, other) == 107017
        assert busy(driver, stream, other) == [1, 1]
        driver.ok("aclrtRecordEvent", gate, 0)
        assert busy(driver, stream, other) == [0, 0]


class TestRecordAndWait:
    def test_a_wait_behind_a_record_passes(self, any_driver: Driver) -> None:
        first, second, handle = any_driver.stream(), any_driver.stream(), notify(any_driver)
        record(any_driver, handle, first)
        wait(any_driver, handle, second)
        assert synchronise(any_driver, second) == 0

    def test_a_wait_before_a_record_holds_its_stream(self, any_driver: Driver) -> None:
        driver = any_driver
        first, second, handle = driver.stream(), driver.stream(), notify(driver)
        wait(driver, handle, second)
        assert busy(driver, second) == [1]
        host = driver.call("aclrtSynchronizeStreamWithTimeout", second, 60)
        driver.expire(host)
        assert host.reply == 507046
        record(driver, handle, first)
        assert synchronise(driver, second) == 0

    def test_the_record_waits_for_the_work_before_it(self, any_driver: Driver) -> None:
        driver = any_driver
        first, second, handle = driver.stream(), driver.stream(), notify(driver)
        gate = driver.gate(first)
        record(driver, handle, first)
        wait(driver, handle, second)
        assert busy(driver, first, second) == [1, 1]
        driver.ok("aclrtRecordEvent", gate, 0)
        assert synchronise(driver, second) == 0

    def test_several_records_before_a_wait_count_as_one(self, any_driver: Driver) -> None:
        driver = any_driver
        first, second, handle = driver.stream(), driver.stream(), notify(driver)
        for _ in range(3):
            record(driver, handle, first)
        assert synchronise(driver, first) == 0
        wait(driver, handle, second)
        assert synchronise(driver, second) == 0
        wait(driver, handle, second)
        assert busy(driver, second) == [1]
        record(driver, handle, first)
        assert synchronise(driver, second) == 0

    def test_one_record_lets_one_of_many_go(self, any_driver: Driver) -> None:
        driver = any_driver
        streams, handle = [driver.stream() for _ in range(4)], notify(driver)
        for stream in streams:
            wait(driver, handle, stream)
        for left in (3, 2, 1, 0):
            record(driver, handle)
            assert sum(busy(driver, *streams)) == left

    def test_by_default_the_one_that_waited_first(self, driver: Driver) -> None:
        streams, handle = [driver.stream() for _ in range(3)], notify(driver)
        for stream in (streams[1], streams[2], streams[0]):
            wait(driver, handle, stream)
        for states in ([1, 0, 1], [1, 0, 0], [0, 0, 0]):
            record(driver, handle)
            assert busy(driver, *streams) == states

    def test_two_waits_behind_each_other_need_two_records(self, any_driver: Driver) -> None:
        driver = any_driver
        stream, handle = driver.stream(), notify(driver)
        wait(driver, handle, stream)
        wait(driver, handle, stream)
        record(driver, handle)
        driver.pace(200)
        assert isinstance(host := synchronise(driver, stream), Wait)
        record(driver, handle)
        driver.pace(200)
        assert host.reply == 0

    @pytest.mark.parametrize("default", [False, True])
    def test_on_one_stream(self, any_driver: Driver, default: bool) -> None:
        stream, handle = 0 if default else any_driver.stream(), notify(any_driver)
        for _ in range(3):
            record(any_driver, handle, stream)
            wait(any_driver, handle, stream)
        assert synchronise(any_driver, stream) == 0

    def test_streams_that_hand_work_to_each_other(self, any_driver: Driver) -> None:
        driver = any_driver
        ping, pong = notify(driver), notify(driver)
        left, right = driver.stream(), driver.stream()
        for _ in range(20):
            record(driver, ping, left)
            wait(driver, ping, right)
            record(driver, pong, right)
            wait(driver, pong, left)
        assert synchronise(driver, left) == 0
        assert busy(driver, right) == [0]

    def test_a_destroyed_stream_waits_no_longer(self, any_driver: Driver) -> None:
        driver = any_driver
        driver.ok("aclrtCreateContext", OUT, 0)
        gone, handle = driver.ok("aclrtGetCurrentContext", OUT), notify(driver)
        wait(driver, handle, driver.stream())
        driver.ok("aclrtDestroyContext", gone)
        driver.opened()
        stream = driver.stream()
        record(driver, handle)
        wait(driver, handle, stream)
        assert synchronise(driver, stream) == 0

    def test_any_device_may_wait_for_a_private_one_and_record_any(self, any_driver: Driver) -> None:
        driver = any_driver
        private, shared = notify(driver), notify(driver)
        driver.ok("aclrtNotifyGetExportKey", shared, OUT, 65, 2)
        own = driver.stream()
        driver.opened(1)
        stream = driver.stream()
        assert driver.call("aclrtWaitAndResetNotify", shared, stream, 0) == 107000
        wait(driver, private, stream)
        assert busy(driver, stream) == [1]
        record(driver, private, stream := driver.stream())
        record(driver, shared, stream)
        driver.opened(0)
        wait(driver, shared, own)
        assert synchronise(driver, own) == 0

    def test_a_call_waits_while_its_stream_is_full(self) -> None:
        driver = Driver(product="310B").opened()
        stream, handle = driver.stream(), notify(driver)
        gate = driver.gate(stream)
        for _ in range(1023):
            record(driver, handle, stream)
        assert isinstance(full := driver.call("aclrtRecordNotify", handle, stream, thread=1), Wait)
        driver.ok("aclrtSetDevice", 0, thread=2)
        driver.ok("aclrtRecordEvent", gate, 0, thread=2)
        driver.pace(100)
        assert full.reply == 0

    def test_calls_wait_for_the_snapshot_lock_behind_their_first_checks(self, driver: Driver) -> None:
        stream, handle = driver.stream(), notify(driver)
        driver.machine.locked = True
        calls = [("aclrtCreateNotify", OUT, 0), ("aclrtRecordNotify", handle, stream), ("aclrtDestroyNotify", 5),
                 ("aclrtWaitAndResetNotify", handle, stream, 0), ("aclrtNotifyBatchReset", (handle,), 1),
                 ("aclrtNotifyImportByKey", OUT, b"key", 0)]  # fmt: skip
        for number, (function, *arguments) in enumerate(calls, 2):
            driver.machine.thread(number).context = driver.machine.thread(1).context
            assert isinstance(driver.call(function, *arguments, thread=number), Wait), function
            assert driver.call(function, 0 if function != "aclrtNotifyBatchReset" else None, *arguments[1:]) == 100000
        for function, *arguments in [("aclrtGetNotifyId", handle, OUT), ("aclrtNotifyGetExportKey", handle, OUT, 65, 2),
                                     ("aclrtNotifySetImportPid", handle, (5,), 1)]:  # fmt: skip
            driver.ok(function, *arguments)


class TestLimits:
    """In seconds and in real time; the failure waits for the next synchronise."""

    @pytest.mark.parametrize("limit", [1, 7])
    def test_a_wait_that_nobody_releases_expires(self, any_driver: Driver, limit: int) -> None:
        driver = any_driver
        stream, handle = driver.stream(), notify(driver)
        wait(driver, handle, stream, limit)
        host = synchronise(driver, stream)
        driver.pace(limit * SECOND - 100)
        assert isinstance(host, Wait) and host.reply is None
        driver.pace(100 + 1)
        assert host.reply == EXPIRED and f"limit of {limit} s" in driver.message()
        assert synchronise(driver, stream) == 0

    def test_the_pacer_is_told_when(self, any_driver: Driver) -> None:
        driver = any_driver
        stream, handle = driver.stream(), notify(driver)
        wait(driver, handle, stream, 3)
        driver.pace(SECOND)
        assert 1.9e9 < driver.machine.due - driver.now < 2.1e9
        driver.pace(2 * SECOND + 1)
        assert driver.machine.due > driver.now + 10**15
        assert synchronise(driver, stream) == EXPIRED

    def test_nobody_notices_one_that_was_released_in_time(self, any_driver: Driver) -> None:
        driver = any_driver
        stream, handle = driver.stream(), notify(driver)
        wait(driver, handle, stream, 1)
        driver.pace(SECOND // 2)
        record(driver, handle)
        driver.pace(10 * SECOND)
        assert synchronise(driver, stream) == 0

    def test_none_for_zero(self, any_driver: Driver) -> None:
        driver = any_driver
        stream, handle = driver.stream(), notify(driver)
        wait(driver, handle, stream, 0)
        driver.pace(100_000 * SECOND)
        assert busy(driver, stream) == [1]

    @pytest.mark.parametrize(("product", "expires"), [("A2", False), ("A3", False), ("310P", True), ("910", True)])
    def test_the_limit_of_the_process(self, product: str, expires: bool) -> None:
        driver = Driver(product=product).opened()
        stream, handle = driver.stream(), notify(driver)
        driver.machine.process.wait_limit = 2 * 10**9
        wait(driver, handle, stream, 0xFFFFFFFF)
        driver.pace(3 * SECOND)
        assert busy(driver, stream) == [int(not expires)]

    def test_the_stream_goes_on_and_a_later_record_stays_for_the_next_wait(self, any_driver: Driver) -> None:
        driver = any_driver
        stream, other, handle, behind = driver.stream(), driver.stream(), notify(driver), notify(driver)
        wait(driver, handle, stream, 1)
        record(driver, behind, stream)
        wait(driver, behind, other)
        driver.pace(SECOND + 200)
        assert busy(driver, other) == [0]
        record(driver, handle)
        driver.pace(200)
        wait(driver, handle, other)
        assert busy(driver, other) == [0]
        assert synchronise(driver, stream) == EXPIRED

    def test_it_counts_from_when_the_wait_is_first_on_its_stream(self, any_driver: Driver) -> None:
        driver = any_driver
        stream, handle = driver.stream(), notify(driver)
        gate = driver.gate(stream)
        wait(driver, handle, stream, 1)
        wait(driver, handle, stream, 2)
        driver.pace(5 * SECOND)
        driver.ok("aclrtRecordEvent", gate, 0)
        assert busy(driver, stream) == [1]
        driver.pace(SECOND)
        assert busy(driver, stream) == [1]
        assert driver.machine.streams[stream].failure is not None
        driver.pace(SECOND)
        assert busy(driver, stream) == [1]
        driver.pace(SECOND)
        assert busy(driver, stream) == [0]
        assert synchronise(driver, stream) == EXPIRED

    def test_several_expire_in_one_step_each_in_its_turn(self, any_driver: Driver) -> None:
        driver = any_driver
        streams, handle = [driver.stream() for _ in range(3)], notify(driver)
        for stream, limits in zip(streams, ([1, 1, 1], [2], [9]), strict=True):
            for limit in limits:
                wait(driver, handle, stream, limit)
        for _ in range(4):
            driver.pace(SECOND + 1)
        assert busy(driver, *streams) == [0, 0, 1]
        assert [synchronise(driver, stream) for stream in streams[:2]] == [EXPIRED, EXPIRED]

    def test_one_step_may_release_a_wait_and_end_the_next(self, driver: Driver) -> None:
        stream, other, handle = driver.stream(), driver.stream(), notify(driver)
        wait(driver, handle, stream)
        wait(driver, handle, stream, 1)
        wait(driver, handle, stream, 1)
        record(driver, handle, other)
        driver.pace(3 * SECOND)
        assert driver.ok("aclrtStreamQuery", stream, OUT) == 0
        assert synchronise(driver, stream) == EXPIRED

    def test_skipped_time_does_not_count(self, any_driver: Driver) -> None:
        driver = any_driver
        stream, handle = driver.stream(), notify(driver)
        wait(driver, handle, stream, 1)
        driver.machine.skip += 5 * 10**9  # somebody waited for five seconds of simulated work
        assert busy(driver, stream) == [1]
        record(driver, handle)
        assert synchronise(driver, stream) == 0

    def test_a_long_unforced_record_in_the_queue_is_not_overtaken(self, any_driver: Driver) -> None:
        driver = any_driver
        stream, other, handle = driver.stream(), driver.stream(), notify(driver)
        wait(driver, handle, stream, 1)
        driver.pace(SECOND - 1)
        record(driver, handle, other)
        driver.pace(SECOND)
        assert synchronise(driver, stream) == 0

    def test_in_stop_mode_it_ends_the_work_of_its_stream(self, any_driver: Driver) -> None:
        driver = any_driver
        stream, other, handle, behind = driver.stream(), driver.stream(), notify(driver), notify(driver)
        driver.machine.streams[stream].context.stop_mode = True
        wait(driver, handle, stream, 1)
        record(driver, behind, stream)
        wait(driver, behind, other)
        driver.pace(SECOND + 200)
        for _ in range(2):
            assert synchronise(driver, stream) == EXPIRED
            assert driver.call("aclrtRecordNotify", handle, stream) == EXPIRED
        assert not driver.machine.streams[stream].queue and driver.machine.streams[other].queue

    def test_waits_that_were_released_are_forgotten(self, any_driver: Driver) -> None:
        driver = any_driver
        stream, other, handle = driver.stream(), driver.stream(), notify(driver)
        blocked = notify(driver)
        wait(driver, blocked, other, 1)
        for _ in range(500):
            wait(driver, handle, stream, 100)
            record(driver, handle)
            assert synchronise(driver, stream) == 0
        assert len(driver.machine.schedule.limits) < 200


class TestReset:
    def test_takes_back_records(self, any_driver: Driver) -> None:
        driver = any_driver
        stream, handles = driver.stream(), (notify(driver), notify(driver))
        for handle in handles:
            record(driver, handle)
        assert synchronise(driver, 0) == 0
        driver.ok("aclrtNotifyBatchReset", handles, 2)
        wait(driver, handles[0], stream)
        assert busy(driver, stream) == [1]

    def test_those_before_one_that_is_refused_stay_reset(self, any_driver: Driver) -> None:
        driver = any_driver
        first, second, third = driver.stream(), driver.stream(), notify(driver)
        before, behind = notify(driver), notify(driver)
        for bad, number in ((0, 107000), (first, 107017)):
            for handle in (before, behind):
                record(driver, handle)
            assert synchronise(driver, 0) == 0
            assert driver.call("aclrtNotifyBatchReset", (third, before, bad, behind), 4) == number
            wait(driver, before, first)
            wait(driver, behind, second)
            assert busy(driver, first, second) == [1, 0]
            record(driver, before)
            assert busy(driver, first) == [0]

    def test_a_held_stream_does_not_hold_it_up(self, driver: Driver) -> None:
        handle = notify(driver)
        driver.gate(0)
        record(driver, handle)
        driver.ok("aclrtNotifyBatchReset", (handle, handle), 2)
        assert busy(driver, 0) == [1]

    @pytest.mark.parametrize(
        ("product", "number"), [("A2", 0), ("A3", 0), ("950DT", 0), ("310B", 207000), ("910", 207000)]
    )
    def test_products(self, product: str, number: int) -> None:
        driver = Driver(product=product).opened()
        assert driver.call("aclrtNotifyBatchReset", (notify(driver),), 1) == number


class TestSharing:
    def test_a_key_is_a_text_that_fits_and_no_two_are_equal(self, driver: Driver) -> None:
        keys = {driver.ok("aclrtNotifyGetExportKey", notify(driver), OUT, 65, flags) for flags in (0, 2, 0)}
        assert len(keys) == 3
        for key in keys:
            assert 1 <= len(key) <= 64 and key.isascii() and 0 not in key

    def test_the_same_calls_give_the_same_key(self) -> None:
        drivers = [Driver().opened() for _ in range(2)]
        assert len({driver.ok("aclrtNotifyGetExportKey", notify(driver), OUT, 65, 2) for driver in drivers}) == 1

    def test_a_notify_has_one_key(self, driver: Driver) -> None:
        handle = notify(driver)
        driver.ok("aclrtNotifyGetExportKey", handle, OUT, 65, 2)
        for size, flags in ((65, 2), (128, 0)):
            assert driver.call("aclrtNotifyGetExportKey", handle, OUT, size, flags) == 507000

    def test_an_exported_one_works_in_its_process(self, driver: Driver) -> None:
        stream, handle = driver.stream(), notify(driver)
        driver.ok("aclrtNotifyGetExportKey", handle, OUT, 65, 0)
        record(driver, handle)
        wait(driver, handle, stream)
        assert synchronise(driver, stream) == 0

    def test_who_may_import_is_said_after_the_key_was_made(self, driver: Driver) -> None:
        handle = notify(driver)
        assert driver.call("aclrtNotifySetImportPid", handle, (1, 2), 2) == 107000
        driver.ok("aclrtNotifyGetExportKey", handle, OUT, 65, 0)
        driver.ok("aclrtNotifySetImportPid", handle, (1, 2), 2)

    @pytest.mark.parametrize(
        ("product", "shares", "servers"),
        [("950PR", True, False), ("950DT", False, False), ("A3", True, True), ("A2", True, False),
         ("310B", False, False), ("310P", True, False), ("910", True, False)],
    )  # fmt: skip
    def test_products(self, product: str, shares: bool, servers: bool) -> None:
        driver = Driver(product=product).opened()
        handle = notify(driver)
        reply = driver.call("aclrtNotifyGetExportKey", handle, OUT, 65, 2)
        assert isinstance(reply, tuple) if shares else reply == 207000
        assert driver.call("aclrtNotifySetImportPid", handle, (1,), 1) == (0 if shares else 207000)
        assert driver.call("aclrtNotifyImportByKey", OUT, b"key", 0) == (507899 if shares else 207000)
        reply = driver.call("aclrtNotifySetImportPidInterServer", handle, ((3, (1,), 1),), 1)
        assert reply == (0 if servers else 207000)
        assert driver.call("aclrtNotifySetImportPidInterServer", handle, ((3, None, 1),), 1) == 107000


class TestInstances:
    """In capture nothing runs; a run of the instance records and waits as streams do."""

    def captured(self, driver: Driver, stream: int, *tasks: tuple[str, int]) -> int:
        driver.ok("aclmdlRICaptureBegin", stream, 2)
        for function, *arguments in tasks:
            driver.ok(function, arguments[0], stream, *arguments[1:])
        return int(driver.ok("aclmdlRICaptureEnd", stream, OUT))

    def test_each_run_records_and_waits(self, any_driver: Driver) -> None:
        driver = any_driver
        stream, other, ready, go = driver.stream(), driver.stream(), notify(driver), notify(driver)
        model = self.captured(driver, stream, ("aclrtRecordNotify", ready), ("aclrtWaitAndResetNotify", go, 0))
        wait(driver, ready, other)
        assert busy(driver, stream, other) == [0, 1]
        for _ in range(2):
            driver.ok("aclmdlRIExecuteAsync", model, stream)
            assert busy(driver, stream, other) == [1, 0]
            wait(driver, ready, other)
            record(driver, go, driver.stream())
            assert busy(driver, stream, other) == [0, 1]
            assert synchronise(driver, stream) == 0

    def test_a_limit_that_passes_fails_the_run(self, any_driver: Driver) -> None:
        driver = any_driver
        stream, handle = driver.stream(), notify(driver)
        model = self.captured(driver, stream, ("aclrtWaitAndResetNotify", handle, 1))
        driver.pace(5 * SECOND)
        driver.ok("aclmdlRIExecuteAsync", model, stream)
        host = synchronise(driver, stream)
        for _ in range(3):
            driver.pace(SECOND)
        assert host.reply == 507011 and f"[{EXPIRED}]" in driver.message()
        assert synchronise(driver, stream) == 0

    def test_a_record_in_capture_releases_nobody(self, any_driver: Driver) -> None:
        driver = any_driver
        stream, other, handle = driver.stream(), driver.stream(), notify(driver)
        wait(driver, handle, other)
        self.captured(driver, stream, ("aclrtRecordNotify", handle))
        assert isinstance(synchronise(driver, other), Wait)
        driver.pace(200)
        assert len(driver.machine.waits) == 1


def everything(driver: Driver) -> None:
    """A bit of each: waits that are released, that expire, that are dropped; what is destroyed while it is used."""
    driver.ok("aclrtSetDevice", 0)
    first, second, handles = driver.stream(), driver.stream(), [notify(driver) for _ in range(4)]
    wait(driver, handles[0], first)
    wait(driver, handles[1], first, 1)
    wait(driver, handles[0], second)
    record(driver, handles[0])
    driver.pace(200)
    record(driver, handles[0])
    host = synchronise(driver, first)
    for _ in range(3):
        driver.pace(SECOND)
    assert host.reply == EXPIRED
    driver.call("aclrtNotifyBatchReset", (handles[0], 0), 2)
    driver.ok("aclrtNotifyGetExportKey", handles[2], OUT, 65, 0)
    driver.call("aclrtNotifyImportByKey", OUT, b"key", 0)
    gate = driver.gate(second)
    record(driver, handles[3], second)
    wait(driver, handles[3], first, 100)
    driver.ok("aclrtDestroyNotify", handles[3])
    driver.ok("aclrtDestroyEvent", gate)
    driver.ok("aclrtResetDevice", 0)
    driver.message()
    driver.ended.clear()
    driver.machine.end_thread(1)


@pytest.mark.parametrize("schedule", SCHEDULES)
def test_no_cycles_remain(schedule: str) -> None:
    driver = Driver(schedule=schedule)
    everything(driver)
    gc.collect()
    gc.disable()
    try:
        before = len(gc.get_objects())
        for _ in range(10):
            everything(driver)
        assert gc.collect() == 0
        # waits with a limit that their stream took with them stay until some more of these come
        assert len(gc.get_objects()) - before < 100
    finally:
        gc.enable()
