"""The state of a process at a call, as text; and bytes of device memory."""

from collections.abc import Iterator
from typing import TYPE_CHECKING, Any, Final

from cannery.tools.errors import Failure

if TYPE_CHECKING:
    from cannery.replayer.state_diff import Difference
    from cannery.replayer.state_view import View
    from cannery.runtime.machine import Machine

_LINE: Final = 16
_EMPTY: Final[tuple[Any, ...]] = (None, False, 0, "", [], {})


def lines(found: "View") -> Iterator[str]:
    """One line for each object, under the name of its sort; one for each task of a stream or model below it. What is
    0, no, none or empty is not shown."""
    for sort, objects in found.items():
        shown = [each for each in objects if any(value not in _EMPTY for key, value in each.items() if key != "name")]
        if not shown:
            continue
        yield f"{sort}:"
        for each in shown:
            yield f"  {each.get('name', ''):12} {_attributes(each, ('name', 'tasks'))}".rstrip()
            for task in each.get("tasks") or ():
                yield f"    {task['task']}: {_attributes(task, ('task',))}".rstrip(": ")


def _attributes(found: dict[str, Any], besides: tuple[str, ...]) -> str:
    kept = ((key, value) for key, value in found.items() if key not in besides and value not in _EMPTY)
    return ", ".join(key if value is True else f"{key} {_text(value)}" for key, value in kept)


def _text(value: Any) -> str:
    if isinstance(value, dict):
        return f"({', '.join(f'{key} {_text(each)}' for key, each in value.items() if each not in _EMPTY)})"
    if isinstance(value, list):
        return f"[{', '.join(map(_text, value))}]"
    return str(value)


def difference_lines(found: "list[Difference]", names: tuple[str, str]) -> Iterator[str]:
    """What differs between two states, by object, in the manner of ``diff``."""
    if not found:
        yield f"{names[0]} and {names[1]}: the same state"
        return
    yield f"--- {names[0]}"
    yield f"+++ {names[1]}"
    last = None
    for each in found:
        if each.b is None:
            yield f"- {each.sort}: {each.a}"
        elif each.a is None:
            yield f"+ {each.sort}: {each.b}"
        else:
            if last != (each.sort, each.a):
                other = "" if each.a == each.b else f" ({each.b} in B)"
                yield f"@@ {each.sort}: {each.a}{other}"
            yield f"-   {each.attribute} {_text(each.a_value)}"
            yield f"+   {each.attribute} {_text(each.b_value)}"
        last = each.sort, each.a


def parse_range(text: str) -> tuple[int, bool, int]:
    """``ADDR:LEN``: the address, whether it is an offset from the start of device memory, the length.

    Raises:
        Failure: it is something else.
    """
    from cannery.recorder.sizes import SizeError, parse_size

    address, _, length = text.rpartition(":")
    relative = address.startswith("d+")
    try:
        size = int(length, 16) if length.startswith("0x") else parse_size(length)
        start = int(address.removeprefix("d+"), 0)
    except (ValueError, SizeError):
        size = 0
    if size <= 0:
        raise Failure(f"--memory {text}: expected ADDR:LEN, as in d+0x200:64 or 0x200000000200:4K")
    return start, relative, size


def device_bytes(machine: "Machine", text: str) -> tuple[int, bytes]:
    """Where a range of device memory begins, as an offset, and its bytes.

    Raises:
        Failure: it is not all of it allocated.
    """
    start, relative, size = parse_range(text)
    memory = machine.memory
    address = start + memory.base if relative else start
    if not memory.base <= address < memory.limit:
        raise Failure(f"--memory {text}: no device memory; a trace has what is in device memory, not in the host's")
    place = memory.place(address)
    if not place.holds(size):
        allocation = place.allocation
        if allocation is None:
            raise Failure(f"--memory {text}: nothing is allocated there at that call (see the list of allocations)")
        left = allocation.address + allocation.size - address
        raise Failure(f"--memory {text}: only {left} bytes are allocated there")
    return address - memory.base, b"".join(memory.pieces(place, size))


def hex_dump(offset: int, content: bytes) -> Iterator[str]:
    """Lines of 16 bytes, as ``xxd`` has them."""
    for start in range(0, len(content), _LINE):
        part = content[start : start + _LINE]
        shown = "".join(chr(byte) if 32 <= byte < 127 else "." for byte in part)
        yield f"d+{offset + start:#x}: {part.hex(' ', 2):39}  {shown}"


def array(content: bytes, dtype: str, shape: str | None) -> Any:
    """The bytes as a numpy array.

    Raises:
        Failure: numpy is not installed, or they are not such an array.
    """
    try:
        import numpy  # type: ignore[import-not-found,unused-ignore]
    except ImportError:
        raise Failure("--dtype needs numpy, which is not installed here; without it the bytes are shown") from None
    try:
        found = numpy.frombuffer(content, numpy.dtype(dtype))
        return found if shape is None else found.reshape([int(part) for part in shape.split(",")])
    except (ValueError, TypeError) as error:
        raise Failure(f"--dtype {dtype}: {error}") from None
