"""How the values of each function are compared: which are names of objects, which say nothing, which follow from time.

Everything comes from the function tables of the two bundles. What a form cannot say stands in the tables here, by
name, with the reason.
"""

from typing import Any, Final, NamedTuple

from cannery.recorder.schema import LIST, FunctionForm, ParamForm, Schema

# Manners of comparison
EXACT: Final = "exact"
HANDLE: Final = "handle"  # which object
ADDRESS: Final = "address"  # which allocation, and the offset in it
TOKEN: Final = "token"  # which function of the program
KEY: Final = "key"  # which exported object
RAW: Final = "raw"  # a pointer of which nothing is known, or a small number
MESSAGE: Final = "message"  # a text that may name addresses
IGNORED: Final = "ignored"

IGNORED_PARAMS: Final = frozenset(
    {
        "threadId", "hostFuncThreadId", "pid", "serverPids",  # numbers that the system gives
        "streamId", "eventId", "notifyId", "taskId", "modelRIId", "qid",  # and the runtime
        "bareTgid", "utilizationInfo",
    }
)  # fmt: skip
"""Parameters whose values differ between two runs of one program, and mean nothing to it."""

KEY_PARAMS: Final = frozenset({"key"})
"""Random names of exported objects: two are the same if they appear in the same places."""

IGNORED_TEXTS: Final = {"aclAppLog": frozenset({"func", "file", "line", "fmt", "args"}),
                        "aclAppLogWithArgs": frozenset({"func", "file", "line", "fmt", "args"})}  # fmt: skip
"""Texts that the program writes to the log: they name times and processes, and nothing follows from them."""

ARGUMENT_BLOCKS: Final = {
    "aclrtLaunchKernelWithHostArgs": frozenset({"hostArgs"}),
    "aclrtKernelArgsAppend": frozenset({"param"}),
    "aclrtKernelArgsParaUpdate": frozenset({"param"}),
}
"""Bytes that are arguments of a kernel: words that lie in the range of device memory are taken for addresses."""

MESSAGES: Final = frozenset({"aclGetRecentErrMsg"})

TIMED: Final = {
    "aclrtEventElapsedTime": frozenset({"ms"}),
    "aclrtEventGetTimestamp": frozenset({"timestamp"}),
    "aclrtStreamQuery": frozenset({"status"}),
    "aclrtQueryEvent": frozenset({"status"}),
    "aclrtQueryEventStatus": frozenset({"status"}),
    "aclrtQueryEventWaitStatus": frozenset({"status"}),
}
"""Outputs that depend on how fast the machine and the program were. A difference is told, but does not count."""

POLLED: Final = {
    "aclrtStreamQuery": True,
    "aclrtQueryEvent": True,
    "aclrtQueryEventStatus": True,
    "aclrtQueryEventWaitStatus": True,
    "aclrtProcessReport": False,
}
"""Calls that a program repeats until something happens, and whether that nothing happened yet is a success. Repeated
without anything in between, they are one call with the last answer."""

FUNCTION: Final = "function "
"""Before the signature of a function of the program, that makes the name of calls of it."""


class Value(NamedTuple):
    """A parameter or output: its place in the record, its name, and how it is compared. ``many``: an array of such.
    ``created``: what it names exists because of the call."""

    at: int
    name: str
    manner: str
    many: bool
    kind: str  # of a handle, for people
    timed: bool = False
    created: bool = False


class Addresses(NamedTuple):
    """Where addresses stand among the arguments and outputs of a function. ``size`` is the argument that says how much
    memory the ``created`` outputs are the beginning of."""

    ins: tuple[Value, ...]
    outs: tuple[Value, ...]
    size: int | None


class Copy(NamedTuple):
    """Where the arguments of a copy stand. ``stream`` is None where the copy is done when the call returns."""

    destination: int
    source: int
    size: int
    kind: int | None
    stream: int | None


class Shape(NamedTuple):
    """How calls of a function are compared.

    ``plain``: equal bytes, equal calls. ``ins`` and ``outs`` are all values; ``names`` the indices of those parameters
    that name objects, with their manner, for keys. ``creates``: it can make objects or memory.
    """

    name: str
    ins: tuple[Value, ...]
    outs: tuple[Value, ...]
    result: Value
    names: tuple[tuple[int, str, bool], ...]
    plain: bool
    creates: bool
    releases: tuple[tuple[int, str], ...]  # (index, manner) of what is gone after the call
    addresses: Addresses | None
    copy: Copy | None
    drains: int | None  # parameter that is a stream on which nothing is pending afterwards


class Relayout(NamedTuple):
    """Where the second bundle's function table has other parameters: where to take each value of the first's from."""

    ins: tuple[int | None, ...]
    outs: tuple[int | None, ...]


def shape_of(form: FunctionForm, other: FunctionForm) -> Shape:
    """The shape of a function that both bundles have. What only one of them has, or has in another form, is ignored."""
    theirs = {param.name: param for param in other.params}
    size = next((index for index, param in enumerate(form.params) if param.name == "size"), None)
    ins: list[Value] = []
    outs: list[Value] = []
    for index, param in enumerate(form.params):
        twin = theirs.get(param.name)
        ins.append(_value(form.name, index, param, param.into, twin is not None and twin.into == param.into))
        if param.out is not None:
            known = twin is not None and twin.out == param.out
            value = _value(form.name, len(outs), param, param.out, known)
            created = param.role == "created_handle" or (value.manner == ADDRESS and size is not None)
            outs.append(value._replace(created=created))
    result = _result(form)
    names = tuple((v.at, v.manner, v.many) for v in ins if v.manner != EXACT)
    return Shape(
        form.name,
        tuple(ins),
        tuple(outs),
        result,
        names,
        not names and all(v.manner == EXACT and not v.timed for v in (*outs, result)),
        any(v.manner in (HANDLE, ADDRESS) for v in (*outs, result)),
        _releases(form),
        _addresses(ins, outs, size),
        copy_of(form),
        _drains(form),
    )


def relayout_of(form: FunctionForm, other: FunctionForm) -> Relayout | None:
    """None where both tables have the same parameters in the same order."""
    if [param.name for param in form.params] == [param.name for param in other.params] and (
        [param.name for param in form.outputs] == [param.name for param in other.outputs]
    ):
        return None
    ins = {param.name: index for index, param in enumerate(other.params)}
    outs = {param.name: index for index, param in enumerate(other.outputs)}
    return Relayout(tuple(ins.get(p.name) for p in form.params), tuple(outs.get(p.name) for p in form.outputs))


class Shapes(dict[str, Shape]):
    """By name. Those of functions of the program are made when they are first asked for."""

    def __missing__(self, name: str) -> Shape:
        if not name.startswith(FUNCTION):
            raise KeyError(name)
        returns, _, rest = name.removeprefix(FUNCTION).partition("(")
        args = [arg for arg in rest.removesuffix(")").split(",") if arg]
        ins = [Value(0, "function", TOKEN, False, "")]
        ins += [Value(at, f"{at}", EXACT, False, "") for at in range(1, len(args) + 1)]
        result = Value(0, "", ADDRESS if returns == "ptr" else EXACT, False, "")
        shape = self[name] = Shape(
            name, tuple(ins), (), result, ((0, TOKEN, False),), False, False, (), None, None, None
        )
        return shape


def shapes_of(schema: Schema, other: Schema) -> Shapes:
    """The shapes of all functions of both bundles."""
    found = Shapes()
    for first, second in ((schema, other), (other, schema)):
        for form in first.functions:
            if form.name not in found:
                found[form.name] = shape_of(form, second[form.name] if form.name in second else form)  # noqa: SIM401 - no mapping
    return found


def copy_of(form: FunctionForm) -> Copy | None:
    """Where the arguments of a copy of ``count`` bytes from ``src`` to ``dst`` stand, if it is one."""
    index = {param.name: place for place, param in enumerate(form.params)}
    if not {"dst", "src", "count"} <= index.keys():
        return None
    if any(form.params[index[name]].into != "address" for name in ("dst", "src")):
        return None
    stream = index.get("stream")
    return Copy(index["dst"], index["src"], index["count"], index.get("kind"), stream)


def _value(function: str, index: int, param: ParamForm, form: str, known: bool) -> Value:
    words = form == "bytes" and param.name in ARGUMENT_BLOCKS.get(function, ())
    many = form.startswith(LIST) or words
    manner = _manner(function, param, form.removeprefix(LIST)) if known else IGNORED
    kind = param.kind or param.ctype.replace("const ", "").rstrip("* ")
    return Value(index, param.name, manner, many, kind, param.name in TIMED.get(function, ()))


def _manner(function: str, param: ParamForm, form: str) -> str:
    if param.name in IGNORED_PARAMS or param.name in IGNORED_TEXTS.get(function, ()):
        return IGNORED
    if param.name in KEY_PARAMS and form == "bytes":
        return KEY
    if form == "bytes" and param.name in ARGUMENT_BLOCKS.get(function, ()):
        return ADDRESS
    return {"handle": HANDLE, "address": ADDRESS, "token": TOKEN, "name": KEY, "raw": RAW}.get(form, EXACT)


def _result(form: FunctionForm) -> Value:
    manner = {"handle": HANDLE, "address": ADDRESS, "name": KEY}.get(form.result, EXACT)
    manner = MESSAGE if form.name in MESSAGES else manner
    return Value(0, "", manner, False, form.returns.replace("const ", "").rstrip("* "))


def _releases(form: FunctionForm) -> tuple[tuple[int, str], ...]:
    found = [(i, HANDLE) for i, param in enumerate(form.params) if param.role == "released_handle"]
    if form.name.startswith("aclrtFree"):
        found += [(i, ADDRESS) for i, param in enumerate(form.params) if param.into == "address"]
    return tuple(found)


def _drains(form: FunctionForm) -> int | None:
    for index, param in enumerate(form.params):
        if param.kind == "stream" and (param.role == "released_handle" or form.name == "aclrtSynchronizeStream"):
            return index
    return None


def _addresses(ins: list[Value], outs: list[Value], size: int | None) -> Addresses | None:
    found = [tuple(value for value in values if value.manner == ADDRESS) for values in (ins, outs)]
    return Addresses(found[0], found[1], size) if any(found) else None


def is_host(address: Any) -> bool:
    """Whether a value is an address in host memory: region and offset."""
    return address.__class__ is tuple and len(address) == 2


def is_placed(address: Any) -> bool:
    """Whether a value is an address in known device memory: number of the allocation, offset in it, address."""
    return address.__class__ is tuple and len(address) == 3


__all__ = [
    "ADDRESS", "EXACT", "FUNCTION", "HANDLE", "IGNORED", "KEY", "MESSAGE", "POLLED", "RAW", "TOKEN", "Copy",
    "Relayout", "Shape", "Shapes", "Value", "copy_of", "is_host", "is_placed", "relayout_of", "shape_of", "shapes_of",
]  # fmt: skip
