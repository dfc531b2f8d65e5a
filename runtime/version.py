"""The version of this Cannery, which the package's metadata are read from, and of the software that it emulates."""

from typing import Final

VERSION: Final = "0.2.0"
TOOLKIT: Final = "9.1.0"  # of the packages that the API belongs to (the public sources of the runtime)
