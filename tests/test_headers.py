"""The headers of the SDK folder say what the facts of the ABI say, to a C and to a C++ compiler."""

import os
import subprocess
import sys
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import Any

import pytest

from cannery.runtime.api import MODEL

ROOT = Path(__file__).parents[1]
WARNINGS = ["-Wall", "-Wextra", "-Werror"]
COMPILERS = {
    "c": [os.environ.get("CC", "cc"), "-x", "c", "-std=c11"],
    "c++": [os.environ.get("CXX", "c++"), "-x", "c++", "-std=c++17"],
}
NAMES = (
    *("acl", "acl_base", "acl_base_rt", "acl_rt", "acl_rt_api", "acl_rt_allocator", "acl_rt_memory_soma"),
    *("acl_dump", "acl_mdl", "acl_op", "acl_platform", "acl_prof", "acl_tdt", "acl_tdt_queue"),
    *("error_codes/ge_error_codes", "error_codes/rt_error_codes"),
)


@pytest.fixture(scope="module")
def include(tmp_path_factory: pytest.TempPathFactory) -> Path:
    out = tmp_path_factory.mktemp("sdk")
    subprocess.run([sys.executable, "-I", ROOT / "tools/generate/headers.py", out], check=True)
    return out / "include"


@pytest.fixture(params=COMPILERS)
def compiler(request: pytest.FixtureRequest, include: Path) -> list[str]:
    return [*COMPILERS[request.param], *WARNINGS, f"-I{include}"]


def compile_(command: list[str], text: str, output: Path) -> subprocess.CompletedProcess[str]:
    return subprocess.run([*command, "-o", output, "-"], input=text, text=True, capture_output=True)


def run(command: list[str], text: str, output: Path) -> str:
    done = compile_(command, text, output)
    assert done.returncode == 0, done.stderr
    return subprocess.run([output], check=True, capture_output=True, text=True).stdout


@pytest.mark.parametrize("name", NAMES)
def test_every_header_can_be_included_alone(name: str, compiler: list[str], tmp_path: Path) -> None:
    done = compile_([*compiler, "-c"], f'#include "acl/{name}.h"\n', tmp_path / "out.o")
    assert done.returncode == 0, done.stderr


def test_there_are_no_other_headers(include: Path) -> None:
    found = {str(path.relative_to(include / "acl").with_suffix("")) for path in include.rglob("*") if path.is_file()}
    assert found == set(NAMES)


def members(fields: Iterable[dict[str, Any]], prefix: str = "") -> Iterator[tuple[str, int, int]]:
    """Name, offset and size of every member, members of unnamed unions under their own names."""
    for field in fields:
        if "offset" in field:
            yield prefix + field["name"], field["offset"], field["size"]
        if "fields" in field:
            yield from members(field["fields"], f"{prefix}{field['name']}." if field["name"] else prefix)


def layout_checks() -> Iterator[str]:
    for name, facts in MODEL.types.structs.items():
        tagged = name if facts["typedef"] else f"struct {name}"
        yield f"sizeof({tagged}) == {facts['sizeof']}"
        for member, offset, size in members(facts["fields"]):
            yield f"offsetof({tagged}, {member}) == {offset}"
            yield f"sizeof((({tagged} *)0)->{member}) == {size}"
    for name, facts in MODEL.types.enums.items():
        yield f"sizeof({name}) == {facts['sizeof']}"
        for value in facts["values"]:
            yield f"{value['name']} == {value['value']}"
    for name, facts in MODEL.types.typedefs.items():
        if "sizeof" in facts:
            yield f"sizeof({name}) == {facts['sizeof']}"
    for name, facts in MODEL.types.macros.items():
        yield f"{name} == {facts['value']}"


def everything(but: str = "") -> str:
    return "".join(f'#include "acl/{name}.h"\n' for name in NAMES if name != but)


def assertions(checks: Iterable[str]) -> str:
    return f"#include <assert.h>\n{everything()}" + "".join(f'static_assert({check}, "");\n' for check in checks)


def test_sizes_offsets_and_values_are_those_of_the_abi(compiler: list[str], tmp_path: Path) -> None:
    done = compile_([*compiler, "-c"], assertions(layout_checks()), tmp_path / "out.o")
    assert done.returncode == 0, done.stderr


def test_error_numbers_are_those_of_the_abi(include: Path, tmp_path: Path) -> None:
    checks = [f"{name} == {facts['value']}" for name, facts in MODEL.types.constants.items()]
    done = compile_([*COMPILERS["c++"], *WARNINGS, f"-I{include}", "-c"], assertions(checks), tmp_path / "out.o")
    assert done.returncode == 0, done.stderr


def test_every_declared_function_of_the_model_has_a_prototype(compiler: list[str], tmp_path: Path) -> None:
    names = [function.name for function in MODEL.functions if function.header]
    uses = f"void (*all[])(void) = {{{', '.join(f'(void (*)(void)){name}' for name in names)}}};\n"
    command = [*compiler, "-DACL_NO_DEPRECATED", "-Wno-cast-function-type", "-c"]
    done = compile_(command, everything(but="acl_rt_api") + uses, tmp_path / "out.o")  # overloads have no one address
    assert done.returncode == 0, done.stderr


SNAPSHOT = """
#include <stdio.h>
#include <unistd.h>
#include "acl/acl.h"
#ifdef __cplusplus
extern "C" {
#endif
static int show(const char *name, int pid, void *second)
{
    return printf("%s %s %d\\n", name, pid == (int)getpid() ? "own" : "other", second != NULL) < 0;
}
aclError (aclrtSnapShotProcessLock)(int pid, void *reserve) { return show("lock", pid, reserve); }
aclError (aclrtSnapShotProcessUnlock)(int pid, void *reserve) { return show("unlock", pid, reserve); }
aclError (aclrtSnapShotProcessBackup)(int pid, aclrtSnapShotBackupArgs *args) { return show("backup", pid, args); }
aclError (aclrtSnapShotProcessRestore)(int pid, aclrtSnapShotRestoreArgs *args) { return show("restore", pid, args); }
#ifdef __cplusplus
}
#endif
int main(void)
{
    aclrtSnapShotBackupArgs backup;
    aclrtSnapShotRestoreArgs restore;
    aclError (*pointer)(int, void *) = aclrtSnapShotProcessLock;
    return aclrtSnapShotProcessLock() || aclrtSnapShotProcessBackup() || aclrtSnapShotProcessRestore() ||
           aclrtSnapShotProcessUnlock() || aclrtSnapShotProcessLock(1, &backup) ||
           aclrtSnapShotProcessBackup(1, &backup) || aclrtSnapShotProcessRestore((int)getpid(), &restore) ||
           aclrtSnapShotProcessUnlock((int)getpid(), NULL) || pointer(1, NULL);
}
"""


def test_snapshot_calls_take_either_form(compiler: list[str], tmp_path: Path) -> None:
    without = ["lock own 0", "backup own 0", "restore own 0", "unlock own 0"]
    given = ["lock other 1", "backup other 1", "restore own 1", "unlock own 0", "lock other 0"]
    assert run(compiler, SNAPSHOT, tmp_path / "out").splitlines() == without + given


def test_macros_that_are_no_values_of_the_abi(compiler: list[str], tmp_path: Path) -> None:
    """A message is logged with its place; the flags of aclmdlRIBindStream have the numbers that the documents give."""
    text = """
        #include <stdarg.h>
        #include <stdio.h>
        #include <string.h>
        #include "acl/acl.h"
        void aclAppLog(aclLogLevel level, const char *func, const char *file, uint32_t line, const char *fmt, ...)
        {
            va_list more;
            va_start(more, fmt);
            printf("%d %s %u ", (int)level, func, (unsigned)line);
            vprintf(fmt, more);
            va_end(more);
            (void)file;
        }
        int main(void)
        {
        #line 41
            ACL_APP_LOG(ACL_INFO, "plain,");
            ACL_APP_LOG(ACL_ERROR, " %d of %s,", 2, "three");
            printf(" %x %x", ACL_MODEL_STREAM_FLAG_HEAD, ACL_MODEL_STREAM_FLAG_DEFAULT);
            return 0;
        }
    """
    assert run(compiler, text, tmp_path / "out") == "1 main 41 plain,3 main 42  2 of three, 0 7fffffff"


def test_a_deprecated_function_warns_unless_the_program_asks_for_silence(compiler: list[str], tmp_path: Path) -> None:
    use = '#include "acl/acl.h"\naclError use(void) { return aclrtQueryEvent(0, 0); }\n'
    assert "deprecated" in compile_([*compiler, "-c"], use, tmp_path / "out.o").stderr
    assert compile_([*compiler, "-DACL_NO_DEPRECATED", "-c"], use, tmp_path / "out.o").returncode == 0


OVERLOADS = """
#include <cstdio>
#include "acl/acl_rt_api.h"
extern "C" {
aclError aclrtSynchronizeStreamWithTimeout(aclrtStream, int32_t limit) { return std::printf("sync %d\\n", limit) < 0; }
aclError aclrtCreateEventExWithFlag(aclrtEvent *, uint32_t flag) { return std::printf("event %u\\n", flag) < 0; }
aclError aclrtMallocWithCfg(void **, size_t size, aclrtMemMallocPolicy policy, aclrtMallocConfig *config)
{
    return std::printf("malloc %zu %d %d\\n", size, policy, config != nullptr) < 0;
}
aclError aclrtMemcpy(void *, size_t, const void *, size_t count, aclrtMemcpyKind kind)
{
    return std::printf("copy %zu %d\\n", count, kind) < 0;
}
}
int main()
{
    aclrtEvent event = nullptr;
    float *floats = nullptr;
    const int ints[2] = {1, 2};
    return aclrtSynchronizeStream(nullptr, 7) || aclrtCreateEvent(&event, ACL_EVENT_SYNC) || aclrtMalloc(&floats, 8) ||
           aclrtMalloc(&floats, 8, ACL_MEM_MALLOC_NORMAL_ONLY) ||
           aclrtMemcpy(floats, 8, ints, sizeof ints, ACL_MEMCPY_HOST_TO_DEVICE);
}
"""


def test_cpp_programs_have_short_and_typed_forms(include: Path, tmp_path: Path) -> None:
    printed = run([*COMPILERS["c++"], *WARNINGS, f"-I{include}"], OVERLOADS, tmp_path / "out")
    assert printed.splitlines() == ["sync 7", "event 1", "malloc 8 0 0", "malloc 8 2 0", "copy 8 1"]


FORMS_OF_BATCHES = """
#include <cstdio>
#include "acl/acl_rt_api.h"
extern "C" {
aclError aclrtMemcpyBatchV2(void **, size_t *, void **, size_t *, size_t n, aclrtMemcpyBatchAttr *, size_t *at,
                            size_t m)
{
    return std::printf("batch %zu %zu %zu\\n", n, at[0], m) < 0;
}
aclError aclrtMemcpyBatchAsyncV2(void **, size_t *, void **, size_t *, size_t n, aclrtMemcpyBatchAttr *, size_t *at,
                                 size_t m, aclrtStream)
{
    return std::printf("async %zu %zu %zu\\n", n, at[0], m) < 0;
}
aclError aclrtMemcpyBatchAsync(void **, size_t *, void **, size_t *, size_t n, aclrtMemcpyBatchAttr *, size_t *at,
                               size_t m, size_t *failed, aclrtStream)
{
    return std::printf("async %zu %zu %zu %d\\n", n, at[0], m, failed != nullptr) < 0;
}
aclError aclrtMemManagedPrefetchBatchAsync(const void **, size_t *, size_t n, aclrtMemManagedLocation *, size_t *at,
                                           size_t m, uint64_t, aclrtStream)
{
    return std::printf("prefetch %zu %zu %zu\\n", n, at[0], m) < 0;
}
aclError aclrtGetSymbolSize(const void *symbol, size_t *size)
{
    return (*size = *static_cast<const int *>(symbol)) == 0;
}
aclError aclrtMemcpyToSymbol(const void *symbol, const void *, size_t count, size_t, aclrtMemcpyKind)
{
    return std::printf("symbol %d %zu\\n", *static_cast<const int *>(symbol), count) < 0;
}
}
static int variable = 5;
int main()
{
    float *to[2] = {}, *from[2] = {};
    const float *read[2] = {};
    size_t sizes[2] = {4, 4}, places[2] = {0, 1}, failed = 0, size = 0;
    aclrtMemcpyBatchAttr attr = {}, attrs[2] = {};
    aclrtMemManagedLocation location = {}, locations[2] = {};
    return aclrtMemcpyBatch(to, sizes, from, sizes, 2, attr) ||
           aclrtMemcpyBatch(to, sizes, from, sizes, 2, attr, &failed) ||
           aclrtMemcpyBatch(to, sizes, from, sizes, 2, attrs, places, 2) ||
           aclrtMemcpyBatch(to, sizes, from, sizes, 2, attrs, places, 2, &failed) ||
           aclrtMemcpyBatchAsync(to, sizes, from, sizes, 2, attr, nullptr) ||
           aclrtMemcpyBatchAsync(to, sizes, from, sizes, 2, attrs, places, 2, nullptr) ||
           aclrtMemcpyBatchAsync(to, sizes, from, sizes, 2, attr, &failed, nullptr) ||
           aclrtMemcpyBatchAsync(to, sizes, from, sizes, 2, attrs, places, 2, &failed, nullptr) ||
           aclrtMemManagedPrefetchBatchAsync(read, sizes, 2, location, 0, nullptr) ||
           aclrtMemManagedPrefetchBatchAsync(read, sizes, 2, locations, places, 2, 0, nullptr) ||
           aclrtGetSymbolSize(variable, &size) || size != 5 ||
           aclrtMemcpyToSymbol(variable, &size, 4, 0, ACL_MEMCPY_HOST_TO_DEVICE);
}
"""


def test_cpp_programs_give_one_attribute_for_a_batch_and_a_variable_for_its_address(
    include: Path, tmp_path: Path
) -> None:
    printed = run([*COMPILERS["c++"], *WARNINGS, f"-I{include}"], FORMS_OF_BATCHES, tmp_path / "out")
    one, two = ("2 0 1", "2 0 2")
    batches = [f"batch {one}", f"batch {one}", f"batch {two}", f"batch {two}"]
    later = [f"async {one}", f"async {two}", f"async {one} 1", f"async {two} 1"]
    assert printed.splitlines() == [*batches, *later, f"prefetch {one}", f"prefetch {two}", "symbol 5 4"]
