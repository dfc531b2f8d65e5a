"""``cannery redact``: a copy of a trace without the data that it holds."""

import click

from cannery.tools import options
from cannery.tools.errors import Failure


@click.command(name="redact")
@click.argument("trace", type=click.Path())
@click.option(
    "-o", "--output", "target", type=options.Target(), required=True, metavar="TRACE", help="Where to write it."
)
@click.option(
    "--payload",
    type=options.OneOf("hash", "none"),
    default="hash",
    help="What to keep of bytes that passed: hashes, from which short content can be guessed, or only sizes."
    " [default: hash]",
)
@click.option("--force", is_flag=True, help="Replace an existing trace.")
def command(trace: str, target: str, payload: str, force: bool) -> None:  # fmt: skip
    """Copy a trace without its data, to give it away.

    \b
    Examples:
      cannery redact a.cann -o public.cann
      cannery redact a.cann -o public.cann --payload none

    Kept are calls, numbers, sizes, hashes, times and the order of everything. Bytes that passed are dropped; strings
    become others of the same length, equal ones equal ones; command line, process ids and addresses of the host are
    left out. The copy replays; results that are strings, or follow from dropped bytes, are not compared.

    Exit status: 0 done, 2 it could not be done: nothing is left at TRACE then.
    """
    from cannery.recorder.format import BundleExists, TraceError
    from cannery.replayer.redaction import redact

    try:
        redact(trace, target, hashes=payload == "hash", force=force)
    except BundleExists as error:
        raise Failure(str(error)) from None
    except TraceError as error:
        text = str(error)
        raise Failure(text if text.startswith(trace) else f"{trace}: {text}") from None
    except OSError as error:
        raise Failure(f"cannot write {target}: {error.strerror}") from None
    click.echo(f"{target}: written")
