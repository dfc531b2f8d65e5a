"""Makes bundles, and replaces old ones (section 2 of the format)."""
# ruff: noqa: PTH102, PTH104, PTH106, PTH108 - importing pathlib would cost every preloaded process milliseconds

import errno
import os
from time import gmtime, strftime
from typing import Any, Final

from cannery.recorder import format
from cannery.recorder.claim import hold_lock, lives, read_bundle_sheet
from cannery.recorder.format import BundleExists, DamagedTrace, TraceError
from cannery.recorder.schema import expand, schema_digest
from cannery.recorder.sheet import pack_sheet, replace_file, unpack_sheet

_BUNDLE_FILES: Final = frozenset({format.BUNDLE, format.SCHEMA, format.END, format.STOP})
_KEYFRAMES: Final = (format.KEYFRAMES, format.ORIGIN)
_PROCESS_FILES: Final = frozenset(
    {
        *(format.PROCESS, format.INFLIGHT, format.PACK, format.INDEX, format.END, format.HOLD),
        *(f"{name}{suffix}" for name in _KEYFRAMES for suffix in ("", format.PACKED)),
    }
)


def create_bundle(path: str, session: str, schema: bytes, *, force: bool = False, tool: str = "") -> int:
    """Make a bundle with no process in it. Return a descriptor whose lock marks it as in use until it is closed.

    ``schema`` is the content of its function table, compressed or not, ``session`` the name that processes join by.

    Raises:
        BundleExists: there is something at ``path``; ``force`` replaces a bundle that nobody is writing.
        OSError: it cannot be made there.
    """
    path = path.rstrip("/") or path
    unfinished = f"{path}.{os.urandom(6).hex()}{format.UNFINISHED}"
    os.mkdir(unfinished)
    try:
        replace_file(f"{unfinished}/{format.SCHEMA}", schema)
        replace_file(f"{unfinished}/{format.BUNDLE}", pack_sheet(_bundle_sheet(session, schema, tool)))
        lock = hold_lock(f"{unfinished}/{format.BUNDLE}")
        try:
            name_bundle(unfinished, path, force)
        except BaseException:
            os.close(lock)
            raise
    except BaseException:
        remove_bundle(unfinished)
        raise
    return lock


def _bundle_sheet(session: str, schema: bytes, tool: str) -> dict[str, Any]:
    return {
        "magic": format.MAGIC,
        "version": format.VERSION,
        "session": session,
        "schema": schema_digest(expand(schema)),
        "tool": tool,
        "created": strftime("%Y-%m-%dT%H:%M:%SZ", gmtime()),
    }


def name_bundle(unfinished: str, path: str, force: bool) -> None:
    """Give a bundle that was made under another name its own.

    Raises:
        BundleExists: there is something; ``force`` replaces a bundle that nobody is writing.
        OSError: it cannot be renamed.
    """
    try:
        os.rename(unfinished, path)
        return
    except OSError as error:
        if error.errno not in (errno.ENOTEMPTY, errno.EEXIST, errno.ENOTDIR):
            raise
    if not force:
        try:
            read_bundle_sheet(path)
        except TraceError:
            raise BundleExists(f"{path} exists and is not a Cannery bundle; choose another name") from None
        raise BundleExists(f"{path} exists; --force replaces it")
    check_replaceable(path)
    old = f"{path}.{os.urandom(6).hex()}.old{format.UNFINISHED}"
    os.rename(path, old)
    try:
        os.rename(unfinished, path)
    except OSError:
        os.rename(old, path)
        raise
    remove_bundle(old)


def check_replaceable(path: str) -> None:
    """Raises BundleExists for what is not a bundle through and through, and for one that is being written."""
    try:
        read_bundle_sheet(path)
    except DamagedTrace:
        pass
    except TraceError as error:
        raise BundleExists(f"{error}; it is not replaced") from None
    for folder, name, is_folder in _entries(path):
        base = name.removesuffix(format.UNFINISHED).removesuffix(format.LOST)
        top = folder == path
        known = (
            format.process_ordinal(name) is not None
            if top and is_folder
            else not is_folder
            and (base in (_BUNDLE_FILES if top else _PROCESS_FILES) or (not top and _is_window(base)))
        )
        if not known:
            raise BundleExists(f"{folder}/{name} is no part of a Cannery bundle; {path} is not replaced")
        if not is_folder and name in (format.BUNDLE, format.PROCESS) and _in_use(f"{folder}/{name}"):
            raise BundleExists(f"{path} is being written; it is not replaced")


def _is_window(name: str) -> bool:
    suffixes = format.JOURNAL, format.CHUNK, format.PACKED, format.STATE
    return any(format.window_number(name, suffix) is not None for suffix in suffixes)


def _in_use(path: str) -> bool:
    try:
        descriptor = os.open(path, os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_CLOEXEC)
    except OSError:
        return False
    try:
        sheet, _ = unpack_sheet(os.read(descriptor, format.MAX_SHEET), path)
    except (OSError, DamagedTrace):
        sheet = {}
    try:
        return lives(sheet, descriptor)
    finally:
        os.close(descriptor)


def _entries(path: str) -> list[tuple[str, str, bool]]:
    """``(folder, name, is a folder)`` of all that is in a bundle, two levels deep; links count as files."""
    found = []
    with os.scandir(path) as top:
        for entry in top:
            is_folder = entry.is_dir(follow_symlinks=False)
            found.append((path, entry.name, is_folder))
            if is_folder:
                with os.scandir(entry.path) as inner:
                    found += [(entry.path, part.name, part.is_dir(follow_symlinks=False)) for part in inner]
    return found


def remove_bundle(path: str) -> None:
    """Remove a folder of ours: what :func:`check_replaceable` accepted, or what was not finished."""
    entries = _entries(path)
    for folder, name, is_folder in entries:
        if not is_folder:
            os.unlink(f"{folder}/{name}")
    for folder, name, is_folder in entries:
        if is_folder:
            os.rmdir(f"{folder}/{name}")
    os.rmdir(path)
