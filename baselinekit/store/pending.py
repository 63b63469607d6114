"""What came back from a replay that failed, kept so that a refresh approves exactly what was seen."""

import contextlib
import os

from baselinekit.documents import jsonfile
from baselinekit.documents.text import decode
from baselinekit.errors import InvalidInput, Problem
from baselinekit.model.values import Json
from baselinekit.store import atomic, state
from baselinekit.store.checks import check_id
from baselinekit.store.files import MAX_OUTPUT_BYTES, read

_FOLDER = "pending"


def save(root: str, id: str, payload: dict[str, Json]) -> None:
    """Keep it, in the place of what was kept before. It can be had again, so nothing waits for the disk."""
    name = _name(id)
    state.folder(root, _FOLDER)
    data = jsonfile.dump(payload).encode("utf-8")
    atomic.replace_file(root, name, data, sync=False)


def load(root: str, id: str) -> dict[str, Json] | None:
    """What was kept, if anything was."""
    name = _name(id)
    if not os.path.lexists(os.path.join(root, name)):
        return None
    payload = jsonfile.load(decode(read(root, name, MAX_OUTPUT_BYTES), name).body, name)
    if not isinstance(payload, dict):
        raise InvalidInput(Problem("BK111", f"{name} does not hold what a compare writes", "remove it"))
    return payload


def drop(root: str, id: str) -> None:
    """Forget it: it is approved, or it passes again. State that cannot be touched fails nothing."""
    with contextlib.suppress(OSError):
        os.unlink(os.path.join(root, _name(id)))


def _name(id: str) -> str:
    problems = list(check_id(id))
    if problems:
        raise InvalidInput(*problems)
    return os.path.join(state.NAME, _FOLDER, f"{id}.json")
