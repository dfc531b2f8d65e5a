"""What streams are: flags, priorities, ids, attributes, how many there are (semantics.md 0.3, 0.4, 5, 10a)."""

from struct import pack, unpack
from typing import Any

import pytest

from tests.fakes import OUT, Driver

FAST_LAUNCH, FAST_SYNC, PERSISTENT, HUGE, CPU_SCHEDULE, DEVICE_USE_ONLY = (1 << bit for bit in range(6))
FAILURE_MODE, OVERFLOW, TAG, CACHES, PRIORITY = 1, 2, 3, 4, 5
STOP = 1


@pytest.fixture
def driver() -> Driver:
    return Driver().opened()


def made(driver: Driver, priority: int = 0, flag: int = 0) -> Any:
    reply = driver.call("aclrtCreateStreamWithConfig", OUT, priority, flag)
    return reply[1] if isinstance(reply, tuple) else reply


def attribute(driver: Driver, stream: int, kind: int) -> Any:
    reply = driver.call("aclrtGetStreamAttribute", stream, kind, OUT)
    if not isinstance(reply, tuple):
        return reply
    return None if reply[1] is None else unpack("<Q" if len(reply[1]) == 8 else "<I", reply[1])[0]


def set_attribute(driver: Driver, stream: int, kind: int, value: int) -> Any:
    return driver.call("aclrtSetStreamAttribute", stream, kind, pack("<QQ", value, 0))


class TestMaking:
    @pytest.mark.parametrize(
        ("priority", "found"),
        [(0, 0), (3, 3), (7, 7), (8, 7), (100, 7), (0x7FFF_FFFF, 7), (0x8000_0000, 0), (0xFFFF_FFFF, 0)],
    )
    def test_priorities_are_clamped_as_signed_numbers(self, driver: Driver, priority: int, found: int) -> None:
        assert driver.ok("aclrtStreamGetPriority", made(driver, priority), OUT) == found

    def test_the_range_of_priorities(self, driver: Driver) -> None:
        assert driver.call("aclrtDeviceGetStreamPriorityRange", OUT, OUT) == (0, 7, 0)
        assert driver.call("aclrtDeviceGetStreamPriorityRange", 0, OUT) == (0, None, 0)
        assert driver.call("aclrtDeviceGetStreamPriorityRange", OUT, 0) == (0, 7, None)

    @pytest.mark.parametrize(
        ("flag", "found"),
        [(0, 0), (3, 3), (PERSISTENT, PERSISTENT), (0x40, 0), (0xFFFF_FFC0, 0), (0x80000003, 3), (0x1F, 0x1F)],
    )
    def test_unknown_flags_are_dropped(self, driver: Driver, flag: int, found: int) -> None:
        assert driver.ok("aclrtStreamGetFlags", made(driver, 0, flag), OUT) == found

    @pytest.mark.parametrize("flag", range(0x20, 0x40))
    def test_device_use_only_stands_alone(self, driver: Driver, flag: int) -> None:
        stream = made(driver, 0, flag)
        assert (stream == 107000) == (flag != DEVICE_USE_ONLY)

    @pytest.mark.parametrize("product", ["A2", "A3", "310P", "310B", "910", "950PR", "950DT"])
    def test_what_products_refuse(self, product: str) -> None:
        driver = Driver(product=product).opened()
        profile = driver.machine.profile
        assert (made(driver, 0, HUGE) == 207000) != profile.huge_streams
        assert (made(driver, 0, DEVICE_USE_ONLY) == 207000) != profile.device_use_only_streams

    def test_plain_streams_have_no_flags_and_the_strongest_priority(self, driver: Driver) -> None:
        for stream in (driver.stream(), 0):
            assert driver.ok("aclrtStreamGetPriority", stream, OUT) == 0
            assert driver.ok("aclrtStreamGetFlags", stream, OUT) == 0

    @pytest.mark.parametrize("flag", [PERSISTENT, CPU_SCHEDULE, DEVICE_USE_ONLY])
    def test_streams_that_nobody_waits_for(self, driver: Driver, flag: int) -> None:
        """5: synchronise returns 0 at once for them, and a device synchronise leaves them out."""
        stream, event = made(driver, 0, flag), driver.event(1)
        if flag != PERSISTENT:
            driver.ok("aclrtStreamWaitEvent", stream, event)
        driver.ok("aclrtSynchronizeStream", stream)
        driver.ok("aclrtSynchronizeStreamWithTimeout", stream, 5)
        assert driver.ok("aclrtStreamQuery", stream, OUT) == 0
        driver.ok("aclrtSynchronizeDevice")


class TestIds:
    def test_ids_differ_and_are_used_again(self, driver: Driver) -> None:
        streams = [0, *(driver.stream() for _ in range(4))]
        ids = [driver.ok("aclrtStreamGetId", stream, OUT) for stream in streams]
        assert len({*ids}) == 5
        driver.ok("aclrtDestroyStream", streams[2])
        assert driver.ok("aclrtStreamGetId", driver.stream(), OUT) == ids[2]

    def test_the_id_needs_no_context(self, driver: Driver) -> None:
        """10a."""
        stream = driver.stream()
        assert driver.call("aclrtStreamGetId", stream, OUT, thread=2) == driver.call("aclrtStreamGetId", stream, OUT)

    def test_the_default_stream_of_a_context(self, driver: Driver) -> None:
        default = driver.ok("aclrtCtxGetCurrentDefaultStream", OUT)
        assert driver.ok("aclrtStreamGetId", default, OUT) == driver.ok("aclrtStreamGetId", 0, OUT)
        event = driver.event(1)
        driver.ok("aclrtStreamWaitEvent", default, event)
        assert driver.ok("aclrtStreamQuery", 0, OUT) == 1
        driver.ok("aclrtCreateContext", OUT, 0)
        assert driver.ok("aclrtCtxGetCurrentDefaultStream", OUT) != default
        assert driver.call("aclrtRecordEvent", event, default) == 107003

    @pytest.mark.parametrize("product", ["A2", "A3", "310P", "310B", "910", "950PR", "950DT"])
    def test_streams_are_used_up(self, product: str) -> None:
        """0.4; each context has one for itself."""
        driver = Driver(product=product).opened()
        left = driver.ok("aclrtGetStreamAvailableNum", OUT)
        assert left == driver.machine.profile.streams - 1
        streams = [driver.stream() for _ in range(left)]
        assert driver.ok("aclrtGetStreamAvailableNum", OUT) == 0
        for call in (("aclrtCreateStream", OUT), ("aclrtCreateStreamWithConfig", OUT, 0, 0)):
            assert driver.call(*call) == 207008
        assert driver.call("aclrtCreateContext", OUT, 0) == 207008
        driver.ok("aclrtDestroyStreamForce", streams.pop())
        assert driver.ok("aclrtGetStreamAvailableNum", OUT) == 1
        driver.ok("aclrtCreateContext", OUT, 0)
        assert driver.ok("aclrtGetStreamAvailableNum", OUT) == 0


class TestFailureModes:
    def test_modes(self, driver: Driver) -> None:
        """5: only bit 0 counts; there is no way back."""
        stream = driver.stream()
        for mode in (0, 2, 0xFFFF_FFFF_FFFF_FFFE):
            driver.ok("aclrtSetStreamFailureMode", stream, mode)
            assert attribute(driver, stream, FAILURE_MODE) == 0
        for mode in (1, 3, 0xFFFF_FFFF_FFFF_FFFF):
            driver.ok("aclrtSetStreamFailureMode", stream, mode)
            assert attribute(driver, stream, FAILURE_MODE) == 1
        assert driver.call("aclrtSetStreamFailureMode", stream, 0) == 207000

    def test_the_mode_that_is_set_is_fine_even_on_a_foreign_stream(self, driver: Driver) -> None:
        """Observed."""
        stream = driver.stream()
        driver.ok("aclrtSetStreamFailureMode", stream, STOP)
        driver.ok("aclrtCreateContext", OUT, 0)
        driver.ok("aclrtSetStreamFailureMode", stream, STOP)
        assert driver.call("aclrtSetStreamFailureMode", stream, 0) == 207000

    def test_a_later_stream_of_a_stop_mode_context_does_not_show_it(self, driver: Driver) -> None:
        """10a."""
        driver.ok("aclrtSetStreamFailureMode", driver.stream(), STOP)
        later, event = driver.stream(), driver.event(1)
        assert attribute(driver, later, FAILURE_MODE) == 0
        driver.ok("aclrtStreamWaitEventWithTimeout", later, event, 1)
        driver.pace(1100)
        assert driver.call("aclrtRecordEvent", event, 0) == 107020

    def test_the_null_stream(self, driver: Driver) -> None:
        """0.3."""
        driver.ok("aclrtSetStreamFailureMode", 0, STOP)
        assert attribute(driver, 0, FAILURE_MODE) == 1
        driver = Driver(product="310P").opened()
        assert driver.call("aclrtSetStreamFailureMode", 0, STOP) in (107000, 207000)

    def test_a_stream_that_stopped(self, driver: Driver) -> None:
        """5: STOP again on a stream that already aborted after a failure is refused."""
        stream = driver.stream()
        driver.ok("aclrtSetStreamFailureMode", stream, STOP)
        driver.ok("aclrtStreamWaitEventWithTimeout", stream, driver.event(1), 1)
        driver.pace(1100)
        assert driver.call("aclrtSetStreamFailureMode", stream, STOP) == 207000


class TestAttributes:
    def test_what_is_set_can_be_read(self, driver: Driver) -> None:
        for stream in (driver.stream(), 0):
            for kind, value in ((OVERFLOW, 1), (OVERFLOW, 0), (TAG, 0), (TAG, 0xFFFF_FFFF), (TAG, 5)):
                assert set_attribute(driver, stream, kind, value) == 0
                assert attribute(driver, stream, kind) == value

    def test_values_of_a_new_stream(self, driver: Driver) -> None:
        stream = made(driver, 4)
        found = [attribute(driver, stream, kind) for kind in (FAILURE_MODE, OVERFLOW, TAG, CACHES, PRIORITY)]
        assert found == [0, 0, 0xFFFF_FFFF, 0, 4]

    def test_some_can_be_set_without_a_trace(self, driver: Driver) -> None:
        """Observed: caching tells about captures; a priority that is set does not show."""
        stream = made(driver, 4)
        for kind, before in ((CACHES, 0), (PRIORITY, 4)):
            assert set_attribute(driver, stream, kind, 1) == 0
            assert attribute(driver, stream, kind) == before

    def test_a_failure_mode_is_the_same_thing_as_that_of_its_function(self, driver: Driver) -> None:
        stream = driver.stream()
        assert set_attribute(driver, stream, FAILURE_MODE, 3) == 0
        assert attribute(driver, stream, FAILURE_MODE) == 1
        assert driver.call("aclrtSetStreamFailureMode", stream, 0) == 207000

    def test_an_overflow_switch_is_the_same_thing_as_that_of_its_functions(self, driver: Driver) -> None:
        stream = driver.stream()
        driver.ok("aclrtSetStreamOverflowSwitch", stream, 1)
        assert attribute(driver, stream, OVERFLOW) == driver.ok("aclrtGetStreamOverflowSwitch", stream, OUT) == 1

    @pytest.mark.parametrize("product", ["310P", "310B", "910"])
    def test_products_without_the_newer_control_queue(self, product: str) -> None:
        driver = Driver(product=product).opened()
        if "aclrtSetStreamAttribute" not in driver.handlers:
            return
        stream = driver.stream()
        for kind in (TAG, OVERFLOW):
            reply = set_attribute(driver, stream, kind, 1)
            assert reply in (0, 207000)
        assert attribute(driver, 0, FAILURE_MODE) in (107000, 207000)


class TestCores:
    """Reference pages: a stream's limit before that of the device, before what the product has; threads choose."""

    def test_limits(self, driver: Driver) -> None:
        stream, kinds = driver.stream(), range(2)
        cores = [driver.machine.profile.cube_cores, driver.machine.profile.vector_cores]

        def found() -> list[list[int]]:
            calls = (("aclrtGetDeviceResLimit", 0), ("aclrtGetStreamResLimit", stream), ("aclrtGetResInCurrentThread",))
            return [[driver.ok(*call, kind, OUT) for kind in kinds] for call in calls]

        assert found() == [cores] * 3
        driver.ok("aclrtSetDeviceResLimit", 0, 0, 8)
        assert found() == [[8, cores[1]]] * 3
        driver.ok("aclrtSetStreamResLimit", stream, 1, 3)
        assert found() == [[8, cores[1]], [8, 3], [8, cores[1]]]
        driver.ok("aclrtUseStreamResInCurrentThread", stream)
        assert found() == [[8, cores[1]], [8, 3], [8, 3]]
        driver.ok("aclrtUnuseStreamResInCurrentThread", 0)
        assert found()[2] == [8, 3], "another stream is in use"
        driver.ok("aclrtUnuseStreamResInCurrentThread", stream)
        driver.ok("aclrtResetDeviceResLimit", 0)
        assert found() == [cores, [cores[0], 3], cores]
        driver.ok("aclrtResetStreamResLimit", stream)
        assert found() == [cores] * 3

    def test_limits_of_a_device_end_with_its_use(self, driver: Driver) -> None:
        driver.ok("aclrtSetDeviceResLimit", 0, 0, 8)
        driver.ok("aclrtResetDevice", 0)
        driver.opened()
        assert driver.ok("aclrtGetDeviceResLimit", 0, 0, OUT) == driver.machine.profile.cube_cores
