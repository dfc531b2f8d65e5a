"""What Cannery needs of the machine: a compiler for builds, memory files, address space."""

import ctypes
import mmap
import os
import platform
import resource
import shlex
import shutil
import subprocess
import sys
import tempfile
from pathlib import Path
from typing import Final

from cannery.runtime.memory import DEVICE_SPAN
from cannery.runtime.products import Profile
from cannery.shim import sdk
from cannery.shim.compiled import compiled_folder
from cannery.tools.doctor.findings import NOTE, OK, PROBLEM, Finding
from cannery.tools.traces import size as shown

TRIED_GLIBC: Final = "2.36"

_MAP_NORESERVE: Final = 0x4000  # not in Python's mmap before 3.13; the same on both architectures
_MAP_FIXED_NOREPLACE: Final = 0x100000

_PROGRAM: Final = '#include "acl/acl.h"\nint main(void) { return aclInit(NULL); }\n'


def compiler() -> Finding:
    """Compile and link a program against the SDK folder, as a user would."""
    name = os.environ.get("CC") or next(filter(shutil.which, ("cc", "gcc", "clang")), "")
    if not name:
        remedy = "Debian, Ubuntu: apt-get install gcc libc6-dev; Fedora, openEuler: dnf install gcc glibc-devel"
        return Finding("compiler", NOTE, "none found; only needed to build programs, and Cannery itself", remedy)
    try:
        flags = shlex.split(f"{sdk.compile_flags()} -x c - {sdk.link_flags()}")
    except sdk.SdkError as error:
        return Finding("compiler", PROBLEM, str(error))
    with tempfile.TemporaryDirectory() as folder:
        command = [*shlex.split(name), *flags, "-o", f"{folder}/program"]
        try:
            done = subprocess.run(command, input=_PROGRAM, capture_output=True, text=True, check=False)
        except OSError as error:
            return Finding("compiler", PROBLEM, f"{name}: {error.strerror}", "set CC to a C compiler")
    if done.returncode != 0:
        why = next(iter(done.stderr.splitlines()), "no reason given")
        return Finding("compiler", PROBLEM, f"{name} cannot build a program against {sdk.folder()}: {why}",
                       "install the C library's headers, or set CC to another compiler")  # fmt: skip
    return Finding("compiler", OK, f"{name} builds programs against {sdk.folder()}")


def python_library() -> Finding:
    """The libpython that the engine loads."""
    try:
        found = sdk.libpython()
    except sdk.SdkError as error:
        return Finding("Python library", PROBLEM, str(error))
    return Finding("Python library", OK, f"{found} (Python {platform.python_version()} at {sys.executable})")


def machine_form() -> Finding:
    """The simulated machine runs compiled where Cannery was built so; from its source it takes longer."""
    folder = compiled_folder()
    if folder is not None:
        return Finding("machine", OK, f"compiled, in {folder}")
    if os.environ.get("CANNERY_PURE", "") not in ("", "0"):
        return Finding("machine", NOTE, "runs from its source, as CANNERY_PURE asks; calls take longer")
    remedy = "nothing has to be done; installing from a wheel, or with -C cmake.define.CANNERY_COMPILE=ON, compiles it"
    return Finding("machine", NOTE, "is not compiled; calls take longer", remedy)


def c_library() -> Finding:
    """The private engine relies on details of glibc."""
    name, version = platform.libc_ver()
    if name != "glibc":
        return Finding("C library", PROBLEM, f"{name or 'unknown'}; Cannery needs glibc", "use a system with glibc")
    if version != TRIED_GLIBC:
        remedy = "if the shim does not load: --engine inline or --engine host"
        return Finding("C library", NOTE, f"glibc {version}; tried with {TRIED_GLIBC}", remedy)
    return Finding("C library", OK, f"glibc {version}")


def memory_files(profile: Profile) -> Finding:
    """Device memory is an anonymous file of the size of the device, mapped at once and filled when touched."""
    what = f"an anonymous file of {shown(profile.memory_bytes)}, the memory of one {profile.name} device"
    try:
        descriptor = os.memfd_create("cannery-doctor", os.MFD_CLOEXEC)
        try:
            os.ftruncate(descriptor, profile.memory_bytes)
            mmap.mmap(descriptor, profile.memory_bytes).close()
        finally:
            os.close(descriptor)
    except (OSError, ValueError) as error:
        remedy = (
            "raise the limits of address space and file size (ulimit -v, ulimit -f), allow memfd_create in the "
            "container's profile, or choose a product with less memory"
        )
        return Finding("memory files", PROBLEM, f"cannot map {what}: {error}", remedy)
    return Finding("memory files", OK, f"can map {what}")


def shared_memory() -> Finding:
    """What processes of one session share lies in the system's shared memory."""
    place = Path("/dev/shm")
    try:
        status = os.statvfs(place)
    except OSError as error:
        return Finding("shared memory", PROBLEM, f"{place}: {error.strerror}", f"mount a tmpfs at {place}")
    total, free = status.f_blocks * status.f_frsize, status.f_bavail * status.f_frsize
    text = f"{place} has {shown(free)} of {shown(total)} free"
    if not os.access(place, os.W_OK):
        return Finding("shared memory", PROBLEM, f"{place} is not writable", f"chmod 1777 {place}")
    if free < 1 << 20:
        return Finding(
            "shared memory", PROBLEM, text, f"remove what fills {place}, or give the container more (--shm-size)"
        )
    return Finding("shared memory", OK, text)


def machine_memory(profile: Profile) -> Finding:
    """A device can be larger than the machine until its pages are touched."""
    total = os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES")
    text = f"this machine has {shown(total)}, one {profile.name} device {shown(profile.memory_bytes)}"
    if total < profile.memory_bytes:
        remedy = (
            "a program that touches more device memory than the machine has is ended by the system: smaller batches"
        )
        return Finding("memory", NOTE, text, remedy)
    return Finding("memory", OK, text)


def address_range(devices: int) -> Finding:
    """The range of device addresses has to be free in the program; here it is tried in this process."""
    try:
        from cannery.shim.host import DEVICE_FIRST, DEVICE_LAST
    except ImportError as error:
        return Finding("device addresses", PROBLEM, str(error), "install Cannery again with this Python")
    span = DEVICE_SPAN * max(1, devices)
    libc = ctypes.CDLL(None, use_errno=True)
    libc.mmap.restype = ctypes.c_void_p
    libc.mmap.argtypes = [ctypes.c_void_p, ctypes.c_size_t, *[ctypes.c_int] * 3, ctypes.c_long]
    libc.munmap.argtypes = [ctypes.c_void_p, ctypes.c_size_t]
    flags = mmap.MAP_PRIVATE | mmap.MAP_ANONYMOUS | _MAP_NORESERVE | _MAP_FIXED_NOREPLACE
    got = libc.mmap(DEVICE_FIRST, span, 0, flags, -1, 0)
    if got == DEVICE_FIRST:
        libc.munmap(got, span)
        return Finding("device addresses", OK, f"{DEVICE_FIRST:#x} to {DEVICE_FIRST + span:#x} is free")
    why = os.strerror(ctypes.get_errno())
    limit = resource.getrlimit(resource.RLIMIT_AS)[0]
    if limit != resource.RLIM_INFINITY and limit < span:
        remedy = "ulimit -v unlimited, or fewer devices"
        return Finding("device addresses", PROBLEM, f"address space is limited to {shown(limit)}", remedy)
    text = f"{DEVICE_FIRST:#x} is taken ({why}): another base up to {DEVICE_LAST:#x} will be used and recorded"
    return Finding("device addresses", NOTE, text)
