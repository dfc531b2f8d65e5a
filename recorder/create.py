"""Makes bundles, and replaces old ones (section 2 of the format)."""
# ruff: noqa: PTH102, PTH104, PTH106, PTH108, PTH110, PTH112, PTH114, PTH115, PTH120, PTH121, PTH208
# (importing pathlib would cost every preloaded process milliseconds)

import contextlib
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
        BundleExists: see :func:`check_target`.
        OSError: it cannot be made there.
    """
    path = path.rstrip("/") or path
    unfinished = unfinished_name(path)
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
        with contextlib.suppress(FileNotFoundError):  # it has its name: what could not be removed is the old bundle
            remove_bundle(unfinished)
        raise
    return lock


def unfinished_name(path: str) -> str:
    """A name beside ``path``, for a bundle that gets its own when it is whole."""
    return f"{path.rstrip('/') or path}.{os.urandom(6).hex()}{format.UNFINISHED}"


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
        BundleExists: see :func:`check_target`.
        OSError: it cannot be renamed.
    """
    check_target(path, force)
    try:
        os.rename(unfinished, path)
        return
    except OSError as error:
        if error.errno not in (errno.ENOTEMPTY, errno.EEXIST, errno.ENOTDIR):
            raise
    check_target(path, force)  # once more: somebody may have made it meanwhile
    old = f"{path}.{os.urandom(6).hex()}.old{format.UNFINISHED}"
    os.rename(path, old)
    try:
        os.rename(unfinished, path)
    except OSError:
        os.rename(old, path)
        raise
    remove_bundle(old)


def check_target(path: str, force: bool, source: str | None = None) -> None:
    """Whether a bundle may be written to ``path``, before anything is written; ``source`` is the bundle that it is made
    from, if it is.

    Links are never followed: a rename would replace the link, and a removal empty what it leads to.

    Raises:
        BundleExists: it is a link, the source, inside a bundle, or there already; ``force`` replaces a bundle that
            nobody is writing.
    """
    path = path.rstrip("/") or path
    if os.path.islink(path):
        leads = os.readlink(path)
        raise BundleExists(f"{path} is a symbolic link to {leads}; name {leads} itself, or choose another name")
    if source is not None and os.path.exists(path) and os.path.samefile(path, source):
        raise BundleExists(f"{path} is the trace that is read; choose another name")
    check_outside(path)
    if not os.path.lexists(path) or (os.path.isdir(path) and not os.listdir(path)):
        return
    if force:
        check_replaceable(path)
        return
    try:
        read_bundle_sheet(path)
    except TraceError:
        raise BundleExists(f"{path} exists and is not a Cannery bundle; choose another name") from None
    raise BundleExists(f"{path} exists; --force replaces it")


def check_outside(path: str) -> None:
    """Raises BundleExists: a file or folder of that name would be inside a bundle, where nothing else may be."""
    folder = os.path.realpath(os.path.dirname(path))
    while folder != (above := os.path.dirname(folder)):
        try:
            read_bundle_sheet(folder)
        except TraceError:
            folder = above
        else:
            raise BundleExists(f"{path} is inside the trace {folder}; choose a place outside of it")


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
    """Remove a folder of ours: what :func:`check_replaceable` accepted, or what was not finished.

    Raises:
        OSError: it cannot be removed, or is a link: what that leads to is nobody's to remove.
    """
    if os.path.islink(path):
        raise NotADirectoryError(errno.ENOTDIR, os.strerror(errno.ENOTDIR), path)
    entries = _entries(path)
    for folder, name, is_folder in entries:
        if not is_folder:
            os.unlink(f"{folder}/{name}")
    for folder, name, is_folder in entries:
        if is_folder:
            os.rmdir(f"{folder}/{name}")
    os.rmdir(path)
