"""Which files hold evals: those that are named, and those below the folders that are named."""

from collections.abc import Sequence

from baselinekit.errors import BaselinekitError
from baselinekit.store.discover import discover
from baselinekit.store.files import read
from baselinekit.suites.dialects.suite import WRAPPER
from baselinekit.suites.evalfiles import BESIDE


def discover_evals(paths: Sequence[str], root: str) -> tuple[list[str], list[str]]:
    """The suites, those of the upper folders first, and the other files."""
    found = discover(paths, root, BESIDE)
    suites = [file for file in found if _may_be_suite(root, file)]
    return sorted(suites, key=lambda file: file.count("/")), [file for file in found if file not in suites]


def _may_be_suite(root: str, file: str) -> bool:
    """By a look at its bytes; whether it really is one is found out when it is read."""
    try:
        return WRAPPER.encode() in read(root, file)
    except BaselinekitError:
        return False
