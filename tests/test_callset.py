"""Sets of calls: by number, by function, from files; the same for every verb."""

from pathlib import Path

import click
import pytest
from click.testing import CliRunner

from cannery.tools import callset
from cannery.tools.callset import CallSet, CallSetError

FUNCTIONS = ["aclrtMalloc", "aclrtMemcpy", "aclrtMemcpyAsync", "aclrtFree"]


def members(text: str) -> list[int]:
    chosen = CallSet.parse(text).chooser(FUNCTIONS)
    return [number for number in range(20) if chosen(number, "aclrtFree")]


def names(text: str) -> list[str]:
    chosen = CallSet.parse(text).chooser(FUNCTIONS)
    return [name for name in FUNCTIONS if chosen(3, name)]


@pytest.mark.parametrize(
    ("text", "numbers", "ends"),
    [
        ("12", [12], (12, 12)),
        ("3-5", [3, 4, 5], (3, 5)),
        ("18-", [18, 19], (18, None)),
        ("-2", [0, 1, 2], (0, 2)),
        ("-", list(range(20)), (0, None)),
        ("-/7", [0, 7, 14], (0, None)),
        ("0-8/4", [0, 4, 8], (0, 8)),
        ("1-8/4", [1, 5], (1, 8)),
        ("2, 4,6-7", [2, 4, 6, 7], (2, 7)),
        ("3,1-", [*range(1, 20)], (1, None)),
        ("5,aclrtMalloc", [5], (0, None)),
    ],
)
def test_numbers(text: str, numbers: list[int], ends: tuple[int, int | None]) -> None:
    assert members(text) == numbers
    assert (CallSet.parse(text).first, CallSet.parse(text).last) == ends


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("aclrtMalloc", ["aclrtMalloc"]),
        ("aclrtMemcpy", ["aclrtMemcpy"]),
        ("aclrtMemcpy*", ["aclrtMemcpy", "aclrtMemcpyAsync"]),
        ("*Free,aclrtM?lloc", ["aclrtMalloc", "aclrtFree"]),
        ("aclrt[F]*", ["aclrtFree"]),
        ("3", FUNCTIONS),
        ("4", []),
    ],
)
def test_functions(text: str, expected: list[str]) -> None:
    assert names(text) == expected


@pytest.mark.parametrize("text", ["", "1-2-3", "5-3", "1-9/0", "1,,2", "1 2", "/2", "(a)", "acl rt", "1-x"])
def test_what_is_no_set_is_refused(text: str) -> None:
    with pytest.raises(CallSetError):
        CallSet.parse(text)


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("aclrtMemcopy", "there is no function 'aclrtMemcopy' (did you mean 'aclrtMemcpy'?)"),
        ("aclrtmalloc", "there is no function 'aclrtmalloc' (did you mean 'aclrtMalloc'?)"),
        ("xyz*", "no function fits 'xyz*'"),
    ],
)
def test_a_misspelt_function_gets_the_nearest_suggested(text: str, message: str) -> None:
    with pytest.raises(CallSetError) as error:
        CallSet.parse(text).chooser(FUNCTIONS)
    assert str(error.value) == message


def test_a_file_has_a_set_on_each_line(tmp_path: Path) -> None:
    more = tmp_path / "more"
    more.write_text("17-\n")
    file = tmp_path / "calls"
    file.write_text(f"# those that failed\n1\n4-5, 7  # and these\n\n@{more}\naclrtFree\n")
    parsed = CallSet.parse(f"@{file},9")
    assert parsed.patterns == ("aclrtFree",)
    assert [number for number in range(20) if any(number in each for each in parsed.ranges)] == [
        1, 4, 5, 7, 9, 17, 18, 19
    ]  # fmt: skip


def test_files_that_cannot_be_used_are_named(tmp_path: Path) -> None:
    empty, binary, loop = tmp_path / "empty", tmp_path / "binary", tmp_path / "loop"
    empty.write_text("# nothing\n")
    binary.write_bytes(b"\xff\xfe\x00")
    loop.write_text(f"@{loop}\n")
    for file, what in ((tmp_path / "none", "cannot be read"), (empty, "has no set"), (binary, "is no text"),
                       (loop, "name each other")):  # fmt: skip
        with pytest.raises(CallSetError, match=what):
            CallSet.parse(f"@{file}")


@click.command()
@callset.option
def command(calls: CallSet | None) -> None:
    chosen = callset.chooser(calls, FUNCTIONS)
    click.echo("all" if chosen is None else ",".join(name for name in FUNCTIONS if chosen(5, name)))


@pytest.mark.parametrize(
    ("args", "output", "status"),
    [
        ([], "all\n", 0),
        (["--calls", "aclrtF*"], "aclrtFree\n", 0),
        (["--calls", "aclrtFre"], "cannery: --calls: there is no function 'aclrtFre' (did you mean 'aclrtFree'?)\n", 2),
    ],
)
def test_the_option(args: list[str], output: str, status: int) -> None:
    result = CliRunner().invoke(command, args)
    assert (result.output, result.exit_code) == (output, status)


def test_the_option_refuses_what_is_no_set() -> None:
    result = CliRunner().invoke(command, ["--calls", "9-1"])
    assert result.exit_code == 2
    assert "'9-1' is an empty set: it ends before it begins" in result.output
