"""How objects of the machine's state may be made: compiled, some ways give objects without attributes (kept.py)."""

import ast
import importlib
import types
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from cannery.runtime.kept import Kept
from cannery.tools.generate.compiled import modules

ROOT = Path(__file__).parents[1]
COMPILED = modules()
PURE = [
    module
    for folder in ("recorder", "replayer", "runtime", "shim")
    for path in sorted(ROOT.glob(f"{folder}/**/*.py"))
    if (module := str(path.relative_to(ROOT))) not in {*COMPILED, "shim/engine_build.py"}
]

#: Functions that get a class and only compare with it.
COMPARING = {"isinstance", "issubclass", "find", "_found"}


class Reader:
    """Finds the expressions of a module that stand for classes of the machine's state."""

    def __init__(self, source: str, namespace: Any) -> None:
        self.tree = ast.parse(source)
        self.namespace = namespace
        self.parents = {child: node for node in ast.walk(self.tree) for child in ast.iter_child_nodes(node)}
        self.annotations = {
            inner
            for node in ast.walk(self.tree)
            for annotation in (getattr(node, "annotation", None), getattr(node, "returns", None))
            if annotation is not None
            for inner in ast.walk(annotation)
        }

    def kept(self, node: ast.AST) -> bool:
        """Whether an expression is a class of the state, by its name or as an attribute of a module."""
        found = self._value(node)
        return isinstance(found, type) and issubclass(found, Kept) and found is not Kept

    def _value(self, node: ast.AST) -> Any:
        if isinstance(node, ast.Name):
            return getattr(self.namespace, node.id, None)
        if isinstance(node, ast.Attribute):
            outer = self._value(node.value)
            return getattr(outer, node.attr, None) if isinstance(outer, types.ModuleType) else None
        return None

    def calls(self) -> Iterator[ast.Call]:
        """Constructions of objects of the state."""
        yield from (node for node in ast.walk(self.tree) if isinstance(node, ast.Call) and self.kept(node.func))

    def spread(self) -> Iterator[int]:
        """Lines with a construction whose arguments are not written out."""
        for call in self.calls():
            if any(isinstance(each, ast.Starred) for each in call.args) or any(not each.arg for each in call.keywords):
                yield call.lineno

    def variables(self) -> Iterator[int]:
        """Lines that may construct an object of a class that is only known when they run: those that hand a class on
        or keep it, and those that call what they were handed."""
        for node in ast.walk(self.tree):
            kept = isinstance(node, ast.Name | ast.Attribute) and self.kept(node) and not self._named(node)
            if kept or (isinstance(node, ast.Call) and self._is_handed(node.func)):
                yield node.lineno

    def _named(self, node: ast.AST) -> bool:
        """Whether a mention of a class neither keeps it nor hands it on."""
        if node in self.annotations:
            return True
        outer = self.parents[node]
        while isinstance(outer, ast.Tuple | ast.BinOp | ast.Subscript):
            outer = self.parents[outer]
        if isinstance(outer, ast.Call):
            name = outer.func.id if isinstance(outer.func, ast.Name) else ""
            return outer.func is node or name in COMPARING
        if isinstance(outer, ast.keyword):
            return outer.arg == "bound"  # of a type variable
        if isinstance(outer, ast.Attribute):
            return not self.kept(outer)
        return isinstance(outer, ast.ClassDef | ast.Compare)

    def _is_handed(self, function: ast.AST) -> bool:
        if isinstance(function, ast.Call):
            return isinstance(function.func, ast.Name) and function.func.id == "type"
        if isinstance(function, ast.Attribute):
            return function.attr == "__class__"
        return isinstance(function, ast.Name) and function.id in self._types_at(function)

    def _types_at(self, node: ast.AST) -> set[str]:
        """Names of parameters around a node that are classes of the model."""
        found: set[str] = set()
        while not isinstance(node, ast.Module):
            node = self.parents[node]
            if isinstance(node, ast.FunctionDef):
                for each in [*node.args.posonlyargs, *node.args.args, *node.args.kwonlyargs]:
                    if each.annotation is not None and "type[" in ast.unparse(each.annotation):
                        found.add(each.arg)
                of_class = self.parents[node]
                if isinstance(of_class, ast.ClassDef) and self.kept(ast.Name(of_class.name)):
                    found.add("cls")
        return found


def reader(module: str) -> Reader:
    name = "cannery." + module.removesuffix(".py").replace("/", ".")
    return Reader((ROOT / module).read_text(), importlib.import_module(name))


@pytest.mark.parametrize("module", COMPILED)
def test_arguments_of_a_construction_are_written_out(module: str) -> None:
    assert [*reader(module).spread()] == []


@pytest.mark.parametrize("module", [module for module in COMPILED if module.startswith("runtime/")])
def test_no_class_is_constructed_through_a_variable(module: str) -> None:
    assert [*reader(module).variables()] == []


@pytest.mark.parametrize("module", PURE)
def test_what_is_not_compiled_constructs_none(module: str) -> None:
    assert [call.lineno for call in reader(module).calls()] == []


def test_constructions_are_found() -> None:
    assert len([*reader("runtime/machine.py").calls()]) > 5


BREAKING = """
Thread(*values)
Thread(**values)
tasks.Record(1, *values)
make = Thread
made = [Thread, 1]
hand_on(Thread)
type(thread)(1)
thread.__class__(1)
def build(cls: type[Thread]): return cls(1)
class Own(Kept):
    @classmethod
    def new(cls): return cls(1)
"""
FINE = """
def held(one: Thread, other: type[Thread]) -> Thread | None: return find(Thread, other)
Thread(1, two=tasks.Record(3))
class Other(Thread): pass
isinstance(one, (Thread, tasks.Record))
type(one) is Thread
type(one)
Thread.method(one)
"""


@pytest.mark.parametrize("line", [*BREAKING.strip().splitlines()[:9], "".join(BREAKING.splitlines(True)[-3:])])
def test_each_way_that_breaks_is_found(line: str) -> None:
    assert [*look(line).spread(), *look(line).variables()] != []


@pytest.mark.parametrize("line", FINE.strip().splitlines())
def test_no_way_that_works_is_found(line: str) -> None:
    assert [*look(line).spread(), *look(line).variables()] == []


def look(source: str) -> Reader:
    from cannery.runtime import tasks
    from cannery.runtime.objects import Thread

    own = type("Own", (Kept,), {})
    return Reader(source, types.SimpleNamespace(Thread=Thread, tasks=tasks, Kept=Kept, Own=own))
