"""What lies behind a pointer: the layouts of the structs of the ABI, as values and as bytes."""

from struct import pack

import pytest

from cannery.runtime.api import MODEL, roles
from cannery.runtime.api.layouts import BYTES, LIST, POINTER, STRUCT, Layout, element_layout, struct_layout

TYPES = MODEL.types
STRUCTS = [name for name, facts in TYPES.structs.items() if facts["kind"] == "struct"]


@pytest.mark.parametrize("name", STRUCTS)
def test_items_lie_in_the_struct_one_behind_the_other(name: str) -> None:
    layout = struct_layout(TYPES, name)
    end = 0
    for item in layout.items:
        assert item.offset >= end, item
        end = item.offset + item.size * (item.repeat or 1) * (item.kind != BYTES) + item.size * (item.kind == BYTES)
    assert end <= layout.size == TYPES.structs[name]["sizeof"]


def sample(layout: Layout) -> tuple[object, ...]:
    """Some value of a layout, different in each place."""
    values: list[object] = []
    for place, item in enumerate(layout.items, 1):
        if item.kind == BYTES:
            values.append(bytes([place]) * item.size)
            continue
        part: object = place
        if item.kind == STRUCT:
            assert item.element is not None
            part = sample(item.element)
        elif item.kind == POINTER:
            part = True
        values.append((part,) * item.repeat if item.repeat else part)
    return tuple(values)


@pytest.mark.parametrize("name", STRUCTS)
def test_a_value_packs_and_unpacks_to_itself(name: str) -> None:
    layout = struct_layout(TYPES, name)
    value = sample(layout)
    assert layout.unpack(layout.pack(value)) == value


def test_fields_stand_in_declared_order() -> None:
    layout = struct_layout(TYPES, "aclrtPhysicalMemProp")
    content = pack("<iiiIi4xQ", 0, 0, 4, 7, 1, 99)
    assert layout.unpack(content) == (0, 0, 4, (7, 1), 99)
    assert layout.pack((0, 0, 4, (7, 1), 99)) == content


def test_a_field_that_points_to_an_array_is_a_list() -> None:
    layout = struct_layout(TYPES, "aclrtMallocConfig", [("attrs", "numAttrs")])
    assert [item.kind for item in layout.items] == [LIST, "unsigned"]
    memory = {0x1000: pack("<I8s", 1, b"\x21") + pack("<I8s", 2, b"\x05")}
    unpacked = layout.unpack(pack("<QQ", 0x1000, 2), lambda address, size: memory[address][:size])
    assert unpacked == (((1, b"\x21".ljust(8, b"\0")), (2, b"\x05".ljust(8, b"\0"))), 2)
    assert layout.unpack(pack("<QQ", 0, 2)) == (None, 2)


def test_addresses_and_handles_in_an_array_are_numbers() -> None:
    layout = element_layout(TYPES, roles.Address("any"), TYPES("void *"))
    assert layout.unpack(pack("<Q", 0x2000_0000_0000)) == 0x2000_0000_0000
    assert element_layout(TYPES, roles.Scalar("int32_t"), TYPES("int32_t")).unpack(pack("<i", -5)) == -5
