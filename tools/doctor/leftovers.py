"""What earlier installations and interrupted commands left in the user's cache."""

import re
import shutil
from pathlib import Path
from typing import Final

from cannery.shim import layout, sdk
from cannery.shim.pruning import FOLDERS, TABLES
from cannery.tools.doctor.findings import NOTE, OK, PROBLEM, Finding

_UNFINISHED: Final = re.compile(r"[0-9a-f]{16}\.[0-9a-f]{8}|schema-[0-9a-f]{32}\.[0-9]+")


def leftovers() -> dict[Path, str]:
    """Path and reason of everything in the cache that no installation will use again."""
    present = sdk.folder()
    engine = _engine_of(present)
    found: dict[Path, str] = {}
    for path in sorted(present.parent.iterdir()):
        if _UNFINISHED.fullmatch(path.name):
            found[path] = "was never finished"
        elif FOLDERS.fullmatch(path.name) and path != present:
            other = _engine_of(path)
            if other is None or not other.exists() or not (path / "lib64" / layout.SHIM_NAME).exists():
                found[path] = f"the installation it belongs to is gone ({other})"
            elif other == engine:
                found[path] = "belongs to an earlier state of this installation"
    schemas = [path for path in present.parent.iterdir() if TABLES.fullmatch(path.name)]
    newest = max((path.stat().st_mtime_ns for path in schemas), default=0)
    found.update({path: "function table of an earlier version" for path in schemas if path.stat().st_mtime_ns < newest})
    return found


def check(clean: bool) -> Finding:
    """Report what is left over; with ``clean`` remove it."""
    try:
        found = leftovers()
        place = sdk.cache_folder()
    except sdk.SdkError as error:
        return Finding("cache", PROBLEM, str(error))
    if not found:
        return Finding("cache", OK, f"{place}, nothing left over")
    items = tuple(f"{path.name}: {reason}" for path, reason in found.items())
    if not clean:
        return Finding("cache", NOTE, f"{place}, {len(items)} left over", "cannery doctor --clean removes them", items)
    failed = [f"{path}: {why}" for path in found if (why := _remove(path))]
    if failed:
        return Finding("cache", PROBLEM, f"cannot remove {'; '.join(failed)}", "remove it by hand")
    return Finding("cache", OK, f"{place}, {len(items)} removed", "", items)


def _engine_of(folder: Path) -> Path | None:
    try:
        lines = (folder / "lib64" / layout.CONFIGURATION).read_text(encoding="utf-8").splitlines()
    except OSError:
        return None
    return next((Path(line.removeprefix("engine=")) for line in lines if line.startswith("engine=")), None)


def _remove(path: Path) -> str:
    """Why it could not be removed, or nothing."""
    try:
        if path.is_dir() and not path.is_symlink():
            shutil.rmtree(path)
        else:
            path.unlink(missing_ok=True)
    except OSError as error:
        return error.strerror or str(error)
    return ""
