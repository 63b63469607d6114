"""No program that is run looks into the process that runs it: in its environment and its memory is every
secret of the operator.

On Linux a process can close itself to others of the same user (`/proc/PID/environ`, ptrace). Its children are
open again as soon as they are programs of their own. Root sees everything; elsewhere nothing is known that
would do as much."""

import sys
from functools import cache

_SET_DUMPABLE = 4


@cache
def close() -> None:
    """Before the first program starts, and for good."""
    if sys.platform == "linux":
        import ctypes  # only those who run programs pay for it

        ctypes.CDLL(None).prctl(_SET_DUMPABLE, 0, 0, 0, 0)
