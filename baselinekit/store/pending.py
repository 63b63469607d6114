"""What came back from a replay that failed, kept so that a refresh approves exactly what was seen."""

from __future__ import annotations

import contextlib
import os
from typing import TYPE_CHECKING

from baselinekit.documents import jsonfile
from baselinekit.documents.text import decode
from baselinekit.errors import InvalidInput, NotRecorded, Problem
from baselinekit.model.values import Json
from baselinekit.store import atomic, state
from baselinekit.store.checks import check_id
from baselinekit.store.files import MAX_OUTPUT_BYTES, read

if TYPE_CHECKING:  # where all passes, nothing is kept
    from baselinekit.model.changes import Seen

_FOLDER = "pending"
_DEEPER = 2
"""Levels of nesting around an output."""

_FORM: dict[str, type | tuple[type, ...]] = {
    "id": str,
    "recipe_hash": str,
    "compared_with": str,
    "captured_at": str,
    "environment": dict,
    "observed": dict,
    "masked": list,
    "unsettled": list,
    "settled": list,
    "troubles": list,
    "variant": (int, type(None)),
    "flaw": (str, type(None)),
}
_SAID = ("unsettled", "settled", "troubles")


def save(root: str, seen: Seen) -> None:
    """Keep it, in the place of what was kept before. It can be had again, so nothing waits for the disk. What
    would be too large to be read again is not kept at all."""
    name = _name(seen.id)
    state.folder(root, _FOLDER)
    payload = {key: getattr(seen, key) for key in _FORM}
    payload["masked"] = [list(path) for path in seen.masked]
    payload |= {key: list(getattr(seen, key)) for key in _SAID}
    data = jsonfile.dump({**payload, "resolved": seen.resolved}).encode("utf-8")
    if len(data) > MAX_OUTPUT_BYTES:
        drop(root, seen.id)
        what = f"what {seen.id} answered is larger than {MAX_OUTPUT_BYTES:,} bytes"
        raise NotRecorded(Problem("BK106", what, "let it answer with less"))
    atomic.replace_file(root, name, data, sync=False)


def load(root: str, id: str) -> Seen | None:
    """What was kept, if anything was."""
    name = _name(id)
    if not os.path.lexists(os.path.join(root, name)):
        return None
    payload = jsonfile.load(decode(read(root, name, MAX_OUTPUT_BYTES), name).body, name, _DEEPER)
    if isinstance(payload, dict):
        payload.setdefault("troubles", [])  # which earlier versions did not write
    if not _is_ours(payload) or payload["id"] != id:
        hint = "remove it, and run baselinekit compare again"
        raise InvalidInput(Problem("BK111", f"{name} does not hold what a compare writes", hint))
    from baselinekit.model.changes import Seen

    payload["masked"] = tuple(map(tuple, payload["masked"]))
    payload |= {key: tuple(payload[key]) for key in _SAID}
    return Seen(**payload)


def ids(root: str) -> frozenset[str]:
    """The ids of which something is kept."""
    try:
        names = os.listdir(os.path.join(root, state.NAME, _FOLDER))
    except OSError:
        return frozenset()
    return frozenset(name.removesuffix(".json") for name in names if name.endswith(".json"))


def drop(root: str, id: str) -> None:
    """Forget it: it is approved, or it passes again. State that cannot be touched fails nothing."""
    with contextlib.suppress(OSError):
        os.unlink(os.path.join(root, _name(id)))


def _is_ours(payload: Json) -> bool:
    return (
        isinstance(payload, dict)
        and payload.keys() == {*_FORM, "resolved"}
        and all(isinstance(payload[key], kind) for key, kind in _FORM.items())
        and all(isinstance(path, list) for path in payload["masked"])
        and all(isinstance(what, str) for key in _SAID for what in payload[key])
    )


def _name(id: str) -> str:
    problems = list(check_id(id))
    if problems:
        raise InvalidInput(*problems)
    return os.path.join(state.NAME, _FOLDER, f"{id}.json")
