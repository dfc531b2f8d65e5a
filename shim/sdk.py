"""The SDK folder: what a compiler, a linker and the dynamic loader need to find Cannery where CANN would be.

It is laid out like a CANN installation (``include/acl/acl.h``, ``lib64/libascendcl.so``) and made in a per-user cache on
first use, because a wheel turns links into copies, and because LD_PRELOAD takes a space for the end of a path.
``lib64/engine.conf`` tells the shim which Python to load; see loader.c.
"""

import hashlib
import importlib.machinery
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

SHIM_NAME: Final = "libcannery.so"

#: The names under which programs look for the runtime. All are links to one file: one file is mapped once, so the
#: process has one copy of the state, whichever of them it asks for.
LIBRARY_NAMES: Final = (
    "libascendcl.so",
    "libacl_rt.so",
    "libacl_prof.so",
    "libacl_tdt_channel.so",
    "libacl_tdt_queue.so",
    "libascend_dump.so",
    "libmsprofiler.so",
    "libruntime.so",
)


class SdkError(Exception):
    """The folder cannot be made; the text says what is missing and what to do."""


def _installed(name: str) -> Path:
    for folder in cannery.shim.__path__:
        path = Path(folder, name)
        if path.exists():
            return path
    raise SdkError(f"{name} is not part of this installation: install Cannery again (pip install --force-reinstall cannery)")


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
    get = sysconfig.get_config_var
    names = [name for name in (get("INSTSONAME"), get("LDLIBRARY")) if name and ".so" in name]
    folders = [get("LIBDIR"), os.path.join(get("LIBDIR") or "", get("MULTIARCH") or ""), get("LIBPL")]
    for folder in folders:
        for name in names:
            path = Path(folder or "", name)
            if folder and path.exists():
                return path.resolve()
    version = f"{sys.version_info.major}.{sys.version_info.minor}"
    raise SdkError(
        f"Python {version} at {sys.executable} has no shared libpython, which the engine needs: "
        f"install it (Debian: apt-get install libpython{version}; Fedora: dnf install python3-libs; "
        "pyenv: PYTHON_CONFIGURE_OPTS=--enable-shared) and install Cannery again"
    )


def _search_path() -> Iterator[str]:
    """Where the engine's Python finds the standard library, Cannery and what Cannery needs."""
    paths = sysconfig.get_paths()
    yield paths["stdlib"]
    yield paths["platstdlib"]
    yield sysconfig.get_config_var("DESTSHARED") or ""
    yield str(Path(paths["stdlib"], "lib-dynload"))
    for folder in cannery.__path__:
        yield str(Path(folder).parent)
    yield paths["purelib"]
    yield paths["platlib"]


def _configuration() -> str:
    lines = [
        f"libpython={libpython()}",
        f"engine={_engine()}",
        f"executable={sys.executable}",
        f"prefix={sys.base_prefix}",
    ]
    seen = dict.fromkeys(os.path.abspath(path) for path in _search_path() if path and os.path.isdir(path))
    lines += [f"path={path}" for path in seen]
    if importlib.machinery.PathFinder.find_spec("cannery", list(seen)) is None:
        lines.append(f"site={sysconfig.get_paths()['purelib']}")  # an editable installation: found by its import hook
    if any("\n" in line for line in lines):
        raise SdkError("a path of this Python contains a line break")
    return "\n".join(lines) + "\n"


def _usable(folder: Path) -> bool:
    """A folder of this user's that nobody else can write to, with a name that LD_PRELOAD can carry."""
    if any(mark in str(folder) for mark in " \t\n:;"):
        return False
    try:
        folder.mkdir(mode=0o700, parents=True, exist_ok=True)
        status = folder.lstat()
    except OSError:
        return False
    return stat.S_ISDIR(status.st_mode) and status.st_uid == os.geteuid() and os.access(folder, os.W_OK)


def cache_folder() -> Path:
    """The per-user cache, in a path without spaces.

    Raises:
        SdkError: no place was usable.
    """
    home = os.environ.get("XDG_CACHE_HOME") or os.path.join(os.path.expanduser("~"), ".cache")
    candidates = [Path(home, "cannery"), Path(tempfile.gettempdir(), f"cannery-{os.geteuid()}")]
    if os.environ.get("CANNERY_CACHE"):
        candidates.insert(0, Path(os.environ["CANNERY_CACHE"]))
    for candidate in candidates:
        if candidate.is_absolute() and _usable(candidate):
            return candidate
    tried = ", ".join(map(str, candidates))
    raise SdkError(f"no usable cache folder (tried {tried}): set CANNERY_CACHE to a folder of yours whose path has no spaces")


def _fill(folder: Path, configuration: str) -> None:
    libraries = folder / "lib64"
    libraries.mkdir(mode=0o700)
    shim = library().resolve()
    for name in (SHIM_NAME, *LIBRARY_NAMES):
        (libraries / name).symlink_to(shim)
    (libraries / "engine.conf").write_text(configuration, encoding="utf-8")
    headers = [Path(entry, "include") for entry in cannery.shim.__path__ if Path(entry, "include").is_dir()]
    if headers:
        (folder / "include").symlink_to(headers[0].resolve())


def folder() -> Path:
    """The SDK folder of this installation, made if it is not there yet; safe to call from several processes at once.

    Raises:
        SdkError: something of the installation is missing, or no cache folder is usable.
    """
    configuration = _configuration()
    shim = library().stat()
    engine = _engine().stat()
    state = f"{configuration}{library()}{shim.st_mtime_ns}{engine.st_mtime_ns}"
    target = cache_folder() / hashlib.sha256(state.encode()).hexdigest()[:16]
    if (target / "lib64" / "engine.conf").exists():
        return target
    making = target.with_name(f"{target.name}.{secrets.token_hex(4)}")
    making.mkdir(mode=0o700)
    try:
        _fill(making, configuration)
        try:
            making.rename(target)
        except OSError:
            if not (target / "lib64" / "engine.conf").exists():
                raise
    except OSError as error:
        raise SdkError(f"cannot make the SDK folder {target}: {error.strerror}") from error
    finally:
        shutil.rmtree(making, ignore_errors=True)
    return target


def library_folder() -> Path:
    """The folder to put first on LD_LIBRARY_PATH."""
    return folder() / "lib64"


def include_folder() -> Path:
    """The folder to give to a compiler with ``-I``."""
    return folder() / "include"


def preload() -> Path:
    """The file to put last on LD_PRELOAD."""
    return library_folder() / SHIM_NAME
