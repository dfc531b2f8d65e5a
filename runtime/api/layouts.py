"""What lies behind a pointer argument, piece by piece: from the API model to values and to bytes.

A *layout* is the shape of one element: a number, or a struct as a tuple of its fields in declared order. What stands in
for a field follows from its type:

    number              int or float
    array of char or 8-bit numbers, union   bytes
    array of other numbers                  tuple of ints
    struct              tuple
    pointer             whether it is not null; or, where the role says that it points to an array, a tuple of its
                        elements (None for null), or that it is a handle, a number

The C exports carry the same layouts as tables (``tools/generate/exports.py``), from which the shim reads arguments and
writes outputs.
"""

from collections.abc import Callable, Mapping, Sequence
from struct import pack_into, unpack_from
from typing import Any, Final, NamedTuple

from cannery.runtime.api import ctype, roles
from cannery.runtime.api.ctype import CType, Types

UNSIGNED: Final = "unsigned"
SIGNED: Final = "signed"
FLOAT: Final = "float"
BYTES: Final = "bytes"
POINTER: Final = "pointer"
STRUCT: Final = "struct"
LIST: Final = "list"

_NUMBER_CODES: Final = {
    (UNSIGNED, 1): "B", (UNSIGNED, 2): "H", (UNSIGNED, 4): "I", (UNSIGNED, 8): "Q", (SIGNED, 1): "b", (SIGNED, 2): "h",
    (SIGNED, 4): "i", (SIGNED, 8): "q", (FLOAT, 4): "f", (FLOAT, 8): "d", (POINTER, 8): "Q",
}  # fmt: skip


class Item(NamedTuple):
    """One field: ``kind`` as above, of ``size`` bytes at ``offset``.

    ``repeat`` is the length of an array inside the struct, 0 where it is none. ``element`` is the layout of a struct,
    or of what a list points to; ``counter`` the place of the field with the list's length.
    """

    name: str
    offset: int
    kind: str
    size: int
    repeat: int = 0
    element: "Layout | None" = None
    counter: int = 0


class Layout(NamedTuple):
    """One element of ``size`` bytes. ``flat``: it is the value of its only item, not a tuple."""

    name: str
    size: int
    items: tuple[Item, ...]
    flat: bool = False

    def unpack(self, content: bytes, read: "Callable[[int, int], bytes] | None" = None) -> Any:
        """The value of ``size`` bytes. ``read(address, size)`` follows pointers to lists."""
        values = [_unpack_item(item, content, read) for item in self.items]
        for place, item in enumerate(self.items):
            if item.kind == LIST and values[place]:
                values[place] = _unpack_list(item, values[place], values[item.counter], read)
            elif item.kind == LIST:
                values[place] = None
        return values[0] if self.flat else tuple(values)

    def pack(self, value: Any) -> bytes:
        """The bytes of a value. Pointers are written as given; lists cannot be.

        Raises:
            struct.error: a number does not fit.
        """
        content = bytearray(self.size)
        for item, part in zip(self.items, (value,) if self.flat else value, strict=True):
            _pack_item(item, part, content)
        return bytes(content)


def _unpack_item(item: Item, content: bytes, read: "Callable[[int, int], bytes] | None") -> Any:
    if item.kind == BYTES:
        return content[item.offset : item.offset + item.size]
    if item.kind == STRUCT:
        assert item.element is not None
        parts = [
            item.element.unpack(content[start : start + item.element.size], read)
            for start in range(item.offset, item.offset + item.element.size * (item.repeat or 1), item.element.size)
        ]
        return tuple(parts) if item.repeat else parts[0]
    code = "Q" if item.kind == LIST else _NUMBER_CODES[item.kind, item.size]
    values = unpack_from(f"<{item.repeat or 1}{code}", content, item.offset)
    if item.kind == POINTER:
        values = tuple(value != 0 for value in values)
    return values if item.repeat else values[0]


def _unpack_list(item: Item, address: int, count: int, read: "Callable[[int, int], bytes] | None") -> tuple[Any, ...]:
    assert item.element is not None and read is not None
    content = read(address, item.element.size * count)
    return tuple(
        item.element.unpack(content[start : start + item.element.size], read)
        for start in range(0, len(content), item.element.size)
    )


def _pack_item(item: Item, value: Any, content: bytearray) -> None:
    if item.kind == BYTES:
        content[item.offset : item.offset + item.size] = bytes(value)[: item.size].ljust(item.size, b"\0")
        return
    parts = value if item.repeat else (value,)
    if item.kind == STRUCT:
        assert item.element is not None
        for index, part in enumerate(parts):
            start = item.offset + index * item.element.size
            content[start : start + item.element.size] = item.element.pack(part)
        return
    assert item.kind != LIST, f"{item.name}: a list cannot be written"
    pack_into(f"<{item.repeat or 1}{_NUMBER_CODES[item.kind, item.size]}", content, item.offset, *parts)


def number_layout(meaning: CType) -> Layout:
    """The layout of one number, handle or address: the latter are whole numbers here."""
    kind = _number_kind(meaning)
    return Layout(meaning.name, meaning.size, (Item("", 0, UNSIGNED if kind == POINTER else kind, meaning.size),), True)


def struct_layout(
    types: Types, name: str, lists: Sequence[tuple[str, str]] = (), handles: Sequence[str] = ()
) -> Layout:
    """The layout of a struct; ``lists`` and ``handles`` as in :class:`cannery.runtime.api.roles.StructByValue`."""
    facts = types.structs[name]
    fields = facts["fields"]
    names = [field["name"] for field in fields]
    pointers = dict(lists)
    items = []
    for field in fields:
        if field["name"] in pointers:
            target = types(field["type"]).target
            assert target is not None, "checked by the role"
            counter = names.index(pointers[field["name"]])
            items.append(Item(field["name"], field["offset"], LIST, 8, 0, _element(types, target), counter))
        else:
            item = _field(types, field)
            items.append(item._replace(kind=UNSIGNED) if field["name"] in handles else item)
    return Layout(name, facts["sizeof"], tuple(items))


def given_layout(types: Types, role: roles.StructByValue) -> tuple[Layout, int, int]:
    """What the call writes through a field of that struct (``gives``): one element; where the pointer is in the struct,
    and where the count."""
    assert role.gives is not None
    fields = {field["name"]: field for field in types.structs[role.ctype]["fields"]}
    name, counter, _ = role.gives
    target = types(fields[name]["type"]).target
    assert target is not None, "checked by the role"
    return number_layout(target), fields[name]["offset"], fields[counter]["offset"]


def element_layout(types: Types, role: roles.Role, meaning: CType) -> Layout:
    """The layout of an element of an array with that role, whose elements have the type ``meaning``."""
    if isinstance(role, roles.Identity):
        role = role.inner
    if isinstance(role, roles.StructByValue):
        return struct_layout(types, role.ctype, role.lists)
    return number_layout(meaning)


def _element(types: Types, meaning: CType) -> Layout:
    return struct_layout(types, meaning.name) if meaning.category == ctype.STRUCT else number_layout(meaning)


def _field(types: Types, field: Mapping[str, Any]) -> Item:
    name, size = field["name"], field.get("size", 0)
    if field["type"] == "union":
        inner = field["fields"]
        return Item(name, inner[0]["offset"], BYTES, max(member["size"] for member in inner))
    meaning = types(field["type"])
    repeat = 1
    for length in field.get("array", ()):
        repeat *= length
    if meaning.category == ctype.STRUCT and types.structs[meaning.name]["kind"] == "union":
        return Item(name, field["offset"], BYTES, size)
    count = repeat if "array" in field else 0
    if meaning.category == ctype.STRUCT:
        return Item(name, field["offset"], STRUCT, meaning.size, count, struct_layout(types, meaning.name))
    if count and meaning.size == 1:
        return Item(name, field["offset"], BYTES, size)
    return Item(name, field["offset"], _number_kind(meaning), meaning.size, count)


def _number_kind(meaning: CType) -> str:
    if meaning.category == ctype.FLOAT:
        return FLOAT
    if meaning.category in (ctype.POINTER, ctype.OPAQUE, ctype.FUNCTION):
        return POINTER
    return SIGNED if meaning.signed else UNSIGNED
