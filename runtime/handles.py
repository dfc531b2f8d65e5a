"""Handles: what the program sees of an object is a number computed from its ordinal.

The machine numbers its objects of all kinds from 1 in the order of their creation and never reuses a number, so a
stale handle is always recognised, and a machine that makes the same objects gives the same handles.
"""

from typing import Final

HANDLE_BASE: Final = 0x1F00_0000_0000
HANDLE_STEP: Final = 16
_LIMIT: Final = HANDLE_BASE + (1 << 36) * HANDLE_STEP
NO_IDENTITY: Final = 0xFFFF_FFFF
"""What a function returns that gives the identity of something, and has nothing to tell (reference implementation)."""


def handle_of(ordinal: int) -> int:
    """The handle of the object with that ordinal."""
    return HANDLE_BASE + ordinal * HANDLE_STEP


def ordinal_of(handle: int) -> int | None:
    """The ordinal in a handle; None for a value that cannot be one of our handles."""
    if HANDLE_BASE < handle < _LIMIT and handle % HANDLE_STEP == 0:
        return (handle - HANDLE_BASE) // HANDLE_STEP
    return None
