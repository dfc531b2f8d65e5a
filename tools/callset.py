"""Sets of calls as people write them, the same for every verb: by number, by function, or from a file.

12                 one call                        aclrtMalloc      every call of a function
100-200            a range; also 100-, -200, -     aclrtMemcpy*     of all functions of that pattern
0-1000/2           every second call of it         @file            the sets in a file, one a line
5,9,aclrtFree      what is in any of these
"""

import re
from collections.abc import Callable, Collection, Iterable
from fnmatch import fnmatchcase
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final, NamedTuple

import click

from cannery.tools.errors import Failure, suggestion

_RANGE: Final = re.compile(r"(\d*)(?:(-)(\d*))?(?:/(\d+))?")
_FUNCTION: Final = re.compile(r"[A-Za-z_*?\[][\w*?\[\]!-]*")
_FORMS: Final = "write 12, 100-200, 100-, 0-99/2, a function's name, @file, or a list of these"
_WILD: Final = frozenset("*?[")
_DEPTH: Final = 8  # of files that name files


class CallSetError(ValueError):
    """The text is no set of calls; the message says what is."""


class Range(NamedTuple):
    """Every ``step``-th call from ``first`` to ``last``; ``last`` is None for all that follow."""

    first: int
    last: int | None
    step: int

    def __contains__(self, number: object) -> bool:
        if not isinstance(number, int) or number < self.first or (self.last is not None and number > self.last):
            return False
        return (number - self.first) % self.step == 0


class CallSet(NamedTuple):
    """The calls in any of ``ranges``, and those of functions that fit any of ``patterns``."""

    ranges: tuple[Range, ...]
    patterns: tuple[str, ...] = ()

    @classmethod
    def parse(cls, text: str) -> "CallSet":
        """Raises CallSetError."""
        ranges: list[Range] = []
        patterns: list[str] = []
        for part in _parts(text, 0):
            if _FUNCTION.fullmatch(part):
                patterns.append(part)
            else:
                ranges.append(_range(part))
        return cls(tuple(ranges), tuple(dict.fromkeys(patterns)))

    @property
    def first(self) -> int:
        """No call with a lower number is in it."""
        return 0 if self.patterns else min(each.first for each in self.ranges)

    @property
    def last(self) -> int | None:
        """No call with a higher number is in it; None when there is no such number."""
        lasts = [each.last for each in self.ranges]
        return None if self.patterns or None in lasts else max(last for last in lasts if last is not None)

    def chooser(self, functions: Collection[str]) -> Callable[[int, str], bool]:
        """A function that tells by number and function whether a call is in the set. ``functions`` are all there are.

        Raises:
            CallSetError: a name or pattern fits none of them.
        """
        ranges = self.ranges
        names = frozenset(matching(self.patterns, functions))
        if not names and len(ranges) == 1:
            only = ranges[0]
            return lambda number, function: number in only
        return lambda number, function: function in names or any(number in each for each in ranges)


def matching(patterns: Iterable[str], functions: Collection[str]) -> set[str]:
    """The functions that fit any of the patterns.

    Raises:
        CallSetError: a pattern fits none.
    """
    found: set[str] = set()
    for pattern in patterns:
        names = {pattern} & {*functions} or {name for name in functions if fnmatchcase(name, pattern)}
        if not names:
            known = sorted(functions)
            what = "no function fits" if _WILD & {*pattern} else "there is no function"
            raise CallSetError(f"{what} '{pattern}'{suggestion(pattern, known)}")
        found |= names
    return found


if TYPE_CHECKING:

    class _Sets(click.ParamType[CallSet]): ...
else:  # generic only since click 8.4
    _Sets = click.ParamType


class Calls(_Sets):
    """The option type: a :class:`CallSet`."""

    name = "set"

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> CallSet:
        if isinstance(value, CallSet):
            return value
        try:
            return CallSet.parse(str(value))
        except CallSetError as error:
            return self.fail(str(error), param, ctx)


option: Final = click.option(
    "--calls",
    type=Calls(),
    metavar="SET",
    help="Only these calls: 12, 100-200, 100-, 0-1000/2, a function's name or pattern, @file, or a list of these.",
)


def chooser(calls: CallSet | None, functions: Collection[str]) -> Callable[[int, str], bool] | None:
    """As :meth:`CallSet.chooser`; None when there is no set.

    Raises:
        Failure: a name in it fits no function.
    """
    if calls is None:
        return None
    try:
        return calls.chooser(functions)
    except CallSetError as error:
        raise Failure(f"--calls: {error}") from None


def _parts(text: str, depth: int) -> Iterable[str]:
    for part in text.split(","):
        part = part.strip()
        if part.startswith("@"):
            yield from _file(part[1:], depth)
        else:
            yield part


def _file(name: str, depth: int) -> Iterable[str]:
    """The parts of a file: lines, and what follows a ``#`` is a comment."""
    if depth >= _DEPTH:
        raise CallSetError(f"'@{name}': files of call sets that name each other")
    try:
        lines = Path(name).read_text("utf-8").splitlines()
    except OSError as error:
        raise CallSetError(f"'@{name}' cannot be read ({error.strerror})") from None
    except UnicodeDecodeError:
        raise CallSetError(f"'@{name}' is no text") from None
    sets = [line for line in (line.partition("#")[0].strip() for line in lines) if line]
    if not sets:
        raise CallSetError(f"'@{name}' has no set of calls in it")
    for line in sets:
        yield from _parts(line, depth + 1)


def _range(part: str) -> Range:
    found = _RANGE.fullmatch(part)
    if found is None or found[4] == "0" or not (found[1] or found[2]):
        raise CallSetError(f"'{part}' is no set of calls; {_FORMS}")
    first = int(found[1] or 0)
    last = first if found[2] is None else int(found[3]) if found[3] else None
    if last is not None and last < first:
        raise CallSetError(f"'{part}' is an empty set: it ends before it begins")
    return Range(first, last, int(found[4] or 1))
