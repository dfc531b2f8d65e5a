"""Calls a function of the library given by name, with this Python's GIL held all the while."""

import ctypes
import sys

library = ctypes.PyDLL(sys.argv[1])
sys.exit(getattr(library, sys.argv[2])())
