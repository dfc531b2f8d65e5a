"""What processes share, by keys (docs/sessions.md): the refusals that all kinds have in common.

Where the driver decides, the documents name no number. Ours is that for what it does not know (switch
ipc-import-unlisted, and semantics.md 0.1).
"""

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

from cannery.runtime.errors import Refused, driver_fault
from cannery.runtime.exchange import ALONE, DONE, GONE, NOT_OWN, OWN, UNLISTED

if TYPE_CHECKING:
    from cannery.runtime.machine import Machine


def alone() -> Refused:
    """The process is in no session, or the session has no room."""
    return driver_fault(
        "nothing can be shared with other processes here (a line on standard error says why; cannery doctor checks)"
    )


def open_entry(machine: "Machine", kind: int, key: Any, what: str) -> tuple[int, int, int]:
    """Open what another process shares; entry, index of its device, size (of a notify: its number).

    Raises:
        Refused: 507899, it cannot be opened; the text says why.
    """
    outcome, entry, device, size = machine.port.exchange.open(kind, key)
    if outcome == DONE and entry in machine.shared:
        raise driver_fault("this process has opened that {} already; use the handle that it got then", what)
    if outcome == DONE:
        return entry, device, size
    if outcome == UNLISTED:
        raise driver_fault(
            "this process is not on the list of those that may open that {}; its owner has to name the id that "
            "aclrtDeviceGetBareTgid gives here, or to share it without a list",
            what,
        )
    if outcome == GONE:
        raise driver_fault("that {} is gone: it was destroyed or closed, or the process that shared it ended", what)
    if outcome == OWN:
        raise driver_fault("this process shares that {} itself; use the one that it has", what)
    if outcome == ALONE:
        raise alone()
    raise driver_fault(
        "no process of this session shares a {} by that key; pass it complete and unchanged, to a process of the same "
        "cannery run, or of the same --session",
        what,
    )


def allow(machine: "Machine", kind: int, key: Any, processes: Sequence[int]) -> None:
    """Name processes that may open what this one shares.

    Raises:
        Refused: 507899, the key is not that of something this process shares.
    """
    outcome = machine.port.exchange.allow(kind, key, processes)
    if outcome == ALONE:
        raise alone()
    if outcome == NOT_OWN:
        raise driver_fault("another process shares what that key names, and only it says who may open it")
    if outcome != DONE:
        raise driver_fault("this process shares nothing by that key")
