"""The function table of a bundle: what a decoder must know of each function, and names for people.

A *form* says what a value on the wire looks like (section 6 of the format); it follows from the role that the API model
gives a parameter (:mod:`cannery.recorder.forms`). The codec works from forms alone, so a bundle is decoded with the
table that it carries.
"""

from collections.abc import Mapping, Sequence
from typing import Any, Final, NamedTuple

from xxhash import xxh3_128_digest

from cannery.recorder.format import MAX_SCHEMA, SCHEMA, DamagedTrace
from cannery.recorder.packing import UNPACK_ERRORS, Malformed, damage_text, pack, unpack

FORMS: Final = ("number", "handle", "address", "bytes", "flag", "token", "name", "raw", "plain", "none")
LIST: Final = "list:"
ZSTD_MAGIC: Final = b"\x28\xb5\x2f\xfd"


class ParamForm(NamedTuple):
    """A parameter on the wire: ``into`` is the form of its value in ``ins``, ``out`` of that in ``outs`` (None: no
    output). ``enum`` and ``kind`` name the enum of its numbers and the kind of its handles, where there is one."""

    name: str
    ctype: str
    role: str
    into: str
    out: str | None
    enum: str | None = None
    kind: str | None = None


class FunctionForm(NamedTuple):
    """A function on the wire. ``number`` is its kind in call records; ``result`` the form of its return value."""

    number: int
    name: str
    returns: str
    result: str
    params: tuple[ParamForm, ...]

    @property
    def outputs(self) -> tuple[ParamForm, ...]:
        return tuple(param for param in self.params if param.out is not None)

    @property
    def can_fail(self) -> bool:
        """Whether a return value other than 0 is a failure."""
        return self.returns == "aclError"

    @property
    def wire(self) -> tuple[str, tuple[tuple[str, str | None], ...]]:
        """What decides how its calls are read: the forms of the result and of each parameter, in and out."""
        return self.result, tuple((param.into, param.out) for param in self.params)


class Schema:
    """Functions in index order, and enums as ``{enum: {constant: value}}``."""

    __slots__ = ("_by_name", "enums", "functions")

    def __init__(self, functions: Sequence[FunctionForm], enums: Mapping[str, Mapping[str, int]]) -> None:
        self.functions = tuple(functions)
        self.enums = enums
        self._by_name = {function.name: function for function in self.functions}

    def __getitem__(self, name: str) -> FunctionForm:
        return self._by_name[name]

    def __contains__(self, name: object) -> bool:
        return name in self._by_name

    def pack(self) -> bytes:
        """The content of a ``schema`` file. Equal tables give equal bytes."""
        functions = [(f.name, f.returns, f.result, [tuple(p) for p in f.params]) for f in self.functions]
        return pack({"functions": functions, "enums": self.enums})

    @classmethod
    def unpack(cls, content: bytes, path: str = SCHEMA) -> "Schema":
        """Raises:
        DamagedTrace: it is no function table.
        """
        try:
            stored = unpack(content)
            enums = {_text(name): _constants(values) for name, values in stored["enums"].items()}
            functions = [_function(index, row) for index, row in enumerate(stored["functions"])]
        except (*UNPACK_ERRORS, AttributeError) as error:
            raise DamagedTrace(path, 0, f"no function table: {damage_text(error)}") from None
        return cls(functions, enums)


def is_form(form: object) -> bool:
    """Whether the text is a form; lists do not nest."""
    return isinstance(form, str) and form.removeprefix(LIST) in FORMS


def schema_digest(content: bytes) -> bytes:
    """What ``bundle`` says about the content of ``schema``."""
    return xxh3_128_digest(content)


def expand(stored: bytes, path: str = SCHEMA) -> bytes:
    """The content of a ``schema`` file that may be compressed.

    Raises:
        DamagedTrace: it cannot be decompressed, or is too large.
    """
    if not stored.startswith(ZSTD_MAGIC):
        return stored
    from cannery.recorder.compression import decompress  # a process that records never gets here

    return decompress(stored, MAX_SCHEMA, path)


def _function(index: int, row: Any) -> FunctionForm:
    name, returns, result, params = row
    if not is_form(result):
        raise Malformed(f"the form {result!r} is not known")
    return FunctionForm(index, _text(name), _text(returns), result, tuple(_param(param) for param in params))


def _param(row: Any) -> ParamForm:
    param = ParamForm(*row)
    for text in (param.name, param.ctype, param.role):
        _text(text)
    for optional in (param.enum, param.kind):
        if optional is not None:
            _text(optional)
    if not is_form(param.into) or not (param.out is None or is_form(param.out)):
        raise Malformed(f"one of the forms {param.into!r} and {param.out!r} is not known")
    return param


def _constants(values: Any) -> dict[str, int]:
    if not all(isinstance(value, int) for value in values.values()):
        raise Malformed("an enum constant is no whole number")
    return {_text(name): value for name, value in values.items()}


def _text(value: Any) -> str:
    if not isinstance(value, str):
        raise Malformed(f"{value!r} is no text")
    return value
