"""What devices tell about themselves, who reaches whose memory, the end of a process's use (semantics.md 3, 4, and the
reference pages of calls that it does not name)."""

import pytest

from tests.fakes import OUT, Driver

CUBE_CORES, VECTOR_CORES, MEMORY, PHYSICAL_ID, IS_VIRTUAL = 102, 201, 301, 402, 501


@pytest.fixture
def driver() -> Driver:
    return Driver().opened()


def test_the_version_is_that_of_the_headers(driver: Driver) -> None:
    assert driver.call("aclrtGetVersion", OUT, OUT, OUT) == (0, 1, 17, 0)


def test_devices_are_well(driver: Driver) -> None:
    assert [driver.ok("aclrtQueryDeviceStatus", device, OUT) for device in (0, 1)] == [0, 0]


@pytest.mark.parametrize("scheduler", [0, 1])
def test_both_task_schedulers_mean_the_same(scheduler: int) -> None:
    Driver().ok("aclrtSetTsDevice", scheduler)


def test_attributes_of_devices() -> None:
    driver = Driver(visible="1")
    profile = driver.machine.profile
    found = [
        driver.ok("aclrtGetDeviceInfo", 0, kind, OUT)
        for kind in (CUBE_CORES, VECTOR_CORES, MEMORY, PHYSICAL_ID, IS_VIRTUAL)
    ]
    assert found == [profile.cube_cores, profile.vector_cores, profile.memory_bytes, 1, 0]


def test_the_id_of_the_process_is_that_of_the_host() -> None:
    driver = Driver()
    assert driver.ok("aclrtDeviceGetBareTgid", OUT) == driver.host.exchange.process_id()


class TestPeers:
    """3: one direction only, device-wide, idempotent."""

    def test_directions(self, driver: Driver) -> None:
        def status() -> list[int]:
            return [driver.ok("aclrtDevicePeerAccessStatus", *pair, OUT) for pair in ((0, 1), (1, 0), (0, 0))]

        assert status() == [0, 0, 0]
        for _ in range(2):
            driver.ok("aclrtDeviceEnablePeerAccess", 1, 0)
            assert status() == [1, 0, 0]
        driver.ok("aclrtSetDevice", 1)
        driver.ok("aclrtDeviceEnablePeerAccess", 0, 0)
        assert status() == [1, 1, 0]
        driver.ok("aclrtDeviceDisablePeerAccess", 0)
        driver.ok("aclrtDeviceDisablePeerAccess", 0)
        assert status() == [1, 0, 0]

    def test_a_device_forgets_when_it_is_closed(self, driver: Driver) -> None:
        driver.ok("aclrtDeviceEnablePeerAccess", 1, 0)
        driver.ok("aclrtResetDevice", 0)
        assert driver.opened().ok("aclrtDevicePeerAccessStatus", 0, 1, OUT) == 0

    def test_any_two_devices_can(self, driver: Driver) -> None:
        for pair in ((0, 1), (1, 0)):
            assert driver.ok("aclrtDeviceCanAccessPeer", OUT, *pair, thread=9) == 1


class TestReferences:
    """4: aclInit counts, also where it answers 100002; aclFinalizeReference counts down, aclFinalize ends it all."""

    def test_the_last_reference_ends_it(self) -> None:
        driver = Driver()
        driver.ok("aclInit", None)
        for _ in range(2):
            assert driver.call("aclInit", None) == 100002
        assert [driver.call("aclFinalizeReference", OUT) for _ in range(3)] == [(0, 2), (0, 1), (0, 0)]
        assert driver.call("aclFinalizeReference", OUT)[0] == 100037
        assert driver.call("aclFinalize") == 100037
        driver.ok("aclInit", None)
        driver.ok("aclFinalize")

    def test_without_a_place_for_the_count(self) -> None:
        driver = Driver()
        driver.ok("aclInit", None)
        driver.call("aclInit", None)
        assert driver.call("aclFinalizeReference", 0) == (0, None)
        assert driver.call("aclFinalizeReference", OUT) == (0, 0)

    def test_finalize_ignores_the_count(self) -> None:
        driver = Driver()
        driver.ok("aclInit", None)
        driver.call("aclInit", None)
        driver.ok("aclFinalize")
        assert driver.call("aclFinalizeReference", OUT)[0] == 100037
