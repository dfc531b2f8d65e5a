"""Write exports.c and exports.h: one C function per function of the API model, and the table that describes them.

    python tools/generate/exports.py OUTDIR

An export packs its arguments into 64-bit words, hands them to ``cannery_call`` (shim.h) and unpacks the result.
Every parameter is declared as a plain type with the same ABI as its own (a pointer as ``void *``, an enum as its
integer), so the file needs no header of the API; only structs by value get their true layout.
"""

import functools
import sys
import types
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any, Final, NamedTuple

if not __package__:  # run as a file by the build, when nothing is installed: the source tree is the package
    sys.modules["cannery"] = types.ModuleType("cannery")
    sys.modules["cannery"].__path__ = [str(Path(__file__).resolve().parents[2])]

from cannery.runtime.api import MODEL, Function, Param, ctype, roles
from cannery.runtime.api.ctype import CType, Types
from cannery.runtime.api.layouts import Layout, element_layout, given_layout, number_layout, struct_layout
from cannery.runtime.api.lengths import Length

MAX_ARGS: Final = 16  # as in shim.h
MAX_OUTS: Final = 6


class ExportError(Exception):
    """The model has something that the shim cannot hand on yet; the text names function and parameter."""


class Block(NamedTuple):
    """What lies behind a pointer argument: ``count`` elements of a layout, as one value (``shape``: ``ONE``, ``MANY``
    or ``OCTETS``), read before the call or written after it."""

    shape: str
    layout: Layout
    count: Length
    reads: bool
    writes: bool


class Output(NamedTuple):
    """What the table says about a parameter: ``size`` bytes written through it (0: none), a string to be read, or what
    lies behind it."""

    size: int = 0
    string: bool = False
    block: Block | None = None
    given: "Given | None" = None

    @property
    def written(self) -> bool:
        return self.size > 0 or (self.block is not None and self.block.writes)


class Given(NamedTuple):
    """What is written through a pointer inside of a struct that is passed by value: elements of a layout, whose pointer
    and whose 32-bit count are at these offsets."""

    layout: Layout
    pointer: int
    counter: int


SINGLE: Final = Length("1")
BYTE: Final = number_layout(CType("uint8_t", ctype.INTEGER, 1))


class Outputs:
    """The role visitor: what the shim reads and writes through a parameter."""

    def __init__(self, function: Function, param: Param, resolve: Types) -> None:
        self._where = f"{function.name}({param.name})"
        self._param = param
        self._resolve = resolve

    def scalar(self, role: roles.Scalar) -> Output:
        return Output()

    def out_scalar(self, role: roles.OutScalar) -> Output:
        return self._written()

    def inout_scalar(self, role: roles.InOutScalar) -> Output:
        return self._written()._replace(block=Block("ONE", number_layout(self._pointed()), SINGLE, True, False))

    def handle(self, role: roles.Handle) -> Output:
        return Output()

    def released_handle(self, role: roles.ReleasedHandle) -> Output:
        return Output()

    def created_handle(self, role: roles.CreatedHandle) -> Output:
        return self._written()

    def handle_out(self, role: roles.HandleOut) -> Output:
        return self._written()

    def address(self, role: roles.Address) -> Output:
        return Output()

    def address_out(self, role: roles.AddressOut) -> Output:
        return self._written()

    def buffer(self, role: roles.Buffer) -> Output:
        return self._block("OCTETS", BYTE, role.length, role.direction)

    def array(self, role: roles.Array) -> Output:
        layout = element_layout(self._resolve, role.element, self._pointed())
        return self._block("MANY", layout, role.count, role.direction)

    def cstring(self, role: roles.CString) -> Output:
        return Output(string=True)

    def function_pointer(self, role: roles.FunctionPointer) -> Output:
        return Output()

    def function_out(self, role: roles.FunctionOut) -> Output:
        return self._written()

    def keepsake(self, role: roles.Keepsake) -> Output:
        return Output()

    def keepsake_out(self, role: roles.KeepsakeOut) -> Output:
        return self._written()

    def constant_out(self, role: roles.ConstantOut) -> Output:
        return self._written()

    def user_data(self, role: roles.UserData) -> Output:
        return Output()

    def thread_id(self, role: roles.ThreadId) -> Output:
        return Output()

    def identity(self, role: roles.Identity) -> Output:
        return role.inner.visit(self)

    def reserved(self, role: roles.Reserved) -> Output:
        return Output()

    def struct_by_value(self, role: roles.StructByValue) -> Output:
        layout = struct_layout(self._resolve, role.ctype, role.lists, role.handles)
        read = self._block("ONE", layout, SINGLE, roles.IN)
        return read if role.gives is None else read._replace(given=Given(*given_layout(self._resolve, role)))

    def struct(self, role: roles.Struct) -> Output:
        return self._block("ONE", struct_layout(self._resolve, role.ctype, role.lists), SINGLE, role.direction)

    def raw(self, role: roles.Raw) -> Output:
        return Output()

    def _pointed(self) -> CType:
        target = self._param.meaning.target
        assert target is not None, "checked by the role"
        return target

    def _written(self) -> Output:
        return Output(size=self._pointed().size)

    def _block(self, shape: str, layout: Layout, count: Length, direction: str) -> Output:
        if direction != roles.IN and any(item.element is not None and item.kind == "list" for item in layout.items):
            raise ExportError(f"{self._where}: the shim cannot write through pointers inside of a struct")
        return Output(block=Block(shape, layout, count, direction != roles.OUT, direction != roles.IN))


def plain(meaning: CType) -> str:
    """A C type with the same ABI that needs no declaration (for a struct: the one that :func:`structs` declares)."""
    match meaning.category:
        case ctype.INTEGER | ctype.ENUM:
            return f"{'' if meaning.signed else 'u'}int{8 * meaning.size}_t"
        case ctype.FLOAT if meaning.size == 4:
            return "float"
        case ctype.POINTER | ctype.OPAQUE | ctype.FUNCTION:
            return "void *"
        case ctype.STRUCT:
            return f"struct plain_{meaning.name}"
        case ctype.VA_LIST:
            return "va_list"
        case ctype.VOID:
            return "void"
    raise ExportError(f"{meaning.name} cannot be passed by value")


def declare(meaning: CType, name: str) -> str:
    text = plain(meaning)
    return f"{text}{name}" if text.endswith("*") else f"{text} {name}"


def packed(meaning: CType, name: str) -> str:
    """The 64-bit word that stands for the argument ``name``."""
    match meaning.category:
        case ctype.INTEGER | ctype.ENUM:
            return f"(uint64_t)(int64_t){name}" if meaning.signed else f"(uint64_t){name}"
        case ctype.FLOAT:
            return f"bits_of_float({name})"
        case ctype.STRUCT:
            return f"(uint64_t)(uintptr_t)&{name}"
        case ctype.VA_LIST:
            return "0"
    return f"(uint64_t)(uintptr_t){name}"


def returned(meaning: CType, call: str) -> str:
    """The statement that ends an export."""
    match meaning.category:
        case ctype.VOID:
            return f"(void){call};"
        case ctype.FLOAT:
            return f"return float_of_bits({call});"
        case ctype.POINTER | ctype.OPAQUE:
            return f"return (void *)(uintptr_t){call};"
    return f"return ({plain(meaning)}){call};"


KINDS: Final = {
    "error_return": "CANNERY_RET_ERROR",
    "scalar_return": "CANNERY_RET_ZERO",
    "identity_return": "CANNERY_RET_ZERO",
    "float_return": "CANNERY_RET_FLOAT",
    "cstring_return": "CANNERY_RET_NULL",
    "pointer_return": "CANNERY_RET_NULL",
    "void_return": "CANNERY_RET_VOID",
}


def export(function: Function, resolve: Types) -> str:
    """The C function."""
    names = [f"a{index}" for index in range(len(function.params))]
    parameters = [declare(param.meaning, name) for param, name in zip(function.params, names, strict=True)]
    words = [packed(param.meaning, name) for param, name in zip(function.params, names, strict=True)]
    body = []
    variable = [name for param, name in zip(function.params, names, strict=True) if param.meaning.name == "va_list"]
    if function.variadic or variable:  # aclAppLog and its va_list form: what is handed on as fmt is the finished text
        fmt = next(index for index, param in enumerate(function.params) if param.name == "fmt")
        body.append("char text[LOG_TEXT];")
        if function.variadic:
            parameters.append("...")
            body += ["va_list rest;", f"va_start(rest, {names[-1]});", f"format_text(text, {names[fmt]}, rest);"]
            body.append("va_end(rest);")
        else:
            body.append(f"format_text(text, {names[fmt]}, {variable[0]});")
        words[fmt] = f"{names[fmt]} ? (uint64_t)(uintptr_t)text : 0"
    if words:
        body.append(f"const uint64_t args[] = {{{', '.join(words)}}};")
    call = f"cannery_call({index_name(function)}, {'args' if words else 'NULL'})"
    body.append(returned(resolve(function.returns), call))
    head = declare(resolve(function.returns), f"{function.name}({', '.join(parameters) or 'void'})")
    return "\n".join([f"CANNERY_EXPORT {head}", "{", *(f"    {line}" for line in body), "}", ""])


def entry(function: Function, tables: "Tables") -> str:
    """The line of the table that describes the function."""
    seen = [param.role.visit(Outputs(function, param, tables.resolve)) for param in function.params]
    blocks = [(index, output.block) for index, output in enumerate(seen) if output.block is not None]
    places = {index: place for place, (index, _) in enumerate(blocks)}
    outs = [
        f"{{{index}, {output.size}, {0 if output.size else places[index]}, 0}}"
        for index, output in enumerate(seen)
        if output.written
    ]
    given = [(index, output.given) for index, output in enumerate(seen) if output.given is not None]
    if given and outs:
        raise ExportError(f"{function.name}: what a struct gives has to be the only output")
    outs += [
        f"{{{index}, 0, {len(blocks) + place}, {one.pointer + 1}}}" for place, (index, one) in enumerate(given)
    ]
    if len(seen) > MAX_ARGS or len(outs) > MAX_OUTS:
        raise ExportError(f"{function.name}: {len(seen)} parameters, {len(outs)} outputs are more than shim.h allows")
    strings = mask(output.string for output in seen)
    signed = mask(param.meaning.signed and param.meaning.category != ctype.FLOAT for param in function.params)
    floats = mask(param.meaning.category == ctype.FLOAT for param in function.params)
    reads = mask(output.block is not None and output.block.reads for output in seen)
    kind = KINDS[function.result.shape]
    table = tables.blocks(function, blocks, given)
    return (
        f'    {{"{function.name}", {len(seen)}, {len(outs)}, {kind}, {strings}, {signed}, {floats}, {reads},'
        f" {{{', '.join(outs) or '{0, 0, 0, 0}'}}}, {len(blocks) + len(given)}, {table}}},"
    )


class Tables:
    """Collects what the function table points to: layouts, counts, blocks. ``lines`` are their definitions, ordered."""

    def __init__(self, resolve: Types) -> None:
        self.resolve = resolve
        self.lines: list[str] = []
        self._layouts: dict[Layout, str] = {}
        self._counts: dict[str, str] = {}

    def blocks(self, function: Function, blocks: list[tuple[int, Block]], given: list[tuple[int, Given]]) -> str:
        """The name of the table of a function's blocks, those that structs give last."""
        if not blocks:
            return "NULL"
        rows = [
            f"{{{index}, CANNERY_{block.shape}, &{self._layout(block.layout)}, {self._count(function, block.count)}}}"
            for index, block in blocks
        ]
        for index, one in given:
            count = self._named_count(f"*(const uint32_t *)(uintptr_t)(args[{index}] + {one.counter}u)")
            rows.append(f"{{{index}, CANNERY_MANY, &{self._layout(one.layout)}, {count}}}")
        name = f"blocks_of_{function.name}"
        self.lines.append(f"static const struct cannery_block {name}[] = {{{', '.join(rows)}}};")
        return name

    def _layout(self, layout: Layout) -> str:
        known = self._layouts.get(layout)
        if known is not None:
            return known
        rows = [
            f"{{{item.offset}, {item.size}, {item.repeat}, CANNERY_{item.kind.upper()}, {item.counter},"
            f" {'NULL' if item.element is None else '&' + self._layout(item.element)}}}"
            for item in layout.items
        ]
        name = self._layouts[layout] = f"layout_{len(self._layouts)}"
        self.lines.append(f"static const struct cannery_item {name}_items[] = {{{', '.join(rows)}}};")
        self.lines.append(
            f"static const struct cannery_layout {name} ="
            f" {{{layout.size}, {len(rows)}, {int(layout.flat)}, {name}_items}}; /* {layout.name} */"
        )
        return name

    def _number(self, index: int, param: Param) -> str:
        """An argument as a factor of a count; one that the call reads and writes is behind its pointer."""
        if not isinstance(param.role, roles.InOutScalar):
            return f"args[{index}]"
        target = param.meaning.target
        assert target is not None, "checked by the role"
        return f"(args[{index}] == 0 ? 0 : *(const {plain(target)} *)(uintptr_t)args[{index}])"

    def _count(self, function: Function, count: Length) -> str:
        """The name of the C function that computes a count from the arguments; none for 1."""
        if count == SINGLE:
            return "NULL"
        places = {param.name: self._number(index, param) for index, param in enumerate(function.params)}
        terms = [
            functools.reduce("times({}, {})".format, [_factor(factor, places) for factor in term])
            for term in count.terms
        ]
        return self._named_count(functools.reduce("plus({}, {})".format, terms))

    def _named_count(self, text: str) -> str:
        known = self._counts.get(text)
        if known is None:
            known = self._counts[text] = f"count_{len(self._counts)}"
            self.lines.append(f"static uint64_t {known}(const uint64_t *args) {{ (void)args; return {text}; }}")
        return known


def _factor(factor: str, places: Mapping[str, str]) -> str:
    """A factor of a length expression in C."""
    if factor.isdecimal():
        return f"{factor}u"
    name, equals, value = factor.partition("=")
    return f"(uint64_t)({places[name]} == {value}u)" if equals else places[name]


def mask(flags: Iterator[bool]) -> str:
    return hex(sum(1 << index for index, flag in enumerate(flags) if flag))


def index_name(function: Function) -> str:
    return f"CANNERY_FN_{function.name}"


def structs(functions: tuple[Function, ...], resolve: Types) -> Iterator[str]:
    """Declarations of the structs that are passed by value, with plain members."""
    by_value = {param.meaning.name for function in functions for param in function.params if is_struct(param.meaning)}
    for name in sorted(by_value):
        yield f"struct plain_{name} {{"
        for field in resolve.structs[name]["fields"]:
            yield f"    {member(field, resolve)}"
        yield "};"
        yield f'_Static_assert(sizeof(struct plain_{name}) == {resolve.structs[name]["sizeof"]}, "layout of {name}");'


def member(field: dict[str, Any], resolve: Types) -> str:
    meaning = resolve(field["type"])
    if is_struct(meaning):
        raise ExportError(f"struct member {field['name']}: nested structs by value are not needed so far")
    return declare(meaning, field["name"]) + "".join(f"[{count}]" for count in field.get("array", ())) + ";"


def is_struct(meaning: CType) -> bool:
    return meaning.category == ctype.STRUCT


PREAMBLE: Final = """\
/* Generated from the API model by tools/generate/exports.py. */
#include "exports.h"

#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#include "shim.h"

#define CANNERY_EXPORT __attribute__((visibility("default")))

/* outputs are written from, and floats packed into, the low bytes of 64-bit words */
_Static_assert(__BYTE_ORDER__ == __ORDER_LITTLE_ENDIAN__ && sizeof(void *) == 8 && sizeof(long) == 8,
               "Cannery runs on little-endian 64-bit machines");

static inline uint64_t bits_of_float(float value)
{
    uint32_t bits;
    memcpy(&bits, &value, sizeof bits);
    return bits;
}

static inline float float_of_bits(uint64_t word)
{
    uint32_t bits = (uint32_t)word;
    float value;
    memcpy(&value, &bits, sizeof value);
    return value;
}

/* counts of what lies behind pointers: a product too large to be one is none that is read */
static inline uint64_t times(uint64_t one, uint64_t two)
{
    uint64_t product;
    return __builtin_mul_overflow(one, two, &product) ? UINT64_MAX : product;
}

static inline uint64_t plus(uint64_t one, uint64_t two)
{
    uint64_t sum;
    return __builtin_add_overflow(one, two, &sum) ? UINT64_MAX : sum;
}

enum { LOG_TEXT = 1024 }; /* bytes of a formatted log line; the rest is cut off */

static void format_text(char *text, const char *format, va_list values)
{
    if (format == NULL || vsnprintf(text, LOG_TEXT, format, values) < 0)
        text[0] = '\\0';
}
"""

INDEX: Final = """\
/* Generated from the API model by tools/generate/exports.py. */
#ifndef CANNERY_EXPORTS_H
#define CANNERY_EXPORTS_H

enum cannery_function_index {{
{names}
    CANNERY_FUNCTION_COUNT
}};

#endif
"""


def source(functions: tuple[Function, ...], resolve: Types) -> str:
    """The text of exports.c.

    Raises:
        ExportError: the shim cannot hand on what the model declares.
    """
    texts = [sum(isinstance(param.role, roles.CString) for param in function.params) for function in functions]
    tables = Tables(resolve)
    entries = [entry(function, tables) for function in functions]
    return "\n".join(
        [
            PREAMBLE,
            f"_Static_assert(sizeof((struct cannery_request *)0)->lengths >= {max(texts)} * sizeof(uint64_t),",
            '               "the request needs room for the lengths of all strings of a call");\n',
            *structs(functions, resolve),
            "",
            *(export(function, resolve) for function in functions),
            *tables.lines,
            "",
            "const struct cannery_function cannery_functions[] = {",
            *entries,
            "};",
            "const unsigned cannery_function_count = CANNERY_FUNCTION_COUNT;",
            "",
        ]
    )


def header(functions: tuple[Function, ...]) -> str:
    """The text of exports.h."""
    return INDEX.format(names="\n".join(f"    {index_name(function)}," for function in functions))


def main(folder: str) -> None:
    out = Path(folder)
    out.mkdir(parents=True, exist_ok=True)
    (out / "exports.c").write_text(source(MODEL.functions, MODEL.types), encoding="ascii")
    (out / "exports.h").write_text(header(MODEL.functions), encoding="ascii")


if __name__ == "__main__":
    if len(sys.argv) != 2:
        sys.exit("usage: exports.py OUTDIR")
    main(sys.argv[1])
