"""From the API model to the bundle's function table: the form that each role takes on the wire.

A visitor over the roles, so that a role without a form stops the import of whoever records.
"""

from typing import Any, Final, NamedTuple

from cannery.recorder.schema import LIST, FunctionForm, ParamForm, Schema
from cannery.runtime.api.model import Function, Model, Param
from cannery.runtime.api.results import Result
from cannery.runtime.api.roles import (
    IN,
    OUT,
    Address,
    AddressOut,
    Array,
    Buffer,
    ConstantOut,
    CreatedHandle,
    CString,
    FunctionOut,
    FunctionPointer,
    Handle,
    HandleOut,
    Identity,
    InOutScalar,
    Keepsake,
    KeepsakeOut,
    OutScalar,
    Raw,
    ReleasedHandle,
    Reserved,
    Role,
    Scalar,
    Struct,
    StructByValue,
    ThreadId,
    UserData,
)


class Forms(NamedTuple):
    """Forms of a parameter's value on the way in and on the way out, and the names that explain it."""

    into: str
    out: str | None = None
    enum: str | None = None
    kind: str | None = None


class _FormOf:
    """The visitor. An output is a pointer on the way in, of which only "is it null" is kept."""

    def scalar(self, role: Scalar) -> Forms:
        return Forms("number", enum=role.enum)

    def out_scalar(self, role: OutScalar) -> Forms:
        return Forms("flag", "number", enum=role.enum)

    def inout_scalar(self, role: InOutScalar) -> Forms:
        return Forms("number", "number", enum=role.enum)

    def handle(self, role: Handle) -> Forms:
        return Forms("handle", kind=role.kind)

    def released_handle(self, role: ReleasedHandle) -> Forms:
        return Forms("handle", kind=role.kind)

    def created_handle(self, role: CreatedHandle) -> Forms:
        return Forms("flag", "handle", kind=role.kind)

    def handle_out(self, role: HandleOut) -> Forms:
        return Forms("flag", "handle", kind=role.kind)

    def address(self, role: Address) -> Forms:
        return Forms("address")

    def address_out(self, role: AddressOut) -> Forms:
        return Forms("flag", "address")

    def buffer(self, role: Buffer) -> Forms:
        return self._both_ways(role.direction, "bytes")

    def array(self, role: Array) -> Forms:
        element = role.element.visit(self)
        form = "plain" if element.into.startswith(LIST) else LIST + element.into
        return self._both_ways(role.direction, form)._replace(enum=element.enum, kind=element.kind)

    def cstring(self, role: CString) -> Forms:
        return Forms("bytes")

    def function_pointer(self, role: FunctionPointer) -> Forms:
        return Forms("token")

    def function_out(self, role: FunctionOut) -> Forms:
        return Forms("flag", "token")

    def keepsake(self, role: Keepsake) -> Forms:
        return Forms("token")

    def keepsake_out(self, role: KeepsakeOut) -> Forms:
        return Forms("flag", "token")

    def constant_out(self, role: ConstantOut) -> Forms:
        return Forms("flag", "bytes")

    def user_data(self, role: UserData) -> Forms:
        return Forms("flag")

    def thread_id(self, role: ThreadId) -> Forms:
        return Forms("token")

    def identity(self, role: Identity) -> Forms:
        forms = role.inner.visit(self)
        out = None if forms.out is None else "name"
        return Forms("flag" if role.direction == OUT else "name", out, kind=role.what)

    def reserved(self, role: Reserved) -> Forms:
        return Forms("flag")

    def struct_by_value(self, role: StructByValue) -> Forms:
        return Forms("plain") if role.gives is None else Forms("plain", LIST + "handle", kind=role.gives[2])

    def struct(self, role: Struct) -> Forms:
        return self._both_ways(role.direction, "plain")

    def raw(self, role: Raw) -> Forms:
        return Forms("raw")

    @staticmethod
    def _both_ways(direction: str, form: str) -> Forms:
        return Forms("flag" if direction == OUT else form, None if direction == IN else form)


_FORM_OF: Final = _FormOf()
_RESULT_FORMS: Final = {
    "error_return": "number",
    "scalar_return": "number",
    "identity_return": "name",
    "float_return": "number",
    "cstring_return": "bytes",
    "void_return": "none",
}


_known: Final[dict[int, tuple[Role, Forms]]] = {}  # by identity: the model has few role objects, and shares them


def forms_of(role: Role) -> Forms:
    """The forms of a parameter with that role."""
    found = _known.get(id(role))
    if found is None:
        found = _known[id(role)] = role, role.visit(_FORM_OF)
    return found[1]


def result_form(result: Result) -> str:
    """The form of a return value. A ``void *`` is an address, any other pointer an object of ours."""
    if result.shape == "pointer_return":
        return "address" if result.ctype == "void *" else "handle"
    return _RESULT_FORMS[result.shape]


def function_form(function: Function) -> FunctionForm:
    """How calls of that function stand in a trace that this version records."""
    return FunctionForm(
        function.index,
        function.name,
        function.returns,
        result_form(function.result),
        tuple(_param_form(param) for param in function.params),
    )


def schema_of(model: Model) -> Schema:
    """The function table of bundles that this version makes."""
    enums = {name: _constants(facts) for name, facts in model.types.enums.items()}
    enums["aclError"] = {
        name: facts["value"] for name, facts in model.types.constants.items() if name.startswith("ACL_ERROR_")
    }
    return Schema([function_form(function) for function in model.functions], enums)


def _param_form(param: Param) -> ParamForm:
    forms = forms_of(param.role)
    return ParamForm(param.name, param.ctype, param.role.shape, forms.into, forms.out, forms.enum, forms.kind)


def _constants(facts: Any) -> dict[str, int]:
    return {constant["name"]: constant["value"] for constant in facts["values"]}
