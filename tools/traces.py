"""What the verbs that read a trace share: opening it, choosing a process, counting, printing."""

import json
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from cannery.recorder.format import TraceError
from cannery.tools.errors import Failure

if TYPE_CHECKING:
    from cannery.recorder.bundle import Bundle
    from cannery.recorder.process import ProcessStream


@contextmanager
def opened(path: str) -> "Iterator[Bundle]":
    """The bundle at ``path``; damage and a pipe that nobody reads end the verb in an orderly way.

    Raises:
        Failure: it cannot be read.
    """
    from cannery.recorder.bundle import Bundle

    try:
        with Bundle.open(path) as bundle:
            yield bundle
            sys.stdout.flush()
    except TraceError as error:
        text = str(error)
        raise Failure(text if text.startswith(path) else f"{path}: {text}") from None
    except BrokenPipeError:
        # Whoever read has enough (| head). Python would complain once more when it closes its standard output.
        sys.stdout = None
        raise click.exceptions.Exit(0) from None


def report(bundle: "Bundle", path: str, *more: object) -> bool:
    """Say on standard error what is wrong with a trace beside its records, and ``more`` that was found. Whether any of
    it is damage: the status is then 2, whatever could be read."""
    from cannery.recorder.format import DamagedTrace

    problems = [*bundle.problems, *bundle.damage_beside(), *more]
    for text in dict.fromkeys(str(problem) for problem in problems):
        click.echo(f"cannery: {path}: {text}", err=True)
    return any(isinstance(problem, DamagedTrace) for problem in problems)


def processes(bundle: "Bundle", only: int | None) -> "list[ProcessStream]":
    """All processes of a bundle, or the one with that ordinal.

    Raises:
        Failure: it has none.
    """
    if only is not None:
        try:
            return [bundle.process(only)]
        except KeyError:
            known = ", ".join(str(stream.ordinal) for stream in bundle.processes) or "none"
            raise Failure(f"{bundle.path}: there is no process {only}; it has {known}") from None
    if not bundle.processes:
        why = next(map(str, bundle.damage_beside()), "no runtime call was recorded")
        raise Failure(f"{bundle.path}: {why}")
    return bundle.processes


def calls(stream: "ProcessStream") -> int | None:
    """How many calls a process made, where that is known without reading them all."""
    from cannery.recorder.format import DamagedTrace

    try:
        return stream.counts().calls if stream.finished else None
    except DamagedTrace:
        return None


def count(number: int, noun: str, plural: str | None = None) -> str:
    """``1 call``, ``12,345 calls``. ``plural`` where an s does not make one."""
    return f"{number:,} {noun if number == 1 else plural or noun + 's'}"


def size(number: float) -> str:
    """A number of bytes for people: ``870 B``, ``1.2 MB``."""
    for unit in ("B", "kB", "MB", "GB"):
        if number < 1000 or unit == "GB":
            return f"{number:.0f} {unit}" if unit == "B" else f"{number:.1f} {unit}"
        number /= 1000
    raise AssertionError


def stored(path: str | Path) -> int:
    """How many bytes the files of a bundle have."""
    return sum(each.lstat().st_size for each in Path(path).rglob("*") if each.is_file())


def print_json(value: Any) -> None:
    """One object, indented."""
    click.echo(json.dumps(value, indent=2, ensure_ascii=False, default=_plain))


def _plain(value: Any) -> Any:
    return value.hex() if isinstance(value, bytes) else str(value)
