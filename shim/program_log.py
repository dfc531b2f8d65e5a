"""What a program says in the runtime's log, printed as it asks for (reference: aclAppLog, ASCEND_SLOG_PRINT_TO_STDOUT,
ASCEND_GLOBAL_LOG_LEVEL). No log files are written: the trace has every message."""

import os
from typing import ClassVar, Final

from cannery.shim.messages import put

_LEVELS: Final = ("DEBUG", "INFO", "WARNING", "ERROR")  # aclLogLevel, and the numbers of the variable
_DEFAULT: Final = 3
_STDOUT: Final = 1


class ProgramLog:
    """Where messages go; nowhere, unless the variables of the program send them to its standard output."""

    VARIABLES: ClassVar = ("ASCEND_SLOG_PRINT_TO_STDOUT", "ASCEND_GLOBAL_LOG_LEVEL")

    def __init__(self, variables: dict[str, str]) -> None:
        self._printed = variables.get("ASCEND_SLOG_PRINT_TO_STDOUT") == "1"
        level = variables.get("ASCEND_GLOBAL_LOG_LEVEL", "")
        self._least = int(level) if level in ("0", "1", "2", "3", "4") else _DEFAULT  # 4: nothing

    def write(self, level: int, file: bytes, line: int, text: bytes) -> None:
        """Print one line, if messages of that level are asked for. A level that is none counts as the lowest."""
        known = level if 0 <= level < len(_LEVELS) else 0
        if self._printed and known >= self._least:
            head = f"[{_LEVELS[known]}] APP({os.getpid()}): [".encode()
            put(_STDOUT, head + file + b":%d] " % line + text + b"\n")
