"""Versions of the emulated software, and what it and the devices can do (reference pages of the functions named).

All packages of the toolkit are installed, in the one version that is emulated (``version.py``); there is no driver or
firmware. Which packages the constants of aclCANNPackageName name, and how a version becomes a number, is that of the
reference implementation.
"""

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


@call("aclGetCannAttribute")
def get_cann_attribute(machine: "Machine", thread: Thread, attribute: int, out: int) -> Any:
    if not out:
        raise null("value")
    profile = machine.profile
    has = {INF_NAN: profile.overflow_mode == 1, BRAIN_FLOATS: profile.brain_floats, COMPILES: True}.get(attribute)
    if has is None:
        raise invalid("the argument cannAttr is {}; pass a constant of aclCannAttr, 0 to 2", attribute)
    return 0, int(has)


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
