"""What every test may count on, whoever started the run."""

import signal

# A shell starts what it puts into the background with Ctrl-C switched off, and children inherit that: what
# the tests interrupt would not hear it.
if signal.getsignal(signal.SIGINT) is signal.SIG_IGN:
    signal.signal(signal.SIGINT, signal.default_int_handler)
