"""Which result file somebody meant who named something beside it: another report of the same run, the folder
it lies in, or `latest`."""

import os
import re
from collections.abc import Iterator

from baselinekit.store import runs

_NEWEST = frozenset(("last", "latest"))
_RESULT = re.compile(r"[^.].*?(?<!\.eval)(?<!\.ctrf)(?<!\.gate)(?<!\.output)\.json")
_DEEP = 2
"""Folders below the one that is named: results are kept by date."""


def meant(path: str, cwd: str, root: str | None) -> str | None:
    """Its name as the operator would write it; None where nothing is near."""
    there = os.path.join(cwd, path)
    if os.path.isdir(there):
        found = next(_newest(there, _DEEP), None)
    elif os.path.lexists(there):
        found = _beside(there)
    elif root is not None and path in _NEWEST:
        found = next((runs.place(root, name) for name in reversed(runs.names(root))), None)
    else:
        found = None
    return None if found is None else os.path.relpath(found, cwd)


def _beside(report: str) -> str | None:
    """`run-143052.eval.json`, `run-143052.junit.xml` -> `run-143052.json`."""
    folder, name = os.path.split(report)
    found = os.path.join(folder, f"{name.partition('.')[0]}.json")
    return found if found != report and os.path.isfile(found) else None


def _newest(folder: str, deep: int) -> Iterator[str]:
    """The last by name, as runs are named by their time."""
    try:
        with os.scandir(folder) as scan:
            entries = sorted(scan, key=lambda entry: entry.name, reverse=True)
    except OSError:
        return
    yield from (entry.path for entry in entries if _RESULT.fullmatch(entry.name) and entry.is_file())
    for entry in entries if deep else ():
        if entry.is_dir(follow_symlinks=False) and not entry.name.startswith("."):
            yield from _newest(entry.path, deep - 1)
