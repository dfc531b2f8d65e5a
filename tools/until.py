"""When a flight recording ends: the options ``--until-*`` of ``cannery run``, which belong to ``--keep``."""

import signal
from collections.abc import Callable, Mapping
from functools import partial
from typing import TYPE_CHECKING, Any, NamedTuple

import click

if TYPE_CHECKING:
    from cannery.tools.recording import Recording


class Until(NamedTuple):
    """``errors`` are numbers, ``calls`` names of functions or patterns, ``signals`` names without SIG."""

    errors: tuple[int, ...]
    calls: tuple[str, ...]
    signals: tuple[str, ...]

    def check(self, chosen: Mapping[str, Any], record: bool, session: str | None) -> None:
        """Say what is wrong, or likely to be, with what was chosen. Raises UsageError."""
        if not chosen["keep"]:
            if any(self):
                raise click.UsageError("--until-error, --until-call and --until-signal belong to --keep LENGTH")
            return
        if not record:
            raise click.UsageError("--keep and --no-record: there is nothing to keep")
        if chosen["calls"]:
            raise click.UsageError("--keep and --calls: a tail begins with a state, which follows from all calls")
        if session is not None:
            raise click.UsageError("--keep and --session: the trace would have processes that other commands follow")
        if self.errors:
            from cannery.replayer.printer import error_names

            for number in self.errors:
                if number not in error_names():
                    text = f"--until-error {number}: no call of the API is known to return that"
                    click.echo(f"cannery: {text}", err=True)

    def begin(self, recording: "Recording", keep: str | None) -> dict[int, Callable[[], None]]:
        """Have a recording keep its tail, if it is to; which signals are to be handled, and how."""
        if not keep:
            return {}
        from cannery.recorder.tail import Keep
        from cannery.replayer.triggers import Triggers
        from cannery.runtime.api import MODEL
        from cannery.tools.callset import matching

        functions = matching(self.calls, [function.name for function in MODEL.functions])
        flight = recording.keep_tail(Keep.parse(keep), Triggers(frozenset(self.errors), frozenset(functions)))
        return {getattr(signal, f"SIG{name}"): partial(flight.complete, f"SIG{name} came") for name in self.signals}
