"""Colour and progress: on a terminal only."""

import os
import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager

import click


def on_terminal() -> bool:
    """Whether standard output is a terminal."""
    return sys.stdout.isatty()


def coloured() -> bool:
    """Whether standard output is a terminal whose user wants colour."""
    return on_terminal() and not os.environ.get("NO_COLOR")


def painter() -> Callable[..., str]:
    """:func:`click.style` where colour is wanted, else a function that leaves text as it is."""
    return click.style if coloured() else lambda text, **style: str(text)


@contextmanager
def progress(what: str, total: int | None) -> Iterator[Callable[[int], None] | None]:
    """A bar on standard error for long work, erased at the end: a function that takes how much is done. None where
    standard error is no terminal. ``total`` is None where it is not known."""
    if not sys.stderr.isatty():
        yield None
        return
    from rich.console import Console
    from rich.progress import BarColumn, Progress, TextColumn, TimeRemainingColumn

    columns = TextColumn(what), BarColumn(), TextColumn("{task.completed:,.0f} calls"), TimeRemainingColumn()
    with Progress(*columns, console=Console(stderr=True), transient=True) as bar:
        task = bar.add_task(what, total=total)
        yield lambda done: bar.update(task, completed=done)
