"""What the machine asks of the other processes of its session: the exchange (docs/sessions.md).

Part of the port (``ports.py``), and like it an input: each answer that can matter is recorded. To ask whether something
happened, and hear that it did not, leaves nothing: replay gives the recorded yes to the question that got it. That
needs questions in the same order, and no second one about the same thing in one step.

An *entry* is something that a process shares: a notify, an event, memory. It has a number, unique in the session. Keys
are opaque here: what :meth:`Exchange.share` gave, or what a program passed for one.
"""

from collections.abc import Sequence
from typing import Any, Final, Protocol

from cannery.runtime.ports import DeviceStore

# Kinds of entry.
NOTIFY: Final = 1
EVENT: Final = 2
MEMORY: Final = 3  # device memory, shared by aclrtIpcMemGetExportKey
PHYSICAL: Final = 4  # physical memory, by a number (aclrtMemExportToShareableHandle)
PHYSICAL_BYTES: Final = 5  # likewise, by the 8 bytes of the number
FABRIC: Final = 6  # likewise, by the 128 bytes of an aclrtMemFabricHandle

# Budgets of a device.
MEMORY_BYTES: Final = 0
STREAMS: Final = 1
EVENTS: Final = 2
NOTIFIES: Final = 3

# Outcomes.
DONE: Final = 0
UNKNOWN: Final = 1  # no such key, or one of another kind
UNLISTED: Final = 2  # this process may not open it
GONE: Final = 3  # what it stood for is gone, with its process or before
OWN: Final = 4  # this process shares it itself
NOT_OWN: Final = 5  # another process shares it
ALONE: Final = 6  # there is nothing to share things in, or no room for more


class Exchange(Protocol):
    """The session, as one of its processes sees it."""

    def process_id(self) -> int:
        """The id of this process (getpid), by which others put it on their lists."""

    def hold(self, device: int, budget: int, amount: int, limit: int) -> int:
        """Hold so much more of a device's budget (below 0: less), unless all processes together would hold more than
        ``limit``. What the others hold, by which the machine knows which it was."""

    def share(self, kind: int, device: int, offset: int, size: int, listed: bool) -> tuple[int, Any]:
        """Share something of this process; its entry and key. ``listed``: only processes that :meth:`allow` names may
        open it. For memory: where it is in the device's store. Entry 0: it cannot be shared."""

    def allow(self, kind: int, key: Any, processes: Sequence[int]) -> int:
        """Put processes on the list of what this process shares; DONE, UNKNOWN or NOT_OWN."""

    def open(self, kind: int, key: Any) -> tuple[int, int, int, int]:
        """Open what another process shares: outcome, entry, device, size. On any outcome but DONE the rest is 0."""

    def close(self, entry: int) -> None:
        """Let go of what was opened, or share it no longer."""

    def revoke(self, kind: int, key: Any) -> tuple[int, int]:
        """Share it no longer; DONE, UNKNOWN or NOT_OWN, and the entry."""

    def hasten(self, due: int) -> None:
        """Others may wait for what is due at that monotonic time: have it run then."""

    # Notifies: one flag.

    def signal(self, entry: int) -> None:
        """Set the flag."""

    def take(self, entry: int) -> bool:
        """Clear the flag if it is set, and say whether it was. If not, a *signal* step follows a later change."""

    def clear(self, entry: int) -> None:
        """Clear the flag."""

    # Events: records, of which so many can be outstanding.

    def record(self, entry: int) -> int:
        """Begin a record, which is the latest then; 0 if too many are outstanding, and a *signal* step follows."""

    def complete(self, entry: int, record: int) -> None:
        """A record is done."""

    def latest(self, entry: int) -> int:
        """The latest record, 0 if it is done or there is none. A *signal* step follows when it is done."""

    def completed(self, entry: int, record: int) -> bool:
        """Whether a record is done. If not, a *signal* step follows."""

    # Memory.

    def store(self, entry: int, size: int) -> DeviceStore | None:
        """The bytes of opened memory; None if its process is gone."""

    def snapshot(self, view: memoryview) -> memoryview:
        """The content of memory that another process may write, at this moment."""

    def touch(self, entry: int) -> None:
        """Memory was written: have others look that wait for a value in it."""

    def untouched(self, entry: int) -> None:
        """Have a *signal* step made when others write that memory."""
