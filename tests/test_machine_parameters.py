"""Parameters, limits of operators, overflow: what was set is there, and where it is not, the product decides."""

import pytest

from cannery.runtime.products import PRODUCTS
from tests.fakes import OUT, Driver

DETERMINISTIC = 0
SECOND_US = 1_000_000
INTERVAL_NS = 1 << 32


def test_parameters_of_the_process_begin_with_0() -> None:
    driver = Driver()
    assert driver.ok("aclrtGetSysParamOpt", DETERMINISTIC, OUT) == 0
    driver.ok("aclrtSetSysParamOpt", DETERMINISTIC, 3)
    driver.ok("aclrtSetSysParamOpt", 3, 1)
    assert [driver.ok("aclrtGetSysParamOpt", option, OUT) for option in range(4)] == [3, 0, 0, 1]


def test_parameters_of_a_context_have_no_default_and_are_its_own() -> None:
    driver = Driver().opened()
    driver.ok("aclrtCtxSetSysParamOpt", DETERMINISTIC, 1)
    assert driver.ok("aclrtCtxGetSysParamOpt", DETERMINISTIC, OUT) == 1
    assert driver.ok("aclrtGetSysParamOpt", DETERMINISTIC, OUT) == 0
    driver.ok("aclrtCreateContext", OUT, 0)
    assert driver.call("aclrtCtxGetSysParamOpt", DETERMINISTIC, OUT) == 107021
    assert "aclrtCtxSetSysParamOpt" in driver.message()


@pytest.mark.parametrize(
    ("product", "default_ms", "most_ms", "interval_us"),
    [
        ("A2", 1_090_922, 1_090_922, 4_294_967),  # 1091 s
        ("950PR", 1_090_922, 1_090_922, 4_294_967),
        ("310P", 547_609, 547_609, 2_147_483),  # 547 s
        ("910", 68_720, 2_199_024, 68_719_476),  # 68 s, at most 32 intervals
    ],
)
def test_limits_of_operators_by_product(product: str, default_ms: int, most_ms: int, interval_us: int) -> None:
    driver = Driver(product=product).opened()
    assert driver.ok("aclrtGetOpExecuteTimeout", OUT) == default_ms
    assert driver.ok("aclrtGetOpTimeOutInterval", OUT) == interval_us
    driver.ok("aclrtSetOpExecuteTimeOut", 0)
    assert driver.ok("aclrtGetOpExecuteTimeout", OUT) == most_ms


@pytest.mark.parametrize(
    ("wanted_us", "intervals"),
    [
        (0, 254),
        (1, 1),
        (INTERVAL_NS // 1000, 1),
        (INTERVAL_NS // 1000 + 1, 2),
        (5 * SECOND_US, 2),
        ((1 << 64) - 1, 254),
    ],
)
def test_limits_are_rounded_up_to_intervals(wanted_us: int, intervals: int) -> None:
    driver = Driver().opened()
    assert driver.ok("aclrtSetOpExecuteTimeOutV2", wanted_us, OUT) == intervals * INTERVAL_NS // 1000
    assert driver.ok("aclrtGetOpExecuteTimeout", OUT) == -(-intervals * INTERVAL_NS // 1_000_000)


def test_seconds_and_microseconds_set_the_same_limit() -> None:
    driver = Driver().opened()
    driver.ok("aclrtSetOpExecuteTimeOut", 20)
    seconds = driver.ok("aclrtGetOpExecuteTimeout", OUT)
    driver.ok("aclrtSetOpExecuteTimeOutV2", 20 * SECOND_US, OUT)
    assert driver.ok("aclrtGetOpExecuteTimeout", OUT) == seconds == 21_475


@pytest.mark.parametrize("product", [name for name in PRODUCTS if name != "IPV350"])
def test_the_overflow_mode_is_the_products_until_it_is_set(product: str) -> None:
    driver = Driver(product=product)
    saturates = product in ("310B", "310P", "910")
    assert driver.ok("aclrtGetDeviceSatMode", OUT) == (0 if saturates else 1)
    driver.ok("aclrtSetDeviceSatMode", 1 if saturates else 0)
    assert driver.ok("aclrtGetDeviceSatMode", OUT) == (1 if saturates else 0)


def test_the_overflow_status_is_what_kernels_left_and_zero_without_any() -> None:
    driver = Driver().opened()
    stream, memory = driver.stream(), driver.device_memory(64)
    host = driver.host.give(b"\xff" * 64)
    driver.ok("aclrtGetOverflowStatus", memory, 64, stream)
    driver.ok("aclrtSynchronizeStream", stream)
    driver.ok("aclrtMemcpy", host, 64, memory, 64, 2)
    assert driver.host.peek(host, 64) == bytes(64)
    mark = driver.host.give(b"\x01")
    driver.ok("aclrtMemcpy", driver.ok("aclrtCtxGetFloatOverflowAddr", OUT), 1, mark, 1, 1)
    driver.ok("aclrtGetFloatOverflowStatus", memory, 64, stream)
    driver.ok("aclrtSynchronizeStream", stream)
    driver.ok("aclrtMemcpy", host, 64, memory, 64, 2)
    assert driver.host.peek(host, 64) == b"\x01" + bytes(63)


@pytest.mark.parametrize(
    ("name", "mode"),
    [
        ("aclrtResetOverflowStatus", ()),
        ("aclrtResetFloatOverflowStatus", ()),
        ("aclrtNpuClearFloatOverFlowStatus", (0,)),
    ],
)
def test_clearing_the_status_is_a_task_like_others(name: str, mode: tuple[int, ...]) -> None:
    driver = Driver().opened()
    stream, memory = driver.stream(), driver.device_memory(64)
    host, mark = driver.host.give(bytes(64)), driver.host.give(b"\x07")
    driver.ok("aclrtMemcpy", driver.ok("aclrtCtxGetFloatOverflowAddr", OUT), 1, mark, 1, 1)
    gate = driver.gate(stream)
    driver.ok("aclrtNpuGetFloatOverFlowStatus", memory, 64, 0, stream)
    driver.ok(name, *mode, stream)
    driver.ok("aclrtMemsetAsync", memory, 64, 9, 1, 0)
    driver.ok("aclrtSynchronizeStream", 0)
    driver.ok("aclrtRecordEvent", gate, 0)
    driver.ok("aclrtSynchronizeStream", stream)
    driver.ok("aclrtMemcpy", host, 1, memory, 1, 2)
    assert driver.host.peek(host, 1) == b"\x07"
    driver.ok("aclrtNpuGetFloatOverFlowStatus", memory, 64, 0, stream)
    driver.ok("aclrtSynchronizeStream", stream)
    driver.ok("aclrtMemcpy", host, 64, memory, 64, 2)
    assert driver.host.peek(host, 64) == bytes(64)


def test_each_context_has_its_own_memory_for_marks_and_gives_it_back() -> None:
    driver = Driver().opened()
    first = driver.ok("aclrtCtxGetFloatOverflowAddr", OUT)
    assert driver.ok("aclrtCtxGetFloatOverflowAddr", OUT) == first
    free = driver.ok("aclrtGetMemInfo", 1, OUT, OUT)
    context = driver.ok("aclrtCreateContext", OUT, 0)
    assert driver.ok("aclrtCtxGetFloatOverflowAddr", OUT) != first
    assert driver.ok("aclrtGetMemInfo", 1, OUT, OUT) != free
    driver.ok("aclrtDestroyContext", context)
    driver.ok("aclrtSetDevice", 0)
    assert driver.ok("aclrtGetMemInfo", 1, OUT, OUT) == free
