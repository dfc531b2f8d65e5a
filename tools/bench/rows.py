"""The lines of the table: a figure, and the limit that it should keep."""

from typing import NamedTuple


class Limit(NamedTuple):
    """What a figure should be at most, or at least."""

    most: float | None = None
    least: float | None = None

    def kept_by(self, figure: float) -> bool:
        return (self.most is None or figure <= self.most) and (self.least is None or figure >= self.least)

    def __str__(self) -> str:
        return f"≤ {self.most:g}" if self.most is not None else f"≥ {self.least:g}"


class Row(NamedTuple):
    """One line. ``group`` is what it was measured with; a row without a limit is for orientation."""

    group: str
    what: str
    figure: float
    unit: str
    limit: Limit | None = None

    @property
    def verdict(self) -> str:
        """``""`` where nothing is asked, ``kept``, or ``MISSED``."""
        if self.limit is None:
            return ""
        return "kept" if self.limit.kept_by(self.figure) else "MISSED"


def shown(figure: float, unit: str) -> str:
    """The figure with as many digits as say something."""
    size = abs(figure)
    digits = 0 if size >= 100 else 1 if size >= 10 else 2
    return f"{figure:,.{digits}f}" + (f" {unit}" if unit else "")
