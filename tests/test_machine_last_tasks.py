"""The task that a thread submitted last: its id, and what it can be given to keep."""

from struct import pack, unpack

import pytest

from cannery.runtime.objects import PERSISTENT
from tests.fakes import OUT, Driver

CACHE_OP_INFO = 4  # aclrtStreamAttr
INFORMATION = (("aclrtCacheLastTaskOpInfo", b"information"), ("aclrtCacheLastTaskExtendInfo", b"{}"))
GLOBAL, PER_THREAD, RELAXED = range(3)


def last(driver: Driver, thread: int = 1) -> int:
    return int(driver.ok("aclrtGetThreadLastTaskId", OUT, thread=thread))


def cached(driver: Driver, thread: int = 1) -> tuple[int, int]:
    """What the two calls answer that give the last task information."""
    one, two = (driver.call(name, text, len(text), thread=thread) for name, text in INFORMATION)
    return one, two


def switched(driver: Driver, stream: int, on: int) -> None:
    driver.ok("aclrtSetStreamAttribute", stream, CACHE_OP_INFO, pack("<IIII", on, 0, 0, 0))


def caches(driver: Driver, stream: int) -> int:
    return int(unpack("<I", driver.ok("aclrtGetStreamAttribute", stream, CACHE_OP_INFO, OUT)[:4])[0])


def fill(driver: Driver, stream: int, thread: int = 1) -> None:
    driver.ok("aclrtMemsetAsync", driver.device_memory(4), 4, 0, 4, stream, thread=thread)


def test_each_thread_has_a_last_task() -> None:
    driver = Driver().opened()
    stream = driver.stream()
    assert last(driver) == last(driver, 2) == 0
    fill(driver, stream)
    first = last(driver)
    driver.ok("aclrtSetDevice", 0, thread=2)
    fill(driver, stream, 2)
    assert first == last(driver) != last(driver, 2) != 0
    event = driver.event()
    driver.ok("aclrtRecordEvent", event, stream)
    assert last(driver) not in (first, last(driver, 2))  # a record is a task too


def test_a_refused_call_leaves_the_last_task_as_it_is() -> None:
    driver = Driver().opened()
    stream = driver.stream()
    fill(driver, stream)
    before = last(driver)
    assert driver.call("aclrtMemsetAsync", 0, 4, 0, 4, stream) != 0
    assert last(driver) == before


def test_only_tasks_of_a_capture_keep_information_about_operators() -> None:
    driver = Driver().opened()
    stream = driver.stream()
    fill(driver, stream)
    assert cached(driver) == (507000, 507000)
    switched(driver, stream, 1)
    assert caches(driver, stream) == 0  # outside a capture
    driver.ok("aclmdlRICaptureBegin", stream, GLOBAL)
    assert caches(driver, stream) == 1
    assert cached(driver) == (507000, 507000)  # the last task is still that of before
    fill(driver, stream)
    assert last(driver) == 1
    assert cached(driver) == (0, 0)
    switched(driver, stream, 0)
    assert caches(driver, stream) == 0
    assert cached(driver) == (507000, 0)
    switched(driver, stream, 1)
    assert cached(driver) == (0, 0)
    model = driver.ok("aclmdlRICaptureEnd", stream, OUT)
    assert cached(driver) == (507000, 0)  # the task is still there, the switch is not
    driver.ok("aclmdlRIDestroy", model)
    assert cached(driver) == (507000, 507000)


def test_the_stream_that_a_capture_began_on_decides_for_those_that_join() -> None:
    driver = Driver().opened()
    stream, joined = driver.stream(), driver.stream()
    event = driver.event(1, ex=True)
    switched(driver, joined, 1)
    driver.ok("aclmdlRICaptureBegin", stream, GLOBAL)
    driver.ok("aclrtRecordEvent", event, stream)
    driver.ok("aclrtStreamWaitEvent", joined, event)
    assert (caches(driver, stream), caches(driver, joined)) == (0, 0)
    fill(driver, joined)
    assert cached(driver) == (507000, 0)
    switched(driver, stream, 1)
    assert (caches(driver, stream), caches(driver, joined)) == (1, 1)
    assert cached(driver) == (0, 0)


def test_instances_built_by_hand_keep_extended_information_only() -> None:
    driver = Driver().opened()
    stream = driver.ok("aclrtCreateStreamWithConfig", OUT, 0, PERSISTENT)
    model = driver.ok("aclmdlRIBuildBegin", OUT, 0)
    driver.ok("aclmdlRIBindStream", model, stream, 0)
    fill(driver, stream)
    fill(driver, stream)
    assert last(driver) == 2
    switched(driver, stream, 1)
    assert caches(driver, stream) == 0
    assert cached(driver) == (507000, 0)


@pytest.mark.parametrize("device", [0, 1])
def test_the_context_has_to_be_that_of_the_task(device: int) -> None:
    driver = Driver().opened()
    stream = driver.stream()
    switched(driver, stream, 1)
    driver.ok("aclmdlRICaptureBegin", stream, RELAXED)
    fill(driver, stream)
    driver.ok("aclrtCreateContext", OUT, device)
    assert cached(driver) == ((107003, 107003), (507000, 507000))[device]
