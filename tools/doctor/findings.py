"""What a check of ``cannery doctor`` finds."""

from typing import Any, Final, NamedTuple

OK: Final = "ok"
NOTE: Final = "note"  # worth knowing; everything works
PROBLEM: Final = "problem"  # something does not work


class Finding(NamedTuple):
    """``remedy`` says what to do about it, if anything has to be done. ``items`` are the things found, if many."""

    name: str
    state: str
    text: str
    remedy: str = ""
    items: tuple[str, ...] = ()

    def to_json(self) -> dict[str, Any]:
        """The object that ``cannery doctor --json`` prints for it."""
        return self._asdict()
