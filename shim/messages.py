"""What the engine says to the user. Imported in every process that makes a call."""

import os


def say(text: str) -> None:
    """One line to the user. Standard error may be closed or full: then there is nobody to tell."""
    try:
        os.write(2, f"cannery: {text}\n".encode())
    except OSError:
        pass
