"""Kernel binaries as files: which functions are found in them."""

import shutil
import subprocess
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from cannery.runtime.elf import Symbol, entry_of, functions
from tests.kernel_tools import CODE, FUNCTION, GLOBAL, LOCAL, OBJECT, TEXT, elf


def test_the_functions_that_a_file_defines_for_others_are_found() -> None:
    assert functions(elf("add", "sub")) == {b"add": Symbol(TEXT, CODE), b"sub": Symbol(TEXT + CODE, CODE)}


def test_in_a_linked_file_they_are_where_their_addresses_are() -> None:
    assert functions(elf("add", address=0x40_0000)) == {b"add": Symbol(TEXT, CODE)}


@pytest.mark.parametrize("kind", [OBJECT | GLOBAL, FUNCTION | LOCAL])
def test_variables_and_local_functions_are_none(kind: int) -> None:
    assert functions(elf("add", kind=kind)) == {}


def test_a_kernel_that_is_compiled_for_each_kind_of_core_is_one() -> None:
    assert functions(elf("add_mix_aic", "add_mix_aiv")) == {b"add": Symbol(TEXT, CODE)}


@pytest.mark.parametrize("content", [b"", b"text", b"\x7fELF\x01\x01" + bytes(100), b"\x7fELF\x02\x02" + bytes(100)])
def test_what_is_no_64_bit_little_endian_elf_file_has_none(content: bytes) -> None:
    assert functions(content) is None


@given(st.integers(0, 60), st.binary(max_size=40), st.integers(0, 400))
def test_damaged_files_are_read_as_far_as_they_make_sense(at: int, damage: bytes, length: int) -> None:
    content = bytearray(elf("add", "sub"))
    content[at + 6 : at + 6 + len(damage)] = damage
    found = functions(bytes(content[: len(content) - length]))
    assert found is None or all(isinstance(symbol, Symbol) for symbol in found.values())


def test_a_file_that_announces_more_symbols_than_any_has_is_damaged() -> None:
    content = bytearray(elf("add"))
    table = int.from_bytes(content[40:48], "little")
    content[table + 2 * 64 + 32 : table + 2 * 64 + 40] = (1 << 62).to_bytes(8, "little")
    assert functions(bytes(content)) is None


@pytest.mark.parametrize(
    ("name", "entry"), [(b"add_7", 7), (b"add_007", 7), (b"add", -1), (b"add_", -1), (b"7", 7), (b"a_" + b"9" * 40, -1)]
)
def test_the_entry_of_a_kernel_is_the_number_at_the_end_of_its_name(name: bytes, entry: int) -> None:
    assert entry_of(name) == entry


@pytest.mark.parametrize("options", [["-c"], ["-shared", "-fPIC"]])
def test_a_compiler_makes_stand_ins(tmp_path: Path, options: list[str]) -> None:
    compiler = shutil.which("cc") or shutil.which("gcc")
    assert compiler is not None, "the tests build C programs"
    source, made = tmp_path / "k.c", tmp_path / "k.o"
    source.write_text(
        "void add_custom(void) {}\nstatic void hidden(void) {}\nvoid (*use)(void) = hidden;\nint value;\n"
    )
    subprocess.run([compiler, *options, "-o", made, source], check=True)
    content = made.read_bytes()
    found = functions(content)
    assert found is not None
    assert b"add_custom" in found
    assert not {b"hidden", b"use", b"value"} & found.keys()
    symbol = found[b"add_custom"]
    assert symbol is not None
    assert 0 < symbol.offset < symbol.offset + symbol.size <= len(content)
