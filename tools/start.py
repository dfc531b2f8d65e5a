"""Where the ``cannery`` command begins: what a Ctrl-C does while everything else is loaded, and when all is done."""

import os
import signal


def end_at_once(_number: int, _frame: object) -> None:
    """End the process with the line and the status that a verb has for a Ctrl-C: nothing was begun that could be left
    half done."""
    try:
        os.write(2, b"cannery: interrupted\n")
    finally:
        os._exit(130)


def begin() -> None:
    """Have a Ctrl-C end the process like that, unless whoever started us has it ignored, or handled already."""
    if signal.getsignal(signal.SIGINT) is signal.default_int_handler:
        signal.signal(signal.SIGINT, end_at_once)


def main() -> None:
    """The command."""
    begin()
    from cannery.tools.main import main as command

    command()
