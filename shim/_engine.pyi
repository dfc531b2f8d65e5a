"""The cffi module built from engine.c; its functions are those of engine.h."""

from typing import Any

ffi: Any
lib: Any
