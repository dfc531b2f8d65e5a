"""What two processes of a session share: notifies (semantics.md 2), events (1.14), and the keys of all kinds."""

from typing import Any

import pytest

from cannery.runtime.machine import Wait
from tests.fake_session import Session
from tests.fakes import OUT, Driver
from tests.sharing_tools import IPC, SCHEDULES, Pair, Process, busy, physical


@pytest.fixture
def pair() -> Pair:
    return Pair()


@pytest.fixture(params=SCHEDULES)
def any_pair(request: pytest.FixtureRequest) -> Pair:
    return Pair(schedule=request.param)


class TestNotify:
    @pytest.mark.parametrize("way", [0, 1])
    def test_a_record_of_one_releases_a_wait_of_the_other(self, any_pair: Pair, way: int) -> None:
        handles = any_pair.notify()
        waiting, recording = (any_pair.one, any_pair.two)[:: (1, -1)[way]]
        here, there = handles[:: (1, -1)[way]]
        stream = waiting.stream()
        waiting.ok("aclrtWaitAndResetNotify", here, stream, 0)
        assert busy(waiting, stream)
        recording.ok("aclrtRecordNotify", there, 0)
        recording.ok("aclrtSynchronizeStream", 0)
        assert not busy(waiting, stream)

    def test_a_host_that_waits_goes_on_in_the_step_that_the_signal_makes(self, pair: Pair) -> None:
        here, there = pair.notify()
        stream = pair.one.stream()
        pair.one.ok("aclrtWaitAndResetNotify", here, stream, 0)
        wait = pair.one.call("aclrtSynchronizeStream", stream)
        assert isinstance(wait, Wait) and wait.reply is None
        pair.two.ok("aclrtRecordNotify", there, 0)
        pair.two.ok("aclrtSynchronizeStream", 0)
        pair.one.signal()
        assert wait.reply == 0

    def test_a_record_made_before_the_wait_is_found(self, any_pair: Pair) -> None:
        here, there = any_pair.notify()
        any_pair.one.ok("aclrtRecordNotify", here, 0)
        any_pair.one.ok("aclrtSynchronizeStream", 0)
        stream = any_pair.two.stream()
        any_pair.two.ok("aclrtWaitAndResetNotify", there, stream, 0)
        assert any_pair.two.call("aclrtSynchronizeStream", stream) == 0

    def test_a_record_made_before_the_key_is_found(self, pair: Pair) -> None:
        handle = pair.one.ok("aclrtCreateNotify", OUT, 0)
        pair.one.ok("aclrtRecordNotify", handle, 0)
        pair.one.ok("aclrtSynchronizeStream", 0)
        key = pair.one.ok("aclrtNotifyGetExportKey", handle, OUT, 65, 2)
        there = pair.two.ok("aclrtNotifyImportByKey", OUT, key, 0)
        pair.two.ok("aclrtWaitAndResetNotify", there, 0, 0)
        assert pair.two.call("aclrtSynchronizeStream", 0) == 0

    def test_one_record_releases_one_wait_and_records_collapse(self, any_pair: Pair) -> None:
        here, there = any_pair.notify()
        one, two = any_pair.one, any_pair.two
        for _ in range(3):
            one.ok("aclrtRecordNotify", here, 0)
        one.ok("aclrtSynchronizeStream", 0)
        streams = one.stream(), two.stream()
        one.ok("aclrtWaitAndResetNotify", here, streams[0], 0)
        two.ok("aclrtWaitAndResetNotify", there, streams[1], 0)
        assert sorted((busy(one, streams[0]), busy(two, streams[1]))) == [False, True]

    def test_a_wait_for_another_process_has_the_own_records_made_first(self, any_pair: Pair) -> None:
        here, there = any_pair.notify()
        other, back = any_pair.notify()
        stream = any_pair.one.stream()
        any_pair.one.ok("aclrtRecordNotify", here, stream)
        any_pair.one.ok("aclrtWaitAndResetNotify", other, stream, 0)
        assert isinstance(any_pair.one.call("aclrtSynchronizeStream", stream), Wait)
        any_pair.two.ok("aclrtWaitAndResetNotify", there, 0, 0)
        assert any_pair.two.call("aclrtSynchronizeStream", 0) == 0
        assert back

    def test_a_record_on_an_idle_stream_is_made_at_once(self, pair: Pair) -> None:
        here, there = pair.notify()
        pair.one.ok("aclrtRecordNotify", here, 0)
        pair.two.ok("aclrtWaitAndResetNotify", there, 0, 0)
        assert pair.two.call("aclrtSynchronizeStream", 0) == 0

    def test_due_records_are_not_held_back_for_the_program(self, pair: Pair) -> None:
        here, _ = pair.notify()
        memory = pair.one.device_memory(64 << 20)
        pair.one.ok("aclrtMemsetAsync", memory, 64 << 20, 0, 64 << 20, 0)
        pair.one.ok("aclrtRecordNotify", here, 0)
        assert pair.one.member.due == pair.one.machine.due
        pair.one.pace(10)
        assert pair.session.entries[1].flag

    def test_a_reset_takes_back_what_another_process_recorded(self, pair: Pair) -> None:
        here, there = pair.notify()
        pair.two.ok("aclrtRecordNotify", there, 0)
        pair.two.ok("aclrtSynchronizeStream", 0)
        pair.one.ok("aclrtNotifyBatchReset", (here,), 1)
        stream = pair.one.stream()
        pair.one.ok("aclrtWaitAndResetNotify", here, stream, 0)
        assert busy(pair.one, stream)

    def test_two_processes_that_wait_for_each_other_end_by_their_limits(self, pair: Pair) -> None:
        here, there = pair.notify()
        for driver, handle in ((pair.one, here), (pair.two, there)):
            driver.ok("aclrtWaitAndResetNotify", handle, 0, 1)
            wait = driver.call("aclrtSynchronizeStream", 0)
            driver.pace(1100)
            assert wait.reply == 107020

    def test_it_is_waited_for_on_the_device_that_made_it(self) -> None:
        session = Session()
        one, two = Process(session), Process(session, device=1)
        handle = one.ok("aclrtCreateNotify", OUT, 0)
        key = one.ok("aclrtNotifyGetExportKey", handle, OUT, 65, 2)
        there = two.ok("aclrtNotifyImportByKey", OUT, key, 2)
        assert two.call("aclrtWaitAndResetNotify", there, 0, 0) == 107000
        two.ok("aclrtRecordNotify", there, 0)
        assert two.ok("aclrtDevicePeerAccessStatus", 1, 0, OUT) == 1

    def test_both_see_the_id_of_the_owner(self, pair: Pair) -> None:
        pair.one.ok("aclrtCreateNotify", OUT, 0)
        here, there = pair.notify()
        pair.two.ok("aclrtCreateNotify", OUT, 0)
        assert pair.one.ok("aclrtGetNotifyId", here, OUT) == pair.two.ok("aclrtGetNotifyId", there, OUT) == 1

    def test_who_opened_it_goes_on_when_its_owner_destroyed_it(self, pair: Pair) -> None:
        here, there = pair.notify()
        pair.one.ok("aclrtDestroyNotify", here)
        pair.two.ok("aclrtRecordNotify", there, 0)
        pair.two.ok("aclrtWaitAndResetNotify", there, 0, 0)
        assert pair.two.call("aclrtSynchronizeStream", 0) == 0
        pair.two.ok("aclrtDestroyNotify", there)

    def test_queued_work_keeps_it(self, pair: Pair) -> None:
        here, there = pair.notify()
        stream, held = pair.one.stream(), pair.one.stream()
        gate = pair.one.gate(held)
        pair.one.ok("aclrtRecordNotify", here, held)
        pair.one.ok("aclrtDestroyNotify", here)
        pair.one.ok("aclrtRecordEvent", gate, stream)
        assert not busy(pair.one, held)
        pair.two.ok("aclrtWaitAndResetNotify", there, 0, 0)
        assert pair.two.call("aclrtSynchronizeStream", 0) == 0

    def test_it_goes_with_the_device_that_opened_it(self, pair: Pair) -> None:
        _, there = pair.notify()
        pair.two.ok("aclrtResetDevice", 0)
        pair.two.opened()
        assert pair.two.call("aclrtRecordNotify", there, 0) == 107017

    def test_one_that_was_opened_has_no_key_and_no_list_of_its_own(self, pair: Pair) -> None:
        _, there = pair.notify()
        assert pair.two.call("aclrtNotifyGetExportKey", there, OUT, 65, 2) == 507000
        assert pair.two.call("aclrtNotifySetImportPid", there, (1,), 1) == 107000


class TestKeys:
    """What opens what, for each kind of key."""

    def share(self, driver: Driver, kind: str, listed: bool = False) -> Any:
        if kind == "notify":
            handle = driver.ok("aclrtCreateNotify", OUT, 0)
            return driver.ok("aclrtNotifyGetExportKey", handle, OUT, 65, 0 if listed else 2)
        if kind == "event":
            return driver.ok("aclrtIpcGetEventHandle", driver.event(IPC, ex=True), OUT)
        if kind == "memory":
            address = driver.device_memory(4096)
            return driver.ok("aclrtIpcMemGetExportKey", address, 4096, OUT, 65, int(not listed))
        handle = physical(driver)
        return driver.ok("aclrtMemExportToShareableHandle", handle, 0, int(not listed), OUT)

    def open(self, driver: Driver, kind: str, key: Any) -> Any:
        if kind == "notify":
            return driver.call("aclrtNotifyImportByKey", OUT, key, 0)
        if kind == "event":
            return driver.call("aclrtIpcOpenEventHandle", key, OUT)
        if kind == "memory":
            return driver.call("aclrtIpcMemImportByKey", OUT, key, 0)
        return driver.call("aclrtMemImportFromShareableHandle", key, 0, OUT)

    def allow(self, driver: Driver, kind: str, key: Any, process: int) -> Any:
        if kind == "memory":
            return driver.call("aclrtIpcMemSetImportPid", key, (process,), 1)
        return driver.call("aclrtMemSetPidToShareableHandle", key, (process,), 1)

    KINDS = ("notify", "event", "memory", "physical")

    @pytest.mark.parametrize("kind", KINDS)
    def test_a_key_opens_in_another_process(self, pair: Pair, kind: str) -> None:
        number, handle = self.open(pair.two, kind, self.share(pair.one, kind))
        assert number == 0 and handle

    @pytest.mark.parametrize("kind", KINDS)
    def test_but_not_in_the_process_that_shares_it(self, pair: Pair, kind: str) -> None:
        assert self.open(pair.one, kind, self.share(pair.one, kind)) == 507899
        assert "itself" in pair.one.message()

    @pytest.mark.parametrize("kind", KINDS)
    def test_nor_in_another_session(self, pair: Pair, kind: str) -> None:
        key = self.share(pair.one, kind)
        assert self.open(Process(Session()), kind, key) == 507899

    @pytest.mark.parametrize("kind", ["memory", "physical"])
    def test_with_a_list_only_those_on_it_open_it(self, pair: Pair, kind: str) -> None:
        key = self.share(pair.one, kind, listed=True)
        assert self.open(pair.two, kind, key) == 507899
        assert "not on the list" in pair.two.message()
        assert self.allow(pair.one, kind, key, 1) == 0
        assert self.open(pair.two, kind, key) == 507899
        assert self.allow(pair.one, kind, key, pair.two.ok("aclrtDeviceGetBareTgid", OUT)) == 0
        assert self.open(pair.two, kind, key)[0] == 0

    def test_a_notify_with_a_list(self, pair: Pair) -> None:
        handle = pair.one.ok("aclrtCreateNotify", OUT, 0)
        key = pair.one.ok("aclrtNotifyGetExportKey", handle, OUT, 65, 0)
        assert pair.two.call("aclrtNotifyImportByKey", OUT, key, 0) == 507899
        pair.one.ok("aclrtNotifySetImportPid", handle, (1, pair.two.ok("aclrtDeviceGetBareTgid", OUT)), 2)
        pair.two.ok("aclrtNotifyImportByKey", OUT, key, 0)

    @pytest.mark.parametrize("kind", ["notify", "memory"])
    def test_lists_of_other_servers_count_as_well(self, kind: str) -> None:
        pair = Pair(product="A3")
        me = pair.two.ok("aclrtDeviceGetBareTgid", OUT)
        if kind == "notify":
            handle = pair.one.ok("aclrtCreateNotify", OUT, 0)
            key = pair.one.ok("aclrtNotifyGetExportKey", handle, OUT, 65, 0)
            pair.one.ok("aclrtNotifySetImportPidInterServer", handle, ((7, (me,), 1),), 1)
        else:
            key = self.share(pair.one, kind, listed=True)
            pair.one.ok("aclrtIpcMemImportPidInterServer", key, ((7, (1, me), 2),), 1)
        assert self.open(pair.two, kind, key)[0] == 0

    @pytest.mark.parametrize("kind", ["memory", "physical"])
    def test_only_the_owner_says_who(self, pair: Pair, kind: str) -> None:
        key = self.share(pair.one, kind, listed=True)
        assert self.allow(pair.two, kind, key, pair.two.member.pid) == 507899
        assert self.open(pair.two, kind, key) == 507899

    @pytest.mark.parametrize("kind", KINDS)
    def test_not_after_the_owner_is_gone(self, pair: Pair, kind: str) -> None:
        key = self.share(pair.one, kind)
        pair.session.die(pair.one.member)
        assert self.open(pair.two, kind, key) == 507899
        assert "gone" in pair.two.message()

    @pytest.mark.parametrize("kind", KINDS)
    def test_not_after_the_device_was_reset(self, pair: Pair, kind: str) -> None:
        key = self.share(pair.one, kind)
        pair.one.ok("aclrtResetDevice", 0)
        assert self.open(pair.two, kind, key) == 507899

    @pytest.mark.parametrize("kind", ["notify", "event", "physical"])
    def test_a_process_opens_it_once(self, pair: Pair, kind: str) -> None:
        key = self.share(pair.one, kind)
        assert self.open(pair.two, kind, key)[0] == 0
        assert self.open(pair.two, kind, key) == 507899

    @pytest.mark.parametrize(("kind", "other"), [("notify", "memory"), ("memory", "notify")])
    def test_a_key_of_another_kind_opens_nothing(self, pair: Pair, kind: str, other: str) -> None:
        assert self.open(pair.two, other, self.share(pair.one, kind)) == 507899

    @pytest.mark.parametrize("kind", KINDS)
    def test_nothing_is_shared_where_there_is_no_room(self, pair: Pair, kind: str) -> None:
        pair.one.member.full = True
        with pytest.raises(AssertionError, match="507899"):
            self.share(pair.one, kind)


class TestEvents:
    @pytest.mark.parametrize("way", [0, 1])
    def test_a_wait_is_for_the_latest_record_of_whichever_process(self, any_pair: Pair, way: int) -> None:
        events = any_pair.event()
        waiting, recording = (any_pair.one, any_pair.two)[:: (1, -1)[way]]
        here, there = events[:: (1, -1)[way]]
        held, stream = recording.stream(), waiting.stream()
        gate = recording.gate(held)
        recording.ok("aclrtRecordEvent", there, held)
        waiting.ok("aclrtStreamWaitEvent", stream, here)
        assert busy(waiting, stream)
        recording.ok("aclrtRecordEvent", gate, 0)
        assert recording.call("aclrtSynchronizeStream", held) == 0
        assert not busy(waiting, stream)

    def test_without_an_outstanding_record_a_wait_is_nothing(self, pair: Pair) -> None:
        here, there = pair.event()
        pair.two.ok("aclrtStreamWaitEvent", 0, there)
        assert pair.two.call("aclrtSynchronizeStream", 0) == 0
        pair.one.ok("aclrtRecordEvent", here, 0)
        pair.one.ok("aclrtSynchronizeStream", 0)
        pair.two.ok("aclrtStreamWaitEvent", 0, there)
        assert pair.two.call("aclrtSynchronizeStream", 0) == 0

    def test_queries_and_synchronise_see_records_of_the_other(self, pair: Pair) -> None:
        here, there = pair.event()
        held = pair.one.stream()
        assert pair.two.ok("aclrtQueryEventStatus", there, OUT) == 1
        gate = pair.one.gate(held)
        pair.one.ok("aclrtRecordEvent", here, held)
        assert pair.two.ok("aclrtQueryEventStatus", there, OUT) == 0
        limited = pair.two.call("aclrtSynchronizeEventWithTimeout", there, 10)
        pair.two.expire(limited)
        assert limited.reply == 507047
        wait = pair.two.call("aclrtSynchronizeEvent", there)
        pair.one.ok("aclrtRecordEvent", gate, 0)
        pair.one.ok("aclrtSynchronizeStream", held)
        pair.two.signal()
        assert wait.reply == 0
        assert pair.two.ok("aclrtQueryEventStatus", there, OUT) == 1

    def test_records_from_before_the_handle_was_given_count(self, pair: Pair) -> None:
        event, held = pair.one.event(IPC, ex=True), pair.one.stream()
        gate = pair.one.gate(held)
        pair.one.ok("aclrtRecordEvent", event, held)
        key = pair.one.ok("aclrtIpcGetEventHandle", event, OUT)
        there = pair.two.ok("aclrtIpcOpenEventHandle", key, OUT)
        assert pair.two.ok("aclrtQueryEventStatus", there, OUT) == 0
        pair.one.ok("aclrtRecordEvent", gate, 0)
        pair.one.ok("aclrtSynchronizeStream", held)
        assert pair.two.ok("aclrtQueryEventStatus", there, OUT) == 1

    def test_a_record_waits_while_all_slots_are_taken(self) -> None:
        pair = Pair(Session(slots=3))
        here, there = pair.event()
        held = pair.one.stream()
        gate = pair.one.gate(held)
        for _ in range(3):
            pair.one.ok("aclrtRecordEvent", here, held)
        wait = pair.two.call("aclrtRecordEvent", there, 0)
        assert isinstance(wait, Wait)
        pair.two.signal()
        assert wait.reply is None
        pair.one.ok("aclrtRecordEvent", gate, 0)
        pair.one.ok("aclrtSynchronizeStream", held)
        pair.two.signal()
        assert wait.reply == 0

    def test_every_call_gives_the_same_handle(self, pair: Pair) -> None:
        event = pair.one.event(IPC, ex=True)
        first, second = (pair.one.ok("aclrtIpcGetEventHandle", event, OUT) for _ in range(2))
        assert first == second and len(first[0]) == 64
        there = pair.two.ok("aclrtIpcOpenEventHandle", first, OUT)
        assert pair.two.ok("aclrtIpcGetEventHandle", there, OUT) == first

    @pytest.mark.parametrize(
        ("function", "arguments", "number"),
        [
            ("aclrtQueryEvent", (OUT,), 207000), ("aclrtQueryEventWaitStatus", (OUT,), 207000),
            ("aclrtGetEventId", (OUT,), 207000), ("aclrtEventGetTimestamp", (OUT,), 207000),
            ("aclrtResetEvent", (0,), 207000),
        ],
    )  # fmt: skip
    def test_calls_that_take_no_such_event(
        self, pair: Pair, function: str, arguments: tuple[int, ...], number: int
    ) -> None:
        for driver, event in zip((pair.one, pair.two), pair.event(), strict=True):
            assert driver.call(function, event, *arguments) == number

    def test_none_in_a_capture(self, pair: Pair) -> None:
        for driver, event in zip((pair.one, pair.two), pair.event(), strict=True):
            stream = driver.stream()
            driver.ok("aclmdlRICaptureBegin", stream, 0)
            assert driver.call("aclrtRecordEvent", event, stream) == 207000
            assert driver.call("aclrtStreamWaitEvent", stream, event) == 207000

    def test_a_wait_goes_on_when_its_event_is_destroyed(self, pair: Pair) -> None:
        here, there = pair.event()
        held, stream = pair.one.stream(), pair.two.stream()
        pair.one.gate(held)
        pair.one.ok("aclrtRecordEvent", here, held)
        pair.two.ok("aclrtStreamWaitEvent", stream, there)
        pair.two.ok("aclrtDestroyEvent", there)
        assert not busy(pair.two, stream)
