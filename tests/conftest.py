"""What all tests need of the process they run in."""

import signal

# A shell that starts something in the background has it ignore SIGINT, and children inherit that: programs that the
# tests interrupt would go on for ever.
if signal.getsignal(signal.SIGINT) == signal.SIG_IGN:
    signal.signal(signal.SIGINT, signal.default_int_handler)
