"""What a parameter is for: the closed family of roles.

A C type says how many bits a parameter has; its role says what they mean: which way they go (``direction``) and what
they are (``shape``). There is one small class per pair. A role checks itself against the place where it is declared
(:meth:`Role.check`), so a wrong declaration fails when the package is imported, naming function and parameter.

Whatever knows parameters (exports, marshalling, codec, printer) is a :class:`RoleVisitor` or a table keyed by
``shape``, so that a new class here breaks loudly everywhere it is not handled.
"""

from collections.abc import Collection, Mapping
from typing import ClassVar, Final, NoReturn, Protocol, TypeVar

from cannery.runtime.api import ctype
from cannery.runtime.api.ctype import PLAIN_NUMBERS, CType, Types
from cannery.runtime.api.lengths import Length

IN: Final = "in"
OUT: Final = "out"
INOUT: Final = "inout"

HANDLES: Final = {
    "context": "aclrtContext",
    "stream": "aclrtStream",
    "stream configuration": "aclrtStreamConfigHandle *",
    "condition": "aclmdlRICondHandle",
    "event": "aclrtEvent",
    "notify": "aclrtNotify",
    "counting notify": "aclrtCntNotify",
    "model": "aclmdlRI",
    "exception": "const aclrtExceptionInfo *",
    "task group": "aclrtTaskGrp",
    "model task": "aclmdlRITask",
    "label": "aclrtLabel",
    "label list": "aclrtLabelList",
    "physical memory": "aclrtDrvMemHandle",
    "memory pool": "aclrtMemPool",
    "group information": "aclrtGroupInfo *",
    "allocator description": "aclrtAllocatorDesc",
    "data buffer": "aclDataBuffer *",
    "shared buffer": "aclrtMbuf",
    "queue attributes": "acltdtQueueAttr *",
    "queue route": "acltdtQueueRoute *",
    "queue routes": "acltdtQueueRouteList *",
    "queue route query": "acltdtQueueRouteQueryInfo *",
    "data item": "acltdtDataItem *",
    "dataset": "acltdtDataset *",
    "channel": "acltdtChannelHandle *",
    "profiling configuration": "aclprofConfig *",
    "step": "aclprofStepInfo *",
    "stamp": "void *",
    "binary description": "aclrtBinary",
    "kernel binary": "aclrtBinHandle",
    "kernel": "aclrtFuncHandle",
    "kernel arguments": "aclrtArgsHandle",
    "kernel parameter": "aclrtParamHandle",
}
"""Kinds of handle, and the C type that each has; pointers to structs that nobody may look into stand for both forms,
with const and without. A handle by value in any function has its kind by its type, unless that is ``void *``."""

PLACES: Final = ("device", "host", "any")
ACCESSES: Final = ("none", "read", "write", "readwrite", "release")

T_co = TypeVar("T_co", covariant=True)
T = TypeVar("T")


class RoleError(ValueError):
    """A declaration in the API model is wrong; the text names the function and the parameter."""


class Site:
    """The place where a role is declared: one parameter of one function."""

    __slots__ = ("ctype", "function", "parameter", "parameters", "types")

    def __init__(self, function: str, parameter: str, ctype: CType, parameters: Collection[str], types: Types) -> None:
        self.function = function
        self.parameter = parameter
        self.ctype = ctype
        self.parameters = parameters
        self.types = types

    def refuse(self, reason: str) -> NoReturn:
        raise RoleError(f"{self.function}({self.parameter}): {reason}")

    def pointed(self) -> CType:
        """The type that an output is written through a pointer to."""
        if self.ctype.target is None:
            self.refuse(f"an output needs a pointer, not {self.ctype.name}")
        return self.ctype.target

    def number(self, declared: str, actual: CType, enum: str | None) -> None:
        if actual.name != declared:
            self.refuse(f"declared as {declared}, but the type is {actual.name}")
        if not actual.is_number:
            self.refuse(f"{declared} is not a number")
        if enum is not None and enum not in self.types.enums:
            self.refuse(f"there is no enum {enum}")

    def handle(self, kind: str, actual: CType) -> None:
        if kind not in HANDLES:
            self.refuse(f"there is no handle kind {kind!r}; known: {', '.join(HANDLES)}")
        if actual.name.removeprefix("const ") != HANDLES[kind].removeprefix("const "):
            self.refuse(f"a {kind} handle is a {HANDLES[kind]}, but the type is {actual.name}")

    def measured(self, length: Length | None) -> None:
        for name in length.names if length is not None else ():
            if name not in self.parameters:
                self.refuse(f"the length names {name!r}, which is not a parameter")

    def pointer(self) -> None:
        if self.ctype.category not in (ctype.POINTER, ctype.OPAQUE):
            self.refuse(f"an address needs a pointer, not {self.ctype.name}")

    def one_of(self, what: str, value: str, allowed: Collection[str]) -> None:
        if value not in allowed:
            self.refuse(f"{what} {value!r} is none of {', '.join(allowed)}")


class Role:
    """Base of the family. Roles are values: two of one class with equal attributes are equal."""

    shape: ClassVar[str]
    direction: str = IN

    def check(self, site: Site) -> None:
        """Compare the declaration with the parameter it stands at.

        Raises:
            RoleError: they contradict each other.
        """
        raise NotImplementedError

    def visit(self, visitor: "RoleVisitor[T]") -> T:
        raise NotImplementedError

    def __eq__(self, other: object) -> bool:
        return type(self) is type(other) and vars(self) == vars(other)

    def __hash__(self) -> int:
        return hash((self.shape, *vars(self).values()))

    def __repr__(self) -> str:
        return f"{type(self).__name__}({', '.join(f'{name}={value!r}' for name, value in vars(self).items())})"


class _Number(Role):
    """``ctype`` is the type of the number itself; ``enum`` names its values: that type if it is one, or as given."""

    def __init__(self, ctype: str, enum: str | None = None) -> None:
        self.ctype = ctype
        self.enum = ctype if enum is None and ctype not in PLAIN_NUMBERS else enum


class _HandleOf(Role):
    """``kind`` is one of :data:`HANDLES`."""

    def __init__(self, kind: str) -> None:
        self.kind = kind


class Scalar(_Number):
    """A number by value."""

    shape = "scalar"

    def check(self, site: Site) -> None:
        site.number(self.ctype, site.ctype, self.enum)

    def visit(self, visitor: "RoleVisitor[T]") -> T:
        return visitor.scalar(self)


class OutScalar(_Number):
    """A number that the call writes."""

    shape = "out_scalar"
    direction = OUT

    def check(self, site: Site) -> None:
        site.number(self.ctype, site.pointed(), self.enum)

    def visit(self, visitor: "RoleVisitor[T]") -> T:
        return visitor.out_scalar(self)


class InOutScalar(_Number):
    """A number that the call reads and replaces."""

    shape = "inout_scalar"
    direction = INOUT

    def check(self, site: Site) -> None:
        site.number(self.ctype, site.pointed(), self.enum)

    def visit(self, visitor: "RoleVisitor[T]") -> T:
        return visitor.inout_scalar(self)


class Handle(_HandleOf):
    """An object that the call uses; null where the call accepts it."""

    shape = "handle"

    def check(self, site: Site) -> None:
        site.handle(self.kind, site.ctype)

    def visit(self, visitor: "RoleVisitor[T]") -> T:
        return visitor.handle(self)


class ReleasedHandle(_HandleOf):
    """An object that the call destroys when it succeeds."""

    shape = "released_handle"

    def check(self, site: Site) -> None:
        site.handle(self.kind, site.ctype)

    def visit(self, visitor: "RoleVisitor[T]") -> T:
        return visitor.released_handle(self)


class CreatedHandle(_HandleOf):
    """Where the call writes the handle of an object that it made."""

    shape = "created_handle"
    direction = OUT

    def check(self, site: Site) -> None:
        site.handle(self.kind, site.pointed())

    def visit(self, visitor: "RoleVisitor[T]") -> T:
        return visitor.created_handle(self)


class HandleOut(_HandleOf):
    """Where the call writes the handle of an object that exists already."""

    shape = "handle_out"
    direction = OUT

    def check(self, site: Site) -> None:
        site.handle(self.kind, site.pointed())

    def visit(self, visitor: "RoleVisitor[T]") -> T:
        return visitor.handle_out(self)


class Address(Role):
    """An address of device or host memory.

    ``place`` says where it has to lie (:data:`PLACES`), ``length`` how many bytes from there the call means (None: the
    whole allocation, or none), ``access`` what happens to them (:data:`ACCESSES`) - at the call or, for an asynchronous
    one, when its task runs. The *direction* is always in: the address itself does not change.
    """

    shape = "address"

    def __init__(self, place: str, length: str | None = None, access: str = "none") -> None:
        self.place = place
        self.length = None if length is None else Length(length)
        self.access = access

    def check(self, site: Site) -> None:
        site.pointer()
        site.one_of("place", self.place, PLACES)
        site.one_of("access", self.access, ACCESSES)
        site.measured(self.length)
        if self.access in ("write", "readwrite") and site.ctype.name.startswith("const "):
            site.refuse(f"{site.ctype.name} memory cannot be written")

    def visit(self, visitor: "RoleVisitor[T]") -> T:
        return visitor.address(self)


class AddressOut(Role):
    """Where the call writes the address of ``length`` bytes that it allocated at ``place``."""

    shape = "address_out"
    direction = OUT

    def __init__(self, place: str, length: str | None = None) -> None:
        self.place = place
        self.length = None if length is None else Length(length)

    def check(self, site: Site) -> None:
        if site.pointed().category not in (ctype.POINTER, ctype.OPAQUE):
            site.refuse(f"an address is written through a pointer to a pointer, not {site.ctype.name}")
        site.one_of("place", self.place, PLACES)
        site.measured(self.length)

    def visit(self, visitor: "RoleVisitor[T]") -> T:
        return visitor.address_out(self)


class Buffer(Role):
    """``length`` bytes of host memory that are one value, such as an export key."""

    shape = "buffer"

    def __init__(self, length: str, direction: str = IN) -> None:
        self.length = Length(length)
        self.direction = direction

    def check(self, site: Site) -> None:
        site.pointer()
        site.one_of("direction", self.direction, (IN, OUT, INOUT))
        site.measured(self.length)
        if self.direction != IN and site.ctype.name.startswith("const "):
            site.refuse(f"{site.ctype.name} memory cannot be written")

    def visit(self, visitor: "RoleVisitor[T]") -> T:
        return visitor.buffer(self)


class Array(Role):
    """``count`` elements in host memory, each with a role of its own by value, such as a list of notifies."""

    shape = "array"

    def __init__(self, element: Role, count: str, direction: str = IN) -> None:
        self.element = element
        self.count = Length(count)
        self.direction = direction

    def check(self, site: Site) -> None:
        site.one_of("direction", self.direction, (IN, OUT, INOUT))
        site.measured(self.count)
        if self.element.direction != IN:
            site.refuse("the elements of an array are declared by value; the array has the direction")
        if self.direction != IN and site.ctype.name.startswith("const "):
            site.refuse(f"{site.ctype.name} memory cannot be written")
        self.element.check(Site(site.function, site.parameter, site.pointed(), site.parameters, site.types))

    def visit(self, visitor: "RoleVisitor[T]") -> T:
        return visitor.array(self)


class CString(Role):
    """A text of the program that ends with a zero byte, or null."""

    shape = "cstring"

    def check(self, site: Site) -> None:
        if site.ctype.target is None or site.ctype.target.name != "char":
            site.refuse(f"a C string is a pointer to char, not {site.ctype.name}")

    def visit(self, visitor: "RoleVisitor[T]") -> T:
        return visitor.cstring(self)


class FunctionPointer(Role):
    """A function of the program."""

    shape = "function_pointer"

    def check(self, site: Site) -> None:
        if site.ctype.category != ctype.FUNCTION:
            site.refuse(f"{site.ctype.name} is not a function pointer")

    def visit(self, visitor: "RoleVisitor[T]") -> T:
        return visitor.function_pointer(self)


class FunctionOut(Role):
    """Where the call writes a function that the program gave it before."""

    shape = "function_out"
    direction = OUT

    def check(self, site: Site) -> None:
        if site.pointed().category != ctype.FUNCTION:
            site.refuse(f"{site.ctype.name} points to no function pointer")

    def visit(self, visitor: "RoleVisitor[T]") -> T:
        return visitor.function_out(self)


class Keepsake(Role):
    """A pointer of the program that the call keeps, to give it back; only its identity means something."""

    shape = "keepsake"

    def check(self, site: Site) -> None:
        if site.ctype.category != ctype.OPAQUE:
            site.refuse(f"{site.ctype.name} is no named pointer of the program's")

    def visit(self, visitor: "RoleVisitor[T]") -> T:
        return visitor.keepsake(self)


class KeepsakeOut(Role):
    """Where the call gives a :class:`Keepsake` back."""

    shape = "keepsake_out"
    direction = OUT

    def check(self, site: Site) -> None:
        if site.pointed().category != ctype.OPAQUE:
            site.refuse(f"{site.ctype.name} points to no named pointer of the program's")

    def visit(self, visitor: "RoleVisitor[T]") -> T:
        return visitor.keepsake_out(self)


class ConstantOut(Role):
    """Where the call writes a pointer to bytes that the library owns and that never change, such as a list."""

    shape = "constant_out"
    direction = OUT

    def check(self, site: Site) -> None:
        if site.pointed().target is None:
            site.refuse(f"{site.ctype.name} does not point to a pointer")

    def visit(self, visitor: "RoleVisitor[T]") -> T:
        return visitor.constant_out(self)


class UserData(Role):
    """A pointer that only comes back as an argument of the program's own functions."""

    shape = "user_data"

    def check(self, site: Site) -> None:
        if site.ctype.name != "void *":
            site.refuse(f"user data is a void *, not {site.ctype.name}")

    def visit(self, visitor: "RoleVisitor[T]") -> T:
        return visitor.user_data(self)


class ThreadId(Role):
    """The number by which the program knows one of its threads (pthread_self); only its identity means something."""

    shape = "thread_id"

    def check(self, site: Site) -> None:
        if site.ctype.name != "uint64_t":
            site.refuse(f"the id of a thread is a uint64_t, not {site.ctype.name}")

    def visit(self, visitor: "RoleVisitor[T]") -> T:
        return visitor.thread_id(self)


class Identity(Role):
    """A value that means something only by its identity: which ``what`` (a key, a process) it names, not its bits. They
    differ in every run. ``inner`` is the role it has otherwise."""

    shape = "identity"

    def __init__(self, inner: Role, what: str) -> None:
        self.inner = inner
        self.what = what
        self.direction = inner.direction

    def check(self, site: Site) -> None:
        self.inner.check(site)

    def visit(self, visitor: "RoleVisitor[T]") -> T:
        return visitor.identity(self)


class Reserved(Role):
    """A pointer behind which nothing is defined yet: it has to be null."""

    shape = "reserved"

    def check(self, site: Site) -> None:
        site.pointer()

    def visit(self, visitor: "RoleVisitor[T]") -> T:
        return visitor.reserved(self)


class _StructOf(Role):
    """``ctype`` is the struct, and the value a tuple of its fields (:mod:`cannery.runtime.api.layouts`).

    ``lists`` says which of its fields point to an array, and which field has the count: ``{"attrs": "numAttrs"}``.
    """

    def __init__(self, ctype: str, lists: Mapping[str, str] | None = None) -> None:
        self.ctype = ctype
        self.lists = tuple((lists or {}).items())

    def _check_lists(self, site: Site) -> None:
        fields = {field["name"]: field for field in site.types.structs[self.ctype]["fields"]}
        for name, counter in self.lists:
            for field in (name, counter):
                if field not in fields:
                    site.refuse(f"{self.ctype} has no field {field!r}")
            if site.types(fields[name]["type"]).target is None:
                site.refuse(f"{self.ctype}.{name} is no pointer to elements")


class StructByValue(_StructOf):
    """A struct of ``size`` bytes that is passed by value, or is the element of an array.

    ``handles`` are fields whose value is the handle itself. ``gives``: the call writes handles of a kind to the array
    that a field points to: the field, that with the count, the kind. The value of that field is whether it is not null.
    """

    shape = "struct_by_value"

    def __init__(
        self,
        ctype: str,
        size: int,
        lists: Mapping[str, str] | None = None,
        handles: tuple[str, ...] = (),
        gives: tuple[str, str, str] | None = None,
    ) -> None:
        super().__init__(ctype, lists)
        self.size = size
        self.handles = handles
        self.gives = gives
        self.direction = IN if gives is None else INOUT

    def check(self, site: Site) -> None:
        if site.ctype.category != ctype.STRUCT or site.ctype.name != self.ctype or site.ctype.size != self.size:
            site.refuse(f"{site.ctype.name} is not a struct {self.ctype} of {self.size} bytes")
        self._check_lists(site)
        fields = {field["name"]: field for field in site.types.structs[self.ctype]["fields"]}
        for name in (*self.handles, *(self.gives or ())[:2]):
            if name not in fields:
                site.refuse(f"{self.ctype} has no field {name!r}")
        if self.gives is not None:
            name, _, kind = self.gives
            target = site.types(fields[name]["type"]).target
            if target is None:
                site.refuse(f"{self.ctype}.{name} is no pointer to elements")
            site.handle(kind, target)

    def visit(self, visitor: "RoleVisitor[T]") -> T:
        return visitor.struct_by_value(self)


class Struct(_StructOf):
    """A struct behind a pointer; None where that is null."""

    shape = "struct"

    def __init__(self, ctype: str, direction: str = IN, lists: Mapping[str, str] | None = None) -> None:
        super().__init__(ctype, lists)
        self.direction = direction

    def check(self, site: Site) -> None:
        site.one_of("direction", self.direction, (IN, OUT, INOUT))
        target = site.pointed()
        if target.category != ctype.STRUCT or target.name != self.ctype:
            site.refuse(f"{site.ctype.name} is no pointer to a struct {self.ctype}")
        if self.direction != IN and site.ctype.name.startswith("const "):
            site.refuse(f"{site.ctype.name} memory cannot be written")
        self._check_lists(site)

    def visit(self, visitor: "RoleVisitor[T]") -> T:
        return visitor.struct(self)


class Raw(Role):
    """Not annotated yet: 64 bits as they came, which mean nothing outside of the recording process."""

    shape = "raw"

    def check(self, site: Site) -> None:
        pass

    def visit(self, visitor: "RoleVisitor[T]") -> T:
        return visitor.raw(self)


class RoleVisitor(Protocol[T_co]):
    """One method per role."""

    def scalar(self, role: Scalar) -> T_co: ...
    def out_scalar(self, role: OutScalar) -> T_co: ...
    def inout_scalar(self, role: InOutScalar) -> T_co: ...
    def handle(self, role: Handle) -> T_co: ...
    def released_handle(self, role: ReleasedHandle) -> T_co: ...
    def created_handle(self, role: CreatedHandle) -> T_co: ...
    def handle_out(self, role: HandleOut) -> T_co: ...
    def address(self, role: Address) -> T_co: ...
    def address_out(self, role: AddressOut) -> T_co: ...
    def buffer(self, role: Buffer) -> T_co: ...
    def array(self, role: Array) -> T_co: ...
    def cstring(self, role: CString) -> T_co: ...
    def function_pointer(self, role: FunctionPointer) -> T_co: ...
    def function_out(self, role: FunctionOut) -> T_co: ...
    def keepsake(self, role: Keepsake) -> T_co: ...
    def keepsake_out(self, role: KeepsakeOut) -> T_co: ...

    def constant_out(self, role: ConstantOut) -> T_co: ...
    def user_data(self, role: UserData) -> T_co: ...
    def thread_id(self, role: ThreadId) -> T_co: ...
    def identity(self, role: Identity) -> T_co: ...
    def reserved(self, role: Reserved) -> T_co: ...
    def struct_by_value(self, role: StructByValue) -> T_co: ...
    def struct(self, role: Struct) -> T_co: ...
    def raw(self, role: Raw) -> T_co: ...
