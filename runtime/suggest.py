"""Errors about settings, with the closest name that exists."""

from collections.abc import Sequence

from cannery.runtime.settings import SettingError


def unknown(what: str, given: str, accepted: Sequence[str]) -> SettingError:
    """``given`` is none of ``accepted``."""
    import difflib  # slow to import, and only needed for an error

    close = difflib.get_close_matches(given.lower(), [name.lower() for name in accepted], 1, 0.5)
    hint = "".join(f"; did you mean {name}?" for name in accepted if name.lower() in close)
    return SettingError(f"unknown {what} {given!r}{hint or '; accepted: ' + ', '.join(accepted)}")
