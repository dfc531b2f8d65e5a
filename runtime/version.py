"""The version of this Cannery; the package's metadata are read from here."""

from typing import Final

VERSION: Final = "0.1.0"
