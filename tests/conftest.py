"""What all tests need of the process they run in."""

import gc
import signal
from collections.abc import Iterator

import pytest

# A shell that starts something in the background has it ignore SIGINT, and children inherit that: programs that the
# tests interrupt would go on for ever.
if signal.getsignal(signal.SIGINT) == signal.SIG_IGN:
    signal.signal(signal.SIGINT, signal.default_int_handler)


@pytest.fixture(autouse=True)
def cycles() -> Iterator[None]:
    """The command line has Python look for cycles seldom, and machines, each with the addresses of its devices, are
    cycles: in the process of the tests they would stay until there is no room for more."""
    thresholds = gc.get_threshold()
    yield
    gc.set_threshold(*thresholds)
