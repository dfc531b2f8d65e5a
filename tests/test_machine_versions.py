"""Versions of packages, features of the software, figures of devices."""

from struct import unpack

import pytest

from cannery.runtime.api import MODEL
from tests.fakes import OUT, Driver

PACKAGES = (b"runtime", b"bisheng-compiler", b"bisheng_compiler", b"hccl", b"oam-tools", b"ops_legacy")


def test_all_packages_have_one_version() -> None:
    driver = Driver()  # these calls need no device and no aclInit
    for package in PACKAGES:
        assert driver.ok("aclsysGetVersionStr", package, OUT) == b"9.1.0\0"
        assert driver.ok("aclsysGetVersionNum", package, OUT) == 90_100_000
    for name in range(7):
        assert driver.ok("aclsysGetCANNVersion", name, OUT) == (b"9.1.0", b"9", b"1", b"0", b"0", b"")


def test_the_text_fits_where_it_goes() -> None:
    length = MODEL["aclsysGetVersionStr"].params[1].role.length
    assert length({}) == len(Driver().ok("aclsysGetVersionStr", b"runtime", OUT))


@pytest.mark.parametrize(
    ("product", "features"),
    [("A2", [1, 1, 1]), ("A3", [1, 1, 1]), ("950DT", [1, 1, 1]), ("310B", [0, 0, 1]), ("310P", [0, 0, 1]),
     ("910", [0, 0, 1])],
)  # fmt: skip
def test_features(product: str, features: list[int]) -> None:
    driver = Driver(product=product)
    assert [driver.ok("aclGetCannAttribute", attribute, OUT) for attribute in range(3)] == features
    listed, number = driver.ok("aclGetCannAttributeList", OUT, OUT)
    assert list(unpack(f"<{number}i", listed)) == [attribute for attribute in range(3) if features[attribute]]
    assert driver.ok("aclGetCannAttributeList", OUT, OUT)[0] is listed  # which the program may keep a pointer to


@pytest.mark.parametrize(
    ("product", "cubes", "vectors", "cache"),
    [("A2", 24, 48, 192 << 20), ("950PR", 36, 72, 128 << 20), ("310P", 8, 7, 16 << 20), ("310B", 1, 1, 4 << 20)],
)
def test_figures_of_a_device(product: str, cubes: int, vectors: int, cache: int) -> None:
    driver = Driver(product=product, devices=2)
    for device in range(2):
        figures = [driver.ok("aclGetDeviceCapability", device, figure, OUT) for figure in range(3)]
        assert figures == [cubes, vectors, cache]


@pytest.mark.parametrize(
    ("product", "figures"),
    [
        ("A2", (6, 24, 24, 48, 64 << 30, 192 << 20, 1, 0, 2201)),
        ("950DT", (7, 28, 28, 56, 144 << 30, 128 << 20, 1, 0, 3510)),
        ("310P", (7, 8, 8, 7, 24 << 30, 16 << 20, 1, 0, 2002)),
        ("910", (4, 32, 32, 32, 32 << 30, 32 << 20, 1, 0, 1001)),
    ],
)
def test_attributes_of_a_device(product: str, figures: tuple[int, ...]) -> None:
    driver = Driver(product=product, devices=2)
    attributes = (1, 101, 102, 201, 301, 302, 402, 501, 601)
    assert tuple(driver.ok("aclrtGetDeviceInfo", 1, attribute, OUT) for attribute in attributes) == figures


def test_only_some_cores_run_threads() -> None:
    attributes = range(202, 213)
    with_threads, without = Driver(product="950PR"), Driver(product="A3")
    assert [without.ok("aclrtGetDeviceInfo", 0, attribute, OUT) for attribute in attributes] == [0] * 11
    values = [with_threads.ok("aclrtGetDeviceInfo", 0, attribute, OUT) for attribute in attributes]
    assert values == [32, 2048, 216 << 10, 65535, 65535, 65535, 65535, 2048, 2048, 2048, 2048]


def test_virtualised_devices_say_so() -> None:
    assert Driver(virtualised=True).ok("aclrtGetDeviceInfo", 0, 501, OUT) == 1
    assert Driver(visible="1").ok("aclrtGetDeviceInfo", 0, 402, OUT) == 1
