"""Sets of call numbers as people write them: ``12``, ``100-200``, ``100-``, ``0-1000/2``, and lists of these."""

import re
from typing import Final, NamedTuple

_PART: Final = re.compile(r"(\d+)(?:(-)(\d+)?)?(?:/(\d+))?")


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
    ranges: tuple[Range, ...]

    @classmethod
    def parse(cls, text: str) -> "CallSet":
        """Raises CallSetError."""
        ranges = []
        for part in text.split(","):
            found = _PART.fullmatch(part.strip())
            if found is None or found[4] == "0":
                raise CallSetError(f"'{part}' is no set of calls; write 12, 100-200, 100-, 0-99/2, or a list of these")
            first = int(found[1])
            last = first if found[2] is None else None if found[3] is None else int(found[3])
            if last is not None and last < first:
                raise CallSetError(f"'{part}' is an empty set: it ends before it begins")
            ranges.append(Range(first, last, int(found[4] or 1)))
        return cls(tuple(ranges))

    def __contains__(self, number: object) -> bool:
        return any(number in each for each in self.ranges)

    @property
    def first(self) -> int:
        """The lowest number."""
        return min(each.first for each in self.ranges)

    @property
    def last(self) -> int | None:
        """The highest number, None when there is none."""
        lasts = [each.last for each in self.ranges]
        return None if None in lasts else max(last for last in lasts if last is not None)
