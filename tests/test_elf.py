"""Which programs preloading cannot reach, and what is said about them."""

import os
import shutil
import stat
import struct
import subprocess
import sys
from pathlib import Path

import pytest

from cannery.tools.elf import obstacle

GLIBC = b"/lib64/ld-linux-x86-64.so.2"


def elf(bits: int = 64, machine: int | None = None, interpreter: bytes | None = GLIBC) -> bytes:
    """The head of an ELF file with one program header."""
    if machine is None:
        machine = {"x86_64": 62, "aarch64": 183}[os.uname().machine]
    head = bytearray(64 + 56 + 64)
    head[:7] = b"\x7fELF" + bytes([2 if bits == 64 else 1, 1, 1])
    struct.pack_into("<HH", head, 16, 2, machine)
    struct.pack_into("<Q", head, 32, 64)
    struct.pack_into("<HH", head, 54, 56, 1)
    if interpreter is not None:
        struct.pack_into("<IIQQQQ", head, 64, 3, 4, 120, 0, 0, len(interpreter) + 1)
        head[120 : 120 + len(interpreter)] = interpreter
    return bytes(head)


def put(folder: Path, content: bytes, mode: int = 0o755) -> Path:
    path = folder / "program"
    path.write_bytes(content)
    path.chmod(mode)
    return path


def test_a_dynamic_program_can_be_preloaded(tmp_path: Path) -> None:
    assert obstacle(put(tmp_path, elf())) is None
    assert obstacle(Path(sys.executable).resolve()) is None


@pytest.mark.parametrize(
    ("content", "words"),
    [
        (elf(interpreter=None), "linked statically"),
        (elf(bits=32, machine=3), "32-bit program (i386)"),
        (elf(machine=243), "built for riscv64"),
        (elf(interpreter=b"/lib/ld-musl-x86_64.so.1"), "musl"),
        (b"\x7fELF", "not a program for this machine"),
    ],
)
def test_other_programs_cannot(tmp_path: Path, content: bytes, words: str) -> None:
    reason = obstacle(put(tmp_path, content))
    assert reason is not None
    assert words in reason


def test_a_script_is_judged_by_its_interpreter(tmp_path: Path) -> None:
    static = put(tmp_path, elf(interpreter=None))
    script = tmp_path / "script"
    script.write_text(f"#!{static} -x\n")
    assert "statically" in (obstacle(script) or "")
    script.write_text("#!/bin/sh\n")
    assert obstacle(script) is None


def test_files_that_are_no_programs_are_not_judged(tmp_path: Path) -> None:
    assert obstacle(tmp_path / "missing") is None
    assert obstacle(put(tmp_path, b"echo hello\n")) is None
    assert obstacle(put(tmp_path, b"")) is None
    assert obstacle(put(tmp_path, b"#!\n")) is None


@pytest.mark.skipif(os.getuid() != 0, reason="giving a file to another user needs root")
def test_setuid_of_another_user_is_named(tmp_path: Path) -> None:
    program = put(tmp_path, elf())
    os.chown(program, 1234, -1)
    program.chmod(0o755 | stat.S_ISUID)
    assert "setuid" in (obstacle(program) or "")
    os.chown(program, 0, -1)
    program.chmod(0o755 | stat.S_ISUID)
    assert obstacle(program) is None


@pytest.mark.skipif(shutil.which("cc") is None, reason="needs a C compiler")
def test_what_a_compiler_makes(tmp_path: Path) -> None:
    source = tmp_path / "p.c"
    source.write_text("int main(void) { return 0; }\n")
    for options, blocked in (([], False), (["-static"], True)):
        made = subprocess.run(["cc", *options, "-o", tmp_path / "p", source], capture_output=True)
        if made.returncode == 0:  # a system may have no static C library
            assert (obstacle(tmp_path / "p") is not None) is blocked
