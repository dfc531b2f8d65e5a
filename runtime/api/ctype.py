"""What the C types of the ABI mean to a caller: category, size and sign.

The texts are those of ``abi/functions.json``; the named types come from ``abi/enums.json``. Sizes are those of the two
64-bit ABIs that Cannery runs on (x86_64 and aarch64 Linux), where they are the same.
"""

from typing import Any, Final, NamedTuple

INTEGER: Final = "integer"
ENUM: Final = "enum"
FLOAT: Final = "float"
POINTER: Final = "pointer"  # to something whose type is known: see CType.target
OPAQUE: Final = "opaque"  # a named pointer whose target nobody may look at, such as aclrtStream
FUNCTION: Final = "function"  # pointer to a function of the program
STRUCT: Final = "struct"  # by value; unions too
INCOMPLETE: Final = "incomplete"  # a struct that only exists behind pointers
VOID: Final = "void"
VA_LIST: Final = "va_list"


class CType(NamedTuple):
    """``name`` is the text without qualifiers, ``target`` the type behind a pointer (None behind anything else)."""

    name: str
    category: str
    size: int
    signed: bool = False
    target: "CType | None" = None

    @property
    def is_number(self) -> bool:
        return self.category in (INTEGER, ENUM, FLOAT)


_BASIC: Final = {
    "void": CType("void", VOID, 0),
    "va_list": CType("va_list", VA_LIST, 0),
    "float": CType("float", FLOAT, 4, True),
    "double": CType("double", FLOAT, 8, True),
    "_Bool": CType("_Bool", INTEGER, 1),
    "char": CType("char", INTEGER, 1, True),
    "unsigned char": CType("unsigned char", INTEGER, 1),
    "int": CType("int", INTEGER, 4, True),
    "size_t": CType("size_t", INTEGER, 8),
    **{f"int{8 * size}_t": CType(f"int{8 * size}_t", INTEGER, size, True) for size in (1, 2, 4, 8)},
    **{f"uint{8 * size}_t": CType(f"uint{8 * size}_t", INTEGER, size) for size in (1, 2, 4, 8)},
}

PLAIN_NUMBERS: Final = frozenset(name for name, meaning in _BASIC.items() if meaning.is_number) | {
    "aclError",
    "aclFloat16",
}
"""Names of number types that are no enums; every other number type of the ABI is one."""


class Types:
    """The named types of the ABI. ``enums``, ``structs``, ``typedefs``, ``macros`` and ``constants`` are the tables of
    ``abi/enums.json`` as they stand there; calling an instance resolves a type text."""

    def __init__(self, facts: dict[str, dict[str, Any]]) -> None:
        self.enums: Final = facts["enums"]
        self.structs: Final = facts["structs"]
        self.typedefs: Final = facts["typedefs"]
        self.macros: Final = facts["macros"]
        self.constants: Final = facts["static_consts"]
        self._resolved: Final = dict(_BASIC)

    def __call__(self, text: str) -> CType:
        """Resolve a type text such as ``const void *``.

        Raises:
            KeyError: the text names a type that the ABI does not have.
        """
        known = self._resolved.get(text)
        if known is None:
            known = self._resolved[text] = self._resolve(text)
        return known

    def _resolve(self, text: str) -> CType:
        if "(" in text:
            return CType(text, FUNCTION, 8)
        text = text.strip().removesuffix("const").strip()
        if text.endswith("*"):
            return CType(text, POINTER, 8, target=self(text[:-1].strip()))
        name = text.removeprefix("const ").removeprefix("struct ").strip()
        if name in _BASIC:
            return _BASIC[name]
        if name in self.enums:
            values = self.enums[name]["values"]
            return CType(name, ENUM, self.enums[name]["sizeof"], any(value["value"] < 0 for value in values))
        if name in self.structs:
            return CType(name, STRUCT, self.structs[name]["sizeof"])
        return self._alias(name)

    def _alias(self, name: str) -> CType:
        typedef = self.typedefs[name]
        if typedef["kind"] == "function_pointer":
            return CType(name, FUNCTION, 8)
        if typedef["kind"] == "opaque":
            return CType(name, INCOMPLETE, 0)
        meaning = typedef["decl"].removeprefix("typedef ").removesuffix(name).strip()
        if meaning == "void *":
            return CType(name, OPAQUE, 8)
        return self(meaning)._replace(name=name)
