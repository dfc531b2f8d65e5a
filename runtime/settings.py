"""How one process's machine is configured: the options that decide results, and so stand in the trace.

``Settings`` is a plain value. It comes from the environment (``CANNERY_*``, which is how ``cannery run`` hands its
options on), and goes to and from a msgpack map in the header of a process's stream.
"""

from collections.abc import Mapping
from typing import Any, Final, NamedTuple, Self

DEFAULT_PRODUCT: Final = "A2"
DEFAULT_DEVICES: Final = 8
MOST_DEVICES: Final = 64


class SettingError(ValueError):
    """A setting has a value that Cannery does not know; the text names the setting and what it accepts."""


class Settings(NamedTuple):
    """Everything a user chooses that influences what a call returns."""

    product: str = DEFAULT_PRODUCT  # a name of runtime.products
    devices: int = DEFAULT_DEVICES  # 0..64; 0 means a machine without any
    schedule: str = "asap"  # asap | late | seed:N
    clock: str = "real"  # real | virtual
    behaviour: str = "default"  # default | documented | observed, then ,switch=value overrides
    acl_api: str = ""  # "" | "1.17"
    visible: str | None = None  # value of ASCEND_RT_VISIBLE_DEVICES, None when unset
    virtualised: bool = False  # the devices are instances of virtualised ones, which cannot do all that whole ones can
    strict: bool = False  # a launch of a kernel that has no model is refused

    @classmethod
    def from_environment(cls, environment: Mapping[str, str]) -> Self:
        """Read ``CANNERY_PRODUCT``, ``_DEVICES``, ``_SCHEDULE``, ``_CLOCK``, ``_BEHAVIOUR``, ``_ACL_API``,
        ``_VIRTUALISED``, ``_STRICT`` and ``ASCEND_RT_VISIBLE_DEVICES``.

        Raises:
            SettingError: a value is not understood.
        """
        values: dict[str, Any] = {}
        for field in ("product", "schedule", "clock", "behaviour", "acl_api"):
            text = environment.get(f"CANNERY_{field.upper()}")
            if text:
                values[field] = text
        count = environment.get("CANNERY_DEVICES")
        if count:
            if not count.isascii() or not count.isdigit() or int(count) > MOST_DEVICES:
                raise SettingError(f"CANNERY_DEVICES={count!r}: expected a whole number from 0 to {MOST_DEVICES}")
            values["devices"] = int(count)
        for field in ("virtualised", "strict"):
            name = f"CANNERY_{field.upper()}"
            switch = environment.get(name) or "0"
            if switch not in ("0", "1"):
                raise SettingError(f"{name}={switch!r}: expected 1 or 0")
            values[field] = switch == "1"
        values["visible"] = environment.get("ASCEND_RT_VISIBLE_DEVICES")
        settings = cls(**values)
        settings.check()
        return settings

    @classmethod
    def from_map(cls, stored: Mapping[str, Any]) -> Self:
        """Read the map of a trace header; unknown keys are refused, since they would change results.

        Raises:
            SettingError: a key or a value is not understood.
        """
        unknown = sorted(set(stored) - set(cls._fields))
        if unknown:
            raise SettingError(f"the trace was made with settings this version does not know: {', '.join(unknown)}")
        settings = cls(**stored)
        settings.check()
        return settings

    def to_map(self) -> dict[str, Any]:
        """The map that :meth:`from_map` reads."""
        return dict(self._asdict())

    def check(self) -> None:
        """Raises SettingError for a value outside what the fields accept."""
        if self.devices.__class__ is not int or not 0 <= self.devices <= MOST_DEVICES:
            raise SettingError(f"devices {self.devices!r}: expected a whole number from 0 to {MOST_DEVICES}")
        name, _, seed = self.schedule.partition(":")
        if not (self.schedule in ("asap", "late") or (name == "seed" and seed.isascii() and seed.isdigit())):
            raise SettingError(f"schedule {self.schedule!r}: expected asap, late or seed:N")
        if self.clock not in ("real", "virtual"):
            raise SettingError(f"clock {self.clock!r}: expected real or virtual")
        if self.acl_api not in ("", "1.17"):
            raise SettingError(f"acl_api {self.acl_api!r}: expected 1.17 or nothing")
