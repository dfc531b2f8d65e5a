"""Names, numbers and limits of the trace format; ``docs/trace-format.md`` is their specification.

Imported in every preloaded process: constants and errors only.
"""

from typing import Final

VERSION: Final = 1
READ_BY: Final = {0: "0.1.0"}  # versions that are not read any more, and the last Cannery that does
MAGIC: Final = "cannery"

# Names in the folder (section 2)
BUNDLE: Final = "bundle"
SCHEMA: Final = "schema"
END: Final = "end"
PROCESS: Final = "process"
INFLIGHT: Final = "inflight"
PACK: Final = "payloads.pack"
INDEX: Final = "index"
KEYFRAMES: Final = "keyframes"
ORIGIN: Final = "origin"
JOURNAL: Final = ".journal"
CHUNK: Final = ".chunk"
UNFINISHED: Final = ".new"
LOST: Final = ".lost"  # what a repair replaced, kept aside
PACKED: Final = ".pack"
STATE: Final = ".origin"  # of a tail: the content of the state that it begins with, by the number of its first call
HOLD: Final = "hold"  # (with .new) has such a process wait before its next window
STOP: Final = "stop"  # says that the tails of a bundle are complete

# Kinds of record that are not calls (section 5)
WINDOW: Final = -1
ENTER: Final = -2
EXIT: Final = -3
PACE: Final = -4
EXPIRE: Final = -5
THREAD_END: Final = -6
UNSUPPORTED: Final = -7
STOPPED: Final = -8
EFFECTS: Final = -9
INVOKE: Final = -10
RETURNED: Final = -11
ERRAND: Final = -12
SIGNAL: Final = -13
SKIPPED: Final = -14
OPTIONAL: Final = -64  # kinds from here down may be skipped
NOTE: Final = -64
REGION: Final = -65

# Effects (section 7)
READ: Final = 1
WRITE: Final = 2
MOVE: Final = 3
FILL: Final = 4
ALLOC: Final = 5
FILE: Final = 6
THREAD: Final = 7
MODEL: Final = 8
KERNEL: Final = 9
WROTE: Final = 10
SAW: Final = 11
PEER: Final = 12
SHARED: Final = 13
TID: Final = 14
EFFECT_KINDS: Final = {
    READ: "read",
    WRITE: "write",
    MOVE: "move",
    FILL: "fill",
    ALLOC: "alloc",
    FILE: "file",
    THREAD: "thread",
    MODEL: "model",
    KERNEL: "kernel",
    WROTE: "wrote",
    SAW: "saw",
    PEER: "peer",
    SHARED: "shared",
    TID: "tid",
}

# What other processes answered or did (section 7): topics of PEER effects.
PROCESS_ID: Final = 1
HELD: Final = 2
SHARE: Final = 3
ALLOW: Final = 4
OPEN: Final = 5
REVOKE: Final = 6
SIGNALLED: Final = 7
TAKEN: Final = 8
CLEARED: Final = 9
RECORD: Final = 10
COMPLETE: Final = 11
LATEST: Final = 12
COMPLETED: Final = 13
STORE: Final = 14
TOPICS: Final = {
    PROCESS_ID: "process id",
    HELD: "held by others",
    SHARE: "share",
    ALLOW: "allow",
    OPEN: "open",
    REVOKE: "revoke",
    SIGNALLED: "signal",
    TAKEN: "take",
    CLEARED: "clear",
    RECORD: "record",
    COMPLETE: "complete",
    LATEST: "latest record",
    COMPLETED: "record is done",
    STORE: "memory",
}
POLICIES: Final = ("input", "full", "hash", "none")
SHORT: Final = 32  # bytes of payload that stand in the record itself
DIGEST: Final = 16

# Sizes and limits (sections 4, 10 and 13)
WINDOW_SIZE: Final = 4 << 20
TAIL_WINDOW: Final = 256 << 10  # of a process of which only the tail is kept
TAIL_PACK: Final = 16 << 20  # its windows end when their payloads have so many bytes
TAIL_BEHIND: Final = 32 << 20  # bytes that are to be dropped, but are not yet, beyond which the process is held
TAIL_PACKS: Final = 2  # so many windows before the first that is kept, packs are kept too
WINDOW_RESERVE: Final = 256  # kept free for a STOPPED record
MAX_REASON: Final = 240  # bytes of its text
PAGE: Final = 4096
MAX_RECORD: Final = 16 << 20
MAX_WINDOW: Final = MAX_RECORD + (1 << 20)
MAX_EFFECTS: Final = 1024
MAX_ELEMENTS: Final = 65535
MAX_DEPTH: Final = 1024  # of arrays in arrays: the stack of the msgpack reader
MAX_TIME: Final = 1 << 61  # nanoseconds, before and after the beginning of a stream
MAX_SHEET: Final = 1 << 20
MAX_INDEX: Final = 64 << 20
MAX_INDEXED_PAYLOADS: Final = 1_000_000
MAX_SCHEMA: Final = 16 << 20
MAX_STATE: Final = 256 << 20
SLOTS: Final = 1024
SLOT_SIZE: Final = 64
SLOT_ARGS: Final = 6


class TraceError(Exception):
    """A bundle cannot be made, joined or opened; the text is one line that says why and what to do."""


class NotABundle(TraceError):  # noqa: N818
    """There is no bundle at that path."""


class FutureVersion(TraceError):  # noqa: N818
    """The bundle, or a part of it, was made by a newer Cannery."""


class PastVersion(TraceError):  # noqa: N818
    """The bundle was made by an old Cannery, in a version of the format that carried no promise."""


class BundleExists(TraceError):  # noqa: N818
    """There is something at that path already, and it may not be replaced."""


class InUse(TraceError):  # noqa: N818
    """The bundle, or a part of it, is being written; the text says by whom."""


class DamagedTrace(TraceError):  # noqa: N818
    """``path`` (within the bundle) is damaged at byte ``offset``; ``what`` says how."""

    def __init__(self, path: str, offset: int, what: str) -> None:
        super().__init__(f"{path}: damaged at byte {offset}: {what}")
        self.path = path
        self.offset = offset
        self.what = what

    def __reduce__(self) -> tuple[type["DamagedTrace"], tuple[str, int, str]]:
        return type(self), (self.path, self.offset, self.what)


class MissingFile(DamagedTrace):
    """``path`` belongs to the trace and is not there."""

    def __init__(self, path: str, offset: int = 0, what: str = "is missing") -> None:
        super().__init__(path, offset, what)
        self.args = (f"{path} {what}",)


def check_version(path: str, version: object) -> None:
    """Whether this Cannery reads a bundle of that version.

    Raises:
        FutureVersion, PastVersion: it does not; the text says which one does.
        DamagedTrace: that is no version.
    """
    if version.__class__ is not int or not isinstance(version, int) or version < 0:
        raise DamagedTrace(BUNDLE, 0, "it does not say what a bundle has to say")
    if version > VERSION:
        raise FutureVersion(
            f"{path} has format version {version}; this Cannery reads up to version {VERSION}: use a newer one"
        )
    if version in READ_BY:
        raise PastVersion(
            f"{path} has format version {version}, which this Cannery does not read: use Cannery {READ_BY[version]}"
        )


def process_name(ordinal: int) -> str:
    """Folder name of a process: ``p0001``."""
    return f"p{ordinal:04d}"


def process_ordinal(name: str) -> int | None:
    """The ordinal in a folder name; None for a name that :func:`process_name` does not give."""
    return _number(name.removeprefix("p"), 4) if name.startswith("p") else None


def window_name(number: int, suffix: str) -> str:
    """File name of a window: ``000001.journal``."""
    return f"{number:06d}{suffix}"


def window_number(name: str, suffix: str) -> int | None:
    """The number in a window's file name; None for any other name."""
    return _number(name.removesuffix(suffix), 6) if name.endswith(suffix) else None


def _number(digits: str, width: int) -> int | None:
    if not (digits.isascii() and digits.isdigit() and width <= len(digits) <= 9):
        return None
    number = int(digits)
    return number if number > 0 and f"{number:0{width}d}" == digits else None
