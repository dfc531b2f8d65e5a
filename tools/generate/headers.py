"""Write the C headers of the SDK folder: include/acl/*.h and include/acl/error_codes/*.h.

    python tools/generate/headers.py OUTDIR

Each type, constant and function stands in the header that the facts in ``runtime/api/abi/`` name, types in their
``order``. The headers are C11 and C++17; they only have what the API model has, so a program that needs more fails to
compile instead of failing later.
"""

import json
import sys
import types
from collections.abc import Iterable, Iterator
from itertools import groupby
from pathlib import Path
from typing import Any, Final, NamedTuple

if not __package__:  # run as a file by the build, when nothing is installed: the source tree is the package
    sys.modules["cannery"] = types.ModuleType("cannery")
    sys.modules["cannery"].__path__ = [str(Path(__file__).resolve().parents[2])]

from cannery.runtime.api import MODEL, Function
from cannery.tools.generate.overloads import overloads


class Header(NamedTuple):
    subject: str
    includes: tuple[str, ...] = ()


RT_CODES: Final = "error_codes/rt_error_codes.h"
GE_CODES: Final = "error_codes/ge_error_codes.h"
BASE: Final = "acl_base_rt.h"

HEADERS: Final = {
    RT_CODES: Header("Numbers that the runtime layer returns."),
    GE_CODES: Header("Numbers that the graph engine returns.", ("<stdint.h>",)),
    BASE: Header(
        "Basic types, numbers of the acl layer, data buffers, log.",
        ("<stdbool.h>", "<stddef.h>", "<stdint.h>", RT_CODES),
    ),
    "acl_base.h": Header("Everything basic.", (BASE, GE_CODES)),
    "acl_rt.h": Header("The runtime: devices, contexts, streams, events, memory and what runs on them.", (BASE,)),
    "acl.h": Header("What most programs include.", ("acl_base.h", "acl_rt.h")),
    "acl_rt_allocator.h": Header("Allocators that a program registers for its streams.", (BASE,)),
    "acl_rt_memory_soma.h": Header("Memory pools in stream order.", ("acl_rt.h",)),
    "acl_dump.h": Header("Dump of tensors and exceptions.", ("acl_rt.h",)),
    "acl_platform.h": Header("Properties of the chip.", (BASE,)),
    "acl_prof.h": Header("Profiling.", ("acl_rt.h",)),
    "acl_tdt.h": Header("Data channels.", (BASE,)),
    "acl_tdt_queue.h": Header("Queues between devices and processes.", ("acl_tdt.h",)),
    "acl_mdl.h": Header("The model calls are not part of this API: there is nothing here.", ("acl_base.h",)),
    "acl_op.h": Header("The operator calls are not part of this API: there is nothing here.", ("acl_base.h",)),
    "acl_rt_api.h": Header("C++: shorter and typed forms of runtime calls.", ("acl_rt.h",)),
}

ERRORS: Final = Path(__file__).resolve().parents[2] / "runtime/api/abi/error_codes.json"
MEANINGS: Final = {fact["name"]: fact["meaning"] for fact in json.loads(ERRORS.read_text(encoding="utf-8"))}

ATTRIBUTES: Final = """\
/* Define ACL_NO_DEPRECATED to use deprecated functions without a warning. */
#if defined(__GNUC__)
#define ACL_FUNC_VISIBILITY __attribute__((visibility("default")))
#else
#define ACL_FUNC_VISIBILITY
#endif
#if defined(__GNUC__) && !defined(ACL_NO_DEPRECATED)
#define ACL_DEPRECATED __attribute__((deprecated))
#define ACL_DEPRECATED_MESSAGE(message) __attribute__((deprecated(message)))
#else
#define ACL_DEPRECATED
#define ACL_DEPRECATED_MESSAGE(message)
#endif
"""

DEFAULTS: Final = """\
#ifdef __cplusplus
#define CANNERY_DEFAULT_(value) = value
#else
#define CANNERY_DEFAULT_(value)
#endif
"""

MORE_MACROS: Final = {
    BASE: """\
/* Logs a message with the place where the macro stands. */
#define ACL_APP_LOG(level, ...) aclAppLog(level, __func__, __FILE__, __LINE__, __VA_ARGS__)
""",
    "acl_rt.h": """\
/* When a stream of a model instance starts (aclmdlRIBindStream). Only the documents have these two, no header. */
#ifndef ACL_MODEL_STREAM_FLAG_HEAD
#define ACL_MODEL_STREAM_FLAG_HEAD 0x00000000U /* with the instance */
#define ACL_MODEL_STREAM_FLAG_DEFAULT 0x7FFFFFFFU /* when a task activates it */
#endif
""",
}
"""By header, macros that are no plain values, or that the facts of the ABI lack."""

EXTERN_C: Final = """\
#ifdef __cplusplus
extern "C" {
#endif
"""
END_EXTERN_C: Final = """\
#ifdef __cplusplus
}
#endif
"""

OWN_PROCESS: Final = ("(int)getpid()", "NULL")
"""What the snapshot calls mean where they are called without arguments, as older documents show them (semantics, 10.1).
C++ gets default arguments and not overloads, so that ``decltype`` of the functions keeps its meaning."""

FORMS: Final = """\
/* Snapshot calls without arguments mean the calling process. */
#ifndef __cplusplus
#define CANNERY_FORM_(first, second, form, ...) form
#define CANNERY_GIVEN_(function, ...) (function)(__VA_ARGS__)
#define CANNERY_OWN_(function, ...) (function)({own})
{macros}
#endif
"""
FORM: Final = "#define {name}(...) CANNERY_FORM_(__VA_ARGS__, CANNERY_GIVEN_, CANNERY_OWN_, )({name}, __VA_ARGS__)"


def declare(ctype: str, name: str) -> str:
    """The declaration of a parameter or member; ``ctype`` may be a pointer to a function."""
    if ")(" in ctype:
        return ctype.replace(")(", f" {name})(", 1)
    return f"{ctype}{name}" if ctype.endswith("*") else f"{ctype} {name}"


def enum(name: str, facts: dict[str, Any]) -> str:
    values = "\n".join(f"    {value['name']} = {value['value']}," for value in facts["values"])
    return f"typedef enum {facts['tag'] or ''}".rstrip() + f" {{\n{values}\n}} {name};"


def struct(name: str, facts: dict[str, Any]) -> str:
    head = f"typedef {facts['kind']} {facts['tag'] or ''}".rstrip()
    return f"{head} {{\n{members(facts['fields'], 4)}\n}} {name};"


def members(fields: Iterable[dict[str, Any]], indent: int) -> str:
    lines = []
    for field in fields:
        if "fields" in field:
            inner = members(field["fields"], indent + 4)
            head = f"{field['type']} {field.get('tag', '')}".rstrip()
            text = f"{head} {{\n{inner}\n{' ' * indent}}} {field['name']}".rstrip()
        else:
            text = declare(field["type"].replace("_Bool", "bool"), field["name"])
            text += "".join(f"[{count}]" for count in field.get("array", ()))
        lines.append(f"{' ' * indent}{text};")
    return "\n".join(lines)


def typedef(name: str, facts: dict[str, Any]) -> str:
    return f"{facts['decl']};"


def constant(name: str, facts: dict[str, Any]) -> str:
    return f"static const {facts['ctype'].removeprefix('const ')} {name} = {facts['value']};{meaning(name)}"


def meaning(name: str) -> str:
    return f" /* {MEANINGS[name]} */" if name in MEANINGS else ""


WRITERS: Final = {"enums": enum, "structs": struct, "typedefs": typedef, "constants": constant}


def declarations(header: str) -> Iterator[str]:
    """Types and constants of one header, in the order in which they build on each other."""
    found = []
    for table, writer in WRITERS.items():
        for name, facts in getattr(MODEL.types, table).items():
            if facts["header"] == header:
                found.append((facts["order"], writer(name, facts)))
    for short, group in groupby(sorted(found), key=lambda item: "\n" not in item[1]):
        yield ("\n" if short else "\n\n").join(text for _, text in group)


def macros(header: str) -> str:
    return "\n".join(
        f"#define {name} {facts['text']}{meaning(name)}"
        for name, facts in MODEL.types.macros.items()
        if facts["header"] == header
    )


def optional(function: Function) -> bool:
    return function.name.startswith("aclrtSnapShotProcess")


def prototype(function: Function) -> str:
    parameters = [declare(param.ctype, param.name) for param in function.params]
    if optional(function):
        parameters = [f"{text} CANNERY_DEFAULT_({own})" for text, own in zip(parameters, OWN_PROCESS, strict=True)]
    if function.variadic:
        parameters.append("...")
    head = declare(function.returns, f"{function.name}({', '.join(parameters) or 'void'})")
    return f"{'ACL_DEPRECATED ' if function.deprecated else ''}ACL_FUNC_VISIBILITY {head};"


def prototypes(functions: Iterable[Function]) -> Iterator[str]:
    for chapter, group in groupby(functions, key=lambda function: function.chapter):
        yield "\n".join([f"/* {chapter} */", *(prototype(function) for function in group)])


def text(name: str, header: Header) -> str:
    """The whole text of one header."""
    guard = f"CANNERY_{name.replace('/', '_').replace('.', '_').upper()}"
    functions = [function for function in MODEL.functions if function.header == name]
    forms = [FORM.format(name=function.name) for function in functions if optional(function)]
    includes = [*header.includes, *(["<unistd.h>"] if forms else [])]
    parts = [
        f"/* {header.subject} Generated from Cannery's API model. */\n#ifndef {guard}\n#define {guard}",
        "\n".join(f"#include {include if include.startswith('<') else quoted(name, include)}" for include in includes),
        ATTRIBUTES if name == BASE else "",
        DEFAULTS if forms else "",
        macros(name),
        MORE_MACROS.get(name, ""),
        EXTERN_C if functions else "",
        *declarations(name),
        *prototypes(functions),
        END_EXTERN_C if functions else "",
        FORMS.format(own=", ".join(OWN_PROCESS), macros="\n".join(forms)) if forms else "",
        overloads() if name == "acl_rt_api.h" else "",
        "#endif",
    ]
    return "\n\n".join(part.strip("\n") for part in parts if part) + "\n"


def quoted(name: str, include: str) -> str:
    return f'"{"../" * name.count("/")}{include}"'


def main(folder: str) -> None:
    for name, header in HEADERS.items():
        path = Path(folder, "include", "acl", name)
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text(name, header), encoding="ascii")


if __name__ == "__main__":
    if len(sys.argv) != 2:
        sys.exit("usage: headers.py OUTDIR")
    main(sys.argv[1])
