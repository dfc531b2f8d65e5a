"""Devices: their ids, what connects them, what they can do and are doing, groups of their cores."""

import pytest

from cannery.runtime.kernels import UnmodelledLaunch
from tests.fakes import OUT, Driver

HCCS, SYS, SIO, HCCS_SWITCH = 0x01, 0x10, 0x20, 0x40


def test_ids_are_the_same_without_visible_devices() -> None:
    driver = Driver(devices=3)
    for function in ("LogicDevIdByUserDevId", "UserDevIdByLogicDevId", "PhyDevIdByUserDevId", "UserDevIdByPhyDevId"):
        assert [driver.ok(f"aclrtGet{function}", number, OUT) for number in range(3)] == [0, 1, 2]


def test_user_ids_count_what_the_process_sees() -> None:
    driver = Driver(devices=4, visible="1,3")
    to_index = ("aclrtGetLogicDevIdByUserDevId", "aclrtGetPhyDevIdByUserDevId", "aclrtGetPhyDevIdByLogicDevId")
    to_user = ("aclrtGetUserDevIdByLogicDevId", "aclrtGetUserDevIdByPhyDevId", "aclrtGetLogicDevIdByPhyDevId")
    for function in to_index:
        assert [driver.ok(function, user, OUT) for user in range(2)] == [1, 3]
        assert driver.call(function, 2, OUT) == 107001
    for function in to_user:
        assert [driver.ok(function, index, OUT) for index in (1, 3)] == [0, 1]
        assert driver.call(function, 0, OUT) == 107001


@pytest.mark.parametrize(
    ("product", "own", "next_one", "further"),
    [("A2", HCCS, HCCS, HCCS), ("A3", HCCS, SIO, HCCS_SWITCH), ("950PR", HCCS, HCCS_SWITCH, HCCS_SWITCH)],
)
def test_topology(product: str, own: int, next_one: int, further: int) -> None:
    driver = Driver(product=product, devices=4)
    links = [driver.ok("aclrtGetDevicesTopo", 0, other, OUT) for other in range(4)]
    assert links == [own, next_one, further, further]
    assert [driver.ok("aclrtGetDevicesTopo", other, 0, OUT) for other in range(4)] == links


def test_devices_that_do_not_reach_each_other_are_far() -> None:
    driver = Driver(product="310B", devices=2)
    assert driver.ok("aclrtGetDevicesTopo", 0, 1, OUT) == SYS
    virtualised = Driver(virtualised=True)
    assert virtualised.ok("aclrtDeviceCanAccessPeer", OUT, 0, 1) == 0
    assert virtualised.ok("aclrtGetDevicesTopo", 0, 1, OUT) == SYS


@pytest.mark.parametrize(("product", "updates"), [("A2", 1), ("950DT", 1), ("310P", 1), ("310B", 0), ("910", 0)])
def test_capabilities(product: str, updates: int) -> None:
    driver = Driver(product=product)
    assert driver.ok("aclrtGetDeviceCapability", 1, 1, OUT) == updates
    assert driver.ok("aclrtGetDeviceCapability", 1, 21, OUT) == 0


def test_every_device_has_a_uuid_of_its_own() -> None:
    driver = Driver(devices=3, visible="1,2")
    first, second = (driver.ok("aclrtDeviceGetUuid", user, OUT)[0] for user in range(2))
    assert len(first) == 16
    assert first != second
    assert Driver(devices=3).ok("aclrtDeviceGetUuid", 1, OUT)[0] == first


def test_the_primary_context_is_active_while_the_device_is_selected() -> None:
    driver = Driver()
    assert driver.ok("aclrtGetPrimaryCtxState", 0, 0, OUT) == 0
    driver.ok("aclrtCreateContext", OUT, 0)
    assert driver.ok("aclrtGetPrimaryCtxState", 0, 0, OUT) == 0
    driver.ok("aclrtSetDevice", 0)
    assert driver.ok("aclrtGetPrimaryCtxState", 0, 0, OUT) == 1
    assert driver.ok("aclrtGetPrimaryCtxState", 1, 0, OUT) == 0
    driver.ok("aclrtResetDevice", 0)
    assert driver.ok("aclrtGetPrimaryCtxState", 0, 0, OUT) == 0


def test_a_device_is_used_while_a_kernel_runs() -> None:
    driver = Driver().opened()
    stream = driver.stream()
    question = (0, 0, 0, 0, False)
    idle, used = (0, 0, 0, -1, 0), (100, 100, 0, -1, 0)
    assert driver.ok("aclrtGetDeviceUtilizationRate", 0, question) == idle
    gate = driver.gate(stream)
    task = UnmodelledLaunch()
    task.cost, task.stream = 1_000_000_000, driver.machine.streams[stream]
    driver.machine.schedule.submit(task)
    assert driver.ok("aclrtGetDeviceUtilizationRate", 0, question) == idle
    driver.ok("aclrtRecordEvent", gate, 0)
    driver.pace(1)
    assert driver.ok("aclrtGetDeviceUtilizationRate", 0, question) == used
    assert driver.ok("aclrtGetDeviceUtilizationRate", 1, question) == idle
    driver.ok("aclrtSynchronizeStream", stream)
    assert driver.ok("aclrtGetDeviceUtilizationRate", 0, question) == idle


def test_what_is_not_known_of_a_device_is_minus_one() -> None:
    unknown = (-1, -1, -1, -1, 0)
    for device in (-1, 2):
        assert Driver().ok("aclrtGetDeviceUtilizationRate", device, (0, 0, 0, 0, False)) == unknown
    assert Driver(virtualised=True).ok("aclrtGetDeviceUtilizationRate", 0, (0, 0, 0, 0, False)) == unknown


def test_the_sync_address_is_one_for_each_device() -> None:
    driver = Driver().opened()
    address = driver.ok("aclrtGetHardwareSyncAddr", OUT)
    driver.ok("aclrtCreateContext", OUT, 0)
    assert driver.ok("aclrtGetHardwareSyncAddr", OUT) == address
    driver.ok("aclrtSetDevice", 1)
    assert driver.ok("aclrtGetHardwareSyncAddr", OUT) != address
    assert Driver(product="310P").opened().call("aclrtGetHardwareSyncAddr", OUT) == 207000


def test_groups_come_from_the_product() -> None:
    driver = Driver(product="310P").opened()
    assert driver.ok("aclrtGetGroupCount", OUT) == 1
    information = driver.call("aclrtCreateGroupInfo")
    asked = [driver.ok("aclrtGetGroupInfoDetail", information, 0, attribute, OUT, 4, OUT) for attribute in range(6)]
    assert asked == [(bytes(4), 4)] * 6  # nothing was put there yet
    driver.ok("aclrtGetAllGroupInfo", information)
    asked = [driver.ok("aclrtGetGroupInfoDetail", information, 0, attribute, OUT, 8, OUT) for attribute in range(6)]
    (group,) = driver.machine.profile.groups
    assert [int.from_bytes(value, "little") for value, _ in asked] == [*group[1:3], *group[3:], group[0]]
    driver.ok("aclrtSetGroup", group[0])
    driver.ok("aclrtDestroyGroupInfo", information)


def test_no_group_information_without_a_context_or_on_other_products() -> None:
    driver = Driver(product="310P")
    assert driver.call("aclrtCreateGroupInfo") == 0
    assert "107002" in driver.message()
    assert not Driver().opened().call("aclrtCreateGroupInfo")
