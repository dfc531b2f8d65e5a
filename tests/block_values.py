"""Values for what lies behind pointer arguments, by the API model: as a shim would read them there."""

from collections.abc import Mapping
from typing import Any

from cannery.runtime.api import MODEL, roles
from cannery.runtime.api.layouts import (
    BYTES,
    LIST,
    POINTER,
    SIGNED,
    STRUCT,
    Item,
    Layout,
    element_layout,
    struct_layout,
)
from cannery.runtime.api.model import Param

MOST = 65535  # as in shim.h


def block(param: Param, numbers: Mapping[str, int], content: int) -> Any:
    """The value of an argument that is read through its pointer: every number in it is ``content``, and lists have one
    element. ``numbers`` are the arguments that arrays are counted with."""
    role = inner(param)
    if isinstance(role, roles.Buffer):
        return bytes(min(role.length(numbers), MOST))
    if isinstance(role, roles.StructByValue):
        return _element(struct_layout(MODEL.types, role.ctype, role.lists, role.handles), content)
    if isinstance(role, roles.Struct):
        return _element(struct_layout(MODEL.types, role.ctype, role.lists), content)
    assert isinstance(role, roles.Array)
    target = param.meaning.target
    assert target is not None
    count = role.count(numbers)
    element = _element(element_layout(MODEL.types, role.element, target), content)
    return (element,) * (0 if count > MOST else count)


def is_block(param: Param) -> bool:
    """Whether handlers get what lies behind the pointer."""
    role = inner(param)
    if isinstance(param.role, roles.Identity) and isinstance(role, roles.StructByValue):
        return True
    if isinstance(role, roles.StructByValue):
        return role.gives is not None
    return isinstance(role, roles.Buffer | roles.Struct | roles.Array) and role.direction != roles.OUT


def inner(param: Param) -> roles.Role:
    """The role of a parameter, without what it says about identity."""
    return param.role.inner if isinstance(param.role, roles.Identity) else param.role


def _element(layout: Layout, content: int) -> Any:
    values = [_item(item, content) for item in layout.items]
    for item in layout.items:
        if item.kind == LIST:
            values[item.counter] = 1
    return values[0] if layout.flat else tuple(values)


def _item(item: Item, content: int) -> Any:
    if item.kind == BYTES:
        return bytes(item.size)
    if item.kind == LIST:
        assert item.element is not None
        return (_element(item.element, content),)
    if item.kind == STRUCT:
        assert item.element is not None
        one: Any = _element(item.element, content)
    elif item.kind == POINTER:
        one = content != 0
    else:
        bits = 8 * item.size
        one = content & (1 << bits) - 1
        if item.kind == SIGNED and one >> bits - 1:
            one -= 1 << bits
    return (one,) * item.repeat if item.repeat else one
