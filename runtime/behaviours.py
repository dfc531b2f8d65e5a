"""Switches: one for each case where documents and the reference implementation differ (semantics.md 11).

``--behaviour`` names a set, ``documented``, ``observed`` or ``default``, and may go on with ``,switch=value``. Where
one of them says nothing (None) the default counts. The values are names of what the model does.

A rule that is corrected, so that a call answers otherwise than before, gets a switch too: ``before`` is what the model
did until version ``since``, and what counts for recordings of earlier versions. So they replay as they were made. The
code asks ``machine.behaviour`` for it as for any other switch.
"""

from typing import Final, NamedTuple

from cannery.runtime.settings import SettingError
from cannery.runtime.suggest import unknown
from cannery.runtime.version import VERSION

SETS: Final = ("default", "documented", "observed")


class Switch(NamedTuple):
    """``default`` is what Cannery does unless told otherwise; since version ``since``, until which it did ``before``.
    Both are empty where nothing was corrected."""

    name: str
    documented: str | None
    observed: str | None
    default: str
    about: str
    since: str = ""
    before: str = ""

    @property
    def values(self) -> tuple[str, ...]:
        """What the switch can be set to."""
        known = self.documented, self.observed, self.default, self.before
        return tuple(dict.fromkeys(value for value in known if value))

    def default_of(self, recorded: str) -> str:
        """What counts for a recording of that version of Cannery. Raises SettingError: that is none."""
        return self.before if self.since and release(recorded) < release(self.since) else self.default


SWITCHES: Final = (
    Switch(
        "snapshot-repeat-backup", "last-counts", "refuse", "last-counts",
        "a second backup without restore between: the last one counts, or it is refused (507908)",
    ),
    Switch(
        "snapshot-signature", "none", "pid", "none",
        "parameters of the snapshot calls: none, or a process id and a reserved pointer",
    ),
    Switch(
        "snapshot-950dt", "supported", "unsupported", "supported",
        "snapshot calls on 950DT: as on 950PR, or unsupported (207000)",
    ),
    Switch(
        "memcpyasync-host-to-host", "fail-later", "refuse", "fail-later-kind-0",
        "an asynchronous copy from host to host: refused at the call (207000), or failing when it runs "
        "(507000); fail-later-kind-0 fails later for ACL_MEMCPY_HOST_TO_HOST only",
    ),
    Switch(
        "memcpyasync-alignment", "64", "unchecked", "unchecked",
        "addresses of asynchronous copies: multiples of 64 (else 107008), or any",
    ),
    Switch(
        "memcpy-kind", "hint", "checked", "checked",
        "a kind outside 0..5 of aclrtMemcpy: without effect, or refused (100000)",
    ),
    Switch(
        "peer-copy-direction", "either", "one-way", "either",
        "the direction in which access has to be enabled for a copy between two devices: any, or from the "
        "device of the copy to the other",
    ),
    Switch(
        "reset-default-event", None, "accept", "accept",
        "aclrtResetEvent of an event made by aclrtCreateEvent: accepted; a wait behind it ends by its limit "
        "only",
    ),
    Switch(
        "waitstatus-without-sync", "refuse", "complete", "complete",
        "aclrtQueryEventWaitStatus of an event without ACL_EVENT_SYNC: refused (207000), or COMPLETE",
    ),
    Switch(
        "wait-never-recorded-default", None, "refuse", "refuse",
        "a wait for an event made by aclrtCreateEvent before any record of it: refused (107000)",
    ),
    Switch(
        "record-external-repeat", "accept", "refuse", "refuse",
        "a second external record or wait of an event in one graph: accepted, or refused (107000)",
    ),
    Switch(
        "capture-after-refusal", "broken", "active", "active",
        "a capture in which a call was refused because of it (107027, 107028, 107030): broken, so that its "
        "end answers 507903, or active",
    ),
    Switch(
        "notify-key-length", "refuse", "refuse", "refuse",
        "aclrtNotifyGetExportKey with room for fewer than 65 bytes: refused (107000)",
    ),
    Switch(
        "notify-wait-unit", "seconds", "seconds", "seconds",
        "unit of the limit of aclrtWaitAndResetNotify; older documents say milliseconds",
    ),
    Switch(
        "elapsed-same-stream", None, "unchecked", "unchecked",
        "aclrtEventElapsedTime of events that were recorded on two streams: not checked",
    ),
    Switch(
        "stream-limit", "published", "code", "code",
        "how many streams a device has: as published, or as the code counts",
    ),
    Switch(
        "event-query-lag", None, None, "exact",
        "whether a record that is done may read as pending for some time: never",
    ),
    Switch(
        "handle-after-device-reset", None, None, "refuse",
        "an event handle after its device was reset, a crash on a card: refused (107017)",
    ),
    Switch(
        "callback-calls-blocked-api", None, None, "refuse",
        "a snapshot callback that calls what waits for the lock, a deadlock on a card: refused (507000)",
    ),
    Switch(
        "restore-device-taken", None, None, "driver-error",
        "restore on a device that another process holds: 507899",
    ),
    Switch(
        "ipc-import-unlisted", None, None, "driver-error",
        "an import by a process that is not on the list: 507899",
    ),
    Switch(
        "record-waits-for-id", "wait", "give-up", "wait-while-possible",
        "a record when all event ids are taken: waits, gives up (207007), or waits while queued work can "
        "give one back",
    ),
)  # fmt: skip
_BY_NAME: Final = {switch.name: switch for switch in SWITCHES}


def release(version: str) -> tuple[int, ...]:
    """The numbers of a version, to be compared: ``0.2.0`` is (0, 2, 0), and so is ``0.2.0.dev3``.

    Raises:
        SettingError: it is no version.
    """
    numbers = version.split(".")[:3]
    if len(numbers) != 3 or not all(number.isascii() and number.isdigit() and len(number) < 9 for number in numbers):
        raise SettingError(f"{version!r} is no version of Cannery")
    return tuple(map(int, numbers))


def behaviour(text: str, recorded: str = VERSION) -> dict[str, str]:
    """The value of every switch for a ``--behaviour`` text, in a recording of version ``recorded``.

    Raises:
        SettingError: the set, a switch or a value does not exist, or the version is none.
    """
    base, *overrides = text.split(",")
    if base not in SETS:
        raise unknown("behaviour set", base, SETS)
    release(recorded)
    values = {switch.name: _value(switch, base, recorded) for switch in SWITCHES}
    for override in overrides:
        name, equals, value = override.partition("=")
        if not equals:
            raise SettingError(f"behaviour {override!r}: expected switch=value")
        if name not in _BY_NAME:
            raise unknown("behaviour switch", name, tuple(_BY_NAME))
        switch = _BY_NAME[name]
        if value in SETS:
            value = _value(switch, value, recorded)
        elif value not in switch.values:
            raise unknown(f"value of {name}", value, (*switch.values, *SETS))
        values[name] = value
    return values


def _value(switch: Switch, base: str, recorded: str) -> str:
    chosen = {"documented": switch.documented, "observed": switch.observed}.get(base)
    return switch.default_of(recorded) if chosen is None else chosen
