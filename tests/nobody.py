"""Becoming a user without the rights of root, for tests of what may not be written.

Python, the checkout and the folders for tests may lie below a home that only its owner may enter, and much is
imported only when it is needed. So the user nobody may still read everything, where the system grants that:
on Linux, for root with all its rights (in a container this one is often missing)."""

import ctypes
import os
import sys
import tempfile
from pathlib import Path

NOBODY = 65534
_KEEP_RIGHTS = 8  # PR_SET_KEEPCAPS
_VERSION_3 = 0x20080522
_READ_ALL = 1 << 2  # CAP_DAC_READ_SEARCH


def become_nobody() -> None:
    """For good, in this process. A user other than root is bound already."""
    if os.geteuid():
        return
    kernel = ctypes.CDLL(None, use_errno=True) if sys.platform == "linux" else None
    if kernel is not None:
        kernel.prctl(_KEEP_RIGHTS, 1, 0, 0, 0)
    os.setgroups([])
    os.setgid(NOBODY)
    os.setuid(NOBODY)
    if kernel is not None:
        for rights in (_READ_ALL, 0):
            words = (ctypes.c_uint32 * 6)(rights, rights, 0, 0, 0, 0)
            if kernel.capset((ctypes.c_uint32 * 2)(_VERSION_3, 0), words) == 0:
                return
        raise OSError(ctypes.get_errno(), "the rights of root could not be given up")


def open_to_all(folder: Path) -> None:
    """Let every user reach the folder of a test. Folders above those for tests are left alone."""
    scratch = Path(tempfile.gettempdir()).resolve()
    for path in (folder, *folder.parents):
        if scratch in path.parents and path.stat().st_uid == os.geteuid():
            path.chmod(path.stat().st_mode | 0o055)
