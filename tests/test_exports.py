"""A built library exports the functions of the API model, and nothing else."""

import os
import subprocess
import sys
from pathlib import Path

import pytest

from cannery.runtime.api import MODEL

ROOT = Path(__file__).parents[1]
STUB = '#include "shim.h"\nuint64_t cannery_call(unsigned f, const uint64_t *args) { return args ? args[0] + f : 0; }\n'
FLAGS = "-std=c11 -Wall -Wextra -Werror -O2 -fPIC -shared -fvisibility=hidden"


def exported(library: Path) -> set[str]:
    listing = subprocess.run(["nm", "-D", "--defined-only", library], check=True, capture_output=True, text=True).stdout
    return {line.split()[-1].partition("@")[0] for line in listing.splitlines()}


def test_the_generated_exports_are_the_model(tmp_path: Path) -> None:
    subprocess.run([sys.executable, ROOT / "tools/generate/exports.py", tmp_path], check=True)
    (tmp_path / "stub.c").write_text(STUB)
    command = [os.environ.get("CC", "cc"), *FLAGS.split(), f"-I{tmp_path}", f"-I{ROOT / 'shim'}", "-o", "stub.so"]
    subprocess.run([*command, "exports.c", "stub.c"], cwd=tmp_path, check=True)
    assert exported(tmp_path / "stub.so") == {function.name for function in MODEL.functions}


def test_the_installed_library_exports_the_model() -> None:
    sdk = pytest.importorskip("cannery.shim.sdk")
    assert exported(sdk.library()) == {function.name for function in MODEL.functions}


def test_programs_linked_to_the_installed_library_ask_for_the_real_name() -> None:
    sdk = pytest.importorskip("cannery.shim.sdk")
    dynamic = subprocess.run(["readelf", "-d", sdk.library()], check=True, capture_output=True, text=True).stdout
    assert [line.split()[-1] for line in dynamic.splitlines() if "SONAME" in line] == ["[libascendcl.so]"]
