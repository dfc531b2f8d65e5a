"""What is kept of the bytes that pass: ``full,aclrtMemcpyAsync=hash,>1M=none`` (section 7 of the format).

Items stand between commas. The first may be a word alone, which holds for everything; without it that is ``input``.
Each other item is ``WHICH=WORD``: ``WHICH`` is the name of a function or a pattern with ``*``, ``?`` and ``[...]``,
a size as in ``>1M`` (longer than that), or both, as in ``aclrtMemcpy*>1M``. Where several fit, the last counts.
"""

from collections.abc import Iterable
from typing import Final, NamedTuple

from cannery.recorder.format import POLICIES, TraceError
from cannery.recorder.sizes import SizeError, parse_size

STORED: Final = 0
HASHED: Final = 1
SIZE_ONLY: Final = 2
GIVEN: Final = {"input": STORED, "full": STORED, "hash": HASHED, "none": SIZE_ONLY}
"""By word: what is done with bytes that the program gives, or that a file has."""
GIVEN_KINDS: Final = ("read", "file", "wrote", "saw", "shared")
"""Effects whose bytes are given: by the program, a file, a kernel model, or another process."""
RESULT: Final = {"input": HASHED, "full": STORED, "hash": HASHED, "none": SIZE_ONLY}
"""By word: what is done with bytes that reach the host."""
_EXAMPLE: Final = "full,aclrtMemcpyAsync=hash,>1M=none"
_PATTERN: Final = frozenset("_*?[]!-")  # what may stand in a name, besides letters and digits


class PolicyError(TraceError):
    """The text is no policy; the message says what is wrong with it."""


class Rule(NamedTuple):
    """``word`` holds for more than ``above`` bytes (-1: for any) of functions that fit ``pattern`` (None: of all)."""

    word: str
    above: int = -1
    pattern: str | None = None


class PayloadPolicy(NamedTuple):
    """``word`` holds where no rule does; of the rules that fit, the last counts."""

    word: str
    rules: tuple[Rule, ...] = ()

    @property
    def names_functions(self) -> bool:
        """Whether it matters which function bytes pass for."""
        return any(rule.pattern is not None for rule in self.rules)

    def of(self, function: str | None) -> "PayloadPolicy":
        """The policy for the bytes of one function, with rules by size alone. None: bytes that no call asked for."""
        fitting = [rule for rule in self.rules if rule.pattern is None or _fits(function, rule.pattern)]
        return PayloadPolicy(self.word, tuple(rule._replace(pattern=None) for rule in fitting))

    def word_for(self, size: int, function: str | None = None) -> str:
        """The word that holds for ``size`` bytes of a function."""
        found = self.word
        for rule in self.rules:
            if size > rule.above and (rule.pattern is None or _fits(function, rule.pattern)):
                found = rule.word
        return found

    def must_store(self, size: int, given: bool) -> bool:
        """Whether content of that size, which has a digest in its record, was stored whichever function it belongs to:
        that is not written down. (Without a digest, a word that keeps the size alone held.)"""
        words = {self.word}
        for rule in self.rules:
            if size > rule.above:
                words = {rule.word} if rule.pattern is None else words | {rule.word}
        treatments = {(GIVEN if given else RESULT)[word] for word in words}
        return STORED in treatments and HASHED not in treatments

    @property
    def stores_any(self) -> bool:
        """Whether any content at all is stored."""
        return STORED in (GIVEN[word] for word in (self.word, *(rule.word for rule in self.rules)))

    def strangers(self, functions: Iterable[str]) -> list[str]:
        """The patterns that fit none of ``functions``."""
        known = list(functions)
        patterns = [rule.pattern for rule in self.rules if rule.pattern is not None]
        return [pattern for pattern in patterns if not any(_fits(name, pattern) for name in known)]

    def __str__(self) -> str:
        """The text that :func:`parse_policy` reads."""
        return ",".join([self.word, *(f"{_which(rule)}={rule.word}" for rule in self.rules)])


NOTHING: Final = PayloadPolicy("none")


def parse_policy(text: str) -> PayloadPolicy:
    """Raises PolicyError."""
    word, rules = "input", []
    for place, item in enumerate(part.strip() for part in text.split(",")):
        which, equals, chosen = (part.strip() for part in item.rpartition("="))
        if chosen not in POLICIES:
            raise PolicyError(f"payload policy {text!r}: {chosen!r} is none of {', '.join(POLICIES)}; as in {_EXAMPLE}")
        if equals:
            rules.append(_rule(text, which, chosen))
        elif place:
            raise PolicyError(f"payload policy {text!r}: {item!r} holds for everything and can only be first")
        else:
            word = chosen
    return PayloadPolicy(word, tuple(rules))


def _rule(text: str, which: str, word: str) -> Rule:
    name, above, size = which.partition(">")
    if not all((letter.isascii() and letter.isalnum()) or letter in _PATTERN for letter in name):
        raise PolicyError(f"payload policy {text!r}: {name!r} is no name of a function; as in {_EXAMPLE}")
    if not name and not above:
        raise PolicyError(f"payload policy {text!r}: nothing stands before '={word}'; as in {_EXAMPLE}")
    try:
        return Rule(word, parse_size(size) if above else -1, name or None)
    except SizeError as error:
        raise PolicyError(f"payload policy {text!r}: {error}") from None


def _which(rule: Rule) -> str:
    return (rule.pattern or "") + (f">{rule.above}" if rule.above >= 0 else "")


def _fits(function: str | None, pattern: str) -> bool:
    from fnmatch import fnmatchcase  # most processes have no pattern

    return function is not None and fnmatchcase(function, pattern)
