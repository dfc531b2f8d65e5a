"""Allocators, data buffers, data types, architectures, faults, marks: what calls keep, and what they say."""

import math
import struct

import pytest

from tests.fakes import OUT, Driver

OBJECT, ALLOCATE, FREE, ADVISE, GET = range(0x1000, 0x6000, 0x1000)
PARTS = {"Obj": OBJECT, "AllocFunc": ALLOCATE, "FreeFunc": FREE, "GetAddrFromBlockFunc": GET}
EIGHT = (5, 9, 10, 11, 14, 16, 38, 39, 40, 41, 1000)  # types of 8 bytes, and numbers that are no type


def described(driver: Driver) -> int:
    description = int(driver.call("aclrtAllocatorCreateDesc"))
    for part, value in PARTS.items():
        driver.ok(f"aclrtAllocatorSet{part}ToDesc", description, value)
    return description


def test_a_stream_has_the_allocator_that_was_registered_last() -> None:
    driver = Driver().opened()
    stream, other = driver.stream(), driver.stream()
    description = described(driver)
    driver.ok("aclrtAllocatorRegister", stream, description)
    asked = driver.ok("aclrtAllocatorGetByStream", stream, *[OUT] * 6)
    assert asked == (description, OBJECT, ALLOCATE, FREE, 0, GET)
    driver.ok("aclrtAllocatorSetAllocAdviseFuncToDesc", description, ADVISE)
    assert driver.ok("aclrtAllocatorGetByStream", stream, *[OUT] * 6) == asked  # it has a copy
    driver.ok("aclrtAllocatorRegister", stream, description)
    driver.ok("aclrtAllocatorDestroyDesc", description)
    assert driver.ok("aclrtAllocatorGetByStream", stream, *[OUT] * 6) == (*asked[:4], ADVISE, GET)
    assert driver.call("aclrtAllocatorGetByStream", other, *[OUT] * 6) == 100000
    driver.ok("aclrtAllocatorUnregister", stream)
    driver.ok("aclrtAllocatorUnregister", stream)
    assert driver.call("aclrtAllocatorGetByStream", stream, *[OUT] * 6) == 100000


def test_of_an_allocator_the_program_may_ask_only_some_parts() -> None:
    driver = Driver().opened()
    stream, description = driver.stream(), described(driver)
    driver.ok("aclrtAllocatorRegister", stream, description)
    reply = driver.ok("aclrtAllocatorGetByStream", stream, OUT, 0, OUT, 0, 0, OUT)
    assert reply == (description, None, ALLOCATE, None, None, GET)


def test_data_buffers_keep_an_address_and_a_size() -> None:
    driver = Driver().opened()
    buffer = driver.call("aclCreateDataBuffer", 0x1234, (1 << 32) + 5)
    assert driver.call("aclGetDataBufferAddr", buffer) == 0x1234
    assert driver.call("aclGetDataBufferSizeV2", buffer) == (1 << 32) + 5
    assert driver.call("aclGetDataBufferSize", buffer) == 5
    driver.ok("aclUpdateDataBuffer", buffer, 0, 7)
    assert driver.call("aclGetDataBufferAddr", buffer) is None
    assert driver.call("aclGetDataBufferSizeV2", buffer) == 7
    assert driver.message() == ""
    driver.ok("aclDestroyDataBuffer", buffer)


@pytest.mark.parametrize(
    ("size", "types"),
    [(0, (-1, 13)), (1, (2, 4, 12, 29, 30, 34, 35, 36, 37)), (2, (1, 6, 7, 27)), (4, (0, 3, 8, 33)), (16, (17,)),
     (8, EIGHT)],
)  # fmt: skip
def test_sizes_of_data_types(size: int, types: tuple[int, ...]) -> None:
    driver = Driver()
    assert [driver.call("aclDataTypeSize", one) for one in types] == [size] * len(types)


def test_every_16_bit_number_survives_the_way_to_a_float_and_back() -> None:
    driver = Driver()
    for bits in range(1 << 16):
        value = driver.call("aclFloat16ToFloat", bits)
        if bits & 0x7C00 != 0x7C00:
            assert value == struct.unpack("<e", struct.pack("<H", bits))[0]
            assert driver.call("aclFloatToFloat16", value) == bits


@pytest.mark.parametrize(
    ("value", "bits"),
    [
        (65504.0, 0x7BFF), (65519.0, 0x7BFF), (65520.0, 0x7BFF), (1e30, 0x7BFF), (-1e30, 0xFBFF),
        (math.inf, 0x7BFF), (-math.inf, 0xFBFF), (math.nan, 0x7BFF), (-0.0, 0x8000), (2.0**-25, 0), (3 * 2.0**-26, 1),
        (1.0 + 2.0**-11, 0x3C00), (1.0 + 3 * 2.0**-11, 0x3C02),
    ],
)  # fmt: skip
def test_floats_are_rounded_and_saturate(value: float, bits: int) -> None:
    assert Driver().call("aclFloatToFloat16", value) == bits


@pytest.mark.parametrize(
    ("bits", "value"), [(0x7C00, 65536.0), (0xFC00, -65536.0), (0x7E00, 98304.0), (0x0001, 2.0**-24)]
)
def test_special_bits_are_read_as_numbers(bits: int, value: float) -> None:
    assert Driver().call("aclFloat16ToFloat", bits) == value


@pytest.mark.parametrize(
    ("product", "fits", "does_not"),
    [
        ("A2", b"Ascend910B4", b"Ascend910A"),
        ("A2", b"Ascend910_9391", b"Ascend910B"),  # without a digit that is the older chip
        ("A3", b"Ascend910B1", b"Ascend950PR_9599"),
        ("910", b"Ascend910B", b"Ascend910B1"),
        ("310P", b"Ascend310P1", b"Ascend310B1"),
        ("950DT", b"Ascend950PR_9599", b"Ascend910B1"),
    ],
)
def test_operators_run_on_chips_of_the_same_architecture(product: str, fits: bytes, does_not: bytes) -> None:
    driver = Driver(product=product)
    assert driver.ok("aclrtCheckArchCompatibility", fits, OUT) == 1
    assert driver.ok("aclrtCheckArchCompatibility", does_not, OUT) == 0


def test_no_device_has_a_fault() -> None:
    driver = Driver().opened()
    assert driver.ok("aclrtGetMemUceInfo", 0, OUT, 20, OUT) == ((), 0)
    none = driver.ok("aclrtGetErrorVerbose", 0, OUT)
    assert none == (0, 0, bytes(2), 0, bytes(2568))
    driver.ok("aclrtMemUceRepair", 0, (), 0)
    driver.ok("aclrtRepairError", 0, (1, *none[1:]))


def test_memory_is_mapped_for_a_device_that_may_reach_it() -> None:
    driver = Driver().opened()
    memory = driver.device_memory(64)
    driver.ok("aclrtMemP2PMap", memory, 64, 0, 0)
    assert driver.call("aclrtMemP2PMap", memory, 64, 1, 0) == 507899
    driver.ok("aclrtSetDevice", 1)
    driver.ok("aclrtDeviceEnablePeerAccess", 0, 0)
    driver.ok("aclrtMemP2PMap", memory, 64, 1, 0)


def test_a_mark_takes_its_turn() -> None:
    driver = Driver().opened()
    stream = driver.stream()
    gate = driver.gate(stream)
    driver.ok("aclrtProfTrace", b"mark", 4, stream)
    assert driver.ok("aclrtStreamQuery", stream, OUT) == 1
    driver.ok("aclrtRecordEvent", gate, 0)
    driver.ok("aclrtSynchronizeStream", stream)
    assert driver.ok("aclrtStreamQuery", stream, OUT) == 0
