"""How a verb ends: the exit statuses, and the one exception type that carries an error to the command line."""

from typing import IO, Any, Final

import click

OK: Final = 0
DIVERGED: Final = 1
FAILED: Final = 2  # Cannery could not do what was asked: also click's status for wrong usage
NOT_EXECUTABLE: Final = 126  # as the shells
NOT_FOUND: Final = 127
INTERRUPTED: Final = 130  # as the shells: 128 + SIGINT


class Failure(click.ClickException):
    """An error that ends the verb. ``message`` is one line: what is wrong, with which thing, and what to do."""

    def __init__(self, message: str, status: int = FAILED) -> None:
        super().__init__(message)
        self.exit_code = status  # type: ignore[misc]  # click declares a ClassVar and reads the instance's

    def show(self, file: IO[Any] | None = None) -> None:
        """Print the line on standard error."""
        click.echo(f"cannery: {self.message}", file=file, err=file is None)


def suggestion(word: str, known: list[str]) -> str:
    """`` (did you mean 'x'?)`` when one of ``known`` is near ``word``, else nothing."""
    import difflib  # only when something was misspelt

    folded = {name.lower(): name for name in known}
    near = difflib.get_close_matches(word.lower(), folded, n=1, cutoff=0.6)
    return f" (did you mean '{folded[near[0]]}'?)" if near else ""
