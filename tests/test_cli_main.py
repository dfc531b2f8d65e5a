"""The command itself: help that a newcomer can act on, and errors that say what to do."""

import pytest
from click.testing import CliRunner, Result

from cannery.runtime.version import VERSION
from cannery.tools.main import VERBS, main
from cannery.tools.traces import count, size


def cannery(*args: str, **variables: str) -> Result:
    return CliRunner().invoke(main, args, env=variables)


def test_help_lists_the_verbs_and_how_to_start() -> None:
    shown = cannery("--help").stdout
    for verb, about in VERBS.items():
        assert verb in shown
        assert about.split()[0] in shown
    assert "cannery run -o a.cann -- ./app args" in shown


@pytest.mark.parametrize("verb", VERBS)
def test_help_of_a_verb_has_an_example(verb: str) -> None:
    result = cannery(verb, "--help")
    assert result.exit_code == 0
    assert f"cannery {verb}" in result.stdout
    assert result.stdout.count("[default: ") + result.stdout.count("xit status") > 0 or verb == "sdk"


def test_version() -> None:
    assert cannery("--version").stdout == f"cannery {VERSION}\n"


@pytest.mark.parametrize(
    ("args", "words"),
    [
        (["replya"], "no such command 'replya' (did you mean 'replay'?)"),
        (["run", "--produkt", "A2", "--", "true"], "--product"),
        (["run", "--product", "A22", "--", "true"], "'A22' is none of 950PR, 950DT, A3, A2, 310B"),
        (["run", "--product", "A22", "--", "true"], "(did you mean 'A2'?)"),
        (["run", "--schedule", "lat", "--", "true"], "(did you mean 'late'?)"),
        (["run", "--schedule", "seed:x", "--", "true"], "'seed:x' is none of asap, late, seed:N"),
        (["run", "--payload", "ful", "--", "true"], "(did you mean 'full'?)"),
        (["run", "--payload-limit", "12Q", "--", "true"], "'12Q' is no size"),
        (["run", "--devices", "65", "--", "true"], "'65' is no whole number from 0 to 64"),
        (["run", "--devices", "abc", "--", "true"], "'abc' is no whole number from 0 to 64; see 'cannery run --help'"),
        (["show", "--process", "0", "t.cann"], "'0' is no whole number from 1 on"),
        (["info", "t.cann", "u.cann"], "got unexpected extra argument (u.cann); see 'cannery info --help'"),
        (["--json"], "there is no option --json; see 'cannery --help'"),
        (["run", "--behaviour", "documneted", "--", "true"], "did you mean documented?"),
        (["run", "--behaviour", "default,memcpy-kin=hint", "--", "true"], "did you mean memcpy-kind?"),
        (["run"], "missing argument"),
        (["run", "-o", "", "--", "true"], "invalid value for '-o' / '--output': the name is empty"),
        (["redact", "t.cann", "-o", ""], "the name is empty; see 'cannery redact --help'"),
        (["trim", "t.cann", "--calls", "1:2", "-o", ""], "the name is empty"),
    ],
)
def test_wrong_usage_is_status_2_and_says_what_is_right(args: list[str], words: str) -> None:
    result = cannery(*args)
    assert result.exit_code == 2
    assert words in result.stderr
    assert result.stderr.startswith("cannery: ")
    assert result.stderr.count("\n") == 1


def test_the_command_alone_prints_the_help() -> None:
    result = cannery()
    assert "Start with:" in result.output


@pytest.mark.parametrize(
    "variables", [{"CANNERY_RECORD": "perhaps"}, {"CANNERY_FORCE": "2"}, {"CANNERY_SESSION": "a/b"}]
)
def test_a_variable_with_another_value_is_refused_in_a_line(variables: dict[str, str]) -> None:
    result = cannery("run", "--", "true", **variables)
    (name,) = variables
    assert (result.exit_code, result.stderr.count("\n")) == (2, 1)
    assert name in result.stderr
    assert "expected" in result.stderr


def test_options_are_also_variables() -> None:
    result = cannery("run", "--", "true", CANNERY_PRODUCT="A22")
    assert result.exit_code == 2
    assert "'A22' is none of" in result.stderr


def test_sizes_and_counts_for_people() -> None:
    assert [size(number) for number in (0, 999, 1000, 1_234_567, 5 * 10**12)] == [
        "0 B", "999 B", "1.0 kB", "1.2 MB", "5000.0 GB",
    ]  # fmt: skip
    assert [count(number, "call") for number in (0, 1, 12345)] == ["0 calls", "1 call", "12,345 calls"]
