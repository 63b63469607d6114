"""What every test may count on, whoever started the run."""

import os
import signal

from hypothesis import settings

# A shell starts what it puts into the background with Ctrl-C switched off, and children inherit that: what
# the tests interrupt would not hear it.
if signal.getsignal(signal.SIGINT) is signal.SIG_IGN:
    signal.signal(signal.SIGINT, signal.default_int_handler)

# An ordinary run tries the same examples each time, so that who broke something is who sees it; the thorough
# one looks for others.
settings.register_profile("ordinary", derandomize=True)
if not os.environ.get("BASELINEKIT_THOROUGH"):
    settings.load_profile("ordinary")
