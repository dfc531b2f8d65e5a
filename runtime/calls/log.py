"""The program's own messages in the log of the runtime (reference pages of the functions named).

The exports format the text, so it arrives complete. The trace is where it is kept; it is also printed where the
variables of the reference ask for that (``ports.py``).
"""

from typing import TYPE_CHECKING

from cannery.runtime.calls.registry import call
from cannery.runtime.objects import Thread

if TYPE_CHECKING:
    from cannery.runtime.machine import Machine


@call("aclAppLog")
def app_log(
    machine: "Machine", thread: Thread, level: int, function: int, file: bytes | None, line: int, text: bytes | None
) -> None:
    """``function`` is the address of a name, and is not read."""
    machine.port.log(level, file or b"", line, text or b"")


@call("aclAppLogWithArgs")
def app_log_with_args(
    machine: "Machine", thread: Thread, level: int, function: int, file: bytes | None, line: int, text: bytes | None,
    arguments: int,
) -> None:  # fmt: skip
    """As aclAppLog; ``arguments`` is the list that the text was made of."""
    machine.port.log(level, file or b"", line, text or b"")
