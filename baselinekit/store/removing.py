"""A file of the project removed, when the operator has said so."""

import os

from baselinekit.errors import NotRecorded, Problem
from baselinekit.store.files import resolve
from baselinekit.store.state import cannot_write


def remove(root: str, file: str) -> None:
    """Remove a regular file inside the project; where a link leads is somebody else's. One that is gone
    already is gone."""
    path = os.path.join(root, file)
    if os.path.islink(path) or os.path.realpath(path) != resolve(root, file):
        raise NotRecorded(Problem("BK120", f"{file} is a link", "remove it by hand"))
    try:
        os.unlink(path)
    except FileNotFoundError:
        return
    except OSError as error:
        raise NotRecorded(cannot_write(file, error)) from None
