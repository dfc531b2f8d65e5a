"""The exports hand on what a program compiled against the headers passes, word by word, and give back what they get."""

import os
import subprocess
import sys
from pathlib import Path

import pytest

from cannery.runtime.api import Model, roles
from cannery.runtime.api.annotations import call
from cannery.runtime.api.model import MODEL
from cannery.tools.generate.exports import ExportError, source

ROOT = Path(__file__).parents[1]

# Prints what arrives by what the table says about it, and answers with `reply`.
STUB = """
#include <stdio.h>
#include <string.h>
#include "shim.h"
uint64_t reply;
uint64_t cannery_call(unsigned index, const uint64_t *args)
{
    const struct cannery_function *function = &cannery_functions[index];
    printf("%s", function->name);
    for (unsigned i = 0; i < function->nargs; i++) {
        float number;
        memcpy(&number, &args[i], sizeof number);
        if (function->strings & (1u << i))
            printf(" '%s'", (const char *)(uintptr_t)args[i]);
        else if (function->floats & (1u << i))
            printf(" %g", (double)number);
        else if (function->signed32 & (1u << i))
            printf(" %lld", (long long)args[i]);
        else if (args[i] > 0xffffffffu) /* a struct by value: a pointer to the copy, shown as its first words */
            printf(" {%d %d}", ((const int *)(uintptr_t)args[i])[0], ((const int *)(uintptr_t)args[i])[1]);
        else
            printf(" %llu", (unsigned long long)args[i]);
    }
    for (unsigned i = 0; i < function->nouts; i++)
        printf(" out%u:%u", function->outs[i].arg, function->outs[i].size);
    putchar('\\n');
    return reply;
}
"""

MAIN = """
#include <stdarg.h>
#include <stdio.h>
#include "acl/acl.h"
#include "acl/acl_tdt.h"
extern uint64_t reply;
void aclAppLogWithArgs(aclLogLevel, const char *, const char *, uint32_t, const char *, va_list);
static void with_list(const char *format, ...)
{
    va_list list;
    va_start(list, format);
    aclAppLogWithArgs(ACL_INFO, (const char *)2, "file.c", 9, format, list);
    va_end(list);
}
#define P(n) ((void *)(uintptr_t)(n))
int main(void)
{
    struct dim3 grid = {2, 3, 4}, block = {5, 6, 7};
    aclrtMemManagedLocation location = {ACL_MEM_LOCATIONTYPE_HOST, -5};
    aclrtIpcEventHandle handle = {{1, 0, 0, 0, 2}};
    float ms = 0.5f;
    union { float number; uint32_t bits; } seven = {7.25f};
    reply = (uint64_t)(int64_t)-3;
    printf("-> %d\\n", aclrtSetDevice(-1));
    printf("-> %d\\n", aclGetCannAttribute(ACL_CANN_ATTR_UNDEFINED, P(1)));
    reply = 0;
    aclrtMalloc(P(1), (size_t)4000000000u, ACL_MEM_MALLOC_NORMAL_ONLY);
    aclrtEventElapsedTime(P(1), P(2), P(3));
    aclrtMemManagedPrefetchAsync(P(1), 2, location, 3, P(4));
    aclrtIpcOpenEventHandle(handle, P(1));
    aclrtLaunchSIMTKernelWithHostArgs(P(1), grid, block, 8, P(9), P(10), P(11), 12, P(13), 14);
    aclAppLog(ACL_ERROR, (const char *)2, "file.c", 8, "%s-%d-%.1f", "text", -4, 2.5);
    with_list("%d|%s", 5, "more");
    reply = 0x3c00;
    printf("-> %x\\n", aclFloatToFloat16(ms));
    reply = seven.bits;
    printf("-> %g\\n", (double)aclFloat16ToFloat(0xffff));
    reply = (uint64_t)-1;
    printf("-> %d\\n", acltdtGetTensorTypeFromItem(P(1)));
    reply = 5000000000u;
    printf("-> %zu\\n", aclGetDataBufferSizeV2(P(1)));
    printf("-> %llu\\n", (unsigned long long)(uintptr_t)aclGetDataBufferAddr(P(1)));
    return 0;
}
"""

EXPECTED = """\
aclrtSetDevice -1
-> -3
aclGetCannAttribute -1 1 out1:4
-> -3
aclrtMalloc 1 4000000000 2 out0:8
aclrtEventElapsedTime 1 2 3 out0:4
aclrtMemManagedPrefetchAsync 1 2 {2 -5} 3 4
aclrtIpcOpenEventHandle {1 2} 1 out1:8
aclrtLaunchSIMTKernelWithHostArgs 1 {2 3} {5 6} 8 9 10 11 12 13 14
aclAppLog 3 2 'file.c' 8 'text--4-2.5'
aclAppLogWithArgs 1 2 'file.c' 9 '5|more' 0
aclFloatToFloat16 0.5
-> 3c00
aclFloat16ToFloat 65535
-> 7.25
acltdtGetTensorTypeFromItem 1
-> -1
aclGetDataBufferSizeV2 1
-> 5000000000
aclGetDataBufferAddr 1
-> 5000000000
"""


def test_arguments_and_results_pass_unchanged(tmp_path: Path) -> None:
    for generator in ("exports.py", "headers.py"):
        subprocess.run([sys.executable, "-I", ROOT / "tools/generate" / generator, tmp_path], check=True)
    (tmp_path / "stub.c").write_text(STUB)
    (tmp_path / "main.c").write_text(MAIN)
    command = [os.environ.get("CC", "cc"), "-std=c11", "-Wall", "-Wextra", "-Werror", "-O2", f"-I{ROOT / 'shim'}"]
    command += [f"-I{tmp_path}", f"-I{tmp_path / 'include'}", "-o", "main"]
    subprocess.run([*command, "main.c", "stub.c", "exports.c"], cwd=tmp_path, check=True)
    assert subprocess.run([tmp_path / "main"], capture_output=True, text=True, check=True).stdout == EXPECTED


@pytest.mark.parametrize(
    ("ctype", "role", "complaint"),
    [
        (
            "aclrtMallocConfig *",
            roles.Struct("aclrtMallocConfig", roles.OUT, {"attrs": "numAttrs"}),
            "write through pointers inside of a struct",
        ),
    ],
)
def test_a_role_that_the_shim_cannot_serve_stops_the_build(ctype: str, role: roles.Role, complaint: str) -> None:
    facts = {"name": "f", "ret": "aclError", "params": [{"name": "p", "type": ctype}], "header": "", "variadic": False}
    facts |= {"deprecated": False, "waits_while_snapshot_locked": None, "doc_products": None}
    model = Model([facts], (call("f")(p=role),), MODEL.types)
    with pytest.raises(ExportError, match=rf"f\(p\): the shim cannot .*{complaint}"):
        source(model.functions, model.types)
