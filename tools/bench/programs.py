"""Compiles what is measured: the workload, and what stands in for the runtime where a tool has no semantics.

The *stub* is a libascendcl.so that does nothing but give out handles and host memory; the *provider* is the library
that somebody would write to trace the runtime with LTTng: it wraps each function in a tracepoint with all arguments and
the result. Both have the functions that the workload calls, and follow from the API model.
"""

import os
import re
import shlex
import subprocess
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Final

from cannery.runtime.api import MODEL, Function
from cannery.runtime.api.roles import AddressOut, CreatedHandle, HandleOut
from cannery.shim import sdk

WORKLOAD: Final = Path(__file__).with_name("workload")
FLAGS: Final = ("-O2", "-Wall", "-Wextra", "-Werror")
_PROVIDER: Final = "ascend"


def compiler() -> list[str]:
    return shlex.split(os.environ.get("CC", "cc"))


def compile_workload(folder: Path) -> Path:
    """The program. It names libascendcl.so and no folder: LD_LIBRARY_PATH says which one it meets."""
    sources = sorted(map(str, WORKLOAD.glob("*.c")))
    program = folder / "workload"
    link = [f"-L{sdk.library_folder()}", "-lascendcl", "-lpthread"]
    # lazy binding: ltrace and uftrace hook the procedure linkage table
    _compile([*FLAGS, "-Wl,-z,lazy", *sources, *link], program)
    return program


def called_functions() -> list[Function]:
    """The functions of the API that the workload calls."""
    names = set()
    for source in WORKLOAD.glob("*.c"):
        names.update(re.findall(r"\b(acl\w+)\(", source.read_text()))
    return [function for function in MODEL.functions if function.name in names]


def compile_stub(folder: Path) -> Path:
    """The folder with the stub."""
    target = folder / "stub"
    target.mkdir(exist_ok=True)
    (target / "stub.c").write_text(stub_source())
    _compile(["-O2", "-fPIC", "-shared", "-Wl,-soname,libascendcl.so", "stub.c"], target / "libascendcl.so", target)
    return target


def compile_provider(folder: Path) -> Path:
    """The library to preload.

    Raises:
        CalledProcessError: LTTng's headers or libraries are not installed.
    """
    target = folder / "provider"
    target.mkdir(exist_ok=True)
    (target / "tracepoints.h").write_text(tracepoints())
    (target / "provider.c").write_text(provider_source())
    libraries = ["-llttng-ust", "-llttng-ust-common", "-ldl"]
    library = target / "libprovider.so"
    _compile(["-O2", "-fPIC", "-shared", "-I.", "provider.c", *libraries], library, target)
    return library


def _compile(arguments: Sequence[str], output: Path, folder: Path | None = None) -> None:
    command = [*compiler(), f"-I{sdk.include_folder()}", *arguments[:1], "-o", str(output), *arguments[1:]]
    subprocess.run(command, check=True, cwd=folder, capture_output=folder is not None)


def _prototype(function: Function) -> str:
    params = ", ".join(f"{param.ctype} {param.name}" for param in function.params) or "void"
    return f"{function.returns} {function.name}({params})"


def _number(name: str) -> str:
    return f"(uint64_t)(uintptr_t){name}"


def stub_source() -> str:
    """Each function keeps its arguments for a moment: Frida cannot hook shorter ones."""
    lines = ['#include "acl/acl.h"', "#include <stdint.h>", "#include <stdlib.h>", "static uintptr_t handles = 0x1000;"]
    for function in called_functions():
        lines += [f"{_prototype(function)} {{", "    volatile uint64_t seen = 1;"]
        for param in function.params:
            lines.append(f"    seen = {_number(param.name)};")
            target = f"*{param.name}"
            if isinstance(param.role, CreatedHandle | HandleOut):
                lines.append(f"    {target} = (void *)__atomic_add_fetch(&handles, 16, __ATOMIC_RELAXED);")
            elif isinstance(param.role, AddressOut):
                size = param.role.length.text if param.role.length is not None else "64"
                lines.append(f"    {target} = calloc(1, {size});")
        lines.append("    return (int)(seen & 0);\n}")
    return "\n".join(lines) + "\n"


def tracepoints() -> str:
    """The header that LTTng makes its probes of (lttng-ust(3))."""
    return "\n".join(_tracepoint_lines()) + "\n"


def _tracepoint_lines() -> Iterator[str]:
    yield from ("#undef LTTNG_UST_TRACEPOINT_PROVIDER", f"#define LTTNG_UST_TRACEPOINT_PROVIDER {_PROVIDER}")
    yield from ("#undef LTTNG_UST_TRACEPOINT_INCLUDE", '#define LTTNG_UST_TRACEPOINT_INCLUDE "./tracepoints.h"')
    yield "#if !defined(TRACEPOINTS_H) || defined(LTTNG_UST_TRACEPOINT_HEADER_MULTI_READ)"
    yield from ("#define TRACEPOINTS_H", "#include <lttng/tracepoint.h>", "#include <stdint.h>")
    for function in called_functions():
        names = [param.name for param in function.params]
        arguments = ", ".join(["int64_t, returned", *(f"uint64_t, {name}" for name in names)])
        fields = " ".join(f"lttng_ust_field_integer_hex(uint64_t, {name}, {name})" for name in names)
        yield f"LTTNG_UST_TRACEPOINT_EVENT({_PROVIDER}, {function.name}, LTTNG_UST_TP_ARGS({arguments}),"
        yield f"    LTTNG_UST_TP_FIELDS(lttng_ust_field_integer(int64_t, returned, returned) {fields}))"
    yield from ("#endif", "#include <lttng/tracepoint-event.h>")


def provider_source() -> str:
    """The wrappers."""
    lines = ["#define _GNU_SOURCE", "#include <dlfcn.h>", '#include "acl/acl.h"']
    lines += ["#define LTTNG_UST_TRACEPOINT_CREATE_PROBES", "#define LTTNG_UST_TRACEPOINT_DEFINE"]
    lines.append('#include "tracepoints.h"')
    for function in called_functions():
        names = [param.name for param in function.params]
        types = ", ".join(param.ctype for param in function.params) or "void"
        pointer = f"{function.returns} (*)({types})"
        numbers = ", ".join(["(int64_t)returned", *map(_number, names)])
        lines += [
            f"{_prototype(function)} {{",
            f"    static {pointer.replace('(*)', '(*next)')};",
            f'    if (next == NULL) next = ({pointer})dlsym(RTLD_NEXT, "{function.name}");',
            f"    {function.returns} returned = next({', '.join(names)});",
            f"    lttng_ust_tracepoint({_PROVIDER}, {function.name}, {numbers});",
            "    return returned;\n}",
        ]
    return "\n".join(lines) + "\n"
