"""Where the reports of a suite are kept: `results/YYYY-MM-DD/run-HHMMSS.{json,md,…}` beside it, and
`results/latest`, which leads to the folder of the last day."""

import contextlib
import os
import re

from baselinekit.errors import NotRecorded, Problem
from baselinekit.store import atomic
from baselinekit.store.atomic import cannot_write
from baselinekit.store.results import write_text
from baselinekit.trust import check_inside

LATEST = "latest"
_DAY = re.compile(r"[0-9]{4}-[0-9]{2}-[0-9]{2}")


def check(folder: str, root: str) -> None:
    """Refused where a day of it is a link that leads out of the root: a checkout can bring one along."""
    with contextlib.suppress(OSError), os.scandir(folder) as scan:
        for entry in scan:
            if entry.is_symlink() and _DAY.fullmatch(entry.name):
                _check(entry.path, root)


def keep(folder: str, started: str, texts: dict[str, str], root: str) -> tuple[list[str], str]:
    """Write the reports of one run, by the ending of each: the files, and what is to be said of `latest`,
    which is not ours to take if it is no link to a day. Two runs in one second keep both: the later one has
    a number more."""
    if not texts:
        return [], ""
    day, time = started[:10], started[11:19].replace(":", "")
    _check(os.path.join(folder, day), root)
    for number in range(1, 1000):
        name = f"run-{time}" + (f"-{number}" if number > 1 else "")
        path = os.path.join(folder, day, name)
        if not any(os.path.lexists(path + ending) for ending in texts):
            break
    written = []
    for ending, text in texts.items():
        write_text(path + ending, text, root)
        written.append(path + ending)
    try:
        _point(folder, day, os.path.relpath(folder, root))
    except NotRecorded as error:
        return written, str(error.problems[0])
    return written, ""


def _check(path: str, root: str) -> None:
    check_inside(os.path.realpath(root), os.path.realpath(path), os.path.relpath(path, root))


def _point(folder: str, day: str, shown: str) -> None:
    """`latest` leads to the day. A system without links gets a file that names it."""
    place, temporary = os.path.join(folder, LATEST), os.path.join(folder, f".{LATEST}-{os.getpid()}")
    if os.path.lexists(place) and not _is_ours(place):
        name = os.path.normpath(os.path.join(shown, LATEST))
        what = (
            f"{name} was not made by baselinekit: it does not lead to the runs of a day, and stays as it is"
        )
        raise NotRecorded(
            Problem("BK120", what, "move it away, or name another folder: reporting.output_dir")
        )
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


def _is_ours(place: str) -> bool:
    """A link to a day, or the file that stands for one."""
    try:
        if os.path.islink(place):
            return _DAY.fullmatch(os.readlink(place)) is not None
        with open(place, encoding="utf-8") as file:
            return _DAY.fullmatch(file.read(20).removesuffix("\n")) is not None
    except (OSError, ValueError):
        return False
