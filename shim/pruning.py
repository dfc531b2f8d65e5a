"""Keeps the user's cache small: when something is made there, what nobody used for longest goes.

Upgrades and builds leave an SDK folder each, and a function table. What goes is made again when it is asked for, but a
process that was started with a folder's path in its environment hands it to its children, so such a folder stays. So
do the latest, and all that were used within a day, since the environments of processes in other containers cannot be
seen, builds may name a folder, and a long-lived process may have found one long before it starts programs with it.
"""

import contextlib
import os
import re
import secrets
import shutil
import time
from pathlib import Path
from typing import Final

FOLDERS: Final = re.compile(r"[0-9a-f]{16}")
TABLES: Final = re.compile(r"schema-[0-9a-f]{32}")
KEPT: Final = 16
"""How many of each are kept."""
_RECENT: Final = 24 * 3600 * 10**9  # ns since the last use


def used(path: Path) -> None:
    """Note that it is used now."""
    with contextlib.suppress(OSError):  # a cache that cannot be written to is not pruned either
        os.utime(path)


def prune(made: Path, alike: re.Pattern[str]) -> None:
    """Remove what has such a name beside what was ``made``, but for the latest, and for what processes may need."""
    cache = made.parent
    old = sorted(_age(path) for path in cache.iterdir() if alike.fullmatch(path.name) and path != made)[: 1 - KEPT]
    if not old:
        return
    needed = _named_in_environments(cache)
    recent = time.time_ns() - _RECENT
    for age, path in old:
        if age < recent and path.name not in needed:
            _remove(path)


def _age(path: Path) -> tuple[int, Path]:
    try:
        return path.stat().st_mtime_ns, path
    except OSError:  # another process removed it
        return 0, path


def _named_in_environments(cache: Path) -> set[str]:
    """Names of folders in the cache that the environments of this user's processes have."""
    pattern = re.compile(re.escape(os.fsencode(cache)) + b"/(" + FOLDERS.pattern.encode() + b")")
    found: set[str] = set()
    for process in Path("/proc").glob("[0-9]*"):
        with contextlib.suppress(OSError):
            found.update(name.decode() for name in pattern.findall((process / "environ").read_bytes()))
    return found


def _remove(path: Path) -> None:
    """A folder first gets a name that ``cannery doctor --clean`` knows as left over, lest half of it be used."""
    with contextlib.suppress(OSError):
        if path.is_dir():
            path = path.rename(path.with_name(f"{path.name}.{secrets.token_hex(4)}"))
            shutil.rmtree(path)
        else:
            path.unlink()
