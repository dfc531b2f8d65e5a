"""Keys of what is shared: the place of its entry in the session's files, and a secret that only its owner gives out.

A key is looked up by its place, which has to be in the table, and counts only with the right secret; nothing else is
taken from it. Those that are numbers have room for a part of the secret.
"""

import re
from typing import Any, Final

from cannery.runtime import exchange

SECRET: Final = 24
SHORT_SECRET: Final = 5  # of keys that are numbers
FABRIC_SIZE: Final = 128
_TEXT: Final = re.compile(rb"[0-9a-f]{56}")
_SHIFT: Final = 16  # of the index in keys that are numbers
_MASK: Final = (1 << 64) - 1


def make_key(kind: int, index: int, secret: bytes) -> Any:
    """The key of an entry, in the shape that its kind has."""
    if kind in (exchange.NOTIFY, exchange.MEMORY):
        return b"%08x%s" % (index, secret.hex().encode())
    number = int.from_bytes(secret[:SHORT_SECRET], "little") << _SHIFT | index
    if kind == exchange.EVENT:
        return (number.to_bytes(8, "little") + bytes(56),)
    if kind == exchange.PHYSICAL:
        return number
    if kind == exchange.PHYSICAL_BYTES:
        return number.to_bytes(8, "little")
    return (b"%08x%s" % (index, secret.hex().encode())).ljust(FABRIC_SIZE, b"\0")


def parse_key(kind: int, key: Any) -> tuple[int, bytes] | None:
    """Index and secret in a key; None for what is none of that kind."""
    if kind in (exchange.NOTIFY, exchange.MEMORY, exchange.FABRIC):
        if kind == exchange.FABRIC:
            if len(key) != FABRIC_SIZE or any(key[56:]):
                return None
            key = key[:56]
        if not _TEXT.fullmatch(key):
            return None
        return int(key[:8], 16), bytes.fromhex(key[8:].decode())
    if kind == exchange.EVENT:
        if any(key[0][8:]):
            return None
        key = key[0][:8]
    if kind != exchange.PHYSICAL:
        if len(key) != 8:
            return None
        key = int.from_bytes(key, "little")
    index, rest = key & ((1 << _SHIFT) - 1), (key & _MASK) >> _SHIFT
    return None if rest >> 8 * SHORT_SECRET else (index, rest.to_bytes(SHORT_SECRET, "little"))
