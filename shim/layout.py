"""What the SDK folder contains: the layouts in which programs and their builds look for CANN, made of links.

    include/ lib64/                  what builds name, and everything else is a link to
    <arch>-linux/ runtime/ acllib/ fwkacllib/   the same two, as the parts of CANN installations of all ages have them
    lib64/stub/[linux/<arch>/] devlib/          what machines without a driver link against there
    lib64/pkgconfig/ set_env.sh bin/setenv.bash ways to be told the paths
    first/ last/                     for LD_LIBRARY_PATH, see below

Which names there are follows from what public programs ask for (docs/preload.md has the table and its reasons).
"""

import platform
import shlex
from pathlib import Path
from typing import Final

SHIM_NAME: Final = "libcannery.so"

#: Libraries whose functions are all ours. All names are links to one file: one file is mapped once, so the process has
#: one copy of the state, whichever of them it asks for.
LIBRARY_NAMES: Final = (
    "libascendcl.so",
    "libacl_rt.so",
    "libacl_prof.so",
    "libacl_tdt_channel.so",
    "libacl_tdt_queue.so",
    "libmsprofiler.so",
)

#: Libraries that have functions of ours and, where CANN is installed, others that its parts need: a real one goes
#: before ours.
SHARED_NAMES: Final = ("libascend_dump.so",)

#: Libraries without functions of the API that builds name beside the others (official samples do): found by linkers,
#: and nothing that is linked asks for them.
LINKED_NAMES: Final = ("libacl_rt_impl.so", "libprofapi.so")

CONFIGURATION: Final = "engine.conf"
FIRST: Final = "first"
LAST: Final = "last"
_PARTS: Final = ("runtime", "acllib", "fwkacllib")

_SET_ENV: Final = """\
# Source this before building or starting programs that look for CANN by its variables: they find Cannery.
export ASCEND_HOME_PATH={folder}
export ASCEND_TOOLKIT_HOME={folder}
export ASCEND_CANN_PACKAGE_PATH={folder}
case ":${{LD_LIBRARY_PATH:-}}:" in
    *:{folder}/lib64:*) ;;
    *) export LD_LIBRARY_PATH={folder}/lib64${{LD_LIBRARY_PATH:+:$LD_LIBRARY_PATH}} ;;
esac
"""

_PKG_CONFIG: Final = """\
prefix={folder}
includedir=${{prefix}}/include
libdir=${{prefix}}/lib64

Name: {name}
Description: Ascend runtime API, served by Cannery
Version: {version}
Cflags: -I${{includedir}}
Libs: -L${{libdir}} -lascendcl
"""


def fill(folder: Path, target: Path, shim: Path, headers: Path | None, configuration: str, version: str) -> None:
    """Make the content in the empty ``folder``, which will be renamed to ``target``.

    ``shim`` is the library that all names become links to, ``headers`` the installed include folder, if there is one,
    ``configuration`` the text of ``engine.conf`` (the shim reads the one beside the name it was loaded by).

    Raises:
        OSError: the folder cannot be written.
    """
    machine = platform.machine()
    libraries = folder / "lib64"
    stub = libraries / "stub"
    every = (SHIM_NAME, *LIBRARY_NAMES, *SHARED_NAMES, *LINKED_NAMES)
    for place, names in (
        (libraries, every),
        (stub, every),
        (stub / "linux" / machine, every),
        (folder / FIRST, LIBRARY_NAMES),
        (folder / LAST, SHARED_NAMES),
    ):
        place.mkdir(mode=0o700, parents=True)
        for name in names:
            (place / name).symlink_to(shim)
        (place / CONFIGURATION).write_text(configuration, encoding="utf-8")
    if headers is not None:
        (folder / "include").symlink_to(headers)
    (folder / "devlib").symlink_to("lib64/stub")
    for part in (*_PARTS, f"{machine}-linux"):
        (folder / part).mkdir(mode=0o700)
        for name in ("include", "lib64", "devlib"):
            (folder / part / name).symlink_to(f"../{name}")
    _write_descriptions(folder, target, version)


def _write_descriptions(folder: Path, target: Path, version: str) -> None:
    script = _SET_ENV.format(folder=shlex.quote(str(target)))
    (folder / "set_env.sh").write_text(script, encoding="utf-8")
    (folder / "bin").mkdir(mode=0o700)
    (folder / "bin" / "setenv.bash").symlink_to("../set_env.sh")
    (folder / "lib64" / "pkgconfig").mkdir(mode=0o700)
    for name in ("cannery", "ascendcl"):
        text = _PKG_CONFIG.format(folder=target, name=name, version=version)
        (folder / "lib64" / "pkgconfig" / f"{name}.pc").write_text(text, encoding="utf-8")
