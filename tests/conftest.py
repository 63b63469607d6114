"""What every test may count on, whoever started the run."""

import os
import signal

from hypothesis import HealthCheck, settings

# A shell starts what it puts into the background with Ctrl-C switched off, and children inherit that: what
# the tests interrupt would not hear it.
if signal.getsignal(signal.SIGINT) is signal.SIG_IGN:
    signal.signal(signal.SIGINT, signal.default_int_handler)

# An ordinary run tries the same examples each time, so that who broke something is who sees it; the thorough
# one looks for others. In neither does a busy machine fail a test: what has to be quick says so itself.
settings.register_profile("thorough", deadline=None, suppress_health_check=[HealthCheck.too_slow])
settings.register_profile("ordinary", settings.get_profile("thorough"), derandomize=True)
settings.load_profile("thorough" if os.environ.get("BASELINEKIT_THOROUGH") else "ordinary")
