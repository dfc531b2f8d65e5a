"""Versions of the emulated software, and what it and the devices can do (reference pages of the functions named).

All packages of the toolkit are installed, in the one version that is emulated (``version.py``); there is no driver or
firmware. Which packages the constants of aclCANNPackageName name, and how a version becomes a number, is that of the
reference implementation.
"""

from itertools import combinations
from typing import TYPE_CHECKING, Any, Final

from cannery.runtime.calls.registry import call
from cannery.runtime.errors import ACL_ERROR_INVALID_FILE, Refused, invalid, null
from cannery.runtime.objects import Thread
from cannery.runtime.version import TOOLKIT

if TYPE_CHECKING:
    from cannery.runtime.machine import Machine

INSTALLED: Final = (b"runtime", b"bisheng-compiler", b"hccl", b"oam-tools", b"ops-legacy")
NAMED: Final = 7  # constants of aclCANNPackageName before that of the driver
DRIVER: Final = 7
WEIGHTS: Final = (10_000_000, 100_000, 1000)  # of the parts of a version in its number

# aclCannAttr.
INF_NAN: Final = 0
BRAIN_FLOATS: Final = 1
COMPILES: Final = 2
FEATURES: Final = (INF_NAN, BRAIN_FLOATS, COMPILES)
# What a program gets a pointer to, which it may keep: the arrays of C for each subset.
LISTS: Final[dict[tuple[int, ...], bytes]] = {
    features: b"".join(feature.to_bytes(4, "little") for feature in features)
    for number in range(len(FEATURES) + 1)
    for features in combinations(FEATURES, number)
}

# aclDeviceInfo.
CUBE_CORES: Final = 0
VECTOR_CORES: Final = 1
L2_SIZE: Final = 2


@call("aclsysGetVersionStr")
def get_version_str(machine: "Machine", thread: Thread, package: bytes | None, out: int) -> Any:
    if not out:
        raise null("versionStr")
    _check_installed(package)
    return 0, TOOLKIT.encode() + b"\0"


@call("aclsysGetVersionNum")
def get_version_num(machine: "Machine", thread: Thread, package: bytes | None, out: int) -> Any:
    if not out:
        raise null("versionNum")
    _check_installed(package)
    return 0, sum(int(part) * weight for part, weight in zip(TOOLKIT.split("."), WEIGHTS, strict=True))


def _check_installed(package: bytes | None) -> None:
    """Raises 100000, 100003."""
    if package is None:
        raise null("pkgName")
    if package.replace(b"_", b"-") not in INSTALLED:
        raise _absent(package.decode("utf-8", "backslashreplace"))


def _absent(package: str) -> Refused:
    return Refused(
        ACL_ERROR_INVALID_FILE,
        "the package {!r} is not installed here; those that are: {}",
        package, b", ".join(INSTALLED).decode(),
        remembered=False,
    )  # fmt: skip


@call("aclsysGetCANNVersion")
def get_cann_version(machine: "Machine", thread: Thread, name: int, out: int) -> Any:
    if not out:
        raise null("version")
    if name == DRIVER:
        raise _absent("driver")
    if not 0 <= name < NAMED:
        raise invalid("the argument name is {}; pass a constant of aclCANNPackageName, 0 to 7", name)
    parts = TOOLKIT.encode().split(b".")
    return 0, (TOOLKIT.encode(), *parts, b"0", b"")


def _has(machine: "Machine", feature: int) -> bool:
    if feature == INF_NAN:
        return machine.profile.overflow_mode == 1
    return machine.profile.brain_floats if feature == BRAIN_FLOATS else True


@call("aclGetCannAttributeList")
def get_cann_attribute_list(machine: "Machine", thread: Thread, out_list: int, out_number: int) -> Any:
    if not out_list:
        raise null("cannAttrList")
    if not out_number:
        raise null("num")
    features = [feature for feature in FEATURES if _has(machine, feature)]
    return 0, LISTS[tuple(features)], len(features)


@call("aclGetCannAttribute")
def get_cann_attribute(machine: "Machine", thread: Thread, feature: int, out: int) -> Any:
    if not out:
        raise null("value")
    if feature not in FEATURES:
        raise invalid("the argument cannAttr is {}; pass a constant of aclCannAttr, 0 to 2", feature)
    return 0, int(_has(machine, feature))


@call("aclGetDeviceCapability")
def get_device_capability(machine: "Machine", thread: Thread, device_id: int, information: int, out: int) -> Any:
    if not out:
        raise null("value")
    if device_id >= len(machine.devices):
        raise invalid("the argument deviceId is {}; there are {} devices, from 0 on", device_id, len(machine.devices))
    profile = machine.profile
    values = {CUBE_CORES: profile.cube_cores, VECTOR_CORES: profile.vector_cores, L2_SIZE: profile.l2_bytes}
    if information not in values:
        raise invalid("the argument deviceInfo is {}; pass a constant of aclDeviceInfo, 0 to 2", information)
    return 0, values[information]
