"""The ``cannery`` command. Each verb is a module of ``commands`` and is imported only when it is used."""

import atexit
import errno
import gc
import os
import signal
import sys
import time

if sys.version_info < (3, 11):  # noqa: UP036  # before anything is imported that an older Python cannot read
    sys.exit(f"cannery: needs Python 3.11 or newer; this is {sys.version.split()[0]} at {sys.executable}")

from cannery.tools.start import begin, end_at_once

if __name__ == "__main__":  # else whoever imports this has a Ctrl-C of his own, or has begun
    begin()

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from importlib import import_module
from types import FrameType
from typing import Any, Final

import click

from cannery.tools.errors import INTERRUPTED, Failure, suggestion

# name -> what `cannery --help` says about it; the verb itself is the object `command` of its module
VERBS: Final = {
    "run": "Run a program without an NPU and record what it does.",
    "replay": "Execute a trace again and check every result.",
    "diff": "Compare two traces and name the first cause of a difference.",
    "show": "Print a trace, one call per line.",
    "stats": "Count what a trace holds: calls, failures, waits, bytes, memory.",
    "repair": "Finish a trace that a kill or a full disk left unfinished.",
    "redact": "Copy a trace without the data that it holds.",
    "index": "Write keyframes into a trace, so that any call of it is reached at once.",
    "trim": "Cut calls out of a trace, as a trace of its own.",
    "info": "Say what a trace holds: settings, processes, sizes, how it ended.",
    "sdk": "Print where the libraries and headers are, for builds and by-hand preloading.",
    "api": "List the functions of the runtime API: which work, on which products, who calls them.",
    "doctor": "Check that Cannery works here, and say what to do where it does not.",
}


# `cannery` alone prints the help; before click 8.2 that was no error
_HELP: Final = getattr(click.exceptions, "NoArgsIsHelpError", ())


_IMPATIENCE: Final = 2.0  # seconds in which another Ctrl-C is the same one


@contextmanager
def _one_line() -> Iterator[None]:
    """Wrong usage and Ctrl-C are one line each, where click prints more, and another status for the latter."""
    try:
        yield
    except _HELP:
        raise
    except click.UsageError as error:
        raise Failure(_usage(error)) from None
    except KeyboardInterrupt:
        raise Failure("interrupted", INTERRUPTED) from None


def _interrupt() -> Callable[[int, FrameType | None], None]:
    """What a Ctrl-C does: the first ends the verb, and a second soon after does not keep it from removing what it had
    half written. Later ones count again: an exception is lost where Python runs callbacks of its own."""
    ignored_until = 0.0

    def interrupt(_number: int, _frame: FrameType | None) -> None:
        nonlocal ignored_until
        now = time.monotonic()
        if now >= ignored_until:
            ignored_until = now + _IMPATIENCE
            raise KeyboardInterrupt

    return interrupt


@contextmanager
def _interruptible() -> Iterator[None]:
    """Unless whoever started us has Ctrl-C ignored, as shells do in the background, or has it handled already."""
    before = signal.getsignal(signal.SIGINT)
    if before not in (signal.default_int_handler, end_at_once):
        yield
        return
    signal.signal(signal.SIGINT, _interrupt())
    try:
        yield
    finally:
        signal.signal(signal.SIGINT, before)


def _usage(error: click.UsageError) -> str:
    """What is wrong with the options, and where they are explained."""
    text = " ".join(error.format_message().split()).rstrip(".")
    if isinstance(error, click.NoSuchOption):
        near = suggestion(error.option_name.lstrip("-"), [name.lstrip("-") for name in error.possibilities or ()])
        near = near.replace("'", "'--", 1)
        text = f"there is no option {error.option_name}{near}"
    verb = f" {error.ctx.info_name}" if error.ctx is not None and error.ctx.parent is not None else ""
    return f"{text[:1].lower()}{text[1:]}; see 'cannery{verb} --help'"


class _Verbs(click.Group):
    """A group that imports a verb when it is called, and lists the verbs without importing them."""

    def make_context(self, *args: Any, **kwargs: Any) -> click.Context:
        """Read the options of the command itself."""
        with _one_line():
            return super().make_context(*args, **kwargs)

    def invoke(self, ctx: click.Context) -> Any:
        """Read the options of a verb, and run it."""
        with _one_line(), _interruptible():
            return super().invoke(ctx)

    def main(self, *args: Any, **kwargs: Any) -> Any:
        """Run the command. Output that cannot be written is one line and status 2; a closed pipe is none of ours."""
        if sys.stdout is None:  # closed, as under some daemons
            sys.stdout = open(os.devnull, "w")  # noqa: SIM115, PTH123
        try:
            try:
                return super().main(*args, **kwargs)
            except SystemExit as leaving:
                reason = leaving.__context__
                if isinstance(reason, OSError) and reason.errno == errno.EPIPE:  # click's answer to it is status 1
                    raise reason from None
                raise
            finally:
                if sys.stdout is not None:
                    sys.stdout.flush()
        except OSError as error:
            sys.stdout = open(os.devnull, "w")  # noqa: SIM115, PTH123  # nothing more goes there at exit
            if error.errno != errno.EPIPE:
                print(f"cannery: cannot write the output: {error.strerror}", file=sys.stderr)
                sys.exit(2)
            sys.exit(0)

    def list_commands(self, ctx: click.Context) -> list[str]:
        return list(VERBS)

    def get_command(self, ctx: click.Context, cmd_name: str) -> click.Command | None:
        if cmd_name not in VERBS:
            return None
        command: click.Command = import_module(f"cannery.tools.commands.{cmd_name}").command
        return command

    def resolve_command(
        self, ctx: click.Context, args: list[str]
    ) -> tuple[str | None, click.Command | None, list[str]]:
        if args and not args[0].startswith("-") and args[0] not in VERBS:
            raise click.UsageError(f"no such command '{args[0]}'{suggestion(args[0], list(VERBS))}", ctx)
        return super().resolve_command(ctx, args)

    def format_commands(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:
        with formatter.section("Commands"):
            formatter.write_dl(list(VERBS.items()))


def _print_version(ctx: click.Context, _option: click.Parameter, wanted: bool) -> None:
    if wanted:
        from cannery.runtime.version import VERSION

        click.echo(f"cannery {VERSION}")
        ctx.exit()


@click.group(cls=_Verbs, context_settings={"help_option_names": ["-h", "--help"]})
@click.option(
    "--version", is_flag=True, callback=_print_version, expose_value=False, is_eager=True, help="Print the version."
)
def main(**_: Any) -> None:
    """Run Ascend programs without an NPU, record every runtime call, and replay the recording anywhere.

    \b
    Start with:
      cannery run -o a.cann -- ./app args      run the program, record it in a.cann
      cannery show a.cann                      read what it did
      cannery replay a.cann                    execute it again, compare every result
      cannery diff a.cann b.cann               what do two runs do differently, and why

    \b
    'cannery COMMAND --help' explains a command.
    Exit status: 0 fine, 1 something differs, 2 it could not be done. 'run' exits with the program's own status.
    """
    # Records come and go by millions, and none of them is part of a cycle: looking for cycles as often as Python does
    # by itself takes half of the time of a comparison, and what is left at the end need not be looked at again.
    gc.set_threshold(1_000_000, 100, 1000)
    atexit.register(gc.freeze)


__all__ = ["Failure", "main"]

if __name__ == "__main__":
    main()
