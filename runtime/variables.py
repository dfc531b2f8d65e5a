"""The environment variables ``CANNERY_*``: which there are, and what the plain ones may say."""

from collections.abc import Iterable, Mapping
from typing import Final

from cannery.runtime.settings import SettingError

OFF: Final = ("0", "no", "false", "off")
ON: Final = ("1", "yes", "true", "on")

VARIABLES: Final = tuple(
    f"CANNERY_{name}"
    for name in (
        # what results depend on
        *("PRODUCT", "DEVICES", "SCHEDULE", "CLOCK", "BEHAVIOUR", "ACL_API", "VIRTUALISED", "KERNELS", "STRICT"),
        *("TRACE", "FORCE", "RECORD", "PAYLOAD", "PAYLOAD_LIMIT", "CALLS", "KEEP", "SESSION"),
        *("ENGINE", "CACHE", "RUNTIME_DIR"),
        *("LAUNCH", "SHARED", "PURE", "ENCODER"),  # set by `cannery run`, and for developers
    )
)


def without_empty(variables: Mapping[str, str]) -> dict[str, str]:
    """The environment without those of our variables that are empty: such a one is not set."""
    return {name: value for name, value in variables.items() if value or not name.startswith("CANNERY_")}


def misspelt(names: Iterable[str]) -> list[str]:
    """For each name that begins like one of ours and is none: a text that says so, with the nearest that is one."""
    unknown = sorted(name for name in names if name.startswith("CANNERY_") and name not in VARIABLES)
    if not unknown:
        return []
    import difflib  # slow to import, and only needed for an error

    found = []
    for name in unknown:
        near = difflib.get_close_matches(name.upper(), VARIABLES, 1, 0.6)
        hint = f" (did you mean {near[0]}?)" if near else ""
        found.append(f"{name} is not a variable of Cannery{hint}")
    return found


def switched(variables: Mapping[str, str], name: str, default: bool) -> bool:
    """The value of a variable that is on or off; ``default`` where it is not set, or empty.

    Raises:
        SettingError: it says something else.
    """
    text = variables.get(name, "")
    if not text:
        return default
    if text.lower() in ON:
        return True
    if text.lower() in OFF:
        return False
    raise SettingError(f"{name}={text!r}: expected 1 or 0")


def check_session(name: str, given: str) -> None:
    """Names of sessions are also names of folders. ``given`` is where the name came from, for the message.

    Raises:
        SettingError: it cannot be one.
    """
    if not name or "/" in name or name.startswith("."):
        raise SettingError(f"{given} {name!r}: expected a name, without / and not beginning with a dot")
