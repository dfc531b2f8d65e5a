"""The shim on aarch64, where most Ascend servers live: it compiles, and hands on arguments as on this machine.

Needs a cross compiler (Debian: gcc-aarch64-linux-gnu libc6-dev-arm64-cross); with qemu-user and libc6-arm64-cross the
compiled program is run too. The engine needs a Python of that architecture to link to: the compiler only reads it.
"""

import platform
import shutil
import subprocess
import sys
import sysconfig
from pathlib import Path

import pytest

from .shim_sources import SHIM_SOURCES
from .test_export_packing import EXPECTED, MAIN, STUB
from .test_headers import assertions, layout_checks

ROOT = Path(__file__).parents[1]
COMPILER = "aarch64-linux-gnu-gcc"
SYSROOT = Path("/usr/aarch64-linux-gnu")
NATIVE = platform.machine() == "aarch64"
FLAGS = ["-std=gnu11", "-Wall", "-Wextra", "-Werror", "-O2"]

pytestmark = pytest.mark.skipif(
    NATIVE or shutil.which(COMPILER) is None, reason=f"{COMPILER} is not installed (or this machine is aarch64)"
)


@pytest.fixture(scope="module")
def generated(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("generated")
    for generator in ("exports.py", "headers.py"):
        subprocess.run([sys.executable, "-I", ROOT / "tools/generate" / generator, folder], check=True)
    return folder


def compile_(arguments: "list[str | Path]", **options: str) -> None:
    done = subprocess.run([COMPILER, *FLAGS, *arguments], capture_output=True, text=True, check=False, **options)
    assert done.returncode == 0, done.stderr


def test_the_shim_links_without_undefined_symbols(generated: Path, tmp_path: Path) -> None:
    library = tmp_path / "libcannery.so"
    flags = ["-fPIC", "-shared", "-fvisibility=hidden", "-Wl,-z,defs", f"-I{ROOT / 'shim'}", f"-I{generated}"]
    compile_([*flags, *SHIM_SOURCES, generated / "exports.c", "-o", library, "-ldl", "-lpthread"])
    machine = library.read_bytes()[18:20]
    assert int.from_bytes(machine, "little") == 183  # EM_AARCH64, elf.h


def test_the_engine_has_no_code_for_one_architecture_only(generated: Path, tmp_path: Path) -> None:
    subprocess.run([sys.executable, ROOT / "shim/engine_build.py", tmp_path / "engine_module.c"], check=True)
    # This machine's Python headers do: sizes and byte order of both are the same.
    headers = [f"-I{sysconfig.get_paths()[name]}" for name in ("include", "platinclude")]
    lax = ["-Wno-unused-parameter", "-Wno-missing-field-initializers", "-D_GNU_SOURCE", "-D_CFFI_NO_LIMITED_API"]
    compile_([*lax, f"-I{ROOT / 'shim'}", f"-I{generated}", *headers, "-fsyntax-only", tmp_path / "engine_module.c"])


def test_sizes_offsets_and_values_are_the_same(generated: Path, tmp_path: Path) -> None:
    compile_(
        [f"-I{generated / 'include'}", "-x", "c", "-c", "-", "-o", tmp_path / "out.o"],
        input=assertions(layout_checks()),
    )


@pytest.mark.skipif(shutil.which("qemu-aarch64") is None or not SYSROOT.is_dir(), reason="qemu-user is not installed")
def test_arguments_and_results_pass_unchanged(generated: Path, tmp_path: Path) -> None:
    (tmp_path / "stub.c").write_text(STUB)
    (tmp_path / "main.c").write_text(MAIN)
    includes = [f"-I{ROOT / 'shim'}", f"-I{generated}", f"-I{generated / 'include'}"]
    sources = [tmp_path / "main.c", tmp_path / "stub.c", generated / "exports.c"]
    compile_([*includes, *sources, "-o", tmp_path / "main"])
    command = ["qemu-aarch64", "-L", SYSROOT, tmp_path / "main"]
    assert subprocess.run(command, capture_output=True, text=True, check=True).stdout == EXPECTED
