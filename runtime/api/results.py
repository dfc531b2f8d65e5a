"""What a function returns: the closed family of results, each with the answer of a function without implementation."""

from typing import ClassVar, Final

from cannery.runtime.api import ctype
from cannery.runtime.api.ctype import CType

FEATURE_NOT_SUPPORTED: Final = 207000
"""ACL_ERROR_RT_FEATURE_NOT_SUPPORT."""


class Result:
    """Base of the family. ``unsupported`` is what a call of a function without implementation returns."""

    shape: ClassVar[str]
    unsupported: ClassVar[int | float | None] = None

    def __init__(self, ctype: str) -> None:
        self.ctype = ctype

    def __repr__(self) -> str:
        return f"{type(self).__name__}({self.ctype!r})"


class ErrorReturn(Result):
    """An aclError."""

    shape = "error_return"
    unsupported = FEATURE_NOT_SUPPORTED


class ScalarReturn(Result):
    """A whole number or an enum."""

    shape = "scalar_return"
    unsupported = 0


class IdentityReturn(Result):
    """A whole number that means something only by its identity (:class:`roles.Identity`), or :data:`NO_IDENTITY`."""

    shape = "identity_return"
    unsupported = 0


class FloatReturn(Result):
    shape = "float_return"
    unsupported = 0.0


class CStringReturn(Result):
    """A text that the library owns, or null."""

    shape = "cstring_return"


class PointerReturn(Result):
    """Any other pointer."""

    shape = "pointer_return"


class VoidReturn(Result):
    shape = "void_return"


def result_of(text: str, meaning: CType, identity: bool = False) -> Result:
    """The result for the return type ``text``, whose meaning is ``meaning``."""
    if identity:
        return IdentityReturn(text)
    if text == "aclError":
        return ErrorReturn(text)
    if text == "const char *":
        return CStringReturn(text)
    return _BY_CATEGORY[meaning.category](text)


_BY_CATEGORY: Final[dict[str, type[Result]]] = {
    ctype.INTEGER: ScalarReturn,
    ctype.ENUM: ScalarReturn,
    ctype.FLOAT: FloatReturn,
    ctype.POINTER: PointerReturn,
    ctype.OPAQUE: PointerReturn,
    ctype.VOID: VoidReturn,
}
