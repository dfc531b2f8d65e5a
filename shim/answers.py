"""What a call that waited ends with, in the words in which the shim takes it: see ``struct cannery_answer`` in shim.h.

A call that ends at once is answered by steps.c; this is the same for the others.
"""

from struct import pack
from typing import Any, Final

from cannery.runtime.api import MODEL, Function, Param, roles
from cannery.runtime.api.ctype import FLOAT, CType
from cannery.runtime.api.layouts import Layout, element_layout, struct_layout
from cannery.shim._engine import ffi, lib

MAX_OUTS: Final = 6  # as in shim.h


def words(function: Function, reply: Any) -> tuple[int, int, list[int]]:
    """Return value, which outputs are written (a bit for each), and the outputs: bits, or where their bytes are."""
    outs = [0] * MAX_OUTS
    if not isinstance(reply, tuple):
        return _word(MODEL.types(function.returns), reply), 0, outs
    written = 0
    for place, (param, value) in enumerate(zip(function.outputs, reply[1:], strict=True)):
        if value is not None:
            written |= 1 << place
            outs[place] = _output(param, value)
    return _word(MODEL.types(function.returns), reply[0]), written, outs


def _word(meaning: CType, value: Any) -> int:
    if value is None:
        return 0
    if meaning.category == FLOAT:
        return int.from_bytes(pack("<f" if meaning.size == 4 else "<d", value), "little")
    return int(value) & 0xFFFF_FFFF_FFFF_FFFF


def _output(param: Param, value: Any) -> int:
    role = param.role.inner if isinstance(param.role, roles.Identity) else param.role
    target = param.meaning.target
    assert target is not None, "checked by the role"
    if isinstance(role, roles.Buffer):
        content = bytes(value)
    elif isinstance(role, roles.Struct):
        content = struct_layout(MODEL.types, role.ctype).pack(value)
    elif isinstance(role, roles.Array):
        layout: Layout = element_layout(MODEL.types, role.element, target)
        content = b"".join(map(layout.pack, value))
    else:
        return _word(target, value)
    return int(lib.cannery_chunk(ffi.from_buffer(content), len(content)))
