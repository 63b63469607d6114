"""Where the reports of a suite are kept: `results/YYYY-MM-DD/run-HHMMSS.{json,md,…}` beside it, and
`results/latest`, which leads to the folder of the last day."""

import contextlib
import os

from baselinekit.errors import NotRecorded
from baselinekit.store import atomic
from baselinekit.store.results import write_text
from baselinekit.store.state import cannot_write

LATEST = "latest"


def keep(folder: str, started: str, texts: dict[str, str], root: str) -> list[str]:
    """Write the reports of one run, by the ending of each; the files, as they are named from `folder`'s
    root. Two runs in one second keep both: the later one has a number more."""
    if not texts:
        return []
    day, time = started[:10], started[11:19].replace(":", "")
    for number in range(1, 1000):
        name = f"run-{time}" + (f"-{number}" if number > 1 else "")
        path = os.path.join(folder, day, name)
        if not any(os.path.lexists(path + ending) for ending in texts):
            break
    written = []
    for ending, text in texts.items():
        write_text(path + ending, text, root)
        written.append(path + ending)
    _point(folder, day)
    return written


def _point(folder: str, day: str) -> None:
    """`latest` leads to the day. A system without links gets a file that names it."""
    place, temporary = os.path.join(folder, LATEST), os.path.join(folder, f".{LATEST}-{os.getpid()}")
    if os.path.lexists(place) and not os.path.islink(place) and not os.path.isfile(place):
        return  # a folder of somebody else
    try:
        os.symlink(day, temporary)
    except FileExistsError:
        return
    except OSError:
        atomic.replace_anywhere(place, place, f"{day}\n".encode(), None)
        return
    try:
        os.replace(temporary, place)
    except OSError as error:
        with contextlib.suppress(OSError):
            os.unlink(temporary)
        raise NotRecorded(cannot_write(place, error)) from None
