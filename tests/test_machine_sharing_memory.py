"""What two processes of a session share: memory, and the budgets of devices."""

import pytest

from tests.fake_session import Session
from tests.fakes import OUT
from tests.sharing_tools import MIB, SCHEDULES, TO_HOST, Pair, Process, busy, get, physical, put


@pytest.fixture
def pair() -> Pair:
    return Pair()


@pytest.fixture(params=SCHEDULES)
def any_pair(request: pytest.FixtureRequest) -> Pair:
    return Pair(schedule=request.param)


class TestMemory:
    def test_both_see_what_either_writes(self, any_pair: Pair) -> None:
        here, there = any_pair.memory(b"written by its owner" * 100)
        assert get(any_pair.two, there, 2000) == b"written by its owner" * 100
        put(any_pair.two, there + 8, b"by the other")
        assert get(any_pair.one, here, 20) == b"written by the other"

    def test_tasks_see_it_when_they_run(self, pair: Pair) -> None:
        here, there = pair.memory(bytes(64))
        stream, target = pair.two.stream(), pair.two.pinned(bytes(8))
        gate = pair.two.gate(stream)
        pair.two.ok("aclrtMemcpyAsync", target, 8, there, 8, TO_HOST, stream)
        put(pair.one, here, b"too late")
        put(pair.one, here, b"in time!")
        pair.two.ok("aclrtRecordEvent", gate, 0)
        pair.two.ok("aclrtSynchronizeStream", stream)
        assert pair.two.host.peek(target, 8) == b"in time!"

    def test_a_wait_for_a_value_sees_it(self, any_pair: Pair) -> None:
        here, there = any_pair.memory(bytes(64))
        stream = any_pair.two.stream()
        any_pair.two.ok("aclrtValueWait", there, 7, 0, stream)
        assert busy(any_pair.two, stream)
        assert any_pair.two.member.waits_for_writes
        put(any_pair.one, here, (7).to_bytes(8, "little"))
        assert not busy(any_pair.two, stream)

    def test_writing_it_tells_who_waits(self, pair: Pair) -> None:
        here, there = pair.memory(bytes(64))
        entries = {*pair.session.entries}
        pair.one.device_memory(64)
        assert pair.one.member.touched == set()
        for driver, address in ((pair.one, here), (pair.two, there)):
            driver.ok("aclrtMemset", address, 64, 1, 8)
            assert driver.member.touched == entries

    def test_a_part_can_be_shared(self, pair: Pair) -> None:
        address = pair.one.device_memory(MIB)
        put(pair.one, address, bytes(range(200)))
        key = pair.one.ok("aclrtIpcMemGetExportKey", address + 100, 50, OUT, 65, 1)
        there = pair.two.ok("aclrtIpcMemImportByKey", OUT, key, 0)
        assert get(pair.two, there, 50) == bytes(range(100, 150))
        assert pair.two.call("aclrtMemset", there, 51, 0, 51) == 507899

    def test_it_can_be_opened_more_than_once_and_is_closed_as_often(self, pair: Pair) -> None:
        address = pair.one.device_memory(64)
        key = pair.one.ok("aclrtIpcMemGetExportKey", address, 64, OUT, 65, 1)
        first, second = (pair.two.ok("aclrtIpcMemImportByKey", OUT, key, 0) for _ in range(2))
        assert first != second
        pair.two.ok("aclrtIpcMemClose", key)
        assert pair.two.call("aclrtMemset", first, 64, 0, 64) == 507899
        pair.two.ok("aclrtMemset", second, 64, 5, 64)
        assert get(pair.one, address, 1) == b"\5"
        pair.two.ok("aclrtIpcMemClose", key)
        assert pair.two.call("aclrtIpcMemClose", key) == 507899

    def test_its_owner_closes_the_key(self, pair: Pair) -> None:
        address = pair.one.device_memory(64)
        key = pair.one.ok("aclrtIpcMemGetExportKey", address, 64, OUT, 65, 1)
        pair.one.ok("aclrtIpcMemClose", key)
        assert pair.two.call("aclrtIpcMemImportByKey", OUT, key, 0) == 507899
        assert pair.one.call("aclrtIpcMemClose", key) == 507899
        assert get(pair.one, address, 64) == bytes(64)

    def test_freeing_it_ends_the_key(self, pair: Pair) -> None:
        address = pair.one.device_memory(64)
        key = pair.one.ok("aclrtIpcMemGetExportKey", address, 64, OUT, 65, 1)
        pair.one.ok("aclrtFree", address)
        assert pair.two.call("aclrtIpcMemImportByKey", OUT, key, 0) == 507899

    def test_it_is_not_freed_by_who_opened_it(self, pair: Pair) -> None:
        _, there = pair.memory(bytes(64))
        assert pair.two.call("aclrtFree", there) == 507899

    def test_it_goes_with_the_device_that_opened_it(self, pair: Pair) -> None:
        _, there = pair.memory(bytes(64))
        pair.two.ok("aclrtResetDevice", 0)
        pair.two.opened()
        assert pair.two.call("aclrtMemset", there, 64, 0, 64) == 507899

    def test_a_queued_copy_fails_when_it_was_closed(self, pair: Pair) -> None:
        address = pair.one.device_memory(64)
        key = pair.one.ok("aclrtIpcMemGetExportKey", address, 64, OUT, 65, 1)
        there, stream = pair.two.ok("aclrtIpcMemImportByKey", OUT, key, 0), pair.two.stream()
        gate, target = pair.two.gate(stream), pair.two.pinned(bytes(64))
        pair.two.ok("aclrtMemcpyAsync", target, 64, there, 64, TO_HOST, stream)
        pair.two.ok("aclrtIpcMemClose", key)
        pair.two.ok("aclrtRecordEvent", gate, 0)
        assert pair.two.call("aclrtSynchronizeStream", stream) == 507013

    def test_memory_of_another_device_needs_access(self) -> None:
        session = Session()
        one, two = Process(session), Process(session, device=1)
        address = one.device_memory(64)
        put(one, address, b"far")
        key = one.ok("aclrtIpcMemGetExportKey", address, 64, OUT, 65, 1)
        there, own = two.ok("aclrtIpcMemImportByKey", OUT, key, 0), two.device_memory(64)
        assert two.call("aclrtMemcpy", own, 64, there, 64, 3) != 0
        two.ok("aclrtIpcMemClose", key)
        there = two.ok("aclrtIpcMemImportByKey", OUT, key, 1)
        two.ok("aclrtMemcpy", own, 64, there, 64, 3)
        assert get(two, own, 3) == b"far"

    def test_an_attribute_is_kept_until_the_key_is_closed(self) -> None:
        driver = Process(Session(), product="A3")
        driver.ok("aclrtIpcMemSetAttr", b"any key", 0, 1)
        driver.ok("aclrtIpcMemClose", b"any key")
        assert driver.call("aclrtIpcMemClose", b"any key") == 507899

    def test_physical_memory_is_mapped_by_both(self, any_pair: Pair) -> None:
        one, two = any_pair.one, any_pair.two
        here = physical(one)
        key = one.ok("aclrtMemExportToShareableHandle", here, 0, 1, OUT)
        there = two.ok("aclrtMemImportFromShareableHandle", key, 0, OUT)
        addresses = []
        for driver, handle in ((one, here), (two, there)):
            address = driver.ok("aclrtReserveMemAddress", OUT, 2 * MIB, 0, 0, 0)
            driver.ok("aclrtMapMem", address, 2 * MIB, 0, handle, 0)
            addresses.append(address)
        put(one, addresses[0] + 5, b"hello")
        assert get(two, addresses[1] + 5, 5) == b"hello"
        put(two, addresses[1], b"and back")
        assert get(one, addresses[0], 10) == b"and backlo"
        two.ok("aclrtUnmapMem", addresses[1])
        two.ok("aclrtFreePhysical", there)
        assert two.call("aclrtMapMem", addresses[1], 2 * MIB, 0, there, 0) == 107017
        one.ok("aclrtFreePhysical", here)
        assert get(one, addresses[0], 8) == b"and back"
        one.ok("aclrtUnmapMem", addresses[0])

    @pytest.mark.parametrize(("share_type", "size"), [(1, 8), (2, 128)])
    def test_the_second_forms(self, share_type: int, size: int) -> None:
        pair = Pair(product="A3")
        key = pair.one.ok("aclrtMemExportToShareableHandleV2", physical(pair.one), 0, share_type, OUT)
        assert len(key) == size
        assert pair.two.call("aclrtMemImportFromShareableHandleV2", key, share_type, 0, OUT) == 507899
        pair.one.ok("aclrtMemSetPidToShareableHandleV2", key, share_type, (pair.two.member.pid,), 1)
        pair.two.ok("aclrtMemImportFromShareableHandleV2", key, share_type, 0, OUT)

    def test_one_handle_for_each_physical_memory_and_none_for_anothers(self, pair: Pair) -> None:
        here = physical(pair.one)
        key = pair.one.ok("aclrtMemExportToShareableHandle", here, 0, 1, OUT)
        assert pair.one.call("aclrtMemExportToShareableHandle", here, 0, 1, OUT) == 507899
        there = pair.two.ok("aclrtMemImportFromShareableHandle", key, 0, OUT)
        assert pair.two.call("aclrtMemExportToShareableHandle", there, 0, 1, OUT) == 507899


class TestBudgets:
    def test_memory_of_all_processes_counts(self, pair: Pair) -> None:
        free, total = pair.one.ok("aclrtGetMemInfo", 1, OUT, OUT)
        address = pair.one.device_memory(total // 2)
        left, _ = pair.two.ok("aclrtGetMemInfo", 1, OUT, OUT)
        assert left <= free - total // 2
        assert pair.two.call("aclrtMalloc", OUT, total // 2 + (4 << 20), 0) == 207001
        pair.one.ok("aclrtFree", address)
        assert pair.two.ok("aclrtGetMemInfo", 1, OUT, OUT)[0] == free
        pair.two.device_memory(total // 2 + (4 << 20))

    def test_devices_have_their_own(self, pair: Pair) -> None:
        _, total = pair.one.ok("aclrtGetMemInfo", 1, OUT, OUT)
        pair.one.device_memory(total - (4 << 20))
        pair.two.opened(1)
        pair.two.device_memory(total - (4 << 20))

    @pytest.mark.parametrize("function", ["aclrtCreateNotify", "aclrtCreateStream"])
    def test_notifies_and_streams(self, function: str) -> None:
        pair = Pair(product="910")
        arguments = (0,) if function == "aclrtCreateNotify" else ()
        made = []
        while isinstance(reply := pair.one.call(function, OUT, *arguments), tuple):
            made.append(reply[1])
        number = 207009 if arguments else 207008
        assert reply == number and pair.two.call(function, OUT, *arguments) == number
        pair.one.ok(function.replace("Create", "Destroy"), made[0])
        pair.two.ok(function, OUT, *arguments)
        assert pair.one.call(function, OUT, *arguments) == number
        pair.one.ok("aclrtResetDevice", 0)
        pair.two.ok(function, OUT, *arguments)

    def test_event_ids(self) -> None:
        pair = Pair(product="910")
        most = pair.one.ok("aclrtGetEventAvailNum", OUT)
        for _ in range(most - 1):
            pair.one.event(1)
        assert pair.two.ok("aclrtGetEventAvailNum", OUT) == 1
        pair.two.event(1)
        assert pair.two.call("aclrtCreateEventWithFlag", OUT, 1) == 207007
        assert pair.one.call("aclrtCreateEventWithFlag", OUT, 1) == 207007
        pair.one.ok("aclrtResetDevice", 0)
        assert pair.two.ok("aclrtGetEventAvailNum", OUT) == most - 1

    def test_what_a_process_held_is_free_when_it_is_gone(self, pair: Pair) -> None:
        free, total = pair.two.ok("aclrtGetMemInfo", 1, OUT, OUT)
        pair.one.device_memory(total // 2)
        pair.session.die(pair.one.member)
        assert pair.two.ok("aclrtGetMemInfo", 1, OUT, OUT)[0] == free


@pytest.mark.parametrize("side", [0, 1])
def test_what_a_copy_puts_there_is_not_read_back_from_where_others_write(
    pair: Pair, side: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The recorder keeps the bytes that the port read, by their hash: they must not change meanwhile."""
    places = pair.memory(b"before")
    process, other = (pair.one, pair.two)[:: 1 - 2 * side]
    read = process.host.read

    def read_while_another_writes(address: int, into: memoryview) -> bool:
        done = read(address, into)
        put(other, places[1 - side], b"others")
        assert bytes(into) == b"copied"
        return done

    monkeypatch.setattr(process.host, "read", read_while_another_writes)
    put(process, places[side], b"copied")
    assert get(other, places[1 - side], 6) == b"copied"
