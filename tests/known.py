"""What a test may count on, in every run on every machine: the environment, the mask of new files, and
which signals are heard. Made once for the process of the tests (conftest.py); what a test starts inherits it.

What stays of the developer's own is the way to programs and libraries, the folder for scratch files, and the
variables for how thorough a run is: no locale, zone, colour, proxy, HOME, git setting or CI variable."""

import atexit
import locale
import os
import shutil
import signal
import sys
import tempfile
import time
from collections.abc import Mapping
from types import FrameType

KEPT = {
    *("PATH", "TMPDIR", "LD_LIBRARY_PATH", "DYLD_LIBRARY_PATH", "DYLD_FALLBACK_LIBRARY_PATH"),
    *("BASELINEKIT_THOROUGH", "BASELINEKIT_GOLDEN", "BASELINEKIT_PAIRS", "BASELINEKIT_PROCESSES"),
}
KEPT_BEGINNINGS = ("PYTEST_", "COVERAGE_")
GIT = {"GIT_CONFIG_GLOBAL": os.devnull, "GIT_CONFIG_NOSYSTEM": "1", "GIT_TERMINAL_PROMPT": "0"}
"""git without the settings of the person who runs the tests."""

ZONE = "<+0545>-05:45"
"""Far from UTC and no whole hour: a local time that is written where UTC belongs shows. In a form that needs
no list of zones on this machine."""

UMASK = 0o022
_RELIED_ON = ("HUP", "INT", "QUIT", "TERM", "ALRM", "CHLD", "USR1", "USR2")


def environment(own: Mapping[str, str], zone: str = ZONE) -> dict[str, str]:
    """The whole environment of the tests, where the developer's is `own`. HOME is still missing in it."""
    kept = {name: value for name, value in own.items() if name in KEPT or name.startswith(KEPT_BEGINNINGS)}
    plain = {"PATH": os.defpath, "LANG": "C.UTF-8", "TERM": "dumb", "COLUMNS": "100", "TZ": zone}
    return plain | GIT | kept


def settle(zone: str = ZONE) -> None:
    """Make this process and what it starts the known ones."""
    home = os.environ.get("HOME", "") if "PYTEST_XDIST_WORKER" in os.environ else _scratch()
    settled = environment(os.environ, zone) | {"HOME": home}
    os.environ.clear()
    os.environ.update(settled)
    time.tzset()
    os.umask(UMASK)
    hear_signals()


def _scratch() -> str:
    home = tempfile.mkdtemp(prefix="baselinekit-home-")
    atexit.register(shutil.rmtree, home, ignore_errors=True)
    return home


def hear_signals() -> None:
    """No process starts deaf. nohup, a shell that puts a job into the background, or a careless parent leaves
    signals ignored or held back, and every child would inherit that.

    A hang-up that was ignored still does not end the tests themselves: it has a handler that does nothing,
    which children do not inherit."""
    signal.pthread_sigmask(signal.SIG_SETMASK, ())
    for name in _RELIED_ON:
        number = getattr(signal, f"SIG{name}")
        if signal.getsignal(number) == signal.SIG_IGN:
            signal.signal(number, _INSTEAD.get(name, _pass_over))


def _pass_over(number: int, frame: FrameType | None) -> None:
    pass


_INSTEAD = {"INT": signal.default_int_handler, "CHLD": signal.SIG_DFL}


def is_utf8() -> bool:
    """Whether files and their names are UTF-8 here. That is settled when an interpreter begins."""
    if sys.flags.utf8_mode:
        return True
    return all("utf" in name.lower() for name in (sys.getfilesystemencoding(), locale.getencoding()))


def begin_again() -> None:
    """The same command line once more, as UTF-8."""
    sys.stdout.flush()
    sys.stderr.flush()
    words = [sys.executable, "-X", "utf8", *sys.orig_argv[1:]]
    os.execve(sys.executable, words, {**os.environ, "PYTHONUTF8": "1"})
