"""The C files of the shim, as the build has them."""

import re
from pathlib import Path
from typing import Final

_ROOT: Final = Path(__file__).parents[1]
_LIBRARY: Final = re.search(r"add_library\(cannery_shim SHARED ([^)]*)\)", (_ROOT / "CMakeLists.txt").read_text())
assert _LIBRARY is not None

SHIM_SOURCES: Final = [_ROOT / name for name in _LIBRARY[1].split() if name.startswith("shim/")]
"""Without the exports, which are generated."""
