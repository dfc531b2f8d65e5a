"""The API model: one table of all functions, from which everything that knows functions or parameters is derived.

Facts of the ABI come from ``abi/``, meaning from ``annotations.py``. A parameter without annotation has the role that
its C type implies: numbers, handles, functions and structs by value explain themselves, pointers stay raw.
"""

import json
from collections.abc import Iterable, Mapping, Sequence
from io import open_code
from typing import Any, Final, NamedTuple

from cannery.runtime.api import ctype, roles
from cannery.runtime.api.annotations import ANNOTATIONS, Annotation
from cannery.runtime.api.chapters import chapter_of
from cannery.runtime.api.ctype import CType, Types
from cannery.runtime.api.products import products_of
from cannery.runtime.api.results import Result, result_of
from cannery.runtime.api.roles import Raw, Role, RoleError, Site


class Param(NamedTuple):
    """``ctype`` is the C type text; ``meaning`` what that type is to a caller."""

    name: str
    ctype: str
    role: Role
    meaning: CType


class Function:
    """One function of the API.

    ``header`` is the file that declares it ("" for the three that none declares), ``waits_while_locked`` whether it
    waits while a snapshot lock is held. ``can_block`` and ``needs_context`` are only known where ``annotated``, and
    False elsewhere. ``products`` has every product where the documents do not say (then ``documented`` is False).
    """

    __slots__ = (
        "annotated",
        "can_block",
        "deprecated",
        "documented",
        "header",
        "index",
        "inputs",
        "name",
        "needs_context",
        "outputs",
        "params",
        "products",
        "result",
        "returns",
        "variadic",
        "waits_while_locked",
    )

    def __init__(self, index: int, facts: Mapping[str, Any], annotation: Annotation | None, types: Types) -> None:
        self.index = index
        self.name: str = facts["name"]
        self.returns: str = facts["ret"]
        self.result: Result = result_of(
            self.returns, types(self.returns), annotation is not None and annotation.identity != ""
        )
        self.params: tuple[Param, ...] = _params(self.name, facts["params"], annotation, types)
        self.inputs = tuple(param for param in self.params if param.role.direction != roles.OUT)
        self.outputs = tuple(param for param in self.params if param.role.direction != roles.IN)
        self.header: str = facts["header"]
        self.variadic: bool = facts["variadic"]
        self.deprecated: bool = facts["deprecated"]
        self.annotated = annotation is not None
        self.can_block = annotation is not None and annotation.can_block
        self.needs_context = annotation is not None and annotation.needs_context
        self.waits_while_locked: bool = facts["waits_while_snapshot_locked"] is True
        self.documented: bool = facts["doc_products"] is not None
        self.products: frozenset[str] = products_of(facts["doc_products"])

    @property
    def chapter(self) -> str:
        return chapter_of(self.name)

    def __repr__(self) -> str:
        return f"<Function {self.index} {self.name}>"


class Model:
    """All functions in the order of the exports. ``types`` has the enums, structs and macros of the ABI."""

    __slots__ = ("_by_name", "functions", "types")

    def __init__(self, facts: Iterable[Mapping[str, Any]], annotations: Sequence[Annotation], types: Types) -> None:
        """Raises:
        RoleError: an annotation contradicts the facts, stands there twice, or names an unknown function.
        """
        by_name = {annotation.name: annotation for annotation in annotations}
        if len(by_name) != len(annotations):
            names = [annotation.name for annotation in annotations]
            raise RoleError(f"annotated twice: {', '.join(sorted({name for name in names if names.count(name) > 1}))}")
        self.types = types
        self.functions = tuple(
            Function(index, fact, by_name.pop(fact["name"], None), types) for index, fact in enumerate(facts)
        )
        self._by_name = {function.name: function for function in self.functions}
        if by_name:
            raise RoleError(f"annotated, but not in the API: {', '.join(by_name)}")

    def __getitem__(self, name: str) -> Function:
        return self._by_name[name]

    def __contains__(self, name: object) -> bool:
        return name in self._by_name

    @property
    def raw_count(self) -> int:
        """How many parameters nobody has annotated yet."""
        return sum(isinstance(param.role, Raw) for function in self.functions for param in function.params)


def _params(
    function: str, facts: Sequence[Mapping[str, str]], annotation: Annotation | None, types: Types
) -> tuple[Param, ...]:
    names = [fact["name"] for fact in facts]
    if annotation is None:
        meanings = [types(fact["type"]) for fact in facts]
        return tuple(
            Param(fact["name"], fact["type"], implied_role(meaning), meaning)
            for fact, meaning in zip(facts, meanings, strict=True)
        )
    if list(annotation.roles) != names:
        raise RoleError(f"{function}({', '.join(annotation.roles)}): the parameters are {', '.join(names)}")
    params = []
    for fact in facts:
        role, meaning = annotation.roles[fact["name"]], types(fact["type"])
        role.check(Site(function, fact["name"], meaning, names, types))
        params.append(Param(fact["name"], fact["type"], role, meaning))
    return tuple(params)


_implied: Final[dict[str, Role]] = {
    prefix + text.removeprefix("const "): roles.Handle(kind)
    for kind, text in roles.HANDLES.items()
    if text != "void *"
    for prefix in ("", "const ")
}


def implied_role(meaning: CType) -> Role:
    """The role of a parameter without annotation. Roles are values, so equal ones are one object."""
    role = _implied.get(meaning.name)
    if role is None:
        role = _implied[meaning.name] = _imply(meaning)
    return role


def _imply(meaning: CType) -> Role:
    if meaning.is_number:
        return roles.Scalar(meaning.name)
    if meaning.category == ctype.FUNCTION:
        return roles.FunctionPointer()
    if meaning.category == ctype.STRUCT:
        return roles.StructByValue(meaning.name, meaning.size)
    return Raw()


def _facts(name: str) -> Any:
    """Read ``abi/NAME``. (``pathlib`` alone would cost every preloaded process as much as the rest of this package.)"""
    with open_code(f"{__file__.rpartition('/')[0]}/abi/{name}") as file:
        return json.loads(file.read())


MODEL: Final = Model([*_facts("functions.json"), *_facts("undeclared.json")], ANNOTATIONS, Types(_facts("enums.json")))
