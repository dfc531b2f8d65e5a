"""Values on the wire: what each form keeps of a value, and what replay gets back."""

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from cannery.recorder.addresses import AddressBook
from cannery.recorder.codec import FunctionCodec, Wire, WireError, encode_handle
from cannery.recorder.format import DamagedTrace
from cannery.recorder.forms import forms_of, function_form, schema_of
from cannery.recorder.schema import LIST, Schema
from cannery.runtime.api import MODEL
from cannery.runtime.api.roles import Array, Handle, OutScalar, Scalar
from cannery.runtime.handles import HANDLE_BASE, handle_of

from .trace_tools import BASE, SCHEMA, SPAN, plain

u64 = st.integers(0, (1 << 64) - 1)
live_handles = st.one_of(st.just(0), st.integers(1, 1 << 30).map(handle_of), u64)
live_addresses = st.one_of(st.just(0), st.integers(BASE, BASE + SPAN - 1), st.integers(1, 1 << 47), u64)
LIVE: dict[str, st.SearchStrategy[Any]] = {
    "number": st.one_of(u64, st.floats(allow_nan=False)),
    "handle": live_handles,
    "address": live_addresses,
    "bytes": st.one_of(st.none(), st.binary(max_size=40)),
    "flag": u64,
    "token": st.one_of(st.just(0), st.integers(1, 9)),
    "raw": u64,
    "plain": plain,
    "none": st.none(),
}


def live(form: str) -> st.SearchStrategy[Any]:
    if not form.startswith(LIST):
        return LIVE[form]
    return st.one_of(st.none(), st.lists(LIVE[form.removeprefix(LIST)], max_size=4).map(tuple))


@st.composite
def calls(draw: st.DrawFn) -> list[tuple[str, tuple[Any, ...], Any]]:
    found: list[tuple[str, tuple[Any, ...], Any]] = []
    for form in draw(st.lists(st.sampled_from(SCHEMA.functions), max_size=12)):
        args: tuple[Any, ...] = tuple(draw(live(param.into)) for param in form.params)
        reply: Any = draw(live(form.result))
        if form.outputs and bool(draw(st.booleans())):
            reply = (reply, *(draw(st.one_of(st.none(), live(param.out or ""))) for param in form.outputs))
        found.append((form.name, args, reply))
    return found


def _same(form: str, sent: Any, back: Any, tokens: dict[int, int]) -> None:
    if form.startswith(LIST) and sent is not None:
        assert len(sent) == len(back)
        for one, other in zip(sent, back, strict=True):
            _same(form.removeprefix(LIST), one, other, tokens)
    elif form == "flag":
        assert bool(sent) == bool(back)
    elif form == "token":
        assert bool(sent) == bool(back)
        assert tokens.setdefault(sent, back) == back
        assert list(tokens.values()).count(back) == 1
    else:
        assert sent == back


@given(calls())
def test_replay_gets_what_the_program_passed(made: list[tuple[str, tuple[Any, ...], Any]]) -> None:
    live_wire, replay = Wire(AddressBook(BASE, SPAN)), Wire(AddressBook(BASE, SPAN))
    tokens: dict[int, int] = {}
    for name, args, reply in made:
        form = SCHEMA[name]
        recorded, replayed = live_wire.function(form), replay.function(form)
        ins = _frozen(recorded.encode_ins(args))
        ret, *outs = _frozen(recorded.encode_reply(reply))
        for region, address, _ in live_wire.book.fresh:
            replay.book.place(region, address)
        live_wire.book.fresh.clear()
        for param, sent, back in zip(form.params, args, replayed.decode_ins(ins), strict=True):
            _same(param.into, sent, back, tokens)
        sent_ret, *sent_outs = reply if isinstance(reply, tuple) else (reply, *recorded.blank)
        _same(form.result, sent_ret, replayed.decode_result(ret), tokens)
        for param, sent, back in zip(form.outputs, sent_outs, replayed.decode_outs(outs), strict=True):
            if sent is not None:
                _same(param.out or "", sent, back, tokens)
            else:
                assert back is None


def _frozen(row: list[Any]) -> list[Any]:
    return [tuple(value) if isinstance(value, list) else value for value in row]


@pytest.mark.parametrize(
    ("handle", "wire"),
    [
        (0, 0),
        (None, 0),
        (handle_of(1), 1),
        (handle_of(123456), 123456),
        (HANDLE_BASE, HANDLE_BASE.to_bytes(8, "little")),
        (handle_of(7) + 1, (handle_of(7) + 1).to_bytes(8, "little")),
        (5, b"\5\0\0\0\0\0\0\0"),
        ((1 << 64) - 1, b"\xff" * 8),
    ],
)
def test_a_handle_is_the_ordinal_of_its_object_or_the_value_that_never_was_one(handle: int | None, wire: Any) -> None:
    assert encode_handle(handle) == wire


class TestAddresses:
    def test_device_addresses_are_offsets_from_the_base(self) -> None:
        book = AddressBook(BASE, SPAN)
        assert [book.wire(BASE), book.wire(BASE + SPAN - 1), book.wire(0)] == [0, SPAN - 1, None]

    def test_host_addresses_belong_to_the_region_of_their_page_in_order_of_appearance(self) -> None:
        book = AddressBook(BASE, SPAN)
        assert book.wire(0x7000_1010) == (1, 0x10)
        assert book.wire(0x5000_0FFF) == (2, 0xFFF)
        assert book.wire(0x7000_1FFF) == (1, 0xFFF)
        assert book.fresh == [(1, 0x7000_1000, 4096), (2, 0x5000_0000, 4096)]

    def test_a_pinned_allocation_is_a_region_from_its_start_to_its_end(self) -> None:
        book = AddressBook(BASE, SPAN)
        assert book.add(0x7000_0000, 0x3000) == 1
        assert book.wire(0x7000_2FFF) == (1, 0x2FFF)
        assert book.wire(0x7000_3000) == (2, 0)
        assert book.wire(0x6FFF_FFFF) == (3, 0xFFF)

    def test_a_released_region_keeps_its_addresses_until_the_step_is_recorded(self) -> None:
        book = AddressBook(BASE, SPAN)
        book.add(0x7000_0000, 0x3000)
        book.remove(0x7000_0000)
        assert book.wire(0x7000_0000) == (1, 0)
        book.settle()
        assert book.wire(0x7000_0000) == (2, 0)

    def test_memory_that_is_allocated_again_is_a_new_region(self) -> None:
        book = AddressBook(BASE, SPAN)
        book.add(0x7000_0000, 0x3000)
        assert book.add(0x7000_1000, 0x3000) == 2
        assert book.wire(0x7000_2000) == (2, 0x1000)

    def test_replay_makes_up_addresses_that_the_trace_does_not_have(self) -> None:
        book = AddressBook(BASE, SPAN)
        first, large, third = book.region(1), book.region(2, 1 << 30), book.region(3)
        assert first % 4096 == 0
        assert first + 4096 <= large
        assert large + (1 << 30) <= third
        assert book.address((2, 5)) == large + 5

    def test_what_replay_makes_up_has_the_same_name_there(self) -> None:
        book = AddressBook(BASE, SPAN)
        assert book.address(77) == BASE + 77
        assert book.address(None) == 0


@pytest.mark.parametrize(
    ("function", "ins"),
    [
        ("use", ("text",)),
        ("use", (b"seven b",)),
        ("use", (-1,)),
        ("use", (2.0,)),
        ("use", ()),
        ("copy", ("x", 1, None, 0)),
        ("copy", ((1,), 1, None, 0)),
        ("copy", ((1, -1), 1, None, 0)),
        ("copy", (-5, 1, None, 0)),
        ("sizes", (b"number", 0, None)),
        ("sizes", (1, 0, "text")),
        ("hook", (-1, True)),
        ("hook", (1, 5)),
        ("many", (5, True, None, None)),
        ("many", (("x",), True, None, None)),
    ],
)
def test_a_value_of_another_form_is_refused_by_name(function: str, ins: tuple[Any, ...]) -> None:
    codec = FunctionCodec(SCHEMA[function], Wire(AddressBook(BASE, SPAN)))
    with pytest.raises(WireError, match=function):
        codec.decode_ins(ins)


def test_a_wrong_return_value_is_refused() -> None:
    codec = FunctionCodec(SCHEMA["use"], Wire(AddressBook(BASE, SPAN)))
    with pytest.raises(WireError, match="return value"):
        codec.decode_result("text")


class TestSchema:
    def test_every_function_of_the_model_has_forms(self) -> None:
        schema = schema_of(MODEL)
        assert [form.name for form in schema.functions] == [function.name for function in MODEL.functions]
        assert [form.number for form in schema.functions] == list(range(len(MODEL.functions)))
        wire = Wire(AddressBook(BASE, SPAN))
        for form in schema.functions:
            wire.function(form)

    def test_it_comes_back_from_its_bytes(self) -> None:
        schema = schema_of(MODEL)
        again = Schema.unpack(schema.pack())
        assert again.functions == schema.functions
        assert again.enums == schema.enums
        assert again.enums["aclError"]["ACL_ERROR_INVALID_PARAM"] == 100000
        assert again.pack() == schema.pack()

    def test_roles_give_forms(self) -> None:
        create = function_form(MODEL["aclrtCreateEvent"])
        assert [(p.name, p.into, p.out, p.kind) for p in create.params] == [("event", "flag", "handle", "event")]
        copy = function_form(MODEL["aclrtMemcpy"])
        assert [(p.into, p.out) for p in copy.params] == [
            ("address", None),
            ("number", None),
            ("address", None),
            ("number", None),
            ("number", None),
        ]
        assert copy.params[4].enum == "aclrtMemcpyKind"

    def test_arrays_of_simple_elements_are_lists(self) -> None:
        assert forms_of(Array(Handle("stream"), "n")).into == "list:handle"
        assert forms_of(Array(Scalar("size_t"), "n", "out"))[:2] == ("flag", "list:number")
        assert forms_of(OutScalar("size_t"))[:2] == ("flag", "number")

    @pytest.mark.parametrize(
        "content",
        [
            b"",
            b"\xc1",
            b"\x80",
            {"functions": 5, "enums": {}},
            {"functions": [["f", "int", "no form", []]], "enums": {}},
            {"functions": [["f", "int", "number", [["p", "int", "role", "no form", None, None, None]]]], "enums": {}},
            {"functions": [["f", "int", "number", [["p", "int"]]]], "enums": {}},
            {"functions": [[b"f", "int", "number", []]], "enums": {}},
            {"functions": [], "enums": {"e": {"RED": "zero"}}},
            {"functions": [], "enums": 5},
        ],
    )
    def test_bytes_that_are_no_table_are_damage(self, content: Any) -> None:
        from cannery.recorder.packing import pack

        with pytest.raises(DamagedTrace):
            Schema.unpack(content if isinstance(content, bytes) else pack(content))
