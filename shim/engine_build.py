"""Writes the C source of the cffi module ``cannery.shim._engine``; run at build time: ``engine_build.py OUT.c``.

The module is loaded twice over: by the shim, which starts Python through the ``cannery_engine_start`` it exports, and
by ``import``, from the session that runs in that Python. cffi's own embedding support is not used: it starts Python
from the host's environment, which is what must not happen here.
"""

import sys
from pathlib import Path

import cffi  # type: ignore[import-untyped]

HERE = Path(__file__).resolve().parent


def declarations() -> str:
    """The prototypes of engine.h, without the preprocessor lines."""
    lines = (HERE / "engine.h").read_text(encoding="utf-8").splitlines()
    return "\n".join(line for line in lines if not line.startswith("#"))


def main(target: str) -> None:
    """Write the module's C source to ``target``."""
    builder = cffi.FFI()
    builder.cdef(declarations())
    builder.set_source("cannery.shim._engine", (HERE / "engine.c").read_text(encoding="utf-8"))
    builder.emit_c_code(target)


if __name__ == "__main__":
    main(sys.argv[1])
