"""What the engine says to the user. Imported in every process that makes a call."""

import os
from contextlib import suppress

from cannery.recorder.window import fits


def put(descriptor: int, line: bytes) -> None:
    """Write a line to an output of the program. It may be closed or full: then there is nobody to tell."""
    with suppress(OSError):
        if fits(descriptor, len(line)):
            os.write(descriptor, line)


def say(text: str) -> None:
    """One line to the user."""
    put(2, f"cannery: {text}\n".encode())


_told: set[str] = set()


def say_shortage(function: str, error: OSError) -> None:
    """A call failed for want of something that the host does not give. A program may try again and again: once."""
    text = str(error)
    if text not in _told:
        _told.add(text)
        say(f"{function}: {text}; the call fails with 500000")
