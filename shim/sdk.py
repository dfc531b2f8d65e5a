"""The SDK folder: what a compiler, a linker and the dynamic loader need to find Cannery where CANN would be.

It is laid out like a CANN installation (``include/acl/acl.h``, ``lib64/libascendcl.so``; see layout.py) and made in a
per-user cache on first use, because a wheel turns links into copies, and because LD_PRELOAD takes a space for the end
of a path. ``engine.conf`` beside the libraries tells the shim which Python to load; see loader.c.
"""

import hashlib
import importlib.util
import os
import secrets
import shutil
import stat
import sys
import sysconfig
import tempfile
from collections.abc import Iterator
from pathlib import Path
from typing import Final

import cannery.shim
from cannery.runtime.version import VERSION
from cannery.shim import layout, pruning
from cannery.shim.compiled import compiled_folder
from cannery.shim.layout import LIBRARY_NAMES, SHARED_NAMES, SHIM_NAME
from cannery.shim.libpython import MissingLibraryError
from cannery.shim.libpython import find as find_libpython

__all__ = [
    "LIBRARY_NAMES",
    "SHARED_NAMES",
    "SHIM_NAME",
    "SdkError",
    "cache_folder",
    "compile_flags",
    "folder",
    "include_folder",
    "libpython",
    "library",
    "library_folder",
    "link_flags",
    "pkg_config_folder",
    "preload",
    "preloads",
    "search_path",
]

#: What the engine imports beside the standard library and Cannery.
_NEEDED: Final = ("_cffi_backend", "msgpack", "xxhash", "zstandard")
#: And what it imports where there are kernel models.
_USED: Final = ("numpy",)
_AGAIN: Final = "install Cannery again (pip install --force-reinstall cannery)"


class SdkError(Exception):
    """The folder cannot be made; the text says what is missing and what to do."""


def _installed(name: str) -> Path:
    for folder in cannery.shim.__path__:
        path = Path(folder, name)
        if path.exists():
            return path
    raise SdkError(f"{name} is not part of this installation: {_AGAIN}")


def library() -> Path:
    """The shim as installed."""
    return _installed(SHIM_NAME)


def _engine() -> Path:
    spec = importlib.util.find_spec("cannery.shim._engine")
    if spec is None or spec.origin is None:
        raise SdkError("the engine module was not built for this Python: install Cannery again with this interpreter")
    return Path(spec.origin)


def libpython() -> Path:
    """The shared library of the running interpreter.

    Raises:
        SdkError: this Python has none.
    """
    try:
        return find_libpython()
    except MissingLibraryError as reason:
        raise SdkError(str(reason)) from None


def _search_path() -> Iterator[Path]:
    """Where the engine's Python finds the standard library, Cannery and what Cannery needs."""
    paths = {name: Path(path) for name, path in sysconfig.get_paths().items()}
    yield paths["stdlib"]
    yield paths["platstdlib"]
    yield Path(sysconfig.get_config_var("DESTSHARED") or paths["stdlib"])
    yield paths["stdlib"] / "lib-dynload"
    for folder in map(Path, cannery.__path__):
        if folder.name == "cannery":  # else a source folder, which an import hook knows as cannery
            yield folder.parent
    yield paths["purelib"]
    yield paths["platlib"]
    for name in _NEEDED:  # elsewhere when installed with --user, or in the system's folder below a virtual environment
        spec = importlib.util.find_spec(name)
        if spec is None or spec.origin is None:
            raise SdkError(f"this installation lacks the module {name}: install Cannery again with {sys.executable}")
        yield Path(spec.origin).parents[1 if spec.submodule_search_locations else 0]
    for name in _USED:
        spec = importlib.util.find_spec(name)
        if spec is not None and spec.origin is not None:
            yield Path(spec.origin).parents[1]


def _configuration() -> str:
    lines = [
        f"libpython={libpython()}",
        f"engine={_engine()}",
        f"executable={sys.executable}",
        f"prefix={sys.base_prefix}",
    ]
    seen = dict.fromkeys(path.absolute() for path in _search_path() if path.is_dir())
    session = importlib.util.find_spec("cannery.shim.session")
    found = [path / "cannery" / "shim" / "session.py" for path in seen]
    ours = Path(session.origin).absolute() if session is not None and session.origin else None
    editable = ours not in [path for path in found if path.exists()][:1]
    compiled = compiled_folder()
    if compiled is not None and not editable:  # an import hook would not look there
        lines.append(f"path={compiled}")
    lines += [f"path={path}" for path in seen]
    if editable:
        lines.append(f"site={sysconfig.get_paths()['purelib']}")  # an editable installation: found by its import hook
    if any("\n" in line for line in lines):
        raise SdkError("a path of this Python contains a line break")
    return "\n".join(lines) + "\n"


def _usable(folder: Path) -> bool:
    """A folder of this user's that nobody else can write to, with a name that LD_PRELOAD can carry."""
    if not folder.is_absolute() or any(mark in str(folder) for mark in " \t\n:;"):
        return False
    try:
        folder.mkdir(mode=0o700, parents=True, exist_ok=True)
        status = folder.lstat()
    except OSError:
        return False
    shared = status.st_mode & (stat.S_IWGRP | stat.S_IWOTH)
    return stat.S_ISDIR(status.st_mode) and status.st_uid == os.geteuid() and not shared and os.access(folder, os.W_OK)


def cache_folder() -> Path:
    """The per-user cache, in a path without spaces: ``CANNERY_CACHE``, else the usual place, else one in /tmp.

    Raises:
        SdkError: no place was usable, or the one that ``CANNERY_CACHE`` names is not.
    """
    get = os.environ.get
    candidates = [Path(tempfile.gettempdir(), f"cannery-{os.geteuid()}")]
    if get("CANNERY_CACHE"):
        candidates = [Path(os.environ["CANNERY_CACHE"])]
    elif get("XDG_CACHE_HOME"):
        candidates.insert(0, Path(os.environ["XDG_CACHE_HOME"], "cannery"))
    elif get("HOME"):
        candidates.insert(0, Path(os.environ["HOME"], ".cache", "cannery"))
    for candidate in candidates:
        if _usable(candidate):
            return candidate
    tried = ", ".join(map(str, candidates))
    raise SdkError(
        f"no usable cache folder (tried {tried}): set CANNERY_CACHE to a folder of yours that nobody else can write to "
        "and whose path has no spaces"
    )


def _headers() -> Path | None:
    candidates = [Path(entry, "include") for entry in cannery.shim.__path__]
    return next((path.resolve() for path in candidates if (path / "acl" / "acl.h").is_file()), None)


def folder() -> Path:
    """The SDK folder of this installation, made if it is not there yet; safe to call from several processes at once.

    Raises:
        SdkError: something of the installation is missing, or no cache folder is usable.
    """
    configuration = _configuration()
    shim = library()
    headers = _headers()
    times = [path.stat().st_mtime_ns for path in (shim, _engine(), Path(layout.__file__))]
    state = f"{VERSION}{configuration}{shim}{headers}{times}"
    target = cache_folder() / hashlib.sha256(state.encode()).hexdigest()[:16]
    if (target / "lib64" / layout.CONFIGURATION).exists():
        pruning.used(target)
        return target
    making = target.with_name(f"{target.name}.{secrets.token_hex(4)}")
    try:
        making.mkdir(mode=0o700)
        layout.fill(making, target, shim.resolve(), headers, configuration, VERSION)
        try:
            making.rename(target)
        except OSError:
            if not (target / "lib64" / layout.CONFIGURATION).exists():
                raise
    except OSError as error:
        raise SdkError(f"cannot make the SDK folder {target}: {error.strerror}") from error
    finally:
        shutil.rmtree(making, ignore_errors=True)
    pruning.prune(target, pruning.FOLDERS)
    return target


def library_folder() -> Path:
    """The folder to give to a linker with ``-L``; also good for LD_LIBRARY_PATH where no CANN is installed."""
    return folder() / "lib64"


def include_folder() -> Path:
    """The folder to give to a compiler with ``-I``.

    Raises:
        SdkError: as :func:`folder`, and when the headers are not part of this installation.
    """
    found = folder() / "include"
    if not (found / "acl" / "acl.h").is_file():
        raise SdkError(f"the headers are not part of this installation (no {found}/acl/acl.h): {_AGAIN}")
    return found


def pkg_config_folder() -> Path:
    """The folder to put on PKG_CONFIG_PATH; it has ``cannery.pc`` and, the same, ``ascendcl.pc``."""
    include_folder()
    return library_folder() / "pkgconfig"


def compile_flags() -> str:
    """What to give to a compiler."""
    return f"-I{include_folder()}"


def link_flags() -> str:
    """What to give to a linker."""
    return f"-L{library_folder()} -lascendcl"


def preload() -> Path:
    """The file to put last on LD_PRELOAD."""
    return library_folder() / SHIM_NAME


def preloads(present: str) -> str:
    """The value of LD_PRELOAD: what is there already, then ours, so that the others reach us with RTLD_NEXT."""
    ours = str(preload())
    return " ".join([*(entry for entry in present.replace(":", " ").split() if entry != ours), ours])


def search_path(present: str) -> str:
    """The value of LD_LIBRARY_PATH: first what is ours alone, then what is there already, last what may be shared."""
    made = folder()
    first, last = str(made / layout.FIRST), str(made / layout.LAST)
    entries = present.split(":") if present else []
    return ":".join([first, *(entry for entry in entries if entry not in (first, last)), last])
