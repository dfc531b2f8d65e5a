"""Kernel binaries: loading and unloading them.

Reference documents (chapter 14) for what the calls do, public implementation for checks, their order and the numbers.
Our choice is what a binary may be: an ELF file for any machine, since what kernels do comes from kernel models.
"""

from typing import TYPE_CHECKING, Any, Final

from cannery.runtime.binaries import Binary, Description
from cannery.runtime.calls.registry import call
from cannery.runtime.elf import Symbols, functions
from cannery.runtime.errors import (
    ACL_ERROR_RT_MEMORY_ALLOCATION,
    Refused,
    null,
    out_of_range,
    stale,
)
from cannery.runtime.objects import Context, Thread
from cannery.runtime.ports import Unknown

if TYPE_CHECKING:
    from cannery.runtime.machine import Machine

# aclrtBinaryLoadOptionType, and the values of the options
LAZY: Final = 1
MAGIC: Final = 2
CPU: Final = 3
ELF_MAGICS: Final = (0x43554245, 0x41415246, 0x41494343)  # ACL_RT_BINARY_MAGIC_ELF_...
CPU_FROM_DATA: Final = 2
CPU_FROM_FILE: Final = (0, 1)

Options = tuple[tuple[tuple[int, bytes], ...] | None, int]


def live_binary(machine: "Machine", handle: int) -> Binary:
    """Raises 107017."""
    binary = machine.binaries.get(handle)
    if binary is None:
        raise stale("kernel binary", handle)
    return binary


def shown(name: bytes) -> str:
    """A path, or the name of a kernel, as text."""
    return name.decode(errors="replace")


def place(machine: "Machine", context: Context, binary: Binary) -> None:
    """Make a binary ready to run on the context's device. Raises 207001."""
    if not binary.place(machine, context.device):
        raise Refused(
            ACL_ERROR_RT_MEMORY_ALLOCATION,
            "device {} has not {} bytes left for the kernel binary",
            context.device.user, len(binary.content),
        )  # fmt: skip


# Descriptions.


@call("aclrtCreateBinary")
def create_binary(machine: "Machine", thread: Thread, address: int, size: int) -> int:
    """Only notes where the bytes are, which are read when they are loaded."""
    if not address:
        machine.refuse(thread, "aclrtCreateBinary", null("data"))
        return 0
    description = Description(machine.new_handle(), address, size)
    machine.descriptions[description.handle] = description
    return description.handle


@call("aclrtDestroyBinary")
def destroy_binary(machine: "Machine", thread: Thread, handle: int) -> int:
    """What is stale crashes the reference implementation."""
    if not handle:
        raise null("binary")
    if machine.descriptions.pop(handle, None) is None:
        raise stale("binary description", handle)
    return 0


# Loading.


class _Wanted:
    """What load options ask for."""

    __slots__ = ("cpu", "lazy")

    def __init__(self) -> None:
        self.lazy = False
        self.cpu = -1  # the mode of a binary for the control processor


def _wanted(options: Options | None, of_file: bool) -> _Wanted:
    """Raises 107000."""
    wanted = _Wanted()
    if options is None:
        return wanted
    chosen = options[0]
    if chosen is None:
        raise out_of_range("the argument options has no options; pass null when there are none")
    for kind, value in chosen:
        number = int.from_bytes(value[:4], "little")
        if kind == LAZY:
            if number > 1:
                raise out_of_range("the option isLazyLoad is {}; pass 0 or 1", number)
            wanted.lazy = number == 1
        elif kind == MAGIC:
            if of_file or number not in ELF_MAGICS:
                raise out_of_range(
                    "the option magic ({:#x}) is for aclrtBinaryLoadFromData, with an ACL_RT_BINARY_MAGIC_ELF constant",
                    number,
                )
        elif kind == CPU:
            if number not in CPU_FROM_FILE if of_file else number != CPU_FROM_DATA:
                raise out_of_range(
                    "the option cpuKernelMode is {}; pass 0 or 1 for a file, 2 for data in memory", number
                )
            wanted.cpu = number
        else:
            raise out_of_range("the option type {} is unknown; pass a constant of aclrtBinaryLoadOptionType", kind)
    return wanted


def _parsed(content: bytes, wanted: _Wanted) -> Binary:
    """The binary with that content. Raises 107000: it is none."""
    if isinstance(content, Unknown):
        binary = Binary(content, None, wanted.cpu >= 0)
    else:
        symbols = {} if wanted.cpu >= 0 else functions(content)
        if symbols is None:
            raise out_of_range(
                "the {} bytes are no 64-bit ELF file, which a kernel binary has to be; docs/kernels.md says how to "
                "make a stand-in for one",
                len(content),
            )
        binary = Binary(content, symbols, wanted.cpu >= 0)
    binary.lazy = wanted.lazy
    return binary


def _loaded(machine: "Machine", binary: Binary) -> Any:
    """The reply of a call that loads it."""
    binary.handle = machine.new_handle()
    machine.binaries[binary.handle] = binary
    return 0, binary.handle


def _read(machine: "Machine", address: int, size: int) -> bytes:
    content = machine.port.data(address, size)
    if content is None:
        raise out_of_range("the {} bytes of host memory at {:#x} are not readable", size, address)
    return content


def _file(machine: "Machine", path: bytes) -> bytes:
    content = machine.port.file(path)
    if content is None:
        raise out_of_range("the file {} cannot be read", shown(path))
    return content


@call("aclrtBinaryLoad")
def binary_load(machine: "Machine", thread: Thread, handle: int, out: int) -> Any:
    if not handle:
        raise null("binary")
    if not out:
        raise null("binHandle")
    machine.hold()
    description = machine.descriptions.get(handle)
    if description is None:
        raise stale("binary description", handle)
    if not description.size:
        raise out_of_range("the binary was described with dataLen 0; pass a number of bytes above 0")
    context = machine.context_of(thread)
    binary = _parsed(_read(machine, description.address, description.size), _Wanted())
    place(machine, context, binary)
    return _loaded(machine, binary)


@call("aclrtBinaryLoadFromData")
def binary_load_from_data(
    machine: "Machine", thread: Thread, address: int, size: int, options: Options | None, out: int
) -> Any:
    if not address:
        raise null("data")
    if not out:
        raise null("binHandle")
    machine.hold()
    if not size:
        raise out_of_range("the argument length is 0; pass a number of bytes above 0")
    wanted = _wanted(options, of_file=False)
    return _loaded(machine, _parsed(_read(machine, address, size), wanted))


@call("aclrtBinaryLoadFromFile")
def binary_load_from_file(
    machine: "Machine", thread: Thread, path: bytes | None, options: Options | None, out: int
) -> Any:
    """For the control processor, the JSON file beside it says what operators there are; mode 1 also needs the .so."""
    if path is None:
        raise null("binPath")
    if not out:
        raise null("binHandle")
    machine.hold()
    wanted = _wanted(options, of_file=True)
    if wanted.cpu < 0:
        return _loaded(machine, _parsed(_file(machine, path), wanted))
    content = _file(machine, _beside(path, b".so")) if wanted.cpu == 1 else b""
    names = _operators(_file(machine, _beside(path, b".json")), path)
    binary = _parsed(content, wanted)
    binary.symbols = names
    return _loaded(machine, binary)


def _beside(path: bytes, extension: bytes) -> bytes:
    folder, slash, name = path.rpartition(b"/")
    dot = name.rfind(b".")
    return folder + slash + (name[:dot] if dot > 0 else name) + extension


def _operators(content: bytes, path: bytes) -> Symbols | None:
    """The names of operators in an operator information file. Raises 107000."""
    if isinstance(content, Unknown):
        return None
    import json  # seldom needed, and slow to import

    try:
        found = json.loads(content)
        return {name.encode(): None for name, facts in found.items() if "opInfo" in facts}
    except (ValueError, AttributeError, TypeError, RecursionError):
        raise out_of_range("the .json file beside {} is no operator information file", shown(path)) from None


@call("aclrtBinaryUnLoad")
def binary_unload(machine: "Machine", thread: Thread, handle: int) -> int:
    if not handle:
        raise null("binHandle")
    machine.hold()
    live_binary(machine, handle).unload(machine)
    return 0


@call("aclrtBinaryGetDevAddress")
def binary_get_dev_address(machine: "Machine", thread: Thread, handle: int, out_address: int, out_size: int) -> Any:
    """Null for a binary that was loaded lazily. Null outputs crash the reference implementation."""
    if not handle:
        raise null("binHandle")
    if not out_address:
        raise null("binAddr")
    if not out_size:
        raise null("binSize")
    binary = live_binary(machine, handle)
    context = machine.context_of(thread)
    place(machine, context, binary)
    return 0, binary.address(context.device), len(binary.content)


@call("aclrtBinarySetExceptionCallback")
def binary_set_exception_callback(
    machine: "Machine", thread: Thread, handle: int, callback: int, user_data: int
) -> int:
    """The last one set counts."""
    if not handle:
        raise null("binHandle")
    if not callback:
        raise null("callback")
    binary = live_binary(machine, handle)
    binary.callback = callback
    binary.user_data = user_data
    return 0
