"""The payload policy: words, and rules by size and function."""

import pytest
from click.testing import CliRunner
from hypothesis import given
from hypothesis import strategies as st

from cannery.recorder.format import POLICIES
from cannery.recorder.policy import PayloadPolicy, PolicyError, Rule, parse_policy
from cannery.tools.main import main

WORDS = st.sampled_from(POLICIES)
PATTERNS = st.sampled_from(["aclrtMemcpy", "aclrtMemcpyAsync", "aclrtMemcpy*", "acl?tMem[cs]*", "*"])
RULES = st.builds(Rule, WORDS, st.integers(0, 1 << 40), st.one_of(st.none(), PATTERNS)) | st.builds(
    Rule, WORDS, st.just(-1), PATTERNS
)


@given(st.builds(PayloadPolicy, WORDS, st.lists(RULES, max_size=4).map(tuple)))
def test_a_policy_is_read_as_it_is_written(policy: PayloadPolicy) -> None:
    assert parse_policy(str(policy)) == policy


@pytest.mark.parametrize(
    ("text", "size", "function", "word"),
    [
        ("full", 5, "aclrtMemcpy", "full"),
        (">1M=none", 1 << 20, "aclrtMemcpy", "input"),
        (">1M=none", (1 << 20) + 1, "aclrtMemcpy", "none"),
        ("full,aclrtMemcpyAsync=hash,>1M=none", 5, "aclrtMemcpy", "full"),
        ("full,aclrtMemcpyAsync=hash,>1M=none", 5, "aclrtMemcpyAsync", "hash"),
        ("full,aclrtMemcpyAsync=hash,>1M=none", 2 << 20, "aclrtMemcpyAsync", "none"),
        ("hash,aclrtMemcpy*>1K=full", 1025, "aclrtMemcpy2d", "full"),
        ("hash,aclrtMemcpy*>1K=full", 1024, "aclrtMemcpy2d", "hash"),
        ("hash, aclrtMemcpy* = full", 1, "aclrtMemcpy2d", "full"),
        ("hash,*=full", 1, None, "hash"),
    ],
)
def test_the_last_rule_that_fits_counts(text: str, size: int, function: str | None, word: str) -> None:
    policy = parse_policy(text)
    assert policy.word_for(size, function) == word
    assert policy.of(function).word_for(size) == word


@pytest.mark.parametrize(
    ("text", "size", "must", "result_must"),
    [
        ("input", 40, True, False),
        ("full", 40, True, True),
        ("hash", 40, False, False),
        ("none", 40, False, False),
        ("full,aclrtMemcpyAsync=hash", 40, False, False),
        ("hash,aclrtMemcpyAsync=full", 40, False, False),
        ("full,aclrtMemcpyAsync=input", 40, True, False),
        ("full,aclrtMemcpyAsync=none", 40, True, True),  # what has a digest is not of those
        ("full,>1K=hash", 1024, True, True),
        ("full,>1K=hash", 1025, False, False),
        ("full,*=hash,>1K=full", 1025, True, True),
        ("full,aclrtMemcpy*>1K=hash", 1024, True, True),
    ],
)
def test_what_must_be_stored_whichever_function_it_belongs_to(
    text: str, size: int, must: bool, result_must: bool
) -> None:
    policy = parse_policy(text)
    assert (policy.must_store(size, True), policy.must_store(size, False)) == (must, result_must)


@pytest.mark.parametrize(
    ("text", "reason"),
    [
        ("", "'' is none of input, full, hash, none"),
        ("everything", "'everything' is none of"),
        ("full,hash", "'hash' holds for everything and can only be first"),
        ("aclrtMemcpy=half", "'half' is none of"),
        (">big=none", "is no size"),
        ("=none", "nothing stands before '=none'"),
        ("a b=none", "'a b' is no name of a function"),
        ("full,", "'' is none of"),
    ],
)
def test_what_is_no_policy_is_refused_with_the_part_that_is_wrong(text: str, reason: str) -> None:
    with pytest.raises(PolicyError) as caught:
        parse_policy(text)
    assert reason in str(caught.value)


def test_the_command_line_knows_functions() -> None:
    result = CliRunner().invoke(main, ["run", "--payload", "aclrtMemcpyAsink=hash", "--", "true"])
    assert result.exit_code == 2
    assert "no function of the API is called 'aclrtMemcpyAsink' (did you mean 'aclrtMemcpyAsync'?)" in result.stderr
    result = CliRunner().invoke(main, ["run", "--payload", "half", "--", "true"])
    assert (result.exit_code, "'half' is none of" in result.stderr) == (2, True)
