"""Which form of the machine's hot modules a process uses: the Python source, or what mypyc made of it at build time.

Both are the same code (tools/generate/compiled.py); the compiled form lies in a folder of its own, and is used where
that folder comes first on the module search path.
"""

import os
import sys
from pathlib import Path

import cannery.shim


def compiled_folder() -> Path | None:
    """The folder with the compiled form; None when there is none, or when ``CANNERY_PURE`` asks for the source."""
    if os.environ.get("CANNERY_PURE", "") not in ("", "0"):
        return None
    for entry in cannery.shim.__path__:
        folder = Path(entry, "compiled")
        if folder.is_dir():
            return folder
    return None


def prefer_compiled() -> None:
    """Have this process import the compiled form. To be called before the machine is imported."""
    folder = compiled_folder()
    if folder is not None and str(folder) not in sys.path:
        sys.path.insert(0, str(folder))
