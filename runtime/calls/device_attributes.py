"""What a device is, in numbers (reference page of aclrtGetDeviceInfo, reference implementation)."""

from typing import TYPE_CHECKING, Any, Final

from cannery.runtime.calls.architectures import architecture
from cannery.runtime.calls.registry import call
from cannery.runtime.errors import null, out_of_range, unsupported
from cannery.runtime.objects import Thread

if TYPE_CHECKING:
    from cannery.runtime.machine import Machine

# aclrtDevAttr.
CONTROL_CORES: Final = 1
CORES: Final = 101
CUBE_CORES: Final = 102
VECTOR_CORES: Final = 201
MEMORY: Final = 301
L2_CACHE: Final = 302
CHIP: Final = 402
VIRTUAL: Final = 501
ARCHITECTURE: Final = 601
THREADS: Final[dict[int, int]] = {  # of cores that run threads: 0 where there are none
    202: 32,  # in a warp
    203: 2048,  # on a core
    204: 221_184,  # bytes of local memory for them
    205: 65535, 206: 65535, 207: 65535,  # blocks of a grid, in each direction
    208: 65535,  # of all
    209: 2048,  # threads of a block
    210: 2048, 211: 2048, 212: 2048,  # in each direction
}  # fmt: skip
UNKNOWN_HERE: Final = (401, 403, 404, 405, 406, 407, 408, 409)  # how devices, boards and servers are put together


@call("aclrtGetDeviceInfo")
def get_device_info(machine: "Machine", thread: Thread, device_id: int, attribute: int, out: int) -> Any:
    if not out:
        raise null("value")
    devices = machine.devices
    if device_id >= len(devices):
        raise out_of_range("the argument deviceId is {}, but this process sees {} device(s)", device_id, len(devices))
    profile = machine.profile
    if attribute in THREADS:
        return 0, THREADS[attribute] if profile.core_threads else 0
    known = {
        CONTROL_CORES: profile.control_cores,
        CORES: profile.cube_cores,
        CUBE_CORES: profile.cube_cores,
        VECTOR_CORES: profile.vector_cores,
        MEMORY: profile.memory_bytes,
        L2_CACHE: profile.l2_bytes,
        CHIP: devices[device_id].index,
        VIRTUAL: int(machine.settings.virtualised),
        ARCHITECTURE: architecture(profile.soc_name.encode()),
    }
    value = known.get(attribute)
    if value is not None:
        return 0, value
    if attribute in UNKNOWN_HERE or attribute == ARCHITECTURE:
        raise unsupported("the attribute {} of a device is not simulated", attribute)
    raise out_of_range("the argument attr is {}; pass a constant of aclrtDevAttr", attribute)
