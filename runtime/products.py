"""Product profiles: limits, names, memory and costs of each product line, from ``products.json``.

There every value stands with its source; those that differ between installations, or that no public figure is known
for, have the source ``invented``.
"""

from io import open_code
from typing import Any, Final, NamedTuple

from cannery.runtime.suggest import unknown

PRODUCTS: Final = ("950PR", "950DT", "A3", "A2", "310B", "310P", "910", "IPV350")


class Profile(NamedTuple):
    """One product line. Sizes are in bytes, counts per device, costs in nanoseconds of device time."""

    name: str
    soc_name: str
    memory_kind: str  # hbm | ddr
    memory_bytes: int
    giant_pages: bool  # pages of 1 GiB
    spare_bytes: int  # added to an allocation before rounding to 32
    events: int  # hardware ids
    notifies: int
    streams: int
    streams_documented: int
    tasks_per_stream: int
    ticks_per_ms: int  # of event timestamps
    wait_limits: str  # call | process | device: which limits of event waits count (semantics.md 0.4)
    control_queue: bool  # null may mean the default stream where semantics.md 0.3 says so; streams have tags
    overflow_switch: int  # what a stream's overflow attribute reads as where it cannot be set
    overflow_mode: int  # aclrtFloatOverflowMode, before the program sets one
    operator_interval_ns: int  # in which the hardware counts how long an operator may take
    operator_intervals: int  # that it may take at most
    operator_intervals_default: int
    huge_streams: bool
    device_use_only_streams: bool
    device_use_only_events: bool
    ipc_events: bool
    cross_device_waits: bool  # else such a wait does nothing
    notify_waits_in_hardware: bool  # then 0xFFFFFFFF is no limit, and not the process's
    other_servers: bool  # notifies can be shared with them
    unsigned_elapsed: bool  # of events that are in reversed order or not finished
    snapshot: bool
    run_mode: int
    cube_cores: int
    vector_cores: int
    control_cores: int
    core_threads: bool  # whether vector cores run threads
    l2_bytes: int
    brain_floats: bool  # whether cores compute with bfloat16
    peer_group: int  # so many devices in a row reach each other
    peer_copies_need_access: bool  # enabled by aclrtDeviceEnablePeerAccess
    package_devices: int  # so many devices in a row are dies of one package
    package_link: int  # ACL_RT_DEVS_TOPOLOGY_...: between dies of a package
    peer_link: int  # between devices that reach each other
    far_link: int  # between others
    updates_tasks: bool  # of AI Core operators in model instances
    uuid: str  # 12 bytes in hexadecimal, before the device's number
    groups: list[list[int]]  # id and numbers of AI Cores, vector cores, AI CPUs, SDMA channels and streams of each
    event_ns: int
    launch_ns: int
    copy_ns: int
    host_bytes_per_us: int
    device_bytes_per_us: int


def profile(name: str) -> Profile:
    """The profile of a product line.

    Raises:
        SettingError: there is none of that name.
    """
    if name not in PRODUCTS:
        raise unknown("product", name, PRODUCTS)
    values = read()["values"]
    return Profile(name=name, **{key: values[key][name][0] for key in Profile._fields if key != "name"})


def read() -> dict[str, Any]:
    """The content of ``products.json``: ``sources``, and ``values`` as {key: {product: [value, source]}}."""
    import json  # not needed to import the machine, only to make one

    with open_code(f"{__file__.rpartition('/')[0]}/products.json") as file:
        content: dict[str, Any] = json.loads(file.read())
    return content
