"""Where a Python keeps its shared library, which the engine loads. Also run as a file by the build, to fail early.

Only the interpreter's own folders are searched: a libpython of the same version that came from elsewhere may be built
with other options.
"""

import sys
import sysconfig
from collections.abc import Callable
from pathlib import Path


class MissingLibraryError(Exception):
    """This Python has none; the text names the package that brings it."""


def find(
    get: Callable[[str], str | int | None] = sysconfig.get_config_var,
    prefix: str = sys.base_prefix,
    executable: str = sys.executable,
) -> Path:
    """The shared library of the interpreter that ``get`` (build variables), ``prefix`` and ``executable`` describe.

    Raises:
        MissingLibraryError: there is none.
    """
    version = f"{sys.version_info.major}.{sys.version_info.minor}"
    usual = f"libpython{version}{getattr(sys, 'abiflags', '')}.so.1.0"
    names = [str(name) for name in (get("INSTSONAME"), get("LDLIBRARY"), usual) if name and ".so" in str(name)]
    library = Path(str(get("LIBDIR") or ""))
    folders = [library, library / str(get("MULTIARCH") or ""), Path(str(get("LIBPL") or ""))]
    folders.append(Path(prefix, "lib"))  # of a Python that was moved, the build variables name another machine's folder
    for folder in folders:
        for name in names:
            if folder.is_absolute() and (folder / name).is_file():
                return (folder / name).resolve()
    raise MissingLibraryError(
        f"Python {version} at {executable} has no shared libpython, which the engine needs: install it "
        f"(Debian, Ubuntu: apt-get install libpython{version}; Fedora, openEuler: dnf install python3-libs; "
        f"pyenv: PYTHON_CONFIGURE_OPTS=--enable-shared pyenv install {version}; built by hand: "
        "configure --enable-shared) and install Cannery again"
    )


if __name__ == "__main__":
    try:
        print(find())
    except MissingLibraryError as reason:
        sys.exit(str(reason))
