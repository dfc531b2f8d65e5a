"""What the engine says to the user. Imported in every process that makes a call."""

import os

from cannery.recorder.window import fits


def say(text: str) -> None:
    """One line to the user. Standard error may be closed or full: then there is nobody to tell."""
    line = f"cannery: {text}\n".encode()
    try:
        if fits(2, len(line)):
            os.write(2, line)
    except OSError:
        pass


_told: set[str] = set()


def say_shortage(function: str, error: OSError) -> None:
    """A call failed for want of something that the host does not give. A program may try again and again: once."""
    text = str(error)
    if text not in _told:
        _told.add(text)
        say(f"{function}: {text}; the call fails with 500000")
