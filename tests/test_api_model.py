"""The API model: what it holds, and that a wrong declaration cannot be imported."""

import json
from collections.abc import Mapping
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from cannery.runtime.api import INOUT, MODEL, OUT, PRODUCTS, Model, Role, RoleError, ctype, roles
from cannery.runtime.api.annotations import Annotation, call
from cannery.runtime.api.chapters import CHAPTERS
from cannery.runtime.api.ctype import CType
from cannery.runtime.api.lengths import Length
from cannery.runtime.api.products import products_of
from cannery.runtime.api.roles import (
    Address,
    AddressOut,
    Array,
    Buffer,
    CreatedHandle,
    CString,
    FunctionPointer,
    Handle,
    HandleOut,
    InOutScalar,
    OutScalar,
    Raw,
    ReleasedHandle,
    Scalar,
    Struct,
    StructByValue,
    UserData,
)

COMPLETE = """
aclInit aclFinalize aclGetRecentErrMsg aclrtPeekAtLastError aclrtGetLastError aclrtSetDevice aclrtResetDevice
aclrtGetDevice aclrtGetDeviceCount aclrtGetSocName aclrtGetRunMode aclrtCreateContext aclrtDestroyContext
aclrtSetCurrentContext aclrtGetCurrentContext aclrtCreateStream aclrtDestroyStream aclrtSynchronizeStream
aclrtSynchronizeStreamWithTimeout aclrtStreamQuery aclrtSynchronizeDevice aclrtMalloc aclrtFree aclrtMallocHost
aclrtFreeHost aclrtMemset aclrtMemcpy aclrtMemcpyAsync aclrtGetMemInfo aclrtCreateEvent aclrtCreateEventWithFlag
aclrtCreateEventExWithFlag aclrtDestroyEvent aclrtRecordEvent aclrtStreamWaitEvent aclrtQueryEventStatus
aclrtSynchronizeEvent aclrtEventElapsedTime
"""


def one_function(types: str, **declared: Role) -> Model:
    """A model of one function ``f`` whose parameters p0, p1, ... have these types, separated by commas."""
    params = [{"name": f"p{index}", "type": text.strip()} for index, text in enumerate(types.split(","))]
    return model_of(params, (call("f")(**declared),))


def model_of(params: list[dict[str, str]], annotations: tuple[Annotation, ...]) -> Model:
    facts = {"name": "f", "ret": "aclError", "params": params, "header": "acl_rt.h", "variadic": False}
    facts |= {"deprecated": False, "waits_while_snapshot_locked": None, "doc_products": None}
    return Model([facts], annotations, MODEL.types)


def test_the_table_has_every_function_in_export_order() -> None:
    assert len(MODEL.functions) == 514
    assert [function.index for function in MODEL.functions] == list(range(514))
    assert [function.name for function in MODEL.functions[511:]] == [
        "aclAppLogWithArgs",
        "aclrtSetDeviceWithoutTsdVXX",
        "aclrtResetDeviceWithoutTsdVXX",
    ]
    assert all(MODEL[function.name] is function for function in MODEL.functions)
    assert "aclrtMalloc" in MODEL and "aclrtMallocc" not in MODEL


@pytest.mark.parametrize("name", COMPLETE.split())
def test_what_the_first_programs_need_is_annotated_completely(name: str) -> None:
    function = MODEL[name]
    assert function.annotated
    assert not [param.name for param in function.params if isinstance(param.role, Raw)]


def test_raw_parameters_are_counted() -> None:
    raw = [param for function in MODEL.functions for param in function.params if param.role == Raw()]
    assert MODEL.raw_count == len(raw) > 0
    assert all(param.meaning.category in (ctype.POINTER, ctype.OPAQUE, ctype.VA_LIST) for param in raw)


def test_a_role_has_the_parameters_of_the_prototype_in_order() -> None:
    memcpy = MODEL["aclrtMemcpyAsync"]
    assert [(param.name, param.ctype, param.role.shape) for param in memcpy.params] == [
        ("dst", "void *", "address"),
        ("destMax", "size_t", "scalar"),
        ("src", "const void *", "address"),
        ("count", "size_t", "scalar"),
        ("kind", "aclrtMemcpyKind", "scalar"),
        ("stream", "aclrtStream", "handle"),
    ]
    assert (memcpy.can_block, memcpy.needs_context, memcpy.waits_while_locked) == (True, True, True)


def test_inputs_and_outputs_are_told_apart() -> None:
    function = MODEL["aclrtGetMemInfo"]
    assert [param.name for param in function.inputs] == ["attr"]
    assert [param.name for param in function.outputs] == ["free", "total"]
    assert {param.role.direction for param in function.outputs} == {OUT}


@pytest.mark.parametrize(
    ("text", "role"),
    [
        ("uint32_t", Scalar("uint32_t")),
        ("const size_t", Scalar("size_t")),
        ("aclrtMemcpyKind", Scalar("aclrtMemcpyKind")),
        ("aclFloat16", Scalar("aclFloat16")),
        ("aclrtStream", Handle("stream")),
        ("const aclrtStream", Handle("stream")),
        ("aclmdlRI", Handle("model")),
        ("aclrtCallback", FunctionPointer()),
        ("int32_t (* const)(const acldumpChunk *, int32_t)", FunctionPointer()),
        ("dim3", StructByValue("dim3", 12)),
        ("void *", Raw()),
        ("const char *", Raw()),
        ("aclrtStream *", Raw()),
        ("aclmdlRICondHandle", Handle("condition")),
        ("aclrtAllocatorBlock", Raw()),
    ],
)
def test_a_parameter_without_annotation_has_what_its_type_implies(text: str, role: Role) -> None:
    assert model_of([{"name": "p0", "type": text}], ()).functions[0].params[0].role == role


@pytest.mark.parametrize(
    ("types", "role", "complaint"),
    [
        ("size_t", Scalar("uint32_t"), "declared as uint32_t, but the type is size_t"),
        ("void *", Scalar("void *"), "void * is not a number"),
        ("uint32_t", Scalar("uint32_t", enum="aclrtNoSuchEnum"), "there is no enum aclrtNoSuchEnum"),
        ("uint32_t", OutScalar("uint32_t"), "an output needs a pointer, not uint32_t"),
        ("uint64_t *", OutScalar("uint32_t"), "declared as uint32_t, but the type is uint64_t"),
        ("int", InOutScalar("int"), "an output needs a pointer, not int"),
        ("aclrtStream", Handle("streem"), "there is no handle kind 'streem'"),
        ("aclrtStream", Handle("event"), "a event handle is a aclrtEvent, but the type is aclrtStream"),
        ("aclrtStream *", ReleasedHandle("stream"), "but the type is aclrtStream *"),
        ("aclrtStream", CreatedHandle("stream"), "an output needs a pointer, not aclrtStream"),
        ("aclrtEvent *", HandleOut("stream"), "but the type is aclrtEvent"),
        ("size_t", Address("any"), "an address needs a pointer, not size_t"),
        ("void *", Address("moon"), "place 'moon' is none of device, host, any"),
        ("void *", Address("any", access="look"), "access 'look' is none of"),
        ("void *", Address("any", "size"), "the length names 'size', which is not a parameter"),
        ("const void *", Address("any", access="write"), "const void * memory cannot be written"),
        ("void *", AddressOut("device"), "an address is written through a pointer to a pointer, not void *"),
        ("void **", AddressOut("device", "p0 * n"), "the length names 'n', which is not a parameter"),
        ("char *", Buffer("n"), "the length names 'n', which is not a parameter"),
        ("char *", Buffer("4", "up"), "direction 'up' is none of in, out, inout"),
        ("const char *", Buffer("4", OUT), "const char * memory cannot be written"),
        ("int32_t *", Array(Scalar("uint32_t"), "4"), "declared as uint32_t, but the type is int32_t"),
        ("int32_t *", Array(Scalar("int32_t"), "n"), "the length names 'n', which is not a parameter"),
        ("int32_t *", Array(OutScalar("int32_t"), "4"), "the elements of an array are declared by value"),
        ("const int32_t *", Array(Scalar("int32_t"), "4", INOUT), "memory cannot be written"),
        ("void *", CString(), "a C string is a pointer to char, not void *"),
        ("void *", FunctionPointer(), "void * is not a function pointer"),
        ("aclrtStream", UserData(), "user data is a void *, not aclrtStream"),
        ("dim3", StructByValue("dim3", 16), "dim3 is not a struct dim3 of 16 bytes"),
        ("dim3", Struct("dim3"), "an output needs a pointer, not dim3"),
        ("void *", Struct("dim3"), "void * is no pointer to a struct dim3"),
        ("const aclrtMallocConfig *", Struct("aclrtMallocConfig", OUT), "memory cannot be written"),
        ("aclrtMallocConfig *", Struct("aclrtMallocConfig", lists={"attrs": "n"}), "has no field 'n'"),
        ("aclrtMallocConfig *", Struct("aclrtMallocConfig", lists={"numAttrs": "numAttrs"}), "numAttrs is no pointer"),
    ],
)
def test_a_wrong_declaration_names_function_and_parameter(types: str, role: Role, complaint: str) -> None:
    with pytest.raises(RoleError) as refused:
        one_function(types, p0=role)
    assert str(refused.value).startswith("f(p0): ")
    assert complaint in str(refused.value)


def test_the_parameters_of_an_annotation_are_those_of_the_prototype() -> None:
    with pytest.raises(RoleError, match=r"f\(p0\): the parameters are p0, p1"):
        one_function("int, int", p0=Scalar("int"))
    with pytest.raises(RoleError, match=r"f\(p1, p0\): the parameters are p0, p1"):
        one_function("int, int", p1=Scalar("int"), p0=Scalar("int"))


def test_an_annotation_stands_there_once_and_for_a_known_function() -> None:
    with pytest.raises(RoleError, match="annotated, but not in the API: g"):
        model_of([], (call("g")(),))
    with pytest.raises(RoleError, match="annotated twice: f"):
        model_of([], (call("f")(), call("f")()))


def family(base: type[Role]) -> set[type[Role]]:
    return {leaf for child in base.__subclasses__() for leaf in family(child) or {child}}


def test_each_role_has_a_shape_of_its_own_and_a_visitor_method_of_that_name() -> None:
    shapes = {role: role.shape for role in family(Role)}
    assert len(set(shapes.values())) == len(shapes) == 24
    assert set(shapes.values()) == {name for name in vars(roles.RoleVisitor) if not name.startswith("_")}


def test_a_visitor_is_called_for_the_shape_of_the_role() -> None:
    class Named:
        def __getattr__(self, name: str) -> Any:
            return lambda role: (name, role)

    for function in MODEL.functions:
        for param in function.params:
            assert param.role.visit(Named()) == (param.role.shape, param.role)


def test_equal_roles_are_interchangeable() -> None:
    assert Address("any", "count", "read") == Address("any", "count", "read")
    assert len({Scalar("int"), Scalar("int"), OutScalar("int"), Scalar("int", "aclrtMemcpyKind")}) == 3


@pytest.mark.parametrize(
    ("name", "shape", "unsupported"),
    [
        ("aclrtMalloc", "error_return", 207000),
        ("aclrtGetSocName", "cstring_return", None),
        ("aclDataTypeSize", "scalar_return", 0),
        ("acltdtGetTensorTypeFromItem", "scalar_return", 0),
        ("aclFloatToFloat16", "scalar_return", 0),
        ("aclFloat16ToFloat", "float_return", 0.0),
        ("aclCreateDataBuffer", "pointer_return", None),
        ("aclAppLog", "void_return", None),
    ],
)
def test_an_unsupported_call_answers_by_the_return_type(name: str, shape: str, unsupported: object) -> None:
    assert (MODEL[name].result.shape, MODEL[name].result.unsupported) == (shape, unsupported)


@pytest.mark.parametrize(
    ("documented", "products"),
    [
        ({"950": "Y", "A3": "N"}, {"950PR", "950DT"}),
        ({"950PR": "Y", "950DT": "N", "A2": "Y"}, {"950PR", "A2"}),
        ({"200I/500A2": "Y", "310P": "Y", "910": "Y", "IPV350": "Y"}, {"310B", "310P", "910", "IPV350"}),
        (None, set(PRODUCTS)),
    ],
)
def test_products_have_the_names_of_the_project(documented: Mapping[str, str] | None, products: set[str]) -> None:
    assert products_of(documented) == products


def test_products_of_functions_follow_the_documents() -> None:
    assert MODEL["aclrtSetDevice"].products == set(PRODUCTS)
    assert MODEL["aclrtIpcGetEventHandle"].products == {"950PR", "A3", "A2"}
    assert not MODEL["aclAppLog"].documented and MODEL["aclAppLog"].products == set(PRODUCTS)


def test_every_function_has_a_chapter() -> None:
    assert {function.chapter for function in MODEL.functions} == set(CHAPTERS)
    assert MODEL["aclrtMemPoolCreate"].chapter == "memory pool"
    assert MODEL["aclrtMemcpy"].chapter == "memory"


def test_waiting_while_locked_is_known_for_the_calls_that_wait() -> None:
    assert sum(function.waits_while_locked for function in MODEL.functions) == 149
    assert not MODEL["aclrtSynchronizeStream"].waits_while_locked


@pytest.mark.parametrize(
    ("text", "category", "size", "signed"),
    [
        ("int8_t", ctype.INTEGER, 1, True),
        ("const uint16_t", ctype.INTEGER, 2, False),
        ("aclError", ctype.INTEGER, 4, True),
        ("aclFloat16", ctype.INTEGER, 2, False),
        ("aclrtRunMode", ctype.ENUM, 4, False),
        ("aclDataType", ctype.ENUM, 4, True),
        ("float", ctype.FLOAT, 4, True),
        ("aclrtEvent", ctype.OPAQUE, 8, False),
        ("const void * const", ctype.POINTER, 8, False),
        ("aclrtHostFunc", ctype.FUNCTION, 8, False),
        ("aclrtIpcEventHandle", ctype.STRUCT, 64, False),
        ("aclprofConfig", ctype.INCOMPLETE, 0, False),
    ],
)
def test_a_c_type_has_a_category_a_size_and_a_sign(text: str, category: str, size: int, signed: bool) -> None:
    meaning = MODEL.types(text)
    assert (meaning.category, meaning.size, meaning.signed) == (category, size, signed)


def test_what_stands_behind_a_pointer_is_known() -> None:
    def targets(meaning: CType) -> list[str]:
        return [] if meaning.target is None else [meaning.target.name, *targets(meaning.target)]

    assert targets(MODEL.types("aclrtStream *")) == ["aclrtStream"]
    assert targets(MODEL.types("const char * const")) == ["char"]
    assert targets(MODEL.types("void **")) == ["void *", "void"]


NAMES = st.sampled_from(["count", "size", "n_2", "pitch"])
TERMS = st.lists(st.lists(NAMES | st.integers(0, 99).map(str), min_size=1, max_size=3), min_size=1, max_size=3)


@given(TERMS, st.fixed_dictionaries({name: st.integers(0, 1 << 40) for name in ["count", "size", "n_2", "pitch"]}))
def test_a_length_is_the_sum_of_its_products(terms: list[list[str]], values: dict[str, int]) -> None:
    text = " + ".join(" * ".join(term) for term in terms)
    assert Length(text)(values) == eval(text, {}, values)
    assert set(Length(text).names) == {factor for term in terms for factor in term if not factor.isdigit()}


@pytest.mark.parametrize("text", ["", "a -", "a - b", "a ** 2", "f(a)", "3x", "a + + b"])
def test_other_expressions_are_no_lengths(text: str) -> None:
    with pytest.raises(ValueError, match="is not a sum of products"):
        Length(text)


def test_the_facts_that_the_library_does_not_declare_have_the_form_of_the_others() -> None:
    from importlib.resources import files

    folder = files("cannery.runtime.api") / "abi"
    declared, undeclared = (json.loads((folder / f"{name}.json").read_text()) for name in ("functions", "undeclared"))
    assert all(fact.keys() == declared[0].keys() for fact in undeclared)
