"""Variables of kernel binaries (reference implementation for the checks).

The variables of kernel binaries are not looked up yet, so no symbol is known: what passes the checks is refused.
"""

from typing import TYPE_CHECKING, Any, Final

from cannery.runtime.calls.registry import call
from cannery.runtime.calls.streams import named_stream
from cannery.runtime.errors import Refused, invalid, null, out_of_range
from cannery.runtime.objects import Thread

if TYPE_CHECKING:
    from cannery.runtime.machine import Machine

# aclrtMemcpyKind
FROM_KINDS: Final = (2, 4)
TO_KINDS: Final = (1, 4)


def _unknown(symbol: int) -> Refused:
    return out_of_range(
        "the argument symbol ({:#x}) is not a variable of a kernel binary that is loaded in this process", symbol
    )


@call("aclrtGetSymbolAddress")
def get_symbol_address(machine: "Machine", thread: Thread, symbol: int, out: int) -> Any:
    if not symbol:
        raise null("symbol")
    if not out:
        raise null("devPtr")
    raise _unknown(symbol)


@call("aclrtGetSymbolSize")
def get_symbol_size(machine: "Machine", thread: Thread, symbol: int, out: int) -> Any:
    if not symbol:
        raise null("symbol")
    if not out:
        raise null("size")
    raise _unknown(symbol)


def _check(argument: str, address: int, symbol: int, room: int, size: int, kind: int, kinds: tuple[int, ...]) -> None:
    for name, value in ((argument, address), ("symbol", symbol)):
        if not value:
            raise null(name)
    if size > room:
        raise invalid("the argument count is {}, above dstMax, which is {}", size, room)
    if kind not in kinds:
        raise invalid("the argument kind is {}; pass one of {}", kind, ", ".join(map(str, kinds)))


@call("aclrtMemcpyFromSymbol")
def memcpy_from_symbol(
    machine: "Machine", thread: Thread, address: int, room: int, symbol: int, size: int, offset: int, kind: int
) -> int:
    if not size:
        return 0
    _check("dst", address, symbol, room, size, kind, FROM_KINDS)
    machine.hold()
    raise _unknown(symbol)


@call("aclrtMemcpyFromSymbolAsync")
def memcpy_from_symbol_async(
    machine: "Machine",
    thread: Thread,
    address: int,
    room: int,
    symbol: int,
    size: int,
    offset: int,
    kind: int,
    stream_handle: int,
) -> int:
    if not size:
        return 0
    _check("dst", address, symbol, room, size, kind, FROM_KINDS)
    machine.hold()
    named_stream(machine, stream_handle)
    raise _unknown(symbol)


@call("aclrtMemcpyToSymbol")
def memcpy_to_symbol(
    machine: "Machine", thread: Thread, symbol: int, address: int, size: int, offset: int, kind: int
) -> int:
    if not size:
        return 0
    _check("src", address, symbol, size, size, kind, TO_KINDS)
    machine.hold()
    raise _unknown(symbol)


@call("aclrtMemcpyToSymbolAsync")
def memcpy_to_symbol_async(
    machine: "Machine",
    thread: Thread,
    symbol: int,
    address: int,
    size: int,
    offset: int,
    kind: int,
    stream_handle: int,
) -> int:
    if not size:
        return 0
    _check("src", address, symbol, size, size, kind, TO_KINDS)
    machine.hold()
    named_stream(machine, stream_handle)
    raise _unknown(symbol)
